/* SPDX-License-Identifier: Apache-2.0 */
/* The column buffers of an open chunk: one node per type, in the order in which a walk meets them (a parent, then its children). */
#ifndef PML_COLUMNAR_OPEN_CHUNK_NODE_H
#define PML_COLUMNAR_OPEN_CHUNK_NODE_H

#include <stdatomic.h>

#include "columnar/array_memory.h"

typedef struct open_node {
    const pml_type *type;
    pml_layout layout;
    bool nullable;
    size_t n_children; /* key and value of a map are direct children */
    size_t n_nodes;    /* this one and all below */
    size_t width;      /* FIXED */
    int64_t cap, used; /* items; used: of the writer only */
    int64_t bytes_cap; /* TEXT; used bytes are the offset at `used` */
    uint8_t *valid;    /* a byte an item; NULL: never null */
    atomic_llong first_null; /* no null before it, LLONG_MAX: none yet */
    int32_t *offsets;  /* TEXT, LIST, MAP */
    uint8_t *values;   /* BITS: a byte an item; FIXED; TEXT: the bytes */
} open_node;

size_t pml_open_node__count(const pml_type *t);
/* Shapes the nodes, divides the memory among them and returns the bytes of all buffers. */
size_t pml_open_node__plan(open_node *root, const pml_type *t, int64_t rows_max, int64_t bytes_max);
/* Gives the nodes their buffers inside memory of that many bytes, aligned to 16. */
void pml_open_node__place(open_node *root, uint8_t *memory);
/* Whether the rows [row, row + n) of an array, without its own offset, can be copied in. */
bool pml_open_node__fits(const open_node *node, const struct ArrowArray *a, int64_t row, int64_t n);
void pml_open_node__copy(open_node *node, const struct ArrowArray *a, int64_t row, int64_t n);

#endif
