/* SPDX-License-Identifier: Apache-2.0 */
/* Random types and arrays (offsets anywhere, known and unknown null counts, garbage in null rows), and row-wise comparison. */
#ifndef PML_TESTS_RANDOM_BATCH_H
#define PML_TESTS_RANDOM_BATCH_H

#include "columnar/batch.h"
#include "support/test_env.h"

/* A random type; depth 0: atomic. Memory comes from the arena. */
pml_type random_type(test_env *t, pml_arena *arena, int depth);
/* n fields "c0".. with ids 0..n-1; depth as above. Every atomic kind comes first while n lasts when all_kinds is set. */
pml_field *random_fields(test_env *t, pml_arena *arena, size_t n, int depth, bool all_kinds);
/* `rows` visible rows. Nothing is null in NOT NULL columns; texts are valid UTF-8. Uses t->env's allocator. */
void random_array(struct ArrowArray *out, test_env *t, const pml_type *type, int64_t rows);
void random_batch(struct ArrowArray *out, test_env *t, const pml_field *fields, size_t n, int64_t rows);
/* A random value of an atomic type from the same small domain. Bytes live in the arena. */
pml_value random_value(test_env *t, pml_arena *arena, const pml_type *type);

/* Row a of x equals row b of y, value by value through pml_value__get. */
bool array_rows_equal(const struct ArrowArray *x, int64_t a, const struct ArrowArray *y, int64_t b,
                      const pml_type *type);
bool batch_rows_equal(const struct ArrowArray *x, int64_t a, const struct ArrowArray *y, int64_t b,
                      const pml_field *fields, size_t n);

#endif
