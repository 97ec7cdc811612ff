/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: create, open, list, drop, describe.
 *
 *     pml_table *t;
 *     pml_table_open(&t, env, "/data/warehouse/default.db/flights", NULL, &err);
 *     struct ArrowSchema schema;
 *     pml_table_arrow_schema(&schema, t, &err);    // release with schema.release(&schema)
 *     pml_table_release(t);
 *
 * A table is opened at its latest schema and keeps it: a later ALTER is seen by the next open. Thread-safe and counted; scans,
 * plans, writers and streams hold it.
 *
 * What is not supported is refused by name here (PML_E_UNSUPPORTED, message "needs <feature>"), never read wrongly.
 */
#ifndef PAIMONLIVE_TABLE_H
#define PAIMONLIVE_TABLE_H

#include <paimonlive/arrow_c.h>
#include <paimonlive/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pml_table pml_table;
typedef struct pml_catalog pml_catalog;

/* Text that the library made. ptr is NUL-terminated; len does not count the NUL. */
typedef struct pml_text {
    char *ptr;
    size_t len;
    pml_env *env;
} pml_text;
PML_API void pml_text_clear(pml_text *text);

/* Names that the library made. */
typedef struct pml_names {
    char **v;
    size_t n;
    pml_env *env;
} pml_names;
PML_API void pml_names_clear(pml_names *names);

typedef struct pml_option_pair {
    const char *key, *value;
} pml_option_pair;

typedef struct pml_table_open_options {
    size_t struct_size;
    size_t n_options; /* dynamic options: they win over the table's own for this handle. What says where the table's files lie or
                         what it is (bucket, keys, partition.default-name, branch, ...) must be as stored: else PML_E_INVAL */
    const pml_option_pair *options;
    const char *branch; /* NULL: main */
} pml_table_open_options;
#define PML_TABLE_OPEN_OPTIONS_INIT {sizeof(pml_table_open_options), 0, NULL, NULL}

enum { PML_TABLE_IF_NOT_EXISTS = 1u };

/* Opens the table in directory `path`. Returns owned. Errors: PML_E_NOT_FOUND (no schema there), PML_E_UNSUPPORTED,
   PML_E_CORRUPT, PML_E_IO, PML_E_NOMEM. */
PML_API int pml_table_open(pml_table **out, pml_env *env, const char *path, const pml_table_open_options *options, pml_error *err);

/* Opens the table at a schema that the caller has, as text of a schema file (pml_table_schema_json of another process), without
   looking for the latest one: for workers that must read and write as their coordinator decided, and for tables whose schemas are
   kept elsewhere. Files of other schemas are still looked up in `path`. Nothing is read. Errors as above; PML_E_CORRUPT for text
   that is no schema. Returns owned. */
PML_API int pml_table_open_schema(pml_table **out, pml_env *env, const char *path, const char *schema_json, size_t len,
                                  const pml_table_open_options *options, pml_error *err);

/* Makes a table from a JSON text {"fields":[{"name":"id","type":"INT NOT NULL"},...],"partitionKeys":[],"primaryKeys":[],
   "options":{},"comment":""} and opens it. Types are the format's own (text or JSON form). PML_E_EXISTS when there is a schema
   already, unless PML_TABLE_IF_NOT_EXISTS, which opens what is there. Exclusive between processes. */
PML_API int pml_table_create(pml_table **out, pml_env *env, const char *path, const char *schema_json, size_t len, uint32_t flags,
                             pml_error *err);
PML_API void pml_table_acquire(pml_table *table);
PML_API void pml_table_release(pml_table *table);

/* Borrowed, valid while the table is held. */
PML_API pml_env *pml_table_env(const pml_table *table);
PML_API const char *pml_table_path(const pml_table *table);
PML_API const char *pml_table_option(const pml_table *table, const char *key); /* NULL: not set */
PML_API int64_t pml_table_schema_id(const pml_table *table);

/* The table's columns as an Arrow struct; field metadata "paimon.id" and "paimon.type" name id and type. Returns owned. */
PML_API int pml_table_arrow_schema(struct ArrowSchema *out, const pml_table *table, pml_error *err);
/* The schema file's text. Returns owned (pml_text_clear). */
PML_API int pml_table_schema_json(pml_text *out, const pml_table *table, pml_error *err);

/* One row per snapshot, oldest first. Columns: snapshot_id, schema_id BIGINT, commit_user STRING, commit_identifier BIGINT,
   commit_kind STRING, commit_time TIMESTAMP(3), total_record_count, delta_record_count BIGINT, watermark BIGINT,
   progress STRING (value of the property realtime.offsets, null without). */
PML_API int pml_table_snapshots(struct ArrowArrayStream *out, pml_table *table, pml_error *err);
/* One row per live data file of a snapshot (-1: latest). Columns: partition STRING, bucket INT, file_path, file_format STRING,
   schema_id BIGINT, level INT, record_count, file_size_in_bytes, min_sequence_number, max_sequence_number BIGINT,
   creation_time TIMESTAMP(3) (the writer's wall clock), file_source STRING. */
PML_API int pml_table_files(struct ArrowArrayStream *out, pml_table *table, int64_t snapshot_id, pml_error *err);
/* -1 when there is no snapshot yet. */
PML_API int pml_table_latest_snapshot(int64_t *id, pml_table *table, pml_error *err);

/* A warehouse directory: <warehouse>/<database>.db/<table>. Names are "database.table", or "table" in database "default". */
PML_API int pml_catalog_open(pml_catalog **out, pml_env *env, const char *warehouse, pml_error *err);
PML_API void pml_catalog_release(pml_catalog *catalog);
/* "database.table" of every table, sorted. Returns owned (pml_names_clear). */
PML_API int pml_catalog_tables(pml_names *out, pml_catalog *catalog, pml_error *err);
/* Directory of a table, whether it exists or not. PML_E_INVAL for a name that cannot be one. Returns owned. */
PML_API int pml_catalog_table_path(pml_text *out, pml_catalog *catalog, const char *name, pml_error *err);
/* Removes a table's directory with everything in it. PML_E_NOT_FOUND when there is none. */
PML_API int pml_catalog_drop_table(pml_catalog *catalog, const char *name, pml_error *err);

#ifdef __cplusplus
}
#endif

#endif
