/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bsi (Java: BitSliceIndexBitmapFileIndex): numbers by their bits, negative ones apart by their magnitude.
 *
 *   u8 1 | i32 rows | u8 has non-negative ones, then their slices | u8 has negative ones, then theirs
 *   slices: u8 1 | i64 smallest | i64 largest | bitmap of the rows that have a number | i32 n x bitmap of the rows with bit i of (number - smallest)
 */
#include "format/file_index_slices.h"

enum { BSI_VERSION = 1, SLICES_MAX = 64 };

/* One sign's rows, compared with a magnitude. */
typedef struct part {
    bool there;
    pml_slices s;
} part;

/* A bitmap that is followed by something else. */
static int next_bitmap(pml_row_set *rows, pml_index_cursor *c, const pml_index_question *q)
{
    size_t used;
    pml_error why = PML_ERROR_INIT;
    if (pml_row_set__add_roaring(rows, 0, pml_index_cursor__rest(c), &used, NULL, &why) != PML_OK)
        return pml_index__corrupt(q, why.message);
    c->p += used;
    return PML_OK;
}

static int read_slices(part *p, pml_index_cursor *c, const pml_index_question *q)
{
    pml_row_set slice;
    pml_slices__begin(&p->s);
    int32_t n = pml_index_cursor__i32(c);
    if (c->bad || n < 0 || n > SLICES_MAX)
        return pml_index__corrupt(q, "a bit-sliced index has an impossible number of slices");
    for (int32_t i = 0; i < n; i++) {
        PML_RETURN_IF(pml_row_set__init(&slice, q->env, q->n_rows, false, q->err));
        int rc = next_bitmap(&slice, c, q);
        if (rc == PML_OK)
            pml_slices__add(&p->s, i, &slice);
        pml_row_set__clear(&slice);
        PML_RETURN_IF(rc);
    }
    pml_slices__end(&p->s, n);
    return PML_OK;
}

/* magnitude: what the numbers of this sign are compared with. */
static int read_part(part *p, pml_index_cursor *c, const pml_index_question *q, uint64_t magnitude)
{
    p->there = pml_index_cursor__u8(c) != 0;
    if (!p->there)
        return pml_slices__init(&p->s, q, 0);
    int32_t version = pml_index_cursor__u8(c);
    int64_t smallest = pml_index_cursor__i64(c);
    (void)pml_index_cursor__i64(c);
    if (c->bad || version != BSI_VERSION || smallest < 0)
        return pml_index__corrupt(q, "a bit-sliced index is cut, or of a kind that is not known");
    bool below_all = magnitude < (uint64_t)smallest;
    PML_RETURN_IF(pml_slices__init(&p->s, q, below_all ? 0 : magnitude - (uint64_t)smallest));
    int rc = next_bitmap(&p->s.exists, c, q);
    if (rc == PML_OK)
        rc = read_slices(p, c, q);
    if (rc != PML_OK) {
        pml_slices__clear(&p->s);
    } else if (below_all) { /* nothing is below, nothing is equal */
        pml_row_set__and_not(&p->s.below, &p->s.exists);
        pml_row_set__and_not(&p->s.equal, &p->s.exists);
    }
    return rc;
}

static int read_parts(part *positive, part *negative, const pml_index_question *q, int64_t number)
{
    pml_index_cursor c = pml_index_cursor__of(q->body);
    const uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    int32_t version = pml_index_cursor__u8(&c), rows = pml_index_cursor__i32(&c);
    if (c.bad || version != BSI_VERSION || rows != q->n_rows)
        return pml_index__corrupt(q, "a bit-sliced index is cut, or of another number of rows");
    PML_RETURN_IF(read_part(positive, &c, q, number < 0 ? 0 : magnitude));
    int rc = read_part(negative, &c, q, number < 0 ? magnitude : 0);
    if (rc != PML_OK)
        pml_slices__clear(&positive->s);
    return rc;
}

/* Rows with a smaller number (less) or the number itself (equal), added to rows. Uses up the parts. */
static void add_compared(pml_row_set *rows, part *positive, part *negative, bool is_negative, bool less, bool equal)
{
    part *own = is_negative ? negative : positive;
    if (equal)
        pml_row_set__or(rows, &own->s.equal);
    if (!less)
        return;
    if (is_negative) { /* smaller numbers have a larger magnitude */
        pml_row_set__and_not(&negative->s.exists, &negative->s.below);
        pml_row_set__and_not(&negative->s.exists, &negative->s.equal);
    } else {
        pml_row_set__or(rows, &positive->s.below);
    }
    pml_row_set__or(rows, &negative->s.exists);
}

/* One literal: the rows for which the comparison is true. not_null: all rows that have a number. */
static int compare(pml_row_set *rows, pml_row_set *not_null, const pml_index_question *q, int64_t number, pml_pred_op op)
{
    part positive, negative;
    bool less = op == PML_PRED_LT || op == PML_PRED_LE || op == PML_PRED_GT || op == PML_PRED_GE;
    bool inverse = op == PML_PRED_GT || op == PML_PRED_GE;
    bool equal = op == PML_PRED_EQ || op == PML_PRED_LE || op == PML_PRED_GT;
    PML_RETURN_IF(read_parts(&positive, &negative, q, number));
    pml_row_set__or(not_null, &positive.s.exists);
    pml_row_set__or(not_null, &negative.s.exists);
    add_compared(rows, &positive, &negative, number < 0, less, equal);
    if (inverse) {
        pml_row_set__invert(rows);
        pml_row_set__and(rows, not_null);
    }
    pml_slices__clear(&positive.s);
    pml_slices__clear(&negative.s);
    return PML_OK;
}

static int answer(pml_row_set *rows, bool *known, pml_row_set *not_null, const pml_index_question *q)
{
    const pml_pred *leaf = q->leaf;
    bool set = leaf->op == PML_PRED_IN || leaf->op == PML_PRED_NOT_IN || leaf->op == PML_PRED_NE;
    *known = true;
    if (leaf->op == PML_PRED_IS_NULL || leaf->op == PML_PRED_IS_NOT_NULL) {
        PML_RETURN_IF(compare(rows, not_null, q, 0, PML_PRED_EQ));
        pml_row_set__or(rows, not_null);
        if (leaf->op == PML_PRED_IS_NULL)
            pml_row_set__invert(rows);
        return PML_OK;
    }
    for (size_t i = 0; i < leaf->n_literals; i++) {
        pml_value key;
        *known = pml_index_key__of(&key, leaf->type, &leaf->literals[i]) && key.kind == PML_VALUE_INT && key.i != INT64_MIN;
        if (!*known)
            return PML_OK;
        PML_RETURN_IF(compare(rows, not_null, q, key.i, set ? PML_PRED_EQ : leaf->op));
    }
    if (leaf->op == PML_PRED_NE || leaf->op == PML_PRED_NOT_IN) {
        pml_row_set__invert(rows);
        pml_row_set__and(rows, not_null);
    }
    return PML_OK;
}

static bool is_answered(const pml_pred *leaf)
{
    pml_type_kind k = leaf->type->kind;
    return leaf->op >= PML_PRED_EQ && leaf->op <= PML_PRED_IS_NOT_NULL && pml_index_key__fits(leaf->type) && k != PML_TYPE_BOOLEAN &&
           !pml_type__is_float(leaf->type) && k != PML_TYPE_CHAR && k != PML_TYPE_VARCHAR;
}

int pml_index__bsi(pml_index_answer *out, const pml_index_question *q)
{
    pml_row_set rows, not_null = {0};
    bool known;
    if (!is_answered(q->leaf) || q->leaf->n_literals > PML_INDEX_LITERALS_MAX)
        return PML_OK;
    PML_RETURN_IF(pml_row_set__init(&rows, q->env, q->n_rows, false, q->err));
    int rc = pml_row_set__init(&not_null, q->env, q->n_rows, false, q->err);
    if (rc == PML_OK)
        rc = answer(&rows, &known, &not_null, q);
    if (rc == PML_OK && known)
        pml_index_answer__of_rows(out, &rows);
    pml_row_set__clear(&rows);
    pml_row_set__clear(&not_null);
    return rc;
}
