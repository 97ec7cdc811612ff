/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/value.h"

#include <assert.h>
#include <math.h>

static int compare_int64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Java's Double.compare: by value, then by sign of zero, NaN above all. A float widens without changing that order. */
static int compare_double(double a, double b)
{
    if (a < b)
        return -1;
    if (a > b)
        return 1;
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (signbit(b) ? 1 : 0) - (signbit(a) ? 1 : 0);
}

int pml_value__compare(const pml_value *a, const pml_value *b)
{
    int c = 0;
    assert(a->kind == b->kind && a->kind != PML_VALUE_NULL);
    switch (a->kind) {
    case PML_VALUE_NULL: break;
    case PML_VALUE_BOOL:
    case PML_VALUE_INT: c = compare_int64(a->i, b->i); break;
    case PML_VALUE_FLOAT: c = compare_double((double)a->f, (double)b->f); break;
    case PML_VALUE_DOUBLE: c = compare_double(a->d, b->d); break;
    case PML_VALUE_BYTES: c = pml_bytes_compare(a->bytes, b->bytes); break;
    case PML_VALUE_DECIMAL: c = a->dec < b->dec ? -1 : a->dec > b->dec; break;
    case PML_VALUE_TIMESTAMP:
        c = compare_int64(a->ts.ms, b->ts.ms);
        c = c != 0 ? c : compare_int64(a->ts.nanos, b->ts.nanos);
        break;
    }
    return c;
}

bool pml_value__equal(const pml_value *a, const pml_value *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == PML_VALUE_NULL || pml_value__compare(a, b) == 0;
}

int pml_value__copy(pml_value *out, pml_arena *arena, const pml_value *v)
{
    *out = *v;
    if (v->kind != PML_VALUE_BYTES || v->bytes.len == 0)
        return PML_OK;
    out->bytes.ptr = pml_arena__copy(arena, v->bytes.ptr, v->bytes.len);
    if (out->bytes.ptr != NULL)
        return PML_OK;
    *out = (pml_value){.kind = PML_VALUE_NULL};
    return PML_E_NOMEM;
}

/* Floor, so that -1 microsecond is -1 ms and 999000 ns. */
static void set_timestamp(pml_value *out, int64_t v, int64_t per_ms, int32_t nanos_per_unit)
{
    int64_t rest = v % per_ms;
    int64_t ms = v / per_ms;
    if (rest < 0) {
        rest += per_ms;
        ms--;
    }
    out->kind = PML_VALUE_TIMESTAMP;
    out->ts.ms = ms;
    out->ts.nanos = (int32_t)rest * nanos_per_unit;
}

static void get_timestamp(pml_value *out, int32_t precision, int64_t v)
{
    if (precision <= 3)
        set_timestamp(out, v, 1, 0);
    else if (precision <= 6)
        set_timestamp(out, v, 1000, 1000);
    else
        set_timestamp(out, v, 1000000, 1);
}

static void get_bytes(pml_value *out, const struct ArrowArray *array, int64_t at)
{
    const int32_t *offsets = array->buffers[1];
    const uint8_t *data = array->buffers[2];
    out->kind = PML_VALUE_BYTES;
    out->bytes.len = (size_t)(offsets[at + 1] - offsets[at]);
    out->bytes.ptr = data == NULL ? NULL : data + offsets[at];
}

static void get_int(pml_value *out, int64_t v)
{
    out->kind = PML_VALUE_INT;
    out->i = v;
}

void pml_value__get(pml_value *out, const pml_type *t, const struct ArrowArray *array, int64_t row)
{
    int64_t at = array->offset + row;
    const uint8_t *validity = array->buffers[0];
    const void *data = array->buffers[1];
    *out = (pml_value){.kind = PML_VALUE_NULL};
    if (validity != NULL && array->null_count != 0 && !pml_bit_get(validity, at))
        return;
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
        out->kind = PML_VALUE_BOOL;
        out->i = pml_bit_get(data, at);
        break;
    case PML_TYPE_TINYINT: get_int(out, ((const int8_t *)data)[at]); break;
    case PML_TYPE_SMALLINT: get_int(out, ((const int16_t *)data)[at]); break;
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: get_int(out, ((const int32_t *)data)[at]); break;
    case PML_TYPE_BIGINT: get_int(out, ((const int64_t *)data)[at]); break;
    case PML_TYPE_FLOAT:
        out->kind = PML_VALUE_FLOAT;
        out->f = ((const float *)data)[at];
        break;
    case PML_TYPE_DOUBLE:
        out->kind = PML_VALUE_DOUBLE;
        out->d = ((const double *)data)[at];
        break;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: get_bytes(out, array, at); break;
    case PML_TYPE_DECIMAL:
        out->kind = PML_VALUE_DECIMAL;
        /* Arrow promises 8-byte alignment only, __int128 wants 16. */
        memcpy(&out->dec, (const uint8_t *)data + at * 16, 16);
        break;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: get_timestamp(out, t->precision, ((const int64_t *)data)[at]); break;
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: assert(0 && "pml_value__get takes atomic types"); break;
    }
}
