/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/binary_layout.h"
#include "columnar/binary_row.h"

enum { KIND_MAX = 3, DECIMAL_BYTES_MAX = 16, NANOS_PER_MS = 1000000 };

/* One structure being read. fixed: length of header and slots; the variable part may not begin before. */
typedef struct reader {
    pml_bytes bytes;
    size_t fixed;
    size_t field; /* for messages */
} reader;

/* The item a slot points at. It never overlaps the fixed part, but two may share bytes: harmless, as nobody writes. */
static int pointed(pml_bytes *item, const reader *r, uint64_t slot, size_t len, pml_error *err)
{
    size_t offset = (size_t)(slot >> 32);
    if (offset < r->fixed || offset > r->bytes.len || len > r->bytes.len - offset) {
        (void)pml_error__set(err, PML_E_CORRUPT,
                             "field %zu of a binary row points at bytes %zu to %zu of a row of %zu bytes", r->field,
                             offset, offset + len, r->bytes.len);
        return PML_E_CORRUPT; /* said here, so that analysers see that item is set on success */
    }
    *item = (pml_bytes){r->bytes.ptr + offset, len};
    return PML_OK;
}

static int read_bytes(pml_value *out, const reader *r, const pml_type *t, const uint8_t *slot, pml_error *err)
{
    uint64_t bits = pml_le64(slot);
    uint8_t mark = slot[PML_BINARY_INLINE_MAX];
    out->kind = PML_VALUE_BYTES;
    if ((mark & PML_BINARY_INLINE_MARK) == 0 || pml_binary__is_structure(t))
        return pointed(&out->bytes, r, bits, (uint32_t)bits, err);
    size_t len = mark & (PML_BINARY_INLINE_MARK - 1);
    if (len > PML_BINARY_INLINE_MAX)
        return pml_error__set(err, PML_E_CORRUPT, "field %zu of a binary row has %zu inlined bytes, more than 7",
                              r->field, len);
    out->bytes = (pml_bytes){slot, len};
    return PML_OK;
}

static int read_decimal(pml_value *out, const reader *r, const pml_type *t, const uint8_t *slot, pml_error *err)
{
    uint64_t bits = pml_le64(slot);
    pml_bytes item;
    out->kind = PML_VALUE_DECIMAL;
    if (pml_binary__reserved(t) == 0) {
        out->dec = (int64_t)bits;
        return PML_OK;
    }
    size_t len = (uint32_t)bits;
    if (len == 0 || len > DECIMAL_BYTES_MAX)
        return pml_error__set(err, PML_E_CORRUPT, "field %zu of a binary row is a decimal of %zu bytes", r->field, len);
    PML_RETURN_IF(pointed(&item, r, bits, len, err));
    unsigned __int128 v = item.ptr[0] >= 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < len; i++)
        v = v << 8 | item.ptr[i];
    out->dec = (pml_int128)v;
    return PML_OK;
}

static int read_timestamp(pml_value *out, const reader *r, const pml_type *t, const uint8_t *slot, pml_error *err)
{
    uint64_t bits = pml_le64(slot);
    uint32_t nanos = (uint32_t)bits;
    pml_bytes item;
    out->kind = PML_VALUE_TIMESTAMP;
    if (pml_binary__reserved(t) == 0) {
        out->ts.ms = (int64_t)bits;
        return PML_OK;
    }
    if (nanos >= NANOS_PER_MS)
        return pml_error__set(err, PML_E_CORRUPT, "field %zu of a binary row has %u nanoseconds in a millisecond",
                              r->field, nanos);
    PML_RETURN_IF(pointed(&item, r, bits, 8, err));
    out->ts.ms = (int64_t)pml_le64(item.ptr);
    out->ts.nanos = (int32_t)nanos;
    return PML_OK;
}

static int read_int(pml_value *out, int64_t v)
{
    out->kind = PML_VALUE_INT;
    out->i = v;
    return PML_OK;
}

static int read_slot(pml_value *out, const reader *r, const pml_type *t, const uint8_t *slot, pml_error *err)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
        out->kind = PML_VALUE_BOOL;
        out->i = slot[0] != 0;
        return PML_OK;
    case PML_TYPE_TINYINT: return read_int(out, (int8_t)slot[0]);
    case PML_TYPE_SMALLINT: return read_int(out, (int16_t)pml_le16(slot));
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: return read_int(out, (int32_t)pml_le32(slot));
    case PML_TYPE_BIGINT: return read_int(out, (int64_t)pml_le64(slot));
    case PML_TYPE_FLOAT:
        out->kind = PML_VALUE_FLOAT;
        memcpy(&out->f, slot, sizeof out->f);
        return PML_OK;
    case PML_TYPE_DOUBLE:
        out->kind = PML_VALUE_DOUBLE;
        memcpy(&out->d, slot, sizeof out->d);
        return PML_OK;
    case PML_TYPE_DECIMAL: return read_decimal(out, r, t, slot, err);
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return read_timestamp(out, r, t, slot, err);
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB:
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: return read_bytes(out, r, t, slot, err);
    }
    return pml_error__set(err, PML_E_INTERNAL, "a column type has the unknown kind %d", (int)t->kind);
}

static int read_row(pml_value *values, const pml_type *const *types, size_t n, pml_bytes bytes, pml_error *err)
{
    size_t header = pml_binary__row_header(n);
    reader r = {bytes, header + n * PML_BINARY_SLOT, 0};
    if (n > PML_BINARY_ROW_MAX / PML_BINARY_SLOT || bytes.len > PML_BINARY_ROW_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a binary row has %zu bytes and %zu fields; the limit is %d bytes",
                              bytes.len, n, PML_BINARY_ROW_MAX);
    if (bytes.len < r.fixed)
        return pml_error__set(err, PML_E_CORRUPT, "a binary row of %zu fields has %zu bytes, less than %zu", n,
                              bytes.len, r.fixed);
    if (bytes.ptr[0] > KIND_MAX)
        return pml_error__set(err, PML_E_CORRUPT, "a binary row has the unknown row kind %d", bytes.ptr[0]);
    for (r.field = 0; r.field < n; r.field++) {
        size_t i = r.field;
        if (!pml_bit_get(bytes.ptr, (int64_t)(PML_BINARY_ROW_NULL_BIT + i)))
            PML_RETURN_IF(read_slot(&values[i], &r, types[i], bytes.ptr + header + i * PML_BINARY_SLOT, err));
    }
    return PML_OK;
}

int pml_binary_row__read(pml_value *values, const pml_type *const *types, size_t n, pml_bytes bytes, pml_error *err)
{
    if (n > 0)
        memset(values, 0, n * sizeof *values);
    int rc = read_row(values, types, n, bytes, err);
    if (rc != PML_OK && n > 0)
        memset(values, 0, n * sizeof *values);
    return rc;
}

int pml_binary_row__uncount(pml_bytes *row, pml_bytes counted, size_t n, pml_error *err)
{
    *row = (pml_bytes){NULL, 0};
    if (counted.len < 4)
        return pml_error__set(err, PML_E_CORRUPT, "a serialised row has %zu bytes, too few for its field count",
                              counted.len);
    uint32_t count = pml_be32(counted.ptr);
    if (count != n)
        return pml_error__set(err, PML_E_CORRUPT, "a serialised row has %u fields where %zu were expected", count, n);
    *row = (pml_bytes){counted.ptr + 4, counted.len - 4};
    return PML_OK;
}

int pml_binary_array__write_longs(pml_buf *out, const int64_t *values, size_t n)
{
    static const pml_type type = {.kind = PML_TYPE_BIGINT};
    size_t start = out->len;
    pml_binary_writer w;
    int rc = pml_binary__begin_array(&w, out, &type, n);
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        pml_value v = {.kind = values[i] == -1 ? PML_VALUE_NULL : PML_VALUE_INT};
        v.i = values[i];
        rc = pml_binary__put(&w, i, &type, &v);
    }
    if (rc != PML_OK)
        out->len = start;
    return rc;
}

int pml_binary_array__read_longs(int64_t *values, size_t n, pml_bytes bytes, pml_error *err)
{
    size_t header = pml_binary__array_header(n);
    if (n > PML_BINARY_ROW_MAX / PML_BINARY_SLOT)
        return pml_error__set(err, PML_E_LIMIT, "a binary array of %zu elements was asked for", n);
    if (bytes.len < 4 || pml_le32(bytes.ptr) != n)
        return pml_error__set(err, PML_E_CORRUPT, "a binary array of %zu bytes does not have the expected %zu elements",
                              bytes.len, n);
    if (bytes.len < header + n * PML_BINARY_SLOT)
        return pml_error__set(err, PML_E_CORRUPT, "a binary array of %zu numbers has only %zu bytes", n, bytes.len);
    for (size_t i = 0; i < n; i++) {
        bool null = pml_bit_get(bytes.ptr, (int64_t)(PML_BINARY_ARRAY_NULL_BIT + i));
        values[i] = null ? -1 : (int64_t)pml_le64(bytes.ptr + header + i * PML_BINARY_SLOT);
    }
    return PML_OK;
}

/* ---- arrays of atomic values ---- */

int pml_binary_array__write(pml_buf *out, const pml_type *element, const pml_value *values, size_t n)
{
    size_t start = out->len;
    pml_binary_writer w;
    int rc = pml_binary__begin_array(&w, out, element, n);
    for (size_t i = 0; rc == PML_OK && i < n; i++)
        rc = pml_binary__put(&w, i, element, &values[i]);
    if (rc != PML_OK)
        out->len = start;
    return rc;
}

int pml_binary_array__count(size_t *n, const pml_type *element, pml_bytes bytes, pml_error *err)
{
    *n = 0;
    if (bytes.len < 4)
        return pml_error__set(err, PML_E_CORRUPT, "a binary array of %zu bytes has no element count", bytes.len);
    size_t count = pml_le32(bytes.ptr);
    size_t width = pml_binary__width(element);
    if (count > bytes.len || pml_binary__array_header(count) + count * width > bytes.len)
        return pml_error__set(err, PML_E_CORRUPT, "a binary array of %zu bytes says it has %zu elements", bytes.len, count);
    *n = count;
    return PML_OK;
}

int pml_binary_array__read(pml_value *values, const pml_type *element, size_t n, pml_bytes bytes, pml_error *err)
{
    size_t header = pml_binary__array_header(n), width = pml_binary__width(element), count;
    reader r = {bytes, header + n * width, 0};
    PML_RETURN_IF(pml_binary_array__count(&count, element, bytes, err));
    if (count != n)
        return pml_error__set(err, PML_E_CORRUPT, "a binary array has %zu elements where %zu were expected", count, n);
    if (n > 0)
        memset(values, 0, n * sizeof *values);
    for (r.field = 0; r.field < n; r.field++) {
        size_t i = r.field;
        if (!pml_bit_get(bytes.ptr, (int64_t)(PML_BINARY_ARRAY_NULL_BIT + i)))
            PML_RETURN_IF(read_slot(&values[i], &r, element, bytes.ptr + header + i * width, err));
    }
    return PML_OK;
}
