/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow arrays for tests, over malloc and without the library: made at random from a schema, compared value by value. */
#ifndef PML_TESTS_TEST_ARROW_H
#define PML_TESTS_TEST_ARROW_H

#include <paimonlive/arrow_c.h>

#include "support/test_env.h"

/* A field with PARQUET:field_id metadata; children (n of them) are moved in. */
struct ArrowSchema test_field(const char *format, const char *name, int id, bool nullable, size_t n,
                              struct ArrowSchema *children);
/* The same below a list of fields: the top-level struct. */
struct ArrowSchema test_struct(size_t n, struct ArrowSchema *fields);
/* n rows at random, a fifth of nullable items null. */
struct ArrowArray test_random_array(test_env *t, const struct ArrowSchema *schema, int64_t n);
/* A struct of one column of 8-byte or 4-byte values. */
struct ArrowArray test_fixed_array(size_t width, int64_t n, const void *values);
struct ArrowArray test_text_array(int64_t n, const char *const *values); /* NULL: null */
struct ArrowArray test_struct_array(int64_t n, size_t n_children, struct ArrowArray *children);
/* Compares item ia of a with item ib of b. A list equals a fixed-size list of the same elements. */
bool test_item_equal(const struct ArrowSchema *sa, const struct ArrowArray *a, int64_t ia, const struct ArrowSchema *sb,
                     const struct ArrowArray *b, int64_t ib);
/* The decimal PARQUET:field_id of a field; -1: none. */
int test_field_id(const struct ArrowSchema *schema);

#endif
