/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that own their memory, and the one place that knows which buffers and children each type has. Internal to columnar
 * and to whoever writes Arrow buffers directly.
 *
 * Every node of an array tree has its own private block with its own environment reference, so that consumers may move
 * children out and release them in any thread and any order.
 */
#ifndef PML_COLUMNAR_ARRAY_MEMORY_H
#define PML_COLUMNAR_ARRAY_MEMORY_H

#include "columnar/data_type.h"
#include "util/bytes.h"

/* Buffers of a node: validity first, always. */
typedef enum pml_layout {
    PML_LAYOUT_BITS,       /* validity, bits */
    PML_LAYOUT_FIXED,      /* validity, values of pml_layout__width bytes */
    PML_LAYOUT_TEXT,       /* validity, 32-bit offsets, bytes */
    PML_LAYOUT_LIST,       /* validity, 32-bit offsets; one child */
    PML_LAYOUT_MAP,        /* validity, 32-bit offsets; one child: a struct of key and value */
    PML_LAYOUT_FIXED_LIST, /* validity; one child */
    PML_LAYOUT_STRUCT      /* validity; a child per member */
} pml_layout;

/* Asked for every column of every batch, also of one row: so they are here. */
static inline pml_layout pml_layout__of(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: return PML_LAYOUT_BITS;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: return PML_LAYOUT_TEXT;
    case PML_TYPE_ARRAY: return PML_LAYOUT_LIST;
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET: return PML_LAYOUT_MAP;
    case PML_TYPE_VECTOR: return PML_LAYOUT_FIXED_LIST;
    case PML_TYPE_ROW:
    case PML_TYPE_VARIANT: return PML_LAYOUT_STRUCT;
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_DECIMAL:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: break;
    }
    return PML_LAYOUT_FIXED;
}

/* FIXED: 1, 2, 4, 8, 16; else 0 */
static inline size_t pml_layout__width(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_TINYINT: return 1;
    case PML_TYPE_SMALLINT: return 2;
    case PML_TYPE_INT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: return 4;
    case PML_TYPE_BIGINT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return 8;
    case PML_TYPE_DECIMAL: return 16;
    case PML_TYPE_BOOLEAN:
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
    case PML_TYPE_VARIANT: break;
    }
    return 0;
}

static inline int64_t pml_layout__buffers(pml_layout layout)
{
    if (layout == PML_LAYOUT_STRUCT || layout == PML_LAYOUT_FIXED_LIST)
        return 1;
    return layout == PML_LAYOUT_TEXT ? 3 : 2;
}

/* The logical children: MAP and MULTISET 2 (key, value), ROW and VARIANT one per member, ARRAY and VECTOR 1, else 0. */
static inline size_t pml_layout__children(const pml_type *t)
{
    if (t->kind == PML_TYPE_MULTISET || t->kind == PML_TYPE_VARIANT)
        return 2;
    return t->n_children;
}

/* Of VARIANT and MULTISET, whose children are partly their own. */
const pml_type *pml_layout__own_child(const pml_type *t, size_t i);

static inline const pml_type *pml_layout__child(const pml_type *t, size_t i)
{
    if (t->kind == PML_TYPE_VARIANT || t->kind == PML_TYPE_MULTISET)
        return pml_layout__own_child(t, i);
    return &t->children[i].type;
}

static inline const char *pml_layout__child_name(const pml_type *t, size_t i)
{
    if (t->kind == PML_TYPE_ROW)
        return t->children[i].name;
    if (t->kind == PML_TYPE_VARIANT)
        return i == 0 ? "value" : "metadata";
    if (pml_layout__of(t) == PML_LAYOUT_MAP)
        return i == 0 ? "key" : "value";
    return "element";
}

/* A ROW type over fields, borrowing them: batches and ROW columns are walked by the same code. */
pml_type pml_layout__row(const pml_field *fields, size_t n);
/* Nanoseconds of one unit of a TIMESTAMP's Arrow form. */
int64_t pml_layout__unit_nanos(const pml_type *t);

struct pml_shared;

/* An array without buffers and with released (zero) children; length, offset and null_count are 0. Its release frees the
   buffers set through pml_array__alloc or pml_array__adopt and releases the children. owner not NULL: the buffers borrow from
   it instead, and one reference of it is taken. */
int pml_array__init(struct ArrowArray *out, pml_env *env, struct pml_shared *owner, int64_t n_buffers,
                    int64_t n_children, pml_error *err);
/* A fresh buffer of `bytes`, not zeroed, owned by the array; NULL: no memory. */
void *pml_array__alloc(struct ArrowArray *a, int i, size_t bytes);
void *pml_array__calloc(struct ArrowArray *a, int i, size_t bytes);
/* Gives memory from pml_env__alloc to the array. */
void pml_array__adopt(struct ArrowArray *a, int i, void *buffer);
/* Frees a buffer again (a validity bitmap that turned out to be all ones). */
void pml_array__drop_buffer(struct ArrowArray *a, int i);
/* n values of a fixed width, none of them null, in memory that is filled afterwards: *values. */
int pml_array__numbers(struct ArrowArray *out, void **values, pml_env *env, int64_t n, size_t width, pml_error *err);

static inline size_t pml_bits__bytes(int64_t n)
{
    return ((size_t)n + 7) / 8;
}
/* Copies n bits between any bit positions. The last byte written is filled up with zeros when dst_bit is 0. */
void pml_bits__copy(uint8_t *dst, int64_t dst_bit, const uint8_t *src, int64_t src_bit, int64_t n);
int64_t pml_bits__count(const uint8_t *bits, int64_t bit, int64_t n); /* ones */
void pml_bits__fill(uint8_t *bits, int64_t bit, int64_t n, bool value);

/* The validity bits when rows may be null, else NULL. Bit of row r: a->offset + r. */
static inline const uint8_t *pml_array__validity(const struct ArrowArray *a)
{
    return a->null_count == 0 || a->n_buffers == 0 ? NULL : a->buffers[0];
}

static inline bool pml_array__is_null(const struct ArrowArray *a, int64_t row)
{
    const uint8_t *bits = pml_array__validity(a);
    return bits != NULL && !pml_bit_get(bits, a->offset + row);
}

/* Foreign buffers need not be aligned. */
static inline int32_t pml_load_i32(const void *p, int64_t i)
{
    int32_t v;
    memcpy(&v, (const uint8_t *)p + i * 4, 4);
    return v;
}

#endif
