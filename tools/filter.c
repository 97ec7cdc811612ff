/* SPDX-License-Identifier: Apache-2.0 */
#include "filter.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "app.h"

enum { FILTER_DEPTH_MAX = 60 };

static const struct {
    const char *name;
    pml_predicate_op op;
} comparisons[] = {{"eq", PML_OP_EQ},
                   {"ne", PML_OP_NE},
                   {"lt", PML_OP_LT},
                   {"le", PML_OP_LE},
                   {"gt", PML_OP_GT},
                   {"ge", PML_OP_GE},
                   {"prefix", PML_OP_STARTS_WITH}};

static where_node *filter_wrong(where_node *node, const char *what)
{
    (void)app_say(EXIT_USAGE, "--filter: %s", what);
    where_free(node);
    return NULL;
}

static bool add_value(where_node *leaf, const json_t *v)
{
    char text[64];
    int n;
    switch (json_typeof(v)) {
    case JSON_NULL: where_add_literal(leaf, NULL, 0, 0); return true;
    case JSON_STRING: where_add_literal(leaf, json_string_value(v), json_string_length(v), 0); return true;
    case JSON_TRUE:
    case JSON_FALSE: n = snprintf(text, sizeof text, "%s", json_is_true(v) ? "true" : "false"); break;
    case JSON_INTEGER: n = snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v)); break;
    case JSON_REAL: n = snprintf(text, sizeof text, "%.17g", json_real_value(v)); break;
    case JSON_OBJECT:
    case JSON_ARRAY:
    default: return false;
    }
    where_add_literal(leaf, text, (size_t)n, 0);
    return true;
}

static where_node *filter_leaf(const char *name, const json_t *list)
{
    pml_predicate_op op = (pml_predicate_op)0;
    size_t n = json_array_size(list);
    if (n == 0 || !json_is_string(json_array_get(list, 0)))
        return filter_wrong(NULL, "a test is {\"op\":[\"column\",...]}");
    const char *column = json_string_value(json_array_get(list, 0));
    if (strcmp(name, "isnull") == 0 || strcmp(name, "notnull") == 0) {
        if (n != 1)
            return filter_wrong(NULL, "isnull and notnull take a column only");
        return where_new_leaf(column, name[0] == 'i' ? PML_OP_IS_NULL : PML_OP_IS_NOT_NULL);
    }
    if (n != 2)
        return filter_wrong(NULL, "a test takes a column and a value");
    const json_t *v = json_array_get(list, 1);
    if (strcmp(name, "in") == 0) {
        where_node *leaf = where_new_leaf(column, PML_OP_IN);
        for (size_t i = 0; i < json_array_size(v); i++)
            if (!add_value(leaf, json_array_get(v, i)))
                return filter_wrong(leaf, "values are null, booleans, numbers or strings");
        return json_is_array(v) ? leaf : filter_wrong(leaf, "in takes a column and a list of values");
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (strcmp(name, comparisons[i].name) == 0)
            op = comparisons[i].op;
    if (op == 0)
        return filter_wrong(NULL, "unknown operator: eq ne lt le gt ge prefix in isnull notnull and or are known");
    where_node *leaf = where_new_leaf(column, op);
    return add_value(leaf, v) ? leaf : filter_wrong(leaf, "values are null, booleans, numbers or strings");
}

static where_node *filter_node(json_t *v, int depth)
{
    if (depth > FILTER_DEPTH_MAX)
        return filter_wrong(NULL, "nested too deep");
    if (!json_is_object(v) || json_object_size(v) != 1)
        return filter_wrong(NULL, "a predicate is an object with one key");
    const char *name = json_object_iter_key(json_object_iter(v));
    json_t *list = json_object_get(v, name);
    if (!json_is_array(list))
        return filter_wrong(NULL, "the value of a predicate's key is a list");
    if (strcmp(name, "and") != 0 && strcmp(name, "or") != 0)
        return filter_leaf(name, list);
    where_node *node = where_new(name[0] == 'a' ? WHERE_AND : WHERE_OR);
    for (size_t i = 0; i < json_array_size(list); i++) {
        where_node *child = filter_node(json_array_get(list, i), depth + 1);
        if (child == NULL) {
            where_free(node);
            return NULL;
        }
        where_add_child(node, child);
    }
    return node;
}

where_node *filter_parse(const char *json)
{
    json_error_t e;
    json_t *v = json_loads(json, JSON_REJECT_DUPLICATES, &e);
    if (v == NULL) {
        (void)app_say(EXIT_USAGE, "--filter: not JSON: %s (at column %d)", e.text, e.column);
        return NULL;
    }
    where_node *node = filter_node(v, 0);
    json_decref(v);
    return node;
}
