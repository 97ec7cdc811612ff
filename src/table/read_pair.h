/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A split of a table with a primary key that tells a change by files before it and files after it:
 *
 *   DIFF      both are merged, and the rows of a key compared (Java: IncrementalDiffSplitRead): the later one as it is where it is new or
 *             differs; where there is only an earlier one, that one as -D, if deletes are kept; nothing where they are equal
 *   REPLACED  the rows before taken back (+I as -D, +U as -U), then those after (Java: IncrementalChangelogReadProvider)
 */
#ifndef PML_TABLE_READ_PAIR_H
#define PML_TABLE_READ_PAIR_H

#include "table/read_merge.h"

/* As pml_merge_read__open. */
int pml_pair_read__open(struct ArrowArrayStream *out, const pml_merge_read *request, pml_error *err);

#endif
