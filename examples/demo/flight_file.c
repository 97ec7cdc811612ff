/* SPDX-License-Identifier: Apache-2.0 */
#include "flight_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "tables.h"

enum { DAY_MINUTES = 24 * 60 };

/* Where the columns of a batch of the file are; -1: the file has no such column. */
typedef struct file_columns {
    int64_t year, of[FLIGHT_COLUMNS];
} file_columns;

static int64_t find_column(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return i;
    return -1;
}

static bool is_null(const struct ArrowArray *a, int64_t at)
{
    const uint8_t *valid = a->buffers[0];
    return valid != NULL && (valid[at / 8] >> (at % 8) & 1) == 0;
}

static bool read_value(void *member, const struct ArrowArray *a, int64_t row, flight_type type)
{
    int64_t at = row + a->offset;
    if (is_null(a, at))
        return true;
    if (type == TYPE_INT) {
        memcpy(member, (const int32_t *)a->buffers[1] + at, sizeof(int32_t));
        return true;
    }
    const int32_t *ends = a->buffers[1];
    size_t len = (size_t)(ends[at + 1] - ends[at]);
    if (len >= sizeof(((flight *)0)->carrier))
        return false;
    memcpy(member, (const char *)a->buffers[2] + ends[at], len);
    return true;
}

static int32_t minutes_of(int32_t clock)
{
    return clock / 100 * 60 + clock % 100;
}

/* As of when the last reports are. Those of an arrival go by the clock at its airport. */
static void set_times(flight *f, int32_t year)
{
    struct tm day = {.tm_year = year - 1900, .tm_mon = f->month - 1, .tm_mday = f->day};
    if (f->dep_time == FLIGHT_NO_INT || f->dep_delay == FLIGHT_NO_INT)
        return;
    f->dep_as_of = (int64_t)timegm(&day) * 1000 + (minutes_of(f->sched_dep_time) + f->dep_delay) * INT64_C(60000);
    if (f->arr_time == FLIGHT_NO_INT)
        return;
    int32_t flown = minutes_of(f->arr_time) - minutes_of(f->dep_time);
    f->arr_as_of = f->dep_as_of + ((flown + DAY_MINUTES) % DAY_MINUTES) * INT64_C(60000);
}

static int add_flights(flight_file *to, const struct ArrowArray *batch, const file_columns *columns, pml_error *err)
{
    flight *more = realloc(to->v, sizeof *more * (size_t)(to->n + batch->length));
    if (more == NULL)
        return error_no_memory(err);
    to->v = more;
    for (int64_t row = batch->offset; row < batch->offset + batch->length; row++) {
        flight *f = &to->v[to->n];
        int32_t year = 1970;
        *f = flight_unknown();
        f->row_number = to->n++;
        bool ok = read_value(&year, batch->children[columns->year], row, TYPE_INT);
        for (int c = 0; ok && c < FLIGHT_COLUMNS; c++)
            if (columns->of[c] >= 0)
                ok = read_value((char *)f + flight_columns[c].at, batch->children[columns->of[c]], row,
                                flight_columns[c].type);
        if (!ok)
            return error_set(err, PML_E_LIMIT, "row %lld of the file has a text longer than the demo has room for",
                             (long long)f->row_number);
        set_times(f, year);
    }
    return PML_OK;
}

static int read_flights(flight_file *to, struct ArrowArrayStream *rows, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    file_columns columns;
    if (rows->get_schema(rows, &schema) != 0)
        return pml_stream_error(rows, err);
    columns.year = find_column(&schema, "year");
    for (int c = 0; c < FLIGHT_COLUMNS; c++) {
        flight_type type = flight_columns[c].type;
        columns.of[c] = type == TYPE_INT || type == TYPE_TEXT ? find_column(&schema, flight_columns[c].name) : -1;
    }
    schema.release(&schema);
    for (;;) {
        if (rows->get_next(rows, &batch) != 0)
            return pml_stream_error(rows, err);
        if (batch.release == NULL)
            return PML_OK;
        int rc = add_flights(to, &batch, &columns, err);
        batch.release(&batch);
        if (rc != PML_OK)
            return rc;
    }
}

int flight_file_load(flight_file *to, pml_env *env, const char *warehouse, const char *csv, pml_error *err)
{
    pml_table *table = NULL;
    struct ArrowArrayStream rows = {0};
    pml_rows_options options = PML_ROWS_OPTIONS_INIT;
    options.format = PML_ROWS_CSV;
    options.csv_null = "NA";
    *to = (flight_file){0};
    int rc = table_open(&table, &table_flights, env, warehouse, err); /* it has the columns of the file */
    if (rc == PML_OK)
        rc = pml_rows_open(&rows, table, csv, &options, err);
    if (rc == PML_OK)
        rc = read_flights(to, &rows, err);
    if (rows.release != NULL)
        rows.release(&rows);
    pml_table_release(table);
    return rc;
}
