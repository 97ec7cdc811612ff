/* SPDX-License-Identifier: Apache-2.0 */
#include "list_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the border to the host: structs of other versions, errors, memory ---- */

void read_struct(void *out, size_t out_size, const void *in)
{
    size_t given;
    memcpy(&given, in, sizeof given);
    memset(out, 0, out_size);
    memcpy(out, in, given < out_size ? given : out_size);
}

void write_struct(void *out, const void *in, size_t in_size)
{
    size_t room;
    memcpy(&room, out, sizeof room);
    room = room < in_size ? room : in_size;
    if (room > sizeof room) /* struct_size itself stays as the host set it */
        memcpy((char *)out + sizeof room, (const char *)in + sizeof room, room - sizeof room);
}

int fail(pml_error *err, int code, const char *message)
{
    pml_error e = PML_ERROR_INIT;
    e.code = code;
    e.flags = PML_ERRF_NO_EFFECT;
    e.place = PML_PLACE_STORE;
    (void)snprintf(e.message, sizeof e.message, "the list store %s", message);
    if (err != NULL)
        write_struct(err, &e, sizeof e);
    return code;
}

int no_memory(pml_error *err)
{
    return fail(err, PML_E_NOMEM, "got no memory");
}

void account_release(account *a)
{
    if (atomic_fetch_sub(&a->refs, 1) == 1)
        free(a);
}

void batch_release(void *p)
{
    batch *b = p;
    account *a = b->a;
    if (atomic_fetch_sub(&b->refs, 1) != 1)
        return;
    if (b->array.release != NULL)
        b->array.release(&b->array);
    atomic_fetch_sub(&a->live_bytes, (long long)b->bytes);
    (void)a->host->charge(a->host->ctx, -(int64_t)b->bytes);
    free(b);
    account_release(a);
}

rows *rows_new(account *a, size_t n)
{
    rows *r = calloc(1, sizeof *r + n * sizeof r->v[0]);
    if (r == NULL)
        return NULL;
    atomic_fetch_add(&a->refs, 1);
    r->a = a;
    r->refs = 1;
    return r;
}

void rows_add(rows *r, batch *b)
{
    atomic_fetch_add(&b->refs, 1);
    r->v[r->n++] = b;
    r->info.rows += b->n;
    r->info.memory_bytes += b->bytes;
}

void rows_release(void *p)
{
    rows *r = p;
    account *a = r->a;
    if (atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    for (size_t i = 0; i < r->n; i++)
        batch_release(r->v[i]);
    free(r);
    account_release(a);
}

/* ---- reading: one stream over rows ---- */

typedef struct reader {
    rows *r;
    size_t at, n_cols;
    int64_t row, batch_rows; /* next row of batch `at` */
    uint32_t cols[];
} reader;

typedef struct vector {
    account *a;
    struct ArrowArrayStream v[1];
} vector;

static void reader_drop(void *p)
{
    reader *d = p;
    rows *r = d->r;
    free(d);
    rows_release(r);
}

static int reader_next(void *p, struct ArrowArray *out, pml_error *err)
{
    reader *d = p;
    account *a = d->r->a;
    if (d->at == d->r->n)
        return PML_OK; /* the end: out stays empty */
    batch *b = d->r->v[d->at];
    int64_t n = b->n - d->row;
    if (d->batch_rows > 0 && n > d->batch_rows)
        n = d->batch_rows;
    atomic_fetch_add(&b->refs, 1); /* for the array, which may outlive the stream */
    int rc = a->host->share(a->host->ctx, out, a->schema_id, &b->array, d->row, n, d->n_cols, d->cols,
                            b->range.begin + d->row, batch_release, b, err);
    if (rc != PML_OK) {
        batch_release(b);
        return rc;
    }
    d->row += n;
    if (d->row == b->n) {
        d->at++;
        d->row = 0;
    }
    return PML_OK;
}

static void vector_free(pml_rt_streams *self)
{
    vector *w = self->priv;
    account *a = w->a;
    free(w);
    account_release(a);
    self->v = NULL;
    self->n = 0;
}

int rows_stream(pml_rt_streams *out, rows *r, const pml_rt_query *query, int64_t batch_rows, pml_error *err)
{
    account *a = r->a;
    const pml_rt_host *host = a->host;
    pml_rt_streams made = {.n = 1, .free = vector_free};
    size_t n = 0;
    int rc = host->columns(host->ctx, NULL, 0, &n, a->schema_id, query, err); /* the number only */
    if (rc != PML_OK)
        return rc;
    reader *d = calloc(1, sizeof *d + n * sizeof d->cols[0]);
    if (d == NULL)
        return no_memory(err);
    atomic_fetch_add(&r->refs, 1);
    d->r = r;
    d->n_cols = n;
    d->batch_rows = batch_rows;
    vector *w = calloc(1, sizeof *w);
    rc = w == NULL ? no_memory(err) : host->columns(host->ctx, d->cols, n, &n, a->schema_id, query, err);
    if (rc == PML_OK)
        rc = host->stream(host->ctx, w->v, a->schema_id, n, d->cols, -1, reader_next, reader_drop, d, err);
    if (rc != PML_OK) {
        free(w);
        reader_drop(d);
        return rc;
    }
    atomic_fetch_add(&a->refs, 1);
    w->a = a;
    made.v = w->v;
    made.priv = w;
    write_struct(out, &made, sizeof made);
    return PML_OK;
}

static int view_info(void *view, pml_rt_view_info *out, pml_error *err)
{
    (void)err;
    write_struct(out, &((rows *)view)->info, sizeof(pml_rt_view_info));
    return PML_OK;
}

static int view_query(void *view, pml_rt_streams *out, const pml_rt_query *query, pml_error *err)
{
    pml_rt_query q;
    read_struct(&q, sizeof q, query);
    return rows_stream(out, view, query, q.batch_rows, err); /* rows too many never hurt: the host filters */
}

const pml_rt_view_vtbl list_view_functions = {
    .struct_size = sizeof list_view_functions, .info = view_info, .query_streams = view_query, .release = rows_release};
