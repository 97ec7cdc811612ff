/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan read by several threads, in the order of one.
 *
 *   1. The plan is walked as pieces: a file or, of a large one, a part of it; then the memory of its split. A split whose files are
 *      merged is one piece, and so are files with columns of the same rows.
 *   2. Each thread takes the next piece, reads it whole and puts its batches into the piece's queue. Where pieces merge, threads rather
 *      read the runs of merges ahead that others do (read_ahead.h), and begin another piece when there are few runs left to read.
 *   3. The caller takes the batches of the first piece until it ends, then those of the second one, and so on.
 *
 * Memory is bounded twice: at most WINDOW_PER_THREAD pieces per thread are begun and not yet given out, and a piece stops when its
 * queue is full. A piece that is full waits for the caller; since pieces are begun in order, the first one is always in hands that go
 * on, so nothing waits for ever. Pieces are small enough to fit into their queues where the file has a page index; without one a large
 * row group is one piece, and threads then wait more than they read.
 *
 * Threads read more rows at once than the caller gets in a batch: buffers that wait in a queue are not warm when they are used again,
 * and their number costs more than their size. How many follows from the width of the rows seen so far; where they suddenly are so
 * wide that the limit of one reading call is hit, the piece is read again in the caller's batches.
 *
 * An error comes out after the batches before it, as with one thread; what was read ahead is dropped. All state is guarded by mu.
 */
#include <string.h>

#include "columnar/batch.h"
#include "table/read_ahead.h"
#include "table/scan.h"

enum {
    WINDOW_PER_THREAD = 2,
    QUEUE_BATCHES_MAX = 256,
    BURST = 16, /* the caller is woken for so many batches, or BURST_BYTES: a wake-up costs as much as reading a hundred rows */
    PARTS_MAX = 1024,
    THREADS_PER_MERGE = 2,
    RUNS_PER_THREAD = 2
};
#define QUEUE_BYTES_MAX ((uint64_t)16 << 20)
#define BURST_BYTES     ((uint64_t)1 << 20)
#define PART_BYTES      ((int64_t)4 << 20) /* of a file, all of its columns: some 150,000 rows */
#define ONCE_BYTES      ((int64_t)4 << 20) /* of what is read at once */
enum {
    ONCE_ROWS_MAX = 65536,
    ONCE_MERGED_ROWS_MAX = 4096 /* a merge goes back to all batches of its runs that an output batch takes rows from */
};

typedef struct piece_queue {
    pml_split_piece piece;
    bool merges;
    pml_ahead_merge merge; /* if so */
    struct ArrowArray batches[QUEUE_BATCHES_MAX]; /* a ring */
    size_t first, n;
    uint64_t bytes;
    bool ended;
    int rc; /* why it ended */
    pml_error err;
} piece_queue;

typedef struct parallel_reader {
    pml_env *env;
    pml_plan *plan;
    pml_read_options options;
    pml_split_piece next; /* not begun yet */
    size_t end;           /* splits */
    int64_t left;         /* rows still wanted; -1: all */
    int64_t batch_rows;   /* of a batch of the caller's */
    pml_shared *cut;      /* given out from row cut_row on; NULL: none */
    int64_t cut_row;
    pml_mutex mu;
    int64_t row_bytes;    /* of the widest rows so far, 0: none seen */
    pml_cond room, news; /* room: there is something to do for a thread */
    pml_ahead ahead;
    unsigned merging; /* threads that read a piece which merges */
    size_t window;
    piece_queue *queues; /* ring: begun pieces [given, begun) */
    uint64_t given, begun;
    bool stop, exhausted, in_burst;
    unsigned forks; /* of the process that has the threads */
    uint32_t n_threads;
    pml_thread threads[PML_READ_THREADS_MAX];
} parallel_reader;

/* ---- pieces ---- */

/* How many parts the file `file` of the split is read in: by the bytes that the wanted columns have of it. */
static int32_t parts_of(const parallel_reader *r, const pml_split *s, size_t file)
{
    const pml_plan *p = r->plan;
    size_t all = p->schema->n_fields == 0 ? 1 : p->schema->n_fields;
    size_t wanted = p->n_columns + (p->predicate != NULL);
    int64_t bytes = file < s->n_files ? s->files[file].size_bytes : 0;
    int64_t parts = (int64_t)((double)bytes * (double)(wanted > all ? all : wanted) / (double)all / (double)PART_BYTES);
    return parts < 1 ? 1 : parts > PARTS_MAX ? PARTS_MAX : (int32_t)parts;
}

/* False: there is no more. */
static bool piece_next_locked(parallel_reader *r, pml_split_piece *out)
{
    pml_split_piece *p = &r->next;
    while (p->split < r->end && p->first >= pml_split__end(&r->plan->splits[p->split]))
        *p = (pml_split_piece){.split = p->split + 1};
    if (p->split >= r->end)
        return false;
    const pml_split *s = &r->plan->splits[p->split];
    if (pml_split__merges(r->plan, s)) {
        *out = (pml_split_piece){.split = p->split, .end = pml_split__end(s), .parts = 1};
        p->first = pml_split__end(s);
        return true;
    }
    p->end = pml_split__rows_end(s, p->first);
    if (p->part == 0)
        p->parts = p->end > p->first + 1 ? 1 : parts_of(r, s, p->first);
    if (p->part == 0 && p->parts > 1)
        p->rows = pml_shared_rows__new(r->env); /* without memory each part finds its own */
    *out = *p;
    (void)pml_shared_rows__acquire(out->rows);
    if (++p->part == p->parts) {
        p->first = p->end;
        p->part = 0;
        pml_shared_rows__release(p->rows);
        p->rows = NULL;
    }
    return true;
}

/* ---- threads ---- */

static bool is_full(const piece_queue *q)
{
    return q->n == QUEUE_BATCHES_MAX || q->bytes >= QUEUE_BYTES_MAX;
}

static bool is_burst(const piece_queue *q)
{
    return q->n >= BURST || q->bytes >= BURST_BYTES;
}

/* Moves the batch in. False: the reader was stopped, the batch is released. */
static bool batch_put(parallel_reader *r, piece_queue *q, struct ArrowArray *batch)
{
    uint64_t bytes = pml_batch__bytes(batch, r->plan->out_fields, r->plan->n_columns);
    pml_mutex__lock(&r->mu);
    while (!r->stop && is_full(q))
        if (!pml_ahead__help_locked(&r->ahead))
            pml_cond__wait(&r->room, &r->mu);
    bool go_on = !r->stop;
    int64_t row_bytes = (int64_t)(bytes / (uint64_t)(batch->length > 0 ? batch->length : 1)) + 1;
    if (row_bytes > r->row_bytes)
        r->row_bytes = row_bytes;
    if (go_on) {
        bool was_burst = is_burst(q);
        q->batches[(q->first + q->n++) % QUEUE_BATCHES_MAX] = *batch;
        q->bytes += bytes;
        if (!was_burst && is_burst(q))
            pml_cond__signal(&r->news);
    }
    pml_mutex__unlock(&r->mu);
    if (!go_on)
        batch->release(batch);
    return go_on;
}

static int64_t rows_at_once_locked(const parallel_reader *r, bool merges)
{
    int64_t n = r->row_bytes == 0 ? 0 : ONCE_BYTES / r->row_bytes, max = merges ? ONCE_MERGED_ROWS_MAX : ONCE_ROWS_MAX;
    n = n > max ? max : n;
    return n < r->batch_rows ? r->batch_rows : n;
}

/* All of the piece but its first *done rows, which grow by what is put into the queue. */
static int piece_read_from(parallel_reader *r, piece_queue *q, int64_t rows_at_once, int64_t *done, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    pml_read_options o = r->options;
    int64_t skip = *done;
    o.batch_rows = rows_at_once;
    int rc = pml_split__open_piece(&stream, r->plan, &q->piece, &o, err);
    while (rc == PML_OK) {
        struct ArrowArray batch;
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            break;
        }
        if (batch.release == NULL)
            break;
        rc = pml_batch__drop_front(&batch, r->env, &skip, err);
        if (rc != PML_OK) {
            pml_array__release(&batch);
            break;
        }
        int64_t n = batch.release == NULL ? 0 : batch.length;
        if (n > 0 && !batch_put(r, q, &batch))
            break;
        *done += n;
    }
    if (stream.release != NULL)
        stream.release(&stream);
    return rc;
}

static int piece_read(parallel_reader *r, piece_queue *q, int64_t rows_at_once, pml_error *err)
{
    int64_t done = 0;
    int rc = piece_read_from(r, q, rows_at_once, &done, err);
    if (rc != PML_E_LIMIT || rows_at_once == r->batch_rows)
        return rc;
    pml_error__clear(err);
    return piece_read_from(r, q, r->batch_rows, &done, err);
}

/* Whether the merges on their way keep all threads busy: three quarters of each are decoding, which threads share run by run. Another one
   would hold a page more of each column of each run. */
static bool enough_merges_locked(const parallel_reader *r)
{
    return r->merging * THREADS_PER_MERGE >= r->options.threads && r->ahead.unread >= (size_t)r->options.threads * RUNS_PER_THREAD;
}

/* The next piece, if one may be begun; NULL: none. */
static piece_queue *piece_begin_locked(parallel_reader *r)
{
    pml_split_piece piece;
    if (r->exhausted || r->begun - r->given == r->window || r->ahead.opening > 0 || enough_merges_locked(r))
        return NULL;
    if (!piece_next_locked(r, &piece)) {
        r->exhausted = true;
        pml_cond__signal(&r->news);
        pml_cond__broadcast(&r->room); /* the others end, too */
        return NULL;
    }
    piece_queue *q = &r->queues[r->begun++ % r->window];
    q->merges = pml_split__merges(r->plan, &r->plan->splits[piece.split]);
    if (q->merges) {
        pml_ahead__begin_locked(&q->merge, &r->ahead);
        piece.ahead = &q->merge;
        r->merging++;
    }
    q->piece = piece;
    q->ended = false;
    return q;
}

static void piece_run_locked(parallel_reader *r, piece_queue *q)
{
    int64_t rows_at_once = rows_at_once_locked(r, q->merges);
    pml_mutex__unlock(&r->mu);
    pml_error err = PML_ERROR_INIT;
    int rc = piece_read(r, q, rows_at_once, &err);
    pml_shared_rows__release(q->piece.rows);
    q->piece.rows = NULL;
    if (q->merges)
        pml_ahead__opened(&q->merge);
    pml_mutex__lock(&r->mu);
    q->rc = rc;
    q->err = err;
    q->ended = true;
    r->merging -= q->merges;
    pml_cond__signal(&r->news);
    if (q->merges)
        pml_cond__broadcast(&r->room); /* it had something to do for others */
}

/* What was begun goes before what comes later: fewer merges are open at a time, each with a batch and more of each of its runs. */
static void *thread_run(void *arg)
{
    parallel_reader *r = arg;
    pml_mutex__lock(&r->mu);
    while (!r->stop) {
        if (pml_ahead__help_locked(&r->ahead))
            continue;
        piece_queue *q = piece_begin_locked(r);
        if (q != NULL)
            piece_run_locked(r, q);
        else if (r->exhausted && r->merging == 0)
            break;
        else
            pml_cond__wait(&r->room, &r->mu);
    }
    pml_mutex__unlock(&r->mu);
    return NULL;
}

/* ---- the caller ---- */

static void batch_take_locked(parallel_reader *r, piece_queue *q, struct ArrowArray *out)
{
    bool was_full = is_full(q);
    *out = q->batches[q->first];
    q->first = (q->first + 1) % QUEUE_BATCHES_MAX;
    q->n--;
    uint64_t bytes = pml_batch__bytes(out, r->plan->out_fields, r->plan->n_columns);
    q->bytes -= bytes < q->bytes ? bytes : q->bytes;
    if (q->n == 0)
        q->bytes = 0;
    if (was_full && !is_full(q))
        pml_cond__broadcast(&r->room);
}

/* out->release stays NULL at the end. */
static int next_locked(parallel_reader *r, struct ArrowArray *out, pml_error *err)
{
    for (;;) {
        piece_queue *q = r->given == r->begun ? NULL : &r->queues[r->given % r->window];
        if (q == NULL && r->exhausted)
            return PML_OK;
        if (q != NULL && q->n > 0 && (r->in_burst || q->ended || is_burst(q))) {
            r->in_burst = q->n > 1;
            batch_take_locked(r, q, out);
            return PML_OK;
        }
        if (q == NULL || !q->ended) {
            pml_cond__wait(&r->news, &r->mu);
            continue;
        }
        if (q->rc != PML_OK) {
            if (err != NULL)
                *err = q->err;
            return q->rc;
        }
        r->given++;
        pml_cond__broadcast(&r->room);
    }
}

/* Of what was read at once, the caller's next batch. */
static int cut_next(parallel_reader *r, struct ArrowArray *out, pml_error *err)
{
    const struct ArrowArray *whole = pml_shared__array(r->cut);
    int64_t rows = whole->length - r->cut_row < r->batch_rows ? whole->length - r->cut_row : r->batch_rows;
    PML_RETURN_IF(pml_shared__slice(out, r->cut, r->cut_row, rows, NULL, (size_t)whole->n_children, NULL, err));
    r->cut_row += rows;
    if (r->cut_row == whole->length) {
        pml_shared__release(r->cut);
        r->cut = NULL;
    }
    return PML_OK;
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    parallel_reader *r = owner;
    int rc = PML_OK;
    if (r->forks != pml_process__forks())
        return pml_error__set(err, PML_E_STATE, "a stream with threads cannot be read in a forked child: open it there");
    if (r->left == 0)
        return PML_OK;
    if (r->cut == NULL) {
        pml_mutex__lock(&r->mu);
        rc = next_locked(r, out, err);
        pml_mutex__unlock(&r->mu);
        if (rc == PML_OK && out->release != NULL && out->length > r->batch_rows) {
            r->cut_row = 0;
            rc = pml_shared__new(&r->cut, r->env, out, err);
            if (rc != PML_OK)
                pml_array__release(out);
        }
    }
    if (rc == PML_OK && r->cut != NULL)
        rc = cut_next(r, out, err);
    if (rc == PML_OK && out->release != NULL && r->left > 0)
        pml_read__cut(out, &r->left);
    return rc;
}

static void reader_drop(void *owner)
{
    parallel_reader *r = owner;
    pml_env *env = r->env;
    if (r->forks != pml_process__forks()) /* a child has no threads to wait for, and they may have had the lock */
        return;
    pml_mutex__lock(&r->mu);
    r->stop = true;
    pml_cond__broadcast(&r->room);
    pml_mutex__unlock(&r->mu);
    for (uint32_t i = 0; i < r->n_threads; i++)
        pml_thread__join(&r->threads[i]);
    for (size_t i = 0; r->queues != NULL && i < r->window; i++)
        for (piece_queue *q = &r->queues[i]; q->n > 0; q->n--)
            pml_array__release(&q->batches[(q->first + q->n - 1) % QUEUE_BATCHES_MAX]);
    pml_shared_rows__release(r->next.rows);
    if (r->cut != NULL)
        pml_shared__release(r->cut);
    pml_cond__destroy(&r->room);
    pml_cond__destroy(&r->news);
    pml_mutex__destroy(&r->mu);
    pml_env__free(env, r->queues);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

int pml_read__open_parallel(struct ArrowArrayStream *out, pml_plan *plan, const pml_read_options *o, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    parallel_reader *r = pml_env__calloc(plan->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(plan->env);
    r->env = plan->env;
    r->forks = pml_process__forks();
    pml_plan__acquire(plan);
    r->plan = plan;
    r->options = *o;
    r->next.split = o->split < 0 ? 0 : (size_t)o->split;
    r->end = o->split < 0 ? plan->n_splits : (size_t)o->split + 1;
    r->left = plan->limit;
    r->batch_rows = o->batch_rows > 0 ? o->batch_rows : plan->table->options.read_batch_rows;
    pml_mutex__init(&r->mu, "read", 0);
    pml_cond__init(&r->room);
    pml_cond__init(&r->news);
    r->ahead = (pml_ahead){.env = r->env, .mu = &r->mu, .work = &r->room};
    r->window = (size_t)o->threads * WINDOW_PER_THREAD;
    r->queues = pml_env__calloc(r->env, r->window, sizeof *r->queues);
    if (r->queues == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_read__schema(&schema, plan, o, err));
    /* Fewer threads than asked for read as well, only slower. */
    while (r->n_threads < o->threads && pml_thread__start(&r->threads[r->n_threads], thread_run, r) == 0)
        r->n_threads++;
    if (r->n_threads == 0) {
        rc = pml_error__set(err, PML_E_LIMIT, "no thread could be started to read %s: read with threads = 1", plan->table->path);
        goto out;
    }
    PML_TRY(pml_stream__new(out, plan->env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
