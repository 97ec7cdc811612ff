/* SPDX-License-Identifier: Apache-2.0 */
#include "table/lookup_files.h"

#include <string.h>

enum {
    DELTAS_MAX = 100,   /* snapshots at once; for more the whole list is cheaper */
    DEPTH_MAX = 1000,   /* arenas on top of each other */
    ENTRIES_SPARE = 100 /* deltas may hold so many entries more than the whole list: each adds, and what is deleted stays in memory */
};

static pml_lookup_files *files_new(pml_env *env, pml_lookup_files *below)
{
    pml_lookup_files *f = pml_env__calloc(env, 1, sizeof *f);
    if (f == NULL)
        return NULL;
    atomic_init(&f->refs, 1);
    pml_arena__init(&f->arena, env);
    if (below == NULL)
        return f;
    (void)atomic_fetch_add_explicit(&below->refs, 1, memory_order_relaxed);
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

static bool same_snapshot(const pml_snapshot *a, const pml_snapshot *b)
{
    return a->id == b->id && strcmp(a->base_manifest_list, b->base_manifest_list) == 0 &&
           strcmp(a->delta_manifest_list, b->delta_manifest_list) == 0;
}

static bool only_adds_and_compacts(const pml_snapshot *s)
{
    return s->commit_kind == PML_COMMIT_APPEND || s->commit_kind == PML_COMMIT_COMPACT;
}

/* ---- deltas ---- */

/* *whole: the known snapshot is still in the history that s ends, and what came since can be put on top of it. */
static int read_deltas(bool *whole, pml_manifest_entries *deltas, pml_arena *arena, pml_table *t, const pml_snapshot *s, const pml_live_list *known,
                       pml_error *err)
{
    const pml_live_files_request all = {0};
    *whole = false;
    for (int64_t id = known->snapshot.id; id <= s->id; id++) {
        pml_snapshot loaded;
        const pml_snapshot *at = s;
        if (id < s->id) {
            PML_RETURN_IF(pml_table__load_snapshot(&loaded, arena, t, id, err));
            at = &loaded;
        }
        if (id == known->snapshot.id ? !same_snapshot(at, &known->snapshot) : !only_adds_and_compacts(at))
            return PML_OK;
        if (id > known->snapshot.id)
            PML_RETURN_IF(pml_table__list_entries(deltas, arena, t, at->delta_manifest_list, &all, err));
    }
    *whole = s->id - known->snapshot.id < 2;
    if (*whole)
        return PML_OK;
    /* Of those between somebody may have made others meanwhile, after a rollback: then the last one is another, too. */
    pml_snapshot now;
    PML_RETURN_IF(pml_table__load_snapshot(&now, arena, t, s->id, err));
    *whole = same_snapshot(&now, s);
    return PML_OK;
}

/* The live files of known and what the deltas add, without what they delete. */
static int combine(pml_live_list *out, pml_arena *arena, pml_table *t, const pml_manifest_entries *known, const pml_manifest_entries *deltas,
                   pml_error *err)
{
    pml_manifest_entries all = {.n = known->n + deltas->n};
    all.v = pml_arena__array(arena, all.n, sizeof *all.v);
    if (all.v == NULL)
        return pml_error__no_memory(err);
    if (known->n > 0)
        memcpy(all.v, known->v, known->n * sizeof *all.v);
    if (deltas->n > 0)
        memcpy(all.v + known->n, deltas->v, deltas->n * sizeof *all.v);
    out->live = (pml_manifest_entries){.v = all.v, .cap = all.n};
    return pml_table__cancel_deleted(&out->live, t->env, &all, err);
}

static int follow(bool *done, pml_live_list *out, pml_arena *arena, pml_table *t, const pml_snapshot *s, const pml_live_list *known, pml_error *err)
{
    pml_manifest_entries deltas = {0};
    pml_lookup_files *f = known->files;
    const int64_t behind = s->id - known->snapshot.id;
    *done = false;
    if (behind < 0 || behind > DELTAS_MAX || f->depth >= DEPTH_MAX)
        return PML_OK;
    f = files_new(t->env, f);
    if (f == NULL)
        return pml_error__no_memory(err);
    int rc = read_deltas(done, &deltas, &f->arena, t, s, known, err);
    f->n_deltas += deltas.n;
    *done = *done && rc == PML_OK && f->n_deltas <= f->n_whole + ENTRIES_SPARE;
    if (*done)
        rc = combine(out, arena, t, &known->live, &deltas, err);
    if (*done && rc == PML_OK)
        out->files = f;
    else
        files_release(f);
    if (rc != PML_E_NOT_FOUND && rc != PML_E_SNAPSHOT_GONE)
        return rc;
    pml_error__clear(err);
    return PML_OK;
}

/* ---- the whole ---- */

static int read_whole(pml_live_list *out, pml_table *t, const pml_snapshot *s, pml_error *err)
{
    const pml_live_files_request all = {0};
    out->files = files_new(t->env, NULL);
    if (out->files == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_table__live_files(&out->live, &out->files->arena, t, s, &all, err));
    out->files->n_whole = out->live.n;
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
