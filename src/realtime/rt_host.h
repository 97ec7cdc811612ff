/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services that the library gives to store plugins (struct pml_rt_host of sys/realtime_store.h), phases P1a and P1b:
 * memory, log, clock, and the Arrow work that a store would otherwise need code for.
 *
 * Counted, because what a store gives away outlives it: held by the context that made it and by every stream and every array
 * made through `stream` and `share`. Thread-safe.
 */
#ifndef PML_REALTIME_RT_HOST_H
#define PML_REALTIME_RT_HOST_H

#include "columnar/batch.h"
#include "realtime/rt_layout.h"

typedef struct pml_rt_host_ctx pml_rt_host_ctx;

/* Returns owned; free with pml_rt_host__release. */
int pml_rt_host__new(pml_rt_host_ctx **out, pml_env *env, pml_error *err);
void pml_rt_host__acquire(pml_rt_host_ctx *ctx);
void pml_rt_host__release(pml_rt_host_ctx *ctx);
/* Ends what was submitted, merges after the rows at hand, and takes nothing more: from here on no thread of the services runs. Whoever made them calls it before the
   release; not under a lock, and not from what was submitted. */
void pml_rt_host__end(pml_rt_host_ctx *ctx);

/* Makes the schema known to the services. The same id again: nothing happens. PML_E_SCHEMA: a reserved column name. */
int pml_rt_host__add_schema(pml_rt_host_ctx *ctx, uint32_t mode, int64_t schema_id, const pml_field *columns, size_t n,
                            pml_error *err);
/* The columns that statistics of mode "keys" cover, by field id: for append tables the bucket key. To be called before stores get
   the schema. */
int pml_rt_host__set_key_columns(pml_rt_host_ctx *ctx, int64_t schema_id, const int32_t *ids, size_t n, pml_error *err);
/* Of a schema of a table with a primary key: how its rows are ordered (pml_rt_layout__set_order). To be called before stores get it. */
int pml_rt_host__set_order(pml_rt_host_ctx *ctx, int64_t schema_id, const int32_t *keys, size_t n_keys, const int32_t *sequence,
                           size_t n_sequence, bool descending, pml_error *err);
/* Borrowed, valid as long as ctx; NULL: unknown id. */
const pml_rt_layout *pml_rt_host__layout(pml_rt_host_ctx *ctx, int64_t schema_id);
/* What a plugin gets; borrowed, valid as long as ctx. */
const pml_rt_host *pml_rt_host__services(pml_rt_host_ctx *ctx);
/* Bytes that stores hold now: given out by alloc plus reported by charge. */
int64_t pml_rt_host__bytes(const pml_rt_host_ctx *ctx);
/* How often may_match said no. */
int64_t pml_rt_host__pruned_runs(const pml_rt_host_ctx *ctx);

#endif
