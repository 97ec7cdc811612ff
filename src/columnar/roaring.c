/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Union of serialised Roaring bitmaps. Both inputs are read container by container, each container is laid over one bit set of 65536
 * bits, and written again in the form that Java's would have by then.
 */
#include "columnar/roaring.h"

#include "columnar/roaring_container.h"

typedef struct reader {
    pml_roaring_reader bytes;
    const char *what;
    pml_roaring_container current;
    bool ended;
} reader;

typedef struct written {
    uint16_t key, cardinality_less_1;
    uint32_t size;
    bool runs;
} written;

typedef struct writer {
    pml_buf body, heads; /* heads: a `written` each */
    uint64_t words[PML_ROARING_WORDS];
} writer;

static int broken(const reader *r, const char *why, pml_error *err)
{
    return why == NULL ? PML_OK
                       : pml_error__set(err, PML_E_CORRUPT, "a bitmap (%s, %zu bytes) is damaged: %s", r->what, r->bytes.in.len, why);
}

static int reader_advance(reader *r, pml_error *err)
{
    bool more;
    const char *why = pml_roaring_reader__next(&r->current, &more, &r->bytes);
    r->ended = !more;
    return broken(r, why, err);
}

static int reader_open(reader *r, pml_bytes in, const char *what, pml_error *err)
{
    *r = (reader){.what = what};
    PML_RETURN_IF(broken(r, pml_roaring_reader__open(&r->bytes, in), err));
    return reader_advance(r, err);
}

static int put16(pml_buf *out, uint32_t v)
{
    uint8_t bytes[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
    return pml_buf__append(out, bytes, sizeof bytes);
}

/* The set as a container; was_runs: Java has it as runs before runOptimize(). */
static int write_container(writer *w, uint32_t key, bool was_runs)
{
    uint32_t cardinality, runs;
    pml_roaring__count(w->words, &cardinality, &runs);
    pml_roaring_kind kind = pml_roaring__optimized(cardinality, runs, was_runs);
    written head = {.key = (uint16_t)key, .cardinality_less_1 = (uint16_t)(cardinality - 1), .runs = kind == PML_ROARING_RUNS};
    size_t before = w->body.len;
    PML_RETURN_IF(pml_roaring__write(&w->body, w->words, runs, kind));
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
            PML_RETURN_IF(broken(r, pml_roaring_container__lay(w->words, &r->current), err));
            runs = runs || r->current.kind == PML_ROARING_RUNS;
            bits = bits || r->current.kind == PML_ROARING_BITS;
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
    bool offsets = !runs || n >= PML_ROARING_PLACES_FROM;
    pml_put_le32(word, runs ? PML_ROARING_COOKIE_RUNS | (n - 1) << 16 : PML_ROARING_COOKIE_PLAIN);
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
