/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that wait until there are enough rows to be worth a call of the file writer. */
#ifndef PML_TABLE_HELD_H
#define PML_TABLE_HELD_H

#include "columnar/batch.h"

typedef struct pml_held {
    pml_env *env;
    const pml_field *fields; /* borrowed */
    size_t n_fields;
    struct ArrowArray *v; /* in the order they came */
    size_t n, cap;
    int64_t rows;
    uint64_t bytes;
} pml_held;

/* Moves the batch in on success; else it stays the caller's. */
int pml_held__add(pml_held *h, struct ArrowArray *batch, pml_error *err);
/* Neighbours of fewer than rows_min rows become one batch; larger ones stay as they are. */
int pml_held__join(pml_held *h, int64_t rows_min, pml_error *err);
void pml_held__clear(pml_held *h);

#endif
