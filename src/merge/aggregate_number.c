/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum and product, in Java's arithmetic: whole numbers wrap around at the width of their type, floats are added in the order of the
 * rows. A DECIMAL of more digits than its precision becomes null, except in a sum of up to 18 digits: that is added as 64-bit
 * numbers and keeps what does not fit the precision until it does not fit those (DecimalUtils.add).
 */
#include "columnar/decimal.h"
#include "merge/aggregate.h"

enum { COMPACT_DIGITS = 18 };

typedef struct number {
    const pml_fold *fold;
    pml_value acc;
} number;

static int64_t wrap(pml_type_kind kind, uint64_t v)
{
    switch (kind) {
    case PML_TYPE_TINYINT: return (int8_t)v;
    case PML_TYPE_SMALLINT: return (int16_t)v;
    case PML_TYPE_INT: return (int32_t)v;
    default: return (int64_t)v;
    }
}

static void add_decimal(const pml_type *t, pml_value *acc, pml_int128 x, pml_int128 y, bool minus)
{
    pml_int128 sum;
    bool over = minus ? __builtin_sub_overflow(x, y, &sum) : __builtin_add_overflow(x, y, &sum);
    bool compact = t->precision <= COMPACT_DIGITS && !over && sum >= INT64_MIN && sum <= INT64_MAX;
    acc->kind = compact || (!over && pml_decimal__fits(sum, t->precision)) ? PML_VALUE_DECIMAL : PML_VALUE_NULL;
    acc->dec = sum;
}

/* Both not null; minus: the second is taken away. */
static void sum_values(const pml_type *t, pml_value *acc, const pml_value *x, const pml_value *y, bool minus)
{
    switch (x->kind) {
    case PML_VALUE_FLOAT: acc->f = minus ? x->f - y->f : x->f + y->f; break;
    case PML_VALUE_DOUBLE: acc->d = minus ? x->d - y->d : x->d + y->d; break;
    case PML_VALUE_DECIMAL: add_decimal(t, acc, x->dec, y->dec, minus); break;
    default: acc->i = wrap(t->kind, minus ? (uint64_t)x->i - (uint64_t)y->i : (uint64_t)x->i + (uint64_t)y->i); break;
    }
}

static void negate(const pml_type *t, pml_value *acc, const pml_value *v)
{
    *acc = *v;
    switch (v->kind) {
    case PML_VALUE_NULL: break;
    case PML_VALUE_FLOAT: acc->f = -v->f; break;
    case PML_VALUE_DOUBLE: acc->d = -v->d; break;
    case PML_VALUE_DECIMAL:
        acc->kind = pml_decimal__fits(v->dec, t->precision) ? PML_VALUE_DECIMAL : PML_VALUE_NULL;
        acc->dec = acc->kind == PML_VALUE_DECIMAL ? -v->dec : 0;
        break;
    default: acc->i = wrap(t->kind, 0 - (uint64_t)v->i); break;
    }
}

static void multiply(const pml_type *t, pml_value *acc, const pml_value *x, const pml_value *y)
{
    switch (x->kind) {
    case PML_VALUE_FLOAT: acc->f = x->f * y->f; break;
    case PML_VALUE_DOUBLE: acc->d = x->d * y->d; break;
    case PML_VALUE_DECIMAL:
        if (!pml_decimal__multiply(&acc->dec, x->dec, y->dec, t->precision, t->scale))
            acc->kind = PML_VALUE_NULL;
        break;
    default: acc->i = wrap(t->kind, (uint64_t)x->i * (uint64_t)y->i); break;
    }
}

static int divide_decimal(const pml_aggregator *a, pml_value *acc, const pml_value *by, pml_error *err)
{
    switch (pml_decimal__divide(&acc->dec, acc->dec, by->dec, a->type->precision, a->type->scale)) {
    case PML_DECIMAL_OK: break;
    case PML_DECIMAL_TOO_LONG: acc->kind = PML_VALUE_NULL; break;
    case PML_DECIMAL_BY_ZERO:
        return pml_error__set(err, PML_E_INVAL, "column %s: product cannot take back a factor of zero", a->column);
    case PML_DECIMAL_ENDLESS:
        return pml_error__set(err, PML_E_INVAL,
                              "column %s: product cannot take back a factor, since the quotient has no end", a->column);
    }
    return PML_OK;
}

static int divide(const pml_aggregator *a, pml_value *acc, const pml_value *by, pml_error *err)
{
    switch (acc->kind) {
    case PML_VALUE_FLOAT: acc->f = acc->f / by->f; return PML_OK;
    case PML_VALUE_DOUBLE: acc->d = acc->d / by->d; return PML_OK;
    case PML_VALUE_DECIMAL: return divide_decimal(a, acc, by, err);
    default: break;
    }
    if (by->i == 0)
        return pml_error__set(err, PML_E_INVAL, "column %s: product cannot take back a factor of zero", a->column);
    acc->i = by->i == -1 ? wrap(a->type->kind, 0 - (uint64_t)acc->i) : wrap(a->type->kind, (uint64_t)(acc->i / by->i));
    return PML_OK;
}

static void number_begin(pml_aggregator *a, const pml_fold *f)
{
    *(number *)a->state = (number){.fold = f, .acc = {.kind = PML_VALUE_NULL}};
}

static void number_add(const pml_aggregator *a, pml_value *acc, const pml_value *x, const pml_value *y)
{
    pml_value result = x->kind == PML_VALUE_NULL ? *y : *x;
    if (x->kind == PML_VALUE_NULL || y->kind == PML_VALUE_NULL)
        ;
    else if (a->mode == PML_NUMBER_SUM)
        sum_values(a->type, &result, x, y, false);
    else
        multiply(a->type, &result, x, y);
    *acc = result;
}

static int number_retract(const pml_aggregator *a, pml_value *acc, const pml_value *v, pml_error *err)
{
    bool both = acc->kind != PML_VALUE_NULL && v->kind != PML_VALUE_NULL;
    if (a->mode == PML_NUMBER_PRODUCT)
        return both ? divide(a, acc, v, err) : PML_OK;
    pml_value x = *acc;
    if (both)
        sum_values(a->type, acc, &x, v, true);
    else if (x.kind == PML_VALUE_NULL)
        negate(a->type, acc, v);
    return PML_OK;
}

static int number_step(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err)
{
    number *s = a->state;
    pml_value v = {.kind = PML_VALUE_NULL};
    pml_item item = pml_fold__item(s->fold, a, in);
    if (item.array != NULL)
        pml_value__get(&v, a->type, item.array, item.row);
    switch (op) {
    case PML_FOLD_ADD: number_add(a, &s->acc, &s->acc, &v); break;
    case PML_FOLD_REVERSED: number_add(a, &s->acc, &v, &s->acc); break;
    case PML_FOLD_RETRACT: return number_retract(a, &s->acc, &v, err);
    case PML_FOLD_TAKE: s->acc = v; break;
    case PML_FOLD_CLEAR: s->acc.kind = PML_VALUE_NULL; break;
    }
    return PML_OK;
}

static int put(const pml_aggregator *a, pml_merge_output *out, const pml_value *v)
{
    if (v->kind == PML_VALUE_NULL)
        return pml_merge_output__pick(out, a->position, (pml_row_ref){PML_REF_NULL, 0});
    return pml_merge_output__value(out, a->position, v);
}

static int number_end(pml_aggregator *a, pml_merge_output *out, pml_error *err)
{
    (void)err;
    return put(a, out, &((const number *)a->state)->acc);
}

/* The loop of one C type: the sum of what is not null. */
#define SUM_LOOP(ctype, name, acctype)                                                                   \
    static bool name(const pml_aggregator *a, const pml_fold *f, acctype *sum)                           \
    {                                                                                                    \
        bool any = false;                                                                                \
        acctype acc = 0;                                                                                 \
        for (size_t i = 0; i < f->group->n; i++) {                                                       \
            pml_item item = pml_fold__item(f, a, f->group->rows[i].ref);                                 \
            ctype v;                                                                                     \
            if (pml_item__is_null(item))                                                                 \
                continue;                                                                                \
            memcpy(&v, (const ctype *)item.array->buffers[1] + item.array->offset + item.row, sizeof v); \
            acc = any ? (acctype)(acc + (acctype)v) : (acctype)v;                                        \
            any = true;                                                                                  \
        }                                                                                                \
        *sum = acc;                                                                                      \
        return any;                                                                                      \
    }
SUM_LOOP(int8_t, sum_8, uint64_t)
SUM_LOOP(int16_t, sum_16, uint64_t)
SUM_LOOP(int32_t, sum_32, uint64_t)
SUM_LOOP(int64_t, sum_64, uint64_t)
SUM_LOOP(float, sum_float, float)
SUM_LOOP(double, sum_double, double)

static int number_plain(pml_aggregator *a, const pml_fold *f, bool *done, pml_error *err)
{
    uint64_t sum = 0;
    bool any = false;
    pml_value v = {.kind = PML_VALUE_INT};
    if (a->mode != PML_NUMBER_SUM)
        return PML_OK;
    switch (a->type->kind) {
    case PML_TYPE_TINYINT: any = sum_8(a, f, &sum); break;
    case PML_TYPE_SMALLINT: any = sum_16(a, f, &sum); break;
    case PML_TYPE_INT: any = sum_32(a, f, &sum); break;
    case PML_TYPE_BIGINT: any = sum_64(a, f, &sum); break;
    case PML_TYPE_FLOAT:
        any = sum_float(a, f, &v.f);
        v.kind = PML_VALUE_FLOAT;
        break;
    case PML_TYPE_DOUBLE:
        any = sum_double(a, f, &v.d);
        v.kind = PML_VALUE_DOUBLE;
        break;
    default: return PML_OK;
    }
    if (v.kind == PML_VALUE_INT)
        v.i = wrap(a->type->kind, sum); /* wrapping once at the end is wrapping each time */
    v.kind = any ? v.kind : PML_VALUE_NULL;
    *done = true;
    return pml_aggregator__explain(a, put(a, f->out, &v), err);
}

const pml_aggregator_kind pml_aggregator_number = {
    .state_size = sizeof(number),
    .begin = number_begin,
    .step = number_step,
    .end = number_end,
    .plain = number_plain,
};
