/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap (Java: BitmapFileIndex): the rows of each value, of which there are few. A negative place p stands for the single row -1 - p.
 *
 *   1: u8 1 | i32 rows | i32 values | u8 has null, then i32 its place | values x ( value, i32 place ) | bitmaps
 *   2: u8 2 | i32 rows | i32 values | u8 has null, then i32 its place, i32 its length | i32 blocks x ( first value, i32 offset ) | i32 bytes
 *      of the blocks | blocks: i32 n x ( value, i32 place, i32 length ), values ascend | bitmaps
 *
 * In form 1 a bitmap ends where it ends by itself.
 */
#include "format/file_index_read.h"

typedef struct bitmaps {
    const pml_index_question *q;
    const pml_type *type;
    int32_t version, n_values;
    bool has_null;
    int32_t null_at, null_length;
    int32_t n_blocks;
    pml_index_cursor values; /* 1: (value, place) of each */
    pml_index_cursor heads;  /* 2: (first value, offset) of each block */
    pml_bytes blocks, body;
} bitmaps;

enum { FORM_1 = 1, FORM_2 = 2, LENGTH_UNKNOWN = -1 };

static int open_values(bitmaps *b, pml_index_cursor *c)
{
    pml_value value;
    if (b->version == FORM_2) {
        b->n_blocks = pml_index_cursor__i32(c);
        b->heads = *c;
        for (int32_t i = 0; i < b->n_blocks && !c->bad; i++) {
            pml_index_key__read(&value, b->type, c);
            (void)pml_index_cursor__i32(c);
        }
        b->blocks = pml_index_cursor__take(c, pml_index_cursor__i32(c));
    } else {
        b->values = *c;
        for (int32_t i = 0; i < b->n_values && !c->bad; i++) {
            pml_index_key__read(&value, b->type, c);
            (void)pml_index_cursor__i32(c);
        }
    }
    b->body = pml_index_cursor__rest(c);
    return c->bad || b->n_blocks < 0 ? pml_index__corrupt(b->q, "a bitmap index is cut") : PML_OK;
}

static int bitmaps_open(bitmaps *b, const pml_index_question *q)
{
    pml_index_cursor c = pml_index_cursor__of(q->body);
    *b = (bitmaps){.q = q, .type = q->leaf->type, .null_length = LENGTH_UNKNOWN};
    b->version = pml_index_cursor__u8(&c);
    int32_t rows = pml_index_cursor__i32(&c);
    b->n_values = pml_index_cursor__i32(&c);
    b->has_null = pml_index_cursor__u8(&c) != 0;
    if (c.bad || b->version < FORM_1)
        return pml_index__corrupt(q, "a bitmap index is cut");
    if (b->version > FORM_2) /* of a later release */
        return PML_OK;
    if (rows != q->n_rows)
        return pml_index__corrupt(q, "a bitmap index is of another number of rows");
    if (b->has_null)
        b->null_at = pml_index_cursor__i32(&c);
    if (b->has_null && b->version == FORM_2)
        b->null_length = pml_index_cursor__i32(&c);
    return open_values(b, &c);
}

static int add_bitmap(pml_row_set *rows, const bitmaps *b, int32_t at, int32_t length)
{
    pml_error why = PML_ERROR_INIT;
    if (at < 0) {
        int64_t row = -1 - (int64_t)at;
        if (row >= rows->n_rows)
            return pml_index__corrupt(b->q, "a bitmap index has a row beyond the end of the file");
        pml_row_set__add(rows, row);
        return PML_OK;
    }
    if ((size_t)at > b->body.len || (length != LENGTH_UNKNOWN && (length < 0 || (size_t)length > b->body.len - (size_t)at)))
        return pml_index__corrupt(b->q, "a bitmap lies outside of its index");
    const pml_bytes bytes = {b->body.ptr + at, length == LENGTH_UNKNOWN ? b->body.len - (size_t)at : (size_t)length};
    if (length != LENGTH_UNKNOWN)
        return pml_index__add_roaring(rows, b->q, bytes);
    if (pml_row_set__add_roaring(rows, 0, bytes, NULL, NULL, &why) != PML_OK)
        return pml_index__corrupt(b->q, why.message);
    return PML_OK;
}

/* ---- finding a value ---- */

static int find_1(bool *found, int32_t *at, const bitmaps *b, const pml_value *key)
{
    pml_index_cursor c = b->values;
    for (int32_t i = 0; i < b->n_values; i++) {
        pml_value value;
        pml_index_key__read(&value, b->type, &c);
        *at = pml_index_cursor__i32(&c);
        *found = pml_value__equal(&value, key);
        if (*found)
            break;
    }
    return PML_OK; /* open_values went through all of it */
}

/* The block in which the value is, if anywhere: the last that does not begin behind it. */
static int block_of(pml_index_cursor *block, const bitmaps *b, const pml_value *key)
{
    pml_index_cursor c = b->heads;
    int32_t offset = -1;
    for (int32_t i = 0; i < b->n_blocks; i++) {
        pml_value first;
        pml_index_key__read(&first, b->type, &c);
        int32_t at = pml_index_cursor__i32(&c);
        if (pml_value__compare(&first, key) > 0)
            break;
        offset = at;
        if (offset < 0 || (size_t)offset > b->blocks.len)
            return pml_index__corrupt(b->q, "a block of values lies outside of its index");
    }
    *block = offset < 0 ? (pml_index_cursor){.bad = true}
                        : pml_index_cursor__of((pml_bytes){b->blocks.ptr + offset, b->blocks.len - (size_t)offset});
    return PML_OK;
}

static int find_2(bool *found, int32_t *at, int32_t *length, const bitmaps *b, const pml_value *key)
{
    pml_index_cursor c = {.bad = true};
    PML_RETURN_IF(block_of(&c, b, key));
    if (c.bad)
        return PML_OK;
    int32_t n = pml_index_cursor__i32(&c);
    for (int32_t i = 0; i < n && !c.bad && !*found; i++) {
        pml_value value;
        pml_index_key__read(&value, b->type, &c);
        *at = pml_index_cursor__i32(&c);
        *length = pml_index_cursor__i32(&c);
        *found = !c.bad && pml_value__equal(&value, key);
    }
    return c.bad || n < 0 ? pml_index__corrupt(b->q, "a block of values is cut") : PML_OK;
}

/* Rows with any of the literals; *known = false: some literal has no key. */
static int add_literals(pml_row_set *rows, bool *known, const bitmaps *b)
{
    *known = true;
    for (size_t i = 0; i < b->q->leaf->n_literals; i++) {
        pml_value key;
        bool found = false;
        int32_t at = 0, length = LENGTH_UNKNOWN;
        if (!pml_index_key__of(&key, b->type, &b->q->leaf->literals[i])) {
            *known = false;
            return PML_OK;
        }
        PML_RETURN_IF(b->version == FORM_2 ? find_2(&found, &at, &length, b, &key) : find_1(&found, &at, b, &key));
        if (found)
            PML_RETURN_IF(add_bitmap(rows, b, at, length));
    }
    return PML_OK;
}

/* ---- answers ---- */

static int answer(pml_row_set *rows, bool *known, const bitmaps *b)
{
    pml_pred_op op = b->q->leaf->op;
    bool of_null = op == PML_PRED_IS_NULL || op == PML_PRED_IS_NOT_NULL;
    bool inverse = op == PML_PRED_NE || op == PML_PRED_NOT_IN || op == PML_PRED_IS_NOT_NULL;
    *known = true;
    if (!of_null)
        PML_RETURN_IF(add_literals(rows, known, b));
    if ((of_null || inverse) && b->has_null)
        PML_RETURN_IF(add_bitmap(rows, b, b->null_at, b->null_length));
    if (inverse)
        pml_row_set__invert(rows);
    return PML_OK;
}

static bool is_answered(pml_pred_op op)
{
    return op == PML_PRED_EQ || op == PML_PRED_NE || op == PML_PRED_IN || op == PML_PRED_NOT_IN || op == PML_PRED_IS_NULL ||
           op == PML_PRED_IS_NOT_NULL;
}

int pml_index__bitmap(pml_index_answer *out, const pml_index_question *q)
{
    bitmaps b;
    pml_row_set rows;
    bool known;
    if (!is_answered(q->leaf->op) || !pml_index_key__fits(q->leaf->type) || q->leaf->type->kind == PML_TYPE_DECIMAL)
        return PML_OK;
    PML_RETURN_IF(bitmaps_open(&b, q));
    if (b.version > FORM_2 || (b.version == FORM_1 && q->leaf->n_literals > PML_INDEX_LITERALS_MAX))
        return PML_OK;
    PML_RETURN_IF(pml_row_set__init(&rows, q->env, q->n_rows, false, q->err));
    int rc = answer(&rows, &known, &b);
    if (rc == PML_OK && known)
        pml_index_answer__of_rows(out, &rows);
    pml_row_set__clear(&rows);
    return rc;
}
