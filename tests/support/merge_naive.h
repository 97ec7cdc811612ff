/* SPDX-License-Identifier: Apache-2.0 */
/* The naive merge of merge_kit.h: values, one sort of all rows, a fold of each key. */
#ifndef PML_TESTS_MERGE_NAIVE_H
#define PML_TESTS_MERGE_NAIVE_H

#include "support/merge_kit.h"

/* The rows of a batch in the order of a run, as a list that ends with -1; free it. distinct: only one row of each key. */
int64_t *naive_sort(const merge_world *w, const struct ArrowArray *batch, bool distinct);
naive_result *naive_merge(const merge_world *w);
void naive_free(naive_result *r);
int naive_code(const naive_result *r); /* PML_OK, or that the merge must fail with */
int64_t naive_rows(const naive_result *r);
/* Fails the test where the rows of out are not those of the result from `at` on. */
void naive_compare_batch(const naive_result *r, const merge_world *w, int64_t at, const struct ArrowArray *out);
/* A merge function that uses all of the output's calls; what it does depends on the number of rows and the column only. */
int naive_decide(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err);

#endif
