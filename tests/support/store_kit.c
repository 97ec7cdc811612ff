/* SPDX-License-Identifier: Apache-2.0 */
#include "support/store_kit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "columnar/array_memory.h"
#include "support/random_batch.h"

enum { KIT_SCHEMA_ID = 7 };

bool kit_ok(kit *k, bool ok, const char *format, ...)
{
    if (ok || k->failed)
        return ok;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(k->why, sizeof k->why, format, args);
    va_end(args);
    k->failed = true;
    return false;
}

bool kit_rc(kit *k, int rc, const pml_error *err, const char *call)
{
    return kit_ok(k, rc == PML_OK, "%s: %s: %s", call, pml_error_name(rc), err->message);
}

/* ---- fixture ---- */

static pml_field *kit_make_columns(kit *k, kit_columns columns)
{
    static const struct {
        const char *name, *type;
        bool nullable;
    } small[] = {{"id", "BIGINT", false}, {"flag", "BOOLEAN", true}, {"name", "STRING", true}};
    static const char *const keyed[] = {"id", "s", "v"}, *const keyed_types[] = {"BIGINT", "INT", "STRING"};
    if (columns == KIT_ALL)
        return random_fields(k->t, &k->arena, k->n_columns = 23, 2, true);
    k->n_columns = columns == KIT_NARROW ? 2 : 3;
    pml_field *f = pml_arena__array(&k->arena, k->n_columns, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < k->n_columns; i++) {
        const char *type = k->keyed ? keyed_types[i] : small[i].type;
        f[i] = (pml_field){.id = (int32_t)(10 * i), .name = k->keyed ? keyed[i] : small[i].name};
        must_ok(pml_type__parse(&f[i].type, &k->arena, type, strlen(type), NULL, NULL), NULL);
        f[i].type.nullable = small[i].nullable;
    }
    return f;
}

bool kit_store_open(kit *k, void **store, const pml_rt_store_vtbl **vt, int64_t committed_end)
{
    static const pml_rt_str garbage = {"\xff\x01garbage", 9};
    static const pml_rt_kv pairs[2] = {{{"p\xfe", 2}, {"", 0}}, {{"", 0}, {"%2F", 3}}};
    pml_error err = PML_ERROR_INIT;
    static const uint32_t key = PML_RT_KEYED_SYSTEM;
    static const pml_rt_kv soon = {{"realtime.memory.merge-runs", 26}, {"2", 1}};
    const bool collapsed = k->kind == KIT_COLLAPSED, own = k->option.key.ptr != NULL;
    /* A volatile store has no use for identity, partition and bucket. */
    const pml_rt_store_params p = {.struct_size = sizeof p,
                                   .mode = k->keyed ? PML_RT_MODE_PRIMARY_KEY : PML_RT_MODE_APPEND,
                                   .n_key_columns = k->keyed ? 1 : 0,
                                   .key_columns = k->keyed ? &key : NULL,
                                   .host = &k->services,
                                   .schema = &k->transport,
                                   .schema_id = KIT_SCHEMA_ID,
                                   .table_path = garbage,
                                   .table_uuid = garbage,
                                   .branch = garbage,
                                   .n_partition = 2,
                                   .partition = pairs,
                                   .bucket = -77,
                                   .total_buckets = -3,
                                   .flags = collapsed ? 1 : 0,
                                   .n_options = own || collapsed ? 1 : 2,
                                   .options = own ? &k->option : collapsed ? &soon : pairs,
                                   .stats_mode = k->stats_mode,
                                   .committed_end = committed_end,
                                   .lineage = {0xff, 1}};
    return kit_rc(k, k->plugin->store_open(k->backend, store, vt, &p, &err), &err, "store_open");
}

bool store_kit_open(kit *k, const pml_rt_plugin *plugin, kit_columns columns)
{
    return store_kit_open_with(k, plugin, columns, PML_RT_STATS_NONE, NULL, NULL);
}

bool store_kit_open_with(kit *k, const pml_rt_plugin *plugin, kit_columns columns, uint32_t stats_mode, const char *key,
                         const char *value)
{
    pml_error err = PML_ERROR_INIT;
    memset(k, 0, sizeof *k);
    k->stats_mode = stats_mode;
    k->kind = columns;
    k->keyed = columns >= KIT_KEYED;
    if (key != NULL)
        k->option = (pml_rt_kv){{key, strlen(key)}, {value, strlen(value)}};
    k->t = test_env_open(NULL);
    k->t->random_state = test_seed();
    k->plugin = plugin;
    pml_arena__init(&k->arena, k->t->env);
    k->columns = kit_make_columns(k, columns);
    must_ok(pml_rt_host__new(&k->host, k->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(k->host, k->keyed ? PML_RT_MODE_PRIMARY_KEY : PML_RT_MODE_APPEND, KIT_SCHEMA_ID, k->columns,
                                    k->n_columns, &err), &err);
    if (k->keyed)
        must_ok(pml_rt_host__set_order(k->host, KIT_SCHEMA_ID, (const int32_t[]){0}, 1, (const int32_t[]){1}, columns == KIT_KEYED ? 0 : 1,
                                       false, &err), &err);
    k->layout = pml_rt_host__layout(k->host, KIT_SCHEMA_ID);
    k->services = *pml_rt_host__services(k->host);
    must_ok(pml_type__export(&k->transport, k->t->env, k->layout->fields, k->layout->n_fields, &err), &err);
    return kit_rc(k, plugin->open(&k->backend, &k->services, 0, NULL, &err), &err, "open") &&
           kit_store_open(k, &k->store, &k->vt, 0);
}

void kit_close(kit *k)
{
    pml_error err = PML_ERROR_INIT;
    k->t->fail_at = 0;
    for (int i = 0; i < KIT_SLOTS; i++) {
        kit_streams_release(k, i);
        kit_view_release(k, i);
        kit_segment_release(k, i);
    }
    if (k->store != NULL) {
        if (!k->closed)
            (void)kit_rc(k, k->vt->close(k->store, 0, &err), &err, "close");
        k->vt->release(k->store);
    }
    if (k->backend != NULL)
        k->plugin->close(k->backend);
    pml_rt_host__end(k->host); /* what a thread of the host still does for the store holds memory */
    (void)kit_ok(k, pml_rt_host__bytes(k->host) == 0, "after the last release the host still counts %lld bytes",
                 (long long)pml_rt_host__bytes(k->host));
    for (size_t i = 0; i < k->n_batches; i++)
        kit_drop_rows(&k->batches[i]);
    free(k->batches);
    pml_schema__release(&k->transport);
    pml_rt_host__release(k->host);
    pml_arena__clear(&k->arena);
    test_env_close(k->t);
}

/* ---- writing ---- */

static int64_t random_below(kit *k, int64_t n)
{
    return (int64_t)(test_random(k->t) % (uint64_t)n);
}

static void offset_column(struct ArrowArray *out, kit *k, const int64_t *offsets, int64_t lead, int64_t n)
{
    must_ok(pml_array__init(out, k->t->env, NULL, 2, 0, NULL), NULL);
    int64_t *v = pml_array__calloc(out, 1, (size_t)(lead + n) * 8);
    assert_non_null(v);
    memcpy(v + lead, offsets, (size_t)n * 8);
    out->length = lead + n;
}

void kit_make_batch(kit *k, struct ArrowArray *array, pml_rt_batch *batch, kit_rows *rows, int64_t n, bool dense,
                    int64_t gap)
{
    struct ArrowArray children[64] = {{0}};
    size_t skip = dense ? 0 : 1;
    if (k->keyed) {
        kit_make_keyed_batch(k, array, batch, rows, n, dense, gap);
        return;
    }
    int64_t lead = random_below(k, 4), offset = k->next + gap;
    *rows = (kit_rows){.rows = n, .offsets = calloc((size_t)n, 8)};
    assert_non_null(rows->offsets);
    for (int64_t i = 0; i < n; i++, offset += dense ? 1 : 1 + random_below(k, 3))
        rows->offsets[i] = offset;
    rows->first = rows->offsets[0];
    if (!dense)
        offset_column(&children[0], k, rows->offsets, lead, n);
    for (size_t i = 0; i < k->n_columns; i++)
        random_array(&children[skip + i], k->t, &k->columns[i].type, lead + n);
    must_ok(pml_batch__from_columns(array, k->t->env, children, k->n_columns + skip, lead + n, NULL), NULL);
    array->offset = lead;
    array->length = n;
    struct ArrowArray table = *array;
    if (!dense) { /* the model keeps the table's columns only */
        table.children++;
        table.n_children--;
    }
    must_ok(pml_batch__gather_rows(&rows->columns, k->t->env, k->columns, k->n_columns, &table, NULL, n, NULL), NULL);
    *batch = (pml_rt_batch){.struct_size = sizeof *batch,
                            .flags = dense ? PML_RT_BATCH_DENSE : 0,
                            .array = array,
                            .schema_id = KIT_SCHEMA_ID,
                            .range = {rows->offsets[0], rows->offsets[n - 1] + 1},
                            .rows = n,
                            .first_sequence = -1,
                            .last_sequence = -1,
                            .bytes = pml_batch__bytes(&table, k->columns, k->n_columns)};
}

void kit_accept(kit *k, const pml_rt_batch *batch, kit_rows *rows)
{
    k->batches = realloc(k->batches, (k->n_batches + 1) * sizeof *k->batches);
    assert_non_null(k->batches);
    k->batches[k->n_batches++] = *rows;
    k->next_sequence += rows->rows;
    k->next = batch->range.end;
}

void kit_drop_rows(kit_rows *rows)
{
    pml_array__release(&rows->columns);
    free(rows->offsets);
}

bool kit_write(kit *k, int64_t n, bool dense, int64_t gap)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray array;
    pml_rt_batch batch;
    kit_rows rows;
    kit_make_batch(k, &array, &batch, &rows, n, dense, gap);
    int rc = k->vt->write(k->store, &batch, &err);
    if (rc == PML_OK)
        kit_accept(k, &batch, &rows);
    else
        kit_drop_rows(&rows);
    bool ok = kit_ok(k, rc != PML_OK || array.release == NULL, "write took a batch but left the array to the host");
    pml_array__release(&array);
    return kit_rc(k, rc, &err, "write") && ok;
}

void kit_note_seal(kit *k)
{
    if (k->n_seals < KIT_SEALS_MAX)
        k->seals[k->n_seals++] = k->next;
}

bool kit_seal(kit *k, int slot)
{
    pml_error err = PML_ERROR_INIT;
    kit_note_seal(k);
    return kit_rc(k, k->vt->seal(k->store, &k->segments[slot], &err), &err, "seal") &&
           kit_ok(k, k->segments[slot] != NULL, "seal gave no segment although rows were written");
}

void kit_segment_release(kit *k, int slot)
{
    if (k->segments[slot] != NULL)
        k->vt->segment_release(k->segments[slot]);
    k->segments[slot] = NULL;
}

bool kit_advance(kit *k, int64_t end)
{
    pml_error err = PML_ERROR_INIT;
    if (end > k->advanced)
        k->advanced = end;
    return kit_rc(k, k->vt->advance(k->store, end, 1, &err), &err, "advance");
}

bool kit_usage(kit *k, pml_rt_usage *u)
{
    pml_error err = PML_ERROR_INIT;
    *u = (pml_rt_usage){.struct_size = sizeof *u};
    return kit_rc(k, k->vt->usage(k->store, u, &err), &err, "usage");
}

static void set_flag(void *flag)
{
    atomic_store((atomic_bool *)flag, true);
}

bool kit_settle(kit *k)
{
    const struct timespec pause = {0, 100000};
    atomic_bool done = false;
    if (k->services.submit(k->services.ctx, set_flag, &done) != PML_OK)
        return kit_ok(k, false, "the host takes no work");
    while (!atomic_load(&done))
        (void)nanosleep(&pause, NULL);
    return true;
}

/* ---- reading ---- */

static int64_t kit_count(const kit *k, int64_t lo, int64_t hi)
{
    int64_t n = 0;
    for (size_t b = 0; b < k->n_batches; b++)
        for (int64_t r = 0; r < k->batches[b].rows; r++)
            n += k->batches[b].offsets[r] >= lo && k->batches[b].offsets[r] < hi;
    return n;
}

static bool view_info_check(kit *k, const pml_rt_view_info *i)
{
    int64_t end = k->next > i->floor ? k->next : i->floor, first = end;
    for (size_t b = k->n_batches; b > 0; b--)
        if (k->batches[b - 1].first >= i->floor)
            first = k->batches[b - 1].first;
    return kit_ok(k, i->floor >= 0 && i->floor <= i->end, "floor %lld, end %lld", (long long)i->floor,
                  (long long)i->end) &&
           kit_ok(k, i->floor <= k->advanced, "floor %lld, but only %lld is committed", (long long)i->floor,
                  (long long)k->advanced) &&
           kit_ok(k, i->end == end, "the end of a view is %lld, %lld was written", (long long)i->end, (long long)end) &&
           kit_ok(k, i->first <= first, "first is %lld, but row %lld is in the view", (long long)i->first,
                  (long long)first) &&
           kit_ok(k, k->kind == KIT_COLLAPSED || i->rows >= kit_count(k, i->floor, i->end),
                  "the info of a view counts %lld rows, %lld were written", (long long)i->rows,
                  (long long)kit_count(k, i->floor, i->end));
}

bool kit_view_acquire(kit *k, int slot)
{
    pml_error err = PML_ERROR_INIT;
    kit_view *v = &k->views[slot];
    int rc = k->vt->acquire_view(k->store, &v->view, &v->vt, &err);
    if (!kit_rc(k, rc, &err, "acquire_view") ||
        !kit_ok(k, v->view != NULL && v->vt != NULL, "acquire_view gave nothing"))
        return false;
    v->info = (pml_rt_view_info){.struct_size = sizeof v->info};
    return kit_rc(k, v->vt->info(v->view, &v->info, &err), &err, "info") && view_info_check(k, &v->info);
}

void kit_view_release(kit *k, int slot)
{
    if (k->views[slot].view != NULL)
        k->views[slot].vt->release(k->views[slot].view);
    k->views[slot].view = NULL;
}

bool kit_query(kit *k, int slot, const kit_view *view, const uint32_t *cols, size_t n_cols, int64_t batch_rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_field wanted[64];
    struct ArrowSchema schema;
    pml_rt_query q = {.struct_size = sizeof q, .read_schema = &schema, .batch_rows = batch_rows, .limit = -1};
    q.visible = (pml_rt_range){0, INT64_MAX};
    for (size_t i = 0; i < n_cols; i++)
        wanted[i] = k->layout->fields[cols == NULL ? i : cols[i]];
    must_ok(pml_type__export(&schema, k->t->env, wanted, n_cols, &err), &err);
    k->streams[slot] = (pml_rt_streams){.struct_size = sizeof(pml_rt_streams)};
    int rc = view->vt->query_streams(view->view, &k->streams[slot], &q, &err);
    pml_schema__release(&schema); /* borrowed for the call only */
    return kit_rc(k, rc, &err, "query_streams");
}

bool kit_commit_streams(kit *k, int slot, void *segment)
{
    pml_error err = PML_ERROR_INIT;
    k->streams[slot] = (pml_rt_streams){.struct_size = sizeof(pml_rt_streams)};
    return kit_rc(k, k->vt->commit_streams(k->store, &k->streams[slot], segment, &err), &err, "commit_streams");
}

void kit_streams_release(kit *k, int slot)
{
    pml_rt_streams *s = &k->streams[slot];
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].release != NULL)
            s->v[i].release(&s->v[i]);
    if (s->free != NULL && s->v != NULL)
        s->free(s);
    *s = (pml_rt_streams){0};
}

/* Where a drain stands in the model. */
typedef struct cursor {
    kit *k;
    int64_t lo, hi;
    size_t batch;
    int64_t row;
    bool earlier_ok;      /* rows below lo may come too */
    const uint32_t *cols; /* transport column of each child */
    size_t n_cols;
    int offset_child; /* -1: not asked for */
} cursor;

static const kit_rows *cursor_rows(cursor *c)
{
    while (c->batch < c->k->n_batches && c->row == c->k->batches[c->batch].rows) {
        c->batch++;
        c->row = 0;
    }
    return c->batch < c->k->n_batches ? &c->k->batches[c->batch] : NULL;
}

/* Moves to the row of the model that comes next: with the given offset when known, else the next one not below lo. */
static bool cursor_seek(cursor *c, bool known, int64_t offset)
{
    const kit_rows *rows = cursor_rows(c);
    if (!kit_ok(c->k, !known || c->earlier_ok || offset >= c->lo, "a row with offset %lld came, before %lld",
                (long long)offset, (long long)c->lo))
        return false;
    while (rows != NULL && rows->offsets[c->row] < c->lo && (!known || rows->offsets[c->row] < offset)) {
        c->row++;
        rows = cursor_rows(c);
    }
    int64_t at = rows == NULL ? -1 : rows->offsets[c->row];
    if (!known)
        return kit_ok(c->k, at >= 0 && at < c->hi, "more rows came than the %lld before offset %lld",
                      (long long)(c->hi - c->lo), (long long)c->hi);
    return kit_ok(c->k, at == offset && at < c->hi, "a row with offset %lld came, expected %lld (of [%lld, %lld))",
                  (long long)offset, (long long)at, (long long)c->lo, (long long)c->hi);
}

/* Conditions that later reads rely on stand outside of kit_ok, where the static analyser sees them. */
static bool check_shape(kit *k, const struct ArrowArray *a, size_t n_cols)
{
    bool ok = a->n_children == (int64_t)n_cols && a->length >= 0 && a->offset >= 0;
    if (n_cols == 0 || !ok || a->children == NULL)
        return kit_ok(k, ok && n_cols == 0, "an array has %lld children instead of %zu", (long long)a->n_children,
                      n_cols);
    for (size_t i = 0; i < n_cols; i++)
        if (!kit_ok(k, a->children[i]->length >= a->offset + a->length, "child %zu has %lld rows, its parent %lld", i,
                    (long long)a->children[i]->length, (long long)(a->offset + a->length)))
            return false;
    return true;
}

static bool check_row(cursor *c, const struct ArrowArray *a, int64_t row)
{
    kit *k = c->k;
    int64_t at = a->offset + row, offset = 0;
    if (c->offset_child >= 0) {
        const struct ArrowArray *o = a->children[c->offset_child];
        if (o->n_buffers != 2 || o->buffers[1] == NULL || pml_array__is_null(o, at))
            return kit_ok(k, false, "a row has no offset");
        memcpy(&offset, (const uint8_t *)o->buffers[1] + (o->offset + at) * 8, 8);
    }
    if (!cursor_seek(c, c->offset_child >= 0, offset))
        return false;
    const kit_rows *rows = cursor_rows(c);
    for (size_t i = 0; i < c->n_cols; i++) {
        if ((int)i == c->offset_child)
            continue;
        const pml_field *f = &k->layout->fields[c->cols[i]];
        const struct ArrowArray *model = rows->columns.children[c->cols[i] - 1];
        if (!kit_ok(k, array_rows_equal(a->children[i], at, model, rows->columns.offset + c->row, &f->type),
                    "offset %lld, column %s: another value came back", (long long)rows->offsets[c->row], f->name))
            return false;
    }
    c->row++;
    return true;
}

/* The children of the stream by name: which transport columns they are. */
static bool read_columns(kit *k, uint32_t *cols, int *offset_child, struct ArrowArrayStream *stream,
                         const uint32_t *want, size_t n_want)
{
    struct ArrowSchema s = {0};
    char format[48];
    bool ok = kit_ok(k, stream->get_schema(stream, &s) == 0, "get_schema failed") &&
              kit_ok(k, s.format != NULL && strcmp(s.format, "+s") == 0, "the schema of a stream is no struct") &&
              kit_ok(k, s.n_children == (int64_t)n_want, "%lld columns came, %zu were asked for",
                     (long long)s.n_children, n_want);
    *offset_child = -1;
    for (size_t i = 0; i < n_want && ok; i++) {
        size_t c = 0;
        bool asked = false;
        while (c < k->layout->n_fields && strcmp(k->layout->fields[c].name, s.children[i]->name) != 0)
            c++;
        for (size_t j = 0; j < n_want && c < k->layout->n_fields; j++)
            asked = asked || (want == NULL ? j : want[j]) == c;
        ok = kit_ok(k, asked, "a stream has a column '%s' that nobody asked for", s.children[i]->name);
        if (!ok)
            break;
        cols[i] = (uint32_t)c;
        pml_type__arrow_format(format, &k->layout->fields[c].type);
        ok = kit_ok(k, strcmp(format, s.children[i]->format) == 0, "column '%s' has format %s instead of %s",
                    s.children[i]->name, s.children[i]->format, format);
        if (c == k->layout->offset_column)
            *offset_child = (int)i;
    }
    pml_schema__release(&s);
    return ok;
}

static bool drain_stream(cursor *c, struct ArrowArrayStream *stream, const uint32_t *want, size_t n_want)
{
    uint32_t cols[64];
    kit *k = c->k;
    bool ok = read_columns(k, cols, &c->offset_child, stream, want, n_want), more = ok;
    c->cols = cols;
    c->n_cols = n_want;
    while (more) {
        struct ArrowArray a = {0};
        int rc = stream->get_next(stream, &a);
        const char *text = rc == 0 ? NULL : stream->get_last_error(stream);
        ok = kit_ok(k, rc == 0, "get_next: %s", text == NULL ? "no message" : text);
        more = ok && a.release != NULL;
        ok = ok && (!more || check_shape(k, &a, n_want));
        for (int64_t r = 0; r < a.length && ok && more; r++)
            ok = check_row(c, &a, r);
        pml_array__release(&a);
        more = more && ok;
    }
    struct ArrowArray after = {0};
    ok = ok &&
         kit_ok(k, stream->get_next(stream, &after) == 0 && after.release == NULL, "a stream goes on after its end");
    pml_array__release(&after);
    c->cols = NULL;
    return ok;
}

bool kit_drain(kit *k, int slot, int64_t lo, int64_t hi, bool earlier_ok, const uint32_t *cols, size_t n_cols)
{
    if (k->keyed)
        return kit_drain_keyed(k, slot, lo, hi, earlier_ok, cols, n_cols);
    cursor c = {.k = k, .lo = lo, .hi = hi, .earlier_ok = earlier_ok};
    bool ok = true;
    for (size_t i = 0; i < k->streams[slot].n && ok; i++)
        ok = drain_stream(&c, &k->streams[slot].v[i], cols, n_cols);
    kit_streams_release(k, slot);
    if (!ok)
        return false;
    const kit_rows *rows = cursor_rows(&c);
    while (rows != NULL && rows->offsets[c.row] < lo) {
        c.row++;
        rows = cursor_rows(&c);
    }
    return kit_ok(k, rows == NULL || rows->offsets[c.row] >= hi, "the row with offset %lld is missing",
                  rows == NULL ? -1LL : (long long)rows->offsets[c.row]);
}

bool kit_view_check(kit *k, const kit_view *view)
{
    const int slot = KIT_SLOTS - 1;
    return kit_query(k, slot, view, NULL, k->layout->n_fields, 0) &&
           kit_drain(k, slot, view->info.floor, view->info.end, true, NULL, k->layout->n_fields);
}

bool kit_segment_check(kit *k, void *segment)
{
    const int slot = KIT_SLOTS - 1;
    pml_error err = PML_ERROR_INIT;
    pml_rt_segment_info i = {.struct_size = sizeof i};
    return kit_rc(k, k->vt->segment_info(segment, &i, &err), &err, "segment_info") &&
           kit_ok(k, i.rows == kit_count(k, i.range.begin, i.range.end) && i.rows > 0 && (i.collapsed_rows == 0 || k->kind == KIT_COLLAPSED),
                  "a segment says it has %lld rows in [%lld, %lld)", (long long)i.rows, (long long)i.range.begin,
                  (long long)i.range.end) &&
           kit_commit_streams(k, slot, segment) &&
           kit_drain(k, slot, i.range.begin, i.range.end, false, NULL, k->layout->n_fields) &&
           kit_ok(k, k->kind != KIT_COLLAPSED || (i.collapsed_rows == k->missing && i.collapsed_hash == k->missing_hash),
                  "a segment says that %lld of its rows collapsed, and %lld are missing", (long long)i.collapsed_rows, (long long)k->missing);
}

bool kit_array_check(kit *k, const struct ArrowArray *array, int64_t lo)
{
    uint32_t cols[64];
    if (k->keyed)
        return kit_keyed_array_check(k, array);
    for (size_t i = 0; i < k->layout->n_fields; i++)
        cols[i] = (uint32_t)i;
    cursor c = {.k = k, .lo = lo, .hi = INT64_MAX, .cols = cols, .n_cols = k->layout->n_fields};
    bool ok = check_shape(k, array, k->layout->n_fields);
    for (int64_t r = 0; r < array->length && ok; r++)
        ok = check_row(&c, array, r);
    return ok;
}

/* ---- run ---- */

bool store_kit_run_case(char why[KIT_WHY_SIZE], const pml_rt_plugin *plugin, const kit_case *c)
{
    kit k;
    if (store_kit_open(&k, plugin, c->columns))
        (void)kit_ok(&k, c->run(&k), "failed without a reason");
    kit_close(&k);
    memcpy(why, k.why, sizeof k.why);
    return !k.failed;
}

bool store_kit_case_applies(const pml_rt_plugin *plugin, const kit_case *c)
{
    if (c->columns == KIT_COLLAPSED && (plugin->caps & PML_RT_CAP_COLLAPSE) == 0)
        return false;
    return (plugin->caps & (c->columns >= KIT_KEYED ? PML_RT_CAP_MODE_KEY : PML_RT_CAP_MODE_APPEND)) != 0;
}

void store_kit_run(store_kit_result *r, const pml_rt_plugin *plugin, bool slow_too)
{
    *r = (store_kit_result){0};
    for (size_t i = 0; i < n_kit_cases; i++) {
        char why[KIT_WHY_SIZE];
        if ((kit_cases[i].slow && !slow_too) || !store_kit_case_applies(plugin, &kit_cases[i]))
            continue;
        r->cases++;
        if (store_kit_run_case(why, plugin, &kit_cases[i]))
            continue;
        size_t used = strlen(r->names);
        (void)snprintf(r->names + used, sizeof r->names - used, "%s%s", used > 0 ? " " : "", kit_cases[i].name);
        if (r->failed++ == 0)
            (void)snprintf(r->first, sizeof r->first, "%s: %s", kit_cases[i].name, why);
    }
}
