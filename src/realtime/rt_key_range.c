/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only what is joined by AND at the top counts, so a bound is never too tight; predicates are tested exactly after the merge. A further
 * key column has a bound only where those before it have one value each.
 */
#include "realtime/rt_key_range.h"

#include "columnar/batch.h"
#include "columnar/value_store.h"

/* Of one column, both inclusive; null: none. */
typedef struct bounds {
    const pml_field *field;
    pml_value least, most;
} bounds;

static void at_least(bounds *b, const pml_value *v)
{
    if (b->least.kind == PML_VALUE_NULL || pml_value__compare(v, &b->least) > 0)
        b->least = *v;
}

static void at_most(bounds *b, const pml_value *v)
{
    if (b->most.kind == PML_VALUE_NULL || pml_value__compare(v, &b->most) < 0)
        b->most = *v;
}

static bool usable(const pml_pred *p, const pml_field *f)
{
    const pml_type *t = &f->type;
    if (p->field_id != f->id || p->n_literals == 0 || pml_value__kind_of(p->type) != pml_value__kind_of(t) ||
        pml_type__is_float(t) || (t->kind == PML_TYPE_DECIMAL && p->type->scale != t->scale))
        return false;
    for (size_t i = 0; i < p->n_literals; i++)
        if (!pml_value__fits(t, &p->literals[i]))
            return false;
    return true;
}

/* The least and the greatest of an IN list. */
static void add_list(bounds *b, const pml_pred *p)
{
    const pml_value *least = &p->literals[0], *most = least;
    for (size_t i = 1; i < p->n_literals; i++) {
        const pml_value *v = &p->literals[i];
        least = pml_value__compare(v, least) < 0 ? v : least;
        most = pml_value__compare(v, most) > 0 ? v : most;
    }
    at_least(b, least);
    at_most(b, most);
}

/* Trees are at most PML_PRED_DEPTH_MAX deep. */
static void narrow(bounds *b, const pml_pred *p)
{
    for (size_t i = 0; p->op == PML_PRED_AND && i < p->n_children; i++)
        narrow(b, p->children[i]);
    bool leaf = p->op == PML_PRED_EQ || p->op == PML_PRED_IN || (p->op >= PML_PRED_LT && p->op <= PML_PRED_GE);
    if (!leaf || !usable(p, b->field))
        return;
    if (p->op == PML_PRED_EQ || p->op == PML_PRED_IN)
        add_list(b, p);
    else if (p->op == PML_PRED_GT || p->op == PML_PRED_GE)
        at_least(b, &p->literals[0]);
    else
        at_most(b, &p->literals[0]);
}

/* The next value of the type; false: there is none, or nobody knows. */
static bool step(pml_value *v, const pml_type *t, pml_arena *arena)
{
    const int64_t nanos_of_ms = 1000000;
    if (v->kind == PML_VALUE_BYTES) {
        uint8_t *longer = v->bytes.len >= INT32_MAX ? NULL : pml_arena__alloc(arena, v->bytes.len + 1); /* zeroed */
        if (longer == NULL)
            return false;
        if (v->bytes.len > 0)
            memcpy(longer, v->bytes.ptr, v->bytes.len);
        v->bytes = (pml_bytes){longer, v->bytes.len + 1};
        return true;
    }
    if (v->kind == PML_VALUE_TIMESTAMP) {
        int64_t nanos = v->ts.nanos + pml_layout__unit_nanos(t);
        if (v->ts.ms == INT64_MAX)
            return false;
        v->ts.ms += nanos / nanos_of_ms;
        v->ts.nanos = (int32_t)(nanos % nanos_of_ms);
        return true;
    }
    if (v->kind == PML_VALUE_DECIMAL)
        return !__builtin_add_overflow(v->dec, 1, &v->dec);
    if (v->kind == PML_VALUE_BOOL)
        return v->i++ == 0;
    return v->kind == PML_VALUE_INT && !__builtin_add_overflow(v->i, 1, &v->i) && pml_value__fits(t, v);
}

/* A one-row struct. What is no value of its column, a timestamp out of range, is no bound. */
static int make_bound(struct ArrowArray *out, pml_env *env, const bounds *b, const pml_value *values, size_t n, pml_error *err)
{
    struct ArrowArray columns[PML_RT_KEY_BOUND_MAX] = {{0}};
    int rc = PML_OK;
    for (size_t i = 0; rc == PML_OK && i < n; i++)
        rc = pml_batch__constant(&columns[i], env, &b[i].field->type, &values[i], 1, err);
    if (rc == PML_OK && n > 0)
        rc = pml_batch__from_columns(out, env, columns, n, 1, err);
    for (size_t i = 0; i < n; i++)
        pml_array__release(&columns[i]);
    return rc == PML_E_NOMEM ? rc : PML_OK;
}

int pml_rt_key_range__of(pml_rt_key_range *out, pml_env *env, const pml_rt_layout *l, const pml_pred *predicate, pml_error *err)
{
    bounds b[PML_RT_KEY_BOUND_MAX];
    pml_value least[PML_RT_KEY_BOUND_MAX], most[PML_RT_KEY_BOUND_MAX];
    size_t n_least = 0, n_most = 0;
    pml_arena arena;
    *out = (pml_rt_key_range){0};
    if (predicate == NULL)
        return PML_OK;
    bool fixed = true;
    for (size_t i = 0; fixed && i < l->merge.n_keys && i < PML_RT_KEY_BOUND_MAX; i++) {
        b[i] = (bounds){.field = &l->fields[l->merge.keys[i]]};
        narrow(&b[i], predicate);
        least[i] = b[i].least;
        most[i] = b[i].most;
        n_least = b[i].least.kind == PML_VALUE_NULL ? n_least : i + 1;
        n_most = b[i].most.kind == PML_VALUE_NULL ? n_most : i + 1;
        fixed = n_least == i + 1 && n_most == i + 1 && pml_value__compare(&least[i], &most[i]) == 0;
    }
    pml_arena__init(&arena, env);
    while (n_most > 0 && !step(&most[n_most - 1], &b[n_most - 1].field->type, &arena))
        n_most--;
    int rc = make_bound(&out->lo, env, b, least, n_least, err);
    if (rc == PML_OK)
        rc = make_bound(&out->hi, env, b, most, n_most, err);
    pml_arena__clear(&arena);
    if (rc != PML_OK)
        pml_rt_key_range__clear(out);
    return rc;
}

void pml_rt_key_range__clear(pml_rt_key_range *r)
{
    pml_array__release(&r->lo);
    pml_array__release(&r->hi);
}
