/* SPDX-License-Identifier: Apache-2.0 */
/* The public side of predicates: names and texts in, columnar's trees out. */
#include <string.h>

#include "table/scan.h"

static int predicate_new(pml_predicate **out, pml_env *env)
{
    *out = pml_env__calloc(env, 1, sizeof **out);
    if (*out == NULL)
        return PML_E_NOMEM;
    pml_env_acquire(env);
    (*out)->env = env;
    pml_arena__init(&(*out)->arena, env);
    (*out)->tree = pml_arena__alloc(&(*out)->arena, sizeof(pml_pred));
    if ((*out)->tree == NULL) {
        pml_predicate_free(*out);
        *out = NULL;
        return PML_E_NOMEM;
    }
    return PML_OK;
}

void pml_predicate_free(pml_predicate *p)
{
    if (p == NULL)
        return;
    pml_env *env = p->env;
    pml_arena__clear(&p->arena);
    pml_env__free(env, p);
    pml_env_release(env);
}

static const struct {
    pml_predicate_op op;
    pml_pred_op tree_op;
    int n_literals; /* -1: any */
} ops[] = {
    {PML_OP_EQ, PML_PRED_EQ, 1},           {PML_OP_NE, PML_PRED_NE, 1},
    {PML_OP_LT, PML_PRED_LT, 1},           {PML_OP_LE, PML_PRED_LE, 1},
    {PML_OP_GT, PML_PRED_GT, 1},           {PML_OP_GE, PML_PRED_GE, 1},
    {PML_OP_IN, PML_PRED_IN, -1},          {PML_OP_NOT_IN, PML_PRED_NOT_IN, -1},
    {PML_OP_IS_NULL, PML_PRED_IS_NULL, 0}, {PML_OP_IS_NOT_NULL, PML_PRED_IS_NOT_NULL, 0},
    {PML_OP_STARTS_WITH, PML_PRED_STARTS_WITH, 1}, {PML_OP_ENDS_WITH, PML_PRED_ENDS_WITH, 1},
    {PML_OP_CONTAINS, PML_PRED_CONTAINS, 1}};

static bool is_text(const pml_type *t)
{
    return t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR || t->kind == PML_TYPE_BINARY || t->kind == PML_TYPE_VARBINARY;
}

static int leaf_check(pml_pred_op op, int want, const pml_field *f, size_t n, pml_error *err)
{
    if (want >= 0 ? n != (size_t)want : n > PML_PRED_LITERALS_MAX)
        return pml_error__set(err, PML_E_INVAL, "a predicate on column '%s' has %zu values, wanted is %s", f->name, n,
                              want == 0 ? "none" : want == 1 ? "one" : "at most 65536");
    if (pml_type__is_nested(&f->type) && want != 0)
        return pml_error__set(err, PML_E_INVAL, "column '%s' is nested: only IS NULL and IS NOT NULL apply to it", f->name);
    if ((op == PML_PRED_STARTS_WITH || op == PML_PRED_ENDS_WITH || op == PML_PRED_CONTAINS) && !is_text(&f->type))
        return pml_error__set(err, PML_E_INVAL, "column '%s' is no string: a pattern does not apply to it", f->name);
    return PML_OK;
}

int pml_predicate__leaf(pml_predicate **out, pml_env *env, const pml_field *f, pml_predicate_op op, const pml_literal *literals, size_t n,
                        pml_error *err)
{
    pml_predicate *p = NULL;
    size_t k = 0;
    int rc = PML_OK;
    while (k < sizeof ops / sizeof ops[0] && ops[k].op != op)
        k++;
    if (k == sizeof ops / sizeof ops[0])
        return pml_error__set(err, PML_E_INVAL, "%d is no predicate operator", (int)op);
    PML_RETURN_IF(leaf_check(ops[k].tree_op, ops[k].n_literals, f, n, err));
    if (predicate_new(&p, env) != PML_OK)
        return pml_error__no_memory(err);
    pml_type *type = pml_arena__alloc(&p->arena, sizeof *type);
    p->tree->literals = pml_arena__array(&p->arena, n, sizeof *p->tree->literals);
    p->tree->name = pml_arena__strdup(&p->arena, f->name);
    if (type == NULL || p->tree->literals == NULL || p->tree->name == NULL || pml_type__copy(type, &p->arena, &f->type) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    p->tree->op = ops[k].tree_op;
    p->tree->field_id = f->id;
    p->tree->type = type;
    p->tree->n_literals = n;
    for (size_t i = 0; i < n; i++)
        if (literals[i].text != NULL) /* else it stays the null value */
            PML_TRY(pml_value__parse(&p->tree->literals[i], &p->arena, type, literals[i].text, literals[i].len, err));
    *out = p;
    p = NULL;
out:
    pml_predicate_free(p);
    return rc;
}

int pml_predicate_leaf(pml_predicate **out, const pml_table *table, const char *column, pml_predicate_op op,
                       const pml_literal *literals, size_t n, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (table == NULL || column == NULL || (n > 0 && literals == NULL))
        return pml_error__set(err, PML_E_INVAL, "a predicate wants a table, a column and its values");
    int32_t index = pml_table_schema__find(table->schema, column, strlen(column));
    if (index < 0)
        return pml_error__set(err, PML_E_NOT_FOUND, "there is no column '%s' in %s", column, table->path);
    return pml_predicate__leaf(out, table->env, &table->schema->fields[index], op, literals, n, err);
}

static int combine(pml_predicate **out, pml_env *env, pml_pred_op op, pml_predicate **children, size_t n, pml_error *err)
{
    pml_predicate *p = NULL;
    bool missing = false;
    PML_RETURN_IF(pml_error__need_array(children, n, "children", err));
    int rc = pml_error__need(out, "out", err);
    if (rc != PML_OK) { /* the children are ours on any return */
        for (size_t i = 0; i < n; i++)
            pml_predicate_free(children[i]);
        return rc;
    }
    *out = NULL;
    rc = predicate_new(&p, env);
    if (rc == PML_OK) {
        p->tree->op = n > 0 ? op : op == PML_PRED_AND ? PML_PRED_TRUE : PML_PRED_FALSE;
        p->tree->children = pml_arena__array(&p->arena, n, sizeof *p->tree->children);
        rc = p->tree->children == NULL ? PML_E_NOMEM : PML_OK;
    }
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        missing = children[i] == NULL; /* what a failed leaf left behind */
        rc = missing ? PML_E_INVAL : pml_pred__copy(&p->tree->children[i], &p->arena, children[i]->tree);
        p->tree->n_children += rc == PML_OK;
    }
    for (size_t i = 0; i < n; i++)
        pml_predicate_free(children[i]);
    if (rc != PML_OK) {
        pml_predicate_free(p);
        if (missing)
            return pml_error__set(err, PML_E_INVAL, "a child of AND or OR is NULL");
        return rc == PML_E_LIMIT ? pml_error__set(err, rc, "the predicate is nested deeper than %d", PML_PRED_DEPTH_MAX)
                                 : pml_error__no_memory(err);
    }
    *out = p;
    return PML_OK;
}

int pml_predicate_and(pml_predicate **out, pml_env *env, pml_predicate **children, size_t n, pml_error *err)
{
    return combine(out, env, PML_PRED_AND, children, n, err);
}

int pml_predicate_or(pml_predicate **out, pml_env *env, pml_predicate **children, size_t n, pml_error *err)
{
    return combine(out, env, PML_PRED_OR, children, n, err);
}
