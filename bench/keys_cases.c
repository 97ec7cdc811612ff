/* SPDX-License-Identifier: Apache-2.0 */
/* Live rows of a table with a primary key, the id; deduplicate, one bucket. Ids come in no order, each once, unless a case says so. */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    GROUP = 256, /* one-row batches made at a time, and rows of larger ones */
    GROUP_ROWS = 20000,
    READS = 5,
    CYCLES = 200,
    READERS = 4,
    PAUSE_US = 500, /* of a reader, and of the writer beside readers: five threads share two cores */
    RUNS = 10,
    POINT_OF = 500 /* row of a batch that is asked for */
};

static int write_all(bench *b, pml_rt_writer *writer, pml_error *err)
{
    int rc = PML_OK;
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    return rc;
}

/* Rows [first, first + rows) are in memory then. Few batches are made at a time, so that they are in the caches as a program has them.
   cpu: of all threads, without what making them took. */
static int fill(double *cpu, bench *b, pml_rt_writer *writer, int64_t first, int64_t rows, int64_t batch_rows, pml_error *err)
{
    int64_t group = batch_rows == 1 ? GROUP : GROUP_ROWS / batch_rows * batch_rows;
    double begin = bench_cpu(), making = 0;
    int rc = PML_OK;
    for (int64_t at = 0; rc == PML_OK && at < rows; at += group) {
        double made = bench_thread();
        rc = bench_batches(b, first + at, rows - at < group ? rows - at : group, batch_rows, err);
        bench_scatter(b);
        making += bench_thread() - made;
        if (rc == PML_OK)
            rc = write_all(b, writer, err);
    }
    *cpu = bench_cpu() - begin - making;
    bench_batches_clear(b);
    return rc;
}

static void put_runs(bench *b, pml_rt_context *context)
{
    pml_rt_metrics m = PML_RT_METRICS_INIT;
    pml_error ignored = PML_ERROR_INIT;
    if (pml_rt_context_metrics(&m, context, &ignored) == PML_OK)
        bench_put(b, "runs", (double)m.run_count);
}

/* ---- writes ---- */

static int run_write(bench *b, int64_t batch_rows, pml_error *err)
{
    double cpu;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_keys_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = fill(&cpu, b, writer, 0, b->rows, batch_rows, err);
    if (rc == PML_OK) {
        bench_put(b, "cpu_seconds", cpu);
        bench_put(b, "rows", (double)b->rows);
        put_runs(b, context);
    }
    bench_live_close(context, writer);
    return rc;
}

static int run_keys_live(bench *b, pml_error *err)
{
    return run_write(b, BENCH_LIVE_ROWS, err);
}

static int run_keys_one_row(bench *b, pml_error *err)
{
    return run_write(b, 1, err);
}

/* ---- reads ---- */

/* Plans and reads all rows; when the first batch was there. clock: of the CPU seconds, of all threads or this one. */
static int read_timed(double *cpu, double *first_wall, double (*clock)(void), bench *b, pml_rt_context *context, int64_t wanted,
                      pml_error *err)
{
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch = {0};
    int64_t rows = 0;
    double begin = bench_wall(), used = clock();
    int rc = bench_plan(&plan, b, &(bench_query){.context = context}, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, NULL, err);
    bool opened = rc == PML_OK;
    for (*first_wall = 0; rc == PML_OK;) {
        if (stream.get_next(&stream, &batch) != 0)
            rc = pml_stream_error(&stream, err);
        if (*first_wall == 0)
            *first_wall = bench_wall() - begin;
        if (rc != PML_OK || batch.release == NULL)
            break;
        rows += batch.length;
        batch.release(&batch);
    }
    if (opened)
        stream.release(&stream);
    pml_plan_free(plan);
    *cpu = clock() - used;
    return rc == PML_OK ? bench_expect("rows read", rows, wanted, err) : rc;
}

static int read_once(double *cpu, double *first_wall, bench *b, pml_rt_context *context, int64_t wanted, pml_error *err)
{
    return read_timed(cpu, first_wall, bench_cpu, b, context, wanted, err);
}

typedef struct read_laps {
    double first, second; /* CPU of the reader alone: for the first nothing was put in order, a thread does that after it */
    double best, first_ms; /* of all reads, CPU of all threads; when a batch was there */
} read_laps;

static int read_all(read_laps *out, bench *b, pml_rt_context *context, int64_t wanted, pml_error *err)
{
    double c, f;
    int rc = read_timed(&out->first, &f, bench_thread, b, context, wanted, err);
    out->best = 1e9;
    out->first_ms = f * 1e3;
    if (rc == PML_OK)
        rc = read_timed(&out->second, &f, bench_thread, b, context, wanted, err);
    for (int i = 0; rc == PML_OK && i < READS; i++) {
        rc = read_once(&c, &f, b, context, wanted, err);
        out->best = c < out->best ? c : out->best;
        out->first_ms = f * 1e3 < out->first_ms ? f * 1e3 : out->first_ms;
    }
    return rc;
}

static int run_read(bench *b, int64_t batch_rows, pml_error *err)
{
    double cpu;
    read_laps laps;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_keys_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = fill(&cpu, b, writer, 0, b->rows, batch_rows, err);
    if (rc == PML_OK)
        rc = read_all(&laps, b, context, b->rows, err);
    if (rc == PML_OK) {
        bench_put(b, "cpu_seconds", laps.best);
        bench_put(b, "first_cpu_seconds", laps.first);
        bench_put(b, "second_cpu_seconds", laps.second);
        bench_put(b, "first_ms", laps.first_ms);
        bench_put(b, "rows", (double)b->rows);
        put_runs(b, context);
    }
    bench_live_close(context, writer);
    return rc;
}

static int run_read_1(bench *b, pml_error *err)
{
    return run_read(b, 1, err);
}

static int run_read_100(bench *b, pml_error *err)
{
    return run_read(b, 100, err);
}

static int run_read_1000(bench *b, pml_error *err)
{
    return run_read(b, 1000, err);
}

static int run_read_10000(bench *b, pml_error *err)
{
    return run_read(b, 10000, err);
}

/* Ten commits, so as many runs of level 0, over ids each once. */
static int run_keys_runs(bench *b, pml_error *err)
{
    b->key = "id";
    int rc = bench_create(b, "\"bucket\":\"1\",\"write-only\":\"true\"", 0, err);
    for (int64_t i = 0; rc == PML_OK && i < RUNS; i++) {
        rc = bench_batches(b, b->rows / RUNS * i, b->rows / RUNS, BENCH_BATCH_ROWS, err);
        bench_scatter(b);
        if (rc == PML_OK)
            rc = bench_append(b, err);
    }
    return rc;
}

/* The rows of the table DIR, ROWS in ten runs, alone and with a tenth as many in memory, of which half write over one of theirs. */
static int run_keys_union(bench *b, pml_error *err)
{
    double disk, both, filled, first;
    int64_t memory = b->rows / 10;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    b->options[b->n_options++] = (pml_option_pair){"realtime.enabled", "true"};
    int rc = bench_open(b, err);
    if (rc == PML_OK)
        rc = pml_table_arrow_schema(&b->schema, b->table, err);
    if (rc == PML_OK)
        rc = read_once(&disk, &first, b, NULL, b->rows, err); /* Arrow is loaded then, the files are in the caches */
    if (rc == PML_OK)
        rc = read_once(&disk, &first, b, NULL, b->rows, err);
    if (rc == PML_OK)
        rc = bench_keys_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = fill(&filled, b, writer, b->rows - memory / 2, memory, BENCH_LIVE_ROWS, err);
    if (rc == PML_OK)
        rc = read_once(&both, &first, b, context, b->rows + memory / 2, err);
    if (rc == PML_OK) {
        bench_put(b, "disk_cpu_seconds", disk);
        bench_put(b, "cpu_seconds", both);
        bench_put(b, "rows", (double)b->rows);
    }
    bench_live_close(context, writer);
    return rc;
}

/* ---- freshness ---- */

/* A write of 1,000 rows, and a read of one of them by its key. */
static int write_and_find(double *lap, bench *b, size_t i, pml_rt_context *context, pml_rt_writer *writer, pml_error *err)
{
    const struct ArrowArray *ids = b->batches[i].children[0];
    bench_query query = {.context = context, .op = PML_OP_EQ, .id = ((const int64_t *)ids->buffers[1])[POINT_OF]};
    int64_t rows;
    double begin = bench_wall();
    int rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    if (rc == PML_OK)
        rc = bench_read(&rows, b, &query, err);
    *lap = bench_wall() - begin;
    return rc == PML_OK ? bench_expect("rows of a key", rows, 1, err) : rc;
}

typedef struct key_reader {
    bench *b;
    pml_rt_context *context;
    atomic_bool *stop;
    int64_t id;
    int rc;
    pml_error error;
    pthread_t thread;
} key_reader;

static void *reader_thread(void *arg)
{
    const struct timespec pause = {0, PAUSE_US * 1000};
    key_reader *r = arg;
    while (r->rc == PML_OK && !atomic_load(r->stop)) {
        int64_t rows;
        r->rc = bench_read(&rows, r->b, &(bench_query){.context = r->context, .op = PML_OP_EQ, .id = r->id}, &r->error);
        if (r->rc == PML_OK)
            r->rc = bench_expect("rows of a key", rows, 1, &r->error);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static int measure_fresh(bench *b, pml_rt_context *context, pml_rt_writer *writer, bool pause, pml_error *err)
{
    static double laps[CYCLES];
    const struct timespec rest = {0, PAUSE_US * 1000};
    int rc = bench_batches(b, b->rows, (int64_t)CYCLES * BENCH_LIVE_ROWS, BENCH_LIVE_ROWS, err);
    bench_scatter(b);
    for (size_t i = 0; rc == PML_OK && i < CYCLES; i++) {
        rc = write_and_find(&laps[i], b, i, context, writer, err);
        if (pause)
            (void)nanosleep(&rest, NULL);
    }
    if (rc == PML_OK) {
        bench_put_laps(b, "fresh", laps, CYCLES);
        bench_put(b, "rows", BENCH_LIVE_ROWS);
    }
    return rc;
}

static int run_keys_fresh(bench *b, size_t readers, pml_error *err)
{
    double cpu;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    atomic_bool stop = false;
    key_reader r[READERS];
    size_t started = 0;
    int rc = bench_keys_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = fill(&cpu, b, writer, 0, b->rows, BENCH_LIVE_ROWS, err);
    for (; rc == PML_OK && started < readers; started++) {
        r[started] = (key_reader){
            .b = b, .context = context, .stop = &stop, .id = bench_scattered((int64_t)started * (b->rows / READERS)), .error = PML_ERROR_INIT};
        if (pthread_create(&r[started].thread, NULL, reader_thread, &r[started]) != 0)
            break;
    }
    if (rc == PML_OK)
        rc = measure_fresh(b, context, writer, readers > 0, err);
    atomic_store(&stop, true);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(r[i].thread, NULL);
        if (rc == PML_OK && r[i].rc != PML_OK) {
            rc = r[i].rc;
            *err = r[i].error;
        }
    }
    bench_live_close(context, writer);
    return rc;
}

static int run_fresh_alone(bench *b, pml_error *err)
{
    return run_keys_fresh(b, 0, err);
}

static int run_fresh_readers(bench *b, pml_error *err)
{
    return run_keys_fresh(b, READERS, err);
}

const bench_case keys_cases[] = {
    {"keys-live", run_keys_live, "writes ROWS rows with keys to memory in calls of 1,000 rows"},
    {"keys-one-row", run_keys_one_row, "the same in calls of one row"},
    {"keys-read-1", run_read_1, "reads ROWS rows with keys in memory, written one by one"},
    {"keys-read-100", run_read_100, "the same, written 100 at a time"},
    {"keys-read-1000", run_read_1000, "the same, written 1,000 at a time"},
    {"keys-read-10000", run_read_10000, "the same, written 10,000 at a time"},
    {"keys-runs", run_keys_runs, "ROWS rows with keys in ten commits"},
    {"keys-union", run_keys_union, "reads the table DIR of keys-runs, alone and with a tenth as many rows in memory"},
    {"keys-fresh", run_fresh_alone, "writes 1,000 rows and reads one by its key, beside ROWS in memory"},
    {"keys-fresh-readers", run_fresh_readers, "the same beside four threads that read keys"},
    {0}};
