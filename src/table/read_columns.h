/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data evolution: several files with columns of the same rows as one stream of rows. Of each column the first file that has it counts
 * (the newest: plan_columns.c); the files are read in step.
 */
#ifndef PML_TABLE_READ_COLUMNS_H
#define PML_TABLE_READ_COLUMNS_H

#include "table/scan.h"

typedef struct pml_columns_read {
    pml_plan *plan;
    const pml_split *split; /* of the plan */
    size_t first, end;      /* the files of the split that have the rows: pml_split__rows_end */
    /* Columns of the plan's schema, in the order of the stream. What the fields point to must outlive the stream. */
    const pml_field *fields;
    size_t n_fields;
    const pml_pred *predicate; /* as that of pml_file_source: never exact. NULL: none */
    bool indexes;
    int64_t batch_rows;
    bool validate_full;
} pml_columns_read;

/* Returns owned: the stream holds the plan. A column that no file has is null, or PML_E_SCHEMA where it is NOT NULL. */
int pml_columns_read__open(struct ArrowArrayStream *out, const pml_columns_read *request, pml_error *err);

#endif
