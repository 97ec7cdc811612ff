/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The races of support/race_kit.h with threads of their own: `make check-tsan` runs them. In orders that a seed decides:
 * interleaving_test.c. ROUNDS=n, SEED=n, TEST=pattern.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meta/path.h"
#include "storage/file_io.h"
#include "support/race_kit.h"
#include "support/test_env.h"
#include "table/table.h"

enum { BATCHES = 16, LEAD = 4, READS = 1000, MANY_BATCHES = 48, THREADS_MAX = 16 };

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 100000};
    (void)nanosleep(&t, NULL);
}

static void *run(void *p)
{
    const interleave_thread *t = p;
    t->run(t->arg);
    return NULL;
}

/* Their arguments are the race. */
static void run_all(race *r, void (*const *actors)(void *), size_t n)
{
    interleave_thread threads[THREADS_MAX];
    pml_thread started[THREADS_MAX];
    assert_in_range(n, 1, THREADS_MAX);
    for (size_t i = 0; i < n; i++) {
        threads[i] = (interleave_thread){actors[i], r, ""};
        assert_int_equal(pml_thread__start(&started[i], run, &threads[i]), 0);
    }
    for (size_t i = 0; i < n; i++)
        pml_thread__join(&started[i]);
}

static race_options plain(uint64_t seed, bool keyed)
{
    return (race_options){.seed = seed,
                          .keyed = keyed ? race_engine(seed) : NULL,
                          .pause = nap,
                          .batches = BATCHES,
                          .lead = LEAD,
                          .reads = READS};
}

static void must_be_right(race *r, uint64_t seed)
{
    race_finish(r);
    if (r->wrong[0] != '\0')
        fail_msg("SEED=%llu: %s", (unsigned long long)seed, r->wrong);
    race_close(r);
    free(r);
}

/* One writer, four that prepare, one that commits, one that advances, four that read, and others. */
static void rounds(race_options o, bool keyed, void (*const *more)(void *), size_t n_more)
{
    int64_t n = test_setting("ROUNDS", 1, 1, INT64_MAX);
    for (int64_t i = 0; i < n; i++) {
        void (*actors[THREADS_MAX])(void *) = {race_write,   race_prepare, race_prepare, race_prepare,
                                               race_prepare, race_commit,  race_advance, race_read,
                                               race_read,    race_read,    race_read};
        size_t n_actors = 11;
        race *r = calloc(1, sizeof *r);
        assert_non_null(r);
        for (size_t k = 0; k < n_more; k++)
            actors[n_actors++] = more[k];
        o.seed = test_seed() + (uint64_t)i;
        o.keyed = keyed ? race_engine(o.seed) : NULL;
        race_open(r, &o, 4);
        run_all(r, actors, n_actors);
        must_be_right(r, o.seed);
    }
}

/* 73: append. Three of those that prepare are told that one is in flight */
static void readers_see_prefixes_of_rows_without_keys(void **state)
{
    (void)state;
    static void (*const more[])(void *) = {race_seal};
    rounds(plain(0, false), false, more, 1);
}

/* 73: primary key */
static void readers_see_states_between_writes_of_rows_with_keys(void **state)
{
    (void)state;
    static void (*const more[])(void *) = {race_seal};
    rounds(plain(0, true), true, more, 1);
}

/* 74: flushes and commits are slow and fail. N in flight and groups of commits are to come */
static void readers_see_prefixes_while_files_fail(void **state)
{
    (void)state;
    static void (*const more[])(void *) = {race_disturb};
    for (int keyed = 0; keyed < 2; keyed++) {
        race_options o = plain(0, keyed == 1);
        o.faults = true;
        rounds(o, keyed == 1, more, 1);
    }
}

/* 75: tickets of a millisecond. Spill and log are to come */
static void readers_see_prefixes_by_tickets_that_expire(void **state)
{
    (void)state;
    static void (*const more[])(void *) = {race_tickets, race_tickets};
    for (int keyed = 0; keyed < 2; keyed++) {
        race_options o = plain(0, keyed == 1);
        o.short_tickets = true;
        rounds(o, keyed == 1, more, 2);
    }
}

/* 75: every merge of runs that can be left to the store's thread is */
static void readers_see_states_while_runs_are_merged(void **state)
{
    (void)state;
    race_options o = plain(0, true);
    o.late_merges = true;
    o.batches = MANY_BATCHES;
    o.lead = MANY_BATCHES / 2;
    rounds(o, true, NULL, 0);
}

/* ---- 77b ---- */

typedef struct hang {
    race r; /* first: actors get it */
    atomic_bool reached, go_on;
} hang;

static void stop_here(void *arg, int kind, const char *path)
{
    hang *h = arg;
    (void)kind, (void)path;
    atomic_store(&h->reached, true);
    while (!atomic_load(&h->go_on))
        nap();
}

static void prepare_and_hang(void *p)
{
    hang *h = p;
    race *r = &h->r;
    pml_rt_prepared *prepared = NULL;
    pml_error err = PML_ERROR_INIT;
    faulty_fs_call_at(&r->fs, 1, FS_OP(FS_OP_CREATE), stop_here, h);
    race_must(r, pml_rt_prepare(&prepared, r->w, 2, NULL, &err) == PML_OK, "the prepare that hung", &err);
    atomic_store(&r->prepared, prepared);
}

/* All that need not wait for the flush. */
static void go_on_meanwhile(void *p)
{
    hang *h = p;
    race *r = &h->r;
    pml_error err = PML_ERROR_INIT;
    while (!atomic_load(&h->reached))
        nap();
    for (int i = 2; i < r->o.batches; i++) {
        pml_plan *plan = NULL;
        race_write_one(r, i);
        race_must(r, pml_rt_seal(r->w, &err) == PML_OK, "seal", &err);
        race_must(r, pml_rt_advance(r->ctx, 1, &err) == PML_OK, "advance", &err);
        race_must(r, race_plan(&plan, r, -1, &err) == PML_OK, "plan", &err);
        if (plan != NULL)
            (void)race_batches_of(r, plan, i + 1, i + 1, NULL);
        pml_plan_free(plan);
    }
    atomic_store(&h->go_on, true);
}

static void settle(race *r, pml_rt_prepared *p)
{
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    pml_error err = PML_ERROR_INIT;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    if (n > 0) {
        race_must(r, pml_rt_commit(&result, r->commit, e, n, 1, NULL, &err) == PML_OK, "commit", &err);
        atomic_store(&r->snapshot, result.snapshot_id);
    }
    pml_rt_prepared_free(p);
}

/* 77b: the flush of a prepare hangs, and writes, seals, advances and plans go on. Two prepares at a time are to come */
static void flush_that_hangs_holds_nobody_up(void **state)
{
    (void)state;
    for (int keyed = 0; keyed < 2; keyed++) {
        hang *h = calloc(1, sizeof *h);
        race *r = &h->r;
        pml_error err = PML_ERROR_INIT;
        pml_rt_prepared *p = NULL;
        assert_non_null(h);
        race_options o = plain(1, keyed == 1); /* no advance by commits */
        o.batches = 6;
        race_open(r, &o, 1);
        race_write_one(r, 0);
        must_ok(pml_rt_prepare(&p, r->w, 1, NULL, &err), &err);
        settle(r, p);
        race_write_one(r, 1);
        static void (*const actors[])(void *) = {prepare_and_hang, go_on_meanwhile};
        run_all(r, actors, 2);
        assert_true(atomic_load(&h->reached));
        settle(r, atomic_exchange(&r->prepared, NULL));
        must_ok(pml_rt_prepare(&p, r->w, 3, NULL, &err), &err);
        settle(r, p);
        race_finish(r);
        assert_string_equal(r->wrong, "");
        race_close(r);
        free(h);
    }
}

/* ---- 79 ---- */

/* Opens and closes the writer between batches, while others read. */
static void write_by_many_writers(void *p)
{
    race *r = p;
    for (int i = 0; i < r->o.batches && !atomic_load(&r->failed); i++) {
        pml_rt_prepared *prepared = NULL;
        pml_error err = PML_ERROR_INIT;
        race_write_one(r, i);
        int rc = pml_rt_writer_close(r->w, &err);
        race_must(r, rc == PML_E_STATE || (rc == PML_OK && r->shape.keyed != NULL),
                  "close with rows that nothing covers", &err);
        if (rc == PML_OK) /* its rows were of kinds that writers pass over */
            race_must(r, pml_rt_writer_open(&r->w, r->table, r->ctx, NULL, &err) == PML_OK, "open", &err);
        race_must(r, pml_rt_prepare(&prepared, r->w, i + 1, NULL, &err) == PML_OK, "prepare", &err);
        race_must(r, pml_rt_writer_close(r->w, &err) == PML_OK, "close", &err);
        if (i % 2 == 0)
            settle(r, prepared);
        race_must(r, pml_rt_writer_open(&r->w, r->table, r->ctx, NULL, &err) == PML_OK, "open", &err);
        if (i % 2 != 0)
            settle(r, prepared);
        r->o.pause();
    }
    atomic_store(&r->preparers, 0);
}

/* 79: the writer is closed while others read */
static void writer_is_closed_while_others_read(void **state)
{
    (void)state;
    for (int keyed = 0; keyed < 2; keyed++) {
        static void (*const actors[])(void *) = {write_by_many_writers, race_advance, race_read, race_read, race_read,
                                                 race_tickets};
        race *r = calloc(1, sizeof *r);
        assert_non_null(r);
        race_options o = plain(test_seed(), keyed == 1);
        o.batches = 8;
        race_open(r, &o, 1);
        run_all(r, actors, 6);
        must_be_right(r, o.seed);
    }
}

/* An owner of the context that draws tickets and opens them until it goes, at a moment of its own. */
static void own_and_go(void *p)
{
    race *r = p;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL, *kept = NULL;
    pml_error err = PML_ERROR_INIT;
    const int64_t turns = (int64_t)(race_random(r) % 12) + 1;
    int rc = pml_scan_new(&scan, r->table, &err);
    if (rc == PML_OK && r->shape.keyed == NULL)
        rc = pml_scan_set_columns(scan, (const char *const[]){"i"}, 1, &err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, r->ctx, &err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, &err);
    race_must(r, rc == PML_OK, "plan", &err);
    for (int64_t i = 0; i < turns && plan != NULL; i++) {
        pml_text t = {0};
        race_must(r, pml_rt_split_serialize(&t, plan, 0, &err) == PML_OK, "serialize", &err);
        pml_plan_free(kept);
        kept = NULL;
        if (i % 3 != 2) /* else it is left to the end of the context */
            race_must(r, pml_rt_split_deserialize(&kept, scan, &(pml_blob){t.ptr, t.len}, 1, &err) == PML_OK,
                      "deserialize", &err);
        pml_text_clear(&t);
    }
    pml_scan_free(scan);
    pml_rt_context_close(r->ctx);
    if (kept != NULL) /* what is open outlives the context */
        (void)race_batches_of(r, kept, r->o.batches, r->o.batches, NULL);
    if (plan != NULL)
        (void)race_batches_of(r, plan, r->o.batches, r->o.batches, NULL);
    pml_plan_free(kept);
    pml_plan_free(plan);
}

/* 79: owners of a context close it while others draw tickets, with the writer still open or not */
static void context_is_closed_while_others_draw_tickets(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++) {
        static void (*const actors[])(void *) = {own_and_go, own_and_go, own_and_go, own_and_go};
        race *r = calloc(1, sizeof *r);
        assert_non_null(r);
        race_options o = plain(test_seed() + i, i % 2 == 1);
        o.batches = 5;
        race_open(r, &o, 1);
        for (int k = 0; k < o.batches; k++)
            race_write_one(r, k);
        for (int k = 0; k < 4; k++)
            pml_rt_context_acquire(r->ctx);
        pml_rt_context_close(r->ctx);
        if (i % 4 < 2) {
            pml_rt_prepared *p = NULL;
            pml_error err = PML_ERROR_INIT;
            must_ok(pml_rt_prepare(&p, r->w, 1, NULL, &err), &err);
            must_ok(pml_rt_writer_close(r->w, &err), &err);
            r->w = NULL;
            pml_rt_prepared_free(p);
        }
        run_all(r, actors, 4);
        r->ctx = NULL;
        assert_string_equal(r->wrong, "");
        race_close(r);
        free(r);
    }
}

/* ---- 80 ---- */

/* What an expiry takes first: the snapshot, then the lists that only it names. */
static void expire_one(race *r, int64_t id)
{
    pml_arena arena;
    pml_snapshot s;
    pml_error err = PML_ERROR_INIT;
    char path[600];
    char *file = pml_path__snapshot(r->t->env, RACE_TABLE, id);
    pml_arena__init(&arena, r->t->env);
    int rc = pml_table__load_snapshot(&s, &arena, r->table, id, &err);
    race_must(r, rc == PML_OK, "the snapshot to expire", &err);
    race_must(r, file != NULL && pml_file__remove(r->t->env, file, &err) == PML_OK, "remove", &err);
    atomic_store(&r->earliest, id + 1);
    r->o.pause();
    for (int i = 0; rc == PML_OK && i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/manifest/%s", RACE_TABLE,
                       i == 0 ? s.base_manifest_list : s.delta_manifest_list);
        race_must(r, pml_file__remove(r->t->env, path, &err) == PML_OK, path, &err);
    }
    pml_arena__clear(&arena);
    pml_env__free(r->t->env, file);
}

static void expire(void *p)
{
    race *r = p;
    while (atomic_load(&r->preparers) > 0 && !atomic_load(&r->failed)) {
        if (atomic_load(&r->earliest) < atomic_load(&r->snapshot))
            expire_one(r, atomic_load(&r->earliest));
        r->o.pause();
    }
}

/* Some snapshot that may go at any moment, without memory or with it. */
static void read_old_ones(void *p)
{
    race *r = p;
    for (int i = 0; i < READS && !race_is_over(r); i++) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan = NULL;
        int64_t newest = atomic_load(&r->snapshot), id = atomic_load(&r->earliest) - (int64_t)(race_random(r) % 2);
        r->o.pause();
        if (newest < 1 || id < 1)
            continue;
        int from = atomic_load(&r->written), rc = race_plan(&plan, r, id, &err), to = atomic_load(&r->begun);
        race_must(r, rc == PML_OK || rc == PML_E_SNAPSHOT_GONE || rc == PML_E_NOT_FOUND || rc == PML_E_PROGRESS_GAP,
                  "a plan of an old snapshot", &err);
        if (rc == PML_OK)
            (void)race_batches_of(r, plan, from, to, NULL);
        pml_plan_free(plan);
    }
}

/* 80: snapshots expire while plans are made of them, and of the latest. Data files of ours are in every later snapshot: they stay */
static void snapshots_expire_while_others_plan(void **state)
{
    (void)state;
    static void (*const more[])(void *) = {expire, read_old_ones, read_old_ones};
    for (int keyed = 0; keyed < 2; keyed++) {
        race_options o = plain(0, keyed == 1);
        o.expires = true;
        rounds(o, keyed == 1, more, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_prefixes_of_rows_without_keys),
        cmocka_unit_test(readers_see_states_between_writes_of_rows_with_keys),
        cmocka_unit_test(readers_see_prefixes_while_files_fail),
        cmocka_unit_test(readers_see_prefixes_by_tickets_that_expire),
        cmocka_unit_test(readers_see_states_while_runs_are_merged),
        cmocka_unit_test(flush_that_hangs_holds_nobody_up),
        cmocka_unit_test(writer_is_closed_while_others_read),
        cmocka_unit_test(context_is_closed_while_others_draw_tickets),
        cmocka_unit_test(snapshots_expire_while_others_plan),
    };
    if (getenv("TEST") != NULL)
        cmocka_set_test_filter(getenv("TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
