/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of an open chunk. What each row takes for sure (validity bytes, values, offsets) is multiplied by the number of rows;
 * what is left is divided evenly among the texts and lists below the root, a list divides its share again among its elements.
 * The even division is crude, and safe: rows that do not fit only end the chunk early.
 */
#include "columnar/open_chunk_node.h"

#include <limits.h>

enum {
    ITEM_BYTES_MAX = 1 << 28, /* of one item; larger counts as this, which no chunk has room for */
    SHARE_MIN = 8,            /* bytes of text or elements an item should have at least */
    BUFFER_ALIGN = 16
};

size_t pml_open_node__count(const pml_type *t)
{
    size_t n = 1;
    for (size_t i = 0; i < pml_layout__children(t); i++)
        n += pml_open_node__count(pml_layout__child(t, i));
    return n;
}

static int64_t capped(int64_t v)
{
    return v > ITEM_BYTES_MAX ? ITEM_BYTES_MAX : v;
}

/* Bytes that each item takes, without texts and elements. Below the root every node has validity bytes, whatever its type says: a
   NOT NULL member of a row that is null is null too. */
static int64_t item_bytes(const pml_type *t)
{
    int64_t sum = 1;
    switch (pml_layout__of(t)) {
    case PML_LAYOUT_BITS: return sum + 1;
    case PML_LAYOUT_FIXED: return sum + (int64_t)pml_layout__width(t);
    case PML_LAYOUT_TEXT:
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP: return sum + 4;
    case PML_LAYOUT_FIXED_LIST: return capped(sum + t->length * item_bytes(pml_layout__child(t, 0)));
    case PML_LAYOUT_STRUCT: break;
    }
    for (size_t i = 0; i < pml_layout__children(t); i++)
        sum = capped(sum + item_bytes(pml_layout__child(t, i)));
    return sum;
}

/* Texts and lists that share what is left. */
static int64_t shares(const pml_type *t)
{
    int64_t n = 0;
    pml_layout layout = pml_layout__of(t);
    if (layout == PML_LAYOUT_TEXT || layout == PML_LAYOUT_LIST || layout == PML_LAYOUT_MAP)
        return 1;
    for (size_t i = 0; layout > PML_LAYOUT_MAP && i < pml_layout__children(t); i++)
        n += shares(pml_layout__child(t, i));
    return n;
}

static size_t node_bytes(const open_node *node)
{
    size_t cap = (size_t)node->cap, bytes = 0, pad = BUFFER_ALIGN - 1;
    if (node->nullable)
        bytes += (cap + pad) & ~pad;
    if (node->layout == PML_LAYOUT_TEXT || node->layout == PML_LAYOUT_LIST || node->layout == PML_LAYOUT_MAP)
        bytes += ((cap + 1) * 4 + pad) & ~pad;
    if (node->layout <= PML_LAYOUT_FIXED)
        bytes += (cap * (node->layout == PML_LAYOUT_BITS ? 1 : node->width) + pad) & ~pad;
    if (node->layout == PML_LAYOUT_TEXT)
        bytes += ((size_t)node->bytes_cap + pad) & ~pad;
    return bytes;
}

/* Returns the bytes of this node's buffers and of all below. share: bytes for each text or list. */
static size_t plan_node(open_node *node, const pml_type *t, int depth, int64_t cap, int64_t share)
{
    int64_t below = cap, below_share = share, item = 0, parts = 0;
    *node = (open_node){.type = t, .layout = pml_layout__of(t), .nullable = depth > 1 || (depth == 1 && t->nullable), .n_children = pml_layout__children(t),
                        .n_nodes = 1, .width = pml_layout__width(t), .cap = cap};
    atomic_init(&node->first_null, LLONG_MAX);
    if (node->layout == PML_LAYOUT_TEXT)
        node->bytes_cap = share;
    if (node->layout == PML_LAYOUT_FIXED_LIST)
        below = cap * t->length;
    if (node->layout == PML_LAYOUT_LIST || node->layout == PML_LAYOUT_MAP) {
        for (size_t i = 0; i < node->n_children; i++) {
            item = capped(item + item_bytes(pml_layout__child(t, i)));
            parts += shares(pml_layout__child(t, i));
        }
        below = share / (item + SHARE_MIN * parts + 1);
        below_share = below * SHARE_MIN;
    }
    size_t bytes = node_bytes(node);
    for (size_t i = 0; i < node->n_children; i++) {
        const pml_type *child = pml_layout__child(t, i);
        bytes += plan_node(node + node->n_nodes, child, depth + 1, below, below_share);
        node->n_nodes += node[node->n_nodes].n_nodes;
    }
    return bytes;
}

size_t pml_open_node__plan(open_node *root, const pml_type *t, int64_t rows_max, int64_t bytes_max)
{
    int64_t item = item_bytes(t), parts = shares(t), rows = rows_max, fit = bytes_max / (item + SHARE_MIN * parts + 1);
    rows = rows < fit ? rows : fit;
    int64_t share = parts == 0 ? 0 : (bytes_max - rows * item) / parts;
    return plan_node(root, t, 0, rows, share);
}

static uint8_t *take(uint8_t **at, size_t bytes)
{
    uint8_t *p = *at;
    *at += (bytes + BUFFER_ALIGN - 1) & ~(size_t)(BUFFER_ALIGN - 1);
    return p;
}

void pml_open_node__place(open_node *root, uint8_t *memory)
{
    for (size_t i = 0; i < root->n_nodes; i++) {
        open_node *node = &root[i];
        size_t cap = (size_t)node->cap;
        if (node->nullable)
            node->valid = take(&memory, cap);
        if (node->layout == PML_LAYOUT_TEXT || node->layout == PML_LAYOUT_LIST || node->layout == PML_LAYOUT_MAP) {
            node->offsets = (int32_t *)(void *)take(&memory, (cap + 1) * 4);
            node->offsets[0] = 0;
        }
        if (node->layout <= PML_LAYOUT_FIXED)
            node->values = take(&memory, cap * (node->layout == PML_LAYOUT_BITS ? 1 : node->width));
        if (node->layout == PML_LAYOUT_TEXT)
            node->values = take(&memory, (size_t)node->bytes_cap);
    }
}

/* ---- fit ---- */

/* The bytes or elements of some rows; false when their offsets go backwards. */
static bool range_of(int64_t *first, int64_t *count, const struct ArrowArray *a, int64_t at, int64_t n)
{
    const uint8_t *offsets = a->buffers[1];
    int64_t wrong = *first = pml_load_i32(offsets, at);
    for (int64_t i = 0; i < n; i++)
        wrong |= (int64_t)pml_load_i32(offsets, at + i + 1) - pml_load_i32(offsets, at + i);
    *count = pml_load_i32(offsets, at + n) - *first;
    return wrong >= 0;
}

/* What all nodes ask first, and the only thing that those of fixed width ask. n > 0. */
static inline bool rows_fit(const open_node *node, const struct ArrowArray *a, int64_t at, int64_t n)
{
    const uint8_t *bits;
    return n <= node->cap - node->used &&
           (node->valid != NULL || (bits = pml_array__validity(a)) == NULL || pml_bits__count(bits, at, n) == n);
}

static bool children_fit(const open_node *node, const struct ArrowArray *parent, int64_t row, int64_t n)
{
    const open_node *child = node + 1;
    for (size_t i = 0; i < node->n_children; child += child->n_nodes, i++) {
        const struct ArrowArray *a = parent->children[i];
        if (child->layout <= PML_LAYOUT_FIXED ? n > 0 && !rows_fit(child, a, a->offset + row, n) : !pml_open_node__fits(child, a, row, n))
            return false;
    }
    return true;
}

bool pml_open_node__fits(const open_node *node, const struct ArrowArray *a, int64_t row, int64_t n)
{
    int64_t at = a->offset + row, first = 0, count = 0;
    if (n == 0)
        return true;
    if (!rows_fit(node, a, at, n))
        return false;
    switch (node->layout) {
    case PML_LAYOUT_BITS:
    case PML_LAYOUT_FIXED: return true;
    case PML_LAYOUT_TEXT: return range_of(&first, &count, a, at, n) && count <= node->bytes_cap - node->offsets[node->used];
    case PML_LAYOUT_LIST: return range_of(&first, &count, a, at, n) && children_fit(node, a, first, count);
    case PML_LAYOUT_MAP:
        return range_of(&first, &count, a, at, n) && children_fit(node, a->children[0], a->children[0]->offset + first, count);
    case PML_LAYOUT_FIXED_LIST: return children_fit(node, a, at * node->type->length, n * node->type->length);
    case PML_LAYOUT_STRUCT: return children_fit(node, a, at, n);
    }
    return false;
}

/* ---- copy ---- */

static inline void copy_valid(open_node *node, const struct ArrowArray *a, int64_t at, int64_t n)
{
    const uint8_t *bits = pml_array__validity(a);
    uint8_t *valid = node->valid + node->used;
    int64_t nulls = 0;
    if (bits == NULL && n == 1) {
        *valid = 1;
        return;
    }
    if (bits == NULL) {
        memset(valid, 1, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        valid[i] = pml_bit_get(bits, at + i);
        nulls += !valid[i];
    }
    if (nulls > 0 && atomic_load_explicit(&node->first_null, memory_order_relaxed) == LLONG_MAX)
        atomic_store_explicit(&node->first_null, node->used, memory_order_relaxed);
}

/* Appends the offsets of some rows. Published ones are not written again, not even the last, from which the new ones start. */
static int64_t copy_offsets(open_node *node, const struct ArrowArray *a, int64_t at, int64_t n)
{
    int32_t *to = node->offsets + node->used, first = pml_load_i32(a->buffers[1], at), base = *to;
    for (int64_t i = 1; i <= n; i++)
        to[i] = base + pml_load_i32(a->buffers[1], at + i) - first;
    return to[n] - base;
}

static inline void copy_values(const open_node *node, const uint8_t *src, int64_t at, int64_t n)
{
    const size_t width = node->width;
    uint8_t *dst = node->values + (size_t)node->used * width;
    if (n == 1 && width == 8)
        memcpy(dst, src + at * 8, 8);
    else if (n == 1 && width == 4)
        memcpy(dst, src + at * 4, 4);
    else if (n == 1 && width == 1)
        *dst = src[at];
    else
        memcpy(dst, src + (size_t)at * width, (size_t)n * width);
}

static inline void copy_fixed(open_node *node, const struct ArrowArray *a, int64_t at, int64_t n)
{
    if (node->valid != NULL)
        copy_valid(node, a, at, n);
    copy_values(node, a->buffers[1], at, n);
    node->used += n;
}

static void copy_children(open_node *node, const struct ArrowArray *parent, int64_t row, int64_t n)
{
    open_node *child = node + 1;
    for (size_t i = 0; i < node->n_children; child += child->n_nodes, i++) {
        const struct ArrowArray *a = parent->children[i];
        if (child->layout == PML_LAYOUT_FIXED && n > 0) /* most columns, also of one row */
            copy_fixed(child, a, a->offset + row, n);
        else
            pml_open_node__copy(child, a, row, n);
    }
}

void pml_open_node__copy(open_node *node, const struct ArrowArray *a, int64_t row, int64_t n)
{
    int64_t at = a->offset + row, count, first;
    if (n == 0)
        return;
    if (node->layout == PML_LAYOUT_FIXED) {
        copy_fixed(node, a, at, n);
        return;
    }
    if (node->valid != NULL)
        copy_valid(node, a, at, n);
    switch (node->layout) {
    case PML_LAYOUT_BITS:
        for (int64_t i = 0; i < n; i++)
            node->values[node->used + i] = pml_bit_get(a->buffers[1], at + i);
        break;
    case PML_LAYOUT_FIXED: break;
    case PML_LAYOUT_TEXT:
        first = node->offsets[node->used];
        count = copy_offsets(node, a, at, n);
        if (count > 0)
            memcpy(node->values + first, (const uint8_t *)a->buffers[2] + pml_load_i32(a->buffers[1], at), (size_t)count);
        break;
    case PML_LAYOUT_LIST:
        count = copy_offsets(node, a, at, n);
        copy_children(node, a, pml_load_i32(a->buffers[1], at), count);
        break;
    case PML_LAYOUT_MAP:
        count = copy_offsets(node, a, at, n);
        copy_children(node, a->children[0], a->children[0]->offset + pml_load_i32(a->buffers[1], at), count);
        break;
    case PML_LAYOUT_FIXED_LIST: copy_children(node, a, at * node->type->length, n * node->type->length); break;
    case PML_LAYOUT_STRUCT: copy_children(node, a, at, n); break;
    }
    node->used += n;
}
