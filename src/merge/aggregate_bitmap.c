/* SPDX-License-Identifier: Apache-2.0 */
/* rbm32 and rbm64: the union of Roaring bitmaps. */
#include "columnar/roaring.h"
#include "merge/aggregate.h"

typedef struct bitmap {
    int (*unite)(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err);
    const pml_fold *fold;
    enum { BITMAP_NULL, BITMAP_PICKED, BITMAP_UNITED } form;
    pml_row_ref ref;
    pml_buf united, spare;
} bitmap;

static int open_with(pml_aggregator *a, int (*unite)(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err))
{
    bitmap *b = a->state;
    b->unite = unite;
    pml_buf__init(&b->united, a->env, INT32_MAX);
    pml_buf__init(&b->spare, a->env, INT32_MAX);
    return PML_OK;
}

static int bitmap_open(pml_aggregator *a, const pml_merge_options *o, pml_error *err)
{
    (void)o;
    (void)err;
    return open_with(a, pml_roaring__union);
}

static int bitmap64_open(pml_aggregator *a, const pml_merge_options *o, pml_error *err)
{
    (void)o;
    (void)err;
    return open_with(a, pml_roaring64__union);
}

static void bitmap_drop(pml_aggregator *a)
{
    bitmap *b = a->state;
    pml_buf__clear(&b->united);
    pml_buf__clear(&b->spare);
}

static void bitmap_begin(pml_aggregator *a, const pml_fold *f)
{
    bitmap *b = a->state;
    b->fold = f;
    b->form = BITMAP_NULL;
}

static pml_bytes value_of(const pml_aggregator *a, const bitmap *b, pml_row_ref ref)
{
    pml_value v;
    pml_item item = pml_fold__item(b->fold, a, ref);
    pml_value__get(&v, a->type, item.array, item.row);
    return v.bytes;
}

/* reversed: what comes in is the older one. */
static int unite(const pml_aggregator *a, bitmap *b, pml_row_ref in, bool reversed, pml_error *err)
{
    pml_bytes other = value_of(a, b, in);
    pml_bytes acc = b->form == BITMAP_UNITED ? (pml_bytes){b->united.data, b->united.len} : value_of(a, b, b->ref);
    pml_buf__reset(&b->spare);
    int rc = b->unite(&b->spare, reversed ? other : acc, reversed ? acc : other, err);
    if (rc != PML_OK)
        return pml_error__prefix(err, rc, "column %s", a->column);
    pml_buf old = b->united;
    b->united = b->spare;
    b->spare = old;
    b->form = BITMAP_UNITED;
    return PML_OK;
}

static int bitmap_step(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err)
{
    bitmap *b = a->state;
    bool null = in.batch == PML_REF_NULL || op == PML_FOLD_CLEAR, joins = op == PML_FOLD_ADD || op == PML_FOLD_REVERSED;
    if (joins && null)
        return PML_OK;
    if (joins && b->form != BITMAP_NULL)
        return unite(a, b, in, op == PML_FOLD_REVERSED, err);
    b->form = null ? BITMAP_NULL : BITMAP_PICKED;
    b->ref = in;
    return PML_OK;
}

static int bitmap_end(pml_aggregator *a, pml_merge_output *out, pml_error *err)
{
    bitmap *b = a->state;
    (void)err;
    if (b->form != BITMAP_UNITED)
        return pml_merge_output__pick(out, a->position,
                                      b->form == BITMAP_NULL ? (pml_row_ref){PML_REF_NULL, 0} : b->ref);
    pml_value v = {.kind = PML_VALUE_BYTES, .bytes = {b->united.data, b->united.len}};
    return pml_merge_output__value(out, a->position, &v);
}

const pml_aggregator_kind pml_aggregator_bitmap = {
    .state_size = sizeof(bitmap),
    .open = bitmap_open,
    .drop = bitmap_drop,
    .begin = bitmap_begin,
    .step = bitmap_step,
    .end = bitmap_end,
};

const pml_aggregator_kind pml_aggregator_bitmap64 = {
    .state_size = sizeof(bitmap),
    .open = bitmap64_open,
    .drop = bitmap_drop,
    .begin = bitmap_begin,
    .step = bitmap_step,
    .end = bitmap_end,
};
