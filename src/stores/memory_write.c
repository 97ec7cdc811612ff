/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How rows come into the memory store (realtime-store.md 15.1b).
 *
 *   small batch      copied into the open chunk, the last of the building list: no list, no allocation. Rows become visible when
 *                    the new length is set under the mutex; views note it and never look beyond.
 *   larger batch     moved in as a chunk of its own; copied when it is a small slice of large buffers, which it would pin
 *   T chunks of one  joined into one of the next tier while they are small together, so that many small writes leave few chunks:
 *   tier at the end  each row is copied once a tier
 *
 * Rows with keys (realtime-pk.md 15.2): every chunk is a sorted run. The host sorts the open chunk when it is closed, and merges runs
 * where others are joined end to end, so there are at most three runs of each tier.
 *
 * Copying happens outside the mutex, since only the writer changes the building list; the swap is under it. A list that a view
 * holds is not changed but replaced. Joining is only for readers' sake: what fails there is left for the next time.
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
    MERGE_ROWS_MAX = 262144,      /* runs are merged within a write up to so many rows */
    OPEN_BYTES_MAX = 1 << 20,
    OPEN_ROW_EXTRA = 32,          /* validity bytes and offsets, which a one-row batch hardly shows */
    JOIN_CHUNKS = 4,
    JOIN_RUNS = 8 /* a merge costs more than a copy, and a reader merges anyhow */
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

/* Puts `made`, whose reference moves in, in the place of the last k chunks, which have the same rows. false: no memory for it, or
   the store was closed. */
static bool list_replace(mem_store *s, size_t k, mem_chunk *made)
{
    mem_list *list = s->building, *copy = NULL;
    mem_counted *dead[JOIN_RUNS];
    size_t n_dead = 0;
    uint64_t bytes = 0;
    pthread_mutex_lock(&s->m);
    bool alone = list != NULL && atomic_load_explicit(&list->counted.refs, memory_order_acquire) == 1;
    pthread_mutex_unlock(&s->m);
    if (!alone && (list == NULL || (copy = pml_mem_list__head(s->account, list, list->n - k)) == NULL))
        return false;
    pthread_mutex_lock(&s->m);
    bool changed = s->closed || s->building != list ||
                   (alone && atomic_load_explicit(&list->counted.refs, memory_order_acquire) != 1); /* a view came just now */
    for (size_t i = list->n - k; !changed && i < list->n; i++) {
        bytes += ((const mem_chunk *)list->items[i])->bytes;
        if (alone)
            dead[n_dead++] = list->items[i];
    }
    if (!changed) {
        mem_list *to = alone ? list : copy;
        to->n = list->n - k;
        to->items[to->n++] = &made->counted;
        s->building = to;
        s->building_bytes = s->building_bytes - bytes + made->bytes;
    }
    pthread_mutex_unlock(&s->m);
    for (size_t i = 0; i < n_dead; i++)
        pml_mem_counted__release(dead[i]);
    pml_mem_list__release(changed ? copy : alone ? NULL : list);
    return !changed;
}

/* ---- joining ---- */

/* n arrays as one: end to end, or merged by key. */
static int join_arrays(mem_store *s, struct ArrowArray *out, const struct ArrowArray *const *inputs, size_t n)
{
    const pml_rt_host *host = s->account->host;
    pml_rt_merged merged = {.struct_size = sizeof merged};
    const pml_rt_merge merge = {.struct_size = sizeof merge, .schema_id = s->schema_id, .n = n, .inputs = inputs};
    if (!s->keyed)
        return host->concat(host->ctx, out, s->schema_id, n, inputs, NULL);
    int rc = host->merge_sorted(host->ctx, &merged, &merge, NULL);
    *out = merged.array;
    return rc;
}

/* A copy of the rows of n neighbouring chunks as one; NULL: not possible now. */
static mem_chunk *chunk_join(mem_store *s, mem_chunk *const *from, size_t n, const struct ArrowArray *arrays)
{
    const struct ArrowArray *inputs[JOIN_RUNS];
    mem_chunk *made = NULL;
    pml_rt_batch b = {.flags = from[0]->dense ? PML_RT_BATCH_DENSE : 0, .range = {from[0]->range.begin, from[n - 1]->range.end}};
    for (size_t i = 0; i < n; i++) {
        inputs[i] = arrays[i].release != NULL ? &arrays[i] : &from[i]->array;
        b.rows += from[i]->rows;
        b.bytes += from[i]->open != NULL ? from[i]->data_bytes : from[i]->bytes;
        if (arrays[i].release != NULL)
            b.flags = 0;
    }
    if (pml_mem_chunk__new(&made, s->account, &b, NULL) != PML_OK)
        return NULL;
    if (join_arrays(s, &made->array, inputs, n) != PML_OK) {
        pml_mem_counted__release(&made->counted);
        return NULL;
    }
    return made;
}

/* The rows of a dense chunk with their offset column. */
static int make_explicit(struct ArrowArray *out, mem_store *s, const mem_chunk *c)
{
    const pml_rt_host *host = s->account->host;
    size_t n = 0, bytes = (size_t)s->n_columns * sizeof(uint32_t);
    uint32_t *cols = pml_mem_account__alloc(s->account, bytes);
    int rc = cols == NULL ? PML_E_NOMEM : host->columns(host->ctx, cols, (size_t)s->n_columns, &n, s->schema_id, NULL, NULL);
    if (rc == PML_OK)
        rc = host->share(host->ctx, out, s->schema_id, &c->array, 0, c->rows, n, cols, c->range.begin, NULL, NULL, NULL);
    if (cols != NULL)
        pml_mem_account__free(s->account, cols, bytes);
    return rc;
}

static bool all_adjacent(mem_chunk *const *v, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = ok && v[i]->dense && (i == 0 || v[i]->range.begin == v[i - 1]->range.end);
    return ok;
}

static bool join_last(mem_store *s, mem_chunk *const *v, size_t n)
{
    struct ArrowArray arrays[JOIN_RUNS] = {{0}};
    mem_chunk *made = NULL;
    bool dense = all_adjacent(v, n), ok = true, done = false;
    for (size_t i = 0; i < n && !dense && ok; i++)
        ok = !v[i]->dense || make_explicit(&arrays[i], s, v[i]) == PML_OK;
    if (ok)
        made = chunk_join(s, v, n, arrays);
    if (made != NULL) {
        made->dense = dense;
        made->tier = v[0]->tier + 1;
        done = list_replace(s, n, made);
        if (!done)
            pml_mem_counted__release(&made->counted);
    }
    for (size_t i = 0; i < n; i++)
        if (arrays[i].release != NULL)
            arrays[i].release(&arrays[i]);
    return done;
}

/* Bounded: every round leaves fewer chunks. No chunk is open. */
static void join_tail(mem_store *s)
{
    const size_t n = s->keyed ? JOIN_RUNS : JOIN_CHUNKS;
    for (bool again = s->account->can_copy; again;) {
        mem_chunk *v[JOIN_RUNS];
        uint64_t bytes = 0;
        int64_t rows = 0;
        again = s->building != NULL && s->building->n >= n;
        for (size_t i = 0; again && i < n; i++) {
            v[i] = (mem_chunk *)s->building->items[s->building->n - n + i];
            bytes += v[i]->bytes;
            rows += v[i]->rows;
            again = v[i]->tier == v[0]->tier && (s->keyed ? rows <= MERGE_ROWS_MAX : bytes < s->join_bytes);
        }
        again = again && join_last(s, v, n);
    }
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
    s->next_room = full ? s->open_room * JOIN_CHUNKS : MEM_OPEN_ROWS_FIRST;
    if (s->next_room > rows_max)
        s->next_room = rows_max;
    c->array = rows; /* only views that come after the next lines look at it */
    s->open = NULL;
    pthread_mutex_lock(&s->m);
    s->open_rows = 0;
    pthread_mutex_unlock(&s->m);
    if (!full) { /* give its free room back */
        const struct ArrowArray none = {0};
        mem_chunk *exact = chunk_join(s, &c, 1, &none);
        if (exact != NULL && !list_replace(s, 1, exact))
            pml_mem_counted__release(&exact->counted);
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
    join_tail(s);
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
    join_tail(s);
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
