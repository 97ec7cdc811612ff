/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of many files. */
#include "bench.h"

enum { FILES_PER_COMMIT = 100, PLANS = 20 };

/* Each row of a commit lies in a partition of its own, so that it becomes a file; each commit leaves a manifest of them. */
static int run_files(bench *b, pml_error *err)
{
    b->partition = "id";
    int rc = bench_create(b,
                          "\"write-only\":\"true\",\"manifest.merge-min-count\":\"1000000\","
                          "\"manifest.full-compaction-threshold-size\":\"1 gb\",\"commit.durability\":\"none\"",
                          0, err);
    for (int64_t done = 0; rc == PML_OK && done < b->rows; done += FILES_PER_COMMIT) {
        int64_t left = b->rows - done;
        rc = bench_batches(b, 0, left < FILES_PER_COMMIT ? left : FILES_PER_COMMIT, FILES_PER_COMMIT, err);
        if (rc == PML_OK)
            rc = bench_append(b, err);
    }
    if (rc == PML_OK)
        bench_put(b, "rows", (double)b->rows);
    return rc;
}

static int count_files(int64_t *files, const pml_plan *plan, pml_error *err)
{
    int rc = PML_OK;
    *files = 0;
    for (size_t i = 0; rc == PML_OK && i < pml_plan_split_count(plan); i++) {
        pml_split_info info = PML_SPLIT_INFO_INIT;
        rc = pml_plan_split_get(&info, plan, i, err);
        *files += info.files;
    }
    return rc;
}

static int run_plan(bench *b, pml_error *err)
{
    bench_lap best = BENCH_LAP_WORST;
    int rc = bench_open(b, err);
    for (int i = 0; rc == PML_OK && i < PLANS; i++) {
        int64_t files = 0;
        pml_plan *plan = NULL;
        bench_lap begin = bench_begin();
        rc = bench_plan(&plan, b, &(bench_query){0}, err);
        bench_keep_best(&best, bench_since(begin));
        if (rc == PML_OK)
            rc = count_files(&files, plan, err);
        pml_plan_free(plan);
        if (rc == PML_OK)
            rc = bench_expect("files planned", files, b->rows, err);
    }
    if (rc == PML_OK)
        bench_put_lap(b, best, b->rows);
    return rc;
}

const bench_case plan_cases[] = {{"files", run_files, "makes a table of ROWS files of one row, 100 to a manifest"},
                                 {"plan", run_plan, "plans the table DIR, which has ROWS files of one row"},
                                 {0}};
