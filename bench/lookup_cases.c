/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by their keys, each key by itself: out of memory, and out of five runs that nobody compacted. */
#include "bench.h"

enum { IN_MEMORY = 20000, ON_DISK = 200, RUNS = 5, WRITE_ROWS = 1000 };

static int64_t scattered(int64_t i)
{
    return (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> 1);
}

static void scatter(bench *b)
{
    for (size_t i = 0; i < b->n_batches; i++) {
        const struct ArrowArray *ids = b->batches[i].children[0];
        int64_t *v = (int64_t *)(uintptr_t)ids->buffers[1];
        for (int64_t row = 0; row < ids->length; row++)
            v[row] = scattered(v[row]);
    }
}

static int open_lookup(pml_lookup **out, struct ArrowSchema *schema, bench *b, pml_rt_context *context, pml_error *err)
{
    pml_scan *scan;
    int rc = pml_scan_new(&scan, b->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, context, err);
    if (rc == PML_OK)
        rc = pml_lookup_open(out, scan, NULL, err);
    if (rc == PML_OK)
        rc = pml_lookup_key_schema(schema, *out, err);
    pml_scan_free(scan);
    return rc;
}

static void no_release(struct ArrowArray *a)
{
    a->release = NULL;
}

/* All columns of key i, which is there. */
static int look(bench *b, pml_lookup *lookup, const struct ArrowSchema *schema, int64_t i, pml_error *err)
{
    const int64_t id = scattered(i);
    const void *buffers[] = {NULL, &id}, *none[] = {NULL};
    struct ArrowArray column = {.length = 1, .n_buffers = 2, .buffers = buffers, .release = no_release}, *columns[] = {&column}, row = {0};
    const struct ArrowArray keys = {.length = 1, .n_buffers = 1, .buffers = none, .n_children = 1, .children = columns, .release = no_release};
    int rc = pml_lookup_get(&row, lookup, &keys, schema, err);
    if (rc != PML_OK)
        return rc;
    int64_t found = row.length - row.null_count;
    row.release(&row);
    (void)b;
    return bench_expect("rows of one key", found, 1, err);
}

/* n keys all over the first b->rows ones. */
static int measure(bench *b, pml_rt_context *context, size_t n, pml_error *err)
{
    static double laps[IN_MEMORY], cpu[IN_MEMORY];
    pml_lookup *lookup = NULL;
    struct ArrowSchema schema = {0};
    int rc = open_lookup(&lookup, &schema, b, context, err);
    if (rc == PML_OK)
        rc = look(b, lookup, &schema, 0, err);
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        int64_t key = (int64_t)((uint64_t)i * 0x9E3779B1u % (uint64_t)b->rows);
        double wall = bench_wall(), thread = bench_thread();
        rc = look(b, lookup, &schema, key, err);
        cpu[i] = bench_thread() - thread;
        laps[i] = bench_wall() - wall;
    }
    if (rc == PML_OK) {
        bench_put_laps(b, "key", laps, n);
        bench_put_laps(b, "key_cpu", cpu, n);
        bench_put(b, "rows", (double)b->rows);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    pml_lookup_close(lookup);
    return rc;
}

static int run_memory(bench *b, pml_error *err)
{
    pml_rt_context *context = NULL;
    pml_rt_writer *writer = NULL;
    b->key = "id";
    int rc = bench_live_open(&context, &writer, b, err);
    if (rc == PML_OK)
        rc = bench_batches(b, 0, b->rows, WRITE_ROWS, err);
    scatter(b);
    for (size_t i = 0; rc == PML_OK && i < b->n_batches; i++)
        rc = pml_rt_write(NULL, writer, &b->batches[i], &b->schema, NULL, err);
    if (rc == PML_OK)
        rc = measure(b, context, IN_MEMORY, err);
    bench_live_close(context, writer);
    return rc;
}

static int run_disk(bench *b, pml_error *err)
{
    b->key = "id";
    int rc = bench_warm_up(b, err);
    if (rc == PML_OK)
        rc = bench_create(b, "\"bucket\":\"1\",\"write-only\":\"true\"", 0, err);
    for (int run = 0; rc == PML_OK && run < RUNS; run++) {
        rc = bench_batches(b, 0, b->rows, BENCH_BATCH_ROWS, err);
        scatter(b);
        if (rc == PML_OK)
            rc = bench_append(b, err);
    }
    return rc == PML_OK ? measure(b, NULL, ON_DISK, err) : rc;
}

const bench_case lookup_cases[] = {{"lookup-memory", run_memory, "keys of a live table, one after the other, all of whose ROWS rows are in memory"},
                                   {"lookup-disk", run_disk, "keys of a table in five runs of ROWS rows each, one after the other"},
                                   {0}};
