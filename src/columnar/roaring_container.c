/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/roaring_container.h"

enum { CONTAINERS_MAX = 65536 };

/* ---- containers ---- */

const char *pml_roaring_container__take(pml_roaring_container *c, pml_bytes in, size_t *at)
{
    size_t left = in.len - *at, size = PML_ROARING_BITS_BYTES;
    if (c->kind == PML_ROARING_RUNS) {
        if (left < 2)
            return "it ends inside a container";
        size = (size_t)pml_le16(in.ptr + *at) * 4;
        *at += 2;
        left -= 2;
    } else if (c->kind == PML_ROARING_ARRAY) {
        size = (size_t)c->cardinality * 2;
    }
    if (left < size)
        return "it ends inside a container";
    c->data = (pml_bytes){in.ptr + *at, size};
    *at += size;
    return NULL;
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

static const char *lay_runs(uint64_t *words, const pml_roaring_container *c)
{
    uint32_t count = 0;
    int64_t before = -1;
    for (size_t i = 0; i < c->data.len; i += 4) {
        uint32_t first = pml_le16(c->data.ptr + i), last = first + pml_le16(c->data.ptr + i + 2);
        if ((int64_t)first <= before || last >= PML_ROARING_VALUES)
            return "its runs do not ascend";
        words_set(words, first, last);
        count += last - first + 1;
        before = last;
    }
    return count == c->cardinality ? NULL : "a cardinality is not that of its runs";
}

static const char *lay_bits(uint64_t *words, const pml_roaring_container *c)
{
    uint32_t count = 0;
    for (size_t i = 0; i < PML_ROARING_WORDS; i++) {
        uint64_t w = pml_le64(c->data.ptr + i * 8);
        words[i] |= w;
        count += (uint32_t)__builtin_popcountll(w);
    }
    return count == c->cardinality ? NULL : "a cardinality is not that of its bits";
}

const char *pml_roaring_container__lay(uint64_t *words, const pml_roaring_container *c)
{
    int64_t before = -1;
    if (c->kind == PML_ROARING_RUNS)
        return lay_runs(words, c);
    if (c->kind == PML_ROARING_BITS)
        return lay_bits(words, c);
    for (size_t i = 0; i < c->data.len; i += 2) {
        uint32_t v = pml_le16(c->data.ptr + i);
        if ((int64_t)v <= before)
            return "its values do not ascend";
        words[v >> 6] |= UINT64_C(1) << (v & 63);
        before = v;
    }
    return NULL;
}

/* ---- the 32-bit format ---- */

const char *pml_roaring_reader__open(pml_roaring_reader *r, pml_bytes in)
{
    *r = (pml_roaring_reader){.in = in};
    size_t at = 4, flags = 0;
    if (in.len < 4)
        return "it has no cookie";
    uint32_t cookie = pml_le32(in.ptr);
    if ((cookie & 0xffff) == PML_ROARING_COOKIE_RUNS) {
        r->n = (cookie >> 16) + 1;
        flags = ((size_t)r->n + 7) / 8;
    } else if (cookie == PML_ROARING_COOKIE_PLAIN && in.len >= 8) {
        r->n = pml_le32(in.ptr + 4);
        at = 8;
    } else {
        return "its cookie is none of the portable format";
    }
    bool places = flags == 0 || r->n >= PML_ROARING_PLACES_FROM;
    if (r->n > CONTAINERS_MAX || in.len - at < flags + (size_t)r->n * (places ? 8 : 4))
        return "it is shorter than its head";
    r->run_flags = flags == 0 ? NULL : in.ptr + at;
    r->heads = in.ptr + at + flags;
    r->at = at + flags + (size_t)r->n * (places ? 8 : 4);
    return NULL;
}

const char *pml_roaring_reader__next(pml_roaring_container *c, bool *more, pml_roaring_reader *r)
{
    *more = r->next < r->n;
    if (!*more)
        return NULL;
    const uint8_t *head = r->heads + (size_t)r->next * 4;
    bool runs = r->run_flags != NULL && pml_bit_get(r->run_flags, r->next);
    *c = (pml_roaring_container){.key = pml_le16(head), .cardinality = (uint32_t)pml_le16(head + 2) + 1};
    c->kind = runs ? PML_ROARING_RUNS : c->cardinality <= PML_ROARING_ARRAY_MAX ? PML_ROARING_ARRAY : PML_ROARING_BITS;
    if (r->next > 0 && c->key <= r->last_key)
        return "its keys do not ascend";
    r->last_key = c->key;
    r->next++;
    return pml_roaring_container__take(c, r->in, &r->at);
}

/* ---- writing ---- */

void pml_roaring__count(const uint64_t *words, uint32_t *cardinality, uint32_t *runs)
{
    uint64_t carry = 0;
    *cardinality = *runs = 0;
    for (size_t i = 0; i < PML_ROARING_WORDS; i++) {
        uint64_t w = words[i];
        *cardinality += (uint32_t)__builtin_popcountll(w);
        *runs += (uint32_t)__builtin_popcountll(w & ~((w << 1) | carry));
        carry = w >> 63;
    }
}

pml_roaring_kind pml_roaring__optimized(uint32_t cardinality, uint32_t runs, bool was_runs)
{
    uint32_t as_runs = 2 + 4 * runs, as_values = cardinality * 2 + (was_runs ? 2 : 0);
    bool values = cardinality <= PML_ROARING_ARRAY_MAX;
    uint32_t other = values && as_values < PML_ROARING_BITS_BYTES ? as_values : PML_ROARING_BITS_BYTES;
    if (was_runs ? as_runs <= other : as_runs < other)
        return PML_ROARING_RUNS;
    return values ? PML_ROARING_ARRAY : PML_ROARING_BITS;
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
    for (uint32_t i = 0; i < PML_ROARING_VALUES; i++) {
        if (!bit(words, i))
            continue;
        uint32_t first = i;
        while (i + 1 < PML_ROARING_VALUES && bit(words, i + 1))
            i++;
        PML_RETURN_IF(put16(out, first));
        PML_RETURN_IF(put16(out, i - first));
    }
    return PML_OK;
}

static int write_values(pml_buf *out, const uint64_t *words)
{
    for (uint32_t i = 0; i < PML_ROARING_WORDS; i++)
        for (uint64_t w = words[i]; w != 0; w &= w - 1)
            PML_RETURN_IF(put16(out, i * 64 + (uint32_t)__builtin_ctzll(w)));
    return PML_OK;
}

int pml_roaring__write(pml_buf *out, const uint64_t *words, uint32_t runs, pml_roaring_kind kind)
{
    if (kind == PML_ROARING_RUNS)
        return write_runs(out, words, runs);
    return kind == PML_ROARING_ARRAY ? write_values(out, words) : pml_buf__append(out, words, PML_ROARING_BITS_BYTES);
}
