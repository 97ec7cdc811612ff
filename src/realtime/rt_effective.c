/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_effective.h"

#include <string.h>

#include "realtime/rt_effective_walk.h"

enum { RESTARTS = 3 /* expiry ran beside us: once is likely, three times is not */ };

/* ---- results ---- */

void pml_effective__acquire(pml_effective *e)
{
    (void)atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

void pml_effective__release(pml_effective *e)
{
    if (e == NULL || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = e->env;
    pml_progress__clear(&e->progress);
    pml_arena__clear(&e->arena);
    pml_env__free(env, e);
    pml_env_release(env);
}

static int effective_new(pml_effective **out, pml_env *env, const pml_effective_options *o, pml_error *err)
{
    pml_effective *e = pml_env__calloc(env, 1, sizeof *e);
    *out = e;
    if (e == NULL)
        return pml_error__no_memory(err);
    atomic_init(&e->refs, 1);
    e->env = env;
    pml_env_acquire(env);
    pml_arena__init(&e->arena, env);
    e->snapshot_id = -1;
    return pml_progress__init(&e->progress, env, o->n_keys, o->keys, err);
}

pml_progress_state pml_progress__state(const pml_progress *p, const pml_pb_texts *pb, const pml_progress_entry **entry)
{
    const pml_progress_entry *e = pml_progress__find(p, pb);
    if (entry != NULL)
        *entry = e;
    if (p->all_lost || (e != NULL && e->lost))
        return PML_PROGRESS_LOST;
    return e == NULL ? PML_PROGRESS_ABSENT : PML_PROGRESS_KNOWN;
}

/* ---- cache ---- */

void pml_effective_cache__init(pml_effective_cache *c)
{
    memset(c, 0, sizeof *c);
    pml_mutex__init(&c->mu, "effective cache", 0);
}

void pml_effective_cache__clear(pml_effective_cache *c)
{
    for (size_t i = 0; i < PML_EFFECTIVE_CACHE; i++) {
        pml_effective__release(c->v[i]);
        c->v[i] = NULL;
    }
    pml_mutex__destroy(&c->mu);
}

/* An id alone proves nothing: after a roll-back the same id is given again, and a writer that repeats its work gives the same user and
   identifier, on a coarse clock at the same time. Names of manifest lists are given once. */
static bool same_snapshot(const pml_snapshot *a, const pml_snapshot *b)
{
    return a->id == b->id && a->commit_identifier == b->commit_identifier && a->time_ms == b->time_ms &&
           strcmp(a->commit_user, b->commit_user) == 0 && strcmp(a->delta_manifest_list, b->delta_manifest_list) == 0;
}

static pml_effective *cache_find(pml_effective_cache *c, const pml_snapshot *s)
{
    pml_effective *found = NULL;
    if (c == NULL)
        return NULL;
    pml_mutex__lock(&c->mu);
    for (size_t i = 0; i < PML_EFFECTIVE_CACHE && found == NULL; i++)
        if (c->v[i] != NULL && same_snapshot(&c->v[i]->snapshot, s))
            found = c->v[i];
    if (found != NULL)
        pml_effective__acquire(found);
    pml_mutex__unlock(&c->mu);
    return found;
}

static void cache_put(pml_effective_cache *c, pml_effective *e)
{
    if (c == NULL || e->snapshot_id < 0)
        return;
    pml_effective__acquire(e);
    pml_mutex__lock(&c->mu);
    pml_effective *oldest = c->v[PML_EFFECTIVE_CACHE - 1];
    memmove(c->v + 1, c->v, (PML_EFFECTIVE_CACHE - 1) * sizeof *c->v);
    c->v[0] = e;
    pml_mutex__unlock(&c->mu);
    pml_effective__release(oldest);
}

/* ---- loading ---- */

typedef struct load {
    pml_env *env;
    const pml_effective_source *source;
    const pml_effective_options *o;
    const pml_snapshot *given; /* NULL: the latest */
    bool tagged;               /* given is of a tag: its own file may be gone */
    pml_effective_cache *cache;
} load;

static int load_into(pml_effective *e, const load *l, int64_t id, pml_error *err)
{
    PML_RETURN_IF(l->source->load_snapshot(l->source->arg, &e->snapshot, &e->arena, id, err));
    e->snapshot_id = id;
    return PML_OK;
}

/* By way of its text: there is no other place that knows all members. */
static int copy_given(pml_effective *e, const load *l, pml_error *err)
{
    pml_buf text;
    pml_buf__init(&text, l->env, PML_SNAPSHOT_FILE_MAX);
    (void)pml_snapshot__write(&text, l->given);
    int rc = pml_buf__check(&text, err);
    if (rc == PML_OK)
        rc = pml_snapshot__parse(&e->snapshot, &e->arena, (pml_bytes){text.data, text.len}, "the snapshot of a tag", err);
    pml_buf__clear(&text);
    e->snapshot_id = l->given->id;
    e->tagged = true;
    return rc;
}

/* The result owns its snapshot, so the given one is read once more: it must still be the same. */
static int load_given(pml_effective *e, const load *l, pml_error *err)
{
    if (l->tagged)
        return copy_given(e, l, err);
    int rc = load_into(e, l, l->given->id, err);
    if (rc == PML_E_NOT_FOUND || (rc == PML_OK && !same_snapshot(&e->snapshot, l->given)))
        return pml_error__set(err, PML_E_SNAPSHOT_GONE, "snapshot %lld was expired or rolled back meanwhile; start again",
                              (long long)l->given->id);
    return rc;
}

/* The snapshot to begin with. *again: it vanished between its choice and its reading. */
static int choose(pml_effective *e, bool *again, const load *l, pml_error *err)
{
    int64_t id;
    *again = false;
    if (l->given != NULL)
        return load_given(e, l, err);
    PML_RETURN_IF(l->source->latest(l->source->arg, &id, err));
    if (id < 0)
        return PML_OK;
    int rc = load_into(e, l, id, err);
    *again = rc == PML_E_NOT_FOUND;
    return *again ? PML_OK : rc;
}

/* The walk came to where files are missing. */
static int judge_gone(bool *again, pml_effective *e, const load *l, int64_t earliest_before, int restart, pml_error *err)
{
    int64_t earliest, latest;
    bool any;
    PML_RETURN_IF(l->source->earliest(l->source->arg, &earliest, err));
    *again = earliest != earliest_before && restart < RESTARTS;
    if (*again)
        return PML_OK;
    if (l->given != NULL && !l->tagged && restart > 0) {
        PML_RETURN_IF(l->source->latest(l->source->arg, &latest, err));
        if (latest > e->snapshot_id)
            return pml_error__set(err, PML_E_SNAPSHOT_GONE,
                                  "the snapshots that lead from %lld to its progress expired meanwhile; start again from the newest",
                                  (long long)e->snapshot_id);
    }
    PML_RETURN_IF(l->source->any_progress_file(l->source->arg, &any, err));
    e->progress.all_lost = any;
    return PML_OK;
}

static int attempt(pml_effective **out, bool *again, const load *l, int restart, pml_error *err)
{
    pml_effective *e = NULL;
    pml_effective_outcome outcome = PML_EFFECTIVE_DONE;
    int64_t earliest;
    int rc;
    *out = NULL;
    PML_TRY(effective_new(&e, l->env, l->o, err));
    PML_TRY(l->source->earliest(l->source->arg, &earliest, err));
    PML_TRY(choose(e, again, l, err));
    if (*again || e->snapshot_id < 0)
        goto out;
    *out = cache_find(l->cache, &e->snapshot);
    if (*out != NULL)
        goto out;
    PML_TRY(pml_effective__walk(&outcome, e, l->source, l->o, err));
    if (outcome == PML_EFFECTIVE_GONE)
        PML_TRY(judge_gone(again, e, l, earliest, restart, err));
    if (!*again)
        cache_put(l->cache, e);
out:
    if (rc == PML_OK && !*again && *out == NULL) {
        *out = e;
        e = NULL;
    }
    pml_effective__release(e);
    return rc;
}

static int load_progress(pml_effective **out, const load *l, pml_error *err)
{
    bool again = true;
    int rc = PML_OK;
    /* The caller has just read the snapshot: the same one means the same progress, and nothing is read again. */
    *out = l->given == NULL ? NULL : cache_find(l->cache, l->given);
    if (*out != NULL)
        return PML_OK;
    for (int restart = 0; rc == PML_OK && again && restart <= RESTARTS; restart++)
        rc = attempt(out, &again, l, restart, err);
    if (rc == PML_OK && again)
        return pml_error__set(err, PML_E_IO, "the latest snapshot vanished %d times while it was read; try again", RESTARTS + 1);
    return rc;
}

int pml_effective__load(pml_effective **out, pml_env *env, const pml_effective_source *source, const pml_effective_options *o,
                        const pml_snapshot *snapshot, pml_effective_cache *cache, pml_error *err)
{
    return load_progress(out, &(load){env, source, o, snapshot, false, cache}, err);
}

int pml_effective__load_tag(pml_effective **out, pml_env *env, const pml_effective_source *source, const pml_effective_options *o,
                            const pml_snapshot *snapshot, pml_effective_cache *cache, pml_error *err)
{
    return load_progress(out, &(load){env, source, o, snapshot, true, cache}, err);
}

/* ---- tables ---- */

static int table_latest(void *arg, int64_t *id, pml_error *err)
{
    return pml_table__latest_snapshot(id, arg, false, err);
}

static int table_earliest(void *arg, int64_t *id, pml_error *err)
{
    return pml_table__earliest_snapshot(id, arg, err);
}

static int table_load_snapshot(void *arg, pml_snapshot *out, pml_arena *arena, int64_t id, pml_error *err)
{
    return pml_table__load_snapshot(out, arena, arg, id, err);
}

typedef struct visitor {
    pml_manifest_keep_fn visit;
    void *ctx;
} visitor;

static bool visit_only(void *arg, const pml_manifest_entry *entry)
{
    const visitor *v = arg;
    (void)v->visit(v->ctx, entry);
    return false;
}

static int table_visit_delta(void *arg, const pml_snapshot *s, pml_manifest_keep_fn visit, void *ctx, pml_error *err)
{
    pml_table *t = arg;
    visitor v = {visit, ctx};
    pml_manifest_list list = {0};
    pml_manifest_entries none = {0};
    pml_arena arena;
    int rc;
    pml_arena__init(&arena, t->env);
    PML_TRY(pml_table__load_manifest_list(&list, &arena, t, s->delta_manifest_list, err));
    for (size_t i = 0; i < list.n; i++)
        PML_TRY(pml_table__load_manifest(&none, &arena, t, list.v[i].name, visit_only, &v, err));
out:
    pml_arena__clear(&arena);
    return rc;
}

static int table_live_files(void *arg, pml_manifest_entries *out, pml_arena *arena, const pml_snapshot *s,
                            pml_manifest_keep_fn keep, void *ctx, pml_error *err)
{
    const pml_live_files_request request = {NULL, keep, ctx};
    return pml_table__live_files(out, arena, arg, s, &request, err);
}

static int table_partition_texts(void *arg, pml_pb_texts *out, pml_arena *arena, pml_bytes partition, pml_error *err)
{
    const pml_table *t = arg;
    const pml_pb_key key = {partition, 0};
    return pml_pb_texts__of_key(out, arena, t->schema, &t->options, &key, err);
}

static int table_read_progress(void *arg, pml_progress *out, const char *property, pml_error *err)
{
    const pml_table *t = arg;
    return pml_progress__read_file(out, t->env, t->path, t->branch_root, property, err);
}

static int table_any_progress_file(void *arg, bool *out, pml_error *err)
{
    const pml_table *t = arg;
    return pml_progress__any_file(out, t->env, t->path, err);
}

pml_effective_source pml_effective_source__of_table(pml_table *t)
{
    return (pml_effective_source){t,
                                  table_latest,
                                  table_earliest,
                                  table_load_snapshot,
                                  table_visit_delta,
                                  table_live_files,
                                  table_partition_texts,
                                  table_read_progress,
                                  table_any_progress_file};
}

pml_effective_options pml_effective_options__of_table(const pml_table *t)
{
    return (pml_effective_options){t->schema->n_partition_keys, t->schema->partition_keys, (int)t->options.rt_foreign_overwrite,
                                   t->options.rt_progress_max_walk, false};
}

int pml_effective__load_table(pml_effective **out, pml_table *t, const pml_snapshot *snapshot, pml_effective_cache *cache,
                              pml_error *err)
{
    const pml_effective_source source = pml_effective_source__of_table(t);
    const pml_effective_options o = pml_effective_options__of_table(t);
    return pml_effective__load(out, t->env, &source, &o, snapshot, cache, err);
}

int pml_effective__load_to_repair(pml_effective **out, pml_table *t, const pml_snapshot *snapshot, pml_error *err)
{
    const pml_effective_source source = pml_effective_source__of_table(t);
    pml_effective_options o = pml_effective_options__of_table(t);
    o.missing_is_lost = true;
    return pml_effective__load(out, t->env, &source, &o, snapshot, NULL, err);
}
