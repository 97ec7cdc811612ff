/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read side of `make bench`: pml-bench-read CASE DIR N measures one case in a fresh process and prints one line of JSON.
 *
 *   scan-basic    reads all rows and columns of the table DIR with validate = basic, nothing kept
 *   scan-threads  the same as `pml-bench scan` by N threads: look at the seconds, not at the CPU
 *   point         reads the rows of one id near the middle of N, which lie in one page
 *   make-plan     writes a table DIR of N files of one row, a hundred to a commit and each of those in a partition of its own
 *   plan          plans the table DIR, which has N files
 */
#include <paimonlive/paimonlive.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { FILES_PER_COMMIT = 100, REPEATS = 20 };

typedef struct bench {
    const char *dir;
    int64_t n;
    pml_env *env;
    pml_table *table;
} bench;

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
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

static int plan_make(pml_plan **out, bench *b, const pml_predicate *predicate, pml_error *err)
{
    pml_scan *scan = NULL;
    int rc = pml_scan_new(&scan, b->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_predicate(scan, predicate, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(out, scan, err);
    pml_scan_free(scan);
    return rc;
}

static int read_rows(int64_t *rows, bench *b, const pml_predicate *predicate, const pml_read_options *options, pml_error *err)
{
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch = {0};
    *rows = 0;
    int rc = plan_make(&plan, b, predicate, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, options, err);
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
    return rc;
}

/* One row first, unmeasured: Arrow is loaded on first use, which other measurers have done before they measure. */
static int warm_up(bench *b, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch = {0};
    int rc = pml_scan_new(&scan, b->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_limit(scan, 1, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, NULL, err);
    if (rc == PML_OK && stream.get_next(&stream, &batch) == 0 && batch.release != NULL)
        batch.release(&batch);
    if (stream.release != NULL)
        stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static int run_read(bench *b, const pml_predicate *predicate, const pml_read_options *options, pml_error *err)
{
    int64_t rows = 0;
    int rc = warm_up(b, err);
    double wall = seconds(), cpu = cpu_seconds();
    if (rc == PML_OK)
        rc = read_rows(&rows, b, predicate, options, err);
    if (rc == PML_OK)
        print_result(seconds() - wall, cpu_seconds() - cpu, rows);
    return rc;
}

static int run_scan_basic(bench *b, pml_error *err)
{
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.validate = PML_VALIDATE_BASIC;
    return run_read(b, NULL, &o, err);
}

static int run_scan_threads(bench *b, pml_error *err)
{
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.threads = (uint32_t)b->n;
    return run_read(b, NULL, &o, err);
}

static int run_point(bench *b, pml_error *err)
{
    char text[24];
    pml_predicate *predicate = NULL;
    int n = snprintf(text, sizeof text, "%" PRId64, b->n / 2);
    const pml_literal literal = {text, (size_t)n};
    int rc = pml_predicate_leaf(&predicate, b->table, "id", PML_OP_EQ, &literal, 1, err);
    if (rc == PML_OK)
        rc = run_read(b, predicate, NULL, err);
    pml_predicate_free(predicate);
    return rc;
}

/* ---- planning ---- */

static const char plan_schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
    "\"partitionKeys\":[\"p\"],\"options\":{\"write-only\":\"true\",\"manifest.merge-min-count\":\"1000000\","
    "\"manifest.full-compaction-threshold-size\":\"1 gb\"}}";

/* The arrays below are on the stack: nothing to let go of, but release must be there and mark the array. */
static void array_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static int commit_files(bench *b, int64_t first, pml_error *err)
{
    int64_t id[FILES_PER_COMMIT];
    int32_t p[FILES_PER_COMMIT], ends[FILES_PER_COMMIT + 1] = {0};
    char text[FILES_PER_COMMIT * 8];
    const void *fixed[2][2] = {{NULL, id}, {NULL, p}}, *strings[3] = {NULL, ends, text}, *none[1] = {NULL};
    struct ArrowArray columns[3] = {{.n_buffers = 2, .buffers = fixed[0]}, {.n_buffers = 2, .buffers = fixed[1]},
                                    {.n_buffers = 3, .buffers = strings}};
    struct ArrowArray *children[3] = {&columns[0], &columns[1], &columns[2]};
    struct ArrowArray batch = {.length = FILES_PER_COMMIT, .n_buffers = 1, .n_children = 3, .buffers = none, .children = children};
    struct ArrowSchema schema = {0};
    pml_writer *writer = NULL;
    pml_messages *messages = NULL;
    pml_commit *commit = NULL;
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    for (int32_t i = 0; i < FILES_PER_COMMIT; i++) {
        id[i] = first + i;
        p[i] = i;
        ends[i + 1] = ends[i] + 8;
        memcpy(text + ends[i], "v0123456", 8);
    }
    int rc = pml_table_arrow_schema(&schema, b->table, err);
    for (size_t i = 0; i < 3; i++) {
        columns[i].length = FILES_PER_COMMIT;
        columns[i].release = array_release;
    }
    batch.release = array_release;
    if (rc == PML_OK)
        rc = pml_writer_open(&writer, b->table, err);
    if (rc == PML_OK)
        rc = pml_writer_write(writer, &batch, &schema, err);
    if (rc == PML_OK)
        rc = pml_writer_prepare(&messages, writer, err);
    if (rc == PML_OK)
        rc = pml_commit_open(&commit, b->table, NULL, err);
    if (rc == PML_OK)
        rc = pml_commit_run(&result, commit, &messages, 1, PML_COMMIT_IDENTIFIER_BATCH, NULL, err);
    pml_commit_close(commit);
    pml_messages_free(messages);
    pml_writer_close(writer);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static int run_make_plan(bench *b, pml_error *err)
{
    int rc = PML_OK;
    for (int64_t i = 0; rc == PML_OK && i < b->n; i += FILES_PER_COMMIT)
        rc = commit_files(b, i, err);
    if (rc == PML_OK)
        print_result(0, 0, b->n);
    return rc;
}

static int run_plan(bench *b, pml_error *err)
{
    int64_t files = 0;
    int rc = PML_OK;
    double wall = 0, cpu = 0;
    for (int i = 0; rc == PML_OK && i < REPEATS; i++) {
        pml_plan *plan = NULL;
        double w = seconds(), c = cpu_seconds();
        rc = plan_make(&plan, b, NULL, err);
        c = cpu_seconds() - c;
        w = seconds() - w;
        cpu = i == 0 || c < cpu ? c : cpu;
        wall = i == 0 || w < wall ? w : wall;
        files = 0;
        for (size_t s = 0; rc == PML_OK && s < pml_plan_split_count(plan); s++) {
            pml_split_info info = PML_SPLIT_INFO_INIT;
            rc = pml_plan_split_get(&info, plan, s, err);
            files += info.files;
        }
        pml_plan_free(plan);
    }
    if (rc == PML_OK)
        print_result(wall, cpu, files);
    return rc;
}

int main(int n, char **words)
{
    static const struct {
        const char *name;
        int (*run)(bench *b, pml_error *err);
    } cases[] = {{"scan-basic", run_scan_basic}, {"scan-threads", run_scan_threads}, {"point", run_point},
                 {"make-plan", run_make_plan},   {"plan", run_plan}};
    const size_t n_cases = sizeof cases / sizeof cases[0];
    pml_error err = PML_ERROR_INIT;
    bench b = {0};
    size_t i = 0;
    while (n == 4 && i < n_cases && strcmp(cases[i].name, words[1]) != 0)
        i++;
    if (n != 4 || i == n_cases) {
        (void)fprintf(stderr, "Usage: pml-bench-read scan-basic|scan-threads|point|make-plan|plan DIR N\n");
        return 2;
    }
    b.dir = words[2];
    for (const char *p = words[3]; *p >= '0' && *p <= '9' && b.n < 1000000000; p++)
        b.n = b.n * 10 + (*p - '0');
    int rc = pml_env_new(&b.env, NULL, &err);
    if (rc == PML_OK && cases[i].run == run_make_plan)
        rc = pml_table_create(&b.table, b.env, b.dir, plan_schema, sizeof plan_schema - 1, 0, &err);
    else if (rc == PML_OK)
        rc = pml_table_open(&b.table, b.env, b.dir, NULL, &err);
    if (rc == PML_OK)
        rc = cases[i].run(&b, &err);
    if (rc != PML_OK)
        (void)fprintf(stderr, "pml-bench-read: %s: %s (%s)\n", words[1], err.message, pml_error_name(rc));
    pml_table_release(b.table);
    pml_env_release(b.env);
    return rc == PML_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
