/* SPDX-License-Identifier: Apache-2.0 */
#include "stores/memory_read.h"

#include <string.h>

/* Walks the chunks of all segments, then of the building list. Nothing is copied: each array shares the buffers of a chunk. */
typedef struct mem_reader {
    mem_counted *pin; /* the view or the segment */
    mem_list *segments, *last;
    size_t n_segments, n_last;
    size_t segment, chunk; /* the next chunk; segment == n_segments: in `last` */
    int64_t row;           /* of that chunk */
    int64_t schema_id, batch_rows;
    pml_rt_range visible; /* end 0: unknown */
    size_t bytes, n_cols;
    uint32_t cols[];
} mem_reader;

static void reader_drop(void *p)
{
    mem_reader *r = p;
    mem_counted *pin = r->pin;
    pml_mem_account__free(pin->account, r, r->bytes); /* the pin keeps the account */
    pml_mem_counted__release(pin);
}

static void reader_skip_chunk(mem_reader *r)
{
    r->chunk++;
    r->row = 0;
}

/* The chunk to read from, or NULL at the end. */
static mem_chunk *reader_chunk(mem_reader *r)
{
    while (r->segment < r->n_segments) {
        const mem_segment *s = (const mem_segment *)r->segments->items[r->segment];
        if (r->chunk < s->n)
            return (mem_chunk *)s->chunks->items[r->chunk];
        r->segment++;
        r->chunk = 0;
    }
    return r->chunk < r->n_last ? (mem_chunk *)r->last->items[r->chunk] : NULL;
}

static bool reader_wants(const mem_reader *r, const mem_chunk *c)
{
    return r->visible.end == 0 || (c->range.begin < r->visible.end && c->range.end > r->visible.begin);
}

static void chunk_drop(void *p)
{
    pml_mem_counted__release(p);
}

static int reader_next(void *p, struct ArrowArray *out, pml_error *err)
{
    mem_reader *r = p;
    mem_chunk *c = reader_chunk(r);
    while (c != NULL && !reader_wants(r, c)) {
        reader_skip_chunk(r);
        c = reader_chunk(r);
    }
    if (c == NULL)
        return PML_OK;
    int64_t rows = c->rows - r->row;
    if (r->batch_rows > 0 && rows > r->batch_rows)
        rows = r->batch_rows;
    const pml_rt_host *host = c->counted.account->host;
    pml_mem_counted__acquire(&c->counted);
    int rc = host->share(host->ctx, out, r->schema_id, &c->array, r->row, rows, r->n_cols, r->cols, c->range.begin + r->row,
                         chunk_drop, c, err);
    if (rc != PML_OK) {
        pml_mem_counted__release(&c->counted);
        return rc;
    }
    r->row += rows;
    if (r->row == c->rows)
        reader_skip_chunk(r);
    return PML_OK;
}

typedef struct mem_streams {
    mem_account *account;
    struct ArrowArrayStream v[1];
} mem_streams;

static void streams_free(pml_rt_streams *self)
{
    mem_streams *s = self->priv;
    mem_account *account = s->account;
    pml_mem_account__free(account, s, sizeof *s);
    pml_mem_account__release(account);
    self->v = NULL;
    self->n = 0;
    self->priv = NULL;
}

static int streams_open(pml_rt_streams *out, const mem_reader *from, const pml_rt_query *query, pml_error *err)
{
    mem_account *account = from->pin->account;
    const pml_rt_host *host = account->host;
    pml_rt_streams made = {.n = 1, .free = streams_free};
    size_t n = 0, bytes;
    int rc = host->columns(host->ctx, NULL, 0, &n, from->schema_id, query, err);
    if (rc != PML_OK)
        return rc;
    bytes = sizeof(mem_reader) + n * sizeof(uint32_t);
    mem_reader *r = pml_mem_account__alloc(account, bytes);
    mem_streams *s = pml_mem_account__alloc(account, sizeof *s);
    if (r == NULL || s == NULL) {
        rc = pml_store__no_memory(err);
        goto out;
    }
    *r = *from;
    r->bytes = bytes;
    r->n_cols = n;
    s->account = account;
    rc = host->columns(host->ctx, r->cols, n, &n, r->schema_id, query, err);
    if (rc == PML_OK)
        rc = host->stream(host->ctx, s->v, r->schema_id, n, r->cols, -1, reader_next, reader_drop, r, err);
    if (rc != PML_OK)
        goto out;
    pml_mem_counted__acquire(r->pin);
    (void)atomic_fetch_add_explicit(&account->refs, 1, memory_order_relaxed);
    made.v = s->v;
    made.priv = s;
    pml_store__write_struct(out, &made, sizeof made);
    return PML_OK;
out:
    if (r != NULL)
        pml_mem_account__free(account, r, bytes);
    if (s != NULL)
        pml_mem_account__free(account, s, sizeof *s);
    return rc;
}

int pml_mem_segment__stream(pml_rt_streams *out, mem_segment *segment, pml_error *err)
{
    const mem_reader from = {
        .pin = &segment->counted, .last = segment->chunks, .n_last = segment->n, .schema_id = segment->schema_id};
    return streams_open(out, &from, NULL, err);
}

static int view_info(void *p, pml_rt_view_info *out, pml_error *err)
{
    const mem_view *v = p;
    const pml_rt_view_info info = {.floor = v->floor,
                                   .end = v->end,
                                   .first = v->first,
                                   .rows = v->rows,
                                   .memory_bytes = v->bytes,
                                   .streams_hint = 1};
    (void)err;
    pml_store__write_struct(out, &info, sizeof info);
    return PML_OK;
}

static int view_query_streams(void *p, pml_rt_streams *out, const pml_rt_query *query, pml_error *err)
{
    mem_view *v = p;
    pml_rt_query q;
    pml_store__read_struct(&q, sizeof q, query);
    mem_reader from = {.pin = &v->counted,
                       .segments = v->sealed,
                       .n_segments = v->n_sealed,
                       .last = v->building,
                       .n_last = v->n_building,
                       .schema_id = v->schema_id,
                       .batch_rows = q.batch_rows};
    if (q.visible.end > q.visible.begin && q.visible.end > 0) /* anything else cannot be meant as a range of rows */
        from.visible = q.visible;
    return streams_open(out, &from, &q, err);
}

static void view_release(void *p)
{
    mem_view *v = p;
    pml_mem_counted__release(&v->counted);
}

static void view_destroy(mem_counted *self)
{
    mem_view *v = (mem_view *)self;
    if (v->sealed != NULL)
        pml_mem_counted__release(&v->sealed->counted);
    if (v->building != NULL)
        pml_mem_counted__release(&v->building->counted);
}

mem_view *pml_mem_view__new(mem_account *account)
{
    return pml_mem_counted__new(account, sizeof(mem_view), view_destroy);
}

const pml_rt_view_vtbl pml_mem_view_vtbl = {.struct_size = sizeof(pml_rt_view_vtbl),
                                            .info = view_info,
                                            .query_streams = view_query_streams,
                                            .release = view_release};
