/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `make bench` that is ours: pml-bench CASE DIR ROWS measures one case in a fresh process and prints one line of
 * JSON. bench/run makes the table of ratios.
 *
 *   append     writes ROWS rows into a new table DIR and commits once
 *   scan       reads all rows and columns of the table DIR, nothing kept
 *   live       hands ROWS rows in batches of 1,000 to a live writer: only the write calls count
 *   one-row    the same in batches of one row
 *   freshness  writes 1,000 rows to a live writer and reads them by their ids, again and again
 */
#include <paimonlive/paimonlive.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "rows.h"

enum { BATCH_ROWS = 65536, LIVE_BATCH_ROWS = 1000, CYCLES = 200, BATCHES_MAX = 1 << 20 };

typedef struct bench {
    const char *dir;
    int64_t rows;
    pml_env *env;
    pml_table *table;
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    size_t n_batches;
} bench;

static double seconds(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void print_result(double wall, double cpu, int64_t rows)
{
    (void)printf("{\"seconds\":%.5f,\"cpu_seconds\":%.5f,\"rows\":%" PRId64 "}\n", wall, cpu, rows);
}

/* ---- set-up, not measured ---- */

static int table_create(bench *b, const char *options, uint32_t flags, pml_error *err)
{
    char json[1024];
    int n = snprintf(json, sizeof json, "{\"fields\":%s,\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{%s}}",
                     rows_fields_json, options);
    int rc = pml_table_create(&b->table, b->env, b->dir, json, (size_t)n, flags, err);
    return rc == PML_OK ? pml_table_arrow_schema(&b->schema, b->table, err) : rc;
}

static int batches_make(bench *b, int64_t rows, int64_t batch_rows, pml_error *err)
{
    size_t n = (size_t)((rows + batch_rows - 1) / batch_rows);
    b->batches = n > BATCHES_MAX ? NULL : calloc(n + 1, sizeof *b->batches);
    for (; b->batches != NULL && b->n_batches < n; b->n_batches++) {
        int64_t first = (int64_t)b->n_batches * batch_rows, left = rows - first;
        if (rows_make(&b->batches[b->n_batches], first, left < batch_rows ? left : batch_rows) != 0)
            break;
    }
    if (b->batches != NULL && b->n_batches == n)
        return PML_OK;
    (void)snprintf(err->message, sizeof err->message, "no memory for %" PRId64 " rows", rows);
    return PML_E_NOMEM;
}

static void bench_close(bench *b)
{
    for (size_t i = 0; i < b->n_batches; i++)
        if (b->batches[i].release != NULL)
            b->batches[i].release(&b->batches[i]);
    free(b->batches);
    if (b->schema.release != NULL)
        b->schema.release(&b->schema);
    pml_table_release(b->table);
    pml_env_release(b->env);
}

/* ---- append ---- */

static int write_and_commit(bench *b, pml_error *err)
{
    pml_writer *writer = NULL;
    pml_messages *messages = NULL;
    pml_commit *commit = NULL;
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    int rc = pml_writer_open(&writer, b->table, err);
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_writer_write(writer, &b->batches[i], &b->schema, err);
    if (rc == PML_OK)
        rc = pml_writer_prepare(&messages, writer, err);
    if (rc == PML_OK)
        rc = pml_commit_open(&commit, b->table, NULL, err);
    if (rc == PML_OK)
        rc = pml_commit_run(&result, commit, &messages, 1, PML_COMMIT_IDENTIFIER_BATCH, NULL, err);
    pml_commit_close(commit);
    pml_messages_free(messages);
    pml_writer_close(writer);
    return rc;
}

/* One row into DIR.warm: Arrow is loaded on first use, which other measurers have done before they measure. */
static int warm_up(bench *b, pml_error *err)
{
    char dir[4096];
    (void)snprintf(dir, sizeof dir, "%s.warm", b->dir);
    bench w = {.dir = dir, .env = b->env};
    int rc = table_create(&w, "", PML_TABLE_IF_NOT_EXISTS, err);
    if (rc == PML_OK)
        rc = batches_make(&w, 1, 1, err);
    if (rc == PML_OK)
        rc = write_and_commit(&w, err);
    pml_env_acquire(b->env);
    bench_close(&w);
    return rc;
}

static int run_append(bench *b, pml_error *err)
{
    int rc = warm_up(b, err);
    if (rc == PML_OK)
        rc = table_create(b, "\"write-only\":\"true\"", 0, err);
    if (rc == PML_OK)
        rc = batches_make(b, b->rows, BATCH_ROWS, err);
    double wall = seconds(CLOCK_MONOTONIC), cpu = cpu_seconds();
    if (rc == PML_OK)
        rc = write_and_commit(b, err);
    if (rc == PML_OK)
        print_result(seconds(CLOCK_MONOTONIC) - wall, cpu_seconds() - cpu, b->rows);
    return rc;
}

/* ---- reading ---- */

/* Reads the rows with id >= first (-1: all), of the context's memory too when there is one. */
static int read_rows(int64_t *rows, bench *b, pml_rt_context *context, int64_t first, pml_error *err)
{
    char text[24];
    pml_predicate *predicate = NULL;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch = {0};
    int n = snprintf(text, sizeof text, "%" PRId64, first);
    const pml_literal literal = {text, (size_t)n};
    *rows = 0;
    int rc = pml_scan_new(&scan, b->table, err);
    if (rc == PML_OK && first >= 0)
        rc = pml_predicate_leaf(&predicate, b->table, "id", PML_OP_GE, &literal, 1, err);
    if (rc == PML_OK)
        rc = pml_scan_set_predicate(scan, predicate, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, context, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, NULL, err);
    while (rc == PML_OK) {
        if (stream.get_next(&stream, &batch) != 0)
            rc = pml_stream_error(&stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        *rows += batch.length;
        batch.release(&batch);
    }
    if (stream.release != NULL)
        stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_predicate_free(predicate);
    return rc;
}

static int run_scan(bench *b, pml_error *err)
{
    int64_t rows = 0;
    int rc = warm_up(b, err);
    double wall = seconds(CLOCK_MONOTONIC), cpu = cpu_seconds();
    if (rc == PML_OK)
        rc = pml_table_open(&b->table, b->env, b->dir, NULL, err);
    if (rc == PML_OK)
        rc = read_rows(&rows, b, NULL, -1, err);
    if (rc == PML_OK)
        print_result(seconds(CLOCK_MONOTONIC) - wall, cpu_seconds() - cpu, rows);
    return rc;
}

/* ---- live ---- */

static int live_open(pml_rt_context **context, pml_rt_writer **writer, bench *b, int64_t rows, int64_t batch_rows,
                     pml_error *err)
{
    int rc = table_create(b, "\"bucket\":\"1\",\"bucket-key\":\"id\",\"realtime.enabled\":\"true\"", 0, err);
    if (rc == PML_OK)
        rc = batches_make(b, rows, batch_rows, err);
    if (rc == PML_OK)
        rc = pml_rt_context_open(context, b->env, NULL, err);
    return rc == PML_OK ? pml_rt_writer_open(writer, b->table, *context, NULL, err) : rc;
}

static void live_close(pml_rt_context *context, pml_rt_writer *writer)
{
    pml_rt_writer_abort(writer);
    if (context != NULL)
        pml_rt_context_close(context);
}

/* The clocks are read around the loop, not in it: reading one costs as much as a write of one row. */
static int run_writes(bench *b, int64_t batch_rows, pml_error *err)
{
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = live_open(&context, &writer, b, b->rows, batch_rows, err);
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    if (rc == PML_OK)
        print_result(seconds(CLOCK_MONOTONIC) - wall, cpu, b->rows);
    live_close(context, writer);
    return rc;
}

static int run_live(bench *b, pml_error *err)
{
    return run_writes(b, LIVE_BATCH_ROWS, err);
}

static int run_one_row(bench *b, pml_error *err)
{
    return run_writes(b, 1, err);
}

static int by_value(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

static int run_freshness(bench *b, pml_error *err)
{
    double laps[CYCLES], cpu = 0;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = live_open(&context, &writer, b, (int64_t)CYCLES * LIVE_BATCH_ROWS, LIVE_BATCH_ROWS, err);
    for (size_t i = 0; rc == PML_OK && i < CYCLES; i++) {
        int64_t rows;
        double w = seconds(CLOCK_MONOTONIC), c = cpu_seconds();
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
        if (rc == PML_OK)
            rc = read_rows(&rows, b, context, (int64_t)i * LIVE_BATCH_ROWS, err);
        laps[i] = seconds(CLOCK_MONOTONIC) - w;
        cpu += cpu_seconds() - c;
        if (rc == PML_OK && rows != LIVE_BATCH_ROWS) {
            (void)snprintf(err->message, sizeof err->message, "%" PRId64 " rows were visible, not %d", rows,
                           LIVE_BATCH_ROWS);
            rc = PML_E_INTERNAL;
        }
    }
    if (rc == PML_OK) {
        qsort(laps, CYCLES, sizeof laps[0], by_value);
        (void)printf("{\"fresh_ms_p50\":%.4f,\"fresh_ms_p99\":%.4f,\"cpu_seconds\":%.5f,\"rows\":%d}\n",
                     laps[CYCLES / 2] * 1e3, laps[CYCLES * 99 / 100] * 1e3, cpu / CYCLES, LIVE_BATCH_ROWS);
    }
    live_close(context, writer);
    return rc;
}

int main(int n, char **words)
{
    static const struct {
        const char *name;
        int (*run)(bench *b, pml_error *err);
    } cases[] = {{"append", run_append}, {"scan", run_scan}, {"live", run_live}, {"one-row", run_one_row},
                 {"freshness", run_freshness}};
    pml_error err = PML_ERROR_INIT;
    bench b = {0};
    size_t i = 0;
    int rc = PML_E_INVAL;
    while (n == 4 && i < sizeof cases / sizeof cases[0] && strcmp(cases[i].name, words[1]) != 0)
        i++;
    if (n != 4 || i == sizeof cases / sizeof cases[0]) {
        (void)fprintf(stderr, "Usage: pml-bench append|scan|live|one-row|freshness DIR ROWS\n");
        return 2;
    }
    b.dir = words[2];
    for (const char *p = words[3]; *p >= '0' && *p <= '9' && b.rows < 1000000000; p++)
        b.rows = b.rows * 10 + (*p - '0');
    rc = pml_env_new(&b.env, NULL, &err);
    if (rc == PML_OK)
        rc = cases[i].run(&b, &err);
    if (rc != PML_OK)
        (void)fprintf(stderr, "pml-bench: %s: %s (%s)\n", words[1], err.message, pml_error_name(rc));
    bench_close(&b);
    return rc == PML_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
