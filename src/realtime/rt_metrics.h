/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted on the way (realtime.md 21). Counting takes no lock and no memory; only views, which plans acquire, are in a list. */
#ifndef PML_REALTIME_RT_METRICS_H
#define PML_REALTIME_RT_METRICS_H

#include <paimonlive/realtime.h>
#include <stdatomic.h>

#include "util/thread.h"

typedef struct rt_histogram {
    atomic_llong sum, max;
    atomic_llong bucket[PML_RT_HISTOGRAM_BUCKETS];
} rt_histogram;

void pml_rt_histogram__add(rt_histogram *h, int64_t v); /* negative ones count as 0 */

struct rt_view;

/* Open views in the order in which they were acquired. */
typedef struct rt_views {
    pml_mutex mu;                    /* guards the list; a leaf */
    struct rt_view *oldest, *newest; /* of mu */
} rt_views;

typedef struct rt_counts {
    rt_views views;
    atomic_llong tickets_expired, fanin_exceeded;
    rt_histogram write_micros, seal_micros, prepare_millis, plan_micros, visible_to_committed_millis;
} rt_counts;

void pml_rt_counts__init(rt_counts *k);
void pml_rt_counts__clear(rt_counts *k);

void pml_rt_views__add(pml_rt_context *c, struct rt_view *v);
void pml_rt_views__remove(pml_rt_context *c, struct rt_view *v);

struct rt_pb;
/* The part of pml_rt_context_metrics that needs neither stores nor locks of writers. */
void pml_rt_metrics__fill(pml_rt_metrics *out, pml_rt_context *c, struct rt_pb *const *pbs, size_t n);

#endif
