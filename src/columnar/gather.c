/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather: copies chosen rows, column by column ("merge decides, gather moves").
 *
 * 1. A selection is a list of rows, or a run of neighbouring rows when the list turns out to be one; runs are memcpy.
 * 2. Per column one loop of its width. Text is measured first, then copied; neighbouring source rows are copied as one piece.
 * 3. A list turns the selection of its rows into a selection of its elements (a run stays a run) and goes on below; a struct
 *    only shifts the selection, so it passes `base` instead of rewriting the list.
 *
 * Bytes behind null rows are copied like others: testing each row would cost more than it saves. Offsets that go backwards
 * are noticed in the measuring loop, so that a trusted but wrong batch gives an error instead of a wild copy.
 */
#include "columnar/array_memory.h"
#include "columnar/batch.h"
#include "columnar/text_copy.h"

typedef struct selection {
    const int64_t *rows; /* NULL: start, start + 1, ... */
    int64_t start;       /* of a run */
    int64_t base;        /* added to every row: offsets of the structs around */
    int64_t n;
} selection;

typedef struct gather {
    pml_env *env;
    pml_error *err;
} gather;

static int gather_array(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                        selection s);

static selection selection_of(const int64_t *rows, int64_t n)
{
    selection s = {.rows = rows, .n = n};
    if (rows == NULL || n == 0)
        return (selection){.n = n};
    /* The ends decide almost always; the loop only runs to its end for real runs. */
    if (rows[n - 1] - rows[0] != n - 1)
        return s;
    for (int64_t i = 1; i < n; i++)
        if (rows[i] != rows[i - 1] + 1)
            return s;
    return (selection){.start = rows[0], .n = n};
}

static void gather_bits(uint8_t *dst, const uint8_t *src, selection s)
{
    if (s.rows == NULL) {
        pml_bits__copy(dst, 0, src, s.start + s.base, s.n);
        return;
    }
    const int64_t *rows = s.rows;
    int64_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        unsigned byte = 0;
        for (int k = 0; k < 8; k++) /* a constant bound, so that it is unrolled */
            byte |= (unsigned)pml_bit_get(src, rows[i + k] + s.base) << k;
        dst[i >> 3] = (uint8_t)byte;
    }
    if (i < s.n)
        dst[i >> 3] = 0;
    for (; i < s.n; i++)
        if (pml_bit_get(src, rows[i] + s.base))
            pml_bit_set(dst, i);
}

/* s.base includes the array's own offset. */
static int gather_validity(struct ArrowArray *out, const gather *g, const struct ArrowArray *a, selection s)
{
    const uint8_t *src = pml_array__validity(a);
    out->length = s.n;
    if (src == NULL || s.n == 0)
        return PML_OK;
    uint8_t *dst = pml_array__alloc(out, 0, pml_bits__bytes(s.n));
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    gather_bits(dst, src, s);
    out->null_count = s.n - pml_bits__count(dst, 0, s.n);
    if (out->null_count == 0)
        pml_array__drop_buffer(out, 0);
    return PML_OK;
}

#define GATHER_LOOP(width)            \
    for (int64_t i = 0; i < s.n; i++) \
    memcpy(dst + i * (width), src + (s.rows[i] + s.base) * (width), (width))

static int gather_fixed(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                        selection s)
{
    int64_t width = (int64_t)pml_layout__width(t);
    uint8_t *dst = pml_array__alloc(out, 1, (size_t)(s.n * width));
    const uint8_t *src = a->buffers[1];
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    if (s.n == 0)
        return PML_OK;
    if (s.rows == NULL)
        memcpy(dst, src + (s.start + s.base) * width, (size_t)(s.n * width));
    else if (width == 1)
        GATHER_LOOP(1);
    else if (width == 2)
        GATHER_LOOP(2);
    else if (width == 4)
        GATHER_LOOP(4);
    else if (width == 8)
        GATHER_LOOP(8);
    else
        GATHER_LOOP(16);
    return PML_OK;
}

static int gather_bit_values(struct ArrowArray *out, const gather *g, const struct ArrowArray *a, selection s)
{
    uint8_t *dst = pml_array__alloc(out, 1, pml_bits__bytes(s.n));
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    if (s.n > 0)
        gather_bits(dst, a->buffers[1], s);
    return PML_OK;
}

typedef struct extent {
    int64_t first; /* where a run starts in the source */
    int64_t end;   /* in the source, behind all chosen rows */
    int64_t total; /* bytes or elements of them */
} extent;

/* New offsets of the chosen rows. */
static int gather_offsets(struct ArrowArray *out, const gather *g, const struct ArrowArray *a, selection s, extent *e)
{
    uint8_t *dst = pml_array__alloc(out, 1, ((size_t)s.n + 1) * 4);
    const uint8_t *src = a->buffers[1];
    int64_t sum = 0, wrong = 0;
    int32_t end = 0;
    *e = (extent){0};
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    memcpy(dst, &end, sizeof end);
    if (s.n > 0 && s.rows == NULL)
        e->first = pml_load_i32(src, s.start + s.base);
    wrong |= e->first;
    for (int64_t i = 0; i < s.n; i++) {
        int64_t row = (s.rows == NULL ? s.start + i : s.rows[i]) + s.base;
        int64_t from = pml_load_i32(src, row), to = pml_load_i32(src, row + 1);
        wrong |= from | (to - from);
        e->end = to > e->end ? to : e->end;
        sum += to - from;
        end = (int32_t)sum;
        memcpy(dst + (i + 1) * 4, &end, sizeof end);
    }
    if (wrong < 0)
        return pml_error__set(g->err, PML_E_INVAL, "offsets of a variable-width column go backwards");
    if (sum > INT32_MAX)
        return pml_error__set(g->err, PML_E_LIMIT, "%lld rows hold %lld bytes or elements, more than one array can",
                              (long long)s.n, (long long)sum);
    e->total = sum;
    return PML_OK;
}

static int gather_text(struct ArrowArray *out, const gather *g, const struct ArrowArray *a, selection s)
{
    int rc = PML_OK;
    extent e;
    PML_TRY(gather_offsets(out, g, a, s, &e));
    uint8_t *dst = pml_array__alloc(out, 2, (size_t)e.total);
    const uint8_t *offsets = a->buffers[1], *src = a->buffers[2];
    if (dst == NULL)
        PML_TRY(pml_error__no_memory(g->err));
    if (e.total == 0)
        return PML_OK;
    if (s.rows == NULL) {
        memcpy(dst, src + e.first, (size_t)e.total);
        return PML_OK;
    }
    const uint8_t *dst_safe = pml_text_safe(dst, dst + e.total), *src_safe = pml_text_safe(src, src + e.end);
    /* [from, to): the piece of the source that is still to be copied. */
    int64_t from = pml_load_i32(offsets, s.rows[0] + s.base), to = from;
    for (int64_t i = 0; i < s.n; i++) {
        int64_t row = s.rows[i] + s.base, start = pml_load_i32(offsets, row);
        if (start != to) {
            pml_text_copy(dst, dst_safe, src + from, src_safe, to - from);
            dst += to - from;
            from = start;
        }
        to = pml_load_i32(offsets, row + 1);
    }
    pml_text_copy(dst, dst_safe, src + from, src_safe, to - from);
out:
    return rc;
}

static int gather_children(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                           selection s)
{
    int rc = PML_OK;
    for (size_t i = 0; i < pml_layout__children(t); i++)
        PML_TRY(gather_array(out->children[i], g, pml_layout__child(t, i), a->children[i], s));
out:
    return rc;
}

/* The entries struct of a map, or the elements of a list. */
static int gather_below(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                        selection s)
{
    if (pml_layout__of(t) != PML_LAYOUT_MAP)
        return gather_children(out, g, t, a, s);
    const struct ArrowArray *entries = a->children[0];
    PML_RETURN_IF(pml_array__init(out->children[0], g->env, NULL, 1, 2, g->err));
    out->children[0]->length = s.n;
    s.base = entries->offset;
    return gather_children(out->children[0], g, t, entries, s);
}

static int gather_list(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                       selection s)
{
    int rc = PML_OK;
    extent x;
    int64_t *rows = NULL;
    PML_TRY(gather_offsets(out, g, a, s, &x));
    selection elements = {.start = x.first, .n = x.total};
    if (s.rows != NULL && x.total > 0) {
        rows = pml_env__alloc(g->env, (size_t)x.total * sizeof *rows);
        if (rows == NULL)
            PML_TRY(pml_error__no_memory(g->err));
        int64_t at = 0;
        for (int64_t i = 0; i < s.n; i++) {
            int64_t row = s.rows[i] + s.base, to = pml_load_i32(a->buffers[1], row + 1);
            for (int64_t e = pml_load_i32(a->buffers[1], row); e < to; e++)
                rows[at++] = e;
        }
        elements = selection_of(rows, x.total);
    }
    PML_TRY(gather_below(out, g, t, a, elements));
out:
    pml_env__free(g->env, rows);
    return rc;
}

static int gather_fixed_list(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                             selection s)
{
    int rc = PML_OK;
    int64_t size = t->length, n;
    int64_t *rows = NULL;
    if (__builtin_mul_overflow(s.n, size, &n) || n > INT64_MAX / 16)
        return pml_error__set(g->err, PML_E_LIMIT, "%lld vectors of %lld do not fit one array", (long long)s.n,
                              (long long)size);
    selection elements = {.start = (s.start + s.base) * size, .n = n};
    if (s.rows != NULL && n > 0) {
        rows = pml_env__alloc(g->env, (size_t)n * sizeof *rows);
        if (rows == NULL)
            PML_TRY(pml_error__no_memory(g->err));
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t k = 0; k < size; k++)
                rows[i * size + k] = (s.rows[i] + s.base) * size + k;
        elements = selection_of(rows, n);
    }
    PML_TRY(gather_children(out, g, t, a, elements));
out:
    pml_env__free(g->env, rows);
    return rc;
}

static int gather_array(struct ArrowArray *out, const gather *g, const pml_type *t, const struct ArrowArray *a,
                        selection s)
{
    int rc = PML_OK;
    pml_layout layout = pml_layout__of(t);
    int64_t kids = layout == PML_LAYOUT_MAP ? 1 : (int64_t)pml_layout__children(t);
    PML_TRY(pml_array__init(out, g->env, NULL, pml_layout__buffers(layout), kids, g->err));
    s.base += a->offset;
    PML_TRY(gather_validity(out, g, a, s));
    switch (layout) {
    case PML_LAYOUT_BITS: PML_TRY(gather_bit_values(out, g, a, s)); break;
    case PML_LAYOUT_FIXED: PML_TRY(gather_fixed(out, g, t, a, s)); break;
    case PML_LAYOUT_TEXT: PML_TRY(gather_text(out, g, a, s)); break;
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP: PML_TRY(gather_list(out, g, t, a, s)); break;
    case PML_LAYOUT_FIXED_LIST: PML_TRY(gather_fixed_list(out, g, t, a, s)); break;
    case PML_LAYOUT_STRUCT: PML_TRY(gather_children(out, g, t, a, s)); break;
    }
out:
    return rc;
}

int pml_batch__gather(struct ArrowArray *out, pml_env *env, const pml_type *type, const struct ArrowArray *array,
                      const int64_t *rows, int64_t n, pml_error *err)
{
    const gather g = {env, err};
    *out = (struct ArrowArray){0};
    if (n < 0 || n > INT64_MAX / 32)
        return pml_error__set(err, PML_E_INVAL, "%lld is no number of rows", (long long)n);
    int rc = gather_array(out, &g, type, array, selection_of(rows, n));
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}

int pml_batch__gather_rows(struct ArrowArray *out, pml_env *env, const pml_field *fields, size_t n_fields,
                           const struct ArrowArray *batch, const int64_t *rows, int64_t n, pml_error *err)
{
    const pml_type row = pml_layout__row(fields, n_fields);
    return pml_batch__gather(out, env, &row, batch, rows, n, err);
}

static int deal_columns(struct ArrowArray *out, const gather *g, const pml_type *row, const struct ArrowArray *batch,
                        const pml_row_list *lists, size_t n_lists)
{
    int rc = PML_OK;
    for (size_t i = 0; i < n_lists; i++) {
        PML_TRY(pml_array__init(&out[i], g->env, NULL, 1, (int64_t)row->n_children, g->err));
        out[i].length = lists[i].n;
    }
    for (size_t c = 0; c < row->n_children; c++)
        for (size_t i = 0; i < n_lists; i++) {
            selection s = selection_of(lists[i].rows, lists[i].n);
            s.base += batch->offset;
            PML_TRY(gather_array(out[i].children[c], g, &row->children[c].type, batch->children[c], s));
        }
out:
    return rc;
}

int pml_batch__deal(struct ArrowArray *out, pml_env *env, const pml_field *fields, size_t n_fields,
                    const struct ArrowArray *batch, const pml_row_list *lists, size_t n_lists, pml_error *err)
{
    const gather g = {env, err};
    const pml_type row = pml_layout__row(fields, n_fields);
    for (size_t i = 0; i < n_lists; i++)
        out[i] = (struct ArrowArray){0};
    int rc = deal_columns(out, &g, &row, batch, lists, n_lists);
    for (size_t i = 0; rc != PML_OK && i < n_lists; i++) {
        pml_array__release(&out[i]);
        out[i] = (struct ArrowArray){0};
    }
    return rc;
}
