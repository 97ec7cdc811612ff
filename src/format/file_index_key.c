/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "format/file_index_read.h"

enum { MILLIS_PRECISION = 3, MICROS_PRECISION = 6, LONG_DIGITS = 18, NANOS_PER_MICRO = 1000, MICROS_PER_MILLI = 1000 };

bool pml_index_key__fits(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: return true;
    case PML_TYPE_DECIMAL: return t->precision <= LONG_DIGITS;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return t->precision <= MICROS_PRECISION;
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: return false;
    }
    return false;
}

static bool timestamp_key(pml_value *key, const pml_type *t, const pml_value *v)
{
    int64_t per_ms = t->precision <= MILLIS_PRECISION ? 1 : MICROS_PER_MILLI, rest = v->ts.nanos;
    key->kind = PML_VALUE_INT;
    if (per_ms == 1) {
        key->i = v->ts.ms;
        return rest == 0;
    }
    return !__builtin_mul_overflow(v->ts.ms, per_ms, &key->i) && !__builtin_add_overflow(key->i, rest / NANOS_PER_MICRO, &key->i) &&
           rest % NANOS_PER_MICRO == 0;
}

bool pml_index_key__of(pml_value *key, const pml_type *t, const pml_value *v)
{
    *key = *v;
    if (!pml_index_key__fits(t) || v->kind == PML_VALUE_NULL)
        return false;
    if (v->kind == PML_VALUE_TIMESTAMP)
        return timestamp_key(key, t, v);
    if (v->kind == PML_VALUE_DECIMAL) {
        *key = (pml_value){.kind = PML_VALUE_INT, .i = (int64_t)v->dec};
        return v->dec == key->i;
    }
    return true;
}

void pml_index_key__read(pml_value *key, const pml_type *t, pml_index_cursor *c)
{
    uint32_t bits32;
    uint64_t bits64;
    *key = (pml_value){.kind = PML_VALUE_INT};
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: *key = (pml_value){.kind = PML_VALUE_BOOL, .i = pml_index_cursor__u8(c) != 0}; break;
    case PML_TYPE_TINYINT: key->i = (int8_t)pml_index_cursor__u8(c); break;
    case PML_TYPE_SMALLINT: {
        pml_bytes b = pml_index_cursor__take(c, 2);
        key->i = b.ptr == NULL ? 0 : (int16_t)(b.ptr[0] << 8 | b.ptr[1]);
        break;
    }
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: key->i = pml_index_cursor__i32(c); break;
    case PML_TYPE_FLOAT:
        bits32 = (uint32_t)pml_index_cursor__i32(c);
        key->kind = PML_VALUE_FLOAT;
        memcpy(&key->f, &bits32, sizeof key->f);
        break;
    case PML_TYPE_DOUBLE:
        bits64 = (uint64_t)pml_index_cursor__i64(c);
        key->kind = PML_VALUE_DOUBLE;
        memcpy(&key->d, &bits64, sizeof key->d);
        break;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR: {
        int32_t n = pml_index_cursor__i32(c);
        *key = (pml_value){.kind = PML_VALUE_BYTES, .bytes = pml_index_cursor__take(c, n)};
        break;
    }
    case PML_TYPE_BIGINT:
    case PML_TYPE_DECIMAL:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: key->i = pml_index_cursor__i64(c); break;
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: c->bad = true; break; /* pml_index_key__fits was false */
    }
}
