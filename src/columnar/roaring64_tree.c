/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/roaring64_tree.h"

enum { NODE4, NODE16, NODE48, NODE256, LEAF, NO_PLACE = 255 };

typedef struct child {
    uint8_t key, place; /* place: of NODE48 */
    pml_roaring64_node *node;
} child;

struct pml_roaring64_node {
    uint8_t type, prefix_len;
    uint8_t prefix[PML_ROARING64_KEY]; /* of a leaf the whole key */
    uint64_t place;                    /* of a leaf */
    uint32_t n, room;
    child *children; /* in the order of keys; room for those that there are, so that a few bytes of a file do not take kilobytes */
};

static const uint32_t capacities[] = {4, 16, 48, 256};

static int make_room(pml_roaring64_node *node, pml_arena *arena, uint32_t room)
{
    child *children = pml_arena__array(arena, room, sizeof *children);
    if (children == NULL)
        return PML_E_NOMEM;
    if (node->n > 0)
        memcpy(children, node->children, node->n * sizeof *children);
    node->children = children;
    node->room = room;
    return PML_OK;
}

/* room: for how many children. */
static pml_roaring64_node *node_new(pml_arena *arena, uint8_t type, uint32_t room)
{
    pml_roaring64_node *node = pml_arena__array(arena, 1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->type = type;
    return room > 0 && make_room(node, arena, room) != PML_OK ? NULL : node;
}

/* ---- reading ---- */

/* Byte i of bytes that stand turned round in words of `word` bytes. */
static uint8_t turned(const uint8_t *p, uint32_t i, uint32_t word)
{
    return p[i / word * word + (word - 1 - i % word)];
}

static const char *read_keys(pml_roaring64_node *node, const uint8_t *p, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < (node->type >= NODE48 ? 256 : n); i++) {
        child c = {.key = (uint8_t)i};
        if (node->type == NODE4 || node->type == NODE16)
            c.key = turned(p, i, node->type == NODE4 ? 4 : 8);
        if (node->type == NODE48)
            c.place = turned(p, i, 8);
        bool there = node->type == NODE48 ? c.place != NO_PLACE : node->type < NODE48 || pml_bit_get(p, i);
        if (!there)
            continue;
        if (found == n || (found > 0 && node->children[found - 1].key >= c.key) || (node->type == NODE48 && c.place >= 48))
            return "the keys of its tree do not ascend, or are not as many as it says";
        node->children[found++] = c;
    }
    node->n = found;
    return found == n ? NULL : "a node of its tree has other children than it says";
}

typedef struct tree_reader {
    pml_arena *arena;
    pml_bytes in;
    size_t at;
    int64_t n_leaves;
    uint8_t path[PML_ROARING64_KEY];
    int rc;
} tree_reader;

static const char *read_node(pml_roaring64_node **out, tree_reader *r, uint32_t depth);

static const char *read_leaf(pml_roaring64_node *leaf, tree_reader *r, uint32_t depth)
{
    if (r->in.len - r->at < PML_ROARING64_KEY + 8)
        return "its tree is cut off";
    memcpy(leaf->prefix, r->in.ptr + r->at, PML_ROARING64_KEY);
    leaf->place = pml_le64(r->in.ptr + r->at + PML_ROARING64_KEY);
    r->at += PML_ROARING64_KEY + 8;
    r->n_leaves++;
    return memcmp(leaf->prefix, r->path, depth) == 0 ? NULL : "a leaf of its tree has another key than the way to it";
}

static const char *read_inner(pml_roaring64_node *node, tree_reader *r, uint32_t n, uint32_t depth)
{
    static const size_t sizes[] = {4, 16, 256, 32};
    if (n == 0 || n > capacities[node->type] || r->in.len - r->at < sizes[node->type])
        return "a node of its tree is cut off or has too many children";
    if (make_room(node, r->arena, n) != PML_OK) {
        r->rc = PML_E_NOMEM;
        return NULL;
    }
    const char *why = read_keys(node, r->in.ptr + r->at, n);
    r->at += sizes[node->type];
    memcpy(r->path + depth, node->prefix, node->prefix_len);
    depth += node->prefix_len;
    for (uint32_t i = 0; i < n && why == NULL && r->rc == PML_OK; i++) {
        r->path[depth] = node->children[i].key;
        why = read_node(&node->children[i].node, r, depth + 1);
    }
    return why;
}

/* Recursion ends with the bytes of a key. */
static const char *read_node(pml_roaring64_node **out, tree_reader *r, uint32_t depth)
{
    *out = NULL;
    if (r->in.len - r->at < 4)
        return "its tree is cut off";
    const uint8_t *p = r->in.ptr + r->at;
    uint8_t type = p[0], prefix_len = p[3];
    r->at += 4;
    if (type > LEAF || r->in.len - r->at < prefix_len || prefix_len + depth + (type != LEAF) > PML_ROARING64_KEY)
        return "a node of its tree is none that there is";
    pml_roaring64_node *node = node_new(r->arena, type, 0);
    if (node == NULL) {
        r->rc = PML_E_NOMEM;
        return NULL;
    }
    *out = node;
    node->prefix_len = type == LEAF ? 0 : prefix_len;
    memcpy(node->prefix, p + 4, node->prefix_len);
    r->at += prefix_len;
    return type == LEAF ? read_leaf(node, r, depth) : read_inner(node, r, pml_le16(p + 1), depth);
}

const char *pml_roaring64_tree__read(pml_roaring64_node **root, int64_t *n_leaves, pml_arena *arena, pml_bytes in, size_t *at, int *rc)
{
    tree_reader r = {.arena = arena, .in = in, .at = *at};
    const char *why = read_node(root, &r, 0);
    *at = r.at;
    *n_leaves = r.n_leaves;
    *rc = r.rc;
    return why;
}

/* ---- asking ---- */

int pml_roaring64_tree__each(const pml_roaring64_node *root, int (*call)(void *arg, const uint8_t *key, uint64_t place), void *arg)
{
    if (root == NULL)
        return PML_OK;
    if (root->type == LEAF)
        return call(arg, root->prefix, root->place);
    for (uint32_t i = 0; i < root->n; i++)
        PML_RETURN_IF(pml_roaring64_tree__each(root->children[i].node, call, arg));
    return PML_OK;
}

static child *child_of(const pml_roaring64_node *node, uint8_t key)
{
    for (uint32_t i = 0; i < node->n; i++)
        if (node->children[i].key == key)
            return &node->children[i];
    return NULL;
}

bool pml_roaring64_tree__find(uint64_t *place, const pml_roaring64_node *root, const uint8_t *key)
{
    uint32_t depth = 0;
    while (root != NULL && root->type != LEAF) {
        if (memcmp(root->prefix, key + depth, root->prefix_len) != 0)
            return false;
        depth += root->prefix_len;
        const child *c = child_of(root, key[depth++]);
        root = c == NULL ? NULL : c->node;
    }
    if (root == NULL || memcmp(root->prefix, key, PML_ROARING64_KEY) != 0)
        return false;
    *place = root->place;
    return true;
}

/* ---- inserting ---- */

static pml_roaring64_node *leaf_new(pml_arena *arena, const uint8_t *key, uint64_t place)
{
    pml_roaring64_node *leaf = node_new(arena, LEAF, 0);
    if (leaf != NULL) {
        memcpy(leaf->prefix, key, PML_ROARING64_KEY);
        leaf->place = place;
    }
    return leaf;
}

/* The first place among 48 that is free, from the number of children on, then from the start. */
static uint8_t free_place(const pml_roaring64_node *node)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < node->n; i++)
        taken |= UINT64_C(1) << node->children[i].place;
    if ((taken >> node->n & 1) == 0)
        return (uint8_t)node->n;
    return (uint8_t)__builtin_ctzll(~taken);
}

/* Of the next larger type; NODE16 becomes a NODE48 whose places are in the order of keys. */
static void grow(pml_roaring64_node *node)
{
    for (uint32_t i = 0; i < node->n; i++)
        node->children[i].place = (uint8_t)i;
    node->type++;
}

static int add_child(pml_roaring64_node *node, pml_arena *arena, uint8_t key, pml_roaring64_node *below)
{
    uint32_t i = node->n;
    if (node->n == node->room)
        PML_RETURN_IF(make_room(node, arena, node->n > 128 ? 256 : 2 * node->n));
    if (node->n == capacities[node->type])
        grow(node);
    child fresh = {.key = key, .place = node->type == NODE48 ? free_place(node) : 0, .node = below};
    for (; i > 0 && node->children[i - 1].key > key; i--)
        node->children[i] = node->children[i - 1];
    node->children[i] = fresh;
    node->n++;
    return PML_OK;
}

/* A node in the place of another one, of which `common` bytes behind `depth` agree with the key. */
static int split(pml_roaring64_node **at, pml_arena *arena, uint32_t common, uint8_t other, const uint8_t *key, uint32_t depth,
                 pml_roaring64_node *leaf)
{
    pml_roaring64_node *node = node_new(arena, NODE4, 2);
    if (node == NULL)
        return PML_E_NOMEM;
    node->prefix_len = (uint8_t)common;
    memcpy(node->prefix, key + depth, common);
    PML_RETURN_IF(add_child(node, arena, other, *at));
    PML_RETURN_IF(add_child(node, arena, key[depth + common], leaf));
    *at = node;
    return PML_OK;
}

int pml_roaring64_tree__insert(pml_roaring64_node **root, pml_arena *arena, const uint8_t *key, uint64_t place)
{
    pml_roaring64_node **at = root, *leaf = leaf_new(arena, key, place);
    uint32_t depth = 0;
    if (leaf == NULL)
        return PML_E_NOMEM;
    while (*at != NULL) {
        pml_roaring64_node *node = *at;
        uint32_t common = 0, end = node->type == LEAF ? PML_ROARING64_KEY - 1 - depth : node->prefix_len;
        const uint8_t *own = node->type == LEAF ? node->prefix + depth : node->prefix;
        while (common < end && own[common] == key[depth + common])
            common++;
        if (node->type == LEAF)
            return split(at, arena, common, own[common], key, depth, leaf);
        if (common < node->prefix_len) {
            uint8_t other = node->prefix[common];
            node->prefix_len = (uint8_t)(node->prefix_len - common - 1);
            memmove(node->prefix, node->prefix + common + 1, node->prefix_len);
            return split(at, arena, common, other, key, depth, leaf);
        }
        depth += common;
        child *c = child_of(node, key[depth]);
        if (c == NULL)
            return add_child(node, arena, key[depth], leaf);
        at = &c->node;
        depth++;
    }
    *at = leaf;
    return PML_OK;
}

/* ---- writing ---- */

static int write_keys(pml_buf *out, const pml_roaring64_node *node)
{
    uint8_t bytes[256], turned_round[256];
    uint32_t n = node->type == NODE4 ? 4 : node->type == NODE16 ? 16 : node->type == NODE48 ? 256 : 32, word = node->type == NODE4 ? 4 : 8;
    memset(bytes, node->type == NODE48 ? NO_PLACE : 0, sizeof bytes);
    for (uint32_t i = 0; i < node->n; i++) {
        const child *c = &node->children[i];
        if (node->type == NODE256)
            pml_bit_set(bytes, c->key);
        else if (node->type == NODE48)
            bytes[c->key] = c->place;
        else
            bytes[i] = c->key;
    }
    for (uint32_t i = 0; i < n; i++)
        turned_round[i] = node->type == NODE256 ? bytes[i] : turned(bytes, i, word);
    return pml_buf__append(out, turned_round, n);
}

int pml_roaring64_tree__write(pml_buf *out, const pml_roaring64_node *root)
{
    const uint8_t head[] = {root->type, (uint8_t)root->n, (uint8_t)(root->n >> 8), root->prefix_len};
    uint8_t place[8];
    PML_RETURN_IF(pml_buf__append(out, head, sizeof head));
    if (root->type == LEAF) {
        PML_RETURN_IF(pml_buf__append(out, root->prefix, PML_ROARING64_KEY));
        pml_put_le64(place, root->place);
        return pml_buf__append(out, place, sizeof place);
    }
    PML_RETURN_IF(pml_buf__append(out, root->prefix, root->prefix_len));
    PML_RETURN_IF(write_keys(out, root));
    for (uint32_t i = 0; i < root->n; i++)
        PML_RETURN_IF(pml_roaring64_tree__write(out, root->children[i].node));
    return PML_OK;
}
