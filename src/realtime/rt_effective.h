/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effective progress of a snapshot (realtime.md 7.4): writers that do not know the property realtime.offsets drop it, so it is
 * never read from one snapshot alone.
 *
 *   walk back from the snapshot to the newest one with the property, the anchor
 *   on the way note each partition that an OVERWRITE without the property emptied (all files deleted, none added) or changed in
 *   a way that cannot be told from a row-level delete (unclear)
 *   entries of emptied partitions become reset marks, those of unclear ones are lost, all others are as in the anchor
 *   no anchor: nothing was ever committed when the walk ends at snapshot 1, or when no branch has a progress file; else the
 *   anchor has expired and everything is lost
 *
 * An error of reading is an error, never "lost" or "nothing". So is a progress file that is missing while the snapshot that names it is
 * there: somebody took it away and may bring it back. Only calls that end a loss take it for one.
 *
 * A reset mark found this way has the lineage that every reader derives alike: XXH3 (128 bits, canonical byte order) over
 *
 *   byte 1 and the 16 bytes of the old lineage, or byte 0
 *   int64 LE id of the emptying snapshot, uint32 LE length of its commit user, the user,
 *   int64 LE commit identifier, int64 LE time in milliseconds
 *
 * Cost: one snapshot file per step; per OVERWRITE without the property its delta manifests, and for partitions that only lost
 * files the manifests of its live files. Results are cached by the identity of the snapshot.
 */
#ifndef PML_REALTIME_RT_EFFECTIVE_H
#define PML_REALTIME_RT_EFFECTIVE_H

#include "realtime/rt_offsets.h"
#include "table/table.h"

/* Where snapshots and manifests come from. */
typedef struct pml_effective_source {
    void *arg;
    /* -1: none. */
    int (*latest)(void *arg, int64_t *id, pml_error *err);
    int (*earliest)(void *arg, int64_t *id, pml_error *err);
    /* PML_E_NOT_FOUND when it is gone. */
    int (*load_snapshot)(void *arg, pml_snapshot *out, pml_arena *arena, int64_t id, pml_error *err);
    /* Shows each entry of the delta to visit, whose result says nothing. PML_E_SNAPSHOT_GONE when a manifest is missing. */
    int (*visit_delta)(void *arg, const pml_snapshot *s, pml_manifest_keep_fn visit, void *ctx, pml_error *err);
    /* The snapshot's live files among those that keep wants. PML_E_SNAPSHOT_GONE. */
    int (*live_files)(void *arg, pml_manifest_entries *out, pml_arena *arena, const pml_snapshot *s, pml_manifest_keep_fn keep,
                      void *ctx, pml_error *err);
    /* Texts of a partition row, in the arena. */
    int (*partition_texts)(void *arg, pml_pb_texts *out, pml_arena *arena, pml_bytes partition, pml_error *err);
    /* Into an initialised, empty map. PML_E_NOT_FOUND when the file is gone. */
    int (*read_progress)(void *arg, pml_progress *out, const char *property, pml_error *err);
    int (*any_progress_file)(void *arg, bool *out, pml_error *err);
} pml_effective_source;

/* Reads a table. The table outlives the source. */
pml_effective_source pml_effective_source__of_table(pml_table *t);

typedef struct pml_effective_options {
    size_t n_keys;
    const char *const *keys; /* partition keys */
    int policy;              /* PML_RT_FOREIGN_* */
    int64_t max_walk;
    bool missing_is_lost; /* a progress file that is named and not there: everything is lost, instead of PML_E_IO */
} pml_effective_options;
pml_effective_options pml_effective_options__of_table(const pml_table *t);

/* Immutable. Counted: whoever got it from load or acquire releases it; a cache holds its newest ones. */
typedef struct pml_effective {
    atomic_int refs;
    pml_env *env;
    pml_arena arena;
    int64_t snapshot_id; /* -1: the table has no snapshot, and the progress is empty */
    pml_snapshot snapshot;
    bool tagged; /* the snapshot is that of a tag: there may be no such file among the snapshots */
    const char *property; /* of the snapshot itself; NULL: none */
    const char *anchor;   /* property that says exactly this progress, of the snapshot or an older one; NULL: none does */
    pml_progress progress;
} pml_effective;

void pml_effective__acquire(pml_effective *e);
void pml_effective__release(pml_effective *e); /* NULL allowed */

/* The newest results of one owner. Thread-safe. */
enum { PML_EFFECTIVE_CACHE = 4 };
typedef struct pml_effective_cache {
    pml_mutex mu;
    pml_effective *v[PML_EFFECTIVE_CACHE]; /* guarded by mu; newest first */
} pml_effective_cache;
void pml_effective_cache__init(pml_effective_cache *c);
void pml_effective_cache__clear(pml_effective_cache *c);

/* snapshot NULL: the latest one. cache NULL: none. Returns owned. With a snapshot, PML_E_SNAPSHOT_GONE when the anchor expired
   during the call although newer snapshots exist: start again from the newest. */
int pml_effective__load(pml_effective **out, pml_env *env, const pml_effective_source *source, const pml_effective_options *o,
                        const pml_snapshot *snapshot, pml_effective_cache *cache, pml_error *err);
/* The same for the snapshot that a tag holds, which may have expired. Its anchor may have, too: then everything is lost. */
int pml_effective__load_tag(pml_effective **out, pml_env *env, const pml_effective_source *source, const pml_effective_options *o,
                            const pml_snapshot *snapshot, pml_effective_cache *cache, pml_error *err);
/* As load, for a table. */
int pml_effective__load_table(pml_effective **out, pml_table *t, const pml_snapshot *snapshot, pml_effective_cache *cache,
                              pml_error *err);
/* For calls that can end a loss (repair, truncate): missing_is_lost. */
int pml_effective__load_to_repair(pml_effective **out, pml_table *t, const pml_snapshot *snapshot, pml_error *err);

typedef enum pml_progress_state { PML_PROGRESS_ABSENT, PML_PROGRESS_KNOWN, PML_PROGRESS_LOST } pml_progress_state;
/* *entry (may be NULL) is set when there is one. */
pml_progress_state pml_progress__state(const pml_progress *p, const pml_pb_texts *pb, const pml_progress_entry **entry);

/* The lineage of a reset that a foreign snapshot made. */
int pml_lineage__derive(pml_lineage *out, pml_env *env, const pml_lineage *old, const pml_snapshot *s, pml_error *err);

#endif
