/* SPDX-License-Identifier: Apache-2.0 */
#include "format/avro_columns.h"

#include <assert.h>

#include "columnar/batch.h"
#include "columnar/value.h"

/* A batch ends when its buffers have so many bytes, and fails where a single row makes so many of them, or more than a call that reads
   may take at all. */
#define BATCH_BYTES     ((uint64_t)64 << 20)
#define BATCH_BYTES_MAX ((uint64_t)1 << 30)

enum { FIRST_ITEMS = 64, MISSING_BYTES = 16 };

/* ---- the tree ---- */

static size_t count_nodes(const pml_type *t)
{
    size_t n = pml_layout__of(t) == PML_LAYOUT_MAP ? 2 : 1;
    for (size_t i = 0; i < pml_layout__children(t); i++)
        n += count_nodes(pml_layout__child(t, i));
    return n;
}

typedef struct tree {
    pml_avro_columns *c;
    pml_arena *arena;
    uint32_t next;
} tree;

static int plant(tree *b, pml_avro_field *want, const char *name, const pml_type *type);

/* The children of a node are those of its type; their wants are the children of its want. */
static int plant_children(tree *b, pml_avro_field *want, pml_avro_node *node, const pml_type *type)
{
    size_t n = pml_layout__children(type);
    pml_avro_field *wants = pml_arena__array(b->arena, n, sizeof *wants);
    node->children = pml_arena__array(b->arena, n, sizeof *node->children);
    if (wants == NULL || node->children == NULL)
        return PML_E_NOMEM;
    want->children = wants;
    want->n_children = node->n_children = n;
    for (size_t i = 0; i < n; i++) {
        node->children[i] = b->next;
        /* items have no name in the file; messages say the list's */
        const char *name = node->layout == PML_LAYOUT_STRUCT ? pml_layout__child_name(type, i) : want->name;
        PML_RETURN_IF(plant(b, &wants[i], name, pml_layout__child(type, i)));
    }
    return PML_OK;
}

/* The entries of a map: a ROW of key and value for those who look at types. */
static int plant_entries(tree *b, pml_avro_field *want, pml_avro_node *map)
{
    pml_field *members = pml_arena__array(b->arena, 2, sizeof *members);
    pml_type *entry = pml_arena__array(b->arena, 1, sizeof *entry);
    pml_avro_field *entries = pml_arena__array(b->arena, 1, sizeof *entries);
    map->children = pml_arena__array(b->arena, 1, sizeof *map->children);
    if (members == NULL || entry == NULL || entries == NULL || map->children == NULL)
        return PML_E_NOMEM;
    for (size_t i = 0; i < 2; i++)
        members[i] = (pml_field){.name = pml_layout__child_name(map->type, i), .type = *pml_layout__child(map->type, i)};
    *entry = pml_layout__row(members, 2);
    want->children = entries;
    want->n_children = map->n_children = 1;
    map->children[0] = b->next;
    PML_RETURN_IF(plant(b, entries, want->name, entry));
    assert(entries->n_children == 2); /* those of the ROW above */
    entries->nullable = false;
    ((pml_avro_field *)(uintptr_t)entries->children)[0].nullable = false; /* the key: there, and not null */
    return PML_OK;
}

static int plant(tree *b, pml_avro_field *want, const char *name, const pml_type *type)
{
    uint32_t slot = b->next++;
    pml_avro_node *node = &b->c->nodes[slot];
    *want = (pml_avro_field){.name = name, .nullable = true, .type = type, .slot = slot};
    node->type = type;
    node->layout = pml_layout__of(type);
    node->width = pml_layout__width(type);
    switch (node->layout) {
    case PML_LAYOUT_BITS:
    case PML_LAYOUT_FIXED:
    case PML_LAYOUT_TEXT: want->kind = PML_AVRO_COLUMN; return PML_OK;
    case PML_LAYOUT_MAP: want->kind = PML_AVRO_MAP; return plant_entries(b, want, node);
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_FIXED_LIST: want->kind = PML_AVRO_ARRAY; return plant_children(b, want, node, type);
    case PML_LAYOUT_STRUCT: want->kind = PML_AVRO_RECORD; break;
    }
    return type->kind == PML_TYPE_VARIANT ? PML_E_UNSUPPORTED : plant_children(b, want, node, type);
}

int pml_avro_columns__init(pml_avro_columns *c, pml_arena *arena, const pml_field *fields, size_t n, int64_t batch_rows, pml_error *err)
{
    *c = (pml_avro_columns){.env = arena->env, .n_fields = n, .batch_rows = batch_rows, .bytes_max = BATCH_BYTES_MAX};
    if (c->env->bridge_bytes_max > 0 && (uint64_t)c->env->bridge_bytes_max < c->bytes_max)
        c->bytes_max = (uint64_t)c->env->bridge_bytes_max;
    for (size_t i = 0; i < n; i++)
        c->n_nodes += count_nodes(&fields[i].type);
    c->nodes = pml_arena__array(arena, c->n_nodes, sizeof *c->nodes);
    c->found = pml_arena__array(arena, c->n_nodes, sizeof *c->found);
    c->fields = pml_arena__array(arena, n, sizeof *c->fields);
    c->roots = pml_arena__array(arena, n, sizeof *c->roots);
    if (c->nodes == NULL || c->found == NULL || c->fields == NULL || c->roots == NULL)
        return pml_error__no_memory(err);
    tree b = {c, arena, 0};
    for (size_t i = 0; i < n; i++) {
        c->roots[i] = b.next;
        int rc = plant(&b, &c->fields[i], fields[i].name, &fields[i].type);
        if (rc == PML_E_UNSUPPORTED)
            return pml_error__set(err, rc, "needs type:variant: column %.80s has no form in Avro files", fields[i].name);
        if (rc != PML_OK)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

static size_t missing_bytes(const pml_avro_columns *c, const pml_avro_node *node)
{
    size_t n = 0;
    for (size_t i = 0; i < node->n_children; i++)
        if (!c->found[node->children[i]])
            n += MISSING_BYTES + missing_bytes(c, &c->nodes[node->children[i]]);
    return n;
}

void pml_avro_columns__compiled(pml_avro_columns *c)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        if (c->found[i] && c->nodes[i].layout == PML_LAYOUT_STRUCT)
            c->nodes[i].width = 1 + missing_bytes(c, &c->nodes[i]);
}

static void node_forget(pml_avro_columns *c, pml_avro_node *node)
{
    pml_env__free(c->env, node->values);
    pml_env__free(c->env, node->offsets);
    pml_env__free(c->env, node->valid);
    node->values = node->valid = NULL;
    node->offsets = NULL;
    node->n = node->cap = node->bytes = node->bytes_cap = node->null_count = 0;
}

void pml_avro_columns__clear(pml_avro_columns *c)
{
    for (size_t i = 0; c->nodes != NULL && i < c->n_nodes; i++)
        node_forget(c, &c->nodes[i]);
}

/* ---- growing ---- */

static int charge(pml_avro_columns *c, uint64_t bytes)
{
    if (bytes > c->bytes_max - c->charged)
        return PML_E_LIMIT;
    c->charged += bytes;
    c->full = c->charged >= BATCH_BYTES;
    return PML_OK;
}

static void *resized(pml_avro_columns *c, void *old, uint64_t bytes)
{
    return old == NULL ? pml_env__alloc(c->env, (size_t)bytes) : pml_env__realloc(c->env, old, (size_t)bytes);
}

/* Items of a buffer that has none yet: a batch of rows, unless the table is so wide that these alone would end it. */
static int64_t first_items(const pml_avro_columns *c)
{
    int64_t share = (int64_t)(BATCH_BYTES / 4 / sizeof(pml_int128)) / (int64_t)c->n_nodes;
    int64_t n = c->batch_rows < share ? c->batch_rows : share;
    return n < FIRST_ITEMS ? FIRST_ITEMS : n;
}

static uint64_t value_bytes(const pml_avro_node *node, int64_t n)
{
    return node->layout == PML_LAYOUT_BITS ? pml_bits__bytes(n) : node->layout == PML_LAYOUT_FIXED ? (uint64_t)n * node->width : 0;
}

static bool has_offsets(const pml_avro_node *node)
{
    return node->layout == PML_LAYOUT_TEXT || node->layout == PML_LAYOUT_LIST || node->layout == PML_LAYOUT_MAP;
}

static int grow_valid(pml_avro_columns *c, pml_avro_node *node, int64_t cap)
{
    size_t had = node->valid == NULL ? 0 : pml_bits__bytes(node->cap), bytes = pml_bits__bytes(cap);
    uint8_t *p = resized(c, node->valid, bytes);
    if (p == NULL)
        return PML_E_NOMEM;
    node->valid = p;
    memset(p + had, 0xFF, bytes - had);
    return PML_OK;
}

int pml_avro_node__grow(pml_avro_columns *c, pml_avro_node *node)
{
    int64_t cap = node->cap == 0 ? first_items(c) : node->cap * 2;
    uint64_t had = value_bytes(node, node->cap), bytes = value_bytes(node, cap);
    uint64_t other = node->layout == PML_LAYOUT_STRUCT ? node->width : has_offsets(node) ? sizeof(int32_t) : 0;
    if (node->n > INT32_MAX / 2)
        return PML_E_LIMIT;
    PML_RETURN_IF(charge(c, bytes - had + (uint64_t)(cap - node->cap) * other + pml_bits__bytes(cap - node->cap)));
    if (bytes > 0) {
        uint8_t *p = resized(c, node->values, bytes);
        if (p == NULL)
            return PML_E_NOMEM;
        node->values = p;
        if (node->layout == PML_LAYOUT_BITS)
            memset(p + had, 0, bytes - had);
    }
    if (has_offsets(node)) {
        int32_t *p = resized(c, node->offsets, ((uint64_t)cap + 1) * sizeof *p);
        if (p == NULL)
            return PML_E_NOMEM;
        node->offsets = p;
        p[0] = 0;
    }
    if (node->valid != NULL)
        PML_RETURN_IF(grow_valid(c, node, cap));
    node->cap = cap;
    return PML_OK;
}

int pml_avro_node__grow_bytes(pml_avro_columns *c, pml_avro_node *node, size_t n)
{
    uint64_t need = (uint64_t)node->bytes + n, cap = (uint64_t)node->bytes_cap * 2;
    cap = cap < need ? need : cap;
    cap = cap < FIRST_ITEMS ? FIRST_ITEMS : cap;
    if (need > INT32_MAX)
        return PML_E_LIMIT;
    PML_RETURN_IF(charge(c, cap - (uint64_t)node->bytes_cap));
    uint8_t *p = resized(c, node->values, cap);
    if (p == NULL)
        return PML_E_NOMEM;
    node->values = p;
    node->bytes_cap = (int64_t)cap;
    return PML_OK;
}

static int append_empty(pml_avro_columns *c, pml_avro_node *node, bool valid);

/* In NOT NULL children there are zeros below a null, as batches have them that are built row by row. */
static int append_below(pml_avro_columns *c, pml_avro_node *node)
{
    int64_t n = node->layout == PML_LAYOUT_FIXED_LIST ? node->type->length : 1;
    for (size_t i = 0; i < node->n_children; i++) {
        pml_avro_node *child = &c->nodes[node->children[i]];
        for (int64_t k = 0; c->found[node->children[i]] && k < n; k++)
            PML_RETURN_IF(append_empty(c, child, !child->type->nullable));
    }
    return PML_OK;
}

/* Goes down the type, which is at most PML_TYPE_DEPTH_MAX deep. */
static int append_empty(pml_avro_columns *c, pml_avro_node *node, bool valid)
{
    int64_t n = node->n;
    if (n == node->cap)
        PML_RETURN_IF(pml_avro_node__grow(c, node));
    switch (node->layout) {
    case PML_LAYOUT_BITS: break; /* zero already */
    case PML_LAYOUT_FIXED: memset(node->values + (size_t)n * node->width, 0, node->width); break;
    case PML_LAYOUT_TEXT:
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP: node->offsets[n + 1] = node->offsets[n]; break;
    case PML_LAYOUT_FIXED_LIST:
    case PML_LAYOUT_STRUCT: PML_RETURN_IF(append_below(c, node)); break;
    }
    if (!valid) {
        if (node->valid == NULL)
            PML_RETURN_IF(grow_valid(c, node, node->cap));
        pml_bit_unset(node->valid, n);
        node->null_count++;
    }
    node->n = n + 1;
    return PML_OK;
}

int pml_avro_node__append_null(pml_avro_columns *c, pml_avro_node *node)
{
    return append_empty(c, node, false);
}

/* ---- moving out ---- */

static int finish_node(struct ArrowArray *out, pml_avro_columns *c, uint32_t at, int64_t rows, pml_error *err);

static void move_buffers(struct ArrowArray *out, pml_avro_columns *c, pml_avro_node *node)
{
    if (node->null_count > 0) {
        pml_array__adopt(out, 0, node->valid);
        node->valid = NULL;
    }
    if (has_offsets(node)) {
        pml_array__adopt(out, 1, node->offsets);
        node->offsets = NULL;
    }
    if (node->layout <= PML_LAYOUT_TEXT) {
        pml_array__adopt(out, node->layout == PML_LAYOUT_TEXT ? 2 : 1, node->values);
        node->values = NULL;
    }
    out->length = node->n;
    out->null_count = node->null_count;
    node_forget(c, node);
}

/* On failure `out` owns what was moved so far. */
static int finish_found(struct ArrowArray *out, pml_avro_columns *c, pml_avro_node *node, pml_error *err)
{
    /* Nobody reads the buffers of no rows, but they must be there. */
    int rc = node->cap == 0 ? pml_avro_node__grow(c, node) : PML_OK;
    if (rc == PML_OK && node->layout == PML_LAYOUT_TEXT && node->values == NULL)
        rc = pml_avro_node__grow_bytes(c, node, 1);
    if (rc != PML_OK)
        return pml_error__no_memory(err);
    int64_t n = node->n, below = node->layout == PML_LAYOUT_STRUCT        ? n
                                 : node->layout == PML_LAYOUT_FIXED_LIST ? n * node->type->length
                                 : node->n_children > 0                  ? node->offsets[n]
                                                                         : 0;
    PML_RETURN_IF(pml_array__init(out, c->env, NULL, pml_layout__buffers(node->layout), (int64_t)node->n_children, err));
    move_buffers(out, c, node);
    for (size_t i = 0; i < node->n_children; i++)
        PML_RETURN_IF(finish_node(out->children[i], c, node->children[i], below, err));
    return PML_OK;
}

static int finish_node(struct ArrowArray *out, pml_avro_columns *c, uint32_t at, int64_t rows, pml_error *err)
{
    const pml_value null = {.kind = PML_VALUE_NULL};
    pml_avro_node *node = &c->nodes[at];
    if (!c->found[at])
        return pml_batch__constant(out, c->env, node->type, &null, rows, err);
    if (node->n != rows)
        return pml_error__set(err, PML_E_INTERNAL, "a column has %lld items instead of %lld", (long long)node->n, (long long)rows);
    return finish_found(out, c, node, err);
}

int pml_avro_columns__finish(struct ArrowArray *out, pml_avro_columns *c, int64_t rows, pml_error *err)
{
    int rc = pml_array__init(out, c->env, NULL, 1, (int64_t)c->n_fields, err);
    for (size_t i = 0; rc == PML_OK && i < c->n_fields; i++)
        rc = finish_node(out->children[i], c, c->roots[i], rows, err);
    if (rc != PML_OK)
        pml_array__release(out);
    else
        out->length = rows;
    c->charged = 0;
    c->full = false;
    return rc;
}
