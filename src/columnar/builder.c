/* SPDX-License-Identifier: Apache-2.0 */
/* Row-wise building. A failed append leaves the builder unusable except for free: its buffers could be out of step. Only
   PML_E_LIMIT for too much text is found before anything is written, so that the caller may finish and start over. */
#include "columnar/array_memory.h"
#include "columnar/batch.h"
#include "columnar/value_store.h"

#include <assert.h>

struct pml_builder {
    pml_env *env;
    const pml_type *type; /* borrowed */
    pml_layout layout;
    size_t width;
    int64_t length, null_count;
    pml_buf validity; /* empty until the first null */
    pml_buf offsets;  /* TEXT, LIST, MAP: length + 1 of them once length > 0 */
    pml_buf data;     /* BITS, FIXED, TEXT */
    int rc;           /* sticky */
    size_t n_children;
    pml_builder **children;
};

/* Arrow's 32-bit offsets end here; also a bound for the values of one array. */
enum { BUILDER_TEXT_MAX = INT32_MAX };
#define BUILDER_BYTES_MAX ((size_t)1 << 40)

static int builder_init_children(pml_builder *b, pml_error *err)
{
    int rc = PML_OK;
    size_t n = pml_layout__children(b->type);
    b->children = pml_env__calloc(b->env, n, sizeof(pml_builder *));
    if (b->children == NULL)
        return pml_error__no_memory(err);
    b->n_children = n;
    for (size_t i = 0; i < n && rc == PML_OK; i++)
        rc = pml_builder__new(&b->children[i], b->env, pml_layout__child(b->type, i), err);
    return rc;
}

int pml_builder__new(pml_builder **out, pml_env *env, const pml_type *type, pml_error *err)
{
    *out = NULL;
    pml_builder *b = pml_env__calloc(env, 1, sizeof *b);
    if (b == NULL)
        return pml_error__no_memory(err);
    b->env = env;
    pml_env_acquire(env);
    b->type = type;
    b->layout = pml_layout__of(type);
    b->width = pml_layout__width(type);
    pml_buf__init(&b->validity, env, BUILDER_BYTES_MAX);
    pml_buf__init(&b->offsets, env, BUILDER_BYTES_MAX);
    pml_buf__init(&b->data, env, b->layout == PML_LAYOUT_TEXT ? BUILDER_TEXT_MAX : BUILDER_BYTES_MAX);
    int rc = builder_init_children(b, err);
    if (rc != PML_OK)
        pml_builder__free(b);
    else
        *out = b;
    return rc;
}

void pml_builder__free(pml_builder *b)
{
    if (b == NULL)
        return;
    pml_env *env = b->env;
    for (size_t i = 0; i < b->n_children; i++)
        pml_builder__free(b->children[i]);
    pml_env__free(env, b->children);
    pml_buf__clear(&b->validity);
    pml_buf__clear(&b->offsets);
    pml_buf__clear(&b->data);
    pml_env__free(env, b);
    pml_env_release(env);
}

int64_t pml_builder__length(const pml_builder *b)
{
    return b->length;
}

pml_builder *pml_builder__child(pml_builder *b, size_t i)
{
    assert(i < b->n_children);
    return b->children[i];
}

static int builder_grow_bits(pml_buf *bits, int64_t length)
{
    size_t need = pml_bits__bytes(length);
    return need > bits->len ? pml_buf__append_zeros(bits, need - bits->len) : PML_OK;
}

/* Sets the validity bit of the next row, and counts the row. Everything else of the row is in place already. */
static int builder_count(pml_builder *b, bool valid)
{
    int rc = PML_OK;
    if (!valid && b->null_count == 0) {
        PML_TRY(builder_grow_bits(&b->validity, b->length + 1));
        pml_bits__fill(b->validity.data, 0, b->length, true);
    }
    if (!valid || b->null_count > 0) {
        PML_TRY(builder_grow_bits(&b->validity, b->length + 1));
        if (valid)
            pml_bit_set(b->validity.data, b->length);
        b->null_count += !valid;
    }
    b->length++;
out:
    return rc;
}

/* end: the offset behind the row that is being added. */
static int builder_push_offset(pml_builder *b, int64_t end)
{
    int32_t zero = 0, off = (int32_t)end;
    if (b->offsets.len == 0)
        PML_RETURN_IF(pml_buf__append(&b->offsets, &zero, sizeof zero));
    return pml_buf__append(&b->offsets, &off, sizeof off);
}

static int builder_append_empty(pml_builder *b, bool valid);

static int builder_pad_children(pml_builder *b)
{
    int rc = PML_OK;
    int64_t n = b->layout == PML_LAYOUT_FIXED_LIST ? b->type->length : 1;
    for (size_t i = 0; i < b->n_children; i++)
        for (int64_t k = 0; k < n; k++)
            PML_TRY(builder_append_empty(b->children[i], !b->children[i]->type->nullable));
out:
    return rc;
}

/* A null, or a row of zeros: what stands in NOT NULL children below a null parent. */
static int builder_append_empty(pml_builder *b, bool valid)
{
    int rc = b->rc;
    PML_TRY(rc);
    switch (b->layout) {
    case PML_LAYOUT_BITS: PML_TRY(builder_grow_bits(&b->data, b->length + 1)); break;
    case PML_LAYOUT_FIXED: PML_TRY(pml_buf__append_zeros(&b->data, b->width)); break;
    case PML_LAYOUT_TEXT: PML_TRY(builder_push_offset(b, (int64_t)b->data.len)); break;
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP:
        PML_TRY(builder_push_offset(b, b->offsets.len == 0 ? 0 : pml_load_i32(b->offsets.data, b->length)));
        break;
    case PML_LAYOUT_FIXED_LIST:
    case PML_LAYOUT_STRUCT: PML_TRY(builder_pad_children(b)); break;
    }
    PML_TRY(builder_count(b, valid));
out:
    return b->rc = rc;
}

int pml_builder__append_null(pml_builder *b)
{
    return builder_append_empty(b, false);
}

int pml_builder__append_value(pml_builder *b, const pml_value *v)
{
    if (v->kind == PML_VALUE_NULL)
        return pml_builder__append_null(b);
    int rc = b->rc;
    PML_RETURN_IF(rc);
    uint8_t slot[16];
    if (!pml_value__fits(b->type, v))
        return PML_E_INVAL;
    if (b->layout == PML_LAYOUT_TEXT && v->bytes.len > BUILDER_TEXT_MAX - b->data.len)
        return PML_E_LIMIT;
    if (b->layout == PML_LAYOUT_FIXED)
        PML_RETURN_IF(pml_value__store(slot, b->type, v));
    switch (b->layout) {
    case PML_LAYOUT_BITS:
        PML_TRY(builder_grow_bits(&b->data, b->length + 1));
        if (v->i != 0)
            pml_bit_set(b->data.data, b->length);
        break;
    case PML_LAYOUT_FIXED: PML_TRY(pml_buf__append(&b->data, slot, b->width)); break;
    case PML_LAYOUT_TEXT:
        if (v->bytes.len != 0)
            PML_TRY(pml_buf__append(&b->data, v->bytes.ptr, v->bytes.len));
        PML_TRY(builder_push_offset(b, (int64_t)b->data.len));
        break;
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP:
    case PML_LAYOUT_FIXED_LIST:
    case PML_LAYOUT_STRUCT: rc = PML_E_INVAL; goto out;
    }
    PML_TRY(builder_count(b, true));
out:
    return b->rc = rc;
}

int pml_builder__close_item(pml_builder *b)
{
    int rc = b->rc;
    PML_TRY(rc);
    if (b->layout <= PML_LAYOUT_TEXT)
        return PML_E_INVAL;
    int64_t want = b->layout == PML_LAYOUT_FIXED_LIST ? (b->length + 1) * b->type->length
                   : b->layout == PML_LAYOUT_STRUCT   ? b->length + 1
                                                      : b->children[0]->length;
    for (size_t i = 0; i < b->n_children; i++)
        if (b->children[i]->length != want)
            rc = PML_E_INVAL;
    if (rc == PML_OK && b->layout <= PML_LAYOUT_MAP)
        rc = want > INT32_MAX ? PML_E_LIMIT : builder_push_offset(b, want);
    PML_TRY(rc);
    PML_TRY(builder_count(b, true));
out:
    return b->rc = rc;
}

/* The elements [from, from + n) of a child array, then the item around them. */
static int builder_append_children(pml_builder *b, const struct ArrowArray *const *children, int64_t from, int64_t n)
{
    for (size_t i = 0; i < b->n_children; i++)
        for (int64_t k = 0; k < n; k++)
            PML_RETURN_IF(pml_builder__append_item(b->children[i], children[i], from + k));
    return pml_builder__close_item(b);
}

static int builder_append_fixed(pml_builder *b, const struct ArrowArray *a, int64_t row)
{
    int rc = b->rc;
    PML_TRY(rc);
    PML_TRY(pml_buf__append(&b->data, (const uint8_t *)a->buffers[1] + (size_t)(a->offset + row) * b->width, b->width));
    PML_TRY(builder_count(b, true));
out:
    return b->rc = rc;
}

int pml_builder__append_item(pml_builder *b, const struct ArrowArray *array, int64_t row)
{
    const struct ArrowArray *const *children = (const struct ArrowArray *const *)array->children;
    int64_t at = array->offset + row, from = 0, n = 1;
    if (pml_array__is_null(array, row))
        return pml_builder__append_null(b);
    if (b->layout == PML_LAYOUT_LIST || b->layout == PML_LAYOUT_MAP) {
        from = pml_load_i32(array->buffers[1], at);
        n = pml_load_i32(array->buffers[1], at + 1) - from;
    }
    switch (b->layout) {
    case PML_LAYOUT_FIXED: return builder_append_fixed(b, array, row);
    case PML_LAYOUT_BITS:
    case PML_LAYOUT_TEXT: break;
    case PML_LAYOUT_MAP:
        from += array->children[0]->offset;
        return builder_append_children(b, (const struct ArrowArray *const *)array->children[0]->children, from, n);
    case PML_LAYOUT_LIST: return builder_append_children(b, children, from, n);
    case PML_LAYOUT_FIXED_LIST: return builder_append_children(b, children, at * b->type->length, b->type->length);
    case PML_LAYOUT_STRUCT: return builder_append_children(b, children, at, 1);
    }
    pml_value v;
    pml_value__get(&v, b->type, array, row);
    return pml_builder__append_value(b, &v);
}

/* Phase 1 of finish: everything that can fail. */
static int builder_shape(pml_builder *b, struct ArrowArray *out, pml_error *err)
{
    int rc = b->rc;
    PML_TRY(rc == PML_OK
                ? PML_OK
                : pml_error__set(err, rc, "a value could not be added to a column of %lld rows", (long long)b->length));
    PML_TRY(pml_array__init(out, b->env, NULL, pml_layout__buffers(b->layout),
                            b->layout == PML_LAYOUT_MAP ? 1 : (int64_t)b->n_children, err));
    if (b->layout <= PML_LAYOUT_TEXT && b->data.data == NULL && pml_buf__reserve(&b->data, 8) == NULL)
        PML_TRY(pml_error__no_memory(err));
    if (b->layout == PML_LAYOUT_TEXT || b->layout == PML_LAYOUT_LIST || b->layout == PML_LAYOUT_MAP)
        if (b->offsets.len == 0 && pml_buf__append_zeros(&b->offsets, 4) != PML_OK)
            PML_TRY(pml_error__no_memory(err));
    struct ArrowArray *parent = out;
    if (b->layout == PML_LAYOUT_MAP) {
        parent = out->children[0];
        PML_TRY(pml_array__init(parent, b->env, NULL, 1, 2, err));
    }
    for (size_t i = 0; i < b->n_children; i++)
        PML_TRY(builder_shape(b->children[i], parent->children[i], err));
out:
    return rc;
}

static void *buf_steal(pml_buf *buf)
{
    void *p = buf->data;
    buf->data = NULL;
    pml_buf__clear(buf);
    return p;
}

/* Phase 2: moves, cannot fail. */
static void builder_move(pml_builder *b, struct ArrowArray *out)
{
    out->length = b->length;
    out->null_count = b->null_count;
    if (b->null_count > 0)
        pml_array__adopt(out, 0, buf_steal(&b->validity));
    if (b->offsets.data != NULL)
        pml_array__adopt(out, 1, buf_steal(&b->offsets));
    if (b->layout <= PML_LAYOUT_TEXT)
        pml_array__adopt(out, b->layout == PML_LAYOUT_TEXT ? 2 : 1, buf_steal(&b->data));
    struct ArrowArray *parent = out;
    if (b->layout == PML_LAYOUT_MAP) {
        parent = out->children[0];
        parent->length = b->children[0]->length;
    }
    for (size_t i = 0; i < b->n_children; i++)
        builder_move(b->children[i], parent->children[i]);
    b->length = b->null_count = 0;
}

int pml_builder__finish(pml_builder *b, struct ArrowArray *out, pml_error *err)
{
    *out = (struct ArrowArray){0};
    int rc = builder_shape(b, out, err);
    if (rc == PML_OK) {
        builder_move(b, out);
    } else {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}
