/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on standard output as a table, JSON lines or CSV: whole Arrow streams, or cells that the command made itself. */
#ifndef PML_TOOLS_OUTPUT_H
#define PML_TOOLS_OUTPUT_H

#include "app.h"

typedef enum output_format { OUTPUT_TABLE = 1, OUTPUT_JSON, OUTPUT_CSV } output_format;

/* From --format; the table when it is absent. EXIT_OK or EXIT_USAGE. */
int output_format_get(output_format *out, const args *a);

/* Prints every row and releases the stream. EXIT_OK or an exit code, said already. */
int output_stream(struct app *app, struct ArrowArrayStream *stream, output_format format);
/* Rows of one schema that come in pieces. *out is to be ended, also after a failure. */
typedef struct output_rows output_rows;
int output_rows_new(output_rows **out, struct app *app, const struct ArrowSchema *schema, output_format format, pml_error *err);
int output_rows_put(output_rows *o, const struct ArrowArray *array, int64_t first, int64_t n, pml_error *err);
/* Shows those that came so far. */
void output_rows_flush(output_rows *o);
void output_rows_end(output_rows *o); /* NULL allowed */
/* The next batch; the library's full error on failure. array->release is NULL at the end. */
int output_next(struct ArrowArrayStream *stream, struct ArrowArray *array, pml_error *err);

typedef struct output_column {
    const char *name;
    bool number; /* at the right, bare in JSON */
} output_column;

typedef struct output output;
output *output_new(output_format format, const output_column *columns,
                   size_t n);                  /* columns are borrowed until the end */
void output_cell(output *o, const char *text); /* NULL: null; row by row */
void output_cell_int(output *o, int64_t v);
void output_end(output *o);

#endif
