/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System tables (format-data.md 18; Java: org.apache.paimon.table.system), as Java 1.4.2 shows them. Those of metadata are a list of
 * columns and a function that puts the rows; ro, row_tracking (system_read.c), audit_log and
 * binlog (system_audit.c) are reads of the table itself.
 */
#ifndef PML_TABLE_SYSTEM_H
#define PML_TABLE_SYSTEM_H

#include "table/metadata_rows.h"
#include "table/scan.h"

typedef struct pml_system_table {
    const char *name;
    const pml_field *fields;
    size_t n_fields;
    int (*fill)(pml_meta_rows *r, pml_table *t, pml_error *err);
} pml_system_table;

#define PML_SYSTEM_TABLE(n, fill_it)                                      \
    {                                                                     \
#n, n##_fields, sizeof n##_fields / sizeof n##_fields[0], fill_it \
    }

/* system_meta.c and system_names.c: files of metadata */
extern const pml_system_table pml_system__snapshots, pml_system__schemas, pml_system__options, pml_system__tags,
    pml_system__branches, pml_system__consumers, pml_system__statistics, pml_system__aggregation_fields;
/* system_files.c and system_data_files.c: what the snapshot's manifests hold. The snapshot is that of the table's scan.* options, else the latest. */
extern const pml_system_table pml_system__files, pml_system__file_key_ranges, pml_system__manifests,
    pml_system__partitions, pml_system__buckets, pml_system__table_indexes;

/* ---- by name (system.c) ---- */

/* Tables whose rows are the table's own. */
typedef enum pml_system_rows {
    PML_SYSTEM_NO_ROWS,
    PML_SYSTEM_RO,
    PML_SYSTEM_ROW_TRACKING,
    PML_SYSTEM_AUDIT_LOG,
    PML_SYSTEM_BINLOG
} pml_system_rows;
const pml_system_table *pml_system__find(const char *name); /* NULL: there is none of metadata of this name */
pml_system_rows pml_system__find_rows(const char *name);
/* The error for a name that is neither. */
int pml_system__unknown(const pml_table *t, const char *name, pml_error *err);

int pml_system__open_ro(struct ArrowArrayStream *out, pml_table *t, const pml_system_options *options, pml_error *err);
int pml_system__open_row_tracking(struct ArrowArrayStream *out, pml_table *t, const pml_system_options *options, pml_error *err);
int pml_system__open_audit(struct ArrowArrayStream *out, pml_table *t, const char *name, const pml_system_options *options, pml_error *err);

/* ---- columns (system_columns.c) ---- */

extern const pml_field pml_system_rowkind; /* STRING */

/* All columns. Their ids are those of the table's columns and of system columns, in tables of metadata their places. */
typedef struct pml_system_columns {
    const pml_field *v;
    size_t n;
} pml_system_columns;
int pml_system__columns(pml_system_columns *out, pml_arena *arena, pml_table *t, const char *name, pml_error *err);

/* Places of the columns that a read shows, then of those that only its condition needs. */
typedef struct pml_system_choice {
    int32_t *places;
    size_t n, n_shown;
    pml_pred *predicate; /* NULL: none */
} pml_system_choice;
int pml_system__choose(pml_system_choice *out, pml_arena *arena, const pml_system_columns *all, const char *name,
                       const pml_system_options *options, pml_error *err);

/* The highest level that compaction may use (Java: numLevels - 1). */
int pml_system__top_level(int32_t *level, const pml_table *t, pml_error *err);
/* The snapshot of the table's scan.* options, else the latest; *found = false: none. */
int pml_system__find_snapshot(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, pml_error *err);
/* The partition row as a text cell. */
int pml_system__put_partition(pml_meta_rows *r, const pml_table_schema *s, pml_bytes partition, pml_error *err);

/* ---- texts (system_text.c) ---- */

/* "{a, b}": values as the cast to STRING gives them, null as "null". values[i] belongs to fields[columns[i]]. */
int pml_system__row_text(pml_buf *out, const pml_field *fields, const int32_t *columns, const pml_value *values,
                         size_t n, pml_error *err);
/* A value as Java's toString of the internal object; "null". Binaries, of which Java shows an address, are hex. */
int pml_system__value_text(pml_buf *out, const pml_type *type, const pml_value *v, pml_error *err);
/* The partition row as row text. */
int pml_system__partition_text(pml_buf *out, const pml_table_schema *s, pml_bytes partition, pml_error *err);
/* A key row as "[a, b]" by the schema of the file; *is_null: a row without columns. */
int pml_system__key_text(pml_buf *out, bool *is_null, const pml_table_schema *s, pml_bytes key, pml_error *err);
/* The options of a schema as Java shows them, in the order of its HashMap. In the arena. */
int pml_system__options_in_order(const pml_option **out, pml_arena *arena, const pml_table_schema *s, pml_error *err);
/* JSON as Jackson writes it without line breaks: what stands in `pretty`, without the blanks between the tokens. */
void pml_system__flat_json(pml_buf *out, const pml_buf *pretty);

#endif
