/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

enum { BATCHES_MAX = 1 << 20 };

static double seconds(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_wall(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double bench_cpu(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_thread(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

bench_lap bench_begin(void)
{
    return (bench_lap){bench_wall(), bench_cpu()};
}

bench_lap bench_since(bench_lap begin)
{
    double cpu = bench_cpu();
    return (bench_lap){bench_wall() - begin.wall, cpu - begin.cpu};
}

void bench_keep_best(bench_lap *best, bench_lap lap)
{
    best->wall = lap.wall < best->wall ? lap.wall : best->wall;
    best->cpu = lap.cpu < best->cpu ? lap.cpu : best->cpu;
}

/* ---- figures ---- */

void bench_put(bench *b, const char *name, double value)
{
    (void)printf("%s\"%s\":%.9g", b->figures ? "," : "{", name, value);
    b->figures = true;
}

static int by_value(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

void bench_put_laps(bench *b, const char *name, double *laps, size_t n)
{
    char text[64];
    qsort(laps, n, sizeof *laps, by_value);
    const struct {
        const char *suffix;
        double value;
    } figures[] = {{"min", laps[0]}, {"p50", laps[n / 2]}, {"p99", laps[n * 99 / 100]}, {"max", laps[n - 1]}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        (void)snprintf(text, sizeof text, "%s_ms_%s", name, figures[i].suffix);
        bench_put(b, text, figures[i].value * 1e3);
    }
}

void bench_put_lap(bench *b, bench_lap lap, int64_t rows)
{
    bench_put(b, "cpu_seconds", lap.cpu);
    bench_put(b, "seconds", lap.wall);
    bench_put(b, "rows", (double)rows);
}

/* getrusage would count what the parent had before it became this program. */
void bench_put_peak(bench *b)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        double kib = 0;
        if (strncmp(line, "VmHWM:", 6) != 0)
            continue;
        for (const char *p = line; *p != '\0'; p++)
            kib = *p >= '0' && *p <= '9' ? kib * 10 + (*p - '0') : kib;
        bench_put(b, "peak_mb", kib / 1024);
    }
    if (f != NULL)
        (void)fclose(f);
}

/* ---- set-up ---- */

static int fail(pml_error *err, int rc, const char *what, int64_t got, int64_t wanted)
{
    (void)snprintf(err->message, sizeof err->message, "%s: %" PRId64 " instead of %" PRId64, what, got, wanted);
    return rc;
}

int bench_expect(const char *what, int64_t got, int64_t wanted, pml_error *err)
{
    return got == wanted ? PML_OK : fail(err, PML_E_INTERNAL, what, got, wanted);
}

int bench_create(bench *b, const char *options, uint32_t flags, pml_error *err)
{
    char json[4096];
    const char *quote = b->partition == NULL ? "" : "\"", *key_quote = b->key == NULL ? "" : "\"";
    size_t at = (size_t)snprintf(json, sizeof json,
                                 "{\"fields\":%s,\"partitionKeys\":[%s%s%s],\"primaryKeys\":[%s%s%s],\"options\":{%s",
                                 rows_fields_json, quote, b->partition == NULL ? "" : b->partition, quote, key_quote,
                                 b->key == NULL ? "" : b->key, key_quote, options);
    for (size_t i = 0; i < b->n_options && at < sizeof json; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "%s\"%s\":\"%s\"", options[0] == '\0' && i == 0 ? "" : ",",
                               b->options[i].key, b->options[i].value);
    if (at < sizeof json)
        at += (size_t)snprintf(json + at, sizeof json - at, "}}");
    if (at >= sizeof json)
        return fail(err, PML_E_LIMIT, "bytes of the schema", (int64_t)at, (int64_t)sizeof json);
    int rc = pml_table_create(&b->table, b->env, b->dir, json, at, flags, err);
    return rc == PML_OK ? pml_table_arrow_schema(&b->schema, b->table, err) : rc;
}

int bench_open(bench *b, pml_error *err)
{
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    o.n_options = b->n_options;
    o.options = b->options;
    return pml_table_open(&b->table, b->env, b->dir, &o, err);
}

void bench_batches_clear(bench *b)
{
    for (size_t i = 0; i < b->n_batches; i++)
        if (b->batches[i].release != NULL)
            b->batches[i].release(&b->batches[i]);
    free(b->batches);
    b->batches = NULL;
    b->n_batches = 0;
}

int bench_batches(bench *b, int64_t first, int64_t rows, int64_t batch_rows, pml_error *err)
{
    size_t n = (size_t)((rows + batch_rows - 1) / batch_rows);
    bench_batches_clear(b);
    b->batches = n > BATCHES_MAX ? NULL : calloc(n + 1, sizeof *b->batches);
    for (; b->batches != NULL && b->n_batches < n; b->n_batches++) {
        int64_t done = (int64_t)b->n_batches * batch_rows, left = rows - done;
        if (rows_make(&b->batches[b->n_batches], first + done, left < batch_rows ? left : batch_rows) != 0)
            break;
    }
    if (b->batches != NULL && b->n_batches == n)
        return PML_OK;
    return fail(err, PML_E_NOMEM, "no memory for the batches", (int64_t)b->n_batches, (int64_t)n);
}

int64_t bench_scattered(int64_t id)
{
    return (int64_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 1);
}

void bench_scatter(bench *b)
{
    for (size_t i = 0; i < b->n_batches; i++) {
        const struct ArrowArray *ids = b->batches[i].children[0];
        int64_t *v = (int64_t *)(uintptr_t)ids->buffers[1];
        for (int64_t row = 0; row < ids->length; row++)
            v[row] = bench_scattered(v[row]);
    }
}

void bench_close(bench *b)
{
    bench_batches_clear(b);
    if (b->schema.release != NULL)
        b->schema.release(&b->schema);
    pml_table_release(b->table);
    pml_env_release(b->env);
}

int bench_append(bench *b, pml_error *err)
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

int bench_warm_up(bench *b, pml_error *err)
{
    char dir[4096];
    (void)snprintf(dir, sizeof dir, "%s.warm", b->dir);
    bench w = {.dir = dir, .env = b->env};
    int rc = bench_create(&w, "", PML_TABLE_IF_NOT_EXISTS, err);
    if (rc == PML_OK)
        rc = bench_batches(&w, 0, 1, 1, err);
    if (rc == PML_OK)
        rc = bench_append(&w, err);
    pml_env_acquire(b->env);
    bench_close(&w);
    return rc;
}

/* ---- reading ---- */

int bench_plan(pml_plan **out, bench *b, const bench_query *query, pml_error *err)
{
    char text[24];
    pml_predicate *predicate = NULL;
    pml_scan *scan = NULL;
    int n = snprintf(text, sizeof text, "%" PRId64, query->id);
    const pml_literal literal = {text, (size_t)n};
    int rc = pml_scan_new(&scan, b->table, err);
    if (rc == PML_OK && query->op != 0)
        rc = pml_predicate_leaf(&predicate, b->table, query->column == NULL ? "id" : query->column, query->op, &literal, 1, err);
    if (rc == PML_OK)
        rc = pml_scan_set_predicate(scan, predicate, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, query->context, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(out, scan, err);
    pml_scan_free(scan);
    pml_predicate_free(predicate);
    return rc;
}

static int drain(int64_t *rows, struct ArrowArrayStream *stream, pml_error *err)
{
    struct ArrowArray batch = {0};
    int rc = PML_OK;
    while (rc == PML_OK) {
        if (stream->get_next(stream, &batch) != 0)
            rc = pml_stream_error(stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        *rows += batch.length;
        batch.release(&batch);
    }
    stream->release(stream);
    return rc;
}

int bench_read(int64_t *rows, bench *b, const bench_query *query, pml_error *err)
{
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.threads = query->threads;
    *rows = 0;
    int rc = bench_plan(&plan, b, query, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, &o, err);
    if (rc == PML_OK)
        rc = drain(rows, &stream, err);
    pml_plan_free(plan);
    return rc;
}

/* ---- live ---- */

int bench_live_open(pml_rt_context **context, pml_rt_writer **writer, bench *b, pml_error *err)
{
    int rc = bench_create(b, "\"bucket\":\"1\",\"bucket-key\":\"id\",\"realtime.enabled\":\"true\"", 0, err);
    if (rc == PML_OK)
        rc = pml_rt_context_open(context, b->env, NULL, err);
    return rc == PML_OK ? pml_rt_writer_open(writer, b->table, *context, NULL, err) : rc;
}

int bench_keys_open(pml_rt_context **context, pml_rt_writer **writer, bench *b, pml_error *err)
{
    int rc = PML_OK;
    b->key = "id";
    if (b->table == NULL)
        rc = bench_create(b, "\"bucket\":\"1\",\"write-only\":\"true\",\"realtime.enabled\":\"true\"", 0, err);
    if (rc == PML_OK)
        rc = pml_rt_context_open(context, b->env, NULL, err);
    return rc == PML_OK ? pml_rt_writer_open(writer, b->table, *context, NULL, err) : rc;
}

void bench_live_close(pml_rt_context *context, pml_rt_writer *writer)
{
    pml_rt_writer_abort(writer);
    if (context != NULL)
        pml_rt_context_close(context);
}
