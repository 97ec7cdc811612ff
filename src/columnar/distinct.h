/* SPDX-License-Identifier: Apache-2.0 */
/* How many values of a column differ, roughly: whether a dictionary of it can be worth its while. */
#ifndef PML_COLUMNAR_DISTINCT_H
#define PML_COLUMNAR_DISTINCT_H

#include "columnar/batch.h"

/*
 * outgrows[i]: the values of column i differ so much in the rows of these n_batches that a dictionary of dictionary_bytes must overflow soon: all
 * work on it would be for nothing. false when there are too few rows to tell, and for nested columns.
 */
int pml_distinct__outgrows(uint8_t *outgrows, pml_env *env, const pml_field *fields, size_t n,
                           const struct ArrowArray *batches, size_t n_batches, int64_t dictionary_bytes, pml_error *err);

#endif
