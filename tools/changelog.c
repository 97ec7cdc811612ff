/* SPDX-License-Identifier: Apache-2.0 */
/* pml changelog: what changed, snapshot by snapshot, as lines of JSON in the order of reading; the form is that of the Java oracle's changelog. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "output.h"
#include "scan.h"

enum { POLL_MS = 250, ROWS = 1024 };

typedef struct follow {
    struct app *app;
    pml_stream_scan *stream;
    int64_t to;         /* the last snapshot of interest; -1: no end */
    int64_t timeout_ms; /* without anything new; -1: none */
    bool waits, notifies;
} follow;

/* Every line begins with an object: the snapshot becomes its first member. */
static void print_lines(const char *text, size_t len, int64_t snapshot)
{
    char head[48];
    int n = snprintf(head, sizeof head, "{\"_snapshot\":%lld,", (long long)snapshot);
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t next = end == NULL ? len : (size_t)(end - text) + 1;
        app_write(head, (size_t)n);
        app_write(text + at + 1, next - at - 1);
        at = next;
    }
}

static int print_stream(struct app *app, struct ArrowArrayStream *stream, int64_t snapshot, pml_error *err)
{
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
            rc = pml_rows_print(&text, printer, &array, row, array.length - row < ROWS ? array.length - row : ROWS, err);
            if (rc == PML_OK)
                print_lines(text.ptr, text.len, snapshot);
        }
        array.release(&array);
    }
    pml_text_clear(&text);
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static int print_plan(const follow *f, pml_plan *plan, pml_error *err)
{
    pml_read_options options = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream = {0};
    options.flags = PML_READ_ROW_KIND;
    int rc = pml_read_open(&stream, plan, &options, err);
    if (rc == PML_OK)
        rc = print_stream(f->app, &stream, pml_plan_snapshot_id(plan), err);
    if (stream.release != NULL)
        stream.release(&stream);
    app_flush();
    return rc;
}

static bool reached(const follow *f)
{
    return f->to >= 0 && pml_stream_scan_checkpoint(f->stream) > f->to;
}

/* What was printed, or had nothing to print, is done with; next: the snapshot behind it. *noted is the last one told. */
static int note(const follow *f, int64_t *noted, int64_t next, pml_error *err)
{
    if (!f->notifies || next <= *noted)
        return PML_OK;
    *noted = next;
    return pml_stream_scan_notify(f->stream, next, err);
}

static int run_follow(const follow *f)
{
    pml_error err = PML_ERROR_INIT;
    int64_t idle_ms = 0, noted = -1;
    int rc = PML_OK;
    while (rc == PML_OK && !reached(f)) {
        pml_plan *plan = NULL;
        int64_t stood = pml_stream_scan_checkpoint(f->stream);
        rc = pml_stream_scan_next(&plan, f->stream, &err);
        if (rc == PML_OK && plan == NULL) {
            rc = note(f, &noted, pml_stream_scan_checkpoint(f->stream), &err); /* snapshots without rows may have been passed */
            if (rc != PML_OK || !f->waits || pml_stream_scan_ended(f->stream) || (f->timeout_ms >= 0 && idle_ms >= f->timeout_ms))
                break;
            (void)nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
            idle_ms += POLL_MS;
            continue;
        }
        /* It may have passed over the last one: what it found instead is not done with. Where the first thing found lies beyond, nobody knows
           here how far the consumer was. */
        bool beyond = rc == PML_OK && f->to >= 0 && pml_plan_snapshot_id(plan) > f->to;
        if (rc == PML_OK && !beyond)
            rc = print_plan(f, plan, &err);
        if (rc == PML_OK && (!beyond || stood >= 0))
            rc = note(f, &noted, beyond ? f->to + 1 : pml_stream_scan_checkpoint(f->stream), &err);
        pml_plan_free(plan);
        idle_ms = 0;
    }
    return rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
}

/* Whether the table's options say where to start. */
static bool is_told(const pml_table *table)
{
    static const char *const keys[] = {"scan.mode", "scan.snapshot-id", "scan.timestamp-millis", "scan.tag-name",
                                       "scan.watermark", "incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (pml_table_option(table, keys[i]) != NULL)
            return true;
    return false;
}

/* Where to start, and where to end. */
static int set_bounds(follow *f, pml_stream_options *o, pml_table *table, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    int64_t from = -1, timeout = -1, latest;
    int code = args_int64(&from, a, "from", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = args_int64(&f->to, a, "to", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = args_int64(&timeout, a, "timeout", 0, 1000000);
    if (code != EXIT_OK)
        return code;
    f->waits = args_has(a, "follow");
    f->timeout_ms = timeout < 0 ? -1 : timeout * 1000;
    if (timeout >= 0 && !f->waits)
        return args_wrong(a->command, "--timeout goes with --follow");
    o->consumer = args_value(a, "consumer");
    f->notifies = o->consumer != NULL || pml_table_option(table, "consumer-id") != NULL;
    if (args_has(a, "anew"))
        o->flags = PML_STREAM_IGNORE_PROGRESS;
    if (from > 0 || !is_told(table)) {
        o->start = PML_STREAM_SNAPSHOT;
        o->value = from > 0 ? from : 1;
    }
    if (f->waits || f->to >= 0)
        return EXIT_OK;
    int rc = pml_table_latest_snapshot(&latest, table, &err);
    f->to = latest < 0 ? 0 : latest;
    return rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
}

static int run_changelog(struct app *app, const args *a)
{
    scan_request request = {.limit = -1, .columns = args_value(a, "columns"), .moment = MOMENT_LATEST};
    pml_stream_options options = PML_STREAM_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    follow f = {.app = app, .to = -1};
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    int code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = set_bounds(&f, &options, table, a);
    if (code == EXIT_OK)
        code = scan_new(&scan, table, &request);
    if (code == EXIT_OK) {
        int rc = pml_stream_scan_new(&f.stream, scan, &options, &err);
        code = rc == PML_OK ? run_follow(&f) : app_fail(rc, &err);
    }
    pml_stream_scan_free(f.stream);
    pml_scan_free(scan);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static const args_option changelog_options[] = {
    {"from", "N", "begin with the changes of snapshot N (default: the first that is left)"},
    {"to", "N", "end with those of snapshot N (default: the latest)"},
    {"columns", "a,b", "columns, in this order (default: all)"},
    {"follow", NULL, "wait for new snapshots"},
    {"timeout", "S", "with --follow: end when nothing new came for S seconds"},
    {"consumer", "ID", "go on where this consumer of the table is, and note how far it comes"},
    {"anew", NULL, "do not go on where the consumer is"},
    {"branch", "NAME", "a branch of the table"},
    {"option", "KEY=VALUE", "a table option for this command (such as scan.mode=latest-full); may be repeated"},
    OPTION_WAREHOUSE,
    {NULL, NULL, NULL}};

const command command_changelog = {
    .name = "changelog",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Print what changed, snapshot by snapshot, as lines of JSON.",
    .details = "Each line is a row with \"_snapshot\" and \"_kind\": +I, -U, +U or -D. A table with a changelog-producer shows\n"
               "its changelogs, any other the rows that were added. What compactions and, without\n"
               "streaming-read-overwrite, overwrites did is not shown. Where no --from is given, the options scan.mode,\n"
               "scan.snapshot-id and scan.timestamp-millis count.\n",
    .examples = "  pml changelog flights --from 3\n"
                "  pml changelog flights --follow --consumer billing\n",
    .options = changelog_options,
    .run = run_changelog};
