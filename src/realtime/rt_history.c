/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_history.h"

#include <string.h>
#include <xxhash.h>

#include "realtime/rt_context.h"

/* ---- prints ---- */

static rt_print print_of(const void *bytes, size_t n, uint64_t seed)
{
    const XXH128_hash_t h = XXH3_128bits_withSeed(bytes, n, seed);
    return (rt_print){h.low64, h.high64};
}

bool pml_rt_print__equal(rt_print a, rt_print b)
{
    return a.low == b.low && a.high == b.high;
}

rt_print pml_rt_print__of_user(const char *user)
{
    return user == NULL ? (rt_print){0} : print_of(user, strlen(user), 0);
}

rt_point pml_rt_point__of(const pml_snapshot *s)
{
    const rt_print user = pml_rt_print__of_user(s->commit_user), delta = print_of(s->delta_manifest_list, strlen(s->delta_manifest_list), 1);
    const uint64_t parts[] = {user.low, user.high, delta.low, delta.high, (uint64_t)s->commit_identifier, (uint64_t)s->time_ms};
    return (rt_point){s->id, print_of(parts, sizeof parts, (uint64_t)s->id)};
}

bool pml_rt_point__equal(const rt_point *a, const rt_point *b)
{
    return a->id == b->id && pml_rt_print__equal(a->print, b->print);
}

int pml_rt_point__check(bool *rewritten, const rt_point *p, pml_table *t, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    *rewritten = false;
    if (p->id < 1)
        return PML_OK;
    pml_arena__init(&arena, t->env);
    int rc = pml_table__load_snapshot(&s, &arena, t, p->id, err);
    if (rc == PML_OK) {
        const rt_point now = pml_rt_point__of(&s);
        *rewritten = !pml_rt_point__equal(&now, p);
    }
    pml_arena__clear(&arena);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc;
}

/* ---- what others left unsynced ---- */

void pml_rt_context__note_durable(pml_rt_context *c, const pml_snapshot *s)
{
    const rt_point p = pml_rt_point__of(s);
    pml_mutex__lock(&c->progress_mu);
    c->durable = p;
    pml_mutex__unlock(&c->progress_mu);
}

int pml_rt_context__make_durable(pml_rt_context *c, const pml_snapshot *s, pml_error *err)
{
    const rt_point p = pml_rt_point__of(s);
    pml_mutex__lock(&c->progress_mu);
    bool known = pml_rt_point__equal(&c->durable, &p);
    pml_mutex__unlock(&c->progress_mu);
    if (known)
        return PML_OK;
    PML_RETURN_IF(pml_table__sync_snapshots(c->table, err));
    pml_rt_context__note_durable(c, s);
    return PML_OK;
}

/* ---- overwrites without lineages ---- */

/* The progress right after one OVERWRITE. */
static int look_at(int64_t *seen, const pml_pb_texts *const *pbs, size_t n, pml_rt_context *c, const pml_snapshot *s, pml_error *err)
{
    pml_effective *eff;
    PML_RETURN_IF(pml_rt_context__effective(&eff, c, s, err));
    for (size_t i = 0; i < n; i++) {
        const pml_progress_entry *e = NULL;
        pml_progress_state state = pml_progress__state(&eff->progress, pbs[i], &e);
        if (state == PML_PROGRESS_ABSENT || (state == PML_PROGRESS_KNOWN && e->end < seen[i]))
            seen[i] = -1;
    }
    pml_effective__release(eff);
    return PML_OK;
}

int pml_rt_history__overwritten(int64_t *seen, const pml_pb_texts *const *pbs, size_t n, pml_rt_context *c, int64_t newest, int64_t after,
                                pml_error *err)
{
    int rc = PML_OK;
    for (int64_t id = newest, k = 0; id > after && id >= 1 && k <= c->options.rt_progress_max_walk && rc == PML_OK; id--, k++) {
        pml_arena arena;
        pml_snapshot s;
        pml_arena__init(&arena, c->env);
        rc = pml_table__load_snapshot(&s, &arena, c->table, id, err);
        if (rc == PML_OK && s.commit_kind == PML_COMMIT_OVERWRITE)
            rc = look_at(seen, pbs, n, c, &s, err);
        pml_arena__clear(&arena);
    }
    return rc == PML_E_NOT_FOUND || rc == PML_E_SNAPSHOT_GONE ? PML_OK : rc;
}
