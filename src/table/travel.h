/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which snapshot a scan reads (Java: TimeTravelUtil, SnapshotManager; format-metadata.md 14.4):
 *
 *   latest      by the hint, or by listing when the hint is older than what the caller knows
 *   id          that snapshot file
 *   tag         the snapshot that <branch root>/tag/tag-<name> holds, also when its own file has expired
 *   time        the newest snapshot whose time is not after the given one
 *   watermark   the oldest snapshot whose watermark is not below the given one
 *
 * The last two search by halves between the earliest and the latest snapshot, as times and watermarks never fall. Of several
 * snapshots with exactly the wanted value Java takes the one that its search meets first, so this search takes the same steps.
 * A snapshot without a watermark behind one with a watermark (writers other than Java) counts as if it had that one.
 */
#ifndef PML_TABLE_TRAVEL_H
#define PML_TABLE_TRAVEL_H

#include "table/table.h"

typedef struct pml_travel {
    int by;          /* PML_SCAN_*, or one of those below */
    int64_t value;   /* id, time in milliseconds, watermark; of a range the one before its first */
    const char *tag; /* name; of a range by options their text; borrowed */
    int64_t end;     /* of a range: the last one */
    const char *end_tag;
    int mode;             /* of a range: PML_BETWEEN_* */
    bool tag_to_snapshot; /* two tags stand for their snapshots' ids */
} pml_travel;

/* What only calls ask for, not options. Ranges are looked up in changes.h. */
enum { PML_SCAN_BETWEEN_IDS = 100, PML_SCAN_BETWEEN_TAGS, PML_SCAN_COMPACTED /* the newest compacted snapshot, else the latest */ };
static inline bool pml_travel__is_range(const pml_travel *t)
{
    return t->by >= PML_SCAN_BETWEEN && t->by <= PML_SCAN_BETWEEN_TAGS;
}

/* Whether columns are those of the snapshot's schema (M 14.4); of everything else they are the table's. */
static inline bool pml_travel__has_columns_of_then(const pml_travel *t)
{
    return t->by != PML_SCAN_LATEST && t->by != PML_SCAN_COMPACTED && !pml_travel__is_range(t);
}

/* What the options scan.* of the table say; the tag's name is borrowed from them. */
pml_travel pml_travel__of_options(const pml_table_options *o);
/* PML_E_INVAL: no name of a tag. */
int pml_travel__check_tag(const char *name, pml_error *err);

/* A tag's snapshot, in the arena. PML_E_NOT_FOUND names the tags that there are. */
int pml_travel__tag(pml_snapshot *s, pml_arena *arena, pml_table *t, const char *name, pml_error *err);
/* The snapshot of that id, in the arena. PML_E_NOT_FOUND names what there is instead. */
int pml_travel__id(pml_snapshot *s, pml_arena *arena, pml_table *t, int64_t id, pml_error *err);
/* The snapshot, in the arena. min_latest: the latest snapshot known to the caller (-1: none), a hint at an older one is not
   believed. *found = false: the latest is asked for, and there is none. PML_E_NOT_FOUND names what there is instead;
   PML_E_SNAPSHOT_GONE: snapshots expired during the search. */
int pml_travel__find(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, const pml_travel *travel, int64_t min_latest,
                     pml_error *err);

#endif
