/* SPDX-License-Identifier: Apache-2.0 */
/* The segments of one partition-bucket: sealing, and the states of the queue (4.4). */
#include <string.h>

#include "realtime/rt_context.h"

/* Room for one more segment; asked for before the store seals, so that a sealed segment is never without a place. */
static int queue_reserve(rt_pb *pb, pml_error *err)
{
    if (pb->n_queue < pb->cap_queue)
        return PML_OK;
    size_t cap = pb->cap_queue == 0 ? 4 : pb->cap_queue * 2;
    pml_env *env = pb->ctx->env;
    rt_segment *v = pb->queue == NULL ? pml_env__alloc(env, cap * sizeof *v) : pml_env__realloc(env, pb->queue, cap * sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    pb->queue = v;
    pb->cap_queue = cap;
    return PML_OK;
}

/* Both locks are held. */
static int seal_locked(rt_pb *pb, pml_error *err)
{
    void *handle = NULL;
    if (pb->building.rows == 0)
        return PML_OK;
    pml_rt__assert_store_call();
    int rc = pb->vt->seal(pb->store, &handle, err);
    if (rc != PML_OK)
        return pml_rt_pb__store_failed(pb, rc, err, "seal");
    if (handle == NULL) {
        (void)pml_error__set(err, PML_E_PLUGIN_CONTRACT, "the store of %s sealed nothing although it holds %lld rows", pb->name,
                             (long long)pb->building.rows);
        return pml_rt_pb__store_failed(pb, PML_E_PLUGIN_CONTRACT, err, "seal");
    }
    pb->queue[pb->n_queue++] = (rt_segment){handle, {pb->cover_begin, pb->next_offset}, pb->building, RT_SEGMENT_SEALED};
    pb->building = (rt_rows_note){0};
    pb->cover_begin = pb->next_offset;
    (void)atomic_fetch_add(&pb->ctx->seals, 1);
    return PML_OK;
}

int pml_rt_pb__seal(rt_pb *pb, pml_error *err)
{
    pml_mutex__lock(&pb->prepare_mu);
    int rc = queue_reserve(pb, err);
    if (rc == PML_OK) {
        pml_mutex__lock(&pb->write_mu);
        rc = pml_rt_pb__check_state(pb, err);
        if (rc == PML_OK)
            rc = seal_locked(pb, err);
        pml_mutex__unlock(&pb->write_mu);
    }
    pml_mutex__unlock(&pb->prepare_mu);
    return rc;
}

void pml_rt_pb__mark(rt_pb *pb, pml_rt_range cover, rt_segment_state state)
{
    pml_mutex__lock(&pb->prepare_mu);
    for (size_t i = 0; i < pb->n_queue; i++) {
        rt_segment *s = &pb->queue[i];
        if (s->cover.begin >= cover.begin && s->cover.end <= cover.end && s->state != RT_SEGMENT_COMMITTED)
            s->state = state;
    }
    pml_mutex__unlock(&pb->prepare_mu);
}
