/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/open_chunk.h"

#include <stdatomic.h>

#include "columnar/array_memory.h"
#include "columnar/open_chunk_node.h"

struct pml_open_chunk {
    atomic_llong refs;
    pml_env *env;
    void (*drop)(void *owner);
    void *owner;
    pml_type row;
    size_t bytes;
    uint8_t *memory; /* all buffers of all nodes */
    open_node *root; /* followed by all other nodes */
};

/* What one view keeps: the chunk, and the bits made for it. */
typedef struct view_owner {
    pml_open_chunk *chunk;
    pml_arena bits;
} view_owner;

int pml_open_chunk__new(pml_open_chunk **out, pml_env *env, const pml_field *fields, size_t n, int64_t rows_max,
                        int64_t bytes_max, void (*drop)(void *owner), void *owner, pml_error *err)
{
    *out = NULL;
    if (rows_max < 0 || rows_max > PML_OPEN_CHUNK_ROWS_MAX || bytes_max < 0 || bytes_max > PML_OPEN_CHUNK_BYTES_MAX)
        return pml_error__set(err, PML_E_INVAL, "an open chunk of %lld rows and %lld bytes; at most %d and %d are possible",
                              (long long)rows_max, (long long)bytes_max, PML_OPEN_CHUNK_ROWS_MAX, PML_OPEN_CHUNK_BYTES_MAX);
    pml_open_chunk *c = pml_env__calloc(env, 1, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(err);
    atomic_init(&c->refs, 1);
    c->env = env;
    pml_env_acquire(env);
    c->row = pml_layout__row(fields, n);
    c->root = pml_env__calloc(env, pml_open_node__count(&c->row), sizeof *c->root);
    if (c->root != NULL) {
        c->bytes = pml_open_node__plan(c->root, &c->row, rows_max, bytes_max);
        c->memory = pml_env__alloc(env, c->bytes);
    }
    if (c->memory == NULL) {
        pml_open_chunk__release(c);
        return pml_error__no_memory(err);
    }
    pml_open_node__place(c->root, c->memory);
    c->drop = drop;
    c->owner = owner;
    *out = c;
    return PML_OK;
}

void pml_open_chunk__acquire(pml_open_chunk *c)
{
    (void)atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void pml_open_chunk__release(pml_open_chunk *c)
{
    if (c == NULL || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = c->env;
    void (*drop)(void *owner) = c->drop;
    void *owner = c->owner;
    pml_env__free(env, c->memory);
    pml_env__free(env, c->root);
    pml_env__free(env, c);
    if (drop != NULL)
        drop(owner);
    pml_env_release(env);
}

size_t pml_open_chunk__bytes(const pml_open_chunk *c)
{
    return c->bytes;
}

bool pml_open_chunk__append(pml_open_chunk *c, const struct ArrowArray *batch)
{
    if (batch->n_children != (int64_t)c->row.n_children || !pml_open_node__fits(c->root, batch, 0, batch->length))
        return false;
    pml_open_node__copy(c->root, batch, 0, batch->length);
    return true;
}

/* ---- views ---- */

/* One bit for each byte, all of which are 0 or 1; *ones counts them. Exactly n bytes are read: the next one may be in writing. */
static void pack_bits(uint8_t *dst, int64_t *ones, const uint8_t *bytes, int64_t n)
{
    int64_t i = 0, count = 0;
    for (; i + 8 <= n; i += 8) {
        /* Byte k of the product's top byte is byte k of the factor: 8k + 56 - 7k. No two terms meet, so nothing carries. */
        uint8_t packed = (uint8_t)((pml_le64(bytes + i) * 0x0102040810204080u) >> 56);
        count += __builtin_popcount(packed);
        dst[i >> 3] = packed;
    }
    if (i < n)
        dst[i >> 3] = 0;
    for (; i < n; i++) {
        count += bytes[i];
        dst[i >> 3] |= (uint8_t)(bytes[i] << (i & 7));
    }
    *ones = count;
}

static void view_drop(void *p)
{
    view_owner *v = p;
    pml_open_chunk *c = v->chunk;
    pml_arena__clear(&v->bits);
    pml_env__free(c->env, v);
    pml_open_chunk__release(c);
}

typedef struct viewing {
    pml_env *env;
    pml_shared *shared;
    pml_arena *bits;
    pml_error *err;
} viewing;

static int make_bits(const void **out, int64_t *ones, const viewing *v, const uint8_t *bytes, int64_t n)
{
    uint8_t *bits = pml_arena__alloc(v->bits, pml_bits__bytes(n));
    if (bits == NULL)
        return pml_error__no_memory(v->err);
    pack_bits(bits, ones, bytes, n);
    *out = bits;
    return PML_OK;
}

static int view_node(struct ArrowArray *out, const viewing *v, open_node *node, int64_t n);

static int view_children(struct ArrowArray *out, const viewing *v, open_node *node, int64_t n)
{
    int rc = PML_OK;
    open_node *child = node + 1;
    for (size_t i = 0; i < node->n_children; child += child->n_nodes, i++)
        PML_TRY(view_node(out->children[i], v, child, n));
out:
    return rc;
}

static int view_below(struct ArrowArray *out, const viewing *v, open_node *node, int64_t n)
{
    if (node->layout == PML_LAYOUT_STRUCT)
        return view_children(out, v, node, n);
    if (node->layout == PML_LAYOUT_FIXED_LIST)
        return view_children(out, v, node, n * node->type->length);
    int64_t elements = n == 0 ? 0 : node->offsets[n];
    if (node->layout == PML_LAYOUT_LIST)
        return view_children(out, v, node, elements);
    PML_RETURN_IF(pml_array__init(out->children[0], v->env, v->shared, 1, 2, v->err));
    out->children[0]->length = elements;
    return view_children(out->children[0], v, node, elements);
}

static int view_node(struct ArrowArray *out, const viewing *v, open_node *node, int64_t n)
{
    int64_t kids = node->layout == PML_LAYOUT_MAP ? 1 : (int64_t)node->n_children, ones = 0;
    PML_RETURN_IF(pml_array__init(out, v->env, v->shared, pml_layout__buffers(node->layout), kids, v->err));
    out->length = n;
    if (node->valid != NULL && atomic_load_explicit(&node->first_null, memory_order_relaxed) < n) {
        PML_RETURN_IF(make_bits(&out->buffers[0], &ones, v, node->valid, n));
        out->null_count = n - ones;
    }
    switch (node->layout) {
    case PML_LAYOUT_BITS: return make_bits(&out->buffers[1], &ones, v, node->values, n);
    case PML_LAYOUT_FIXED: out->buffers[1] = node->values; return PML_OK;
    case PML_LAYOUT_TEXT:
        out->buffers[1] = node->offsets;
        out->buffers[2] = node->values;
        return PML_OK;
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP: out->buffers[1] = node->offsets; break;
    case PML_LAYOUT_FIXED_LIST:
    case PML_LAYOUT_STRUCT: break;
    }
    return view_below(out, v, node, n);
}

int pml_open_chunk__view(struct ArrowArray *out, pml_open_chunk *c, int64_t rows, pml_error *err)
{
    int rc;
    const struct ArrowArray nothing = {0};
    viewing v = {.env = c->env, .err = err};
    *out = (struct ArrowArray){0};
    if (rows < 0 || rows > c->root->cap)
        return pml_error__set(err, PML_E_INVAL, "%lld rows were asked of an open chunk with room for %lld", (long long)rows,
                              (long long)c->root->cap);
    view_owner *owner = pml_env__calloc(c->env, 1, sizeof *owner);
    if (owner == NULL)
        return pml_error__no_memory(err);
    pml_arena__init(&owner->bits, c->env);
    rc = pml_shared__borrow(&v.shared, c->env, &nothing, view_drop, owner, err);
    if (rc != PML_OK) {
        pml_env__free(c->env, owner);
        return rc;
    }
    pml_open_chunk__acquire(c);
    owner->chunk = c;
    v.bits = &owner->bits;
    rc = view_node(out, &v, c->root, rows);
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    pml_shared__release(v.shared);
    return rc;
}
