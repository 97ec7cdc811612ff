/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The races of support/race_kit.h in orders that a seed decides (support/interleave.h). ROUNDS=n, SEED=n, ROUND=n for one of them,
 * TEST=pattern for the tests of these names. With threads of their own, and TSan: racing_concurrent_test.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "storage/numbered.h"
#include "support/race_kit.h"
#include "support/test_env.h"

enum { ROUNDS = 4, BATCHES = 12, READS = 12, ROUNDS_PER_MERGES = 3, MANY_BATCHES = 40, FEW_READS = 5 };

typedef struct actor {
    void (*run)(void *race);
    const char *name;
} actor;

/* Why it went wrong; "": it did not. Returns the number of switches. more: further actors. */
static long long one_round(char why[600], const race_options *o, const actor *more, size_t n_more,
                           void (*after)(race *r))
{
    const actor usual[] = {{race_write, "writer"},     {race_prepare, "preparer"}, {race_commit, "committer"},
                           {race_advance, "advancer"}, {race_seal, "sealer"},      {race_read, "reader 1"},
                           {race_read, "reader 2"}};
    interleave_thread threads[INTERLEAVE_MAX];
    size_t n = sizeof usual / sizeof usual[0];
    race *r = calloc(1, sizeof *r);
    char stuck[200];
    assert_non_null(r);
    int preparers = 1;
    for (size_t i = 0; i < n_more; i++)
        preparers += more[i].run == race_prepare;
    race_open(r, o, preparers);
    for (size_t i = 0; i < n + n_more; i++) {
        const actor *a = i < n ? &usual[i] : &more[i - n];
        threads[i] = (interleave_thread){a->run, r, a->name};
    }
    long long switches = interleave_run(threads, n + n_more, o->seed, stuck, sizeof stuck);
    if (switches < 0)
        fail_msg("seed %llu: all wait for each other: %s", (unsigned long long)o->seed, stuck);
    race_finish(r);
    if (after != NULL && !atomic_load(&r->failed))
        after(r);
    (void)snprintf(why, 600, "%s", r->wrong);
    race_close(r);
    free(r);
    return switches;
}

static race_options plain(uint64_t seed, bool keyed)
{
    return (race_options){.seed = seed,
                          .keyed = keyed ? race_engine(seed) : NULL,
                          .pause = interleave_point,
                          .batches = BATCHES,
                          .reads = READS};
}

/* Every other round with keys unless `keyed`: then all of them. */
static void rounds(race_options o, bool keyed, bool unkeyed, const actor *more, size_t n_more, void (*after)(race *r))
{
    int64_t n = test_setting("ROUNDS", ROUNDS, 1, INT64_MAX) / (o.late_merges ? ROUNDS_PER_MERGES : 1),
            only = test_setting("ROUND", -1, 0, INT64_MAX);
    long long switches = 0;
    for (int64_t i = 0; i < (only >= 0 || n == 0 ? 1 : n); i++) {
        char why[600];
        o.seed = only >= 0 ? (uint64_t)only : test_seed() + (uint64_t)i;
        o.keyed = keyed && (!unkeyed || o.seed % 2 == 1) ? race_engine(o.seed) : NULL;
        switches += one_round(why, &o, more, n_more, after);
        if (why[0] != '\0')
            fail_msg("ROUND=%llu: %s", (unsigned long long)o.seed, why);
    }
    print_message("%lld rounds, %lld switches\n", (long long)(n > 0 ? n : 1), switches);
}

/* 73: append. With one prepare in flight others are told so */
static void reads_show_a_moment_without_keys(void **state)
{
    (void)state;
    static const actor more[] = {{race_prepare, "preparer 2"}};
    rounds(plain(0, false), false, true, more, 1, NULL);
}

/* 73: primary key. Equal to some state between writes */
static void reads_show_a_moment_with_keys(void **state)
{
    (void)state;
    static const actor more[] = {{race_prepare, "preparer 2"}};
    rounds(plain(0, true), true, false, more, 1, NULL);
}

/* 74: flushes and commits are slow and fail. One prepare in flight and one commit at a time: N in flight and groups are to come */
static void reads_show_a_moment_while_files_fail(void **state)
{
    (void)state;
    static const actor more[] = {{race_disturb, "disturber"}, {race_prepare, "preparer 2"}};
    race_options o = plain(0, false);
    o.faults = true;
    rounds(o, true, true, more, 2, NULL);
}

static long long helped;

static void note_helped(race *r)
{
    (void)r;
    helped += interleave_helped();
}

/* 75: tickets of a millisecond, and each merge of runs that can be left to the store's thread. Spill and log are to come */
static void reads_show_a_moment_by_tickets_that_expire(void **state)
{
    (void)state;
    static const actor more[] = {{race_tickets, "tickets 1"}, {race_tickets, "tickets 2"}};
    race_options o = plain(0, true);
    o.short_tickets = true;
    rounds(o, true, true, more, 2, NULL);
}

/* 75 */
static void reads_show_a_moment_while_runs_are_merged(void **state)
{
    (void)state;
    race_options o = plain(0, true);
    helped = 0;
    o.late_merges = true;
    o.batches = MANY_BATCHES;
    o.lead = MANY_BATCHES / 2;
    o.reads = FEW_READS;
    rounds(o, true, false, NULL, 0, note_helped);
    assert_true(helped > 0);
}

/* 77a: nothing is in memory any more, and the hint goes back: neither this context nor a new one that has seen more follows it */
static void hint_goes_back_at_the_end(race *r)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_context *used = r->ctx, *fresh = NULL;
    race_must(r, pml_rt_context_open(&fresh, r->t->env, NULL, &err) == PML_OK, "context_open", &err);
    for (int i = 0; i < 4 && !atomic_load(&r->failed); i++) {
        pml_plan *plan = NULL;
        r->ctx = i % 2 == 0 ? used : fresh;
        race_must(r, race_plan(&plan, r, -1, &err) == PML_OK, "a plan without memory", &err);
        if (plan != NULL)
            (void)race_batches_of(r, plan, r->o.batches, r->o.batches, NULL);
        pml_plan_free(plan);
        if (i == 1)
            (void)pml_numbered__write_hint(r->t->env, RACE_TABLE "/snapshot", "LATEST", 1, NULL);
    }
    r->ctx = used;
    pml_rt_context_close(fresh);
}

/* 77: the hint of the latest snapshot goes back again and again while plans and advances look for it */
static void plans_are_right_while_the_hint_goes_back(void **state)
{
    (void)state;
    static const actor more[] = {{race_set_hint, "hint"}, {race_advance, "advancer 2"}};
    rounds(plain(0, false), true, true, more, 2, hint_goes_back_at_the_end);
}

/* 77: the hint stays where it is while the table goes on, and the store shows late that it is old */
static void plans_are_right_while_the_hint_is_frozen(void **state)
{
    (void)state;
    static const actor more[] = {{race_advance, "advancer 2"}};
    race_options o = plain(0, false);
    o.stale = true;
    rounds(o, true, true, more, 1, NULL);
}

/* ---- 78 ---- */

enum { COMMITS = 60 };

typedef struct advancer {
    race *r;
    int64_t id;
} advancer;

static void advance_to(void *p)
{
    const advancer *a = p;
    pml_error err = PML_ERROR_INIT;
    race_must(a->r, pml_rt_advance(a->r->ctx, a->id, &err) == PML_OK, "advance", &err);
}

static void commit_all(race *r)
{
    pml_error err = PML_ERROR_INIT;
    for (int i = 0; i < COMMITS; i++) {
        pml_rt_prepared *p = NULL;
        pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
        size_t n;
        race_write_one(r, i);
        must_ok(pml_rt_prepare(&p, r->w, i + 1, NULL, &err), &err);
        const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
        must_ok(pml_rt_commit(&result, r->commit, e, n, i + 1, NULL, &err), &err);
        pml_rt_prepared_free(p);
    }
    atomic_store(&r->snapshot, COMMITS);
}

/* 78: in either order, and mixed: a store hears of no end below one that it has heard of */
static void advances_that_cross_tell_no_store_to_go_back(void **state)
{
    (void)state;
    race *r = calloc(1, sizeof *r);
    char stuck[200];
    assert_non_null(r);
    race_options o = plain(test_seed() | 1, false); /* no advance by commits */
    o.store = race_watching_store();
    o.batches = COMMITS;
    race_open(r, &o, 1);
    commit_all(r);
    for (int64_t id = 2; id <= COMMITS; id++) {
        advancer low = {r, id - 1}, high = {r, id};
        const interleave_thread threads[] = {{advance_to, &low, "low"}, {advance_to, &high, "high"}};
        interleave_hold_first(id); /* each of its points once */
        assert_true(interleave_run(threads, 2, o.seed + (uint64_t)id, stuck, sizeof stuck) >= 0);
    }
    race_finish(r);
    assert_string_equal(r->wrong, "");
    assert_in_range(race_ends_told(), COMMITS / 2, COMMITS * 2);
    assert_int_equal(race_ends_gone_back(), 0);
    race_close(r);
    free(r);
}

/* ---- the scheduler itself ---- */

/* The same order again for the same seed. */
static void a_seed_is_an_order(void **state)
{
    (void)state;
    char why[600];
    for (uint64_t seed = 1; seed < 3; seed++) {
        const race_options o = plain(seed, true);
        assert_int_equal(one_round(why, &o, NULL, 0, NULL), one_round(why, &o, NULL, 0, NULL));
    }
}

typedef struct watched_call {
    race *r;
    const char *missing;
    bool ended;
} watched_call;

static void run_on(void *p)
{
    watched_call *c = p;
    while (!c->ended)
        interleave_point();
}

static void expect_switches(watched_call *c, long long *before, const char *call)
{
    if (interleave_switches() == *before && c->missing == NULL)
        c->missing = call;
    *before = interleave_switches();
}

static void call_everything(void *p)
{
    watched_call *c = p;
    race *r = c->r;
    pml_rt_prepared *prepared = NULL;
    pml_plan *plan = NULL;
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    long long before = interleave_switches();
    pml_error err = PML_ERROR_INIT;
    race_write_one(r, 0);
    expect_switches(c, &before, "write");
    race_must(r, pml_rt_seal(r->w, &err) == PML_OK, "seal", &err);
    expect_switches(c, &before, "seal");
    race_must(r, pml_rt_prepare(&prepared, r->w, 1, NULL, &err) == PML_OK, "prepare", &err);
    expect_switches(c, &before, "prepare");
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, prepared);
    race_must(r, pml_rt_commit(&result, r->commit, e, n, 1, NULL, &err) == PML_OK, "commit", &err);
    pml_rt_prepared_free(prepared);
    expect_switches(c, &before, "commit");
    race_must(r, pml_file__write_new(r->t->env, "/new", (const uint8_t *)"x", 1, 0, &err) == PML_OK, "write_new", &err);
    expect_switches(c, &before, "publish");
    race_must(r, pml_table_latest_snapshot(&result.latest_id, r->table, &err) == PML_OK, "latest_snapshot", &err);
    expect_switches(c, &before, "refresh");
    race_must(r, pml_rt_advance(r->ctx, 1, &err) == PML_OK, "advance", &err);
    expect_switches(c, &before, "advance");
    race_must(r, race_plan(&plan, r, -1, &err) == PML_OK, "plan", &err);
    expect_switches(c, &before, "plan");
    pml_plan_free(plan);
    c->ended = true;
}

/* Locks, publish, seal, refresh and advance are points. */
static void every_step_lets_others_go_on(void **state)
{
    (void)state;
    char stuck[200];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        race *r = calloc(1, sizeof *r);
        assert_non_null(r);
        const race_options o = plain(7, seed == 2);
        race_open(r, &o, 1);
        watched_call c = {.r = r};
        const interleave_thread threads[] = {{call_everything, &c, "caller"}, {run_on, &c, "other"}};
        assert_true(interleave_run(threads, 2, INTERLEAVE_OFTEN, stuck, sizeof stuck) >= 0);
        assert_string_equal(r->wrong, "");
        assert_null(c.missing);
        race_close(r);
        free(r);
    }
}

static void must_notice(rt_mutant mutant, bool keyed)
{
    for (uint64_t seed = 1; seed < 60; seed++) {
        char why[600];
        race_options o = plain(seed, keyed);
        o.store = rt_model_plugin(mutant);
        (void)one_round(why, &o, NULL, 0, NULL);
        if (why[0] != '\0') {
            print_message("noticed in round %d: %s\n", (int)seed, why);
            return;
        }
    }
    fail_msg("nobody noticed");
}

static void a_store_that_lets_go_early_is_noticed(void **state)
{
    (void)state;
    must_notice(RT_MUTANT_EAGER_ADVANCE, false);
    must_notice(RT_MUTANT_EAGER_ADVANCE, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_show_a_moment_without_keys),
        cmocka_unit_test(reads_show_a_moment_with_keys),
        cmocka_unit_test(reads_show_a_moment_while_files_fail),
        cmocka_unit_test(reads_show_a_moment_by_tickets_that_expire),
        cmocka_unit_test(reads_show_a_moment_while_runs_are_merged),
        cmocka_unit_test(plans_are_right_while_the_hint_goes_back),
        cmocka_unit_test(plans_are_right_while_the_hint_is_frozen),
        cmocka_unit_test(advances_that_cross_tell_no_store_to_go_back),
        cmocka_unit_test(a_seed_is_an_order),
        cmocka_unit_test(every_step_lets_others_go_on),
        cmocka_unit_test(a_store_that_lets_go_early_is_noticed),
    };
    if (getenv("TEST") != NULL)
        cmocka_set_test_filter(getenv("TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
