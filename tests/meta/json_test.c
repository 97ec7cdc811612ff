/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_json.h"

#include <stdlib.h>
#include <string.h>

#include "meta/json.h"

static test_env *t;
static pml_arena arena;
static pml_error err;
static pml_json_source src;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_arena__init(&arena, t->env);
    pml_error__clear(&err);
    src = (pml_json_source){"dir/file-1", PML_PLACE_SCHEMA, PML_E_CORRUPT, &err};
    return 0;
}

static int closed(void **state)
{
    (void)state;
    pml_arena__clear(&arena);
    test_env_close(t);
    return 0;
}

static void must_refuse(const char *text, size_t len, int code)
{
    json_t *root;
    must_fail_with(code, pml_json__parse(&root, (pml_bytes){(const uint8_t *)text, len}, 1 << 26, &src), &err);
    assert_null(root);
    assert_non_null(strstr(err.message, "dir/file-1"));
    assert_string_equal(err.file, "dir/file-1");
}

static void json_that_is_wrong_is_refused_with_its_file(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "1",
                                      "null",
                                      "{} x",
                                      "{\"a\":}",
                                      "{'a':1}",
                                      "{\"a\":1,}",
                                      "{\"a\":01}",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"a\":9223372036854775808}",
                                      "{\"a\":-9223372036854775809}",
                                      "{\"a\":\"\\u0000\"}",
                                      "{\"a\":1e999}",
                                      "{\"a\":\"\\ud800\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        must_refuse(bad[i], strlen(bad[i]), PML_E_CORRUPT);
    must_refuse("{\"a\":\"\0\"}", 9, PML_E_CORRUPT);
}

static void json_nested_without_end_is_refused(void **state)
{
    (void)state;
    enum { N = 100000 };
    char *text = malloc(N * 5);
    for (int i = 0; i < N; i++)
        memcpy(text + i * 5, "{\"a\":", 5);
    must_refuse(text, N * 5, PML_E_CORRUPT);
    free(text);
}

static void json_above_the_limits_is_refused_before_it_is_parsed(void **state)
{
    (void)state;
    json_t *root;
    size_t n = PML_JSON_VALUES_MAX + 64;
    char *text = malloc(n);
    memset(text, ',', n);
    must_refuse(text, n, PML_E_LIMIT);
    free(text);
    must_fail_with(PML_E_LIMIT, pml_json__parse(&root, test_text("{\"a\":1}"), 6, &src), &err);
}

static void integer_keeps_all_64_bits(void **state)
{
    (void)state;
    json_t *root;
    int64_t v;
    must_ok(pml_json__parse(&root, test_text("{\"a\":9223372036854775807,\"b\":-9223372036854775808}"), 1000, &src),
            &err);
    must_ok(pml_json__get_int64(&v, root, "a", INT64_MIN, INT64_MAX, &src), &err);
    assert_true(v == INT64_MAX);
    must_ok(pml_json__get_int64(&v, root, "b", INT64_MIN, INT64_MAX, &src), &err);
    assert_true(v == INT64_MIN);
    json_decref(root);
}

static void must_say(const char *words)
{
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void member_of_the_wrong_kind_is_named(void **state)
{
    (void)state;
    json_t *root;
    int64_t v;
    bool present;
    const char *text;
    const char **list;
    const json_t *child;
    size_t n;
    must_ok(pml_json__parse(&root, test_text("{\"i\":1,\"r\":1.5,\"s\":\"x\",\"l\":[\"a\",1],\"n\":null}"), 1000, &src),
            &err);
    must_fail_with(PML_E_CORRUPT, pml_json__get_int64(&v, root, "r", 0, 9, &src), &err);
    must_say("dir/file-1: member 'r' must be an integer");
    must_fail_with(PML_E_CORRUPT, pml_json__get_int64(&v, root, "i", 2, 9, &src), &err);
    must_say("member 'i' is 1, it must be between 2 and 9");
    must_fail_with(PML_E_CORRUPT, pml_json__get_int64(&v, root, "n", 2, 9, &src), &err);
    must_say("member 'n' is missing");
    must_ok(pml_json__find_int64(&v, &present, root, "n", 2, 9, &src), &err);
    assert_false(present);
    must_fail_with(PML_E_CORRUPT, pml_json__get_string(&text, &arena, root, "i", PML_JSON_OPTIONAL, &src), &err);
    must_say("member 'i' must be a string");
    must_fail_with(PML_E_CORRUPT, pml_json__get_string(&text, &arena, root, "zz", PML_JSON_REQUIRED, &src), &err);
    must_ok(pml_json__get_string(&text, &arena, root, "n", PML_JSON_OPTIONAL, &src), &err);
    assert_null(text);
    must_fail_with(PML_E_CORRUPT, pml_json__get_strings(&list, &n, &arena, root, "l", PML_JSON_REQUIRED, &src), &err);
    must_say("member 'l' must be an array of strings");
    must_fail_with(PML_E_CORRUPT, pml_json__get_array(&child, root, "s", PML_JSON_OPTIONAL, &src), &err);
    must_fail_with(PML_E_CORRUPT, pml_json__get_object(&child, root, "l", PML_JSON_OPTIONAL, &src), &err);
    json_decref(root);
}

static void writer_lays_out_like_jackson(void **state)
{
    (void)state;
    pml_buf b;
    pml_json_writer w;
    pml_buf__init(&b, t->env, 4096);
    pml_json_writer__init(&w, &b);
    pml_json_writer__begin_object(&w);
    pml_json_writer__put_int64(&w, "n", INT64_MIN);
    pml_json_writer__put_string(&w, "left out", NULL);
    pml_json_writer__put_string(&w, "s", "\"\\/\b\f\n\r\t\x01\x0b\x1f\x7f\xc3\xa4");
    pml_json_writer__key(&w, "empty");
    pml_json_writer__begin_array(&w);
    pml_json_writer__end_array(&w);
    pml_json_writer__key(&w, "none");
    pml_json_writer__begin_object(&w);
    pml_json_writer__end_object(&w);
    pml_json_writer__key(&w, "list");
    pml_json_writer__begin_array(&w);
    pml_json_writer__string(&w, "a");
    pml_json_writer__bool(&w, true);
    pml_json_writer__end_array(&w);
    pml_json_writer__key(&w, "objects");
    pml_json_writer__begin_array(&w);
    for (int i = 0; i < 2; i++) {
        pml_json_writer__begin_object(&w);
        pml_json_writer__put_int64(&w, "id", i);
        pml_json_writer__end_object(&w);
    }
    pml_json_writer__end_array(&w);
    pml_json_writer__end_object(&w);
    must_ok(pml_json_writer__finish(&w), NULL);
    test_must_hold(&b,
                   test_text("{\n  \"n\" : -9223372036854775808,\n"
                             "  \"s\" : \"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u000B\\u001F\x7f\xc3\xa4\",\n"
                             "  \"empty\" : [ ],\n  \"none\" : { },\n  \"list\" : [ \"a\", true ],\n"
                             "  \"objects\" : [ {\n    \"id\" : 0\n  }, {\n    \"id\" : 1\n  } ]\n}"),
                   "JSON");
    pml_buf__clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(json_that_is_wrong_is_refused_with_its_file, given, closed),
        cmocka_unit_test_setup_teardown(json_nested_without_end_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(json_above_the_limits_is_refused_before_it_is_parsed, given, closed),
        cmocka_unit_test_setup_teardown(integer_keeps_all_64_bits, given, closed),
        cmocka_unit_test_setup_teardown(member_of_the_wrong_kind_is_named, given, closed),
        cmocka_unit_test_setup_teardown(writer_lays_out_like_jackson, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
