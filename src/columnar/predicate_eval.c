/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of a tree over a batch: one byte per row and node, combined with plain byte loops. */
#include "columnar/predicate.h"

#include "columnar/predicate_node.h"

typedef struct evaluation {
    pml_env *env;
    const struct ArrowArray *batch;
    const pml_field *fields;
    size_t n_fields;
    pml_error *err;
} evaluation;

static int eval_node(uint8_t *keep, const evaluation *e, const pml_pred *p, int depth);

static int eval_column(uint8_t *keep, const evaluation *e, const pml_pred *p)
{
    for (size_t i = 0; i < e->n_fields; i++)
        if (e->fields[i].id == p->field_id)
            return pml_pred__eval_leaf(keep, p, e->env, &e->fields[i].type, e->batch->children[i], e->batch->offset,
                                       e->batch->length, e->err);
    return pml_error__set(e->err, PML_E_INVAL, "the predicate uses column %s (id %d), which the batch does not have",
                          p->name == NULL ? "?" : p->name, p->field_id);
}

static int eval_children(uint8_t *keep, const evaluation *e, const pml_pred *p, int depth)
{
    int rc = PML_OK;
    bool and = p->op == PML_PRED_AND;
    size_t n = (size_t)e->batch->length;
    uint8_t *other = NULL;
    memset(keep, and, n);
    if (p->n_children == 0)
        return PML_OK;
    PML_TRY(eval_node(keep, e, p->children[0], depth + 1));
    for (size_t i = 1; i < p->n_children; i++) {
        if (memchr(keep, and, n) == NULL)
            break; /* nothing can change any more */
        if (other == NULL && (other = pml_env__alloc(e->env, n)) == NULL)
            PML_TRY(pml_error__no_memory(e->err));
        PML_TRY(eval_node(other, e, p->children[i], depth + 1));
        if (and)
            for (size_t k = 0; k < n; k++)
                keep[k] &= other[k];
        else
            for (size_t k = 0; k < n; k++)
                keep[k] |= other[k];
    }
out:
    pml_env__free(e->env, other);
    return rc;
}

static int eval_node(uint8_t *keep, const evaluation *e, const pml_pred *p, int depth)
{
    if (depth > PML_PRED_DEPTH_MAX)
        return pml_error__set(e->err, PML_E_LIMIT, "the predicate is nested more than %d deep", PML_PRED_DEPTH_MAX);
    if (!pml_pred__node_valid(p))
        return pml_error__set(e->err, PML_E_INVAL, "the predicate on column %s has literals that do not fit",
                              p->name == NULL ? "?" : p->name);
    if (p->op == PML_PRED_AND || p->op == PML_PRED_OR)
        return eval_children(keep, e, p, depth);
    if (pml_pred__is_leaf(p))
        return eval_column(keep, e, p);
    memset(keep, p->op == PML_PRED_TRUE, (size_t)e->batch->length);
    return PML_OK;
}

int pml_pred__eval(uint8_t *keep, const pml_pred *p, pml_env *env, const struct ArrowArray *batch,
                   const pml_field *fields, size_t n_fields, pml_error *err)
{
    const evaluation e = {env, batch, fields, n_fields, err};
    return batch->length == 0 ? PML_OK : eval_node(keep, &e, p, 1);
}
