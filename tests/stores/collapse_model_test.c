/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exhaustive model of collapse (realtime-tests.md 25.7, 68; realtime-pk.md 14.6): every sequence of rows of two keys with a sequence field,
 * deletes, seals and views up to a depth (4, or DEPTH from the environment), in a memory store that merges runs as soon as there are two,
 * or three. Of every view that was taken, now and when all is done, and every committed end: rows of files up to that end and rows of
 * memory from there on give the answer that all rows up to the view's end give. So a row may stand for others only where both are
 * visible together, and those that it stands for are counted.
 */
#include "stores/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "realtime/rt_context.h"
#include "realtime/rt_host.h"
#include "support/test_env.h"
#include "util/hash.h"

enum { SCHEMA = 4, DEPTH_MAX = 8, SYSTEM = PML_RT_KEYED_SYSTEM, COLUMNS = SYSTEM + 2, OWN_RUN = 1 << 16 /* bytes: too many for the open chunk */ };

static const pml_field columns[] = {{.id = 0, .name = "id", .type = {.kind = PML_TYPE_BIGINT}},
                                    {.id = 1, .name = "s", .type = {.kind = PML_TYPE_INT, .nullable = true}}};

/* Letters: rows a to d in runs of their own, A and C in the open chunk; S seal, V a view that stays. */
static const char letters[] = "abcdACSV";

typedef struct row {
    int64_t key;
    int32_t s;
    int8_t kind;
} row;

static const row rows_of[] = {{0, 0, 0}, {0, 1, 0}, {0, 1, 3}, {1, 0, 0}};

typedef struct held_view {
    void *view;
    const pml_rt_view_vtbl *vt;
    int64_t end;
} held_view;

typedef struct world {
    test_env *t;
    pml_rt_host_ctx *ctx;
    const pml_rt_host *host;
    struct ArrowSchema transport;
    void *backend, *store;
    const pml_rt_store_vtbl *vt;
    pml_rt_kv option;
    char path[DEPTH_MAX + 1];
    row rows[DEPTH_MAX]; /* by offset */
    int64_t next, sealed;
    held_view views[DEPTH_MAX + 1];
    size_t n_views;
    void *segments[DEPTH_MAX];
    int64_t ends[DEPTH_MAX];
    size_t n_segments;
    int64_t collapsed, sequences;
} world;

static void world_open(world *w)
{
    const int32_t key = 0, s = 1;
    pml_error err = PML_ERROR_INIT;
    memset(w, 0, sizeof *w);
    w->t = test_env_open(NULL);
    must_ok(pml_rt_host__new(&w->ctx, w->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(w->ctx, PML_RT_MODE_PRIMARY_KEY, SCHEMA, columns, 2, &err), &err);
    must_ok(pml_rt_host__set_order(w->ctx, SCHEMA, &key, 1, &s, 1, false, &err), &err);
    w->host = pml_rt_host__services(w->ctx);
    const pml_rt_layout *l = pml_rt_host__layout(w->ctx, SCHEMA);
    must_ok(pml_type__export(&w->transport, w->t->env, l->fields, l->n_fields, &err), &err);
    must_ok(pml_memory_store_plugin()->open(&w->backend, w->host, 0, NULL, &err), &err);
}

static void world_close(world *w)
{
    pml_rt_host__end(w->ctx);
    pml_memory_store_plugin()->close(w->backend);
    assert_int_equal(pml_rt_host__bytes(w->ctx), 0);
    pml_rt_host__release(w->ctx);
    w->transport.release(&w->transport);
    test_env_close(w->t);
}

/* ---- one sequence ---- */

static void store_open(world *w)
{
    pml_error err = PML_ERROR_INIT;
    const pml_rt_store_params p = {.struct_size = sizeof p,
                                   .mode = PML_RT_MODE_PRIMARY_KEY,
                                   .host = w->host,
                                   .schema = &w->transport,
                                   .schema_id = SCHEMA,
                                   .flags = 1, /* collapse */
                                   .n_options = 1,
                                   .options = &w->option};
    w->next = w->sealed = 0;
    w->n_views = w->n_segments = 0;
    must_ok(pml_memory_store_plugin()->store_open(w->backend, &w->store, &w->vt, &p, &err), &err);
}

static void column(struct ArrowArray *out, const world *w, const void *value, size_t width)
{
    must_ok(pml_array__init(out, w->t->env, NULL, 2, 0, NULL), NULL);
    void *to = pml_array__alloc(out, 1, width);
    assert_non_null(to);
    memcpy(to, value, width);
    out->length = 1;
}

static void write_row(world *w, const row *r, uint64_t bytes)
{
    struct ArrowArray c[COLUMNS] = {{0}}, batch;
    pml_error err = PML_ERROR_INIT;
    column(&c[0], w, &r->kind, sizeof r->kind);
    column(&c[1], w, &w->next, sizeof w->next);
    column(&c[2], w, &w->next, sizeof w->next);
    column(&c[3], w, &r->key, sizeof r->key);
    column(&c[4], w, &r->s, sizeof r->s);
    must_ok(pml_batch__from_columns(&batch, w->t->env, c, COLUMNS, 1, &err), &err);
    pml_rt_batch b = {.struct_size = sizeof b,
                      .array = &batch,
                      .schema_id = SCHEMA,
                      .range = {w->next, w->next + 1},
                      .rows = 1,
                      .first_sequence = w->next,
                      .last_sequence = w->next,
                      .bytes = bytes};
    must_ok(w->vt->write(w->store, &b, &err), &err);
    w->rows[w->next++] = *r;
}

static void take_view(world *w)
{
    held_view *v = &w->views[w->n_views++];
    v->end = w->next;
    must_ok(w->vt->acquire_view(w->store, &v->view, &v->vt, NULL), NULL);
}

/* ---- what there is ---- */

/* Whether the row with offset a comes behind that with offset b in the order of versions. */
static bool is_newer(const world *w, int64_t a, int64_t b)
{
    return w->rows[a].s != w->rows[b].s ? w->rows[a].s > w->rows[b].s : a > b;
}

/* Of the rows with offsets in [begin, end) that are there, the one that counts of each key; -1: none. */
static void answer(int64_t out[2], const world *w, const uint8_t *there, int64_t begin, int64_t end)
{
    for (int64_t o = begin; o < end; o++)
        if ((there == NULL || there[o] != 0) && (out[w->rows[o].key] < 0 || is_newer(w, o, out[w->rows[o].key])))
            out[w->rows[o].key] = o;
}

static void take_array(uint8_t *there, const world *w, const struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->length; i++) {
        int64_t offset = ((const int64_t *)a->children[2]->buffers[1])[a->children[2]->offset + a->offset + i];
        int64_t key = ((const int64_t *)a->children[3]->buffers[1])[a->children[3]->offset + a->offset + i];
        int8_t kind = ((const int8_t *)a->children[0]->buffers[1])[a->children[0]->offset + a->offset + i];
        assert_true(offset >= 0 && offset < w->next && w->rows[offset].key == key && w->rows[offset].kind == kind);
        assert_int_equal(there[offset]++, 0);
    }
}

static int64_t take_streams(uint8_t *there, const world *w, pml_rt_streams *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        for (bool more = true; more;) {
            struct ArrowArray a = {0};
            assert_int_equal(s->v[i].get_next(&s->v[i], &a), 0);
            more = a.release != NULL;
            if (more)
                take_array(there, w, &a);
            n += more ? a.length : 0;
            pml_array__release(&a);
        }
        s->v[i].release(&s->v[i]);
    }
    s->free(s);
    return n;
}

static void check_view(const world *w, const held_view *v, int64_t floor)
{
    int64_t want[2] = {-1, -1};
    answer(want, w, NULL, 0, v->end);
    for (int64_t c = floor; c <= v->end; c++) {
        uint8_t there[DEPTH_MAX] = {0};
        int64_t got[2] = {-1, -1};
        pml_rt_streams s = {.struct_size = sizeof s};
        const pml_rt_query q = {.struct_size = sizeof q, .read_schema = &w->transport, .limit = -1, .visible = {c, v->end}};
        must_ok(v->vt->query_streams(v->view, &s, &q, NULL), NULL);
        (void)take_streams(there, w, &s);
        for (int64_t o = v->end; o < w->next; o++)
            if (there[o] != 0)
                fail_msg("%s: a view that ends at %lld has the row %lld", w->path, (long long)v->end, (long long)o);
        answer(got, w, NULL, 0, c); /* files */
        answer(got, w, there, c, v->end);
        if (got[0] != want[0] || got[1] != want[1])
            fail_msg("%s: a view that ends at %lld with %lld committed shows rows %lld and %lld instead of %lld and %lld", w->path,
                     (long long)v->end, (long long)c, (long long)got[0], (long long)got[1], (long long)want[0], (long long)want[1]);
    }
}

/* 96: what a prepare looks at: the rows that are left and those that were collapsed are all of the segment; none is left out that counts. */
static void check_segment(world *w, size_t i)
{
    const int64_t begin = i == 0 ? 0 : w->ends[i - 1], end = w->ends[i];
    uint8_t there[DEPTH_MAX] = {0};
    int64_t want[2] = {-1, -1}, got[2] = {-1, -1};
    pml_rt_segment_info info = {.struct_size = sizeof info};
    pml_rt_streams s = {.struct_size = sizeof s};
    must_ok(w->vt->segment_info(w->segments[i], &info, NULL), NULL);
    must_ok(w->vt->commit_streams(w->store, &s, w->segments[i], NULL), NULL);
    int64_t rows = take_streams(there, w, &s);
    uint64_t hash = info.collapsed_hash;
    for (int64_t o = 0; o < w->next; o++) {
        if (there[o] != 0 && (o < begin || o >= end))
            fail_msg("%s: the segment [%lld, %lld) has the row %lld", w->path, (long long)begin, (long long)end, (long long)o);
        if (there[o] == 0 && o >= begin && o < end)
            hash -= pml_hash__mix64((uint64_t)o);
    }
    answer(want, w, NULL, begin, end);
    answer(got, w, there, begin, end);
    if (rows + info.collapsed_rows != end - begin || info.rows != end - begin || hash != 0 || got[0] != want[0] || got[1] != want[1])
        fail_msg("%s: the segment [%lld, %lld) has %lld rows of %lld and says that %lld collapsed, and what it says of them", w->path, (long long)begin,
                 (long long)end, (long long)rows, (long long)info.rows, (long long)info.collapsed_rows);
    w->collapsed += info.collapsed_rows;
}

static void seal(world *w)
{
    void *segment;
    pml_error err = PML_ERROR_INIT;
    must_ok(w->vt->seal(w->store, &segment, &err), &err);
    assert_true((segment != NULL) == (w->next > w->sealed));
    if (segment == NULL)
        return;
    w->segments[w->n_segments] = segment;
    w->ends[w->n_segments] = w->sealed = w->next;
    check_segment(w, w->n_segments++);
}

static void check_views(world *w, int64_t floor)
{
    take_view(w);
    for (size_t i = 0; i < w->n_views; i++)
        check_view(w, &w->views[i], i + 1 < w->n_views ? 0 : floor);
    w->views[w->n_views - 1].vt->release(w->views[w->n_views - 1].view);
    w->n_views--;
}

static void run_path(world *w)
{
    pml_error err = PML_ERROR_INIT;
    store_open(w);
    for (const char *c = w->path; *c != '\0'; c++)
        if (*c == 'S')
            seal(w);
        else if (*c == 'V')
            take_view(w);
        else
            write_row(w, &rows_of[(*c | 0x20) - 'a'], *c >= 'a' ? OWN_RUN : 1);
    check_views(w, 0);
    seal(w);
    for (size_t i = 0; i < w->n_segments; i++) { /* views of before are still what they were */
        must_ok(w->vt->advance(w->store, w->ends[i], (int64_t)i + 1, &err), &err);
        check_views(w, w->ends[i]);
        w->vt->segment_release(w->segments[i]);
    }
    for (size_t i = 0; i < w->n_views; i++)
        w->views[i].vt->release(w->views[i].view);
    must_ok(w->vt->close(w->store, 1, &err), &err);
    w->vt->release(w->store);
    w->sequences++;
}

/* All paths of a length; those that end with what changes nothing are the same as shorter ones. */
static void run_all(world *w, int at, int depth)
{
    if (at == depth) {
        w->path[at] = '\0';
        run_path(w);
        return;
    }
    for (const char *c = letters; *c != '\0'; c++) {
        bool twice = at > 0 && (*c == 'S' || *c == 'V') && w->path[at - 1] == *c;
        if (twice || (at == 0 && (*c == 'S' || *c == 'V')) || (at + 1 == depth && (*c == 'S' || *c == 'V')))
            continue;
        w->path[at] = *c;
        run_all(w, at + 1, depth);
    }
}

static void rows_stand_for_others_only_where_both_are_visible(void **state)
{
    (void)state;
    world w;
    const char *path = getenv("SCRIPT");
    const int depth = (int)test_setting("DEPTH", 4, 1, DEPTH_MAX);
    world_open(&w);
    for (int runs = 2; runs <= 3; runs++) {
        char text[2] = {(char)('0' + runs), '\0'};
        w.option = (pml_rt_kv){{"realtime.memory.merge-runs", 26}, {text, 1}};
        if (path == NULL)
            run_all(&w, 0, depth);
        else {
            (void)snprintf(w.path, sizeof w.path, "%s", path);
            run_path(&w);
        }
    }
    print_message("%lld sequences, %lld rows collapsed\n", (long long)w.sequences, (long long)w.collapsed);
    assert_true(path != NULL || depth < 3 || w.collapsed > 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_stand_for_others_only_where_both_are_visible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
