/* SPDX-License-Identifier: Apache-2.0 */
/* Types, values and Arrow columns for tests of the columnar layer. */
#ifndef PML_TESTS_TEST_TYPES_H
#define PML_TESTS_TEST_TYPES_H

#include "columnar/value.h"
#include "support/test_env.h"

/* The atomic types in the words of a schema file: "INT", "DECIMAL(20, 2)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "STRING". */
pml_type test_type(const char *text);
/* A random value of an atomic type, sometimes null; bytes are malloc'ed and kept until test_types_clear. */
pml_value test_value(test_env *t, const pml_type *type);
/* Values as an Arrow array of the canonical form, with `lead` rows before the first (array offset). Kept until
   test_types_clear. The values must fit the Arrow form. */
struct ArrowArray *test_column(const pml_type *type, const pml_value *values, int64_t n, int64_t lead);
/* A struct array over columns; kept likewise. */
struct ArrowArray *test_batch(struct ArrowArray **columns, int64_t n_columns, int64_t n);
void test_types_clear(void);

pml_value test_int(int64_t v);
pml_value test_bytes(const char *text);
pml_value test_decimal(int64_t unscaled);
pml_value test_timestamp(int64_t ms, int32_t nanos);

/* Lower-case hex of bytes against the expected text. */
void test_bytes_are(const uint8_t *p, size_t n, const char *hex);

#endif
