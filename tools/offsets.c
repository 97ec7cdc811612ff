/* SPDX-License-Identifier: Apache-2.0 */
/* pml offsets: up to where a table is, once or whenever it changes. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "output.h"
#include "partition.h"

/* ---- one entry ---- */

typedef struct entry {
    char *partition, *values; /* as a path, as a JSON object */
    int32_t bucket;
    int64_t tiered;
    const char *state;
    char lineage[33];
} entry;

typedef struct entries {
    size_t n;
    entry *v;
    bool all_lost;
} entries;

static void entries_free(entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->v[i].partition), free(e->v[i].values);
    free(e->v);
    *e = (entries){0};
}

static int entries_get(entries *out, const pml_rt_offsets *offsets, const partition_keys *keys, pml_error *err)
{
    size_t n = pml_rt_offsets_count(offsets);
    *out = (entries){0, app_alloc(n * sizeof *out->v), pml_rt_offsets_all_lost(offsets) != 0};
    for (size_t i = 0; i < n; i++) {
        pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
        int rc = pml_rt_offsets_get(&info, offsets, i, err);
        if (rc != PML_OK)
            return rc;
        if (info.pb->n_partition != keys->n) /* the library has compared them */
            return PML_E_INTERNAL;
        entry *e = &out->v[out->n++];
        *e = (entry){.partition = partition_path(keys, info.pb->partition),
                     .values = partition_json(keys, info.pb->partition),
                     .bucket = info.pb->bucket,
                     .tiered = info.tiered,
                     .state = info.lost ? "lost" : info.reset ? "reset" : "ok"};
        memcpy(e->lineage, info.lineage, sizeof e->lineage);
    }
    return PML_OK;
}

/* snapshot -2: the column is left out. values: with the object, which only JSON has. */
static void print_entry(output *o, int64_t snapshot, bool values, const entry *e)
{
    if (snapshot != -2)
        output_cell_int(o, snapshot);
    output_cell(o, e->partition);
    output_cell_int(o, e->bucket);
    if (strcmp(e->state, "lost") == 0 || strcmp(e->state, "gone") == 0)
        output_cell(o, NULL);
    else
        output_cell_int(o, e->tiered);
    output_cell(o, e->state);
    output_cell(o, e->lineage[0] == '\0' ? NULL : e->lineage);
    if (values)
        output_cell(o, e->values);
}

static const output_column columns[] = {{"snapshot", true}, {"partition", false}, {"bucket", true},
                                        {"tiered", true},   {"state", false},     {"lineage", false},
                                        {"values", true}};
static size_t columns_of(output_format format)
{
    return sizeof columns / sizeof *columns - (format != OUTPUT_JSON);
}

static void say_all_lost(const pml_table *table)
{
    (void)app_say(0,
                  "all progress of %s is lost: the snapshot that recorded it has expired. Replaying everything would write rows\n"
                  "     twice: state every partition-bucket that has files with `pml offsets repair`, or truncate the table",
                  pml_table_path(table));
}

static int load(entries *out, pml_table *table, const partition_keys *keys, int64_t snapshot, pml_error *err)
{
    pml_rt_offsets *offsets = NULL;
    *out = (entries){0};
    int rc = pml_rt_offsets_load(&offsets, table, snapshot, err);
    if (rc == PML_OK)
        rc = entries_get(out, offsets, keys, err);
    pml_rt_offsets_free(offsets);
    if (rc != PML_OK)
        entries_free(out);
    return rc;
}

static int print_once(pml_table *table, const partition_keys *keys, int64_t snapshot, output_format format, pml_error *err)
{
    entries e;
    int rc = load(&e, table, keys, snapshot, err);
    if (rc != PML_OK)
        return rc;
    output *o = output_new(format, columns + 1, columns_of(format) - 1);
    for (size_t i = 0; i < e.n; i++)
        print_entry(o, -2, format == OUTPUT_JSON, &e.v[i]);
    output_end(o);
    if (e.all_lost)
        say_all_lost(table);
    entries_free(&e);
    return PML_OK;
}

/* ---- watching ---- */

typedef struct watch {
    const partition_keys *keys;
    output_format format;
    output *out; /* of formats that need no widths: one for the whole run */
    int64_t snapshot; /* the last one looked at; -2: none yet */
    entries last;
} watch;

static const entry *find(const entries *e, const entry *like)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->v[i].bucket == like->bucket && strcmp(e->v[i].partition, like->partition) == 0)
            return &e->v[i];
    return NULL;
}

static bool same(const entry *a, const entry *b)
{
    return a != NULL && a->tiered == b->tiered && strcmp(a->state, b->state) == 0 && strcmp(a->lineage, b->lineage) == 0;
}

static void print_line(watch *w, output **block, int64_t snapshot, const entry *e)
{
    output *o = w->out;
    if (o == NULL && *block == NULL)
        *block = output_new(w->format, columns, columns_of(w->format)); /* a table for each snapshot */
    print_entry(o == NULL ? *block : o, snapshot, w->format == OUTPUT_JSON, e);
}

/* What differs from the snapshot before. */
static void print_changes(watch *w, pml_table *table, int64_t snapshot, const entries *now)
{
    output *block = NULL;
    for (size_t i = 0; i < now->n; i++)
        if (!same(find(&w->last, &now->v[i]), &now->v[i]))
            print_line(w, &block, snapshot, &now->v[i]);
    for (size_t i = 0; i < w->last.n; i++)
        if (find(now, &w->last.v[i]) == NULL) {
            entry gone = w->last.v[i];
            gone.state = now->all_lost ? "lost" : "gone";
            print_line(w, &block, snapshot, &gone);
        }
    if (block != NULL)
        output_end(block);
    app_flush();
    if (now->all_lost && !w->last.all_lost)
        say_all_lost(table);
}

static int look(watch *w, pml_table *table, pml_error *err)
{
    int64_t snapshot;
    entries now;
    int rc = pml_table_latest_snapshot(&snapshot, table, err);
    if (rc != PML_OK || snapshot == w->snapshot || snapshot < 1)
        return rc;
    rc = load(&now, table, w->keys, snapshot, err);
    if (rc == PML_E_NOT_FOUND || rc == PML_E_SNAPSHOT_GONE)
        return PML_OK; /* expired meanwhile: the next look finds a newer one */
    if (rc != PML_OK)
        return rc;
    print_changes(w, table, snapshot, &now);
    entries_free(&w->last);
    w->last = now;
    w->snapshot = snapshot;
    return PML_OK;
}

/* Until a signal says stop: it is waited for, so that none is missed between two looks. */
static int watch_table(pml_table *table, const partition_keys *keys, output_format format, int64_t interval_s, pml_error *err)
{
    watch w = {.keys = keys, .format = format, .snapshot = -2};
    sigset_t stop;
    const struct timespec pause = {.tv_sec = (time_t)interval_s};
    int rc;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGINT);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    if (format != OUTPUT_TABLE)
        w.out = output_new(format, columns, columns_of(format));
    do
        rc = look(&w, table, err);
    while (rc == PML_OK && sigtimedwait(&stop, NULL, &pause) < 0);
    if (w.out != NULL)
        output_end(w.out);
    entries_free(&w.last);
    return rc;
}

static int run_offsets(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    output_format format;
    pml_table *table = NULL;
    partition_keys keys = {0};
    int64_t snapshot = -1, interval = 1;
    int code = output_format_get(&format, a);
    if (code == EXIT_OK)
        code = args_int64(&snapshot, a, "snapshot", 1, INT64_MAX);
    if (code == EXIT_OK)
        code = args_int64(&interval, a, "interval", 1, 24 * 3600);
    if (code == EXIT_OK && args_has(a, "watch") && args_has(a, "snapshot"))
        code = args_wrong(a->command, "--watch follows the latest snapshot: --snapshot does not go with it");
    if (code == EXIT_OK && args_has(a, "interval") && !args_has(a, "watch"))
        code = args_wrong(a->command, "--interval says how often --watch looks: it is missing");
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = partition_keys_get(&keys, table);
    if (code == EXIT_OK) {
        int rc = args_has(a, "watch") ? watch_table(table, &keys, format, interval, &err)
                                      : print_once(table, &keys, snapshot, format, &err);
        if (rc != PML_OK)
            code = app_fail(rc, &err);
    }
    partition_keys_free(&keys);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static const args_option options[] = {{"snapshot", "N", "as of snapshot N (default: the latest)"},
                                      {"watch", NULL, "go on, and print what a new snapshot changes, until interrupted"},
                                      {"interval", "SECONDS", "how often --watch looks (default: 1)"},
                                      OPTION_FORMAT,
                                      {"branch", "NAME", "a branch of the table"},
                                      OPTION_WAREHOUSE,
                                      {NULL, NULL, NULL}};

const command command_offsets = {
    .name = "offsets",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Show up to which offset each partition-bucket is in the table: where a source must go on.",
    .details = "tiered is exclusive: rows with offsets below it are in data files of the snapshot. state: ok; lost (no "
               "offset can\n"
               "be told: pml offsets repair); reset (an overwrite began anew); with --watch also gone (an old reset was\n"
               "forgotten). A partition is written as `pml offsets repair` takes it: p=a%2Fb/q=c;\n"
               "in JSON values is an object, {\"p\":\"a/b\",\"q\":\"c\"}.\n",
    .examples = "  pml offsets events\n"
                "  pml offsets events --snapshot 12 --format json\n"
                "  pml offsets events --watch --format json\n",
    .options = options,
    .run = run_offsets};
