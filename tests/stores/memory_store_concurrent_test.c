/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads on one store (realtime-tests.md 23): every view is a contiguous range of whole batches up to the newest. */
#include "support/store_kit.h"

#include <sched.h>

#include "columnar/array_memory.h"
#include "stores/memory.h"
#include "util/thread.h"

enum {
    LOOKS = 600,          /* views that are read; writing goes on as long */
    BATCHES_PER_LOOK = 8, /* writers wait for readers: views stay small and many moments are seen */
    WRITERS = 2,
    SIZES = 5,
    CYCLE = 15
};

typedef struct race {
    kit k;
    pthread_mutex_t write_mu; /* write and seal come one at a time */
    int batch;
    int64_t next;
    atomic_llong sealed_end, written_end, advanced;
    atomic_int done; /* writers that have finished */
    atomic_int turn, looks;
    const char *_Atomic why;
} race;

static bool expect(race *r, bool ok, const char *why)
{
    if (!ok)
        atomic_store(&r->why, why);
    return ok;
}

static bool over(race *r)
{
    return atomic_load(&r->why) != NULL || atomic_load(&r->done) == WRITERS;
}

/* Batch i has 1 + i % 5 rows, so that its borders are known from an offset alone: 0, 1, 3, 6, 10 of each 15. */
static bool is_border(int64_t offset)
{
    int64_t at = offset % CYCLE;
    return at == 0 || at == 1 || at == 3 || at == 6 || at == 10;
}

static int make_batch(struct ArrowArray *out, race *r, int64_t first, int64_t n)
{
    struct ArrowArray children[2] = {{0}};
    int rc = pml_array__init(&children[0], r->k.t->env, NULL, 2, 0, NULL);
    int64_t *ids = rc == PML_OK ? pml_array__alloc(&children[0], 1, (size_t)n * 8) : NULL;
    for (int64_t i = 0; i < n && ids != NULL; i++)
        ids[i] = first + i;
    const pml_value yes = {.kind = PML_VALUE_BOOL, .i = 1};
    children[0].length = n;
    if (rc == PML_OK)
        rc = pml_batch__constant(&children[1], r->k.t->env, &r->k.columns[1].type, &yes, n, NULL);
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, r->k.t->env, children, 2, n, NULL);
    return rc;
}

static void *write_batches(void *p)
{
    race *r = p;
    bool more = true;
    while (more && atomic_load(&r->why) == NULL) {
        struct ArrowArray a = {0};
        int looks = atomic_load(&r->looks);
        more = looks < LOOKS;
        pthread_mutex_lock(&r->write_mu);
        bool ahead = r->batch >= (looks + 10) * BATCHES_PER_LOOK;
        if (more && !ahead) {
            int64_t n = 1 + r->batch++ % SIZES;
            bool ok = expect(r, make_batch(&a, r, r->next, n) == PML_OK, "no batch");
            pml_rt_batch b = {.struct_size = sizeof b,
                              .flags = PML_RT_BATCH_DENSE,
                              .array = &a,
                              .schema_id = r->k.layout->schema_id,
                              .range = {r->next, r->next + n},
                              .rows = n,
                              .bytes = (uint64_t)n * 9};
            (void)(ok && expect(r, r->k.vt->write(r->k.store, &b, NULL) == PML_OK, "write failed"));
            r->next += n;
            atomic_store(&r->written_end, r->next);
        }
        pthread_mutex_unlock(&r->write_mu);
        if (ahead)
            (void)sched_yield();
    }
    (void)atomic_fetch_add(&r->done, 1);
    return NULL;
}

/* Rows [*first, *end) in order; *first is set by the first row, -1 when there is none. */
static bool drain(race *r, pml_rt_streams *s, int64_t *first, int64_t *end)
{
    *first = *end = -1;
    bool ok = expect(r, s->n == 1, "not one stream"), more = ok;
    while (more) {
        struct ArrowArray a = {0};
        ok = expect(r, s->v[0].get_next(&s->v[0], &a) == 0, "get_next failed");
        more = ok && a.release != NULL;
        for (int64_t i = 0; more && i < a.length && ok; i++) {
            int64_t offset = ((const int64_t *)a.children[0]->buffers[1])[a.children[0]->offset + i];
            int64_t id = ((const int64_t *)a.children[1]->buffers[1])[a.children[1]->offset + i];
            ok = expect(r, *end < 0 || offset == *end, "the offsets of a view have a hole") &&
                 expect(r, id == offset, "a foreign row");
            *first = *first < 0 ? offset : *first;
            *end = offset + 1;
        }
        pml_array__release(&a);
        more = more && ok;
    }
    if (s->n == 1)
        s->v[0].release(&s->v[0]);
    if (s->v != NULL)
        s->free(s);
    return ok;
}

static void *seal_and_read(void *p)
{
    race *r = p;
    int64_t expected = 0;
    for (bool last = false; !last && atomic_load(&r->why) == NULL;) {
        void *segment = NULL;
        int64_t first = -1, end = -1;
        pml_rt_streams s = {.struct_size = sizeof s};
        last = over(r);
        pthread_mutex_lock(&r->write_mu);
        bool ok = expect(r, r->k.vt->seal(r->k.store, &segment, NULL) == PML_OK, "seal failed");
        pthread_mutex_unlock(&r->write_mu);
        if (!ok || segment == NULL) {
            (void)sched_yield();
            continue;
        }
        ok = expect(r, r->k.vt->commit_streams(r->k.store, &s, segment, NULL) == PML_OK, "commit_streams failed") &&
             drain(r, &s, &first, &end) &&
             expect(r, first == expected && is_border(end), "a segment is not what was written");
        r->k.vt->segment_release(segment);
        expected = end;
        if (ok)
            atomic_store(&r->sealed_end, end);
    }
    return NULL;
}

static void *advance(void *p)
{
    race *r = p;
    while (!over(r)) {
        int64_t end = atomic_load(&r->sealed_end), half = end - (end - atomic_load(&r->advanced)) / 2;
        if (half <= atomic_load(&r->advanced)) {
            (void)sched_yield();
            continue;
        }
        atomic_store(&r->advanced, half);
        (void)expect(r, r->k.vt->advance(r->k.store, half, 1, NULL) == PML_OK, "advance failed");
    }
    return NULL;
}

static bool look(race *r, void *view, const pml_rt_view_vtbl *vt, int64_t batch_rows)
{
    int64_t first, end;
    pml_rt_view_info i = {.struct_size = sizeof i};
    pml_rt_streams s = {.struct_size = sizeof s};
    const pml_rt_query q = {.struct_size = sizeof q,
                            .read_schema = &r->k.transport,
                            .visible = {0, INT64_MAX},
                            .batch_rows = batch_rows,
                            .limit = -1};
    return expect(r, vt->info(view, &i, NULL) == PML_OK && vt->query_streams(view, &s, &q, NULL) == PML_OK,
                  "no streams") &&
           drain(r, &s, &first, &end) &&
           expect(r, is_border(i.end) && i.floor <= i.end, "a view ends inside a batch") &&
           expect(r,
                  (first < 0 && i.rows == 0 && i.floor == i.end) ||
                      (end == i.end && first <= i.floor && first == i.first),
                  "a view does not reach from its floor to its end") &&
           expect(r, first < 0 || (is_border(first) && end - first == i.rows), "a view begins inside a batch");
}

static void *view(void *p)
{
    race *r = p;
    const int64_t batch_rows = atomic_fetch_add(&r->turn, 1) % 2 == 0 ? 0 : 2;
    void *old = NULL;
    const pml_rt_view_vtbl *vt = NULL, *old_vt = NULL;
    for (int round = 0; !over(r); round++) {
        void *now = NULL;
        pml_rt_usage u = {.struct_size = sizeof u};
        pml_rt_view_info i = {.struct_size = sizeof i};
        int64_t written = atomic_load(&r->written_end);
        if (!expect(r, r->k.vt->acquire_view(r->k.store, &now, &vt, NULL) == PML_OK, "acquire_view failed"))
            break;
        (void)(expect(r, vt->info(now, &i, NULL) == PML_OK && i.end >= written,
                      "a view lacks a row that was written before it") &&
               look(r, now, vt, batch_rows) && (old == NULL || look(r, old, old_vt, batch_rows)) &&
               expect(r, r->k.vt->usage(r->k.store, &u, NULL) == PML_OK && u.pinned_only_bytes < (1u << 30),
                      "usage is wrong"));
        (void)atomic_fetch_add(&r->looks, 1);
        if (old != NULL && round % 4 == 0) {
            old_vt->release(old);
            old = NULL;
        }
        if (old == NULL) {
            old = now;
            old_vt = vt;
        } else {
            vt->release(now);
        }
    }
    if (old != NULL)
        old_vt->release(old);
    return NULL;
}

static void memory_store_views_are_whole_while_eight_threads_change_it(void **state)
{
    (void)state;
    static race r;
    static void *(*const what[])(void *) = {write_batches, write_batches, seal_and_read, advance,
                                            view,          view,          view,          view};
    pml_thread threads[sizeof what / sizeof what[0]];
    assert_true(store_kit_open(&r.k, pml_memory_store_plugin(), KIT_NARROW));
    pthread_mutex_init(&r.write_mu, NULL);
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++)
        assert_int_equal(pml_thread__start(&threads[i], what[i], &r), 0);
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++)
        pml_thread__join(&threads[i]);
    pthread_mutex_destroy(&r.write_mu);
    if (r.why != NULL)
        print_error("%s\n", r.why);
    print_message("%d batches, %d looks\n", r.batch, atomic_load(&r.looks));
    assert_null(r.why);
    pml_rt_usage u;
    assert_true(kit_advance(&r.k, atomic_load(&r.written_end)) && kit_usage(&r.k, &u));
    assert_int_equal(u.sealed_bytes + u.building_bytes + u.pinned_only_bytes, 0);
    kit_close(&r.k);
    assert_false(r.k.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_store_views_are_whole_while_eight_threads_change_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
