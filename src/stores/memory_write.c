/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How rows come into the memory store (realtime-store.md 15.1b).
 *
 *   small batch      copied into the open chunk, the last of the building list: no list, no allocation. Rows become visible when
 *                    the new length is set under the mutex; views note it and never look beyond.
 *   larger batch     moved in as a chunk of its own; copied when it is a small slice of large buffers, which it would pin
 *
 * Rows with keys (realtime-pk.md 15.2): every chunk is a sorted run. The host sorts the open chunk when it is closed. Many small chunks
 * become few in memory_join.c.
 *
 * Copying happens outside the mutex, since only the writer changes the building list; the swap is under it. A list that a view
 * holds is not changed but replaced.
 *
 * Cost: a one-row write is one call of the host and a few assignments. An open chunk has room for 64 rows first, four times more
 * each time one fills up, so a table with few rows takes little memory and one with many has few chunks.
 */
#include "stores/memory_store.h"

#include <string.h>

enum {
    SMALL_ROWS = 64,              /* batches below are copied: an Arrow array costs more than so few rows */
    SMALL_BYTES_MAX = 64 * 1024,  /* few rows, but large ones: copying them saves nothing */
    OPEN_ROWS_MAX = 4096,         /* the open chunk has no statistics: a query looks at all of its rows */
    OPEN_KEYED_ROWS_MAX = 1024,   /* and sorts them, where they have keys */
    OPEN_BYTES_MAX = 1 << 20,
    OPEN_ROW_EXTRA = 32,          /* validity bytes and offsets, which a one-row batch hardly shows */
    OPEN_GROWTH = 4
};

/* ---- the building list ---- */

/* Puts a chunk, whose reference moves in, behind the others. */
static int list_append(mem_store *s, mem_chunk *chunk, int64_t open_rows, int64_t end, pml_error *err)
{
    mem_list *room = NULL, *old;
    int rc = pml_mem_list__with_room(&room, s->account, s->building, err);
    if (rc != PML_OK)
        return rc;
    pthread_mutex_lock(&s->m);
    if (s->closed) {
        pthread_mutex_unlock(&s->m);
        if (room != s->building)
            pml_mem_list__release(room);
        return pml_mem_store__closed_error(err);
    }
    old = room == s->building ? NULL : s->building;
    room->items[room->n++] = &chunk->counted;
    s->building = room;
    s->building_rows += chunk->rows;
    s->building_bytes += chunk->bytes;
    s->open_rows = open_rows;
    s->end = end;
    pthread_mutex_unlock(&s->m);
    pml_mem_list__release(old);
    return PML_OK;
}

/* ---- the open chunk ---- */

/* The array becomes a sorted copy; released when that fails. */
static int sort_rows(mem_store *s, struct ArrowArray *rows, pml_error *err)
{
    const pml_rt_host *host = s->account->host;
    struct ArrowArray sorted = {0};
    int rc = host->sort_run(host->ctx, &sorted, s->schema_id, rows, err);
    rows->release(rows);
    *rows = sorted;
    return rc;
}

int pml_mem_store__close_chunk(mem_store *s, pml_error *err)
{
    const int64_t rows_max = s->keyed ? OPEN_KEYED_ROWS_MAX : OPEN_ROWS_MAX;
    mem_chunk *c = s->open;
    const pml_rt_host *host = s->account->host;
    struct ArrowArray rows = {0};
    if (c == NULL)
        return PML_OK;
    int rc = host->chunk_view(host->ctx, &rows, c->open, c->rows, err);
    if (rc == PML_OK && s->keyed)
        rc = sort_rows(s, &rows, err);
    if (rc != PML_OK) {
        if (err != NULL)
            err->flags |= PML_ERRF_NO_EFFECT;
        return rc;
    }
    bool full = c->rows * 2 >= s->open_room;
    s->next_room = full ? s->open_room * OPEN_GROWTH : MEM_OPEN_ROWS_FIRST;
    if (s->next_room > rows_max)
        s->next_room = rows_max;
    c->array = rows; /* only views that come after the next lines look at it */
    pml_mem_chunk__keep_sorted(c, NULL, INT64_MAX);
    s->open = NULL;
    pthread_mutex_lock(&s->m);
    s->open_rows = 0;
    pthread_mutex_unlock(&s->m);
    if (!full) { /* give its free room back */
        pml_mem_store__copy_last(s);
    }
    return PML_OK;
}

/* Whether the rows were copied behind those of the open chunk; they are not published yet. */
static bool open_takes(mem_store *s, const pml_rt_batch *b)
{
    const pml_rt_host *host = s->account->host;
    const mem_chunk *c = s->open;
    int64_t taken = 0;
    bool dense = (b->flags & PML_RT_BATCH_DENSE) != 0;
    if (c == NULL || c->dense != dense || (dense && c->range.end != b->range.begin))
        return false;
    return host->chunk_append(host->ctx, &taken, c->open, b->array, NULL) == PML_OK && taken == b->rows;
}

static int open_publish(mem_store *s, const pml_rt_batch *b, pml_error *err)
{
    mem_chunk *c = s->open;
    pthread_mutex_lock(&s->m);
    bool closed = s->closed;
    if (!closed) {
        s->open_rows += b->rows;
        s->building_rows += b->rows;
        s->end = b->range.end;
    }
    pthread_mutex_unlock(&s->m);
    if (closed)
        return pml_mem_store__closed_error(err);
    c->rows += b->rows;
    c->range.end = b->range.end;
    c->data_bytes += b->bytes;
    return PML_OK;
}

/* A new open chunk with the rows of b; *taken false: they do not fit in any. */
static int open_new(mem_store *s, const pml_rt_batch *b, bool *taken, pml_error *err)
{
    const pml_rt_host *host = s->account->host;
    uint64_t row = b->bytes / (uint64_t)b->rows, bytes = (uint64_t)s->next_room * (row + row / 2 + OPEN_ROW_EXTRA);
    pml_rt_batch room = *b;
    mem_chunk *c = NULL;
    int64_t copied = 0;
    room.bytes = bytes < OPEN_BYTES_MAX ? bytes : OPEN_BYTES_MAX;
    *taken = false;
    int rc = pml_mem_chunk__new(&c, s->account, &room, err);
    if (rc != PML_OK)
        return rc;
    rc = host->chunk_new(host->ctx, &c->open, s->schema_id, c->dense, s->next_room, (int64_t)room.bytes, err);
    if (rc != PML_OK && err != NULL)
        err->flags |= PML_ERRF_NO_EFFECT;
    if (rc == PML_OK)
        rc = host->chunk_append(host->ctx, &copied, c->open, b->array, err);
    if (rc == PML_OK && copied == b->rows) {
        c->data_bytes = b->bytes;
        rc = list_append(s, c, c->rows, b->range.end, err);
        *taken = rc == PML_OK;
    }
    if (!*taken) {
        pml_mem_counted__release(&c->counted);
        return rc;
    }
    s->open = c;
    s->open_room = s->next_room;
    return PML_OK;
}

static int write_small(mem_store *s, const pml_rt_batch *b, bool *taken, pml_error *err)
{
    *taken = open_takes(s, b);
    if (*taken)
        return open_publish(s, b, err);
    int rc = pml_mem_store__close_chunk(s, err);
    if (rc != PML_OK)
        return rc;
    pml_mem_store__join(s);
    return open_new(s, b, taken, err);
}

/* ---- larger batches ---- */

/* The array is the smaller part of what its buffers hold, as far as their lengths tell. */
static bool pins_more(const struct ArrowArray *a)
{
    int64_t held = a->offset + a->length;
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->offset + a->children[i]->length > held)
            held = a->children[i]->offset + a->children[i]->length;
    return held / 2 > a->length;
}

static int write_chunk(mem_store *s, pml_rt_batch *b, pml_error *err)
{
    const pml_rt_host *host = s->account->host;
    const struct ArrowArray *input = b->array;
    mem_chunk *c = NULL;
    int rc = pml_mem_store__close_chunk(s, err);
    if (rc == PML_OK)
        rc = pml_mem_chunk__new(&c, s->account, b, err);
    if (rc != PML_OK)
        return rc;
    bool copy = s->account->can_copy && pins_more(b->array);
    if (copy)
        rc = host->concat(host->ctx, &c->array, s->schema_id, 1, &input, err);
    if (rc != PML_OK && err != NULL)
        err->flags |= PML_ERRF_NO_EFFECT;
    if (!copy)
        c->array = *b->array;
    if (rc == PML_OK)
        rc = list_append(s, c, 0, b->range.end, err);
    if (rc != PML_OK) {
        if (!copy)
            c->array.release = NULL; /* it stays with the host */
        pml_mem_counted__release(&c->counted);
        return rc;
    }
    if (!copy)
        b->array->release = NULL;
    pml_mem_store__join(s);
    return PML_OK;
}

int pml_mem_store__write(mem_store *s, pml_rt_batch *b, pml_error *err)
{
    bool taken = false;
    int rc = PML_OK;
    if (s->account->can_copy && b->rows < SMALL_ROWS && b->bytes < SMALL_BYTES_MAX)
        rc = write_small(s, b, &taken, err);
    if (rc == PML_OK && !taken)
        rc = write_chunk(s, b, err);
    if (rc == PML_OK && b->array->release != NULL)
        b->array->release(b->array); /* it was copied */
    return rc;
}
