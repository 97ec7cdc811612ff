/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concatenation: the visible rows of several arrays of one type, one after the other, as one array that owns its memory.
 *
 * Each input is a piece: an array and a range of its rows. A list turns its piece into the piece of its elements, a struct only
 * shifts it, so one array of pieces per level is enough and every buffer is written once, by memcpy where the bytes need no
 * change. Offsets that go backwards are noticed while they are rebased, so that a trusted but wrong batch gives an error instead
 * of a wild copy.
 */
#include "columnar/pieces.h"

#include "columnar/array_memory.h"

typedef pml_piece piece;

typedef struct concat {
    pml_env *env;
    size_t n; /* pieces */
    pml_error *err;
} concat;

static int concat_array(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *p);

static int64_t start_of(const piece *p)
{
    return p->a == NULL ? 0 : p->a->offset + p->row;
}

static const uint8_t *validity_of(const piece *p)
{
    return p->a == NULL ? NULL : pml_array__validity(p->a);
}

/* Below a null are nulls, or zeros where the type is NOT NULL. */
static int concat_validity(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *p)
{
    bool any = false;
    int64_t at = 0;
    for (size_t i = 0; i < c->n; i++)
        any = any || (p[i].n > 0 && (validity_of(&p[i]) != NULL || (p[i].a == NULL && t->nullable)));
    if (!any)
        return PML_OK;
    uint8_t *bits = pml_array__calloc(out, 0, pml_bits__bytes(out->length));
    if (bits == NULL)
        return pml_error__no_memory(c->err);
    for (size_t i = 0; i < c->n; at += p[i].n, i++) {
        const uint8_t *src = validity_of(&p[i]);
        if (p[i].n > 0 && src != NULL)
            pml_bits__copy(bits, at, src, start_of(&p[i]), p[i].n);
        else
            pml_bits__fill(bits, at, p[i].n, p[i].a != NULL || !t->nullable);
    }
    out->null_count = out->length - pml_bits__count(bits, 0, out->length);
    if (out->null_count == 0)
        pml_array__drop_buffer(out, 0);
    return PML_OK;
}

static int concat_bits(struct ArrowArray *out, const concat *c, const piece *p)
{
    int64_t at = 0;
    uint8_t *bits = pml_array__calloc(out, 1, pml_bits__bytes(out->length));
    if (bits == NULL)
        return pml_error__no_memory(c->err);
    for (size_t i = 0; i < c->n; at += p[i].n, i++)
        if (p[i].n > 0 && p[i].a != NULL)
            pml_bits__copy(bits, at, p[i].a->buffers[1], start_of(&p[i]), p[i].n);
    return PML_OK;
}

static int concat_fixed(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *p)
{
    size_t width = pml_layout__width(t);
    uint8_t *dst = pml_array__alloc(out, 1, (size_t)out->length * width);
    if (dst == NULL)
        return pml_error__no_memory(c->err);
    for (size_t i = 0; i < c->n; i++) {
        if (p[i].n == 0)
            continue;
        if (p[i].a == NULL)
            memset(dst, 0, (size_t)p[i].n * width);
        else
            memcpy(dst, (const uint8_t *)p[i].a->buffers[1] + (size_t)start_of(&p[i]) * width, (size_t)p[i].n * width);
        dst += (size_t)p[i].n * width;
    }
    return PML_OK;
}

/* The offsets of all rows from 0 on; below[i] becomes the piece of bytes or elements of p[i], and *total their number. */
static int concat_offsets(struct ArrowArray *out, const concat *c, const piece *p, piece *below, int64_t *total)
{
    uint8_t *dst = pml_array__alloc(out, 1, ((size_t)out->length + 1) * 4);
    int64_t sum = 0, wrong = 0;
    int32_t end = 0;
    if (dst == NULL)
        return pml_error__no_memory(c->err);
    memcpy(dst, &end, sizeof end);
    for (size_t i = 0; i < c->n; i++) {
        below[i] = (piece){0};
        for (int64_t r = 0; p[i].a == NULL && r < p[i].n; r++, dst += 4)
            memcpy(dst + 4, &end, sizeof end);
        if (p[i].n == 0 || p[i].a == NULL)
            continue;
        const uint8_t *src = p[i].a->buffers[1];
        int64_t at = start_of(&p[i]), first = pml_load_i32(src, at), from = first;
        wrong |= first;
        for (int64_t r = 1; r <= p[i].n; r++) {
            int64_t to = pml_load_i32(src, at + r);
            wrong |= to - from;
            from = to;
            end = (int32_t)(sum + to - first);
            dst += 4;
            memcpy(dst, &end, sizeof end);
        }
        below[i] = (piece){.row = first, .n = from - first};
        sum += from - first;
        if (wrong < 0)
            return pml_error__set(c->err, PML_E_INVAL, "offsets of a variable-width column go backwards");
        if (sum > INT32_MAX)
            return pml_error__set(c->err, PML_E_LIMIT, "%zu arrays hold more than %d bytes or elements together", c->n,
                                  INT32_MAX);
    }
    *total = sum;
    return PML_OK;
}

static int concat_text(struct ArrowArray *out, const concat *c, const piece *p, piece *below)
{
    int64_t total;
    PML_RETURN_IF(concat_offsets(out, c, p, below, &total));
    uint8_t *dst = pml_array__alloc(out, 2, (size_t)total);
    if (dst == NULL)
        return pml_error__no_memory(c->err);
    for (size_t i = 0; i < c->n; i++) {
        if (below[i].n == 0)
            continue;
        memcpy(dst, (const uint8_t *)p[i].a->buffers[2] + below[i].row, (size_t)below[i].n);
        dst += below[i].n;
    }
    return PML_OK;
}

/* Children of out are those of each parents[i]; below says which of their rows. */
static int concat_children(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *parents,
                           piece *below)
{
    int rc = PML_OK;
    for (size_t k = 0; k < pml_layout__children(t); k++) {
        for (size_t i = 0; i < c->n; i++)
            below[i].a = parents[i].a == NULL ? NULL : parents[i].a->children[k];
        PML_TRY(concat_array(out->children[k], c, pml_layout__child(t, k), below));
    }
out:
    return rc;
}

static int concat_map(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *p, piece *below)
{
    int rc;
    int64_t total;
    piece *entries = pml_env__calloc(c->env, c->n, sizeof *entries);
    if (entries == NULL)
        return pml_error__no_memory(c->err);
    PML_TRY(concat_offsets(out, c, p, below, &total));
    PML_TRY(pml_array__init(out->children[0], c->env, NULL, 1, 2, c->err));
    out->children[0]->length = total;
    for (size_t i = 0; i < c->n; i++) {
        if (p[i].a == NULL)
            continue;
        entries[i].a = p[i].a->children[0];
        below[i].row += entries[i].a->offset;
    }
    PML_TRY(concat_children(out->children[0], c, t, entries, below));
out:
    pml_env__free(c->env, entries);
    return rc;
}

static int concat_nested(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *p, piece *below)
{
    int64_t total, size = t->length;
    pml_layout layout = pml_layout__of(t);
    if (layout == PML_LAYOUT_MAP)
        return concat_map(out, c, t, p, below);
    if (layout == PML_LAYOUT_LIST)
        PML_RETURN_IF(concat_offsets(out, c, p, below, &total));
    for (size_t i = 0; layout == PML_LAYOUT_STRUCT && i < c->n; i++)
        below[i] = (piece){.row = start_of(&p[i]), .n = p[i].n};
    for (size_t i = 0; layout == PML_LAYOUT_FIXED_LIST && i < c->n; i++)
        if (__builtin_mul_overflow(start_of(&p[i]), size, &below[i].row) ||
            __builtin_mul_overflow(p[i].n, size, &below[i].n))
            return pml_error__set(c->err, PML_E_LIMIT, "vectors of %lld do not fit one array", (long long)size);
    return concat_children(out, c, t, p, below);
}

static int concat_array(struct ArrowArray *out, const concat *c, const pml_type *t, const piece *p)
{
    int rc;
    piece *below = NULL;
    pml_layout layout = pml_layout__of(t);
    int64_t kids = layout == PML_LAYOUT_MAP ? 1 : (int64_t)pml_layout__children(t), length = 0;
    for (size_t i = 0; i < c->n; i++)
        if (__builtin_add_overflow(length, p[i].n, &length) || length > INT64_MAX / 32)
            return pml_error__set(c->err, PML_E_LIMIT, "%zu arrays have more rows together than one can", c->n);
    PML_TRY(pml_array__init(out, c->env, NULL, pml_layout__buffers(layout), kids, c->err));
    out->length = length;
    PML_TRY(concat_validity(out, c, t, p));
    if (layout == PML_LAYOUT_BITS)
        return concat_bits(out, c, p);
    if (layout == PML_LAYOUT_FIXED)
        return concat_fixed(out, c, t, p);
    below = pml_env__calloc(c->env, c->n, sizeof *below);
    if (below == NULL)
        PML_TRY(pml_error__no_memory(c->err));
    rc = layout == PML_LAYOUT_TEXT ? concat_text(out, c, p, below) : concat_nested(out, c, t, p, below);
out:
    pml_env__free(c->env, below);
    return rc;
}

int pml_pieces__concat(struct ArrowArray *out, pml_env *env, const pml_type *type, const pml_piece *pieces, size_t n,
                       pml_error *err)
{
    const concat c = {env, n, err};
    pml_type t = *type;
    t.nullable = true; /* a null that was asked for is one, whatever the type says */
    *out = (struct ArrowArray){0};
    int rc = concat_array(out, &c, &t, pieces);
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}

int pml_batch__concat(struct ArrowArray *out, pml_env *env, const pml_field *fields, size_t n_fields,
                      const struct ArrowArray *const *inputs, size_t n, pml_error *err)
{
    const pml_type row = pml_layout__row(fields, n_fields);
    *out = (struct ArrowArray){0};
    for (size_t i = 0; i < n; i++)
        if (inputs[i]->n_children != (int64_t)n_fields)
            return pml_error__set(err, PML_E_INVAL, "an array of %lld columns was given where %zu are expected",
                                  (long long)inputs[i]->n_children, n_fields);
    piece *p = pml_env__calloc(env, n, sizeof *p);
    if (p == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        p[i] = (piece){inputs[i], 0, inputs[i]->length};
    int rc = pml_pieces__concat(out, env, &row, p, n, err);
    pml_env__free(env, p);
    return rc;
}
