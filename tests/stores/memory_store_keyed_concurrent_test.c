/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory store with keys: sorted batches of any size in, sorted runs out, few of them, every row once, whatever was merged meanwhile.
 * The model: the row with offset o has the sequence number o and the key keys[o].
 */
#include "stores/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "columnar/array_memory.h"
#include "realtime/rt_context.h"
#include "realtime/rt_host.h"
#include "support/test_env.h"
#include "util/hash.h"

enum { SCHEMA = 4, ROWS_MAX = 400000, HELD = 4, SYSTEM = PML_RT_KEYED_SYSTEM };

static const pml_field columns[] = {{.id = 0, .name = "id", .type = {.kind = PML_TYPE_BIGINT}},
                                    {.id = 1, .name = "v", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}}};

typedef struct fixture {
    test_env *t;
    pml_rt_host_ctx *ctx;
    const pml_rt_host *host;
    const pml_rt_layout *layout;
    struct ArrowSchema transport;
    const pml_rt_plugin *plugin;
    void *backend, *store;
    const pml_rt_store_vtbl *vt;
    int64_t *keys; /* by offset */
    int64_t next, sealed;
    int64_t n_keys; /* keys are drawn from so many */
    bool collapse;  /* the newest row of a key in a segment is enough */
    int64_t ends[64];
    size_t n_ends; /* of segments */
    int64_t collapsed;
} fixture;

static void open_store(fixture *f, uint64_t seed, int64_t n_keys, const pml_rt_kv *option, uint32_t flags)
{
    const int32_t key = 0;
    pml_error err = PML_ERROR_INIT;
    *f = (fixture){.t = test_env_open(NULL), .n_keys = n_keys, .collapse = flags != 0, .plugin = pml_memory_store_plugin()};
    f->t->random_state = seed;
    f->keys = calloc(ROWS_MAX, sizeof *f->keys);
    assert_non_null(f->keys);
    must_ok(pml_rt_host__new(&f->ctx, f->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(f->ctx, PML_RT_MODE_PRIMARY_KEY, SCHEMA, columns, 2, &err), &err);
    must_ok(pml_rt_host__set_order(f->ctx, SCHEMA, &key, 1, NULL, 0, false, &err), &err);
    f->host = pml_rt_host__services(f->ctx);
    f->layout = pml_rt_host__layout(f->ctx, SCHEMA);
    must_ok(pml_type__export(&f->transport, f->t->env, f->layout->fields, f->layout->n_fields, &err), &err);
    must_ok(f->plugin->open(&f->backend, f->host, 0, NULL, &err), &err);
    const pml_rt_store_params p = {.struct_size = sizeof p,
                                   .mode = PML_RT_MODE_PRIMARY_KEY,
                                   .host = f->host,
                                   .schema = &f->transport,
                                   .schema_id = SCHEMA,
                                   .flags = flags,
                                   .n_options = option == NULL ? 0 : 1,
                                   .options = option};
    must_ok(f->plugin->store_open(f->backend, &f->store, &f->vt, &p, &err), &err);
}

static void close_store(fixture *f)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(f->vt->close(f->store, 1, &err), &err);
    f->vt->release(f->store);
    pml_rt_host__end(f->ctx);
    f->plugin->close(f->backend);
    assert_int_equal(pml_rt_host__bytes(f->ctx), 0);
    pml_rt_host__release(f->ctx);
    f->transport.release(&f->transport);
    free(f->keys);
    test_env_close(f->t);
}

/* ---- writing ---- */

static void fixed(struct ArrowArray *out, const fixture *f, size_t width, int64_t n, void **values)
{
    must_ok(pml_array__init(out, f->t->env, NULL, 2, 0, NULL), NULL);
    *values = pml_array__alloc(out, 1, (size_t)n * width);
    out->length = n;
    assert_non_null(*values);
}

/* The next n rows in run order. */
static void write_rows(fixture *f, int64_t n)
{
    struct ArrowArray c[SYSTEM + 2] = {{0}}, plain, sorted;
    void *kinds, *sequences, *offsets, *ids;
    static const uint8_t text[16] = "a value of text";
    const pml_value v = {.kind = PML_VALUE_BYTES, .bytes = {text, (size_t)(f->next % 16)}};
    pml_error err = PML_ERROR_INIT;
    assert_true(f->next + n <= ROWS_MAX);
    fixed(&c[0], f, 1, n, &kinds);
    fixed(&c[1], f, 8, n, &sequences);
    fixed(&c[2], f, 8, n, &offsets);
    fixed(&c[3], f, 8, n, &ids);
    for (int64_t i = 0; i < n; i++) {
        int64_t o = f->next + i;
        f->keys[o] = (int64_t)(test_random(f->t) % (uint64_t)f->n_keys);
        ((int8_t *)kinds)[i] = 0;
        ((int64_t *)sequences)[i] = ((int64_t *)offsets)[i] = o;
        ((int64_t *)ids)[i] = f->keys[o];
    }
    must_ok(pml_batch__constant(&c[4], f->t->env, &columns[1].type, &v, n, &err), &err);
    must_ok(pml_batch__from_columns(&plain, f->t->env, c, SYSTEM + 2, n, &err), &err);
    must_ok(f->host->sort_run(f->host->ctx, &sorted, SCHEMA, &plain, &err), &err);
    pml_array__release(&plain);
    pml_rt_batch b = {.struct_size = sizeof b,
                      .array = &sorted,
                      .schema_id = SCHEMA,
                      .range = {f->next, f->next + n},
                      .rows = n,
                      .first_sequence = f->next,
                      .last_sequence = f->next + n - 1,
                      .bytes = pml_batch__bytes(&sorted, f->layout->fields, f->layout->n_fields)};
    must_ok(f->vt->write(f->store, &b, &err), &err);
    assert_null(sorted.release);
    f->next += n;
}

/* ---- reading ---- */

/* What streams gave. */
typedef struct seen {
    uint8_t *rows; /* by offset, how often */
    int64_t n;
    size_t runs;
} seen;

static void look_at(seen *out, const fixture *f, const struct ArrowArray *a, int64_t *last_key, int64_t *last_sequence)
{
    for (int64_t i = 0; i < a->length; i++) {
        int64_t v[3];
        for (int c = 0; c < 3; c++) /* sequence number, offset, key */
            v[c] = ((const int64_t *)a->children[1 + c]->buffers[1])[a->children[1 + c]->offset + a->offset + i];
        assert_true(v[1] >= 0 && v[1] < f->next && v[0] == v[1] && v[2] == f->keys[v[1]]);
        assert_true(v[2] > *last_key || (v[2] == *last_key && v[0] > *last_sequence));
        *last_key = v[2];
        *last_sequence = v[0];
        out->rows[v[1]]++;
        out->n++;
    }
}

static seen look(const fixture *f, pml_rt_streams *s)
{
    seen out = {.rows = calloc((size_t)f->next + 1, 1), .runs = s->n};
    assert_non_null(out.rows);
    for (size_t i = 0; i < s->n; i++) {
        int64_t last_key = -1, last_sequence = -1;
        for (bool more = true; more;) {
            struct ArrowArray a = {0};
            if (s->v[i].get_next(&s->v[i], &a) != 0)
                fail_msg("%s", s->v[i].get_last_error(&s->v[i]));
            more = a.release != NULL;
            if (more)
                look_at(&out, f, &a, &last_key, &last_sequence);
            pml_array__release(&a);
        }
        s->v[i].release(&s->v[i]);
    }
    s->free(s);
    return out;
}

typedef struct held_view {
    void *view;
    const pml_rt_view_vtbl *vt;
    int64_t end;
} held_view;

static held_view take_view(const fixture *f)
{
    held_view v = {.end = f->next};
    pml_error err = PML_ERROR_INIT;
    must_ok(f->vt->acquire_view(f->store, &v.view, &v.vt, &err), &err);
    return v;
}

static void bound(struct ArrowArray *out, const fixture *f, int64_t key)
{
    struct ArrowArray c;
    const pml_value v = {.kind = PML_VALUE_INT, .i = key};
    must_ok(pml_batch__constant(&c, f->t->env, &columns[0].type, &v, 1, NULL), NULL);
    must_ok(pml_batch__from_columns(out, f->t->env, &c, 1, 1, NULL), NULL);
}

/* Of the rows below `end` those that are needed, by offset: all, or the newest of each key in its segment. */
static bool *needed_rows(const fixture *f, int64_t end)
{
    bool *needed = calloc((size_t)f->next + 1, sizeof *needed);
    size_t *of = calloc((size_t)f->n_keys, sizeof *of), segment = 1; /* where the key was met last, from the newest on */
    assert_true(needed != NULL && of != NULL);
    for (int64_t o = end - 1, i = (int64_t)f->n_ends - 1; o >= 0; o--) {
        for (; i >= 0 && f->ends[i] > o; i--)
            segment++;
        needed[o] = !f->collapse || of[f->keys[o]] != segment;
        of[f->keys[o]] = segment;
    }
    free(of);
    return needed;
}

/* Every row of the view whose key is in [lo, hi), and no other. Returns the number of runs. */
static size_t check_view(const fixture *f, const held_view *v, int64_t lo, int64_t hi)
{
    struct ArrowArray lo_key = {0}, hi_key = {0};
    pml_error err = PML_ERROR_INIT;
    pml_rt_streams s = {.struct_size = sizeof s};
    bound(&lo_key, f, lo);
    bound(&hi_key, f, hi);
    const pml_rt_query q = {.struct_size = sizeof q,
                            .read_schema = &f->transport,
                            .limit = -1,
                            .batch_rows = 1000,
                            .key_lo = lo <= 0 ? NULL : &lo_key,
                            .key_hi = hi >= f->n_keys ? NULL : &hi_key};
    must_ok(v->vt->query_streams(v->view, &s, &q, &err), &err);
    pml_array__release(&lo_key);
    pml_array__release(&hi_key);
    seen got = look(f, &s);
    bool *needed = needed_rows(f, v->end);
    for (int64_t o = 0; o < f->next; o++) {
        bool wanted = o < v->end && f->keys[o] >= lo && f->keys[o] < hi;
        if (got.rows[o] > wanted || (got.rows[o] < wanted && needed[o]))
            fail_msg("the row with offset %lld and key %lld came %d times", (long long)o, (long long)f->keys[o], got.rows[o]);
    }
    free(needed);
    free(got.rows);
    return got.runs;
}

static void drop_view(held_view *v)
{
    if (v->view != NULL)
        v->vt->release(v->view);
    v->view = NULL;
}

static void check_segment(fixture *f, void *segment)
{
    pml_rt_segment_info info = {.struct_size = sizeof info};
    pml_rt_streams s = {.struct_size = sizeof s};
    pml_error err = PML_ERROR_INIT;
    must_ok(f->vt->segment_info(segment, &info, &err), &err);
    assert_int_equal(info.range.begin, f->sealed);
    assert_int_equal(info.range.end, f->next);
    assert_int_equal(info.rows, f->next - f->sealed);
    must_ok(f->vt->commit_streams(f->store, &s, segment, &err), &err);
    seen got = look(f, &s);
    uint64_t hash = info.collapsed_hash;
    bool *needed = needed_rows(f, f->next);
    assert_int_equal(got.n + info.collapsed_rows, f->next - f->sealed);
    assert_true(f->collapse || info.collapsed_rows == 0);
    for (int64_t o = f->sealed; o < f->next; o++) {
        assert_true(got.rows[o] == 1 || (got.rows[o] == 0 && !needed[o]));
        hash += (uint64_t)got.rows[o] * pml_hash__mix64((uint64_t)o) - pml_hash__mix64((uint64_t)o);
    }
    assert_int_equal(hash, 0);
    f->collapsed += info.collapsed_rows;
    free(needed);
    free(got.rows);
    f->vt->segment_release(segment);
}

static void seal(fixture *f)
{
    void *segment;
    pml_error err = PML_ERROR_INIT;
    must_ok(f->vt->seal(f->store, &segment, &err), &err);
    assert_true((segment != NULL) == (f->next > f->sealed));
    if (segment != NULL)
        check_segment(f, segment);
    f->sealed = f->next;
    assert_true(f->n_ends < sizeof f->ends / sizeof f->ends[0]);
    f->ends[f->n_ends++] = f->next;
}

/* ---- tests ---- */

/* Nearly every merge is left to the thread. */
static const pml_rt_kv few_inline = {{"realtime.memory.inline-merge-rows", 33}, {"100", 3}};

static void episode(uint64_t seed, uint32_t flags)
{
    static const int64_t sizes[] = {1, 1, 1, 2, 30, 63, 64, 64, 100, 1000};
    fixture f;
    held_view held[HELD] = {{0}};
    open_store(&f, seed, (seed % 3 == 0) ? 5 : 2000, seed % 2 == 0 ? &few_inline : NULL, flags);
    for (int step = 0; step < 300 && f.next < ROWS_MAX - 1000; step++) {
        int64_t dice = (int64_t)(test_random(f.t) % 100), lo = (int64_t)(test_random(f.t) % (uint64_t)f.n_keys);
        held_view *v = &held[dice % HELD];
        if (dice < 90) {
            write_rows(&f, sizes[test_random(f.t) % 10]);
        } else if (dice < 91) {
            seal(&f);
        } else if (v->view == NULL) {
            *v = take_view(&f);
        } else {
            (void)check_view(&f, v, 0, f.n_keys);
            (void)check_view(&f, v, lo, lo + 1 + dice % 3 * (f.n_keys / 3));
            drop_view(v);
        }
    }
    for (int i = 0; i < HELD; i++) {
        if (held[i].view != NULL)
            (void)check_view(&f, &held[i], 0, f.n_keys);
        drop_view(&held[i]);
    }
    seal(&f);
    assert_true(flags == 0 || f.collapsed > 0);
    close_store(&f);
}

static void every_row_comes_once_and_in_order(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    int64_t rounds = test_setting("ROUNDS", 3, 1, 1000000);
    for (int64_t i = 0; i < rounds; i++)
        episode(seed + (uint64_t)i, 0);
}

/* realtime-pk.md 14.6 */
static void collapsed_rows_are_counted_and_the_newest_stays(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    int64_t rounds = test_setting("ROUNDS", 3, 1, 1000000);
    for (int64_t i = 0; i < rounds; i++)
        episode(seed + (uint64_t)i, 1);
}

/* realtime-pk.md 11.4 */
static void ten_thousand_writes_leave_few_runs(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 30};
    const pml_rt_kv inline_merges = {{"realtime.memory.inline-merge-rows", 33}, {"1000000", 7}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fixture f;
        open_store(&f, 5, 1000000, &inline_merges, 0);
        for (int64_t n = 0; n < 10000; n++)
            write_rows(&f, sizes[i]);
        held_view v = take_view(&f);
        size_t runs = check_view(&f, &v, 0, f.n_keys);
        print_message("%zu runs of 10,000 writes of %lld rows\n", runs, (long long)sizes[i]);
        assert_in_range(runs, 1, 21);
        drop_view(&v);
        close_store(&f);
    }
}

/* ---- threads ---- */

typedef struct watcher {
    const fixture *f;
    atomic_bool stop, wrong;
    int64_t looks;
    size_t runs_max;
    pthread_t thread;
} watcher;

/* Whether a view's rows are as many as it says, and each run is in order. */
static bool is_whole(watcher *w)
{
    held_view v = {0}; /* of no known end: the writer writes */
    pml_rt_view_info info = {.struct_size = sizeof info};
    pml_rt_streams s = {.struct_size = sizeof s};
    const pml_rt_query q = {.struct_size = sizeof q, .read_schema = &w->f->transport, .limit = -1};
    int64_t rows = 0;
    bool ok = w->f->vt->acquire_view(w->f->store, &v.view, &v.vt, NULL) == PML_OK && v.vt->info(v.view, &info, NULL) == PML_OK && v.vt->query_streams(v.view, &s, &q, NULL) == PML_OK;
    w->runs_max = s.n > w->runs_max ? s.n : w->runs_max;
    for (size_t i = 0; i < s.n; i++) {
        struct ArrowArray a = {0};
        int64_t last = -1;
        while (ok && (ok = s.v[i].get_next(&s.v[i], &a) == 0) && a.release != NULL) {
            const int64_t *keys = (const int64_t *)a.children[SYSTEM]->buffers[1] + a.children[SYSTEM]->offset + a.offset;
            for (int64_t row = 0; row < a.length; last = keys[row++])
                ok = ok && keys[row] >= last;
            rows += a.length;
            pml_array__release(&a);
        }
        s.v[i].release(&s.v[i]);
    }
    if (s.free != NULL)
        s.free(&s);
    drop_view(&v);
    return ok && rows == info.rows;
}

static void *watch(void *arg)
{
    watcher *w = arg;
    for (; !atomic_load(&w->stop); w->looks++)
        if (!is_whole(w))
            atomic_store(&w->wrong, true);
    return NULL;
}

static void readers_and_the_merging_thread_see_whole_views(void **state)
{
    (void)state;
    enum { WATCHERS = 2 };
    fixture f;
    watcher w[WATCHERS];
    int64_t writes = test_setting("WRITES", 300, 1, 100000);
    open_store(&f, test_seed(), 3000, &few_inline, 0);
    for (int i = 0; i < WATCHERS; i++) {
        w[i] = (watcher){.f = &f};
        assert_int_equal(pthread_create(&w[i].thread, NULL, watch, &w[i]), 0);
    }
    for (int64_t i = 0; i < writes && f.next < ROWS_MAX - 300; i++) {
        write_rows(&f, i % 7 == 0 ? 1 : 64 + i % 200);
        if (i % 150 == 149)
            seal(&f);
    }
    for (int i = 0; i < WATCHERS; i++) {
        atomic_store(&w[i].stop, true);
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        assert_false(atomic_load(&w[i].wrong));
        print_message("%lld looks, at most %zu runs\n", (long long)w[i].looks, w[i].runs_max);
    }
    held_view v = take_view(&f);
    (void)check_view(&f, &v, 0, f.n_keys);
    drop_view(&v);
    close_store(&f);
}

/* What the thread has merged comes in with the next chunk. */
static void the_thread_leaves_few_runs(void **state)
{
    (void)state;
    fixture f;
    size_t runs = 1000;
    open_store(&f, 9, 1000000, &few_inline, 0);
    for (int i = 0; i < 60; i++)
        write_rows(&f, 64);
    for (int tries = 0; tries < 2000 && runs > 40 && f.next < ROWS_MAX - 64; tries++) {
        held_view v = take_view(&f);
        runs = check_view(&f, &v, 0, f.n_keys);
        drop_view(&v);
        test_sleep_a_millisecond();
        if (runs > 40)
            write_rows(&f, 64);
    }
    assert_in_range(runs, 1, 40);
    close_store(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_once_and_in_order), cmocka_unit_test(collapsed_rows_are_counted_and_the_newest_stays),
        cmocka_unit_test(ten_thousand_writes_leave_few_runs),
        cmocka_unit_test(readers_and_the_merging_thread_see_whole_views), cmocka_unit_test(the_thread_leaves_few_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
