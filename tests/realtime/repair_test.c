/* SPDX-License-Identifier: Apache-2.0 */
/* Repair of lost progress (realtime.md 7.4). Numbers: 40 of realtime-tests.md. */
#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

static int repair(rt_kit *k, const char *partition, int64_t end, pml_rt_commit_result *r, pml_error *err)
{
    pml_rt_pb pb = PML_RT_PB_INIT;
    pb.n_partition = partition == NULL ? 0 : 1;
    pb.partition = &partition;
    const pml_rt_statement s = {&pb, end};
    *r = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    return pml_rt_progress_repair(r, k->table, &s, 1, err);
}

/* Five live rows in a and in b; then somebody removes all files of a and adds one in one OVERWRITE, which makes a LOST. */
static void start_lost(rt_kit *k, const pml_file_system *fs)
{
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(k, fs, "\"p\"", "");
    rt_kit_start(k, NULL, manual);
    rt_kit_write(k, 5, "a");
    rt_kit_write(k, 5, "b");
    must_ok(pml_rt_advance(k->ctx, rt_kit_cycle(k, 1), &err), &err);
    (void)rt_kit_append(k, 5, "a"); /* so that files are left when those before are removed */
    k->foreign_removes = 1;
    (void)rt_kit_foreign(k, PML_COMMIT_OVERWRITE, true, "a");
}

static void must_be(rt_kit *k, const char *partition, int64_t end, bool lost, const char *lineage, bool same)
{
    pml_rt_offset_info e;
    assert_true(rt_kit_entry(&e, k, partition, 0));
    assert_int_equal(e.tiered, end);
    assert_int_equal(e.lost, lost);
    if (lineage != NULL)
        assert_int_equal(strcmp(e.lineage, lineage) == 0, same);
}

static void repair_with_the_last_known_end_keeps_the_history(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_rt_offset_info a;
    pml_plan *plan;
    start_lost(&k, NULL);
    k.next_id = 15;
    assert_true(rt_kit_entry(&a, &k, "a", 0));
    assert_int_equal(a.lost, 1);
    assert_int_equal(a.tiered, 5);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, 3, &err), &err);
    must_fail_with(PML_E_PROGRESS_LOST, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
    must_fail_with(PML_E_PROGRESS_LOST, rt_kit_try_plan(&plan, &k, k.ctx, -1, &err), &err);
    must_ok(repair(&k, "a", 5, &r, &err), &err);
    assert_int_equal(r.snapshot_id, 4);
    assert_int_equal(r.already_committed, 0);
    must_be(&k, "a", 5, false, a.lineage, true);
    must_be(&k, "b", 5, false, NULL, false);
    /* The context goes on where it was. */
    must_ok(pml_rt_advance(k.ctx, 4, &err), &err);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    must_be(&k, "a", 15, false, a.lineage, true);
    /* Again: there is nothing to repair. */
    must_ok(repair(&k, "a", 15, &r, &err), &err);
    assert_int_equal(r.snapshot_id, 5);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(rt_kit_latest(&k), 5);
    rt_kit_close(&k);
}

static void repair_with_another_end_begins_a_new_history(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_rt_offset_info a;
    start_lost(&k, NULL);
    rt_kit_write(&k, 5, "a");
    assert_true(rt_kit_entry(&a, &k, "a", 0));
    must_ok(pml_rt_advance(k.ctx, 3, &err), &err);
    must_ok(repair(&k, "a", 2, &r, &err), &err);
    must_be(&k, "a", 2, false, a.lineage, false);
    must_ok(pml_rt_advance(k.ctx, 4, &err), &err);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    pml_rt_write_result w = PML_RT_WRITE_RESULT_INIT;
    must_ok(rt_kit_try_write(&k, 5, "a", NULL, &w, &err), &err);
    assert_int_equal(w.first_offset[0], 2);
    (void)rt_kit_cycle(&k, 2);
    must_be(&k, "a", 7, false, NULL, false);
    rt_kit_close(&k);
}

/* Only what is stated is repaired, and only what is lost may be. */
static void repair_of_what_is_not_lost_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    start_lost(&k, NULL);
    must_fail_with(PML_E_INVAL, repair(&k, "b", 4, &r, &err), &err);
    assert_non_null(strstr(err.message, "committed end is 5"));
    must_fail_with(PML_E_INVAL, repair(&k, "c", 4, &r, &err), &err);
    must_fail_with(PML_E_INVAL, repair(&k, "a", -1, &r, &err), &err);
    must_fail_with(PML_E_INVAL, repair(&k, NULL, 1, &r, &err), &err); /* without the partition value */
    must_ok(repair(&k, "b", 5, &r, &err), &err);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(rt_kit_latest(&k), 3);
    must_be(&k, "a", 5, true, NULL, false);
    const char *partition = "a";
    pml_rt_pb pb = PML_RT_PB_INIT;
    pb.n_partition = 1;
    pb.partition = &partition;
    const pml_rt_statement twice[] = {{&pb, 5}, {&pb, 5}};
    must_fail_with(PML_E_INVAL, pml_rt_progress_repair(&r, k.table, twice, 2, &err), &err);
    must_ok(pml_rt_progress_repair(&r, k.table, NULL, 0, &err), &err);
    assert_int_equal(r.already_committed, 1);
    rt_kit_close(&k);
}

static void repair_of_a_table_without_snapshots_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    rt_kit_create(&k, NULL, "\"p\"", "");
    must_fail_with(PML_E_INVAL, repair(&k, "a", 5, &r, &err), &err);
    rt_kit_close(&k);
}

/* The anchor expired: every partition-bucket with files must be stated, and afterwards the others were never committed. */
static void repair_after_the_anchor_expired_states_every_partition_bucket(void **state)
{
    (void)state;
    rt_kit k;
    char path[600];
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_rt_offsets *o;
    static const char *const partitions[] = {"a", "b", "gone"};
    pml_rt_pb pbs[3];
    pml_rt_statement all[3];
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "b");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-1", k.path);
    assert_int_equal(remove(path), 0);
    for (int i = 0; i < 3; i++) {
        pbs[i] = (pml_rt_pb)PML_RT_PB_INIT;
        pbs[i].n_partition = 1;
        pbs[i].partition = &partitions[i];
        all[i] = (pml_rt_statement){&pbs[i], i == 2 ? 9 : 5};
    }
    r = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    must_fail_with(PML_E_INVAL, pml_rt_progress_repair(&r, k.table, all, 1, &err), &err);
    assert_non_null(strstr(err.message, "p=b/bucket-0"));
    must_fail_with(PML_E_INVAL, pml_rt_progress_repair(&r, k.table, NULL, 0, &err), &err);
    must_ok(pml_rt_progress_repair(&r, k.table, all, 3, &err), &err); /* one whose files are gone may be stated, too */
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_false(pml_rt_offsets_all_lost(o));
    assert_int_equal(pml_rt_offsets_count(o), 3);
    pml_rt_offsets_free(o);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    must_be(&k, "a", 10, false, NULL, false);
    must_be(&k, "gone", 9, false, NULL, false);
    rt_kit_must_store(&k, 0, 15);
    rt_kit_close(&k);
}

/* Five live rows in a and in b, and then, when said so, an append by somebody who drops the property; all progress files are taken away. */
static void start_missing(rt_kit *k, bool append)
{
    char path[600];
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(k, NULL, "\"p\"", "");
    rt_kit_start(k, NULL, NULL);
    rt_kit_write(k, 5, "a");
    rt_kit_write(k, 5, "b");
    (void)rt_kit_cycle(k, 1);
    if (append)
        (void)rt_kit_foreign(k, PML_COMMIT_APPEND, false, NULL);
    rt_kit_stop(k);
    (void)snprintf(path, sizeof path, "%s/metadata", k->path);
    must_ok(pml_file__remove_tree(k->t->env, path, &err), &err);
}

static void must_be_missing(rt_kit *k)
{
    pml_rt_offsets *o;
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_IO, pml_rt_offsets_load(&o, k->table, -1, &err), &err);
    assert_non_null(strstr(err.message, "pml offsets repair"));
}

/* Taken away by hand: an error and never "nothing was committed", but with a way out. */
static void repair_of_a_missing_progress_file_states_every_partition_bucket(void **state)
{
    (void)state;
    for (int append = 0; append < 2; append++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_commit_result r;
        static const char *const partitions[] = {"a", "b"};
        pml_rt_pb pbs[2];
        pml_rt_statement all[2];
        start_missing(&k, append);
        must_be_missing(&k);
        for (int i = 0; i < 2; i++) {
            pbs[i] = (pml_rt_pb)PML_RT_PB_INIT;
            pbs[i].n_partition = 1;
            pbs[i].partition = &partitions[i];
            all[i] = (pml_rt_statement){&pbs[i], 5};
        }
        must_fail_with(PML_E_INVAL, repair(&k, "a", 5, &r, &err), &err);
        assert_non_null(strstr(err.message, "p=b/bucket-0"));
        (void)rt_kit_drop(&k, "c");
        must_be_missing(&k); /* still */
        must_ok(pml_rt_progress_repair(&r, k.table, all, 2, &err), &err);
        assert_int_equal(r.already_committed, 0);
        must_be(&k, "a", 5, false, NULL, false);
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 5, "b");
        (void)rt_kit_cycle(&k, 2);
        must_be(&k, "b", 10, false, NULL, false);
        rt_kit_must_store(&k, 0, k.next_id);
        rt_kit_close(&k);
    }
}

static void truncate_ends_the_loss_of_a_missing_progress_file(void **state)
{
    (void)state;
    for (int append = 0; append < 2; append++) {
        rt_kit k;
        start_missing(&k, append);
        (void)rt_kit_truncate(&k);
        must_be(&k, "a", 0, false, NULL, false);
        must_be(&k, "b", 0, false, NULL, false);
        rt_kit_start(&k, NULL, NULL);
        k.next_id = 0;
        rt_kit_write(&k, 5, "b");
        (void)rt_kit_cycle(&k, 2);
        rt_kit_must_store(&k, 0, 5);
        rt_kit_close(&k);
    }
}

/* A table that somebody emptied while its progress was lost: nothing has files, so nothing need be stated. */
static void repair_of_an_empty_table_needs_no_statement(void **state)
{
    (void)state;
    rt_kit k;
    char path[600];
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_rt_offsets *o;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, NULL);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    for (int i = 1; i <= 2; i++) {
        (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%d", k.path, i);
        assert_int_equal(remove(path), 0);
    }
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_true(pml_rt_offsets_all_lost(o));
    pml_rt_offsets_free(o);
    must_ok(pml_rt_progress_repair(&r, k.table, NULL, 0, &err), &err);
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_false(pml_rt_offsets_all_lost(o));
    assert_int_equal(pml_rt_offsets_count(o), 0);
    pml_rt_offsets_free(o);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 0;
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 5);
    rt_kit_close(&k);
}

static void repair_with_any_failure_is_whole_or_nothing(void **state)
{
    (void)state;
    for (int mode = FAULT_BEFORE; mode <= FAULT_AFTER; mode++) {
        bool failed = true;
        for (int at = 1; failed; at++) {
            rt_kit k;
            faulty_fs f;
            pml_error err = PML_ERROR_INIT;
            pml_rt_commit_result r;
            const pml_file_system fast = rt_kit_fs();
            faulty_fs_init(&f, &fast);
            start_lost(&k, &f.fs);
            faulty_fs_fail_at(&f, at, (fault_mode)mode, PML_E_IO, mode == FAULT_BEFORE ? PML_ERRF_NO_EFFECT : 0);
            int rc = repair(&k, "a", 5, &r, &err);
            failed = faulty_fs_failures(&f) > 0;
            faulty_fs_reset(&f);
            bool done = rt_kit_latest(&k) == 4;
            assert_true(rc != PML_OK || done);
            must_be(&k, "a", 5, !done, NULL, false);
            if (mode == FAULT_BEFORE && rc != PML_E_UNKNOWN_OUTCOME)
                assert_int_equal(rt_kit_files(&k, ".offsets"), done ? 2 : 1);
            must_ok(repair(&k, "a", 5, &r, &err), &err);
            assert_int_equal(r.already_committed, done);
            must_be(&k, "a", 5, false, NULL, false);
            rt_kit_close(&k);
            faulty_fs_destroy(&f);
        }
    }
}

static void repair_without_memory_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    int rc = PML_E_NOMEM;
    start_lost(&k, NULL);
    for (long long at = 1; rc == PML_E_NOMEM; at++) {
        pml_rt_commit_result r;
        test_env_fail_at(k.t, at);
        rc = repair(&k, "a", 5, &r, &err);
        test_env_fail_at(k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_UNKNOWN_OUTCOME || rt_kit_latest(&k) == 3);
        if (rc == PML_E_NOMEM)
            must_be(&k, "a", 5, true, NULL, false);
    }
    must_be(&k, "a", 5, false, NULL, false);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repair_with_the_last_known_end_keeps_the_history),
        cmocka_unit_test(repair_with_another_end_begins_a_new_history),
        cmocka_unit_test(repair_of_what_is_not_lost_is_refused),
        cmocka_unit_test(repair_of_a_table_without_snapshots_is_refused),
        cmocka_unit_test(repair_after_the_anchor_expired_states_every_partition_bucket),
        cmocka_unit_test(repair_of_a_missing_progress_file_states_every_partition_bucket),
        cmocka_unit_test(truncate_ends_the_loss_of_a_missing_progress_file),
        cmocka_unit_test(repair_of_an_empty_table_needs_no_statement),
        cmocka_unit_test(repair_with_any_failure_is_whole_or_nothing),
        cmocka_unit_test(repair_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
