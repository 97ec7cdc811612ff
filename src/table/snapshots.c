/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading snapshots and what they name. */
#include <string.h>

#include "format/file_format.h"
#include "meta/manifest_rows.h"
#include "storage/file_io.h"
#include "table/table.h"

enum {
    SNAPSHOT_PARSE_TRIES = 10, /* Java reads a half-written snapshot 10 times, */
    SNAPSHOT_PARSE_WAIT_MS = 200,
    MANIFEST_FILE_MAX =
        1024 * 1024 * 1024, /* a manifest rolls at 8 MiB, tested every 1000 entries with wide statistics */
    DELTAS_MAX = 100 /* snapshots at once: for more the whole list is cheaper */
};

static int snapshot_dir(char **out, pml_table *t, pml_error *err)
{
    *out = pml_path__join(t->env, t->branch_root, "snapshot");
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_table__latest_snapshot(int64_t *id, pml_table *t, bool by_listing, pml_error *err)
{
    char *dir;
    *id = -1;
    PML_RETURN_IF(snapshot_dir(&dir, t, err));
    int rc = pml_numbered__latest(id, t->env, dir, "snapshot-", by_listing ? PML_NUMBERED_NO_HINT : 0, err);
    pml_env__free(t->env, dir);
    return rc;
}

int pml_table__latest_since(int64_t *id, pml_table *t, int64_t known, pml_error *err)
{
    PML_RETURN_IF(pml_table__latest_snapshot(id, t, false, err));
    return *id < known ? pml_table__latest_snapshot(id, t, true, err) : PML_OK;
}

int pml_table_latest_snapshot(int64_t *id, pml_table *t, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(id, "id", err));
    return pml_table__latest_snapshot(id, t, false, err);
}

int pml_table__earliest_snapshot(int64_t *id, pml_table *t, pml_error *err)
{
    char *dir;
    *id = -1;
    PML_RETURN_IF(snapshot_dir(&dir, t, err));
    int rc = pml_numbered__earliest(id, t->env, dir, "snapshot-", 0, err);
    pml_env__free(t->env, dir);
    return rc;
}

int pml_table__list_snapshots(int64_t **ids, size_t *n, pml_table *t, pml_error *err)
{
    char *dir;
    *ids = NULL;
    *n = 0;
    PML_RETURN_IF(snapshot_dir(&dir, t, err));
    int rc = pml_file__list_ids(ids, n, t->env, dir, "snapshot-", err);
    pml_env__free(t->env, dir);
    return rc;
}

static int snapshot_try(pml_snapshot *out, pml_arena *arena, pml_table *t, const char *path, pml_error *err)
{
    uint8_t *data = NULL;
    size_t len;
    int rc = pml_file__read_all(&data, &len, t->env, path, PML_SNAPSHOT_FILE_MAX, err);
    if (rc == PML_OK)
        rc = pml_snapshot__parse(out, arena, (pml_bytes){data, len}, path, err);
    pml_env__free(t->env, data);
    return rc;
}

int pml_table__load_snapshot_file(pml_snapshot *out, pml_arena *arena, pml_table *t, const char *path, pml_error *err)
{
    int rc = PML_E_CORRUPT;
    for (int i = 0; rc == PML_E_CORRUPT && i < SNAPSHOT_PARSE_TRIES; i++) {
        if (i > 0)
            pml_env__sleep_ms(t->env, SNAPSHOT_PARSE_WAIT_MS);
        rc = snapshot_try(out, arena, t, path, err);
    }
    return rc;
}

int pml_table__load_snapshot(pml_snapshot *out, pml_arena *arena, pml_table *t, int64_t id, pml_error *err)
{
    char *path = pml_path__snapshot(t->env, t->branch_root, id);
    int rc = path == NULL ? pml_error__no_memory(err) : pml_table__load_snapshot_file(out, arena, t, path, err);
    if (rc == PML_OK && out->id != id)
        rc = pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SNAPSHOT, path, "%s says it is snapshot %lld", path,
                           (long long)out->id);
    pml_env__free(t->env, path);
    return rc;
}

int pml_table__sync_snapshots(pml_table *t, pml_error *err)
{
    pml_error own = PML_ERROR_INIT;
    char *dir;
    if (t->options.commit_durability == PML_DURABILITY_NONE)
        return PML_OK;
    PML_RETURN_IF(snapshot_dir(&dir, t, err));
    int rc = pml_file__sync_directory(t->env, dir, &own);
    if (rc != PML_OK) {
        rc = pml_error__at(err, rc, PML_PLACE_FILE, dir,
                           "the snapshots of %s could not be made durable (%.200s), and a power cut might take the newest away: try again",
                           t->path, own.message);
        pml_error__add_flags(err, own.flags);
        if (err != NULL)
            err->sys_errno = own.sys_errno;
    }
    pml_env__free(t->env, dir);
    return rc;
}

/* Loads manifest/<name> whole. */
static int manifest_bytes(uint8_t **data, size_t *len, pml_table *t, const char *name, pml_error *err)
{
    *data = NULL;
    if (name[0] == '\0' || strchr(name, '/') != NULL)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_MANIFEST, name, "'%s' is no name of a manifest file", name);
    char *path = pml_path__manifest(t->env, t->path, name);
    if (path == NULL)
        return pml_error__no_memory(err);
    int rc = pml_file__read_all(data, len, t->env, path, MANIFEST_FILE_MAX, err);
    if (rc == PML_E_NOT_FOUND)
        rc = pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_MANIFEST, path,
                           "%s is gone: the snapshot was expired meanwhile; plan again", path);
    const char *format = rc == PML_OK ? pml_manifest_rows__format((pml_bytes){*data, *len}) : NULL;
    if (format != NULL)
        rc = pml_format__check_readable(format, path, t->options.read_untrusted, err);
    if (rc != PML_OK) {
        pml_env__free(t->env, *data);
        *data = NULL;
    }
    pml_env__free(t->env, path);
    return rc;
}

int pml_table__load_manifest_list(pml_manifest_list *out, pml_arena *arena, pml_table *t, const char *name,
                                  pml_error *err)
{
    uint8_t *data;
    size_t len;
    PML_RETURN_IF(manifest_bytes(&data, &len, t, name, err));
    int rc = pml_manifest_list__decode(out, arena, (pml_bytes){data, len}, name, err);
    pml_env__free(t->env, data);
    return rc;
}

int pml_table__load_manifest(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const char *name,
                             pml_manifest_keep_fn keep, void *arg, pml_error *err)
{
    uint8_t *data;
    size_t len;
    PML_RETURN_IF(manifest_bytes(&data, &len, t, name, err));
    int rc = pml_manifest__decode(out, arena, (pml_bytes){data, len}, name, keep, arg, err);
    pml_env__free(t->env, data);
    return rc;
}

int pml_table__load_index_manifest(pml_index_entries *out, pml_arena *arena, pml_table *t, const char *name,
                                   pml_error *err)
{
    uint8_t *data;
    size_t len;
    PML_RETURN_IF(manifest_bytes(&data, &len, t, name, err));
    int rc = pml_index_manifest__decode(out, arena, (pml_bytes){data, len}, name, err);
    pml_env__free(t->env, data);
    return rc;
}

int pml_table__list_entries(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const char *list_name,
                            const pml_live_files_request *r, pml_error *err)
{
    pml_manifest_list list = {0};
    PML_RETURN_IF(pml_table__load_manifest_list(&list, arena, t, list_name, err));
    for (size_t i = 0; i < list.n; i++) {
        if (r != NULL && r->keep_manifest != NULL && !r->keep_manifest(r->arg, &list.v[i]))
            continue;
        PML_RETURN_IF(pml_table__load_manifest(out, arena, t, list.v[i].name, r == NULL ? NULL : r->keep,
                                               r == NULL ? NULL : r->arg, err));
    }
    return PML_OK;
}

/* An identity is added once and deleted once in its life, so the live files are the ADDs that are not in this set. */
static int deleted_identities(pml_map *deleted, const pml_manifest_entries *all, pml_error *err)
{
    pml_buf key;
    int rc = PML_OK;
    pml_buf__init(&key, deleted->env, SIZE_MAX / 2);
    for (size_t i = 0; rc == PML_OK && i < all->n; i++) {
        if (all->v[i].kind != PML_ENTRY_DELETE)
            continue;
        pml_buf__reset(&key);
        rc = pml_manifest_entry__identity(&key, &all->v[i]);
        if (rc == PML_OK)
            rc = pml_map__put(deleted, key.data, key.len, deleted, NULL);
    }
    pml_buf__clear(&key);
    return rc == PML_OK ? PML_OK : pml_error__no_memory(err);
}

int pml_table__cancel_deleted(pml_manifest_entries *out, const pml_map *deleted, const pml_manifest_entries *all, pml_error *err)
{
    pml_buf key;
    int rc = PML_OK;
    pml_buf__init(&key, deleted->env, SIZE_MAX / 2);
    for (size_t i = 0; rc == PML_OK && i < all->n; i++) {
        bool live = all->v[i].kind == PML_ENTRY_ADD;
        if (live && deleted->live > 0) {
            pml_buf__reset(&key);
            rc = pml_manifest_entry__identity(&key, &all->v[i]);
            live = rc == PML_OK && !pml_map__has(deleted, key.data, key.len);
        }
        if (live)
            out->v[out->n++] = all->v[i];
    }
    pml_buf__clear(&key);
    return rc == PML_OK ? PML_OK : pml_error__no_memory(err);
}

int pml_table__live_files_but(pml_manifest_entries *out, pml_map *deleted, pml_arena *arena, pml_table *t, const pml_snapshot *s,
                              const pml_live_files_request *request, pml_error *err)
{
    pml_manifest_entries all = {0};
    *out = (pml_manifest_entries){0};
    PML_RETURN_IF(pml_table__list_entries(&all, arena, t, s->base_manifest_list, request, err));
    PML_RETURN_IF(pml_table__list_entries(&all, arena, t, s->delta_manifest_list, request, err));
    PML_RETURN_IF(deleted_identities(deleted, &all, err));
    /* Compacted in place: kept entries only move to the front. */
    out->v = all.v;
    return pml_table__cancel_deleted(out, deleted, &all, err);
}

int pml_table__live_files(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const pml_snapshot *s,
                          const pml_live_files_request *request, pml_error *err)
{
    pml_map deleted;
    pml_map__init(&deleted, t->env);
    int rc = pml_table__live_files_but(out, &deleted, arena, t, s, request, err);
    pml_map__clear(&deleted, NULL);
    return rc;
}

/* ---- from one snapshot to a later one ---- */

int pml_table__check_snapshot(bool *same, pml_table *t, const pml_snapshot *s, pml_error *err)
{
    pml_arena arena;
    pml_snapshot now;
    *same = false;
    pml_arena__init(&arena, t->env);
    int rc = pml_table__load_snapshot(&now, &arena, t, s->id, err);
    if (rc == PML_OK)
        *same = pml_snapshot__same_lists(&now, s);
    pml_arena__clear(&arena);
    return rc;
}

static int take_loaded(bool *whole, pml_table *t, int64_t id, pml_delta_fn take, void *arg, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    pml_arena__init(&arena, t->env);
    int rc = pml_table__load_snapshot(&s, &arena, t, id, err);
    if (rc == PML_OK)
        rc = take(whole, arg, &s, err);
    pml_arena__clear(&arena);
    return rc;
}

int pml_table__walk_deltas(bool *whole, pml_table *t, int64_t after, const pml_snapshot *s, pml_delta_fn take, void *arg, pml_error *err)
{
    int rc = PML_OK;
    *whole = after >= 0 && s->id > after && s->id - after <= DELTAS_MAX;
    for (int64_t id = after + 1; rc == PML_OK && *whole && id < s->id; id++)
        rc = take_loaded(whole, t, id, take, arg, err);
    if (rc == PML_OK && *whole)
        rc = take(whole, arg, s, err);
    /* Of those between somebody may have made others meanwhile, after a rollback: then the last one is another, too. */
    if (rc == PML_OK && *whole && s->id - after > 1)
        rc = pml_table__check_snapshot(whole, t, s, err);
    if (rc == PML_OK)
        return PML_OK;
    *whole = false;
    if (rc != PML_E_NOT_FOUND && rc != PML_E_SNAPSHOT_GONE)
        return rc;
    pml_error__clear(err);
    return PML_OK;
}

int pml_table__gone_or_damaged(pml_table *t, int64_t snapshot_id, pml_error *err)
{
    char file[sizeof err->file] = "";
    int64_t latest;
    /* Expiry removes files before the snapshot that names them, but never those of the latest snapshot. */
    if (pml_table__latest_snapshot(&latest, t, true, NULL) != PML_OK || latest != snapshot_id)
        return PML_E_SNAPSHOT_GONE;
    if (err != NULL)
        memcpy(file, err->file, sizeof file);
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, file,
                         "%s is missing, although the latest snapshot %lld of %s names it: the table is damaged", file,
                         (long long)snapshot_id, t->path);
}
