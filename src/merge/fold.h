/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges as runs of other merges, and by them a bound on the inputs of each (realtime-pk.md 11.4). Where there are more runs than a merge
 * is to have, neighbours are folded first: merged by order alone, each row of each key stays, so that the merge above sees what it would
 * have seen. Each such node holds one batch of its own beside those of its runs, and moves its rows once more.
 */
#ifndef PML_MERGE_FOLD_H
#define PML_MERGE_FOLD_H

#include "merge/function.h"

/* One run of several: what a merge with this function gives, deletes too, in all columns of the layout (borrowed while the run lives).
   Function and runs are moved, also on failure. n >= 1. */
int pml_merge_run__open(pml_run *out, pml_env *env, const pml_merge_layout *layout, const pml_merge_function *function, int64_t batch_rows,
                        const pml_run *runs, size_t n, pml_error *err);

typedef struct pml_fold {
    const pml_merge_layout *layout; /* borrowed while the runs live */
    size_t max;                     /* inputs of one merge, at least 2 */
    bool lookup; /* the merge above goes by levels (merge.h): a run of level >= 1 stays one of its own, and those of others stand behind */
    int64_t batch_rows; /* of the merge above */
} pml_fold;

/* Folds the newest runs, the last ones, until at most max are left, or those that must stay and one more. On failure those that are left
   are the caller's to drop, as they are on success. */
int pml_runs__fold(pml_run *runs, size_t *n, pml_env *env, const pml_fold *request, pml_error *err);

#endif
