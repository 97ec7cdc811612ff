/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's table: flights of one year, partitioned by month, four buckets, real-time with the row number as offset. */
#ifndef DEMO_FLIGHTS_H
#define DEMO_FLIGHTS_H

#include <paimonlive/paimonlive.h>

/* Columns of the file, then row_number, which the file does not have: the number of the row in it. */
enum { FLIGHTS_COLUMNS = 20, FLIGHTS_ROW_NUMBER = FLIGHTS_COLUMNS - 1 };

/* Makes the table anew in the warehouse; what was there is dropped. */
int flights_create(pml_env *env, const char *warehouse, pml_error *err);
int flights_open(pml_table **out, pml_env *env, const char *warehouse, pml_error *err);
/* Rows of the latest snapshot; 0 without one. */
int flights_count(int64_t *rows, pml_table *table, pml_error *err);

#endif
