/* SPDX-License-Identifier: Apache-2.0 */
/* Gauges, counters and histograms of a context beyond those of context_test.c (realtime.md 21). Numbers: 14b. The clock moves only
   when a test says so. */
#include <string.h>

#include "realtime/rt_context.h"
#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

static void pass(rt_kit *k, int64_t ms)
{
    (void)atomic_fetch_add(&k->t->mono_ns, ms * 1000000);
}

static void age_of_the_oldest_uncommitted_row_follows_its_life(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, manual);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_age_ms, 0);
    rt_kit_write(&k, 1, "a");
    pass(&k, 100);
    rt_kit_write(&k, 1, "a"); /* the first row counts */
    rt_kit_write(&k, 1, "b");
    pass(&k, 50);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_age_ms, 150);
    must_ok(pml_rt_seal(k.w, &err), &err);
    rt_kit_write(&k, 1, "a");
    pass(&k, 10);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_age_ms, 160);
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    assert_int_equal(rt_kit_metrics(&k).prepares_in_flight, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_progress_abort(k.commit, e, n, &err), &err);
    pml_rt_prepared_free(p);
    assert_int_equal(rt_kit_metrics(&k).prepares_in_flight, 0);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_age_ms, 160);
    p = rt_kit_prepare(&k, 2);
    rt_kit_write(&k, 1, "b");
    pass(&k, 7);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    pml_rt_metrics m = rt_kit_metrics(&k);
    assert_int_equal(m.uncommitted_age_ms, 7); /* of what came after the prepare */
    /* Segments: a was written at 0 and 150, b at 100, all committed at 167. */
    assert_int_equal(m.visible_to_committed_millis.count, 3);
    assert_int_equal(m.visible_to_committed_millis.sum, 167 + 17 + 67);
    assert_int_equal(m.visible_to_committed_millis.max, 167);
    assert_int_equal(m.visible_to_committed_millis.bucket[8], 1); /* 128 to 255 */
    assert_int_equal(m.visible_to_committed_millis.bucket[7], 1); /* 64 to 127 */
    assert_int_equal(m.visible_to_committed_millis.bucket[5], 1); /* 16 to 31 */
    (void)rt_kit_cycle(&k, 3);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_age_ms, 0);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_rows, 0);
    rt_kit_close(&k);
}

static void rows_of_an_aborted_writer_are_not_waiting(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pass(&k, 100);
    pml_rt_writer_abort(k.w);
    k.w = NULL;
    pml_rt_metrics m = rt_kit_metrics(&k);
    assert_int_equal(m.uncommitted_age_ms, 0);
    assert_int_equal(m.uncommitted_rows, 0);
    assert_int_equal(m.pb_active, 0);
    assert_int_equal(m.pb_reset, 1);
    rt_kit_close(&k);
}

static void views_are_counted_aged_and_pin_memory(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 500, "a");
    pml_plan *first = rt_kit_plan(&k);
    pass(&k, 30);
    pml_plan *second = rt_kit_plan(&k);
    pass(&k, 5);
    pml_rt_metrics m = rt_kit_metrics(&k);
    assert_int_equal(m.open_views, 2);
    assert_int_equal(m.oldest_view_ms, 35);
    assert_true(m.run_count > 0);
    assert_int_equal(m.pinned_bytes, 0); /* they are memory of the table as well */
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 1), &err), &err);
    m = rt_kit_metrics(&k);
    assert_int_equal(m.total_row_count, 0);
    assert_true(m.pinned_bytes > 0);
    pml_plan_free(first);
    assert_int_equal(rt_kit_metrics(&k).oldest_view_ms, 5);
    pml_plan_free(second);
    m = rt_kit_metrics(&k);
    assert_int_equal(m.oldest_view_ms, 0);
    assert_int_equal(m.pinned_bytes, 0);
    assert_int_equal(m.run_count, 0);
    assert_int_equal(m.plan_micros.count, 2);
    rt_kit_close(&k);
}

static void states_of_partition_buckets_are_told_apart(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 1, "a");
    rt_kit_write(&k, 1, "b");
    rt_kit_write(&k, 1, "c");
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 1), &err), &err);
    k.foreign_progress = "{\"version\":1,\"offsets\":[{\"partition\":{\"p\":\"a\"},\"bucket\":0,\"offset\":1,\"lost\":true},"
                         "{\"partition\":{\"p\":\"b\"},\"bucket\":0,\"offset\":0},"
                         "{\"partition\":{\"p\":\"c\"},\"bucket\":0,\"offset\":1}]}";
    must_ok(pml_rt_advance(k.ctx, rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL), &err), &err);
    pml_rt_metrics m = rt_kit_metrics(&k);
    assert_int_equal(m.pb_active, 1);
    assert_int_equal(m.pb_lost, 1);
    assert_int_equal(m.pb_reset, 1);
    assert_int_equal(m.pb_failed, 0);
    rt_kit_close(&k);
}

static void tickets_are_counted(void **state)
{
    (void)state;
    static const char *const in_line[] = {"realtime.reaper", "inline"};
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_text text[3];
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, in_line);
    rt_kit_write(&k, 5, "a");
    pml_plan *plan = rt_kit_plan(&k);
    for (int i = 0; i < 3; i++)
        must_ok(pml_rt_split_serialize(&text[i], plan, 0, &err), &err);
    pml_plan_free(plan);
    assert_int_equal(rt_kit_metrics(&k).open_tickets, 3);
    must_ok(pml_rt_split_release_ticket(k.ctx, &(pml_blob){text[0].ptr, text[0].len}, &err), &err);
    assert_int_equal(rt_kit_metrics(&k).open_tickets, 2);
    assert_int_equal(rt_kit_metrics(&k).tickets_expired, 0);
    pass(&k, 5 * 60 * 1000);
    pml_rt_tickets__expire(k.ctx);
    assert_int_equal(rt_kit_metrics(&k).open_tickets, 0);
    assert_int_equal(rt_kit_metrics(&k).tickets_expired, 2);
    for (int i = 0; i < 3; i++)
        pml_text_clear(&text[i]);
    rt_kit_close(&k);
}

static void runs_left_out_by_statistics_are_counted(void **state)
{
    (void)state;
    static const char *const full[] = {"realtime.store.stats-mode", "full"};
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *p;
    int64_t rows;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, full);
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 300, "a"); /* each a chunk of its own */
        must_ok(pml_rt_seal(k.w, &err), &err);
    }
    must_ok(pml_predicate_leaf(&p, k.table, "id", PML_OP_GE, &(pml_literal){"600", 3}, 1, &err), &err);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 300);
    assert_int_equal(rt_kit_metrics(&k).pruned_runs, 2);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_predicate_free(p);
    rt_kit_close(&k);
}

static void calls_are_in_their_histograms(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    for (int i = 1; i <= 4; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    pml_rt_metrics m = rt_kit_metrics(&k);
    assert_int_equal(m.write_micros.count, m.write_batches + m.rejected_batches);
    assert_int_equal(m.write_micros.bucket[0], 4); /* the clock stands still */
    assert_int_equal(m.seal_micros.count, m.seals);
    assert_int_equal(m.prepare_millis.count, m.prepares);
    rt_kit_close(&k);
}

static void histogram_puts_values_where_they_belong(void **state)
{
    (void)state;
    static rt_histogram h;
    rt_kit k;
    pml_rt_histogram out = PML_RT_HISTOGRAM_INIT;
    assert_int_equal(pml_rt_histogram_percentile(&out, 50), 0);
    static const struct {
        int64_t v;
        int bucket;
    } cases[] = {{INT64_MIN, 0}, {-1, 0}, {0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {1023, 10}, {1024, 11}, {INT64_MAX, 39},
                 {(INT64_C(1) << 38) - 1, 38}, {INT64_C(1) << 38, 39}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t before = (int64_t)atomic_load(&h.bucket[cases[i].bucket]);
        pml_rt_histogram__add(&h, cases[i].v);
        assert_int_equal((int64_t)atomic_load(&h.bucket[cases[i].bucket]), before + 1);
    }
    /* Percentiles: 90 values of 10, 9 of 100, one of 1000. */
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    for (int i = 0; i < 100; i++)
        pml_rt_histogram__add(&k.ctx->counts.seal_micros, i < 90 ? 10 : i < 99 ? 100 : 1000);
    out = rt_kit_metrics(&k).seal_micros;
    assert_int_equal(out.count, 100);
    assert_int_equal(out.sum, 900 + 900 + 1000);
    assert_int_equal(pml_rt_histogram_percentile(&out, 0), 15);
    assert_int_equal(pml_rt_histogram_percentile(&out, 50), 15);
    assert_int_equal(pml_rt_histogram_percentile(&out, 90), 15);
    assert_int_equal(pml_rt_histogram_percentile(&out, 91), 127);
    assert_int_equal(pml_rt_histogram_percentile(&out, 100), 1000);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(age_of_the_oldest_uncommitted_row_follows_its_life),
        cmocka_unit_test(rows_of_an_aborted_writer_are_not_waiting),
        cmocka_unit_test(views_are_counted_aged_and_pin_memory),
        cmocka_unit_test(states_of_partition_buckets_are_told_apart),
        cmocka_unit_test(tickets_are_counted),
        cmocka_unit_test(runs_left_out_by_statistics_are_counted),
        cmocka_unit_test(calls_are_in_their_histograms),
        cmocka_unit_test(histogram_puts_values_where_they_belong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
