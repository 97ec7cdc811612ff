/* SPDX-License-Identifier: Apache-2.0 */
/* The disk side of the model: snapshots, their progress as an independent reading of the rules, progress files against it. */
#include <string.h>

#include "meta/path.h"
#include "storage/file_io.h"
#include "support/rt_model_state.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9E3779B97F4A7C15u + b;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t model_anchor(const rt_model *m, int64_t snapshot)
{
    for (int64_t i = snapshot; i >= 1; i--)
        if (m->snapshots[i].has_property)
            return i;
    return 0;
}

model_mark model_effective(const rt_model *m, int64_t snapshot, int pb)
{
    const model_mark absent = {0};
    int64_t anchor = snapshot < 1 ? 0 : model_anchor(m, snapshot);
    int part = pb / m->n_buckets;
    part_fate fate = FATE_NONE;
    int64_t by = 0;
    if (anchor == 0)
        return absent;
    model_mark mark = m->snapshots[anchor].marks[pb];
    for (int64_t i = snapshot; i > anchor && fate != FATE_EMPTIED; i--)
        if (m->snapshots[i].fate[part] != FATE_NONE) {
            fate = m->snapshots[i].fate[part];
            by = i;
        }
    if (mark.state == MARK_ABSENT || fate == FATE_NONE)
        return mark;
    if (fate == FATE_UNCLEAR) {
        mark.state = MARK_LOST;
        return mark;
    }
    return (model_mark){MARK_KNOWN, 0, mix(mark.lineage, m->snapshots[by].nonce), BY_NOBODY, by};
}

model_snapshot *model_push_snapshot(rt_model *m)
{
    if (m->latest + 2 >= MODEL_SNAPSHOTS) {
        model_fail(m, "the model has no room for more snapshots");
        return NULL;
    }
    int64_t before = m->latest;
    m->latest = before < 1 ? 1 : before + 1;
    model_snapshot *s = &m->snapshots[m->latest];
    for (int i = 0; i < MODEL_PBS; i++) {
        ids_clear(&s->disk[i]);
        if (before >= 1)
            ids_copy(&s->disk[i], &m->snapshots[before].disk[i]);
        s->marks[i] = (model_mark){0};
    }
    s->exists = true;
    s->has_property = false;
    memset(s->fate, 0, sizeof s->fate);
    s->nonce = ++m->nonce;
    s->watermark = before >= 1 ? m->snapshots[before].watermark : MODEL_NO_WATERMARK;
    if (m->earliest < 1)
        m->earliest = m->latest;
    return s;
}

void model_drop_latest(rt_model *m)
{
    m->snapshots[m->latest].exists = false;
    m->latest = m->latest > 1 ? m->latest - 1 : -1;
    if (m->latest < m->earliest)
        m->earliest = m->latest;
}

void model_remove_snapshot_file(rt_model *m, int64_t id)
{
    char *path = pml_path__snapshot(m->t->env, MODEL_TABLE, id);
    if (path == NULL || pml_file__remove(m->t->env, path, NULL) != PML_OK)
        model_fail(m, "cannot remove snapshot %lld", (long long)id);
    pml_env__free(m->t->env, path);
}

/* Test 94. */
void model_check_offsets(rt_model *m, int64_t snapshot)
{
    pml_rt_offsets *offsets = NULL;
    pml_error err = PML_ERROR_INIT;
    size_t known = 0;
    if (snapshot < 1 || !model_expect(m, PML_OK, pml_rt_offsets_load(&offsets, m->table, snapshot, &err), &err, "offsets_load"))
        return;
    m->unknown_snapshot = -1; /* what it tells is durable, with all before it */
    for (int i = 0; i < m->n_pbs && !m->failed; i++) {
        model_mark want = model_effective(m, snapshot, i);
        const char *text = rt_partition_text(i / m->n_buckets);
        pml_rt_pb pb = PML_RT_PB_INIT;
        pb.n_partition = m->shape.partitioned ? 1 : 0;
        pb.partition = &text;
        pb.bucket = i % m->n_buckets;
        int64_t got = pml_rt_offsets_find(offsets, &pb);
        int64_t end = want.state == MARK_KNOWN ? want.end : -1;
        known += want.state != MARK_ABSENT;
        if (got != end)
            model_fail(m, "snapshot %lld records the offset %lld for pb %d, the model has %lld", (long long)snapshot, (long long)got, i,
                       (long long)end);
    }
    if (!m->failed && (pml_rt_offsets_count(offsets) != known || pml_rt_offsets_all_lost(offsets) != 0))
        model_fail(m, "snapshot %lld records %zu partition-buckets, the model has %zu", (long long)snapshot,
                   pml_rt_offsets_count(offsets), known);
    pml_rt_offsets_free(offsets);
}
