/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/binary_row.h"

#include <assert.h>
#include <math.h>

#include "columnar/binary_layout.h"

enum {
    DECIMAL_COMPACT = 18, /* largest precision that fits an int64 */
    TIMESTAMP_COMPACT = 3
};

size_t pml_binary__row_header(size_t n)
{
    return (n + 63 + PML_BINARY_ROW_NULL_BIT) / 64 * 8;
}

size_t pml_binary__array_header(size_t n)
{
    return 4 + (n + 31) / 32 * 4;
}

size_t pml_binary__reserved(const pml_type *t)
{
    if (t->kind == PML_TYPE_DECIMAL)
        return t->precision > DECIMAL_COMPACT ? 16 : 0;
    if (t->kind == PML_TYPE_TIMESTAMP || t->kind == PML_TYPE_TIMESTAMP_LTZ)
        return t->precision > TIMESTAMP_COMPACT ? 8 : 0;
    return 0;
}

size_t pml_binary__width(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT: return 1;
    case PML_TYPE_SMALLINT: return 2;
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_FLOAT: return 4;
    case PML_TYPE_BIGINT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB:
    case PML_TYPE_DECIMAL:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ:
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: break;
    }
    return PML_BINARY_SLOT;
}

bool pml_binary__is_structure(const pml_type *t)
{
    return t->kind >= PML_TYPE_ARRAY && t->kind <= PML_TYPE_VARIANT;
}

int pml_binary__begin_row(pml_binary_writer *w, pml_buf *out, size_t n)
{
    size_t header = pml_binary__row_header(n);
    *w = (pml_binary_writer){out, out->len, PML_BINARY_ROW_NULL_BIT, header, PML_BINARY_SLOT, false};
    return n > PML_BINARY_ROW_MAX / PML_BINARY_SLOT ? PML_E_LIMIT
                                                    : pml_buf__append_zeros(out, header + n * PML_BINARY_SLOT);
}

int pml_binary__begin_array(pml_binary_writer *w, pml_buf *out, const pml_type *element, size_t n)
{
    size_t width = pml_binary__width(element);
    size_t header = pml_binary__array_header(n);
    *w = (pml_binary_writer){out, out->len, PML_BINARY_ARRAY_NULL_BIT, header, width, true};
    if (n > PML_BINARY_ROW_MAX / PML_BINARY_SLOT)
        return PML_E_LIMIT;
    PML_RETURN_IF(pml_buf__append_zeros(out, (header + n * width + 7) / 8 * 8));
    pml_put_le32(out->data + w->start, (uint32_t)n);
    return PML_OK;
}

static uint8_t *slot_of(const pml_binary_writer *w, size_t i)
{
    return w->out->data + w->start + w->slots + i * w->width;
}

static void put_slot(const pml_binary_writer *w, size_t i, uint64_t bits)
{
    uint8_t bytes[PML_BINARY_SLOT];
    pml_put_le64(bytes, bits);
    memcpy(slot_of(w, i), bytes, w->width);
}

static void put_pointer(const pml_binary_writer *w, size_t i, size_t from, uint32_t low)
{
    put_slot(w, i, (uint64_t)(from - w->start) << 32 | low);
}

static int pad_from(pml_buf *out, size_t from)
{
    return pml_buf__append_zeros(out, (8 - (out->len - from) % 8) % 8);
}

static int check_size(const pml_binary_writer *w)
{
    return w->out->len - w->start > PML_BINARY_ROW_MAX ? PML_E_LIMIT : PML_OK;
}

int pml_binary__close_nested(pml_binary_writer *w, size_t i, size_t from)
{
    size_t len = w->out->len - from;
    PML_RETURN_IF(pad_from(w->out, from));
    PML_RETURN_IF(check_size(w));
    put_pointer(w, i, from, (uint32_t)len);
    return PML_OK;
}

static int put_long_bytes(pml_binary_writer *w, size_t i, pml_bytes bytes)
{
    size_t from = w->out->len;
    if (bytes.len > PML_BINARY_ROW_MAX)
        return PML_E_LIMIT;
    PML_RETURN_IF(pml_buf__append(w->out, bytes.ptr, bytes.len));
    return pml_binary__close_nested(w, i, from);
}

/* Two's complement, big-endian, as few bytes as keep the sign: Java's BigInteger.toByteArray. Returns their number. */
static size_t minimal_decimal(uint8_t out[16], pml_int128 v)
{
    uint8_t all[16];
    size_t skip = 0;
    pml_put_be64(all, (uint64_t)((unsigned __int128)v >> 64));
    pml_put_be64(all + 8, (uint64_t)v);
    while (skip < 15 && ((all[skip] == 0 && all[skip + 1] < 0x80) || (all[skip] == 0xff && all[skip + 1] >= 0x80)))
        skip++;
    memset(out, 0, 16);
    memcpy(out, all + skip, 16 - skip);
    return 16 - skip;
}

void pml_binary__encode_reserved(uint8_t item[16], uint32_t *low, const pml_value *v)
{
    memset(item, 0, 16);
    *low = 0;
    if (v->kind == PML_VALUE_DECIMAL) {
        *low = (uint32_t)minimal_decimal(item, v->dec);
    } else if (v->kind == PML_VALUE_TIMESTAMP) {
        *low = (uint32_t)v->ts.nanos;
        pml_put_le64(item, (uint64_t)v->ts.ms);
    }
}

static int put_reserved(pml_binary_writer *w, size_t i, const pml_type *t, const pml_value *v)
{
    uint8_t item[16];
    uint32_t low;
    size_t from = w->out->len;
    pml_binary__encode_reserved(item, &low, v);
    PML_RETURN_IF(pml_buf__append(w->out, item, pml_binary__reserved(t)));
    PML_RETURN_IF(check_size(w));
    put_pointer(w, i, from, low);
    return PML_OK;
}

int pml_binary__put_null(pml_binary_writer *w, size_t i, const pml_type *t)
{
    static const pml_value null = {.kind = PML_VALUE_NULL};
    pml_bit_set(w->out->data + w->start, (int64_t)(w->null_bit + i));
    /* Rows reserve the room, arrays do not. */
    if (w->array || pml_binary__reserved(t) == 0)
        return PML_OK;
    return put_reserved(w, i, t, &null);
}

static uint64_t inline_bytes(pml_bytes bytes)
{
    uint8_t slot[PML_BINARY_SLOT] = {0};
    if (bytes.len > 0)
        memcpy(slot, bytes.ptr, bytes.len);
    slot[PML_BINARY_INLINE_MAX] = (uint8_t)(PML_BINARY_INLINE_MARK | bytes.len);
    return pml_le64(slot);
}

static uint32_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t double_bits(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* Integers keep only the bytes of their type: a slot's other bytes stay zero, also for negative numbers. */
static uint64_t int_bits(const pml_type *t, int64_t v)
{
    size_t width = pml_binary__width(t);
    return width == PML_BINARY_SLOT ? (uint64_t)v : (uint64_t)v & ((UINT64_C(1) << (8 * width)) - 1);
}

uint64_t pml_binary__slot(const pml_type *t, const pml_value *v)
{
    switch (v->kind) {
    case PML_VALUE_NULL: break;
    case PML_VALUE_BOOL:
    case PML_VALUE_INT: return int_bits(t, v->i);
    case PML_VALUE_FLOAT: return float_bits(v->f);
    case PML_VALUE_DOUBLE: return double_bits(v->d);
    case PML_VALUE_BYTES: assert(v->bytes.len <= PML_BINARY_INLINE_MAX); return inline_bytes(v->bytes);
    case PML_VALUE_DECIMAL: return (uint64_t)v->dec;
    case PML_VALUE_TIMESTAMP: return (uint64_t)v->ts.ms;
    }
    return 0;
}

#define NAN_FLOAT UINT64_C(0x7fc00000)
#define NAN_DOUBLE UINT64_C(0x7ff8000000000000)

/* Java's array writer, other than its row writer, has one bit pattern for NaN. */
static uint64_t array_slot(const pml_type *t, const pml_value *v)
{
    if (v->kind == PML_VALUE_FLOAT && isnan(v->f))
        return NAN_FLOAT;
    if (v->kind == PML_VALUE_DOUBLE && isnan(v->d))
        return NAN_DOUBLE;
    return pml_binary__slot(t, v);
}

void pml_binary_row__same_nan(uint8_t *row, const pml_type *const *types, size_t n)
{
    uint8_t *slot = row + pml_binary__row_header(n);
    for (size_t i = 0; i < n; i++, slot += PML_BINARY_SLOT) {
        const uint64_t bits = pml_le64(slot);
        if (types[i]->kind == PML_TYPE_FLOAT && (bits & 0x7fffffff) > 0x7f800000)
            pml_put_le64(slot, NAN_FLOAT);
        else if (types[i]->kind == PML_TYPE_DOUBLE && (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000))
            pml_put_le64(slot, NAN_DOUBLE);
    }
}

int pml_binary__put(pml_binary_writer *w, size_t i, const pml_type *t, const pml_value *v)
{
    if (v->kind == PML_VALUE_NULL)
        return pml_binary__put_null(w, i, t);
    if (v->kind == PML_VALUE_BYTES && (v->bytes.len > PML_BINARY_INLINE_MAX || pml_binary__is_structure(t)))
        return put_long_bytes(w, i, v->bytes);
    if (pml_binary__reserved(t) != 0)
        return put_reserved(w, i, t, v);
    put_slot(w, i, w->array ? array_slot(t, v) : pml_binary__slot(t, v));
    return PML_OK;
}

int pml_binary__finish(pml_binary_writer *w)
{
    PML_RETURN_IF(pad_from(w->out, w->start));
    return check_size(w);
}

int pml_binary_row__write(pml_buf *out, const pml_type *const *types, const pml_value *values, size_t n)
{
    int rc;
    size_t start = out->len;
    pml_binary_writer w;
    PML_TRY(pml_binary__begin_row(&w, out, n));
    for (size_t i = 0; i < n; i++)
        PML_TRY(pml_binary__put(&w, i, types[i], &values[i]));
    PML_TRY(pml_binary__finish(&w));
out:
    if (rc != PML_OK)
        out->len = start;
    return rc;
}

int pml_binary_row__write_counted(pml_buf *out, const pml_type *const *types, const pml_value *values, size_t n)
{
    size_t start = out->len;
    int rc = pml_buf__append_be32(out, (uint32_t)n);
    if (rc == PML_OK)
        rc = pml_binary_row__write(out, types, values, n);
    if (rc != PML_OK)
        out->len = start;
    return rc;
}
