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

/* Rows of which the table's options have passed over every one are no segment of the store, but their offsets are one of ours (I20). */
static int seal_store(void **handle, rt_pb *pb, pml_error *err)
{
    if (pb->building.rows == 0)
        return PML_OK;
    pml_rt__assert_store_call();
    int rc = pb->vt->seal(pb->store, handle, err);
    if (rc != PML_OK)
        return pml_rt_pb__store_failed(pb, rc, err, "seal");
    if (*handle == NULL) {
        (void)pml_error__set(err, PML_E_PLUGIN_CONTRACT, "the store of %s sealed nothing although it holds %lld rows", pb->name,
                             (long long)pb->building.rows);
        return pml_rt_pb__store_failed(pb, PML_E_PLUGIN_CONTRACT, err, "seal");
    }
    return PML_OK;
}

/* Both locks are held. */
static int seal_locked(rt_pb *pb, pml_error *err)
{
    void *handle = NULL;
    if (pb->building.rows == 0 && pb->next_offset == pb->cover_begin)
        return PML_OK;
    const int64_t start = pml_env__mono_ns(pb->ctx->env);
    PML_RETURN_IF(seal_store(&handle, pb, err));
    pml_rt_histogram__add(&pb->ctx->counts.seal_micros, (pml_env__mono_ns(pb->ctx->env) - start) / 1000);
    const int64_t since = (int64_t)atomic_load(&pb->building_since_ns);
    pb->queue[pb->n_queue++] =
        (rt_segment){handle, {pb->cover_begin, pb->next_offset}, pb->building, RT_SEGMENT_SEALED, since, pb->building_bytes, -1, -1};
    if (pb->building.rows > 0 && pb->ctx->layout->mode != PML_RT_MODE_APPEND) {
        pb->queue[pb->n_queue - 1].first_sequence = (int64_t)atomic_load(&pb->building_sequence);
        pb->queue[pb->n_queue - 1].last_sequence = pb->next_sequence - 1;
    }
    if (atomic_load(&pb->sealed_since_ns) < 0)
        atomic_store(&pb->sealed_since_ns, since);
    atomic_store(&pb->building_since_ns, -1);
    atomic_store(&pb->building_sequence, -1);
    pb->building = (rt_rows_note){0};
    pb->building_bytes = 0;
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
    const int64_t now = pml_env__mono_ns(pb->ctx->env);
    int64_t since = -1;
    pml_mutex__lock(&pb->prepare_mu);
    for (size_t i = 0; i < pb->n_queue; i++) {
        rt_segment *s = &pb->queue[i];
        if (s->cover.begin >= cover.begin && s->cover.end <= cover.end && s->state != RT_SEGMENT_COMMITTED) {
            s->state = state;
            if (state == RT_SEGMENT_COMMITTED)
                pml_rt_histogram__add(&pb->ctx->counts.visible_to_committed_millis, (now - s->since_ns) / 1000000);
        }
        if (since < 0 && s->state != RT_SEGMENT_COMMITTED)
            since = s->since_ns;
    }
    atomic_store(&pb->sealed_since_ns, since);
    pml_mutex__unlock(&pb->prepare_mu);
}
