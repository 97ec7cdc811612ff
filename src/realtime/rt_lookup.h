/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory's part of a point lookup (realtime-pk.md 12): views of the partition-buckets of the keys, checked against the kept snapshot as
 * those of a plan are, and the rows of the keys in them. Where the newest row of a key decides it is the answer; else the rows are kept
 * with the pins, for a merge with those of files that gives what a scan gives.
 */
#ifndef PML_REALTIME_RT_LOOKUP_H
#define PML_REALTIME_RT_LOOKUP_H

#include "realtime/rt_plan.h"

/* Rows of one key in one run of the store: borrowed from the view. */
typedef struct rt_hit {
    const pml_rt_layout *layout;
    int64_t group;                 /* the segment; grows with age */
    const struct ArrowArray *rows; /* all columns of the transport schema */
    int64_t first, n;
} rt_hit;

/* What a search found in one part. */
typedef struct rt_found {
    size_t n, cap;
    rt_hit *hits;
    bool sorted; /* by group, then by key */
} rt_found;

void pml_rt_found__free(rt_found *f, pml_env *env); /* NULL allowed */
/* As pml_memory_source.open_runs, of what was found: each group is one run. */
int pml_rt_found__open_runs(pml_memory_run **runs, size_t *n, const rt_part *part, const pml_memory_read *request, pml_error *err);

/* pml_memory_source has them. */
int pml_rt_lookup__open_base(void **base, int32_t *columns, void *ctx, const pml_memory_base *request, pml_error *err);
void pml_rt_lookup__release_base(void *base);
bool pml_rt_lookup__base_is_old(const void *base);
int pml_rt_lookup__pin_some(void **pins, void *ctx, pml_bytes partition, int32_t bucket, pml_error *err);
int pml_rt_lookup__check(void *pins, bool *again, const void *base, pml_error *err);
int pml_rt_lookup__find(pml_memory_found *found, void *pins, const pml_memory_find *request, pml_error *err);

#endif
