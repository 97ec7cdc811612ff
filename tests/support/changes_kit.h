/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of Java (tests/tables) as they are read for their changes: opened with options, copied, read into lines. */
#ifndef PML_TESTS_CHANGES_KIT_H
#define PML_TESTS_CHANGES_KIT_H

#include "support/rows_kit.h"

/* options: pairs of key and value, NULL behind the last. Fails the test, or returns the code. */
int changes_try_open(pml_table **out, test_env *t, const char *path, const char *const *options, pml_error *err);
pml_table *changes_open(test_env *t, const char *name, const char *const *options);
/* A copy of one, in the test's directory; and that of one, to change. */
const char *changes_copy(test_env *t, const char *name);
/* Every row with its kind, as JSON lines that are appended to text (NULL: only counted). */
int changes_read(pml_text *text, int64_t *rows, pml_plan *plan, uint32_t threads, pml_error *err);
/* Sorts the lines of a text in place. */
void changes_sort(pml_text *text);
/* The text against a file of tests/tables. */
void changes_must_be(const pml_text *text, const char *expected);

#endif
