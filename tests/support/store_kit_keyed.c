/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with keys in the kit (realtime-pk.md 11.1, 11.2): batches and streams are runs, sorted by key, sequence field and number. */
#include <stdlib.h>

#include "columnar/array_memory.h"
#include "support/random_batch.h"
#include "support/store_kit.h"
#include "util/hash.h"
#include "util/number.h"

enum { KIND, SEQUENCE, OFFSET, ID, S, V, KEYED_FIELDS, KEYS = 9, LARGE = 1 << 16 /* bytes */ };

/* ---- batches ---- */

typedef struct keyed_row {
    int64_t id, sequence, offset;
    int32_t s;
    bool null; /* s is */
    int8_t kind;
} keyed_row;

static int row_order(const keyed_row *a, const keyed_row *b, bool by_s)
{
    int c = (a->id > b->id) - (a->id < b->id);
    if (c == 0 && by_s && (a->null || b->null))
        c = b->null - a->null;
    else if (c == 0 && by_s)
        c = (a->s > b->s) - (a->s < b->s);
    return c != 0 ? c : (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static int by_key(const void *a, const void *b)
{
    return row_order(a, b, false);
}

static int by_key_and_s(const void *a, const void *b)
{
    return row_order(a, b, true);
}

static void *number_column(struct ArrowArray *out, kit *k, int64_t lead, int64_t n, size_t width)
{
    must_ok(pml_array__init(out, k->t->env, NULL, 2, 0, NULL), NULL);
    uint8_t *v = pml_array__calloc(out, 1, (size_t)(lead + n) * width);
    assert_non_null(v);
    out->length = lead + n;
    return v + (size_t)lead * width;
}

static void null_some(struct ArrowArray *out, int64_t lead, int64_t n, const keyed_row *rows)
{
    uint8_t *bits = pml_array__calloc(out, 0, (size_t)(lead + n) / 8 + 1);
    assert_non_null(bits);
    for (int64_t i = 0; i < lead + n; i++) {
        const bool null = i >= lead && rows[i - lead].null;
        out->null_count += null;
        if (!null)
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1 << (i % 8));
    }
}

void kit_make_keyed_batch(kit *k, struct ArrowArray *array, pml_rt_batch *batch, kit_rows *rows, int64_t n, bool dense, int64_t gap)
{
    struct ArrowArray c[KEYED_FIELDS] = {{0}};
    keyed_row *v = calloc((size_t)n, sizeof *v);
    int64_t lead = (int64_t)(test_random(k->t) % 4), offset = k->next + gap, end = 0;
    *rows = (kit_rows){.rows = n, .first = offset, .offsets = calloc((size_t)n, 8)};
    assert_non_null(v);
    assert_non_null(rows->offsets);
    for (int64_t i = 0; i < n; i++, offset += dense ? 1 : 1 + (int64_t)(test_random(k->t) % 3)) {
        const uint64_t random = test_random(k->t);
        v[i] = (keyed_row){.id = (int64_t)(random % KEYS), .sequence = k->next_sequence + i, .offset = offset, .s = (int32_t)(random >> 8 & 3),
                           .null = (random >> 16 & 3) == 0, .kind = (int8_t)(random >> 24 & 3)};
        end = offset + 1;
    }
    qsort(v, (size_t)n, sizeof *v, k->kind == KIT_KEYED ? by_key : by_key_and_s);
    int8_t *kinds = number_column(&c[KIND], k, lead, n, 1);
    int64_t *sequences = number_column(&c[SEQUENCE], k, lead, n, 8), *offsets = number_column(&c[OFFSET], k, lead, n, 8);
    int64_t *ids = number_column(&c[ID], k, lead, n, 8);
    int32_t *s = number_column(&c[S], k, lead, n, 4);
    for (int64_t i = 0; i < n; i++) {
        kinds[i] = v[i].kind;
        sequences[i] = v[i].sequence;
        rows->offsets[i] = offsets[i] = v[i].offset;
        ids[i] = v[i].id;
        s[i] = v[i].s;
    }
    null_some(&c[S], lead, n, v);
    random_array(&c[V], k->t, &k->layout->fields[V].type, lead + n);
    must_ok(pml_batch__from_columns(array, k->t->env, c, KEYED_FIELDS, lead + n, NULL), NULL);
    array->offset = lead;
    array->length = n;
    must_ok(pml_batch__gather_rows(&rows->columns, k->t->env, k->layout->fields, k->layout->n_fields, array, NULL, n, NULL), NULL);
    *batch = (pml_rt_batch){.struct_size = sizeof *batch,
                            .array = array,
                            .schema_id = k->layout->schema_id,
                            .range = {rows->first, end},
                            .rows = n,
                            .first_sequence = k->next_sequence,
                            .last_sequence = k->next_sequence + n - 1,
                            .bytes = pml_batch__bytes(array, k->layout->fields, k->layout->n_fields)};
    if (k->kind == KIT_COLLAPSED && test_random(k->t) % 2 == 0)
        batch->bytes += LARGE; /* few rows that stores do not put together with others */
    free(v);
}

/* ---- what comes back ---- */

typedef struct drain {
    kit *k;
    int64_t lo, hi;
    bool earlier_ok;
    uint32_t columns[KEYED_FIELDS]; /* of each child: in the transport */
    size_t n;
    int child[KEYED_FIELDS]; /* of each transport column; -1: not asked for */
    uint8_t *seen;           /* of each row of the model, batch after batch */
    keyed_row last;          /* of the stream; id is -1 before the first */
    int64_t segment;         /* of the stream's rows, by the model; -1: none yet */
} drain;

static bool find_row(const kit *k, int64_t offset, size_t *batch, int64_t *row, size_t *number)
{
    *number = 0;
    for (*batch = 0; *batch < k->n_batches; ++*batch) {
        const kit_rows *b = &k->batches[*batch];
        for (*row = 0; *row < b->rows; ++*row)
            if (b->offsets[*row] == offset) {
                *number += (size_t)*row;
                return true;
            }
        *number += (size_t)b->rows;
    }
    return false;
}

static int64_t segment_of(const kit *k, int64_t offset)
{
    size_t i = 0;
    while (i < k->n_seals && k->seals[i] <= offset)
        i++;
    return (int64_t)i;
}

static bool values_are(kit *k, const drain *d, const struct ArrowArray *a, int64_t at, const kit_rows *b, int64_t row)
{
    for (size_t i = 0; i < d->n; i++) {
        const pml_field *f = &k->layout->fields[d->columns[i]];
        if (!kit_ok(k, array_rows_equal(a->children[i], at, b->columns.children[d->columns[i]], b->columns.offset + row, &f->type),
                    "offset %lld, column %s: another value came back", (long long)b->offsets[row], f->name))
            return false;
    }
    return true;
}

static keyed_row row_of(const kit_rows *b, int64_t row)
{
    const struct ArrowArray *const *c = (const struct ArrowArray *const *)b->columns.children;
    return (keyed_row){.id = ((const int64_t *)c[ID]->buffers[1])[c[ID]->offset + row],
                       .sequence = ((const int64_t *)c[SEQUENCE]->buffers[1])[c[SEQUENCE]->offset + row],
                       .s = ((const int32_t *)c[S]->buffers[1])[c[S]->offset + row],
                       .null = pml_array__is_null(c[S], row)};
}

static bool take_row(drain *d, const struct ArrowArray *a, int64_t row)
{
    kit *k = d->k;
    const struct ArrowArray *o = a->children[d->child[OFFSET]];
    size_t batch = 0, number = 0;
    int64_t at = a->offset + row, in_batch = 0;
    if (!kit_ok(k, o->n_buffers == 2 && o->buffers[1] != NULL && !pml_array__is_null(o, at), "a row has no offset"))
        return false;
    const int64_t offset = ((const int64_t *)o->buffers[1])[o->offset + at];
    if (!kit_ok(k, find_row(k, offset, &batch, &in_batch, &number), "a row with offset %lld came that nobody wrote", (long long)offset) ||
        !kit_ok(k, offset < d->hi && (d->earlier_ok || offset >= d->lo), "a row with offset %lld came, of [%lld, %lld)", (long long)offset,
                (long long)d->lo, (long long)d->hi) ||
        !kit_ok(k, d->seen == NULL || d->seen[number]++ == 0, "the row with offset %lld came twice", (long long)offset))
        return false;
    const kit_rows *b = &k->batches[batch];
    const keyed_row now = row_of(b, in_batch);
    const int64_t segment = segment_of(k, offset);
    if (!values_are(k, d, a, at, b, in_batch) ||
        !kit_ok(k, d->last.id < 0 || row_order(&d->last, &now, k->kind != KIT_KEYED) < 0,
                "a stream is not sorted: key %lld, number %lld after key %lld, number %lld", (long long)now.id, (long long)now.sequence,
                (long long)d->last.id, (long long)d->last.sequence) ||
        !kit_ok(k, d->segment < 0 || d->segment == segment, "a stream has rows of two segments"))
        return false;
    d->last = now;
    d->segment = segment;
    return true;
}

static bool take_array(drain *d, const struct ArrowArray *a)
{
    kit *k = d->k;
    if (!kit_ok(k, a->n_children == (int64_t)d->n && a->length >= 0 && a->offset >= 0, "an array has %lld children instead of %zu",
                (long long)a->n_children, d->n))
        return false;
    for (size_t i = 0; i < d->n; i++)
        if (!kit_ok(k, a->children[i]->length >= a->offset + a->length, "child %zu is shorter than its parent", i))
            return false;
    for (int64_t r = 0; r < a->length; r++)
        if (d->child[OFFSET] >= 0 && !take_row(d, a, r))
            return false;
    return true;
}

static bool read_columns(drain *d, struct ArrowArrayStream *stream, const uint32_t *want, size_t n, int64_t *group)
{
    kit *k = d->k;
    struct ArrowSchema s = {0};
    const char *text = NULL;
    size_t len = 0;
    bool ok = kit_ok(k, stream->get_schema(stream, &s) == 0, "get_schema failed") &&
              kit_ok(k, s.format != NULL && strcmp(s.format, "+s") == 0 && s.n_children == (int64_t)n, "%lld columns came, %zu were asked for",
                     (long long)s.n_children, n);
    *group = -1;
    if (ok && pml_schema__metadata_find(&text, &len, s.metadata, PML_RT_META_SEGMENT))
        ok = kit_ok(k, pml_number__int64(group, text, len) && *group >= 0, "metadata " PML_RT_META_SEGMENT " is no number");
    for (size_t i = 0; i < KEYED_FIELDS; i++)
        d->child[i] = -1;
    d->n = n;
    for (size_t i = 0; ok && i < n; i++) {
        char format[48];
        size_t c = 0, j = 0;
        while (c < KEYED_FIELDS && strcmp(k->layout->fields[c].name, s.children[i]->name) != 0)
            c++;
        while (j < n && (want == NULL ? j : want[j]) != c)
            j++;
        ok = kit_ok(k, c < KEYED_FIELDS && j < n, "a stream has a column '%s' that nobody asked for", s.children[i]->name);
        if (!ok)
            break;
        d->columns[i] = (uint32_t)c;
        d->child[c] = (int)i;
        pml_type__arrow_format(format, &k->layout->fields[c].type);
        ok = kit_ok(k, strcmp(format, s.children[i]->format) == 0, "column '%s' has format %s instead of %s", s.children[i]->name,
                    s.children[i]->format, format);
    }
    pml_schema__release(&s);
    return ok;
}

static bool take_stream(drain *d, struct ArrowArrayStream *stream, const uint32_t *want, size_t n, int64_t *group)
{
    kit *k = d->k;
    bool more = read_columns(d, stream, want, n, group), ok = more;
    d->last.id = d->segment = -1;
    while (more) {
        struct ArrowArray a = {0};
        const int rc = stream->get_next(stream, &a);
        const char *text = rc == 0 ? NULL : stream->get_last_error(stream);
        ok = kit_ok(k, rc == 0, "get_next: %s", text == NULL ? "no message" : text);
        more = ok && a.release != NULL;
        ok = ok && (!more || take_array(d, &a));
        pml_array__release(&a);
        more = more && ok;
    }
    struct ArrowArray after = {0};
    ok = ok && kit_ok(k, stream->get_next(stream, &after) == 0 && after.release == NULL, "a stream goes on after its end");
    pml_array__release(&after);
    return ok;
}

/* Whether a newer row of its key in its segment is there, or is committed. */
static bool is_replaced(const drain *d, const keyed_row *row, int64_t offset)
{
    const kit *k = d->k;
    size_t number = 0;
    for (size_t b = 0; b < k->n_batches; b++)
        for (int64_t r = 0; r < k->batches[b].rows; r++, number++) {
            const int64_t other = k->batches[b].offsets[r];
            const keyed_row by = row_of(&k->batches[b], r);
            if (by.id == row->id && other < d->hi && (other < d->lo || d->seen[number] != 0) && segment_of(k, other) == segment_of(k, offset) &&
                row_order(row, &by, true) < 0)
                return true;
        }
    return false;
}

static bool nothing_missing(drain *d)
{
    kit *k = d->k;
    size_t number = 0;
    for (size_t b = 0; b < k->n_batches; b++)
        for (int64_t r = 0; r < k->batches[b].rows; r++, number++) {
            const int64_t offset = k->batches[b].offsets[r];
            const keyed_row row = row_of(&k->batches[b], r);
            if (offset < d->lo || offset >= d->hi || d->seen[number] != 0)
                continue;
            if (!kit_ok(k, k->kind == KIT_COLLAPSED && is_replaced(d, &row, offset), "the row with offset %lld is missing", (long long)offset))
                return false;
            k->missing++;
            k->missing_hash += pml_hash__mix64((uint64_t)offset);
        }
    return true;
}

bool kit_drain_keyed(kit *k, int slot, int64_t lo, int64_t hi, bool earlier_ok, const uint32_t *cols, size_t n_cols)
{
    size_t rows = 0;
    for (size_t b = 0; b < k->n_batches; b++)
        rows += (size_t)k->batches[b].rows;
    drain d = {.k = k, .lo = lo, .hi = hi, .earlier_ok = earlier_ok, .seen = calloc(rows + 1, 1)};
    int64_t groups[KIT_SEALS_MAX + 1], group = -1;
    bool ok = true;
    k->missing = 0;
    k->missing_hash = 0;
    assert_non_null(d.seen);
    for (size_t i = 0; i <= KIT_SEALS_MAX; i++)
        groups[i] = -1;
    for (size_t i = 0; i < k->streams[slot].n && ok; i++) {
        ok = take_stream(&d, &k->streams[slot].v[i], cols, n_cols, &group);
        if (!ok || d.segment < 0 || group < 0)
            continue;
        ok = kit_ok(k, groups[d.segment] < 0 || groups[d.segment] == group, "two streams of one segment say numbers %lld and %lld",
                    (long long)groups[d.segment], (long long)group);
        groups[d.segment] = group;
    }
    for (size_t i = 0, last = SIZE_MAX; i <= k->n_seals && ok; i++) {
        if (groups[i] < 0)
            continue;
        ok = last == SIZE_MAX || kit_ok(k, groups[last] < groups[i], "an older segment has number %lld, a newer one %lld",
                                        (long long)groups[last], (long long)groups[i]);
        last = i;
    }
    kit_streams_release(k, slot);
    bool asked = n_cols == k->layout->n_fields && cols == NULL;
    for (size_t i = 0; i < n_cols && cols != NULL; i++)
        asked = asked || cols[i] == OFFSET;
    ok = ok && (!asked || nothing_missing(&d));
    free(d.seen);
    return ok;
}

bool kit_keyed_array_check(kit *k, const struct ArrowArray *array)
{
    drain d = {.k = k, .hi = INT64_MAX, .n = KEYED_FIELDS, .last = {.id = -1}, .segment = -1};
    for (size_t i = 0; i < KEYED_FIELDS; i++) {
        d.columns[i] = (uint32_t)i;
        d.child[i] = (int)i;
    }
    return take_array(&d, array);
}

/* ---- cases that rows with keys have of their own ---- */

/* 15 */
bool kit_case_keyed_refuses(kit *k)
{
    struct ArrowArray array;
    pml_rt_batch good, bad;
    kit_rows rows;
    if (!kit_write(k, 5, true, 3))
        return false;
    kit_make_keyed_batch(k, &array, &good, &rows, 4, true, 0);
    bool ok = kit_refuses_all_but(k, &good);
    bad = good;
    bad.flags = PML_RT_BATCH_DENSE;
    ok = ok && kit_refuses(k, &bad, "a column too many: rows with keys always have their offsets");
    kit_drop_rows(&rows);
    pml_array__release(&array);
    return ok && kit_view_acquire(k, 0) && kit_view_check(k, &k->views[0]) && kit_write(k, 4, true, 0) && kit_view_acquire(k, 1) &&
           kit_view_check(k, &k->views[1]);
}

/* Any columns, the offsets among them or not. */
bool kit_case_keyed_columns(kit *k)
{
    static const uint32_t asked[][KEYED_FIELDS] = {{2, 1, 0, 5, 4, 3}, {OFFSET, ID}, {V, OFFSET}, {ID, S, V}, {SEQUENCE, KIND, OFFSET}};
    static const size_t n_asked[] = {6, 2, 2, 3, 3};
    if (!kit_write(k, 5, true, 0) || !kit_seal(k, 0) || !kit_write(k, 70, false, 1) || !kit_write(k, 9, true, 0) || !kit_view_acquire(k, 0))
        return false;
    for (size_t i = 0; i < sizeof n_asked / sizeof n_asked[0]; i++)
        if (!kit_query(k, 0, &k->views[0], asked[i], n_asked[i], 4) || !kit_drain(k, 0, 0, k->next, false, asked[i], n_asked[i]))
            return false;
    return kit_query(k, 0, &k->views[0], NULL, 0, 4) && kit_drain(k, 0, 0, k->next, false, NULL, 0);
}

/* 67, 68: many writes of few keys: whatever runs become one meanwhile, a view that is older keeps its rows, and no version is lost, or none
   that counts. */
bool kit_case_keyed_versions(kit *k)
{
    for (int i = 0; i < 120; i++) {
        if (!kit_write(k, i % 17 == 0 ? 90 : 1 + i % 3, i % 2 == 0, 0) || (i % 40 == 39 && !kit_seal(k, i / 40)))
            return false;
        if (i % 12 == 5 && !kit_view_acquire(k, 10 + i / 12))
            return false;
    }
    for (int i = 0; i < 10; i++)
        if (!kit_view_check(k, &k->views[10 + i]))
            return false;
    for (int i = 0; i < 3; i++)
        if (!kit_segment_check(k, k->segments[i]))
            return false;
    return true;
}
