/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crash points (realtime-tests.md 25.6, tests 82 and 88): the power goes at every single file operation of write, prepare, commit,
 * advance, write, prepare, commit. Whatever survived, the table opens, its snapshots and their progress agree, what was told to be
 * committed is there, and replaying the source from the recorded ends gives every row exactly once.
 */
#include <stdlib.h>
#include <string.h>

#include "support/faulty_fs.h"
#include "support/rt_rows.h"
#include "support/sim_fs.h"

enum { BUCKETS = 1, PARTS = 2, PBS = BUCKETS * PARTS, ROWS = 24, HALF = 12 };
#define TABLE "/t"

static const rt_shape shape = {.columns = "divx", .partitioned = true, .buckets = BUCKETS, .external = true, .auto_advance = true};

/* Row i of the source: its partition-bucket, its offset in there (with gaps). */
static int pb_of(int64_t i)
{
    return (int)(i * 7 / 3 % PBS);
}

static int64_t offset_of(int64_t i)
{
    int64_t before = 0;
    for (int64_t k = 0; k < i; k++)
        before += pb_of(k) == pb_of(i);
    return before * 3 + 1;
}

typedef struct live {
    test_env *t;
    pml_table *table;
    pml_rt_context *ctx;
    pml_rt_writer *writer;
    pml_commit *commit;
} live;

static int live_open(live *l, pml_error *err)
{
    int rc = pml_table_open(&l->table, l->t->env, TABLE, NULL, err);
    if (rc == PML_OK)
        rc = pml_rt_context_open(&l->ctx, l->t->env, NULL, err);
    if (rc == PML_OK)
        rc = pml_rt_writer_open(&l->writer, l->table, l->ctx, NULL, err);
    return rc == PML_OK ? pml_commit_open(&l->commit, l->table, "app", err) : rc;
}

static void live_drop(live *l)
{
    pml_rt_writer_abort(l->writer);
    pml_commit_close(l->commit);
    pml_rt_context_close(l->ctx);
    pml_table_release(l->table);
    *l = (live){.t = l->t};
}

/* Sends the rows [from, to) that are at or after the ends of their partition-buckets. */
static int send(live *l, int64_t from, int64_t to, const int64_t *ends, pml_error *err)
{
    int rc = PML_OK;
    for (int pb = 0; pb < PBS && rc == PML_OK; pb++) {
        int64_t ids[ROWS], offsets[ROWS], n = 0;
        int parts[ROWS];
        const char *text = rt_partition_text(pb / BUCKETS);
        pml_rt_pb named = PML_RT_PB_INIT;
        pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
        struct ArrowArray a;
        struct ArrowSchema s;
        for (int64_t i = from; i < to; i++)
            if (pb_of(i) == pb && (ends == NULL || offset_of(i) >= ends[pb])) {
                ids[n] = i;
                parts[n] = pb / BUCKETS;
                offsets[n++] = offset_of(i);
            }
        if (n == 0)
            continue;
        named.n_partition = 1;
        named.partition = &text;
        named.bucket = pb % BUCKETS;
        o.pb = &named;
        rt_rows_make(&a, &s, &shape, n, ids, parts, offsets);
        rc = pml_rt_write(NULL, l->writer, &a, &s, &o, err);
        if (a.release != NULL)
            a.release(&a);
        s.release(&s);
    }
    return rc;
}

static int prepare_and_commit(live *l, int64_t identifier, pml_error *err)
{
    pml_rt_prepared *p = NULL;
    size_t n;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    int rc = pml_rt_prepare(&p, l->writer, identifier, NULL, err);
    if (rc != PML_OK)
        return rc;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    if (n > 0)
        rc = pml_rt_commit(&r, l->commit, e, n, identifier, NULL, err);
    pml_rt_prepared_free(p);
    return rc == PML_OK && n > 0 ? pml_rt_advance(l->ctx, r.snapshot_id, err) : rc;
}

/* The life that is cut. *acknowledged: rows that a commit said to be safe; *attempted: rows that a commit has begun on. */
static void first_life(test_env *t, int64_t *acknowledged, int64_t *attempted)
{
    live l = {.t = t};
    pml_error err = PML_ERROR_INIT;
    *acknowledged = *attempted = 0;
    int rc = live_open(&l, &err);
    for (int64_t half = 0; half < 2 && rc == PML_OK; half++) {
        rc = send(&l, half * HALF, (half + 1) * HALF, NULL, &err);
        if (rc != PML_OK)
            break;
        *attempted = (half + 1) * HALF;
        rc = prepare_and_commit(&l, half + 1, &err);
        if (rc == PML_OK)
            *acknowledged = (half + 1) * HALF;
    }
    live_drop(&l);
}

/* ---- looking ---- */

static void ends_at(int64_t ends[PBS], pml_table *table, int64_t snapshot)
{
    pml_rt_offsets *offsets;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_offsets_load(&offsets, table, snapshot, &err), &err);
    assert_int_equal(pml_rt_offsets_all_lost(offsets), 0);
    for (int pb = 0; pb < PBS; pb++) {
        const char *text = rt_partition_text(pb / BUCKETS);
        pml_rt_pb key = PML_RT_PB_INIT;
        key.n_partition = 1;
        key.partition = &text;
        key.bucket = pb % BUCKETS;
        int64_t end = pml_rt_offsets_find(offsets, &key);
        ends[pb] = end < 0 ? 0 : end;
    }
    pml_rt_offsets_free(offsets);
}

/* The rows of a snapshot, each at most once. */
static void rows_at(bool seen[ROWS], pml_table *table, int64_t snapshot)
{
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream stream;
    pml_error err = PML_ERROR_INIT;
    memset(seen, 0, ROWS * sizeof *seen);
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, snapshot, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    for (int64_t n = 0; n >= 0;) {
        int64_t *ids;
        int *parts;
        char wrong[160];
        must_ok(rt_rows_next(&stream, shape.columns, &ids, &parts, &n, wrong, &err), &err);
        assert_string_equal(wrong, "");
        for (int64_t i = 0; i < n; i++) {
            assert_in_range(ids[i], 0, ROWS - 1);
            assert_false(seen[ids[i]]);
            assert_int_equal(parts[i], pb_of(ids[i]) / BUCKETS);
            seen[ids[i]] = true;
        }
        free(ids);
        free(parts);
    }
    stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
}

/* Each snapshot holds exactly the rows below the ends that it records. */
static void check_snapshots(pml_table *table, int64_t latest)
{
    for (int64_t id = 1; id <= latest; id++) {
        bool seen[ROWS];
        int64_t ends[PBS];
        ends_at(ends, table, id);
        rows_at(seen, table, id);
        for (int64_t i = 0; i < ROWS; i++)
            assert_int_equal(seen[i], offset_of(i) < ends[pb_of(i)]);
    }
}

static void recover(test_env *t, int64_t acknowledged, int64_t attempted)
{
    live l = {.t = t};
    pml_error err = PML_ERROR_INIT;
    int64_t latest, ends[PBS] = {0};
    bool seen[ROWS] = {false};
    must_ok(live_open(&l, &err), &err);
    must_ok(pml_table_latest_snapshot(&latest, l.table, &err), &err);
    check_snapshots(l.table, latest);
    if (latest >= 1) {
        ends_at(ends, l.table, -1);
        rows_at(seen, l.table, -1);
    }
    for (int64_t i = 0; i < ROWS; i++) {
        assert_true(i >= acknowledged || seen[i]);
        assert_true(i < attempted || !seen[i]);
    }
    must_ok(send(&l, 0, ROWS, ends, &err), &err);
    must_ok(prepare_and_commit(&l, 3, &err), &err);
    must_ok(pml_rt_writer_close(l.writer, &err), &err);
    l.writer = NULL;
    rows_at(seen, l.table, -1);
    for (int64_t i = 0; i < ROWS; i++)
        assert_true(seen[i]);
    must_ok(pml_table_latest_snapshot(&latest, l.table, &err), &err);
    check_snapshots(l.table, latest);
    live_drop(&l);
}

static uint64_t lose_all(long long point)
{
    (void)point;
    return SIM_FS_LOSE_ALL;
}

static uint64_t keep_all(long long point)
{
    (void)point;
    return SIM_FS_KEEP_ALL;
}

static uint64_t any(long long point)
{
    return test_seed() * 31 + (uint64_t)point + 2;
}

/* One life up to the crash point, and what follows for each choice of what survives. False when the life came to its end before. */
static bool crash_at(long long point)
{
    static uint64_t (*const seeds[])(long long) = {lose_all, keep_all, any};
    enum { SEEDS = sizeof seeds / sizeof seeds[0] };
    sim_fs *sim[SEEDS] = {sim_fs_new()};
    test_env *t = test_env_open(sim_fs_system(sim[0]));
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    int64_t acknowledged, attempted;
    must_ok(rt_table_create(&table, t->env, TABLE, &shape, &err), &err);
    pml_table_release(table);
    sim_fs_sync_all(sim[0]);
    sim_fs_crash_at(sim[0], point);
    first_life(t, &acknowledged, &attempted);
    bool down = sim_fs_is_down(sim[0]);
    if (!down)
        assert_int_equal(acknowledged, ROWS);
    uint64_t random_state = t->random_state;
    test_env_close(t);
    for (size_t i = 1; i < SEEDS; i++)
        sim[i] = sim_fs_copy(sim[0]);
    for (size_t i = 0; i < SEEDS; i++) {
        sim_fs_restart(sim[i], seeds[i](point));
        t = test_env_open(sim_fs_system(sim[i]));
        t->random_state = random_state;
        recover(t, acknowledged, attempted);
        test_env_close(t);
        sim_fs_free(sim[i]);
    }
    return down;
}

/* Whether everything that was not synced is lost or there, or random parts of it: no committed row is lost, and none is there twice. */
static void power_cut_at_any_point_leaves_every_row_once(void **state)
{
    (void)state;
    long long point = 1;
    while (crash_at(point))
        point++;
    assert_true(point > 100);
    print_message("%lld crash points\n", point);
}

/* The snapshot gets its name, and then nothing can be read or made durable any more. */
static void darkness(void *arg, int kind, const char *path)
{
    faulty_fs *f = arg;
    (void)kind, (void)path;
    faulty_fs_fail_kinds(f, FS_OP(FS_OP_PUBLISH) | FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_STAT) | FS_OP(FS_OP_LIST) |
                                FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(f, 1, FAULT_BEFORE, PML_E_IO, 0);
    faulty_fs_fail_sticky(f);
}

static void commit_sent_again_after_an_unknown_outcome_is_durable(void **state)
{
    sim_fs *sim = sim_fs_new();
    faulty_fs faulty;
    pml_table *table;
    pml_rt_prepared *p;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    (void)state;
    faulty_fs_init(&faulty, sim_fs_system(sim));
    test_env *t = test_env_open(&faulty.fs);
    live l = {.t = t};
    must_ok(rt_table_create(&table, t->env, TABLE, &shape, &err), &err);
    pml_table_release(table);
    sim_fs_sync_all(sim);
    must_ok(live_open(&l, &err), &err);
    must_ok(send(&l, 0, HALF, NULL, &err), &err);
    must_ok(pml_rt_prepare(&p, l.writer, 1, NULL, &err), &err);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    faulty_fs_call_at(&faulty, 1, FS_OP(FS_OP_PUBLISH), darkness, &faulty);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, pml_rt_commit(&r, l.commit, e, n, 1, NULL, &err), &err);
    faulty_fs_reset(&faulty);
    must_ok(pml_rt_commit(&r, l.commit, e, n, 1, NULL, &err), &err);
    assert_int_equal(r.already_committed, 1);
    pml_rt_prepared_free(p);
    live_drop(&l);
    sim_fs_crash(sim, SIM_FS_LOSE_ALL);
    recover(t, HALF, HALF);
    test_env_close(t);
    faulty_fs_destroy(&faulty);
    sim_fs_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_sent_again_after_an_unknown_outcome_is_durable),
        cmocka_unit_test(power_cut_at_any_point_leaves_every_row_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
