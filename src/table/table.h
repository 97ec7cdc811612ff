/* SPDX-License-Identifier: Apache-2.0 */
/* A table of one branch at one schema, from inside. */
#ifndef PML_TABLE_TABLE_H
#define PML_TABLE_TABLE_H

#include <paimonlive/table.h>

#include "meta/manifest.h"
#include "meta/options.h"
#include "meta/path.h"
#include "meta/snapshot.h"
#include "util/thread.h"

struct pml_table {
    atomic_int refs;
    pml_env *env;
    char *path;        /* data, manifests and everything that branches share */
    char *branch_root; /* schema, snapshot, metadata; equals path for main */
    const char *branch; /* in the arena; "main" */
    pml_table_schema *schema;
    bool schema_given; /* by the caller: schema/ may hold none */
    pml_arena arena; /* overrides */
    pml_option *overrides;
    size_t n_overrides;
    pml_table_options options;
    pml_mutex schemas_mu;
    pml_map schemas; /* id (int64) -> pml_table_schema, guarded by schemas_mu; entries live as long as the table */
    struct pml_table *other; /* the branch whose partitions a read shows, too (table/plan_fallback.c); NULL: none. Counted */
    bool other_first;        /* and its partitions win */
};

/* PML_E_INVAL where a key or a value is NULL. */
int pml_table__check_pairs(const pml_option_pair *v, size_t n, const char *name, pml_error *err);

/* The buffer's bytes as a text that the caller owns. The buffer is empty afterwards. */
int pml_text__of_buf(pml_text *out, pml_buf *buf, pml_error *err);

const pml_field *pml_table__fields(const pml_table *t, size_t *n);
/* The schema with this id, borrowed from the table's cache. */
int pml_table__schema_at(const pml_table_schema **out, pml_table *t, int64_t id, pml_error *err);
/* The table as it was with the schema of this id; t itself when that is its own. Returns owned. */
int pml_table__at_schema(pml_table **out, pml_table *t, int64_t id, pml_error *err);
/* Latest schema id of the branch: -1 when there is none. */
int pml_table__latest_schema_id(int64_t *id, pml_env *env, const char *branch_root, pml_error *err);

/* Latest snapshot id, -1 when there is none; listing instead of the hint when by_listing. */
int pml_table__latest_snapshot(int64_t *id, pml_table *t, bool by_listing, pml_error *err);
/* The same for who knows of a snapshot `known` (-1: of none): where the hint and what names say are older than that, the listing counts. It
   may be older, too: then the table was rolled back. */
int pml_table__latest_since(int64_t *id, pml_table *t, int64_t known, pml_error *err);
/* All ids, ascending, in owned memory. */
int pml_table__list_snapshots(int64_t **ids, size_t *n, pml_table *t, pml_error *err);
int pml_table__earliest_snapshot(int64_t *id, pml_table *t, pml_error *err);
/* Reads one snapshot. PML_E_NOT_FOUND when the file is gone. A file that does not parse is read again for 2 seconds: stores that
   rewrite in place may show part of it. */
int pml_table__load_snapshot(pml_snapshot *out, pml_arena *arena, pml_table *t, int64_t id, pml_error *err);
/* The same of any file that holds a snapshot's text: of another branch, a tag, a changelog. */
int pml_table__load_snapshot_file(pml_snapshot *out, pml_arena *arena, pml_table *t, const char *path, pml_error *err);

/* Makes the names of all snapshots durable that were there before the call. A snapshot that somebody sees may be that of a commit whose
   last sync failed, or is yet to come: whoever tells others that it is committed, or lets go of something because of it, calls this after
   reading it. Readers need not. Nothing with commit.durability=none. */
int pml_table__sync_snapshots(pml_table *t, pml_error *err);
/* After PML_E_SNAPSHOT_GONE with the missing file in err->file: becomes PML_E_CORRUPT when the snapshot
   is the latest one, which nothing expires. Returns the code. */
int pml_table__gone_or_damaged(pml_table *t, int64_t snapshot_id, pml_error *err);
/* Whole metadata files. names are plain file names in manifest/. A missing one is PML_E_SNAPSHOT_GONE. */
int pml_table__load_manifest_list(pml_manifest_list *out, pml_arena *arena, pml_table *t, const char *name, pml_error *err);
int pml_table__load_manifest(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const char *name,
                             pml_manifest_keep_fn keep, void *arg, pml_error *err);
int pml_table__load_index_manifest(pml_index_entries *out, pml_arena *arena, pml_table *t, const char *name, pml_error *err);

/* Live data files of a snapshot: base ++ delta, deletes cancelled by identity, in manifest order. keep_manifest and keep may be
   NULL; they must not drop the DELETE of a file whose ADD they keep. */
typedef struct pml_live_files_request {
    bool (*keep_manifest)(void *arg, const pml_manifest_meta *m);
    pml_manifest_keep_fn keep;
    void *arg;
} pml_live_files_request;
/* Appends the entries of all kept manifests of one list, ADD and DELETE as they stand there. */
int pml_table__list_entries(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const char *list_name,
                            const pml_live_files_request *request, pml_error *err);
int pml_table__live_files(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const pml_snapshot *s,
                          const pml_live_files_request *request, pml_error *err);
/* The same, and the identities of all DELETE entries, put into a map (the values mean nothing). */
int pml_table__live_files_but(pml_manifest_entries *out, pml_map *deleted, pml_arena *arena, pml_table *t, const pml_snapshot *s,
                              const pml_live_files_request *request, pml_error *err);
/* Appends to out the ADDs whose identities the map has not; its array has room for them and may be that of all. */
int pml_table__cancel_deleted(pml_manifest_entries *out, const pml_map *deleted, const pml_manifest_entries *all, pml_error *err);

/* Whoever knows the table as of one snapshot and wants it as of a later one, s, may put on top what each snapshot between and s itself
   changed. take is called for each of them, the oldest first; it sets *whole to false where the snapshot cannot be put on top.
   after: the id of the known snapshot, 0: there was none. That it belongs to the history that s ends, the caller has seen. *whole is false
   where there are none or too many, or not all are there, or somebody rolled the table back meanwhile: what was taken is worth nothing
   then, and the whole lists are to be read. */
typedef int (*pml_delta_fn)(bool *whole, void *arg, const pml_snapshot *s, pml_error *err);
int pml_table__walk_deltas(bool *whole, pml_table *t, int64_t after, const pml_snapshot *s, pml_delta_fn take, void *arg, pml_error *err);
/* Whether the snapshot with the id of s is s still, and not another that came after a rollback. PML_E_NOT_FOUND: there is none. */
int pml_table__check_snapshot(bool *same, pml_table *t, const pml_snapshot *s, pml_error *err);

#endif
