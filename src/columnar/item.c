/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion follows the type, never the data, and stops at PML_TYPE_DEPTH_MAX. */
#include "columnar/item.h"

#include <math.h>

pml_item_range pml_item__elements(const pml_type *t, pml_item item)
{
    const struct ArrowArray *a = item.array;
    int64_t at = a->offset + item.row;
    if (pml_layout__of(t) == PML_LAYOUT_FIXED_LIST)
        return (pml_item_range){a->children[0], at * t->length, t->length};
    int64_t first = pml_load_i32(a->buffers[1], at);
    return (pml_item_range){a->children[0], first, pml_load_i32(a->buffers[1], at + 1) - first};
}

bool pml_item__has_order(const pml_type *t)
{
    bool yes = true;
    switch (t->kind) {
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: return false;
    case PML_TYPE_ARRAY:
    case PML_TYPE_VECTOR:
    case PML_TYPE_ROW:
        for (size_t i = 0; i < t->n_children; i++)
            yes = yes && pml_item__has_order(&t->children[i].type);
        return yes;
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_DECIMAL:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: break;
    }
    return yes;
}

static int compare_elements(const pml_type *t, pml_item a, pml_item b)
{
    const pml_type *element = pml_layout__child(t, 0);
    pml_item_range x = pml_item__elements(t, a), y = pml_item__elements(t, b);
    for (int64_t i = 0; i < x.n && i < y.n; i++) {
        int c = pml_item__compare(element, (pml_item){x.array, x.first + i}, (pml_item){y.array, y.first + i});
        if (c != 0)
            return c;
    }
    return x.n < y.n ? -1 : x.n > y.n;
}

static int compare_atomic(const pml_type *t, pml_item a, pml_item b)
{
    pml_value x, y;
    pml_value__get(&x, t, a.array, a.row);
    pml_value__get(&y, t, b.array, b.row);
    if (x.kind == PML_VALUE_FLOAT)
        return x.f > y.f ? 1 : x.f < y.f ? -1 : 0;
    if (x.kind == PML_VALUE_DOUBLE)
        return x.d > y.d ? 1 : x.d < y.d ? -1 : 0;
    return pml_value__compare(&x, &y);
}

int pml_item__compare(const pml_type *t, pml_item a, pml_item b)
{
    bool no_a = pml_item__is_null(a), no_b = pml_item__is_null(b);
    if (no_a || no_b)
        return (no_a ? 0 : 1) - (no_b ? 0 : 1);
    if (t->kind == PML_TYPE_ARRAY || t->kind == PML_TYPE_VECTOR)
        return compare_elements(t, a, b);
    if (t->kind != PML_TYPE_ROW)
        return compare_atomic(t, a, b);
    int c = 0;
    for (size_t i = 0; i < t->n_children && c == 0; i++)
        c = pml_item__compare(&t->children[i].type, pml_item__member(a, i), pml_item__member(b, i));
    return c;
}

bool pml_item__has_key(const pml_type *t, pml_item_rule rule)
{
    if (t->kind == PML_TYPE_VARIANT || t->kind == PML_TYPE_BLOB || t->kind == PML_TYPE_VECTOR)
        return false;
    if (rule == PML_ITEM_BOXED)
        return !pml_type__is_nested(t);
    if (rule == PML_ITEM_GENERATED && (t->kind == PML_TYPE_MAP || t->kind == PML_TYPE_MULTISET))
        return false;
    bool yes = true;
    for (size_t i = 0; i < t->n_children; i++)
        yes = yes && pml_item__has_key(&t->children[i].type, rule);
    return yes;
}

static double float_key(bool *never, double d, pml_item_rule rule)
{
    if (isnan(d)) {
        *never = *never || rule == PML_ITEM_GENERATED;
        return rule == PML_ITEM_BITS ? d : (double)NAN;
    }
    return rule == PML_ITEM_GENERATED && d == 0 ? 0.0 : d;
}

static int append_atomic(pml_buf *out, bool *never, const pml_type *t, pml_item item, pml_item_rule rule)
{
    pml_value v;
    pml_value__get(&v, t, item.array, item.row);
    switch (v.kind) {
    case PML_VALUE_NULL: break;
    case PML_VALUE_BOOL:
    case PML_VALUE_INT: return pml_buf__append(out, &v.i, sizeof v.i);
    case PML_VALUE_FLOAT:
        v.f = rule == PML_ITEM_BITS ? v.f : (float)float_key(never, (double)v.f, rule);
        return pml_buf__append(out, &v.f, sizeof v.f);
    case PML_VALUE_DOUBLE: v.d = float_key(never, v.d, rule); return pml_buf__append(out, &v.d, sizeof v.d);
    case PML_VALUE_BYTES:
        if (rule == PML_ITEM_BOXED && (t->kind == PML_TYPE_BINARY || t->kind == PML_TYPE_VARBINARY))
            *never = true; /* byte[] has the equals of Object */
        PML_RETURN_IF(pml_buf__append_be32(out, (uint32_t)v.bytes.len));
        return v.bytes.len == 0 ? PML_OK : pml_buf__append(out, v.bytes.ptr, v.bytes.len);
    case PML_VALUE_DECIMAL: return pml_buf__append(out, &v.dec, sizeof v.dec);
    case PML_VALUE_TIMESTAMP:
        PML_RETURN_IF(pml_buf__append(out, &v.ts.ms, sizeof v.ts.ms));
        return pml_buf__append(out, &v.ts.nanos, sizeof v.ts.nanos);
    }
    return PML_OK;
}

/* Lists, and maps as the list of their entries. */
static int append_elements(pml_buf *out, bool *never, const pml_type *t, pml_item item, pml_item_rule rule)
{
    pml_item_range r = pml_item__elements(t, item);
    bool map = pml_layout__of(t) == PML_LAYOUT_MAP;
    PML_RETURN_IF(pml_buf__append_be64(out, (uint64_t)r.n));
    for (int64_t i = 0; i < r.n; i++) {
        pml_item e = {r.array, r.first + i};
        for (size_t k = 0; k < (map ? 2u : 1u); k++) {
            pml_item part = map ? pml_item__member(e, k) : e;
            if (rule == PML_ITEM_GENERATED && pml_item__is_null(part))
                *never = true;
            PML_RETURN_IF(pml_item__append_key(out, never, pml_layout__child(t, k), part, rule));
        }
    }
    return PML_OK;
}

int pml_item__append_key(pml_buf *out, bool *never, const pml_type *t, pml_item item, pml_item_rule rule)
{
    bool null = pml_item__is_null(item);
    PML_RETURN_IF(pml_buf__append_byte(out, null ? 0 : 1));
    if (null)
        return PML_OK;
    switch (pml_layout__of(t)) {
    case PML_LAYOUT_BITS:
    case PML_LAYOUT_FIXED:
    case PML_LAYOUT_TEXT: return append_atomic(out, never, t, item, rule);
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP:
    case PML_LAYOUT_FIXED_LIST: return append_elements(out, never, t, item, rule);
    case PML_LAYOUT_STRUCT: break;
    }
    for (size_t i = 0; i < pml_layout__children(t); i++)
        PML_RETURN_IF(pml_item__append_key(out, never, pml_layout__child(t, i), pml_item__member(item, i), rule));
    return PML_OK;
}
