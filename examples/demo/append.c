/* SPDX-License-Identifier: Apache-2.0 */
#include "append.h"

#include <stdlib.h>

#include "error.h"
#include "source.h"

static int append_open(live *l, pml_error *err)
{
    life *told = l->life;
    int64_t rows = 0;
    source *s = l->source = calloc(1, sizeof *s);
    if (s == NULL)
        return error_no_memory(err);
    int rc = table_count(&rows, l->table, err);
    if (rc == PML_OK)
        rc = source_open(s, l->table, l->options->csv, l->options->batch_rows, err);
    atomic_store(&told->recovered_rows, rows);
    atomic_store(&told->committed, rows);
    atomic_store(&told->visible, rows);
    atomic_store(&told->partition_buckets, replay_count(&s->replay));
    return rc;
}

static void append_close(live *l)
{
    if (l->source != NULL)
        source_close(l->source);
    free(l->source);
}

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

static int append_stream(live *l, pml_error *err)
{
    source *s = l->source;
    struct ArrowArray batch;
    int64_t begin = live_now_ns(), rows = 0, last_row, start_ns;
    while (!atomic_load(&l->stop)) {
        int rc = source_next(&batch, &last_row, s, err);
        if (rc != PML_OK || batch.release == NULL)
            return rc;
        bool probed = atomic_load(&l->probe.waiting);
        rows += batch.length;
        rc = live_write(&start_ns, l, &batch, &s->write_schema, err);
        if (rc != PML_OK)
            return rc;
        if (probed)
            probe_post(&l->probe, start_ns, last_row,
                       atomic_load(&l->life->recovered_rows) + atomic_load(&l->life->written));
        atomic_store(&l->life->skipped, s->skipped);
        live_pace(l, begin, rows);
    }
    return PML_OK;
}

const live_job job_append = {.table = &table_flights,
                             .open = append_open,
                             .stream = append_stream,
                             .close = append_close,
                             .readers = {append_query_thread, append_probe_thread}};
