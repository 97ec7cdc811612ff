/* SPDX-License-Identifier: Apache-2.0 */
/* Prepare and commit over a file system that fails, and against other committers (realtime.md 9.1, 9.5 f, g). */
#include <string.h>

#include "support/faulty_fs.h"
#include "support/rt_kit.h"

/* ---- failures of files ---- */

/* 9.5 g: the snapshot was published, but nobody heard the answer */
static void commit_of_unknown_outcome_is_committed_again_and_never_aborted(void **state)
{
    (void)state;
    rt_kit k;
    faulty_fs f;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    size_t n;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    rt_kit_create(&k, &f.fs, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    long long publishes = 0;
    for (int at = 1;; at++) { /* the first publications may be the progress file's */
        faulty_fs_reset(&f);
        faulty_fs_fail_kinds(&f, FS_OP(FS_OP_PUBLISH) | FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_SYNC_DIRECTORY));
        faulty_fs_fail_at(&f, at, FAULT_AFTER, PML_E_IO, 0);
        faulty_fs_fail_sticky(&f);
        int rc = rt_kit_try_commit(&k, &r, p, &err);
        publishes = faulty_fs_failures(&f);
        faulty_fs_reset(&f);
        if (rc == PML_E_UNKNOWN_OUTCOME)
            break;
        assert_int_not_equal(rc, PML_OK);
        assert_true(at < 100);
        assert_true(publishes > 0);
    }
    assert_int_equal(rt_kit_latest(&k), 1);
    must_fail_with(PML_E_CONFLICT, pml_rt_progress_abort(k.commit, e, n, &err), &err);
    rt_kit_must_show(&k, 0, 5);
    must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(r.snapshot_id, 1);
    rt_kit_must_store(&k, 0, 5);
    rt_kit_must_show(&k, 0, 5);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 0);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
    faulty_fs_destroy(&f);
}

/* Whatever fails, before or after it happened: commit says so, and committing again brings every row once. */
static void commit_with_any_failing_file_operation_can_be_repeated(void **state)
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
            rt_kit_create(&k, &f.fs, "", "");
            rt_kit_start(&k, NULL, NULL);
            rt_kit_write(&k, 5, "a");
            (void)rt_kit_cycle(&k, 1);
            rt_kit_write(&k, 5, "a");
            pml_rt_prepared *p = rt_kit_prepare(&k, 2);
            faulty_fs_fail_at(&f, at, (fault_mode)mode, PML_E_IO, mode == FAULT_BEFORE ? PML_ERRF_NO_EFFECT : 0);
            int rc = rt_kit_try_commit(&k, &r, p, &err);
            failed = faulty_fs_failures(&f) > 0;
            faulty_fs_reset(&f);
            if (rc != PML_OK)
                must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
            rt_kit_must_show(&k, 0, 10);
            rt_kit_write(&k, 5, "a");
            rt_kit_must_show(&k, 0, 15);
            rt_kit_must_store(&k, 0, 10);
            assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 10);
            assert_int_equal(rt_kit_latest(&k), 2);
            if (mode == FAULT_BEFORE && rc != PML_E_UNKNOWN_OUTCOME) /* a certain failure takes its progress file with it */
                assert_int_equal(rt_kit_files(&k, ".offsets"), 2);
            pml_rt_prepared_free(p);
            rt_kit_close(&k);
            faulty_fs_destroy(&f);
        }
    }
}

/* 9.1 item 6 */
static void prepare_with_any_failing_file_operation_leaves_no_file(void **state)
{
    (void)state;
    bool failed = true;
    for (int at = 1; failed; at++) {
        rt_kit k;
        faulty_fs f;
        pml_error err = PML_ERROR_INIT;
        pml_rt_prepared *p = NULL;
        const pml_file_system fast = rt_kit_fs();
        faulty_fs_init(&f, &fast);
        rt_kit_create(&k, &f.fs, "\"p\"", "");
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 10, "*");
        faulty_fs_fail_at(&f, at, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
        int rc = pml_rt_prepare(&p, k.w, 1, NULL, &err);
        failed = faulty_fs_failures(&f) > 0;
        faulty_fs_reset(&f);
        if (rc != PML_OK) {
            assert_null(p);
            assert_int_equal(rt_kit_files(&k, "data-"), 0);
            rt_kit_must_show(&k, 0, 10);
            p = rt_kit_prepare(&k, 1);
        }
        (void)rt_kit_commit(&k, p);
        rt_kit_must_store(&k, 0, 10);
        pml_rt_prepared_free(p);
        rt_kit_close(&k);
        faulty_fs_destroy(&f);
    }
}

/* ---- races with other committers ---- */

typedef struct racer {
    rt_kit *other;
    int left;
    faulty_fs *f;
} racer;

static void race(void *arg, int kind, const char *path)
{
    racer *r = arg;
    (void)kind, (void)path;
    (void)rt_kit_append(r->other, 2, "a");
    if (--r->left > 0)
        faulty_fs_call_at(r->f, 1, FS_OP(FS_OP_PUBLISH), race, r);
}

static void commit_that_loses_races_rebases_files_and_progress(void **state)
{
    (void)state;
    rt_kit k, other;
    faulty_fs f;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    rt_kit_create(&k, &f.fs, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_share(&other, &k, NULL);
    rt_kit_write(&k, 6, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    other.next_id = 6;
    racer racing = {&other, 3, &f};
    faulty_fs_call_at(&f, 1, FS_OP(FS_OP_PUBLISH), race, &racing);
    must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
    assert_true(r.attempts > 1);
    assert_int_equal(rt_kit_metrics(&k).commit_retries, r.attempts - 1);
    rt_kit_must_show(&k, 0, 12);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 6);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 1); /* those of lost attempts are gone */
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
    rt_kit_close(&other);
    faulty_fs_destroy(&f);
}

static void truncate_by_another(void *arg, int kind, const char *path)
{
    (void)kind, (void)path;
    (void)rt_kit_foreign(arg, PML_COMMIT_OVERWRITE, true, NULL);
}

/* The base of the second attempt ended the history that the entries belong to. */
static void commit_that_loses_to_a_truncate_publishes_nothing(void **state)
{
    (void)state;
    rt_kit k, other;
    faulty_fs f;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    rt_kit_create(&k, &f.fs, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_share(&other, &k, NULL);
    k.next_id = 100;
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 2);
    /* The first publication is the progress file's; what others do before it is in the base already. */
    for (int at = 1; at <= 2; at++) {
        int64_t offsets = rt_kit_files(&k, ".offsets");
        faulty_fs_call_at(&f, at, FS_OP(FS_OP_PUBLISH), truncate_by_another, &other);
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
        faulty_fs_reset(&f);
        assert_int_equal(rt_kit_files(&k, ".offsets"), offsets); /* what the lost attempt wrote is gone */
    }
    rt_kit_must_store(&k, 0, 0);
    rt_kit_must_show(&k, 0, 0);
    size_t n;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_progress_abort(k.commit, e, n, &err), &err); /* these rows were in no snapshot */
    assert_int_equal(rt_kit_files(&k, ".parquet"), 1);
    pml_rt_prepared_free(p);
    rt_kit_close(&other);
    rt_kit_close(&k);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_of_unknown_outcome_is_committed_again_and_never_aborted),
        cmocka_unit_test(commit_with_any_failing_file_operation_can_be_repeated),
        cmocka_unit_test(prepare_with_any_failing_file_operation_leaves_no_file),
        cmocka_unit_test(commit_that_loses_to_a_truncate_publishes_nothing),
    };
    const struct CMUnitTest without_keys[] = {
        cmocka_unit_test(commit_that_loses_races_rebases_files_and_progress), /* else a conflict of numbers: sequences_test.c */
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (rt_kit_with_keys() ? 0 : cmocka_run_group_tests(without_keys, NULL, NULL));
}
