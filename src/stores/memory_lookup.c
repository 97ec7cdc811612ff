/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of keys in a view: runs are searched by halves, the newest first, until the host has enough of a key. The open chunk, whose few
 * rows are in no order, is looked through backwards. Nothing is copied or allocated, but a view of the open chunk, once.
 */
#include "stores/memory_read.h"

typedef struct mem_search {
    mem_view *view;
    const pml_rt_host *host;
    const struct ArrowArray *keys;
    int64_t key_row;
    size_t key; /* its number among those asked for */
    pml_rt_found_fn found;
    void *sink;
} mem_search;

/* The rows of the open chunk that the view saw, in the order in which they came. */
static int open_chunk(mem_chunk **out, mem_view *v, const mem_chunk *open, pml_error *err)
{
    mem_account *account = v->counted.account;
    const pml_rt_host *host = account->host;
    const pml_rt_batch b = {.range = {open->range.begin, v->end}, .rows = v->open_rows};
    mem_chunk *found = atomic_load_explicit(&v->open_chunk, memory_order_acquire);
    *out = found;
    if (found != NULL)
        return PML_OK;
    int rc = pml_mem_chunk__new(out, account, &b, err);
    if (rc == PML_OK)
        rc = host->chunk_view(host->ctx, &(*out)->array, open->open, b.rows, err);
    if (rc != PML_OK) {
        if (*out != NULL)
            pml_mem_counted__release(&(*out)->counted);
        return rc;
    }
    /* Two calls may have come at once; one result is kept. */
    if (atomic_compare_exchange_strong_explicit(&v->open_chunk, &found, *out, memory_order_acq_rel, memory_order_acquire))
        return PML_OK;
    pml_mem_counted__release(&(*out)->counted);
    *out = found;
    return PML_OK;
}

/* 1: the host has enough; 0: it goes on. */
static int search_open(const mem_search *s, const mem_chunk *open, int64_t segment, pml_error *err)
{
    mem_chunk *rows;
    int64_t schema_id = s->view->schema_id;
    int rc = open_chunk(&rows, s->view, open, err);
    for (int64_t row = s->view->open_rows; rc == PML_OK && row > 0;) {
        rc = s->host->find_key(s->host->ctx, &row, schema_id, &rows->array, row, s->keys, s->key_row, err);
        if (rc == PML_OK && row >= 0)
            rc = s->found(s->sink, s->key, segment, &rows->array, row, 1, err);
    }
    return rc;
}

static int search_run(const mem_search *s, const mem_chunk *c, int64_t segment, pml_error *err)
{
    int64_t lo, hi;
    int rc = s->host->key_bounds(s->host->ctx, &lo, &hi, s->view->schema_id, &c->array, s->keys, s->key_row, err);
    return rc != PML_OK || lo == hi ? rc : s->found(s->sink, s->key, segment, &c->array, lo, hi - lo, err);
}

static int search_all(const mem_search *s, pml_error *err)
{
    const mem_view *v = s->view;
    int rc = PML_OK;
    int64_t segment = v->n_building == 0 ? 0 : ((const mem_chunk *)v->building->items[0])->range.begin;
    for (size_t i = v->n_building; rc == PML_OK && i > 0; i--) {
        const mem_chunk *c = (const mem_chunk *)v->building->items[i - 1];
        rc = i == v->n_building && v->open_rows > 0 ? search_open(s, c, segment, err) : search_run(s, c, segment, err);
    }
    for (size_t k = v->n_sealed; rc == PML_OK && k > 0; k--) {
        const mem_segment *seg = (const mem_segment *)v->sealed->items[k - 1];
        for (size_t i = seg->n; rc == PML_OK && i > 0; i--)
            rc = search_run(s, (const mem_chunk *)seg->chunks->items[i - 1], seg->range.begin, err);
    }
    return rc < 0 ? rc : PML_OK;
}

int pml_mem_view__lookup(void *p, const struct ArrowArray *keys, const int64_t *key_rows, size_t n, pml_rt_found_fn found, void *sink,
                         pml_error *err)
{
    mem_view *v = p;
    mem_search s = {.view = v, .host = v->counted.account->host, .keys = keys, .found = found, .sink = sink};
    int rc = PML_OK;
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        s.key = i;
        s.key_row = key_rows[i];
        rc = search_all(&s, err);
    }
    return rc;
}
