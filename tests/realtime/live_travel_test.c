/* SPDX-License-Identifier: Apache-2.0 */
/* Live plans of a chosen snapshot: by id, tag, time, watermark (realtime.md 10.1 steps 3 to 5, I6). Numbers: realtime-tests.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/file_io.h"
#include "support/rt_kit.h"
#include "table/travel.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

/* The snapshots of the tests are made this far apart. */
enum { STEP_MS = 1000 };

static int try_plan(pml_plan **out, rt_kit *k, int by, int64_t value, const char *tag, pml_error *err)
{
    pml_scan *scan;
    int rc = pml_scan_new(&scan, k->table, err);
    must_ok(rc, err);
    must_ok(pml_scan_set_realtime(scan, k->ctx, err), err);
    if (by == PML_SCAN_ID)
        must_ok(pml_scan_set_snapshot(scan, value, err), err);
    if (by == PML_SCAN_TAG)
        must_ok(pml_scan_set_tag(scan, tag, err), err);
    if (by == PML_SCAN_TIME)
        pml_scan_set_timestamp(scan, value);
    if (by == PML_SCAN_WATERMARK)
        pml_scan_set_watermark(scan, value);
    rc = pml_scan_plan(out, scan, err);
    pml_scan_free(scan);
    return rc;
}

static void must_show_by(rt_kit *k, int by, int64_t value, const char *tag, int64_t from, int64_t to)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    must_ok(try_plan(&p, k, by, value, tag, &err), &err);
    rt_kit_must_be(k, p, from, to);
    pml_plan_free(p);
}

static void must_refuse_by(rt_kit *k, int by, int64_t value, const char *tag, int code)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    must_fail_with(code, try_plan(&p, k, by, value, tag, &err), &err);
    assert_null(p);
}

/* A copy of the snapshot's file, as Java makes it. */
static void make_tag(rt_kit *k, int64_t snapshot, const char *name)
{
    char from[600], to[600];
    size_t len;
    (void)snprintf(from, sizeof from, "%s/snapshot/snapshot-%lld", k->path, (long long)snapshot);
    (void)snprintf(to, sizeof to, "%s/tag", k->path);
    char *dir = strdup(to);
    uint8_t *text = test_read_file(from, &len);
    pml_error err = PML_ERROR_INIT;
    int rc = k->t->env->fs.make_directory(k->t->env->fs.ctx, dir, &err);
    assert_true(rc == PML_OK || rc == PML_E_EXISTS);
    (void)snprintf(to, sizeof to, "%s/tag/tag-%s", k->path, name);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    (void)fclose(f);
    free(text);
    free(dir);
}

static void remove_file(rt_kit *k, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", k->path, name);
    assert_int_equal(unlink(path), 0);
}

static void remove_snapshot(rt_kit *k, int64_t id)
{
    char name[64];
    (void)snprintf(name, sizeof name, "snapshot/snapshot-%lld", (long long)id);
    remove_file(k, name);
}

/* Five rows and a commit with a watermark; returns the time of the snapshot. */
static int64_t cycle(rt_kit *k, int64_t i, const char *p)
{
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    int64_t watermark = 100 * i;
    (void)atomic_fetch_add(&k->t->wall_ms, STEP_MS);
    rt_kit_write(k, 5, p);
    pml_rt_prepared *prepared = rt_kit_prepare(k, i);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, prepared);
    must_ok(pml_rt_commit(&r, k->commit, e, n, i, &watermark, &err), &err);
    pml_rt_prepared_free(prepared);
    assert_int_equal(r.snapshot_id, i);
    return atomic_load(&k->t->wall_ms);
}

static void remove_all_progress(rt_kit *k)
{
    char command[700];
    (void)snprintf(command, sizeof command, "%s/metadata", k->path);
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__remove_tree(k->t->env, command, &err), &err);
}

/* ---- I6: memory on top of an older snapshot, or a gap ---- */

static void memory_is_shown_on_top_of_any_chosen_snapshot(void **state)
{
    (void)state;
    rt_kit k;
    int64_t times[4];
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 3; i++)
        times[i] = cycle(&k, i, "a");
    make_tag(&k, 1, "one");
    rt_kit_write(&k, 5, "a");
    for (int64_t i = 1; i <= 3; i++) { /* nothing was advanced: memory has all that the older ones lack */
        must_show_by(&k, PML_SCAN_ID, i, NULL, 0, 20);
        must_show_by(&k, PML_SCAN_TIME, times[i], NULL, 0, 20);
        must_show_by(&k, PML_SCAN_TIME, times[i] + STEP_MS - 1, NULL, 0, 20);
        must_show_by(&k, PML_SCAN_WATERMARK, 100 * i, NULL, 0, 20);
        must_show_by(&k, PML_SCAN_WATERMARK, 100 * i - 99, NULL, 0, 20);
    }
    must_show_by(&k, PML_SCAN_TAG, 0, "one", 0, 20);
    must_refuse_by(&k, PML_SCAN_TIME, times[1] - 1, NULL, PML_E_NOT_FOUND);
    must_refuse_by(&k, PML_SCAN_WATERMARK, 301, NULL, PML_E_NOT_FOUND);
    must_refuse_by(&k, PML_SCAN_TAG, 0, "two", PML_E_NOT_FOUND);
    rt_kit_close(&k);
}

static void snapshot_below_the_floor_of_memory_is_a_gap_however_it_was_chosen(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    int64_t times[4];
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 3; i++)
        times[i] = cycle(&k, i, "a");
    make_tag(&k, 1, "one");
    make_tag(&k, 3, "three");
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_advance(k.ctx, 2, &err), &err);
    must_refuse_by(&k, PML_SCAN_ID, 1, NULL, PML_E_PROGRESS_GAP);
    must_refuse_by(&k, PML_SCAN_TIME, times[2] - 1, NULL, PML_E_PROGRESS_GAP);
    must_refuse_by(&k, PML_SCAN_WATERMARK, 1, NULL, PML_E_PROGRESS_GAP);
    must_refuse_by(&k, PML_SCAN_TAG, 0, "one", PML_E_PROGRESS_GAP);
    must_show_by(&k, PML_SCAN_TIME, times[2], NULL, 0, 20);
    must_show_by(&k, PML_SCAN_WATERMARK, 101, NULL, 0, 20);
    must_show_by(&k, PML_SCAN_TAG, 0, "three", 0, 20);
    assert_int_equal(rt_kit_metrics(&k).plan_retries, 0); /* the same question has the same answer */
    pml_rt_context *ctx = k.ctx;
    k.ctx = NULL; /* without memory there is no gap */
    must_show_by(&k, PML_SCAN_TAG, 0, "one", 0, 5);
    must_show_by(&k, PML_SCAN_TIME, times[3] - 1, NULL, 0, 10);
    k.ctx = ctx;
    rt_kit_close(&k);
}

static void must_show_partition(rt_kit *k, int64_t snapshot, const char *p, int64_t from, int64_t to)
{
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *is_p;
    pml_error err = PML_ERROR_INIT;
    const pml_literal literal = {p, strlen(p)};
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_predicate_leaf(&is_p, k->table, "p", PML_OP_EQ, &literal, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, is_p, &err), &err);
    pml_predicate_free(is_p);
    must_ok(pml_scan_set_realtime(scan, k->ctx, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, snapshot, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    rt_kit_must_be(k, plan, from, to);
    pml_plan_free(plan);
}

/* What memory has let go of is missing in an older snapshot, whether memory has further rows or not. A partition-bucket that the
   query cannot need, or that this context never had rows of, lacks nothing. */
static void snapshot_without_rows_that_memory_let_go_of_is_a_gap_when_memory_is_empty(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    (void)rt_kit_append(&k, 5, "b"); /* snapshot 1 */
    rt_kit_write(&k, 5, "a");
    must_show_by(&k, PML_SCAN_ID, 1, NULL, 0, 10);
    assert_int_equal(rt_kit_cycle(&k, 1), 2);
    make_tag(&k, 1, "one");
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 0);
    must_refuse_by(&k, PML_SCAN_ID, 1, NULL, PML_E_PROGRESS_GAP);
    must_refuse_by(&k, PML_SCAN_TAG, 0, "one", PML_E_PROGRESS_GAP);
    must_show_by(&k, PML_SCAN_ID, 2, NULL, 0, 10);
    rt_kit_must_show(&k, 0, 10);
    must_show_partition(&k, 1, "b", 0, 5);
    rt_kit_write(&k, 5, "b"); /* memory of one partition, a hole in the other */
    must_refuse_by(&k, PML_SCAN_ID, 1, NULL, PML_E_PROGRESS_GAP);
    k.next_id = 10;
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL); /* another one: of a it knows nothing, b began after snapshot 2 */
    rt_kit_write(&k, 5, "b");
    must_show_by(&k, PML_SCAN_ID, 2, NULL, 0, 15);
    (void)rt_kit_cycle(&k, 2);
    must_refuse_by(&k, PML_SCAN_ID, 2, NULL, PML_E_PROGRESS_GAP);
    must_show_by(&k, PML_SCAN_ID, 3, NULL, 0, 15);
    must_show_partition(&k, 1, "a", 0, 0);
    rt_kit_close(&k);
}

/* The rows of before a reset are another life than what memory holds: the snapshot alone is shown. */
static void memory_of_a_later_life_is_not_shown_on_a_snapshot_from_before_the_reset(void **state)
{
    (void)state;
    rt_kit k;
    int64_t time;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    time = cycle(&k, 1, "a");
    make_tag(&k, 1, "before");
    (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, NULL);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 5, 10);
    must_show_by(&k, PML_SCAN_ID, 1, NULL, 0, 5);
    must_show_by(&k, PML_SCAN_TAG, 0, "before", 0, 5);
    must_show_by(&k, PML_SCAN_TIME, time, NULL, 0, 5);
    must_show_by(&k, PML_SCAN_WATERMARK, 100, NULL, 0, 5);
    assert_int_equal(rt_kit_metrics(&k).dropped_views, 4);
    rt_kit_close(&k);
}

/* A tag with all that its snapshot had keeps working when the snapshot has expired. */
static void tag_whose_snapshot_expired_keeps_its_progress(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 3; i++)
        (void)cycle(&k, i, "a");
    make_tag(&k, 2, "two");
    for (int i = 1; i <= 2; i++)
        remove_snapshot(&k, i);
    rt_kit_write(&k, 5, "a");
    must_refuse_by(&k, PML_SCAN_ID, 2, NULL, PML_E_NOT_FOUND);
    must_show_by(&k, PML_SCAN_TAG, 0, "two", 0, 20);
    rt_kit_close(&k);
}

/* 39b: a tag of a commit by somebody who does not know the property; the snapshot that does is gone. Lost, not empty. */
static void tag_whose_anchor_expired_has_lost_its_progress(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    (void)cycle(&k, 1, "a");
    make_tag(&k, rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL), "two");
    rt_kit_write(&k, 5, "a");
    must_show_by(&k, PML_SCAN_TAG, 0, "two", 0, 10); /* by way of snapshot 1 */
    (void)rt_kit_cycle(&k, 3);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual); /* without what was remembered */
    for (int i = 1; i <= 2; i++)
        remove_snapshot(&k, i);
    rt_kit_write(&k, 5, "a");
    must_refuse_by(&k, PML_SCAN_TAG, 0, "two", PML_E_PROGRESS_LOST);
    rt_kit_must_show(&k, 0, 15);
    must_ok(pml_rt_advance(k.ctx, rt_kit_cycle(&k, 4), &err), &err);
    must_refuse_by(&k, PML_SCAN_TAG, 0, "two", PML_E_PROGRESS_LOST); /* what memory let go of may be missing there */
    rt_kit_must_show(&k, 0, 15);
    pml_rt_context *ctx = k.ctx;
    k.ctx = NULL;
    must_show_by(&k, PML_SCAN_TAG, 0, "two", 0, 5);
    k.ctx = ctx;
    rt_kit_close(&k);
}

/* The progress file that a tag names was taken away: an error, and never "nothing was committed". */
static void tag_whose_progress_file_is_missing_is_an_error(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 2; i++)
        (void)cycle(&k, i, "a");
    make_tag(&k, 1, "one");
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 5, "a");
    remove_snapshot(&k, 1);
    remove_all_progress(&k);
    must_refuse_by(&k, PML_SCAN_TAG, 0, "one", PML_E_IO);
    rt_kit_close(&k);
}

/* 77: the hint went back; "now" is not older than what memory let go of. */
static void plan_by_time_ignores_a_stale_hint(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 4; i++)
        (void)cycle(&k, i, "a");
    must_ok(pml_rt_advance(k.ctx, 4, &err), &err);
    rt_kit_write(&k, 5, "a");
    remove_snapshot(&k, 1);
    remove_snapshot(&k, 2);
    remove_snapshot(&k, 3);
    rt_kit_write_hint(&k, 2);
    must_show_by(&k, PML_SCAN_TIME, INT64_MAX, NULL, 0, 25);
    must_show_by(&k, PML_SCAN_WATERMARK, 400, NULL, 0, 25);
    rt_kit_close(&k);
}

/* A chosen snapshot is no news about the latest one: the next latest plan may not be held to it, nor may it go back. */
static void plan_of_a_chosen_snapshot_does_not_move_the_latest_one(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 2; i++)
        (void)cycle(&k, i, "a");
    make_tag(&k, 2, "two");
    must_show_by(&k, PML_SCAN_TAG, 0, "two", 0, 10);
    rt_kit_roll_back(&k, 1);
    rt_kit_must_show(&k, 0, 10); /* from memory, on snapshot 1 */
    rt_kit_close(&k);
}

/* A live split of a tag is opened at that tag, and not at another. */
static void live_split_of_a_tag_is_opened_at_it(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan, *again;
    pml_text bytes;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 2; i++)
        (void)cycle(&k, i, "a");
    make_tag(&k, 1, "one");
    make_tag(&k, 2, "two");
    remove_snapshot(&k, 1);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
    must_ok(pml_scan_set_tag(scan, "one", &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    assert_int_equal(pml_plan_split_count(plan), 1);
    must_ok(pml_rt_split_serialize(&bytes, plan, 0, &err), &err);
    const pml_blob blob = {(const uint8_t *)bytes.ptr, bytes.len};
    must_ok(pml_scan_set_tag(scan, "two", &err), &err);
    must_fail_with(PML_E_INVAL, pml_rt_split_deserialize(&again, scan, &blob, 1, &err), &err); /* the ticket is kept */
    must_ok(pml_scan_set_tag(scan, "one", &err), &err);
    must_ok(pml_rt_split_deserialize(&again, scan, &blob, 1, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(again), 1);
    rt_kit_must_be(&k, again, 0, 15);
    pml_plan_free(again);
    pml_text_clear(&bytes);
    pml_plan_free(plan);
    pml_scan_free(scan);
    rt_kit_close(&k);
}

static void plan_by_tag_without_memory_fails_cleanly(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 1; i <= 2; i++)
        (void)cycle(&k, i, "a");
    make_tag(&k, 1, "one");
    rt_kit_write(&k, 5, "a");
    int failures = 0;
    for (int n = 1;; n++, failures++) {
        pml_error err = PML_ERROR_INIT;
        pml_scan *scan;
        pml_plan *p;
        must_ok(pml_scan_new(&scan, k.table, &err), &err);
        must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
        must_ok(pml_scan_set_tag(scan, "one", &err), &err);
        test_env_fail_at(k.t, n);
        int rc = pml_scan_plan(&p, scan, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(k.t));
        test_env_fail_at(k.t, 0);
        pml_scan_free(scan);
        pml_plan_free(p);
        if (rc == PML_OK)
            break;
        must_fail_with(PML_E_NOMEM, rc, &err);
        assert_true(n < 3000);
    }
    assert_true(failures > 30);
    must_show_by(&k, PML_SCAN_TAG, 0, "one", 0, 15);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_shown_on_top_of_any_chosen_snapshot),
        cmocka_unit_test(snapshot_below_the_floor_of_memory_is_a_gap_however_it_was_chosen),
        cmocka_unit_test(snapshot_without_rows_that_memory_let_go_of_is_a_gap_when_memory_is_empty),
        cmocka_unit_test(memory_of_a_later_life_is_not_shown_on_a_snapshot_from_before_the_reset),
        cmocka_unit_test(tag_whose_snapshot_expired_keeps_its_progress),
        cmocka_unit_test(tag_whose_anchor_expired_has_lost_its_progress),
        cmocka_unit_test(tag_whose_progress_file_is_missing_is_an_error),
        cmocka_unit_test(plan_by_time_ignores_a_stale_hint),
        cmocka_unit_test(plan_of_a_chosen_snapshot_does_not_move_the_latest_one),
        cmocka_unit_test(live_split_of_a_tag_is_opened_at_it),
        cmocka_unit_test(plan_by_tag_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
