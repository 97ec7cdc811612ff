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

enum { AHEAD = 8, FOLLOWED = 12 /* streams that the processor follows by itself */ };
enum { STRETCH_ROWS_MIN = 12 }; /* on average; below, a copy of a piece costs more than its rows one by one */

/* The loops are compiled for lists with nulls and without, and would not be by themselves: they are long. */
#define INLINE __attribute__((always_inline)) static inline

/* One of the arrays. Where nothing is null there is one bit for all rows, so that nobody has to ask. */
typedef struct source {
    const uint8_t *validity;
    int64_t validity_offset;
    int64_t validity_mask; /* of the row: all of it or nothing */
    int64_t offset;        /* BITS: of the first row */
} source;

typedef struct text_source {
    const uint8_t *text, *safe; /* pml_text_safe */
} text_source;

typedef struct refs_gather {
    pml_env *env;
    pml_error *err;
    source *sources;
    text_source *texts;
    const uint8_t **values; /* FIXED: from the first row; BITS: the bits; TEXT: the offsets of the first row */
    const pml_row_ref *refs;
    int64_t n;
    bool nulls;
    bool many; /* arrays */
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

/* One bit for each of n <= 8 rows. */
typedef unsigned bits_fn(const refs_gather *g, const pml_row_ref *refs, unsigned n, bool nulls);

INLINE unsigned validity_byte(const refs_gather *g, const pml_row_ref *refs, unsigned n, bool nulls)
{
    const source *sources = g->sources;
    unsigned byte = 0;
    for (unsigned i = 0; i < n; i++) {
        pml_row_ref r = refs[i];
        if (nulls && r.batch == PML_REF_NULL)
            continue;
        const source *s = &sources[r.batch];
        byte |= (unsigned)pml_bit_get(s->validity, s->validity_offset + (r.row & s->validity_mask)) << i;
    }
    return byte;
}

INLINE unsigned values_byte(const refs_gather *g, const pml_row_ref *refs, unsigned n, bool nulls)
{
    unsigned byte = 0;
    for (unsigned i = 0; i < n; i++) {
        pml_row_ref r = refs[i];
        if (!nulls || r.batch != PML_REF_NULL)
            byte |= (unsigned)pml_bit_get(g->values[r.batch], g->sources[r.batch].offset + r.row) << i;
    }
    return byte;
}

/* of and nulls are constants where it is called. */
INLINE void fill_bits(uint8_t *bits, const refs_gather *g, bits_fn *of, bool nulls)
{
    const int64_t n = g->n; /* bytes that are written may be anything, the compiler has to think: so they are read once */
    int64_t at = 0;
    for (; at + 8 <= n; at += 8)
        bits[at >> 3] = (uint8_t)of(g, g->refs + at, 8, nulls);
    if (at < n)
        bits[at >> 3] = (uint8_t)of(g, g->refs + at, (unsigned)(n - at), nulls);
}

static int gather_validity(struct ArrowArray *out, const refs_gather *g, bool any)
{
    if (!any || g->n == 0)
        return PML_OK;
    uint8_t *bits = pml_array__alloc(out, 0, pml_bits__bytes(g->n));
    if (bits == NULL)
        return pml_error__no_memory(g->err);
    if (g->nulls)
        fill_bits(bits, g, validity_byte, true);
    else
        fill_bits(bits, g, validity_byte, false);
    out->null_count = g->n - pml_bits__count(bits, 0, g->n);
    if (out->null_count == 0)
        pml_array__drop_buffer(out, 0);
    return PML_OK;
}

static int gather_bits(struct ArrowArray *out, const refs_gather *g)
{
    uint8_t *bits = pml_array__alloc(out, 1, pml_bits__bytes(g->n));
    if (bits == NULL)
        return pml_error__no_memory(g->err);
    if (g->nulls)
        fill_bits(bits, g, values_byte, true);
    else
        fill_bits(bits, g, values_byte, false);
    return PML_OK;
}

/* Rows come from several batches in turn, a few of each: more streams than the processor follows by itself. */
#define FIXED_LOOP(width)                                                                     \
    {                                                                                         \
        const int64_t whole = g->many && n > AHEAD && !nulls ? n - AHEAD : 0;                 \
        int64_t i = 0;                                                                        \
        for (; i < whole; i++) {                                                              \
            pml_row_ref r = refs[i], soon = refs[i + AHEAD];                                  \
            __builtin_prefetch(values[soon.batch] + (int64_t)soon.row * (width));             \
            memcpy(dst + i * (width), values[r.batch] + (int64_t)r.row * (width), (width));   \
        }                                                                                     \
        for (; i < n; i++) {                                                                  \
            pml_row_ref r = refs[i];                                                          \
            if (nulls && r.batch == PML_REF_NULL)                                             \
                memset(dst + i * (width), 0, (width));                                        \
            else                                                                              \
                memcpy(dst + i * (width), values[r.batch] + (int64_t)r.row * (width), (width)); \
        }                                                                                     \
    }

/* nulls is a constant where it is called, so that there are loops without the question. */
INLINE void fixed_copy(uint8_t *dst, const refs_gather *g, size_t width, bool nulls)
{
    const pml_row_ref *refs = g->refs;
    const uint8_t *const *values = g->values;
    const int64_t n = g->n;
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

/* Writes the n + 1 offsets. Returns where they end; negative: some go backwards. */
INLINE int64_t fill_offsets(uint8_t *dst, int64_t *longest, const refs_gather *g, bool nulls)
{
    const uint8_t *const *values = g->values;
    const pml_row_ref *refs = g->refs;
    int64_t sum = 0, wrong = 0, most = 0;
    pml_put_le32(dst, 0);
    for (int64_t i = 0, n = g->n; i < n; i++) {
        pml_row_ref r = refs[i];
        if (!nulls || r.batch != PML_REF_NULL) {
            const uint8_t *offsets = values[r.batch] + (int64_t)r.row * 4;
            int64_t from = pml_load_i32(offsets, 0), len = pml_load_i32(offsets, 1) - from;
            wrong |= from | len;
            sum += len;
            most = len > most ? len : most;
        }
        pml_put_le32(dst + (i + 1) * 4, (uint32_t)sum);
    }
    *longest = most;
    return wrong < 0 ? -1 : sum;
}

/* ends: the offsets that were made, which say how long the texts are. step: 0, or so many bytes are no less than any text has: nobody has to
   ask for the length of each, which no processor foresees. */
INLINE void fill_text(uint8_t *dst, int64_t total, const refs_gather *g, const uint8_t *ends, bool nulls, size_t step)
{
    const uint8_t *dst_safe = pml_text_safe(dst, dst + total), *const *values = g->values;
    const pml_row_ref *refs = g->refs;
    const text_source *texts = g->texts;
    for (int64_t i = 0, n = g->n, from = 0, to; i < n; i++, from = to) {
        pml_row_ref r = refs[i];
        to = pml_load_i32(ends, i + 1);
        if (nulls && r.batch == PML_REF_NULL)
            continue;
        const text_source *s = &texts[r.batch];
        const uint8_t *src = s->text + pml_load_i32(values[r.batch], r.row);
        if (step > 0 && ((src <= s->safe) & (dst + from <= dst_safe)))
            pml_text_step(dst + from, src, step);
        else
            pml_text_copy(dst + from, dst_safe, src, s->safe, to - from);
    }
}

static void fill_texts(uint8_t *dst, int64_t total, int64_t longest, const refs_gather *g, const uint8_t *ends)
{
    if (g->nulls)
        fill_text(dst, total, g, ends, true, 0);
    else if (longest <= PML_TEXT_TINY)
        fill_text(dst, total, g, ends, false, PML_TEXT_TINY);
    else if (longest <= PML_TEXT_SMALL)
        fill_text(dst, total, g, ends, false, PML_TEXT_SMALL);
    else if (longest <= PML_TEXT_SHORT)
        fill_text(dst, total, g, ends, false, PML_TEXT_SHORT);
    else
        fill_text(dst, total, g, ends, false, 0);
}

static int gather_text(struct ArrowArray *out, const refs_gather *g)
{
    uint8_t *ends = pml_array__alloc(out, 1, ((size_t)g->n + 1) * 4);
    if (ends == NULL)
        return pml_error__no_memory(g->err);
    int64_t longest, total = g->nulls ? fill_offsets(ends, &longest, g, true) : fill_offsets(ends, &longest, g, false);
    if (total < 0)
        return pml_error__set(g->err, PML_E_INVAL, "offsets of a variable-width column go backwards");
    if (total > INT32_MAX)
        return pml_error__set(g->err, PML_E_LIMIT, "%lld rows hold %lld bytes of text, more than one array can",
                              (long long)g->n, (long long)total);
    uint8_t *dst = pml_array__alloc(out, 2, (size_t)total);
    if (dst == NULL)
        return pml_error__no_memory(g->err);
    if (total > 0)
        fill_texts(dst, total, longest, g, ends);
    return PML_OK;
}

static const uint8_t all_valid = UINT8_MAX; /* also where a text of no bytes lies */

/* Returns whether any of them may have nulls. */
static bool sources_fill(refs_gather *g, const pml_type *t, const struct ArrowArray *const *arrays, size_t n)
{
    source *s = g->sources;
    bool any = false;
    pml_layout layout = pml_layout__of(t);
    size_t width = layout == PML_LAYOUT_TEXT ? 4 : pml_layout__width(t);
    for (size_t i = 0; i < n; i++) {
        const struct ArrowArray *a = arrays[i];
        if (a == NULL || a->length == 0) /* may have no buffers, and no reference names it */
            continue;
        const uint8_t *validity = pml_array__validity(a);
        s[i] = (source){.validity = &all_valid, .offset = a->offset};
        if (validity != NULL)
            s[i] = (source){.validity = validity, .validity_offset = a->offset, .validity_mask = -1, .offset = a->offset};
        g->values[i] = (const uint8_t *)a->buffers[1] + (size_t)a->offset * width;
        any = any || validity != NULL;
        if (layout != PML_LAYOUT_TEXT)
            continue;
        const uint8_t *text = a->buffers[2];
        if (text == NULL) /* all are empty */
            g->texts[i] = (text_source){.text = &all_valid};
        else
            g->texts[i] = (text_source){text, pml_text_safe(text, text + pml_load_i32(g->values[i], a->length))};
    }
    return any;
}

static int gather_each(struct ArrowArray *out, refs_gather *g, const pml_type *t,
                       const struct ArrowArray *const *arrays, size_t n_arrays)
{
    int rc;
    pml_layout layout = pml_layout__of(t);
    g->sources = pml_env__calloc(g->env, n_arrays, sizeof *g->sources + sizeof *g->texts + sizeof *g->values);
    if (g->sources == NULL)
        return pml_error__no_memory(g->err);
    g->texts = (text_source *)(g->sources + n_arrays);
    g->values = (const uint8_t **)(g->texts + n_arrays);
    PML_TRY(pml_array__init(out, g->env, NULL, pml_layout__buffers(layout), 0, g->err));
    out->length = g->n;
    PML_TRY(gather_validity(out, g, sources_fill(g, t, arrays, n_arrays) || g->nulls));
    if (layout == PML_LAYOUT_BITS)
        PML_TRY(gather_bits(out, g));
    else if (layout == PML_LAYOUT_FIXED)
        PML_TRY(gather_fixed(out, g, pml_layout__width(t)));
    else
        PML_TRY(gather_text(out, g));
out:
    pml_env__free(g->env, g->sources);
    return rc;
}

int pml_batch__gather_refs(struct ArrowArray *out, const pml_type *type, const struct ArrowArray *const *arrays, size_t n_arrays,
                           const pml_ref_list *list, pml_error *err)
{
    refs_gather g = {
        .env = list->env, .err = err, .refs = list->refs, .n = list->n, .nulls = list->nulls, .many = n_arrays > FOLLOWED};
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
