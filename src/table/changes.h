/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which snapshots a read of what changed is about (Java: AbstractDataTableScan.createIncrementalStartingScanner; format-metadata.md 14.4):
 *
 *   two tags           what differs between their snapshots; or, with incremental-between-tag-to-snapshot, as the ids of these
 *   two ids            by mode: the files that the snapshots behind the first up to the second added (delta), their changelogs, or what differs
 *   two times          the same between the newest snapshots that are not newer than these
 *   an auto-tag        what differs from the newest earlier tag of the form that tag.creation-period and its neighbours say
 */
#ifndef PML_TABLE_CHANGES_H
#define PML_TABLE_CHANGES_H

#include "table/travel.h"

typedef struct pml_range {
    enum { PML_RANGE_EMPTY = 0, PML_RANGE_CHANGES, PML_RANGE_DIFF } kind;
    bool changelog;          /* CHANGES: out of the changelog manifests, else out of the delta manifests of APPEND snapshots */
    int64_t after, upto;     /* CHANGES: the snapshots behind the first, up to the second */
    pml_snapshot start, end; /* DIFF */
} pml_range;

/* travel is a range. PML_E_INVAL: texts that are neither tags nor numbers, an end before its start. PML_E_NOT_FOUND: snapshots that are
   not there, with those that are. */
int pml_range__find(pml_range *out, pml_arena *arena, pml_table *t, const pml_travel *travel, pml_error *err);

#endif
