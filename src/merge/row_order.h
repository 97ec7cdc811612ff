/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of rows by some of their columns, as Java's generated comparators have it: nulls first, also when descending; numbers by
 * value, -0.0 as 0.0 and NaN as everything; texts by unsigned bytes; ARRAY, ROW, VECTOR and MAP member by member. The compare functions are
 * chosen once; nothing is decoded into values.
 *
 * With NaN that is no order: 1 < 2, and NaN equals both. Of two rows of a key it is well-defined all the same, of three and more Java's answer
 * hangs on which of them its loser tree compared, that is on how many files there are and on the keys before; so it is not followed.
 */
#ifndef PML_MERGE_ROW_ORDER_H
#define PML_MERGE_ROW_ORDER_H

#include "columnar/array_memory.h"

/* Rows beyond the arrays' own offsets; neither is null. Below 0, 0, above 0. */
typedef int (*pml_compare)(const pml_type *t, const struct ArrowArray *a, int64_t row_a, const struct ArrowArray *b,
                           int64_t row_b);

typedef struct pml_order_column {
    int32_t position;
    bool descending;
    const pml_type *type;
    pml_compare compare;
} pml_order_column;

typedef struct pml_row_order {
    pml_order_column *columns;
    size_t n;
} pml_row_order;

/* Into the arena. PML_E_UNSUPPORTED names a column that has no order. */
int pml_row_order__init(pml_row_order *out, pml_arena *arena, const pml_field *fields, const int32_t *positions,
                        size_t n, bool descending, pml_error *err);
/* Rows of two struct arrays without offsets of their own. */
int pml_row_order__compare(const pml_row_order *o, const struct ArrowArray *a, int64_t row_a,
                           const struct ArrowArray *b, int64_t row_b);
/* Rows that are ordered before anybody knows what they will meet need values with a place in every order. That is not NaN, and as a key not
   -0.0, which comparisons take for 0.0 and everything that looks at bits does not. PML_E_INVAL of the first row of the columns at `positions`
   that has such a value: *wrong is the row, which the error does not say. */
int pml_row_order__check_values(int64_t *wrong, const pml_field *fields, struct ArrowArray *const *columns, int64_t n_rows,
                                const int32_t *positions, size_t n, bool are_keys, pml_error *err);

#endif
