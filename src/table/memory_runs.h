/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in memory as runs of a merge with those of files (realtime-pk.md 11.3): what was written together is merged by itself first, as
 * it will be when it goes to a file, so that the answer is the same before and after.
 */
#ifndef PML_TABLE_MEMORY_RUNS_H
#define PML_TABLE_MEMORY_RUNS_H

#include "table/scan.h"

typedef struct pml_memory_runs {
    pml_plan *plan;         /* holds the pins while the runs live */
    const pml_split *split; /* one with memory */
    const pml_merge_layout *layout; /* of the merge, borrowed by the runs */
    const pml_table_schema *schema; /* for the engine, borrowed by the runs */
    bool separable;         /* the engine gives the same however rows are grouped (deduplicate, first-row) */
    const pml_pred *predicate; /* over the key only; NULL: none */
    int64_t batch_rows;
} pml_memory_runs;

/* The oldest first. *runs by pml_env__free; each is to be dropped. */
int pml_memory_runs__open(pml_run **runs, size_t *n, const pml_memory_runs *request, pml_error *err);
/* Makes as few of the runs of a merge as its plan, one with memory, lets it have (merge/fold.h). */
int pml_memory_runs__fold(pml_plan *plan, const pml_merge_layout *layout, bool lookup, int64_t batch_rows, pml_run *runs, size_t *n,
                          pml_error *err);

#endif
