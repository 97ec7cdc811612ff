/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "columnar/array_memory.h"
#include "columnar/value.h"
#include "columnar/value_store.h"

static int64_t below(test_env *t, int64_t n)
{
    return n <= 0 ? 0 : (int64_t)(test_random(t) % (uint64_t)n);
}

static const pml_type_kind atomic_kinds[] = {
    PML_TYPE_BOOLEAN, PML_TYPE_TINYINT, PML_TYPE_SMALLINT,  PML_TYPE_INT,    PML_TYPE_BIGINT,        PML_TYPE_FLOAT,
    PML_TYPE_DOUBLE,  PML_TYPE_CHAR,    PML_TYPE_VARCHAR,   PML_TYPE_BINARY, PML_TYPE_VARBINARY,     PML_TYPE_DECIMAL,
    PML_TYPE_DATE,    PML_TYPE_TIME,    PML_TYPE_TIMESTAMP, PML_TYPE_BLOB,   PML_TYPE_TIMESTAMP_LTZ,
};
static const pml_type_kind nested_kinds[] = {
    PML_TYPE_ARRAY, PML_TYPE_MULTISET, PML_TYPE_MAP, PML_TYPE_ROW, PML_TYPE_VECTOR, PML_TYPE_VARIANT,
};

static pml_type type_of_kind(test_env *t, pml_arena *arena, pml_type_kind kind, int depth)
{
    pml_type type = {
        .kind = kind, .nullable = below(t, 3) != 0, .length = INT32_MAX, .precision = (int32_t)below(t, 10)};
    if (kind == PML_TYPE_DECIMAL) {
        type.precision = 1 + (int32_t)below(t, 38);
        type.scale = (int32_t)below(t, type.precision + 1);
    }
    if (kind == PML_TYPE_TIME)
        type.precision = 3;
    if (kind == PML_TYPE_VECTOR)
        type.length = 1 + (int32_t)below(t, 4);
    if (kind == PML_TYPE_ROW)
        type.n_children = (size_t)below(t, 4);
    else if (kind == PML_TYPE_MAP)
        type.n_children = 2;
    else if (kind == PML_TYPE_ARRAY || kind == PML_TYPE_MULTISET || kind == PML_TYPE_VECTOR)
        type.n_children = 1;
    if (type.n_children > 0)
        type.children = random_fields(t, arena, type.n_children, depth - 1, false);
    if (kind == PML_TYPE_MAP || kind == PML_TYPE_MULTISET)
        type.children[0].type.nullable = false;
    return type;
}

pml_type random_type(test_env *t, pml_arena *arena, int depth)
{
    if (depth > 0 && below(t, 2) == 0)
        return type_of_kind(t, arena, nested_kinds[below(t, 6)], depth);
    return type_of_kind(t, arena, atomic_kinds[below(t, 17)], depth);
}

pml_field *random_fields(test_env *t, pml_arena *arena, size_t n, int depth, bool all_kinds)
{
    pml_field *fields = pml_arena__array(arena, n == 0 ? 1 : n, sizeof *fields);
    assert_non_null(fields);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "c%zu", i);
        fields[i] = (pml_field){.id = (int32_t)i, .name = pml_arena__strdup(arena, name)};
        assert_non_null(fields[i].name);
        if (all_kinds && i < 17)
            fields[i].type = type_of_kind(t, arena, atomic_kinds[i], 0);
        else if (all_kinds && depth > 0 && i < 23)
            fields[i].type = type_of_kind(t, arena, nested_kinds[i - 17], depth);
        else
            fields[i].type = random_type(t, arena, depth);
    }
    return fields;
}

static int64_t random_integer(test_env *t, const pml_type *type)
{
    int bits = type->kind == PML_TYPE_BOOLEAN ? 8 : (int)pml_layout__width(type) * 8;
    int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    if (type->kind == PML_TYPE_BOOLEAN)
        return below(t, 2);
    if (type->kind == PML_TYPE_TIME)
        return below(t, 3) == 0 ? below(t, 86400000) : below(t, 8);
    switch (below(t, 8)) {
    case 0: return max - below(t, 2);
    case 1: return -max - 1 + below(t, 2);
    default: return below(t, 9) - 4;
    }
}

static double random_real(test_env *t)
{
    static const double special[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1.5, -1.5, 1e30};
    return below(t, 2) == 0 ? special[below(t, 8)] : (double)(below(t, 9) - 4) / 2;
}

/* The two columns of a VARIANT, whose bytes have a form of their own. */
static const pml_type variant_columns[] = {{.kind = PML_TYPE_VARBINARY, .length = -1}, {.kind = PML_TYPE_VARBINARY, .length = -2}};

static size_t random_variant(uint8_t *out, test_env *t, bool value)
{
    static const struct {
        uint8_t len, bytes[12];
    } values[] = {{1, {0x00}}, {1, {0x04}}, {2, {0x0c, 7}}, {3, {0x09, 'a', 'b'}}, {8, {0x03, 2, 0, 2, 3, 0x05, 'x', 0x00}},
                  {10, {0x02, 2, 0, 1, 0, 1, 3, 0x08, 0x0c, 9}}},
      metadata = {8, {0x01, 2, 0, 1, 3, 'a', 'b', 'c'}};
    size_t i = (size_t)below(t, 6);
    memcpy(out, value ? values[i].bytes : metadata.bytes, sizeof metadata.bytes);
    return value ? values[i].len : metadata.len;
}

static size_t random_text(uint8_t *out, test_env *t, const pml_type *type)
{
    if (type->length < 0)
        return random_variant(out, t, type->length == -1);
    bool binary = type->kind == PML_TYPE_BINARY || type->kind == PML_TYPE_VARBINARY || type->kind == PML_TYPE_BLOB;
    static const char *const pieces[] = {"a", "b", "ab", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80", "", "z"};
    size_t len = 0, n = (size_t)below(t, below(t, 8) == 0 ? 20 : 4);
    for (size_t i = 0; i < n; i++) {
        const char *piece = pieces[below(t, below(t, 3) == 0 ? 8 : 3)];
        if (binary && below(t, 4) == 0) {
            out[len++] = (uint8_t)test_random(t);
            continue;
        }
        memcpy(out + len, piece, strlen(piece));
        len += strlen(piece);
    }
    return len;
}

pml_value random_value(test_env *t, pml_arena *arena, const pml_type *type)
{
    pml_value v = {.kind = pml_value__kind_of(type)};
    uint8_t text[128];
    pml_int128 limit = 1;
    switch (v.kind) {
    case PML_VALUE_FLOAT: v.f = (float)random_real(t); break;
    case PML_VALUE_DOUBLE: v.d = random_real(t); break;
    case PML_VALUE_BYTES:
        v.bytes.len = random_text(text, t, type);
        v.bytes.ptr = pml_arena__copy(arena, text, v.bytes.len == 0 ? 1 : v.bytes.len);
        break;
    case PML_VALUE_DECIMAL:
        for (int i = 0; i < type->precision; i++)
            limit *= 10;
        v.dec = below(t, 3) == 0 ? limit - 1 - below(t, 2) : below(t, 9) - 4;
        v.dec = v.dec < 0 ? -(-v.dec % limit) : v.dec % limit;
        break;
    case PML_VALUE_TIMESTAMP:
        v.ts.ms = below(t, 7) - 3;
        v.ts.nanos = (int32_t)(below(t, 4) * 333333);
        break;
    case PML_VALUE_NULL:
    case PML_VALUE_BOOL:
    case PML_VALUE_INT: v.i = random_integer(t, type); break;
    }
    return v;
}

static void random_validity(struct ArrowArray *out, test_env *t, bool nullable, int64_t total)
{
    int64_t how = below(t, 4);
    uint8_t *bits;
    out->null_count = how == 0 ? -1 : 0;
    if (how < (nullable ? 1 : 3))
        return;
    bits = pml_array__calloc(out, 0, pml_bits__bytes(total));
    assert_non_null(bits);
    for (int64_t i = 0; i < total; i++)
        if (!nullable || below(t, 4) != 0)
            pml_bit_set(bits, i);
    out->null_count = how == 1 ? -1 : out->length - pml_bits__count(bits, out->offset, out->length);
}

static void random_fixed(struct ArrowArray *out, test_env *t, const pml_type *type, int64_t total)
{
    size_t width = pml_layout__width(type);
    uint8_t *data = pml_array__calloc(out, 1, width == 0 ? pml_bits__bytes(total) : (size_t)total * width), slot[16];
    pml_arena none;
    assert_non_null(data);
    pml_arena__init(&none, t->env);
    for (int64_t i = 0; i < total; i++) {
        pml_value v = random_value(t, &none, type);
        if (width == 0) {
            if (v.i != 0)
                pml_bit_set(data, i);
            continue;
        }
        must_ok(pml_value__store(slot, type, &v), NULL);
        memcpy(data + (size_t)i * width, slot, width);
    }
}

/* 32-bit offsets from a random base; returns the last one. */
static int32_t random_offsets(struct ArrowArray *out, test_env *t, int64_t total, int64_t step_max)
{
    int32_t *offsets = pml_array__alloc(out, 1, ((size_t)total + 1) * 4);
    assert_non_null(offsets);
    offsets[0] = (int32_t)below(t, 3);
    for (int64_t i = 0; i < total; i++)
        offsets[i + 1] = offsets[i] + (int32_t)below(t, step_max);
    return offsets[total];
}

static void random_texts(struct ArrowArray *out, test_env *t, const pml_type *type, int64_t total)
{
    int32_t *offsets = pml_array__alloc(out, 1, ((size_t)total + 1) * 4);
    uint8_t *data = pml_array__calloc(out, 2, (size_t)total * 128 + 4);
    assert_non_null(offsets);
    assert_non_null(data);
    offsets[0] = (int32_t)below(t, 4);
    for (int64_t i = 0; i < total; i++)
        offsets[i + 1] = offsets[i] + (int32_t)random_text(data + offsets[i], t, type);
}

static void random_children(struct ArrowArray *out, test_env *t, const pml_type *type, int64_t rows)
{
    for (size_t i = 0; i < pml_layout__children(type); i++)
        random_array(out->children[i], t, type->kind == PML_TYPE_VARIANT ? &variant_columns[i] : pml_layout__child(type, i), rows);
}

void random_array(struct ArrowArray *out, test_env *t, const pml_type *type, int64_t rows)
{
    pml_layout layout = pml_layout__of(type);
    size_t kids = pml_layout__children(type);
    must_ok(pml_array__init(out, t->env, NULL, pml_layout__buffers(layout),
                            layout == PML_LAYOUT_MAP ? 1 : (int64_t)kids, NULL),
            NULL);
    out->length = rows;
    out->offset = below(t, 2) == 0 ? 0 : below(t, 20);
    int64_t total = out->offset + rows + below(t, 3);
    random_validity(out, t, type->nullable, total);
    switch (layout) {
    case PML_LAYOUT_BITS:
    case PML_LAYOUT_FIXED: random_fixed(out, t, type, total); break;
    case PML_LAYOUT_TEXT: random_texts(out, t, type, total); break;
    case PML_LAYOUT_LIST:
        random_array(out->children[0], t, pml_layout__child(type, 0), random_offsets(out, t, total, 4) + below(t, 2));
        break;
    case PML_LAYOUT_MAP: {
        const pml_field entry[2] = {{.type = *pml_layout__child(type, 0)}, {.type = *pml_layout__child(type, 1)}};
        pml_type entries = pml_layout__row(entry, 2);
        random_array(out->children[0], t, &entries, random_offsets(out, t, total, 4) + below(t, 2));
        break;
    }
    case PML_LAYOUT_FIXED_LIST: random_children(out, t, type, total * type->length); break;
    case PML_LAYOUT_STRUCT: random_children(out, t, type, total); break;
    }
}

void random_batch(struct ArrowArray *out, test_env *t, const pml_field *fields, size_t n, int64_t rows)
{
    const pml_type row = pml_layout__row(fields, n);
    random_array(out, t, &row, rows);
}

static bool ranges_equal(const struct ArrowArray *x, int64_t a, const struct ArrowArray *y, int64_t b, int64_t n,
                         const pml_type *type)
{
    bool equal = true;
    for (int64_t i = 0; i < n && equal; i++)
        equal = array_rows_equal(x, a + i, y, b + i, type);
    return equal;
}

static bool model_null(const struct ArrowArray *x, int64_t row)
{
    return x->buffers[0] != NULL && !pml_bit_get(x->buffers[0], x->offset + row);
}

bool array_rows_equal(const struct ArrowArray *x, int64_t a, const struct ArrowArray *y, int64_t b,
                      const pml_type *type)
{
    if (model_null(x, a) || model_null(y, b))
        return model_null(x, a) == model_null(y, b);
    pml_layout layout = pml_layout__of(type);
    if (layout <= PML_LAYOUT_TEXT) {
        pml_value v, w;
        pml_value__get(&v, type, x, a);
        pml_value__get(&w, type, y, b);
        return pml_value__equal(&v, &w);
    }
    a += x->offset;
    b += y->offset;
    if (layout == PML_LAYOUT_FIXED_LIST)
        return ranges_equal(x->children[0], a * type->length, y->children[0], b * type->length, type->length,
                            pml_layout__child(type, 0));
    int64_t n = 1;
    if (layout == PML_LAYOUT_LIST || layout == PML_LAYOUT_MAP) {
        const int32_t *p = x->buffers[1], *q = y->buffers[1];
        n = p[a + 1] - p[a];
        if (n != q[b + 1] - q[b])
            return false;
        a = p[a], b = q[b];
    }
    if (layout == PML_LAYOUT_MAP) {
        x = x->children[0], y = y->children[0];
        a += x->offset, b += y->offset;
    }
    for (size_t i = 0; i < pml_layout__children(type); i++)
        if (!ranges_equal(x->children[i], a, y->children[i], b, n, pml_layout__child(type, i)))
            return false;
    return true;
}

bool batch_rows_equal(const struct ArrowArray *x, int64_t a, const struct ArrowArray *y, int64_t b,
                      const pml_field *fields, size_t n)
{
    const pml_type row = pml_layout__row(fields, n);
    return array_rows_equal(x, a, y, b, &row);
}
