/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column keys: fixed-width values as integers that compare like the values do in Java. One loop over keys then serves all
 * types of predicates and statistics.
 *
 *   BOOLEAN 0, 1 · integers, DATE, TIME themselves · TIMESTAMP in the unit of the column · FLOAT, DOUBLE: the bits, with the
 *   magnitude bits of negative numbers inverted, and every NaN made the one largest key (-0.0 < 0.0, NaN equal to itself)
 *
 * DECIMAL has 128-bit keys, text has none.
 */
#ifndef PML_COLUMNAR_COLUMN_KEYS_H
#define PML_COLUMNAR_COLUMN_KEYS_H

#include <assert.h>

#include "columnar/array_memory.h"
#include "columnar/value.h"

enum { PML_KEYS_CHUNK = 512 }; /* rows per step: the keys stay in the first-level cache */

typedef enum pml_key_kind { PML_KEY_NONE, PML_KEY_INT64, PML_KEY_INT128, PML_KEY_TEXT } pml_key_kind;

pml_key_kind pml_key__kind(const pml_type *t);
/* Keys of rows [row, row + n), also of null rows (any number). n <= PML_KEYS_CHUNK. */
void pml_keys__load(int64_t *keys, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n);
void pml_keys__load_decimals(pml_int128 *keys, const struct ArrowArray *a, int64_t row, int64_t n);
/* 1 for valid rows, 0 for null ones. */
void pml_keys__load_valid(uint8_t *valid, const struct ArrowArray *a, int64_t row, int64_t n);
/* The value that a key stands for; NaN is the canonical one. */
void pml_key__value(pml_value *out, const pml_type *t, int64_t key);
/* The key of a value of the kind that belongs to t. A timestamp may lie between two keys or outside of their range: *key is
   the largest one not above it, as 128 bits, and *exact says whether it is the same. */
void pml_key__of_value(pml_int128 *key, bool *exact, const pml_type *t, const pml_value *v);
/* Key of NaN in FLOAT and DOUBLE columns. */
int64_t pml_key__nan(const pml_type *t);

static inline pml_bytes pml_text_at(const struct ArrowArray *a, int64_t row)
{
    int32_t from = pml_load_i32(a->buffers[1], a->offset + row), to = pml_load_i32(a->buffers[1], a->offset + row + 1);
    /* An array of empty texts may have no data buffer. Offsets that go backwards are damage, read as an empty text. */
    assert(to <= from || a->buffers[2] != NULL);
    return to > from ? (pml_bytes){(const uint8_t *)a->buffers[2] + from, (size_t)(to - from)} : (pml_bytes){0};
}

#endif
