/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "columnar/value_store.h"
#include "support/random_batch.h"
#include "support/random_pred.h"

enum { COLUMNS = 23, ATOMIC = 17, ROWS = 700 };

/* Values of the atomic columns; of nested ones a stand-in that only tells null from not null. */
static void row_values(pml_value *values, int32_t *ids, const struct ArrowArray *batch, const pml_field *fields,
                       int64_t row)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct ArrowArray *a = batch->children[i];
        int64_t at = batch->offset + row;
        bool null = a->buffers[0] != NULL && !pml_bit_get(a->buffers[0], a->offset + at);
        ids[i] = fields[i].id;
        values[i] = (pml_value){.kind = null ? PML_VALUE_NULL : PML_VALUE_INT};
        if (i < ATOMIC)
            pml_value__get(&values[i], &fields[i].type, a, at);
    }
}

static void predicate_over_random_batches_agrees_with_rows_and_pruning_loses_none(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    int pruned = 0, kept = 0;
    uint8_t keep[ROWS];
    for (int round = 0; round < 60; round++) {
        pml_arena arena;
        pml_stats_collector *s;
        pml_column_stats stats[COLUMNS];
        pml_value *values = calloc((size_t)ROWS * COLUMNS, sizeof *values);
        int32_t ids[COLUMNS];
        struct ArrowArray batch;
        pml_error err = PML_ERROR_INIT;
        int64_t n = round % 4 == 0 ? ROWS : (int64_t)(test_random(t) % 12);
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 1, true);
        random_batch(&batch, t, fields, COLUMNS, n);
        must_ok(pml_stats__new(&s, t->env, fields, COLUMNS, &err), &err);
        must_ok(pml_stats__update(s, &batch, &err), &err);
        for (size_t i = 0; i < COLUMNS; i++)
            pml_stats__get(&stats[i], s, i);
        for (int64_t i = 0; i < n; i++)
            row_values(values + i * COLUMNS, ids, &batch, fields, i);
        for (int k = 0; k < 60; k++) {
            pml_pred *p = random_pred(t, &arena, fields, COLUMNS, k % 4), *copy;
            bool any = false;
            must_ok(pml_pred__copy(&copy, &arena, p), NULL);
            must_ok(pml_pred__eval(keep, copy, t->env, &batch, fields, COLUMNS, &err), &err);
            for (int64_t i = 0; i < n; i++) {
                assert_int_equal(keep[i], pml_pred__test_values(p, ids, values + i * COLUMNS, COLUMNS));
                any |= keep[i] != 0;
            }
            bool may = pml_pred__may_match(p, stats, COLUMNS, n);
            assert_true(may || !any);
            assert_true(pml_pred__may_match(p, stats, 0, n) || !any);
            pruned += !may;
            kept += may && n > 0;
        }
        free(values);
        pml_stats__free(s);
        pml_array__release(&batch);
        pml_arena__clear(&arena);
    }
    assert_true(pruned > 100 && kept > 100);
    test_env_close(t);
}

static pml_type double_type = {.kind = PML_TYPE_DOUBLE, .nullable = true};

static bool test_double(pml_pred_op op, double literal, double v)
{
    pml_value w = {.kind = PML_VALUE_DOUBLE, .d = literal}, value = {.kind = PML_VALUE_DOUBLE, .d = v};
    const pml_pred p = {.op = op, .field_id = 1, .type = &double_type, .name = "d", .n_literals = 1, .literals = &w};
    const int32_t id = 1;
    return pml_pred__test_values(&p, &id, &value, 1);
}

static void predicate_on_special_doubles_follows_java(void **state)
{
    (void)state;
    assert_true(test_double(PML_PRED_LT, 0.0, -0.0));
    assert_false(test_double(PML_PRED_EQ, 0.0, -0.0));
    assert_true(test_double(PML_PRED_GT, 1e300, NAN));
    assert_true(test_double(PML_PRED_EQ, NAN, NAN));
    assert_true(test_double(PML_PRED_GT, INFINITY, NAN));
    assert_false(test_double(PML_PRED_NE, NAN, NAN));
}

static void predicate_with_null_literals_follows_java(void **state)
{
    (void)state;
    pml_type type = {.kind = PML_TYPE_INT, .nullable = true};
    pml_value literals[2] = {{.kind = PML_VALUE_INT, .i = 1}, {.kind = PML_VALUE_NULL}};
    const pml_value one = {.kind = PML_VALUE_INT, .i = 1}, two = {.kind = PML_VALUE_INT, .i = 2},
                    null = {.kind = PML_VALUE_NULL};
    const int32_t id = 1;
    pml_pred p = {.op = PML_PRED_IN, .field_id = 1, .type = &type, .n_literals = 2, .literals = literals};
    assert_true(pml_pred__test_values(&p, &id, &one, 1));
    assert_false(pml_pred__test_values(&p, &id, &two, 1));
    assert_false(pml_pred__test_values(&p, &id, &null, 1));
    p.op = PML_PRED_NOT_IN;
    assert_false(pml_pred__test_values(&p, &id, &one, 1));
    assert_false(pml_pred__test_values(&p, &id, &two, 1));
    assert_true(pml_pred__test_values(&p, &id, &two, 0)); /* unknown column */
    p = (pml_pred){.op = PML_PRED_NE, .field_id = 1, .type = &type, .n_literals = 1, .literals = literals + 1};
    assert_false(pml_pred__test_values(&p, &id, &two, 1));
}

static bool may(pml_pred_op op, int64_t literal, const pml_column_stats *s, int64_t rows)
{
    pml_type type = {.kind = PML_TYPE_INT, .nullable = true};
    pml_value v = {.kind = PML_VALUE_INT, .i = literal};
    const pml_pred p = {.op = op, .field_id = 1, .type = &type, .n_literals = op < PML_PRED_IS_NULL, .literals = &v};
    return pml_pred__may_match(&p, s, 1, rows);
}

static void pruning_with_strange_statistics_keeps(void **state)
{
    (void)state;
    const pml_value one = {.kind = PML_VALUE_INT, .i = 1}, five = {.kind = PML_VALUE_INT, .i = 5};
    const pml_value text = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"x", 1}};
    const pml_column_stats good = {1, one, five, 0}, half = {1, one, {.kind = PML_VALUE_NULL}, 0},
                           odd = {1, text, text, 0};
    const pml_column_stats nulls = {1, {.kind = PML_VALUE_NULL}, {.kind = PML_VALUE_NULL}, 10},
                           more = {1, one, five, 11};
    const pml_column_stats unknown = {1, one, five, -1};
    assert_false(may(PML_PRED_EQ, 6, &good, 10));
    assert_false(may(PML_PRED_IS_NULL, 0, &good, 10));
    assert_true(may(PML_PRED_EQ, 6, &half, 10));
    assert_true(may(PML_PRED_EQ, 6, &odd, 10));
    assert_false(may(PML_PRED_EQ, 1, &nulls, 10));
    assert_false(may(PML_PRED_IS_NOT_NULL, 0, &nulls, 10));
    assert_true(may(PML_PRED_IS_NULL, 0, &nulls, 10));
    assert_true(may(PML_PRED_IS_NOT_NULL, 0, &more, 10));
    assert_true(may(PML_PRED_IS_NULL, 0, &unknown, 10));
    assert_true(may(PML_PRED_NE, 3, &good, 10));
}

static void predicate_beyond_the_limits_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static pml_pred chain[PML_PRED_DEPTH_MAX + 1], *links[PML_PRED_DEPTH_MAX + 1];
    pml_type type = {.kind = PML_TYPE_INT}, row = {.kind = PML_TYPE_ROW};
    pml_value *many = calloc(PML_PRED_LITERALS_MAX + 1, sizeof *many), text = {.kind = PML_VALUE_BYTES};
    pml_pred *out, wide = {.op = PML_PRED_IN, .type = &type, .n_literals = PML_PRED_LITERALS_MAX + 1, .literals = many};
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    for (int i = 0; i <= PML_PRED_DEPTH_MAX; i++) {
        links[i] = &chain[i];
        chain[i] = (pml_pred){
            .op = i == 0 ? PML_PRED_TRUE : PML_PRED_AND, .n_children = i > 0, .children = &links[i == 0 ? 0 : i - 1]};
    }
    must_fail_with(PML_E_LIMIT, pml_pred__copy(&out, &arena, &chain[PML_PRED_DEPTH_MAX]), NULL);
    must_ok(pml_pred__copy(&out, &arena, &chain[PML_PRED_DEPTH_MAX - 1]), NULL);
    must_fail_with(PML_E_LIMIT, pml_pred__copy(&out, &arena, &wide), NULL);
    wide.n_literals--;
    must_ok(pml_pred__copy(&out, &arena, &wide), NULL);
    wide = (pml_pred){.op = PML_PRED_EQ, .type = &type, .n_literals = 1, .literals = &text};
    must_fail_with(PML_E_INVAL, pml_pred__copy(&out, &arena, &wide), NULL);
    wide = (pml_pred){.op = PML_PRED_STARTS_WITH, .type = &type, .n_literals = 1, .literals = many};
    must_fail_with(PML_E_INVAL, pml_pred__copy(&out, &arena, &wide), NULL);
    wide = (pml_pred){.op = PML_PRED_EQ, .type = &row, .n_literals = 1, .literals = many};
    must_fail_with(PML_E_INVAL, pml_pred__copy(&out, &arena, &wide), NULL);
    wide = (pml_pred){.op = (pml_pred_op)99, .type = &type};
    must_fail_with(PML_E_INVAL, pml_pred__copy(&out, &arena, &wide), NULL);
    free(many);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void predicate_on_an_unknown_or_changed_column_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type text = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
    pml_value a = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"a", 1}};
    const pml_field field = {.id = 3, .name = "c", .type = {.kind = PML_TYPE_INT}};
    pml_pred p = {.op = PML_PRED_EQ, .field_id = 4, .type = &text, .name = "gone", .n_literals = 1, .literals = &a};
    struct ArrowArray batch;
    uint8_t keep[5];
    random_batch(&batch, t, &field, 1, 5);
    must_fail_with(PML_E_INVAL, pml_pred__eval(keep, &p, t->env, &batch, &field, 1, NULL), NULL);
    p.field_id = 3;
    must_fail_with(PML_E_INVAL, pml_pred__eval(keep, &p, t->env, &batch, &field, 1, NULL), NULL);
    pml_array__release(&batch);
    test_env_close(t);
}

static void note_column(void *arg, int32_t id)
{
    *(uint64_t *)arg = *(uint64_t *)arg * 100 + (uint64_t)id;
}

static void predicate_projected_keeps_the_usable_conjuncts(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_type type = {.kind = PML_TYPE_INT};
    pml_pred a = {.op = PML_PRED_IS_NULL, .field_id = 11, .type = &type}, b = a, c = a;
    b.field_id = 12, c.field_id = 13;
    pml_pred *ab[2] = {&a, &b}, *bc[2] = {&b, &c};
    pml_pred either = {.op = PML_PRED_OR, .n_children = 2, .children = bc};
    pml_pred *all[3] = {&either, &a, &c};
    pml_pred root = {.op = PML_PRED_AND, .n_children = 3, .children = all}, *out;
    const int32_t ids[2] = {11, 12}, ids23[2] = {12, 13}, none[1] = {99};
    uint64_t seen = 0;
    pml_arena__init(&arena, t->env);
    must_ok(pml_pred__project(&out, &arena, &root, ids, 2), NULL);
    assert_ptr_equal(out, &a);
    must_ok(pml_pred__project(&out, &arena, &root, ids23, 2), NULL);
    assert_int_equal(out->n_children, 2);
    must_ok(pml_pred__project(&out, &arena, &root, none, 1), NULL);
    assert_null(out);
    must_ok(pml_pred__project(&out, &arena, &either, ids, 2), NULL);
    assert_null(out);
    either.children = ab;
    pml_pred__columns(&root, note_column, &seen);
    assert_int_equal(seen, 111213);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void predicate_without_memory_fails_cleanly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    struct ArrowArray batch;
    uint8_t keep[30];
    const int32_t ids[3] = {0, 3, 5};
    pml_arena__init(&arena, t->env);
    pml_field *fields = random_fields(t, &arena, COLUMNS, 1, true);
    random_batch(&batch, t, fields, COLUMNS, 30);
    for (int round = 0; round < 20; round++) {
        pml_pred *p = random_pred(t, &arena, fields, COLUMNS, 3), *copy, *part;
        int rc = PML_E_NOMEM;
        for (long long n = 1; rc != PML_OK; n++) {
            pml_arena own;
            pml_arena__init(&own, t->env);
            test_env_fail_at(t, n);
            rc = pml_pred__copy(&copy, &own, p);
            if (rc == PML_OK)
                rc = pml_pred__project(&part, &own, copy, ids, 3);
            if (rc == PML_OK)
                rc = pml_pred__eval(keep, copy, t->env, &batch, fields, COLUMNS, NULL);
            test_env_fail_at(t, 0);
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
            pml_arena__clear(&own);
        }
    }
    pml_array__release(&batch);
    pml_arena__clear(&arena);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicate_over_random_batches_agrees_with_rows_and_pruning_loses_none),
        cmocka_unit_test(predicate_on_special_doubles_follows_java),
        cmocka_unit_test(predicate_with_null_literals_follows_java),
        cmocka_unit_test(pruning_with_strange_statistics_keeps),
        cmocka_unit_test(predicate_beyond_the_limits_is_refused),
        cmocka_unit_test(predicate_on_an_unknown_or_changed_column_is_refused),
        cmocka_unit_test(predicate_projected_keeps_the_usable_conjuncts),
        cmocka_unit_test(predicate_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
