/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/array_memory.h"

#include "columnar/batch.h"

#include <assert.h>

/* The private block of a node: the buffer table, the child table and the child structs lie behind it in one allocation. */
typedef struct array_block {
    pml_env *env;
    pml_shared *owner; /* not NULL: buffers are borrowed from it */
    const void *buffers[3];
    struct ArrowArray **children;
    struct ArrowArray *child_structs;
} array_block;

enum { ARRAY_BUFFERS_MAX = 3 };

static const pml_type multiset_count = {.kind = PML_TYPE_INT, .nullable = false};
static const pml_type variant_part = {.kind = PML_TYPE_VARBINARY, .nullable = false, .length = INT32_MAX};

const pml_type *pml_layout__own_child(const pml_type *t, size_t i)
{
    if (t->kind == PML_TYPE_VARIANT)
        return &variant_part;
    return i == 1 ? &multiset_count : &t->children[i].type;
}

pml_type pml_layout__row(const pml_field *fields, size_t n)
{
    /* Types are immutable everywhere; the member is only not const so that parsers can fill it. */
    return (pml_type){.kind = PML_TYPE_ROW, .n_children = n, .children = (pml_field *)(uintptr_t)fields};
}

int64_t pml_layout__unit_nanos(const pml_type *t)
{
    return t->precision <= 3 ? 1000000 : t->precision <= 6 ? 1000 : 1;
}

static void array_release(struct ArrowArray *a)
{
    array_block *b = a->private_data;
    pml_env *env = b->env;
    for (int64_t i = 0; i < a->n_children; i++)
        pml_array__release(a->children[i]);
    if (b->owner != NULL)
        pml_shared__release(b->owner);
    else
        for (int64_t i = 0; i < a->n_buffers; i++)
            pml_env__free(env, (void *)(uintptr_t)b->buffers[i]);
    pml_env__free(env, b);
    a->release = NULL;
    pml_env_release(env);
}

int pml_array__init(struct ArrowArray *out, pml_env *env, pml_shared *owner, int64_t n_buffers, int64_t n_children,
                    pml_error *err)
{
    *out = (struct ArrowArray){0};
    assert(n_buffers >= 0 && n_buffers <= ARRAY_BUFFERS_MAX && n_children >= 0);
    size_t per_child = sizeof(struct ArrowArray) + sizeof(struct ArrowArray *), bytes;
    if (__builtin_mul_overflow((size_t)n_children, per_child, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(array_block), &bytes))
        return pml_error__no_memory(err);
    array_block *b = pml_env__calloc(env, 1, bytes);
    if (b == NULL)
        return pml_error__no_memory(err);
    b->env = env;
    b->owner = owner;
    b->child_structs = (struct ArrowArray *)(b + 1);
    b->children = (struct ArrowArray **)(b->child_structs + n_children);
    for (int64_t i = 0; i < n_children; i++)
        b->children[i] = &b->child_structs[i];
    pml_env_acquire(env);
    if (owner != NULL)
        pml_shared__acquire(owner);
    out->n_buffers = n_buffers;
    out->n_children = n_children;
    out->buffers = b->buffers;
    out->children = n_children == 0 ? NULL : b->children;
    out->release = array_release;
    out->private_data = b;
    return PML_OK;
}

void pml_array__adopt(struct ArrowArray *a, int i, void *buffer)
{
    assert(i < a->n_buffers && a->buffers[i] == NULL);
    a->buffers[i] = buffer;
}

void *pml_array__alloc(struct ArrowArray *a, int i, size_t bytes)
{
    array_block *b = a->private_data;
    void *p = pml_env__alloc(b->env, bytes);
    if (p != NULL)
        pml_array__adopt(a, i, p);
    return p;
}

void *pml_array__calloc(struct ArrowArray *a, int i, size_t bytes)
{
    void *p = pml_array__alloc(a, i, bytes);
    if (p != NULL && bytes != 0)
        memset(p, 0, bytes);
    return p;
}

void pml_array__drop_buffer(struct ArrowArray *a, int i)
{
    array_block *b = a->private_data;
    pml_env__free(b->env, (void *)(uintptr_t)a->buffers[i]);
    a->buffers[i] = NULL;
}

int pml_array__numbers(struct ArrowArray *out, void **values, pml_env *env, int64_t n, size_t width, pml_error *err)
{
    PML_RETURN_IF(pml_array__init(out, env, NULL, 2, 0, err));
    out->length = n;
    *values = pml_array__alloc(out, 1, (size_t)n * width);
    if (*values != NULL)
        return PML_OK;
    pml_array__release(out);
    return pml_error__no_memory(err);
}

void pml_bits__fill(uint8_t *bits, int64_t bit, int64_t n, bool value)
{
    int64_t i = 0;
    for (; i < n && ((bit + i) & 7) != 0; i++)
        value ? pml_bit_set(bits, bit + i) : pml_bit_unset(bits, bit + i);
    if (n - i >= 8) {
        memset(bits + ((bit + i) >> 3), value ? 0xFF : 0, (size_t)((n - i) >> 3));
        i += (n - i) & ~(int64_t)7;
    }
    for (; i < n; i++)
        value ? pml_bit_set(bits, bit + i) : pml_bit_unset(bits, bit + i);
}

static void copy_single_bits(uint8_t *dst, int64_t dst_bit, const uint8_t *src, int64_t src_bit, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        pml_bit_get(src, src_bit + i) ? pml_bit_set(dst, dst_bit + i) : pml_bit_unset(dst, dst_bit + i);
}

void pml_bits__copy(uint8_t *dst, int64_t dst_bit, const uint8_t *src, int64_t src_bit, int64_t n)
{
    int64_t head = (8 - (dst_bit & 7)) & 7;
    if (head > n)
        head = n;
    copy_single_bits(dst, dst_bit, src, src_bit, head);
    dst_bit += head, src_bit += head, n -= head;
    int64_t whole = n >> 3;
    const uint8_t *from = src + (src_bit >> 3);
    uint8_t *to = dst + (dst_bit >> 3);
    int shift = (int)(src_bit & 7);
    if (shift == 0 && whole > 0)
        memcpy(to, from, (size_t)whole);
    else
        for (int64_t i = 0; i < whole; i++)
            to[i] = (uint8_t)((from[i] >> shift) | (from[i + 1] << (8 - shift)));
    if ((n & 7) != 0) {
        if (head == 0)
            to[whole] = 0;
        copy_single_bits(dst, dst_bit + whole * 8, src, src_bit + whole * 8, n & 7);
    }
}

int64_t pml_bits__count(const uint8_t *bits, int64_t bit, int64_t n)
{
    int64_t ones = 0, i = 0;
    for (; i < n && ((bit + i) & 7) != 0; i++)
        ones += pml_bit_get(bits, bit + i);
    for (; n - i >= 64; i += 64)
        ones += __builtin_popcountll(pml_le64(bits + ((bit + i) >> 3)));
    for (; i < n; i++)
        ones += pml_bit_get(bits, bit + i);
    return ones;
}
