/* SPDX-License-Identifier: Apache-2.0 */
/* Predicate trees as such: copying with checks, projecting, one row of values. */
#include "columnar/predicate.h"

#include "columnar/predicate_node.h"
#include "columnar/value_store.h"

static bool literals_valid(const pml_pred *p)
{
    bool text_only = p->op >= PML_PRED_STARTS_WITH;
    pml_value_kind kind = pml_value__kind_of(p->type);
    if (kind == PML_VALUE_NULL || (text_only && kind != PML_VALUE_BYTES) || (p->n_literals > 0 && p->literals == NULL))
        return false;
    if (p->op != PML_PRED_IN && p->op != PML_PRED_NOT_IN && p->n_literals != 1)
        return false;
    for (size_t i = 0; i < p->n_literals; i++) {
        if (p->literals[i].kind != PML_VALUE_NULL && p->literals[i].kind != kind)
            return false;
        if (kind == PML_VALUE_TIMESTAMP && p->literals[i].kind == kind &&
            (p->literals[i].ts.nanos < 0 || p->literals[i].ts.nanos > 999999))
            return false;
    }
    return true;
}

bool pml_pred__node_valid(const pml_pred *p)
{
    switch (p->op) {
    case PML_PRED_TRUE:
    case PML_PRED_FALSE: return true;
    case PML_PRED_AND:
    case PML_PRED_OR:
        for (size_t i = 0; i < p->n_children; i++)
            if (p->children == NULL || p->children[i] == NULL)
                return false;
        return true;
    case PML_PRED_IS_NULL:
    case PML_PRED_IS_NOT_NULL: return p->type != NULL && p->n_literals == 0;
    case PML_PRED_EQ:
    case PML_PRED_NE:
    case PML_PRED_LT:
    case PML_PRED_LE:
    case PML_PRED_GT:
    case PML_PRED_GE:
    case PML_PRED_IN:
    case PML_PRED_NOT_IN:
    case PML_PRED_STARTS_WITH:
    case PML_PRED_ENDS_WITH:
    case PML_PRED_CONTAINS: return p->type != NULL && literals_valid(p);
    }
    return false; /* a number from outside */
}

bool pml_pred__has_null_literal(const pml_pred *p)
{
    for (size_t i = 0; i < p->n_literals; i++)
        if (p->literals[i].kind == PML_VALUE_NULL)
            return true;
    return false;
}

typedef struct copy_limits {
    size_t nodes, literals;
} copy_limits;

static int pred_copy_leaf(pml_pred *n, pml_arena *arena, const pml_pred *p)
{
    int rc = PML_OK;
    pml_type *type = pml_arena__copy(arena, p->type, sizeof *type);
    n->field_id = p->field_id;
    n->name = pml_arena__strdup(arena, p->name == NULL ? "" : p->name);
    n->literals = pml_arena__array(arena, p->n_literals == 0 ? 1 : p->n_literals, sizeof *n->literals);
    if (type == NULL || n->name == NULL || n->literals == NULL)
        return PML_E_NOMEM;
    type->n_children = 0;
    type->children = NULL;
    n->type = type;
    for (; n->n_literals < p->n_literals; n->n_literals++)
        PML_TRY(pml_value__copy(&n->literals[n->n_literals], arena, &p->literals[n->n_literals]));
out:
    return rc;
}

static int pred_copy(pml_pred **out, pml_arena *arena, const pml_pred *p, int depth, copy_limits *used)
{
    int rc = PML_OK;
    *out = NULL;
    if (p == NULL || !pml_pred__node_valid(p))
        return PML_E_INVAL;
    bool leaf = pml_pred__is_leaf(p);
    used->literals += leaf ? p->n_literals : 0;
    if (depth > PML_PRED_DEPTH_MAX || ++used->nodes > PML_PRED_NODES_MAX || used->literals > PML_PRED_LITERALS_MAX)
        return PML_E_LIMIT;
    pml_pred *n = pml_arena__alloc(arena, sizeof *n);
    if (n == NULL)
        return PML_E_NOMEM;
    n->op = p->op;
    if (leaf)
        PML_TRY(pred_copy_leaf(n, arena, p));
    if (p->op == PML_PRED_AND || p->op == PML_PRED_OR) {
        /* Bounded before the table of children is allocated. */
        if (p->n_children > PML_PRED_NODES_MAX - used->nodes)
            return PML_E_LIMIT;
        n->children = pml_arena__array(arena, p->n_children == 0 ? 1 : p->n_children, sizeof(pml_pred *));
        if (n->children == NULL)
            return PML_E_NOMEM;
        for (; n->n_children < p->n_children; n->n_children++)
            PML_TRY(pred_copy(&n->children[n->n_children], arena, p->children[n->n_children], depth + 1, used));
    }
    *out = n;
out:
    return rc;
}

int pml_pred__copy(pml_pred **out, pml_arena *arena, const pml_pred *p)
{
    copy_limits used = {0};
    return pred_copy(out, arena, p, 1, &used);
}

static bool uses_only(const pml_pred *p, const int32_t *ids, size_t n_ids)
{
    if (pml_pred__is_leaf(p)) {
        for (size_t i = 0; i < n_ids; i++)
            if (ids[i] == p->field_id)
                return true;
        return false;
    }
    for (size_t i = 0; i < p->n_children; i++)
        if (!uses_only(p->children[i], ids, n_ids))
            return false;
    return true;
}

int pml_pred__project(pml_pred **out, pml_arena *arena, const pml_pred *p, const int32_t *ids, size_t n_ids)
{
    int rc = PML_OK;
    *out = NULL;
    if (p->op != PML_PRED_AND || uses_only(p, ids, n_ids)) {
        /* Trees are immutable, so the node itself can be part of the result. */
        *out = uses_only(p, ids, n_ids) ? (pml_pred *)(uintptr_t)p : NULL;
        return PML_OK;
    }
    pml_pred *n = pml_arena__alloc(arena, sizeof *n);
    if (n == NULL)
        return PML_E_NOMEM;
    n->op = PML_PRED_AND;
    n->children = pml_arena__array(arena, p->n_children == 0 ? 1 : p->n_children, sizeof(pml_pred *));
    if (n->children == NULL)
        return PML_E_NOMEM;
    for (size_t i = 0; i < p->n_children; i++) {
        pml_pred *child;
        PML_TRY(pml_pred__project(&child, arena, p->children[i], ids, n_ids));
        if (child != NULL)
            n->children[n->n_children++] = child;
    }
    *out = n->n_children == 0 ? NULL : n->n_children == 1 ? n->children[0] : n;
out:
    return rc;
}

static bool bytes_contain(pml_bytes v, pml_bytes part)
{
    return part.len == 0 || (v.len >= part.len && memmem(v.ptr, v.len, part.ptr, part.len) != NULL);
}

static bool in_literals(const pml_pred *p, const pml_value *v)
{
    for (size_t i = 0; i < p->n_literals; i++)
        if (p->literals[i].kind == v->kind && pml_value__compare(v, &p->literals[i]) == 0)
            return true;
    return false;
}

bool pml_pred__test_value(const pml_pred *p, const pml_value *v)
{
    pml_value_kind kind = pml_value__kind_of(p->type);
    if (p->op == PML_PRED_IS_NULL || p->op == PML_PRED_IS_NOT_NULL)
        return p->op == PML_PRED_IS_NOT_NULL;
    if (p->op == PML_PRED_IN)
        return in_literals(p, v);
    if (pml_pred__has_null_literal(p) || v->kind != kind)
        return false;
    if (p->op == PML_PRED_NOT_IN)
        return !in_literals(p, v);
    const pml_value *w = &p->literals[0];
    if (p->op == PML_PRED_CONTAINS)
        return bytes_contain(v->bytes, w->bytes);
    if (p->op == PML_PRED_STARTS_WITH || p->op == PML_PRED_ENDS_WITH) {
        size_t len = w->bytes.len, skip = p->op == PML_PRED_ENDS_WITH ? v->bytes.len - len : 0;
        return v->bytes.len >= len && (len == 0 || memcmp(v->bytes.ptr + skip, w->bytes.ptr, len) == 0);
    }
    int c = pml_value__compare(v, w);
    switch (p->op) {
    case PML_PRED_EQ: return c == 0;
    case PML_PRED_NE: return c != 0;
    case PML_PRED_LT: return c < 0;
    case PML_PRED_LE: return c <= 0;
    case PML_PRED_GT: return c > 0;
    default: return c >= 0;
    }
}

bool pml_pred__test_values(const pml_pred *p, const int32_t *ids, const pml_value *values, size_t n)
{
    if (p->op == PML_PRED_TRUE || p->op == PML_PRED_FALSE)
        return p->op == PML_PRED_TRUE;
    if (p->op == PML_PRED_AND || p->op == PML_PRED_OR) {
        bool and = p->op == PML_PRED_AND;
        for (size_t i = 0; i < p->n_children; i++)
            if (pml_pred__test_values(p->children[i], ids, values, n) != and)
                return !and;
        return and;
    }
    for (size_t i = 0; i < n; i++) {
        if (ids[i] != p->field_id)
            continue;
        if (values[i].kind == PML_VALUE_NULL)
            return p->op == PML_PRED_IS_NULL;
        return pml_pred__test_value(p, &values[i]);
    }
    return true;
}

/* The smallest id above `after`; false when there is none. */
static bool next_column(const pml_pred *p, int64_t after, int32_t *next)
{
    bool found = false;
    int32_t id = p->field_id;
    if (pml_pred__is_leaf(p)) {
        *next = id;
        return id > after;
    }
    for (size_t i = 0; i < p->n_children; i++)
        if (next_column(p->children[i], after, &id) && (!found || id < *next)) {
            found = true;
            *next = id;
        }
    return found;
}

void pml_pred__columns(const pml_pred *p, void (*fn)(void *arg, int32_t field_id), void *arg)
{
    int32_t id = 0;
    /* One walk per distinct column: no memory, and predicates use few columns. */
    for (int64_t after = INT64_MIN; next_column(p, after, &id); after = id)
        fn(arg, id);
}
