/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include <stdlib.h>
#include <string.h>

#include "columnar/data_type.h"

static test_env *t;
static pml_arena arena;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_arena__init(&arena, t->env);
    pml_error__clear(&err);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_fail_at(t, 0);
    pml_arena__clear(&arena);
    test_env_close(t);
    return 0;
}

static int parse(pml_type *out, const char *text)
{
    return pml_type__parse(out, &arena, text, strlen(text), NULL, &err);
}

static void must_print_as(const pml_type *type, const char *expected)
{
    pml_buf b;
    pml_buf__init(&b, t->env, 1 << 20);
    must_ok(pml_type__print(&b, type), NULL);
    must_ok(pml_buf__append_byte(&b, 0), NULL);
    assert_string_equal((char *)b.data, expected);
    pml_buf__clear(&b);
}

static void must_parse_as(const char *text, const char *expected)
{
    pml_type type;
    must_ok(parse(&type, text), &err);
    must_print_as(&type, expected);
}

static const struct text_case {
    const char *text, *canonical;
} cases[] = {
    /* The canonical forms of atomic types are what Java 1.4.2 prints for the same text. */
    {"INT", "INT"},
    {"int not null", "INT NOT NULL"},
    {"INTEGER NULL", "INT"},
    {"  INT  ", "INT"},
    {"BIGINT null", "BIGINT"},
    {"TINYINT", "TINYINT"},
    {"SMALLINT", "SMALLINT"},
    {"BOOLEAN", "BOOLEAN"},
    {"FLOAT", "FLOAT"},
    {"DOUBLE", "DOUBLE"},
    {"DOUBLE PRECISION", "DOUBLE"},
    {"DATE", "DATE"},
    {"STRING", "STRING"},
    {"BYTES", "BYTES"},
    {"CHAR", "CHAR(1)"},
    {"CHAR(3)", "CHAR(3)"},
    {"VARCHAR", "VARCHAR(1)"},
    {"VARCHAR(2147483647)", "STRING"},
    {"VARCHAR (5)", "VARCHAR(5)"},
    {"BINARY", "BINARY(1)"},
    {"VARBINARY", "VARBINARY(1)"},
    {"VARBINARY(5)", "VARBINARY(5)"},
    {"DECIMAL", "DECIMAL(10, 0)"},
    {"DECIMAL(5)", "DECIMAL(5, 0)"},
    {"DECIMAL(10,2)", "DECIMAL(10, 2)"},
    {"DEC(3,1)", "DECIMAL(3, 1)"},
    {"NUMERIC(38, 38)", "DECIMAL(38, 38)"},
    {"DECIMAL ( 10 , 2 )", "DECIMAL(10, 2)"},
    {"TIME", "TIME(0)"},
    {"TIME(3)", "TIME(3)"},
    {"TIME(3) WITHOUT TIME ZONE", "TIME(3)"},
    {"TIMESTAMP", "TIMESTAMP(6)"},
    {"TIMESTAMP(3) NOT NULL", "TIMESTAMP(3) NOT NULL"},
    {"TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)"},
    {"TIMESTAMP_LTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
    {"TIMESTAMP_LTZ(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE"},
    {"TIMESTAMP (3)  WITH   LOCAL TIME ZONE NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"},
    {"VARIANT", "VARIANT"},
    {"BLOB", "BLOB"},
    {"INT ARRAY", "ARRAY<INT>"},
    {"INT NOT NULL ARRAY NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"},
    {"INT MULTISET", "MULTISET<INT>"},
    {"VECTOR<FLOAT, 3>", "VECTOR<FLOAT, 3>"},
    {"VECTOR<FLOAT NOT NULL, 3> NOT NULL", "VECTOR<FLOAT NOT NULL, 3> NOT NULL"},
    {"VECTOR<BOOLEAN,2>", "VECTOR<BOOLEAN, 2>"},
    /* Forms of ours. */
    {"ARRAY<INT>", "ARRAY<INT>"},
    {"array<array<int not null>> NOT NULL", "ARRAY<ARRAY<INT NOT NULL>> NOT NULL"},
    {"INT ARRAY ARRAY", "ARRAY<ARRAY<INT>>"},
    {"MAP<STRING,INT> NOT NULL", "MAP<STRING, INT> NOT NULL"},
    {"MULTISET<STRING>", "MULTISET<STRING>"},
    {"ROW<a INT, b STRING NOT NULL>", "ROW<`a` INT, `b` STRING NOT NULL>"},
    {"ROW(a INT, b STRING)", "ROW<`a` INT, `b` STRING>"},
    {"ROW<>", "ROW<>"},
    {"ROW<INT INT>", "ROW<`INT` INT>"},
    {"ROW<`a b` INT NOT NULL, `c``d` ROW<x BIGINT>>", "ROW<`a b` INT NOT NULL, `c``d` ROW<`x` BIGINT>>"},
    {"ROW<a INT 'it''s', b STRING COMMENT 'c'>", "ROW<`a` INT COMMENT 'it''s', `b` STRING COMMENT 'c'>"},
    {"ROW<a INT DEFAULT 5, b STRING DEFAULT 'x''y'>", "ROW<`a` INT DEFAULT 5, `b` STRING DEFAULT 'x''y'>"},
    {"ROW<\xe6\x97\xa5 INT>", "ROW<`\xe6\x97\xa5` INT>"},
};

static const char *const bad_texts[] = {
    "",
    " ",
    "REAL",
    "BOOL",
    "NULL",
    "RAW('x','y')",
    "INT INT",
    "INT(5)",
    "INT;",
    "STRING(5)",
    "`INT`",
    "'x'",
    "CHAR(0)",
    "CHAR(-1)",
    "CHAR(2147483648)",
    "CHAR(99999999999999999999999)",
    "CHAR(3",
    "CHAR(",
    "CHAR()",
    "DECIMAL(39,1)",
    "DECIMAL(3,4)",
    "DECIMAL(0,0)",
    "DECIMAL(3,)",
    "TIME(10)",
    "TIME(3) WITH LOCAL TIME ZONE",
    "TIMESTAMP(3) WITH TIME ZONE",
    "TIMESTAMP(3) WITH LOCAL",
    "INT NOT",
    "INT NOT NUL",
    "ARRAY",
    "ARRAY<",
    "ARRAY<INT",
    "ARRAY<INT>>",
    "MAP<INT>",
    "MAP<INT,INT,INT>",
    "ROW",
    "ROW<a>",
    "ROW<a INT,>",
    "ROW<a INT b INT>",
    "ROW<a INT, a INT>",
    "ROW<a INT)",
    "ROW<`a INT>",
    "ROW<`` INT>",
    "ROW<a.b INT>",
    "ROW<a INT COMMENT>",
    "ROW<a INT DEFAULT>",
    "VECTOR<FLOAT>",
    "VECTOR<FLOAT,0>",
    "VECTOR<STRING, 3>",
    "VECTOR<DECIMAL(3,1),2>",
};

static void type_text_is_parsed_to_its_canonical_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        must_parse_as(cases[i].text, cases[i].canonical);
        must_parse_as(cases[i].canonical, cases[i].canonical);
    }
}

static void type_text_that_is_wrong_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        pml_type type;
        must_fail_with(PML_E_INVAL, parse(&type, bad_texts[i]), &err);
        assert_int_equal(type.kind, 0);
        assert_true(strlen(err.message) > 0);
    }
}

static void type_text_with_a_nul_is_refused(void **state)
{
    (void)state;
    pml_type type;
    must_fail_with(PML_E_INVAL, pml_type__parse(&type, &arena, "INT\0", 4, NULL, &err), &err);
    must_fail_with(PML_E_INVAL, pml_type__parse(&type, &arena, "ROW<a INT DEFAULT x\0y>", 22, NULL, &err), &err);
}

static void type_text_of_a_newer_version_is_unsupported(void **state)
{
    (void)state;
    pml_type type;
    must_fail_with(PML_E_UNSUPPORTED, parse(&type, "ARRAY<GEOMETRY('EPSG:4326')>"), &err);
    assert_non_null(strstr(err.message, "needs type:geometry"));
}

static void type_text_every_prefix_is_handled(void **state)
{
    (void)state;
    const char *text =
        "ROW<`a``b` MAP<STRING NOT NULL, DECIMAL(10, 2)>, c VECTOR<FLOAT, 3> COMMENT 'x''y' DEFAULT 5> NOT NULL";
    for (size_t n = 0; n < strlen(text); n++) {
        pml_type type;
        char *exact = malloc(n + 1); /* so that the sanitizer sees a read past the end */
        memcpy(exact, text, n);
        int rc = pml_type__parse(&type, &arena, exact, n, NULL, &err);
        free(exact);
        assert_true(rc == PML_E_INVAL || n >= strlen(text) - strlen(" NOT NULL"));
    }
}

static void type_text_of_random_words_never_crashes(void **state)
{
    (void)state;
    static const char *const words[] = {
        "ROW", "<",       ">",    "(",       ")",       ",",         "`a`",   "'c'",   "ARRAY",    "MAP",   "INT",
        "NOT", "NULL",    "CHAR", "3",       "`",       "VECTOR",    "FLOAT", "b",     "TIME",     "ZONE",  "WITHOUT",
        ".",   "COMMENT", "'",    "DECIMAL", "DEFAULT", "TIMESTAMP", "WITH",  "LOCAL", "MULTISET", "DOUBLE"};
    t->random_state = test_seed();
    for (int i = 0; i < 20000; i++) {
        pml_buf b;
        pml_type type;
        pml_arena fresh;
        pml_arena__init(&fresh, t->env);
        pml_buf__init(&b, t->env, 4096);
        for (uint64_t n = test_random(t) % 12; n-- > 0;)
            (void)pml_buf__append_format(&b, "%s ", words[test_random(t) % (sizeof words / sizeof words[0])]);
        (void)pml_buf__append(&b, "", 0);
        int rc = pml_type__parse(&type, &fresh, b.data == NULL ? "" : (char *)b.data, b.len, NULL, &err);
        assert_true(rc == PML_OK || rc == PML_E_INVAL);
        if (rc == PML_OK)
            must_ok(pml_type__print(&b, &type), NULL);
        pml_buf__clear(&b);
        pml_arena__clear(&fresh);
    }
}

static void type_text_nested_too_deep_is_refused(void **state)
{
    (void)state;
    enum { N = 100000 };
    pml_type type;
    char *text = malloc(N * 6 + 4);
    for (size_t i = 0; i < N; i++)
        memcpy(text + i * 6, "ARRAY<", 6);
    must_fail_with(PML_E_LIMIT, pml_type__parse(&type, &arena, text, N * 6, NULL, &err), &err);
    memcpy(text, "INT", 3);
    for (size_t i = 0; i < N; i++)
        memcpy(text + 3 + i * 6, " ARRAY", 6);
    must_fail_with(PML_E_LIMIT, pml_type__parse(&type, &arena, text, 3 + N * 6, NULL, &err), &err);
    must_ok(pml_type__parse(&type, &arena, text, 3 + 32 * 6, NULL, &err), &err);
    must_fail_with(PML_E_LIMIT, pml_type__parse(&type, &arena, text, 3 + 33 * 6, NULL, &err), &err);
    free(text);
}

static void type_text_of_too_many_members_is_refused(void **state)
{
    (void)state;
    enum { N = 17000 };
    pml_buf b;
    pml_type type;
    pml_buf__init(&b, t->env, 1 << 20);
    (void)pml_buf__append_str(&b, "ROW<");
    for (int i = 0; i < N; i++)
        (void)pml_buf__append_format(&b, "%sc%d INT", i == 0 ? "" : ",", i);
    (void)pml_buf__append_str(&b, ">");
    must_fail_with(PML_E_LIMIT, pml_type__parse(&type, &arena, (char *)b.data, b.len, NULL, &err), &err);
    pml_buf__clear(&b);
}

static void row_members_are_numbered_before_their_children(void **state)
{
    (void)state;
    const char *text = "ROW<a INT, b ROW<c STRING, d ARRAY<ROW<e INT>>>, f INT>";
    pml_type type;
    int32_t next = 5;
    must_ok(pml_type__parse(&type, &arena, text, strlen(text), &next, &err), &err);
    const pml_field *b = &type.children[1], *d = &b->type.children[1];
    assert_int_equal(type.children[0].id, 5);
    assert_int_equal(b->id, 6);
    assert_int_equal(b->type.children[0].id, 7);
    assert_int_equal(d->id, 8);
    assert_int_equal(d->type.children[0].type.children[0].id, 9);
    assert_int_equal(d->type.children[0].id, -1);
    assert_int_equal(type.children[2].id, 10);
    assert_int_equal(next, 11);
}

static void types_are_equal_only_when_all_parts_are(void **state)
{
    (void)state;
    static const char *const different[] = {"ROW<a INT, b ARRAY<STRING>>",
                                            "ROW<a INT, b ARRAY<STRING NOT NULL>>",
                                            "ROW<a INT, c ARRAY<STRING>>",
                                            "ROW<a INT, b ARRAY<VARCHAR(3)>>",
                                            "ROW<a INT>",
                                            "ROW<a INT 'd', b ARRAY<STRING>>",
                                            "ROW<a INT DEFAULT 1, b ARRAY<STRING>>"};
    pml_type x, y;
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 7; j++) {
            must_ok(parse(&x, different[i]), &err);
            must_ok(parse(&y, different[j]), &err);
            assert_int_equal(pml_type__equal(&x, &y, false), i == j);
        }
    must_ok(parse(&x, different[0]), &err);
    must_ok(parse(&y, different[1]), &err);
    assert_true(pml_type__equal(&x, &y, true));
    y.children[0].id = 7;
    assert_false(pml_type__equal(&x, &y, true));
}

static void type_copy_lives_in_its_own_arena(void **state)
{
    (void)state;
    pml_arena other;
    pml_type x, y;
    pml_arena__init(&other, t->env);
    must_ok(pml_type__parse(&x, &other, "ROW<a INT 'd', b MAP<STRING, ARRAY<INT>>>", 41, NULL, &err), &err);
    must_ok(pml_type__copy(&y, &arena, &x), NULL);
    assert_true(pml_type__equal(&x, &y, false));
    pml_arena__clear(&other);
    must_print_as(&y, "ROW<`a` INT COMMENT 'd', `b` MAP<STRING, ARRAY<INT>>>");
}

static void container_ids_follow_java(void **state)
{
    (void)state;
    assert_int_equal(pml_type__element_id(0, 1), 536870912);
    assert_int_equal(pml_type__element_id(3, 2), 536870911 + 3 * 1024 + 2);
    assert_int_equal(pml_type__map_key_id(3, 2), 536870911 - 3 * 1024 - 2);
    assert_int_equal(pml_type__element_id(2000000, 1), (int32_t)(536870911u + 2000000u * 1024u + 1u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(type_text_is_parsed_to_its_canonical_form, given, closed),
        cmocka_unit_test_setup_teardown(type_text_that_is_wrong_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(type_text_with_a_nul_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(type_text_of_a_newer_version_is_unsupported, given, closed),
        cmocka_unit_test_setup_teardown(type_text_every_prefix_is_handled, given, closed),
        cmocka_unit_test_setup_teardown(type_text_of_random_words_never_crashes, given, closed),
        cmocka_unit_test_setup_teardown(type_text_nested_too_deep_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(type_text_of_too_many_members_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(row_members_are_numbered_before_their_children, given, closed),
        cmocka_unit_test_setup_teardown(types_are_equal_only_when_all_parts_are, given, closed),
        cmocka_unit_test_setup_teardown(type_copy_lives_in_its_own_arena, given, closed),
        cmocka_unit_test_setup_teardown(container_ids_follow_java, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
