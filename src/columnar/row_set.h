/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of the rows of one file: rows that were deleted, rows that an index names, rows to keep. One bit per row, so that every
 * question of a reader is a look at a word; a million rows are 128 KiB.
 */
#ifndef PML_COLUMNAR_ROW_SET_H
#define PML_COLUMNAR_ROW_SET_H

#include "util/bytes.h"
#include "util/env.h"

typedef struct pml_row_set {
    pml_env *env;
    int64_t n_rows;
    uint64_t *words; /* bits from n_rows on are 0 */
} pml_row_set;

#define PML_ROW_SET_MAX (INT64_C(1) << 33) /* 1 GiB of bits */

/* A set over [0, n_rows), empty or full. Holds no reference of env: it lives shorter. PML_E_LIMIT past PML_ROW_SET_MAX. */
int pml_row_set__init(pml_row_set *s, pml_env *env, int64_t n_rows, bool full, pml_error *err);
void pml_row_set__clear(pml_row_set *s); /* zeroed is fine */

static inline bool pml_row_set__has(const pml_row_set *s, int64_t row) { return (s->words[row >> 6] >> (row & 63)) & 1; }
static inline void pml_row_set__add(pml_row_set *s, int64_t row) { s->words[row >> 6] |= UINT64_C(1) << (row & 63); }
/* Rows [first, end), which lie inside. */
void pml_row_set__add_range(pml_row_set *s, int64_t first, int64_t end);
int64_t pml_row_set__count(const pml_row_set *s, int64_t first, int64_t end);
bool pml_row_set__any(const pml_row_set *s, int64_t first, int64_t end);
/* The first row from `from` on that is in the set (present) or is not; n_rows when there is none. */
int64_t pml_row_set__next(const pml_row_set *s, int64_t from, bool present);

/* The same n_rows on both sides. */
void pml_row_set__and(pml_row_set *s, const pml_row_set *other);
void pml_row_set__or(pml_row_set *s, const pml_row_set *other);
void pml_row_set__and_not(pml_row_set *s, const pml_row_set *other);
void pml_row_set__invert(pml_row_set *s);

/*
 * Adds a bitmap in Roaring's portable 32-bit format (RoaringFormatSpec; Java: RoaringBitmap.serialize), which may have any of the
 * container kinds, each value moved up by `base`. *used: its bytes, *cardinality: its values. The reason of PML_E_CORRUPT says what is
 * wrong with it, a row beyond the set included; the set then holds any part of it. NULL results are not wanted.
 */
int pml_row_set__add_roaring(pml_row_set *s, uint64_t base, pml_bytes in, size_t *used, int64_t *cardinality, pml_error *err);

#endif
