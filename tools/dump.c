/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pml dump: every row as a canonical line, sorted by bytes: two dumps are equal exactly when the tables hold the same rows. The
 * arguments are those of the Java oracle's dump, so that both can be asked the same thing. What this version cannot read is
 * refused with exit code 3, never half read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "filter.h"
#include "output.h"
#include "scan.h"

typedef struct lines {
    char *text;
    size_t len, cap;
    size_t *starts;
    size_t n, cap_starts;
} lines;

typedef struct line {
    const char *text;
    size_t len;
} line;

static void lines_add(lines *l, const char *text, size_t len)
{
    while (l->cap - l->len < len) {
        l->cap = l->cap == 0 ? 1 << 20 : l->cap * 2;
        l->text = app_realloc(l->text, l->cap);
    }
    if (len > 0)
        memcpy(l->text + l->len, text, len);
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        if (l->n == l->cap_starts) {
            l->cap_starts = l->cap_starts == 0 ? 4096 : l->cap_starts * 2;
            l->starts = app_realloc(l->starts, l->cap_starts * sizeof *l->starts);
        }
        l->starts[l->n++] = l->len + at;
        at = end == NULL ? len : (size_t)(end - text) + 1;
    }
    l->len += len;
}

static int line_compare(const void *a, const void *b)
{
    const line *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp(x->text, y->text, n);
    if (c != 0)
        return c;
    return x->len == y->len ? 0 : x->len < y->len ? -1 : 1;
}

static void lines_print_sorted(const lines *l)
{
    line *sorted = app_alloc(l->n * sizeof *sorted);
    for (size_t i = 0; i < l->n; i++) {
        size_t end = i + 1 < l->n ? l->starts[i + 1] : l->len;
        sorted[i] = (line){l->text + l->starts[i], end - l->starts[i] - 1}; /* without the line end */
    }
    qsort(sorted, l->n, sizeof *sorted, line_compare);
    for (size_t i = 0; i < l->n; i++) {
        app_write(sorted[i].text, sorted[i].len);
        app_puts("\n");
    }
    free(sorted);
}

/* Prints at once, or collects. */
static int dump_stream(struct app *app, struct ArrowArrayStream *stream, lines *collect, pml_error *err)
{
    enum { ROWS = 1024 };
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    pml_rows_printer *printer = NULL;
    pml_text text = {0};
    int rc = stream->get_schema(stream, &schema) == 0 ? PML_OK : pml_stream_error(stream, err);
    if (rc == PML_OK)
        rc = pml_rows_printer_new(&printer, app->env, &schema, PML_ROWS_JSON, err);
    while (rc == PML_OK && (rc = output_next(stream, &array, err)) == PML_OK && array.release != NULL) {
        for (int64_t row = 0; row < array.length && rc == PML_OK; row += ROWS) {
            text.len = 0;
            rc =
                pml_rows_print(&text, printer, &array, row, array.length - row < ROWS ? array.length - row : ROWS, err);
            if (rc == PML_OK && collect != NULL)
                lines_add(collect, text.ptr, text.len);
            else if (rc == PML_OK)
                app_write(text.ptr, text.len);
        }
        array.release(&array);
    }
    pml_text_clear(&text);
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

/* Prints and releases the stream. */
static int dump_rows(struct app *app, struct ArrowArrayStream *stream, bool sorted)
{
    pml_error err = PML_ERROR_INIT;
    lines l = {0};
    int rc = dump_stream(app, stream, sorted ? &l : NULL, &err);
    if (rc == PML_OK && sorted)
        lines_print_sorted(&l);
    app_flush();
    stream->release(stream);
    free(l.starts);
    free(l.text);
    return rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
}

static int dump(struct app *app, pml_scan *scan, int64_t threads, bool sorted)
{
    pml_read_options options = PML_READ_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    options.flags = PML_READ_ROW_KIND;
    options.threads = (uint32_t)threads;
    int rc = pml_scan_plan(&plan, scan, &err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, &options, &err);
    pml_plan_free(plan); /* the stream holds what it needs */
    return rc == PML_OK ? dump_rows(app, &stream, sorted) : app_fail(rc, &err);
}

static int dump_system(struct app *app, const args *a, scan_request *request)
{
    pml_system_options options = PML_SYSTEM_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream = {0};
    const char *columns = args_value(a, "columns"), *system = args_value(a, "system");
    pml_table *table = NULL;
    pml_predicate *predicate = NULL;
    char **names = NULL;
    size_t n = 0;
    if (args_has(a, "snapshot") || args_has(a, "tag") || args_has(a, "timestamp") || args_has(a, "watermark"))
        return args_wrong(a->command, "--system goes with --columns, --filter, --branch and --option (such as scan.snapshot-id=3) only");
    int code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK && request->where != NULL)
        code = scan_where(&predicate, table, system, request);
    if (columns != NULL) {
        n = app_split_list(&names, columns);
        options.columns = (const char *const *)names;
        options.n_columns = n;
    }
    options.predicate = predicate;
    options.flags = strcmp(system, "ro") == 0 ? PML_READ_ROW_KIND : 0;
    int rc = code == EXIT_OK ? pml_system_table_open(&stream, table, system, &options, &err) : PML_OK;
    if (code == EXIT_OK)
        code = rc == PML_OK ? dump_rows(app, &stream, !args_has(a, "unsorted")) : app_fail(rc, &err);
    pml_predicate_free(predicate);
    if (names != NULL)
        app_list_free(names, n);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static int run_dump(struct app *app, const args *a)
{
    scan_request request = {.limit = -1};
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    int64_t threads = 1;
    int code = args_int64(&threads, a, "threads", 1, PML_READ_THREADS_MAX);
    if (code != EXIT_OK)
        return code;
    if (args_value(a, "filter") != NULL && (request.where = filter_parse(args_value(a, "filter"))) == NULL)
        return EXIT_USAGE;
    if (args_has(a, "system")) {
        code = dump_system(app, a, &request);
        where_free(request.where);
        return code;
    }
    code = moment_get(&request.moment, a);
    if (code != EXIT_OK) {
        where_free(request.where);
        return code;
    }
    request.columns = args_value(a, "columns");
    code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = scan_new(&scan, table, &request);
    if (code == EXIT_OK)
        code = dump(app, scan, threads, !args_has(a, "unsorted"));
    pml_scan_free(scan);
    if (table != NULL)
        pml_table_release(table);
    where_free(request.where);
    return code;
}

static const args_option dump_options[] = {{"columns", "a,b", "columns, in this order (default: all)"},
                                           {"filter", "PREDICATE", "rows that match, in JSON: {\"eq\":[\"id\",7]}"},
                                           OPTION_MOMENT,
                                           {"threads", "N", "read with N threads"},
                                           {"branch", "NAME", "a branch of the table"},
                                           {"system", "NAME", "a system table: snapshots, schemas, files, audit_log, ..."},
                                           {"option", "KEY=VALUE", "a table option for this command; may be repeated"},
                                           {"unsorted", NULL, "print rows as they are read"},
                                           OPTION_WAREHOUSE,
                                           {NULL, NULL, NULL}};

const command command_dump = {
    .name = "dump",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Print all rows in canonical form, sorted by bytes: for comparing tables.",
    .details = "PREDICATE: {\"and\":[..]}, {\"or\":[..]}, {\"eq\":[\"column\",value]} with eq ne lt le gt ge prefix,\n"
               "{\"in\":[\"column\",[..]]}, {\"isnull\":[\"column\"]}, {\"notnull\":[\"column\"]}. The form of rows "
               "and values is\n"
               "described in docs/rows.md.\n",
    .examples = "  pml dump flights | sha256sum\n"
                "  pml dump flights --snapshot 3 --filter '{\"gt\":[\"delay\",60]}'\n",
    .options = dump_options,
    .run = run_dump};
