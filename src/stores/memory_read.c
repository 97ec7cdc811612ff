/* SPDX-License-Identifier: Apache-2.0 */
#include "stores/memory_read.h"

#include <string.h>

/* The chunks to read are chosen when the stream is opened, while the query and its predicate are at hand. Nothing is copied: each
   array shares the buffers of a chunk. */
typedef struct mem_piece {
    mem_chunk *chunk;
    int64_t begin, end; /* rows of the chunk: of a run those whose keys the query may want */
    int64_t group;      /* the segment, a number that grows with its age */
} mem_piece;

typedef struct mem_reader {
    mem_counted *pin; /* the view or the segment: holds the chunks */
    mem_chunk *open;  /* a view of the open chunk made for this reader: owned; NULL: none */
    mem_piece *pieces; /* behind the reader */
    size_t n_pieces, next;
    int64_t row; /* of the next piece */
    int64_t schema_id, batch_rows;
    size_t bytes, n_cols;
    uint32_t *cols;
} mem_reader;

/* What a reader is made from. */
typedef struct mem_source {
    mem_counted *pin;
    const mem_list *segments, *last;
    size_t n_segments, n_last;
    int64_t open_rows, open_end; /* of the last chunk, when it was open */
    pml_rt_range visible;        /* end 0: unknown */
    const void *predicate;
    const struct ArrowArray *key_lo, *key_hi; /* NULL: no bound */
    int64_t schema_id, batch_rows;
    int64_t group; /* of the chunk that is chosen next */
} mem_source;

static void reader_drop(void *p)
{
    mem_reader *r = p;
    mem_counted *pin = r->pin;
    if (r->open != NULL)
        pml_mem_counted__release(&r->open->counted);
    pml_mem_account__free(pin->account, r, r->bytes); /* the pin keeps the account */
    pml_mem_counted__release(pin);
}

static void chunk_drop(void *p)
{
    pml_mem_counted__release(p);
}

static int reader_next(void *p, struct ArrowArray *out, pml_error *err)
{
    mem_reader *r = p;
    if (r->next == r->n_pieces)
        return PML_OK;
    const mem_piece *piece = &r->pieces[r->next];
    mem_chunk *c = piece->chunk;
    int64_t row = piece->begin + r->row, rows = piece->end - row;
    if (r->batch_rows > 0 && rows > r->batch_rows)
        rows = r->batch_rows;
    const pml_rt_host *host = c->counted.account->host;
    pml_mem_counted__acquire(&c->counted);
    int rc = host->share(host->ctx, out, r->schema_id, &c->array, row, rows, r->n_cols, r->cols, c->range.begin + row, chunk_drop, c, err);
    if (rc != PML_OK) {
        pml_mem_counted__release(&c->counted);
        return rc;
    }
    r->row += rows;
    if (row + rows == piece->end) {
        r->next++;
        r->row = 0;
    }
    return PML_OK;
}

/* ---- choosing chunks ---- */

static bool range_wanted(const mem_source *from, int64_t begin, int64_t end)
{
    return from->visible.end == 0 || (begin < from->visible.end && end > from->visible.begin);
}

/* The rows of a run from the first that is not below a key on; `otherwise` without a bound, or when the host cannot tell. */
static int64_t rows_below(const mem_source *from, const mem_chunk *c, const struct ArrowArray *key, int64_t otherwise)
{
    const pml_rt_host *host = c->counted.account->host;
    int64_t lo, hi;
    if (key == NULL || host->key_bounds(host->ctx, &lo, &hi, from->schema_id, &c->array, key, 0, NULL) != PML_OK)
        return otherwise;
    return lo;
}

static void add_chunk(mem_reader *r, const mem_source *from, mem_chunk *c)
{
    mem_piece piece = {c, 0, c->rows, from->group};
    if (c->counted.account->keyed) {
        piece.begin = rows_below(from, c, from->key_lo, 0);
        piece.end = rows_below(from, c, from->key_hi, c->rows);
    }
    if (piece.begin < piece.end)
        r->pieces[r->n_pieces++] = piece;
}

static void choose(mem_reader *r, const mem_source *from, mem_chunk *c)
{
    if (range_wanted(from, c->range.begin, c->range.end) && pml_mem_chunk__may_match(c, from->predicate))
        add_chunk(r, from, c);
}

/* The chunk's rows and the end of its range belong to the writer. *closed: how many chunks before it are still to be chosen. */
static int choose_open(mem_reader *r, size_t *closed, const mem_source *from, pml_error *err)
{
    const mem_chunk *open = (const mem_chunk *)from->last->items[*closed];
    const mem_tail tail = {.account = from->pin->account,
                           .chunks = from->last,
                           .n = from->n_last,
                           .open_rows = from->open_rows,
                           .open_end = from->open_end,
                           .all_keys = from->key_lo == NULL && from->key_hi == NULL};
    if (!range_wanted(from, open->range.begin, from->open_end))
        return PML_OK;
    return pml_mem_tail__run(&r->open, closed, &tail, err);
}

static int choose_all(mem_reader *r, mem_source *from, pml_error *err)
{
    const size_t all_closed = from->n_last - (from->open_rows > 0 ? 1 : 0);
    size_t closed = all_closed;
    int rc = closed < from->n_last ? choose_open(r, &closed, from, err) : PML_OK;
    for (size_t s = 0; s < from->n_segments; s++) {
        const mem_segment *seg = (const mem_segment *)from->segments->items[s];
        from->group = seg->range.begin;
        for (size_t i = 0; i < seg->n && range_wanted(from, seg->range.begin, seg->range.end); i++)
            choose(r, from, (mem_chunk *)seg->chunks->items[i]);
    }
    if (from->n_last > 0)
        from->group = ((const mem_chunk *)from->last->items[0])->range.begin;
    for (size_t i = 0; i < closed; i++)
        choose(r, from, (mem_chunk *)from->last->items[i]);
    /* A run that has closed ones in it stays for others, so that its statistics pay as theirs do. */
    if (r->open != NULL && (closed == all_closed || pml_mem_chunk__may_match(r->open, from->predicate)))
        add_chunk(r, from, r->open);
    return rc;
}

static size_t chunk_count(const mem_source *from)
{
    size_t n = from->n_last;
    for (size_t s = 0; s < from->n_segments; s++)
        n += ((const mem_segment *)from->segments->items[s])->n;
    return n;
}

static int reader_new(mem_reader **out, mem_source *from, const pml_rt_query *query, pml_error *err)
{
    mem_account *account = from->pin->account;
    const pml_rt_host *host = account->host;
    size_t n = 0, chunks = chunk_count(from);
    *out = NULL;
    int rc = host->columns(host->ctx, NULL, 0, &n, from->schema_id, query, err);
    if (rc != PML_OK)
        return rc;
    size_t bytes = sizeof(mem_reader) + chunks * sizeof(mem_piece) + n * sizeof(uint32_t);
    mem_reader *r = pml_mem_account__alloc(account, bytes);
    if (r == NULL)
        return pml_store__no_memory(err);
    *r = (mem_reader){.pin = from->pin, .schema_id = from->schema_id, .batch_rows = from->batch_rows, .bytes = bytes, .n_cols = n};
    r->pieces = (mem_piece *)(r + 1);
    r->cols = (uint32_t *)(r->pieces + chunks);
    pml_mem_counted__acquire(r->pin);
    rc = host->columns(host->ctx, r->cols, n, &n, r->schema_id, query, err);
    if (rc == PML_OK)
        rc = choose_all(r, from, err);
    if (rc != PML_OK)
        reader_drop(r);
    else
        *out = r;
    return rc;
}

typedef struct mem_streams {
    mem_account *account;
    size_t bytes;
    struct ArrowArrayStream v[];
} mem_streams;

static void streams_free(pml_rt_streams *self)
{
    mem_streams *s = self->priv;
    mem_account *account = s->account;
    pml_mem_account__free(account, s, s->bytes);
    pml_mem_account__release(account);
    self->v = NULL;
    self->n = 0;
    self->priv = NULL;
}

/* A reader of one piece of r, which keeps all others. */
static mem_reader *reader_of_piece(mem_reader *r, size_t i)
{
    mem_account *account = r->pin->account;
    size_t bytes = sizeof(mem_reader) + sizeof(mem_piece) + r->n_cols * sizeof(uint32_t);
    mem_reader *one = pml_mem_account__alloc(account, bytes);
    if (one == NULL)
        return NULL;
    *one = (mem_reader){.pin = r->pin, .schema_id = r->schema_id, .batch_rows = r->batch_rows, .bytes = bytes, .n_cols = r->n_cols};
    one->pieces = (mem_piece *)(one + 1);
    one->cols = (uint32_t *)(one->pieces + 1);
    memcpy(one->cols, r->cols, r->n_cols * sizeof *r->cols);
    one->pieces[one->n_pieces++] = r->pieces[i];
    pml_mem_counted__acquire(one->pin);
    if (r->pieces[i].chunk == r->open) {
        one->open = r->open;
        r->open = NULL;
    }
    return one;
}

/* The reader becomes one stream, or with keys one for each run; it is dropped on any return. */
static int make_streams(mem_streams *s, size_t *n, mem_reader *r, pml_error *err)
{
    const pml_rt_host *host = s->account->host;
    int rc = PML_OK;
    *n = 0;
    if (!s->account->keyed) {
        rc = host->stream(host->ctx, s->v, r->schema_id, r->n_cols, r->cols, -1, reader_next, reader_drop, r, err);
        *n = rc == PML_OK;
        if (rc != PML_OK)
            reader_drop(r);
        return rc;
    }
    for (size_t i = 0; rc == PML_OK && i < r->n_pieces; i++) {
        mem_reader *one = reader_of_piece(r, i);
        if (one == NULL) {
            rc = pml_store__no_memory(err);
            break;
        }
        rc = host->stream(host->ctx, &s->v[i], one->schema_id, one->n_cols, one->cols, r->pieces[i].group, reader_next, reader_drop, one, err);
        if (rc == PML_OK)
            ++*n;
        else
            reader_drop(one);
    }
    reader_drop(r);
    return rc;
}

static int streams_open(pml_rt_streams *out, mem_source *from, const pml_rt_query *query, pml_error *err)
{
    mem_account *account = from->pin->account;
    pml_rt_streams made = {.free = streams_free};
    mem_reader *r;
    int rc = reader_new(&r, from, query, err);
    if (rc != PML_OK)
        return rc;
    size_t n = account->keyed ? r->n_pieces : 1, bytes = sizeof(mem_streams) + n * sizeof(struct ArrowArrayStream);
    mem_streams *s = pml_mem_account__alloc(account, bytes);
    if (s == NULL) {
        reader_drop(r);
        return pml_store__no_memory(err);
    }
    s->account = account;
    s->bytes = bytes;
    rc = make_streams(s, &made.n, r, err);
    if (rc != PML_OK) {
        for (size_t i = 0; i < made.n; i++)
            s->v[i].release(&s->v[i]);
        pml_mem_account__free(account, s, bytes);
        return rc;
    }
    (void)atomic_fetch_add_explicit(&account->refs, 1, memory_order_relaxed);
    made.v = s->v;
    made.priv = s;
    pml_store__write_struct(out, &made, sizeof made);
    return PML_OK;
}

int pml_mem_segment__stream(pml_rt_streams *out, mem_segment *segment, pml_error *err)
{
    mem_source from = {
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
    mem_source from = {.pin = &v->counted,
                       .segments = v->sealed,
                       .n_segments = v->n_sealed,
                       .last = v->building,
                       .n_last = v->n_building,
                       .open_rows = v->open_rows,
                       .open_end = v->end,
                       .predicate = q.predicate,
                       .key_lo = q.key_lo,
                       .key_hi = q.key_hi,
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
    mem_chunk *open = atomic_load_explicit(&v->open_chunk, memory_order_acquire);
    if (open != NULL)
        pml_mem_counted__release(&open->counted);
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
                                            .release = view_release,
                                            .lookup = pml_mem_view__lookup};
