/* SPDX-License-Identifier: Apache-2.0 */
/* Rollback under a live context (realtime.md 7.6 items 4 and 5; realtime-tests.md 9 and 41): ids go back, ids are given again, and which
   partition-buckets may go on all the same. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/faulty_fs.h"
#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

static void open_manual(rt_kit *k, const pml_file_system *fs, const char *partition_keys)
{
    rt_kit_create(k, fs, partition_keys, "");
    rt_kit_start(k, NULL, manual);
}

static void advance(rt_kit *k, int64_t id)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_advance(k->ctx, id, &err), &err);
}

static void must_want_a_new_context(rt_kit *k, const char *p)
{
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(k, 1, p, NULL, NULL, &err), &err);
}

/* Another live writer, in an environment of its own and under another user, writes ids [first, first + 5) and commits them. */
static int64_t other_commits(rt_kit *k, int64_t first, const char *p, int64_t identifier)
{
    rt_kit o;
    pml_error err = PML_ERROR_INIT;
    rt_kit_share(&o, k, NULL);
    pml_commit_close(o.commit);
    must_ok(pml_commit_open(&o.commit, o.table, "other", &err), &err);
    (void)test_random(o.t);
    o.t->random_state = (uint64_t)(first * 1000 + identifier); /* names of its own */
    (void)atomic_fetch_add(&o.t->wall_ms, 12345);
    rt_kit_start(&o, NULL, NULL);
    o.next_id = first;
    rt_kit_write(&o, 5, p);
    int64_t id = rt_kit_cycle(&o, identifier);
    rt_kit_close(&o);
    return id;
}

/* ---- 41, ABA: the last advanced id belongs to another snapshot ---- */

static void same_id_of_another_writer_is_not_the_same_snapshot(void **state)
{
    (void)state;
    rt_kit k;
    open_manual(&k, NULL, "");
    for (int i = 1; i <= 2; i++) {
        rt_kit_write(&k, 5, "a");
        advance(&k, rt_kit_cycle(&k, i));
    }
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 1);
    assert_int_equal(other_commits(&k, 5, "a", 1), 2); /* same partition-bucket, lineage and end as before */
    advance(&k, 2);
    must_want_a_new_context(&k, "a");
    rt_kit_must_show(&k, 0, 10); /* what the table holds; memory is left out */
    rt_kit_close(&k);
}

static void ids_that_grew_again_past_the_last_one_are_noticed(void **state)
{
    (void)state;
    rt_kit k;
    open_manual(&k, NULL, "");
    for (int i = 1; i <= 2; i++) {
        rt_kit_write(&k, 5, "a");
        advance(&k, rt_kit_cycle(&k, i));
    }
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 1);
    (void)other_commits(&k, 5, "a", 1);
    assert_int_equal(other_commits(&k, 10, "a", 2), 3); /* even beyond what memory holds */
    advance(&k, 3);
    must_want_a_new_context(&k, "a");
    rt_kit_must_show(&k, 0, 15);
    rt_kit_close(&k);
}

/* A late call for an old id, when the newer ones are others now: the truth is the latest. */
static void old_id_after_a_rollback_adopts_the_latest(void **state)
{
    (void)state;
    rt_kit k;
    open_manual(&k, NULL, "\"p\"");
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_write(&k, 5, "b");
    advance(&k, rt_kit_cycle(&k, 3));
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 2);
    advance(&k, 1); /* at snapshot 1 the end of a would have gone back, at 2 it has not */
    must_want_a_new_context(&k, "b");
    rt_kit_write(&k, 5, "a");
    k.next_id = 0; /* b is gone from the table: ids 10 to 14 are missing */
    pml_plan *p = rt_kit_plan(&k);
    int64_t rows;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_plan_count(&rows, p, &err), &err);
    assert_int_equal(rows, 20);
    pml_plan_free(p);
    rt_kit_close(&k);
}

/* ---- who may go on ---- */

static void partition_bucket_that_the_rollback_left_alone_goes_on(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    open_manual(&k, NULL, "\"p\"");
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    k.next_id = 100;
    rt_kit_write(&k, 5, "b");
    advance(&k, rt_kit_cycle(&k, 2));
    k.next_id = 5;
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "c"); /* never committed */
    rt_kit_roll_back(&k, 1);
    assert_int_equal(other_commits(&k, 200, "d", 1), 2);
    assert_int_equal(other_commits(&k, 300, "d", 2), 3);
    advance(&k, 3);
    must_want_a_new_context(&k, "b");
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "c");
    k.next_id = 0;
    /* Of a and c everything, of b nothing. */
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream s;
    pml_predicate *below;
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
    must_ok(pml_predicate_leaf(&below, k.table, "id", PML_OP_LT, &(pml_literal){"200", 3}, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, below, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_read_open(&s, plan, NULL, &err), &err);
    rt_kit_must_stream(&k, &s, 0, 25);
    pml_predicate_free(below);
    pml_plan_free(plan);
    pml_scan_free(scan);
    rt_kit_close(&k);
}

/* Java's row-level commits may roll a COMPACT snapshot back and take its id: no progress was touched. */
static void compaction_rolled_back_resets_nothing(void **state)
{
    (void)state;
    rt_kit k;
    open_manual(&k, NULL, "");
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    advance(&k, rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL));
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 1);
    advance(&k, 1);
    rt_kit_write(&k, 5, "a");
    (void)atomic_fetch_add(&k.t->wall_ms, 77);
    assert_int_equal(rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL), 2);
    advance(&k, 2);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 20);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 20);
    rt_kit_close(&k);
}

/* The commits of this context itself make the ids grow again, under whatever user. */
static void own_commits_after_a_rollback_are_known(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    open_manual(&k, NULL, "");
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    for (int i = 0; i < 2; i++)
        (void)rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
    advance(&k, 3);
    rt_kit_roll_back(&k, 1);
    pml_commit_close(k.commit);
    must_ok(pml_commit_open(&k.commit, k.table, "the same job, named anew", &err), &err);
    for (int i = 2; i <= 4; i++) {
        (void)atomic_fetch_add(&k.t->wall_ms, 5);
        rt_kit_write(&k, 5, "a");
        assert_int_equal(rt_kit_cycle(&k, i), i);
    }
    advance(&k, 4); /* snapshot 3 is another one now, but ours */
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 25);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 5);
    rt_kit_close(&k);
}

/* The user of an earlier run counts too, as long as nobody else moved the entry since. */
static void progress_of_an_earlier_run_is_kept_by_a_rollback_above_it(void **state)
{
    (void)state;
    for (int stolen = 0; stolen < (rt_kit_with_keys() ? 1 : 2); stolen++) { /* with keys their rows would be a second writer's */
        rt_kit k;
        open_manual(&k, NULL, "");
        assert_int_equal(other_commits(&k, 0, "a", 1), 1); /* the earlier run, under its own user */
        (void)rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
        k.next_id = 5;
        rt_kit_write(&k, 5, "a"); /* begins at snapshot 2 */
        rt_kit_roll_back(&k, 1);
        (void)atomic_fetch_add(&k.t->wall_ms, 77);
        if (stolen)
            (void)rt_kit_append(&k, 5, "a"); /* ids 10 to 14; the progress stays */
        else
            (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
        advance(&k, 2);
        rt_kit_write(&k, 5, "a");
        rt_kit_must_show(&k, 0, stolen ? 20 : 15);
        rt_kit_close(&k);
    }
}

/* Where nothing is committed nobody has rows: a reset mark is kept. */
static void partition_bucket_on_a_reset_mark_goes_on(void **state)
{
    (void)state;
    rt_kit k;
    open_manual(&k, NULL, "");
    k.next_id = 100;
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, NULL);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    k.next_id = 0;
    (void)rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 2);
    (void)atomic_fetch_add(&k.t->wall_ms, 77);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    advance(&k, 3);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 10);
    rt_kit_close(&k);
}

/* A partition-bucket that begins after a rollback that nobody has noticed yet does not hide it from the others. */
static void new_partition_bucket_does_not_hide_a_rollback(void **state)
{
    (void)state;
    rt_kit k;
    open_manual(&k, NULL, "\"p\"");
    for (int i = 1; i <= 2; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a"); /* begins at snapshot 2, nothing was advanced */
    rt_kit_roll_back(&k, 1);
    (void)other_commits(&k, 5, "a", 1);
    assert_int_equal(other_commits(&k, 200, "a", 2), 3);
    rt_kit_write(&k, 5, "b"); /* begins at snapshot 3 */
    advance(&k, 3);
    must_want_a_new_context(&k, "a");
    rt_kit_write(&k, 5, "b");
    rt_kit_close(&k);
}

/* ---- item 5: other implementations write no lineages ---- */

#define ENTRY(offset) "{\"version\":1,\"offsets\":[{\"partition\":{\"p\":\"a\"},\"bucket\":0,\"offset\":" #offset "}]}"

static void overwrite_by_others_without_lineages_is_found_on_the_way(void **state)
{
    (void)state;
    static const struct {
        const char *between;
        pml_commit_kind kind;
        bool expired, reset;
    } cases[] = {
        {"{\"version\":1,\"offsets\":[]}", PML_COMMIT_OVERWRITE, false, true}, /* removed, then grown again */
        {ENTRY(2), PML_COMMIT_OVERWRITE, false, true},                           /* lowered */
        {ENTRY(5), PML_COMMIT_OVERWRITE, false, false},                          /* of other partitions */
        {ENTRY(2), PML_COMMIT_APPEND, false, false},                             /* no overwrite */
        {ENTRY(2), PML_COMMIT_OVERWRITE, true, false},                           /* cannot be read: the values decide */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rt_kit k;
        open_manual(&k, NULL, "\"p\"");
        rt_kit_write(&k, 5, "a");
        advance(&k, rt_kit_cycle(&k, 1));
        rt_kit_write(&k, 5, "a");
        k.foreign_progress = cases[i].between;
        (void)rt_kit_foreign(&k, cases[i].kind, false, NULL);
        k.foreign_progress = ENTRY(7);
        assert_int_equal(rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL), 3);
        if (cases[i].expired) {
            char path[600];
            (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-2", k.path);
            assert_int_equal(unlink(path), 0);
        }
        advance(&k, 3);
        pml_error err = PML_ERROR_INIT;
        int rc = rt_kit_try_write(&k, 1, "a", NULL, NULL, &err);
        if (rc != (cases[i].reset ? PML_E_RECREATE : PML_OK))
            fail_msg("case %zu: %s", i, err.message);
        rt_kit_close(&k);
    }
}

/* ---- failures ---- */

static void advance_over_a_rollback_that_fails_changes_nothing(void **state)
{
    (void)state;
    int failures = 0;
    bool more = true;
    for (int memory = 0; memory < 2; memory++, more = true)
        for (int n = 1; more; n++) {
            rt_kit k;
            faulty_fs f;
            pml_error err = PML_ERROR_INIT;
            const pml_file_system fast = rt_kit_fs();
            faulty_fs_init(&f, &fast);
            open_manual(&k, &f.fs, "\"p\"");
            rt_kit_write(&k, 5, "a");
            (void)rt_kit_cycle(&k, 1);
            k.next_id = 100;
            rt_kit_write(&k, 5, "b");
            advance(&k, rt_kit_cycle(&k, 2));
            k.next_id = 5;
            rt_kit_write(&k, 5, "a");
            rt_kit_roll_back(&k, 1);
            k.foreign_progress = "{\"version\":1,\"offsets\":[{\"partition\":{\"p\":\"a\"},\"bucket\":0,\"offset\":5,\"commitUser\":\"kit\"}]}";
            for (int i = 0; i < 2; i++)
                (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, false, NULL);
            long long before = atomic_load(&k.t->count);
            if (memory != 0)
                test_env_fail_at(k.t, n);
            else
                faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            int rc = pml_rt_advance(k.ctx, 1, &err);
            more = memory != 0 ? n <= atomic_load(&k.t->count) - before : faulty_fs_failures(&f) > 0;
            test_env_fail_at(k.t, 0);
            faulty_fs_reset(&f);
            assert_true(rc == PML_OK || rc == PML_E_IO || rc == PML_E_NOMEM);
            if (rc != PML_OK) {
                failures++;
                rt_kit_write(&k, 5, "b"); /* not noticed yet */
                k.next_id = 10;
                advance(&k, 1);
            }
            must_want_a_new_context(&k, "b");
            rt_kit_write(&k, 5, "a");
            rt_kit_must_show(&k, 0, 15);
            rt_kit_close(&k);
            faulty_fs_destroy(&f);
            assert_true(n < 2000);
        }
    assert_true(failures > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_id_of_another_writer_is_not_the_same_snapshot),
        cmocka_unit_test(ids_that_grew_again_past_the_last_one_are_noticed),
        cmocka_unit_test(old_id_after_a_rollback_adopts_the_latest),
        cmocka_unit_test(partition_bucket_that_the_rollback_left_alone_goes_on),
        cmocka_unit_test(compaction_rolled_back_resets_nothing),
        cmocka_unit_test(own_commits_after_a_rollback_are_known),
        cmocka_unit_test(progress_of_an_earlier_run_is_kept_by_a_rollback_above_it),
        cmocka_unit_test(partition_bucket_on_a_reset_mark_goes_on),
        cmocka_unit_test(new_partition_bucket_does_not_hide_a_rollback),
        cmocka_unit_test(overwrite_by_others_without_lineages_is_found_on_the_way),
        cmocka_unit_test(advance_over_a_rollback_that_fails_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
