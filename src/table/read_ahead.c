/* SPDX-License-Identifier: Apache-2.0 */
#include "table/read_ahead.h"

enum { AHEAD_BATCHES = 2 };
#define AHEAD_BYTES_MAX ((uint64_t)32 << 20) /* of all runs; past it a run is only read when its merge stands and waits */

typedef struct pml_ahead_run {
    pml_ahead *ahead;
    const pml_ahead_merge *merge;
    struct pml_ahead_run *before, *behind;
    pml_run run;
    const pml_field *fields;
    size_t n_fields;
    struct ArrowArray batches[AHEAD_BATCHES]; /* a ring */
    uint64_t bytes[AHEAD_BATCHES];
    size_t first, n;
    bool busy; /* some thread reads it */
    bool ended;
    int rc; /* why it ended */
    pml_error err;
} pml_ahead_run;

void pml_ahead__begin_locked(pml_ahead_merge *m, pml_ahead *a)
{
    *m = (pml_ahead_merge){.ahead = a};
    a->opening++;
}

void pml_ahead__opened(pml_ahead_merge *m)
{
    pml_ahead *a = m->ahead;
    pml_mutex__lock(a->mu);
    if (!m->opened) {
        m->opened = true;
        a->opening--;
        pml_cond__broadcast(a->work);
    }
    pml_mutex__unlock(a->mu);
}

static void end_locked(pml_ahead_run *r)
{
    r->ahead->unread -= !r->ended;
    r->ended = true;
}

/* The next batch of a run that nobody reads and that has room. */
static void read_locked(pml_ahead_run *r)
{
    pml_ahead *a = r->ahead;
    struct ArrowArray batch = {0};
    pml_error err = PML_ERROR_INIT;
    r->busy = true;
    pml_mutex__unlock(a->mu);
    int rc = r->run.next(r->run.ctx, &batch, &err);
    uint64_t bytes = rc == PML_OK && batch.release != NULL ? pml_batch__bytes(&batch, r->fields, r->n_fields) : 0;
    pml_mutex__lock(a->mu);
    r->busy = false;
    if (rc == PML_OK && batch.release != NULL) {
        size_t at = (r->first + r->n++) % AHEAD_BATCHES;
        r->batches[at] = batch;
        r->bytes[at] = bytes;
        a->bytes += bytes;
    } else {
        end_locked(r);
        r->rc = rc;
        r->err = err;
    }
    pml_cond__broadcast(a->work);
}

bool pml_ahead__help_locked(pml_ahead *a)
{
    pml_ahead_run *neediest = NULL;
    if (a->bytes >= AHEAD_BYTES_MAX)
        return false;
    for (pml_ahead_run *r = a->first; r != NULL && (neediest == NULL || r->merge == neediest->merge); r = r->behind)
        if (!r->busy && !r->ended && r->n < (neediest == NULL ? AHEAD_BATCHES : neediest->n))
            neediest = r;
    if (neediest != NULL)
        read_locked(neediest);
    return neediest != NULL;
}

static void batch_take_locked(struct ArrowArray *out, pml_ahead_run *r)
{
    *out = r->batches[r->first];
    r->ahead->bytes -= r->bytes[r->first];
    r->first = (r->first + 1) % AHEAD_BATCHES;
    r->n--;
}

static int ahead_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    pml_ahead_run *r = ctx;
    pml_ahead *a = r->ahead;
    int rc = PML_OK;
    *out = (struct ArrowArray){0};
    pml_mutex__lock(a->mu);
    while (r->n == 0 && !r->ended) {
        if (!r->busy)
            read_locked(r);
        else if (!pml_ahead__help_locked(a))
            pml_cond__wait(a->work, a->mu);
    }
    if (r->n > 0) {
        batch_take_locked(out, r);
        pml_cond__broadcast(a->work);
    } else {
        rc = r->rc;
        if (rc != PML_OK && err != NULL)
            *err = r->err;
    }
    pml_mutex__unlock(a->mu);
    return rc;
}

static void ahead_drop(void *ctx)
{
    pml_ahead_run *r = ctx;
    pml_ahead *a = r->ahead;
    struct ArrowArray batch;
    pml_mutex__lock(a->mu);
    *(r->before == NULL ? &a->first : &r->before->behind) = r->behind;
    *(r->behind == NULL ? &a->last : &r->behind->before) = r->before;
    while (r->busy)
        pml_cond__wait(a->work, a->mu);
    end_locked(r);
    while (r->n > 0) {
        batch_take_locked(&batch, r);
        batch.release(&batch);
    }
    pml_mutex__unlock(a->mu);
    r->run.drop(r->run.ctx);
    pml_env__free(a->env, r);
}

int pml_ahead__take(pml_run *run, pml_ahead_merge *m, const pml_field *fields, size_t n_fields, pml_error *err)
{
    pml_ahead *a = m->ahead;
    pml_ahead_run *r = pml_env__calloc(a->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    *r = (pml_ahead_run){.ahead = a, .merge = m, .run = *run, .fields = fields, .n_fields = n_fields};
    pml_mutex__lock(a->mu);
    r->before = a->last;
    *(a->last == NULL ? &a->first : &a->last->behind) = r;
    a->last = r;
    a->unread++;
    pml_mutex__unlock(a->mu);
    run->next = ahead_next;
    run->drop = ahead_drop;
    run->ctx = r;
    return PML_OK;
}
