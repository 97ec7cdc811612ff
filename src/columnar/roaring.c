/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Union of serialised Roaring bitmaps. Both inputs are read container by container, each container is laid over one bit set of 65536
 * bits, and written again in the form that Java's would have by then.
 *
 *   offset  size        name
 *   0       4           cookie: 12346, then the container count in the next 4; or 12347 with (count - 1) << 16, then a bit per container
 *                       that says whether it is one of runs
 *           4 a piece   key (high 16 bits of the values), cardinality - 1; all little-endian, keys ascending
 *           4 a piece   offsets of the containers; only with cookie 12346 or from 4 containers on
 *           ...         the containers one after the other: at most 4096 values as they are, more as 8192 bytes of bits, or runs:
 *                       their count, then (first value, length - 1) each
 *
 * What Java keeps as runs when that costs the same as values depends on where it came from: a container of runs stays one as long as it
 * is no larger than its values with their count, one of values becomes runs only when that is smaller than the bare values.
 */
#include "columnar/roaring.h"

enum {
    COOKIE_PLAIN = 12346,
    COOKIE_RUNS = 12347,
    CONTAINERS_MAX = 65536,
    OFFSETS_FROM = 4, /* containers; below it a bitmap with runs has no offsets */
    VALUES_MAX = 4096,
    BITS_BYTES = 8192,
    WORDS = 1024
};

typedef struct container {
    uint32_t key, cardinality;
    bool runs;
    pml_bytes data;
} container;

typedef struct reader {
    pml_bytes in;
    const char *what;
    uint32_t n, next;
    const uint8_t *run_flags; /* NULL: no runs */
    const uint8_t *heads;
    size_t at;         /* of the next container's data */
    container current; /* only while next <= n */
    bool ended;
} reader;

typedef struct written {
    uint16_t key, cardinality_less_1;
    uint32_t size;
    bool runs;
} written;

typedef struct writer {
    pml_buf body, heads; /* heads: a `written` each */
    uint64_t words[WORDS];
} writer;

static int broken(const reader *r, const char *why, pml_error *err)
{
    return pml_error__set(err, PML_E_CORRUPT, "a bitmap (%s, %zu bytes) is damaged: %s", r->what, r->in.len, why);
}

static int reader_advance(reader *r, pml_error *err)
{
    r->ended = r->next >= r->n;
    if (r->ended)
        return PML_OK;
    const uint8_t *head = r->heads + (size_t)r->next * 4;
    container c = {.key = pml_le16(head), .cardinality = (uint32_t)pml_le16(head + 2) + 1};
    if (r->next > 0 && c.key <= r->current.key)
        return broken(r, "its keys do not ascend", err);
    c.runs = r->run_flags != NULL && pml_bit_get(r->run_flags, r->next);
    size_t left = r->in.len - r->at, size = c.cardinality <= VALUES_MAX ? (size_t)c.cardinality * 2 : BITS_BYTES;
    if (c.runs) {
        if (left < 2)
            return broken(r, "it ends inside a container", err);
        size = (size_t)pml_le16(r->in.ptr + r->at) * 4;
        r->at += 2;
        left -= 2;
    }
    if (left < size)
        return broken(r, "it ends inside a container", err);
    c.data = (pml_bytes){r->in.ptr + r->at, size};
    r->at += size;
    r->next++;
    r->current = c;
    return PML_OK;
}

static int reader_open(reader *r, pml_bytes in, const char *what, pml_error *err)
{
    *r = (reader){.in = in, .what = what};
    size_t at = 4, flags = 0;
    if (in.len < 4)
        return broken(r, "it has no cookie", err);
    uint32_t cookie = pml_le32(in.ptr);
    if ((cookie & 0xffff) == COOKIE_RUNS) {
        r->n = (cookie >> 16) + 1;
        flags = ((size_t)r->n + 7) / 8;
    } else if (cookie == COOKIE_PLAIN && in.len >= 8) {
        r->n = pml_le32(in.ptr + 4);
        at = 8;
    } else {
        return broken(r, "its cookie is none of the portable format", err);
    }
    bool offsets = flags == 0 || r->n >= OFFSETS_FROM;
    if (r->n > CONTAINERS_MAX || in.len - at < flags + (size_t)r->n * (offsets ? 8 : 4))
        return broken(r, "it is shorter than its head", err);
    r->run_flags = flags == 0 ? NULL : in.ptr + at;
    r->heads = in.ptr + at + flags;
    r->at = at + flags + (size_t)r->n * (offsets ? 8 : 4);
    return reader_advance(r, err);
}

static void words_set(uint64_t *words, uint32_t first, uint32_t last)
{
    uint32_t i = first >> 6, end = last >> 6;
    uint64_t from = UINT64_MAX << (first & 63), to = UINT64_MAX >> (63 - (last & 63));
    if (i == end) {
        words[i] |= from & to;
        return;
    }
    words[i] |= from;
    for (i++; i < end; i++)
        words[i] = UINT64_MAX;
    words[end] |= to;
}

static int lay_runs(uint64_t *words, const reader *r, pml_error *err)
{
    const container *c = &r->current;
    uint32_t count = 0;
    int64_t before = -1;
    for (size_t i = 0; i < c->data.len; i += 4) {
        uint32_t first = pml_le16(c->data.ptr + i), last = first + pml_le16(c->data.ptr + i + 2);
        if ((int64_t)first <= before || last > 0xffff)
            return broken(r, "its runs do not ascend", err);
        words_set(words, first, last);
        count += last - first + 1;
        before = last;
    }
    return count == c->cardinality ? PML_OK : broken(r, "a cardinality is not that of its runs", err);
}

/* Adds the reader's container to the set. */
static int lay(uint64_t *words, const reader *r, pml_error *err)
{
    const container *c = &r->current;
    uint32_t count = 0;
    int64_t before = -1;
    if (c->runs)
        return lay_runs(words, r, err);
    if (c->cardinality > VALUES_MAX) {
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t w = pml_le64(c->data.ptr + i * 8);
            words[i] |= w;
            count += (uint32_t)__builtin_popcountll(w);
        }
        return count == c->cardinality ? PML_OK : broken(r, "a cardinality is not that of its bits", err);
    }
    for (size_t i = 0; i < c->data.len; i += 2) {
        uint32_t v = pml_le16(c->data.ptr + i);
        if ((int64_t)v <= before)
            return broken(r, "its values do not ascend", err);
        words[v >> 6] |= UINT64_C(1) << (v & 63);
        before = v;
    }
    return PML_OK;
}

static void count_words(const uint64_t *words, uint32_t *cardinality, uint32_t *runs)
{
    uint64_t carry = 0;
    *cardinality = *runs = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t w = words[i];
        *cardinality += (uint32_t)__builtin_popcountll(w);
        *runs += (uint32_t)__builtin_popcountll(w & ~((w << 1) | carry));
        carry = w >> 63;
    }
}

static bool bit(const uint64_t *words, uint32_t i)
{
    return (words[i >> 6] >> (i & 63)) & 1;
}

static int put16(pml_buf *out, uint32_t v)
{
    uint8_t bytes[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
    return pml_buf__append(out, bytes, sizeof bytes);
}

static int write_runs(pml_buf *out, const uint64_t *words, uint32_t runs)
{
    PML_RETURN_IF(put16(out, runs));
    for (uint32_t i = 0; i < 65536; i++) {
        if (!bit(words, i))
            continue;
        uint32_t first = i;
        while (i < 65535 && bit(words, i + 1))
            i++;
        PML_RETURN_IF(put16(out, first));
        PML_RETURN_IF(put16(out, i - first));
    }
    return PML_OK;
}

static int write_values(pml_buf *out, const uint64_t *words)
{
    for (uint32_t i = 0; i < WORDS; i++)
        for (uint64_t w = words[i]; w != 0; w &= w - 1)
            PML_RETURN_IF(put16(out, i * 64 + (uint32_t)__builtin_ctzll(w)));
    return PML_OK;
}

/* The set as a container; was_runs: Java has it as runs before runOptimize(). */
static int write_container(writer *w, uint32_t key, bool was_runs)
{
    uint32_t cardinality, runs;
    count_words(w->words, &cardinality, &runs);
    uint32_t as_runs = 2 + 4 * runs, as_values = cardinality * 2 + (was_runs ? 2 : 0);
    bool values = cardinality <= VALUES_MAX;
    uint32_t other = values && as_values < BITS_BYTES ? as_values : BITS_BYTES;
    written head = {.key = (uint16_t)key, .cardinality_less_1 = (uint16_t)(cardinality - 1)};
    head.runs = was_runs ? as_runs <= other : as_runs < other;
    size_t before = w->body.len;
    if (head.runs)
        PML_RETURN_IF(write_runs(&w->body, w->words, runs));
    else if (values)
        PML_RETURN_IF(write_values(&w->body, w->words));
    else
        PML_RETURN_IF(pml_buf__append(&w->body, w->words, BITS_BYTES));
    head.size = (uint32_t)(w->body.len - before);
    return pml_buf__append(&w->heads, &head, sizeof head);
}

static int write_merged(writer *w, reader *a, reader *b, pml_error *err)
{
    while (!a->ended || !b->ended) {
        bool from_a = !a->ended && (b->ended || a->current.key <= b->current.key);
        bool from_b = !b->ended && (a->ended || b->current.key <= a->current.key);
        uint32_t key = from_a ? a->current.key : b->current.key;
        bool runs = false, bits = false;
        memset(w->words, 0, sizeof w->words);
        for (int i = 0; i < 2; i++) {
            reader *r = i == 0 ? a : b;
            if (i == 0 ? !from_a : !from_b)
                continue;
            PML_RETURN_IF(lay(w->words, r, err));
            runs = runs || r->current.runs;
            bits = bits || (!r->current.runs && r->current.cardinality > VALUES_MAX);
            PML_RETURN_IF(reader_advance(r, err));
        }
        if (write_container(w, key, runs && !bits) != PML_OK)
            return w->body.rc != PML_OK ? pml_buf__check(&w->body, err) : pml_buf__check(&w->heads, err);
    }
    return PML_OK;
}

static int write_head(pml_buf *out, const written *heads, uint32_t n)
{
    uint8_t word[4];
    bool runs = false;
    for (uint32_t i = 0; i < n; i++)
        runs = runs || heads[i].runs;
    size_t flags = runs ? ((size_t)n + 7) / 8 : 0;
    bool offsets = !runs || n >= OFFSETS_FROM;
    pml_put_le32(word, runs ? COOKIE_RUNS | (n - 1) << 16 : COOKIE_PLAIN);
    PML_RETURN_IF(pml_buf__append(out, word, 4));
    if (runs) {
        size_t at = out->len;
        PML_RETURN_IF(pml_buf__append_zeros(out, flags));
        for (uint32_t i = 0; i < n; i++)
            if (heads[i].runs)
                pml_bit_set(out->data + at, i);
    } else {
        pml_put_le32(word, n);
        PML_RETURN_IF(pml_buf__append(out, word, 4));
    }
    for (uint32_t i = 0; i < n; i++) {
        PML_RETURN_IF(put16(out, heads[i].key));
        PML_RETURN_IF(put16(out, heads[i].cardinality_less_1));
    }
    size_t offset = (runs ? 4 + flags : 8) + (size_t)n * (offsets ? 8 : 4);
    for (uint32_t i = 0; offsets && i < n; i++) {
        pml_put_le32(word, (uint32_t)offset);
        PML_RETURN_IF(pml_buf__append(out, word, 4));
        offset += heads[i].size;
    }
    return PML_OK;
}

int pml_roaring__union(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err)
{
    int rc;
    reader x, y;
    writer *w = pml_env__calloc(out->env, 1, sizeof *w);
    if (w == NULL)
        return pml_error__no_memory(err);
    pml_buf__init(&w->body, out->env, INT32_MAX);
    pml_buf__init(&w->heads, out->env, INT32_MAX);
    PML_TRY(reader_open(&x, a, "the first", err));
    PML_TRY(reader_open(&y, b, "the second", err));
    PML_TRY(write_merged(w, &x, &y, err));
    if (write_head(out, (const written *)w->heads.data, (uint32_t)(w->heads.len / sizeof(written))) == PML_OK &&
        w->body.len > 0)
        pml_buf__append(out, w->body.data, w->body.len);
    rc = pml_buf__check(out, err);
out:
    pml_buf__clear(&w->body);
    pml_buf__clear(&w->heads);
    pml_env__free(out->env, w);
    return rc;
}
