/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/decimal.h"

#include "support/test_env.h"

static pml_int128 ten_to(int n)
{
    pml_int128 p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

static void digits_are_counted(void **state)
{
    (void)state;
    assert_true(pml_decimal__fits(99, 2) && pml_decimal__fits(-99, 2) && pml_decimal__fits(0, 1));
    assert_false(pml_decimal__fits(100, 2) || pml_decimal__fits(-100, 2));
    assert_true(pml_decimal__fits(ten_to(38) - 1, 38) && !pml_decimal__fits(ten_to(38), 38));
    assert_false(pml_decimal__fits((pml_int128)((unsigned __int128)1 << 127), 38));
}

static void products_are_rounded_half_up(void **state)
{
    (void)state;
    pml_int128 v;
    assert_true(pml_decimal__multiply(&v, 105, 50, 10, 2) && v == 53); /* 1.05 * 0.50 = 0.525 */
    assert_true(pml_decimal__multiply(&v, -105, 50, 10, 2) && v == -53);
    assert_true(pml_decimal__multiply(&v, 104, 50, 10, 2) && v == 52);
    assert_true(pml_decimal__multiply(&v, 99, 99, 4, 0) && v == 9801);
    assert_false(pml_decimal__multiply(&v, 99, 99, 3, 0));

    /* More than 128 bits between. */
    assert_true(pml_decimal__multiply(&v, ten_to(37), ten_to(37), 38, 37) && v == ten_to(37));
    assert_true(pml_decimal__multiply(&v, ten_to(38) - 1, -(ten_to(20) - 1), 38, 20) &&
                v == -(ten_to(38) - ten_to(18) - 1));
    assert_false(pml_decimal__multiply(&v, ten_to(38) - 1, ten_to(38) - 1, 38, 0));
    assert_false(pml_decimal__multiply(&v, ten_to(38) - 1, ten_to(38) - 1, 38, 37));
}

static void quotients_must_end(void **state)
{
    (void)state;
    pml_int128 v;
    assert_int_equal(pml_decimal__divide(&v, 101, 800, 10, 2), PML_DECIMAL_OK); /* 1.01 / 8.00 = 0.12625 */
    assert_true(v == 13);
    assert_int_equal(pml_decimal__divide(&v, -33, 200, 10, 2), PML_DECIMAL_OK);
    assert_true(v == -17);
    assert_int_equal(pml_decimal__divide(&v, 6, 3, 10, 2), PML_DECIMAL_OK);
    assert_true(v == 200);
    assert_int_equal(pml_decimal__divide(&v, 0, 3, 10, 2), PML_DECIMAL_OK);
    assert_true(v == 0);
    assert_int_equal(pml_decimal__divide(&v, 1, 3, 10, 2), PML_DECIMAL_ENDLESS);
    assert_int_equal(pml_decimal__divide(&v, 1, 0, 10, 2), PML_DECIMAL_BY_ZERO);
    assert_int_equal(pml_decimal__divide(&v, 0, 0, 10, 2), PML_DECIMAL_BY_ZERO);
    assert_int_equal(pml_decimal__divide(&v, 99999, 1, 5, 2), PML_DECIMAL_TOO_LONG);
    assert_int_equal(pml_decimal__divide(&v, ten_to(37), ten_to(30), 38, 20), PML_DECIMAL_OK);
    assert_true(v == ten_to(27));
    assert_int_equal(pml_decimal__divide(&v, ten_to(38) - 1, 1, 38, 37), PML_DECIMAL_TOO_LONG);
}

static void small_numbers_agree_with_plain_arithmetic(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    for (int i = 0; i < 20000; i++) {
        int64_t a = (int64_t)(test_random(t) % 2000001) - 1000000, b = (int64_t)(test_random(t) % 2001) - 1000,
                power = 1;
        int32_t scale = (int32_t)(test_random(t) % 5);
        pml_int128 v;
        for (int32_t k = 0; k < scale; k++)
            power *= 10;
        int64_t product = a * b, q = product / power, rest = product % power;
        q += 2 * (rest < 0 ? -rest : rest) >= power && rest != 0 ? (product < 0 ? -1 : 1) : 0;
        assert_true(pml_decimal__multiply(&v, a, b, 18, scale) && v == q);
        if (b != 0) {
            assert_int_equal(pml_decimal__divide(&v, (pml_int128)a * b, b, 18, 0), PML_DECIMAL_OK);
            assert_true(v == a);
        }
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_counted),
        cmocka_unit_test(products_are_rounded_half_up),
        cmocka_unit_test(quotients_must_end),
        cmocka_unit_test(small_numbers_agree_with_plain_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
