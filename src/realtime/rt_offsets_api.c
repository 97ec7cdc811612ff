/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a table for callers that recover: where to start replaying each partition-bucket. */
#include <string.h>

#include "realtime/rt_effective.h"

struct pml_rt_offsets {
    pml_env *env;
    pml_effective *effective;
    char *default_name; /* of null and blank partition values */
    size_t *order;      /* entries in the order of the file */
    pml_rt_pb *pbs;     /* of entry order[i] */
};

void pml_rt_offsets_free(pml_rt_offsets *offsets)
{
    if (offsets == NULL)
        return;
    pml_env *env = offsets->env;
    pml_effective__release(offsets->effective);
    pml_env__free(env, offsets->default_name);
    pml_env__free(env, offsets->pbs);
    pml_env__free(env, offsets);
    pml_env_release(env);
}

static int load_effective(pml_effective **out, pml_table *t, int64_t snapshot_id, pml_error *err)
{
    pml_snapshot s;
    pml_arena arena;
    int rc;
    if (snapshot_id == -1)
        return pml_effective__load_table(out, t, NULL, NULL, err);
    if (snapshot_id < 1)
        return pml_error__set(err, PML_E_INVAL, "snapshot %lld: ids begin at 1, -1 is the latest", (long long)snapshot_id);
    pml_arena__init(&arena, t->env);
    rc = pml_table__load_snapshot(&s, &arena, t, snapshot_id, err);
    if (rc == PML_OK)
        rc = pml_effective__load_table(out, t, &s, NULL, err);
    pml_arena__clear(&arena);
    return rc;
}

/* The result is this call's alone, since no cache was given: its arena may take the order. */
static int list_entries(pml_rt_offsets *o, pml_error *err)
{
    pml_progress *p = &o->effective->progress;
    PML_RETURN_IF(pml_progress__sorted(&o->order, p, err));
    o->pbs = pml_env__calloc(o->env, p->n + 1, sizeof *o->pbs);
    if (o->pbs == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < p->n; i++) {
        const pml_pb_texts *pb = &p->v[o->order[i]].pb;
        o->pbs[i] = (pml_rt_pb)PML_RT_PB_INIT;
        o->pbs[i].n_partition = pb->n;
        o->pbs[i].partition = pb->partition;
        o->pbs[i].bucket = pb->bucket;
    }
    return PML_OK;
}

int pml_rt_offsets_load(pml_rt_offsets **out, pml_table *table, int64_t snapshot_id, pml_error *err)
{
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    pml_rt_offsets *o = pml_env__calloc(table->env, 1, sizeof *o);
    if (o == NULL)
        return pml_error__no_memory(err);
    o->env = table->env;
    pml_env_acquire(o->env);
    PML_TRY(load_effective(&o->effective, table, snapshot_id, err));
    if (o->effective->snapshot_id >= 0) /* the caller lets go of what lies below these offsets */
        PML_TRY(pml_table__sync_snapshots(table, err));
    o->default_name = pml_env__strdup(o->env, table->options.partition_default_name);
    if (o->default_name == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(list_entries(o, err));
    *out = o;
    o = NULL;
out:
    pml_rt_offsets_free(o);
    return rc;
}

int64_t pml_rt_offsets_find(const pml_rt_offsets *offsets, const pml_rt_pb *pb)
{
    const pml_progress *p = &offsets->effective->progress;
    const pml_progress_entry *e = NULL;
    pml_pb_texts wanted;
    const char *texts[PML_PB_KEYS_MAX];
    pml_progress_state state = PML_PROGRESS_ABSENT;
    /* Takes no memory: a failure would read as "none recorded". */
    if (p->n_keys <= PML_PB_KEYS_MAX &&
        pml_pb_texts__of_public(&wanted, texts, p->n_keys, offsets->default_name, pb, NULL) == PML_OK)
        state = pml_progress__state(p, &wanted, &e);
    return state == PML_PROGRESS_KNOWN ? e->end : -1;
}

size_t pml_rt_offsets_count(const pml_rt_offsets *offsets)
{
    return offsets->effective->progress.n;
}

int pml_rt_offsets_all_lost(const pml_rt_offsets *offsets)
{
    return offsets->effective->progress.all_lost;
}

int pml_rt_offsets_get(pml_rt_offset_info *out, const pml_rt_offsets *offsets, size_t i, pml_error *err)
{
    const pml_progress *p = &offsets->effective->progress;
    if (out == NULL || out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_offset_info.struct_size is %zu, this library knows %zu",
                              out == NULL ? 0 : out->struct_size, sizeof *out);
    *out = (pml_rt_offset_info)PML_RT_OFFSET_INFO_INIT;
    if (i >= p->n)
        return pml_error__set(err, PML_E_INVAL, "entry %zu of %zu", i, p->n);
    const pml_progress_entry *e = &p->v[offsets->order[i]];
    out->pb = &offsets->pbs[i];
    out->tiered = e->end;
    out->lost = e->lost || p->all_lost;
    out->reset = e->reset.present;
    pml_lineage__print(out->lineage, &e->lineage);
    return PML_OK;
}
