/* SPDX-License-Identifier: Apache-2.0 */
/* Batch writes: many rows at once, one row and commit. */
#include "bench.h"

enum { COMMITS = 40, FIRST_COMMITS = 3 /* directories, first snapshot: not measured */ };

static int run_append(bench *b, pml_error *err)
{
    int rc = bench_warm_up(b, err);
    if (rc == PML_OK)
        rc = bench_create(b, "\"write-only\":\"true\"", 0, err);
    if (rc == PML_OK)
        rc = bench_batches(b, 0, b->rows, BENCH_BATCH_ROWS, err);
    bench_lap begin = bench_begin();
    if (rc == PML_OK)
        rc = bench_append(b, err);
    if (rc == PML_OK)
        bench_put_lap(b, bench_since(begin), b->rows);
    return rc;
}

enum { UPSERT_BATCH_ROWS = 8192 };

/* Rows in short batches whose ids come in no order, each once: with a primary key or without. */
static int run_scattered(bench *b, const char *key, const char *options, pml_error *err)
{
    b->key = key;
    int rc = bench_warm_up(b, err);
    if (rc == PML_OK)
        rc = bench_create(b, options, 0, err);
    if (rc == PML_OK)
        rc = bench_batches(b, 0, b->rows, UPSERT_BATCH_ROWS, err);
    bench_scatter(b);
    bench_lap begin = bench_begin();
    if (rc == PML_OK)
        rc = bench_append(b, err);
    if (rc == PML_OK)
        bench_put_lap(b, bench_since(begin), b->rows);
    if (rc == PML_OK)
        bench_put_peak(b);
    return rc;
}

static int run_upsert(bench *b, pml_error *err)
{
    return run_scattered(b, "id", "\"bucket\":\"1\",\"write-only\":\"true\"", err);
}

static int run_append_scattered(bench *b, pml_error *err)
{
    return run_scattered(b, NULL, "\"write-only\":\"true\"", err);
}

/* One commit of one row; step 0 and up. */
typedef int commit_step(void *arg, bench *b, int64_t step, pml_error *err);

static int measure_commits(bench *b, commit_step *run, void *arg, pml_error *err)
{
    double laps[COMMITS];
    int64_t usual = 0, most = 0; /* syncs of a commit: one in thirty merges manifests, and syncs one file more */
    int rc = PML_OK;
    for (int64_t i = 0; rc == PML_OK && i < FIRST_COMMITS + COMMITS; i++) {
        rc = bench_batches(b, i, 1, 1, err);
        int64_t syncs = bench_syncs();
        double begin = bench_wall();
        if (rc == PML_OK)
            rc = run(arg, b, i, err);
        if (i < FIRST_COMMITS)
            continue;
        laps[i - FIRST_COMMITS] = bench_wall() - begin;
        syncs = bench_syncs() - syncs;
        usual = i == FIRST_COMMITS || syncs < usual ? syncs : usual;
        most = syncs > most ? syncs : most;
    }
    if (rc != PML_OK)
        return rc;
    bench_put_laps(b, "commit", laps, COMMITS);
    bench_put(b, "syncs", (double)usual);
    bench_put(b, "syncs_most", (double)most);
    bench_put(b, "rows", COMMITS);
    return PML_OK;
}

static int append_step(void *arg, bench *b, int64_t step, pml_error *err)
{
    (void)arg;
    (void)step;
    return bench_append(b, err);
}

static int run_commit(bench *b, pml_error *err)
{
    int rc = bench_create(b, "\"write-only\":\"true\"", 0, err);
    return rc == PML_OK ? measure_commits(b, append_step, NULL, err) : rc;
}

typedef struct live_writer {
    pml_rt_context *context;
    pml_rt_writer *writer;
    pml_commit *commit;
} live_writer;

static int live_step(void *arg, bench *b, int64_t step, pml_error *err)
{
    const live_writer *w = arg;
    pml_rt_prepared *prepared = NULL;
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    int rc = pml_rt_write(NULL, w->writer, &b->batches[0], &b->schema, NULL, err);
    if (rc == PML_OK)
        rc = pml_rt_prepare(&prepared, w->writer, step + 1, NULL, err);
    if (rc == PML_OK) {
        const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
        rc = pml_rt_commit(&result, w->commit, entries, n, step + 1, NULL, err);
    }
    pml_rt_prepared_free(prepared);
    return rc;
}

static int run_commit_live(bench *b, pml_error *err)
{
    live_writer w = {0};
    int rc = bench_live_open(&w.context, &w.writer, b, err);
    if (rc == PML_OK)
        rc = pml_commit_open(&w.commit, b->table, NULL, err);
    if (rc == PML_OK)
        rc = measure_commits(b, live_step, &w, err);
    pml_commit_close(w.commit);
    bench_live_close(w.context, w.writer);
    return rc;
}

const bench_case write_cases[] = {{"append", run_append, "writes ROWS rows into a new table and commits once"},
                                  {"append-scattered", run_append_scattered, "the same in short batches, with ids in no order"},
                                  {"upsert", run_upsert, "the latter into one bucket of a table whose primary key is the id"},
                                  {"commit", run_commit, "writes one row and commits, 40 times"},
                                  {"commit-live", run_commit_live, "the same through a live writer"},
                                  {0}};
