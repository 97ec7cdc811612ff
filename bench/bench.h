/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cases of pml-bench share. A case is a function in a file of its kind; pml_bench.c finds it by its name, in the tables
 * of those files. It makes what it needs in a new table, measures, and puts its figures; each process runs one case.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <paimonlive/paimonlive.h>
#include <stdbool.h>
#include <time.h>

enum { BENCH_BATCH_ROWS = 65536, BENCH_LIVE_ROWS = 1000, BENCH_OPTIONS_MAX = 16 };

typedef struct bench {
    const char *dir; /* the table */
    int64_t rows;
    size_t n_options; /* KEY=VALUE words of the command line: options of the table, stored with one that is made */
    pml_option_pair options[BENCH_OPTIONS_MAX];
    const char *partition; /* column that a new table is partitioned by; NULL: none */
    const char *key;       /* primary key of a new table; NULL: none */
    pml_env *env;
    pml_table *table;
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    size_t n_batches;
    bool figures; /* one was printed */
} bench;

typedef struct bench_case {
    const char *name;
    int (*run)(bench *b, pml_error *err);
    const char *about;
} bench_case;

/* Each ends with a name of NULL. */
extern const bench_case read_cases[], plan_cases[], write_cases[], live_cases[], keys_cases[], prepare_cases[], lookup_cases[];

double bench_wall(void);
double bench_cpu(void);    /* of the process, user and system */
double bench_thread(void); /* of the calling thread */

/* Seconds on both clocks, wall and process. */
typedef struct bench_lap {
    double wall, cpu;
} bench_lap;
bench_lap bench_begin(void);
bench_lap bench_since(bench_lap begin);
/* Keeps in `best` the least of each clock. */
void bench_keep_best(bench_lap *best, bench_lap lap);
#define BENCH_LAP_WORST ((bench_lap){1e9, 1e9})

/* One member of the JSON object that the process prints; main ends it. */
void bench_put(bench *b, const char *name, double value);
/* The half, 99 % and least of n laps in seconds, in milliseconds as NAME_ms_p50, ... Sorts them. */
void bench_put_laps(bench *b, const char *name, double *laps, size_t n);
/* peak_mb: the most memory that the process had so far, as the kernel counts it. */
void bench_put_peak(bench *b);
/* cpu_seconds, seconds and rows. */
void bench_put_lap(bench *b, bench_lap lap, int64_t rows);

/* A new table of the rows of rows.h; options in JSON ("\"bucket\":\"1\"" or ""), those of the command line are added. */
int bench_create(bench *b, const char *options, uint32_t flags, pml_error *err);
/* The table that is there. */
int bench_open(bench *b, pml_error *err);
/* Makes batches of rows `first` and up, instead of those that b has. */
int bench_batches(bench *b, int64_t first, int64_t rows, int64_t batch_rows, pml_error *err);
void bench_batches_clear(bench *b);
/* Puts the ids of the batches in no order; each stays once. scattered: what becomes of an id. */
void bench_scatter(bench *b);
int64_t bench_scattered(int64_t id);
void bench_close(bench *b); /* env, too */
/* Writes the batches and commits once. */
int bench_append(bench *b, pml_error *err);
/* One row into DIR.warm: Arrow is loaded on first use, which other measurers have done before they measure. */
int bench_warm_up(bench *b, pml_error *err);

/* What is read; all zeros: every committed row, by the caller's thread. */
typedef struct bench_query {
    pml_rt_context *context; /* whose rows in memory are read, too */
    pml_predicate_op op;     /* only rows whose id is this to `id`; 0: all */
    int64_t id;
    const char *column; /* that is the id; NULL: "id" */
    uint32_t threads;
} bench_query;
int bench_plan(pml_plan **out, bench *b, const bench_query *query, pml_error *err);
/* Plans, reads, and counts the rows, nothing kept. */
int bench_read(int64_t *rows, bench *b, const bench_query *query, pml_error *err);
int bench_expect(const char *what, int64_t got, int64_t wanted, pml_error *err);

/* A live table of one bucket with its writer. close takes NULLs and drops what is not committed. keys: with the id as primary key; the
   table may be open already. */
int bench_live_open(pml_rt_context **context, pml_rt_writer **writer, bench *b, pml_error *err);
int bench_keys_open(pml_rt_context **context, pml_rt_writer **writer, bench *b, pml_error *err);
void bench_live_close(pml_rt_context *context, pml_rt_writer *writer);

/* Calls of fsync, fdatasync, syncfs by this process so far. */
int64_t bench_syncs(void);

#endif
