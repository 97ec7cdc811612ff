/* SPDX-License-Identifier: Apache-2.0 */
/* What plans show, from write to advance (realtime.md 5, 10, 22.3). Numbers: realtime-tests.md. */
#include <stdio.h>
#include <string.h>

#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

/* 29 */
static void rows_are_visible_before_any_prepare(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_split_info info = PML_SPLIT_INFO_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_must_show(&k, 0, 0);
    rt_kit_write(&k, 7, "a");
    pml_plan *p = rt_kit_plan(&k);
    assert_int_equal(pml_plan_snapshot_id(p), -1);
    assert_int_equal(pml_plan_split_count(p), 1);
    must_ok(pml_plan_split_get(&info, p, 0, &err), &err);
    assert_int_equal(info.rows_in_memory, 7);
    assert_int_equal(info.files, 0);
    rt_kit_must_be(&k, p, 0, 7);
    pml_plan_free(p);
    rt_kit_must_store(&k, 0, 0);
    rt_kit_close(&k);
}

/* 30 */
static void plan_shows_no_row_written_after_it(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 7, "a");
    pml_plan *p = rt_kit_plan(&k);
    rt_kit_write(&k, 3, "a");
    rt_kit_must_be(&k, p, 0, 7);
    rt_kit_must_show(&k, 0, 10);
    pml_plan_free(p);
    rt_kit_close(&k);
}

/* 31, I12: disk, committed but not advanced, prepared, sealed and building rows, each once */
static void rows_of_every_state_come_once(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 1), &err), &err);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_write(&k, 5, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 3);
    rt_kit_must_show(&k, 0, 15);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_seal(k.w, &err), &err);
    rt_kit_must_show(&k, 0, 20);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 25);
    rt_kit_must_store(&k, 0, 10);
    int64_t id = rt_kit_commit(&k, p);
    rt_kit_must_show(&k, 0, 25);
    rt_kit_must_store(&k, 0, 15);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    rt_kit_must_show(&k, 0, 25);
    pml_rt_prepared_free(p);
    (void)rt_kit_cycle(&k, 4);
    rt_kit_must_show(&k, 0, 25);
    rt_kit_must_store(&k, 0, 25);
    rt_kit_close(&k);
}

/* 32 */
static void cycles_return_the_memory_to_zero(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    for (int64_t i = 0; i < 20; i++) {
        rt_kit_write(&k, 3, "a");
        rt_kit_must_show(&k, 0, 3 * (i + 1));
        assert_int_equal(rt_kit_cycle(&k, i), i + 1);
        assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 3 * (i + 1));
        assert_int_equal(rt_kit_metrics(&k).total_memory_bytes, 0);
        assert_int_equal(rt_kit_metrics(&k).uncommitted_rows, 0);
    }
    assert_int_equal(rt_kit_files(&k, ".offsets"), 20);
    rt_kit_close(&k);
}

/* 34 */
static void several_segments_and_rolled_files_are_one_entry(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_entry_info info = PML_RT_ENTRY_INFO_INIT;
    size_t n;
    rt_kit_create(&k, NULL, "", "\"target-file-size\":\"1 kb\",\"target-file-row-num\":\"2000\"");
    rt_kit_start(&k, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 3000, "a");
        must_ok(pml_rt_seal(k.w, &err), &err);
        must_ok(pml_rt_seal(k.w, &err), &err); /* nothing is building: no segment */
    }
    assert_int_equal(rt_kit_metrics(&k).seals, 3);
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    assert_int_equal(n, 1);
    must_ok(pml_rt_entry_get(&info, e[0], &err), &err);
    assert_int_equal(info.begin, 0);
    assert_int_equal(info.end, 9000);
    assert_int_equal(info.rows, 9000);
    assert_true(info.files > 1);
    assert_int_equal(rt_kit_files(&k, ".parquet"), info.files);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 9000);
    rt_kit_must_show(&k, 0, 9000);
    rt_kit_close(&k);
}

/* 36 */
static void partitions_and_buckets_have_offsets_of_their_own(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "\"bucket\":\"3\",\"bucket-key\":\"id\"");
    rt_kit_start(&k, NULL, NULL);
    must_ok(rt_kit_try_write(&k, 120, "*", NULL, &r, &err), &err);
    assert_int_equal(r.n_pbs, 6);
    assert_int_equal(r.rows, 120);
    rt_kit_write(&k, 60, "a");
    rt_kit_must_show(&k, 0, 180);
    (void)rt_kit_cycle(&k, 1);
    int64_t ends = 0;
    for (int b = 0; b < 3; b++)
        ends += rt_kit_end(&k, -1, "a", b) + rt_kit_end(&k, -1, "b", b);
    assert_int_equal(ends, 180);
    rt_kit_stop(&k); /* restart: each goes on at its own end */
    rt_kit_start(&k, NULL, NULL);
    int64_t end = rt_kit_end(&k, -1, "a", r.bucket[0]);
    must_ok(rt_kit_try_write(&k, 60, "a", NULL, &r, &err), &err);
    assert_int_equal(r.first_offset[0], end);
    rt_kit_must_show(&k, 0, 240);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 240);
    rt_kit_close(&k);
}

/* 43 */
static void only_the_last_split_of_a_partition_bucket_has_memory(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "\"source.split.target-size\":\"1 b\",\"source.split.open-file-cost\":\"1 b\"");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "b");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "c");
    pml_plan *p = rt_kit_plan(&k);
    size_t with_memory = 0, only_memory = 0;
    for (size_t i = 0; i < pml_plan_split_count(p); i++) {
        pml_split_info info = PML_SPLIT_INFO_INIT;
        must_ok(pml_plan_split_get(&info, p, i, &err), &err);
        with_memory += info.rows_in_memory > 0;
        only_memory += info.files == 0;
        assert_true(strcmp(info.partition, "p=b") != 0 || info.rows_in_memory == 0);
    }
    /* a: two files, with keys together with its memory; b: one, c: memory */
    assert_int_equal(pml_plan_split_count(p), rt_kit_with_keys() ? 3 : 4);
    assert_int_equal(with_memory, 2);
    assert_int_equal(only_memory, 1);
    rt_kit_must_be(&k, p, 0, 25);
    pml_plan_free(p);
    rt_kit_close(&k);
}

/* I6, I10: an explicit older snapshot shows memory only when none is missing between */
static void older_snapshot_below_the_floor_of_memory_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_write(&k, 5, "a");
    must_ok(rt_kit_try_plan(&p, &k, k.ctx, 1, &err), &err); /* nothing was advanced: memory has all */
    rt_kit_must_be(&k, p, 0, 15);
    pml_plan_free(p);
    must_ok(pml_rt_advance(k.ctx, 2, &err), &err);
    must_fail_with(PML_E_PROGRESS_GAP, rt_kit_try_plan(&p, &k, k.ctx, 1, &err), &err);
    must_fail_with(PML_E_NOT_FOUND, rt_kit_try_plan(&p, &k, k.ctx, 9, &err), &err);
    must_ok(rt_kit_try_plan(&p, &k, NULL, 1, &err), &err);
    rt_kit_must_be(&k, p, 0, 5);
    pml_plan_free(p);
    rt_kit_close(&k);
}

/* The same when the partition-bucket has no entry at all in the older snapshot, with a context that began later: it is older than
   the first commit, not removed. */
static void snapshot_from_before_the_first_commit_is_a_gap(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "b");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "b");
    must_fail_with(PML_E_PROGRESS_GAP, rt_kit_try_plan(&p, &k, k.ctx, 1, &err), &err);
    rt_kit_must_show(&k, 0, 15);
    rt_kit_close(&k);
}

/* 14a, 14h, I9 */
static void plan_and_stream_outlive_writer_and_context(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream s;
    struct ArrowArray a = {0};
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pml_plan *p = rt_kit_plan(&k);
    rt_kit_stop(&k);
    rt_kit_must_be(&k, p, 0, 5);
    must_ok(pml_read_open(&s, p, NULL, &err), &err);
    pml_plan_free(p);
    assert_int_equal(s.get_next(&s, &a), 0);
    s.release(&s);
    pml_commit_close(k.commit);
    k.commit = NULL;
    pml_table_release(k.table);
    k.table = NULL;
    assert_int_equal(a.length, 5);
    assert_int_equal(((const int64_t *)a.children[0]->buffers[1])[a.children[0]->offset + 4], 4);
    a.release(&a);
    test_env_close(k.t);
}

/* 14a */
static void writer_closed_when_covered_leaves_its_rows_to_the_next(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    must_fail_with(PML_E_STATE, pml_rt_writer_close(k.w, &err), &err);
    rt_kit_write(&k, 5, "a"); /* it stayed open */
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    must_ok(pml_rt_writer_close(k.w, &err), &err);
    k.w = NULL;
    rt_kit_must_show(&k, 0, 10);
    must_ok(pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 15);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 15);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 15);
    rt_kit_close(&k);
}

/* 14a */
static void writer_aborted_drops_only_uncovered_partition_buckets(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    rt_kit_write(&k, 5, "b");
    rt_kit_must_show(&k, 0, 10);
    pml_rt_writer_abort(k.w);
    k.w = NULL;
    rt_kit_must_show(&k, 0, 5);
    must_fail_with(PML_E_RECREATE, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    (void)rt_kit_commit(&k, p); /* files of a prepare are not the writer's */
    pml_rt_prepared_free(p);
    rt_kit_must_show(&k, 0, 5);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_rows, 0);
    rt_kit_stop(&k);
    k.next_id = 5;
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "b");
    rt_kit_must_show(&k, 0, 10);
    rt_kit_close(&k);
}

static void writer_aborted_without_uncovered_rows_drops_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    pml_rt_writer_abort(k.w);
    must_ok(pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_close(&k);
}

/* ---- 46a: truncate, by somebody else and by us, with memory in every state ---- */

typedef enum memory_state { BUILDING, SEALED, PREPARED, COMMITTED } memory_state;

static void truncate_with_memory(memory_state at, bool ours)
{
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p = NULL;
    pml_rt_commit_result r;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, manual);
    k.next_id = 100;
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 1), &err), &err);
    rt_kit_write(&k, 5, "a");
    if (at == SEALED)
        must_ok(pml_rt_seal(k.w, &err), &err);
    if (at == PREPARED || at == COMMITTED)
        p = rt_kit_prepare(&k, 2);
    if (at == COMMITTED)
        (void)rt_kit_commit(&k, p);
    k.next_id = 0;
    rt_kit_write(&k, 5, "b"); /* never committed: it stays, whatever happens to the others */
    int64_t id = ours ? rt_kit_truncate(&k) : rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, NULL);
    rt_kit_must_show(&k, 0, 5); /* before advance has noticed */
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    rt_kit_must_show(&k, 0, 5);
    if (at == PREPARED)
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
    if (at == COMMITTED) { /* sent again after the truncate: dead rows must not come back */
        size_t n;
        const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
        must_fail_with(PML_E_CONFLICT, pml_rt_progress_abort(k.commit, e, n, &err), &err); /* older snapshots have the files */
    }
    assert_int_equal(rt_kit_latest(&k), id);
    rt_kit_must_store(&k, 0, 0);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

static void truncate_leaves_no_dead_row_in_any_plan(void **state)
{
    (void)state;
    for (int at = BUILDING; at <= COMMITTED; at++) {
        truncate_with_memory((memory_state)at, false);
        truncate_with_memory((memory_state)at, true);
    }
}

/* 46a: after a restart the reset partition-bucket begins anew and commits onto the mark */
static void partition_bucket_goes_on_after_a_truncate_with_a_new_context(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 100;
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, NULL);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 0);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 0;
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 5);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_show(&k, 0, 5);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 3);
    rt_kit_must_store(&k, 0, 10);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 10);
    rt_kit_close(&k);
}

/* The truncate came before the first write of the partition-bucket: its rows are not dead, though the writer is older. */
static void partition_bucket_that_begins_after_a_truncate_is_visible(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 100;
    rt_kit_write(&k, 5, "b");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL); /* knows of five rows in b */
    (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, "b");
    k.next_id = 0;
    rt_kit_write(&k, 5, "b");
    rt_kit_must_show(&k, 0, 5);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 5);
    rt_kit_close(&k);
}

/* 38 */
static void compaction_between_commits_keeps_progress_and_plans(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    pml_plan *p = rt_kit_plan(&k);
    int64_t id = rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
    assert_int_equal(rt_kit_end(&k, id, NULL, 0), 5);
    rt_kit_must_be(&k, p, 0, 10);
    rt_kit_must_show(&k, 0, 10);
    pml_plan_free(p);
    assert_int_equal(rt_kit_cycle(&k, 2), 3);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 10);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_close(&k);
}

/* 39, 40: parts that need no Java */
static void commits_of_others_keep_progress(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    int64_t ours = rt_kit_append(&k, 5, "a"); /* carries the property on */
    assert_int_equal(rt_kit_end(&k, ours, NULL, 0), 5);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 1);
    int64_t theirs = rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL); /* has none */
    assert_int_equal(rt_kit_end(&k, theirs, NULL, 0), 5);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 15);
    (void)rt_kit_cycle(&k, 2);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 10);
    rt_kit_must_show(&k, 0, 15);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 3);
    rt_kit_must_store(&k, 0, 20);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_visible_before_any_prepare),
        cmocka_unit_test(plan_shows_no_row_written_after_it),
        cmocka_unit_test(rows_of_every_state_come_once),
        cmocka_unit_test(cycles_return_the_memory_to_zero),
        cmocka_unit_test(several_segments_and_rolled_files_are_one_entry),
        cmocka_unit_test(partitions_and_buckets_have_offsets_of_their_own),
        cmocka_unit_test(only_the_last_split_of_a_partition_bucket_has_memory),
        cmocka_unit_test(older_snapshot_below_the_floor_of_memory_is_refused),
        cmocka_unit_test(snapshot_from_before_the_first_commit_is_a_gap),
        cmocka_unit_test(plan_and_stream_outlive_writer_and_context),
        cmocka_unit_test(writer_closed_when_covered_leaves_its_rows_to_the_next),
        cmocka_unit_test(writer_aborted_drops_only_uncovered_partition_buckets),
        cmocka_unit_test(writer_aborted_without_uncovered_rows_drops_nothing),
        cmocka_unit_test(truncate_leaves_no_dead_row_in_any_plan),
        cmocka_unit_test(partition_bucket_goes_on_after_a_truncate_with_a_new_context),
        cmocka_unit_test(partition_bucket_that_begins_after_a_truncate_is_visible),
        cmocka_unit_test(compaction_between_commits_keeps_progress_and_plans),
        cmocka_unit_test(commits_of_others_keep_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
