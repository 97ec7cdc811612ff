/* SPDX-License-Identifier: Apache-2.0 */
/* Commits: right ones, repeated, shuffled, in parts, beaten by others, with unknown outcome; aborts; advances. */
#include <string.h>

#include "support/rt_model_state.h"

typedef struct call {
    model_entry *v;
    size_t n;
    bool selected[MODEL_ENTRIES];
    bool doubled; /* the first one is named twice */
    int64_t watermark; /* MODEL_NO_WATERMARK: none */
} call;

/* ---- what must come ---- */

typedef struct outcome {
    bool invalid, conflict, lost; /* codes that may come; none: success */
    bool pending;                 /* something is left to commit */
} outcome;

static outcome evaluate(const rt_model *m, const call *c)
{
    outcome o = {0};
    bool covered = false;
    for (size_t i = 0; i < c->n; i++) {
        const model_entry *e = &c->v[i];
        if (!c->selected[i])
            continue;
        model_mark mark = model_effective(m, m->latest, e->pb);
        int64_t end = mark.state == MARK_KNOWN ? mark.end : 0;
        if (e->state == ENTRY_ABORTED)
            o.invalid = true;
        else if (mark.state == MARK_LOST)
            o.lost = true;
        else if (mark.state == MARK_KNOWN && mark.lineage != m->live[e->pb].lineage)
            o.conflict = true;
        else if (e->end <= end && mark.user == BY_OTHER)
            o.conflict = true;
        else if (e->end <= end)
            covered = true;
        else if (e->begin == end)
            o.pending = true;
        else
            o.conflict = true;
    }
    o.conflict = o.conflict || (covered && o.pending); /* all entries of a call have one identifier here */
    if (c->doubled)
        o.invalid = true;
    return o;
}

static bool fits(const outcome *o, int rc)
{
    if (o->invalid)
        return rc == PML_E_INVAL;
    if (o->conflict || o->lost)
        return (o->conflict && rc == PML_E_CONFLICT) || (o->lost && rc == PML_E_PROGRESS_LOST);
    return rc == PML_OK;
}

/* ---- what it does ---- */

static void snapshot_of(rt_model *m, const call *c)
{
    model_mark marks[MODEL_PBS];
    for (int pb = 0; pb < m->n_pbs; pb++) {
        marks[pb] = model_effective(m, m->latest, pb);
        if (marks[pb].reset > 0 && marks[pb].state == MARK_KNOWN && marks[pb].reset < m->earliest)
            marks[pb] = (model_mark){0};
    }
    model_snapshot *s = model_push_snapshot(m);
    if (s == NULL)
        return;
    s->has_property = true;
    if (c->watermark > s->watermark)
        s->watermark = c->watermark;
    memcpy(s->marks, marks, sizeof s->marks);
    for (size_t i = 0; i < c->n; i++) {
        const model_entry *e = &c->v[i];
        const live_pb *l = &m->live[e->pb];
        if (!c->selected[i])
            continue;
        s->marks[e->pb] = (model_mark){MARK_KNOWN, e->end, l->lineage, BY_US, 0};
        model_copy_rows(m, &s->disk[e->pb], l, e->begin, e->end);
    }
}

static void saw(live_pb *l, int64_t snapshot)
{
    if (l->seen < 0 || snapshot < l->seen)
        l->seen = snapshot;
}

static void resolve(rt_model *m, call *c, int64_t snapshot)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->selected[i]) {
            pml_rt_entry_info info = PML_RT_ENTRY_INFO_INIT;
            if (c->v[i].state != ENTRY_DONE && model_expect(m, PML_OK, pml_rt_entry_get(&info, c->v[i].e, NULL), NULL, "entry_get"))
                m->committed_rows += info.rows;
            c->v[i].state = ENTRY_DONE;
            m->live[c->v[i].pb].committed_here = true;
            saw(&m->live[c->v[i].pb], snapshot);
            if (c->v[i].end > m->live[c->v[i].pb].committed)
                m->live[c->v[i].pb].committed = c->v[i].end;
        }
    m->unknown = m->unknown_old = false;
    m->unknown_snapshot = -1;
}

model_point model_newest_seen(const rt_model *m)
{
    return m->began.id > m->advanced.id ? m->began : m->advanced;
}

bool model_is_rewritten(const rt_model *m, model_point p)
{
    return p.id >= 1 && p.id <= m->latest && m->snapshots[p.id].exists && m->snapshots[p.id].nonce != p.nonce;
}

/* Where an advance to this id goes: late calls do nothing, those below the progress that a partition-bucket began with go to the
   latest snapshot, and so do all below what was seen once the table was rolled back. 0: nowhere. */
static int64_t advance_target(const rt_model *m, int64_t id)
{
    model_point newest = model_newest_seen(m);
    if (id >= newest.id)
        return id;
    if (model_is_rewritten(m, newest) || m->latest < newest.id)
        return id < m->latest ? m->latest : id;
    return id >= m->advanced.id ? m->latest : 0;
}

static live_state judge(const live_pb *l, const model_mark *e, int64_t id, bool back)
{
    if (e->state == MARK_LOST)
        return LIVE_LOST;
    if (e->state == MARK_ABSENT) /* an older snapshot knows nothing of it */
        return l->seen >= 0 && (back || l->seen <= id) ? LIVE_RESET : LIVE_ACTIVE;
    if (e->lineage != l->lineage || e->end < l->adopted)
        return LIVE_RESET;
    bool ours = e->user != BY_NOBODY && (e->user == l->seen_user || (e->user == BY_US && l->committed_here));
    return back && e->end > 0 && !ours ? LIVE_RESET : LIVE_ACTIVE;
}

void model_advanced(rt_model *m, int64_t id)
{
    model_point newest = model_newest_seen(m);
    bool rewritten = model_is_rewritten(m, newest);
    id = advance_target(m, id);
    if (id == 0)
        return;
    bool back = rewritten || id < newest.id;
    for (int pb = 0; pb < m->n_pbs; pb++) {
        live_pb *l = &m->live[pb];
        model_mark e = model_effective(m, id, pb);
        if (!l->open)
            continue;
        live_state to = judge(l, &e, id, back);
        if (l->state == LIVE_ACTIVE || (l->state == LIVE_LOST && (to == LIVE_RESET || e.state == MARK_KNOWN)))
            l->state = to; /* lost ones may be repaired, or begin anew */
        if (to != LIVE_ACTIVE || e.state == MARK_ABSENT)
            continue;
        if (e.reset == 0)
            saw(l, id);
        l->adopted = e.end;
        l->seen_user = e.user;
        if (e.end > l->reclaimed)
            l->reclaimed = e.end;
    }
    m->advanced = (model_point){id, m->snapshots[id].nonce};
    if (back || m->began.id <= id)
        m->began = (model_point){.id = -1};
}

/* ---- the call ---- */

static void beaten(void *arg, int kind, const char *path)
{
    static const foreign_kind kinds[] = {FOREIGN_APPEND, FOREIGN_APPEND, FOREIGN_COMPACT, FOREIGN_BATCH, FOREIGN_DELETE_ROWS,
                                         FOREIGN_TRUNCATE, FOREIGN_COMPACT, FOREIGN_APPEND, FOREIGN_OVERWRITE, FOREIGN_OUR_REMOVAL};
    rt_model *m = arg;
    (void)kind, (void)path;
    model_foreign(m, kinds[model_below(m, 10)]);
}

/* From the publication on nothing can be read any more, and nobody can say whether it happened. */
static void darkness(void *arg, int kind, const char *path)
{
    rt_model *m = arg;
    (void)kind, (void)path;
    faulty_fs_fail_kinds(&m->faulty, FS_OP(FS_OP_PUBLISH) | FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_STAT) | FS_OP(FS_OP_LIST) |
                                         FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(&m->faulty, 1, model_chance(m, 50) ? FAULT_AFTER : FAULT_BEFORE, PML_E_IO, 0);
    faulty_fs_fail_sticky(&m->faulty);
}

static int run(rt_model *m, const call *c, pml_rt_commit_result *r, pml_error *err)
{
    const pml_rt_entry *v[MODEL_ENTRIES + 1];
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->selected[i])
            v[n++] = c->v[i].e;
    for (size_t i = n; i > 1; i--) { /* in any order */
        size_t k = (size_t)model_below(m, (int64_t)i);
        const pml_rt_entry *e = v[i - 1];
        v[i - 1] = v[k];
        v[k] = e;
    }
    if (c->doubled)
        v[n++] = v[0];
    return pml_rt_commit(r, m->commit, v, n, m->identifier, c->watermark == MODEL_NO_WATERMARK ? NULL : &c->watermark, err);
}

static int64_t latest_on_disk(rt_model *m)
{
    int64_t id = -2;
    pml_error err = PML_ERROR_INIT;
    (void)model_expect(m, PML_OK, pml_table_latest_snapshot(&id, m->table, &err), &err, "latest_snapshot");
    return id;
}

static void note_unknown(rt_model *m, const call *c)
{
    m->unknown = true;
    m->unknown_old = c->v == m->old_entries; /* done once, rolled back, and sent again */
    memcpy(m->unknown_selected, c->selected, sizeof m->unknown_selected);
}

/* A commit that did not say "done": nothing may be there, unless the outcome is unknown. */
static void after_failure(rt_model *m, call *c, const outcome *o, int rc)
{
    int64_t id = latest_on_disk(m);
    if (id == m->latest || m->failed) {
        if (rc == PML_E_UNKNOWN_OUTCOME && o->pending) /* else it is there, and only not known to be durable */
            note_unknown(m, c);
        return;
    }
    if (rc != PML_E_UNKNOWN_OUTCOME || !o->pending || id != (m->latest < 1 ? 1 : m->latest + 1)) {
        model_fail(m, "a commit answered %s, and the latest snapshot is %lld instead of %lld", pml_error_name(rc), (long long)id,
                   (long long)m->latest);
        return;
    }
    snapshot_of(m, c);
    note_unknown(m, c);
    m->unknown_snapshot = m->latest;
}

static void after_success(rt_model *m, call *c, const outcome *o, const pml_rt_commit_result *r, bool armed)
{
    int64_t before = m->latest;
    if (o->pending)
        snapshot_of(m, c);
    if (o->pending ? r->snapshot_id != m->latest && !(armed && r->already_committed) : !r->already_committed)
        model_fail(m, "a commit on snapshot %lld says snapshot %lld, already committed %u", (long long)before,
                   (long long)r->snapshot_id, r->already_committed);
    resolve(m, c, r->snapshot_id);
    if (m->o->mutant == RT_MUTANT_SKIPS_PROGRESS && o->pending && model_chance(m, 20))
        model_skip_progress(m);
    if (!m->shape.auto_advance || m->failed)
        return;
    if (armed) { /* the advance inside may have failed */
        pml_error err = PML_ERROR_INIT;
        (void)model_expect(m, PML_OK, pml_rt_advance(m->ctx, r->snapshot_id, &err), &err, "advance after a fault");
    }
    model_advanced(m, r->snapshot_id);
}

static void do_commit(rt_model *m, call *c, const char *what)
{
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    /* They never fall, as in Java's commits; one of unknown outcome is sent again without. */
    c->watermark = m->unknown || model_chance(m, 60) ? MODEL_NO_WATERMARK : model_below(m, 2 + (m->latest < 1 ? 0 : m->latest * 2)) * 10;
    bool race = !m->unknown && model_chance(m, 20) && !m->calm, armed = !race && model_chance(m, 25) && model_arm(m);
    bool dark = !race && !armed && m->o->faults && model_chance(m, 15);
    if (race || dark)
        faulty_fs_call_at(&m->faulty, 1, FS_OP(FS_OP_PUBLISH), race ? beaten : darkness, m);
    armed = armed || dark;
    int rc = run(m, c, &r, &err);
    model_disarm(m);
    outcome o = evaluate(m, c); /* after the race */
    model_log(m, "%s%s%s: %s, snapshot %lld", what, race ? ", beaten" : "", dark ? " into the dark" : armed ? " with a fault" : "",
              pml_error_name(rc), (long long)r.snapshot_id);
    if (m->failed)
        return;
    if (!fits(&o, rc) && !(armed && rc != PML_OK && model_is_fault(rc))) {
        model_fail(m, "%s: %s although invalid %d conflict %d lost %d pending %d: %s", what, pml_error_name(rc), o.invalid, o.conflict,
                   o.lost, o.pending, err.message);
        return;
    }
    if (rc == PML_OK)
        after_success(m, c, &o, &r, armed);
    else
        after_failure(m, c, &o, rc);
}

static size_t select_open(rt_model *m, call *c, bool all)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->selected[i] = c->v[i].state == ENTRY_OPEN && (all || model_chance(m, 60));
        if (m->unknown)
            c->selected[i] = m->unknown_selected[i];
        n += c->selected[i];
    }
    return n;
}

void model_commit(rt_model *m)
{
    bool old = m->unknown && m->unknown_old;
    call c = {.v = old ? m->old_entries : m->entries, .n = old ? m->n_old_entries : m->n_entries};
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    if (model_chance(m, 3)) {
        model_log(m, "commit nothing");
        (void)model_expect(m, PML_E_INVAL, pml_rt_commit(&r, m->commit, NULL, 0, 1, NULL, NULL), NULL, "empty commit");
    }
    if (select_open(m, &c, model_chance(m, 85)) == 0)
        return;
    c.doubled = !m->unknown && model_chance(m, 4);
    do_commit(m, &c, c.doubled ? "commit an entry twice in one call" : "commit");
}

void model_commit_one(rt_model *m)
{
    call c = {.v = m->entries, .n = m->n_entries};
    for (size_t i = 0; i < c.n && !m->unknown; i++)
        if (c.v[i].state == ENTRY_OPEN) {
            c.selected[i] = true;
            do_commit(m, &c, "commit one of them");
            return;
        }
}

void model_commit_again(rt_model *m)
{
    bool old = model_chance(m, 50);
    call c = {.v = old ? m->old_entries : m->entries, .n = old ? m->n_old_entries : m->n_entries};
    size_t n = 0;
    if (m->unknown)
        return;
    for (size_t i = 0; i < c.n; i++)
        n += c.selected[i] = c.v[i].state == ENTRY_DONE || (c.v[i].state == ENTRY_OPEN && model_chance(m, 30));
    if (n > 0)
        do_commit(m, &c, "commit again");
}

void model_abort(rt_model *m)
{
    bool old = model_chance(m, 25);
    call c = {.v = old ? m->old_entries : m->entries, .n = old ? m->n_old_entries : m->n_entries};
    const pml_rt_entry *v[MODEL_ENTRIES];
    pml_error err = PML_ERROR_INIT;
    size_t n = 0;
    int code = PML_OK;
    for (size_t i = 0; i < c.n; i++) {
        if (c.v[i].state == ENTRY_ABORTED || model_chance(m, 20))
            continue;
        c.selected[i] = true;
        v[n++] = c.v[i].e;
        if (c.v[i].state == ENTRY_DONE || (m->unknown && m->unknown_old == old && m->unknown_selected[i]))
            code = PML_E_CONFLICT;
    }
    if (n == 0)
        return;
    int rc = pml_rt_progress_abort(m->commit, v, n, &err);
    model_log(m, "abort %zu %sentries: %s", n, old ? "old " : "", pml_error_name(rc));
    if (!model_expect(m, code, rc, &err, "abort") || rc != PML_OK)
        return;
    for (size_t i = 0; i < c.n; i++)
        if (c.selected[i]) {
            c.v[i].state = ENTRY_ABORTED;
            m->live[c.v[i].pb].prepared = c.v[i].begin;
        }
}

void model_forget_entries(rt_model *m)
{
    if (m->unknown_old)
        m->unknown = m->unknown_old = false; /* nobody can ask again */
    pml_rt_prepared_free(m->old_prepared);
    m->old_prepared = m->prepared;
    memcpy(m->old_entries, m->entries, sizeof m->entries);
    m->n_old_entries = m->n_entries;
    m->prepared = NULL;
    m->n_entries = 0;
}

void model_advance(rt_model *m, int64_t id)
{
    pml_error err = PML_ERROR_INIT;
    int64_t to = id < 1 ? -1 : advance_target(m, id);
    bool there = to >= 1 && to <= m->latest && m->snapshots[to].exists;
    int code = id < 1 ? PML_E_INVAL : there || to == 0 ? PML_OK : PML_E_NOT_FOUND;
    if (there && model_anchor(m, to) < m->earliest)
        return; /* its progress expired: lost or not, depending on what is cached */
    bool armed = there && model_chance(m, 10) && model_arm(m);
    int rc = pml_rt_advance(m->ctx, id, &err);
    model_disarm(m);
    model_log(m, "advance to %lld%s: %s", (long long)id, armed ? " with a fault" : "", pml_error_name(rc));
    if (armed && rc != PML_OK && model_is_fault(rc))
        rc = pml_rt_advance(m->ctx, id, &err); /* again, whatever was done already */
    if (model_expect(m, code, rc, &err, "advance") && rc == PML_OK)
        model_advanced(m, id);
}
