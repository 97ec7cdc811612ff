/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a source that starts again leaves out. It numbers its rows, and needs nothing else: the table's snapshots record, per
 * partition-bucket, up to which number the rows are in files. pml_table_route tells where each row belongs, pml_rt_offsets_find up
 * to where that place is complete.
 */
#ifndef DEMO_REPLAY_H
#define DEMO_REPLAY_H

#include <stdbool.h>

#include <paimonlive/paimonlive.h>

typedef struct replay {
    pml_table *table;
    struct ArrowSchema schema; /* of the table */
    pml_rt_offsets *offsets;   /* what is committed; NULL: nothing */
    int64_t end;               /* no row from here on is committed */
} replay;

/* Loads what is committed. PML_E_PROGRESS_LOST when the table does not know it any more. */
int replay_load(replay *r, pml_table *table, pml_error *err);
void replay_free(replay *r);
/* Partition-buckets of which something is committed. */
int64_t replay_count(const replay *r);
/* keep[i]: row i, whose offset is offsets[i], is not committed. The rows are in the table's columns. */
int replay_mark(bool *keep, const replay *r, const struct ArrowArray *rows, const int64_t *offsets, pml_error *err);

#endif
