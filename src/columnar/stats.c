/* SPDX-License-Identifier: Apache-2.0 */
/* The collector of column statistics: extremes of a batch in a loop per kind of key, merged once per batch. */
#include "columnar/batch.h"
#include "columnar/column_keys.h"

typedef struct column_state {
    bool seen; /* a value that is not null */
    bool nan;  /* then there are no extremes */
    int64_t null_count;
    int64_t min64, max64; /* keys */
    pml_int128 min128, max128;
    pml_buf min, max; /* texts, copied once per batch that moves them */
} column_state;

struct pml_stats_collector {
    pml_env *env;
    const pml_field *fields; /* borrowed */
    size_t n;
    column_state *columns;
};

int pml_stats__new(pml_stats_collector **out, pml_env *env, const pml_field *fields, size_t n, pml_error *err)
{
    *out = NULL;
    pml_stats_collector *s = pml_env__calloc(env, 1, sizeof *s);
    column_state *columns = pml_env__calloc(env, n, sizeof *columns);
    if (s == NULL || columns == NULL) {
        pml_env__free(env, s);
        pml_env__free(env, columns);
        return pml_error__no_memory(err);
    }
    *s = (pml_stats_collector){.env = env, .fields = fields, .n = n, .columns = columns};
    for (size_t i = 0; i < n; i++) {
        pml_buf__init(&columns[i].min, env, INT32_MAX);
        pml_buf__init(&columns[i].max, env, INT32_MAX);
    }
    *out = s;
    return PML_OK;
}

void pml_stats__free(pml_stats_collector *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n; i++) {
        pml_buf__clear(&s->columns[i].min);
        pml_buf__clear(&s->columns[i].max);
    }
    pml_env__free(s->env, s->columns);
    pml_env__free(s->env, s);
}

/* Null rows take the place of a neutral key, so that the loop has no branch. */
static void update_keys64(column_state *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n,
                          bool nulls)
{
    int64_t keys[PML_KEYS_CHUNK], min = c->seen ? c->min64 : INT64_MAX, max = c->seen ? c->max64 : INT64_MIN;
    uint8_t valid[PML_KEYS_CHUNK];
    for (int64_t at = 0; at < n; at += PML_KEYS_CHUNK) {
        int64_t m = n - at < PML_KEYS_CHUNK ? n - at : PML_KEYS_CHUNK;
        pml_keys__load(keys, t, a, row + at, m);
        if (!nulls) {
            for (int64_t i = 0; i < m; i++) {
                min = keys[i] < min ? keys[i] : min;
                max = keys[i] > max ? keys[i] : max;
            }
            continue;
        }
        pml_keys__load_valid(valid, a, row + at, m);
        for (int64_t i = 0; i < m; i++) {
            min = valid[i] && keys[i] < min ? keys[i] : min;
            max = valid[i] && keys[i] > max ? keys[i] : max;
        }
    }
    c->min64 = min;
    c->max64 = max;
    /* NaN has the largest key. */
    if (pml_type__is_float(t) && max == pml_key__nan(t))
        c->nan = true;
}

static void update_keys128(column_state *c, const struct ArrowArray *a, int64_t row, int64_t n)
{
    pml_int128 keys[PML_KEYS_CHUNK];
    uint8_t valid[PML_KEYS_CHUNK];
    bool seen = c->seen;
    for (int64_t at = 0; at < n; at += PML_KEYS_CHUNK) {
        int64_t m = n - at < PML_KEYS_CHUNK ? n - at : PML_KEYS_CHUNK;
        pml_keys__load_decimals(keys, a, row + at, m);
        pml_keys__load_valid(valid, a, row + at, m);
        for (int64_t i = 0; i < m; i++) {
            if (!valid[i])
                continue;
            c->min128 = !seen || keys[i] < c->min128 ? keys[i] : c->min128;
            c->max128 = !seen || keys[i] > c->max128 ? keys[i] : c->max128;
            seen = true;
        }
    }
}

static int replace_text(pml_buf *buf, pml_bytes v, pml_error *err)
{
    pml_buf__reset(buf);
    if (v.len > 0 && pml_buf__append(buf, v.ptr, v.len) != PML_OK)
        return pml_buf__check(buf, err);
    return PML_OK;
}

/* Eight bytes of a text from `from` on, as a number that compares like them; zeros for those behind its end. Bytes of other texts may be
   read, which is quicker than to look where this one ends, but none of `data` from `end` on. */
static inline uint64_t text_word(const uint8_t *data, int64_t from, int64_t to, int64_t end)
{
    uint64_t word = 0;
    if (to - from >= 8)
        return pml_be64(data + from);
    if (to <= from)
        return 0;
    if (end - from >= 8)
        return pml_be64(data + from) & ~(UINT64_MAX >> (8 * (to - from)));
    for (int64_t i = from; i < from + 8; i++)
        word = word << 8 | (i < to ? data[i] : 0);
    return word;
}

typedef unsigned __int128 text_head; /* the first 16 bytes */

static text_head text_head_of(pml_bytes v)
{
    int64_t n = (int64_t)v.len;
    return (text_head)text_word(v.ptr, 0, n, n) << 64 | text_word(v.ptr, 8, n, n);
}

/* Eight bytes decide nearly all comparisons without a call, and sixteen where texts begin alike. Equal ones decide nothing. */
static int update_texts(column_state *c, const struct ArrowArray *a, int64_t row, int64_t n, pml_error *err)
{
    pml_bytes min = {c->min.data, c->min.len}, max = {c->max.data, c->max.len};
    text_head min_head = text_head_of(min), max_head = text_head_of(max);
    const uint8_t *offsets = a->buffers[1], *data = a->buffers[2];
    int64_t at = a->offset + row, end = pml_load_i32(offsets, at + n), from, to = pml_load_i32(offsets, at);
    bool seen = c->seen, new_min = false, new_max = false;
    for (int64_t i = 0; i < n; i++) {
        from = to;
        to = pml_load_i32(offsets, at + i + 1);
        uint64_t word = text_word(data, from, to, end);
        if (word > (uint64_t)(min_head >> 64) && word < (uint64_t)(max_head >> 64))
            continue;
        text_head head = (text_head)word << 64 | text_word(data, from + 8, to, end);
        if ((head > min_head && head < max_head) || pml_array__is_null(a, row + i))
            continue;
        pml_bytes v = pml_text_at(a, row + i);
        if (!seen || (head <= min_head && pml_bytes_compare(v, min) < 0))
            min = v, min_head = head, new_min = true;
        if (!seen || (head >= max_head && pml_bytes_compare(v, max) > 0))
            max = v, max_head = head, new_max = true;
        seen = true;
    }
    if (new_min)
        PML_RETURN_IF(replace_text(&c->min, min, err));
    return new_max ? replace_text(&c->max, max, err) : PML_OK;
}

static int update_column(column_state *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n,
                         pml_error *err)
{
    int rc = PML_OK;
    const uint8_t *bits = pml_array__validity(a);
    int64_t nulls = bits == NULL ? 0 : n - pml_bits__count(bits, a->offset + row, n);
    c->null_count += nulls;
    if (nulls == n)
        return PML_OK;
    switch (pml_key__kind(t)) {
    case PML_KEY_INT64: update_keys64(c, t, a, row, n, nulls > 0); break;
    case PML_KEY_INT128: update_keys128(c, a, row, n); break;
    case PML_KEY_TEXT:
        if (t->kind != PML_TYPE_BLOB)
            rc = update_texts(c, a, row, n, err);
        break;
    case PML_KEY_NONE: break;
    }
    c->seen = true;
    return rc;
}

int pml_stats__update(pml_stats_collector *s, const struct ArrowArray *batch, pml_error *err)
{
    int rc = PML_OK;
    if (batch->n_children != (int64_t)s->n)
        return pml_error__set(err, PML_E_INVAL, "a batch of %lld columns was given to statistics of %zu",
                              (long long)batch->n_children, s->n);
    for (size_t i = 0; i < s->n; i++)
        PML_TRY(
            update_column(&s->columns[i], &s->fields[i].type, batch->children[i], batch->offset, batch->length, err));
out:
    return rc;
}

void pml_stats__get(pml_column_stats *out, const pml_stats_collector *s, size_t i)
{
    const column_state *c = &s->columns[i];
    const pml_type *t = &s->fields[i].type;
    *out = (pml_column_stats){.field_id = s->fields[i].id, .null_count = c->null_count};
    if (!c->seen || c->nan || t->kind == PML_TYPE_BLOB)
        return;
    switch (pml_key__kind(t)) {
    case PML_KEY_INT64:
        pml_key__value(&out->min, t, c->min64);
        pml_key__value(&out->max, t, c->max64);
        break;
    case PML_KEY_INT128:
        out->min = (pml_value){.kind = PML_VALUE_DECIMAL, .dec = c->min128};
        out->max = (pml_value){.kind = PML_VALUE_DECIMAL, .dec = c->max128};
        break;
    case PML_KEY_TEXT:
        out->min = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {c->min.data, c->min.len}};
        out->max = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {c->max.data, c->max.len}};
        break;
    case PML_KEY_NONE: break;
    }
}
