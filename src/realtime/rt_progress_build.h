/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of a new snapshot (realtime.md 7.3), as a pure function of the effective progress of the snapshot below it and of
 * what the commit brings. Every commit of ours asks it, also those without real-time data: a property that is not carried
 * forward costs every reader a walk, and is lost when the older snapshot expires.
 */
#ifndef PML_REALTIME_RT_PROGRESS_BUILD_H
#define PML_REALTIME_RT_PROGRESS_BUILD_H

#include "realtime/rt_effective.h"

/* What the commit moves, merged: at most one per partition-bucket. */
typedef struct pml_progress_range {
    pml_pb_texts pb;
    int64_t begin, end;
    pml_lineage lineage;
    int64_t rows;
    pml_optional_int64 sequence; /* largest one handed to files */
} pml_progress_range;

/* What the commit removed or overwrote: every entry whose values equal the given ones. */
typedef struct pml_progress_match {
    const char *const *partition; /* one per partition key, NULL: any value; NULL as a whole: any partition */
    int32_t bucket;               /* -1: any */
} pml_progress_match;

/* What somebody who knows says of an entry: a repair of a lost one, or the truncate of a table of which nothing was known. The last
   known end again: it is as it was; another one begins a new history. */
typedef struct pml_progress_statement {
    pml_pb_texts pb;
    int64_t end;
} pml_progress_statement;

enum {
    /* An empty commit that only brings the property forward (re-anchoring): writes it although nothing changed. */
    PML_PROGRESS_REANCHOR = 1,
    /* The statements say all there is: nothing is lost any more, also when there are none. */
    PML_PROGRESS_COMPLETE = 2,
    /* Each takes one rule out. Only for the tests that show that the rule is needed. */
    PML_PROGRESS_FORGET_LOST = 1 << 16,
    PML_PROGRESS_FORGET_RESET = 1 << 17,
    PML_PROGRESS_FORGET_LINEAGE = 1 << 18
};

typedef struct pml_progress_build {
    const pml_effective *base; /* NULL: the table has no snapshot */
    size_t n_keys;
    const char *const *keys; /* partition keys */
    int64_t snapshot_id;     /* of the snapshot being made */
    int64_t earliest_id;     /* oldest retained snapshot; -1: unknown, keeps all reset marks */
    const char *commit_user;
    int64_t commit_identifier;
    size_t n_ranges;
    const pml_progress_range *ranges;
    size_t n_resets;
    const pml_progress_match *resets;
    size_t n_stated;
    const pml_progress_statement *stated; /* at most one per partition-bucket */
    uint32_t flags;
} pml_progress_build;

typedef enum pml_progress_action {
    PML_PROGRESS_NONE,  /* no property */
    PML_PROGRESS_CARRY, /* the property is `carried` */
    PML_PROGRESS_WRITE  /* the property names a new file of `next` */
} pml_progress_action;

typedef struct pml_progress_result {
    pml_progress_action action;
    const char *carried; /* borrowed from the base */
    pml_progress next;   /* pml_progress_result__clear */
} pml_progress_result;

/* PML_E_PROGRESS_LOST, PML_E_CONFLICT (other lineage; range does not begin at the committed end), PML_E_INVAL (empty range, two
   ranges of one partition-bucket). The result is zeroed then. */
int pml_progress__build(pml_progress_result *out, pml_env *env, const pml_progress_build *b, pml_error *err);
void pml_progress_result__clear(pml_progress_result *r);

/* Builds for a commit to the table (keys and earliest_id are filled in), writes the file if there is a new one, and says what the
   property of the snapshot is: in the arena, NULL: none. *written: the path of the new file, NULL: none; owned by the environment,
   pml_progress__unpublish. */
int pml_progress__publish(const char **property, char **written, pml_arena *arena, pml_table *t, const pml_progress_build *build,
                          pml_error *err);
/* The attempt certainly failed (delete), or its file must stay: forgets the path. */
void pml_progress__unpublish(char **written, pml_env *env, bool delete_file);

#endif
