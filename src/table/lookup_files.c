/* SPDX-License-Identifier: Apache-2.0 */
#include "table/lookup_files.h"

#include <string.h>

enum {
    DEPTH_MAX = 1000,   /* arenas on top of each other */
    ENTRIES_SPARE = 100 /* deltas may hold so many entries more than the whole list: each adds, and what is deleted stays in memory */
};

static void files_acquire(pml_lookup_files *f)
{
    (void)atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
}

static pml_lookup_files *files_new(pml_env *env, pml_lookup_files *below)
{
    pml_lookup_files *f = pml_env__calloc(env, 1, sizeof *f);
    if (f == NULL)
        return NULL;
    atomic_init(&f->refs, 1);
    pml_arena__init(&f->arena, env);
    pml_map__init(&f->deleted, env);
    if (below == NULL)
        return f;
    files_acquire(below);
    f->below = below;
    f->depth = below->depth + 1;
    f->n_whole = below->n_whole;
    f->n_deltas = below->n_deltas;
    return f;
}

static void files_release(pml_lookup_files *f)
{
    while (f != NULL && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1) {
        pml_lookup_files *below = f->below;
        pml_env *env = f->arena.env;
        pml_map__clear(&f->deleted, NULL);
        pml_arena__clear(&f->arena);
        pml_env__free(env, f);
        f = below;
    }
}

void pml_live_list__clear(pml_live_list *l)
{
    files_release(l->files);
    *l = (pml_live_list){0};
}

/* ---- deltas ---- */

typedef struct reading {
    pml_table *table;
    pml_arena *arena;
    pml_manifest_entries deltas;
} reading;

static int read_delta(bool *whole, void *arg, const pml_snapshot *s, pml_error *err)
{
    const pml_live_files_request all = {0};
    reading *r = arg;
    *whole = s->commit_kind == PML_COMMIT_APPEND || s->commit_kind == PML_COMMIT_COMPACT;
    return *whole ? pml_table__list_entries(&r->deltas, r->arena, r->table, s->delta_manifest_list, &all, err) : PML_OK;
}

static bool was_deleted(const pml_lookup_files *f, const pml_buf *identity)
{
    while (f != NULL && !pml_map__has(&f->deleted, identity->data, identity->len))
        f = f->below;
    return f != NULL;
}

/* Goes through the deltas in the order of their snapshots. *once: each file was added before it was deleted, and not again, which is how
   files live (snapshots.c). One that comes again is live or not by what is left of its past in the whole list, as scans see it. */
static int note_deleted(bool *once, pml_lookup_files *f, const pml_manifest_entries *deltas, pml_error *err)
{
    pml_buf identity;
    int rc = PML_OK;
    *once = true;
    pml_buf__init(&identity, f->arena.env, SIZE_MAX / 2);
    for (size_t i = 0; rc == PML_OK && *once && i < deltas->n; i++) {
        pml_buf__reset(&identity);
        rc = pml_manifest_entry__identity(&identity, &deltas->v[i]);
        if (rc == PML_OK && deltas->v[i].kind == PML_ENTRY_DELETE)
            rc = pml_map__put(&f->deleted, identity.data, identity.len, f, NULL);
        else if (rc == PML_OK)
            *once = !was_deleted(f, &identity);
    }
    pml_buf__clear(&identity);
    return rc == PML_OK ? PML_OK : pml_error__no_memory(err);
}

/* The files of known in an array with room for more. */
static int copy_live(pml_manifest_entries *out, pml_arena *arena, const pml_manifest_entries *known, size_t more, pml_error *err)
{
    *out = (pml_manifest_entries){.cap = known->n + more};
    out->v = pml_arena__array(arena, out->cap, sizeof *out->v);
    if (out->v == NULL)
        return pml_error__no_memory(err);
    if (known->n > 0)
        memcpy(out->v, known->v, known->n * sizeof *out->v);
    out->n = known->n;
    return PML_OK;
}

/* The live files of known and what the deltas add, without what they delete. */
static int combine(pml_live_list *out, pml_arena *arena, const pml_lookup_files *f, const pml_manifest_entries *known,
                   const pml_manifest_entries *deltas, pml_error *err)
{
    pml_manifest_entries all;
    PML_RETURN_IF(copy_live(&all, arena, known, deltas->n, err));
    memcpy(all.v + all.n, deltas->v, deltas->n * sizeof *all.v);
    all.n += deltas->n;
    out->live = (pml_manifest_entries){.v = all.v, .cap = all.cap};
    return pml_table__cancel_deleted(&out->live, &f->deleted, &all, err);
}

/* Nothing came: the same files for another look, and no memory on top of theirs. */
static int share(pml_live_list *out, pml_arena *arena, const pml_live_list *known, pml_error *err)
{
    PML_RETURN_IF(copy_live(&out->live, arena, &known->live, 0, err));
    files_acquire(known->files);
    out->files = known->files;
    return PML_OK;
}

static int put_on_top(bool *done, pml_live_list *out, pml_arena *arena, pml_table *t, const pml_snapshot *s, const pml_live_list *known,
                      pml_error *err)
{
    int rc;
    pml_lookup_files *f = files_new(t->env, known->files);
    if (f == NULL)
        return pml_error__no_memory(err);
    reading r = {.table = t, .arena = &f->arena};
    PML_TRY(pml_table__walk_deltas(done, t, known->snapshot.id, s, read_delta, &r, err));
    f->n_deltas += r.deltas.n;
    *done = *done && f->n_deltas <= f->n_whole + ENTRIES_SPARE;
    if (*done && r.deltas.n == 0) {
        rc = share(out, arena, known, err);
        goto out;
    }
    if (*done)
        PML_TRY(note_deleted(done, f, &r.deltas, err));
    if (*done)
        PML_TRY(combine(out, arena, f, &known->live, &r.deltas, err));
    if (*done) {
        out->files = f;
        f = NULL;
    }
out:
    files_release(f);
    return rc;
}

static int follow(bool *done, pml_live_list *out, pml_arena *arena, pml_table *t, const pml_snapshot *s, const pml_live_list *known, pml_error *err)
{
    *done = pml_snapshot__same_lists(s, &known->snapshot);
    if (*done)
        return share(out, arena, known, err);
    if (s->id <= known->snapshot.id || known->files->depth >= DEPTH_MAX)
        return PML_OK;
    int rc = pml_table__check_snapshot(done, t, &known->snapshot, err);
    if (rc == PML_OK && *done)
        return put_on_top(done, out, arena, t, s, known, err);
    if (rc != PML_E_NOT_FOUND)
        return rc;
    pml_error__clear(err);
    return PML_OK;
}

/* ---- the whole ---- */

static int read_whole(pml_live_list *out, pml_table *t, const pml_snapshot *s, pml_error *err)
{
    const pml_live_files_request all = {0};
    pml_lookup_files *f = out->files = files_new(t->env, NULL);
    if (f == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_table__live_files_but(&out->live, &f->deleted, &f->arena, t, s, &all, err));
    f->n_whole = out->live.n;
    return PML_OK;
}

static int copy_snapshot(pml_snapshot *out, pml_arena *arena, const pml_snapshot *s, pml_error *err)
{
    *out = (pml_snapshot){.id = s->id};
    out->base_manifest_list = pml_arena__strdup(arena, s->base_manifest_list);
    out->delta_manifest_list = pml_arena__strdup(arena, s->delta_manifest_list);
    return out->base_manifest_list == NULL || out->delta_manifest_list == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_live_list__load(pml_live_list *out, pml_arena *arena, pml_table *t, const pml_snapshot *s, const pml_live_list *known, pml_error *err)
{
    bool done = false;
    int rc;
    *out = (pml_live_list){0};
    PML_RETURN_IF(copy_snapshot(&out->snapshot, arena, s, err));
    if (known != NULL && known->files != NULL)
        PML_TRY(follow(&done, out, arena, t, s, known, err));
    else
        rc = PML_OK;
    if (!done)
        rc = read_whole(out, t, s, err);
out:
    if (rc != PML_OK)
        pml_live_list__clear(out);
    return rc;
}
