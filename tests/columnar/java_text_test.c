/* SPDX-License-Identifier: Apache-2.0 */
/* Expected texts follow the javadoc of Double.toString and LocalDateTime.toString, and tables that Java 1.4.2 wrote. */
#include "columnar/java_text.h"

#include <math.h>

#include "support/test_types.h"

static void text_is(test_env *t, const char *type_text, pml_value v, const char *cast, const char *legacy)
{
    pml_type type = test_type(type_text);
    pml_error err = PML_ERROR_INIT;
    pml_buf out;
    pml_buf__init(&out, t->env, 1000);
    must_ok(pml_java_text__cast(&out, &type, &v, &err), &err);
    (void)pml_buf__append_byte(&out, 0);
    assert_string_equal((char *)out.data, cast);
    pml_buf__reset(&out);
    must_ok(pml_java_text__to_string(&out, &type, &v, &err), &err);
    (void)pml_buf__append_byte(&out, 0);
    assert_string_equal((char *)out.data, legacy);
    pml_buf__clear(&out);
}

static void double_is(test_env *t, double d, const char *text)
{
    pml_value v = {.kind = PML_VALUE_DOUBLE};
    v.d = d;
    text_is(t, "DOUBLE", v, text, text);
}

static void float_is(test_env *t, float f, const char *text)
{
    pml_value v = {.kind = PML_VALUE_FLOAT};
    v.f = f;
    text_is(t, "FLOAT", v, text, text);
}

static void floating_numbers_print_as_in_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    double_is(t, 0.0, "0.0");
    double_is(t, -0.0, "-0.0");
    double_is(t, 1, "1.0");
    double_is(t, -0.25, "-0.25");
    double_is(t, 100, "100.0");
    double_is(t, 1234567, "1234567.0");
    double_is(t, 9999999.5, "9999999.5");
    double_is(t, 1e7, "1.0E7");
    double_is(t, 12345678.5, "1.23456785E7");
    double_is(t, 0.001, "0.001");
    double_is(t, 0.00125, "0.00125");
    double_is(t, 0.000999, "9.99E-4");
    double_is(t, 1e-7, "1.0E-7");
    double_is(t, 0.1, "0.1");
    double_is(t, 1.0 / 3, "0.3333333333333333");
    double_is(t, 4.9406564584124654e-324, "4.9E-324");
    double_is(t, 1.7976931348623157e308, "1.7976931348623157E308");
    double_is(t, NAN, "NaN");
    double_is(t, -INFINITY, "-Infinity");
    float_is(t, 1.5f, "1.5");
    float_is(t, 1e10f, "1.0E10");
    float_is(t, 0.1f, "0.1");
    float_is(t, 3.4028235e38f, "3.4028235E38");
    float_is(t, 1.40129846e-45f, "1.4E-45");
    float_is(t, 16777216.0f, "1.6777216E7");
    test_env_close(t);
}

static void times_print_as_in_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const int64_t at = 1700000000000; /* 2023-11-14T22:13:20 */
    text_is(t, "DATE", test_int(19000), "2022-01-08", "19000");
    text_is(t, "TIME(3)", test_int(3600123), "01:00:00.123", "3600123");
    text_is(t, "TIME(3)", test_int(480), "00:00:00.48", "480");
    text_is(t, "TIME(3)", test_int(0), "00:00:00.0", "0");
    text_is(t, "TIME(2)", test_int(345), "00:00:00.34", "345");
    text_is(t, "TIME(0)", test_int(1500), "00:00:01", "1500");
    text_is(t, "TIME(9)", test_int(1500), "00:00:01.5", "1500");
    text_is(t, "TIMESTAMP(3)", test_timestamp(at, 0), "2023-11-14 22:13:20.000", "2023-11-14T22:13:20");
    text_is(t, "TIMESTAMP(0)", test_timestamp(at, 0), "2023-11-14 22:13:20", "2023-11-14T22:13:20");
    text_is(t, "TIMESTAMP(0)", test_timestamp(at + 500, 0), "2023-11-14 22:13:20.5", "2023-11-14T22:13:20.500");
    text_is(t, "TIMESTAMP(6)", test_timestamp(at - 20000, 0), "2023-11-14 22:13:00.000000", "2023-11-14T22:13");
    text_is(t, "TIMESTAMP(6)", test_timestamp(at - 20000, 1000), "2023-11-14 22:13:00.000001",
            "2023-11-14T22:13:00.000001");
    text_is(t, "TIMESTAMP(9)", test_timestamp(at, 1), "2023-11-14 22:13:20.000000001", "2023-11-14T22:13:20.000000001");
    text_is(t, "TIMESTAMP(3)", test_timestamp(-1, 0), "1969-12-31 23:59:59.999", "1969-12-31T23:59:59.999");
    test_env_close(t);
}

static void other_types_print_or_are_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type bytes = test_type("BYTES"), zoned = test_type("TIMESTAMP(3) WITH LOCAL TIME ZONE");
    pml_value v = test_bytes("x"), at = test_timestamp(0, 0), yes = test_int(1);
    pml_buf out;
    yes.kind = PML_VALUE_BOOL;
    text_is(t, "BOOLEAN", yes, "true", "true");
    text_is(t, "DECIMAL(10, 2)", test_decimal(-5), "-0.05", "-0.05");
    text_is(t, "CHAR(3)", test_bytes("z  "), "z  ", "z  ");
    text_is(t, "BIGINT", test_int(-3000000000), "-3000000000", "-3000000000");
    pml_buf__init(&out, t->env, 100);
    must_fail_with(PML_E_UNSUPPORTED, pml_java_text__cast(&out, &bytes, &v, NULL), NULL);
    must_fail_with(PML_E_UNSUPPORTED, pml_java_text__to_string(&out, &bytes, &v, NULL), NULL);
    must_fail_with(PML_E_UNSUPPORTED, pml_java_text__cast(&out, &zoned, &at, NULL), NULL);
    must_ok(pml_java_text__to_string(&out, &zoned, &at, NULL), NULL);
    (void)pml_buf__append_byte(&out, 0);
    assert_string_equal((char *)out.data, "1970-01-01T00:00");
    pml_buf__clear(&out);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floating_numbers_print_as_in_java),
        cmocka_unit_test(times_print_as_in_java),
        cmocka_unit_test(other_types_print_or_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
