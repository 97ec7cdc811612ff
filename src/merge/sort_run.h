/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in no order become a run of the merge (Java: the sort of BinaryInMemorySortBuffer): by key, then by sequence fields, and rows
 * that tie stay in the order in which they came.
 */
#ifndef PML_MERGE_SORT_RUN_H
#define PML_MERGE_SORT_RUN_H

#include "merge/key_prefix.h"
#include "merge/row_order.h"

/* What a layout needs to be sorted. Immutable; used by several threads at once. */
typedef struct pml_sorter {
    const pml_merge_layout *layout; /* borrowed */
    pml_prefix_form form;           /* one that has met nothing yet */
    pml_row_order keys, sequence;
} pml_sorter;

/* Into the arena. PML_E_UNSUPPORTED: a key or sequence field of a type without order. */
int pml_sorter__init(pml_sorter *out, pml_arena *arena, const pml_merge_layout *layout, pml_error *err);
/* The rows of a batch (of at most 2^31-1 rows, no offset of its own, no null in its keys) in order. *rows is owned, by
   pml_env__free; NULL: they are in order as they are. */
int pml_sorter__order(int64_t **rows, pml_env *env, const pml_sorter *s, const struct ArrowArray *batch, pml_error *err);
/* The batch in order: moved when it is in order as it is, else copied and released. Untouched on failure. */
int pml_sorter__sort(struct ArrowArray *out, pml_env *env, const pml_sorter *s, struct ArrowArray *batch, pml_error *err);

#endif
