/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in memory become files while writes go on. */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LAPS_MAX = 4000, QUIET_LAPS = 1000, PAUSE_US = 200 };

typedef struct flush {
    pml_rt_writer *writer;
    pml_rt_prepared *prepared;
    double cpu; /* of the prepare call */
    int rc;
    atomic_bool done;
    pml_error error;
} flush;

static void *flush_thread(void *arg)
{
    flush *f = arg;
    double cpu = bench_thread();
    f->rc = pml_rt_prepare(&f->prepared, f->writer, 1, NULL, &f->error);
    f->cpu = bench_thread() - cpu;
    atomic_store(&f->done, true);
    return NULL;
}

static int commit_prepared(bench *b, const pml_rt_prepared *prepared, pml_error *err)
{
    pml_commit *commit = NULL;
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
    int rc = pml_commit_open(&commit, b->table, NULL, err);
    if (rc == PML_OK)
        rc = pml_rt_commit(&result, commit, entries, n, 1, NULL, err);
    pml_commit_close(commit);
    return rc;
}

/* Batches of the caller until stop is set or n are written, with a pause after each: what a call takes when the machine is not
   full of calls. */
static int write_paced(size_t *done, double *laps, size_t n, bench *b, pml_rt_writer *writer, const atomic_bool *stop,
                       pml_error *err)
{
    const struct timespec pause = {0, PAUSE_US * 1000};
    int rc = PML_OK;
    for (*done = 0; rc == PML_OK && *done < n && !atomic_load(stop); ++*done) {
        double begin = bench_wall();
        rc = pml_rt_write(NULL, writer, &b->batches[*done], &b->schema, NULL, err);
        laps[*done] = bench_wall() - begin;
        (void)nanosleep(&pause, NULL);
    }
    return rc;
}

static int load_rows(bench *b, pml_rt_writer *writer, pml_error *err)
{
    int rc = bench_batches(b, 0, b->rows, BENCH_LIVE_ROWS, err);
    if (b->key != NULL)
        bench_scatter(b);
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    return rc;
}

/* ROWS rows in memory, prepared and committed: what the two calls cost. */
static int prepare_and_commit(bench *b, int (*open)(pml_rt_context **, pml_rt_writer **, bench *, pml_error *), pml_error *err)
{
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    pml_rt_prepared *prepared = NULL;
    int rc = bench_warm_up(b, err);
    if (rc == PML_OK)
        rc = open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = load_rows(b, writer, err);
    bench_lap begin = bench_begin();
    if (rc == PML_OK)
        rc = pml_rt_prepare(&prepared, writer, 1, NULL, err);
    double between = bench_cpu();
    if (rc == PML_OK)
        rc = commit_prepared(b, prepared, err);
    if (rc == PML_OK) {
        bench_put(b, "commit_cpu_seconds", bench_cpu() - between);
        bench_put_lap(b, bench_since(begin), b->rows);
    }
    pml_rt_prepared_free(prepared);
    bench_live_close(context, writer);
    return rc;
}

static int run_prepare(bench *b, pml_error *err)
{
    return prepare_and_commit(b, bench_live_open, err);
}

static int run_keys_prepare(bench *b, pml_error *err)
{
    return prepare_and_commit(b, bench_keys_open, err);
}

/* Write calls of 1,000 rows alone, then beside a prepare of ROWS rows. */
static int run_prepare_writes(bench *b, pml_error *err)
{
    static double quiet[QUIET_LAPS], busy[LAPS_MAX];
    size_t n_quiet = 0, n_busy = 0;
    pthread_t thread;
    flush f = {.error = PML_ERROR_INIT};
    pml_rt_context *context = NULL;
    atomic_bool never = false;
    int rc = bench_warm_up(b, err);
    if (rc == PML_OK)
        rc = bench_live_open(&context, &f.writer, b, err);
    if (rc == PML_OK)
        rc = load_rows(b, f.writer, err);
    if (rc == PML_OK)
        rc = bench_batches(b, b->rows, (int64_t)QUIET_LAPS * BENCH_LIVE_ROWS, BENCH_LIVE_ROWS, err);
    if (rc == PML_OK)
        rc = write_paced(&n_quiet, quiet, QUIET_LAPS, b, f.writer, &never, err);
    if (rc == PML_OK)
        rc = bench_batches(b, b->rows, (int64_t)LAPS_MAX * BENCH_LIVE_ROWS, BENCH_LIVE_ROWS, err);
    if (rc == PML_OK && pthread_create(&thread, NULL, flush_thread, &f) == 0) {
        rc = write_paced(&n_busy, busy, LAPS_MAX, b, f.writer, &f.done, err);
        (void)pthread_join(thread, NULL);
    }
    if (rc == PML_OK && f.rc != PML_OK) {
        rc = f.rc;
        *err = f.error;
    }
    if (rc == PML_OK && n_busy > 0) {
        bench_put_laps(b, "quiet", quiet, n_quiet);
        bench_put_laps(b, "busy", busy, n_busy);
        bench_put(b, "prepare_cpu_seconds", f.cpu);
        bench_put(b, "writes", (double)n_busy);
        bench_put(b, "rows", (double)b->rows);
    }
    pml_rt_prepared_free(f.prepared);
    bench_live_close(context, f.writer);
    return rc;
}

const bench_case prepare_cases[] = {
    {"prepare", run_prepare, "turns ROWS rows in memory into files and commits"},
    {"keys-prepare", run_keys_prepare, "the same of rows with keys, which came in no order"},
    {"prepare-writes", run_prepare_writes, "writes of 1,000 rows beside a prepare of ROWS"},
    {0}};
