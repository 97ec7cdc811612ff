/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning the memory side of a union read (10.1), called by the table layer's planner: pin all views first (I8), then with the
 * chosen snapshot drop what is dead or on disk, and refuse a gap (I6). The floor travels with the view, so this is exact whatever
 * an advance does in between.
 */
#include "realtime/rt_plan.h"

#include <string.h>

#include "realtime/rt_commit.h"
#include "realtime/rt_lookup.h"
#include "realtime/rt_registry.h"
#include "realtime/rt_stream_check.h"
#include "table/prune.h"
#include "table/scan.h"

void pml_rt_pins__acquire(rt_pins *p)
{
    (void)atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void pml_rt_view__acquire(rt_view *v)
{
    (void)atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
}

void pml_rt_view__release(rt_view *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_rt_context *c = v->pb->ctx;
    if (v->view != NULL) {
        pml_rt__assert_store_call();
        pml_rt_views__remove(c, v);
        v->vt->release(v->view);
        (void)atomic_fetch_sub(&c->open_views, 1);
    }
    pml_rt_pb__release(v->pb);
    pml_env__free(c->env, v);
}

static void part_clear(rt_part *part)
{
    if (part->held != NULL)
        pml_rt_found__free(part->found, part->pb->ctx->env);
    pml_rt_view__release(part->held);
    *part = (rt_part){0};
}

int pml_rt_pins__new(rt_pins **out, pml_rt_context *c, size_t n, pml_error *err)
{
    rt_pins *p = pml_env__calloc(c->env, 1, sizeof *p);
    *out = p;
    if (p == NULL)
        return pml_error__no_memory(err);
    atomic_init(&p->refs, 1);
    pml_rt_context__acquire(c);
    p->ctx = c;
    p->started_ns = pml_env__mono_ns(c->env);
    p->parts = pml_env__calloc(c->env, n, sizeof *p->parts);
    return p->parts == NULL ? pml_error__no_memory(err) : PML_OK;
}

rt_part *pml_rt_pins__add(rt_pins *p, rt_view *v)
{
    rt_part *part = &p->parts[p->n++];
    pml_rt_view__acquire(v);
    *part = (rt_part){.held = v, .pb = v->pb, .view = v->view, .vt = v->vt, .info = v->info};
    return part;
}

void pml_rt_pins__release(void *pins)
{
    rt_pins *p = pins;
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_rt_context *c = p->ctx;
    for (size_t i = 0; i < p->n; i++)
        part_clear(&p->parts[i]);
    pml_env__free(c->env, p->parts);
    pml_env__free(c->env, p);
    pml_rt_context__release(c);
}

/* ---- pin ---- */

/* *out is to be released, also after a failure. */
static int view_acquire(rt_view **out, rt_pb *pb, pml_error *err)
{
    rt_view *held = pml_env__calloc(pb->ctx->env, 1, sizeof *held);
    *out = held;
    if (held == NULL)
        return pml_error__no_memory(err);
    atomic_init(&held->refs, 1);
    pml_rt_pb__acquire(pb);
    held->pb = pb;
    held->info = (pml_rt_view_info){.struct_size = sizeof held->info};
    pml_rt__assert_store_call();
    int rc = pb->vt->acquire_view(pb->store, &held->view, &held->vt, err);
    if (rc != PML_OK) {
        held->view = NULL;
        return pml_rt_stream__plugin_code(rc, err, "acquire_view", pb->name);
    }
    rc = pml_rt_plugin__check_view(pb->ctx->plugin, held->view, held->vt, err);
    if (rc != PML_OK) {
        held->view = NULL; /* there is no function to let go of it */
        return rc;
    }
    (void)atomic_fetch_add(&pb->ctx->open_views, 1);
    pml_rt_views__add(pb->ctx, held);
    rc = held->vt->info(held->view, &held->info, err);
    if (rc != PML_OK)
        return pml_rt_stream__plugin_code(rc, err, "view.info", pb->name);
    const pml_rt_view_info *v = &held->info;
    if (v->floor < 0 || v->floor > v->end || v->rows < 0 || (v->rows > 0 && v->first >= v->end))
        return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb->name,
                             "a view of %s says floor %lld, first %lld, end %lld, %lld rows", pb->name, (long long)v->floor,
                             (long long)v->first, (long long)v->end, (long long)v->rows);
    return PML_OK;
}

int pml_rt_pins__pin(rt_pins *p, rt_pb *pb, pml_error *err)
{
    rt_view *held;
    rt_pb_state state = (rt_pb_state)atomic_load(&pb->state);
    if (state == RT_PB_RESET_REQUIRED) { /* its memory belongs to a dead history: the disk alone is right */
        (void)atomic_fetch_add(&p->ctx->dropped_views, 1);
        return PML_OK;
    }
    int rc = view_acquire(&held, pb, err);
    if (rc == PML_OK && held->info.rows > 0 && state == RT_PB_LOST)
        rc = pml_rt_pb__check_state(pb, err);
    if (rc == PML_OK) /* also one without rows: its floor says what memory has let go of */
        (void)pml_rt_pins__add(p, held);
    pml_rt_view__release(held);
    return rc;
}

static int matches(bool *out, pml_prune *prune, const rt_pb *pb, pml_error *err)
{
    PML_RETURN_IF(pml_prune__partition(out, prune, pb->key.partition, err));
    return *out ? pml_prune__bucket(out, prune, pb->key.bucket, pb->total_buckets, err) : PML_OK;
}

/* Those that no row of the query can be in are no part of it: what they lack is no gap. */
static int pin_all(rt_pins *p, rt_pb *const *pbs, size_t n, const pml_table *t, const pml_pred *predicate, pml_error *err)
{
    pml_prune prune;
    int rc;
    PML_TRY(pml_prune__init(&prune, t->env, t->schema, &t->options, predicate, err));
    for (size_t i = 0; i < n; i++) {
        bool wanted;
        PML_TRY(matches(&wanted, &prune, pbs[i], err));
        if (wanted)
            PML_TRY(pml_rt_pins__pin(p, pbs[i], err));
    }
out:
    pml_prune__clear(&prune);
    return rc;
}

static int rt_pin(void *ctx, void **pins, int64_t *min_snapshot, pml_table *t, const pml_pred *predicate, pml_error *err)
{
    pml_rt_context *c = ctx;
    rt_pb **pbs = NULL;
    rt_pins *p = NULL;
    size_t n = 0;
    int rc;
    *pins = NULL;
    PML_RETURN_IF(pml_rt_context__bind(c, t, err));
    pml_rt_tickets__expire(c); /* plans of an engine that lost its readers let go of what nobody will fetch */
    pml_rt_reanchor__tick(c, pml_env__mono_ns(c->env));
    PML_TRY(pml_rt_pb__list(&pbs, &n, c, err));
    PML_TRY(pml_rt_pins__new(&p, c, n, err));
    PML_TRY(pin_all(p, pbs, n, t, predicate, err));
    *min_snapshot = pml_rt_context__newest_id(c);
    *pins = p;
    p = NULL;
out:
    pml_rt_pb__release_list(c->env, pbs, n);
    pml_rt_pins__release(p);
    return rc;
}

/* ---- resolve ---- */

typedef enum verdict { KEEP, DROP, GAP } verdict;

/* Was the PB committed in a snapshot not newer than this one? Then a missing entry means it was removed (10.1). */
static bool seen_committed(rt_part *part, int64_t snapshot_id)
{
    pml_rt_context *c = part->pb->ctx;
    pml_mutex__lock(&c->progress_mu);
    bool seen = part->pb->committed_id >= 0 && snapshot_id >= part->pb->committed_id;
    pml_mutex__unlock(&c->progress_mu);
    return seen;
}

/* Its memory belongs to a history that the snapshot does not have. */
static bool is_dead(rt_part *part, const pml_effective *eff, int64_t snapshot_id)
{
    const pml_progress_entry *e = NULL;
    if (eff == NULL)
        return false;
    switch (pml_progress__state(&eff->progress, &part->pb->texts, &e)) {
    case PML_PROGRESS_KNOWN: return pml_lineage__conflicts(&e->lineage, &part->pb->lineage);
    case PML_PROGRESS_ABSENT: return seen_committed(part, snapshot_id);
    case PML_PROGRESS_LOST: break;
    }
    return false;
}

/* A part without rows matters for a chosen snapshot only, and when this context had rows of it: then those that are gone may be
   missing. The latest one has them: it is not older than what was advanced to, unless the table was rolled back, and then it is
   right as it is. */
static int judge(verdict *out, rt_part *part, const pml_effective *eff, bool latest, pml_error *err)
{
    const pml_progress_entry *e = NULL;
    const bool idle = part->info.rows == 0 && (latest || part->info.end <= part->pb->base_end);
    *out = DROP;
    if (part->dead || idle)
        return PML_OK;
    pml_progress_state state = eff == NULL ? PML_PROGRESS_ABSENT : pml_progress__state(&eff->progress, &part->pb->texts, &e);
    part->committed = state == PML_PROGRESS_KNOWN ? e->end : 0;
    if (state == PML_PROGRESS_LOST)
        return pml_error__at(err, PML_E_PROGRESS_LOST, PML_PLACE_PB, part->pb->name,
                             "the committed progress of %s is lost, so it cannot be told which of the rows up to offset %lld that this "
                             "context took are committed",
                             part->pb->name, (long long)part->info.end);
    if (part->info.floor > part->committed)
        *out = GAP;
    else if (part->info.rows > 0 && part->info.end > part->committed)
        *out = KEEP;
    return PML_OK;
}

static int gap(const rt_part *part, int64_t snapshot_id, pml_error *err)
{
    return pml_error__at(err, PML_E_PROGRESS_GAP, PML_PLACE_PB, part->pb->name,
                         "snapshot %lld holds %s up to offset %lld, memory begins at %lld: choose a newer snapshot", (long long)snapshot_id,
                         part->pb->name, (long long)part->committed, (long long)part->info.floor);
}

/* All of them first, whatever else is wrong. The latest snapshot says what an advance to it would: no plan will ever show what is
   written to such a PB from now on, so nothing more is taken (7.6). */
static void find_dead(rt_pins *p, const pml_effective *eff, int64_t snapshot_id, bool latest)
{
    for (size_t i = 0; i < p->n; i++) {
        rt_part *part = &p->parts[i];
        part->dead = is_dead(part, eff, snapshot_id);
        if (part->dead && latest)
            pml_rt_pb__refuse(part->pb, RT_PB_RESET_REQUIRED,
                              "a plan found its progress reset by an overwrite or a rollback, or begun by another live writer");
        if (!part->dead || part->info.rows == 0)
            continue;
        (void)atomic_fetch_add(&p->ctx->dropped_views, 1);
        pml_env__log(p->ctx->env, PML_LOG_WARN, "realtime", "%s: rows in memory are left out of a plan, their history was reset",
                     part->pb->name);
    }
}

int pml_rt_pins__resolve(rt_pins *p, bool *again, const pml_effective *eff, int64_t snapshot_id, bool latest, bool counts, pml_error *err)
{
    size_t kept = 0, n = p->n;
    find_dead(p, eff, snapshot_id, latest);
    for (size_t i = 0; i < n; i++) {
        verdict v = KEEP;
        rt_part *part = &p->parts[i];
        PML_RETURN_IF(judge(&v, part, eff, latest, err));
        if (v == GAP) {
            *again = latest;
            (void)atomic_fetch_add(&p->ctx->plan_retries, latest ? 1 : 0);
            return gap(part, snapshot_id, err);
        }
        if (v == KEEP && counts)
            PML_RETURN_IF(pml_rt_part__count(&part->visible, p, part, err));
        else if (v != KEEP)
            part_clear(part);
    }
    for (size_t i = 0; i < n; i++)
        if (p->parts[i].pb != NULL)
            p->parts[kept++] = p->parts[i];
    p->n = kept;
    return PML_OK;
}

static int rt_resolve(void *pins, bool *again, const pml_snapshot *snapshot, pml_snapshot_choice choice, pml_error *err)
{
    rt_pins *p = pins;
    pml_rt_context *c = p->ctx;
    pml_effective *eff = NULL;
    int64_t id = snapshot == NULL ? -1 : snapshot->id;
    int rc;
    *again = false;
    if (snapshot != NULL)
        PML_TRY(choice == PML_CHOSE_TAG ? pml_rt_context__effective_of_tag(&eff, c, snapshot, err)
                                        : pml_rt_context__effective(&eff, c, snapshot, err));
    PML_TRY(pml_rt_pins__resolve(p, again, eff, id, choice == PML_CHOSE_LATEST, true, err));
    if (choice == PML_CHOSE_LATEST)
        pml_rt_context__note_planned(c, id);
    (void)atomic_fetch_add(&c->plans, 1);
    const int64_t ns = pml_env__mono_ns(c->env) - p->started_ns;
    pml_rt_context__metric_time(&c->plan_ns_sum, &c->plan_ns_max, ns);
    pml_rt_histogram__add(&c->counts.plan_micros, ns / 1000);
out:
    pml_effective__release(eff);
    return rc;
}

/* ---- the rest of the table ---- */

static int rt_retries(void *ctx)
{
    pml_rt_context *c = ctx;
    pml_rwlock__read(&c->registry);
    int n = c->table == NULL ? 0 : c->options.rt_plan_retries;
    pml_rwlock__unlock(&c->registry);
    return n;
}

static size_t rt_count(const void *pins)
{
    return ((const rt_pins *)pins)->n;
}

static void rt_part_get(const void *pins, size_t i, pml_memory_part *out)
{
    const rt_part *part = &((const rt_pins *)pins)->parts[i];
    *out = (pml_memory_part){part->pb->key.partition, part->pb->key.bucket, part->pb->total_buckets, part->visible};
}

static size_t rt_fan_in(void *pins, size_t n)
{
    return pml_rt_context__fan_in(((rt_pins *)pins)->ctx, n);
}

static void rt_acquire(void *pins)
{
    pml_rt_pins__acquire(pins);
}

static int64_t rt_newest(void *ctx)
{
    return pml_rt_context__newest_id(ctx);
}

static void ctx_acquire(void *ctx)
{
    pml_rt_context__acquire(ctx);
}

static void ctx_release(void *ctx)
{
    pml_rt_context__release(ctx);
}

static const pml_memory_source memory_source = {.pin = rt_pin,
                                                .resolve = rt_resolve,
                                                .retries = rt_retries,
                                                .count = rt_count,
                                                .part = rt_part_get,
                                                .open = pml_rt_part__open,
                                                .open_runs = pml_rt_part__open_runs,
                                                .fan_in = rt_fan_in,
                                                .acquire = rt_acquire,
                                                .release = pml_rt_pins__release,
                                                .newest = rt_newest,
                                                .open_base = pml_rt_lookup__open_base,
                                                .release_base = pml_rt_lookup__release_base,
                                                .base_is_old = pml_rt_lookup__base_is_old,
                                                .pin_some = pml_rt_lookup__pin_some,
                                                .check = pml_rt_lookup__check,
                                                .find = pml_rt_lookup__find,
                                                .acquire_ctx = ctx_acquire,
                                                .release_ctx = ctx_release};

pml_rt_context *pml_rt_scan__context(const pml_scan *scan)
{
    return scan->memory == &memory_source ? scan->memory_ctx : NULL;
}

int pml_scan_set_realtime(pml_scan *scan, pml_rt_context *context, pml_error *err)
{
    if (context == NULL) {
        pml_scan__set_memory(scan, NULL, NULL);
        return PML_OK;
    }
    PML_RETURN_IF(pml_rt_context__bind(context, pml_scan__table(scan), err));
    pml_scan__set_memory(scan, &memory_source, context);
    return PML_OK;
}
