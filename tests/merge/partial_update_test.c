/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded_merge.h"

static test_env *t;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

/* A file of more cases (CASES=path, relative to the tests), as tests/merge/make-cases makes them; none is fine. */
static void cases_of_a_file_given_by_hand(void **state)
{
    (void)state;
    const char *path = getenv("CASES");
    if (path != NULL)
        merge_cases_run(t, path, 1000);
}

static void rules_give_what_java_gives(void **state)
{
    (void)state;
    merge_cases_run(t, "merge/data/partial_update.json", 1);
}

static void random_tables_give_what_java_gives(void **state)
{
    (void)state;
    merge_cases_run(t, "merge/data/partial_update_random.json", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_give_what_java_gives, given, closed),
        cmocka_unit_test_setup_teardown(random_tables_give_what_java_gives, given, closed),
        cmocka_unit_test_setup_teardown(cases_of_a_file_given_by_hand, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
