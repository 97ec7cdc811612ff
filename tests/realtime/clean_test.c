/* SPDX-License-Identifier: Apache-2.0 */
/* Clean-up of progress files (realtime.md 7.5). Numbers: 39b, 42 of realtime-tests.md. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/rt_kit.h"
#include "table/table.h"

#define DAY_MS INT64_C(86400000)

/* The file that the property of a snapshot names; a static buffer for each id below 16. */
static const char *progress_of(rt_kit *k, int64_t id)
{
    static char paths[16][600];
    pml_arena arena;
    pml_snapshot s;
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&arena, k->t->env);
    must_ok(pml_table__load_snapshot(&s, &arena, k->table, id, &err), &err);
    const char *value = pml_snapshot__property(&s, "realtime.offsets");
    assert_non_null(value);
    (void)snprintf(paths[id], sizeof paths[id], "%s", value);
    pml_arena__clear(&arena);
    return paths[id];
}

static void age_file(rt_kit *k, const char *path, int64_t age_ms)
{
    int64_t at = atomic_load(&k->t->wall_ms) - age_ms;
    const struct timespec times[] = {{at / 1000, at % 1000 * 1000000}, {at / 1000, at % 1000 * 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void expire(rt_kit *k, int64_t id)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", k->path, (long long)id);
    assert_int_equal(remove(path), 0);
}

static void copy_snapshot_file(rt_kit *k, const char *from, const char *to)
{
    char path[600], *slash;
    size_t len;
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/%s", k->path, to);
    uint8_t *bytes = test_read_file(from, &len);
    slash = strrchr(path, '/');
    *slash = '\0';
    must_ok(pml_file__make_directories(k->t->env, path, &err), &err);
    *slash = '/';
    must_ok(pml_file__write_new(k->t->env, path, bytes, len, 0, &err), &err);
    free(bytes);
}

static void copy_snapshot(rt_kit *k, int64_t id, const char *to)
{
    char from[600];
    (void)snprintf(from, sizeof from, "%s/snapshot/snapshot-%lld", k->path, (long long)id);
    copy_snapshot_file(k, from, to);
}

/* n live commits, each with a progress file that is older than the next one by a day; the last is two days old. */
static void start(rt_kit *k, const pml_file_system *fs, int n)
{
    rt_kit_create(k, fs, "", "");
    rt_kit_start(k, NULL, NULL);
    for (int i = 1; i <= n; i++) {
        rt_kit_write(k, 5, "a");
        (void)rt_kit_cycle(k, i);
    }
    for (int i = 1; i <= n; i++)
        age_file(k, progress_of(k, i), (n - i + 2) * DAY_MS);
}

static pml_rt_clean_result clean(rt_kit *k, uint32_t flags, int64_t older_than_ms)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_clean_options o = PML_RT_CLEAN_OPTIONS_INIT;
    pml_rt_clean_result r = PML_RT_CLEAN_RESULT_INIT;
    o.flags = flags;
    if (older_than_ms >= 0)
        o.older_than_ms = older_than_ms;
    must_ok(pml_rt_offsets_clean(&r, k->table, &o, &err), &err);
    return r;
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* 42: named only by a tag, a changelog, another branch */
static void cleaner_keeps_what_tags_changelogs_and_branches_name(void **state)
{
    (void)state;
    rt_kit k;
    const char *paths[7];
    start(&k, NULL, 6);
    for (int i = 1; i <= 6; i++)
        paths[i] = progress_of(&k, i);
    copy_snapshot(&k, 1, "tag/tag-v1");
    copy_snapshot(&k, 2, "changelog/changelog-2");
    copy_snapshot(&k, 3, "branch/branch-b/snapshot/snapshot-3");
    copy_snapshot(&k, 5, "branch/branch-b/tag/tag-x");
    copy_snapshot(&k, 5, "snapshot/snapshot-5.tmp"); /* no snapshot, whatever it holds */
    for (int i = 1; i <= 5; i++)
        expire(&k, i);
    pml_rt_clean_result r = clean(&k, PML_RT_CLEAN_DRY_RUN, -1);
    assert_int_equal(r.orphans, 1);
    assert_int_equal(r.referenced, 5);
    assert_int_equal(r.newest + r.young, 0);
    assert_true(is_there(paths[4]));
    r = clean(&k, 0, -1);
    assert_int_equal(r.orphans, 1);
    assert_true(r.orphan_bytes > 50);
    for (int i = 1; i <= 6; i++)
        assert_int_equal(is_there(paths[i]), i != 4);
    r = clean(&k, 0, -1);
    assert_int_equal(r.orphans, 0);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 30);
    rt_kit_close(&k);
}

/* 42: compactions and batch commits share the file of the snapshot below them; young orphans stay */
static void cleaner_keeps_shared_and_young_files(void **state)
{
    (void)state;
    rt_kit k;
    start(&k, NULL, 3);
    const char *shared = progress_of(&k, 3), *young = progress_of(&k, 2), *old = progress_of(&k, 1);
    (void)rt_kit_append(&k, 3, "a"); /* carries the property of 3 */
    assert_string_equal(progress_of(&k, 4), shared);
    for (int i = 1; i <= 3; i++)
        expire(&k, i);
    age_file(&k, shared, 9 * DAY_MS); /* not the newest, but named by 4 */
    age_file(&k, young, DAY_MS / 2);
    char extra[600];
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(extra, sizeof extra, "%s/metadata/newest.offsets", k.path); /* of a commit under way */
    must_ok(pml_file__write_new(k.t->env, extra, "{}", 2, 0, &err), &err);
    age_file(&k, extra, 0);
    pml_rt_clean_result r = clean(&k, 0, -1);
    assert_int_equal(r.orphans, 1);
    assert_int_equal(r.referenced, 1);
    assert_int_equal(r.young, 1);
    assert_int_equal(r.newest, 1);
    assert_true(is_there(shared) && is_there(young) && !is_there(old));
    r = clean(&k, 0, DAY_MS / 4); /* as the caller says */
    assert_int_equal(r.orphans, 1);
    assert_true(is_there(shared) && !is_there(young) && is_there(extra));
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 15);
    rt_kit_close(&k);
}

/* 39b */
static void cleaner_after_expiry_of_the_anchor_leaves_lost_not_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o;
    start(&k, NULL, 2);
    const char *newest = progress_of(&k, 2);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    expire(&k, 1);
    expire(&k, 2);
    pml_rt_clean_result r = clean(&k, 0, -1);
    assert_int_equal(r.orphans, 1);
    assert_int_equal(r.newest, 1);
    assert_true(is_there(newest));
    must_ok(pml_rt_offsets_load(&o, k.table, -1, &err), &err);
    assert_true(pml_rt_offsets_all_lost(o));
    pml_rt_offsets_free(o);
    rt_kit_close(&k);
}

static void told(void *ctx, const char *path, int64_t size_bytes, int64_t mtime_ms)
{
    assert_true(size_bytes > 0 && mtime_ms > 0 && strstr(path, ".offsets") != NULL);
    ++*(int *)ctx;
}

static void cleaner_tells_what_goes_and_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    rt_kit k;
    int n = 0;
    pml_error err = PML_ERROR_INIT;
    pml_rt_clean_options o = PML_RT_CLEAN_OPTIONS_INIT;
    start(&k, NULL, 4);
    for (int i = 1; i <= 3; i++)
        expire(&k, i);
    o.orphan = told;
    o.ctx = &n;
    o.flags = PML_RT_CLEAN_DRY_RUN;
    must_ok(pml_rt_offsets_clean(NULL, k.table, &o, &err), &err);
    assert_int_equal(n, 3);
    o.flags = 2;
    must_fail_with(PML_E_INVAL, pml_rt_offsets_clean(NULL, k.table, &o, &err), &err);
    o.flags = 0;
    o.older_than_ms = -1;
    must_fail_with(PML_E_INVAL, pml_rt_offsets_clean(NULL, k.table, &o, &err), &err);
    o.struct_size = 8;
    must_fail_with(PML_E_INVAL, pml_rt_offsets_clean(NULL, k.table, &o, &err), &err);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 4);
    /* A tag that cannot be read might name any of them. */
    char path[600];
    copy_snapshot(&k, 4, "tag/tag-broken");
    (void)snprintf(path, sizeof path, "%s/tag/tag-broken", k.path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("{\"version\":3,", f);
    (void)fclose(f);
    must_fail_with(PML_E_CORRUPT, pml_rt_offsets_clean(NULL, k.table, NULL, &err), &err);
    assert_non_null(strstr(err.message, "tag-broken"));
    assert_int_equal(rt_kit_files(&k, ".offsets"), 4);
    assert_int_equal(remove(path), 0);
    must_ok(pml_rt_offsets_clean(NULL, k.table, NULL, &err), &err);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 1);
    rt_kit_close(&k);
}

static rt_kit *moving; /* NULL: nothing moves */

/* Before the tags are listed somebody makes a branch of one and deletes it. */
static int moving_list(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err)
{
    char tag[600];
    size_t n = strlen(path), end = strlen("/t/tag");
    if (moving != NULL && n > end && strcmp(path + n - end, "/t/tag") == 0) {
        rt_kit *k = moving;
        moving = NULL;
        (void)snprintf(tag, sizeof tag, "%s/tag/tag-v1", k->path);
        copy_snapshot_file(k, tag, "branch/branch-b/snapshot/snapshot-1");
        assert_int_equal(remove(tag), 0);
    }
    return pml_local_file_system.list(ctx, path, fn, arg, err);
}

static void cleaner_keeps_what_moves_while_it_looks(void **state)
{
    (void)state;
    rt_kit k;
    pml_file_system fs = pml_local_file_system;
    fs.list = moving_list;
    start(&k, &fs, 3);
    const char *kept = progress_of(&k, 1), *orphan = progress_of(&k, 2);
    copy_snapshot(&k, 1, "tag/tag-v1");
    expire(&k, 1);
    expire(&k, 2);
    moving = &k;
    pml_rt_clean_result r = clean(&k, 0, -1);
    assert_null(moving);
    assert_int_equal(r.orphans, 1);
    assert_int_equal(r.referenced, 2);
    assert_true(is_there(kept) && !is_there(orphan));
    rt_kit_close(&k);
}

static atomic_llong *slow_clock; /* NULL: listings take no time */

static int slow_list(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err)
{
    size_t n = strlen(path), end = strlen("/snapshot");
    if (slow_clock != NULL && n > end && strcmp(path + n - end, "/snapshot") == 0)
        (void)atomic_fetch_add(slow_clock, DAY_MS);
    return pml_local_file_system.list(ctx, path, fn, arg, err);
}

/* A commit under way has as long as the options say, however long the snapshots are read. */
static void cleaner_does_not_count_the_time_it_takes(void **state)
{
    (void)state;
    rt_kit k;
    pml_file_system fs = pml_local_file_system;
    pml_error err = PML_ERROR_INIT;
    char young[600], newest[600];
    fs.list = slow_list;
    start(&k, &fs, 1);
    (void)snprintf(young, sizeof young, "%s/metadata/young.offsets", k.path);
    (void)snprintf(newest, sizeof newest, "%s/metadata/newest.offsets", k.path);
    must_ok(pml_file__write_new(k.t->env, young, "{}", 2, 0, &err), &err);
    must_ok(pml_file__write_new(k.t->env, newest, "{}", 2, 0, &err), &err);
    age_file(&k, young, 2000);
    age_file(&k, newest, 1000);
    slow_clock = &k.t->wall_ms;
    pml_rt_clean_result r = clean(&k, 0, -1);
    slow_clock = NULL;
    assert_int_equal(r.orphans, 0);
    assert_int_equal(r.young, 1);
    assert_true(is_there(young));
    rt_kit_close(&k);
}

static void cleaner_of_a_table_without_live_writers_does_nothing(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    (void)rt_kit_append(&k, 3, "a");
    pml_rt_clean_result r = clean(&k, 0, 0);
    assert_int_equal(r.orphans + r.referenced + r.young + r.newest, 0);
    rt_kit_close(&k);
}

/* Whatever fails: never a file that is named, and a second run does the rest. */
static void cleaner_with_any_failure_removes_orphans_only(void **state)
{
    (void)state;
    rt_kit k;
    faulty_fs f;
    bool failed = true;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    start(&k, &f.fs, 4);
    const char *kept[] = {progress_of(&k, 2), progress_of(&k, 4)}, *gone[] = {progress_of(&k, 1), progress_of(&k, 3)};
    copy_snapshot(&k, 2, "tag/tag-v2");
    for (int i = 1; i <= 3; i++)
        expire(&k, i);
    for (int at = 1; failed; at++) {
        pml_error err = PML_ERROR_INIT;
        faulty_fs_fail_at(&f, at, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
        int rc = pml_rt_offsets_clean(NULL, k.table, NULL, &err);
        failed = faulty_fs_failures(&f) > 0;
        faulty_fs_reset(&f);
        assert_true(failed ? rc == PML_E_IO : rc == PML_OK);
        assert_true(is_there(kept[0]) && is_there(kept[1]));
    }
    assert_false(is_there(gone[0]) || is_there(gone[1]));
    int rc = PML_E_NOMEM;
    for (long long at = 1; rc != PML_OK; at++) {
        test_env_fail_at(k.t, at);
        rc = pml_rt_offsets_clean(NULL, k.table, NULL, NULL);
        test_env_fail_at(k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    rt_kit_close(&k);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleaner_keeps_what_tags_changelogs_and_branches_name),
        cmocka_unit_test(cleaner_keeps_shared_and_young_files),
        cmocka_unit_test(cleaner_after_expiry_of_the_anchor_leaves_lost_not_nothing),
        cmocka_unit_test(cleaner_tells_what_goes_and_refuses_what_it_does_not_know),
        cmocka_unit_test(cleaner_keeps_what_moves_while_it_looks),
        cmocka_unit_test(cleaner_does_not_count_the_time_it_takes),
        cmocka_unit_test(cleaner_of_a_table_without_live_writers_does_nothing),
        cmocka_unit_test(cleaner_with_any_failure_removes_orphans_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
