/* SPDX-License-Identifier: Apache-2.0 */
/* Re-anchoring (realtime.md 7.4): the progress is written again before the snapshot that holds it can expire. Tests 39 and 39b of
   realtime-tests.md; being killed during it (82) is in killed_test.c. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/faulty_fs.h"
#include "support/rt_kit.h"
#include "table/table.h"

#define MINUTE_NS (60ll * 1000000000)
enum { INTERVAL_MIN = 10 };

static const char *const manual[] = {"realtime.auto-advance", "false"};

static void wait_minutes(rt_kit *k, int64_t minutes)
{
    (void)atomic_fetch_add(&k->t->mono_ns, minutes * MINUTE_NS);
}

/* Five committed rows, then a commit by somebody who drops the property. */
static void open_dropped(rt_kit *k, const char *partition_keys, const char *const option[2])
{
    rt_kit_create(k, NULL, partition_keys, "");
    rt_kit_start(k, NULL, option);
    rt_kit_write(k, 5, "a");
    (void)rt_kit_cycle(k, 1);
    assert_int_equal(rt_kit_foreign(k, PML_COMMIT_APPEND, false, NULL), 2);
}

static void load(rt_kit *k, pml_snapshot *s, pml_arena *arena, int64_t id)
{
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(arena, k->t->env);
    must_ok(pml_table__load_snapshot(s, arena, k->table, id, &err), &err);
}

/* The snapshot is an empty commit of its own user that says the progress; is it the same file as in snapshot `as`? */
static void must_be_anchor(rt_kit *k, int64_t id, int64_t as, bool same)
{
    pml_snapshot s, other;
    pml_arena arena, other_arena;
    load(k, &s, &arena, id);
    load(k, &other, &other_arena, as);
    assert_int_equal(s.commit_kind, PML_COMMIT_APPEND);
    assert_int_equal(strncmp(s.commit_user, "pml-reanchor-", 13), 0);
    assert_int_equal(s.commit_identifier, INT64_MAX);
    assert_int_equal(s.delta_record_count, 0);
    assert_int_equal(s.n_properties, 1);
    const char *value = pml_snapshot__property(&s, "realtime.offsets"), *before = pml_snapshot__property(&other, "realtime.offsets");
    assert_non_null(value);
    assert_non_null(before);
    assert_int_equal(strcmp(value, before) == 0, same);
    pml_arena__clear(&arena);
    pml_arena__clear(&other_arena);
}

/* ---- when ---- */

static void by_write(rt_kit *k)
{
    rt_kit_write(k, 1, "a");
}

static void by_plan(rt_kit *k)
{
    pml_plan_free(rt_kit_plan(k));
}

static void by_prepare(rt_kit *k)
{
    pml_rt_prepared_free(rt_kit_prepare(k, 7));
}

static void by_advance(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_advance(k->ctx, 2, &err), &err);
}

static void by_refused_write(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    o.first_offset = 3; /* offsets are ours to give */
    must_fail_with(PML_E_INVAL, rt_kit_try_write(k, 1, "a", &o, NULL, &err), &err);
}

static void (*const calls[])(rt_kit *k) = {by_write, by_plan, by_prepare, by_advance, by_refused_write};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* 39 */
static void progress_that_others_dropped_is_written_again_after_the_interval(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLS; i++) {
        rt_kit k;
        open_dropped(&k, "", NULL);
        wait_minutes(&k, INTERVAL_MIN - 1);
        calls[i](&k);
        assert_int_equal(rt_kit_latest(&k), 2);
        wait_minutes(&k, 1);
        calls[i](&k);
        assert_int_equal(rt_kit_latest(&k), 3);
        must_be_anchor(&k, 3, 1, true);
        assert_int_equal(rt_kit_metrics(&k).reanchors, 1);
        wait_minutes(&k, INTERVAL_MIN); /* it is there now */
        calls[i](&k);
        assert_int_equal(rt_kit_latest(&k), 3);
        assert_int_equal(rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL), 4);
        calls[i](&k); /* the next look is an interval after the last one */
        assert_int_equal(rt_kit_latest(&k), 4);
        wait_minutes(&k, INTERVAL_MIN);
        calls[i](&k);
        must_be_anchor(&k, 5, 1, true);
        assert_int_equal(rt_kit_metrics(&k).reanchors, 2);
        assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 5);
        rt_kit_close(&k);
    }
}

static void commit_of_rows_puts_the_look_off(void **state)
{
    (void)state;
    rt_kit k;
    open_dropped(&k, "", NULL);
    for (int i = 2; i < 5; i++) {
        wait_minutes(&k, INTERVAL_MIN - 1);
        rt_kit_write(&k, 5, "a");
        int64_t id = rt_kit_cycle(&k, i);
        assert_int_equal(rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL), id + 1);
    }
    wait_minutes(&k, INTERVAL_MIN - 1);
    by_plan(&k);
    assert_int_equal(rt_kit_metrics(&k).reanchors, 0);
    wait_minutes(&k, 1);
    by_plan(&k);
    assert_int_equal(rt_kit_metrics(&k).reanchors, 1);
    rt_kit_close(&k);
}

static void interval_of_zero_is_never_and_another_one_is_kept(void **state)
{
    (void)state;
    static const char *const never[] = {"realtime.reanchor-interval", "0"}, *const hour[] = {"realtime.reanchor-interval", "1 h"};
    rt_kit k;
    open_dropped(&k, "", never);
    wait_minutes(&k, 1000000);
    for (size_t i = 0; i < CALLS; i++)
        calls[i](&k);
    assert_int_equal(rt_kit_latest(&k), 2);
    rt_kit_close(&k);
    open_dropped(&k, "", hour);
    wait_minutes(&k, 59);
    by_plan(&k);
    assert_int_equal(rt_kit_latest(&k), 2);
    wait_minutes(&k, 1);
    by_plan(&k);
    assert_int_equal(rt_kit_latest(&k), 3);
    rt_kit_close(&k);
}

/* Who only reads never commits. */
static void context_without_a_writer_never_commits(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    open_dropped(&k, "", NULL);
    wait_minutes(&k, INTERVAL_MIN);
    must_ok(pml_rt_writer_close(k.w, &err), &err);
    k.w = NULL;
    by_plan(&k);
    by_advance(&k);
    assert_int_equal(rt_kit_latest(&k), 2);
    must_ok(pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    by_plan(&k);
    assert_int_equal(rt_kit_latest(&k), 2); /* an interval after the writer was opened */
    wait_minutes(&k, INTERVAL_MIN);
    by_plan(&k);
    assert_int_equal(rt_kit_latest(&k), 3);
    rt_kit_close(&k);
}

static void nothing_to_say_makes_no_commit(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    wait_minutes(&k, INTERVAL_MIN);
    by_plan(&k); /* no snapshot */
    assert_int_equal(rt_kit_latest(&k), -1);
    k.next_id = 100;
    (void)rt_kit_append(&k, 5, "a");
    wait_minutes(&k, INTERVAL_MIN);
    by_plan(&k); /* nothing was ever committed live */
    assert_int_equal(rt_kit_latest(&k), 1);
    assert_int_equal(rt_kit_metrics(&k).reanchors, 0);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 0);
    rt_kit_close(&k);
}

/* ---- what for ---- */

static void remove_snapshot(rt_kit *k, int64_t id)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", k->path, (long long)id);
    assert_int_equal(unlink(path), 0);
}

/* 39b: somebody's expiry takes the anchor. With re-anchoring nothing is lost; without it everything, and not "nothing was there". */
static void expiry_of_the_old_anchor_loses_nothing(void **state)
{
    (void)state;
    static const char *const never[] = {"realtime.reanchor-interval", "0"};
    for (int anchored = 0; anchored < 2; anchored++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        open_dropped(&k, "", anchored ? NULL : never);
        wait_minutes(&k, INTERVAL_MIN);
        by_plan(&k);
        if (!anchored)
            (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
        assert_int_equal(rt_kit_latest(&k), 3);
        remove_snapshot(&k, 1);
        remove_snapshot(&k, 2);
        rt_kit_stop(&k);
        assert_int_equal(rt_kit_end(&k, -1, NULL, 0), anchored ? 5 : -1);
        rt_kit_start(&k, NULL, NULL);
        if (!anchored) {
            must_fail_with(PML_E_PROGRESS_LOST, rt_kit_try_write(&k, 5, "a", NULL, NULL, &err), &err);
            wait_minutes(&k, INTERVAL_MIN);
            by_plan(&k); /* what is lost stays so until it is stated */
            assert_int_equal(rt_kit_latest(&k), 3);
        } else {
            rt_kit_write(&k, 5, "a");
            (void)rt_kit_cycle(&k, 2);
            rt_kit_must_store(&k, 0, 10);
        }
        rt_kit_close(&k);
    }
}

/* An emptied partition becomes a reset mark, which needs a new file. (Unclear ones: foreign_overwrite_test.c.) */
static void anchor_after_an_overwrite_is_a_new_file_that_says_it(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, manual);
    k.next_id = 100;
    rt_kit_write(&k, 5, "b");
    k.next_id = 0;
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, "b");
    wait_minutes(&k, INTERVAL_MIN);
    by_plan(&k);
    must_be_anchor(&k, 3, 1, false);
    remove_snapshot(&k, 1);
    remove_snapshot(&k, 2);
    assert_int_equal(rt_kit_end(&k, -1, "b", 0), 0);
    assert_int_equal(rt_kit_end(&k, -1, "a", 0), 5);
    /* The same reset as without the anchor: the memory of before is dead. */
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 10);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "b", NULL, NULL, &err), &err);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    k.next_id = 5;
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 10);
    rt_kit_close(&k);
}

/* Who committed what is not changed by it: a commit sent again is still known, of the same user and of others. */
static void anchor_does_not_change_who_committed(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    assert_int_equal(rt_kit_commit(&k, p), 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    wait_minutes(&k, INTERVAL_MIN);
    by_plan(&k);
    assert_int_equal(rt_kit_latest(&k), 3);
    must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
    assert_true(r.already_committed);
    assert_int_equal(r.snapshot_id, 1);
    assert_int_equal(rt_kit_latest(&k), 3);
    pml_commit *ours = k.commit;
    must_ok(pml_commit_open(&k.commit, k.table, "somebody else", &err), &err);
    must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
    pml_commit_close(k.commit);
    k.commit = ours;
    pml_rt_prepared_free(p);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 10);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 10);
    rt_kit_close(&k);
}

/* ---- beside others, and with faults ---- */

typedef struct rival {
    rt_kit *k;
    bool known; /* it knows the property */
} rival;

static void commit_first(void *arg, int kind, const char *path)
{
    rival *r = arg;
    (void)kind, (void)path;
    if (r->known) {
        r->k->next_id = 100;
        (void)rt_kit_append(r->k, 5, "a"); /* carries no property on, as there is none */
        r->k->next_id = 5;
    } else {
        (void)rt_kit_foreign(r->k, PML_COMMIT_COMPACT, false, NULL);
    }
}

static void anchor_that_loses_the_race_looks_again(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        rt_kit k;
        faulty_fs f;
        const pml_file_system fast = rt_kit_fs();
        faulty_fs_init(&f, &fast);
        rt_kit_create(&k, &f.fs, "", "");
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, 1);
        (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
        rival r = {&k, known == 1};
        faulty_fs_call_at(&f, 1, FS_OP(FS_OP_PUBLISH), commit_first, &r);
        wait_minutes(&k, INTERVAL_MIN);
        by_plan(&k);
        faulty_fs_reset(&f);
        assert_int_equal(rt_kit_latest(&k), 4);
        must_be_anchor(&k, 4, 1, true);
        assert_int_equal(rt_kit_files(&k, ".offsets"), 1);
        rt_kit_close(&k);
        faulty_fs_destroy(&f);
    }
}

/* Every file operation and every allocation fails once: the call itself succeeds or says its own failure, no file is left behind
   that nobody names, and the next look comes after a tenth of the interval. */
static void anchor_that_fails_disturbs_nobody_and_is_made_sooner(void **state)
{
    (void)state;
    int failed = 0;
    bool more = true;
    for (int memory = 0; memory < 2; memory++, more = true)
        for (int n = 1; more; n++) {
            rt_kit k;
            faulty_fs f;
            pml_error err = PML_ERROR_INIT;
            const pml_file_system fast = rt_kit_fs();
            faulty_fs_init(&f, &fast);
            rt_kit_create(&k, &f.fs, "\"p\"", "");
            rt_kit_start(&k, NULL, manual);
            rt_kit_write(&k, 5, "b");
            (void)rt_kit_cycle(&k, 1);
            (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, "b"); /* so that there is a new file */
            wait_minutes(&k, INTERVAL_MIN);
            if (memory != 0)
                test_env_fail_at(k.t, n);
            else
                faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            int rc = pml_rt_advance(k.ctx, 1, &err);
            more = memory != 0 ? rt_kit_metrics(&k).reanchors == 0 || rc != PML_OK : faulty_fs_failures(&f) > 0;
            test_env_fail_at(k.t, 0);
            faulty_fs_reset(&f);
            assert_true(rc == PML_OK || rc == PML_E_IO || rc == PML_E_NOMEM);
            int64_t latest = rt_kit_latest(&k);
            if (rc != PML_OK || rt_kit_metrics(&k).reanchors == 0) {
                failed++;
                assert_true(latest == 2 || latest == 3);
                assert_int_equal(rt_kit_files(&k, ".offsets"), latest == 2 ? 1 : 2);
                wait_minutes(&k, INTERVAL_MIN); /* a tenth when the anchor failed, all of it when the call did */
                by_plan(&k);
            }
            must_be_anchor(&k, 3, 1, false);
            assert_int_equal(rt_kit_latest(&k), 3);
            assert_int_equal(rt_kit_files(&k, ".offsets"), 2);
            rt_kit_close(&k);
            faulty_fs_destroy(&f);
            assert_true(n < 3000);
        }
    assert_true(failed > 40);
}

static void anchor_that_failed_is_tried_after_a_tenth_of_the_interval(void **state)
{
    (void)state;
    rt_kit k;
    faulty_fs f;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    rt_kit_create(&k, &f.fs, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    wait_minutes(&k, INTERVAL_MIN);
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_CREATE));
    faulty_fs_fail_at(&f, 1, FAULT_BEFORE, PML_E_NO_SPACE, PML_ERRF_NO_EFFECT);
    by_write(&k);
    assert_int_equal(faulty_fs_failures(&f), 1);
    faulty_fs_reset(&f);
    by_write(&k);
    assert_int_equal(rt_kit_latest(&k), 2);
    wait_minutes(&k, 1);
    by_write(&k);
    assert_int_equal(rt_kit_latest(&k), 3);
    rt_kit_close(&k);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_that_others_dropped_is_written_again_after_the_interval),
        cmocka_unit_test(commit_of_rows_puts_the_look_off),
        cmocka_unit_test(interval_of_zero_is_never_and_another_one_is_kept),
        cmocka_unit_test(context_without_a_writer_never_commits),
        cmocka_unit_test(nothing_to_say_makes_no_commit),
        cmocka_unit_test(expiry_of_the_old_anchor_loses_nothing),
        cmocka_unit_test(anchor_after_an_overwrite_is_a_new_file_that_says_it),
        cmocka_unit_test(anchor_does_not_change_who_committed),
        cmocka_unit_test(anchor_that_loses_the_race_looks_again),
        cmocka_unit_test(anchor_that_fails_disturbs_nobody_and_is_made_sooner),
        cmocka_unit_test(anchor_that_failed_is_tried_after_a_tenth_of_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
