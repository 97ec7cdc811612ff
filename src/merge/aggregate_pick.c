/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose result stands in one of the rows: the accumulator is the reference of a value that is not null. */
#include "merge/aggregate.h"

typedef struct pick {
    const pml_fold *fold;
    pml_row_ref acc;  /* PML_REF_NULL: null */
    bool initialized; /* first_*: a value was taken since the key began */
} pick;

static const pml_row_ref null_ref = {PML_REF_NULL, 0};

static bool is_null(pml_row_ref r)
{
    return r.batch == PML_REF_NULL;
}

static bool has_order(const pml_type *t)
{
    return !pml_type__is_nested(t) && t->kind != PML_TYPE_BOOLEAN && t->kind != PML_TYPE_BLOB;
}

/* Java: InternalRowUtils.compare, which also fails late, when two values meet. */
static int pick_order(const pml_aggregator *a, const pick *p, pml_row_ref x, pml_row_ref y, int *c, pml_error *err)
{
    pml_value v, w;
    if (!has_order(a->type))
        return pml_error__set(err, PML_E_INVAL, "column %s: %s cannot compare values of type %s", a->column, a->name,
                              pml_type__word(a->type->kind));
    pml_item i = pml_fold__item(p->fold, a, x), j = pml_fold__item(p->fold, a, y);
    pml_value__get(&v, a->type, i.array, i.row);
    pml_value__get(&w, a->type, j.array, j.row);
    *c = pml_value__compare(&v, &w);
    return PML_OK;
}

static bool pick_bool(const pml_aggregator *a, const pick *p, pml_row_ref r)
{
    pml_item i = pml_fold__item(p->fold, a, r);
    return pml_bit_get(i.array->buffers[1], i.array->offset + i.row);
}

/* agg(x, y) of each function; first_* count what they take. */
static int pick_agg(const pml_aggregator *a, pick *p, pml_row_ref x, pml_row_ref y, pml_error *err)
{
    int c = 0;
    bool one = is_null(x) || is_null(y);
    pml_row_ref other = is_null(x) ? y : x;
    switch (a->mode) {
    case PML_PICK_LAST_NON_NULL: p->acc = is_null(y) ? x : y; break;
    case PML_PICK_FIRST:
        p->acc = p->initialized ? x : y;
        p->initialized = true;
        break;
    case PML_PICK_FIRST_NON_NULL:
        p->acc = p->initialized || is_null(y) ? x : y;
        p->initialized = p->initialized || !is_null(y);
        break;
    case PML_PICK_MAX:
    case PML_PICK_MIN:
        p->acc = other;
        if (!one) {
            PML_RETURN_IF(pick_order(a, p, x, y, &c, err));
            p->acc = (a->mode == PML_PICK_MAX ? c < 0 : c > 0) ? y : x;
        }
        break;
    case PML_PICK_AND: p->acc = one ? other : pick_bool(a, p, x) ? y : x; break;
    case PML_PICK_OR: p->acc = one ? other : pick_bool(a, p, x) ? x : y; break;
    default: p->acc = y; break; /* last_value, primary-key */
    }
    return PML_OK;
}

static void pick_begin(pml_aggregator *a, const pml_fold *f)
{
    *(pick *)a->state = (pick){.fold = f, .acc = null_ref};
}

static int pick_step(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err)
{
    pick *p = a->state;
    switch (op) {
    case PML_FOLD_ADD: return pick_agg(a, p, p->acc, in, err);
    case PML_FOLD_REVERSED: return pick_agg(a, p, in, p->acc, err);
    case PML_FOLD_RETRACT:
        if (a->mode == PML_PICK_KEY)
            p->acc = in;
        else if (a->mode == PML_PICK_LAST || !is_null(in))
            p->acc = null_ref;
        break;
    case PML_FOLD_TAKE: p->acc = in; break;
    case PML_FOLD_CLEAR: p->acc = null_ref; break;
    }
    return PML_OK;
}

static int pick_end(pml_aggregator *a, pml_merge_output *out, pml_error *err)
{
    (void)err;
    return pml_merge_output__pick(out, a->position, ((const pick *)a->state)->acc);
}

static bool row_is_null(const pml_aggregator *a, const pml_fold *f, size_t i)
{
    return pml_item__is_null(pml_fold__item(f, a, f->group->rows[i].ref));
}

/* The newest, or oldest, row that is not null; the group's end: none. */
static size_t seek(const pml_aggregator *a, const pml_fold *f, bool newest)
{
    size_t n = f->group->n, i = 0;
    while (i < n && row_is_null(a, f, newest ? n - 1 - i : i))
        i++;
    return i == n ? n : newest ? n - 1 - i : i;
}

static int64_t load_int(const pml_item i, size_t width)
{
    const uint8_t *at = (const uint8_t *)i.array->buffers[1] + (size_t)(i.array->offset + i.row) * width;
    switch (width) {
    case 1: return (int8_t)at[0];
    case 2: return (int16_t)pml_le16(at);
    case 4: return (int32_t)pml_le32(at);
    default: return (int64_t)pml_le64(at);
    }
}

/* max and min of whole numbers, days, times: compared as the integers of their column. */
static size_t seek_extreme(const pml_aggregator *a, const pml_fold *f, size_t width)
{
    size_t best = f->group->n;
    int64_t acc = 0;
    for (size_t i = 0; i < f->group->n; i++) {
        pml_item item = pml_fold__item(f, a, f->group->rows[i].ref);
        if (pml_item__is_null(item))
            continue;
        int64_t v = load_int(item, width);
        if (best == f->group->n || (a->mode == PML_PICK_MAX ? v > acc : v < acc)) {
            acc = v;
            best = i;
        }
    }
    return best;
}

static bool is_integer(const pml_type *t)
{
    return (t->kind >= PML_TYPE_TINYINT && t->kind <= PML_TYPE_BIGINT) ||
           (t->kind >= PML_TYPE_DATE && t->kind <= PML_TYPE_TIMESTAMP_LTZ);
}

static int pick_plain(pml_aggregator *a, const pml_fold *f, bool *done, pml_error *err)
{
    size_t n = f->group->n, at;
    switch (a->mode) {
    case PML_PICK_LAST:
    case PML_PICK_KEY: at = row_is_null(a, f, n - 1) ? n : n - 1; break;
    case PML_PICK_FIRST: at = row_is_null(a, f, 0) ? n : 0; break;
    case PML_PICK_LAST_NON_NULL: at = seek(a, f, true); break;
    case PML_PICK_FIRST_NON_NULL: at = seek(a, f, false); break;
    case PML_PICK_MAX:
    case PML_PICK_MIN:
        if (!is_integer(a->type))
            return PML_OK;
        at = seek_extreme(a, f, pml_layout__width(a->type));
        break;
    default: return PML_OK;
    }
    *done = true;
    return pml_aggregator__explain(
        a, pml_merge_output__pick(f->out, a->position, at == n ? null_ref : f->group->rows[at].ref), err);
}

const pml_aggregator_kind pml_aggregator_pick = {
    .state_size = sizeof(pick),
    .begin = pick_begin,
    .step = pick_step,
    .end = pick_end,
    .plain = pick_plain,
};
