/* SPDX-License-Identifier: Apache-2.0 */
#include "mutate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSERT_MAX = 64, CHANGES_MAX = 4, ROOM = 4096 /* that one change may add */ };

typedef struct bytes {
    uint8_t *p;
    size_t len, cap;
} bytes;

uint64_t mutate_next(mutate_random *random)
{
    uint64_t z = (random->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t below(mutate_random *r, size_t n)
{
    return n == 0 ? 0 : (size_t)(mutate_next(r) % n);
}

/* Numbers at which arithmetic breaks. */
static uint64_t interesting(mutate_random *r, size_t len)
{
    static const uint64_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
                                      0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
    enum { VALUES = sizeof values / sizeof values[0] };
    size_t i = below(r, VALUES + 4);
    switch (i) {
    case VALUES: return len;
    case VALUES + 1: return len - 1;
    case VALUES + 2: return len + 1;
    case VALUES + 3: return (uint64_t)1 << below(r, 64);
    default: return values[i];
    }
}

static void insert(bytes *b, size_t at, const uint8_t *p, size_t n)
{
    if (b->len + n > b->cap)
        return;
    memmove(b->p + at + n, b->p + at, b->len - at);
    memcpy(b->p + at, p, n);
    b->len += n;
}

static void take_out(bytes *b, size_t at, size_t n)
{
    memmove(b->p + at, b->p + at + n, b->len - at - n);
    b->len -= n;
}

static void put_number(bytes *b, mutate_random *r)
{
    static const size_t widths[] = {2, 4, 8};
    size_t width = widths[below(r, 3)];
    uint64_t v = interesting(r, b->len);
    bool big = below(r, 2) == 0;
    if (b->len < width)
        return;
    size_t at = below(r, b->len - width + 1);
    for (size_t i = 0; i < width; i++)
        b->p[at + i] = (uint8_t)(v >> (8 * (big ? width - 1 - i : i)));
}

/* Avro's and Thrift's lengths: seven bits a byte, zigzag. */
static void put_varint(bytes *b, mutate_random *r)
{
    uint64_t v = interesting(r, b->len);
    if (below(r, 2) == 0)
        v = (v << 1) ^ (uint64_t)((int64_t)v >> 63);
    size_t at = below(r, b->len);
    bool grow = below(r, 2) == 0;
    uint8_t text[10];
    size_t n = 0;
    do {
        text[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v != 0 && n < sizeof text);
    if (grow && b->len > 0)
        take_out(b, at, 1);
    if (grow)
        insert(b, at, text, n);
    else
        for (size_t i = 0; i < n && at + i < b->len; i++)
            b->p[at + i] = text[i];
}

/* A run of digits becomes another number. */
static void put_digits(bytes *b, mutate_random *r)
{
    size_t at = below(r, b->len), n = 0;
    char text[32];
    while (at < b->len && (b->p[at] < '0' || b->p[at] > '9'))
        at++;
    while (at + n < b->len && b->p[at + n] >= '0' && b->p[at + n] <= '9')
        n++;
    uint64_t v = interesting(r, b->len);
    int w = below(r, 2) == 0 ? snprintf(text, sizeof text, "%lld", (long long)v) : snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    if (n == 0 || w < 0)
        return;
    take_out(b, at, n);
    insert(b, at, (const uint8_t *)text, (size_t)w);
}

static void put_random(bytes *b, mutate_random *r)
{
    uint8_t fresh[INSERT_MAX];
    size_t n = 1 + below(r, INSERT_MAX);
    uint8_t same = (uint8_t)mutate_next(r);
    bool alike = below(r, 2) == 0;
    for (size_t i = 0; i < n; i++)
        fresh[i] = alike ? same : (uint8_t)mutate_next(r);
    insert(b, below(r, b->len + 1), fresh, n);
}

static void copy_range(bytes *b, mutate_random *r, mutate_piece from)
{
    uint8_t copy[ROOM];
    if (from.len == 0)
        return;
    size_t at = below(r, from.len), n = 1 + below(r, from.len - at < ROOM ? from.len - at : ROOM);
    memcpy(copy, from.data + at, n);
    size_t to = below(r, b->len + 1);
    if (below(r, 2) == 0) {
        insert(b, to, copy, n);
        return;
    }
    n = n < b->len - to ? n : b->len - to;
    memcpy(b->p + to, copy, n);
}

static void change(bytes *b, mutate_random *r, const mutate_piece *pieces, size_t n)
{
    size_t what = below(r, 11);
    if (b->len == 0)
        what = 7;
    size_t at = below(r, b->len);
    switch (what) {
    case 0: b->p[at] = (uint8_t)(b->p[at] ^ (1u << below(r, 8))); break;
    case 1: b->p[at] = (uint8_t)mutate_next(r); break;
    case 2: b->p[at] = (uint8_t)interesting(r, b->len); break;
    case 3: put_number(b, r); break;
    case 4: put_varint(b, r); break;
    case 5: put_digits(b, r); break;
    case 6: b->len = at; break;
    case 7: put_random(b, r); break;
    case 8: take_out(b, at, 1 + below(r, b->len - at)); break;
    case 9: copy_range(b, r, (mutate_piece){b->p, b->len}); break;
    default: copy_range(b, r, pieces[below(r, n)]); break;
    }
}

uint8_t *mutate(size_t *len, mutate_random *random, const mutate_piece *pieces, size_t n, size_t which)
{
    bytes b = {.len = pieces[which].len, .cap = pieces[which].len + CHANGES_MAX * ROOM};
    b.p = malloc(b.cap);
    if (b.p == NULL)
        abort();
    if (b.len > 0)
        memcpy(b.p, pieces[which].data, b.len);
    for (size_t changes = 1 + below(random, CHANGES_MAX); changes > 0; changes--)
        change(&b, random, pieces, n);
    *len = b.len;
    return b.p;
}
