/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequence numbers of tables with a primary key against those of other writers (realtime-pk.md 6.4). Rows of a key take their order from
 * them, so a second writer whose numbers cross those of rows in memory would hide or be hidden by chance. Who wrote what need not be
 * known: let M be the highest number in the live files of a partition-bucket. Rows of ours that are in a snapshot, and compactions of
 * them, lie below every row that is not, so M at or above such a row is somebody else's work.
 *
 * Kept for each partition-bucket of the table is a bound, the highest number of all files of others that were ever seen added.
 * It costs the deltas of the snapshots that were not looked at yet, and counts files that are gone again. Only where the bound says conflict are the live
 * files read.
 */
#ifndef PML_REALTIME_RT_SEQUENCES_H
#define PML_REALTIME_RT_SEQUENCES_H

#include "realtime/rt_history.h"
#include "util/map.h"

struct pml_rt_context;
struct rt_pb;

#define RT_SEQUENCE_PROPERTY "sequence.generation.max-sequence-number"

typedef struct rt_sequence_bounds {
    pml_arena arena;
    pml_map last; /* partition bytes + bucket -> int64_t */
} rt_sequence_bounds;

typedef struct rt_sequences {
    pml_mutex mu;  /* guards what follows; nothing is called under it */
    rt_point upto; /* all up to here was looked at; id 0: there was no snapshot, -1: nothing yet */
    rt_sequence_bounds bounds;
} rt_sequences;

void pml_rt_sequences__init(rt_sequences *q, pml_env *env);
void pml_rt_sequences__clear(rt_sequences *q);

/* Bounds from now on hold for this snapshot (NULL: a table without one). Reads what is new; after a rollback, or where snapshots in
   between are gone, the whole list of files. */
int pml_rt_sequences__look(struct pml_rt_context *c, const pml_snapshot *s, pml_error *err);
/* The number of the first row that a PB takes which begins at this progress, at least *first: above those of live files, of what the
   progress file and the snapshot say was given away. PML_E_OVERFLOW. */
int pml_rt_sequences__restore(int64_t *first, const struct rt_pb *pb, const pml_effective *progress, pml_error *err);
/* Rows of the PB from number lowest on are in no snapshot up to s, which was looked at: PML_E_CONFLICT when another writer has numbers
   that high. The context is to be made anew then, since these rows can never be committed. */
int pml_rt_sequences__check(struct rt_pb *pb, const pml_snapshot *s, int64_t lowest, pml_error *err);
/* No file of others has a higher number in the PB, up to what was looked at; -1: there is none. */
int pml_rt_sequences__bound(int64_t *out, const struct rt_pb *pb, pml_error *err);
/* At advance to s, which has the PB's offsets below committed and the bound highest: the same of all rows in memory, and where there are
   none the next one comes after those of others. */
int pml_rt_sequences__adopt(struct rt_pb *pb, const pml_snapshot *s, int64_t committed, int64_t highest, pml_error *err);
/* Before a row goes into a PB without uncommitted ones: others may have loaded rows since the last advance, and it comes after them. Only
   a help, and so it cannot fail: what it misses is found by check and adopt. *looked: of the write call, false at first, so that it looks
   for a new snapshot once for all its buckets. */
void pml_rt_sequences__catch_up(struct rt_pb *pb, bool *looked);
/* A commit of ours on top of base (an id of 0: none): its files need not be looked at, since nothing of ours is ever in the way. */
void pml_rt_sequences__published(struct pml_rt_context *c, const rt_point *base, const pml_snapshot *s);

#endif
