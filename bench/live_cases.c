/* SPDX-License-Identifier: Apache-2.0 */
/* Live writes and what becomes visible of them. */
#include "bench.h"

#include <malloc.h>

enum {
    CYCLES = 200,
    GROUP = 256, /* one-row batches made at a time: as a program has them that makes one and writes it, in the caches */
    READS = 20,
    MOVED = 200,
    MOVED_ROWS = 20000
};

/* Batches of LIVE_ROWS: only the write calls count. */
static int run_live(bench *b, pml_error *err)
{
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_live_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = bench_batches(b, 0, b->rows, BENCH_LIVE_ROWS, err);
    double wall = bench_wall(), cpu = bench_thread();
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    if (rc == PML_OK) {
        bench_put(b, "cpu_seconds", bench_thread() - cpu);
        bench_put(b, "seconds", bench_wall() - wall);
        bench_put(b, "rows", (double)b->rows);
    }
    bench_live_close(context, writer);
    return rc;
}

/* Rows [0, b->rows) in calls of one row each. The clock is read once for a group: reading it costs as much as a write. */
static int write_rows(double *cpu, bench *b, pml_rt_writer *writer, pml_error *err)
{
    int rc = PML_OK;
    *cpu = 0;
    for (int64_t at = 0; rc == PML_OK && at < b->rows; at += GROUP) {
        rc = bench_batches(b, at, b->rows - at < GROUP ? b->rows - at : GROUP, 1, err);
        double begin = bench_thread();
        for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
            rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
        *cpu += bench_thread() - begin;
    }
    bench_batches_clear(b);
    return rc;
}

static double heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return (double)(m.uordblks + m.hblkhd);
}

static int run_one_row(bench *b, pml_error *err)
{
    double cpu, heap = 0;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_live_open(&context, &writer, b, err);
    if (rc == PML_OK) {
        heap = heap_bytes();
        rc = write_rows(&cpu, b, writer, err);
    }
    if (rc == PML_OK) {
        bench_put(b, "bytes_a_row", (heap_bytes() - heap) / (double)b->rows);
        bench_put(b, "cpu_seconds", cpu);
        bench_put(b, "ns_a_row", cpu * 1e9 / (double)b->rows);
        bench_put(b, "rows", (double)b->rows);
    }
    bench_live_close(context, writer);
    return rc;
}

static int write_thousands(double *cpu, bench *b, pml_rt_writer *writer, pml_error *err)
{
    int rc = bench_batches(b, 0, b->rows, BENCH_LIVE_ROWS, err);
    *cpu = 0;
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    bench_batches_clear(b);
    return rc;
}

/* Plan and read of them. */
static int read_back(bench *b, int (*write)(double *, bench *, pml_rt_writer *, pml_error *), pml_error *err)
{
    double cpu, least = 1e9;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_live_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = write(&cpu, b, writer, err);
    for (int i = 0; rc == PML_OK && i < READS; i++) {
        int64_t rows;
        cpu = bench_cpu();
        rc = bench_read(&rows, b, &(bench_query){.context = context}, err);
        cpu = bench_cpu() - cpu;
        least = cpu < least ? cpu : least;
        if (rc == PML_OK)
            rc = bench_expect("rows read back", rows, b->rows, err);
    }
    if (rc == PML_OK) {
        bench_put(b, "cpu_seconds", least);
        bench_put(b, "rows", (double)b->rows);
    }
    bench_live_close(context, writer);
    return rc;
}

static int run_read_back(bench *b, pml_error *err)
{
    return read_back(b, write_rows, err);
}

static int run_read_back_batches(bench *b, pml_error *err)
{
    return read_back(b, write_thousands, err);
}

/* Large batches, which are taken as they are. */
static int run_moved(bench *b, pml_error *err)
{
    double laps[MOVED];
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_live_open(&context, &writer, b, err);
    for (int i = 0; rc == PML_OK && i < MOVED; i++) {
        rc = bench_batches(b, (int64_t)i * MOVED_ROWS, MOVED_ROWS, MOVED_ROWS, err);
        double begin = bench_wall();
        if (rc == PML_OK)
            rc = pml_rt_write(NULL, writer, &b->batches[0], &b->schema, NULL, err);
        laps[i] = bench_wall() - begin;
    }
    if (rc == PML_OK) {
        bench_put_laps(b, "write", laps, MOVED);
        bench_put(b, "ns_a_row", laps[MOVED / 2] * 1e9 / MOVED_ROWS); /* sorted by now */
        bench_put(b, "rows", MOVED_ROWS);
    }
    bench_live_close(context, writer);
    return rc;
}

/* From the write call to the rows in hand, with ROWS rows in memory before. */
static int run_freshness(bench *b, pml_error *err)
{
    double laps[CYCLES], cpu = 0;
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    int rc = bench_live_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = bench_batches(b, 0, b->rows, BENCH_LIVE_ROWS, err);
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    if (rc == PML_OK)
        rc = bench_batches(b, b->rows, (int64_t)CYCLES * BENCH_LIVE_ROWS, BENCH_LIVE_ROWS, err);
    for (size_t i = 0; rc == PML_OK && i < CYCLES; i++) {
        const bench_query query = {.context = context, .op = PML_OP_GE, .id = b->rows + (int64_t)i * BENCH_LIVE_ROWS};
        int64_t rows;
        double begin = bench_wall(), c = bench_cpu();
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
        if (rc == PML_OK)
            rc = bench_read(&rows, b, &query, err);
        laps[i] = bench_wall() - begin;
        cpu += bench_cpu() - c;
        if (rc == PML_OK)
            rc = bench_expect("visible rows", rows, BENCH_LIVE_ROWS, err);
    }
    if (rc == PML_OK) {
        bench_put_laps(b, "fresh", laps, CYCLES);
        bench_put(b, "cpu_seconds", cpu / CYCLES);
        bench_put(b, "rows", BENCH_LIVE_ROWS);
    }
    bench_live_close(context, writer);
    return rc;
}

const bench_case live_cases[] = {
    {"live", run_live, "writes ROWS rows to memory in calls of 1,000 rows"},
    {"one-row", run_one_row, "the same in calls of one row"},
    {"read-back", run_read_back, "reads ROWS rows that were written one by one"},
    {"read-back-batches", run_read_back_batches, "the same, written 1,000 at a time"},
    {"moved", run_moved, "write calls of 20,000 rows"},
    {"freshness", run_freshness, "writes 1,000 rows and reads them by id, beside ROWS in memory"},
    {0}};
