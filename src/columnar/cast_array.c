/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Casts of whole arrays. Each node casts a range of the rows of its input; a list turns its range into that of its elements, a row
 * only shifts it (as in check.c). Values below a null are not looked at: `live` has a bit for each row of the range, when some are
 * below one.
 */
#include "columnar/batch.h"
#include "columnar/cast_rule.h"
#include "columnar/check.h"
#include "columnar/value_store.h"

typedef struct run {
    pml_env *env;
    pml_error *err;
    int64_t row; /* where it failed, on the way out; -1: nowhere */
} run;

/* Rows [row, row + n) of an array, without its own offset. */
typedef struct range {
    const struct ArrowArray *a;
    int64_t row, n;
    const uint8_t *live; /* NULL: all of them */
} range;

static int cast_rows(struct ArrowArray *out, run *r, const pml_cast *c, range in);

static bool has_value(const range *in, int64_t i)
{
    return (in->live == NULL || pml_bit_get(in->live, i)) && !pml_array__is_null(in->a, in->row + i);
}

/* The validity of the range as that of out, rows below a null included. */
static int copy_validity(struct ArrowArray *out, run *r, const range *in)
{
    const uint8_t *bits = pml_array__validity(in->a);
    if (bits == NULL && in->live == NULL)
        return PML_OK;
    uint8_t *dst = pml_array__calloc(out, 0, pml_bits__bytes(in->n));
    if (dst == NULL)
        return pml_error__no_memory(r->err);
    if (bits != NULL)
        pml_bits__copy(dst, 0, bits, in->a->offset + in->row, in->n);
    else
        pml_bits__fill(dst, 0, in->n, true);
    for (size_t i = 0; in->live != NULL && i < pml_bits__bytes(in->n); i++)
        dst[i] &= in->live[i];
    out->null_count = in->n - pml_bits__count(dst, 0, in->n);
    if (out->null_count == 0)
        pml_array__drop_buffer(out, 0);
    return PML_OK;
}

/* ---- values ---- */

/* Values one after the other into the buffers of out. */
typedef struct sink {
    struct ArrowArray *out;
    const pml_type *type;
    pml_layout layout;
    size_t width;
    uint8_t *valid, *values; /* values: BITS, FIXED */
    int32_t *offsets;        /* TEXT */
    pml_buf data, scratch;
} sink;

static int sink_init(sink *s, struct ArrowArray *out, run *r, const pml_type *t, int64_t n)
{
    *s = (sink){.out = out, .type = t, .layout = pml_layout__of(t), .width = pml_layout__width(t)};
    bool text = s->layout == PML_LAYOUT_TEXT;
    pml_buf__init(&s->data, r->env, INT32_MAX);
    pml_buf__init(&s->scratch, r->env, INT32_MAX);
    s->valid = pml_array__calloc(out, 0, pml_bits__bytes(n));
    if (text)
        s->offsets = pml_array__calloc(out, 1, ((size_t)n + 1) * 4);
    else
        s->values = pml_array__calloc(out, 1, s->layout == PML_LAYOUT_BITS ? pml_bits__bytes(n) : (size_t)n * s->width);
    return s->valid == NULL || (text ? s->offsets == NULL : s->values == NULL) ? pml_error__no_memory(r->err) : PML_OK;
}

static int sink_put(sink *s, int64_t i, const pml_value *v, pml_error *err)
{
    uint8_t slot[16];
    if (v->kind == PML_VALUE_NULL)
        return PML_OK;
    pml_bit_set(s->valid, i);
    if (s->layout == PML_LAYOUT_TEXT)
        return pml_buf__append(&s->data, v->bytes.ptr, v->bytes.len) == PML_OK ? PML_OK : pml_buf__check(&s->data, err);
    if (s->layout == PML_LAYOUT_BITS) {
        if (v->i != 0)
            pml_bit_set(s->values, i);
        return PML_OK;
    }
    if (pml_value__store(slot, s->type, v) != PML_OK)
        return pml_error__set(err, PML_E_INVAL, "it is outside of what Arrow holds for the new type");
    memcpy(s->values + (size_t)i * s->width, slot, s->width);
    return PML_OK;
}

static int sink_finish(sink *s, run *r, int64_t n)
{
    s->out->null_count = n - pml_bits__count(s->valid, 0, n);
    if (s->out->null_count == 0)
        pml_array__drop_buffer(s->out, 0);
    if (s->layout != PML_LAYOUT_TEXT)
        return PML_OK;
    if (s->data.data == NULL && pml_buf__reserve(&s->data, 8) == NULL)
        return pml_error__no_memory(r->err);
    pml_array__adopt(s->out, 2, s->data.data);
    s->data.data = NULL;
    return PML_OK;
}

/* One value; *v is what was cast, for messages. */
static int cast_one(sink *s, run *r, const pml_cast *c, const range *in, int64_t i, pml_value *v)
{
    pml_value made = {.kind = PML_VALUE_NULL};
    pml_buf__reset(&s->scratch);
    if (c->kind == PML_CAST_TEXT) {
        PML_RETURN_IF(pml_cast__print(&s->scratch, c, in->a, in->row + i, r->err));
        PML_RETURN_IF(pml_buf__check(&s->scratch, r->err));
        made = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {s->scratch.data, s->scratch.len}};
    } else {
        pml_value__get(v, c->from, in->a, in->row + i);
        PML_RETURN_IF(c->rule(&made, c, v, &s->scratch, r->err));
    }
    return sink_put(s, i, &made, r->err);
}

static int cast_values(struct ArrowArray *out, run *r, const pml_cast *c, range in)
{
    sink s;
    pml_value v = {.kind = PML_VALUE_NULL};
    int rc;
    PML_TRY(sink_init(&s, out, r, c->to, in.n));
    for (int64_t i = 0; i < in.n; i++) {
        if (has_value(&in, i)) {
            rc = cast_one(&s, r, c, &in, i, &v);
            if (rc != PML_OK) {
                r->row = in.row + i;
                rc = pml_cast__wrong_value(rc, c, &v, r->env, r->err);
                goto out;
            }
        }
        if (s.offsets != NULL)
            s.offsets[i + 1] = (int32_t)s.data.len;
    }
    rc = sink_finish(&s, r, in.n);
out:
    pml_buf__clear(&s.data);
    pml_buf__clear(&s.scratch);
    return rc;
}

/* Numbers in one loop; false in *done: they are not such. */
static int cast_numbers(bool *done, struct ArrowArray *out, run *r, const pml_cast *c, range in)
{
    size_t from = pml_layout__width(c->from), to = pml_layout__width(c->to);
    *done = (pml_cast__is_integer(c->from) || pml_type__is_float(c->from)) &&
            (pml_cast__is_integer(c->to) || pml_type__is_float(c->to));
    if (!*done)
        return PML_OK;
    PML_RETURN_IF(copy_validity(out, r, &in));
    uint8_t *dst = pml_array__alloc(out, 1, (size_t)in.n * to);
    if (dst == NULL)
        return pml_error__no_memory(r->err);
    const uint8_t *src = in.a->buffers[1];
    *done = pml_cast__numbers(dst, c, src + (size_t)(in.a->offset + in.row) * from, in.n);
    return PML_OK;
}

/* ---- nested ---- */

static int cast_same(struct ArrowArray *out, run *r, const pml_type *t, range in)
{
    struct ArrowArray view = *in.a;
    view.offset += in.row;
    view.length = in.n;
    view.null_count = in.a->null_count == 0 ? 0 : -1;
    return pml_batch__gather(out, r->env, t, &view, NULL, in.n, r->err);
}

static int cast_row(struct ArrowArray *out, run *r, const pml_cast *c, range in)
{
    PML_RETURN_IF(copy_validity(out, r, &in));
    /* out's own validity tells which members are looked at. */
    const uint8_t *live = out->null_count == 0 ? NULL : out->buffers[0];
    for (size_t i = 0; i < c->n_members; i++) {
        const struct ArrowArray *child = c->source[i] < 0 ? NULL : in.a->children[c->source[i]];
        int rc = cast_rows(out->children[i], r, &c->members[i], (range){child, in.a->offset + in.row, in.n, live});
        if (rc != PML_OK && r->row >= 0)
            r->row -= in.a->offset;
        PML_RETURN_IF(rc);
    }
    return PML_OK;
}

/* Offsets from 0 on; elements becomes the range of the elements. */
static int cast_offsets(struct ArrowArray *out, run *r, range in, range *elements)
{
    const uint8_t *src = in.a->buffers[1];
    int64_t at = in.a->offset + in.row;
    int32_t first = pml_load_i32(src, at);
    int32_t *offsets = pml_array__alloc(out, 1, ((size_t)in.n + 1) * 4);
    if (offsets == NULL)
        return pml_error__no_memory(r->err);
    for (int64_t i = 0; i <= in.n; i++)
        offsets[i] = pml_load_i32(src, at + i) - first;
    *elements = (range){.row = first, .n = offsets[in.n]};
    return PML_OK;
}

/* Elements of rows that are null, or below a null, in *bits (owned, NULL: there are none). */
static int dead_elements(uint8_t **bits, run *r, const struct ArrowArray *out, const range *in, int64_t n_elements)
{
    const int32_t *offsets = out->buffers[1];
    *bits = NULL;
    for (int64_t i = 0; out->null_count > 0 && i < in->n; i++) {
        if (pml_bit_get(out->buffers[0], i) || offsets[i] == offsets[i + 1])
            continue;
        if (*bits == NULL) {
            *bits = pml_env__alloc(r->env, pml_bits__bytes(n_elements));
            if (*bits == NULL)
                return pml_error__no_memory(r->err);
            pml_bits__fill(*bits, 0, n_elements, true);
        }
        pml_bits__fill(*bits, offsets[i], offsets[i + 1] - offsets[i], false);
    }
    return PML_OK;
}

static int cast_list(struct ArrowArray *out, run *r, const pml_cast *c, range in)
{
    bool map = c->kind == PML_CAST_MAP;
    range below;
    uint8_t *live = NULL;
    int rc;
    PML_TRY(copy_validity(out, r, &in));
    PML_TRY(cast_offsets(out, r, in, &below));
    PML_TRY(dead_elements(&live, r, out, &in, below.n));
    below.live = live;
    below.a = in.a->children[0];
    if (!map) {
        rc = cast_rows(out->children[0], r, &c->members[0], below);
    } else {
        const struct ArrowArray *entries = in.a->children[0];
        PML_TRY(pml_array__init(out->children[0], r->env, NULL, 1, 2, r->err));
        out->children[0]->length = below.n;
        below.row += entries->offset;
        below.a = entries->children[0];
        PML_TRY(cast_same(out->children[0]->children[0], r, &c->from->children[0].type, below));
        below.a = entries->children[1];
        rc = cast_rows(out->children[0]->children[1], r, &c->members[0], below);
        if (rc != PML_OK && r->row >= 0)
            r->row -= entries->offset;
    }
    if (rc != PML_OK && r->row >= 0)
        r->row = pml_check__list_row(in.a, in.row, in.n, r->row);
out:
    pml_env__free(r->env, live);
    return rc;
}

static int cast_rows(struct ArrowArray *out, run *r, const pml_cast *c, range in)
{
    const pml_value null = {.kind = PML_VALUE_NULL};
    bool done = false;
    if (c->kind == PML_CAST_NULL || in.n == 0)
        return pml_batch__constant(out, r->env, c->to, &null, in.n, r->err);
    if (c->kind == PML_CAST_SAME)
        return cast_same(out, r, c->from, in);
    pml_layout layout = pml_layout__of(c->to);
    int64_t kids = layout == PML_LAYOUT_MAP ? 1 : (int64_t)pml_layout__children(c->to);
    PML_RETURN_IF(pml_array__init(out, r->env, NULL, pml_layout__buffers(layout), kids, r->err));
    out->length = in.n;
    switch (c->kind) {
    case PML_CAST_ROW: return cast_row(out, r, c, in);
    case PML_CAST_LIST:
    case PML_CAST_MAP: return cast_list(out, r, c, in);
    case PML_CAST_VALUE: PML_RETURN_IF(cast_numbers(&done, out, r, c, in)); break;
    case PML_CAST_TEXT:
    case PML_CAST_SAME:
    case PML_CAST_NULL: break;
    }
    return done ? PML_OK : cast_values(out, r, c, in);
}

int pml_cast__array(struct ArrowArray *out, const pml_cast *c, pml_env *env, const struct ArrowArray *in, pml_error *err)
{
    run r = {env, err, -1};
    *out = (struct ArrowArray){0};
    int rc = cast_rows(out, &r, c, (range){.a = in, .n = in->length});
    if (rc == PML_OK)
        return PML_OK;
    pml_array__release(out);
    *out = (struct ArrowArray){0};
    return r.row < 0 ? rc : pml_error__prefix(err, rc, "row %lld", (long long)r.row);
}
