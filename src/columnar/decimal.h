/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic of DECIMAL(precision, scale) on unscaled values, as BigDecimal and Paimon's Decimal.fromBigDecimal do it: exact, then
 * rounded half up to the scale; more than `precision` digits are no value.
 */
#ifndef PML_COLUMNAR_DECIMAL_H
#define PML_COLUMNAR_DECIMAL_H

#include "columnar/value.h"

/* Whether |v| has at most `precision` digits (1 to 38). */
bool pml_decimal__fits(pml_int128 v, int32_t precision);
/* a * b at the same scale. false: it does not fit. */
bool pml_decimal__multiply(pml_int128 *out, pml_int128 a, pml_int128 b, int32_t precision, int32_t scale);

typedef enum pml_decimal_result {
    PML_DECIMAL_OK,
    PML_DECIMAL_TOO_LONG,
    PML_DECIMAL_BY_ZERO,
    PML_DECIMAL_ENDLESS
} pml_decimal_result;
/* a / b at the same scale. ENDLESS: the exact quotient has no end (1/3). */
pml_decimal_result pml_decimal__divide(pml_int128 *out, pml_int128 a, pml_int128 b, int32_t precision, int32_t scale);

#endif
