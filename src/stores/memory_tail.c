/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the open chunk for a query (realtime-store.md 15.1b). Of rows with keys:
 *
 *   first query of these rows    sorts those of the open chunk, and keeps that run with the chunk
 *   second query of all keys     merges the small runs before it into that run, and keeps what came out instead: who reads the same rows
 *                                again and again, as readers do while nobody writes, merges them once
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

/* A chunk for `rows` rows, still without them. */
static int chunk_new(mem_chunk **out, const mem_tail *q, const mem_chunk *first, int64_t rows, uint64_t bytes, pml_error *err)
{
    const pml_rt_batch b = {
        .flags = first->dense ? PML_RT_BATCH_DENSE : 0, .range = {first->range.begin, q->open_end}, .rows = rows, .bytes = bytes};
    return pml_mem_chunk__new(out, q->account, &b, err);
}

/* The rows of the open chunk as a chunk of their own. */
static int make_open(mem_chunk **out, const mem_tail *q, const mem_chunk *open, pml_error *err)
{
    const pml_rt_host *host = q->account->host;
    struct ArrowArray rows = {0};
    int rc = chunk_new(out, q, open, q->open_rows, 0, err);
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

/* The small runs and that of the open chunk as one; NULL: there are none, or no memory for it. */
static mem_chunk *merge_tail(const mem_tail *q, const mem_chunk *sorted)
{
    const pml_rt_host *host = q->account->host;
    const struct ArrowArray *inputs[TAIL_RUNS_MAX];
    pml_rt_merge merge = {.struct_size = sizeof merge, .schema_id = q->account->schema_id, .inputs = inputs};
    pml_rt_merged merged = {.struct_size = sizeof merged};
    mem_chunk *made = NULL;
    int64_t rows;
    uint64_t bytes;
    size_t first = small_from(q, &rows, &bytes);
    if (rows == 0)
        return NULL;
    for (size_t i = first; i < q->n - 1; i++)
        inputs[merge.n++] = &((const mem_chunk *)q->chunks->items[i])->array;
    inputs[merge.n++] = &sorted->array;
    bytes += bytes / (uint64_t)rows * (uint64_t)sorted->rows;
    if (chunk_new(&made, q, (const mem_chunk *)q->chunks->items[first], rows + sorted->rows, bytes, NULL) != PML_OK)
        return NULL;
    if (host->merge_sorted(host->ctx, &merged, &merge, NULL) != PML_OK) {
        pml_mem_counted__release(&made->counted);
        return NULL;
    }
    made->array = merged.array;
    return made;
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
    if (kept != NULL && q->all_keys && kept->range.begin == open->range.begin && (kept = merge_tail(q, kept)) != NULL) {
        pml_mem_counted__release(&(*out)->counted);
        *out = kept;
    }
    if (q->account->keyed)
        pml_mem_chunk__keep_sorted(open, *out, q->open_rows);
    *first = q->n - 1;
    while (*first > 0 && ((const mem_chunk *)q->chunks->items[*first - 1])->range.begin >= (*out)->range.begin)
        --*first;
    return PML_OK;
}
