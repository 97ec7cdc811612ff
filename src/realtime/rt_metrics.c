/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_metrics.h"

#include "realtime/rt_context.h"
#include "realtime/rt_plan.h"

enum { NS_PER_MS = 1000000 };

/* ---- histograms ---- */

static size_t bucket_of(int64_t v)
{
    size_t bits = v <= 0 ? 0 : (size_t)(64 - __builtin_clzll((unsigned long long)v));
    return bits < PML_RT_HISTOGRAM_BUCKETS ? bits : PML_RT_HISTOGRAM_BUCKETS - 1;
}

void pml_rt_histogram__add(rt_histogram *h, int64_t v)
{
    v = v < 0 ? 0 : v;
    (void)atomic_fetch_add_explicit(&h->bucket[bucket_of(v)], 1, memory_order_relaxed);
    pml_rt_context__metric_time(&h->sum, &h->max, v);
}

/* The count is that of the buckets as they were read, so that the two agree. */
static void load(pml_rt_histogram *out, const rt_histogram *h)
{
    *out = (pml_rt_histogram){.sum = (int64_t)atomic_load_explicit(&h->sum, memory_order_relaxed),
                              .max = (int64_t)atomic_load_explicit(&h->max, memory_order_relaxed)};
    for (size_t i = 0; i < PML_RT_HISTOGRAM_BUCKETS; i++) {
        out->bucket[i] = (int64_t)atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
        out->count += out->bucket[i];
    }
}

int64_t pml_rt_histogram_percentile(const pml_rt_histogram *h, int percent)
{
    int64_t seen = 0;
    double wanted = (double)h->count * (percent < 0 ? 0 : percent > 100 ? 100 : percent) / 100.0;
    if (h->count == 0)
        return 0;
    for (size_t i = 0; i < PML_RT_HISTOGRAM_BUCKETS; i++) {
        int64_t end = i == 0 ? 0 : (INT64_C(1) << i) - 1;
        seen += h->bucket[i];
        if (h->bucket[i] > 0 && (double)seen >= wanted && i + 1 < PML_RT_HISTOGRAM_BUCKETS)
            return end < h->max ? end : h->max;
    }
    return h->max;
}

/* ---- views ---- */

void pml_rt_counts__init(rt_counts *k)
{
    pml_mutex__init(&k->views.mu, "ctx.views", RT_RANK_VIEWS);
}

void pml_rt_counts__clear(rt_counts *k)
{
    pml_mutex__destroy(&k->views.mu);
}

void pml_rt_views__add(pml_rt_context *c, rt_view *v)
{
    rt_views *l = &c->counts.views;
    v->since_ns = pml_env__mono_ns(c->env);
    pml_mutex__lock(&l->mu);
    v->older = l->newest;
    if (l->newest != NULL)
        l->newest->newer = v;
    else
        l->oldest = v;
    l->newest = v;
    pml_mutex__unlock(&l->mu);
}

void pml_rt_views__remove(pml_rt_context *c, rt_view *v)
{
    rt_views *l = &c->counts.views;
    pml_mutex__lock(&l->mu);
    if (v->older != NULL)
        v->older->newer = v->newer;
    else
        l->oldest = v->newer;
    if (v->newer != NULL)
        v->newer->older = v->older;
    else
        l->newest = v->older;
    pml_mutex__unlock(&l->mu);
}

static int64_t oldest_view_ms(pml_rt_context *c)
{
    rt_views *l = &c->counts.views;
    int64_t now = pml_env__mono_ns(c->env);
    pml_mutex__lock(&l->mu);
    int64_t age = l->oldest == NULL ? 0 : now - l->oldest->since_ns;
    pml_mutex__unlock(&l->mu);
    return age < 0 ? 0 : age / NS_PER_MS;
}

size_t pml_rt_context__fan_in(pml_rt_context *c, size_t n)
{
    size_t max = (size_t)c->options.rt_read_max_fanin;
    if (n > max)
        (void)atomic_fetch_add_explicit(&c->counts.fanin_exceeded, 1, memory_order_relaxed);
    return max;
}

/* ---- all of it ---- */

/* Age of the oldest row of the partition-bucket that no commit covers, -1: none. What a reset or an aborted writer left behind is
   nobody's any more. */
static int64_t uncommitted_ns(rt_pb *pb, int64_t now)
{
    int64_t sealed = (int64_t)atomic_load(&pb->sealed_since_ns), building = (int64_t)atomic_load(&pb->building_since_ns);
    int64_t since = sealed >= 0 ? sealed : building;
    if (since < 0 || atomic_load(&pb->state) == RT_PB_RESET_REQUIRED)
        return -1;
    return now > since ? now - since : 0;
}

void pml_rt_metrics__fill(pml_rt_metrics *out, pml_rt_context *c, rt_pb *const *pbs, size_t n)
{
    int64_t now = pml_env__mono_ns(c->env), oldest = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t age = uncommitted_ns(pbs[i], now);
        oldest = age > oldest ? age : oldest;
        switch ((rt_pb_state)atomic_load(&pbs[i]->state)) {
        case RT_PB_ACTIVE: out->pb_active++; break;
        case RT_PB_FAILED: out->pb_failed++; break;
        case RT_PB_RESET_REQUIRED: out->pb_reset++; break;
        case RT_PB_LOST: out->pb_lost++; break;
        }
    }
    out->uncommitted_age_ms = oldest / NS_PER_MS;
    out->oldest_view_ms = oldest_view_ms(c);
    out->open_tickets = (int64_t)pml_rt_tickets__count(c);
    out->tickets_expired = (int64_t)atomic_load_explicit(&c->counts.tickets_expired, memory_order_relaxed);
    out->pruned_runs = pml_rt_host__pruned_runs(c->host);
    out->fanin_exceeded = (int64_t)atomic_load_explicit(&c->counts.fanin_exceeded, memory_order_relaxed);
    pml_mutex__lock(&c->flight_mu);
    out->prepares_in_flight = c->flight != NULL;
    pml_mutex__unlock(&c->flight_mu);
    load(&out->write_micros, &c->counts.write_micros);
    load(&out->seal_micros, &c->counts.seal_micros);
    load(&out->prepare_millis, &c->counts.prepare_millis);
    load(&out->plan_micros, &c->counts.plan_micros);
    load(&out->visible_to_committed_millis, &c->counts.visible_to_committed_millis);
}
