/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advance (9.6): a snapshot is committed, memory below its progress may go. All reading of files comes first and takes no lock;
 * under progress_mu the new state is adopted as a whole; then stores are told one by one. Whether the table was rolled back since
 * the context last looked: rt_history.h.
 */
#include <string.h>

#include "realtime/rt_commit.h"
#include "realtime/rt_context.h"
#include "realtime/rt_stream_check.h"

enum {
    OVERTAKEN_MAX = 100, /* each time another advance succeeded */
    ALREADY = -1         /* nothing to adopt */
};

typedef struct notice {
    rt_pb *pb;
    int64_t end;      /* -1: nothing to tell */
    int64_t committed; /* what the snapshot has of it, if it goes on; else -1 */
    int64_t highest;   /* rows with keys: the sequence numbers of its files end there at most */
    bool overwritten; /* on the way here, by somebody who writes no lineages */
} notice;

/* ---- what the snapshot says of one PB (7.6 items 1 to 5); progress_mu is held ---- */

/* After a rollback an equal or higher end may be that of rows by another writer. Where nothing is committed there are none. */
static bool moved_by_us_locked(const rt_pb *pb, const pml_progress_entry *e)
{
    const rt_print user = pml_rt_print__of_user(e->commit_user);
    return e->end == 0 || (e->commit_user != NULL &&
                           (pml_rt_print__equal(user, pb->seen_user) || pml_rt_print__equal(user, pb->own_user)));
}

/* back: the table went back to this snapshot, or to an older one and forward from there. Else a PB that is known from a newer snapshot
   only (a commit that was not adopted yet) may well be absent here. */
static void adopt_locked(notice *n, rt_pb *pb, const pml_effective *eff, bool back)
{
    const pml_progress_entry *e = NULL;
    *n = (notice){.pb = pb, .end = -1, .committed = -1, .highest = n->highest, .overwritten = n->overwritten};
    switch (pml_progress__state(&eff->progress, &pb->texts, &e)) {
    case PML_PROGRESS_LOST:
        pml_rt_pb__refuse(pb, RT_PB_LOST, "its committed progress is lost: another writer overwrote its partition");
        return;
    case PML_PROGRESS_ABSENT:
        if (pb->committed_id >= 0 && (back || pb->committed_id <= eff->snapshot_id))
            pml_rt_pb__refuse(pb, RT_PB_RESET_REQUIRED, "its committed progress is gone: the table was rolled back or made anew");
        else
            n->committed = 0;
        return;
    case PML_PROGRESS_KNOWN: break;
    }
    if (pml_lineage__conflicts(&e->lineage, &pb->lineage) || n->overwritten) {
        pml_rt_pb__refuse(pb, RT_PB_RESET_REQUIRED, "its progress was reset by an overwrite or truncate");
        return;
    }
    if (e->end < pb->adopted_end) {
        pml_rt_pb__refuse(pb, RT_PB_RESET_REQUIRED, "its committed end went back: the table was rolled back");
        return;
    }
    if (back && !moved_by_us_locked(pb, e)) {
        pml_rt_pb__refuse(pb, RT_PB_RESET_REQUIRED, "the table was rolled back, and another writer has committed since");
        return;
    }
    if (!e->reset.present)
        pml_rt_pb__saw_committed_locked(pb, eff->snapshot_id);
    int lost = RT_PB_LOST; /* and repaired since, with its own history */
    (void)atomic_compare_exchange_strong(&pb->state, &lost, RT_PB_ACTIVE);
    pb->adopted_end = e->end;
    pb->seen_user = pml_rt_print__of_user(e->commit_user);
    n->end = n->committed = e->end;
}

/* ---- adopting ---- */

/* What the context knew when an advance began to read. */
typedef struct known {
    rt_point advanced, opened;
    bool rewritten; /* the newest of them is another snapshot now */
} known;

static const rt_point *newest_of(const known *k)
{
    return k->opened.id > k->advanced.id ? &k->opened : &k->advanced;
}

static void know(known *k, pml_rt_context *c)
{
    pml_mutex__lock(&c->progress_mu);
    *k = (known){c->advanced, c->opened, false};
    pml_mutex__unlock(&c->progress_mu);
}

static bool still_so_locked(const pml_rt_context *c, const known *k)
{
    return pml_rt_point__equal(&c->advanced, &k->advanced) && pml_rt_point__equal(&c->opened, &k->opened);
}

/* The snapshot to adopt. An id below the newest one seen: a late call for an old snapshot is nothing, unless the newer ones have
   vanished or are others now, which is a rollback: then the table is what its latest snapshot says. The last one alone may be gone by
   expiry. */
static int choose(int64_t *id, pml_rt_context *c, known *k, int64_t snapshot_id, pml_error *err)
{
    int64_t latest;
    *id = snapshot_id;
    if (snapshot_id >= newest_of(k)->id)
        return PML_OK;
    PML_RETURN_IF(pml_rt_point__check(&k->rewritten, newest_of(k), c->table, err));
    PML_RETURN_IF(pml_table__latest_snapshot(&latest, c->table, true, err));
    if (k->rewritten || latest < newest_of(k)->id)
        *id = snapshot_id < latest ? latest : snapshot_id;
    else /* not below the last advance: some PBs began at newer progress, so all go there */
        *id = snapshot_id >= k->advanced.id ? latest : ALREADY;
    return PML_OK;
}

/* All PBs at once. *again: something came between reading and adopting; what was read may be old. */
static void adopt(notice *notices, bool *again, rt_pb **pbs, size_t n, pml_rt_context *c, const known *k, const pml_effective *eff)
{
    pml_mutex__lock(&c->progress_mu);
    *again = !still_so_locked(c, k);
    if (!*again) {
        bool back = k->rewritten || eff->snapshot_id < newest_of(k)->id;
        for (size_t i = 0; i < n; i++)
            adopt_locked(&notices[i], pbs[i], eff, back);
        if (back && c->planned_id > eff->snapshot_id)
            c->planned_id = eff->snapshot_id;
        c->advanced = pml_rt_point__of(&eff->snapshot);
        if (back || c->opened.id <= c->advanced.id)
            c->opened = RT_NO_POINT;
    }
    pml_mutex__unlock(&c->progress_mu);
}

/* 7.6 item 5: entries without a lineage, which other implementations write, do not say themselves that they begin anew. */
static int find_overwritten(notice *notices, rt_pb **pbs, size_t n, pml_rt_context *c, const known *k, const pml_effective *eff,
                            pml_error *err)
{
    size_t n_unknown = 0;
    int rc = PML_OK;
    int64_t *seen = pml_env__calloc(c->env, n, sizeof *seen);
    const pml_pb_texts **texts = pml_env__calloc(c->env, n, sizeof *texts);
    size_t *at = pml_env__calloc(c->env, n, sizeof *at);
    if (seen == NULL || texts == NULL || at == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    pml_mutex__lock(&c->progress_mu);
    for (size_t i = 0; i < n; i++) {
        const pml_progress_entry *e = NULL;
        if (pml_progress__state(&eff->progress, &pbs[i]->texts, &e) != PML_PROGRESS_KNOWN || e->lineage.known ||
            pbs[i]->adopted_end <= 0)
            continue;
        seen[n_unknown] = pbs[i]->adopted_end;
        texts[n_unknown] = &pbs[i]->texts;
        at[n_unknown++] = i;
    }
    pml_mutex__unlock(&c->progress_mu);
    if (n_unknown > 0 && !k->rewritten)
        PML_TRY(pml_rt_history__overwritten(seen, texts, n_unknown, c, eff->snapshot_id, newest_of(k)->id, err));
    for (size_t i = 0; i < n_unknown; i++)
        notices[at[i]].overwritten = seen[i] < 0;
out:
    pml_env__free(c->env, seen);
    pml_env__free(c->env, texts);
    pml_env__free(c->env, at);
    return rc;
}

/* ---- telling one store ---- */

enum { SEGMENTS_FEW = 8 /* at a time without memory for all of them */ };

/* Takes the prefix of segments below end out of the queue, then frees them without a lock. Whether there may be more. */
static bool reclaim_some(rt_pb *pb, int64_t end)
{
    rt_segment few[SEGMENTS_FEW];
    size_t n = 0;
    pml_env *env = pb->ctx->env;
    pml_mutex__lock(&pb->prepare_mu);
    while (n < pb->n_queue && pb->queue[n].cover.end <= end && pb->queue[n].state != RT_SEGMENT_FLUSHING)
        n++;
    rt_segment *all = n <= SEGMENTS_FEW ? NULL : pml_env__calloc(env, n, sizeof *all), *gone = all == NULL ? few : all;
    const bool more = all == NULL && n > SEGMENTS_FEW;
    n = more ? SEGMENTS_FEW : n;
    if (n > 0) {
        memcpy(gone, pb->queue, n * sizeof *gone);
        memmove(pb->queue, pb->queue + n, (pb->n_queue - n) * sizeof *pb->queue);
        pb->n_queue -= n;
    }
    pml_mutex__unlock(&pb->prepare_mu);
    for (size_t i = 0; i < n; i++) {
        (void)atomic_fetch_add(&pb->ctx->reclaimed_rows, gone[i].note.rows);
        pml_rt__assert_store_call();
        if (gone[i].handle != NULL)
            pb->vt->segment_release(gone[i].handle);
        pml_rt_note__clear(&gone[i].note, env);
    }
    pml_env__free(env, all);
    return more;
}

static void reclaim_segments(rt_pb *pb, int64_t end)
{
    while (reclaim_some(pb, end)) /* bounded: each time there are fewer */
        continue;
}

static int tell(rt_pb *pb, int64_t end, int64_t snapshot_id, pml_error *err)
{
    int rc = PML_OK;
    pml_mutex__lock(&pb->advance_mu);
    if (pb->reclaimed_end < end) {
        pml_rt__assert_store_call();
        rc = pb->vt->advance(pb->store, end, snapshot_id, err);
        if (rc != PML_OK)
            rc = pml_rt_stream__plugin_code(rc, err, "advance", pb->name);
        else
            pb->reclaimed_end = end;
    }
    pml_mutex__unlock(&pb->advance_mu);
    if (rc == PML_OK)
        reclaim_segments(pb, end);
    return rc;
}

/* One failing store does not stop the others; the first error is returned, and a second call tries again. */
static int tell_all(const notice *notices, size_t n, int64_t snapshot_id, pml_error *err)
{
    int rc = PML_OK;
    for (size_t i = 0; i < n; i++)
        if (notices[i].end >= 0) {
            int told = tell(notices[i].pb, notices[i].end, snapshot_id, rc == PML_OK ? err : NULL);
            rc = rc == PML_OK ? told : rc;
        }
    return rc;
}

/* Rows with keys against those that others have committed (realtime-pk.md 6.4). What may fail without need comes first. */
static int find_sequences(notice *notices, rt_pb **pbs, size_t n, const pml_rt_context *c, pml_error *err)
{
    for (size_t i = 0; c->layout->mode != PML_RT_MODE_APPEND && i < n; i++)
        PML_RETURN_IF(pml_rt_sequences__bound(&notices[i].highest, pbs[i], err));
    return PML_OK;
}

static int adopt_sequences(const notice *notices, size_t n, const pml_rt_context *c, const pml_snapshot *s, pml_error *err)
{
    int rc = PML_OK;
    for (size_t i = 0; c->layout->mode != PML_RT_MODE_APPEND && i < n; i++)
        if (notices[i].committed >= 0 && atomic_load(&notices[i].pb->state) == RT_PB_ACTIVE) {
            const int one = pml_rt_sequences__adopt(notices[i].pb, s, notices[i].committed, notices[i].highest, rc == PML_OK ? err : NULL);
            rc = rc == PML_OK ? one : rc;
        }
    return rc;
}

static int advance(bool *again, pml_rt_context *c, const known *k, const pml_effective *eff, pml_error *err)
{
    rt_pb **pbs;
    size_t n;
    int rc;
    PML_RETURN_IF(pml_rt_pb__list(&pbs, &n, c, err));
    notice *notices = pml_env__calloc(c->env, n, sizeof *notices);
    if (notices == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(find_overwritten(notices, pbs, n, c, k, eff, err));
    PML_TRY(find_sequences(notices, pbs, n, c, err));
    adopt(notices, again, pbs, n, c, k, eff);
    if (!*again) {
        rc = tell_all(notices, n, eff->snapshot_id, err);
        const int checked = adopt_sequences(notices, n, c, &eff->snapshot, rc == PML_OK ? err : NULL);
        rc = rc == PML_OK ? checked : rc;
    }
out:
    pml_env__free(c->env, notices);
    pml_rt_pb__release_list(c->env, pbs, n);
    return rc;
}

/* Reads without a lock, then adopts what was read if nobody else advanced meanwhile. */
static int attempt(bool *again, pml_rt_context *c, int64_t snapshot_id, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    pml_effective *eff = NULL;
    known k;
    bool rewritten;
    int64_t id;
    int rc;
    *again = false;
    pml_arena__init(&arena, c->env);
    know(&k, c);
    PML_TRY(choose(&id, c, &k, snapshot_id, err));
    if (id == ALREADY)
        goto out;
    PML_TRY(pml_table__load_snapshot(&s, &arena, c->table, id, err));
    PML_TRY(pml_rt_context__effective(&eff, c, &s, err));
    if (c->layout->mode != PML_RT_MODE_APPEND)
        PML_TRY(pml_rt_sequences__look(c, &s, err));
    /* After the reading: what is rolled back later has not been read here. */
    PML_TRY(pml_rt_point__check(&rewritten, newest_of(&k), c->table, err));
    *again = rewritten && !k.rewritten && id < newest_of(&k)->id; /* it was chosen as if nothing had happened */
    if (*again)
        goto out;
    k.rewritten = rewritten;
    PML_TRY(advance(again, c, &k, eff, err));
    if (!*again)
        (void)atomic_fetch_add(&c->advances, 1);
out:
    pml_effective__release(eff);
    pml_arena__clear(&arena);
    return rc;
}

int pml_rt_advance(pml_rt_context *c, int64_t snapshot_id, pml_error *err)
{
    bool again = true;
    PML_RETURN_IF(pml_rt_context__check(c, err));
    if (!pml_rt_context__is_bound(c) || snapshot_id < 1)
        return pml_error__set(err, PML_E_INVAL, "advance to snapshot %lld: %s", (long long)snapshot_id,
                              snapshot_id < 1 ? "no snapshot has this id" : "the context has no table yet");
    for (int i = 0; again && i < OVERTAKEN_MAX; i++)
        PML_RETURN_IF(attempt(&again, c, snapshot_id, err));
    pml_rt_reanchor__tick(c, pml_env__mono_ns(c->env));
    return again ? pml_error__set(err, PML_E_BUSY, "other advances came first %d times; call again", OVERTAKEN_MAX) : PML_OK;
}
