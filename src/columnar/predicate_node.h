/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement predicates. */
#ifndef PML_COLUMNAR_PREDICATE_NODE_H
#define PML_COLUMNAR_PREDICATE_NODE_H

#include "columnar/predicate.h"

static inline bool pml_pred__is_leaf(const pml_pred *p)
{
    return p->op >= PML_PRED_EQ;
}

/* Parts are there and literals fit the type: everything that evaluation relies on, for this node alone. */
bool pml_pred__node_valid(const pml_pred *p);
/* Whether a literal is null: for all but IN that makes the node false. */
bool pml_pred__has_null_literal(const pml_pred *p);
/* A leaf over one value that is not null; literals of IN and NOT IN may be null. */
bool pml_pred__test_value(const pml_pred *p, const pml_value *v);

/* Evaluates a leaf over the rows of one column, from row `row` of the array on. */
int pml_pred__eval_leaf(uint8_t *keep, const pml_pred *p, pml_env *env, const pml_type *t, const struct ArrowArray *a,
                        int64_t row, int64_t n, pml_error *err);

#endif
