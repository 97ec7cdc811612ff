/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range-bitmap (Java: RangeBitmap, ChunkedDictionary, BitSliceIndexBitmap): the values in order, numbered from 0 on, and the numbers of
 * the rows bit by bit.
 *
 *   i32 bytes of the head | head: u8 1, i32 rows, i32 n values, smallest and largest value if n > 0, i32 bytes of the dictionary
 *   dictionary: i32 13 | u8 1, i32 chunks, i32 bytes of offsets, i32 bytes of chunks | i32 offset of each chunk | chunks | keys
 *     chunk: u8 1, first value, i32 its number, i32 place of its keys, i32 n further keys, i32 bytes of keys, i32 width
 *            of texts: u8 1, first value, i32 its number, i32 place, i32 n, i32 bytes of offsets, i32 bytes of keys; keys: n x i32 offset, then keys
 *   slices: i32 bytes of the head | u8 1, u8 n, i32 bytes of `exists`, i32 bytes of what follows | n x ( i32 offset, i32 bytes ) | exists | slices
 */
#include "format/file_index_slices.h"

enum { RANGE_VERSION = 1, SLICES_MAX = 64 };

typedef struct range_index {
    const pml_index_question *q;
    const pml_type *type;
    int32_t n_values, n_chunks;
    pml_bytes offsets, chunks, keys;
    pml_bytes slices; /* their part of the index */
} range_index;

static int cut(const range_index *r)
{
    return pml_index__corrupt(r->q, "a range index is cut, or of a kind that is not known");
}

static int dictionary_open(range_index *r, pml_bytes bytes)
{
    pml_index_cursor c = pml_index_cursor__of(bytes);
    (void)pml_index_cursor__i32(&c);
    int32_t version = pml_index_cursor__u8(&c);
    r->n_chunks = pml_index_cursor__i32(&c);
    int32_t n_offsets = pml_index_cursor__i32(&c), n_chunks = pml_index_cursor__i32(&c);
    r->offsets = pml_index_cursor__take(&c, n_offsets);
    r->chunks = pml_index_cursor__take(&c, n_chunks);
    r->keys = pml_index_cursor__rest(&c);
    if (c.bad || version != RANGE_VERSION || r->n_chunks < 0 || (size_t)r->n_chunks > r->offsets.len / 4)
        return cut(r);
    return PML_OK;
}

static int range_open(range_index *r, const pml_index_question *q)
{
    pml_index_cursor c = pml_index_cursor__of(q->body), head;
    pml_value value;
    *r = (range_index){.q = q, .type = q->leaf->type};
    head = pml_index_cursor__of(pml_index_cursor__take(&c, pml_index_cursor__i32(&c)));
    int32_t version = pml_index_cursor__u8(&head), rows = pml_index_cursor__i32(&head);
    r->n_values = pml_index_cursor__i32(&head);
    for (int i = 0; i < 2 && r->n_values > 0; i++)
        pml_index_key__read(&value, r->type, &head);
    const pml_bytes dictionary = pml_index_cursor__take(&c, pml_index_cursor__i32(&head));
    r->slices = pml_index_cursor__rest(&c);
    if (head.bad || c.bad || version != RANGE_VERSION || r->n_values < 0)
        return cut(r);
    if (rows != q->n_rows)
        return pml_index__corrupt(q, "a range index is of another number of rows");
    return r->n_values == 0 ? PML_OK : dictionary_open(r, dictionary);
}

/* ---- the dictionary ---- */

typedef struct chunk {
    pml_value first;
    int32_t code, n; /* of the first value; further keys */
    pml_index_cursor keys;
} chunk;

static int chunk_at(chunk *out, const range_index *r, int32_t i)
{
    bool texts = r->type->kind == PML_TYPE_CHAR || r->type->kind == PML_TYPE_VARCHAR;
    int32_t at = (int32_t)pml_be32(r->offsets.ptr + (size_t)i * 4);
    if (at < 0 || (size_t)at > r->chunks.len)
        return cut(r);
    pml_index_cursor c = pml_index_cursor__of((pml_bytes){r->chunks.ptr + at, r->chunks.len - (size_t)at});
    pml_index_cursor keys = pml_index_cursor__of(r->keys);
    int32_t version = pml_index_cursor__u8(&c);
    pml_index_key__read(&out->first, r->type, &c);
    out->code = pml_index_cursor__i32(&c);
    (void)pml_index_cursor__take(&keys, pml_index_cursor__i32(&c));
    out->n = pml_index_cursor__i32(&c);
    int32_t a = pml_index_cursor__i32(&c), b = pml_index_cursor__i32(&c);
    if (texts) /* the places of keys: they follow each other anyway */
        (void)pml_index_cursor__take(&keys, a);
    out->keys = pml_index_cursor__of(pml_index_cursor__take(&keys, texts ? b : a));
    bool fits = out->code >= 0 && out->n >= 0 && out->n < r->n_values && out->code < r->n_values - out->n;
    return c.bad || keys.bad || version != RANGE_VERSION || !fits ? cut(r) : PML_OK;
}

/* The number of values below the key, and whether the next one is the key. */
static int find(int32_t *below, bool *found, const range_index *r, const pml_value *key)
{
    chunk c;
    int32_t lo = 0, hi = r->n_chunks; /* the last chunk that does not begin behind the key */
    *below = 0;
    *found = false;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;
        PML_RETURN_IF(chunk_at(&c, r, mid));
        if (pml_value__compare(&c.first, key) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return PML_OK;
    PML_RETURN_IF(chunk_at(&c, r, lo - 1));
    pml_value value = c.first;
    *below = c.code;
    for (int32_t i = 0; pml_value__compare(&value, key) < 0; i++) {
        ++*below;
        if (i == c.n)
            return PML_OK;
        pml_index_key__read(&value, r->type, &c.keys);
        if (c.keys.bad)
            return cut(r);
    }
    *found = pml_value__equal(&value, key);
    return PML_OK;
}

/* ---- rows by the number of their value ---- */

static int read_slices(pml_slices *s, const range_index *r)
{
    pml_index_cursor c = pml_index_cursor__of(r->slices), head;
    head = pml_index_cursor__of(pml_index_cursor__take(&c, pml_index_cursor__i32(&c)));
    int32_t version = pml_index_cursor__u8(&head), n = pml_index_cursor__u8(&head);
    int32_t exists = pml_index_cursor__i32(&head);
    (void)pml_index_cursor__i32(&head);
    const pml_bytes rows = pml_index_cursor__take(&c, exists), bodies = pml_index_cursor__rest(&c);
    if (head.bad || c.bad || version != RANGE_VERSION || n > SLICES_MAX)
        return cut(r);
    PML_RETURN_IF(pml_index__add_roaring(&s->exists, r->q, rows));
    pml_slices__begin(s);
    for (int32_t i = 0; i < n; i++) {
        pml_row_set slice;
        int32_t at = pml_index_cursor__i32(&head), len = pml_index_cursor__i32(&head);
        if (head.bad || at < 0 || len < 0 || (size_t)at > bodies.len || (size_t)len > bodies.len - (size_t)at)
            return cut(r);
        PML_RETURN_IF(pml_row_set__init(&slice, r->q->env, r->q->n_rows, false, r->q->err));
        int rc = pml_index__add_roaring(&slice, r->q, (pml_bytes){bodies.ptr + at, (size_t)len});
        if (rc == PML_OK)
            pml_slices__add(s, i, &slice);
        pml_row_set__clear(&slice);
        PML_RETURN_IF(rc);
    }
    pml_slices__end(s, n);
    return PML_OK;
}

/* Rows whose value is below the key (less) or the key (equal); not_null: that have one. */
static int compare(pml_row_set *rows, pml_row_set *not_null, const range_index *r, const pml_value *key, bool less, bool equal)
{
    pml_slices s;
    int32_t below = 0;
    bool found = false;
    if (key != NULL)
        PML_RETURN_IF(find(&below, &found, r, key));
    PML_RETURN_IF(pml_slices__init(&s, r->q, (uint64_t)below));
    int rc = read_slices(&s, r);
    if (rc == PML_OK) {
        pml_row_set__or(not_null, &s.exists);
        if (less)
            pml_row_set__or(rows, &s.below);
        if (equal && found)
            pml_row_set__or(rows, &s.equal);
    }
    pml_slices__clear(&s);
    return rc;
}

static int answer(pml_row_set *rows, bool *known, pml_row_set *not_null, const range_index *r)
{
    const pml_pred *leaf = r->q->leaf;
    const pml_pred_op op = leaf->op;
    bool less = op == PML_PRED_LT || op == PML_PRED_LE || op == PML_PRED_GT || op == PML_PRED_GE;
    bool equal = op != PML_PRED_LT && op != PML_PRED_GE;
    bool inverse = op == PML_PRED_GT || op == PML_PRED_GE || op == PML_PRED_NE || op == PML_PRED_NOT_IN;
    *known = true;
    if (op == PML_PRED_IS_NULL || op == PML_PRED_IS_NOT_NULL) {
        PML_RETURN_IF(compare(rows, not_null, r, NULL, false, false));
        pml_row_set__or(rows, not_null);
        if (op == PML_PRED_IS_NULL)
            pml_row_set__invert(rows);
        return PML_OK;
    }
    for (size_t i = 0; i < leaf->n_literals; i++) {
        pml_value key;
        *known = pml_index_key__of(&key, r->type, &leaf->literals[i]);
        if (!*known)
            return PML_OK;
        PML_RETURN_IF(compare(rows, not_null, r, &key, less, equal));
    }
    if (inverse) {
        pml_row_set__invert(rows);
        pml_row_set__and(rows, not_null);
    }
    return PML_OK;
}

int pml_index__range(pml_index_answer *out, const pml_index_question *q)
{
    range_index r;
    pml_row_set rows, not_null = {0};
    bool known;
    if (q->leaf->op < PML_PRED_EQ || q->leaf->op > PML_PRED_IS_NOT_NULL || !pml_index_key__fits(q->leaf->type) ||
        q->leaf->n_literals > PML_INDEX_LITERALS_MAX)
        return PML_OK;
    PML_RETURN_IF(range_open(&r, q));
    PML_RETURN_IF(pml_row_set__init(&rows, q->env, q->n_rows, false, q->err));
    int rc = pml_row_set__init(&not_null, q->env, q->n_rows, false, q->err);
    if (rc == PML_OK)
        rc = answer(&rows, &known, &not_null, &r);
    if (rc == PML_OK && known)
        pml_index_answer__of_rows(out, &rows);
    pml_row_set__clear(&rows);
    pml_row_set__clear(&not_null);
    return rc;
}
