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
} rt_keyed_batch;

/* Moves the columns of the table in, the first of which is the child `first` of the struct array; on failure they stay there. One
   allocation, whatever the number of columns: batches may have one row. */
int pml_rt_keyed_batch__new(rt_keyed_batch *out, pml_env *env, size_t n_fields, int64_t rows, struct ArrowArray *from, size_t first,
                            pml_error *err);
/* The opposite, for a batch that nobody took. */
void pml_rt_keyed_batch__give_back(rt_keyed_batch *b, struct ArrowArray *to, size_t first);

/* As pml_batch__bytes. */
uint64_t pml_rt_keyed_batch__bytes(const rt_keyed_batch *b, const pml_rt_layout *layout);

#endif
