/* SPDX-License-Identifier: Apache-2.0 */
/* pml snapshots, files, schema: what a table's metadata says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "output.h"

/* ---- snapshots and files ---- */

static int run_snapshots(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream = {0};
    output_format format;
    pml_table *table = NULL;
    int code = output_format_get(&format, a);
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK) {
        int rc = pml_table_snapshots(&stream, table, &err);
        code = rc == PML_OK ? output_stream(app, &stream, format) : app_fail(rc, &err);
    }
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static int run_files(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream = {0};
    output_format format;
    pml_table *table = NULL;
    int64_t snapshot = -1;
    int code = output_format_get(&format, a);
    if (code == EXIT_OK)
        code = args_int64(&snapshot, a, "snapshot", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK) {
        int rc = pml_table_files(&stream, table, snapshot, &err);
        code = rc == PML_OK ? output_stream(app, &stream, format) : app_fail(rc, &err);
    }
    if (table != NULL)
        pml_table_release(table);
    return code;
}

/* ---- schema ---- */

static int run_schema(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_table *table = NULL;
    pml_text text = {0};
    int code = app_table_open(&table, app, a, a->operand[0]);
    if (code != EXIT_OK)
        return code;
    int rc = pml_table_schema_json(&text, table, &err);
    if (rc == PML_OK) {
        app_write(text.ptr, text.len);
        if (text.len == 0 || text.ptr[text.len - 1] != '\n')
            app_puts("\n");
    } else {
        code = app_fail(rc, &err);
    }
    pml_text_clear(&text);
    pml_table_release(table);
    return code;
}

static const args_option options_plain[] = {
    OPTION_FORMAT, {"branch", "NAME", "a branch of the table"}, OPTION_WAREHOUSE, {NULL, NULL, NULL}};
static const args_option options_snapshot[] = {{"snapshot", "N", "as of snapshot N (default: the latest)"},
                                               OPTION_FORMAT,
                                               {"branch", "NAME", "a branch of the table"},
                                               OPTION_WAREHOUSE,
                                               {NULL, NULL, NULL}};
static const args_option options_schema[] = {
    {"branch", "NAME", "a branch of the table"}, OPTION_WAREHOUSE, {NULL, NULL, NULL}};

const command command_snapshots = {.name = "snapshots",
                                   .operands = "TABLE",
                                   .operands_min = 1,
                                   .operands_max = 1,
                                   .summary = "List the snapshots of a table, oldest first.",
                                   .examples = "  pml snapshots flights\n"
                                               "  pml snapshots flights --format json | tail -1\n",
                                   .options = options_plain,
                                   .run = run_snapshots};

const command command_files = {.name = "files",
                               .operands = "TABLE",
                               .operands_min = 1,
                               .operands_max = 1,
                               .summary = "List the live data files of a snapshot.",
                               .examples = "  pml files flights\n"
                                           "  pml files flights --snapshot 3 --format csv\n",
                               .options = options_snapshot,
                               .run = run_files};

const command command_schema = {.name = "schema",
                                .operands = "TABLE",
                                .operands_min = 1,
                                .operands_max = 1,
                                .summary = "Print a table's schema file (JSON).",
                                .examples = "  pml schema flights\n"
                                            "  pml schema flights | python3 -m json.tool\n",
                                .options = options_schema,
                                .run = run_schema};
