/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of merges, read ahead by other threads: of a merge on read three quarters are decoding, which each run has for itself, so
 * threads that have nothing of their own to do decode the next batches of runs while one thread merges. Rows, order and errors are
 * those of the runs; what a run says comes when the merge gets there.
 *
 * All threads of a reader share one pml_ahead and one mutex. A thread reads a run outside of it, one thread at a time. The one that
 * merges waits for nothing but a batch of its own that is being read right now, and meanwhile helps like the others.
 */
#ifndef PML_TABLE_READ_AHEAD_H
#define PML_TABLE_READ_AHEAD_H

#include "merge/merge.h"
#include "util/thread.h"

struct pml_ahead_run;

typedef struct pml_ahead {
    pml_env *env;
    pml_mutex *mu;   /* guards everything here, and the runs */
    pml_cond *work;  /* broadcast when a run has room or news */
    struct pml_ahead_run *first, *last; /* oldest first */
    uint64_t bytes;  /* that wait in runs */
    unsigned opening; /* merges that were begun and have no runs yet */
    size_t unread;    /* runs that have not ended */
} pml_ahead;

/* One merge on its way. */
typedef struct pml_ahead_merge {
    pml_ahead *ahead;
    bool opened;
} pml_ahead_merge;

/* A merge is begun, with the mutex held. Until it is opened there will be runs to read ahead soon, and nobody needs to begin another. */
void pml_ahead__begin_locked(pml_ahead_merge *m, pml_ahead *a);
/* Its runs are there, or will not come. May be said again. */
void pml_ahead__opened(pml_ahead_merge *m);
/* Puts *run into hands that read it ahead; on failure it is as it was. fields: of its batches, borrowed until drop. */
int pml_ahead__take(pml_run *run, pml_ahead_merge *m, const pml_field *fields, size_t n_fields, pml_error *err);
/* Reads one batch for the oldest merge that has room for one. The mutex is held, and given up meanwhile. False: there is none. */
bool pml_ahead__help_locked(pml_ahead *a);

#endif
