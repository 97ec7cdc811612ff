/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one commit loop (format-metadata.md 11; realtime.md 9.5; Java: FileStoreCommitImpl). Batch commits and real-time commits
 * differ only in the hook that looks at each attempt's base.
 *
 *   while attempts are left:
 *     base = latest snapshot, not by a hint that is older than a snapshot of our own: a store may show that late by its name
 *     did an earlier attempt of this call succeed after all? (a newer snapshot names a delta list that we wrote) -> done
 *     hook: anything to do on this base? which properties go into the snapshot? which identifier?
 *     write base list, delta manifest (once), delta list; durable
 *     publish snapshot-(base + 1) exclusively
 *       ours, read back        -> hint, done
 *       the name was taken     -> delete what this attempt wrote, wait, next attempt
 *       ours was replaced      -> somebody may have read ours: delete nothing, wait, next attempt
 *       unknown                -> look: ours -> done; absent or somebody else's -> delete nothing, wait, next attempt;
 *                                 still unknown: PML_E_UNKNOWN_OUTCOME, nothing deleted
 *
 * Attempts that were absent when we looked may still appear, under their id or not at all: until a snapshot of that id is seen,
 * every failure of the call is PML_E_UNKNOWN_OUTCOME. An attempt that appears late and a later one that wants the same id cannot
 * both succeed, and find_ours recognises either.
 *
 * Commits that only add files write their delta once for all attempts. One that removes rows (overwrite.c) reads the live files of
 * each attempt's base, so every attempt has a delta of its own.
 */
#ifndef PML_TABLE_COMMIT_H
#define PML_TABLE_COMMIT_H

#include <paimonlive/write.h>

#include "columnar/value.h"
#include "table/rolling.h"

struct pml_commit {
    pml_env *env;
    pml_table *table;
    char *user;
    int64_t newest; /* the last snapshot that it made; 0: none */
};

/* One attempt, as the hook sees it. */
typedef struct pml_commit_base {
    const pml_snapshot *latest; /* NULL: the table has none */
    int64_t new_id;
    pml_arena *arena; /* of the attempt: for what the hook returns */
} pml_commit_base;

typedef struct pml_commit_decision {
    bool nothing;          /* already committed, or nothing to do: result_id is the answer */
    int64_t result_id;
    int64_t identifier;    /* of the snapshot */
    size_t n_properties;
    const pml_option *properties;
    size_t n_files;        /* partition-buckets whose files go in */
    const pml_new_files *const *files;
    size_t n_removed; /* live files of the base that go, before the others in the delta; only with delta_per_attempt */
    const pml_manifest_entry *removed;
    size_t n_removed_index; /* the base's index files that go, unless their bucket gets files and no new index; with delta_per_attempt */
    const pml_index_entry *removed_index;
} pml_commit_decision;

typedef struct pml_commit_request {
    void *arg;
    /* Fills the decision. An error ends the commit; nothing was published by it. */
    int (*decide)(void *arg, pml_commit_decision *out, const pml_commit_base *base, pml_error *err);
    /* An attempt certainly failed: what decide wrote for it may go. Not called after an unknown outcome. May be NULL. */
    void (*undo)(void *arg);
    /* This snapshot is published, and durable as far as commit.durability wants it; s is the attempt's. May be NULL, and is not
       called for one that an earlier attempt made. */
    void (*published)(void *arg, const pml_snapshot *s);
    const int64_t *watermark;
    int64_t newest; /* a snapshot that the caller knows to be there, unless the table was rolled back; 0: none */
    pml_commit_kind kind;
    bool delta_per_attempt; /* the delta depends on the base */
} pml_commit_request;

int pml_commit__execute(pml_commit_result *out, pml_commit *c, const pml_commit_request *request, pml_error *err);

/* Before anybody is told that what snapshot id holds is committed: an earlier call, or another process, may have left it with an unknown
   outcome, and a power cut may still take it away. PML_E_UNKNOWN_OUTCOME when it cannot be made durable. */
int pml_commit__confirm(pml_commit *c, int64_t id, pml_error *err);

/* The newest snapshot of this user, walking back from `latest`: *found = false when there is none or the rest has expired. */
int pml_commit__find_user(bool *found, pml_snapshot *s, pml_arena *arena, pml_table *t, int64_t latest, const char *user,
                          pml_error *err);

/* ---- what one attempt writes (commit_files.c) ---- */
typedef struct pml_commit_files {
    pml_env *env;
    pml_table *table;
    char uuid[37]; /* of manifests and lists of this call */
    int64_t manifest_counter, list_counter, index_counter;
    /* the delta: written once and used by all attempts, unless each has its own */
    pml_arena arena;
    bool delta_per_attempt;
    size_t n_delta;
    pml_manifest_meta *delta;
    int64_t delta_rows;
    bool delta_written;
    bool shown;      /* an attempt was or may have been visible: its files and a shared delta are never deleted */
    int64_t open_id; /* snapshot of an attempt of unknown outcome, -1: none */
    /* of the running attempt */
    char *base_list, *delta_list;
    char *index_manifest; /* NULL: that of the base stays */
    int64_t base_list_size, delta_list_size;
    pml_names merged;      /* manifests that merging made */
    pml_names delta_lists; /* of all attempts: how we recognise our snapshot */
} pml_commit_files;

int pml_commit_files__init(pml_commit_files *f, pml_table *t, bool delta_per_attempt, pml_error *err);
void pml_commit_files__clear(pml_commit_files *f);
int pml_commit_files__write(pml_commit_files *f, const pml_snapshot *latest, const pml_commit_decision *d, pml_error *err);
bool pml_commit_files__is_ours(const pml_commit_files *f, const pml_snapshot *s);
/* Whatever was written for the running attempt stays from now on. */
void pml_commit_files__keep(pml_commit_files *f);
/* Deletes lists and merged manifests of the running attempt; the delta manifest only with delta_too. */
void pml_commit_files__undo(pml_commit_files *f, bool delta_too);

/* Writes a file of manifest/, durable but for its name. */
int pml_commit_files__write_file(pml_commit_files *f, const char *name, const uint8_t *bytes, size_t len, pml_error *err);

/* ---- index manifest (commit_index.c) ---- */
/* Checks that dynamic buckets were chosen by what the base has: else PML_E_CONFLICT. Writes f->index_manifest where index files change. */
int pml_commit_index__write(pml_commit_files *f, pml_arena *arena, const pml_snapshot *latest, const pml_commit_decision *d, pml_error *err);

/* ---- manifest merging (manifest_merge.c) ---- */
/* Fewer, larger manifests with the same live files (format-metadata.md 12, minor). in: base ++ delta lists of the snapshot in
   order; out: what the new base list names, in the arena. Names of manifests it wrote go to made. */
int pml_manifest_merge__run(pml_manifest_list *out, pml_arena *arena, pml_commit_files *f, const pml_manifest_list *in,
                            pml_error *err);
/* Writes entries as one manifest and describes it. */
int pml_commit_files__write_manifest(pml_manifest_meta *meta, pml_arena *arena, pml_commit_files *f, const pml_manifest_entry *v,
                                     size_t n, pml_error *err);
int pml_names__add(pml_names *names, pml_env *env, const char *name);

/* ---- removing rows (overwrite.c) ---- */
/* Partitions whose values equal those that are given. */
typedef struct pml_partition_match {
    const bool *given; /* one per partition key */
    const pml_value *values;
} pml_partition_match;

/* What a layer above notes about a commit that removes rows: the value of the snapshot property realtime.offsets. */
typedef struct pml_removal_note {
    void *arg;
    /* Into the attempt's arena; NULL: none. matches: what goes; removed: its live files. */
    int (*write)(void *arg, const char **value, const pml_commit_base *base, int64_t identifier, const pml_partition_match *matches,
                 size_t n_matches, const pml_manifest_entries *removed, pml_error *err);
    void (*undo)(void *arg); /* the attempt certainly failed */
} pml_removal_note;

typedef struct pml_overwrite {
    const pml_partition_spec *specs; /* NULL: the partitions of the new files (dynamic) */
    size_t n_specs;
    const pml_removal_note *note;
} pml_overwrite;

/* Checks the specs against the table. PML_E_NOT_FOUND (no such partition key), PML_E_INVAL. */
int pml_overwrite__check(const pml_overwrite *o, pml_table *t, pml_error *err);
/* Fills what goes and the property *progress. The new files must be in d. PML_E_INVAL for one that lies outside. */
int pml_overwrite__decide(pml_commit_decision *d, const char **progress, const pml_overwrite *o, pml_table *t,
                          const pml_commit_base *base, pml_error *err);
/* pml_commit_run, or with o not NULL pml_commit_overwrite (commit_batch.c). */
int pml_commit__batch(pml_commit_result *out, pml_commit *c, const pml_overwrite *o, pml_messages *const *messages, size_t n,
                      int64_t identifier, const pml_commit_options *options, pml_error *err);

#endif
