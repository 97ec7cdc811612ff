/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups by text: keys in, rows as lines out. */
#ifndef PML_TESTS_LOOKUP_KIT_H
#define PML_TESTS_LOOKUP_KIT_H

#include <paimonlive/lookup.h>
#include <paimonlive/realtime.h>

#include "support/test_env.h"

/* ctx NULL: disk only. columns NULL: all. */
pml_lookup *lookup_kit_open(pml_table *t, pml_rt_context *ctx, const char *const *columns, size_t n_columns);
/* Row i of *out is that of key i; keys are texts, key after key. */
int lookup_kit_ask(struct ArrowArray *out, pml_lookup *l, const char *const *keys, size_t n_texts, pml_error *err);
bool lookup_kit_is_found(const struct ArrowArray *rows, int64_t i);
/* The rows of n keys as JSON lines without line end, NULL where there is none; malloc'ed, and the list too. keys: texts, key after key. */
char **lookup_kit_get(pml_lookup *l, pml_env *env, const char *const *keys, size_t n_texts, size_t n);
int lookup_kit_try(char ***out, pml_lookup *l, pml_env *env, const char *const *keys, size_t n_texts, size_t n, pml_error *err);
void lookup_kit_free(char **lines, size_t n);

#endif
