/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chosen rows of a file. A reader may leave out parts of a file, so who drops single rows has to know which rows a batch holds: the
 * reader says which ranges it reads, and batches are cut as they come.
 */
#ifndef PML_FORMAT_SELECTION_H
#define PML_FORMAT_SELECTION_H

#include "columnar/batch.h"
#include "columnar/row_set.h"

/* Rows [first, end) of a file. */
typedef struct pml_row_range {
    int64_t first, end;
} pml_row_range;

typedef struct pml_selection {
    pml_env *env;
    const pml_row_set *rows; /* NULL: everything */
    const pml_row_range *ranges; /* what is read, ascending; borrowed */
    size_t n_ranges, i;
    int64_t done; /* rows of ranges[i] */
    bool positions; /* batches get a column more: where each row lies in the file */
} pml_selection;

/* PML_E_CORRUPT when `rows` (NULL allowed) is of a file of another length. To be asked before anything else. */
int pml_selection__check(const pml_row_set *rows, int64_t n_rows, const char *path, pml_error *err);
/* Wanted rows of all ranges. */
int64_t pml_selection__count(const pml_selection *s);
/* The next batch of the ranges, a struct array of these fields: cut down to the wanted rows, and with their positions behind if those are
   wanted. When no row is left it is released (release NULL). On failure, too. */
int pml_selection__cut(pml_selection *s, struct ArrowArray *batch, const pml_field *fields, size_t n_fields, pml_error *err);
/* The positions of the next n wanted rows, of which there must be so many: for who gives no columns of the file. */
int pml_selection__positions(struct ArrowArray *out, pml_selection *s, int64_t n, pml_error *err);

#endif
