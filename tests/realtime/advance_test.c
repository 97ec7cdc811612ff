/* SPDX-License-Identifier: Apache-2.0 */
/* Advance (realtime.md 9.6, 7.6): what a committed snapshot lets go of, and what ends a history. Numbers: realtime-tests.md. */
#include <stdio.h>
#include <string.h>

#include "support/failing_store.h"
#include "support/faulty_fs.h"
#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

static void start(rt_kit *k, const char *partition_keys, const pml_rt_plugin *store)
{
    rt_kit_create(k, NULL, partition_keys, "");
    rt_kit_start(k, store, manual);
}

/* 8 */
static void advance_to_the_same_snapshot_again_does_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    failing_store = (failing_script){0};
    start(&k, "", &failing_store_plugin);
    rt_kit_write(&k, 5, "a");
    int64_t id = rt_kit_cycle(&k, 1);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    assert_int_equal(failing_store.advances, 1);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 0);
    assert_int_equal(rt_kit_metrics(&k).reclaimed_rows, 5);
    rt_kit_must_show(&k, 0, 5);
    rt_kit_close(&k);
}

/* 8, 14d: the code of the plugin comes through, other stores were told, and only the lagging one is told again */
static void advance_that_failed_in_one_store_tells_only_that_one_again(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "\"p\"", &failing_store_plugin);
    rt_kit_write(&k, 3, "a");
    rt_kit_write(&k, 3, "b");
    int64_t id = rt_kit_cycle(&k, 1);
    failing_store = (failing_script){.call = FAIL_ADVANCE, .code = PML_E_IO, .times = 1};
    must_fail_with(PML_E_IO, pml_rt_advance(k.ctx, id, &err), &err);
    assert_int_equal(failing_store.advances, 2);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 3);
    rt_kit_must_show(&k, 0, 6);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    assert_int_equal(failing_store.advances, 3);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 0);
    rt_kit_must_show(&k, 0, 6);
    rt_kit_close(&k);
}

static void advance_with_a_code_no_plugin_may_return_is_a_plugin_error(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", &failing_store_plugin);
    rt_kit_write(&k, 3, "a");
    int64_t id = rt_kit_cycle(&k, 1);
    failing_store = (failing_script){.call = FAIL_ADVANCE, .code = PML_E_NOT_FOUND, .times = 1};
    must_fail_with(PML_E_PLUGIN, pml_rt_advance(k.ctx, id, &err), &err);
    failing_store = (failing_script){.call = FAIL_ADVANCE, .code = 77, .times = 1};
    must_fail_with(PML_E_PLUGIN, pml_rt_advance(k.ctx, id, &err), &err);
    failing_store = (failing_script){0};
    rt_kit_close(&k);
}

static void advance_to_an_old_snapshot_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    rt_kit_write(&k, 5, "a");
    int64_t first = rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    int64_t second = rt_kit_cycle(&k, 2);
    must_ok(pml_rt_advance(k.ctx, second, &err), &err);
    must_ok(pml_rt_advance(k.ctx, first, &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 15);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 5);
    rt_kit_close(&k);
}

static void remove_snapshot(rt_kit *k, int64_t id)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", k->path, (long long)id);
    assert_int_equal(remove(path), 0);
}

/* An old id whose successor has expired is old all the same: expiry is no roll-back. */
static void advance_to_an_old_snapshot_after_expiry_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    must_ok(pml_rt_advance(k.ctx, 2, &err), &err);
    remove_snapshot(&k, 1);
    remove_snapshot(&k, 2);
    must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 20);
    rt_kit_close(&k);
}

/* The partition-bucket began at the newest snapshot: an older id is old, although nothing was advanced yet. */
static void advance_of_a_new_context_to_an_old_snapshot_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    for (int i = 0; i < 2; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 20);
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 3), &err), &err);
    rt_kit_must_show(&k, 0, 20);
    rt_kit_close(&k);
}

/* A partition-bucket that began at a newer snapshot meanwhile does not keep the memory of the others. */
static void advance_to_our_commit_lets_go_although_a_newer_snapshot_is_known(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "\"p\"", NULL);
    rt_kit_write(&k, 5, "a");
    int64_t id = rt_kit_cycle(&k, 1);
    (void)rt_kit_append(&k, 5, "c");
    rt_kit_write(&k, 5, "b");
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 5);
    rt_kit_must_show(&k, 0, 15);
    rt_kit_close(&k);
}

/* But a rollback below it is one. */
static void rollback_below_where_a_context_began_is_noticed(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    for (int i = 0; i < 2; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 1);
    must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
    rt_kit_must_show(&k, 0, 5);
    rt_kit_close(&k);
}

static void advance_to_no_snapshot_is_an_error(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context *unbound;
    start(&k, "", NULL);
    rt_kit_write(&k, 5, "a");
    must_fail_with(PML_E_INVAL, pml_rt_advance(k.ctx, 0, &err), &err);
    must_fail_with(PML_E_NOT_FOUND, pml_rt_advance(k.ctx, 7, &err), &err);
    must_ok(pml_rt_context_open(&unbound, k.t->env, NULL, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rt_advance(unbound, 1, &err), &err);
    pml_rt_context_close(unbound);
    rt_kit_must_show(&k, 0, 5);
    rt_kit_close(&k);
}

/* 9 (P1 part), 41: the committed end went back */
static void rollback_is_noticed_by_advance_and_ends_writes(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 2), &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_roll_back(&k, 1);
    pml_plan *p;
    must_fail_with(PML_E_PROGRESS_GAP, rt_kit_try_plan(&p, &k, k.ctx, -1, &err), &err);
    must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
    pml_rt_prepared *prepared;
    must_fail_with(PML_E_RECREATE, pml_rt_prepare(&prepared, k.w, 3, NULL, &err), &err);
    must_fail_with(PML_E_RECREATE, pml_rt_seal(k.w, &err), &err);
    rt_kit_must_show(&k, 0, 5); /* its memory is left out */
    assert_true(rt_kit_metrics(&k).dropped_views > 0);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    k.next_id = 5;
    rt_kit_write(&k, 10, "a"); /* the source replays from the committed end */
    rt_kit_must_show(&k, 0, 15);
    (void)rt_kit_cycle(&k, 4);
    rt_kit_must_store(&k, 0, 15);
    rt_kit_close(&k);
}

/* 9: other partitions go on */
static void truncate_of_a_partition_resets_only_its_partition_bucket(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "\"p\"", NULL);
    rt_kit_write(&k, 5, "b");
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 1), &err), &err);
    must_ok(pml_rt_advance(k.ctx, rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, "b"), &err), &err);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "b", NULL, NULL, &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 5, 15);
    rt_kit_close(&k);
}

/* 9: another implementation that knows the protocol, but no lineages, removed the entry or lowered its offset */
static void entry_removed_or_lowered_by_others_ends_the_history(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"version\":1,\"offsets\":[]}",
        "{\"version\":1,\"offsets\":[{\"partition\":{\"p\":\"a\"},\"bucket\":0,\"offset\":2}]}",
    };
    for (int i = 0; i < 2; i++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_plan *p;
        start(&k, "\"p\"", NULL);
        k.next_id = 100;
        rt_kit_write(&k, 5, "a");
        int64_t id = rt_kit_cycle(&k, 1);
        if (i == 1)
            must_ok(pml_rt_advance(k.ctx, id, &err), &err);
        rt_kit_write(&k, 5, "a");
        k.next_id = 0;
        rt_kit_write(&k, 5, "b"); /* never committed: absence means nothing */
        k.foreign_progress = texts[i];
        id = rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, NULL);
        if (i == 0)
            rt_kit_must_show(&k, 0, 5); /* by a commit of our own that nobody advanced */
        else
            must_fail_with(PML_E_PROGRESS_GAP, rt_kit_try_plan(&p, &k, k.ctx, -1, &err), &err);
        must_ok(pml_rt_advance(k.ctx, id, &err), &err);
        must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
        rt_kit_must_show(&k, 0, 5);
        rt_kit_write(&k, 5, "b");
        rt_kit_must_show(&k, 0, 10);
        rt_kit_close(&k);
    }
}

/* 10: an external compaction changes no progress */
static void compaction_by_others_resets_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL), &err), &err);
    rt_kit_must_show(&k, 0, 10);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 5);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 15);
    rt_kit_close(&k);
}

/* 33: a plan and a stream that were there before see what they saw */
static void advance_leaves_pinned_plans_and_streams_alone(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream s;
    start(&k, "", NULL);
    rt_kit_write(&k, 5, "a");
    pml_plan *before = rt_kit_plan(&k);
    must_ok(pml_read_open(&s, before, NULL, &err), &err);
    int64_t id = rt_kit_cycle(&k, 1);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_be(&k, before, 0, 5);
    assert_int_equal(pml_plan_snapshot_id(before), -1);
    pml_plan_free(before);
    rt_kit_must_stream(&k, &s, 0, 5);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_close(&k);
}

/* ---- 78: advances that overtake each other ---- */

typedef struct overtaker {
    rt_kit *k;
    int64_t id;
    int rc;
} overtaker;

static void overtake(void *arg, int kind, const char *path)
{
    overtaker *o = arg;
    (void)kind, (void)path;
    o->rc = pml_rt_advance(o->k->ctx, o->id, NULL);
}

/* Advance to 1 has read nothing yet, or read its snapshot already, when advance to 2 is done. */
static void advance_overtaken_by_a_newer_one_resets_nothing(void **state)
{
    (void)state;
    for (int at = 1; at <= 12; at++) {
        rt_kit k;
        faulty_fs f;
        pml_error err = PML_ERROR_INIT;
        const pml_file_system fast = rt_kit_fs();
        faulty_fs_init(&f, &fast);
        rt_kit_create(&k, &f.fs, "", "");
        rt_kit_start(&k, NULL, manual);
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, 1);
        rt_kit_write(&k, 5, "a");
        overtaker o = {&k, rt_kit_cycle(&k, 2), PML_OK};
        rt_kit_write(&k, 5, "a");
        faulty_fs_call_at(&f, at, FS_OP_ALL, overtake, &o);
        must_ok(pml_rt_advance(k.ctx, 1, &err), &err);
        faulty_fs_reset(&f);
        assert_int_equal(o.rc, PML_OK);
        rt_kit_write(&k, 1, "a"); /* fails when the partition-bucket was taken for rolled back */
        rt_kit_must_show(&k, 0, 16);
        rt_kit_close(&k);
        faulty_fs_destroy(&f);
    }
}

/* 77a, I11: the hint went back to an old snapshot, and the next one is missing, so that nobody notices */
static void latest_plan_does_not_go_back_with_a_stale_hint(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "\"p\"", NULL);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 1), &err), &err);
    (void)rt_kit_append(&k, 5, "b"); /* somebody else, in a partition-bucket that this context does not know */
    (void)rt_kit_append(&k, 5, "b");
    rt_kit_must_show(&k, 0, 15); /* planned 3 */
    remove_snapshot(&k, 2);
    rt_kit_write_hint(&k, 1);
    rt_kit_must_show(&k, 0, 15);
    must_ok(pml_rt_advance(k.ctx, 1, &err), &err); /* a late advance must not lower what was planned */
    rt_kit_must_show(&k, 0, 15);
    rt_kit_close(&k);
}

/* I6: memory let go of what the stale snapshot lacks; the plan must look again instead of showing a hole */
static void latest_plan_after_advance_ignores_a_stale_hint(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k, "", NULL);
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    must_ok(pml_rt_advance(k.ctx, 3, &err), &err);
    rt_kit_write(&k, 5, "a");
    remove_snapshot(&k, 2);
    rt_kit_write_hint(&k, 1);
    rt_kit_must_show(&k, 0, 20);
    rt_kit_close(&k);
}

/* The same for a context that began above it. */
static void latest_plan_of_a_new_context_ignores_a_stale_hint(void **state)
{
    (void)state;
    rt_kit k;
    start(&k, "", NULL);
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, i);
    }
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    remove_snapshot(&k, 2);
    rt_kit_write_hint(&k, 1);
    rt_kit_must_show(&k, 0, 20);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advance_to_the_same_snapshot_again_does_nothing),
        cmocka_unit_test(advance_that_failed_in_one_store_tells_only_that_one_again),
        cmocka_unit_test(advance_with_a_code_no_plugin_may_return_is_a_plugin_error),
        cmocka_unit_test(advance_to_an_old_snapshot_changes_nothing),
        cmocka_unit_test(advance_to_an_old_snapshot_after_expiry_changes_nothing),
        cmocka_unit_test(advance_of_a_new_context_to_an_old_snapshot_changes_nothing),
        cmocka_unit_test(advance_to_our_commit_lets_go_although_a_newer_snapshot_is_known),
        cmocka_unit_test(rollback_below_where_a_context_began_is_noticed),
        cmocka_unit_test(advance_to_no_snapshot_is_an_error),
        cmocka_unit_test(rollback_is_noticed_by_advance_and_ends_writes),
        cmocka_unit_test(truncate_of_a_partition_resets_only_its_partition_bucket),
        cmocka_unit_test(entry_removed_or_lowered_by_others_ends_the_history),
        cmocka_unit_test(compaction_by_others_resets_nothing),
        cmocka_unit_test(advance_leaves_pinned_plans_and_streams_alone),
        cmocka_unit_test(advance_overtaken_by_a_newer_one_resets_nothing),
        cmocka_unit_test(latest_plan_does_not_go_back_with_a_stale_hint),
        cmocka_unit_test(latest_plan_after_advance_ignores_a_stale_hint),
        cmocka_unit_test(latest_plan_of_a_new_context_ignores_a_stale_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
