/* SPDX-License-Identifier: Apache-2.0 */
/* Small tables whose rows say who they are: every value of a row follows from its id, so a reader can check a row alone. */
#ifndef PML_TESTS_RT_ROWS_H
#define PML_TESTS_RT_ROWS_H

#include <paimonlive/realtime.h>

#include "support/rt_keyed.h"
#include "support/test_env.h"

enum { RT_PARTITIONS = 3, RT_NULL_PARTITION = 2 };

/* Columns as letters: i BIGINT id, v STRING, x INT, d STRING the partition key; of tables with a primary key those of rt_keyed.h. */
typedef struct rt_shape {
    const char *columns;
    bool partitioned;
    int32_t buckets; /* -1: unaware; with keys dynamic */
    bool external, auto_advance;
    const rt_variant *keyed; /* NULL: no primary key. With one there is no partition null */
    uint64_t salt;           /* of its rows */
    bool collapse;           /* rows in memory may stand for others */
} rt_shape;

/* The value of partition p: NULL for the last one. */
const char *rt_partition_value(int p);
/* Its text in paths. */
const char *rt_partition_text(int p);
/* Creates the table and opens it. */
int rt_table_create(pml_table **out, pml_env *env, const char *path, const rt_shape *shape, pml_error *err);
/* n rows; parts NULL: all of partition 0; offsets NULL: no offset column. Release both. */
void rt_rows_make(struct ArrowArray *array, struct ArrowSchema *schema, const rt_shape *shape, int64_t n, const int64_t *ids,
                  const int *parts, const int64_t *offsets);
/* The next batch of a stream in these columns (they include i): ids and partitions (-1: not read) of its rows, malloc'ed. *n -1:
   the end. wrong: a text when a value is not the one of its row. */
int rt_rows_next(struct ArrowArrayStream *stream, const char *columns, int64_t **ids, int **parts, int64_t *n, char wrong[160],
                 pml_error *err);

#endif
