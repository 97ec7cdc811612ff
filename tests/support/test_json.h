/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tests/meta/data, and text as bytes. */
#ifndef PML_TESTS_TEST_JSON_H
#define PML_TESTS_TEST_JSON_H

#include "support/test_env.h"
#include "util/buf.h"
#include "util/bytes.h"

/* Reads tests/<path>; free the pointer with free(). */
pml_bytes test_data(const char *path);
pml_bytes test_text(const char *text);
/* The buffer holds exactly these bytes. */
void test_must_hold(const pml_buf *b, pml_bytes expected, const char *what);

#endif
