/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded_merge.h"

static void rules_give_what_java_gives(void **state)
{
    merge_cases_run(*state, "merge/data/partial_update.json", 1);
}

static void random_tables_give_what_java_gives(void **state)
{
    merge_cases_run(*state, "merge/data/partial_update_random.json", 10);
}

/* The rows of key 1 have the sequence numbers 0, 1, ...; kind and number of the result. */
static void result_is(test_env *t, int8_t kind, int64_t sequence, const char *options, const char *rounds)
{
    char text[1024];
    pml_error err;
    (void)snprintf(text, sizeof text,
                   "{\"name\":\"numbers\",\"schema\":{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT "
                   "NULL\"},{\"name\":\"a\",\"type\":\"INT\"},"
                   "{\"name\":\"g\",\"type\":\"INT\"}],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\",\"merge-"
                   "engine\":\"partial-update\","
                   "%s}},\"rounds\":[%s]}",
                   options, rounds);
    json_t *json = json_loads(text, 0, NULL);
    merge_case *c = merge_case_open(t, json);
    must_ok(merge_case_decide(c, &err), &err);
    assert_int_equal(c->out.rows, 1);
    assert_int_equal(c->out.kinds[0], kind);
    assert_int_equal(c->out.sequences[0], sequence);
    merge_case_forget(c);
    merge_case_close(c);
    json_decref(json);
}

#define ADD     "[{\"k\":1,\"a\":1,\"g\":1}]"
#define RETRACT "[{\"_kind\":\"-D\",\"k\":1,\"a\":1,\"g\":1}]"

static void kind_and_sequence_number_are_those_of_java(void **state)
{
    result_is(*state, PML_ROW_INSERT, 1, "\"fields.g.sequence-group\":\"a\"", ADD "," ADD);
    result_is(*state, PML_ROW_INSERT, 1, "\"fields.g.sequence-group\":\"a\"", ADD "," RETRACT);
    result_is(*state, PML_ROW_DELETE, 1, "\"fields.g.sequence-group\":\"a\"", RETRACT "," RETRACT);
    result_is(*state, PML_ROW_INSERT, 0, "\"ignore-delete\":\"true\"", ADD "," RETRACT);
    result_is(*state, PML_ROW_DELETE, 0, "\"ignore-delete\":\"true\"", RETRACT "," RETRACT);
    result_is(*state, PML_ROW_DELETE, 1, "\"partial-update.remove-record-on-delete\":\"true\"", ADD "," RETRACT);
    result_is(*state, PML_ROW_INSERT, 2, "\"partial-update.remove-record-on-delete\":\"true\"", ADD "," RETRACT "," ADD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_give_what_java_gives, merge_test_open, merge_test_close),
        cmocka_unit_test_setup_teardown(random_tables_give_what_java_gives, merge_test_open, merge_test_close),
        cmocka_unit_test_setup_teardown(kind_and_sequence_number_are_those_of_java, merge_test_open, merge_test_close),
        cmocka_unit_test_setup_teardown(merge_cases_given_by_hand, merge_test_open, merge_test_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
