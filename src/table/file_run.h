/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted run of a merge: its files one after the other, opened when they are reached.
 */
#ifndef PML_TABLE_FILE_RUN_H
#define PML_TABLE_FILE_RUN_H

#include "merge/merge.h"
#include "merge/sections.h"
#include "table/scan.h"

typedef struct pml_file_run {
    pml_plan *plan; /* everything is borrowed until the run is dropped */
    const pml_split *split;
    const pml_sorted_run *files; /* of the split */
    const pml_field *fields;     /* as those of pml_file_source */
    size_t n_fields;
    const pml_pred *predicate; /* for leaving parts of files out, never exact. NULL: none */
    bool indexes;              /* rows that file indexes exclude by the predicate may be left out: it is about the key only */
    int64_t batch_rows;        /* that the caller asks for */
    bool validate_full;
    bool *found; /* only rows that fulfil the predicate come, and this is set before the first. NULL: nobody wants to know */
} pml_file_run;

int pml_file_run__open(pml_run *out, const pml_file_run *request, pml_error *err);

#endif
