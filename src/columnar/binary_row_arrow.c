/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary rows from Arrow columns, nested types included (Java: BinaryRowWriter over InternalArray, InternalMap,
 * InternalRow, InternalVector). Recursion follows the type, never the data, and stops at PML_TYPE_DEPTH_MAX. A nested
 * structure is written behind what is there and then pointed at, so offsets count from the structure with the slot.
 */
#include "columnar/binary_layout.h"
#include "columnar/binary_row.h"

static int put_arrow(pml_binary_writer *w, size_t i, const pml_type *t, const struct ArrowArray *array, int64_t row,
                     int depth, pml_error *err);

/* The message of what pml_buf and the layout functions only say by code. */
static int explain(const pml_buf *out, int rc, pml_error *err)
{
    if (rc == PML_E_NOMEM)
        return pml_error__no_memory(err);
    if (rc == PML_E_LIMIT && out->rc == PML_OK)
        return pml_error__set(err, PML_E_LIMIT, "a binary row would be longer than %d bytes", PML_BINARY_ROW_MAX);
    return rc == PML_E_LIMIT ? pml_buf__check(out, err) : rc;
}

static bool is_null(const struct ArrowArray *array, int64_t row)
{
    const uint8_t *validity = array->n_buffers > 0 ? array->buffers[0] : NULL;
    return validity != NULL && array->null_count != 0 && !pml_bit_get(validity, array->offset + row);
}

/* Elements [from, from + n) of an Arrow array as a binary array. */
static int write_array(pml_buf *out, const pml_type *element, const struct ArrowArray *array, int64_t from, int64_t n,
                       int depth, pml_error *err)
{
    pml_binary_writer w;
    int rc = pml_binary__begin_array(&w, out, element, (size_t)n);
    if (rc != PML_OK)
        return explain(out, rc, err);
    for (int64_t i = 0; i < n; i++)
        PML_RETURN_IF(put_arrow(&w, (size_t)i, element, array, from + i, depth, err));
    return explain(out, pml_binary__finish(&w), err);
}

/* Key array behind its size, then the value array. */
static int write_map(pml_buf *out, const pml_type *key, const pml_type *value, const struct ArrowArray *array,
                     int64_t row, int depth, pml_error *err)
{
    const int32_t *offsets = array->buffers[1];
    int64_t at = array->offset + row;
    const struct ArrowArray *entries = array->children[0];
    int64_t n = offsets[at + 1] - offsets[at];
    int64_t from = entries->offset + offsets[at];
    size_t size_at = out->len;
    int rc = pml_buf__append_zeros(out, 4);
    if (rc != PML_OK)
        return explain(out, rc, err);
    PML_RETURN_IF(write_array(out, key, entries->children[0], from, n, depth, err));
    pml_put_le32(out->data + size_at, (uint32_t)(out->len - size_at - 4));
    return write_array(out, value, entries->children[1], from, n, depth, err);
}

static int write_row(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row, int depth,
                     pml_error *err)
{
    pml_binary_writer w;
    int rc = pml_binary__begin_row(&w, out, t->n_children);
    if (rc != PML_OK)
        return explain(out, rc, err);
    for (size_t i = 0; i < t->n_children; i++)
        PML_RETURN_IF(put_arrow(&w, i, &t->children[i].type, array->children[i], array->offset + row, depth, err));
    return explain(out, pml_binary__finish(&w), err);
}

/* Element count, then the packed elements: no null bits, so a null element has no form. */
static int write_vector(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row, pml_error *err)
{
    const pml_type *element = &t->children[0].type;
    size_t width = pml_binary__width(element);
    int64_t from = (array->offset + row) * t->length;
    size_t n = (size_t)t->length, bytes = (n * width + 7) / 8 * 8;
    size_t start = out->len;
    if (pml_binary__is_structure(element) || pml_binary__reserved(element) != 0 ||
        n > PML_BINARY_ROW_MAX / PML_BINARY_SLOT)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "a vector of %zu elements of this type cannot be written as bytes", n);
    int rc = pml_buf__append_zeros(out, 4 + bytes);
    if (rc != PML_OK)
        return explain(out, rc, err);
    pml_put_le32(out->data + start, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        pml_value v;
        uint8_t slot[PML_BINARY_SLOT];
        pml_value__get(&v, element, array->children[0], from + (int64_t)i);
        if (v.kind == PML_VALUE_NULL)
            return pml_error__set(err, PML_E_INVAL, "a vector has a null element, which its byte form cannot hold");
        pml_put_le64(slot, pml_binary__slot(element, &v));
        memcpy(out->data + start + 4 + i * width, slot, width);
    }
    return PML_OK;
}

static int write_variant(pml_buf *out, const struct ArrowArray *array, int64_t row, pml_error *err)
{
    static const pml_type binary = {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX};
    pml_value value, metadata;
    uint8_t len[4];
    pml_value__get(&value, &binary, array->children[0], array->offset + row);
    pml_value__get(&metadata, &binary, array->children[1], array->offset + row);
    if (value.kind == PML_VALUE_NULL || metadata.kind == PML_VALUE_NULL)
        return pml_error__set(err, PML_E_INVAL, "a variant has a null value or null metadata");
    pml_put_le32(len, (uint32_t)value.bytes.len);
    (void)pml_buf__append(out, len, sizeof len);
    (void)pml_buf__append(out, value.bytes.ptr, value.bytes.len);
    return explain(out, pml_buf__append(out, metadata.bytes.ptr, metadata.bytes.len), err);
}

static int write_structure(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row, int depth,
                           pml_error *err)
{
    static const pml_type count = {.kind = PML_TYPE_INT};
    if (depth >= PML_TYPE_DEPTH_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a type is nested deeper than %d", PML_TYPE_DEPTH_MAX);
    if (t->kind == PML_TYPE_MAP)
        return write_map(out, &t->children[0].type, &t->children[1].type, array, row, depth + 1, err);
    if (t->kind == PML_TYPE_MULTISET)
        return write_map(out, &t->children[0].type, &count, array, row, depth + 1, err);
    if (t->kind == PML_TYPE_ROW)
        return write_row(out, t, array, row, depth + 1, err);
    if (t->kind == PML_TYPE_VECTOR)
        return write_vector(out, t, array, row, err);
    if (t->kind == PML_TYPE_VARIANT)
        return write_variant(out, array, row, err);
    const int32_t *offsets = array->buffers[1];
    int64_t at = array->offset + row;
    return write_array(out, &t->children[0].type, array->children[0], offsets[at], offsets[at + 1] - offsets[at],
                       depth + 1, err);
}

static int put_arrow(pml_binary_writer *w, size_t i, const pml_type *t, const struct ArrowArray *array, int64_t row,
                     int depth, pml_error *err)
{
    if (!pml_binary__is_structure(t)) {
        pml_value v;
        pml_value__get(&v, t, array, row);
        return explain(w->out, pml_binary__put(w, i, t, &v), err);
    }
    if (is_null(array, row))
        return explain(w->out, pml_binary__put_null(w, i, t), err);
    size_t from = w->out->len;
    PML_RETURN_IF(write_structure(w->out, t, array, row, depth, err));
    return explain(w->out, pml_binary__close_nested(w, i, from), err);
}

int pml_binary_row__write_from_arrow(pml_buf *out, const pml_type *const *types, const struct ArrowArray *batch,
                                     const int32_t *columns, size_t n, int64_t row, pml_error *err)
{
    size_t start = out->len;
    pml_binary_writer w;
    int rc = explain(out, pml_binary__begin_row(&w, out, n), err);
    for (size_t i = 0; rc == PML_OK && i < n; i++)
        rc = put_arrow(&w, i, types[i], batch->children[columns[i]], batch->offset + row, 0, err);
    if (rc == PML_OK)
        rc = explain(out, pml_binary__finish(&w), err);
    if (rc != PML_OK)
        out->len = start;
    return rc;
}
