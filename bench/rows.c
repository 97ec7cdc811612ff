/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

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

static void release(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release != NULL)
            a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    free(a->children);
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)a->buffers[i]);
    free(a->buffers);
    a->release = NULL;
}

/* Buffers of the given sizes, zeroed. */
static struct ArrowArray *column_new(int64_t n, const size_t *sizes, int64_t n_buffers)
{
    struct ArrowArray *a = calloc(1, sizeof *a);
    const void **buffers = calloc(COLUMN_BUFFERS_MAX, sizeof *buffers);
    bool ok = a != NULL && buffers != NULL;
    for (int64_t i = 0; ok && i < n_buffers; i++) {
        buffers[i] = calloc(1, sizes[i]);
        ok = buffers[i] != NULL;
    }
    if (ok) {
        *a = (struct ArrowArray){.length = n, .n_buffers = n_buffers, .buffers = buffers, .release = release};
        return a;
    }
    for (int64_t i = 0; buffers != NULL && i < n_buffers; i++)
        free((void *)buffers[i]);
    free(buffers);
    free(a);
    return NULL;
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
        free(bits);
        a->buffers[0] = NULL;
        return;
    }
    for (int64_t i = 0; i < a->length; i++)
        if (null_at(first + i, column))
            a->null_count++;
        else
            bits[i / 8] |= (uint8_t)(1u << (i % 8));
}

static struct ArrowArray *fixed_column(int64_t first, int64_t n, int column, size_t width, bool nulls)
{
    const size_t sizes[] = {(size_t)n / 8 + 1, (size_t)n * width + 8};
    struct ArrowArray *a = column_new(n, sizes, 2);
    if (a == NULL)
        return NULL;
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
    return a;
}

static struct ArrowArray *flag_column(int64_t first, int64_t n, int column)
{
    const size_t sizes[] = {(size_t)n / 8 + 1, (size_t)n / 8 + 1};
    struct ArrowArray *a = column_new(n, sizes, 2);
    if (a == NULL)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        if (mix(first + i, column) & 1)
            ((uint8_t *)a->buffers[1])[i / 8] |= (uint8_t)(1u << (i % 8));
    fill_valid(a, first, column, false);
    return a;
}

/* s8: 10,000 values; s16: random; s32: a shared frame around random digits. */
static struct ArrowArray *text_column(int64_t first, int64_t n, int column, int32_t width)
{
    const size_t sizes[] = {(size_t)n / 8 + 1, ((size_t)n + 1) * 4, (size_t)n * (size_t)width + 1};
    struct ArrowArray *a = column_new(n, sizes, 3);
    if (a == NULL)
        return NULL;
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
    return a;
}

int rows_make(struct ArrowArray *out, int64_t first, int64_t n)
{
    const void **buffers = calloc(1, sizeof *buffers);
    struct ArrowArray **children = calloc(ROWS_COLUMNS, sizeof *children);
    *out =
        (struct ArrowArray){.length = n, .n_buffers = 1, .buffers = buffers, .children = children, .release = release};
    if (buffers == NULL || children == NULL) {
        out->n_buffers = 0;
        release(out);
        return -1;
    }
    for (int i = 0; i < ROWS_COLUMNS; i++) {
        children[i] = i == 7   ? flag_column(first, n, i)
                      : i == 3 ? text_column(first, n, i, 8)
                      : i == 4 ? text_column(first, n, i, 16)
                      : i == 5 ? text_column(first, n, i, 32)
                               : fixed_column(first, n, i, i == 1 ? 4 : 8, i == 2);
        if (children[i] == NULL) {
            release(out);
            return -1;
        }
        out->n_children++;
    }
    return 0;
}
