/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather over several arrays: the rows that a list of references names, in its order.
 *
 * Where the references run on for a while in one array they become pieces, which concatenation copies; nested types always do, a list
 * being a piece of its elements. Everything else is one loop of the type's width over a table of where each array's values lie.
 */
#include "columnar/array_memory.h"
#include "columnar/pieces.h"
#include "columnar/text_copy.h"

enum { AHEAD = 8 };
enum { STRETCH_ROWS_MIN = 12 }; /* on average; below, a copy of a piece costs more than its rows one by one */

typedef struct source {
    const uint8_t *values;   /* FIXED: from the first row; BITS: the bits; TEXT: the offsets of the first row */
    const uint8_t *validity; /* NULL: nothing is null */
    const uint8_t *text, *text_end;
    int64_t offset; /* of the bits */
} source;

typedef struct refs_gather {
    pml_env *env;
    pml_error *err;
    const source *sources;
    const uint8_t **values; /* those of the sources */
    const pml_row_ref *refs;
    int64_t n;
    bool nulls;
} refs_gather;

/* Whether b does not go on where a is. Nulls go on with nulls whose row is one more, which is as good as any. */
static bool is_break(pml_row_ref a, pml_row_ref b)
{
    return (a.batch != b.batch) | (a.row + 1 != b.row);
}

/* of: room for all of them. */
static void find_stretches(pml_row_stretch *of, const pml_row_ref *refs, int64_t n)
{
    int64_t from = 0;
    for (int64_t i = 1; i <= n; i++)
        if (i == n || is_break(refs[i - 1], refs[i])) {
            *of++ = (pml_row_stretch){refs[from], i - from};
            from = i;
        }
}

int pml_ref_list__init(pml_ref_list *l, pml_env *env, const pml_row_ref *refs, int64_t n, pml_error *err)
{
    int64_t breaks = 0, nulls = n > 0 && refs[0].batch == PML_REF_NULL;
    *l = (pml_ref_list){.env = env, .refs = refs, .n = n};
    for (int64_t i = 1; i < n; i++) {
        breaks += is_break(refs[i - 1], refs[i]);
        nulls += refs[i].batch == PML_REF_NULL;
    }
    l->nulls = nulls > 0;
    l->n_stretches = n == 0 ? 0 : breaks + 1;
    if (n == 0 || n / l->n_stretches < STRETCH_ROWS_MIN)
        return PML_OK;
    l->stretches = pml_env__alloc(env, (size_t)l->n_stretches * sizeof *l->stretches);
    if (l->stretches == NULL)
        return pml_error__no_memory(err);
    find_stretches(l->stretches, refs, n);
    return PML_OK;
}

void pml_ref_list__clear(pml_ref_list *l)
{
    pml_env__free(l->env, l->stretches);
    l->stretches = NULL;
}

/* Of stretches, or where there are none of each row. */
static int gather_pieces(struct ArrowArray *out, const pml_type *t, const struct ArrowArray *const *arrays, const pml_ref_list *l,
                         pml_error *err)
{
    int64_t n = l->stretches != NULL ? l->n_stretches : l->n;
    pml_piece *pieces = pml_env__calloc(l->env, (size_t)n, sizeof *pieces);
    if (pieces == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < n; i++) {
        pml_row_ref r = l->stretches != NULL ? l->stretches[i].first : l->refs[i];
        pieces[i].a = r.batch == PML_REF_NULL ? NULL : arrays[r.batch];
        pieces[i].row = r.row;
        pieces[i].n = l->stretches != NULL ? l->stretches[i].n : 1;
    }
    int rc = pml_pieces__concat(out, l->env, t, pieces, (size_t)n, err);
    pml_env__free(l->env, pieces);
    return rc;
}

static int gather_validity(struct ArrowArray *out, const refs_gather *g, bool any)
{
    if (!any || g->n == 0)
        return PML_OK;
    uint8_t *bits = pml_array__calloc(out, 0, pml_bits__bytes(g->n));
    if (bits == NULL)
        return pml_error__no_memory(g->err);
    for (int64_t at = 0; at < g->n; at += 8) {
        unsigned byte = 0, n = g->n - at < 8 ? (unsigned)(g->n - at) : 8;
        for (unsigned i = 0; i < n; i++) {
            pml_row_ref r = g->refs[at + i];
            const source *s = r.batch == PML_REF_NULL ? NULL : &g->sources[r.batch];
            bool valid = s != NULL && (s->validity == NULL || pml_bit_get(s->validity, s->offset + r.row));
            byte |= (unsigned)valid << i;
        }
        bits[at >> 3] = (uint8_t)byte;
    }
    out->null_count = g->n - pml_bits__count(bits, 0, g->n);
    if (out->null_count == 0)
        pml_array__drop_buffer(out, 0);
    return PML_OK;
}

static int gather_bits(struct ArrowArray *out, const refs_gather *g)
{
    uint8_t *bits = pml_array__calloc(out, 1, pml_bits__bytes(g->n));
    if (bits == NULL)
        return pml_error__no_memory(g->err);
    for (int64_t at = 0; at < g->n; at += 8) {
        unsigned byte = 0, n = g->n - at < 8 ? (unsigned)(g->n - at) : 8;
        for (unsigned i = 0; i < n; i++) {
            pml_row_ref r = g->refs[at + i];
            bool one = r.batch != PML_REF_NULL && pml_bit_get(g->values[r.batch], g->sources[r.batch].offset + r.row);
            byte |= (unsigned)one << i;
        }
        bits[at >> 3] = (uint8_t)byte;
    }
    return PML_OK;
}

/* Rows come from several batches in turn, a few of each: more streams than the processor follows by itself. */
#define FIXED_LOOP(width)                                                                     \
    {                                                                                         \
        const int64_t whole = g->n > AHEAD && !nulls ? g->n - AHEAD : 0;                      \
        int64_t i = 0;                                                                        \
        for (; i < whole; i++) {                                                              \
            pml_row_ref r = refs[i], soon = refs[i + AHEAD];                                  \
            __builtin_prefetch(values[soon.batch] + (int64_t)soon.row * (width));             \
            memcpy(dst + i * (width), values[r.batch] + (int64_t)r.row * (width), (width));   \
        }                                                                                     \
        for (; i < g->n; i++) {                                                               \
            pml_row_ref r = refs[i];                                                          \
            if (nulls && r.batch == PML_REF_NULL)                                             \
                memset(dst + i * (width), 0, (width));                                        \
            else                                                                              \
                memcpy(dst + i * (width), values[r.batch] + (int64_t)r.row * (width), (width)); \
        }                                                                                     \
    }

/* nulls is a constant where it is called, so that there are loops without the question. */
static inline void fixed_copy(uint8_t *dst, const refs_gather *g, size_t width, bool nulls)
{
    const pml_row_ref *refs = g->refs;
    const uint8_t *const *values = g->values;
    if (width == 1)
        FIXED_LOOP(1)
    else if (width == 2)
        FIXED_LOOP(2)
    else if (width == 4)
        FIXED_LOOP(4)
    else if (width == 8)
        FIXED_LOOP(8)
    else
        FIXED_LOOP(16)
}

static int gather_fixed(struct ArrowArray *out, const refs_gather *g, size_t width)
{
    uint8_t *dst = pml_array__alloc(out, 1, (size_t)g->n * width);
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    if (g->nulls)
        fixed_copy(dst, g, width, true);
    else
        fixed_copy(dst, g, width, false);
    return PML_OK;
}

static int text_offsets(struct ArrowArray *out, const refs_gather *g, int64_t *total)
{
    uint8_t *dst = pml_array__alloc(out, 1, ((size_t)g->n + 1) * 4);
    const uint8_t *const *values = g->values;
    int64_t sum = 0, wrong = 0;
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    pml_put_le32(dst, 0);
    for (int64_t i = 0; i < g->n; i++) {
        pml_row_ref r = g->refs[i];
        if (!g->nulls || r.batch != PML_REF_NULL) {
            const uint8_t *offsets = values[r.batch];
            int64_t from = pml_load_i32(offsets, r.row), to = pml_load_i32(offsets, (int64_t)r.row + 1);
            wrong |= from | (to - from);
            sum += to - from;
        }
        pml_put_le32(dst + (i + 1) * 4, (uint32_t)sum);
    }
    if (wrong < 0)
        return pml_error__set(g->err, PML_E_INVAL, "offsets of a variable-width column go backwards");
    if (sum > INT32_MAX)
        return pml_error__set(g->err, PML_E_LIMIT, "%lld rows hold %lld bytes of text, more than one array can",
                              (long long)g->n, (long long)sum);
    *total = sum;
    return PML_OK;
}

static int gather_text(struct ArrowArray *out, const refs_gather *g)
{
    int64_t total = 0;
    PML_RETURN_IF(text_offsets(out, g, &total));
    uint8_t *dst = pml_array__alloc(out, 2, (size_t)total);
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    const uint8_t *dst_end = dst + total, *ends = out->buffers[1]; /* which says how long they are */
    for (int64_t i = 0; total > 0 && i < g->n; i++) {
        int64_t len = pml_load_i32(ends, i + 1) - pml_load_i32(ends, i);
        if (len == 0)
            continue;
        pml_row_ref r = g->refs[i];
        const source *s = &g->sources[r.batch];
        pml_text_copy(&dst, dst_end, s->text + pml_load_i32(g->values[r.batch], r.row), s->text_end, len);
    }
    return PML_OK;
}

/* Returns whether any of them may have nulls. */
static bool sources_fill(source *s, const uint8_t **values, const pml_type *t, const struct ArrowArray *const *arrays, size_t n)
{
    bool any = false;
    pml_layout layout = pml_layout__of(t);
    size_t width = layout == PML_LAYOUT_TEXT ? 4 : pml_layout__width(t);
    for (size_t i = 0; i < n; i++) {
        const struct ArrowArray *a = arrays[i];
        if (a == NULL || a->length == 0) /* may have no buffers, and no reference names it */
            continue;
        s[i] = (source){.validity = pml_array__validity(a), .offset = a->offset};
        s[i].values = (const uint8_t *)a->buffers[1] + (size_t)a->offset * width;
        values[i] = s[i].values;
        any = any || s[i].validity != NULL;
        if (layout == PML_LAYOUT_TEXT) {
            s[i].text = a->buffers[2];
            s[i].text_end = s[i].text == NULL ? NULL : s[i].text + pml_load_i32(s[i].values, a->length);
        }
    }
    return any;
}

static int gather_each(struct ArrowArray *out, refs_gather *g, const pml_type *t,
                       const struct ArrowArray *const *arrays, size_t n_arrays)
{
    int rc;
    pml_layout layout = pml_layout__of(t);
    source *s = pml_env__calloc(g->env, n_arrays, sizeof *s + sizeof *g->values);
    if (s == NULL)
        return pml_error__no_memory(g->err);
    g->sources = s;
    g->values = (const uint8_t **)(s + n_arrays);
    PML_TRY(pml_array__init(out, g->env, NULL, pml_layout__buffers(layout), 0, g->err));
    out->length = g->n;
    PML_TRY(gather_validity(out, g, sources_fill(s, g->values, t, arrays, n_arrays) || g->nulls));
    if (layout == PML_LAYOUT_BITS)
        PML_TRY(gather_bits(out, g));
    else if (layout == PML_LAYOUT_FIXED)
        PML_TRY(gather_fixed(out, g, pml_layout__width(t)));
    else
        PML_TRY(gather_text(out, g));
out:
    pml_env__free(g->env, s);
    return rc;
}

int pml_batch__gather_refs(struct ArrowArray *out, const pml_type *type, const struct ArrowArray *const *arrays, size_t n_arrays,
                           const pml_ref_list *list, pml_error *err)
{
    refs_gather g = {.env = list->env, .err = err, .refs = list->refs, .n = list->n, .nulls = list->nulls};
    *out = (struct ArrowArray){0};
    if (pml_layout__of(type) > PML_LAYOUT_TEXT || list->stretches != NULL)
        return gather_pieces(out, type, arrays, list, err);
    int rc = gather_each(out, &g, type, arrays, n_arrays);
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}
