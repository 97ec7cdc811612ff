/* SPDX-License-Identifier: Apache-2.0 */
/* A test of the kit: it must find the mistake of every broken store, and nothing in the same wrapper without one. */
#include "support/broken_keyed_stores.h"
#include "support/broken_stores.h"
#include "support/store_kit.h"

static void kit_finds_nothing_in_a_wrapped_store(void **state)
{
    (void)state;
    store_kit_result r;
    store_kit_run(&r, wrapped_store_plugin(), false);
    if (r.failed > 0)
        fail_msg("%s", r.first);
}

/* 18c */
static void kit_finds_the_mistake_of_every_broken_store(void **state)
{
    (void)state;
    for (int kind = 0; kind < BROKEN_COUNT; kind++) {
        store_kit_result r;
        store_kit_run(&r, broken_store_plugin((broken_kind)kind), false);
        print_message("%s: %d of %d; %s\n", broken_store_name((broken_kind)kind), r.failed, r.cases, r.first);
        assert_true(r.failed > 0);
    }
}

static void kit_finds_nothing_in_a_wrapped_store_of_keys(void **state)
{
    (void)state;
    store_kit_result r;
    store_kit_run(&r, broken_keyed_plugin(KEYED_INTACT), false);
    if (r.failed > 0)
        fail_msg("%s", r.first);
}

/* 18c, of stores of tables with a primary key */
static void kit_finds_the_mistake_of_every_broken_store_of_keys(void **state)
{
    (void)state;
    for (int fault = KEYED_INTACT + 1; fault < KEYED_FAULTS; fault++) {
        store_kit_result r;
        store_kit_run(&r, broken_keyed_plugin((keyed_fault)fault), false);
        print_message("%d: %d of %d; %s\n", fault, r.failed, r.cases, r.first);
        assert_true(r.failed > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kit_finds_nothing_in_a_wrapped_store),
        cmocka_unit_test(kit_finds_the_mistake_of_every_broken_store),
        cmocka_unit_test(kit_finds_nothing_in_a_wrapped_store_of_keys),
        cmocka_unit_test(kit_finds_the_mistake_of_every_broken_store_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
