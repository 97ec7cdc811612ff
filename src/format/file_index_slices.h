/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing numbers that are kept bit by bit: slice i has the rows whose number has bit i. Internal to format/file_index*. */
#ifndef PML_FORMAT_FILE_INDEX_SLICES_H
#define PML_FORMAT_FILE_INDEX_SLICES_H

#include "format/file_index_read.h"

/* Which rows are below a number and which have it. Slices come from the lowest on, so that one pass over the file is enough. */
typedef struct pml_slices {
    pml_row_set exists, below, equal;
    uint64_t number;
} pml_slices;

int pml_slices__init(pml_slices *s, const pml_index_question *q, uint64_t number);
void pml_slices__clear(pml_slices *s);
/* After `exists` was filled: before the first slice. */
void pml_slices__begin(pml_slices *s);
void pml_slices__add(pml_slices *s, int i, const pml_row_set *slice);
/* After n slices. */
void pml_slices__end(pml_slices *s, int n);

#endif
