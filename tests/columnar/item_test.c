/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/item.h"

#include <math.h>

#include "columnar/batch.h"
#include "support/random_batch.h"
#include "support/test_types.h"

static test_env *t;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_types_clear();
    test_env_close(t);
    return 0;
}

/* 1: equal, 0: not, -1: not even itself. */
static int equal(const pml_type *type, const struct ArrowArray *a, int64_t i, int64_t j, pml_item_rule rule)
{
    pml_buf x, y;
    bool never = false;
    pml_buf__init(&x, t->env, 1 << 24);
    pml_buf__init(&y, t->env, 1 << 24);
    must_ok(pml_item__append_key(&x, &never, type, (pml_item){a, i}, rule), NULL);
    must_ok(pml_item__append_key(&y, &never, type, (pml_item){a, j}, rule), NULL);
    bool same = pml_bytes_equal((pml_bytes){x.data, x.len}, (pml_bytes){y.data, y.len});
    pml_buf__clear(&x);
    pml_buf__clear(&y);
    return never ? -1 : same;
}

static void the_three_equalities_differ_in_floats_and_binaries(void **state)
{
    (void)state;
    const pml_type d = test_type("DOUBLE"), b = test_type("BYTES");
    const pml_value doubles[] = {{.kind = PML_VALUE_DOUBLE, .d = 0.0},
                                 {.kind = PML_VALUE_DOUBLE, .d = -0.0},
                                 {.kind = PML_VALUE_DOUBLE, .d = (double)NAN},
                                 {.kind = PML_VALUE_NULL}};
    const pml_value bytes[] = {test_bytes("x"), test_bytes("x"), test_bytes("")};
    const struct ArrowArray *x = test_column(&d, doubles, 4, 3), *y = test_column(&b, bytes, 3, 1);
    assert_int_equal(equal(&d, x, 0, 1, PML_ITEM_BOXED), 0);
    assert_int_equal(equal(&d, x, 0, 1, PML_ITEM_GENERATED), 1);
    assert_int_equal(equal(&d, x, 0, 1, PML_ITEM_BITS), 0);
    assert_int_equal(equal(&d, x, 2, 2, PML_ITEM_BOXED), 1);
    assert_int_equal(equal(&d, x, 2, 2, PML_ITEM_GENERATED), -1);
    assert_int_equal(equal(&d, x, 2, 2, PML_ITEM_BITS), 1);
    assert_int_equal(equal(&d, x, 3, 3, PML_ITEM_GENERATED), 1);
    assert_int_equal(equal(&d, x, 3, 0, PML_ITEM_BOXED), 0);
    assert_int_equal(equal(&b, y, 0, 1, PML_ITEM_BOXED), -1);
    assert_int_equal(equal(&b, y, 0, 1, PML_ITEM_GENERATED), 1);
    assert_int_equal(equal(&b, y, 0, 2, PML_ITEM_BITS), 0);
}

static int sign(int c)
{
    return c < 0 ? -1 : c > 0;
}

static bool is_nan(const pml_value *v)
{
    return (v->kind == PML_VALUE_FLOAT && isnan((double)v->f)) || (v->kind == PML_VALUE_DOUBLE && isnan(v->d));
}

static void plain_values_are_ordered_like_java_generates_it(void **state)
{
    (void)state;
    static const char *const types[] = {"BOOLEAN", "TINYINT", "INT NOT NULL",   "BIGINT", "FLOAT",       "DOUBLE",
                                        "STRING",  "BYTES",   "DECIMAL(30, 3)", "DATE",   "TIMESTAMP(9)"};
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        const pml_type type = test_type(types[k]);
        struct ArrowArray a;
        random_array(&a, t, &type, 40);
        for (int64_t i = 0; i < 40; i++)
            for (int64_t j = 0; j < 40; j++) {
                pml_value x, y;
                pml_value__get(&x, &type, &a, i);
                pml_value__get(&y, &type, &a, j);
                int c = pml_item__compare(&type, (pml_item){&a, i}, (pml_item){&a, j}), expected;
                if (x.kind == PML_VALUE_NULL || y.kind == PML_VALUE_NULL)
                    expected = (x.kind != PML_VALUE_NULL) - (y.kind != PML_VALUE_NULL);
                else if (is_nan(&x) || is_nan(&y) || (x.kind == PML_VALUE_DOUBLE && x.d == y.d) ||
                         (x.kind == PML_VALUE_FLOAT && !(x.f < y.f || x.f > y.f)))
                    expected = 0;
                else
                    expected = sign(pml_value__compare(&x, &y));
                assert_int_equal(sign(c), expected);
            }
        pml_array__release(&a);
    }
}

/* Copies of random rows of every shape equal what they were copied from. */
static void copied_items_are_the_same(void **state)
{
    (void)state;
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    for (int round = 0; round < 60; round++) {
        const pml_type type = random_type(t, &arena, 3);
        struct ArrowArray a, copy;
        pml_builder *b;
        random_array(&a, t, &type, 20);
        must_ok(pml_builder__new(&b, t->env, &type, &err), &err);
        for (int64_t i = 0; i < 20; i++)
            must_ok(pml_builder__append_item(b, &a, 19 - i), NULL);
        must_ok(pml_builder__finish(b, &copy, &err), &err);
        for (int64_t i = 0; i < 20; i++)
            assert_true(array_rows_equal(&a, 19 - i, &copy, i, &type));
        pml_builder__free(b);
        pml_array__release(&a);
        pml_array__release(&copy);
    }
    pml_arena__clear(&arena);
}

static void orders_and_keys_are_denied_by_type(void **state)
{
    (void)state;
    pml_arena arena;
    pml_type v;
    static const char *const without[] = {"MAP<INT, INT>", "MULTISET<INT>", "ARRAY<ROW<a MAP<INT, INT>>>", "VARIANT"};
    pml_arena__init(&arena, t->env);
    for (size_t i = 0; i < 4; i++) {
        must_ok(pml_type__parse(&v, &arena, without[i], strlen(without[i]), NULL, &err), &err);
        assert_false(pml_item__has_order(&v));
        assert_false(pml_item__has_key(&v, PML_ITEM_GENERATED));
        assert_int_equal(pml_item__has_key(&v, PML_ITEM_BITS), i < 3);
    }
    must_ok(pml_type__parse(&v, &arena, "ARRAY<INT>", 10, NULL, &err), &err);
    assert_true(pml_item__has_order(&v) && pml_item__has_key(&v, PML_ITEM_GENERATED) &&
                !pml_item__has_key(&v, PML_ITEM_BOXED));
    pml_arena__clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_three_equalities_differ_in_floats_and_binaries, given, closed),
        cmocka_unit_test_setup_teardown(plain_values_are_ordered_like_java_generates_it, given, closed),
        cmocka_unit_test_setup_teardown(copied_items_are_the_same, given, closed),
        cmocka_unit_test_setup_teardown(orders_and_keys_are_denied_by_type, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
