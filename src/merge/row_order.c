/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/row_order.h"

#include <math.h>

#include "columnar/column_keys.h"

static int order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* One function for each way that pml_keys__load reads a value. */
#define COMPARE_FIXED(name, ctype)                                                                            \
    static int name(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b, \
                    int64_t row_b)                                                                            \
    {                                                                                                         \
        ctype va, vb;                                                                                         \
        (void)t;                                                                                              \
        memcpy(&va, (const uint8_t *)a->buffers[1] + (a->offset + row_a) * (int64_t)sizeof va, sizeof va);    \
        memcpy(&vb, (const uint8_t *)b->buffers[1] + (b->offset + row_b) * (int64_t)sizeof vb, sizeof vb);    \
        return (va > vb) - (va < vb);                                                                         \
    }

COMPARE_FIXED(compare_int8, int8_t)
COMPARE_FIXED(compare_int16, int16_t)
COMPARE_FIXED(compare_int32, int32_t)
COMPARE_FIXED(compare_int64, int64_t)
COMPARE_FIXED(compare_int128, pml_int128)
/* As Java's < and >: both zeros are equal, and NaN to everything. */
COMPARE_FIXED(compare_float, float)
COMPARE_FIXED(compare_double, double)

static int compare_boolean(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b,
                        int64_t row_b)
{
    int64_t ka, kb;
    pml_keys__load(&ka, t, a, row_a, 1);
    pml_keys__load(&kb, t, b, row_b, 1);
    return order_of(ka, kb);
}

static int compare_text(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b,
                        int64_t row_b)
{
    (void)t;
    return pml_bytes_compare(pml_text_at(a, row_a), pml_text_at(b, row_b));
}

static pml_compare compare_of(const pml_type *t);

/* Nulls first. */
static int compare_item(const pml_type *t, pml_compare compare, const struct ArrowArray *a, int64_t row_a,
                        const struct ArrowArray *b, int64_t row_b)
{
    bool null_a = pml_array__is_null(a, row_a), null_b = pml_array__is_null(b, row_b);
    if (null_a || null_b)
        return (int)null_b - (int)null_a;
    return compare(t, a, row_a, b, row_b);
}

typedef struct extent {
    int64_t from, n;
} extent;

/* The elements of a list, map or vector. */
static extent elements_of(const pml_type *t, const struct ArrowArray *a, int64_t row)
{
    int64_t at = a->offset + row;
    if (t->kind == PML_TYPE_VECTOR)
        return (extent){at * t->length, t->length};
    int64_t from = pml_load_i32(a->buffers[1], at);
    return (extent){from, pml_load_i32(a->buffers[1], at + 1) - from};
}

/* The first that differs decides, then the shorter one is first. */
static int compare_elements(const pml_type *t, const struct ArrowArray *a, extent ea, const struct ArrowArray *b,
                            extent eb)
{
    int c = 0;
    pml_compare compare = compare_of(t);
    for (int64_t i = 0; c == 0 && i < ea.n && i < eb.n; i++)
        c = compare_item(t, compare, a, ea.from + i, b, eb.from + i);
    return c != 0 ? c : order_of(ea.n, eb.n);
}

/* ARRAY and VECTOR. */
static int compare_list(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b,
                        int64_t row_b)
{
    return compare_elements(pml_layout__child(t, 0), a->children[0], elements_of(t, a, row_a), b->children[0],
                            elements_of(t, b, row_b));
}

/* MAP and MULTISET: the sizes, all keys, all values. */
static int compare_map(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b,
                       int64_t row_b)
{
    extent ea = elements_of(t, a, row_a), eb = elements_of(t, b, row_b);
    const struct ArrowArray *in_a = a->children[0], *in_b = b->children[0];
    int c = order_of(ea.n, eb.n);
    ea.from += in_a->offset;
    eb.from += in_b->offset;
    for (size_t i = 0; c == 0 && i < 2; i++)
        c = compare_elements(pml_layout__child(t, i), in_a->children[i], ea, in_b->children[i], eb);
    return c;
}

static int compare_row(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b,
                       int64_t row_b)
{
    int c = 0;
    for (size_t i = 0; c == 0 && i < t->n_children; i++) {
        const pml_type *child = pml_layout__child(t, i);
        c = compare_item(child, compare_of(child), a->children[i], a->offset + row_a, b->children[i],
                         b->offset + row_b);
    }
    return c;
}

/* NULL: no order. */
static pml_compare compare_of(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: return compare_boolean;
    case PML_TYPE_FLOAT: return compare_float;
    case PML_TYPE_DOUBLE: return compare_double;
    case PML_TYPE_TINYINT: return compare_int8;
    case PML_TYPE_SMALLINT: return compare_int16;
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: return compare_int32;
    case PML_TYPE_BIGINT:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return compare_int64;
    case PML_TYPE_DECIMAL: return compare_int128;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY: return compare_text;
    case PML_TYPE_ARRAY:
    case PML_TYPE_VECTOR: return compare_list;
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET: return compare_map;
    case PML_TYPE_ROW: return compare_row;
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: break;
    }
    return NULL;
}

/* Also of everything below; types are at most PML_TYPE_DEPTH_MAX deep. */
static bool has_order(const pml_type *t)
{
    bool ok = compare_of(t) != NULL;
    for (size_t i = 0; ok && i < pml_layout__children(t); i++)
        ok = has_order(pml_layout__child(t, i));
    return ok;
}

int pml_row_order__init(pml_row_order *out, pml_arena *arena, const pml_field *fields, const int32_t *positions,
                        size_t n, bool descending, pml_error *err)
{
    *out = (pml_row_order){pml_arena__array(arena, n, sizeof *out->columns), n};
    if (n > 0 && out->columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const pml_field *f = &fields[positions[i]];
        if (!has_order(&f->type))
            return pml_error__set(err, PML_E_UNSUPPORTED,
                                  "needs order-of-type: rows cannot be ordered by the %s column %s",
                                  pml_type__word(f->type.kind), f->name);
        out->columns[i] = (pml_order_column){positions[i], descending, &f->type, compare_of(&f->type)};
    }
    return PML_OK;
}

int pml_row_order__compare(const pml_row_order *o, const struct ArrowArray *a, int64_t row_a,
                           const struct ArrowArray *b, int64_t row_b)
{
    for (size_t i = 0; i < o->n; i++) {
        const pml_order_column *c = &o->columns[i];
        const struct ArrowArray *ca = a->children[c->position], *cb = b->children[c->position];
        bool null_a = pml_array__is_null(ca, row_a), null_b = pml_array__is_null(cb, row_b);
        int order = null_a || null_b ? (int)null_b - (int)null_a : c->compare(c->type, ca, row_a, cb, row_b);
        if (order != 0)
            return c->descending && !null_a && !null_b ? -order : order;
    }
    return 0;
}

/* The first row whose value has no place in the order, -1: none. */
static int64_t find_unordered(const pml_field *f, const struct ArrowArray *a, int64_t n_rows, bool is_key)
{
    bool single = f->type.kind == PML_TYPE_FLOAT;
    if (!pml_type__is_float(&f->type))
        return -1;
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t at = a->offset + row;
        double v = single ? (double)((const float *)a->buffers[1])[at] : ((const double *)a->buffers[1])[at];
        if ((isnan(v) || (is_key && v == 0 && signbit(v))) && !pml_array__is_null(a, row))
            return row;
    }
    return -1;
}

int pml_row_order__check_values(int64_t *wrong, const pml_field *fields, struct ArrowArray *const *columns, int64_t n_rows,
                                const int32_t *positions, size_t n, bool are_keys, pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const pml_field *f = &fields[positions[i]];
        *wrong = find_unordered(f, columns[positions[i]], n_rows, are_keys);
        if (*wrong < 0)
            continue;
        if (are_keys)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, NULL,
                                 "the key column %s is NaN or -0.0, which is no key that every reader finds (write 0.0)", f->name);
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, NULL, "the sequence field %s is NaN, which has no place in the order of rows",
                             f->name);
    }
    *wrong = -1;
    return PML_OK;
}
