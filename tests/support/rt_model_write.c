/* SPDX-License-Identifier: Apache-2.0 */
/* Writes, good and bad, and seals. */
#include <stdlib.h>
#include <string.h>

#include "columnar/bucket.h"
#include "support/rt_model_state.h"
#include "support/test_arrow.h"
#include "table/route.h"

enum { ROWS_MAX = 400, OWN_RUN = 64 /* rows: fewer are put together with others */ };

typedef struct batch {
    int64_t n;
    int64_t ids[ROWS_MAX], offsets[ROWS_MAX];
    int parts[ROWS_MAX], pbs[ROWS_MAX];
    bool column, named; /* offsets as a column; the partition-bucket is named */
    int64_t first_offset;
} batch;

static void assign_buckets(rt_model *m, int32_t *buckets, const struct ArrowArray *rows, int32_t column)
{
    const pml_type type = {.kind = PML_TYPE_BIGINT};
    const pml_type *types = &type;
    pml_error err = PML_ERROR_INIT;
    for (int64_t i = 0; i < rows->length; i++)
        buckets[i] = 0;
    if (m->shape.buckets > 0)
        (void)model_expect(m, PML_OK,
                           pml_bucket__assign(buckets, m->t->env, PML_BUCKET_BY_HASH, m->shape.buckets, &types, rows, &column, 1, &err),
                           &err, "bucket");
}

void model_buckets(rt_model *m, int32_t *buckets, const struct ArrowArray *rows, int first)
{
    assign_buckets(m, buckets, rows, first + (int32_t)(strchr(m->shape.columns, 'i') - m->shape.columns));
}

void model_key_buckets(rt_model *m)
{
    int64_t keys[RT_KEYED_KEYS];
    for (int i = 0; i < RT_KEYED_KEYS; i++)
        keys[i] = i;
    struct ArrowArray column = test_fixed_array(8, RT_KEYED_KEYS, keys), rows = test_struct_array(RT_KEYED_KEYS, 1, &column);
    assign_buckets(m, m->key_buckets, &rows, 0);
    rows.release(&rows);
}

void model_clear_live(live_pb *l)
{
    ids_clear(&l->ids);
    ids_clear(&l->offsets);
    ids_clear(&l->borders);
    *l = (live_pb){0};
}

void model_refresh_opened(rt_model *m)
{
    if (m->all_lost)
        return;
    m->opened_snapshot = m->latest;
    for (int pb = 0; pb < m->n_pbs; pb++)
        m->opened[pb] = model_effective(m, m->latest, pb);
}

/* Expected code of the slice of one partition-bucket, the first to be refused in order decides. */
static int code_of(const rt_model *m, int pb)
{
    switch (m->live[pb].state) {
    case LIVE_ACTIVE: return PML_OK;
    case LIVE_RESET: return PML_E_RECREATE;
    case LIVE_LOST: return PML_E_PROGRESS_LOST;
    }
    return PML_OK;
}

static void open_pb(rt_model *m, int pb)
{
    live_pb *l = &m->live[pb];
    const model_mark *o = &m->opened[pb];
    if (l->open)
        return;
    model_point newest = model_newest_seen(m);
    if (m->opened_snapshot > newest.id && !model_is_rewritten(m, newest))
        m->began = (model_point){m->opened_snapshot, m->snapshots[m->opened_snapshot].nonce};
    model_clear_live(l);
    *l = (live_pb){.open = true, .lineage = o->lineage, .seen_user = o->state == MARK_KNOWN ? o->user : BY_NOBODY};
    l->base = l->next = l->prepared = o->state == MARK_KNOWN ? o->end : 0;
    l->committed = l->adopted = l->base;
    l->seen = o->state == MARK_KNOWN && o->reset == 0 ? m->opened_snapshot : -1;
    if (o->state == MARK_ABSENT)
        l->lineage = ++m->nonce;
}

static void accept(rt_model *m, const batch *b, int pb)
{
    live_pb *l = &m->live[pb];
    for (int64_t i = 0; i < b->n; i++) {
        if (b->pbs[i] != pb)
            continue;
        int64_t offset = m->shape.external ? b->offsets[i] : l->next;
        ids_add(&l->ids, b->ids[i]);
        ids_add(&l->offsets, offset);
        l->next = offset + 1;
        m->write_rows++;
    }
}

static int64_t rows_of(const batch *b, int pb)
{
    int64_t n = 0;
    for (int64_t i = 0; i < b->n; i++)
        n += b->pbs[i] == pb;
    return n;
}

/* Partition-buckets in the order of the library: partition bytes, then bucket. Of our values "a" < "b/c=1" in any order of
   bytes with equal lengths; what is left out here is looked up in the result. */
static void apply(rt_model *m, const batch *b, const pml_rt_write_result *r, int rc, int code)
{
    if (rc == PML_OK) {
        size_t pbs = 0;
        for (int pb = 0; pb < m->n_pbs; pb++)
            if (rows_of(b, pb) > 0) {
                pbs++;
                accept(m, b, pb);
            }
        if (r->n_pbs != pbs || r->rows != b->n)
            model_fail(m, "a write of %lld rows to %zu pbs says %lld rows to %zu", (long long)b->n, pbs, (long long)r->rows, r->n_pbs);
        return;
    }
    (void)code;
    m->rejected++;
    for (size_t i = 0; i < r->n_pbs && !m->failed; i++) { /* applied before the failing one */
        int found = -1;
        for (int pb = 0; pb < m->n_pbs; pb++) {
            const live_pb *l = &m->live[pb];
            int64_t n = rows_of(b, pb), first = l->next;
            for (int64_t k = b->n - 1; k >= 0 && m->shape.external; k--)
                first = b->pbs[k] == pb ? b->offsets[k] : first;
            if (n > 0 && code_of(m, pb) == PML_OK && pb % m->n_buckets == r->bucket[i] && first == r->first_offset[i] &&
                (m->shape.external || first + n == r->end_offset[i]))
                found = found < 0 ? pb : MODEL_PBS;
        }
        if (found < 0 || found == MODEL_PBS) /* two that look the same: begin anew instead of guessing */
            m->ended = true;
        else
            accept(m, b, found);
    }
}

static void send(rt_model *m, batch *b)
{
    struct ArrowArray a;
    struct ArrowSchema s;
    int32_t buckets[ROWS_MAX];
    int8_t kinds[ROWS_MAX];
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    pml_rt_pb pb = PML_RT_PB_INIT;
    pml_error err = PML_ERROR_INIT;
    const char *text = rt_partition_text(b->n > 0 ? b->parts[0] : 0);
    int code = PML_OK;
    rt_rows_make(&a, &s, &m->shape, b->n, b->ids, b->parts, b->column ? b->offsets : NULL);
    if (b->named) {
        pb.n_partition = m->shape.partitioned ? 1 : 0;
        pb.partition = &text;
        pb.bucket = b->pbs[0] % m->n_buckets;
        o.pb = &pb;
    } else if (b->n > 0) {
        model_buckets(m, buckets, &a, b->column ? 1 : 0);
        for (int64_t i = 0; i < b->n; i++)
            b->pbs[i] = b->parts[i] * m->n_buckets + buckets[i];
    }
    for (int64_t i = 0; i < b->n; i++)
        m->row_pb[b->ids[i]] = b->pbs[i];
    o.first_offset = b->first_offset;
    for (int64_t i = 0; i < b->n && m->shape.keyed != NULL; i++)
        kinds[i] = rt_keyed_kind(m->shape.keyed, m->shape.salt, b->ids[i]);
    o.row_kinds = m->shape.keyed != NULL ? kinds : NULL;
    bool refused_at_open = false;
    for (int64_t i = 0; i < b->n; i++) {
        refused_at_open = refused_at_open || (!m->live[b->pbs[i]].open && m->opened[b->pbs[i]].state == MARK_LOST);
        code = code == PML_OK ? code_of(m, b->pbs[i]) : code;
    }
    bool fresh = false;
    for (int64_t i = 0; i < b->n && !refused_at_open; i++) {
        fresh = fresh || !m->live[b->pbs[i]].open;
        open_pb(m, b->pbs[i]);
    }
    bool several = false;
    for (int64_t i = 0; i < b->n; i++)
        several = several || (code_of(m, b->pbs[i]) != PML_OK && code_of(m, b->pbs[i]) != code);
    if (refused_at_open) {
        code = PML_E_PROGRESS_LOST;
        several = false;
    }
    bool armed = m->o->faults && model_chance(m, 10);
    if (armed)
        test_env_fail_at(m->t, 1 + model_below(m, 80));
    int rc = pml_rt_write(&r, m->writer, &a, &s, &o, &err);
    model_disarm(m);
    if (armed && rc != PML_OK && (rc == PML_E_NOMEM || rc == PML_E_RECREATE)) {
        code = rc;
        if (rc == PML_E_RECREATE || fresh)
            m->ended = true; /* what is open now is not told */
        if (rc == PML_E_NOMEM && (r.n_pbs == 0) != ((err.flags & PML_ERRF_NO_EFFECT) != 0))
            model_fail(m, "a write without memory applied %zu slices, its flags are %u", r.n_pbs, err.flags);
    }
    if (!(several && (rc == PML_E_RECREATE || rc == PML_E_PROGRESS_LOST)))
        (void)model_expect(m, code, rc, &err, "write");
    if (!m->failed && (rc == PML_OK) != (a.release == NULL))
        model_fail(m, "a write that returned %s %s the array", pml_error_name(rc), a.release == NULL ? "took" : "left");
    apply(m, b, &r, rc, code);
    if (refused_at_open)
        m->ended = true; /* some of its partition-buckets may be open now */
    if (a.release != NULL)
        a.release(&a);
    s.release(&s);
}

/* Offsets for the rows of a batch, after everything that its partition-buckets have. */
static void number(rt_model *m, batch *b)
{
    int64_t next = 0;
    if (!m->shape.external)
        return;
    for (int pb = 0; pb < m->n_pbs; pb++)
        if ((!b->named || pb == b->pbs[0])) {
            int64_t own = m->live[pb].open ? m->live[pb].next : m->opened[pb].state == MARK_KNOWN ? m->opened[pb].end : 0;
            next = own > next ? own : next;
        }
    next += model_chance(m, 30) ? model_below(m, 5) : 0;
    b->column = !b->named || model_chance(m, 60);
    b->first_offset = b->column ? -1 : next;
    for (int64_t i = 0; i < b->n; i++) {
        b->offsets[i] = next++;
        next += b->column && model_chance(m, 15) ? model_below(m, 4) : 0;
    }
}

/* Mostly not a lost one: those only refuse, for ever. */
static int usable_pb(rt_model *m)
{
    int pb = 0;
    for (int i = 0; i < 8; i++) {
        bool lost = false;
        pb = (int)model_below(m, m->n_pbs);
        for (int k = pb / m->n_buckets * m->n_buckets; k < (pb / m->n_buckets + 1) * m->n_buckets; k++)
            lost = lost || m->opened[k].state == MARK_LOST;
        if (!lost || model_chance(m, 5))
            break;
    }
    return pb;
}

void model_write(rt_model *m, bool huge)
{
    batch *b = calloc(1, sizeof *b);
    assert_non_null(b);
    model_refresh_opened(m);
    int pb = usable_pb(m);
    b->n = huge ? ROWS_MAX : model_chance(m, 4) ? 0 : 1 + model_below(m, 6);
    b->named = b->n > 0 && model_chance(m, 50);
    if (m->shape.collapse && !huge && b->n > 3)
        b->n += OWN_RUN;
    b->first_offset = -1;
    for (int64_t i = 0; i < b->n; i++) {
        b->ids[i] = b->named ? model_new_row_of(m, pb) : model_new_row(m, pb);
        b->parts[i] = b->named ? pb / m->n_buckets : usable_pb(m) / m->n_buckets;
        b->pbs[i] = pb;
    }
    number(m, b);
    if (b->n == 0 && m->shape.external)
        b->column = true;
    send(m, b);
    model_log(m, "write %lld rows%s%s, pb %d", (long long)b->n, b->named ? " named" : "", b->column ? " with offsets" : "",
              b->named ? pb : -1);
    free(b);
}

/* Rows that the last life lost are sent again, as a source would. */
void model_replay(rt_model *m)
{
    model_refresh_opened(m);
    for (int pb = 0; pb < m->n_pbs && !m->failed && !m->ended; pb++) {
        rt_ids *ids = &m->lost_ids[pb], *offsets = &m->lost_offsets[pb];
        size_t done = 0;
        while (done < ids->n && !m->failed && !m->ended) {
            batch *b = calloc(1, sizeof *b);
            assert_non_null(b);
            b->named = true;
            b->first_offset = -1;
            b->column = m->shape.external;
            for (; done < ids->n && b->n < ROWS_MAX; done++, b->n++) {
                b->ids[b->n] = ids->v[done];
                b->offsets[b->n] = offsets->v[done];
                b->parts[b->n] = pb / m->n_buckets;
                b->pbs[b->n] = pb;
            }
            if (m->opened[pb].state != MARK_LOST)
                send(m, b);
            model_log(m, "replay %lld rows of pb %d", (long long)b->n, pb);
            free(b);
        }
    }
}

void model_write_invalid(rt_model *m)
{
    enum { NULL_ID, OTHER_TYPE, BACKWARDS, NOT_ASKED, BAD_KIND, LAST_OFFSET, BAD_BUCKET, INVALID_KINDS };
    int64_t ids[2] = {m->next_id, m->next_id}, offsets[2] = {0, 1};
    int parts[2] = {0, 0}, kind = (int)model_below(m, INVALID_KINDS), code = PML_E_INVAL;
    const int8_t kinds[2] = {0, m->shape.keyed != NULL ? 4 : 3};
    const char *text = rt_partition_text(0);
    struct ArrowArray a;
    struct ArrowSchema s;
    pml_rt_pb pb = PML_RT_PB_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    bool ext = m->shape.external, column = ext;
    pb.n_partition = m->shape.partitioned ? 1 : 0;
    pb.partition = &text;
    if (!m->live[0].open && (kind == BACKWARDS || kind == LAST_OFFSET))
        return; /* it would open a partition-bucket */
    if (m->live[0].state != LIVE_ACTIVE)
        return;
    if (kind == BACKWARDS || kind == LAST_OFFSET) {
        if (!ext || (kind == BACKWARDS && m->live[0].next == 0))
            return;
        o.pb = &pb;
        offsets[0] = kind == BACKWARDS ? m->live[0].next - 1 : INT64_MAX - 1;
        offsets[1] = kind == BACKWARDS ? m->live[0].next : INT64_MAX;
        code = kind == BACKWARDS ? PML_E_OFFSET_ORDER : PML_E_OVERFLOW;
    }
    if (kind == NOT_ASKED)
        column = !ext;
    rt_rows_make(&a, &s, &m->shape, 2, ids, parts, column ? offsets : NULL);
    size_t at = (column ? 1 : 0) + (size_t)(strchr(m->shape.columns, 'i') - m->shape.columns);
    static const uint8_t none[8] = {0};
    const void *bits = a.children[at]->buffers[0];
    if (kind == NULL_ID) {
        a.children[at]->null_count = 2;
        a.children[at]->buffers[0] = none;
    }
    if (kind == OTHER_TYPE) {
        s.children[at]->format = "g";
        code = PML_E_SCHEMA;
    }
    o.row_kinds = kind == BAD_KIND ? kinds : NULL;
    if (kind == BAD_BUCKET) {
        pb.bucket = m->n_buckets;
        o.pb = &pb;
    }
    int rc = pml_rt_write(NULL, m->writer, &a, &s, &o, &err);
    model_log(m, "invalid write %d: %s", kind, pml_error_name(rc));
    m->rejected++;
    if (model_expect(m, code, rc, &err, "invalid write") && ((err.flags & PML_ERRF_NO_EFFECT) == 0 || a.release == NULL))
        model_fail(m, "an invalid write has flags %u", err.flags);
    if (a.release != NULL) {
        a.children[at]->buffers[0] = bits;
        a.release(&a);
    }
    s.release(&s);
}

static int any_broken(const rt_model *m)
{
    int code = PML_OK;
    for (int pb = 0; pb < m->n_pbs && code == PML_OK; pb++)
        code = m->live[pb].open ? code_of(m, pb) : PML_OK;
    return code;
}

static void expect_usable(rt_model *m, int rc, const pml_error *err, const char *what)
{
    int code = any_broken(m);
    if (code == PML_OK || (rc != PML_E_RECREATE && rc != PML_E_PROGRESS_LOST))
        (void)model_expect(m, code, rc, err, what);
}

/* Partition-buckets are sealed in their order, up to the first that is refused. */
static void note_seals(rt_model *m)
{
    for (int pb = 0; pb < m->n_pbs; pb++) {
        live_pb *l = &m->live[pb];
        if (l->open && l->state != LIVE_ACTIVE)
            return;
        if (l->open)
            ids_add(&l->borders, l->next);
    }
}

void model_seal(rt_model *m)
{
    pml_error err = PML_ERROR_INIT;
    int rc = pml_rt_seal(m->writer, &err);
    model_log(m, "seal: %s", pml_error_name(rc));
    expect_usable(m, rc, &err, "seal");
    note_seals(m);
}

/* ---- prepare ---- */

static void take_entry(rt_model *m, const pml_rt_entry *e)
{
    pml_rt_entry_info info = PML_RT_ENTRY_INFO_INIT;
    int pb = -1;
    int64_t rows = 0;
    if (!model_expect(m, PML_OK, pml_rt_entry_get(&info, e, NULL), NULL, "entry_get"))
        return;
    for (int i = 0; i < m->n_pbs; i++)
        if (i % m->n_buckets == info.pb->bucket &&
            (!m->shape.partitioned || strcmp(info.pb->partition[0], rt_partition_text(i / m->n_buckets)) == 0))
            pb = i;
    live_pb *l = pb < 0 ? NULL : &m->live[pb];
    for (size_t i = 0; l != NULL && i < l->offsets.n; i++)
        rows += l->offsets.v[i] >= info.begin && l->offsets.v[i] < info.end && model_is_kept(m, l->ids.v[i]);
    if (l == NULL || info.begin != l->prepared || info.end != l->next || info.rows != rows || info.begin == info.end) {
        model_fail(m, "an entry of pb %d has [%lld, %lld) and %lld rows; expected [%lld, %lld) and %lld", pb, (long long)info.begin,
                   (long long)info.end, (long long)info.rows, (long long)(l == NULL ? -1 : l->prepared),
                   (long long)(l == NULL ? -1 : l->next), (long long)rows);
        return;
    }
    l->prepared = info.end;
    m->entries[m->n_entries++] =
        (model_entry){.pb = pb, .begin = info.begin, .end = info.end, .identifier = m->identifier, .state = ENTRY_OPEN, .e = e};
}

void model_prepare(rt_model *m)
{
    pml_rt_prepared *p = NULL;
    pml_error err = PML_ERROR_INIT;
    size_t n = 0;
    bool in_flight = false;
    for (size_t i = 0; i < m->n_entries; i++)
        in_flight = in_flight || m->entries[i].state == ENTRY_OPEN;
    bool armed = !in_flight && model_chance(m, 20) && model_arm(m);
    int rc = pml_rt_prepare(&p, m->writer, m->identifier + 1, NULL, &err);
    model_disarm(m);
    model_log(m, "prepare%s: %s", armed ? " with a fault" : "", pml_error_name(rc));
    if (in_flight) {
        (void)model_expect(m, PML_E_BUSY, rc, &err, "second prepare");
        return;
    }
    if (armed && rc != PML_OK && model_is_fault(rc)) {
        if (m->shape.keyed != NULL)
            model_seal(m); /* nobody can tell how far the prepare had come with it */
        return;
    }
    expect_usable(m, rc, &err, "prepare");
    note_seals(m);
    if (rc != PML_OK)
        return;
    model_forget_entries(m);
    m->identifier++;
    m->prepared = p;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    for (size_t i = 0; i < n && !m->failed; i++)
        take_entry(m, e[i]);
    for (int pb = 0; pb < m->n_pbs && !m->failed; pb++)
        if (m->live[pb].open && m->live[pb].prepared != m->live[pb].next)
            model_fail(m, "the prepare left rows of pb %d out", pb);
}
