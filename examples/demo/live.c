/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t live_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void live_sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (ms > 0 && nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

void live_fail(live *l, const char *what, int rc, const pml_error *err)
{
    if (!atomic_exchange(&l->failed, true))
        (void)fprintf(stderr, "demo: %s: %s (%s)\n", what, err->message, pml_error_name(rc));
    atomic_store(&l->stop, true);
}

/* ---- what streams have in common ---- */

static int show_memory(live *l, pml_error *err)
{
    pml_rt_metrics m = PML_RT_METRICS_INIT;
    int rc = pml_rt_context_metrics(&m, l->context, err);
    atomic_store(&l->life->in_memory, m.total_row_count);
    atomic_store(&l->life->memory_bytes, m.total_memory_bytes);
    return rc;
}

int live_write(int64_t *start_ns, live *l, struct ArrowArray *batch, const struct ArrowSchema *schema, pml_error *err)
{
    life *s = l->life;
    int64_t rows = batch->length;
    (void)atomic_fetch_add(&s->submitted, rows);
    *start_ns = live_now_ns();
    int rc = pml_rt_write(NULL, l->writer, batch, schema, NULL, err);
    int64_t took = live_now_ns() - *start_ns;
    if (batch->release != NULL)
        batch->release(batch);
    if (rc != PML_OK)
        return rc;
    (void)atomic_fetch_add(&s->written, rows);
    (void)atomic_fetch_add(&s->write_ns, took);
    if (took > atomic_load(&s->write_ns_max))
        atomic_store(&s->write_ns_max, took);
    return show_memory(l, err);
}

void live_pace(const live *l, int64_t begin_ns, int64_t rows)
{
    if (l->options->rate > 0)
        live_sleep_ms((begin_ns - live_now_ns()) / 1000000 + rows * 1000 / l->options->rate);
}

/* ---- open, run, close ---- */

static int live_open(live *l, const demo_table *table, pml_error *err)
{
    int rc = pml_env_new(&l->env, NULL, err);
    if (rc == PML_OK)
        rc = table_open(&l->table, table, l->env, l->options->warehouse, err);
    if (rc == PML_OK)
        rc = pml_rt_context_open(&l->context, l->env, NULL, err);
    if (rc == PML_OK)
        rc = pml_rt_writer_open(&l->writer, l->table, l->context, NULL, err);
    if (rc == PML_OK)
        rc = pml_commit_open(&l->commit, l->table, "demo", err);
    /* Identifiers of a commit user must increase; this user makes all snapshots of this table. */
    if (rc == PML_OK)
        rc = pml_table_latest_snapshot(&l->identifier, l->table, err);
    return rc;
}

static void live_close(live *l)
{
    pml_rt_writer_abort(l->writer); /* NULL after a clean end */
    pml_commit_close(l->commit);
    if (l->context != NULL)
        pml_rt_context_close(l->context);
    pml_table_release(l->table);
    pml_env_release(l->env);
}

/* The threads beside the stream; ended when it returns. */
static void run_threads(live *l, const live_job *job)
{
    enum { THREADS = LIVE_READERS + 1 };
    void *(*const mains[THREADS])(void *) = {live_commit_thread, job->readers[0], job->readers[1]};
    pthread_t threads[THREADS];
    pml_error err = PML_ERROR_INIT;
    size_t n = 0;
    while (n < THREADS && mains[n] != NULL && pthread_create(&threads[n], NULL, mains[n], l) == 0)
        n++;
    if (n < THREADS && mains[n] != NULL) {
        (void)fprintf(stderr, "demo: a thread could not be started\n");
        atomic_store(&l->failed, true);
    } else {
        int rc = job->stream(l, &err);
        if (rc != PML_OK)
            live_fail(l, "writing", rc, &err);
    }
    atomic_store(&l->stop, true);
    (void)pthread_mutex_lock(&l->probe.mu);
    (void)pthread_cond_signal(&l->probe.changed);
    (void)pthread_mutex_unlock(&l->probe.mu);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
}

static int run_job(live *l, const live_job *job, pml_error *err)
{
    int rc = live_open(l, job->table, err);
    if (rc == PML_OK)
        rc = job->open(l, err);
    if (rc != PML_OK)
        return rc;
    atomic_store(&l->life->recovered, true);
    run_threads(l, job);
    if (atomic_load(&l->failed))
        return PML_OK;        /* it was said */
    rc = live_commit(l, err); /* the rest */
    if (rc == PML_OK)
        rc = show_memory(l, err);
    if (rc == PML_OK)
        rc = pml_rt_writer_close(l->writer, err);
    if (rc == PML_OK)
        l->writer = NULL;
    return rc;
}

int live_run(const live_job *job, const live_options *options, life *told)
{
    live l = {.options = options, .life = told, .probe = {.row = -1}};
    pml_error err = PML_ERROR_INIT;
    (void)pthread_mutex_init(&l.probe.mu, NULL);
    (void)pthread_cond_init(&l.probe.changed, NULL);
    int rc = run_job(&l, job, &err);
    if (rc != PML_OK)
        live_fail(&l, "the live process", rc, &err);
    job->close(&l);
    live_close(&l);
    (void)pthread_cond_destroy(&l.probe.changed);
    (void)pthread_mutex_destroy(&l.probe.mu);
    return atomic_load(&l.failed) ? EXIT_FAILURE : EXIT_SUCCESS;
}
