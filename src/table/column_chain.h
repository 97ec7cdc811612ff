/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Companions that together have a column of all rows of a group of files (Java: DataEvolutionSplitRead.SpecialFieldBunch): of the same
 * rows the newest counts, older ones are passed over, and they follow each other without a gap.
 */
#ifndef PML_TABLE_COLUMN_CHAIN_H
#define PML_TABLE_COLUMN_CHAIN_H

#include "table/read_columns.h"

typedef struct pml_file_chain {
    const size_t *files; /* indexes into the split's files, in the order of their rows */
    size_t n, at;
} pml_file_chain;

/* The first file of the chain that gives a column which some companion of the group has. */
int pml_file_chain__first(size_t *file, const pml_columns_read *q, int32_t field_id, pml_error *err);
/* The chain that begins with it. PML_E_CORRUPT where it leaves out rows of the group. */
int pml_file_chain__make(pml_file_chain *out, pml_arena *arena, const pml_split *split, const pml_columns_read *q, size_t first,
                         pml_error *err);

#endif
