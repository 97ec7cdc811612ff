/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's two tables, both real-time, partitioned by month, with offsets of the caller:
 *
 *   flights        a row for each flight, as the file has them (no primary key)
 *   flight_status  the same flights by their key, which become complete report by report (partial updates)
 */
#ifndef DEMO_TABLES_H
#define DEMO_TABLES_H

#include <paimonlive/paimonlive.h>

/* Columns of the file, then row_number, which the file does not have: the number of the row in it. */
enum { FLIGHTS_COLUMNS = 20, FLIGHTS_ROW_NUMBER = FLIGHTS_COLUMNS - 1 };

typedef struct demo_table {
    const char *name, *schema_json;
} demo_table;

extern const demo_table table_flights, table_flight_status;

/* Makes the table anew in the warehouse; what was there is dropped. */
int table_create(const demo_table *t, pml_env *env, const char *warehouse, pml_error *err);
int table_open(pml_table **out, const demo_table *t, pml_env *env, const char *warehouse, pml_error *err);
/* Rows of the latest snapshot; 0 without one. */
int table_count(int64_t *rows, pml_table *table, pml_error *err);
/* _REALTIME_OFFSET, then the table's columns: what pml_rt_write wants of a table with external offsets. Returns owned. */
int table_write_schema(struct ArrowSchema *out, pml_table *table, pml_error *err);

#endif
