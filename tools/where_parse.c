/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent. `negate` comes down from the NOTs around; a leaf takes the opposite operator under it. */
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "where_lex.h"

enum { WHERE_DEPTH_MAX = 30 /* each pair may hold an OR of ANDs; predicates nest 64 deep */ };

where_node *where_new(where_kind kind)
{
    where_node *node = app_alloc(sizeof *node);
    memset(node, 0, sizeof *node);
    node->kind = kind;
    return node;
}

where_node *where_new_leaf(const char *column, pml_predicate_op op)
{
    where_node *leaf = where_new(WHERE_LEAF);
    leaf->column = app_strndup(column, strlen(column));
    leaf->op = op;
    return leaf;
}

void where_add_child(where_node *parent, where_node *child)
{
    parent->children = app_realloc(parent->children, (parent->n_children + 1) * sizeof *parent->children);
    parent->children[parent->n_children++] = child;
}

void where_add_literal(where_node *leaf, const char *text, size_t len, size_t position)
{
    leaf->literals = app_realloc(leaf->literals, (leaf->n_literals + 1) * sizeof *leaf->literals);
    leaf->literals[leaf->n_literals].text = text == NULL ? NULL : app_strndup(text, len);
    leaf->literals[leaf->n_literals].len = len;
    leaf->positions = app_realloc(leaf->positions, (leaf->n_literals + 1) * sizeof *leaf->positions);
    leaf->positions[leaf->n_literals] = position;
    leaf->n_literals++;
}

void where_free(where_node *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->n_children; i++)
        where_free(node->children[i]);
    for (size_t i = 0; i < node->n_literals; i++)
        free((char *)(uintptr_t)node->literals[i].text);
    free(node->children);
    free(node->literals);
    free(node->positions);
    free(node->column);
    free(node);
}

static pml_predicate_op op_of_token(where_token token, bool negate)
{
    switch (token) {
    case TOKEN_EQ: return negate ? PML_OP_NE : PML_OP_EQ;
    case TOKEN_NE: return negate ? PML_OP_EQ : PML_OP_NE;
    case TOKEN_LT: return negate ? PML_OP_GE : PML_OP_LT;
    case TOKEN_LE: return negate ? PML_OP_GT : PML_OP_LE;
    case TOKEN_GT: return negate ? PML_OP_LE : PML_OP_GT;
    case TOKEN_GE: return negate ? PML_OP_LT : PML_OP_GE;
    default: return (pml_predicate_op)0;
    }
}

/* literal OP column is column OP' literal. */
static where_token token_mirrored(where_token token)
{
    switch (token) {
    case TOKEN_LT: return TOKEN_GT;
    case TOKEN_LE: return TOKEN_GE;
    case TOKEN_GT: return TOKEN_LT;
    case TOKEN_GE: return TOKEN_LE;
    default: return token;
    }
}

/* The literal at the current token goes to the leaf. */
static bool parse_literal(where_lexer *x, where_node *leaf, const char *behind)
{
    bool dated = where_lexer_is_keyword(x, "DATE") || where_lexer_is_keyword(x, "TIMESTAMP");
    if (dated) {
        where_lexer_next(x);
        if (x->token != TOKEN_STRING)
            return where_lexer_fail(x, "a text in 'quotes' was expected after DATE or TIMESTAMP");
    }
    if (x->token == TOKEN_STRING || x->token == TOKEN_NUMBER)
        where_add_literal(leaf, x->value, x->value_len, x->begin);
    else if (where_lexer_is_keyword(x, "TRUE"))
        where_add_literal(leaf, "true", 4, x->begin);
    else if (where_lexer_is_keyword(x, "FALSE"))
        where_add_literal(leaf, "false", 5, x->begin);
    else if (where_lexer_is_keyword(x, "NULL"))
        where_add_literal(leaf, NULL, 0, x->begin);
    else if (x->token == TOKEN_NAME)
        return where_lexer_fail(x, "a value was expected after %s, not a name: texts stand in 'single quotes'", behind);
    else
        return where_lexer_fail(x, "a value was expected after %s", behind);
    where_lexer_next(x);
    return true;
}

static bool expect(where_lexer *x, where_token token, const char *what)
{
    if (x->token != token)
        return where_lexer_fail(x, "%s was expected", what);
    where_lexer_next(x);
    return true;
}

static where_node *fail_free(where_node *node)
{
    where_free(node);
    return NULL;
}

static where_node *parse_in(where_lexer *x, const char *column, bool negate)
{
    where_node *leaf = where_new_leaf(column, negate ? PML_OP_NOT_IN : PML_OP_IN);
    where_lexer_next(x);
    if (!expect(x, TOKEN_OPEN, "( after IN") || !parse_literal(x, leaf, "("))
        return fail_free(leaf);
    while (x->token == TOKEN_COMMA) {
        where_lexer_next(x);
        if (!parse_literal(x, leaf, ","))
            return fail_free(leaf);
    }
    return expect(x, TOKEN_CLOSE, ", or )") ? leaf : fail_free(leaf);
}

static where_node *parse_between(where_lexer *x, const char *column, bool negate)
{
    where_node *both = where_new(negate ? WHERE_OR : WHERE_AND);
    where_node *low = where_new_leaf(column, negate ? PML_OP_LT : PML_OP_GE);
    where_node *high = where_new_leaf(column, negate ? PML_OP_GT : PML_OP_LE);
    where_add_child(both, low);
    where_add_child(both, high);
    where_lexer_next(x);
    if (!parse_literal(x, low, "BETWEEN"))
        return fail_free(both);
    if (!where_lexer_is_keyword(x, "AND")) {
        (void)where_lexer_fail(x, "AND was expected: BETWEEN low AND high");
        return fail_free(both);
    }
    where_lexer_next(x);
    return parse_literal(x, high, "AND") ? both : fail_free(both);
}

/* LIKE with % at the ends only: equal, starts with, ends with, contains. */
static where_node *parse_like(where_lexer *x, const char *column, bool negate)
{
    where_lexer_next(x);
    if (x->token != TOKEN_STRING) {
        (void)where_lexer_fail(x, "a pattern in 'quotes' was expected after LIKE");
        return NULL;
    }
    const char *p = x->value, *end = p + x->value_len;
    bool open_front = p < end && *p == '%';
    while (p < end && *p == '%')
        p++;
    char *text = app_alloc((size_t)(end - p) + 1);
    size_t n = 0;
    bool open_back = false, good = true;
    for (; p < end && good; p++) {
        if (*p == '%') {
            open_back = true;
        } else if (open_back || *p == '_') {
            good = false;
        } else {
            if (*p == '\\' && p + 1 < end)
                p++;
            text[n++] = *p;
        }
    }
    where_node *node = NULL;
    if (!good)
        (void)where_lexer_fail(
            x, "LIKE takes 'text%%', '%%text' and '%%text%%' only (a plain _ or %% is written \\_ or \\%%)");
    else if (n == 0 && open_front)
        node = negate ? where_new(WHERE_OR) : where_new_leaf(column, PML_OP_IS_NOT_NULL);
    else if (negate && (open_front || open_back))
        (void)where_lexer_fail(x, "NOT LIKE with %% is not supported");
    else {
        pml_predicate_op equal = negate ? PML_OP_NE : PML_OP_EQ,
                         starts = open_front ? PML_OP_CONTAINS : PML_OP_STARTS_WITH;
        node = where_new_leaf(column, open_back ? starts : open_front ? PML_OP_ENDS_WITH : equal);
        where_add_literal(node, text, n, x->begin);
    }
    free(text);
    if (node != NULL)
        where_lexer_next(x);
    return node;
}

static where_node *parse_is(where_lexer *x, const char *column, bool negate)
{
    where_lexer_next(x);
    if (where_lexer_is_keyword(x, "NOT")) {
        negate = !negate;
        where_lexer_next(x);
    }
    if (!where_lexer_is_keyword(x, "NULL")) {
        (void)where_lexer_fail(x, "NULL or NOT NULL was expected after IS");
        return NULL;
    }
    where_lexer_next(x);
    return where_new_leaf(column, negate ? PML_OP_IS_NOT_NULL : PML_OP_IS_NULL);
}

/* What follows a column name. */
static where_node *parse_test(where_lexer *x, const char *column, bool negate)
{
    pml_predicate_op op = op_of_token(x->token, negate);
    if (op != 0) {
        where_node *leaf = where_new_leaf(column, op);
        where_lexer_next(x);
        return parse_literal(x, leaf, "the comparison") ? leaf : fail_free(leaf);
    }
    if (where_lexer_is_keyword(x, "IS"))
        return parse_is(x, column, negate);
    if (where_lexer_is_keyword(x, "NOT")) {
        negate = !negate;
        where_lexer_next(x);
    }
    if (where_lexer_is_keyword(x, "IN"))
        return parse_in(x, column, negate);
    if (where_lexer_is_keyword(x, "BETWEEN"))
        return parse_between(x, column, negate);
    if (where_lexer_is_keyword(x, "LIKE"))
        return parse_like(x, column, negate);
    (void)where_lexer_fail(x, "=, <>, <, <=, >, >=, IN, IS, LIKE or BETWEEN was expected after the column");
    return NULL;
}

static where_node *parse_literal_first(where_lexer *x, bool negate)
{
    where_node *leaf = where_new_leaf("", PML_OP_EQ);
    if (!parse_literal(x, leaf, "("))
        return fail_free(leaf);
    leaf->op = op_of_token(token_mirrored(x->token), negate);
    if (leaf->op == 0) {
        (void)where_lexer_fail(x, "=, <>, <, <=, > or >= was expected after the value");
        return fail_free(leaf);
    }
    where_lexer_next(x);
    if (x->token != TOKEN_NAME) {
        (void)where_lexer_fail(x, "a column was expected");
        return fail_free(leaf);
    }
    free(leaf->column);
    leaf->column = app_strndup(x->value, x->value_len);
    where_lexer_next(x);
    return leaf;
}

static where_node *parse_condition(where_lexer *x, bool negate, int depth);

static where_node *parse_factor(where_lexer *x, bool negate, int depth)
{
    while (where_lexer_is_keyword(x, "NOT")) {
        negate = !negate;
        where_lexer_next(x);
    }
    if (x->token == TOKEN_OPEN) {
        where_lexer_next(x);
        where_node *inner = parse_condition(x, negate, depth + 1);
        if (inner == NULL)
            return NULL;
        return expect(x, TOKEN_CLOSE, "AND, OR or )") ? inner : fail_free(inner);
    }
    if (where_lexer_is_keyword(x, "TRUE") || where_lexer_is_keyword(x, "FALSE")) {
        bool value = where_lexer_is_keyword(x, "TRUE") != negate;
        where_lexer_next(x);
        return where_new(value ? WHERE_AND : WHERE_OR);
    }
    if (x->token == TOKEN_STRING || x->token == TOKEN_NUMBER)
        return parse_literal_first(x, negate);
    if (x->token != TOKEN_NAME) {
        (void)where_lexer_fail(x, "a column, a value, NOT or ( was expected");
        return NULL;
    }
    char *column = app_strndup(x->value, x->value_len);
    where_lexer_next(x);
    where_node *node = parse_test(x, column, negate);
    free(column);
    return node;
}

/* Factors joined by AND, or such chains joined by OR. */
static where_node *parse_chain(where_lexer *x, bool negate, int depth, bool is_or)
{
    where_node *first = is_or ? parse_chain(x, negate, depth, false) : parse_factor(x, negate, depth);
    where_node *chain = NULL;
    while (first != NULL && where_lexer_is_keyword(x, is_or ? "OR" : "AND")) {
        if (chain == NULL) {
            chain = where_new(is_or != negate ? WHERE_OR : WHERE_AND);
            where_add_child(chain, first);
        }
        where_lexer_next(x);
        where_node *next = is_or ? parse_chain(x, negate, depth, false) : parse_factor(x, negate, depth);
        if (next == NULL)
            return fail_free(chain);
        where_add_child(chain, next);
    }
    return chain != NULL ? chain : first;
}

static where_node *parse_condition(where_lexer *x, bool negate, int depth)
{
    if (depth > WHERE_DEPTH_MAX) {
        (void)where_lexer_fail(x, "parentheses nest deeper than %d", WHERE_DEPTH_MAX);
        return NULL;
    }
    return parse_chain(x, negate, depth, true);
}

where_node *where_parse(const char *text, where_error *e)
{
    where_lexer x;
    where_lexer_init(&x, text, e);
    where_lexer_next(&x);
    where_node *node = parse_condition(&x, false, 0);
    if (node != NULL && x.token != TOKEN_END) {
        (void)where_lexer_fail(&x, "AND, OR or the end was expected");
        where_free(node);
        node = NULL;
    }
    where_lexer_clear(&x);
    return node;
}
