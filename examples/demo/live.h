/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live process. Four threads share one real-time context:
 *
 *   stream   reads the file and hands its rows to the live writer (this thread)
 *   commit   every few seconds: prepare and commit, while the stream goes on
 *   query    counts flights and averages delays by carrier, over memory and files, again and again
 *   probe    measures freshness: from the start of a write call to the row in this thread's hands
 */
#ifndef DEMO_LIVE_H
#define DEMO_LIVE_H

#include <pthread.h>

#include "flights.h"
#include "status.h"

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
} live;

/* Returns the exit code. What happens is told in *told. */
int live_run(const live_options *options, life *told);

/* For the threads. */
int64_t live_now_ns(void);
void live_sleep_ms(int64_t ms);
/* Prints the error, once, and makes all threads stop. */
void live_fail(live *l, const char *what, int rc, const pml_error *err);
/* Prepares and commits what is in memory. */
int live_commit(live *l, pml_error *err);
void *live_commit_thread(void *arg);
void *live_query_thread(void *arg);
void *live_probe_thread(void *arg);

#endif
