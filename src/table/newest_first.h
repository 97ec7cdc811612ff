/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One key in several runs, without reading them all: where the row with the highest sequence number wins and the sequence numbers of the
 * runs do not overlap, the newest run that has the key decides.
 */
#ifndef PML_TABLE_NEWEST_FIRST_H
#define PML_TABLE_NEWEST_FIRST_H

#include "columnar/predicate.h"
#include "merge/sections.h"
#include "meta/table_schema.h"

/* Whether the conditions on key columns leave one key only, and that is in a run once. p NULL: no. */
bool pml_newest__one_key(const pml_pred *p, const pml_table_schema *schema);
/* The runs of a section in the arena, newest first; *out NULL where their sequence numbers do not tell. files: those that the runs
   number. */
int pml_newest__runs(pml_sorted_run **out, pml_arena *arena, const pml_section *s, const pml_data_file *files, pml_error *err);

#endif
