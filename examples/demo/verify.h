/* SPDX-License-Identifier: Apache-2.0 */
/* Proof that a table holds the expected rows, each exactly once, every column equal. */
#ifndef DEMO_VERIFY_H
#define DEMO_VERIFY_H

#include "expected.h"
#include "tables.h"

/* Compares the table's rows, printed as CSV, with those that expect() makes of the file. Exit code; prints what it found. */
int verify_run(const demo_table *table, bool (*expect)(expected *e, const char *warehouse, const char *csv),
               const char *warehouse, const char *csv);

#endif
