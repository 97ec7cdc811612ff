/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What live calls cost (realtime-tests.md 101 to 104), told by allocations and addresses instead of a clock: a test must not fail
 * because the machine is busy. The figures themselves are measured by bench/.
 */
#include <time.h>

#include "columnar/array_memory.h"
#include "stores/memory.h"
#include "support/rt_kit.h"
#include "support/store_kit.h"

enum { SEGMENTS = 100000 };

static const char trusted[] = "\"bucket\":\"1\",\"bucket-key\":\"id\",\"realtime.validate-input\":\"trusted\"";

/* Allocations of one write call. */
static long long write_cost(rt_kit *k, int64_t n, const pml_rt_pb *pb)
{
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray batch = rt_kit_batch(k, n, NULL);
    struct ArrowSchema schema = rt_kit_schema(k);
    o.pb = pb;
    k->next_id += n;
    long long before = atomic_load(&k->t->count);
    must_ok(pml_rt_write(NULL, k->w, &batch, &schema, &o, &err), &err);
    long long cost = atomic_load(&k->t->count) - before;
    assert_null(batch.release);
    schema.release(&schema);
    return cost;
}

/* 101 */
static void write_of_a_moved_batch_costs_the_same_for_any_size(void **state)
{
    (void)state;
    rt_kit k;
    const pml_rt_pb pb = PML_RT_PB_INIT;
    rt_kit_create(&k, NULL, "", trusted);
    rt_kit_start(&k, NULL, NULL);
    (void)write_cost(&k, 64, &pb); /* opens the store */
    long long small = write_cost(&k, 64, &pb), large = write_cost(&k, 20000, &pb);
    print_message("%lld allocations\n", small);
    assert_int_equal(small, large);
    assert_in_range(small, 1, 4);
    rt_kit_close(&k);
}

/* 101 */
static void write_of_one_row_allocates_nothing(void **state)
{
    (void)state;
    rt_kit k;
    long long total = 0;
    rt_kit_create(&k, NULL, "", trusted);
    rt_kit_start(&k, NULL, NULL);
    (void)write_cost(&k, 1, NULL);
    for (int i = 0; i < 5000; i++)
        total += write_cost(&k, 1, NULL);
    print_message("%lld allocations of 5000 writes\n", total);
    assert_true(total < 500); /* chunks, and joins of chunks */
    rt_kit_must_show(&k, 0, 5001);
    rt_kit_close(&k);
}

static long long plan_cost(rt_kit *k)
{
    long long before = atomic_load(&k->t->count);
    pml_plan_free(rt_kit_plan(k));
    return atomic_load(&k->t->count) - before;
}

/* 102 */
static void plan_costs_the_same_for_any_number_of_rows_in_memory(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", trusted);
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 10, NULL);
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 1, NULL);
    (void)plan_cost(&k); /* reads the progress of the snapshot, once */
    long long first = plan_cost(&k);
    for (int i = 0; i < 300; i++)
        rt_kit_write(&k, 1 + i % 90, NULL);
    assert_int_equal(plan_cost(&k), first);
    rt_kit_close(&k);
}

/* 103 */
static void advance_lets_a_hundred_thousand_segments_go_at_once(void **state)
{
    (void)state;
    kit k;
    pml_rt_usage u;
    struct timespec from, to;
    pml_error err = PML_ERROR_INIT;
    assert_true(store_kit_open(&k, pml_memory_store_plugin(), KIT_NARROW));
    for (int i = 0; i < SEGMENTS; i++) {
        void *segment;
        struct ArrowArray children[2] = {{0}}, array;
        const pml_value v[] = {{.kind = PML_VALUE_INT, .i = i}, {.kind = PML_VALUE_BOOL, .i = 1}};
        for (int c = 0; c < 2; c++)
            must_ok(pml_batch__constant(&children[c], k.t->env, &k.columns[c].type, &v[c], 1, NULL), NULL);
        must_ok(pml_batch__from_columns(&array, k.t->env, children, 2, 1, NULL), NULL);
        pml_rt_batch b = {.struct_size = sizeof b, .flags = PML_RT_BATCH_DENSE, .array = &array, .schema_id = k.layout->schema_id,
                          .range = {i, i + 1}, .rows = 1, .bytes = 9};
        must_ok(k.vt->write(k.store, &b, &err), &err);
        must_ok(k.vt->seal(k.store, &segment, &err), &err);
        k.vt->segment_release(segment);
    }
    long long before = atomic_load(&k.t->count);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    assert_true(kit_advance(&k, SEGMENTS));
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    print_message("%.1f ms\n", (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    assert_int_equal(atomic_load(&k.t->count), before);
    assert_true(kit_usage(&k, &u));
    assert_int_equal(u.sealed_rows, 0);
    kit_close(&k);
}

/* 104 */
static void read_of_memory_gives_the_buffers_that_were_written(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", trusted);
    rt_kit_start(&k, NULL, NULL);
    struct ArrowArray batch = rt_kit_batch(&k, 1000, NULL), out = {0};
    struct ArrowSchema schema = rt_kit_schema(&k);
    struct ArrowArrayStream stream;
    const void *ids = batch.children[0]->buffers[1];
    must_ok(pml_rt_write(NULL, k.w, &batch, &schema, NULL, &err), &err);
    pml_plan *plan = rt_kit_plan(&k);
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    pml_plan_free(plan);
    assert_int_equal(stream.get_next(&stream, &out), 0);
    assert_int_equal(out.length, 1000);
    assert_ptr_equal(out.children[0]->buffers[1], ids);
    out.release(&out);
    stream.release(&stream);
    schema.release(&schema);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_of_a_moved_batch_costs_the_same_for_any_size),
        cmocka_unit_test(write_of_one_row_allocates_nothing),
        cmocka_unit_test(plan_costs_the_same_for_any_number_of_rows_in_memory),
        cmocka_unit_test(advance_lets_a_hundred_thousand_segments_go_at_once),
        cmocka_unit_test(read_of_memory_gives_the_buffers_that_were_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
