/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the host services: its state, and the services of phase P1b (rt_host_chunk.c, rt_host_stats.c), whose contracts
   stand in sys/realtime_store.h. */
#ifndef PML_REALTIME_RT_HOST_SERVICES_H
#define PML_REALTIME_RT_HOST_SERVICES_H

#include <stdatomic.h>

#include "realtime/rt_host.h"
#include "util/thread.h"

struct rt_work;

typedef struct rt_worker {
    pml_env *env;
    unsigned forks; /* of the process that made it */
    pml_mutex mu;
    pml_cond wake;
    struct rt_work *first;
    pml_thread thread;
    bool started, ended;
    atomic_int tid;   /* of the thread, once it runs */
    atomic_bool over; /* ended, for those without the lock */
} rt_worker;

void pml_rt_worker__init(rt_worker *w, pml_env *env);
void pml_rt_worker__clear(rt_worker *w);
/* The caller is the worker's thread, and nobody wants what it makes any more. What waits in the queue still runs, since it holds what it
   works on, but its merges end at once. */
bool pml_rt_worker__is_over(rt_worker *w);

struct pml_rt_host_ctx {
    atomic_int refs;
    pml_env *env;
    pml_rt_host host;
    atomic_llong bytes; /* alloc and charge */
    atomic_llong pruned_runs;
    rt_worker worker;
    pml_mutex m;        /* guards the list; layouts are immutable and stay until the end */
    pml_rt_layout **layouts;
    size_t n_layouts;
    _Atomic(const pml_rt_layout *) newest; /* of the list, nearly always the one that is asked for: found without the lock */
};

/* PML_E_SCHEMA: the store was never given it. */
int pml_rt_host__find_layout(const pml_rt_layout **out, pml_rt_host_ctx *ctx, int64_t schema_id, pml_error *err);
/* The fields of an array, which may lack the offset column. PML_E_SCHEMA: another number of columns. */
int pml_rt_host__fields_of(const pml_field **fields, size_t *n, const pml_rt_layout *l, const struct ArrowArray *array,
                           pml_error *err);

int pml_rt_host__concat(void *ctx, struct ArrowArray *out, int64_t schema_id, size_t n, const struct ArrowArray *const *inputs,
                        pml_error *err);
int pml_rt_host__stats(void *ctx, struct ArrowArray *min, struct ArrowArray *max, int64_t *null_counts, int64_t schema_id,
                       uint32_t mode, const struct ArrowArray *array, pml_error *err);
int pml_rt_host__may_match(void *ctx, const void *predicate, int64_t schema_id, int64_t rows, const struct ArrowArray *min,
                           const struct ArrowArray *max, const int64_t *null_counts);
int pml_rt_host__chunk_new(void *ctx, void **chunk, int64_t schema_id, uint32_t dense, int64_t rows_max, int64_t bytes_max,
                           pml_error *err);
int pml_rt_host__chunk_append(void *ctx, int64_t *rows_taken, void *chunk, const struct ArrowArray *array, pml_error *err);
int pml_rt_host__chunk_view(void *ctx, struct ArrowArray *out, void *chunk, int64_t rows, pml_error *err);
void pml_rt_host__chunk_release(void *ctx, void *chunk);

/* Of tables with a primary key (rt_host_work.c, rt_host_runs.c). */
int pml_rt_host__submit(void *ctx, void (*fn)(void *arg), void *arg);
int pml_rt_host__merge_sorted(void *ctx, pml_rt_merged *out, const pml_rt_merge *req, pml_error *err);
int pml_rt_host__sort_run(void *ctx, struct ArrowArray *out, int64_t schema_id, const struct ArrowArray *array, pml_error *err);
int pml_rt_host__key_bounds(void *ctx, int64_t *lo, int64_t *hi, int64_t schema_id, const struct ArrowArray *run,
                            const struct ArrowArray *keys, int64_t key_row, pml_error *err);
int pml_rt_host__find_key(void *ctx, int64_t *row, int64_t schema_id, const struct ArrowArray *array, int64_t before,
                          const struct ArrowArray *keys, int64_t key_row, pml_error *err);

#endif
