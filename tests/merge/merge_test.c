/* SPDX-License-Identifier: Apache-2.0 */
/* The sorted merge against a naive one: all rows of all runs sorted at once, then folded key by key. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/function.h"
#include "merge/key_prefix.h"
#include "merge/row_order.h"
#include "support/merge_kit.h"

static void random_merges_agree_with_the_naive_one(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    int64_t rounds = test_setting("ROUNDS", 150, 1, 1000000);
    for (int64_t round = 0; round < rounds; round++) {
        merge_world w;
        merge_world_make(&w, t, (size_t)(round % 7), 60);
        for (int i = 0; i < 6; i++) {
            merge_world_request(&w, t);
            merge_agrees(&w, t);
        }
        merge_world_clear(&w);
    }
    test_env_close(t);
}

/* Long runs: several stretches of keys per batch, stretches without rivals, text beyond the prefix. */
static void long_merges_agree_with_the_naive_one(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed() + 1;
    for (int round = 0; round < 24; round++) {
        merge_world w;
        merge_world_make_long(&w, t, 1 + (size_t)(round % 4), 3000, (merge_key_kind)(round % MERGE_KEY_KINDS));
        for (int i = 0; i < 3; i++) {
            merge_world_request(&w, t);
            merge_agrees(&w, t);
        }
        merge_world_clear(&w);
    }
    test_env_close(t);
}

static void merge_without_memory_leaves_nothing_and_drops_each_run_once(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 8; round++) {
        merge_world w;
        merge_world_make(&w, t, 3, 20);
        merge_world_request(&w, t);
        w.function.kind = (pml_merge_kind)(round % 4);
        w.fold_max = round < 4 ? 0 : 2;
        int rc = PML_E_NOMEM;
        for (long long n = 1; rc != PML_OK; n++) {
            pml_error err = PML_ERROR_INIT;
            test_env_fail_at(t, n);
            rc = merge_run(&w, t, NULL, &err);
            bool reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            assert_true(rc == PML_OK || rc == PML_E_INVAL || (rc == PML_E_NOMEM && err.code == rc));
            if (rc == PML_E_INVAL || !reached) /* first-row with retracts */
                break;
        }
        merge_world_clear(&w);
    }
    test_env_close(t);
}

static void a_run_whose_rows_go_backwards_is_named(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{1, 0, 0}, {3, 1, 0}, {2, 2, 0}};
    for (int64_t batch_rows = 1; batch_rows <= 3; batch_rows++)
        for (int form = 0; form < 3; form++) {
            pml_error err = PML_ERROR_INIT;
            simple_world w;
            simple_world_make(&w, t, form);
            simple_run(&w, "data-bad.parquet", rows, 3, batch_rows, 0);
            must_fail_with(PML_E_CORRUPT, simple_merge(&w, PML_MERGE_LAST, &err), &err);
            assert_non_null(strstr(err.message, "data-bad.parquet"));
            assert_non_null(strstr(err.message, "row 2"));
            simple_world_clear(&w);
        }
    test_env_close(t);
}

static void rows_of_one_key_may_come_in_any_order(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{1, 7, 0}, {1, 9, 0}, {1, 8, 0}}, other[][3] = {{1, 9, 3}, {1, 3, 0}};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "a", rows, 3, 2, 0);
    simple_run(&w, "b", other, 2, 2, 0);
    must_ok(simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(w.result, "1/9/0 "); /* at equal sequence numbers an add comes after a retract */
    w.keep_retracts = true;
    must_ok(simple_merge(&w, PML_MERGE_ALL, &err), &err);
    assert_string_equal(w.result, "1/3/0 1/7/0 1/8/0 1/9/3 1/9/0 ");
    simple_world_clear(&w);
    test_env_close(t);
}

/* The second batch of the first run begins otherwise than all keys before, while the key before is not complete. */
static void a_key_goes_on_when_prefixes_are_made_anew(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t old[][3] = {{1, 1, 0}, {2, 2, 0}}, new[][3] = {{1, 3, 0}, {2, 4, 0}};
    static const pml_merge_kind kinds[] = {PML_MERGE_LAST, PML_MERGE_FIRST, PML_MERGE_ALL};
    static const char *const results[] = {"0/3/0 0/4/0 ", "0/1/0 0/2/0 ", "0/1/0 0/3/0 0/2/0 0/4/0 "};
    for (size_t i = 0; i < 3; i++) {
        pml_error err = PML_ERROR_INIT;
        simple_world w;
        simple_world_make(&w, t, 2);
        simple_run(&w, "a", old, 2, 1, 0);
        simple_run(&w, "b", new, 2, 1, 0);
        must_ok(simple_merge(&w, kinds[i], &err), &err);
        assert_string_equal(w.result, results[i]);
        simple_world_clear(&w);
    }
    test_env_close(t);
}

/* Java compares with < and >, so both zeros are one key, and a sequence field that is NaN is neither older nor newer than others. */
static void floating_point_numbers_have_the_order_of_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    enum { MINUS, ZERO, ONE, NO_NUMBER, VALUES };
    static const double values[VALUES] = {-0.0, 0.0, 1.0, NAN};
    static const int orders[VALUES][VALUES] = {{0, 0, -1, 0}, {0, 0, -1, 0}, {1, 1, 0, 0}, {0, 0, 0, 0}};
    const void *buffers[2] = {NULL, values}, *none[1] = {NULL};
    struct ArrowArray column = {.length = VALUES, .n_buffers = 2, .buffers = buffers}, *children[1] = {&column};
    struct ArrowArray rows = {.length = VALUES, .n_buffers = 1, .buffers = none, .n_children = 1, .children = children};
    const pml_field field = {.name = "d", .type = {.kind = PML_TYPE_DOUBLE}};
    const int32_t position = 0;
    const pml_merge_layout layout = {.fields = &field, .n_fields = 1, .keys = &position, .n_keys = 1};
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_row_order order;
    pml_prefix_form form;
    pml_key_prefix prefixes[VALUES];
    pml_arena__init(&arena, t->env);
    must_ok(pml_row_order__init(&order, &arena, &field, &position, 1, false, &err), &err);
    for (int64_t i = 0; i < VALUES; i++)
        for (int64_t j = 0; j < VALUES; j++)
            assert_int_equal(pml_row_order__compare(&order, &rows, i, &rows, j), orders[i][j]);
    must_ok(pml_prefix_form__init(&form, &arena, &layout, &err), &err);
    pml_prefix_form__meet(&form, &rows);
    assert_int_equal(pml_prefix_form__load(prefixes, &form, &rows, 0, VALUES, 0), VALUES);
    assert_true(prefixes[MINUS] == prefixes[ZERO]);
    assert_true(prefixes[ZERO] < prefixes[ONE]);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void an_unknown_kind_is_damage(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    for (int64_t kind = -1; kind <= 4; kind += 5) {
        const int64_t rows[][3] = {{1, 0, 0}, {2, 1, kind}};
        pml_error err = PML_ERROR_INIT;
        simple_world w;
        simple_world_make(&w, t, 0);
        simple_run(&w, "data-1.orc", rows, 2, 2, 0);
        must_fail_with(PML_E_CORRUPT, simple_merge(&w, PML_MERGE_ALL, &err), &err);
        assert_non_null(strstr(err.message, "data-1.orc"));
        assert_non_null(strstr(err.message, kind < 0 ? "_VALUE_KIND is -1" : "_VALUE_KIND is 4"));
        simple_world_clear(&w);
    }
    test_env_close(t);
}

static void a_null_in_a_key_is_damage(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{1, 0, 0}, {SIMPLE_NULL, 1, 0}};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "data-1.avro", rows, 2, 2, 0);
    must_fail_with(PML_E_CORRUPT, simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(err.message, "run data-1.avro: column k is null in row 1");
    simple_world_clear(&w);
    test_env_close(t);
}

static void a_lone_retract_passes_and_is_dropped_unless_kept(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{1, 0, 3}, {2, 1, 2}};
    static const pml_merge_kind kinds[] = {PML_MERGE_LAST, PML_MERGE_FIRST, PML_MERGE_ALL};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "a", rows, 2, 2, 0);
    for (size_t i = 0; i < 3; i++) {
        must_ok(simple_merge(&w, kinds[i], &err), &err);
        assert_string_equal(w.result, "2/1/2 ");
        w.keep_retracts = true;
        must_ok(simple_merge(&w, kinds[i], &err), &err);
        assert_string_equal(w.result, "1/0/3 2/1/2 ");
        w.keep_retracts = false;
    }
    simple_world_clear(&w);
    test_env_close(t);
}

static void first_row_refuses_a_retract_beside_others(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t old[][3] = {{1, 0, 0}}, new[][3] = {{1, 1, 3}};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "a", old, 1, 1, 0);
    simple_run(&w, "b", new, 1, 1, 0);
    must_fail_with(PML_E_INVAL, simple_merge(&w, PML_MERGE_FIRST, &err), &err);
    assert_non_null(strstr(err.message, "ignore-delete"));
    w.ignore_delete = true;
    must_ok(simple_merge(&w, PML_MERGE_FIRST, &err), &err);
    assert_string_equal(w.result, "1/0/0 ");
    simple_world_clear(&w);
    test_env_close(t);
}

static void lookup_counts_rows_before_it_leaves_out_levels(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t low[][3] = {{1, 0, 0}}, high[][3] = {{1, 1, 3}};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "a", low, 1, 1, 5);
    simple_run(&w, "b", high, 1, 1, 2);
    w.lookup = w.ignore_delete = w.keep_retracts = true;
    /* Level 2 alone is left, and the function skips it: a lone row would have passed. */
    must_ok(simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(w.result, "");
    w.ignore_delete = false;
    must_ok(simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(w.result, "1/1/3 ");
    simple_world_clear(&w);
    test_env_close(t);
}

static int decide_too_much(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err)
{
    (void)self, (void)g, (void)err;
    return pml_merge_output__value(out, 0, &(pml_value){.kind = PML_VALUE_DOUBLE, .d = 1});
}

static void a_computed_value_that_does_not_fit_names_its_column(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{1, 0, 0}, {1, 1, 0}};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "a", rows, 2, 2, 0);
    w.decide = decide_too_much;
    must_fail_with(PML_E_INVAL, simple_merge(&w, PML_MERGE_COLUMNS, &err), &err);
    assert_string_equal(err.message, "a value that was computed for column k does not fit its type");
    simple_world_clear(&w);
    test_env_close(t);
}

static void merge_of_no_runs_ends_at_once(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    must_ok(simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(w.result, "");
    simple_run(&w, "empty", NULL, 0, 1, 0);
    must_ok(simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(w.result, "");
    simple_world_clear(&w);
    test_env_close(t);
}

static void a_failing_run_fails_the_merge_with_its_words(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}};
    pml_error err = PML_ERROR_INIT;
    simple_world w;
    simple_world_make(&w, t, 0);
    simple_run(&w, "a", rows, 4, 1, 0);
    w.fail_after = 3;
    must_fail_with(PML_E_IO, simple_merge(&w, PML_MERGE_LAST, &err), &err);
    assert_string_equal(err.message, "the disk is gone");
    simple_world_clear(&w);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_merges_agree_with_the_naive_one),
        cmocka_unit_test(long_merges_agree_with_the_naive_one),
        cmocka_unit_test(merge_without_memory_leaves_nothing_and_drops_each_run_once),
        cmocka_unit_test(a_run_whose_rows_go_backwards_is_named),
        cmocka_unit_test(rows_of_one_key_may_come_in_any_order),
        cmocka_unit_test(a_key_goes_on_when_prefixes_are_made_anew),
        cmocka_unit_test(floating_point_numbers_have_the_order_of_java),
        cmocka_unit_test(an_unknown_kind_is_damage),
        cmocka_unit_test(a_null_in_a_key_is_damage),
        cmocka_unit_test(a_lone_retract_passes_and_is_dropped_unless_kept),
        cmocka_unit_test(first_row_refuses_a_retract_beside_others),
        cmocka_unit_test(lookup_counts_rows_before_it_leaves_out_levels),
        cmocka_unit_test(a_computed_value_that_does_not_fit_names_its_column),
        cmocka_unit_test(merge_of_no_runs_ends_at_once),
        cmocka_unit_test(a_failing_run_fails_the_merge_with_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
