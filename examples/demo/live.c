/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "source.h"

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

/* ---- the stream ---- */

/* Shows the probe the write call that has just returned. */
static void probe_post(probe *p, int64_t start_ns, int64_t row, int64_t rows)
{
    (void)pthread_mutex_lock(&p->mu);
    p->start_ns = start_ns;
    p->row = row;
    p->rows = rows;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->mu);
}

static int write_batch(live *l, struct ArrowArray *batch, const struct ArrowSchema *schema, int64_t last_row,
                       pml_error *err)
{
    life *s = l->life;
    int64_t rows = batch->length;
    bool probed = atomic_load(&l->probe.waiting);
    (void)atomic_fetch_add(&s->submitted, rows);
    int64_t start = live_now_ns();
    int rc = pml_rt_write(NULL, l->writer, batch, schema, NULL, err);
    int64_t took = live_now_ns() - start;
    if (batch->release != NULL)
        batch->release(batch);
    if (rc != PML_OK)
        return rc;
    (void)atomic_fetch_add(&s->written, rows);
    if (took > atomic_load(&s->write_ns_max))
        atomic_store(&s->write_ns_max, took);
    if (probed)
        probe_post(&l->probe, start, last_row, atomic_load(&s->recovered_rows) + atomic_load(&s->written));
    return PML_OK;
}

static int show_memory(live *l, pml_error *err)
{
    pml_rt_metrics m = PML_RT_METRICS_INIT;
    int rc = pml_rt_context_metrics(&m, l->context, err);
    atomic_store(&l->life->in_memory, m.total_row_count);
    atomic_store(&l->life->memory_bytes, m.total_memory_bytes);
    return rc;
}

static int stream_rows(live *l, source *s, pml_error *err)
{
    struct ArrowArray batch;
    int64_t begin = live_now_ns(), rows = 0, last_row, rate = l->options->rate;
    int rc = PML_OK;
    while (!atomic_load(&l->stop)) {
        rc = source_next(&batch, &last_row, s, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        rows += batch.length;
        rc = write_batch(l, &batch, &s->write_schema, last_row, err);
        if (rc != PML_OK)
            break;
        atomic_store(&l->life->skipped, s->skipped);
        rc = show_memory(l, err);
        if (rc != PML_OK)
            break;
        if (rate > 0)
            live_sleep_ms((begin - live_now_ns()) / 1000000 + rows * 1000 / rate);
    }
    return rc;
}

/* ---- open, run, close ---- */

static int live_open(live *l, pml_error *err)
{
    int rc = pml_env_new(&l->env, NULL, err);
    if (rc == PML_OK)
        rc = flights_open(&l->table, l->env, l->options->warehouse, err);
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
static void run_threads(live *l, source *s)
{
    void *(*const mains[])(void *) = {live_commit_thread, live_query_thread, live_probe_thread};
    enum { THREADS = sizeof mains / sizeof mains[0] };
    pthread_t threads[THREADS];
    pml_error err = PML_ERROR_INIT;
    size_t n = 0;
    while (n < THREADS && pthread_create(&threads[n], NULL, mains[n], l) == 0)
        n++;
    if (n < THREADS) {
        (void)fprintf(stderr, "demo: a thread could not be started\n");
        atomic_store(&l->failed, true);
    } else {
        int rc = stream_rows(l, s, &err);
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

int live_run(const live_options *options, life *told)
{
    live l = {.options = options, .life = told, .probe = {.row = -1}};
    source s = {0};
    pml_error err = PML_ERROR_INIT;
    int64_t rows = 0;
    (void)pthread_mutex_init(&l.probe.mu, NULL);
    (void)pthread_cond_init(&l.probe.changed, NULL);
    int rc = live_open(&l, &err);
    if (rc == PML_OK)
        rc = flights_count(&rows, l.table, &err);
    if (rc == PML_OK)
        rc = source_open(&s, l.table, options->csv, options->batch_rows, &err);
    if (rc == PML_OK) {
        atomic_store(&told->recovered_rows, rows);
        atomic_store(&told->committed, rows);
        atomic_store(&told->visible, rows);
        atomic_store(&told->partition_buckets, s.offsets == NULL ? 0 : (long long)pml_rt_offsets_count(s.offsets));
        atomic_store(&told->recovered, true);
        run_threads(&l, &s);
        if (!atomic_load(&l.failed))
            rc = live_commit(&l, &err); /* the rest */
        if (rc == PML_OK)
            rc = show_memory(&l, &err);
    }
    if (rc == PML_OK && !atomic_load(&l.failed)) {
        rc = pml_rt_writer_close(l.writer, &err);
        if (rc == PML_OK)
            l.writer = NULL;
    }
    if (rc != PML_OK)
        live_fail(&l, "the live process", rc, &err);
    source_close(&s);
    live_close(&l);
    (void)pthread_cond_destroy(&l.probe.changed);
    (void)pthread_mutex_destroy(&l.probe.mu);
    return atomic_load(&l.failed) ? EXIT_FAILURE : EXIT_SUCCESS;
}
