/* SPDX-License-Identifier: Apache-2.0 */
/* How the memory store arranges its chunks: many small writes leave few, slices pin nothing, statistics leave chunks out. */
#include "support/store_kit.h"

#include "stores/memory.h"

#include "columnar/array_memory.h"

#include <time.h>

static void must_hold(kit *k, bool ok)
{
    if (!ok)
        print_error("%s\n", k->why);
    assert_true(ok);
}

static const void *written, *given_back; /* the newest ids, as they came and as a query gave them */

/* A batch of the narrow columns: ids from `first` on, inside of a larger array. */
static void write_ids(kit *k, int64_t first, int64_t n, int64_t before, int64_t after)
{
    struct ArrowArray children[2] = {{0}}, array;
    const pml_value yes = {.kind = PML_VALUE_BOOL, .i = 1};
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_array__init(&children[0], k->t->env, NULL, 2, 0, NULL), NULL);
    int64_t *ids = pml_array__alloc(&children[0], 1, (size_t)(before + n + after) * 8);
    assert_non_null(ids);
    written = ids;
    for (int64_t i = 0; i < before + n + after; i++)
        ids[i] = first - before + i;
    children[0].length = before + n + after;
    must_ok(pml_batch__constant(&children[1], k->t->env, &k->columns[1].type, &yes, before + n + after, NULL), NULL);
    must_ok(pml_batch__from_columns(&array, k->t->env, children, 2, before + n + after, NULL), NULL);
    array.offset = before;
    array.length = n;
    const pml_rt_batch b = {.struct_size = sizeof b,
                            .flags = PML_RT_BATCH_DENSE,
                            .array = &array,
                            .schema_id = k->layout->schema_id,
                            .range = {k->next, k->next + n},
                            .rows = n,
                            .bytes = (uint64_t)n * 8 + (uint64_t)(n + 7) / 8};
    pml_rt_batch given = b;
    must_ok(k->vt->write(k->store, &given, &err), &err);
    assert_null(array.release);
    k->next += n;
}

/* Arrays and rows of a query; ids must rise by one from `first` on when it is not negative. */
static void count(kit *k, int *arrays, int64_t *rows, const void *predicate, int64_t first)
{
    void *view;
    const pml_rt_view_vtbl *vt;
    pml_error err = PML_ERROR_INIT;
    pml_rt_streams s = {.struct_size = sizeof s};
    const pml_rt_query q = {.struct_size = sizeof q, .read_schema = &k->transport, .predicate = predicate, .limit = -1};
    *arrays = 0;
    *rows = 0;
    must_ok(k->vt->acquire_view(k->store, &view, &vt, &err), &err);
    must_ok(vt->query_streams(view, &s, &q, &err), &err);
    for (bool more = true; more;) {
        struct ArrowArray a = {0};
        assert_int_equal(s.v[0].get_next(&s.v[0], &a), 0);
        more = a.release != NULL;
        *arrays += more;
        given_back = more ? a.children[1]->buffers[1] : given_back;
        for (int64_t r = 0; more && first >= 0 && r < a.length; r++)
            assert_int_equal(((const int64_t *)a.children[1]->buffers[1])[a.children[1]->offset + r], first + *rows + r);
        *rows += a.length;
        pml_array__release(&a);
    }
    s.v[0].release(&s.v[0]);
    s.free(&s);
    vt->release(view);
}

/* realtime-tests.md 50 */
static void memory_store_of_many_one_row_writes_has_few_chunks(void **state)
{
    (void)state;
    kit k;
    int arrays;
    int64_t rows;
    pml_rt_usage u;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_NARROW));
    for (int64_t i = 0; i < 100000; i++)
        write_ids(&k, i, 1, 0, 0);
    count(&k, &arrays, &rows, NULL, 0);
    assert_int_equal(rows, 100000);
    print_message("%d chunks\n", arrays);
    assert_in_range(arrays, 1, 20);
    must_hold(&k, kit_usage(&k, &u));
    assert_int_equal(u.building_rows, 100000);
    assert_in_range(u.building_bytes, 100000 * 8, 100000 * 20);
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_joins_no_further_than_the_option_says(void **state)
{
    (void)state;
    kit k;
    int arrays;
    int64_t rows;
    must_hold(&k, store_kit_open_with(&k, pml_memory_store_plugin(), KIT_NARROW, PML_RT_STATS_NONE, "realtime.memory.chunk-bytes",
                                      "1 kb"));
    for (int64_t i = 0; i < 40; i++)
        write_ids(&k, i * 100, 100, 0, 0);
    count(&k, &arrays, &rows, NULL, 0);
    assert_int_equal(rows, 4000);
    assert_int_equal(arrays, 40); /* four of them are larger together */
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_copies_small_slices_of_large_buffers(void **state)
{
    (void)state;
    kit k;
    int arrays;
    int64_t rows;
    must_hold(&k, store_kit_open_with(&k, pml_memory_store_plugin(), KIT_NARROW, PML_RT_STATS_NONE, "realtime.memory.chunk-bytes",
                                      "1 kb"));
    static const int64_t around[][2] = {{5000, 5000}, {0, 10000}, {10000, 0}};
    for (size_t i = 0; i < 3; i++) {
        write_ids(&k, k.next, 100, around[i][0], around[i][1]);
        count(&k, &arrays, &rows, NULL, 0);
        assert_ptr_not_equal(given_back, written);
    }
    write_ids(&k, k.next, 1, 10000, 0);
    write_ids(&k, k.next, 100, 20, 20); /* most of it is the batch */
    count(&k, &arrays, &rows, NULL, 0);
    assert_int_equal(rows, 401);
    assert_ptr_equal(given_back, written);
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_statistics_leave_chunks_out(void **state)
{
    (void)state;
    for (uint32_t mode = PML_RT_STATS_NONE; mode <= PML_RT_STATS_FULL; mode++) {
        kit k;
        int arrays;
        int64_t rows;
        must_hold(&k, store_kit_open_with(&k, pml_memory_store_plugin(), KIT_NARROW, mode, "realtime.memory.chunk-bytes", "1 kb"));
        const int32_t id = k.columns[0].id;
        must_ok(pml_rt_host__set_key_columns(k.host, k.layout->schema_id, &id, 1, NULL), NULL);
        for (int64_t i = 0; i < 20; i++)
            write_ids(&k, i * 100, 100, 0, 0);
        write_ids(&k, 2000, 1, 0, 0); /* in the open chunk, which has no statistics */
        pml_value seven = {.kind = PML_VALUE_INT, .i = 777};
        const pml_pred p = {
            .op = PML_PRED_EQ, .field_id = id, .type = &k.columns[0].type, .name = "id", .n_literals = 1, .literals = &seven};
        for (int again = 0; again < 2; again++) {
            count(&k, &arrays, &rows, &p, -1);
            assert_int_equal(rows, mode == PML_RT_STATS_NONE ? 2001 : 101);
        }
        kit_close(&k);
        assert_false(k.failed);
    }
}

/* The promises of the kit hold with statistics too: its cases run on a store that makes them. */
static void memory_store_with_statistics_loses_no_row(void **state)
{
    (void)state;
    kit k;
    must_hold(&k, store_kit_open_with(&k, pml_memory_store_plugin(), KIT_ALL, PML_RT_STATS_FULL, NULL, NULL));
    must_hold(&k, kit_case_pruning(&k));
    kit_close(&k);
    assert_false(k.failed);
    must_hold(&k, store_kit_open_with(&k, pml_memory_store_plugin(), KIT_ALL, PML_RT_STATS_FULL, "realtime.memory.chunk-bytes", "0"));
    must_hold(&k, kit_case_pruning(&k));
    kit_close(&k);
    assert_false(k.failed);
}

/* How many streams a query of all rows gets, whose rows are those of the view. */
static size_t count_runs(kit *k, const kit_view *view)
{
    must_hold(k, kit_query(k, 0, view, NULL, 0, 100));
    size_t n = k->streams[0].n;
    must_hold(k, kit_drain_keyed(k, 0, 0, view->info.end, false, NULL, 0));
    return n;
}

/* The same where the n-th allocation fails: an error, or streams. A merge that fails leaves the runs as they are. */
static void query_without_memory(kit *k, const kit_view *view)
{
    for (long long n = 1; n < 200; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_rt_streams s = {.struct_size = sizeof s};
        const pml_rt_query q = {.struct_size = sizeof q, .read_schema = &k->transport, .limit = -1};
        test_env_fail_at(k->t, n);
        int rc = view->vt->query_streams(view->view, &s, &q, &err);
        test_env_fail_at(k->t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && s.n == 0));
        for (size_t i = 0; i < s.n; i++)
            s.v[i].release(&s.v[i]);
        if (rc == PML_OK)
            s.free(&s);
    }
}

/* A thread of the host makes it so many, after a while. */
static void wait_for_runs(kit *k, const kit_view *view, size_t wanted)
{
    const struct timespec ms = {0, 1000000};
    size_t n = count_runs(k, view);
    for (int i = 0; n != wanted && i < 20000; i++) {
        (void)nanosleep(&ms, NULL);
        n = count_runs(k, view);
    }
    assert_int_equal(n, wanted);
}

static void write_rows(kit *k, int n)
{
    for (int i = 0; i < n; i++)
        must_hold(k, kit_write(k, 1, true, 0));
}

static void memory_store_merges_small_runs_for_readers(void **state)
{
    (void)state;
    kit k;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_KEYED));
    write_rows(&k, 400); /* chunks of 64 and 256 rows, and an open one */
    must_hold(&k, kit_view_acquire(&k, 0));
    assert_int_equal(count_runs(&k, &k.views[0]), 3);
    query_without_memory(&k, &k.views[0]);
    wait_for_runs(&k, &k.views[0], 1);
    write_rows(&k, 1);
    must_hold(&k, kit_view_acquire(&k, 1));
    assert_int_equal(count_runs(&k, &k.views[1]), 3); /* other rows */
    wait_for_runs(&k, &k.views[1], 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_runs(&k, &k.views[0]), 3); /* what is kept has a row more than this view */
    write_rows(&k, 2000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_runs(&k, &k.views[i % 2]), 3); /* nothing is kept with a chunk that is closed */
    must_hold(&k, kit_write(&k, 20000, true, 0)); /* so many are never merged for readers */
    write_rows(&k, 1);
    must_hold(&k, kit_view_acquire(&k, 2));
    size_t all = count_runs(&k, &k.views[2]);
    assert_true(all > 2);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_runs(&k, &k.views[2]), all);
    kit_close(&k);
    assert_false(k.failed);
}

/* What is merged for readers is counted; where it is never read it is not made again, until somebody reads the same rows twice. */
static void memory_store_does_not_merge_for_nobody(void **state)
{
    (void)state;
    const struct timespec ms = {0, 1000000};
    kit k;
    kit_view *v = &k.views[0];
    pml_rt_usage before, after = {0};
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_KEYED));
    write_rows(&k, 400);
    must_hold(&k, kit_usage(&k, &before));
    must_hold(&k, kit_view_acquire(&k, 0));
    assert_int_equal(count_runs(&k, v), 3);
    for (int i = 0; after.pinned_only_bytes <= before.pinned_only_bytes && i < 20000; i++) {
        (void)nanosleep(&ms, NULL);
        must_hold(&k, kit_usage(&k, &after)); /* it was merged */
    }
    assert_true(after.pinned_only_bytes > before.pinned_only_bytes);
    for (int i = 0; i < 20; i++) { /* a writer and a reader in turns */
        kit_view_release(&k, 0);
        write_rows(&k, 1);
        must_hold(&k, kit_view_acquire(&k, 0));
        assert_int_equal(count_runs(&k, v), 3);
        (void)nanosleep(&ms, NULL);
        must_hold(&k, kit_usage(&k, &after));
        assert_int_equal(after.pinned_only_bytes, before.pinned_only_bytes);
    }
    assert_int_equal(count_runs(&k, v), 3);
    wait_for_runs(&k, v, 1);
    kit_view_release(&k, 0);
    kit_close(&k);
    assert_false(k.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_store_of_many_one_row_writes_has_few_chunks),
        cmocka_unit_test(memory_store_joins_no_further_than_the_option_says),
        cmocka_unit_test(memory_store_copies_small_slices_of_large_buffers),
        cmocka_unit_test(memory_store_statistics_leave_chunks_out),
        cmocka_unit_test(memory_store_with_statistics_loses_no_row),
        cmocka_unit_test(memory_store_merges_small_runs_for_readers),
        cmocka_unit_test(memory_store_does_not_merge_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
