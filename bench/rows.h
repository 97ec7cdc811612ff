/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for measuring: eight columns, about 94 bytes a row in memory, the same on every machine. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <paimonlive/arrow_c.h>

enum { ROWS_COLUMNS = 8 };

/* "fields" of the table schema, as JSON. */
extern const char rows_fields_json[];
/* Rows with the ids first, first + 1, ...; returns 0, or -1 without memory. Owned: release. */
int rows_make(struct ArrowArray *out, int64_t first, int64_t n);

#endif
