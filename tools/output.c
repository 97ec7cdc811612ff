/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_text.h"
#include "grid.h"

enum { PRINT_ROWS = 1024 /* rows whose text is in memory at a time */ };

int output_format_get(output_format *out, const args *a)
{
    const char *text = args_value(a, "format");
    *out = OUTPUT_TABLE;
    if (text == NULL || strcmp(text, "table") == 0)
        return EXIT_OK;
    if (strcmp(text, "json") == 0)
        *out = OUTPUT_JSON;
    else if (strcmp(text, "csv") == 0)
        *out = OUTPUT_CSV;
    else
        return args_wrong(a->command, "--format is table, json or csv, not \"%s\"", text);
    return EXIT_OK;
}

/* ---- cells ---- */

struct output {
    output_format format;
    const output_column *columns;
    size_t n, at; /* at: column of the next cell */
    grid *grid;
};

static void put_csv(const char *text)
{
    if (text[0] != '\0' && strpbrk(text, "\",\r\n") == NULL) {
        app_puts(text);
        return;
    }
    app_puts("\"");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"')
            app_puts("\"");
        app_write(p, 1);
    }
    app_puts("\"");
}

static void put_json_string(const char *text)
{
    json_t *v = json_string(text);
    char *out = v == NULL ? NULL : json_dumps(v, JSON_ENCODE_ANY);
    app_puts(out == NULL ? "null" : out); /* only text that is no UTF-8 has no JSON form */
    free(out);
    json_decref(v);
}

output *output_new(output_format format, const output_column *columns, size_t n)
{
    output *o = app_alloc(sizeof *o);
    *o = (output){.format = format, .columns = columns, .n = n};
    if (format == OUTPUT_TABLE) {
        o->grid = grid_new(n);
        for (size_t i = 0; i < n; i++)
            grid_set_column(o->grid, i, columns[i].name, columns[i].number);
    } else if (format == OUTPUT_CSV) {
        for (size_t i = 0; i < n; i++) {
            if (i > 0)
                app_puts(",");
            put_csv(columns[i].name);
        }
        app_puts("\n");
    }
    return o;
}

void output_cell(output *o, const char *text)
{
    const output_column *column = &o->columns[o->at];
    bool first = o->at == 0, last = o->at + 1 == o->n;
    switch (o->format) {
    case OUTPUT_TABLE: grid_cell(o->grid, text == NULL ? "null" : text, strlen(text == NULL ? "null" : text)); break;
    case OUTPUT_JSON:
        app_puts(first ? "{" : ",");
        put_json_string(column->name);
        app_puts(":");
        if (text == NULL || column->number)
            app_puts(text == NULL ? "null" : text);
        else
            put_json_string(text);
        app_puts(last ? "}\n" : "");
        break;
    case OUTPUT_CSV:
        if (!first)
            app_puts(",");
        if (text != NULL)
            put_csv(text);
        if (last)
            app_puts("\n");
        break;
    }
    o->at = last ? 0 : o->at + 1;
}

void output_cell_int(output *o, int64_t v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, v);
    output_cell(o, text);
}

void output_end(output *o)
{
    if (o->grid != NULL)
        grid_end(o->grid);
    free(o);
    app_flush();
}

/* ---- streams ---- */

int output_next(struct ArrowArrayStream *stream, struct ArrowArray *array, pml_error *err)
{
    memset(array, 0, sizeof *array);
    int e = stream->get_next(stream, array);
    if (e == 0)
        return PML_OK;
    int rc = pml_stream_error(stream, err);
    array->release = NULL;
    return rc == PML_OK ? PML_E_IO : rc;
}

static int print_lines(pml_rows_printer *printer, const struct ArrowArray *array, int64_t first, int64_t n_rows, pml_error *err)
{
    int rc = PML_OK;
    pml_text text = {0};
    for (int64_t row = first, end = first + n_rows; row < end && rc == PML_OK; row += PRINT_ROWS) {
        int64_t n = end - row < PRINT_ROWS ? end - row : PRINT_ROWS;
        text.len = 0;
        rc = pml_rows_print(&text, printer, array, row, n, err);
        if (rc == PML_OK)
            app_write(text.ptr, text.len);
    }
    pml_text_clear(&text);
    return rc;
}

static int print_cells(grid *g, pml_rows_printer *printer, const struct ArrowArray *array, int64_t first, int64_t n, pml_error *err)
{
    int rc = PML_OK;
    pml_text text = {0};
    for (int64_t row = first; row < first + n && rc == PML_OK; row++)
        for (int64_t column = 0; column < array->n_children && rc == PML_OK; column++) {
            text.len = 0;
            rc = pml_rows_print_cell(&text, printer, array, row, column, err);
            if (rc == PML_OK)
                grid_cell(g, text.ptr, text.len);
        }
    pml_text_clear(&text);
    return rc;
}

static grid *grid_of_schema(const struct ArrowSchema *schema)
{
    grid *g = grid_new((size_t)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++)
        grid_set_column(g, (size_t)i, schema->children[i]->name, arrow_is_number(schema->children[i]));
    return g;
}

static void put_csv_header(const struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (i > 0)
            app_puts(",");
        put_csv(schema->children[i]->name);
    }
    app_puts("\n");
}

struct output_rows {
    pml_rows_printer *printer;
    grid *grid; /* NULL: lines */
};

int output_rows_new(output_rows **out, struct app *app, const struct ArrowSchema *schema, output_format format, pml_error *err)
{
    output_rows *o = *out = app_alloc(sizeof *o);
    *o = (output_rows){0};
    int rc = pml_rows_printer_new(&o->printer, app->env, schema, format == OUTPUT_CSV ? PML_ROWS_CSV : PML_ROWS_JSON | PML_ROWS_NO_KIND, err);
    if (rc == PML_OK && format == OUTPUT_TABLE)
        o->grid = grid_of_schema(schema);
    else if (rc == PML_OK && format == OUTPUT_CSV)
        put_csv_header(schema);
    return rc;
}

int output_rows_put(output_rows *o, const struct ArrowArray *array, int64_t first, int64_t n, pml_error *err)
{
    return o->grid != NULL ? print_cells(o->grid, o->printer, array, first, n, err) : print_lines(o->printer, array, first, n, err);
}

void output_rows_flush(output_rows *o)
{
    if (o->grid != NULL)
        grid_flush(o->grid);
    app_flush();
}

void output_rows_end(output_rows *o)
{
    if (o == NULL)
        return;
    if (o->grid != NULL)
        grid_end(o->grid);
    pml_rows_printer_free(o->printer);
    free(o);
    app_flush();
}

int output_stream(struct app *app, struct ArrowArrayStream *stream, output_format format)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    output_rows *rows = NULL;
    int rc = stream->get_schema(stream, &schema) == 0 ? PML_OK : pml_stream_error(stream, &err);
    if (rc == PML_OK)
        rc = output_rows_new(&rows, app, &schema, format, &err);
    while (rc == PML_OK && (rc = output_next(stream, &array, &err)) == PML_OK && array.release != NULL) {
        rc = output_rows_put(rows, &array, 0, array.length, &err);
        array.release(&array);
    }
    output_rows_end(rows);
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream->release != NULL)
        stream->release(stream);
    return rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
}
