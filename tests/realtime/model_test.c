/* SPDX-License-Identifier: Apache-2.0 */
/* The random model (realtime-tests.md 25.7). STEPS=n in the environment sets the number of steps, SEED=n the first episode, EPISODE=n
   runs that one only, TEST=pattern the tests of these names. With keys it is also tests 56, 59 and 60: queries without key columns,
   keys in several files of level 0 and in memory, conditions on values and sequence fields by which memory loses. */

#include <stdlib.h>

#include "support/rt_model.h"
#include "support/test_env.h"

enum { EPISODE_STEPS = 250, STEPS = 5000, SHRINK_TRIES = 120 }; /* 10^6 steps in `make check-long`, 10^5 of them in every submission */

static void report(const rt_model_options *o, const rt_model_result *r, const char *what)
{
    print_error("%s: episode %llu, step %d: %s\n", what, (unsigned long long)o->seed, r->step, r->failure);
    for (int i = 0; i < r->n_log; i++)
        print_error("  %s\n", r->log[i]);
}

static void shrink(const rt_model_options *o, rt_model_result *r)
{
    bool skip[EPISODE_STEPS] = {false};
    int left = rt_model_shrink(skip, r, o, SHRINK_TRIES);
    print_error("shrunk to %d steps\n", left);
    report(o, r, "shrunk");
}

static void run_episode(rt_model_result *r, uint64_t seed, bool faults, bool keyed)
{
    const rt_model_options o = {.seed = seed, .steps = EPISODE_STEPS, .faults = faults, .keyed = keyed};
    rt_model_run(r, &o);
    if (!r->failed)
        return;
    report(&o, r, "the model");
    shrink(&o, r);
    fail_msg("EPISODE=%llu repeats it", (unsigned long long)seed);
}

static void run_steps(int64_t steps, uint64_t first, bool faults, bool keyed)
{
    long long operations = 0;
    int64_t only = test_setting("EPISODE", -1, 0, INT64_MAX);
    for (int64_t done = 0, i = 0; done < steps; i++) {
        rt_model_result r;
        run_episode(&r, only >= 0 ? (uint64_t)only : first + (uint64_t)i, faults, keyed);
        operations += r.operations;
        done += only >= 0 ? steps : EPISODE_STEPS;
    }
    print_message("%lld steps, %lld operations\n", (long long)steps, operations);
}

static void model_of_healthy_files_agrees_with_the_library(void **state)
{
    (void)state;
    run_steps(test_setting("STEPS", STEPS, 4, INT64_MAX) / 4, test_seed(), false, false);
}

static void model_of_failing_files_agrees_with_the_library(void **state)
{
    (void)state;
    run_steps(test_setting("STEPS", STEPS, 4, INT64_MAX) / 4, test_seed() + 1000000, true, false);
}

static void model_of_keys_and_healthy_files_agrees(void **state)
{
    (void)state;
    run_steps(test_setting("STEPS", STEPS, 4, INT64_MAX) / 4, test_seed() + 2000000, false, true);
}

static void model_of_keys_and_failing_files_agrees(void **state)
{
    (void)state;
    run_steps(test_setting("STEPS", STEPS, 4, INT64_MAX) / 4, test_seed() + 3000000, true, true);
}

/* What long runs have found. Episodes change with the model and the library, so what each one showed has a test of its own, too. */
static void model_agrees_in_the_episodes_that_failed_once(void **state)
{
    static const struct {
        uint64_t seed;
        bool faults, keyed;
    } episodes[] = {{20261254, false, false}, {21261407, true, false}, {21262071, true, false},  {21262104, true, false},
                  {5000211, true, false},   {21262394, true, false}, {20261199, false, false}, {21261187, true, false},
                  {23261135, true, true},   {22261180, false, true}, {22261175, false, true},  {23261232, true, true},
                  {3000285, false, true},   {4000072, true, true},   {23261176, true, true},
                  {21261321, true, false},  {23261311, true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof episodes / sizeof episodes[0]; i++) {
        rt_model_result r;
        run_episode(&r, episodes[i].seed, episodes[i].faults, episodes[i].keyed);
    }
}

/* Each mutant must be caught within 5000 steps. */
static void must_catch_in(rt_mutant mutant, bool keyed)
{
    for (uint64_t i = 0; i < 5000 / EPISODE_STEPS; i++) {
        const rt_model_options o = {.seed = test_seed() + i, .steps = EPISODE_STEPS, .mutant = mutant, .keyed = keyed};
        rt_model_result r;
        rt_model_run(&r, &o);
        if (r.failed) {
            print_message("caught in episode %d: %s\n", (int)i, r.failure);
            return;
        }
    }
    fail_msg("nobody noticed");
}

static void must_catch(rt_mutant mutant)
{
    must_catch_in(mutant, false);
    must_catch_in(mutant, true);
}

static void model_notices_a_store_that_loses_rows(void **state)
{
    (void)state;
    must_catch(RT_MUTANT_LOSES_ROWS);
}

static void model_notices_a_store_that_doubles_rows(void **state)
{
    (void)state;
    must_catch(RT_MUTANT_DOUBLES_ROWS);
}

static void model_notices_views_that_lie_about_their_floor(void **state)
{
    (void)state;
    must_catch(RT_MUTANT_LIES_ON_FLOOR);
}

static void model_notices_a_store_that_lets_go_of_uncommitted_rows(void **state)
{
    (void)state;
    must_catch(RT_MUTANT_EAGER_ADVANCE);
}

static void model_notices_commits_without_progress(void **state)
{
    (void)state;
    must_catch(RT_MUTANT_SKIPS_PROGRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_of_healthy_files_agrees_with_the_library),
        cmocka_unit_test(model_of_failing_files_agrees_with_the_library),
        cmocka_unit_test(model_of_keys_and_healthy_files_agrees),
        cmocka_unit_test(model_of_keys_and_failing_files_agrees),
        cmocka_unit_test(model_agrees_in_the_episodes_that_failed_once),
        cmocka_unit_test(model_notices_a_store_that_loses_rows),
        cmocka_unit_test(model_notices_a_store_that_doubles_rows),
        cmocka_unit_test(model_notices_views_that_lie_about_their_floor),
        cmocka_unit_test(model_notices_a_store_that_lets_go_of_uncommitted_rows),
        cmocka_unit_test(model_notices_commits_without_progress),
    };
    if (getenv("TEST") != NULL)
        cmocka_set_test_filter(getenv("TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
