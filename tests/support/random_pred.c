/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_pred.h"

#include "columnar/value_store.h"
#include "support/random_batch.h"

static pml_pred *random_leaf(test_env *t, pml_arena *arena, const pml_field *fields, size_t n)
{
    size_t c = test_random(t) % n;
    pml_pred *p = pml_arena__alloc(arena, sizeof *p);
    assert_non_null(p);
    *p = (pml_pred){.field_id = fields[c].id, .type = &fields[c].type, .name = fields[c].name};
    bool bytes = pml_value__kind_of(p->type) == PML_VALUE_BYTES;
    p->op = pml_type__is_nested(p->type) ? PML_PRED_IS_NULL + test_random(t) % 2 : PML_PRED_EQ + test_random(t) % (bytes ? 13 : 10);
    if (p->op == PML_PRED_IS_NULL || p->op == PML_PRED_IS_NOT_NULL)
        return p;
    bool set = p->op == PML_PRED_IN || p->op == PML_PRED_NOT_IN;
    p->n_literals = set ? test_random(t) % (test_random(t) % 3 == 0 ? 40 : 4) : 1;
    p->literals = pml_arena__array(arena, p->n_literals + 1, sizeof *p->literals);
    assert_non_null(p->literals);
    for (size_t i = 0; i < p->n_literals; i++) {
        p->literals[i] = random_value(t, arena, p->type);
        if (p->literals[i].kind == PML_VALUE_TIMESTAMP && test_random(t) % 8 == 0)
            p->literals[i].ts.ms = test_random(t) % 2 ? INT64_MAX : INT64_MIN;
        if (test_random(t) % (set ? 60 : 12) == 0)
            p->literals[i].kind = PML_VALUE_NULL;
    }
    return p;
}

pml_pred *random_pred(test_env *t, pml_arena *arena, const pml_field *fields, size_t n, int depth)
{
    if (depth == 0 || test_random(t) % 3 == 0)
        return random_leaf(t, arena, fields, n);
    pml_pred *p = pml_arena__alloc(arena, sizeof *p);
    assert_non_null(p);
    p->op = PML_PRED_AND + test_random(t) % 2;
    if (test_random(t) % 16 == 0)
        p->op = PML_PRED_TRUE + test_random(t) % 2;
    else
        p->n_children = test_random(t) % 4;
    p->children = pml_arena__array(arena, 4, sizeof *p->children);
    assert_non_null(p->children);
    for (size_t i = 0; i < p->n_children; i++)
        p->children[i] = random_pred(t, arena, fields, n, depth - 1);
    return p;
}
