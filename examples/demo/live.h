/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live process: its stream writes into one real-time table while other threads share its context.
 *
 *   stream   hands rows to the live writer (the process's own thread)
 *   commit   every so often: prepare and commit, while the stream goes on
 *
 * What it streams, and who reads beside it, is a job: append.c has that of table flights, upsert.c that of table flight_status.
 */
#ifndef DEMO_LIVE_H
#define DEMO_LIVE_H

#include <pthread.h>

#include "status.h"
#include "tables.h"

typedef struct live_options {
    const char *warehouse, *csv;
    int64_t rate; /* rows a second; 0: as fast as it goes */
    int64_t batch_rows, commit_every_ms;
} live_options;

/* The last write call, for the probe. Guarded by mu. */
typedef struct probe {
    pthread_mutex_t mu;
    pthread_cond_t changed;
    atomic_bool waiting;   /* the next write call is wanted */
    int64_t start_ns, row; /* row -1: none yet */
    int64_t rows;          /* in the table when the call had returned */
} probe;

typedef struct live {
    const live_options *options;
    life *life;
    pml_env *env;
    pml_table *table;
    pml_rt_context *context;
    pml_rt_writer *writer;
    pml_commit *commit;
    int64_t identifier; /* of the last commit */
    probe probe;
    atomic_bool queries_on;
    atomic_bool stop, failed;
    void *source; /* the job's own */
} live;

enum { LIVE_READERS = 2 };
typedef struct live_job {
    const demo_table *table;
    int (*open)(live *l, pml_error *err);   /* its source, and what was recovered */
    int (*stream)(live *l, pml_error *err); /* until the source ends, or l->stop */
    void (*close)(live *l);                 /* also after a failed open */
    void *(*readers[LIVE_READERS])(void *); /* threads beside the stream; NULL: none */
} live_job;

/* Returns the exit code. What happens is told in *told. */
int live_run(const live_job *job, const live_options *options, life *told);

/* For jobs and threads. */
int64_t live_now_ns(void);
void live_sleep_ms(int64_t ms);
/* Prints the error, once, and makes all threads stop. */
void live_fail(live *l, const char *what, int rc, const pml_error *err);
/* Hands a batch to the writer, which takes it, and tells of it. */
int live_write(int64_t *start_ns, live *l, struct ArrowArray *batch, const struct ArrowSchema *schema, pml_error *err);
/* Sleeps until so many rows since begin_ns are not above the rate. */
void live_pace(const live *l, int64_t begin_ns, int64_t rows);
/* Prepares and commits what is in memory. */
int live_commit(live *l, pml_error *err);
void *live_commit_thread(void *arg);

#endif
