/* SPDX-License-Identifier: Apache-2.0 */
/* Our own truncate, overwrite and drop of partitions of tables with live writers (realtime.md 7.3 steps 1 and 5, 7.6 items 1 to 3):
   reset marks, and what a context answers. Numbers: 40, 41, 46a (with visibility_test.c), 82 of realtime-tests.md. */
#include <stdio.h>
#include <string.h>

#include "support/faulty_fs.h"
#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

static void must_be_mark(rt_kit *k, const char *partition, const char *old_lineage)
{
    pml_rt_offset_info e;
    assert_true(rt_kit_entry(&e, k, partition, 0));
    assert_int_equal(e.tiered, 0);
    assert_int_equal(e.reset, 1);
    assert_int_equal(e.lost, 0);
    assert_int_equal(strlen(e.lineage), 32);
    assert_string_not_equal(e.lineage, old_lineage);
}

static void must_be_end(rt_kit *k, const char *partition, int64_t end)
{
    pml_rt_offset_info e;
    assert_true(rt_kit_entry(&e, k, partition, 0));
    assert_int_equal(e.tiered, end);
    assert_int_equal(e.reset, 0);
    assert_int_equal(e.lost, 0);
}

/* Five rows in each of a, b and the partition of null, in one commit; ids 0, 5 and 10. */
static void start(rt_kit *k)
{
    rt_kit_create(k, NULL, "\"p\"", "");
    rt_kit_start(k, NULL, manual);
    rt_kit_write(k, 5, "a");
    rt_kit_write(k, 5, "b");
    rt_kit_write(k, 5, NULL);
    (void)rt_kit_cycle(k, 1);
}

static void dropped_partition_leaves_a_mark_and_the_others_go_on(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_offset_info before;
    start(&k);
    assert_true(rt_kit_entry(&before, &k, "a", 0));
    assert_int_equal(rt_kit_drop(&k, "a"), 2);
    must_be_mark(&k, "a", before.lineage);
    must_be_end(&k, "b", 5);
    must_be_end(&k, "__DEFAULT_PARTITION__", 5);
    rt_kit_must_store(&k, 5, 15);
    assert_true(rt_kit_entry(&before, &k, "__DEFAULT_PARTITION__", 0));
    (void)rt_kit_drop(&k, NULL);
    must_be_mark(&k, "__DEFAULT_PARTITION__", before.lineage);
    must_be_end(&k, "b", 5);
    rt_kit_must_store(&k, 5, 10);
    (void)rt_kit_drop(&k, "c"); /* nobody was ever there: no entry appears, the property is carried on */
    assert_false(rt_kit_entry(&before, &k, "c", 0));
    must_be_end(&k, "b", 5);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 3);
    rt_kit_close(&k);
}

static void truncate_marks_every_entry(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_offset_info e[3];
    static const char *const partitions[] = {"a", "b", "__DEFAULT_PARTITION__"};
    start(&k);
    for (int i = 0; i < 3; i++)
        assert_true(rt_kit_entry(&e[i], &k, partitions[i], 0));
    (void)rt_kit_truncate(&k);
    for (int i = 0; i < 3; i++)
        must_be_mark(&k, partitions[i], e[i].lineage);
    rt_kit_must_store(&k, 0, 0);
    rt_kit_close(&k);
}

/* A spec that names some of the keys: all partitions that agree in them. */
static void spec_of_some_keys_marks_every_partition_that_agrees(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_offsets *o;
    pml_error err = PML_ERROR_INIT;
    int64_t marks = 0, ends = 0;
    rt_kit_create(&k, NULL, "\"p\",\"v\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 3, "a"); /* v differs from row to row */
    rt_kit_write(&k, 2, "b");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_drop(&k, "a");
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    for (size_t i = 0; i < pml_rt_offsets_count(o); i++) {
        pml_rt_offset_info e = PML_RT_OFFSET_INFO_INIT;
        must_ok(pml_rt_offsets_get(&e, o, i, &err), &err);
        assert_int_equal(e.reset, strcmp(e.pb->partition[0], "a") == 0);
        marks += e.reset;
        ends += e.tiered;
    }
    pml_rt_offsets_free(o);
    assert_int_equal(marks, 3);
    assert_int_equal(ends, 2);
    rt_kit_must_store(&k, 3, 5);
    rt_kit_close(&k);
}

/* The entries of the new rows' partitions begin anew; the new rows have no offsets. */
static void batch_overwrite_marks_the_partitions_it_replaces(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_offset_info before;
    pml_writer *w;
    pml_messages *m;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    start(&k);
    assert_true(rt_kit_entry(&before, &k, "a", 0));
    struct ArrowArray batch = rt_kit_batch(&k, 5, "a");
    struct ArrowSchema schema = rt_kit_schema(&k);
    must_ok(pml_writer_open(&w, k.table, &err), &err);
    must_ok(pml_writer_write(w, &batch, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    schema.release(&schema);
    must_ok(pml_commit_overwrite(&r, k.commit, NULL, &m, 1, 9, NULL, &err), &err);
    pml_messages_free(m);
    must_be_mark(&k, "a", before.lineage);
    must_be_end(&k, "b", 5);
    rt_kit_must_store(&k, 5, 20);
    rt_kit_close(&k);
}

/* 41, 46a: each call answers, the others go on, a new context begins at the mark */
static void context_answers_reset_after_our_own_drop(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p;
    pml_rt_commit_result r;
    start(&k);
    must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
    k.next_id = 100;
    rt_kit_write(&k, 5, "a");
    p = rt_kit_prepare(&k, 2);
    rt_kit_write(&k, 5, "a"); /* nobody has told the context yet */
    int64_t id = rt_kit_drop(&k, "a");
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 5, 15);
    must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
    size_t n;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_progress_abort(k.commit, e, n, &err), &err); /* they are in no snapshot */
    pml_rt_prepared_free(p);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
    assert_non_null(strstr(err.message, "p=a/bucket-0"));
    must_fail_with(PML_E_RECREATE, pml_rt_seal(k.w, &err), &err);
    must_fail_with(PML_E_RECREATE, pml_rt_prepare(&p, k.w, 3, NULL, &err), &err);
    assert_true(rt_kit_metrics(&k).total_row_count >= 15); /* kept, but in no plan */
    rt_kit_must_show(&k, 5, 15);
    k.next_id = 15;
    rt_kit_write(&k, 5, "b");
    rt_kit_must_show(&k, 5, 20);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 0;
    pml_rt_write_result written = PML_RT_WRITE_RESULT_INIT;
    must_ok(rt_kit_try_write(&k, 5, "a", NULL, &written, &err), &err);
    assert_int_equal(written.first_offset[0], 0);
    rt_kit_must_show(&k, 0, 15);
    (void)rt_kit_cycle(&k, 4);
    rt_kit_must_store(&k, 0, 15);
    must_be_end(&k, "a", 5);
    rt_kit_close(&k);
}

/* A write cannot know of a reset that nothing of this context has looked at. A plan of the latest snapshot looks: from then on no write
   is accepted whose rows no plan will ever show, also when memory has no rows. A plan of an older one is no news. */
static void plan_that_finds_a_reset_ends_writes_to_the_partition_bucket(void **state)
{
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_prepared *p;
        pml_plan *plan;
        start(&k);
        must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
        k.next_id = 100;
        if (!empty)
            rt_kit_write(&k, 5, "a");
        (void)rt_kit_drop(&k, "a");
        must_ok(rt_kit_try_plan(&plan, &k, k.ctx, 1, &err), &err);
        pml_plan_free(plan);
        if (!empty)
            rt_kit_write(&k, 5, "a");
        rt_kit_must_show(&k, 5, 15);
        must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
        assert_non_null(strstr(err.message, "p=a/bucket-0"));
        must_fail_with(PML_E_RECREATE, pml_rt_seal(k.w, &err), &err);
        must_fail_with(PML_E_RECREATE, pml_rt_prepare(&p, k.w, 3, NULL, &err), &err);
        assert_int_equal(rt_kit_metrics(&k).pb_reset, 1);
        k.next_id = 15;
        rt_kit_write(&k, 5, "b");
        rt_kit_must_show(&k, 5, 20);
        rt_kit_stop(&k);
        rt_kit_start(&k, NULL, NULL);
        k.next_id = 0;
        rt_kit_write(&k, 5, "a");
        rt_kit_must_show(&k, 0, 15);
        rt_kit_close(&k);
    }
}

/* A partition-bucket that the table never saw committed is not touched by a truncate: its rows are uncommitted, not removed. */
static void memory_never_committed_outlives_our_truncate(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_truncate(&k);
    rt_kit_must_show(&k, 0, 5);
    (void)rt_kit_cycle(&k, 1);
    rt_kit_must_store(&k, 0, 5);
    rt_kit_close(&k);
}

/* 40: what was lost is known again when its partition is emptied by us */
static void lost_entry_becomes_a_mark_when_we_drop_its_partition(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_offset_info e;
    start(&k);
    (void)rt_kit_append(&k, 5, "a");
    /* Somebody else removes the files of a and adds one: it cannot be told from a row-level delete. */
    k.foreign_progress = "{\"version\":1,\"offsets\":[{\"partition\":{\"p\":\"a\"},\"bucket\":0,\"offset\":5,\"lost\":true},"
                         "{\"partition\":{\"p\":\"b\"},\"bucket\":0,\"offset\":5}]}";
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    assert_true(rt_kit_entry(&e, &k, "a", 0));
    assert_int_equal(e.lost, 1);
    (void)rt_kit_drop(&k, "b");
    assert_true(rt_kit_entry(&e, &k, "a", 0));
    assert_int_equal(e.lost, 1); /* I22 */
    must_be_mark(&k, "b", "");
    (void)rt_kit_drop(&k, "a");
    must_be_mark(&k, "a", "");
    rt_kit_close(&k);
}

/* The anchor expired: nothing is known. A drop cannot heal that, a truncate does, since nothing is left to be known of. */
static void truncate_ends_a_loss_of_everything(void **state)
{
    (void)state;
    rt_kit k;
    char path[600];
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o;
    pml_rt_offset_info e;
    start(&k);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-1", k.path);
    assert_int_equal(remove(path), 0);
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_true(pml_rt_offsets_all_lost(o));
    pml_rt_offsets_free(o);
    (void)rt_kit_drop(&k, "a");
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_true(pml_rt_offsets_all_lost(o));
    pml_rt_offsets_free(o);
    (void)rt_kit_truncate(&k);
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_false(pml_rt_offsets_all_lost(o));
    assert_int_equal(pml_rt_offsets_count(o), 2);
    pml_rt_offsets_free(o);
    must_be_mark(&k, "b", "");
    assert_false(rt_kit_entry(&e, &k, "a", 0));
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 0;
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "b");
    (void)rt_kit_cycle(&k, 7);
    rt_kit_must_store(&k, 0, 10);
    rt_kit_close(&k);
}

/* ---- races and failures ---- */

static void live_commit(void *arg, int kind, const char *path)
{
    rt_kit *k = arg;
    (void)kind, (void)path;
    k->next_id = 15;
    rt_kit_write(k, 5, "b");
    (void)rt_kit_cycle(k, 2);
}

/* A live commit came first: its rows go, and its entry becomes a mark, too. */
static void truncate_that_loses_the_race_marks_the_newer_progress(void **state)
{
    (void)state;
    rt_kit k, other;
    faulty_fs f;
    pml_rt_offset_info e;
    const pml_file_system fast = rt_kit_fs();
    start(&k);
    faulty_fs_init(&f, &fast);
    rt_kit_share(&other, &k, &f.fs);
    faulty_fs_call_at(&f, 1, FS_OP(FS_OP_PUBLISH), live_commit, &k);
    assert_int_equal(rt_kit_truncate(&other), 3);
    assert_true(rt_kit_entry(&e, &other, "b", 0));
    assert_int_equal(e.tiered, 0);
    assert_int_equal(e.reset, 1);
    rt_kit_must_store(&other, 0, 0);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 3); /* two commits, the truncate; the lost attempt's is gone */
    other.ctx = NULL;
    rt_kit_close(&other);
    faulty_fs_destroy(&f);
    rt_kit_close(&k);
}

/* 82: whatever fails, the marks and the rows go together or not at all; only an unknown outcome leaves a file behind */
static void truncate_with_any_failing_file_operation_is_whole_or_nothing(void **state)
{
    (void)state;
    for (int mode = FAULT_BEFORE; mode <= FAULT_AFTER; mode++) {
        bool failed = true;
        for (int at = 1; failed; at++) {
            rt_kit k;
            faulty_fs f;
            pml_error err = PML_ERROR_INIT;
            pml_commit_result r = PML_COMMIT_RESULT_INIT;
            pml_rt_offset_info e;
            const pml_file_system fast = rt_kit_fs();
            faulty_fs_init(&f, &fast);
            rt_kit_create(&k, &f.fs, "", "");
            rt_kit_start(&k, NULL, manual);
            rt_kit_write(&k, 5, "a");
            (void)rt_kit_cycle(&k, 1);
            faulty_fs_fail_at(&f, at, (fault_mode)mode, PML_E_IO, mode == FAULT_BEFORE ? PML_ERRF_NO_EFFECT : 0);
            int rc = pml_table_truncate(&r, k.table, &err);
            failed = faulty_fs_failures(&f) > 0;
            faulty_fs_reset(&f);
            bool done = rt_kit_latest(&k) == 2;
            assert_true(rc != PML_OK || done);
            assert_true(rc == PML_OK || rc == PML_E_UNKNOWN_OUTCOME || !done);
            assert_true(rt_kit_entry(&e, &k, NULL, 0));
            assert_int_equal(e.tiered, done ? 0 : 5);
            assert_int_equal(e.reset, done);
            rt_kit_must_store(&k, 0, done ? 0 : 5);
            rt_kit_must_show(&k, 0, done ? 0 : 5);
            if (mode == FAULT_BEFORE && rc != PML_E_UNKNOWN_OUTCOME)
                assert_int_equal(rt_kit_files(&k, ".offsets"), done ? 2 : 1);
            rt_kit_close(&k);
            faulty_fs_destroy(&f);
        }
    }
}

static void truncate_without_memory_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    int rc = PML_E_NOMEM;
    start(&k);
    for (long long at = 1; rc != PML_OK; at++) {
        pml_commit_result r = PML_COMMIT_RESULT_INIT;
        test_env_fail_at(k.t, at);
        rc = pml_table_truncate(&r, k.table, &err);
        test_env_fail_at(k.t, 0);
        int64_t id = rt_kit_latest(&k);
        assert_true(id == (rc == PML_OK ? 2 : 1) || rc == PML_E_UNKNOWN_OUTCOME);
        if (id > 1)
            break;
        assert_int_equal(rc, PML_E_NOMEM);
        assert_int_equal(rt_kit_files(&k, ".offsets"), 1);
        must_be_end(&k, "a", 5);
    }
    must_be_mark(&k, "a", "");
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_partition_leaves_a_mark_and_the_others_go_on),
        cmocka_unit_test(truncate_marks_every_entry),
        cmocka_unit_test(spec_of_some_keys_marks_every_partition_that_agrees),
        cmocka_unit_test(batch_overwrite_marks_the_partitions_it_replaces),
        cmocka_unit_test(context_answers_reset_after_our_own_drop),
        cmocka_unit_test(plan_that_finds_a_reset_ends_writes_to_the_partition_bucket),
        cmocka_unit_test(memory_never_committed_outlives_our_truncate),
        cmocka_unit_test(lost_entry_becomes_a_mark_when_we_drop_its_partition),
        cmocka_unit_test(truncate_ends_a_loss_of_everything),
        cmocka_unit_test(truncate_that_loses_the_race_marks_the_newer_progress),
        cmocka_unit_test(truncate_with_any_failing_file_operation_is_whole_or_nothing),
        cmocka_unit_test(truncate_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
