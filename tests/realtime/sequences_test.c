/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence numbers of live rows with keys, restored and against second writers (realtime-pk.md 6.4; realtime-tests.md 62 to 64). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "realtime/rt_context.h"
#include "support/failing_store.h"
#include "support/faulty_fs.h"
#include "support/rows_kit.h"
#include "support/rt_kit.h"
#include "support/table_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

/* ---- rows whose value says who wrote them ---- */

static struct ArrowArray batch_of(int64_t id, int64_t n, const char *p, const char *v)
{
    enum { MAX = 16 };
    int64_t ids[MAX];
    const char *ps[MAX], *vs[MAX];
    assert_true(n <= MAX);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = id + i;
        ps[i] = p;
        vs[i] = v;
    }
    struct ArrowArray c[] = {test_fixed_array(8, n, ids), test_text_array(n, ps), test_text_array(n, vs)};
    return test_struct_array(n, 3, c);
}

static int try_ours(rt_kit *k, int64_t id, int64_t n, const char *p, const char *v, pml_error *err)
{
    struct ArrowArray a = batch_of(id, n, p, v);
    struct ArrowSchema s = rt_kit_schema(k);
    int rc = pml_rt_write(NULL, k->w, &a, &s, NULL, err);
    if (a.release != NULL)
        a.release(&a);
    s.release(&s);
    return rc;
}

static void ours(rt_kit *k, int64_t id, int64_t n, const char *p, const char *v)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(try_ours(k, id, n, p, v, &err), &err);
}

/* A batch writer that has restored what there is when it is opened. */
static pml_writer *others_open(rt_kit *k, int64_t id, int64_t n, const char *p, const char *v)
{
    pml_error err = PML_ERROR_INIT;
    pml_writer *w;
    struct ArrowArray a = batch_of(id, n, p, v);
    struct ArrowSchema s = rt_kit_schema(k);
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(pml_writer_write(w, &a, &s, &err), &err);
    s.release(&s);
    return w;
}

static int64_t others_commit(rt_kit *k, pml_writer *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_messages *m;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    must_ok(pml_commit_open(&c, k->table, NULL, &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    pml_writer_close(w);
    return r.snapshot_id;
}

static int64_t theirs(rt_kit *k, int64_t id, int64_t n, const char *p, const char *v)
{
    return others_commit(k, others_open(k, id, n, p, v));
}

/* The value of a key, "" where it is not. */
static void value_of(char out[16], rt_kit *k, pml_rt_context *ctx, int64_t id, const char *p)
{
    struct ArrowArray a = {0};
    struct ArrowArrayStream s = rows_open(rows_plan(k->table, ctx, NULL));
    out[0] = '\0';
    while (rows_next(&s, &a)) {
        for (int64_t i = 0; i < a.length; i++) {
            const struct ArrowArray *ids = a.children[0], *ps = a.children[1], *v = a.children[2];
            const int32_t *po = (const int32_t *)ps->buffers[1] + ps->offset + i, *vo = (const int32_t *)v->buffers[1] + v->offset + i;
            if (((const int64_t *)ids->buffers[1])[ids->offset + i] != id || (size_t)(po[1] - po[0]) != strlen(p) ||
                memcmp((const char *)ps->buffers[2] + po[0], p, strlen(p)) != 0)
                continue;
            assert_string_equal(out, ""); /* once */
            (void)snprintf(out, 16, "%.*s", (int)(vo[1] - vo[0]), (const char *)v->buffers[2] + vo[0]);
        }
    }
}

static void must_hold(rt_kit *k, int64_t id, const char *p, const char *live, const char *stored)
{
    char got[16];
    value_of(got, k, k->ctx, id, p);
    assert_string_equal(got, live);
    value_of(got, k, NULL, id, p);
    assert_string_equal(got, stored);
}

/* The number that the next row of the one partition-bucket with this text takes; -1: it has no entry. */
static int64_t next_number(rt_kit *k, const char *p)
{
    pml_error err = PML_ERROR_INIT;
    rt_pb **v;
    size_t n;
    int64_t found = -1;
    must_ok(pml_rt_pb__list(&v, &n, k->ctx, &err), &err);
    for (size_t i = 0; i < n; i++)
        if (v[i]->texts.n == 0 || strcmp(v[i]->texts.partition[0], p) == 0)
            found = v[i]->next_sequence;
    pml_rt_pb__release_list(k->t->env, v, n);
    return found;
}

static void must_want_a_new_context(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    pml_rt_prepared *p;
    must_fail_with(PML_E_RECREATE, try_ours(k, 1, 1, "a", "x", &err), &err);
    must_fail_with(PML_E_RECREATE, pml_rt_prepare(&p, k->w, 99, NULL, &err), &err);
    must_fail_with(PML_E_RECREATE, rt_kit_try_plan(&plan, k, k->ctx, -1, &err), &err);
}

/* ---- restoring (62) ---- */

static void first_row_comes_after_files_and_hint_and_property(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    char path[600];
    rt_kit_create_keyed(&k, NULL, "", "");
    (void)theirs(&k, 0, 5, "a", "theirs");
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 1, 1, "a", "ours");
    assert_int_equal(next_number(&k, "a"), 6);
    (void)rt_kit_cycle(&k, 1);
    must_hold(&k, 1, "a", "ours", "ours");
    rt_kit_stop(&k);
    /* What was given away, although files no longer say so (62: a compaction that dropped the highest delete). */
    k.foreign_progress = "{\"version\":1,\"offsets\":[{\"partition\":{},\"bucket\":0,\"offset\":1,\"sequence\":99}]}";
    (void)rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 1, 1, "a", "hint");
    assert_int_equal(next_number(&k, "a"), 101);
    rt_kit_stop(&k);
    int64_t id = rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", k.path, (long long)id);
    kit_replace_in_file(path, "\"properties\" : {", "\"properties\" : {\"sequence.generation.max-sequence-number\" : \"500\",");
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 1, 1, "a", "property");
    assert_int_equal(next_number(&k, "a"), 502);
    rt_kit_stop(&k);
    kit_replace_in_file(path, "\"500\"", "\"many\"");
    rt_kit_start(&k, NULL, NULL);
    must_fail_with(PML_E_CORRUPT, try_ours(&k, 1, 1, "a", "x", &err), &err);
    rt_kit_stop(&k);
    k.foreign_progress = "{\"version\":1,\"offsets\":[{\"partition\":{},\"bucket\":0,\"offset\":1,\"sequence\":9223372036854775807}]}";
    (void)rt_kit_foreign(&k, PML_COMMIT_COMPACT, false, NULL);
    rt_kit_start(&k, NULL, NULL);
    must_fail_with(PML_E_OVERFLOW, try_ours(&k, 1, 1, "a", "x", &err), &err);
    rt_kit_close(&k);
}

/* The bucket is met long after the writer was opened, and others were there meanwhile. */
static void bucket_that_others_filled_since_the_writer_opened_begins_above(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create_keyed(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    (void)theirs(&k, 0, 5, "a", "theirs");
    ours(&k, 1, 1, "a", "ours");
    assert_int_equal(next_number(&k, "a"), 6);
    must_hold(&k, 1, "a", "ours", "theirs");
    (void)rt_kit_cycle(&k, 1);
    must_hold(&k, 1, "a", "ours", "ours");
    rt_kit_close(&k);
}

/* 62, 63: over a new writer, a prepare that is given up, and a new context. */
static void numbers_go_on_over_writers_aborts_and_contexts(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_effective *progress;
    size_t n;
    rt_kit_create_keyed(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 0, 4, "a", "1");
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_writer_close(k.w, &err), &err);
    must_ok(pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    ours(&k, 0, 2, "a", "2");
    assert_int_equal(next_number(&k, "a"), 6);
    must_ok(pml_rt_progress_abort(k.commit, e, n, &err), &err);
    pml_rt_prepared_free(p);
    ours(&k, 0, 1, "a", "3");
    assert_int_equal(next_number(&k, "a"), 7);
    (void)rt_kit_cycle(&k, 2);
    must_hold(&k, 0, "a", "3", "3");
    must_hold(&k, 1, "a", "2", "2");
    must_hold(&k, 2, "a", "1", "1");
    must_ok(pml_rt_context__latest_progress(&progress, k.ctx, &err), &err);
    assert_int_equal(progress->progress.n, 1);
    assert_true(progress->progress.v[0].sequence.present);
    assert_int_equal(progress->progress.v[0].sequence.v, 6);
    pml_effective__release(progress);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 2, 1, "a", "4");
    assert_int_equal(next_number(&k, "a"), 8);
    rt_kit_close(&k);
}

/* I2 */
static void refused_write_takes_no_number(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create_keyed(&k, NULL, "", "");
    failing_store = (failing_script){0};
    rt_kit_start(&k, &failing_store_plugin, NULL);
    ours(&k, 0, 4, "a", "1");
    failing_store = (failing_script){.call = FAIL_WRITE, .times = 1, .code = PML_E_NOMEM, .flags = PML_ERRF_NO_EFFECT};
    must_fail_with(PML_E_NOMEM, try_ours(&k, 0, 4, "a", "2", &err), &err);
    assert_int_equal(next_number(&k, "a"), 4);
    ours(&k, 0, 1, "a", "3");
    assert_int_equal(next_number(&k, "a"), 5);
    (void)rt_kit_cycle(&k, 1);
    must_hold(&k, 0, "a", "3", "3");
    rt_kit_close(&k);
}

/* ---- second writers (63, 64) ---- */

/* While our memory is empty: without the new counter our next rows would hide behind theirs. An advance raises it, and the write does. */
static void load_by_others_into_an_empty_memory(int told)
{
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create_keyed(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 0, 2, "a", "1");
    (void)rt_kit_cycle(&k, 1);
    int64_t id = theirs(&k, 0, 10, "a", "theirs");
    if (told == 0)
        must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    assert_int_equal(next_number(&k, "a"), told == 0 ? 12 : 2);
    ours(&k, 0, 1, "a", "2");
    assert_int_equal(next_number(&k, "a"), 13);
    must_hold(&k, 0, "a", "2", "theirs");
    (void)rt_kit_cycle(&k, 2);
    must_hold(&k, 0, "a", "2", "2");
    must_hold(&k, 1, "a", "theirs", "theirs");
    rt_kit_close(&k);
}

static void load_by_others_into_an_empty_memory_raises_the_counter(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++)
        load_by_others_into_an_empty_memory(told);
}

/* What others loaded into several buckets is seen by each of them, also where another bucket, or a bucket that is new, has looked first. */
static void load_by_others_into_several_buckets_raises_each_counter(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create_keyed(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    ours(&k, 0, 2, "a", "1");
    ours(&k, 0, 2, "b", "1");
    ours(&k, 0, 2, "c", "1");
    (void)rt_kit_cycle(&k, 1);
    (void)theirs(&k, 0, 10, "a", "theirs");
    (void)theirs(&k, 0, 10, "b", "theirs");
    (void)theirs(&k, 0, 10, "c", "theirs");
    ours(&k, 7, 1, "new", "2");
    ours(&k, 0, 1, "a", "2");
    ours(&k, 0, 1, "b", "2");
    assert_int_equal(next_number(&k, "a"), 13);
    assert_int_equal(next_number(&k, "b"), 13);
    must_hold(&k, 0, "a", "2", "theirs");
    must_hold(&k, 0, "b", "2", "theirs");
    (void)rt_kit_cycle(&k, 2);
    ours(&k, 0, 1, "c", "2"); /* our own commit has looked */
    must_hold(&k, 0, "c", "2", "theirs");
    (void)rt_kit_cycle(&k, 3);
    must_hold(&k, 0, "b", "2", "2");
    must_hold(&k, 0, "c", "2", "2");
    rt_kit_close(&k);
}

static void replay(rt_kit *k, int64_t identifier)
{
    rt_kit_stop(k);
    rt_kit_start(k, NULL, NULL);
    ours(k, 1, 2, "a", "again");
    (void)rt_kit_cycle(k, identifier);
    must_hold(k, 1, "a", "again", "again");
}

/* Theirs after our write, at each moment up to the commit: it is refused, nothing is published, and a new context replays. */
static void commit_over_rows_of_a_second_writer_is_refused(void **state)
{
    (void)state;
    for (int moment = 0; moment < 3; moment++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_commit_result r;
        size_t n;
        rt_kit_create_keyed(&k, NULL, "", "");
        rt_kit_start(&k, NULL, NULL);
        ours(&k, 0, 1, "a", "first");
        (void)rt_kit_cycle(&k, 1);
        pml_writer *w = moment == 2 ? others_open(&k, 1, 1, "a", "theirs") : NULL; /* restored long before it commits */
        ours(&k, 1, 1, "a", "ours");
        if (moment == 0)
            (void)theirs(&k, 1, 1, "a", "theirs");
        pml_rt_prepared *p = rt_kit_prepare(&k, 2);
        if (moment > 0)
            (void)others_commit(&k, moment == 2 ? w : others_open(&k, 1, 1, "a", "theirs"));
        int64_t latest = rt_kit_latest(&k);
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
        assert_non_null(strstr(err.message, "a second writer wrote bucket-0"));
        assert_int_equal(rt_kit_latest(&k), latest);
        must_want_a_new_context(&k);
        const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
        must_ok(pml_rt_progress_abort(k.commit, e, n, &err), &err);
        pml_rt_prepared_free(p);
        assert_int_equal(rt_kit_files(&k, ".offsets"), 1);
        replay(&k, 3);
        rt_kit_close(&k);
    }
}

static void advance_over_rows_of_a_second_writer_fails_the_bucket(void **state)
{
    (void)state;
    for (int step = 0; step < 3; step++) { /* the rows are building, sealed, prepared */
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_prepared *p = NULL;
        rt_kit_create_keyed(&k, NULL, "", "");
        rt_kit_start(&k, NULL, NULL);
        ours(&k, 0, 1, "a", "first");
        (void)rt_kit_cycle(&k, 1);
        ours(&k, 1, 1, "a", "ours");
        if (step == 1)
            must_ok(pml_rt_seal(k.w, &err), &err);
        if (step == 2)
            p = rt_kit_prepare(&k, 2);
        int64_t id = theirs(&k, 1, 1, "a", "theirs");
        must_fail_with(PML_E_CONFLICT, pml_rt_advance(k.ctx, id, &err), &err);
        must_want_a_new_context(&k);
        pml_rt_prepared_free(p);
        replay(&k, 3);
        rt_kit_close(&k);
    }
}

/* Rows of ours that are in a snapshot trip nothing, whoever else wrote other buckets, and however late the advance. */
static void own_commits_and_other_buckets_trip_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create_keyed(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, manual);
    for (int i = 0; i < 4; i++) {
        ours(&k, 0, 3, "a", "ours");
        pml_rt_prepared *p = rt_kit_prepare(&k, i);
        ours(&k, 1, 3, "a", "late");
        (void)theirs(&k, 0, 16, "b", "theirs");
        (void)rt_kit_commit(&k, p);
        pml_rt_prepared_free(p);
    }
    for (int64_t id = 1; id <= rt_kit_latest(&k); id++)
        must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    must_ok(pml_rt_advance(k.ctx, 2, &err), &err);
    (void)rt_kit_cycle(&k, 9);
    must_hold(&k, 1, "a", "late", "late");
    must_hold(&k, 1, "b", "theirs", "theirs");
    rt_kit_close(&k);
}

/* ---- rows of others that are gone again ---- */

static void rows_of_others_that_were_removed_are_no_conflict(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        rt_kit_create_keyed(&k, NULL, "\"p\"", "");
        rt_kit_start(&k, NULL, NULL);
        ours(&k, 0, 3, "b", "other");
        (void)rt_kit_cycle(&k, 1);
        ours(&k, 0, 3, "a", "ours"); /* this bucket was never committed */
        (void)theirs(&k, 0, 9, "a", "theirs");
        if (how == 0)
            (void)rt_kit_drop(&k, "a");
        else if (how == 1)
            (void)rt_kit_foreign(&k, PML_COMMIT_OVERWRITE, true, "a");
        else
            rt_kit_roll_back(&k, 1);
        for (int twice = 0; twice < 2; twice++)
            must_ok(pml_rt_advance(k.ctx, rt_kit_latest(&k), &err), &err);
        must_hold(&k, 1, "a", "ours", "");
        (void)rt_kit_cycle(&k, 2);
        must_hold(&k, 1, "a", "ours", "ours");
        rt_kit_close(&k);
    }
}

/* The id that was looked at belongs to another snapshot now; or many came since; or it and those in between have expired. */
static void rewritten_and_expired_snapshots_hide_no_second_writer(void **state)
{
    (void)state;
    enum { REWRITTEN, MANY, EXPIRED, CASES };
    for (int c = 0; c < CASES; c++) {
        rt_kit k;
        char path[600];
        pml_error err = PML_ERROR_INIT;
        pml_rt_commit_result r;
        rt_kit_create_keyed(&k, NULL, "\"p\"", "");
        rt_kit_start(&k, NULL, NULL);
        ours(&k, 0, 3, "a", "first");
        (void)rt_kit_cycle(&k, 1);
        must_ok(pml_rt_advance(k.ctx, theirs(&k, 0, 1, "b", "theirs"), &err), &err);
        if (c == REWRITTEN)
            rt_kit_roll_back(&k, 1);
        ours(&k, 0, 3, "a", "ours");
        (void)theirs(&k, 0, 9, "a", "theirs");
        for (int i = 0; i < (c == MANY ? 110 : 3); i++)
            (void)theirs(&k, 0, 1, "c", "theirs");
        for (int64_t id = 1; c == EXPIRED && id < rt_kit_latest(&k); id++) {
            (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", k.path, (long long)id);
            assert_int_equal(unlink(path), 0);
        }
        pml_rt_prepared *p = rt_kit_prepare(&k, 2);
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&k, &r, p, &err), &err);
        assert_non_null(strstr(err.message, "a second writer wrote p=a/bucket-0"));
        pml_rt_prepared_free(p);
        rt_kit_close(&k);
    }
}

/* ---- unknown outcomes, and what it costs ---- */

/* Our snapshot is there and nobody told us: its rows are no second writer's, whoever asks. */
static void commit_of_unknown_outcome_trips_nothing(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        rt_kit k;
        faulty_fs f;
        pml_error err = PML_ERROR_INIT;
        pml_rt_commit_result r;
        const pml_file_system fast = rt_kit_fs();
        faulty_fs_init(&f, &fast);
        rt_kit_create_keyed(&k, &f.fs, "\"p\"", "");
        rt_kit_start(&k, NULL, NULL);
        ours(&k, 0, 3, "a", "1");
        (void)rt_kit_cycle(&k, 1);
        ours(&k, 0, 3, "a", "2");
        pml_rt_prepared *p = rt_kit_prepare(&k, 2);
        int rc = PML_OK;
        for (int at = 1; rc != PML_E_UNKNOWN_OUTCOME; at++) { /* the first publications may be the progress file's */
            faulty_fs_reset(&f);
            faulty_fs_fail_kinds(&f, FS_OP(FS_OP_PUBLISH) | FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_SYNC_DIRECTORY));
            faulty_fs_fail_at(&f, at, FAULT_AFTER, PML_E_IO, 0);
            faulty_fs_fail_sticky(&f);
            rc = rt_kit_try_commit(&k, &r, p, &err);
            assert_true(at < 100);
        }
        faulty_fs_reset(&f);
        assert_int_equal(rt_kit_latest(&k), 2);
        ours(&k, 1, 1, "a", "3");
        if (others != 0)
            (void)theirs(&k, 0, 9, "b", "theirs");
        must_ok(pml_rt_advance(k.ctx, rt_kit_latest(&k), &err), &err);
        must_ok(rt_kit_try_commit(&k, &r, p, &err), &err);
        assert_int_equal(r.already_committed, 1);
        pml_rt_prepared_free(p);
        assert_int_equal(next_number(&k, "a"), 7);
        must_hold(&k, 1, "a", "3", "2");
        (void)rt_kit_cycle(&k, 3);
        must_hold(&k, 1, "a", "3", "3");
        rt_kit_close(&k);
        faulty_fs_destroy(&f);
    }
}

/* 6.4: only deltas of snapshots that nobody looked at yet, and none of our own. */
static void commits_of_one_writer_read_no_more_files_than_without_keys(void **state)
{
    (void)state;
    long long reads[2] = {0};
    for (int keyed = 0; keyed < 2; keyed++) {
        rt_kit k;
        faulty_fs f;
        const pml_file_system fast = rt_kit_fs();
        faulty_fs_init(&f, &fast);
        if (keyed != 0)
            rt_kit_create_keyed(&k, &f.fs, "", "\"bucket\":\"1\"");
        else
            rt_kit_create(&k, &f.fs, "", "\"bucket\":\"1\",\"bucket-key\":\"id\"");
        rt_kit_start(&k, NULL, NULL);
        for (int i = 0; i < 5; i++) {
            rt_kit_write(&k, 3, "a");
            if (i == 4)
                faulty_fs_reset(&f);
            (void)rt_kit_cycle(&k, i);
        }
        reads[keyed] = faulty_fs_count(&f, FS_OP(FS_OP_OPEN_READ));
        rt_kit_close(&k);
        faulty_fs_destroy(&f);
    }
    assert_int_equal(reads[1], reads[0]);
}

/* ---- anything in any order, against a model ---- */

enum { PBS = 2, IDS = 6 };

typedef struct model_pb {
    int64_t files; /* M */
    int64_t next, unprepared, prepared, last_prepared; /* first numbers, -1: none */
    char stored[IDS][16], live[IDS][16], held[IDS][16]; /* values; held: live ones when the prepare was made */
} model_pb;

typedef struct model {
    rt_kit k;
    model_pb pb[PBS];
    pml_rt_prepared *p;
    int64_t identifier, tag;
    bool used[PBS];
} model;

static const char *const pb_names[PBS] = {"a", "b"};

static void start_anew(model *m)
{
    pml_rt_prepared_free(m->p);
    m->p = NULL;
    rt_kit_stop(&m->k);
    rt_kit_start(&m->k, NULL, NULL);
    for (int i = 0; i < PBS; i++) {
        model_pb *pb = &m->pb[i];
        pb->next = pb->files + 1;
        pb->unprepared = pb->prepared = -1;
        memcpy(pb->live, pb->stored, sizeof pb->live);
        m->used[i] = false;
    }
}

static int64_t lowest(const model_pb *pb)
{
    return pb->prepared >= 0 ? pb->prepared : pb->unprepared;
}

/* What an advance to the latest snapshot does; true: a second writer is found. */
static bool advances(model *m)
{
    bool conflict = false;
    for (int i = 0; i < PBS; i++) {
        model_pb *pb = &m->pb[i];
        conflict = conflict || (m->used[i] && lowest(pb) >= 0 && pb->files >= lowest(pb));
        if (lowest(pb) < 0 && m->used[i] && pb->files >= pb->next)
            pb->next = pb->files + 1;
    }
    return conflict;
}

static void write_some(model *m, bool by_others)
{
    test_env *t = m->k.t;
    char v[16];
    int i = (int)(test_random(t) % PBS);
    int64_t id = (int64_t)(test_random(t) % IDS), n = 1 + (int64_t)(test_random(t) % (uint64_t)(IDS - id));
    model_pb *pb = &m->pb[i];
    (void)snprintf(v, sizeof v, "%s%lld", by_others ? "t" : "o", (long long)m->tag++);
    if (by_others) {
        (void)theirs(&m->k, id, n, pb_names[i], v);
        pb->files += n;
    } else {
        ours(&m->k, id, n, pb_names[i], v);
        if (!m->used[i] || (lowest(pb) < 0 && pb->files >= pb->next))
            pb->next = pb->files + 1;
        m->used[i] = true;
        pb->unprepared = pb->unprepared < 0 ? pb->next : pb->unprepared;
        pb->next += n;
        assert_int_equal(next_number(&m->k, pb_names[i]), pb->next);
    }
    for (int64_t j = id; j < id + n; j++) {
        memcpy(by_others ? pb->stored[j] : pb->live[j], v, sizeof v);
        if (by_others && lowest(pb) < 0)
            memcpy(pb->live[j], v, sizeof v);
    }
}

static void prepare(model *m)
{
    if (m->p != NULL)
        return;
    m->p = rt_kit_prepare(&m->k, ++m->identifier);
    for (int i = 0; i < PBS; i++) {
        model_pb *pb = &m->pb[i];
        pb->prepared = pb->unprepared;
        pb->last_prepared = pb->next - 1;
        pb->unprepared = -1;
        memcpy(pb->held, pb->live, sizeof pb->held);
    }
}

static void commit(model *m)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    size_t n;
    bool conflict = false;
    if (m->p == NULL)
        return;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, m->p);
    for (int i = 0; i < PBS; i++)
        conflict = conflict || (m->pb[i].prepared >= 0 && m->pb[i].files >= m->pb[i].prepared);
    if (conflict) {
        must_fail_with(PML_E_CONFLICT, rt_kit_try_commit(&m->k, &r, m->p, &err), &err);
        must_ok(pml_rt_progress_abort(m->k.commit, e, n, &err), &err);
        must_want_a_new_context(&m->k);
        start_anew(m);
        return;
    }
    if (n > 0)
        must_ok(rt_kit_try_commit(&m->k, &r, m->p, &err), &err);
    for (int i = 0; i < PBS; i++) {
        model_pb *pb = &m->pb[i];
        if (pb->prepared >= 0) {
            pb->files = pb->last_prepared;
            memcpy(pb->stored, pb->held, sizeof pb->stored);
        }
        pb->prepared = -1;
    }
    pml_rt_prepared_free(m->p);
    m->p = NULL;
    if (n > 0 && advances(m)) /* by the commit itself, which succeeded */
        start_anew(m);
}

static void advance(model *m)
{
    pml_error err = PML_ERROR_INIT;
    if (rt_kit_latest(&m->k) < 1)
        return;
    if (advances(m)) {
        must_fail_with(PML_E_CONFLICT, pml_rt_advance(m->k.ctx, rt_kit_latest(&m->k), &err), &err);
        must_want_a_new_context(&m->k);
        start_anew(m);
    } else if (m->used[0] || m->used[1]) {
        must_ok(pml_rt_advance(m->k.ctx, rt_kit_latest(&m->k), &err), &err);
    }
}

static void give_up(model *m)
{
    pml_error err = PML_ERROR_INIT;
    size_t n;
    if (m->p == NULL)
        return;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, m->p);
    if (n > 0)
        must_ok(pml_rt_progress_abort(m->k.commit, e, n, &err), &err);
    pml_rt_prepared_free(m->p);
    m->p = NULL;
    for (int i = 0; i < PBS; i++) {
        model_pb *pb = &m->pb[i];
        pb->unprepared = pb->prepared >= 0 ? pb->prepared : pb->unprepared;
        pb->prepared = -1;
    }
}

/* What is stored is always certain; what is shown on top of it only while no number of others has crossed. */
static void must_agree(model *m)
{
    for (int i = 0; i < PBS; i++) {
        model_pb *pb = &m->pb[i];
        int64_t id = (int64_t)(test_random(m->k.t) % IDS);
        char got[16];
        value_of(got, &m->k, NULL, id, pb_names[i]);
        assert_string_equal(got, pb->stored[id]);
        if (lowest(pb) >= 0 && pb->files >= lowest(pb))
            continue;
        value_of(got, &m->k, m->k.ctx, id, pb_names[i]);
        assert_string_equal(got, pb->live[id]);
    }
}

static void writers_in_any_order_are_found_when_numbers_cross_and_only_then(void **state)
{
    (void)state;
    int64_t rounds = test_setting("ROUNDS", 4, 1, 1000000);
    uint64_t seed = test_seed();
    for (int64_t round = 0; round < rounds; round++) {
        model m = {.tag = 1};
        rt_kit_create_keyed(&m.k, NULL, "\"p\"", "");
        rt_kit_start(&m.k, NULL, NULL);
        m.k.t->random_state = seed + (uint64_t)round;
        for (int i = 0; i < PBS; i++)
            m.pb[i] = (model_pb){.files = -1, .unprepared = -1, .prepared = -1};
        for (int step = 0; step < 60; step++) {
            uint64_t dice = test_random(m.k.t) % 20;
            if (dice < 9)
                write_some(&m, dice == 8);
            else if (dice < 12)
                prepare(&m);
            else if (dice < 15)
                commit(&m);
            else if (dice < 17)
                advance(&m);
            else if (dice == 17)
                give_up(&m);
            else if (dice == 18 && test_random(m.k.t) % 4 == 0)
                start_anew(&m);
            must_agree(&m);
        }
        pml_rt_prepared_free(m.p);
        rt_kit_close(&m.k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_row_comes_after_files_and_hint_and_property),
        cmocka_unit_test(bucket_that_others_filled_since_the_writer_opened_begins_above),
        cmocka_unit_test(numbers_go_on_over_writers_aborts_and_contexts),
        cmocka_unit_test(refused_write_takes_no_number),
        cmocka_unit_test(load_by_others_into_an_empty_memory_raises_the_counter),
        cmocka_unit_test(load_by_others_into_several_buckets_raises_each_counter),
        cmocka_unit_test(commit_over_rows_of_a_second_writer_is_refused),
        cmocka_unit_test(advance_over_rows_of_a_second_writer_fails_the_bucket),
        cmocka_unit_test(own_commits_and_other_buckets_trip_nothing),
        cmocka_unit_test(rows_of_others_that_were_removed_are_no_conflict),
        cmocka_unit_test(rewritten_and_expired_snapshots_hide_no_second_writer),
        cmocka_unit_test(commit_of_unknown_outcome_trips_nothing),
        cmocka_unit_test(commits_of_one_writer_read_no_more_files_than_without_keys),
        cmocka_unit_test(writers_in_any_order_are_found_when_numbers_cross_and_only_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
