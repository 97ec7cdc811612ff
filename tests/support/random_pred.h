/* SPDX-License-Identifier: Apache-2.0 */
/* Random predicates over fields, with literals of the same small domain as random_array. */
#ifndef PML_TESTS_RANDOM_PRED_H
#define PML_TESTS_RANDOM_PRED_H

#include "columnar/predicate.h"
#include "support/test_env.h"

/* depth 0: one comparison. Memory comes from the arena. */
pml_pred *random_pred(test_env *t, pml_arena *arena, const pml_field *fields, size_t n, int depth);

#endif
