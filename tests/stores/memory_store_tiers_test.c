/* SPDX-License-Identifier: Apache-2.0 */
/* How the memory store arranges its chunks: many small writes leave few, slices pin nothing, statistics leave chunks out. */
#include "support/store_kit.h"

#include "stores/memory.h"

#include "columnar/array_memory.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_store_of_many_one_row_writes_has_few_chunks),
        cmocka_unit_test(memory_store_joins_no_further_than_the_option_says),
        cmocka_unit_test(memory_store_copies_small_slices_of_large_buffers),
        cmocka_unit_test(memory_store_statistics_leave_chunks_out),
        cmocka_unit_test(memory_store_with_statistics_loses_no_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
