/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/value.h"

#include <locale.h>
#include <math.h>

#include "support/test_types.h"
#include "util/number.h"

static void must_print(test_env *t, const char *type_text, const pml_value *v, const char *expected)
{
    pml_type type = test_type(type_text);
    pml_buf out;
    pml_buf__init(&out, t->env, 4096);
    must_ok(pml_value__print(&out, &type, v), NULL);
    (void)pml_buf__append_byte(&out, 0);
    assert_string_equal((char *)out.data, expected);
    pml_buf__clear(&out);
}

/* Parses, and prints the same text again. */
static pml_value same_text(test_env *t, pml_arena *arena, const char *type_text, const char *text)
{
    pml_type type = test_type(type_text);
    pml_error err = PML_ERROR_INIT;
    pml_value v;
    must_ok(pml_value__parse(&v, arena, &type, text, strlen(text), &err), &err);
    must_print(t, type_text, &v, text);
    return v;
}

static void must_refuse(pml_arena *arena, const char *type_text, const char *text)
{
    pml_type type = test_type(type_text);
    pml_error err = PML_ERROR_INIT;
    pml_value v;
    int rc = pml_value__parse(&v, arena, &type, text, strlen(text), &err);
    if (rc == PML_OK)
        print_error("'%s' was taken as %s\n", text, type_text);
    must_fail_with(PML_E_INVAL, rc, &err);
    assert_int_equal(v.kind, PML_VALUE_NULL);
    assert_non_null(strstr(err.message, text));
}

static void text_in_canonical_form_survives(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    static const struct {
        const char *type, *text;
    } cases[] = {{"BOOLEAN", "true"},
                 {"BOOLEAN", "false"},
                 {"TINYINT", "-128"},
                 {"SMALLINT", "32767"},
                 {"INT", "-2147483648"},
                 {"BIGINT", "-9223372036854775808"},
                 {"BIGINT", "9223372036854775807"},
                 {"FLOAT", "-0"},
                 {"FLOAT", "1.5"},
                 {"FLOAT", "3.40282347e+38"},
                 {"FLOAT", "1.40129846e-45"},
                 {"FLOAT", "NaN"},
                 {"FLOAT", "-Infinity"},
                 {"DOUBLE", "-0"},
                 {"DOUBLE", "9.9999999999999995e-08"},
                 {"DOUBLE", "1.7976931348623157e+308"},
                 {"DOUBLE", "4.9406564584124654e-324"},
                 {"DOUBLE", "Infinity"},
                 {"DOUBLE", "NaN"},
                 {"DOUBLE", "0.10000000000000001"},
                 {"DECIMAL(10, 2)", "-0.30"},
                 {"DECIMAL(10, 2)", "99999999.99"},
                 {"DECIMAL(5, 0)", "0"},
                 {"DECIMAL(5, 5)", "0.00001"},
                 {"DECIMAL(38, 10)", "-9999999999999999999999999999.9999999999"},
                 {"DECIMAL(38, 38)", "0.99999999999999999999999999999999999999"},
                 {"STRING", ""},
                 {"STRING", "it's \"x\"\n"},
                 {"CHAR(3)", "z  "},
                 {"BYTES", ""},
                 {"BINARY(3)", "00ff7f"},
                 {"DATE", "0001-01-01"},
                 {"DATE", "9999-12-31"},
                 {"DATE", "2024-02-29"},
                 {"DATE", "+12345-06-07"},
                 {"DATE", "-0044-03-15"},
                 {"DATE", "0000-02-29"},
                 {"TIME(0)", "00:00:00.000"},
                 {"TIME(3)", "23:59:59.999"},
                 {"TIMESTAMP(0)", "1969-12-31T23:59:59"},
                 {"TIMESTAMP(3)", "2024-01-02T03:04:05.006"},
                 {"TIMESTAMP(1)", "2024-01-02T03:04:05.9"},
                 {"TIMESTAMP(6)", "1969-12-31T23:59:59.999999"},
                 {"TIMESTAMP(9)", "9999-12-31T23:59:59.999999999"},
                 {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "2024-01-02T03:04:05.000007Z"},
                 {"TIMESTAMP(0) WITH LOCAL TIME ZONE", "0001-01-01T00:00:00Z"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        (void)same_text(t, &arena, cases[i].type, cases[i].text);
    assert_int_equal(same_text(t, &arena, "DATE", "1969-12-31").i, -1);
    assert_int_equal(same_text(t, &arena, "TIME(3)", "01:02:03.004").i, 3723004);
    pml_value v = same_text(t, &arena, "TIMESTAMP(6)", "1969-12-31T23:59:59.999999");
    assert_int_equal(v.ts.ms, -1);
    assert_int_equal(v.ts.nanos, 999000);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void text_with_fewer_digits_is_filled_up(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_value v;
    pml_type decimal = test_type("DECIMAL(10, 2)"), time = test_type("TIME(3)"), stamp = test_type("TIMESTAMP(6)");
    pml_arena__init(&arena, t->env);
    must_ok(pml_value__parse(&v, &arena, &decimal, "-3", 2, NULL), NULL);
    assert_int_equal((int64_t)v.dec, -300);
    must_ok(pml_value__parse(&v, &arena, &decimal, "000000000003.5", 14, NULL), NULL);
    assert_int_equal((int64_t)v.dec, 350);
    must_ok(pml_value__parse(&v, &arena, &time, "00:00:01.5", 10, NULL), NULL);
    assert_int_equal(v.i, 1500);
    must_ok(pml_value__parse(&v, &arena, &stamp, "1970-01-01T00:00:00.0000", 24, NULL), NULL);
    assert_int_equal(v.ts.ms, 0);
    must_print(t, "TIMESTAMP(6)", &v, "1970-01-01T00:00:00.000000");
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void text_out_of_range_or_malformed_is_refused_by_name(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    static const struct {
        const char *type, *text;
    } cases[] = {{"BOOLEAN", "TRUE"},
                 {"BOOLEAN", ""},
                 {"TINYINT", "128"},
                 {"TINYINT", "-129"},
                 {"SMALLINT", "40000"},
                 {"INT", "2147483648"},
                 {"INT", " 1"},
                 {"INT", "1.0"},
                 {"BIGINT", "9223372036854775808"},
                 {"FLOAT", "1e39"},
                 {"FLOAT", "x"},
                 {"DOUBLE", "1e999"},
                 {"DOUBLE", "inf"},
                 {"DOUBLE", "0x10"},
                 {"DOUBLE", "1,5"},
                 {"DECIMAL(5, 2)", "1000.00"},
                 {"DECIMAL(5, 2)", "1.001"},
                 {"DECIMAL(5, 2)", "1000"},
                 {"DECIMAL(5, 2)", "."},
                 {"DECIMAL(5, 2)", "1."},
                 {"DECIMAL(5, 2)", ".5"},
                 {"DECIMAL(5, 2)", "-"},
                 {"DECIMAL(5, 2)", "1.2.3"},
                 {"DECIMAL(5, 2)", "1e2"},
                 {"DECIMAL(5, 2)", "+1"},
                 {"DECIMAL(38, 0)", "100000000000000000000000000000000000000"},
                 {"DECIMAL(38, 37)", "99"},
                 {"DECIMAL(38, 0)", "340282366920938463463374607431768211456999"},
                 {"BYTES", "0"},
                 {"BYTES", "0g"},
                 {"DATE", "2023-02-29"},
                 {"DATE", "1900-02-29"},
                 {"DATE", "2024-13-01"},
                 {"DATE", "2024-00-10"},
                 {"DATE", "2024-1-1"},
                 {"DATE", "2024-01-01 "},
                 {"DATE", "12345-01-01"},
                 {"DATE", "+5900000-01-01"},
                 {"DATE", "+9999999999-01-01"},
                 {"TIME(3)", "24:00:00"},
                 {"TIME(3)", "00:60:00"},
                 {"TIME(3)", "00:00:60"},
                 {"TIME(3)", "00:00:00.0001"},
                 {"TIME(3)", "1:00:00"},
                 {"TIMESTAMP(3)", "2024-01-02 03:04:05"},
                 {"TIMESTAMP(3)", "2024-01-02T03:04:05.0001"},
                 {"TIMESTAMP(3)", "2024-01-02T03:04:05Z"},
                 {"TIMESTAMP(0)", "2024-01-02T03:04:05.0"},
                 {"TIMESTAMP(3)", "2024-01-02T03:04:05."},
                 {"TIMESTAMP(3)", "2024-01-02"},
                 {"TIMESTAMP(3)", "+999999999-01-02T00:00:00"},
                 {"TIMESTAMP(3) WITH LOCAL TIME ZONE", "2024-01-02T03:04:05"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        must_refuse(&arena, cases[i].type, cases[i].text);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static const char *const all_types[] = {
    "BOOLEAN",        "TINYINT",         "SMALLINT",        "INT",
    "BIGINT",         "FLOAT",           "DOUBLE",          "CHAR(8)",
    "STRING",         "BYTES",           "DECIMAL(5, 2)",   "DECIMAL(18, 6)",
    "DECIMAL(19, 0)", "DECIMAL(38, 10)", "DECIMAL(38, 38)", "DATE",
    "TIME(3)",        "TIMESTAMP(0)",    "TIMESTAMP(2)",    "TIMESTAMP(3)",
    "TIMESTAMP(5)",   "TIMESTAMP(6)",    "TIMESTAMP(9)",    "TIMESTAMP(3) WITH LOCAL TIME ZONE"};
enum { N_TYPES = sizeof all_types / sizeof all_types[0] };

static void random_values_survive_their_text_and_their_arrow_form(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_buf out;
    t->random_state = test_seed();
    pml_arena__init(&arena, t->env);
    pml_buf__init(&out, t->env, 4096);
    for (int round = 0; round < 5000; round++) {
        pml_type type = test_type(all_types[test_random(t) % N_TYPES]);
        pml_value v = test_value(t, &type), back;
        pml_error err = PML_ERROR_INIT;
        pml_value__get(&back, &type, test_column(&type, &v, 1, (int64_t)(test_random(t) % 20)), 0);
        assert_true(pml_value__equal(&v, &back));
        pml_buf__reset(&out);
        must_ok(pml_value__print(&out, &type, &v), NULL);
        if (v.kind != PML_VALUE_NULL) {
            must_ok(pml_value__parse(&back, &arena, &type, (const char *)out.data, out.len, &err), &err);
            assert_true(pml_value__equal(&v, &back));
        }
        test_types_clear();
    }
    pml_buf__clear(&out);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void comparison_is_java_s_total_order(void **state)
{
    (void)state;
    const double ordered[] = {-INFINITY, -1.5, -0.0, 0.0, 1e-300, 1.5, INFINITY, NAN};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) {
            pml_value a = {.kind = PML_VALUE_DOUBLE}, b = a;
            a.d = ordered[i];
            b.d = ordered[k];
            assert_int_equal(pml_value__compare(&a, &b), i < k ? -1 : i > k);
            pml_value f = {.kind = PML_VALUE_FLOAT}, g = f;
            f.f = (float)a.d;
            g.f = (float)b.d;
            if (i != 4 && k != 4) /* 1e-300 is zero as a float */
                assert_int_equal(pml_value__compare(&f, &g), i < k ? -1 : i > k);
        }
    pml_value a = test_bytes("a"), b = test_bytes("\xff"), c = test_bytes("aa"), null = {.kind = PML_VALUE_NULL};
    assert_int_equal(pml_value__compare(&a, &b), -1);
    assert_int_equal(pml_value__compare(&c, &a), 1);
    a = test_timestamp(-1, 999000);
    b = test_timestamp(-1, 999001);
    assert_int_equal(pml_value__compare(&a, &b), -1);
    a = test_decimal(-5);
    b = test_decimal(5);
    assert_int_equal(pml_value__compare(&b, &a), 1);
    assert_false(pml_value__equal(&a, &null));
    assert_true(pml_value__equal(&null, &null));
}

static void arrow_times_before_1970_are_floored(void **state)
{
    (void)state;
    const int64_t minus_one = -1;
    const void *buffers[2] = {NULL, &minus_one};
    struct ArrowArray a = {.length = 1, .n_buffers = 2, .buffers = buffers};
    pml_type micros = test_type("TIMESTAMP(6)"), nanos = test_type("TIMESTAMP(9)"), millis = test_type("TIMESTAMP(3)");
    pml_value v;
    pml_value__get(&v, &micros, &a, 0);
    assert_int_equal(v.ts.ms, -1);
    assert_int_equal(v.ts.nanos, 999000);
    pml_value__get(&v, &nanos, &a, 0);
    assert_int_equal(v.ts.ms, -1);
    assert_int_equal(v.ts.nanos, 999999);
    pml_value__get(&v, &millis, &a, 0);
    assert_int_equal(v.ts.ms, -1);
    assert_int_equal(v.ts.nanos, 0);
}

static void damaged_numbers_print_without_harm(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_value v = test_int(-1);
    must_print(t, "TIME(3)", &v, "23:59:59.999");
    v = test_int(INT32_MIN);
    must_print(t, "DATE", &v, "-5877641-06-23");
    v = test_timestamp(INT64_MIN, 999999);
    must_print(t, "TIMESTAMP(3)", &v, "-292275055-05-16T16:47:04.192");
    v = test_decimal(0);
    v.dec = (pml_int128)((unsigned __int128)1 << 127);
    must_print(t, "DECIMAL(38, 0)", &v, "-170141183460469231731687303715884105728");
    must_print(t, "DECIMAL(38, 38)", &v, "-1.70141183460469231731687303715884105728");
    v.kind = PML_VALUE_NULL;
    must_print(t, "INT", &v, "null");
    test_env_close(t);
}

static void copy_and_parse_without_memory_fail_cleanly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type type = test_type("STRING");
    pml_value v = test_bytes("some text"), out;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_arena arena;
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        test_env_fail_at(t, n);
        rc = pml_value__copy(&out, &arena, &v);
        rc = rc == PML_OK ? pml_value__parse(&out, &arena, &type, "other text", 10, &err) : rc;
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && out.kind == PML_VALUE_NULL));
        pml_arena__clear(&arena);
    }
    test_env_fail_at(t, 0);
    test_env_close(t);
}

static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "nl_NL.UTF-8"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found == NULL; i++)
        found = setlocale(LC_NUMERIC, names[i]);
    if (found == NULL)
        skip(); /* no locale with another decimal point is installed */
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    (void)same_text(t, &arena, "DOUBLE", "1.5");
    (void)same_text(t, &arena, "FLOAT", "-0.5");
    (void)setlocale(LC_NUMERIC, "C");
    pml_arena__clear(&arena);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_in_canonical_form_survives),
        cmocka_unit_test(text_with_fewer_digits_is_filled_up),
        cmocka_unit_test(text_out_of_range_or_malformed_is_refused_by_name),
        cmocka_unit_test(random_values_survive_their_text_and_their_arrow_form),
        cmocka_unit_test(comparison_is_java_s_total_order),
        cmocka_unit_test(arrow_times_before_1970_are_floored),
        cmocka_unit_test(damaged_numbers_print_without_harm),
        cmocka_unit_test(copy_and_parse_without_memory_fail_cleanly),
        cmocka_unit_test(numbers_do_not_follow_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
