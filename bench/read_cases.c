/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of committed rows. */
#include "bench.h"

static int run_scan(bench *b, pml_error *err)
{
    int64_t rows = 0;
    int rc = bench_warm_up(b, err);
    double wall = bench_wall(), cpu = bench_cpu();
    if (rc == PML_OK)
        rc = pml_table_open(&b->table, b->env, b->dir, NULL, err);
    if (rc == PML_OK)
        rc = bench_read(&rows, b, NULL, -1, err);
    if (rc == PML_OK) {
        bench_put(b, "cpu_seconds", bench_cpu() - cpu);
        bench_put(b, "seconds", bench_wall() - wall);
        bench_put(b, "rows", (double)rows);
    }
    return rc;
}

const bench_case read_cases[] = {{"scan", run_scan, "reads all rows and columns of the table DIR, nothing kept"}, {0}};
