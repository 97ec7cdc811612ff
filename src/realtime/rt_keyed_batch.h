/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with keys as a batch of the transport schema: a run on its way to a store. */
#ifndef PML_REALTIME_RT_KEYED_BATCH_H
#define PML_REALTIME_RT_KEYED_BATCH_H

#include "columnar/batch.h"
#include "realtime/rt_layout.h"

typedef struct rt_keyed_batch {
    struct ArrowArray array; /* owned */
    int8_t *kinds;           /* of its system columns, to be filled; they belong to the array */
    int64_t *sequences, *offsets;
    struct ArrowArray given_offsets, given_kinds; /* owned: columns that came with those of the table; released: there are none */
} rt_keyed_batch;

/* Moves `from` in, whose children from `first` on, 0 or 1, are the columns of the table; on failure it stays there. One allocation, whatever
   the number of columns, and one release: batches may have one row. */
int pml_rt_keyed_batch__new(rt_keyed_batch *out, pml_env *env, size_t n_fields, int64_t rows, struct ArrowArray *from, size_t first,
                            pml_error *err);
/* The opposite, for a batch that nobody took. */
void pml_rt_keyed_batch__give_back(rt_keyed_batch *b, struct ArrowArray *to);
/* Releases what is left of it. */
void pml_rt_keyed_batch__clear(rt_keyed_batch *b);

/* As pml_batch__bytes. */
uint64_t pml_rt_keyed_batch__bytes(const rt_keyed_batch *b, const pml_rt_layout *layout);

#endif
