/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded_merge.h"

static void rules_give_what_java_gives(void **state)
{
    merge_cases_run(*state, "merge/data/aggregation.json", 1);
}

static void random_tables_give_what_java_gives(void **state)
{
    merge_cases_run(*state, "merge/data/aggregation_random.json", 10);
}

/* A key of many rows through a warm function: what is allocated is the output's, a few times as it grows. */
static void rows_of_a_key_cost_no_allocations(void **state)
{
    test_env *t = *state;
    static const char text[] = "{\"name\":\"hot\",\"schema\":{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT "
                               "NULL\"},{\"name\":\"a\",\"type\":\"BIGINT\"},{\"name\":"
                               "\"b\",\"type\":\"INT\"},{\"name\":\"c\",\"type\":\"STRING\"},{\"name\":\"d\",\"type\":"
                               "\"DECIMAL(10,2)\"}],\"primaryKeys\":[\"k\"],"
                               "\"options\":{\"bucket\":\"1\",\"merge-engine\":\"aggregation\",\"fields.a.aggregate-"
                               "function\":\"sum\",\"fields.b.aggregate-"
                               "function\":\"max\",\"fields.d.aggregate-function\":\"sum\"}},\"rounds\":[[{\"k\":1,"
                               "\"a\":1,\"b\":2,\"c\":\"x\",\"d\":\"1.00\"}]]}";
    enum { ROWS = 200, KEYS = 100 };
    pml_error err;
    json_t *json = json_loads(text, 0, NULL);
    merge_case *c = merge_case_open(t, json);
    pml_merge_function f;
    pml_merge_row rows[ROWS];
    long long before = 0;
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = c->rows[0].row;
    const pml_merge_group g = {.rows = rows, .n = ROWS, .batches = c->batches, .layout = &c->layout};
    for (size_t i = 0; i < c->out.n_fields; i++)
        must_ok(pml_builder__new(&c->out.columns[i], t->env, &c->fields[i].type, &err), &err);
    must_ok(pml_merge_engine__new(&f, t->env, &c->layout, c->schema, NULL, 0, &err), &err);
    c->out.group = &g;
    for (int i = 0; i < KEYS; i++) {
        before = i == KEYS / 2 ? t->count : before;
        must_ok(f.decide(f.self, &g, &c->out, &err), &err);
    }
    assert_true(t->count - before < 20);
    assert_int_equal(c->out.values, 2 * KEYS);
    assert_int_equal(c->out.picks, 3 * KEYS);
    f.drop(f.self);
    merge_case_forget(c);
    merge_case_close(c);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_give_what_java_gives, merge_test_open, merge_test_close),
        cmocka_unit_test_setup_teardown(random_tables_give_what_java_gives, merge_test_open, merge_test_close),
        cmocka_unit_test_setup_teardown(rows_of_a_key_cost_no_allocations, merge_test_open, merge_test_close),
        cmocka_unit_test_setup_teardown(merge_cases_given_by_hand, merge_test_open, merge_test_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
