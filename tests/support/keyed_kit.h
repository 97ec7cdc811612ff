/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with a primary key for tests: rows by hand or at random, and a model of what must be read. A table_kit without its own rows:
 *
 *     id BIGINT NOT NULL, p INT NOT NULL, n INT, s INT, v STRING, k STRING
 *
 * with primary key id, or (p, id) where p is the partition. k is the kind of the row as text.
 */
#ifndef PML_TESTS_KEYED_KIT_H
#define PML_TESTS_KEYED_KIT_H

#include "merge/merge.h"
#include "support/table_kit.h"

#define KEYED_NULL INT64_MIN /* of n, s and v */
enum { KEYED_ROWS_MAX = 70000, KEYED_ALL_INSERTS = 0, KEYED_WITH_KINDS = 1 };

typedef struct keyed_row {
    int64_t id, p, n, s, v; /* v: the number in the text */
    int8_t kind;
} keyed_row;

void keyed_create(table_kit *k, test_env *t, const char *path, bool partitioned, const char *options);
/* with_kinds: _VALUE_KIND behind the table's columns. */
void keyed_batch(struct ArrowArray *out, table_kit *k, const keyed_row *rows, size_t n, int with_kinds);
/* Of such batches. */
void keyed_schema(struct ArrowSchema *out, table_kit *k, int with_kinds);
/* Asserts that the batch is taken, or still the caller's and unchanged. */
int keyed_write(table_kit *k, pml_writer *w, const keyed_row *rows, size_t n, int with_kinds, pml_error *err);
/* One writer, one commit. */
void keyed_upsert(table_kit *k, const keyed_row *rows, size_t n);
/* Random rows over n_ids keys in two partitions. deletes: of a hundred. */
void keyed_random(keyed_row *rows, size_t n, test_env *t, int64_t n_ids, int deletes);

/* ---- the model: for each key its row, deletes too ---- */
typedef enum keyed_rule {
    KEYED_LAST,       /* the last row of a key counts */
    KEYED_SEQUENCE,   /* that with the largest s, null lowest; of several the last */
    KEYED_DESCENDING, /* that with the smallest s, null lowest of all */
    KEYED_FIRST
} keyed_rule;

typedef struct keyed_model {
    keyed_rule rule;
    bool partitioned;
    size_t n;
    keyed_row *rows;
} keyed_model;

keyed_model keyed_model_new(keyed_rule rule, bool partitioned);
void keyed_model_free(keyed_model *m);
void keyed_model_apply(keyed_model *m, const keyed_row *rows, size_t n);
/* The table's rows, by (p, id), and their number; pml_plan_count says the same. free() them. */
size_t keyed_read(keyed_row **out, table_kit *k);
void keyed_must_hold(table_kit *k, const keyed_model *m);

#endif
