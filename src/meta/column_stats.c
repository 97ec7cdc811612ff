/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/column_stats.h"

#include <assert.h>

/* Stored columns that are not in the schema are system columns such as _ROW_ID, of which there are a handful. */
enum { FOREIGN_COLUMNS_MAX = 16, TRACKING_COLUMNS = 2 };

enum { CODE_POINT_LAST = 0x10FFFF, SURROGATE_FIRST = 0xD800, SURROGATE_END = 0xE000, PRECISION_MICROS = 6 };

static bool type_is_binary(const pml_type *t)
{
    return t->kind == PML_TYPE_BINARY || t->kind == PML_TYPE_VARBINARY || t->kind == PML_TYPE_BLOB;
}

/* ---- reading ---- */

/* For each stored column the field it belongs to, or -1. Both lists usually have the same order, so the search goes on from
   where the last one was found. */
static void match_columns(int32_t *field_of, const pml_string_list *cols, const pml_field *fields, size_t n)
{
    size_t next = 0;
    for (size_t i = 0; i < cols->n; i++) {
        field_of[i] = -1;
        for (size_t step = 0; step < n && field_of[i] < 0; step++) {
            size_t f = next + step < n ? next + step : next + step - n;
            if (strcmp(cols->v[i], fields[f].name) == 0) {
                field_of[i] = (int32_t)f;
                next = f + 1 == n ? 0 : f + 1;
            }
        }
    }
}

typedef struct stats_reader {
    size_t n; /* stored columns */
    int32_t *field_of;
    const pml_type **types;
    pml_value *min, *max;
} stats_reader;

static void stats_reader_clear(stats_reader *r, pml_env *env)
{
    pml_env__free(env, r->field_of);
    pml_env__free(env, (void *)r->types);
    pml_env__free(env, r->min);
    pml_env__free(env, r->max);
}

static int stats_reader_init(stats_reader *r, pml_env *env, size_t n, const pml_string_list *cols,
                             const pml_field *fields, size_t n_fields, pml_error *err)
{
    /* Any slot reads as a BIGINT without following an offset: right for columns whose type we do not know. */
    static const pml_type unknown = {.kind = PML_TYPE_BIGINT, .nullable = true};
    r->n = n;
    r->field_of = pml_env__calloc(env, n + 1, sizeof *r->field_of);
    r->types = pml_env__calloc(env, n + 1, sizeof *r->types);
    r->min = pml_env__calloc(env, n + 1, sizeof *r->min);
    r->max = pml_env__calloc(env, n + 1, sizeof *r->max);
    if (r->field_of == NULL || r->types == NULL || r->min == NULL || r->max == NULL)
        return pml_error__no_memory(err);
    if (cols->present)
        match_columns(r->field_of, cols, fields, n_fields);
    for (size_t i = 0; i < n; i++) {
        if (!cols->present)
            r->field_of[i] = i < n_fields ? (int32_t)i : -1;
        int32_t f = r->field_of[i];
        r->types[i] = f < 0 || pml_type__is_nested(&fields[f].type) ? &unknown : &fields[f].type;
    }
    return PML_OK;
}

static int read_row(pml_value *values, const stats_reader *r, pml_bytes counted, pml_error *err)
{
    pml_bytes row;
    PML_RETURN_IF(pml_binary_row__uncount(&row, counted, r->n, err));
    return pml_binary_row__read(values, r->types, r->n, row, err);
}

/* Two rows without fields and no null counts: nothing is known, whatever the columns are. */
static bool stats_are_empty(const pml_simple_stats *s)
{
    return s->n_null_counts == 0 && (s->min.len < 4 || pml_be32(s->min.ptr) == 0) &&
           (s->max.len < 4 || pml_be32(s->max.ptr) == 0);
}

/* Stored columns of statistics that do not name them: one per field; Java 1.3.1 has those of _ROW_ID and _SEQUENCE_NUMBER behind where
   a file stores these. */
static size_t count_unnamed(const pml_simple_stats *s, size_t n)
{
    uint32_t count = s->min.len < 4 ? 0 : pml_be32(s->min.ptr);
    return n > 0 && count > n && count <= n + TRACKING_COLUMNS ? count : n;
}

int pml_column_stats__decode(pml_column_stats *out, pml_env *env, const pml_simple_stats *s,
                             const pml_string_list *cols, const pml_field *fields, size_t n, pml_error *err)
{
    int rc;
    stats_reader r = {0};
    for (size_t i = 0; i < n; i++)
        out[i] = (pml_column_stats){.field_id = fields[i].id, .null_count = -1};
    if (stats_are_empty(s))
        return PML_OK;
    if (cols->present && cols->n > n + FOREIGN_COLUMNS_MAX)
        return pml_error__set(err, PML_E_CORRUPT, "the statistics name %zu columns where the file has %zu", cols->n, n);
    PML_TRY(stats_reader_init(&r, env, cols->present ? cols->n : count_unnamed(s, n), cols, fields, n, err));
    PML_TRY(read_row(r.min, &r, s->min, err));
    PML_TRY(read_row(r.max, &r, s->max, err));
    if (s->n_null_counts != 0 && s->n_null_counts != r.n) {
        rc = pml_error__set(err, PML_E_CORRUPT, "the statistics have %zu null counts for %zu columns", s->n_null_counts,
                            r.n);
        goto out;
    }
    for (size_t i = 0; i < r.n; i++) {
        if (r.field_of[i] < 0)
            continue;
        pml_column_stats *c = &out[r.field_of[i]];
        bool ordered = !pml_type__is_nested(&fields[r.field_of[i]].type);
        c->min = ordered ? r.min[i] : (pml_value){0};
        c->max = ordered ? r.max[i] : (pml_value){0};
        c->null_count = s->n_null_counts == 0 ? -1 : s->null_counts[i];
    }
    rc = PML_OK;
out:
    stats_reader_clear(&r, env);
    return rc;
}

/* ---- truncation ---- */

/* Bytes of the first `count` code points, or of all when there are fewer. A code point is a byte that does not continue one. */
static size_t text_prefix(pml_bytes text, int32_t count)
{
    size_t i = 0;
    for (int64_t left = count; i < text.len; i++) {
        if ((text.ptr[i] & 0xC0) != 0x80 && left-- == 0)
            return i;
    }
    return i;
}

static uint32_t code_point_get(const uint8_t *p, size_t len)
{
    static const uint8_t masks[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    if (len == 0 || len > 4)
        return CODE_POINT_LAST; /* not UTF-8: cannot be incremented */
    uint32_t c = p[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3Fu);
    return c;
}

static size_t code_point_put(uint8_t out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t heads[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3F));
    out[0] = (uint8_t)(heads[len] | c);
    return len;
}

/* The smallest text above all texts that begin with `prefix`: the last code point that can be is incremented and what follows
   dropped. Java steps from U+D7FF to a lone surrogate, which its encoder turns into '?', so that its maximum is below the data;
   we step over the surrogates. *ok = false: there is no such text. */
static int text_increment(pml_bytes *out, bool *ok, pml_arena *arena, pml_bytes prefix, pml_error *err)
{
    size_t end = prefix.len;
    *ok = false;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && (prefix.ptr[start] & 0xC0) == 0x80)
            start--;
        uint32_t c = code_point_get(prefix.ptr + start, end - start);
        if (c < CODE_POINT_LAST) {
            uint8_t bytes[4];
            size_t len = code_point_put(bytes, c + 1 == SURROGATE_FIRST ? SURROGATE_END : c + 1);
            uint8_t *text = pml_arena__alloc(arena, start + len);
            if (text == NULL)
                return pml_error__no_memory(err);
            if (start > 0)
                memcpy(text, prefix.ptr, start);
            memcpy(text + start, bytes, len);
            *out = (pml_bytes){text, start + len};
            *ok = true;
            return PML_OK;
        }
        end = start;
    }
    return PML_OK;
}

/* A cut minimum is still a lower bound; a cut maximum must be raised, and if that cannot be done neither is kept. */
static int truncate_text(pml_column_stats *c, pml_arena *arena, int32_t length, pml_error *err)
{
    if (c->min.kind == PML_VALUE_BYTES)
        c->min.bytes.len = text_prefix(c->min.bytes, length);
    if (c->max.kind != PML_VALUE_BYTES)
        return PML_OK;
    size_t len = text_prefix(c->max.bytes, length);
    if (len == c->max.bytes.len)
        return PML_OK;
    bool ok;
    PML_RETURN_IF(text_increment(&c->max.bytes, &ok, arena, (pml_bytes){c->max.bytes.ptr, len}, err));
    if (!ok)
        c->min = c->max = (pml_value){0};
    return PML_OK;
}

/* ---- writing ---- */

static int apply_mode(pml_column_stats *c, pml_arena *arena, const pml_type *t, const pml_stats_mode *mode,
                      pml_error *err)
{
    bool fine_time =
        (t->kind == PML_TYPE_TIMESTAMP || t->kind == PML_TYPE_TIMESTAMP_LTZ) && t->precision > PRECISION_MICROS;
    bool text = t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR;
    if (mode->kind == PML_STATS_NONE || pml_type__is_nested(t))
        c->null_count = -1;
    if (mode->kind == PML_STATS_NONE || mode->kind == PML_STATS_COUNTS || pml_type__is_nested(t) || type_is_binary(t) ||
        fine_time)
        c->min = c->max = (pml_value){0};
    if (mode->kind == PML_STATS_TRUNCATE && text)
        return truncate_text(c, arena, mode->length, err);
    return PML_OK;
}

static bool is_unknown(const pml_column_stats *c)
{
    return c->min.kind == PML_VALUE_NULL && c->max.kind == PML_VALUE_NULL && c->null_count < 0;
}

/* The stored columns, as parallel arrays in the arena. */
typedef struct stats_writer {
    size_t n;
    const pml_type **types;
    pml_value *min, *max;
    int64_t *null_counts;
    const char **names;
} stats_writer;

static int stats_writer_init(stats_writer *w, pml_arena *arena, size_t n, pml_error *err)
{
    *w = (stats_writer){.types = pml_arena__array(arena, n, sizeof *w->types),
                        .min = pml_arena__array(arena, n, sizeof *w->min),
                        .max = pml_arena__array(arena, n, sizeof *w->max),
                        .null_counts = pml_arena__array(arena, n, sizeof *w->null_counts),
                        .names = pml_arena__array(arena, n, sizeof *w->names)};
    if (w->types == NULL || w->min == NULL || w->max == NULL || w->null_counts == NULL || w->names == NULL)
        return pml_error__no_memory(err);
    return PML_OK;
}

static int write_row(pml_bytes *out, pml_arena *arena, const stats_writer *w, const pml_value *values, pml_error *err)
{
    int rc;
    pml_buf row;
    pml_buf__init(&row, arena->env, PML_BINARY_ROW_MAX);
    if (pml_binary_row__write_counted(&row, w->types, values, w->n) != PML_OK) {
        rc = row.rc != PML_OK ? pml_buf__check(&row, err)
                              : pml_error__set(err, PML_E_INTERNAL, "a statistics row does not fit its types");
        goto out;
    }
    out->ptr = pml_arena__copy(arena, row.data, row.len);
    out->len = row.len;
    rc = out->ptr == NULL ? pml_error__no_memory(err) : PML_OK;
out:
    pml_buf__clear(&row);
    return rc;
}

int pml_column_stats__encode(pml_simple_stats *out, pml_string_list *cols, pml_arena *arena, const pml_field *fields,
                             size_t n, const pml_stats_mode *modes, const pml_column_stats *stats, bool dense,
                             pml_error *err)
{
    stats_writer w;
    *out = (pml_simple_stats){0};
    *cols = (pml_string_list){0};
    PML_RETURN_IF(stats_writer_init(&w, arena, n, err));
    for (size_t i = 0; i < n; i++) {
        pml_column_stats c = stats[i];
        assert(c.field_id == fields[i].id);
        PML_RETURN_IF(apply_mode(&c, arena, &fields[i].type, &modes[i], err));
        if (dense && is_unknown(&c))
            continue;
        w.types[w.n] = &fields[i].type;
        w.min[w.n] = c.min;
        w.max[w.n] = c.max;
        w.null_counts[w.n] = c.null_count;
        w.names[w.n] = fields[i].name;
        w.n++;
    }
    pml_simple_stats s = {.has_null_counts = true, .n_null_counts = w.n, .null_counts = w.null_counts};
    PML_RETURN_IF(write_row(&s.min, arena, &w, w.min, err));
    PML_RETURN_IF(write_row(&s.max, arena, &w, w.max, err));
    *out = s;
    if (w.n < n)
        *cols = (pml_string_list){.present = true, .n = w.n, .v = w.names};
    return PML_OK;
}
