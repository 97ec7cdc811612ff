/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The radix tree of a 64-bit Roaring bitmap (Java: org.roaringbitmap.art.Art): from the high 48 bits of values to the place of their
 * container. Bytes are Java's own and nobody's specification; those of a node come before those of its children, in the order of keys:
 *
 *   u8 type: 0 to 3 inner, of up to 4, 16, 48 and 256 children; 4 leaf | u16 children | u8 length of the prefix | prefix, then
 *   4, 16   keys: bytes of one or two words of 32 or 64 bits that Java writes turned round
 *   48      for each key the child's place among 48, 255: none; bytes of 32 words that are written turned round
 *   256     a bit for each key
 *   leaf    6 bytes of key | u64 place
 *
 * Places among 48 are in the order in which children came, so a tree is kept as Java has it, not made anew.
 */
#ifndef PML_COLUMNAR_ROARING64_TREE_H
#define PML_COLUMNAR_ROARING64_TREE_H

#include "util/arena.h"
#include "util/buf.h"
#include "util/bytes.h"

enum { PML_ROARING64_KEY = 6 };

typedef struct pml_roaring64_node pml_roaring64_node;

/* What is wrong is said in words; NULL: nothing, or no memory where *rc says so. */
const char *pml_roaring64_tree__read(pml_roaring64_node **root, int64_t *n_leaves, pml_arena *arena, pml_bytes in, size_t *at, int *rc);
/* Calls for each leaf in the order of keys, until it gives another code than PML_OK. */
int pml_roaring64_tree__each(const pml_roaring64_node *root, int (*call)(void *arg, const uint8_t *key, uint64_t place), void *arg);
/* The place of a key; false: it is not there. */
bool pml_roaring64_tree__find(uint64_t *place, const pml_roaring64_node *root, const uint8_t *key);
/* A key that is not there. root may be NULL. */
int pml_roaring64_tree__insert(pml_roaring64_node **root, pml_arena *arena, const uint8_t *key, uint64_t place);
int pml_roaring64_tree__write(pml_buf *out, const pml_roaring64_node *root);

#endif
