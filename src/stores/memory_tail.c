/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the open chunk for a query (realtime-store.md 15.1b). Of rows with keys:
 *
 *   first query of these rows   sorts those of the open chunk, and keeps that run with the chunk
 *   after it                    the host's thread merges the small runs before it into that run, which is kept instead: who reads the same
 *                               rows again and again, as readers do while nobody writes, finds them merged
 *
 * Only where it pays: when what was merged last was never read, as between a reader and a writer in turns, it waits until somebody asks
 * for the same rows twice.
 *
 * While a chunk is open nothing else in the building list changes, so the number of its rows says which rows of the list a run has. The
 * run goes when the chunk is closed.
 */
#include "stores/memory_read.h"

enum {
    TAIL_RUNS_MAX = 32,
    TAIL_ROWS_MAX = 16384 /* as many as a write merges */
};
#define TAIL_BYTES_MAX ((uint64_t)4 << 20)

/* A chunk for `rows` rows from those of `first` on, still without them. */
static int chunk_new(mem_chunk **out, mem_account *account, const mem_chunk *first, int64_t end, int64_t rows, uint64_t bytes, pml_error *err)
{
    const pml_rt_batch b = {
        .flags = first->dense ? PML_RT_BATCH_DENSE : 0, .range = {first->range.begin, end}, .rows = rows, .bytes = bytes};
    return pml_mem_chunk__new(out, account, &b, err);
}

/* The rows of the open chunk as a chunk of their own. */
static int make_open(mem_chunk **out, const mem_tail *q, const mem_chunk *open, pml_error *err)
{
    const pml_rt_host *host = q->account->host;
    struct ArrowArray rows = {0};
    int rc = chunk_new(out, q->account, open, q->open_end, q->open_rows, 0, err);
    if (rc != PML_OK)
        return rc;
    rc = host->chunk_view(host->ctx, &rows, open->open, q->open_rows, err);
    if (rc == PML_OK && q->account->keyed) {
        rc = host->sort_run(host->ctx, &(*out)->array, q->account->schema_id, &rows, err);
        rows.release(&rows);
    } else if (rc == PML_OK) {
        (*out)->array = rows;
    }
    if (rc != PML_OK) {
        pml_mem_counted__release(&(*out)->counted);
        *out = NULL;
    }
    return rc;
}

/* The chunk from which on all are small together; rows and bytes of those before the open one. */
static size_t small_from(const mem_tail *q, int64_t *rows, uint64_t *bytes)
{
    size_t first = q->n - 1;
    *rows = *bytes = 0;
    for (; first > 0 && q->n - first < TAIL_RUNS_MAX; first--) {
        const mem_chunk *c = (const mem_chunk *)q->chunks->items[first - 1];
        if (*rows + c->rows + q->open_rows > TAIL_ROWS_MAX || *bytes + c->bytes > TAIL_BYTES_MAX)
            break;
        *rows += c->rows;
        *bytes += c->bytes;
    }
    return first;
}

/* A merge for readers to come. */
typedef struct tail_job {
    mem_counted counted;
    mem_chunk *open; /* a reference */
    int64_t open_rows;
    size_t n;
    mem_chunk *from[TAIL_RUNS_MAX]; /* references: the small runs, the last one that of the open chunk */
    int64_t rows;
    uint64_t bytes;
} tail_job;

static void job_destroy(mem_counted *self)
{
    tail_job *job = (tail_job *)self;
    for (size_t i = 0; i < job->n; i++)
        pml_mem_counted__release(&job->from[i]->counted);
    if (job->open != NULL)
        pml_mem_counted__release(&job->open->counted);
}

static void job_take(tail_job *job, mem_chunk *c)
{
    pml_mem_counted__acquire(&c->counted);
    job->from[job->n++] = c;
}

/* NULL: there are no small runs, or no memory for it. */
static tail_job *job_new(const mem_tail *q, mem_chunk *open, mem_chunk *sorted)
{
    int64_t rows;
    uint64_t bytes;
    size_t first = small_from(q, &rows, &bytes);
    tail_job *job = rows == 0 ? NULL : pml_mem_counted__new(q->account, sizeof *job, job_destroy);
    if (job == NULL)
        return NULL;
    for (size_t i = first; i < q->n - 1; i++)
        job_take(job, (mem_chunk *)q->chunks->items[i]);
    job_take(job, sorted);
    pml_mem_counted__acquire(&open->counted);
    job->open = open;
    job->open_rows = q->open_rows;
    job->rows = rows + sorted->rows;
    job->bytes = bytes + bytes / (uint64_t)rows * (uint64_t)sorted->rows;
    return job;
}

/* NULL: no memory for it, or nobody wants it any more. */
static mem_chunk *merge_tail(const tail_job *job)
{
    mem_account *account = job->counted.account;
    const pml_rt_host *host = account->host;
    const struct ArrowArray *inputs[TAIL_RUNS_MAX];
    const pml_rt_merge merge = {.struct_size = sizeof merge, .schema_id = account->schema_id, .n = job->n, .inputs = inputs};
    pml_rt_merged merged = {.struct_size = sizeof merged};
    mem_chunk *made;
    for (size_t i = 0; i < job->n; i++)
        inputs[i] = &job->from[i]->array;
    if (chunk_new(&made, account, job->from[0], job->from[job->n - 1]->range.end, job->rows, job->bytes, NULL) != PML_OK)
        return NULL;
    if (host->merge_sorted(host->ctx, &merged, &merge, NULL) != PML_OK) {
        pml_mem_counted__release(&made->counted);
        return NULL;
    }
    made->array = merged.array;
    made->unread = true;
    return made;
}

/* In the host's thread. */
static void job_run(void *arg)
{
    tail_job *job = arg;
    mem_chunk *made = merge_tail(job);
    bool kept = made != NULL && pml_mem_chunk__keep_sorted(job->open, made, job->open_rows);
    if (made != NULL)
        pml_mem_counted__release(&made->counted);
    pml_mem_account__end_merge(job->counted.account, !kept);
    pml_mem_counted__release(&job->counted);
}

static void merge_later(const mem_tail *q, mem_chunk *open, mem_chunk *sorted, bool again)
{
    const pml_rt_host *host = q->account->host;
    if (!pml_mem_account__begin_merge(q->account, again))
        return;
    tail_job *job = job_new(q, open, sorted);
    if (job != NULL && host->submit(host->ctx, job_run, job) == PML_OK)
        return;
    pml_mem_account__end_merge(q->account, false);
    pml_mem_counted__release(job == NULL ? NULL : &job->counted);
}

int pml_mem_tail__run(mem_chunk **out, size_t *first, const mem_tail *q, pml_error *err)
{
    mem_chunk *open = (mem_chunk *)q->chunks->items[q->n - 1], *kept = q->account->keyed ? pml_mem_chunk__sorted(open, q->open_rows) : NULL;
    int rc = PML_OK;
    *out = kept;
    if (kept == NULL)
        rc = make_open(out, q, open, err);
    if (rc != PML_OK)
        return rc;
    bool is_kept = kept != NULL || (q->account->keyed && pml_mem_chunk__keep_sorted(open, *out, q->open_rows));
    if (is_kept && q->all_keys && (*out)->range.begin == open->range.begin)
        merge_later(q, open, *out, kept != NULL);
    *first = q->n - 1;
    while (*first > 0 && ((const mem_chunk *)q->chunks->items[*first - 1])->range.begin >= (*out)->range.begin)
        --*first;
    return PML_OK;
}
