/* SPDX-License-Identifier: Apache-2.0 */
/* Real-time commit and giving up (realtime.md 9.5). Numbers: realtime-tests.md. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/rt_kit.h"

typedef struct prepared_list {
    const pml_rt_entry *e[16];
    size_t n;
} prepared_list;

static void add(prepared_list *l, const pml_rt_prepared *p)
{
    size_t n;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    for (size_t i = 0; i < n; i++)
        l->e[l->n++] = e[i];
}

static int commit_list(pml_rt_commit_result *r, pml_commit *c, const prepared_list *l, pml_error *err)
{
    *r = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    return pml_rt_commit(r, c, l->e, l->n, 1, NULL, err);
}

static void start(rt_kit *k, const char *partition_keys)
{
    rt_kit_create(k, NULL, partition_keys, "");
    rt_kit_start(k, NULL, NULL);
}

/* 35 */
static void entries_in_any_order_make_one_snapshot(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    prepared_list l = {.n = 0}, shuffled = {.n = 0};
    int64_t watermark = 77;
    start(&k, "\"p\"");
    for (int i = 0; i < 4; i++)
        rt_kit_write(&k, 3, (const char *[]){"c", "a", "d", "b"}[i]);
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    add(&l, p);
    assert_int_equal(l.n, 4);
    for (size_t i = 0; i < 4; i++)
        shuffled.e[shuffled.n++] = l.e[(size_t[]){2, 0, 3, 1}[i]];
    r = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    must_ok(pml_rt_commit(&r, k.commit, shuffled.e, 4, 1, &watermark, &err), &err);
    assert_int_equal(r.snapshot_id, 1);
    assert_int_equal(r.latest_id, 1);
    assert_int_equal(r.attempts, 1);
    assert_int_equal(r.already_committed, 0);
    rt_kit_must_store(&k, 0, 12);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rt_kit_end(&k, -1, (const char *[]){"a", "b", "c", "d"}[i], 0), 3);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

/* 35: gap and overlap inside the request */
static void entries_that_do_not_meet_are_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_rt_prepared *p[3];
    prepared_list gap = {.n = 0}, overlap = {.n = 0}, none = {.n = 0};
    start(&k, "");
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 3, "a");
        p[i] = rt_kit_prepare(&k, i);
        (void)rt_kit_commit(&k, p[i]);
    }
    add(&gap, p[0]), add(&gap, p[2]);
    add(&overlap, p[1]), add(&overlap, p[1]);
    must_fail_with(PML_E_INVAL, commit_list(&r, k.commit, &gap, &err), &err);
    must_fail_with(PML_E_INVAL, commit_list(&r, k.commit, &overlap, &err), &err);
    must_fail_with(PML_E_INVAL, commit_list(&r, k.commit, &none, &err), &err);
    assert_int_equal(r.snapshot_id, -1);
    assert_int_equal(rt_kit_latest(&k), 3);
    for (int i = 0; i < 3; i++)
        pml_rt_prepared_free(p[i]);
    rt_kit_close(&k);
}

/* 37, 88: after the commit, after later ones, all together, in any order */
static void committing_again_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_rt_prepared *p[3];
    prepared_list all = {.n = 0};
    start(&k, "\"p\"");
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 4, "*");
        p[i] = rt_kit_prepare(&k, i + 10);
        assert_int_equal(rt_kit_commit(&k, p[i]), i + 1);
        must_ok(rt_kit_try_commit(&k, &r, p[i], &err), &err);
        assert_int_equal(r.already_committed, 1);
        assert_int_equal(r.snapshot_id, i + 1);
    }
    must_ok(rt_kit_try_commit(&k, &r, p[0], &err), &err);
    assert_int_equal(r.snapshot_id, 1);
    assert_int_equal(r.latest_id, 3);
    add(&all, p[2]), add(&all, p[0]), add(&all, p[1]);
    must_ok(commit_list(&r, k.commit, &all, &err), &err);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(r.snapshot_id, 3);
    assert_int_equal(rt_kit_latest(&k), 3);
    assert_int_equal(rt_kit_metrics(&k).commit_idempotent_hits, 5);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_rows, 0);
    rt_kit_must_show(&k, 0, 12);
    for (int i = 0; i < 3; i++)
        pml_rt_prepared_free(p[i]);
    rt_kit_close(&k);
}

/* 37: never success for somebody else's data */
static void committing_again_as_another_user_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_commit *other;
    prepared_list l = {.n = 0};
    start(&k, "");
    rt_kit_write(&k, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    add(&l, p);
    (void)rt_kit_commit(&k, p);
    must_ok(pml_commit_open(&other, k.table, "other", &err), &err);
    must_fail_with(PML_E_CONFLICT, commit_list(&r, other, &l, &err), &err);
    pml_commit_close(other);
    rt_kit_must_show(&k, 0, 3);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

/* 9.5 c: the newest progress file was written by another implementation, which keeps no users; the snapshots tell. */
static void committing_again_onto_progress_without_users_asks_the_snapshots(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_commit *other;
    prepared_list l = {.n = 0};
    start(&k, "");
    rt_kit_write(&k, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 5);
    add(&l, p);
    (void)rt_kit_commit(&k, p);
    k.foreign_progress = "{\"version\":1,\"offsets\":[{\"partition\":{},\"bucket\":0,\"offset\":3}]}";
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(r.snapshot_id, 1);
    must_ok(pml_commit_open(&other, k.table, "other", &err), &err);
    must_fail_with(PML_E_CONFLICT, commit_list(&r, other, &l, &err), &err);
    pml_commit_close(other);
    rt_kit_write(&k, 3, "a"); /* and it goes on, with our lineage again */
    (void)rt_kit_cycle(&k, 6);
    rt_kit_must_store(&k, 0, 6);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 6);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

/* 9.5 e: a late prepare with a lower identifier does not lower the user's identifier */
static void identifier_of_a_user_never_falls(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    start(&k, "");
    rt_kit_write(&k, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 9);
    (void)rt_kit_commit(&k, p);
    rt_kit_write(&k, 3, "a");
    (void)rt_kit_cycle(&k, 2);
    must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
    assert_int_equal(r.already_committed, 1);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

/* 81: two environments stand for two processes here; both began at the same end */
static void second_writer_of_a_partition_bucket_is_refused_at_commit(void **state)
{
    (void)state;
    for (int committed_before = 0; committed_before < 2; committed_before++) {
        rt_kit a, b;
        pml_error err = PML_ERROR_INIT;
        pml_rt_commit_result r;
        start(&a, "");
        if (committed_before != 0) {
            rt_kit_write(&a, 4, "a");
            (void)rt_kit_cycle(&a, 1);
        }
        int64_t from = a.next_id;
        rt_kit_share(&b, &a, NULL);
        rt_kit_start(&b, NULL, NULL);
        b.next_id = 1000;
        rt_kit_write(&b, 5, "a");
        rt_kit_write(&a, 3, "a");
        pml_rt_prepared *pa = rt_kit_prepare(&a, 2), *pb = rt_kit_prepare(&b, 2);
        (void)rt_kit_commit(&a, pa);
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&b, &r, pb, &err), &err);
        rt_kit_must_store(&a, 0, from + 3);
        assert_int_equal(rt_kit_end(&a, -1, NULL, 0), from + 3);
        pml_rt_prepared_free(pa);
        pml_rt_prepared_free(pb);
        rt_kit_close(&b);
        rt_kit_close(&a);
    }
}

/* The same where his offsets are ours, some or all: no dead end, where writes go on that nobody sees. */
static void offsets_of_a_second_live_writer_want_a_new_context(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        const int64_t rows = 1 + i % 3;
        const bool keyed = i >= 3 || rt_kit_with_keys();
        rt_kit a, b;
        pml_error err = PML_ERROR_INIT;
        pml_rt_commit_result r;
        pml_rt_prepared *p;
        if (keyed)
            rt_kit_create_keyed(&a, NULL, "", "");
        else
            rt_kit_create(&a, NULL, "", "");
        rt_kit_share(&b, &a, NULL);
        pml_commit_close(b.commit);
        must_ok(pml_commit_open(&b.commit, b.table, "other", &err), &err);
        rt_kit_start(&a, NULL, NULL);
        rt_kit_write(&a, 1, "a");
        (void)rt_kit_cycle(&a, 1);
        rt_kit_write(&a, 2, "a");
        rt_kit_start(&b, NULL, NULL);
        b.next_id = 1;
        rt_kit_write(&b, rows, "a");
        (void)rt_kit_cycle(&b, 1);
        pml_rt_prepared *pa = rt_kit_prepare(&a, 2);
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&a, &r, pa, &err), &err);
        assert_non_null(strstr(err.message, keyed ? "a second writer wrote bucket-0" : rows == 1 ? "by somebody else" : "by another writer"));
        must_fail_with(PML_E_RECREATE, rt_kit_try_write(&a, 1, "a", NULL, NULL, &err), &err);
        must_fail_with(PML_E_RECREATE, pml_rt_prepare(&p, a.w, 3, NULL, &err), &err);
        pml_rt_prepared_free(pa);
        rt_kit_must_store(&a, 0, 1 + rows);
        rt_kit_close(&b);
        rt_kit_close(&a);
    }
}

/* 81 with two processes */
static void second_process_of_a_partition_bucket_is_refused_at_commit(void **state)
{
    (void)state;
    rt_kit a;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    int status;
    start(&a, "");
    rt_kit_write(&a, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&a, 1);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        rt_kit b;
        rt_kit_share(&b, &a, NULL);
        rt_kit_start(&b, NULL, NULL);
        rt_kit_write(&b, 5, "a");
        _exit(rt_kit_cycle(&b, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&a, &r, p, &err), &err);
    rt_kit_must_store(&a, 0, 5);
    pml_rt_prepared_free(p);
    rt_kit_close(&a);
}

/* Entries of an earlier life: another context of the same table committed on. */
static void prepare_missing_before_is_a_conflict(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    start(&k, "");
    rt_kit_write(&k, 3, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 3, "a");
    (void)rt_kit_cycle(&k, 2);
    rt_kit_write(&k, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 3);
    rt_kit_roll_back(&k, 1);
    must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
    assert_non_null(strstr(err.message, "an earlier prepare is missing"));
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

/* 9.5 d: one by one is the caller's choice; the flight ends with the last one. */
static void entries_of_a_prepare_may_be_committed_one_by_one(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    pml_rt_prepared *second;
    size_t n;
    start(&k, "\"p\"");
    rt_kit_write(&k, 4, "*");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    r = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    must_ok(pml_rt_commit(&r, k.commit, e, 1, 1, NULL, &err), &err);
    rt_kit_must_show(&k, 0, 4);
    must_fail_with(PML_E_BUSY, pml_rt_prepare(&second, k.w, 2, NULL, &err), &err);
    must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err); /* half of it is committed */
    must_fail_with(PML_E_CONFLICT, pml_rt_progress_abort(k.commit, e, 2, &err), &err);
    rt_kit_must_show(&k, 0, 4);
    must_ok(pml_rt_progress_abort(k.commit, e + 1, 1, &err), &err);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 4);
    assert_int_equal(rt_kit_latest(&k), 2);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

static void one_prepare_is_in_flight_at_a_time(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *second, *empty;
    size_t n;
    start(&k, "");
    empty = rt_kit_prepare(&k, 1);
    (void)pml_rt_prepared_get(&n, empty);
    assert_int_equal(n, 0);
    pml_rt_prepared_free(empty);
    rt_kit_write(&k, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 2);
    rt_kit_write(&k, 3, "a");
    must_fail_with(PML_E_BUSY, pml_rt_prepare(&second, k.w, 3, NULL, &err), &err);
    assert_null(second);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    (void)rt_kit_cycle(&k, 3);
    rt_kit_must_store(&k, 0, 6);
    rt_kit_close(&k);
}

static void aborted_entries_give_their_rows_back(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    size_t n;
    start(&k, "\"p\"");
    rt_kit_write(&k, 6, "*");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    assert_int_equal(rt_kit_files(&k, ".parquet"), 2);
    must_ok(pml_rt_progress_abort(k.commit, e, n, &err), &err);
    assert_int_equal(rt_kit_files(&k, ".parquet"), 0);
    must_fail_with(PML_E_INVAL, pml_rt_commit(&r, k.commit, e, n, 1, NULL, &err), &err);
    must_fail_with(PML_E_STATE, pml_rt_writer_close(k.w, &err), &err);
    rt_kit_write(&k, 6, "*");
    rt_kit_must_show(&k, 0, 12);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 12);
    assert_int_equal(rt_kit_end(&k, -1, "a", 0), 6);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

static void committed_entries_cannot_be_aborted(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    start(&k, "");
    rt_kit_write(&k, 6, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    (void)rt_kit_commit(&k, p);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_fail_with(PML_E_CONFLICT, pml_rt_progress_abort(k.commit, e, n, &err), &err);
    rt_kit_roll_back(&k, 0); /* nor when the snapshot is gone */
    must_fail_with(PML_E_CONFLICT, pml_rt_progress_abort(k.commit, e, n, &err), &err);
    assert_int_equal(rt_kit_files(&k, ".parquet"), 1);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

static void entries_of_another_table_are_refused(void **state)
{
    (void)state;
    rt_kit a, b;
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    prepared_list l = {.n = 0};
    start(&a, "");
    start(&b, "");
    rt_kit_write(&a, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&a, 1);
    add(&l, p);
    must_fail_with(PML_E_INVAL, commit_list(&r, b.commit, &l, &err), &err);
    pml_rt_prepared_free(p);
    rt_kit_close(&b);
    rt_kit_close(&a);
}

/* A context that its owner closed: the entries are still good, and nothing else is asked of it. */
static void commit_after_the_context_was_closed_succeeds(void **state)
{
    (void)state;
    rt_kit k;
    start(&k, "");
    rt_kit_write(&k, 3, "a");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    rt_kit_stop(&k);
    (void)rt_kit_commit(&k, p);
    rt_kit_must_store(&k, 0, 3);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

/* The next n rows, all of kinds that writers of the table pass over. */
static void write_ignored(rt_kit *k, int64_t n, const int8_t *kinds)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    o.row_kinds = kinds;
    must_ok(rt_kit_try_write(k, n, "a", &o, NULL, &err), &err);
}

static void all_rows_vanish(const char *options, const int8_t kinds[4])
{
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create_keyed(&k, NULL, "", options);
    rt_kit_start(&k, NULL, NULL);
    write_ignored(&k, 4, kinds); /* the first of the bucket */
    (void)rt_kit_cycle(&k, 1);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 4);
    assert_int_equal(rt_kit_files(&k, ".parquet"), 0);
    rt_kit_write(&k, 3, "a");
    (void)rt_kit_cycle(&k, 2);
    const int64_t files = rt_kit_files(&k, ".parquet"), id = rt_kit_latest(&k);
    assert_int_equal(files, 1);
    write_ignored(&k, 4, kinds);
    must_ok(pml_rt_seal(k.w, &err), &err);
    write_ignored(&k, 2, kinds);
    rt_kit_must_show(&k, 4, 7);
    assert_int_equal(rt_kit_cycle(&k, 3), id + 1);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 13);
    assert_int_equal(rt_kit_files(&k, ".parquet"), files);
    write_ignored(&k, 4, kinds); /* beside a segment with rows */
    must_ok(pml_rt_seal(k.w, &err), &err);
    k.next_id = 7;
    rt_kit_write(&k, 2, "a");
    must_ok(pml_rt_seal(k.w, &err), &err);
    write_ignored(&k, 1, kinds);
    rt_kit_must_show(&k, 4, 9);
    (void)rt_kit_cycle(&k, 4);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 20);
    assert_int_equal(rt_kit_files(&k, ".parquet"), files + 1);
    rt_kit_must_show(&k, 4, 9);
    assert_int_equal(rt_kit_metrics(&k).uncommitted_rows, 0);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL); /* goes on behind them */
    k.next_id = 9;
    rt_kit_write(&k, 1, "a");
    (void)rt_kit_cycle(&k, 5);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 21);
    rt_kit_must_show(&k, 4, 10);
    rt_kit_close(&k);
}

/* 66, I20 */
static void segments_whose_rows_all_vanish_move_progress_without_a_file(void **state)
{
    (void)state;
    all_rows_vanish("\"ignore-delete\":\"true\"", (const int8_t[]){3, 3, 1, 3});
    all_rows_vanish("\"ignore-update-before\":\"true\"", (const int8_t[]){1, 1, 1, 1});
    all_rows_vanish("\"merge-engine\":\"partial-update\",\"ignore-delete\":\"true\"", (const int8_t[]){3, 3, 3, 3});
}

/* ---- a store that shows snapshot 2 late by its name, and a hint that stays at 1 ---- */

static pml_file_system late_inner;
static bool late;

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static int late_stat(void *ctx, pml_file_info *out, const char *path, pml_error *err)
{
    return late && ends_with(path, "/snapshot-2") ? PML_E_NOT_FOUND : late_inner.stat(ctx, out, path, err);
}

static int late_replace(void *ctx, const char *from, const char *to, pml_error *err)
{
    return late && ends_with(to, "/LATEST") ? late_inner.remove_file(ctx, from, err) : late_inner.replace(ctx, from, to, err);
}

/* A commit of a context is on what the context has seen or made, whichever object made that. */
static void commit_follows_on_what_its_context_knows(void **state)
{
    (void)state;
    late_inner = rt_kit_fs();
    pml_file_system fs = late_inner;
    fs.stat = late_stat;
    fs.replace = late_replace;
    for (int advances = 0; advances < 2; advances++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        late = false;
        rt_kit_create(&k, &fs, "", advances ? "" : "\"realtime.auto-advance\":\"false\"");
        rt_kit_start(&k, NULL, NULL);
        for (int i = 1; i <= 3; i++) {
            rt_kit_write(&k, 5, "a");
            late = i > 1;
            assert_int_equal(rt_kit_cycle(&k, i), i);
            pml_commit_close(k.commit);
            must_ok(pml_commit_open(&k.commit, k.table, "kit", &err), &err);
            if (advances)
                rt_kit_must_show(&k, 0, 5 * i);
        }
        rt_kit_must_show(&k, 0, 15);
        late = false;
        rt_kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_in_any_order_make_one_snapshot),
        cmocka_unit_test(entries_that_do_not_meet_are_refused),
        cmocka_unit_test(committing_again_changes_nothing),
        cmocka_unit_test(committing_again_as_another_user_is_refused),
        cmocka_unit_test(committing_again_onto_progress_without_users_asks_the_snapshots),
        cmocka_unit_test(identifier_of_a_user_never_falls),
        cmocka_unit_test(second_writer_of_a_partition_bucket_is_refused_at_commit),
        cmocka_unit_test(offsets_of_a_second_live_writer_want_a_new_context),
        cmocka_unit_test(second_process_of_a_partition_bucket_is_refused_at_commit),
        cmocka_unit_test(prepare_missing_before_is_a_conflict),
        cmocka_unit_test(entries_of_a_prepare_may_be_committed_one_by_one),
        cmocka_unit_test(one_prepare_is_in_flight_at_a_time),
        cmocka_unit_test(aborted_entries_give_their_rows_back),
        cmocka_unit_test(committed_entries_cannot_be_aborted),
        cmocka_unit_test(entries_of_another_table_are_refused),
        cmocka_unit_test(commit_after_the_context_was_closed_succeeds),
        cmocka_unit_test(segments_whose_rows_all_vanish_move_progress_without_a_file),
        cmocka_unit_test(commit_follows_on_what_its_context_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
