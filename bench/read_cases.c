/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of committed rows. */
#include "bench.h"

enum { POINTS = 20, KEYS = 200, THREADS = 2 };

static int run_query(bench *b, const bench_query *query, pml_error *err)
{
    int64_t rows = 0;
    int rc = bench_warm_up(b, err);
    bench_lap begin = bench_begin();
    if (rc == PML_OK)
        rc = bench_open(b, err);
    if (rc == PML_OK)
        rc = bench_read(&rows, b, query, err);
    if (rc == PML_OK)
        bench_put_lap(b, bench_since(begin), rows);
    if (rc == PML_OK)
        bench_put_peak(b);
    return rc;
}

static int run_scan(bench *b, pml_error *err)
{
    return run_query(b, &(bench_query){0}, err);
}

/* To be compared by wall time. */
static int run_scan_threads(bench *b, pml_error *err)
{
    return run_query(b, &(bench_query){.threads = THREADS}, err);
}

/* Each lap plans anew and opens its file anew. */
static int run_point(bench *b, pml_error *err)
{
    const bench_query query = {.op = PML_OP_EQ, .id = b->rows / 2};
    bench_lap best = BENCH_LAP_WORST;
    int rc = bench_open(b, err);
    for (int i = 0; rc == PML_OK && i < POINTS; i++) {
        int64_t rows;
        bench_lap begin = bench_begin();
        rc = bench_read(&rows, b, &query, err);
        bench_keep_best(&best, bench_since(begin));
        if (rc == PML_OK)
            rc = bench_expect("rows of one id", rows, 1, err);
    }
    if (rc == PML_OK)
        bench_put_lap(b, best, b->rows);
    return rc;
}

/* The n-th key of a table that bench-write of tests/oracle made. */
static int64_t java_key(int64_t n)
{
    return (int64_t)((uint64_t)n * 0x9E3779B1u & 0xFFFFFFFFFFu);
}

/* Keys all over the table, each planned and read anew. Its first run alone has the first ROWS / 10 keys. */
static int run_keys(bench *b, pml_error *err)
{
    double laps[KEYS], cpu[KEYS];
    int rc = bench_warm_up(b, err);
    if (rc == PML_OK)
        rc = bench_open(b, err);
    for (int i = 0; rc == PML_OK && i < KEYS; i++) {
        const bench_query query = {.op = PML_OP_EQ, .id = java_key(b->rows / 10 * i / KEYS), .column = "c0"};
        int64_t rows;
        bench_lap begin = bench_begin(), lap;
        rc = bench_read(&rows, b, &query, err);
        lap = bench_since(begin);
        laps[i] = lap.wall;
        cpu[i] = lap.cpu;
        if (rc == PML_OK)
            rc = bench_expect("rows of one key", rows, 1, err);
    }
    if (rc == PML_OK)
        bench_put_laps(b, "key", laps, KEYS);
    if (rc == PML_OK)
        bench_put_laps(b, "key_cpu", cpu, KEYS);
    if (rc == PML_OK)
        bench_put(b, "rows", (double)b->rows);
    return rc;
}

const bench_case read_cases[] = {
    {"scan", run_scan, "reads all rows and columns of the table DIR, nothing kept"},
    {"scan-threads", run_scan_threads, "the same by two threads"},
    {"point", run_point, "the row of the id in the middle of the table DIR, which has ROWS rows"},
    {"keys", run_keys,
     "keys c0 of the table DIR, one after the other; bench-write of tests/oracle made it of ROWS rows"},
    {0}};
