/* SPDX-License-Identifier: Apache-2.0 */
/* Prepare (9.1): seal all partition-buckets, flush them, hand out one entry for each. One prepare is in flight at a time. */
#include <string.h>

#include "realtime/rt_buckets.h"
#include "realtime/rt_commit.h"
#include "realtime/rt_writer.h"

struct pml_rt_prepared {
    pml_env *env;
    size_t n;
    pml_rt_entry **entries;
};

/* ---- entries ---- */

void pml_rt_entry__release(pml_rt_entry *e)
{
    if (e == NULL || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_rt_context *c = e->ctx;
    pml_new_files__clear(&e->files);
    pml_rt_pb__release(e->pb);
    pml_env__free(c->env, e);
    pml_rt_context__release(c);
}

static pml_rt_entry *entry_new(rt_pb *pb, int64_t identifier)
{
    pml_rt_entry *e = pml_env__calloc(pb->ctx->env, 1, sizeof *e);
    if (e == NULL)
        return NULL;
    atomic_init(&e->refs, 1);
    pml_rt_context__acquire(pb->ctx);
    e->ctx = pb->ctx;
    pml_rt_pb__acquire(pb);
    e->pb = pb;
    e->identifier = identifier;
    e->public_pb = (pml_rt_pb)PML_RT_PB_INIT;
    e->public_pb.n_partition = pb->texts.n;
    e->public_pb.partition = pb->texts.partition;
    e->public_pb.bucket = pb->texts.bucket;
    return e;
}

int pml_rt_entry_get(pml_rt_entry_info *out, const pml_rt_entry *e, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    if (out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_entry_info.struct_size is %zu, this library knows %zu", out->struct_size,
                              sizeof *out);
    *out = (pml_rt_entry_info)PML_RT_ENTRY_INFO_INIT;
    out->pb = &e->public_pb;
    out->begin = e->cover.begin;
    out->end = e->cover.end;
    out->rows = e->rows;
    out->files = (int64_t)e->files.n;
    return PML_OK;
}

/* ---- the flight ---- */

static void flight_free(pml_env *env, rt_flight *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->n; i++)
        pml_rt_entry__release(f->entries[i]);
    pml_env__free(env, f->entries);
    pml_env__free(env, f);
}

void pml_rt_entry__resolve(pml_rt_entry *e, bool committed)
{
    int open = 0;
    pml_rt_context *c = e->ctx;
    if (!atomic_compare_exchange_strong(&e->resolved, &open, committed ? 1 : 2))
        return;
    pml_rt_pb__mark(e->pb, e->cover, committed ? RT_SEGMENT_COMMITTED : RT_SEGMENT_SEALED);
    if (committed)
        (void)atomic_fetch_sub(&c->uncommitted_rows, e->rows);
    pml_mutex__lock(&c->flight_mu);
    rt_flight *f = c->flight;
    for (size_t i = 0; f != NULL && i < f->n; i++)
        if (atomic_load(&f->entries[i]->resolved) == 0)
            f = NULL;
    if (f != NULL)
        c->flight = NULL;
    pml_mutex__unlock(&c->flight_mu);
    flight_free(c->env, f); /* the references of the caller keep e and the context alive */
}

void pml_rt_context__drop_flight(pml_rt_context *c)
{
    pml_mutex__lock(&c->flight_mu);
    rt_flight *f = c->flight;
    c->flight = NULL;
    pml_mutex__unlock(&c->flight_mu);
    flight_free(c->env, f);
}

/* ---- prepare ---- */

static int prepared_new(pml_rt_prepared **out, rt_flight **flight, pml_env *env, size_t n)
{
    pml_rt_prepared *p = pml_env__calloc(env, 1, sizeof *p);
    rt_flight *f = pml_env__calloc(env, 1, sizeof *f);
    *out = p;
    *flight = f;
    if (p != NULL)
        p->env = env; /* to free it by */
    if (p == NULL || f == NULL)
        return PML_E_NOMEM;
    p->entries = pml_env__calloc(env, n, sizeof(pml_rt_entry *));
    f->entries = pml_env__calloc(env, n, sizeof(pml_rt_entry *));
    return p->entries == NULL || f->entries == NULL ? PML_E_NOMEM : PML_OK;
}

static int flush_pb(rt_flight *f, rt_pb *pb, int64_t identifier, pml_error *err)
{
    rt_flush_result r;
    bool anything;
    pml_rt_entry *e = entry_new(pb, identifier);
    if (e == NULL)
        return pml_error__no_memory(err);
    int rc = pml_rt_pb__flush(&r, &anything, pb, err);
    if (rc != PML_OK || !anything) {
        pml_rt_entry__release(e);
        return rc;
    }
    e->cover = r.cover;
    e->rows = r.rows;
    e->first_sequence = r.first_sequence;
    e->last_sequence = r.last_sequence;
    e->files = r.files;
    f->entries[f->n++] = e;
    return PML_OK;
}

static int seal_and_flush(rt_flight *f, rt_pb **pbs, size_t n, int64_t identifier, pml_error *err)
{
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(pml_rt_pb__seal(pbs[i], err));
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(flush_pb(f, pbs[i], identifier, err));
    return n == 0 ? PML_OK : pml_rt_buckets__prepare(pbs[0]->ctx, f, err);
}

static void roll_back(rt_flight *f)
{
    for (size_t i = 0; i < f->n; i++) {
        pml_rt_buckets__revert(f->entries[i]->ctx, &f->entries[i]->files);
        pml_new_files__delete(&f->entries[i]->files);
        pml_rt_pb__mark(f->entries[i]->pb, f->entries[i]->cover, RT_SEGMENT_SEALED);
    }
}

/* Publishes the flight (NULL: only looks whether it could), or PML_E_BUSY when there is one. */
static int take_off(pml_rt_context *c, rt_flight *f, pml_error *err)
{
    pml_mutex__lock(&c->flight_mu);
    bool free_slot = c->flight == NULL;
    if (free_slot && f != NULL)
        c->flight = f;
    pml_mutex__unlock(&c->flight_mu);
    if (free_slot)
        return PML_OK;
    return pml_error__set(err, PML_E_BUSY, "a prepare is in flight already: commit it, or abort it with pml_rt_progress_abort");
}

static int prepare(pml_rt_prepared **out, pml_rt_writer *w, int64_t identifier, pml_error *err)
{
    pml_rt_context *c = w->ctx;
    rt_pb **pbs = NULL;
    size_t n = 0;
    rt_flight *f = NULL;
    pml_rt_prepared *p = NULL;
    int rc;
    PML_RETURN_IF(take_off(c, NULL, err));
    PML_RETURN_IF(pml_rt_pb__list(&pbs, &n, c, err));
    rc = prepared_new(&p, &f, w->env, n);
    if (rc != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    rc = seal_and_flush(f, pbs, n, identifier, err);
    if (rc != PML_OK) {
        roll_back(f);
        goto out;
    }
    for (size_t i = 0; i < f->n; i++) {
        (void)atomic_fetch_add(&f->entries[i]->refs, 1);
        p->entries[p->n++] = f->entries[i];
    }
    if (f->n > 0) {
        rc = take_off(c, f, err);
        if (rc != PML_OK) {
            roll_back(f);
            goto out;
        }
        f = NULL;
    }
    *out = p;
    p = NULL;
out:
    flight_free(w->env, f);
    pml_rt_prepared_free(p);
    pml_rt_pb__release_list(w->env, pbs, n);
    return rc;
}

int pml_rt_prepare(pml_rt_prepared **out, pml_rt_writer *w, int64_t identifier, const pml_rt_prepare_options *options,
                   pml_error *err)
{
    pml_rt_context *c = w->ctx;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (options != NULL && options->struct_size != sizeof *options)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_prepare_options.struct_size is %zu, this library knows %zu",
                              options->struct_size, sizeof *options);
    PML_RETURN_IF(pml_rt_context__check(c, err));
    int64_t start = pml_env__mono_ns(w->env);
    pml_mutex__lock(&w->flush_mu); /* two callers at once: the second sees the flight of the first */
    int rc = prepare(out, w, identifier, err);
    pml_mutex__unlock(&w->flush_mu);
    const int64_t end = pml_env__mono_ns(w->env), ns = end - start;
    pml_rt_context__metric_time(&c->prepare_ns_sum, &c->prepare_ns_max, ns);
    pml_rt_histogram__add(&c->counts.prepare_millis, ns / 1000000);
    (void)atomic_fetch_add(rc == PML_OK ? &c->prepares : &c->prepare_failures, 1);
    pml_rt_reanchor__tick(c, end);
    return rc;
}

const pml_rt_entry *const *pml_rt_prepared_get(size_t *n, const pml_rt_prepared *p)
{
    *n = p->n;
    return (const pml_rt_entry *const *)p->entries;
}

void pml_rt_prepared_free(pml_rt_prepared *p)
{
    if (p == NULL)
        return;
    pml_env *env = p->env;
    pml_env_acquire(env); /* the last entry may let go of the context, and that of the environment */
    for (size_t i = 0; i < p->n; i++)
        pml_rt_entry__release(p->entries[i]);
    pml_env__free(env, p->entries);
    pml_env__free(env, p);
    pml_env_release(env);
}
