/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/column_keys.h"

#include "columnar/value_store.h"

static const int32_t nan_bits32 = 0x7FC00000;
static const int64_t nan_bits64 = 0x7FF8000000000000;

pml_key_kind pml_key__kind(const pml_type *t)
{
    switch (pml_value__kind_of(t)) {
    case PML_VALUE_BOOL:
    case PML_VALUE_INT:
    case PML_VALUE_FLOAT:
    case PML_VALUE_DOUBLE:
    case PML_VALUE_TIMESTAMP: return PML_KEY_INT64;
    case PML_VALUE_DECIMAL: return PML_KEY_INT128;
    case PML_VALUE_BYTES: return PML_KEY_TEXT;
    case PML_VALUE_NULL: break;
    }
    return PML_KEY_NONE;
}

static int64_t key_of_float(int32_t bits)
{
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        bits = nan_bits32;
    return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

static int64_t key_of_double(int64_t bits)
{
    if ((bits & INT64_MAX) > 0x7FF0000000000000)
        bits = nan_bits64;
    return bits ^ ((bits >> 63) & INT64_MAX);
}

int64_t pml_key__nan(const pml_type *t)
{
    return t->kind == PML_TYPE_FLOAT ? nan_bits32 : nan_bits64;
}

/* memcpy: foreign buffers need not be aligned; compilers make plain loads of it. */
#define LOAD_LOOP(ctype, convert)                                 \
    for (int64_t i = 0; i < n; i++) {                             \
        ctype v;                                                  \
        memcpy(&v, src + (at + i) * (int64_t)sizeof v, sizeof v); \
        keys[i] = convert(v);                                     \
    }

void pml_keys__load(int64_t *keys, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    const uint8_t *src = a->buffers[1];
    int64_t at = a->offset + row;
    if (t->kind == PML_TYPE_BOOLEAN) {
        for (int64_t i = 0; i < n; i++)
            keys[i] = pml_bit_get(src, at + i);
        return;
    }
    if (t->kind == PML_TYPE_FLOAT) {
        LOAD_LOOP(int32_t, key_of_float)
        return;
    }
    if (t->kind == PML_TYPE_DOUBLE) {
        LOAD_LOOP(int64_t, key_of_double)
        return;
    }
    switch (pml_layout__width(t)) {
    case 1: LOAD_LOOP(int8_t, ) break;
    case 2: LOAD_LOOP(int16_t, ) break;
    case 4: LOAD_LOOP(int32_t, ) break;
    default: LOAD_LOOP(int64_t, ) break;
    }
}

void pml_keys__load_decimals(pml_int128 *keys, const struct ArrowArray *a, int64_t row, int64_t n)
{
    memcpy(keys, (const uint8_t *)a->buffers[1] + (a->offset + row) * 16, (size_t)n * 16);
}

void pml_keys__load_valid(uint8_t *valid, const struct ArrowArray *a, int64_t row, int64_t n)
{
    const uint8_t *bits = pml_array__validity(a);
    if (bits == NULL) {
        memset(valid, 1, (size_t)n);
        return;
    }
    int64_t at = a->offset + row, i = 0;
    const uint8_t *p = bits + (at >> 3);
    int shift = (int)(at & 7);
    for (; i + 8 <= n; i += 8, p++) {
        uint64_t byte = (uint8_t)(shift == 0 ? p[0] : (p[0] >> shift) | (p[1] << (8 - shift)));
        /* Bit k of the byte to byte k: copies everywhere, one bit kept in each, which the sum carries to bit 7. */
        uint64_t spread = (byte * 0x0101010101010101u) & 0x8040201008040201u;
        pml_put_le64(valid + i, ((spread + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u);
    }
    for (; i < n; i++)
        valid[i] = pml_bit_get(bits, at + i);
}

void pml_key__value(pml_value *out, const pml_type *t, int64_t key)
{
    *out = (pml_value){.kind = pml_value__kind_of(t)};
    if (out->kind == PML_VALUE_FLOAT) {
        int32_t bits = (int32_t)key;
        bits ^= (bits >> 31) & 0x7FFFFFFF;
        memcpy(&out->f, &bits, sizeof bits);
    } else if (out->kind == PML_VALUE_DOUBLE) {
        int64_t bits = key ^ ((key >> 63) & INT64_MAX);
        memcpy(&out->d, &bits, sizeof bits);
    } else if (out->kind == PML_VALUE_TIMESTAMP) {
        int64_t unit = pml_layout__unit_nanos(t), per_ms = 1000000 / unit, rest = key % per_ms;
        rest += rest < 0 ? per_ms : 0;
        out->ts.ms = key / per_ms - (key % per_ms < 0);
        out->ts.nanos = (int32_t)(rest * unit);
    } else {
        out->i = key;
    }
}

void pml_key__of_value(pml_int128 *key, bool *exact, const pml_type *t, const pml_value *v)
{
    int32_t bits32;
    int64_t bits64;
    *exact = true;
    if (v->kind == PML_VALUE_FLOAT) {
        memcpy(&bits32, &v->f, sizeof bits32);
        *key = key_of_float(bits32);
    } else if (v->kind == PML_VALUE_DOUBLE) {
        memcpy(&bits64, &v->d, sizeof bits64);
        *key = key_of_double(bits64);
    } else if (v->kind == PML_VALUE_TIMESTAMP) {
        int64_t unit = pml_layout__unit_nanos(t);
        *key = (pml_int128)v->ts.ms * (1000000 / unit) + v->ts.nanos / unit;
        *exact = v->ts.nanos % unit == 0;
    } else if (v->kind == PML_VALUE_DECIMAL) {
        *key = v->dec;
    } else {
        *key = v->i;
    }
}
