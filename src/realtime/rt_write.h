/* SPDX-License-Identifier: Apache-2.0 */
/* One write call, shared by the ways in which append rows (rt_write.c) and rows with keys (rt_write_keyed.c) go to their stores. */
#ifndef PML_REALTIME_RT_WRITE_H
#define PML_REALTIME_RT_WRITE_H

#include "realtime/rt_writer.h"
#include "table/route.h"

enum { RT_WRITE_FEW_PBS = 8 /* partition-buckets of a batch that need no allocation */ };

typedef struct rt_write_call {
    pml_rt_writer *w;
    struct ArrowArray *array;
    const pml_rt_write_options *options;
    bool has_offsets; /* the first column is _REALTIME_OFFSET */
    const pml_field *fields; /* of the batch; rows with keys may have _VALUE_KIND behind them */
    size_t n_fields;
    pml_rt_write_result *out; /* may be NULL */
    size_t n_applied;
    bool looked; /* for what others loaded: pml_rt_sequences__catch_up */
    int64_t start_ns;
} rt_write_call;

/* What the rows of one slice take. */
typedef struct rt_slice_offsets {
    pml_rt_range range;
    int64_t rows;   /* that go to the store */
    uint64_t hash;  /* of explicit offsets */
    uint64_t bytes; /* that the rows hold, for the gauges */
    bool dense;     /* the rows have all offsets of the range */
} rt_slice_offsets;

/* The offset column of the batch. */
static inline const int64_t *pml_rt_write__offsets(const struct ArrowArray *batch)
{
    const struct ArrowArray *a = batch->children[0];
    return (const int64_t *)a->buffers[1] + batch->offset + a->offset;
}

/* Under write_mu: the range of n rows, whose first and last explicit offsets are given unless the call has none; and that it follows
   what the PB has. */
int pml_rt_write__range(pml_rt_range *out, const rt_write_call *k, const rt_pb *pb, int64_t n, int64_t first, int64_t last,
                        pml_error *err);
/* Under write_mu: a batch goes to the store, and what was written is noted. o->rows 0: the offsets pass without rows. */
int pml_rt_write__hand_over(rt_write_call *k, rt_pb *pb, const rt_slice_offsets *o, pml_rt_batch *b, pml_error *err);
/* A slice of n rows was applied. */
void pml_rt_write__applied(rt_write_call *k, const rt_pb *pb, pml_rt_range range, int64_t n);
/* The partition-buckets of a route, made where they are new; references are taken. */
int pml_rt_write__pbs(rt_pb **pbs, rt_write_call *k, const pml_route *route, pml_error *err);
/* Where the rows go. */
int pml_rt_write__route(pml_route *route, rt_write_call *k, pml_error *err);

/* All rows of the writer's table go to one place, which is this: remembers it for the calls that follow. Else nothing. */
void pml_rt_write__keep_only(pml_rt_writer *w, rt_pb *pb);

/* ---- rows with keys ---- */
/* only: where they all go; NULL: they are to be routed. */
int pml_rt_write__keyed(rt_write_call *k, rt_pb *only, pml_error *err);

#endif
