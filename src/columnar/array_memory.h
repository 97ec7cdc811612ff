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

pml_layout pml_layout__of(const pml_type *t);
size_t pml_layout__width(const pml_type *t); /* FIXED: 1, 2, 4, 8, 16; else 0 */
int64_t pml_layout__buffers(pml_layout layout);
/* The logical children: MAP and MULTISET 2 (key, value), ROW and VARIANT one per member, ARRAY and VECTOR 1, else 0. */
size_t pml_layout__children(const pml_type *t);
const pml_type *pml_layout__child(const pml_type *t, size_t i);
const char *pml_layout__child_name(const pml_type *t, size_t i);
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
