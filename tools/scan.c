/* SPDX-License-Identifier: Apache-2.0 */
/* pml scan and pml count. */
#include "scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "output.h"
#include "where.h"

/* ---- shared with dump ---- */

int scan_where(pml_predicate **out, pml_table *table, const char *system, const scan_request *request)
{
    const char *option = request->where_text != NULL ? "--where" : "--filter";
    pml_error err = PML_ERROR_INIT;
    where_error e;
    int rc = where_predicate(out, table, system, request->where, &e, &err);
    if (rc == PML_OK)
        return EXIT_OK;
    if (e.message[0] == '\0')
        return rc == PML_E_NOT_FOUND ? app_say(EXIT_NOT_FOUND, "%s: %s", option, err.message) : app_fail(rc, &err);
    if (request->where_text == NULL)
        return app_say(EXIT_USAGE, "%s: %s", option, e.message);
    where_report(request->where_text, &e);
    return EXIT_USAGE;
}

static int set_where(pml_scan *scan, const scan_request *request)
{
    pml_error err = PML_ERROR_INIT;
    pml_predicate *predicate = NULL;
    pml_table *table; /* names and types are those of the snapshot that is read, as in Java */
    int rc = pml_scan_table(&table, scan, &err);
    if (rc != PML_OK)
        return app_fail(rc, &err);
    int code = scan_where(&predicate, table, NULL, request);
    if (code == EXIT_OK)
        rc = pml_scan_set_predicate(scan, predicate, &err);
    pml_predicate_free(predicate);
    pml_table_release(table);
    return rc == PML_OK ? code : app_fail(rc, &err);
}

int scan_new(pml_scan **out, pml_table *table, const scan_request *request)
{
    pml_error err = PML_ERROR_INIT;
    int code = EXIT_OK;
    *out = NULL;
    int rc = pml_scan_new(out, table, &err);
    if (rc == PML_OK)
        rc = moment_set(*out, &request->moment, &err);
    if (rc == PML_OK && request->no_columns)
        rc = pml_scan_set_columns(*out, NULL, 0, &err);
    if (rc == PML_OK && request->columns != NULL) {
        char **names;
        size_t n = app_split_list(&names, request->columns);
        if (n == 0)
            code = app_say(EXIT_USAGE, "--columns \"%s\" names no column", request->columns);
        else
            rc = pml_scan_set_columns(*out, (const char *const *)names, n, &err);
        app_list_free(names, n);
    }
    if (rc == PML_OK && code == EXIT_OK && request->where != NULL)
        code = set_where(*out, request);
    if (rc == PML_OK && request->limit >= 0)
        rc = pml_scan_set_limit(*out, request->limit, &err);
    if (rc != PML_OK)
        code = app_fail(rc, &err);
    if (code == EXIT_OK)
        return EXIT_OK;
    pml_scan_free(*out);
    *out = NULL;
    return code;
}

/* ---- scan and count ---- */

static where_node *parse(const char *text)
{
    where_error e;
    where_node *node = where_parse(text, &e);
    if (node == NULL)
        where_report(text, &e);
    return node;
}

/* Several --where must all be true: "(a) AND (b)", the text in which mistakes are shown. Each is whole in itself. */
static int where_get(scan_request *request, const args *a)
{
    const char *text, *sep = "";
    size_t n = 1, count = 0;
    for (; (text = args_nth(a, "where", count)) != NULL; count++) {
        where_node *node = parse(text);
        if (node == NULL)
            return EXIT_USAGE;
        where_free(node);
        n += strlen(text) + sizeof "() AND ";
    }
    if (count == 0)
        return EXIT_OK;
    char *all = app_alloc(n);
    size_t len = 0;
    for (size_t i = 0; (text = args_nth(a, "where", i)) != NULL; i++, sep = " AND ")
        len += (size_t)snprintf(all + len, n - len, count == 1 ? "%s%s" : "%s(%s)", sep, text);
    request->where_text = all;
    request->where = parse(all);
    return request->where == NULL ? EXIT_USAGE : EXIT_OK;
}

static void request_clear(scan_request *request)
{
    where_free(request->where);
    free(request->where_text);
}

/* What both take from the command line. request_clear afterwards, in any case. */
static int request_get(scan_request *request, const args *a)
{
    *request = (scan_request){.limit = -1};
    int code = moment_get(&request->moment, a);
    if (code == EXIT_OK)
        code = args_int64(&request->limit, a, "limit", 0, INT64_MAX);
    if (code != EXIT_OK)
        return code;
    request->columns = args_value(a, "columns");
    return where_get(request, a);
}

static int print_plan(struct app *app, pml_scan *scan, int64_t threads, output_format format)
{
    pml_read_options options = PML_READ_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    int rc = pml_scan_plan(&plan, scan, &err);
    options.threads = (uint32_t)threads;
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, &options, &err);
    pml_plan_free(plan); /* the stream holds what it needs */
    return rc == PML_OK ? output_stream(app, &stream, format) : app_fail(rc, &err);
}

static int run_scan(struct app *app, const args *a)
{
    scan_request request;
    output_format format;
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    int64_t threads = 1;
    int code = output_format_get(&format, a);
    if (code == EXIT_OK)
        code = args_int64(&threads, a, "threads", 1, PML_READ_THREADS_MAX);
    if (code != EXIT_OK)
        return code;
    code = request_get(&request, a);
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = scan_new(&scan, table, &request);
    if (code == EXIT_OK)
        code = print_plan(app, scan, threads, format);
    pml_scan_free(scan);
    if (table != NULL)
        pml_table_release(table);
    request_clear(&request);
    return code;
}

static int run_count(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    scan_request request;
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    int64_t rows = 0;
    int code = request_get(&request, a);
    request.no_columns = true;
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = scan_new(&scan, table, &request);
    if (code == EXIT_OK) {
        int rc = pml_scan_plan(&plan, scan, &err);
        if (rc == PML_OK)
            rc = pml_plan_count(&rows, plan, &err);
        if (rc == PML_OK) {
            char line[32];
            (void)snprintf(line, sizeof line, "%" PRId64 "\n", rows);
            app_puts(line);
        } else {
            code = app_fail(rc, &err);
        }
    }
    pml_plan_free(plan);
    pml_scan_free(scan);
    if (table != NULL)
        pml_table_release(table);
    request_clear(&request);
    return code;
}

#define WHERE_DETAILS                                                                                                 \
    "SQL of --where: comparisons = <> < <= > >=, AND, OR, NOT, parentheses, IS [NOT] NULL, [NOT] IN (..),\n"          \
    "[NOT] BETWEEN a AND b, LIKE 'x%' '%x' '%x%' (NOT LIKE only without %); values 12, -0.5, 'it''s', TRUE,\n"  \
    "FALSE, NULL, DATE '2024-01-31', TIMESTAMP '2024-01-31 12:00:00'; columns bare, in `backticks` or in\n"             \
    "\"double quotes\". As in SQL a comparison with null is never true, under NOT neither. Of several --where all must be true.\n"

static const args_option scan_options[] = {{"columns", "a,b", "columns, in this order (default: all)"},
                                           {"where", "SQL", "rows for which this is true; may be repeated"},
                                           {"limit", "N", "at most N rows, any of them"},
                                           OPTION_MOMENT,
                                           {"threads", "N", "read with N threads; the order stays"},
                                           OPTION_FORMAT,
                                           {"branch", "NAME", "a branch of the table"},
                                           {"option", "KEY=VALUE", "a table option for this command; may be repeated"},
                                           OPTION_WAREHOUSE,
                                           {NULL, NULL, NULL}};

const command command_scan = {
    .name = "scan",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Print rows of a table.",
    .details = WHERE_DETAILS,
    .examples = "  pml scan flights --columns origin,dest --where \"day = DATE '2024-01-31'\" --limit 10\n"
                "  pml scan flights --timestamp 2024-01-31T12:00:00 --format csv > flights.csv\n",
    .options = scan_options,
    .run = run_scan};

static const args_option count_options[] = {{"where", "SQL", "only rows for which this is true; may be repeated"},
                                            OPTION_MOMENT,
                                            {"branch", "NAME", "a branch of the table"},
                                            {"option", "KEY=VALUE", "a table option for this command; may be repeated"},
                                            OPTION_WAREHOUSE,
                                            {NULL, NULL, NULL}};

const command command_count = {.name = "count",
                               .operands = "TABLE",
                               .operands_min = 1,
                               .operands_max = 1,
                               .summary = "Print the number of rows of a table.",
                               .details = WHERE_DETAILS,
                               .examples = "  pml count flights\n"
                                           "  pml count flights --where \"delay > 60 AND carrier IN ('AA', 'DL')\"\n",
                               .options = count_options,
                               .run = run_count};
