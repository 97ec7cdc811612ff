/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole tables for tests: random rows go in and are remembered; what comes out is compared with what went in.
 *
 *     table_kit k;
 *     table_kit_create(&k, t, test_path(t, "t"), KIT_SCHEMA);
 *     table_kit_append(&k, 100);                   // writer, prepare, commit
 *     table_kit_must_read(&k, &(kit_read){0});     // every row, every column
 *     table_kit_close(&k);
 *
 * Column 0 of every schema is "id BIGINT NOT NULL": the kit numbers the rows there.
 */
#ifndef PML_TESTS_TABLE_KIT_H
#define PML_TESTS_TABLE_KIT_H

#include "support/random_batch.h"
#include "table/scan.h"
#include "table/writer.h"

enum { KIT_BATCHES_MAX = 512 };

typedef struct table_kit {
    test_env *t;
    pml_table *table;
    const pml_field *fields;
    size_t n_fields;
    int64_t next_id;
    size_t n_batches;
    struct ArrowArray batches[KIT_BATCHES_MAX]; /* what was asked to be written */
    int64_t first_id[KIT_BATCHES_MAX];
    bool absent[KIT_BATCHES_MAX]; /* not expected in the table */
} table_kit;

/* Columns of many types; options are put in as JSON members, e.g. "\"bucket\":\"4\"". */
char *kit_schema_json(const char *partition_keys, const char *options); /* malloc'ed */
pml_table *kit_open(test_env *t, const char *path);

void table_kit_create(table_kit *k, test_env *t, const char *path, const char *schema_json);
/* Moves the table in. */
void table_kit_init(table_kit *k, test_env *t, pml_table *table);
void table_kit_close(table_kit *k);

/* body with a fresh table of kit_schema_json on local files. */
void table_kit_run(const char *partition_keys, const char *options, void (*body)(table_kit *k));

/* A new random batch, remembered as batch k->n_batches - 1. */
void table_kit_batch(struct ArrowArray *out, table_kit *k, int64_t rows);
/* Writes with the table's schema. On failure the array is released, too. */
int table_kit_write(table_kit *k, pml_writer *w, struct ArrowArray *batch, pml_error *err);
/* One writer for one batch, up to its messages. */
pml_messages *table_kit_prepare(table_kit *k, int64_t rows);
int table_kit_try_prepare(pml_messages **out, table_kit *k, struct ArrowArray *batch, pml_error *err);
/* Commits under a fresh user; returns the snapshot. Frees the messages. */
int64_t table_kit_commit(table_kit *k, pml_messages *m);
int64_t table_kit_append(table_kit *k, int64_t rows);

typedef struct kit_read {
    const pml_pred *predicate; /* NULL: none */
    size_t n_columns;          /* 0: all */
    const int32_t *columns;    /* with id among them */
    int64_t snapshot;          /* 0: latest */
    int64_t limit;             /* 0: none */
    size_t batches;            /* only the first ones are expected; 0: all */
    int64_t batch_rows;
} kit_read;

/* Plans, counts, reads and compares. */
void table_kit_must_read(table_kit *k, const kit_read *r);
/* Reads an already opened stream (released) and compares. */
void table_kit_must_stream(table_kit *k, struct ArrowArrayStream *stream, const kit_read *r);
void kit_plan(pml_plan **out, table_kit *k, const kit_read *r);
/* Files in the splits. */
int64_t kit_plan_files(const pml_plan *plan);
/* A predicate as the public one, over one leaf. */
pml_pred *kit_leaf(table_kit *k, pml_arena *arena, int32_t column, pml_pred_op op, const pml_value *literals, size_t n);
/* A random tree over the atomic columns. */
pml_pred *kit_random_predicate(table_kit *k, pml_arena *arena, int depth);
/* Rows of all remembered and expected batches for which p is true. */
int64_t kit_expected_rows(table_kit *k, const pml_pred *p, size_t batches);
/* Whether the newest snapshot holds all rows of this batch (true) or none (false); anything between fails the test. */
bool table_kit_has_batch(table_kit *k, size_t batch);

/* Files in manifest/ of a table on local files that no snapshot names. */
size_t kit_orphan_manifests(pml_table *table);
/* Visible entries of <root>/<dir>; 0 when it does not exist. */
size_t kit_files_in(const char *root, const char *dir);

/* A copy of a folder with all below it; `to` is made. */
void kit_copy_tree(const char *to, const char *from);
/* A whole file, and one change to a text file. */
void kit_write_text(const char *path, const char *text);
void kit_replace_in_file(const char *path, const char *from, const char *to);

#endif
