/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --where and --filter: to the tree, and the mistakes with their places. */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "where.h"

/* The tree as text: (and (= a '1') ...). */
static void show(char *out, size_t room, const where_node *node)
{
    static const char *const ops[] = {
        "", "=", "<>", "<", "<=", ">", ">=", "in", "not-in", "is-null", "not-null", "starts", "ends", "contains"};
    size_t n = strlen(out);
    if (node->kind != WHERE_LEAF) {
        (void)snprintf(out + n, room - n, "(%s", node->kind == WHERE_AND ? "and" : "or");
        for (size_t i = 0; i < node->n_children; i++) {
            (void)snprintf(out + strlen(out), room - strlen(out), " ");
            show(out, room, node->children[i]);
        }
    } else {
        (void)snprintf(out + n, room - n, "(%s %s", ops[node->op], node->column);
        for (size_t i = 0; i < node->n_literals; i++) {
            const pml_literal *l = &node->literals[i];
            (void)snprintf(out + strlen(out), room - strlen(out), " %s", l->text == NULL ? "NULL" : l->text);
            assert_true(l->text == NULL || strlen(l->text) == l->len);
        }
    }
    (void)snprintf(out + strlen(out), room - strlen(out), ")");
}

static void must_be(const char *text, const char *expected)
{
    where_error e;
    char out[1024] = "";
    where_node *node = where_parse(text, &e);
    if (node == NULL)
        fail_msg("%s: %s at %zu", text, e.message, e.position);
    show(out, sizeof out, node);
    where_free(node);
    assert_string_equal(out, expected);
}

static void must_fail_at(const char *text, size_t position, const char *said)
{
    where_error e;
    where_node *node = where_parse(text, &e);
    assert_null(node);
    if (strstr(e.message, said) == NULL || e.position != position)
        fail_msg("%s: \"%s\" at %zu instead of \"%s\" at %zu", text, e.message, e.position, said, position);
}

static void comparisons_take_every_operator_and_literal(void **state)
{
    (void)state;
    must_be("a = 1", "(= a 1)");
    must_be("a==-1", "(= a -1)");
    must_be("a <> +1.50", "(<> a 1.50)");
    must_be("a != .5", "(<> a 0.5)");
    must_be("a<5.", "(< a 5)");
    must_be("a <= 1e3", "(<= a 1e3)");
    must_be("a > 'it''s'", "(> a it's)");
    must_be("a >= ''", "(>= a )");
    must_be("a = TRUE", "(= a true)");
    must_be("a = false", "(= a false)");
    must_be("a = null", "(= a NULL)");
    must_be("a = DATE '2024-01-31'", "(= a 2024-01-31)");
    must_be("a < timestamp '2024-01-31 12:00:00'", "(< a 2024-01-31 12:00:00)");
    must_be("5 < a", "(> a 5)");
    must_be("'x' >= a", "(<= a x)");
}

static void columns_may_be_quoted(void **state)
{
    (void)state;
    must_be("`a b` = 1", "(= a b 1)");
    must_be("\"a\"\"b\" = 1", "(= a\"b 1)");
    must_be("`a``b` = 1", "(= a`b 1)");
    must_be("`and` = 1 AND date = 2", "(and (= and 1) (= date 2))");
    must_be("größe = 1", "(= größe 1)");
}

static void and_binds_closer_than_or(void **state)
{
    (void)state;
    must_be("a=1 or b=2 and c=3", "(or (= a 1) (and (= b 2) (= c 3)))");
    must_be("(a=1 or b=2) and c=3", "(and (or (= a 1) (= b 2)) (= c 3))");
    must_be("a=1 and b=2 and c=3", "(and (= a 1) (= b 2) (= c 3))");
    must_be("true and a=1", "(and (and) (= a 1))");
    must_be("false", "(or)");
}

static void not_goes_down_to_the_leaves(void **state)
{
    (void)state;
    must_be("not a = 1", "(<> a 1)");
    must_be("not not a = 1", "(= a 1)");
    must_be("not (a<1 or b>=2 and c is null)", "(and (>= a 1) (or (< b 2) (not-null c)))");
    must_be("not a in (1,2)", "(not-in a 1 2)");
    must_be("not (a between 1 and 2)", "(or (< a 1) (> a 2))");
    must_be("not a is not null", "(is-null a)");
    must_be("not 5 < a", "(<= a 5)");
    must_be("not true", "(or)");
}

static void other_tests_are_understood(void **state)
{
    (void)state;
    must_be("a in (1)", "(in a 1)");
    must_be("a not in ('x', null)", "(not-in a x NULL)");
    must_be("a is null", "(is-null a)");
    must_be("a is not null", "(not-null a)");
    must_be("a between 1 and 2 and b = 3", "(and (and (>= a 1) (<= a 2)) (= b 3))");
    must_be("a not between 1 and 2", "(or (< a 1) (> a 2))");
    must_be("a like 'x%'", "(starts a x)");
    must_be("a like '%x'", "(ends a x)");
    must_be("a like '%x%'", "(contains a x)");
    must_be("a like 'x'", "(= a x)");
    must_be("a not like 'x'", "(<> a x)");
    must_be("a like '%'", "(not-null a)");
    must_be("a like ''", "(= a )");
    must_be("a like 'x\\_y\\%%'", "(starts a x_y%)");
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    must_fail_at("", 0, "a column");
    must_fail_at("a", 1, "was expected after the column");
    must_fail_at("a = ", 4, "a value was expected");
    must_fail_at("a = b", 4, "single quotes");
    must_fail_at("a = 'x", 4, "not closed");
    must_fail_at("a = 1 b = 2", 6, "AND, OR or the end");
    must_fail_at("(a = 1", 6, "AND, OR or )");
    must_fail_at("a = 1)", 5, "AND, OR or the end");
    must_fail_at("a in 1", 5, "( after IN");
    must_fail_at("a in ()", 6, "a value");
    must_fail_at("a in (1", 7, ", or )");
    must_fail_at("a between 1 or 2", 12, "AND was expected");
    must_fail_at("a like 5", 7, "pattern");
    must_fail_at("a like 'a%b'", 7, "LIKE takes");
    must_fail_at("a like 'a_'", 7, "LIKE takes");
    must_fail_at("a not like 'a%'", 11, "NOT LIKE");
    must_fail_at("a is 5", 5, "NULL or NOT NULL");
    must_fail_at("a = 12x", 4, "not a number");
    must_fail_at("a = 1e", 4, "not a number");
    must_fail_at("a ; 1", 2, "no meaning");
    must_fail_at("a = date 5", 9, "quotes");
    must_fail_at("5", 1, "after the value");
    must_fail_at("5 = 6", 4, "a column was expected");
    must_fail_at("`` = 6", 0, "empty");
    must_fail_at("not", 3, "a column");
}

static void deep_parentheses_are_refused(void **state)
{
    (void)state;
    char text[4096] = "";
    memset(text, '(', 2000);
    where_error e;
    assert_null(where_parse(text, &e));
    assert_non_null(strstr(e.message, "nest deeper"));
    memset(text, '(', 20);
    (void)snprintf(text + 20, sizeof text - 20, "a=1))))))))))))))))))))");
    must_be(text, "(= a 1)");
}

static void must_be_canonical(const char *type, const char *text, const char *expected)
{
    char *out = where_canonical(type, text, strlen(text));
    assert_string_equal(out, expected);
    free(out);
}

static void literals_take_the_form_of_their_column(void **state)
{
    (void)state;
    must_be_canonical("TIMESTAMP(3)", "2024-01-31 12:00:00", "2024-01-31T12:00:00.000");
    must_be_canonical("TIMESTAMP(0) NOT NULL", "2024-01-31T12:00:00.000", "2024-01-31T12:00:00");
    must_be_canonical("TIMESTAMP(6)", "2024-01-31", "2024-01-31T00:00:00.000000");
    must_be_canonical("TIMESTAMP(3)", "2024-01-31 12:30", "2024-01-31T12:30:00.000");
    must_be_canonical("TIMESTAMP(3)", "2024-01-31T12:30:00.0001", "2024-01-31T12:30:00.0001");
    must_be_canonical("TIMESTAMP(3) WITH LOCAL TIME ZONE", "2024-01-31 12:00:00", "2024-01-31T12:00:00.000Z");
    must_be_canonical("TIMESTAMP(3) WITH LOCAL TIME ZONE", "2024-01-31T12:00:00.000Z", "2024-01-31T12:00:00.000Z");
    must_be_canonical("DECIMAL(10, 2)", "1.5", "1.50");
    must_be_canonical("DECIMAL(10, 2)", "1", "1.00");
    must_be_canonical("DECIMAL(10, 2)", "1.5000", "1.50");
    must_be_canonical("DECIMAL(10, 2)", "1.234", "1.234");
    must_be_canonical("DECIMAL(10, 0)", "7.0", "7");
    must_be_canonical("TIME(0)", "01:02:03", "01:02:03.000");
    must_be_canonical("BOOLEAN", "TRUE", "true");
    must_be_canonical("STRING", "TRUE 1.5", "TRUE 1.5");
    must_be_canonical("INT", "12", "12");
    must_be_canonical("", "x", "x");
    must_be_canonical("INT NOT NULL", "1.0", "1");
    must_be_canonical("BIGINT", "-12.50e1", "-125");
    must_be_canonical("BIGINT", "9e18", "9000000000000000000");
    must_be_canonical("INT", "500e-2", "5");
    must_be_canonical("INT", "0.0e9", "0");
    must_be_canonical("INT", "0.000", "0");
    must_be_canonical("INT", "1.5", "1.5");
    must_be_canonical("INT", "1e", "1e");
    must_be_canonical("INT", "1.0e", "1.0e");
    must_be_canonical("INT", "01.0", "1");
    must_be_canonical("INT", "1e99", "1e99");
    must_be_canonical("INT", "1e-99", "1e-99");
    must_be_canonical("INT", ".", ".");
    must_be_canonical("INT", "-", "-");
    must_be_canonical("STRING", "1.0", "1.0");
}

static void must_filter(const char *json, const char *expected)
{
    char out[1024] = "";
    where_node *node = filter_parse(json);
    assert_non_null(node);
    show(out, sizeof out, node);
    where_free(node);
    assert_string_equal(out, expected);
}

static void json_predicates_become_the_same_tree(void **state)
{
    (void)state;
    must_filter("{\"and\":[{\"eq\":[\"a\",1]},{\"or\":[{\"ne\":[\"b\",\"x\"]},{\"isnull\":[\"c\"]}]}]}",
                "(and (= a 1) (or (<> b x) (is-null c)))");
    must_filter("{\"in\":[\"a\",[1,null,true,0.5]]}", "(in a 1 NULL true 0.5)");
    must_filter("{\"prefix\":[\"a\",\"x\"]}", "(starts a x)");
    must_filter("{\"notnull\":[\"a\"]}", "(not-null a)");
    must_filter("{\"and\":[]}", "(and)");
}

static void json_predicates_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "1",
                                        "{}",
                                        "{\"eq\":1}",
                                        "{\"eq\":[]}",
                                        "{\"eq\":[1,2]}",
                                        "{\"eq\":[\"a\"]}",
                                        "{\"eq\":[\"a\",1,2]}",
                                        "{\"eq\":[\"a\",[]]}",
                                        "{\"in\":[\"a\",1]}",
                                        "{\"in\":[\"a\",[{}]]}",
                                        "{\"isnull\":[\"a\",1]}",
                                        "{\"like\":[\"a\",1]}",
                                        "{\"and\":[{\"eq\":[\"a\",1]},1]}",
                                        "{\"and\":[],\"or\":[]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(filter_parse(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_take_every_operator_and_literal),
        cmocka_unit_test(columns_may_be_quoted),
        cmocka_unit_test(and_binds_closer_than_or),
        cmocka_unit_test(not_goes_down_to_the_leaves),
        cmocka_unit_test(other_tests_are_understood),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(deep_parentheses_are_refused),
        cmocka_unit_test(literals_take_the_form_of_their_column),
        cmocka_unit_test(json_predicates_become_the_same_tree),
        cmocka_unit_test(json_predicates_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
