/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live files that a lookup keeps of a snapshot. The next snapshot mostly adds few: what is known stays, and the deltas of the snapshots
 * since come on top, as long as these are APPEND and COMPACT ones in one history; else the whole list is read. So it is where a file comes again
 * that was deleted before: no known writer does that, and what scans show of it hangs on which manifests were merged since.
 */
#ifndef PML_TABLE_LOOKUP_FILES_H
#define PML_TABLE_LOOKUP_FILES_H

#include <stdatomic.h>

#include "table/table.h"

/* The memory of what was read of one or several manifest lists, and of all that lies below it. Immutable and counted. */
typedef struct pml_lookup_files {
    atomic_int refs;
    pml_arena arena;
    pml_map deleted; /* the identities that DELETEs among it name */
    struct pml_lookup_files *below; /* a reference; NULL: the whole list is in this one */
    size_t depth, n_whole, n_deltas; /* how many lie below, entries of the whole list, entries of all deltas on top of it */
} pml_lookup_files;

typedef struct pml_live_list {
    pml_lookup_files *files; /* a reference; NULL: nothing */
    pml_manifest_entries live;
    pml_snapshot snapshot; /* that they are of; files NULL: none */
} pml_live_list;

/* The live files of s, which must be of the same branch as those that are known (NULL: nothing is) if it follows on them; the array and the
   snapshot's texts are in arena. On failure *out has nothing. Errors as pml_table__live_files. */
int pml_live_list__load(pml_live_list *out, pml_arena *arena, pml_table *t, const pml_snapshot *s, const pml_live_list *known, pml_error *err);
void pml_live_list__clear(pml_live_list *l);

#endif
