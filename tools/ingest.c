/* SPDX-License-Identifier: Apache-2.0 */
/* pml ingest and pml load: rows of a file become snapshots. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "commands.h"
#include "output.h"
#include "partition.h"
#include "progress.h"
#include "sink.h"

enum { BATCH_ROWS = 8192 };

/* Who is told how far the input is, also while it makes wait: a person, and who asks for the status. */
typedef struct watchers {
    progress bar;
    sink *to;
} watchers;

static void watchers_tell(void *ctx, int64_t done, int64_t total)
{
    watchers *w = ctx;
    progress_bytes(&w->bar, done, total);
    if (w->to != NULL)
        status_file_tick(&w->to->status, w->to->context);
}

static int rows_options_get(pml_rows_options *o, const args *a, watchers *w)
{
    static const struct {
        const char *name;
        int32_t format;
    } formats[] = {{"json", PML_ROWS_JSON}, {"csv", PML_ROWS_CSV}, {"parquet", PML_ROWS_PARQUET}};
    const char *format = args_value(a, "format"), *delimiter = args_value(a, "delimiter");
    *o = (pml_rows_options)PML_ROWS_OPTIONS_INIT;
    for (size_t i = 0; format != NULL && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format, formats[i].name) == 0)
            o->format = formats[i].format;
    if (format != NULL && o->format == PML_ROWS_AUTO)
        return args_wrong(a->command, "--format is json, csv or parquet, not \"%s\"", format);
    if (delimiter != NULL && strcmp(delimiter, "\\t") == 0)
        delimiter = "\t";
    if (delimiter != NULL && strlen(delimiter) != 1)
        return args_wrong(a->command, "--delimiter is one character (or \\t), not \"%s\"", delimiter);
    if (delimiter != NULL)
        o->csv_delimiter = delimiter[0];
    o->csv_no_header = args_has(a, "no-header");
    o->csv_null = args_value(a, "null");
    o->realtime = args_has(a, "live");
    o->progress = watchers_tell;
    o->progress_ctx = w;
    return EXIT_OK;
}

/* Writes all batches; commits whenever `every` rows came since the last commit, and at the end. */
static int copy_rows(sink *s, struct ArrowArrayStream *stream, int64_t every, progress *p, int64_t *committed,
                     pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    int64_t rows = 0, open = 0; /* open: rows since the last commit */
    int rc = stream->get_schema(stream, &schema) == 0 ? PML_OK : pml_stream_error(stream, err);
    while (rc == PML_OK && (rc = output_next(stream, &array, err)) == PML_OK && array.release != NULL) {
        int64_t n = array.length;
        rc = sink_write(s, &array, &schema, err);
        if (array.release != NULL)
            array.release(&array);
        if (rc != PML_OK)
            break;
        rows += n;
        open += n;
        progress_rows(p, n);
        if (open < every)
            continue;
        rc = sink_commit(s, err);
        open = 0;
        *committed = rc == PML_OK ? rows : *committed;
    }
    if (rc == PML_OK && (open > 0 || s->overwrite))
        rc = sink_commit(s, err);
    if (rc == PML_OK)
        *committed = rows;
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static void say_result(const sink *s, int64_t committed)
{
    if (s->commits == 0)
        (void)fprintf(stderr, "no rows, no snapshot\n");
    else
        (void)fprintf(stderr, "%" PRId64 " row%s in %" PRId64 " commit%s, snapshot %" PRId64 "\n", committed,
                      committed == 1 ? "" : "s", s->commits, s->commits == 1 ? "" : "s", s->snapshot_id);
    if (s->replaced.known)
        (void)fprintf(stderr, "replaced: %" PRId64 " row%s in %" PRId64 " file%s\n", s->replaced.rows, s->replaced.rows == 1 ? "" : "s",
                      s->replaced.files, s->replaced.files == 1 ? "" : "s");
}

static bool live_allowed(const pml_table *table)
{
    const char *enabled = pml_table_option(table, "realtime.enabled");
    return enabled != NULL && strcmp(enabled, "true") == 0;
}

static bool offsets_external(const pml_table *table)
{
    const char *mode = pml_table_option(table, "realtime.offset-mode");
    return mode != NULL && strcasecmp(mode, "external") == 0;
}

typedef struct replacement {
    bool on, has_spec;
    partition_words words;
} replacement;

/* --overwrite and --partition. */
static int replace_get(replacement *out, const args *a)
{
    const char *words[ARGS_GIVEN_MAX];
    size_t n = 0;
    *out = (replacement){.on = args_has(a, "overwrite")};
    while ((words[n] = args_nth(a, "partition", n)) != NULL)
        n++;
    out->has_spec = n > 0;
    if (n > 0 && !out->on)
        return args_wrong(a->command, "--partition says which rows --overwrite replaces: it is missing");
    if (out->on && args_has(a, "live"))
        return args_wrong(a->command, "--overwrite and --live do not go together: live rows are added");
    return partition_words_get(&out->words, a->command, n, words);
}

static int ingest(struct app *app, const args *a, pml_table *table, const pml_rows_options *options, int64_t every,
                  const replacement *replace, watchers *w)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream = {0};
    sink s = {0};
    const pml_partition_spec spec = {replace->words.n, replace->words.pairs};
    int64_t committed = 0;
    bool opened = false;
    int rc = pml_rows_open(&stream, table, a->operand[1], options, &err);
    if (rc == PML_OK) {
        rc = sink_open(&s, app, table, args_value(a, "user"), args_has(a, "live"), &err);
        opened = rc == PML_OK;
    }
    if (rc == PML_OK) {
        s.overwrite = replace->on;
        s.spec = replace->has_spec ? &spec : NULL;
        w->to = &s;
        rc = copy_rows(&s, &stream, every, &w->bar, &committed, &err);
        w->to = NULL;
    }
    progress_end(&w->bar);
    if (stream.release != NULL)
        stream.release(&stream);
    int code = rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
    if (rc == PML_OK)
        say_result(&s, committed);
    else if (opened && rc == PML_E_UNKNOWN_OUTCOME)
        (void)app_say(
            0, "commit %" PRId64 " of user %s may or may not be in the table: look at `pml snapshots` before repeating",
            s.identifier, pml_commit_user(s.commit));
    else if (opened && committed > 0)
        (void)app_say(0,
                      "committed were the first %" PRId64 " rows, the last of them in snapshot %" PRId64 "; later ones were not. What others\n"
                      "     removed since is not in the table: look at `pml snapshots`",
                      committed, s.snapshot_id);
    else if (opened)
        (void)app_say(0, "nothing was added to the table");
    if (opened)
        sink_close(&s);
    return code;
}

static int run_ingest(struct app *app, const args *a)
{
    pml_rows_options options;
    watchers w = {0};
    pml_table *table = NULL;
    replacement replace;
    int64_t every = INT64_MAX;
    progress_start(&w.bar);
    int code = replace_get(&replace, a);
    if (code == EXIT_OK)
        code = rows_options_get(&options, a, &w);
    if (code == EXIT_OK)
        code = args_int64(&every, a, "commit-every", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK && args_has(a, "live") && !live_allowed(table))
        code = app_say(
            EXIT_UNSUPPORTED,
            "%s does not take real-time writes: realtime.enabled is not true.\n"
            "     Make the table with `pml table create ... --live`, or try --option realtime.enabled=true for this\n"
            "     command only.",
            pml_table_path(table));
    if (code == EXIT_OK && args_has(a, "live") && offsets_external(table))
        code = app_say(EXIT_UNSUPPORTED,
                       "%s has realtime.offset-mode=external: every row comes with an offset of its source, which `pml "
                       "ingest` cannot\n"
                       "     give. Use the library (pml_rt_write), or leave out --live.",
                       pml_table_path(table));
    options.batch_rows = every < BATCH_ROWS ? every : BATCH_ROWS;
    if (code == EXIT_OK)
        code = ingest(app, a, table, &options, every, &replace, &w);
    progress_end(&w.bar);
    partition_words_free(&replace.words);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

#define ROW_OPTIONS                                                                                          \
    {"format", "FORMAT", "json (canonical rows, one a line), csv or parquet (default: by the name)"},        \
        {"delimiter", "C", "of CSV (default: a comma)"}, {"no-header", NULL, "CSV without a line of names"}, \
        {"null", "TEXT", "what null looks like in CSV (default: an empty field)"},                           \
    {                                                                                                        \
        "user", "NAME", "the user that snapshots carry (default: a random one)"                              \
    }

static const args_option ingest_options[] = {
    ROW_OPTIONS,
    {"commit-every", "N", "a snapshot after every N rows (default: one at the end)"},
    {"live", NULL, "write through the real-time writer (the table is made with --live)"},
    {"overwrite", NULL, "replace rows: of the partitions that get some, of a table without partitions all"},
    {"partition", "KEY=VALUE", "with --overwrite: replace all rows of these partitions; may be repeated"},
    {"option", "KEY=VALUE", "a table option for this command; may be repeated"},
    OPTION_WAREHOUSE,
    {NULL, NULL, NULL}};

const command command_ingest = {
    .name = "ingest",
    .operands = "TABLE FILE|-",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "Add the rows of a file, or of standard input, to a table.",
    .details =
        "Columns are matched by name. A missing column is null; an unknown one is an error. With a primary key a row takes\n"
        "the place of the one with its key, or is merged with it (the table's merge-engine); JSON rows may say what they are:\n"
        "\"_kind\":\"-D\" deletes. A row of CSV may be at most 2 MiB long, one of JSON 64 MiB.\n"
        "Batches that are read whole (CSV and Parquet, or 8192 rows) are not divided: --commit-every counts at least N rows.\n"
        "JSON rows of standard input are written 0.1 s after they came, if not before, and committed as --commit-every says: a\n"
        "slow source wants a small N. CSV of standard input is read to its end first.\n"
        "--live writes as programs do, which see their rows before the commit. Other processes, pml scan and pml lookup too,\n"
        "see rows when they are committed; pml realtime status shows how many wait.\n"
        "Every run begins with the first row: run again, with --live as well, it adds the rows again. Going on behind\n"
        "`pml offsets` is for programs that use the library.\n"
        "--overwrite replaces rows in the first commit of the run; with --commit-every later ones add to it.\n",
    .examples = "  pml ingest flights flights.csv.gz --commit-every 1000000\n"
                "  producer | pml ingest events - --format json --live --commit-every 1000\n"
                "  pml ingest events day.parquet --overwrite --partition dt=2026-01-01\n",
    .options = ingest_options,
    .run = run_ingest};

static const args_option load_options[] = {ROW_OPTIONS, OPTION_WAREHOUSE, {NULL, NULL, NULL}};

const command command_load = {.name = "load",
                              .operands = "TABLE FILE|-",
                              .operands_min = 2,
                              .operands_max = 2,
                              .summary = "Add the rows of a file to a table in one commit: ingest without its options.",
                              .examples = "  pml load flights rows.jsonl\n"
                                          "  pml dump flights | pml load copy -\n",
                              .options = load_options,
                              .run = run_ingest};
