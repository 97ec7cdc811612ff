/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, streams, counts: what they must show (tests 89 to 93), and whether they do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_model_state.h"

enum { MAY_GAP = 1, MAY_LOSE = 2 };

/* ---- what must be seen ---- */

/* Memory of a history that the snapshot does not have. */
static bool is_dead(const live_pb *l, const model_mark *e, int64_t snapshot)
{
    if (e->state == MARK_KNOWN)
        return e->lineage != l->lineage;
    return e->state == MARK_ABSENT && snapshot >= 1 && l->seen >= 0 && snapshot >= l->seen;
}

static bool has_rows(const rt_model *m, const live_pb *l, int64_t from)
{
    bool any = false;
    for (size_t i = 0; l->open && i < l->offsets.n; i++)
        any = any || (l->offsets.v[i] >= from && l->offsets.v[i] >= l->base && model_is_kept(m, l->ids.v[i]));
    return any;
}

/* What a plan of the latest snapshot finds dead takes no more work. One that is refused before it has a snapshot finds nothing. */
static void planned_latest(rt_model *m)
{
    for (int pb = 0; pb < m->n_pbs; pb++)
        if (m->live[pb].state == LIVE_LOST && has_rows(m, &m->live[pb], m->live[pb].reclaimed))
            return;
    for (int pb = 0; pb < m->n_pbs; pb++) {
        live_pb *l = &m->live[pb];
        model_mark e = model_effective(m, m->latest, pb);
        if (l->open && is_dead(l, &e, m->latest))
            l->state = LIVE_RESET;
    }
}

/* The memory rows of a partition-bucket that a plan on this snapshot shows; errors as bits in *errors. */
static void memory_rows_of(rt_model *m, int64_t snapshot, bool latest, int pb, rt_ids *to, int *errors)
{
    const live_pb *l = &m->live[pb];
    int64_t floor = l->reclaimed > l->base ? l->reclaimed : l->base, from;
    bool any = has_rows(m, l, l->reclaimed), had = l->open && (has_rows(m, l, 0) || floor > l->base);
    if (l->state == LIVE_RESET || (!any && (latest || !had))) /* rows that memory let go of are in the latest snapshot, if in any */
        return;
    model_mark e = model_effective(m, snapshot, pb);
    from = e.state == MARK_KNOWN ? e.end : 0;
    if ((any && l->state == LIVE_LOST) || e.state == MARK_LOST) {
        *errors |= MAY_LOSE;
        return;
    }
    if (is_dead(l, &e, snapshot))
        return;
    if (floor > from) {
        *errors |= MAY_GAP;
        return;
    }
    model_copy_rows(m, to, l, from, INT64_MAX);
}

typedef struct wish {
    model_travel travel;
    int64_t at_least, limit;
    char at_least_of;    /* the column */
    const char *columns; /* NULL: all */
    bool memory, fault;
} wish;

/* What a table with a primary key shows of one partition-bucket, whose files hold the rows of `disk`, and its memory those behind. */
static void keyed_rows_of(const rt_model *m, rt_lines *to, const rt_ids *rows, size_t disk, int pb, const wish *w)
{
    rt_reference r;
    const rt_ids files = {.v = rows->v, .n = disk}, memory = {.v = rows->v + disk, .n = rows->n - disk};
    const char *columns = w->columns == NULL ? m->shape.columns : w->columns;
    static const char letters[] = "gsabc";
    const char *found = strchr(letters, w->at_least_of);
    const int column = found == NULL ? -1 : (int)(found - letters);
    model_reference(m, &r, &files);
    if (!w->memory && m->shape.keyed->hides_level_0)
        rt_reference_drop_level_0(&r);
    for (size_t i = 0; i < memory.n; i++)
        if (memory.v[i] == MODEL_BORDER)
            rt_reference_close(&r);
        else
            rt_reference_add(&r, memory.v[i]);
    rt_reference_answer(&r);
    for (size_t i = 0; i < r.n; i++) {
        const rt_keyed_row *row = &r.rows[i];
        bool shown = w->at_least <= 0 || (column < 0 ? row->key : row->numbers[column]) >= w->at_least;
        if (w->at_least > 0 && column >= 0 && row->nulls[column])
            shown = false;
        if (shown)
            rt_lines_add(to, rt_keyed_line(row, columns, rt_partition_value(pb / m->n_buckets)));
    }
    rt_reference_clear(&r);
}

static void keyed_rows_of_plan(rt_model *m, int64_t snapshot, const wish *w, rt_lines *to, int64_t *in_memory, int *errors)
{
    *errors = 0;
    *in_memory = 0;
    for (int pb = 0; pb < m->n_pbs; pb++) {
        rt_ids all = {0};
        if (snapshot >= 1)
            ids_copy(&all, &m->snapshots[snapshot].disk[pb]);
        size_t disk = all.n;
        if (w->memory)
            memory_rows_of(m, snapshot, w->travel.by == PML_SCAN_LATEST, pb, &all, errors);
        for (size_t i = disk; i < all.n; i++)
            *in_memory += all.v[i] >= 0 && model_is_kept(m, all.v[i]);
        if (all.n > 0)
            keyed_rows_of(m, to, &all, disk, pb, w);
        ids_clear(&all);
    }
}

static void rows_of_plan(rt_model *m, int64_t snapshot, bool latest, bool memory, int64_t at_least, rt_ids *to, int64_t *in_memory,
                         int *errors)
{
    rt_ids all = {0};
    *errors = 0;
    *in_memory = 0;
    for (int pb = 0; pb < m->n_pbs; pb++) {
        for (size_t i = 0; snapshot >= 1 && i < m->snapshots[snapshot].disk[pb].n; i++)
            ids_add(&all, m->snapshots[snapshot].disk[pb].v[i]);
        size_t before = all.n;
        if (memory)
            memory_rows_of(m, snapshot, latest, pb, &all, errors);
        *in_memory += (int64_t)(all.n - before);
    }
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i] >= at_least)
            ids_add(to, all.v[i]);
    ids_clear(&all);
}

/* Every expected row once, and no other; with a limit that many of them. */
static void compare(rt_model *m, const rt_ids *got, const rt_ids *expected, int64_t limit, const char *what)
{
    int8_t *seen = calloc((size_t)m->next_id + 1, 1);
    size_t want = limit >= 0 && (size_t)limit < expected->n ? (size_t)limit : expected->n;
    assert_non_null(seen);
    for (size_t i = 0; i < expected->n; i++)
        seen[expected->v[i]] = 1;
    for (size_t i = 0; i < got->n && !m->failed; i++) {
        int64_t id = got->v[i];
        if (id < 0 || id >= m->next_id || seen[id] == 0)
            model_fail(m, "%s: row %lld (pb %d) must not appear", what, (long long)id, id >= 0 && id < m->next_id ? m->row_pb[id] : -1);
        else if (seen[id]++ == 2)
            model_fail(m, "%s: row %lld (pb %d) appears twice", what, (long long)id, m->row_pb[id]);
    }
    for (size_t i = 0; i < expected->n && limit < 0 && !m->failed; i++)
        if (seen[expected->v[i]] != 2)
            model_fail(m, "%s: row %lld (pb %d) is missing", what, (long long)expected->v[i], m->row_pb[expected->v[i]]);
    if (!m->failed && got->n != want)
        model_fail(m, "%s: %zu rows instead of %zu", what, got->n, want);
    free(seen);
}

/* ---- streams ---- */

/* Takes one batch. Returns false at the end or after a failure; *broken: by an armed fault, the stream is of no use any more. */
static bool take_ids(rt_model *m, struct ArrowArrayStream *stream, const char *columns, rt_ids *got, bool *broken)
{
    bool armed = model_chance(m, 5) && model_arm(m);
    int64_t *ids, n;
    int *parts;
    char wrong[160];
    pml_error err = PML_ERROR_INIT;
    int rc = rt_rows_next(stream, columns, &ids, &parts, &n, wrong, &err);
    model_disarm(m);
    *broken = armed && model_is_fault(rc);
    if (*broken || !model_expect(m, PML_OK, rc, &err, "get_next"))
        return false;
    if (wrong[0] != '\0')
        model_fail(m, "%s", wrong);
    for (int64_t i = 0; i < n && !m->failed; i++) {
        ids_add(got, ids[i]);
        if (parts[i] >= 0 && ids[i] >= 0 && ids[i] < m->next_id && m->row_pb[ids[i]] / m->n_buckets != parts[i])
            model_fail(m, "row %lld is read in partition %d, it belongs to pb %d", (long long)ids[i], parts[i], m->row_pb[ids[i]]);
    }
    free(ids);
    free(parts);
    return n >= 0 && !m->failed;
}

static bool take_lines(rt_model *m, struct ArrowArrayStream *stream, const char *columns, rt_lines *got, bool *broken)
{
    bool armed = model_chance(m, 5) && model_arm(m);
    struct ArrowArray batch = {0};
    pml_error err = PML_ERROR_INIT;
    int rc = stream->get_next(stream, &batch) == 0 ? PML_OK : pml_stream_error(stream, &err);
    model_disarm(m);
    *broken = armed && model_is_fault(rc);
    if (*broken || !model_expect(m, PML_OK, rc, &err, "get_next") || batch.release == NULL)
        return false;
    for (int64_t i = 0; i < batch.length; i++)
        rt_lines_add(got, rt_keyed_line_of(&batch, i, columns));
    batch.release(&batch);
    return true;
}

static bool take_batch(rt_model *m, struct ArrowArrayStream *stream, const char *columns, rt_ids *got, rt_lines *lines, bool *broken)
{
    return m->shape.keyed != NULL ? take_lines(m, stream, columns, lines, broken) : take_ids(m, stream, columns, got, broken);
}

static void compare_lines(rt_model *m, rt_lines *got, const rt_lines *expected, int64_t limit, const char *what)
{
    char wrong[400];
    rt_lines want = {0};
    rt_lines_copy(&want, expected);
    if (!rt_lines_equal(got, &want, limit, wrong, sizeof wrong))
        model_fail(m, "%s of a table with %s: %s", what, m->shape.keyed->name, wrong);
    rt_lines_clear(&want);
}

/* Inside a partition-bucket rows come in the order in which they were written. */
static void check_order(rt_model *m, const rt_ids *got)
{
    int64_t last[MODEL_PBS];
    for (int i = 0; i < MODEL_PBS; i++)
        last[i] = -1;
    for (size_t i = 0; i < got->n && !m->failed; i++) {
        int pb = m->row_pb[got->v[i]];
        if (got->v[i] < last[pb] && !m->unordered[pb])
            model_fail(m, "row %lld comes after row %lld of pb %d", (long long)got->v[i], (long long)last[pb], pb);
        last[pb] = got->v[i];
    }
}

static void stream_end(model_stream *s)
{
    if (s->stream.release != NULL)
        s->stream.release(&s->stream);
    ids_clear(&s->expected);
    ids_clear(&s->got);
    rt_lines_clear(&s->lines);
    rt_lines_clear(&s->got_lines);
    *s = (model_stream){0};
}

static size_t plan_rows(const model_plan *p)
{
    return p->expected.n + p->lines.n; /* one of them is empty */
}

static model_plan *some_plan(rt_model *m)
{
    for (int i = 0, at = (int)model_below(m, MODEL_PLANS); i < MODEL_PLANS; i++)
        if (m->plans[(at + i) % MODEL_PLANS].plan != NULL)
            return &m->plans[(at + i) % MODEL_PLANS];
    return NULL;
}

/* False: by an armed fault, or the model has failed. */
static bool open_stream(rt_model *m, struct ArrowArrayStream *out, model_plan *p, int64_t split)
{
    pml_read_options o = PML_READ_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    o.batch_rows = model_chance(m, 50) ? 0 : 1 + model_below(m, 5);
    o.split = split;
    bool armed = model_chance(m, 10) && model_arm(m);
    int rc = pml_read_open(out, p->plan, &o, &err);
    model_disarm(m);
    if (armed && model_is_fault(rc))
        return false;
    return model_expect(m, PML_OK, rc, &err, "read_open");
}

void model_stream_open(rt_model *m)
{
    model_plan *p = some_plan(m);
    model_stream *s = NULL;
    for (int i = 0; i < MODEL_STREAMS; i++)
        if (m->streams[i].stream.release == NULL)
            s = &m->streams[i];
    if (p == NULL || s == NULL)
        return;
    if (!open_stream(m, &s->stream, p, -1))
        return;
    ids_copy(&s->expected, &p->expected);
    rt_lines_copy(&s->lines, &p->lines);
    memcpy(s->columns, p->columns, sizeof s->columns);
    s->limit = p->limit;
    model_log(m, "open a stream of %zu rows", plan_rows(p));
}

void model_stream_step(rt_model *m, bool to_end)
{
    int at = (int)model_below(m, MODEL_STREAMS), batches = to_end ? 1 << 20 : 1 + (int)model_below(m, 3);
    model_stream *s = &m->streams[at];
    bool more = true, broken = false;
    if (s->stream.release == NULL)
        return;
    for (int i = 0; i < batches && more; i++)
        more = take_batch(m, &s->stream, s->columns, &s->got, &s->got_lines, &broken);
    model_log(m, "read a stream: %zu of %zu rows%s", s->got.n + s->got_lines.n, s->expected.n + s->lines.n, broken ? ", then a fault" : "");
    if (more || m->failed)
        return;
    if (broken) {
        stream_end(s);
        return;
    }
    if (m->shape.keyed != NULL)
        compare_lines(m, &s->got_lines, &s->lines, s->limit, "a stream");
    else
        compare(m, &s->got, &s->expected, s->limit, "a stream");
    check_order(m, &s->got);
    stream_end(s);
}

void model_stream_drop(rt_model *m, bool all)
{
    int at = (int)model_below(m, MODEL_STREAMS);
    for (int i = 0; i < MODEL_STREAMS; i++)
        if (all || i == at)
            stream_end(&m->streams[i]);
}

/* Reads a plan whole, by one stream or split by split. */
static void read_plan(rt_model *m, model_plan *p, bool by_split, const char *what)
{
    struct ArrowArrayStream stream = {0};
    rt_ids got = {0};
    rt_lines lines = {0};
    int64_t n = by_split ? (int64_t)pml_plan_split_count(p->plan) : 1;
    bool broken = false;
    for (int64_t i = 0; i < n && !m->failed && !broken; i++) {
        if (!open_stream(m, &stream, p, by_split ? i : -1)) {
            broken = true;
            break;
        }
        while (!m->failed && take_batch(m, &stream, p->columns, &got, &lines, &broken)) {
        }
        if (stream.release != NULL)
            stream.release(&stream);
    }
    bool whole = !m->failed && !broken && !(by_split && p->limit >= 0);
    if (whole && m->shape.keyed != NULL)
        compare_lines(m, &lines, &p->lines, p->limit, what);
    else if (whole)
        compare(m, &got, &p->expected, p->limit, what);
    if (!m->failed)
        check_order(m, &got);
    ids_clear(&got);
    rt_lines_clear(&lines);
}

/* ---- plans ---- */

static void plan_end(model_plan *p)
{
    pml_plan_free(p->plan);
    ids_clear(&p->expected);
    rt_lines_clear(&p->lines);
    *p = (model_plan){0};
}

static int set_predicate(rt_model *m, pml_scan *scan, const wish *w, pml_error *err)
{
    char text[32];
    const char column[2] = {w->at_least_of, '\0'};
    pml_predicate *p = NULL;
    (void)snprintf(text, sizeof text, "%lld", (long long)w->at_least);
    const pml_literal literal = {text, strlen(text)};
    int rc = pml_predicate_leaf(&p, m->table, column, PML_OP_GE, &literal, 1, err);
    if (rc == PML_OK)
        rc = pml_scan_set_predicate(scan, p, err);
    pml_predicate_free(p);
    return rc;
}

static int make_scan(rt_model *m, pml_scan **scan, const wish *w, pml_error *err)
{
    const char *names[8];
    char letters[8][2];
    size_t n = w->columns == NULL ? 0 : strlen(w->columns);
    int rc = pml_scan_new(scan, m->table, err);
    for (size_t i = 0; i < n; i++) {
        letters[i][0] = w->columns[i];
        letters[i][1] = '\0';
        names[i] = letters[i];
    }
    if (rc == PML_OK && n > 0)
        rc = pml_scan_set_columns(*scan, names, n, err);
    if (rc == PML_OK && w->at_least > 0)
        rc = set_predicate(m, *scan, w, err);
    if (rc == PML_OK && w->limit >= 0)
        rc = pml_scan_set_limit(*scan, w->limit, err);
    if (rc == PML_OK && w->travel.by == PML_SCAN_ID)
        rc = pml_scan_set_snapshot(*scan, w->travel.value, err);
    if (rc == PML_OK && w->travel.by == PML_SCAN_TAG)
        rc = pml_scan_set_tag(*scan, w->travel.tag, err);
    if (rc == PML_OK && w->travel.by == PML_SCAN_TIME)
        pml_scan_set_timestamp(*scan, w->travel.value);
    if (rc == PML_OK && w->travel.by == PML_SCAN_WATERMARK)
        pml_scan_set_watermark(*scan, w->travel.value);
    if (rc == PML_OK && w->memory)
        rc = pml_scan_set_realtime(*scan, m->ctx, err);
    return rc;
}

static void check_splits(rt_model *m, const model_plan *p, int64_t in_memory)
{
    int64_t rows = 0;
    for (size_t i = 0; i < pml_plan_split_count(p->plan); i++) {
        pml_split_info s = PML_SPLIT_INFO_INIT;
        if (model_expect(m, PML_OK, pml_plan_split_get(&s, p->plan, i, NULL), NULL, "split_get"))
            rows += s.rows_in_memory;
    }
    if (m->shape.collapse ? rows > in_memory : rows != in_memory)
        model_fail(m, "the splits name %lld rows in memory instead of %lld", (long long)rows, (long long)in_memory);
}

/* Plans, and looks whether the plan is what the model expects. The slot is empty afterwards when there is no plan. */
static void plan(rt_model *m, model_plan *p, const wish *w)
{
    pml_scan *scan = NULL;
    pml_error err = PML_ERROR_INIT;
    int64_t snapshot = w->travel.by != PML_SCAN_LATEST ? w->travel.snapshot : m->latest, in_memory;
    int errors, rc;
    *p = (model_plan){.snapshot = snapshot, .limit = w->limit};
    memcpy(p->columns, w->columns == NULL ? m->shape.columns : w->columns,
           strlen(w->columns == NULL ? m->shape.columns : w->columns) + 1);
    bool latest = w->travel.by == PML_SCAN_LATEST;
    if (m->shape.keyed != NULL)
        keyed_rows_of_plan(m, snapshot, w, &p->lines, &in_memory, &errors);
    else
        rows_of_plan(m, snapshot, latest, w->memory, w->at_least, &p->expected, &in_memory, &errors);
    if (model_expect(m, PML_OK, make_scan(m, &scan, w, &err), &err, "scan")) {
        bool armed = w->fault && model_arm(m);
        rc = pml_scan_plan(&p->plan, scan, &err);
        model_disarm(m);
        if (armed && rc != PML_OK && model_is_fault(rc)) { /* again, whatever was noticed already */
            armed = false;
            rc = pml_scan_plan(&p->plan, scan, &err);
        }
        if (latest && w->memory)
            planned_latest(m);
        bool fine = rc == PML_OK ? errors == 0
                    : (errors & MAY_GAP) != 0 && rc == PML_E_PROGRESS_GAP ? true
                    : (errors & MAY_LOSE) != 0 && rc == PML_E_PROGRESS_LOST;
        if (!fine && !(armed && rc != PML_OK && model_is_fault(rc)))
            model_fail(m, "plan of snapshot %lld (latest %lld): %s, %s expected: %s", (long long)snapshot, (long long)m->latest,
                       pml_error_name(rc), errors == 0 ? "PML_OK" : (errors & MAY_GAP) != 0 ? "a gap" : "lost progress", err.message);
        else if (rc == PML_OK && pml_plan_snapshot_id(p->plan) != snapshot)
            model_fail(m, "the plan has snapshot %lld instead of %lld", (long long)pml_plan_snapshot_id(p->plan), (long long)snapshot);
        else if (rc == PML_OK && w->limit < 0 && w->at_least <= 0)
            check_splits(m, p, in_memory);
    }
    pml_scan_free(scan);
    if (p->plan == NULL || m->failed)
        plan_end(p);
}

void model_plan_new(rt_model *m)
{
    static const char *const columns[] = {NULL, "i", "vi", NULL}, *const keyed[] = {NULL, "ai", "bc", "s"};
    model_plan *slot = &m->plans[model_below(m, MODEL_PLANS)];
    wish w = {.at_least = -1, .limit = -1, .at_least_of = 'i', .memory = model_chance(m, 90), .fault = model_chance(m, 15)};
    w.columns = (m->shape.keyed != NULL ? keyed : columns)[model_below(m, 4)];
    if (m->shape.keyed == NULL && w.columns != NULL && strchr(w.columns, 'v') != NULL && strchr(m->shape.columns, 'v') == NULL)
        w.columns = "i";
    if (model_chance(m, 35))
        w.travel = model_choose(m);
    if (model_chance(m, 15)) {
        w.at_least = model_below(m, m->shape.keyed != NULL ? RT_KEYED_KEYS : m->next_id + 1);
        w.at_least_of = m->shape.keyed != NULL ? "iiagc"[model_below(m, 5)] : 'i';
    }
    if (model_chance(m, 10))
        w.limit = model_below(m, 12);
    plan_end(slot);
    plan(m, slot, &w);
    slot->whole = w.travel.by == PML_SCAN_LATEST && w.memory && w.at_least <= 0 && w.limit < 0;
    static const char *const ways[] = {"the latest", "an id", "a tag", "a time", "a watermark"};
    model_log(m, "plan %s, snapshot %lld (%s): %zu rows%s", ways[w.travel.by], (long long)w.travel.snapshot, w.memory ? "memory" : "disk", plan_rows(slot),
              slot->plan == NULL ? ", refused" : "");
    if (slot->plan != NULL && model_chance(m, 50))
        read_plan(m, slot, model_chance(m, 30), "a plan");
}

void model_plan_old(rt_model *m)
{
    wish w = {.at_least = -1, .limit = -1, .at_least_of = 'i', .memory = true};
    model_plan p;
    if (m->latest < 1)
        return;
    const int64_t id = m->latest > m->earliest ? m->latest - 1 : m->latest;
    w.travel = (model_travel){.by = PML_SCAN_ID, .value = id, .snapshot = id};
    if (model_anchor(m, id) < m->earliest && model_anchor(m, m->latest) != 0)
        return;
    plan(m, &p, &w);
    model_log(m, "plan snapshot %lld%s", (long long)id, p.plan == NULL ? ", refused" : "");
    if (p.plan != NULL)
        read_plan(m, &p, false, "an older snapshot with memory");
    plan_end(&p);
}

static void commit_and_advance(void *arg, int kind, const char *path)
{
    rt_model *m = arg;
    (void)kind, (void)path;
    m->calm = true;
    model_commit(m);
    m->calm = false;
    if (!m->failed && m->latest >= 1)
        model_advance(m, m->latest);
}

/* The rows that are to be seen are the same before and after. */
void model_plan_amid(rt_model *m)
{
    const wish w = {.at_least = -1, .limit = -1, .at_least_of = 'i', .memory = true};
    const int64_t before = m->latest;
    model_plan p = {.limit = -1};
    pml_scan *scan = NULL;
    pml_error err = PML_ERROR_INIT;
    int64_t in_memory;
    int errors;
    (void)snprintf(p.columns, sizeof p.columns, "%s", m->shape.columns);
    if (m->shape.keyed != NULL)
        keyed_rows_of_plan(m, m->latest, &w, &p.lines, &in_memory, &errors);
    else
        rows_of_plan(m, m->latest, true, true, -1, &p.expected, &in_memory, &errors);
    if (errors == 0 && model_expect(m, PML_OK, make_scan(m, &scan, &w, &err), &err, "scan")) {
        faulty_fs_call_at(&m->faulty, 1 + model_below(m, 6),
                          FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_STAT) | FS_OP(FS_OP_LIST), commit_and_advance, m);
        int rc = pml_scan_plan(&p.plan, scan, &err);
        model_disarm(m);
        model_log(m, "plan while snapshot %lld was made: of snapshot %lld", (long long)m->latest,
                  (long long)(rc == PML_OK ? pml_plan_snapshot_id(p.plan) : -1));
        if (model_expect(m, PML_OK, rc, &err, "a plan amid a commit")) {
            const int64_t id = pml_plan_snapshot_id(p.plan);
            if (id != before && id != m->latest)
                model_fail(m, "a plan amid a commit has snapshot %lld", (long long)id);
            read_plan(m, &p, false, "a plan amid a commit");
        }
    }
    pml_scan_free(scan);
    plan_end(&p);
}

void model_open_splits(rt_model *m, model_plan *expected, const pml_blob *splits, size_t n, int code)
{
    const wish w = {.at_least = -1, .limit = -1, .at_least_of = 'i', .memory = true, .columns = expected->columns};
    pml_scan *scan = NULL;
    pml_error err = PML_ERROR_INIT;
    if (model_expect(m, PML_OK, make_scan(m, &scan, &w, &err), &err, "scan")) {
        (void)model_expect(m, code, pml_rt_split_deserialize(&expected->plan, scan, splits, n, &err), &err, "split_deserialize");
        if (expected->plan != NULL && !m->failed)
            read_plan(m, expected, model_chance(m, 30), "a plan of splits");
        pml_plan_free(expected->plan);
        expected->plan = NULL;
    }
    pml_scan_free(scan);
}

void model_plan_count(rt_model *m)
{
    model_plan *p = some_plan(m);
    pml_error err = PML_ERROR_INIT;
    int64_t rows = -1;
    if (p == NULL)
        return;
    int64_t want = p->limit >= 0 && p->limit < (int64_t)plan_rows(p) ? p->limit : (int64_t)plan_rows(p);
    model_log(m, "count %lld rows", (long long)want);
    if (model_expect(m, PML_OK, pml_plan_count(&rows, p->plan, &err), &err, "plan_count") && rows != want)
        model_fail(m, "a plan of %lld rows counts %lld", (long long)want, (long long)rows);
}

void model_plan_drop(rt_model *m, bool all)
{
    int at = (int)model_below(m, MODEL_PLANS);
    for (int i = 0; i < MODEL_PLANS; i++)
        if (all || i == at)
            plan_end(&m->plans[i]);
}

void model_read_all(rt_model *m, bool without_memory)
{
    const wish w = {.at_least = -1, .limit = -1, .at_least_of = 'i', .memory = !without_memory};
    model_plan p;
    plan(m, &p, &w);
    if (p.plan != NULL)
        read_plan(m, &p, false, without_memory ? "the table" : "the table with memory");
    plan_end(&p);
}
