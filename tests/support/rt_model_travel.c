/* SPDX-License-Identifier: Apache-2.0 */
/* Other snapshots than the latest, by id, tag, time and watermark; and other latest snapshots: rollbacks under a live context, ids that
   grow again, anchors. */
#include <stdio.h>
#include <string.h>

#include "meta/path.h"
#include "storage/file_io.h"
#include "support/rt_model_state.h"

/* ---- asking for a snapshot ---- */

static int64_t time_of(rt_model *m, int64_t id)
{
    pml_arena arena;
    pml_snapshot s = {0};
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&arena, m->t->env);
    (void)model_expect(m, PML_OK, pml_table__load_snapshot(&s, &arena, m->table, id, &err), &err, "load_snapshot");
    pml_arena__clear(&arena);
    return s.time_ms;
}

static bool by_time(rt_model *m, model_travel *t, int64_t id)
{
    int64_t time = time_of(m, id), next = id < m->latest ? time_of(m, id + 1) : time + 1000;
    bool first = id == m->earliest || time_of(m, id - 1) < time;
    if (next == time)
        return false;
    t->by = PML_SCAN_TIME;
    t->value = time + model_below(m, next - time);
    return first || t->value > time; /* of equal ones any may come */
}

static bool by_watermark(rt_model *m, model_travel *t, int64_t id)
{
    int64_t v = m->snapshots[id].watermark;
    while (id > m->earliest && m->snapshots[id - 1].watermark == v)
        id--;
    int64_t before = id > m->earliest ? m->snapshots[id - 1].watermark : MODEL_NO_WATERMARK;
    t->snapshot = id;
    if (v == MODEL_NO_WATERMARK)
        return false;
    t->by = PML_SCAN_WATERMARK;
    t->value = v - 1 - model_below(m, 9); /* they are tens */
    return before < t->value;
}

/* The progress of what is chosen must still be there: once it has expired it is lost or not, depending on what is cached. */
static bool is_anchored(const rt_model *m, int64_t id)
{
    return model_anchor(m, id) >= m->earliest;
}

static bool by_tag(rt_model *m, model_travel *t)
{
    int64_t at = model_below(m, MODEL_TAGS);
    bool fine = false;
    for (int i = 0; i < MODEL_TAGS && !fine; i++) {
        t->by = PML_SCAN_TAG;
        t->value = (at + i) % MODEL_TAGS;
        t->snapshot = m->tags[t->value];
        (void)snprintf(t->tag, sizeof t->tag, "t%d", (int)t->value);
        /* A tag with a property of its own needs no other snapshot. */
        fine = t->snapshot >= 1 && (m->snapshots[t->snapshot].has_property || is_anchored(m, t->snapshot));
    }
    return fine;
}

model_travel model_choose(rt_model *m)
{
    model_travel t = {0};
    bool fine = true;
    if (m->latest < 1)
        return t;
    t.snapshot = m->earliest + model_below(m, m->latest - m->earliest + 1);
    switch (model_below(m, 4)) {
    case 0:
        t.by = PML_SCAN_ID;
        t.value = t.snapshot;
        break;
    case 1: fine = by_tag(m, &t); break;
    case 2: fine = by_time(m, &t, t.snapshot); break;
    default: fine = by_watermark(m, &t, t.snapshot); break;
    }
    if (!fine || (t.by != PML_SCAN_TAG && !is_anchored(m, t.snapshot)))
        return (model_travel){0};
    return t;
}

static char *tag_path(rt_model *m, int i)
{
    return pml_env__format(m->t->env, "%s/tag/tag-t%d", MODEL_TABLE, i);
}

void model_tag(rt_model *m)
{
    int i = (int)model_below(m, MODEL_TAGS);
    pml_env *env = m->t->env;
    pml_error err = PML_ERROR_INIT;
    uint8_t *text = NULL;
    size_t len = 0;
    if (m->latest < 1)
        return;
    int64_t id = m->earliest + model_below(m, m->latest - m->earliest + 1);
    char *from = pml_path__snapshot(env, MODEL_TABLE, id), *to = tag_path(m, i);
    (void)model_expect(m, PML_OK, pml_file__read_all(&text, &len, env, from, PML_SNAPSHOT_FILE_MAX, &err), &err, "read a snapshot");
    (void)pml_file__remove(env, to, NULL);
    if (!m->failed)
        (void)model_expect(m, PML_OK, pml_file__write_new(env, to, text, len, 0, &err), &err, "write a tag");
    pml_env__free(env, text);
    pml_env__free(env, from);
    pml_env__free(env, to);
    sim_fs_sync_all(m->sim);
    m->tags[i] = id;
    model_log(m, "tag t%d of snapshot %lld", i, (long long)id);
}

void model_set_hint(rt_model *m)
{
    char dir[64];
    int64_t id = m->latest < 1 ? 1 : m->earliest + model_below(m, m->latest - m->earliest + 1);
    (void)snprintf(dir, sizeof dir, "%s/snapshot", MODEL_TABLE);
    if (m->latest < 1)
        return;
    (void)pml_numbered__write_hint(m->t->env, dir, "LATEST", id, NULL);
    model_log(m, "stale hint %lld", (long long)id);
}

void model_old_hint(rt_model *m)
{
    if (m->latest < 2 || m->latest == m->earliest)
        return;
    for (int pb = 0; pb < m->n_pbs; pb++)
        if (model_effective(m, m->latest, pb).state == MARK_LOST || m->live[pb].state == LIVE_LOST)
            return; /* a plan that is refused is none */
    model_read_all(m, false);
    const int64_t old = m->latest - 1;
    if (!m->failed)
        (void)pml_numbered__write_hint(m->t->env, MODEL_TABLE "/snapshot", "LATEST", old, NULL);
    model_log(m, "the hint is %lld, and snapshot %lld is shown late", (long long)old, (long long)old + 1);
    m->hidden = old + 1;
    if (!m->failed)
        model_read_all(m, false);
    m->hidden = 0;
}

/* ---- rollback ---- */

/* The clock is past all that is removed, so that what comes in its place can be told from it. */
static void remove_above(rt_model *m, int64_t to)
{
    int64_t last = time_of(m, m->latest);
    for (int64_t i = m->latest; i > to && !m->failed; i--) {
        model_remove_snapshot_file(m, i);
        model_drop_latest(m);
    }
    for (int i = 0; i < MODEL_TAGS; i++)
        if (m->tags[i] > to) {
            char *path = tag_path(m, i);
            (void)pml_file__remove(m->t->env, path, NULL);
            pml_env__free(m->t->env, path);
            m->tags[i] = 0;
        }
    sim_fs_sync_all(m->sim);
    if (atomic_load(&m->t->wall_ms) <= last)
        atomic_store(&m->t->wall_ms, last + 1);
    for (int pb = 0; pb < MODEL_PBS; pb++)
        m->unordered[pb] = true;
}

static void grow_again(rt_model *m)
{
    static const foreign_kind kinds[] = {FOREIGN_APPEND, FOREIGN_COMPACT, FOREIGN_BATCH, FOREIGN_TRUNCATE, FOREIGN_DELETE_ROWS};
    for (int64_t n = model_below(m, 4); n > 0 && !m->failed; n--)
        model_foreign(m, kinds[model_below(m, 5)]);
}

/* An advance to some id notices what is left of the history, or does not, exactly as the rules say. */
static void advance_somewhere(rt_model *m)
{
    if (m->latest < 1)
        return;
    int64_t id = model_chance(m, 60) ? m->latest : m->earliest + model_below(m, m->latest - m->earliest + 1);
    model_advance(m, id);
}

void model_roll_back(rt_model *m)
{
    bool live = model_chance(m, 75);
    if (m->tidy || m->latest < 2 || m->latest == m->earliest || m->unknown)
        return;
    int64_t from = m->latest, to = from - 1 - model_below(m, from - m->earliest < 3 ? from - m->earliest : 3), before;
    if (model_anchor(m, to) < m->earliest)
        return;
    if (!live)
        model_kill(m, false);
    if (!m->failed)
        remove_above(m, to);
    model_log(m, "roll back from %lld to %lld%s", (long long)from, (long long)to, live ? " under a live context" : "");
    if (!m->failed && model_chance(m, 50))
        model_set_hint(m);
    if (!m->failed && model_chance(m, 50))
        grow_again(m);
    before = m->latest;
    for (int i = 0; i < 2 && live && !m->failed && model_chance(m, 45); i++) /* another live writer goes on where the table is now */
        model_other_writer(m);
    if (live && !m->failed && model_chance(m, 75))
        advance_somewhere(m);
    if (live && !m->failed && model_chance(m, 50))
        model_read_all(m, false);
    if (live && !m->failed)
        model_seal(m); /* refused exactly when something was noticed */
    /* Entries that meet the other writer can be neither committed nor aborted. */
    if (!m->failed && (!live || m->latest != before))
        model_kill(m, false);
}

/* ---- re-anchoring ---- */

static bool has_progress(const rt_model *m)
{
    bool any = false;
    for (int pb = 0; pb < m->n_pbs; pb++)
        any = any || model_effective(m, m->latest, pb).state != MARK_ABSENT;
    return any;
}

static void push_anchor(rt_model *m)
{
    model_mark marks[MODEL_PBS];
    for (int pb = 0; pb < m->n_pbs; pb++)
        marks[pb] = model_effective(m, m->latest, pb);
    model_snapshot *s = model_push_snapshot(m);
    if (s == NULL)
        return;
    s->has_property = true;
    memcpy(s->marks, marks, sizeof s->marks);
}

static void by_advance(rt_model *m, bool due)
{
    pml_error err = PML_ERROR_INIT;
    int64_t id = m->latest, found;
    bool armed = model_arm(m);
    int rc = pml_rt_advance(m->ctx, id, &err);
    model_disarm(m);
    if (armed && rc != PML_OK && model_is_fault(rc))
        rc = pml_rt_advance(m->ctx, id, &err); /* this one looks, too, unless the first did */
    if (!model_expect(m, PML_OK, rc, &err, "advance"))
        return;
    model_advanced(m, id);
    if (!model_expect(m, PML_OK, pml_table_latest_snapshot(&found, m->table, &err), &err, "latest_snapshot"))
        return;
    sim_fs_sync_all(m->sim); /* nobody is told of an anchor: a power cut may take it, or not */
    if (due && found == id + 1)
        push_anchor(m);
    else if (found != id || (due && !armed))
        model_fail(m, "after an advance the latest snapshot is %lld, %s of %lld expected", (long long)found,
                   due ? "an anchor on top" : "no anchor on top", (long long)id);
}

void model_reanchor(rt_model *m)
{
    if (!m->unknown && model_chance(m, 60))
        model_foreign(m, FOREIGN_APPEND);
    if (m->failed || m->latest < 1 || m->unknown || (has_progress(m) && model_anchor(m, m->latest) < m->earliest))
        return;
    bool due = has_progress(m) && !m->snapshots[m->latest].has_property, plan = model_chance(m, 50);
    (void)atomic_fetch_add(&m->t->mono_ns, 2 * 3600ll * 1000000000);
    model_log(m, "two hours without a commit, then %s: %s", plan ? "a plan" : "an advance", due ? "an anchor" : "nothing");
    if (!plan) {
        by_advance(m, due);
        return;
    }
    if (due)
        push_anchor(m);
    model_read_all(m, false);
    if (!m->failed)
        model_check_offsets(m, m->latest);
}
