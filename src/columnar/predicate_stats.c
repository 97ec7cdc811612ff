/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by statistics, with the rules of Java's LeafPredicate.test over min, max and null count. Statistics are hints from
 * files: whatever does not fit together (another kind of value, an impossible null count) counts as unknown and keeps.
 */
#include "columnar/predicate.h"

#include "columnar/predicate_node.h"
#include "columnar/value_store.h"

static bool starts_with(pml_bytes v, pml_bytes prefix)
{
    return v.len >= prefix.len && (prefix.len == 0 || memcmp(v.ptr, prefix.ptr, prefix.len) == 0);
}

/* One literal that is not null, and known bounds of the same kind. */
static bool literal_may_match(pml_pred_op op, const pml_value *v, const pml_value *min, const pml_value *max)
{
    int low = pml_value__compare(min, v), high = pml_value__compare(max, v);
    switch (op) {
    case PML_PRED_EQ:
    case PML_PRED_IN: return low <= 0 && high >= 0;
    case PML_PRED_NE:
    case PML_PRED_NOT_IN: return low != 0 || high != 0;
    case PML_PRED_LT: return low < 0;
    case PML_PRED_LE: return low <= 0;
    case PML_PRED_GT: return high > 0;
    case PML_PRED_GE: return high >= 0;
    case PML_PRED_STARTS_WITH:
        return (low <= 0 || starts_with(min->bytes, v->bytes)) && (high >= 0 || starts_with(max->bytes, v->bytes));
    default: return true;
    }
}

static bool bounds_may_match(const pml_pred *p, const pml_value *min, const pml_value *max)
{
    bool any = p->op == PML_PRED_IN; /* one literal is enough; for the others all must hold */
    for (size_t i = 0; i < p->n_literals; i++) {
        const pml_value *v = &p->literals[i];
        bool match = v->kind != PML_VALUE_NULL && literal_may_match(p->op, v, min, max);
        if (match == any)
            return any;
    }
    return !any;
}

static bool leaf_may_match(const pml_pred *p, const pml_column_stats *s, int64_t rows)
{
    bool nulls_known = s->null_count >= 0 && s->null_count <= rows;
    bool all_null = nulls_known && s->null_count == rows;
    if (p->op == PML_PRED_IS_NULL)
        return !nulls_known || s->null_count > 0;
    if (all_null)
        return false;
    if (p->op == PML_PRED_IS_NOT_NULL)
        return true;
    pml_value_kind kind = pml_value__kind_of(p->type);
    if (p->op != PML_PRED_IN && pml_pred__has_null_literal(p))
        return false;
    if (kind == PML_VALUE_NULL || s->min.kind != kind || s->max.kind != kind)
        return true;
    return bounds_may_match(p, &s->min, &s->max);
}

bool pml_pred__may_match(const pml_pred *p, const pml_column_stats *stats, size_t n_stats, int64_t rows)
{
    if (p->op == PML_PRED_TRUE || p->op == PML_PRED_FALSE)
        return p->op == PML_PRED_TRUE;
    if (p->op == PML_PRED_AND || p->op == PML_PRED_OR) {
        bool and = p->op == PML_PRED_AND;
        for (size_t i = 0; i < p->n_children; i++)
            if (pml_pred__may_match(p->children[i], stats, n_stats, rows) != and)
                return !and;
        return and;
    }
    for (size_t i = 0; i < n_stats; i++)
        if (stats[i].field_id == p->field_id)
            return leaf_may_match(p, &stats[i], rows);
    return true;
}
