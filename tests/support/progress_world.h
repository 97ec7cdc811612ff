/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of snapshots, file names and progress files that exists in memory only: what effective progress reads. Plain data
 * apart from the texts of progress files, so that a model can copy it, go on with the copy and come back.
 *
 * It is partitioned by "dt"; a partition row is the text itself, except that "Q" is another row with the text "q".
 */
#ifndef PML_TEST_PROGRESS_WORLD_H
#define PML_TEST_PROGRESS_WORLD_H

#include "realtime/rt_progress_build.h"
#include "support/test_env.h"

enum { WORLD_P = 0, WORLD_Q = 1, WORLD_Q2 = 2, WORLD_PARTS = 3 };
enum { WORLD_SNAPSHOTS = 32, WORLD_DELTA = 12, WORLD_FILES = 32, WORLD_PROGRESS = 32 };

typedef struct world_entry {
    int kind; /* PML_ENTRY_* */
    int part, file;
} world_entry;

typedef struct world_snapshot {
    pml_commit_kind kind;
    const char *user, *operation; /* literals; operation NULL: none */
    int64_t identifier, time_ms;
    int property; /* number of a progress file, -1: none */
    bool manifests_gone;
    int n_delta;
    world_entry delta[WORLD_DELTA];
    uint32_t live[WORLD_PARTS]; /* bit per file, after the delta */
} world_snapshot;

typedef struct world_progress {
    char *text;
    size_t len;
    bool exists;
} world_progress;

typedef struct world {
    pml_env *env;
    int64_t earliest, latest; /* 0: no snapshot */
    world_snapshot snapshots[WORLD_SNAPSHOTS]; /* by id */
    int n_files, n_progress;
    world_progress progress[WORLD_PROGRESS];
    /* Faults: call number fail_at of the source answers fail_code; before call number grow_at the latest snapshot becomes
       grow_to, before call number expire_at those older than expire_to vanish. 0: never. */
    long calls, fail_at, expire_at, grow_at;
    int fail_code;
    int64_t expire_to, grow_to;
} world;

void world_init(world *w, test_env *t);
/* Frees the texts of progress files from number n on. */
void world_free_from(world *w, int n);

pml_effective_source world_source(world *w);
pml_effective_options world_options(int policy);
extern const char *const world_keys[1];
/* Texts of the partition-bucket 0 of a part. */
pml_pb_texts world_pb(int part);

/* ---- snapshots ---- */
world_snapshot world_begin(const world *w, pml_commit_kind kind, const char *user, int64_t identifier);
void world_add(world *w, world_snapshot *s, int part);
void world_delete_all(const world *w, world_snapshot *s, int part);
bool world_delete_one(const world *w, world_snapshot *s, int part); /* false: there is none */
void world_publish(world *w, const world_snapshot *s);

/* Commits of writers that do not know the property. */
void world_java_append(world *w, int part);
void world_java_compact(world *w, int part);
void world_java_overwrite(world *w, int part);
void world_java_truncate(world *w);
bool world_java_rewrite(world *w, int part, const char *operation); /* false: nothing to rewrite */

/* ---- our commits ---- */
/* Completes b (base, ids, keys), builds, and gives s its property. Nothing is published. */
int world_build(world *w, pml_progress_build *b, world_snapshot *s, int policy, pml_error *err);

void world_expire(world *w, int64_t earliest);
/* Deletes progress files that no snapshot names, but for the newest when keep_newest. */
void world_clean(world *w, bool keep_newest);

#endif
