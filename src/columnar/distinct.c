/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are hashed to the bits of a map: what hits a bit that is set is a repetition, or a collision of about n^2 / 2m among n
 * values and m bits. Rows in a row are looked at, not a sample: values that come round after thousands of rows are seen.
 */
#include "columnar/distinct.h"

#include <string.h>

#include "columnar/array_memory.h"
#include "columnar/column_keys.h"

enum {
    MAP_BITS_LOG = 20, /* 128 KiB: stays in the second-level cache */
    VALUES_MIN = 24576, /* fewer do not tell a large dictionary from one that overflows */
    ROWS_MAX = 65536   /* more cost more than they tell: 2,000 collisions by now */
};

static const uint64_t odd = 0x9e3779b97f4a7c15u;

static uint64_t hash_text(pml_bytes v)
{
    uint64_t h = v.len, tail = 0;
    size_t i = 0;
    for (; i + 8 <= v.len; i += 8) {
        h = (h ^ pml_le64(v.ptr + i)) * odd;
        h ^= h >> 32;
    }
    if (i < v.len)
        memcpy(&tail, v.ptr + i, v.len - i);
    return (h ^ tail) * odd;
}

static bool map_add(uint8_t *map, uint64_t hash)
{
    uint64_t bit = hash >> (64 - MAP_BITS_LOG);
    uint8_t mask = (uint8_t)(1u << (bit & 7));
    bool fresh = (map[bit >> 3] & mask) == 0;
    map[bit >> 3] |= mask;
    return fresh;
}

/* Of the first rows, nulls aside: values, those that came for the first time, bytes of all. */
typedef struct column_count {
    int64_t values, fresh, bytes;
} column_count;

static void count_values(column_count *c, uint8_t *map, const pml_type *t, const struct ArrowArray *a, int64_t row,
                         int64_t rows)
{
    size_t width = pml_layout__width(t);
    for (int64_t i = row; i < row + rows; i++) {
        uint64_t word = 0;
        if (pml_array__is_null(a, i))
            continue;
        if (width == 0) {
            pml_bytes v = pml_text_at(a, i);
            c->fresh += map_add(map, hash_text(v));
            c->bytes += (int64_t)v.len + 4; /* a length goes before it */
        } else {
            memcpy(&word, (const uint8_t *)a->buffers[1] + (a->offset + i) * (int64_t)width, width);
            word *= odd;
            c->fresh += map_add(map, (word ^ word >> 32) * odd);
            c->bytes += (int64_t)width;
        }
        c->values++;
    }
}

static column_count count_column(uint8_t *map, const pml_type *t, const struct ArrowArray *batches, size_t n_batches,
                                 size_t column)
{
    column_count c = {0};
    int64_t left = ROWS_MAX;
    for (size_t i = 0; i < n_batches && left > 0; i++) {
        int64_t rows = batches[i].length < left ? batches[i].length : left;
        count_values(&c, map, t, batches[i].children[column], batches[i].offset, rows);
        left -= rows;
    }
    return c;
}

static bool outgrows_dictionary(const column_count *c, int64_t dictionary_bytes)
{
    if (c->values < VALUES_MIN)
        return false;
    int64_t width = c->bytes / c->values, limit = dictionary_bytes / width, repeated = c->values - c->fresh;
    if (c->fresh > limit)
        return true; /* these rows alone fill it */
    /* n of D equally likely values repeat n^2 / 2D times: fewer than half of that for D = limit, and D is twice the limit. */
    int64_t squared = c->values * c->values;
    return repeated <= squared / (4 * limit) + (squared >> (MAP_BITS_LOG + 1)) && repeated < c->values / 4;
}

static bool has_dictionary(const pml_type *t)
{
    pml_layout layout = pml_layout__of(t);
    size_t width = pml_layout__width(t);
    return layout == PML_LAYOUT_TEXT || (layout == PML_LAYOUT_FIXED && (width == 4 || width == 8));
}

int pml_distinct__outgrows(uint8_t *outgrows, pml_env *env, const pml_field *fields, size_t n,
                           const struct ArrowArray *batches, size_t n_batches, int64_t dictionary_bytes, pml_error *err)
{
    int64_t rows = 0;
    memset(outgrows, 0, n);
    for (size_t i = 0; i < n_batches; i++)
        rows += batches[i].length;
    if (rows < VALUES_MIN)
        return PML_OK;
    size_t map_bytes = (size_t)1 << (MAP_BITS_LOG - 3);
    uint8_t *map = pml_env__alloc(env, map_bytes);
    if (map == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!has_dictionary(&fields[i].type))
            continue;
        memset(map, 0, map_bytes);
        column_count c = count_column(map, &fields[i].type, batches, n_batches, i);
        outgrows[i] = outgrows_dictionary(&c, dictionary_bytes);
    }
    pml_env__free(env, map);
    return PML_OK;
}
