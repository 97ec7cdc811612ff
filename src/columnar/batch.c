/* SPDX-License-Identifier: Apache-2.0 */
/* Whole batches: putting columns together, constants, accounting. */
#include "columnar/array_memory.h"
#include "columnar/batch.h"
#include "columnar/value_store.h"

int pml_batch__from_columns(struct ArrowArray *out, pml_env *env, struct ArrowArray *children, size_t n, int64_t length,
                            pml_error *err)
{
    *out = (struct ArrowArray){0};
    for (size_t i = 0; i < n; i++)
        if (children[i].length != length)
            return pml_error__set(err, PML_E_INVAL, "column %zu has %lld rows, the batch %lld", i,
                                  (long long)children[i].length, (long long)length);
    PML_RETURN_IF(pml_array__init(out, env, NULL, 1, (int64_t)n, err));
    for (size_t i = 0; i < n; i++) {
        *out->children[i] = children[i];
        children[i].release = NULL;
    }
    out->length = length;
    return PML_OK;
}

/* Fills n items of `width` bytes by doubling what is there. */
static void fill_items(uint8_t *dst, const uint8_t *item, size_t width, int64_t n)
{
    size_t total = (size_t)n * width, done = width;
    if (total == 0)
        return;
    memcpy(dst, item, width);
    while (done < total) {
        size_t step = done < total - done ? done : total - done;
        memcpy(dst + done, dst, step);
        done += step;
    }
}

static int constant_value(struct ArrowArray *out, const pml_type *t, const pml_value *v, int64_t n, pml_error *err)
{
    int rc = PML_OK;
    pml_layout layout = pml_layout__of(t);
    size_t width = layout == PML_LAYOUT_TEXT ? v->bytes.len : pml_layout__width(t), bytes = 0;
    if (__builtin_mul_overflow(width, (size_t)n, &bytes) || (layout == PML_LAYOUT_TEXT && bytes > INT32_MAX))
        return pml_error__set(err, PML_E_LIMIT, "%lld times %zu bytes do not fit one array", (long long)n, width);
    if (layout == PML_LAYOUT_BITS) {
        uint8_t *bits = pml_array__calloc(out, 1, pml_bits__bytes(n));
        if (bits == NULL)
            return pml_error__no_memory(err);
        pml_bits__fill(bits, 0, n, v->i != 0);
        return PML_OK;
    }
    uint8_t slot[16];
    const uint8_t *item = slot;
    if (layout == PML_LAYOUT_TEXT)
        item = v->bytes.ptr;
    else if ((rc = pml_value__store(slot, t, v)) != PML_OK)
        return pml_error__set(err, rc, "a timestamp constant is outside the range of its type");
    uint8_t *data = pml_array__alloc(out, layout == PML_LAYOUT_TEXT ? 2 : 1, bytes);
    if (data == NULL)
        return pml_error__no_memory(err);
    fill_items(data, item, width, n);
    if (layout != PML_LAYOUT_TEXT)
        return PML_OK;
    int32_t *offsets = pml_array__alloc(out, 1, ((size_t)n + 1) * 4);
    if (offsets == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i <= n; i++)
        offsets[i] = (int32_t)(i * (int64_t)width);
    return PML_OK;
}

/* n nulls, or n rows of zeros for NOT NULL children below them. */
static int constant_empty(struct ArrowArray *out, pml_env *env, const pml_type *t, int64_t n, bool valid,
                          pml_error *err)
{
    int rc = PML_OK;
    pml_layout layout = pml_layout__of(t);
    size_t kids = pml_layout__children(t);
    struct ArrowArray *parent = out;
    int64_t below = layout == PML_LAYOUT_STRUCT ? n : 0;
    if (layout == PML_LAYOUT_FIXED_LIST && __builtin_mul_overflow(n, (int64_t)t->length, &below))
        return pml_error__set(err, PML_E_LIMIT, "%lld vectors of %d do not fit one array", (long long)n, t->length);
    PML_TRY(pml_array__init(out, env, NULL, pml_layout__buffers(layout), layout == PML_LAYOUT_MAP ? 1 : (int64_t)kids,
                            err));
    out->length = n;
    out->null_count = valid ? 0 : n;
    size_t width = layout == PML_LAYOUT_BITS || layout == PML_LAYOUT_FIXED ? pml_layout__width(t) : 4;
    size_t bytes = layout == PML_LAYOUT_BITS ? pml_bits__bytes(n) : ((size_t)n + 1) * width;
    if ((!valid && pml_array__calloc(out, 0, pml_bits__bytes(n)) == NULL) ||
        (out->n_buffers > 1 && pml_array__calloc(out, 1, bytes) == NULL) ||
        (out->n_buffers > 2 && pml_array__calloc(out, 2, 0) == NULL))
        PML_TRY(pml_error__no_memory(err));
    if (layout == PML_LAYOUT_MAP) {
        parent = out->children[0];
        PML_TRY(pml_array__init(parent, env, NULL, 1, 2, err));
    }
    for (size_t i = 0; i < kids; i++) {
        const pml_type *child = pml_layout__child(t, i);
        PML_TRY(constant_empty(parent->children[i], env, child, below, !child->nullable, err));
    }
out:
    return rc;
}

int pml_batch__constant(struct ArrowArray *out, pml_env *env, const pml_type *type, const pml_value *v, int64_t length,
                        pml_error *err)
{
    int rc = PML_OK;
    *out = (struct ArrowArray){0};
    if (length < 0 || length > INT64_MAX / 32)
        return pml_error__set(err, PML_E_INVAL, "%lld is no number of rows", (long long)length);
    if (v->kind == PML_VALUE_NULL) {
        PML_TRY(constant_empty(out, env, type, length, false, err));
        return PML_OK;
    }
    if (!pml_value__fits(type, v))
        return pml_error__set(err, PML_E_INVAL, "a constant of kind %d does not fit a column of type %d", (int)v->kind,
                              (int)type->kind);
    PML_TRY(pml_array__init(out, env, NULL, pml_layout__buffers(pml_layout__of(type)), 0, err));
    PML_TRY(constant_value(out, type, v, length, err));
    out->length = length;
out:
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}

/* Of a column without offsets and children. n > 0. */
static inline uint64_t plain_bytes(const struct ArrowArray *a, const pml_type *t, pml_layout layout, int64_t n)
{
    uint64_t bytes = pml_array__validity(a) == NULL ? 0 : pml_bits__bytes(n);
    return bytes + (layout == PML_LAYOUT_BITS ? pml_bits__bytes(n) : (uint64_t)n * pml_layout__width(t));
}

/* Bytes of the rows [row, row + n) of an array, row counted without the array's own offset. */
static uint64_t array_bytes(const struct ArrowArray *a, const pml_type *t, int64_t row, int64_t n)
{
    uint64_t bytes = pml_array__validity(a) == NULL ? 0 : pml_bits__bytes(n);
    int64_t start = a->offset + row, first = 0, last = 0;
    const struct ArrowArray *parent = a;
    pml_layout layout = pml_layout__of(t);
    if (n == 0)
        return 0;
    if (layout <= PML_LAYOUT_FIXED)
        return plain_bytes(a, t, layout, n);
    if (layout == PML_LAYOUT_STRUCT)
        first = start, last = start + n;
    else if (layout == PML_LAYOUT_FIXED_LIST)
        first = start * t->length, last = (start + n) * t->length;
    else
        first = pml_load_i32(a->buffers[1], start), last = pml_load_i32(a->buffers[1], start + n);
    if (layout == PML_LAYOUT_TEXT || layout == PML_LAYOUT_LIST || layout == PML_LAYOUT_MAP)
        bytes += ((uint64_t)n + 1) * 4;
    if (layout == PML_LAYOUT_TEXT)
        return bytes + (uint64_t)(last - first);
    if (layout == PML_LAYOUT_MAP) {
        parent = a->children[0];
        first += parent->offset, last += parent->offset;
    }
    for (size_t i = 0, kids = pml_layout__children(t); i < kids && last > first; i++) {
        const pml_type *child = pml_layout__child(t, i);
        pml_layout below = pml_layout__of(child);
        bytes += below <= PML_LAYOUT_FIXED ? plain_bytes(parent->children[i], child, below, last - first)
                                           : array_bytes(parent->children[i], child, first, last - first);
    }
    return bytes;
}

uint64_t pml_batch__bytes(const struct ArrowArray *batch, const pml_field *fields, size_t n)
{
    const pml_type row = pml_layout__row(fields, n);
    return array_bytes(batch, &row, 0, batch->length);
}

int pml_batch__filter(struct ArrowArray *batch, pml_env *env, const pml_pred *predicate, const pml_field *fields, size_t n_fields,
                      pml_error *err)
{
    struct ArrowArray cut = {0};
    int64_t n = 0, length = batch->length;
    int64_t *rows = pml_env__calloc(env, (size_t)length + 1, sizeof *rows);
    uint8_t *keep = pml_env__calloc(env, (size_t)length + 1, 1);
    int rc = rows == NULL || keep == NULL ? pml_error__no_memory(err) : PML_OK;
    if (rc == PML_OK)
        rc = pml_pred__eval(keep, predicate, env, batch, fields, n_fields, err);
    for (int64_t i = 0; rc == PML_OK && i < length; i++) {
        rows[n] = i;
        n += keep[i] != 0;
    }
    if (rc == PML_OK && n < length)
        rc = pml_batch__gather_rows(&cut, env, fields, n_fields, batch, rows, n, err);
    if (rc == PML_OK && n < length) {
        batch->release(batch);
        *batch = cut;
    }
    pml_env__free(env, keep);
    pml_env__free(env, rows);
    return rc;
}
