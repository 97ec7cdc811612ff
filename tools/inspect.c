/* SPDX-License-Identifier: Apache-2.0 */
/* pml snapshots, files, offsets, schema: what a table's metadata says. */
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

/* ---- offsets ---- */

/* "a/b" of the partition values; malloc'ed. */
static char *partition_text(const pml_rt_pb *pb)
{
    size_t n = 1;
    for (size_t i = 0; i < pb->n_partition; i++)
        n += strlen(pb->partition[i]) + 1;
    char *text = app_alloc(n), *to = text;
    for (size_t i = 0; i < pb->n_partition; i++) {
        size_t len = strlen(pb->partition[i]);
        if (i > 0)
            *to++ = '/';
        memcpy(to, pb->partition[i], len);
        to += len;
    }
    *to = '\0';
    return text;
}

static int print_offsets(const pml_rt_offsets *offsets, output_format format, pml_error *err)
{
    static const output_column columns[] = {
        {"partition", false}, {"bucket", true}, {"tiered", true}, {"state", false}, {"lineage", false}};
    output *o = output_new(format, columns, sizeof columns / sizeof *columns);
    int rc = PML_OK;
    for (size_t i = 0; i < pml_rt_offsets_count(offsets) && rc == PML_OK; i++) {
        pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
        rc = pml_rt_offsets_get(&info, offsets, i, err);
        if (rc != PML_OK)
            break;
        char *partition = partition_text(info.pb);
        output_cell(o, partition);
        output_cell_int(o, info.pb->bucket);
        if (info.lost)
            output_cell(o, NULL);
        else
            output_cell_int(o, info.tiered);
        output_cell(o, info.lost ? "lost" : info.reset ? "reset" : "ok");
        output_cell(o, info.lineage[0] == '\0' ? NULL : info.lineage);
        free(partition);
    }
    output_end(o);
    return rc;
}

static int run_offsets(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *offsets = NULL;
    output_format format;
    pml_table *table = NULL;
    int64_t snapshot = -1;
    int code = output_format_get(&format, a);
    if (code == EXIT_OK)
        code = args_int64(&snapshot, a, "snapshot", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK) {
        int rc = pml_rt_offsets_load(&offsets, table, snapshot, &err);
        if (rc == PML_OK)
            rc = print_offsets(offsets, format, &err);
        if (rc != PML_OK)
            code = app_fail(rc, &err);
    }
    pml_rt_offsets_free(offsets);
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

const command command_offsets = {
    .name = "offsets",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Show up to which offset each partition-bucket is in the table: where a source must go on.",
    .details = "tiered is exclusive: rows with offsets below it are in data files of the snapshot. state: ok; lost (no "
               "offset can\n"
               "be told: repair); reset (an overwrite began anew).\n",
    .examples = "  pml offsets events\n"
                "  pml offsets events --snapshot 12 --format json\n",
    .options = options_snapshot,
    .run = run_offsets};

const command command_schema = {.name = "schema",
                                .operands = "TABLE",
                                .operands_min = 1,
                                .operands_max = 1,
                                .summary = "Print a table's schema file (JSON).",
                                .examples = "  pml schema flights\n"
                                            "  pml schema flights | python3 -m json.tool\n",
                                .options = options_schema,
                                .run = run_schema};
