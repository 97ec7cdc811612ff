/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned views of a plan, and reading them. */
#ifndef PML_REALTIME_RT_PLAN_H
#define PML_REALTIME_RT_PLAN_H

#include "realtime/rt_context.h"
#include "table/memory_source.h"

/* A store's view. Counted: the part of a plan holds it, and each ticket drawn of that part (4.5). The context outlives it. */
typedef struct rt_view {
    atomic_int refs;
    rt_pb *pb; /* holds a reference */
    void *view; /* NULL: the store gave none */
    const pml_rt_view_vtbl *vt;
    pml_rt_view_info info;
    int64_t since_ns;              /* when it was acquired */
    struct rt_view *older, *newer; /* open views of the context, of its views.mu */
} rt_view;

void pml_rt_view__acquire(rt_view *v);
void pml_rt_view__release(rt_view *v); /* NULL allowed; under no lock */

/* The plan shows the view's rows with offsets in [committed, info.end). */
typedef struct rt_part {
    rt_view *held; /* holds a reference; the next four are its */
    rt_pb *pb;
    void *view;
    const pml_rt_view_vtbl *vt;
    pml_rt_view_info info;
    int64_t committed; /* C(S, PB) */
    int64_t visible;   /* rows that are shown */
    bool dead;         /* the snapshot has another history */
    struct rt_found *found; /* of a lookup (rt_lookup.h): no other rows are read; owned. NULL: all are */
} rt_part;

typedef struct rt_pins {
    atomic_int refs; /* the plan, and each stream */
    pml_rt_context *ctx; /* holds a reference */
    size_t n;
    rt_part *parts;
    int64_t started_ns;
} rt_pins;

/* Pins without parts, with room for n of them; holds the context. PML_E_NOMEM. */
int pml_rt_pins__new(rt_pins **out, pml_rt_context *c, size_t n, pml_error *err);
/* The next part of the pins, of a view that is acquired. */
rt_part *pml_rt_pins__add(rt_pins *p, rt_view *v);
/* Takes a view of the PB as the next part; none where its memory is of a dead history. */
int pml_rt_pins__pin(rt_pins *p, rt_pb *pb, pml_error *err);
/* Against the progress of a snapshot (NULL: the table has none): drops the parts that are dead or all on disk, refuses a gap. counts: the
   visible rows of each part are counted, which may mean to read it. *again as pml_memory_source.resolve. */
int pml_rt_pins__resolve(rt_pins *p, bool *again, const pml_effective *eff, int64_t snapshot_id, bool latest, bool counts, pml_error *err);
/* Whether the scan's memory is a real-time context, and which. */
pml_rt_context *pml_rt_scan__context(const pml_scan *scan);

void pml_rt_pins__acquire(rt_pins *p);
void pml_rt_pins__release(void *pins);
/* Rows of the part with offsets in [committed, end): by length where the whole view is visible, else by its offset column. */
int pml_rt_part__count(int64_t *rows, rt_pins *p, rt_part *part, pml_error *err);
/* The store's streams of these fields, with what the request says. */
int pml_rt_part__query(pml_rt_streams *out, const rt_part *part, const pml_field *fields, size_t n, const pml_memory_read *request,
                       pml_error *err);
/* Memory has the columns of the context's schema: PML_E_UNSUPPORTED names another one. */
int pml_rt_context__check_fields(const pml_rt_context *c, const pml_field *fields, size_t n, pml_error *err);
/* Rows with keys (rt_read_keyed.c): pml_memory_source.open_runs, and how many rows they have. */
int pml_rt_part__open_runs(pml_memory_run **runs, size_t *n, void *pins, size_t i, const pml_memory_read *request, pml_error *err);
int pml_rt_part__count_runs(int64_t *rows, rt_pins *p, const rt_part *part, pml_error *err);
/* pml_memory_source.open */
int pml_rt_part__open(struct ArrowArrayStream *out, void *pins, size_t i, const pml_memory_read *request, pml_error *err);

#endif
