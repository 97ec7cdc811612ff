/* SPDX-License-Identifier: Apache-2.0 */
/* 18a, 18b: a writer and a reader notice what a store gives back wrongly (realtime.md 9.3). Numbers: realtime-tests.md. */
#include <stdio.h>
#include <string.h>

#include "support/broken_stores.h"
#include "support/rt_kit.h"

static void start(rt_kit *k, const pml_rt_plugin *plugin, const char *verify, const char *order)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    const pml_option_pair pairs[] = {{"realtime.verify.commit", verify}, {"realtime.verify.order", order}};
    rt_kit_create(k, NULL, "", "");
    o.store = plugin;
    o.n_options = order == NULL ? 1 : 2;
    o.options = pairs;
    must_ok(pml_rt_context_open(&k->ctx, k->t->env, &o, &err), &err);
    must_ok(pml_rt_writer_open(&k->w, k->table, k->ctx, NULL, &err), &err);
    for (int i = 0; i < 3; i++)
        rt_kit_write(k, 5, "a");
}

/* Nothing was published, nothing is left, and nothing goes on. */
static void must_be_refused(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p;
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_prepare(&p, k->w, 1, NULL, &err), &err);
    assert_null(p);
    assert_int_equal(rt_kit_files(k, "data-"), 0);
    assert_int_equal(rt_kit_latest(k), -1);
    must_fail_with(PML_E_RECREATE, rt_kit_try_write(k, 1, "a", NULL, NULL, &err), &err);
    must_fail_with(PML_E_RECREATE, pml_rt_prepare(&p, k->w, 2, NULL, &err), &err);
}

static void refuses(broken_kind kind, const char *verify)
{
    rt_kit k;
    start(&k, broken_store_plugin(kind), verify, "false");
    must_be_refused(&k);
    rt_kit_close(&k);
}

static void rows_lost_doubled_or_invented_are_noticed_in_mode_hash(void **state)
{
    (void)state;
    for (int kind = BROKEN_LOSES; kind <= BROKEN_OUTSIDE; kind++)
        refuses((broken_kind)kind, "hash");
}

static void rows_lost_doubled_or_invented_are_noticed_in_mode_exact(void **state)
{
    (void)state;
    for (int kind = BROKEN_LOSES; kind <= BROKEN_OUTSIDE; kind++)
        refuses((broken_kind)kind, "exact");
}

static void rows_outside_of_the_segment_are_noticed_in_mode_range(void **state)
{
    (void)state;
    refuses(BROKEN_INVENTS, "range");
    refuses(BROKEN_OUTSIDE, "range");
}

static void intact_wrapper_passes_in_every_mode(void **state)
{
    (void)state;
    static const char *const modes[] = {"hash", "exact", "range", "off"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        rt_kit k;
        start(&k, wrapped_store_plugin(), modes[i], "true");
        (void)rt_kit_cycle(&k, 1);
        rt_kit_must_store(&k, 0, 15);
        rt_kit_must_show(&k, 0, 15);
        rt_kit_close(&k);
    }
}

/* Without an option the order is checked for stores of others, also for one that was given and not named. */
static void unsorted_rows_are_noticed_by_default_in_stores_of_others(void **state)
{
    (void)state;
    rt_kit k;
    start(&k, broken_store_plugin(BROKEN_UNSORTED), "hash", NULL);
    must_be_refused(&k);
    rt_kit_close(&k);
}

/* 18b, commit */
static void streams_of_a_wrong_shape_are_refused_on_commit(void **state)
{
    (void)state;
    static const char *const modes[] = {"hash", "off"};
    for (int kind = BROKEN_SCHEMA; kind <= BROKEN_LACKS; kind++)
        for (int i = 0; i < 2; i++)
            refuses((broken_kind)kind, modes[i]);
}

/* 18b, query: the offset column is asked for when only a part of the view is visible */
static void streams_of_a_wrong_shape_are_refused_on_query(void **state)
{
    (void)state;
    for (int kind = BROKEN_SCHEMA; kind <= BROKEN_LACKS; kind++) {
        rt_kit k, other;
        pml_error err = PML_ERROR_INIT;
        pml_plan *p;
        rt_kit_create(&k, NULL, "", ""); /* begins at an end that another context commits on from: one lineage */
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 5, "a");
        (void)rt_kit_cycle(&k, 1);
        rt_kit_share(&other, &k, NULL);
        rt_kit_start(&other, broken_store_plugin((broken_kind)kind), NULL);
        other.next_id = 5;
        rt_kit_write(&other, 5, "a");
        rt_kit_write(&k, 3, "a");
        (void)rt_kit_cycle(&k, 2);
        must_fail_with(PML_E_PLUGIN_CONTRACT, rt_kit_try_plan(&p, &other, other.ctx, -1, &err), &err);
        rt_kit_close(&other);
        rt_kit_close(&k);
    }
}

/* An error on the way says nothing of the rows. */
static void drain_that_was_broken_off_is_not_judged(void **state)
{
    (void)state;
    rt_kit k;
    int failures = 0;
    start(&k, broken_store_plugin(BROKEN_LOSES), "exact", "false");
    for (int at = 1;; at++) {
        pml_error err = PML_ERROR_INIT;
        pml_rt_prepared *p;
        test_env_fail_at(k.t, at);
        int rc = pml_rt_prepare(&p, k.w, 1, NULL, &err);
        test_env_fail_at(k.t, 0);
        assert_int_not_equal(rc, PML_OK);
        if (rc == PML_E_PLUGIN_CONTRACT)
            break; /* no allocation failed before the verdict */
        failures++;
        rt_kit_must_show(&k, 0, 15); /* the context is as it was */
    }
    assert_true(failures > 10);
    assert_int_equal(rt_kit_files(&k, "data-"), 0);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_lost_doubled_or_invented_are_noticed_in_mode_hash),
        cmocka_unit_test(rows_lost_doubled_or_invented_are_noticed_in_mode_exact),
        cmocka_unit_test(rows_outside_of_the_segment_are_noticed_in_mode_range),
        cmocka_unit_test(intact_wrapper_passes_in_every_mode),
        cmocka_unit_test(unsorted_rows_are_noticed_by_default_in_stores_of_others),
        cmocka_unit_test(streams_of_a_wrong_shape_are_refused_on_commit),
        cmocka_unit_test(streams_of_a_wrong_shape_are_refused_on_query),
        cmocka_unit_test(drain_that_was_broken_off_is_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
