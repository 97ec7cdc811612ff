/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What views, segments, streams and arrays stand on. All of it is counted and holds the account, never the store, so that
 * everything may be let go in any order.
 *
 *   batch   one array that was moved into the store, with its offsets
 *   rows    an array of batches that never changes: what a view or a segment shows
 */
#ifndef LIST_ROWS_H
#define LIST_ROWS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <paimonlive/sys/realtime_store.h>

typedef struct account {
    const pml_rt_host *host;
    int64_t schema_id;
    atomic_llong live_bytes; /* of all batches not yet freed */
    atomic_int refs;         /* store, batches, rows, vectors of streams */
} account;

typedef struct batch {
    account *a;
    atomic_int refs;
    struct ArrowArray array;
    pml_rt_range range;
    int64_t n;
    uint64_t bytes;
} batch;

typedef struct rows {
    account *a;
    atomic_int refs;
    pml_rt_view_info info; /* of a view; of a segment [floor, end) is its range */
    struct rows *next;     /* while it is being dropped */
    size_t n;
    batch *v[];
} rows;

/* ---- the border to the host ---- */
/* Structs begin with their size: fields that the host does not have become zero, and none behind its own is written. */
void read_struct(void *out, size_t out_size, const void *in);
void write_struct(void *out, const void *in, size_t in_size);
/* "the list store <message>", and that nothing has happened; returns code. */
int fail(pml_error *err, int code, const char *message);
int no_memory(pml_error *err);

/* ---- batches and rows ---- */
void account_release(account *a);
void batch_release(void *batch);
rows *rows_new(account *a, size_t n); /* with room for n batches; NULL: no memory */
void rows_add(rows *r, batch *b);     /* takes a reference */
void rows_release(void *rows);

/* One stream over all rows, whose columns the query names (NULL: all). */
int rows_stream(pml_rt_streams *out, rows *r, const pml_rt_query *query, int64_t batch_rows, pml_error *err);
extern const pml_rt_view_vtbl list_view_functions; /* of rows as a view */

#endif
