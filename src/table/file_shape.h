/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of new data files (D 2.2, 2.3). An append table's are the table's. Of a table with a primary key:
 *
 *   _KEY_<c> for each column of the trimmed key (left out with data-file.thin-mode), _SEQUENCE_NUMBER, _VALUE_KIND, the table's columns
 *
 * and what is said of a file while it is written: statistics, first and last key, sequence numbers.
 */
#ifndef PML_TABLE_FILE_SHAPE_H
#define PML_TABLE_FILE_SHAPE_H

#include "columnar/batch.h"
#include "table/table.h"

typedef struct pml_file_shape {
    const pml_table_schema *schema; /* borrowed */
    const pml_field *fields;
    size_t n_fields;
    bool keyed;
    size_t n_key_columns;   /* _KEY_ columns in front */
    int32_t sequence, kind; /* positions; keyed */
    size_t first_value;     /* of the table's columns */
    pml_stats_mode *modes;  /* of the table's columns */
    const pml_type **key_types; /* of the trimmed key */
    int32_t *key_positions;     /* its columns among the fields: those of the table */
} pml_file_shape;

/* Of the table as it is now; everything that is not the schema's goes to the arena. PML_E_INVAL: an option's value. */
int pml_file_shape__init(pml_file_shape *out, pml_arena *arena, const pml_table *t, pml_error *err);

/* ---- of one file ---- */
typedef struct pml_file_notes {
    pml_env *env;
    const pml_file_shape *shape; /* borrowed */
    pml_stats_collector *stats;  /* of the table's columns */
    pml_buf first_key, last_key; /* counted rows; keyed */
    int64_t rows, deletes;
    int64_t min_sequence, max_sequence; /* keyed; of append files the caller counts */
} pml_file_notes;

int pml_file_notes__init(pml_file_notes *out, pml_env *env, const pml_file_shape *shape, pml_error *err);
void pml_file_notes__clear(pml_file_notes *n);
/* Rows that go to the file, in its columns and its order; not empty. */
int pml_file_notes__update(pml_file_notes *n, const struct ArrowArray *batch, pml_error *err);
/* Everything of *out that follows from the rows: counts, keys, sequence numbers, statistics. Into the arena. */
int pml_file_notes__describe(pml_data_file *out, pml_arena *arena, const pml_file_notes *n, bool stats_dense, pml_error *err);

#endif
