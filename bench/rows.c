/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_BUFFERS_MAX = 3, EVERY_NULL = 50 /* 2 % */ };

const char rows_fields_json[] = "["
                                "{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"k\",\"type\":\"INT\"},"
                                "{\"name\":\"v\",\"type\":\"DOUBLE\"},{\"name\":\"s8\",\"type\":\"STRING\"},"
                                "{\"name\":\"s16\",\"type\":\"STRING\"},{\"name\":\"s32\",\"type\":\"STRING\"},"
                                "{\"name\":\"ts\",\"type\":\"TIMESTAMP(6)\"},{\"name\":\"flag\",\"type\":\"BOOLEAN\"}]";

/* Row and column decide a value: splitmix64 of both. */
static uint64_t mix(int64_t row, int column)
{
    uint64_t z = (uint64_t)row * 8 + (uint64_t)column + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A batch lies in one block: arrays, then buffers. The block goes with the last of its arrays, since a consumer may take the
   columns out one by one. */
typedef struct block {
    atomic_int arrays;
    struct ArrowArray columns[ROWS_COLUMNS], *children[ROWS_COLUMNS];
    const void *buffers[ROWS_COLUMNS + 1][COLUMN_BUFFERS_MAX];
    _Alignas(64) uint8_t bytes[];
} block;

static void block_drop(block *k, int arrays)
{
    if (atomic_fetch_sub(&k->arrays, arrays) == arrays)
        free(k);
}

static void release_column(struct ArrowArray *a)
{
    block *k = a->private_data;
    a->release = NULL;
    block_drop(k, 1);
}

static void release(struct ArrowArray *a)
{
    block *k = a->private_data;
    int arrays = 1;
    for (int i = 0; i < ROWS_COLUMNS; i++) {
        arrays += k->columns[i].release != NULL;
        k->columns[i].release = NULL;
    }
    a->release = NULL;
    block_drop(k, arrays);
}

static bool null_at(int64_t row, int column)
{
    return mix(row, column + 100) % EVERY_NULL == 0;
}

/* The bits of what is not null; a column without nulls has none. */
static void fill_valid(struct ArrowArray *a, int64_t first, int column, bool nulls)
{
    uint8_t *bits = (uint8_t *)a->buffers[0];
    if (!nulls) {
        a->buffers[0] = NULL;
        return;
    }
    for (int64_t i = 0; i < a->length; i++)
        if (null_at(first + i, column))
            a->null_count++;
        else
            bits[i / 8] |= (uint8_t)(1u << (i % 8));
}

static void fill_fixed(struct ArrowArray *a, int64_t first, int column, size_t width, bool nulls)
{
    int64_t n = a->length;
    uint8_t *to = (uint8_t *)a->buffers[1];
    for (int64_t i = 0; i < n; i++) {
        int64_t row = first + i, time = 1700000000000000 + row * 1000 + (int64_t)(mix(row, column) % 1000);
        int32_t small = (int32_t)(mix(row, column) % 1000);
        double price = (double)(mix(row, column) % 10000000) / 100.0;
        const void *value = column == 0   ? (const void *)&row
                            : column == 1 ? (const void *)&small
                            : column == 2 ? (const void *)&price
                                          : (const void *)&time;
        memcpy(to + (size_t)i * width, value, width);
    }
    fill_valid(a, first, column, nulls);
}

static void fill_flags(struct ArrowArray *a, int64_t first, int column)
{
    for (int64_t i = 0; i < a->length; i++)
        if (mix(first + i, column) & 1)
            ((uint8_t *)a->buffers[1])[i / 8] |= (uint8_t)(1u << (i % 8));
    fill_valid(a, first, column, false);
}

/* s8: 10,000 values; s16: random; s32: a shared frame around random digits. */
static void fill_texts(struct ArrowArray *a, int64_t first, int column, int32_t width)
{
    int64_t n = a->length;
    int32_t *ends = (int32_t *)a->buffers[1];
    char *text = (char *)a->buffers[2], one[40];
    for (int64_t i = 0; i < n; i++) {
        unsigned long long r = mix(first + i, column);
        bool null = column == 5 && null_at(first + i, column);
        if (column == 3)
            (void)snprintf(one, sizeof one, "c%07llu", r % 10000);
        else if (column == 4)
            (void)snprintf(one, sizeof one, "%016llx", r);
        else
            (void)snprintf(one, sizeof one, "users-%010llu-events-%08llx", r % 1000000, r >> 32);
        memcpy(text + ends[i], one, null ? 0 : (size_t)width);
        ends[i + 1] = ends[i] + (null ? 0 : width);
    }
    fill_valid(a, first, column, column == 5);
}

/* Bytes of a value; text columns have offsets, too. */
static const struct {
    size_t width;
    bool text;
} shapes[ROWS_COLUMNS] = {{8, false}, {4, false}, {8, false}, {8, true},
                          {16, true}, {32, true}, {8, false}, {0, false}};

static size_t padded(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Buffer sizes of a column: bits of what is not null, offsets or values, text. */
static void column_sizes(size_t sizes[COLUMN_BUFFERS_MAX], int column, size_t n)
{
    size_t width = shapes[column].width, bits = padded(n / 8 + 1);
    sizes[0] = bits;
    sizes[1] = shapes[column].text ? padded((n + 1) * 4) : width == 0 ? bits : padded(n * width);
    sizes[2] = shapes[column].text ? padded(n * width + 1) : 0;
}

int rows_make(struct ArrowArray *out, int64_t first, int64_t n)
{
    size_t sizes[COLUMN_BUFFERS_MAX], bytes = 0, at = 0;
    for (int c = 0; c < ROWS_COLUMNS; c++) {
        column_sizes(sizes, c, (size_t)n);
        bytes += sizes[0] + sizes[1] + sizes[2];
    }
    block *k = aligned_alloc(_Alignof(block), padded(sizeof *k + bytes));
    if (k == NULL)
        return -1;
    memset(k, 0, sizeof *k + bytes);
    atomic_init(&k->arrays, ROWS_COLUMNS + 1);
    for (int c = 0; c < ROWS_COLUMNS; c++) {
        struct ArrowArray *a = k->children[c] = &k->columns[c];
        column_sizes(sizes, c, (size_t)n);
        for (int i = 0; i < COLUMN_BUFFERS_MAX; at += sizes[i++])
            k->buffers[c][i] = sizes[i] == 0 ? NULL : k->bytes + at;
        *a = (struct ArrowArray){.length = n,
                                 .n_buffers = shapes[c].text ? 3 : 2,
                                 .buffers = k->buffers[c],
                                 .release = release_column,
                                 .private_data = k};
        if (shapes[c].text)
            fill_texts(a, first, c, (int32_t)shapes[c].width);
        else if (shapes[c].width == 0)
            fill_flags(a, first, c);
        else
            fill_fixed(a, first, c, shapes[c].width, c == 2);
    }
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .n_children = ROWS_COLUMNS,
                               .buffers = k->buffers[ROWS_COLUMNS],
                               .children = k->children,
                               .release = release,
                               .private_data = k};
    return 0;
}
