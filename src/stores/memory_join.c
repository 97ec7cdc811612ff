/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many chunks of the memory store become few (realtime-store.md 15.1b, realtime-pk.md 15.2).
 *
 *   T chunks of one tier    are joined into one of the next tier while they are small together: each row is copied once a tier
 *   runs of one tier        of rows with keys are merged, merge_runs at once: a merge costs more than a copy, and readers merge anyhow. Small
 *                           ones within the write, larger ones by the host's thread. What that made the writer puts in its place with
 *                           its next chunk, so that nobody else ever changes the building list
 *   the runs of a segment   are merged into one when it is sealed, where they are small together: several seals in a row would leave
 *                           readers more runs than one write buffer ever has
 *
 * All that is only for readers' sake: what fails here is left for the next time.
 */
#include "stores/memory_store.h"

#include <string.h>

enum {
    JOIN_CHUNKS = 4,
    JOB_RUNS_MIN = 16,  /* more at a time where nobody waits: each row is merged less often */
    JOB_RUNS_MAX = MEM_MERGE_RUNS_MAX, /* when the thread does not keep up */
    RUNS_PRESSED = 112, /* more of them in a list are merged by the writer after all */
    PRESSED_ROWS_MAX = 262144 /* as far as that is bearable within a write */
};

/* A merge outside of the write. Held by the store and by the host's thread. */
struct mem_job {
    mem_counted counted;
    size_t n;
    mem_chunk *from[JOB_RUNS_MAX]; /* references */
    mem_chunk *made;            /* a reference; NULL: none, or not yet */
    atomic_bool done;
};

/* ---- the building list ---- */

/* Puts `made`, whose reference moves in, in the place of k chunks, whose rows it has. false: no memory for it, or the store was
   closed. */
static bool list_replace(mem_store *s, size_t at, size_t k, mem_chunk *made)
{
    mem_list *list = s->building, *copy = NULL;
    mem_counted *dead[JOB_RUNS_MAX];
    uint64_t bytes = 0;
    int64_t rows = 0;
    pthread_mutex_lock(&s->m);
    bool alone = list != NULL && atomic_load_explicit(&list->counted.refs, memory_order_acquire) == 1;
    pthread_mutex_unlock(&s->m);
    if (!alone && (list == NULL || (copy = pml_mem_list__head(s->account, list, list->n)) == NULL))
        return false;
    pthread_mutex_lock(&s->m);
    bool changed = s->closed || s->building != list ||
                   (alone && atomic_load_explicit(&list->counted.refs, memory_order_acquire) != 1); /* a view came just now */
    if (!changed) {
        mem_list *to = alone ? list : copy;
        for (size_t i = 0; i < k; i++) {
            dead[i] = to->items[at + i];
            bytes += ((const mem_chunk *)dead[i])->bytes;
            rows += ((const mem_chunk *)dead[i])->rows;
        }
        to->items[at] = &made->counted;
        memmove(to->items + at + 1, to->items + at + k, (to->n - at - k) * sizeof to->items[0]);
        to->n -= k - 1;
        s->building = to;
        s->building_bytes = s->building_bytes - bytes + made->bytes;
        s->building_rows = s->building_rows - rows + made->rows;
    }
    pthread_mutex_unlock(&s->m);
    for (size_t i = 0; !changed && i < k; i++)
        pml_mem_counted__release(dead[i]);
    pml_mem_list__release(changed ? copy : alone ? NULL : list);
    return !changed;
}

/* The same; the reference is gone on any return. */
static bool list_put(mem_store *s, size_t at, size_t k, mem_chunk *made)
{
    bool done = list_replace(s, at, k, made);
    if (!done)
        pml_mem_counted__release(&made->counted);
    return done;
}

/* ---- making one of several ---- */

enum { MERGE_COLLAPSE = 1 /* pml_rt_merge.flags */ };

/* n arrays as one: end to end, or merged by key. */
static int join_arrays(mem_account *a, pml_rt_merged *out, const struct ArrowArray *const *inputs, size_t n)
{
    const pml_rt_host *host = a->host;
    const pml_rt_merge merge = {
        .struct_size = sizeof merge, .flags = a->collapse ? MERGE_COLLAPSE : 0, .schema_id = a->schema_id, .n = n, .inputs = inputs};
    *out = (pml_rt_merged){.struct_size = sizeof *out};
    return a->keyed ? host->merge_sorted(host->ctx, out, &merge, NULL) : host->concat(host->ctx, &out->array, a->schema_id, n, inputs, NULL);
}

/* The chunk that has the rows of n neighbouring ones; what replaced others takes a part of their memory. */
static mem_chunk *chunk_of(mem_account *a, mem_chunk *const *from, size_t n, pml_rt_merged *rows, bool dense)
{
    mem_chunk *made = NULL;
    pml_rt_batch b = {.flags = dense ? PML_RT_BATCH_DENSE : 0, .range = {from[0]->range.begin, from[n - 1]->range.end}};
    for (size_t i = 0; i < n; i++) {
        b.rows += from[i]->rows;
        b.bytes += from[i]->open != NULL ? from[i]->data_bytes : from[i]->bytes;
    }
    if (rows->collapsed_rows > 0 && b.rows > 0)
        b.bytes = (uint64_t)((double)b.bytes * (double)rows->array.length / (double)b.rows);
    b.rows = rows->array.length;
    if (pml_mem_chunk__new(&made, a, &b, NULL) != PML_OK)
        return NULL;
    made->array = rows->array;
    made->collapsed_rows = rows->collapsed_rows;
    made->collapsed_hash = rows->collapsed_hash;
    for (size_t i = 0; i < n; i++) {
        made->collapsed_rows += from[i]->collapsed_rows;
        made->collapsed_hash += from[i]->collapsed_hash;
    }
    return made;
}

/* A copy of the rows of n neighbouring chunks as one; NULL: not possible now. arrays: those to take instead of theirs. */
static mem_chunk *chunk_join(mem_account *a, mem_chunk *const *from, size_t n, const struct ArrowArray *arrays)
{
    const struct ArrowArray *inputs[JOB_RUNS_MAX];
    pml_rt_merged rows;
    bool dense = from[0]->dense;
    for (size_t i = 0; i < n; i++) {
        inputs[i] = arrays[i].release != NULL ? &arrays[i] : &from[i]->array;
        dense = dense && arrays[i].release == NULL;
    }
    if (join_arrays(a, &rows, inputs, n) != PML_OK)
        return NULL;
    mem_chunk *made = chunk_of(a, from, n, &rows, dense);
    if (made == NULL && rows.array.release != NULL)
        rows.array.release(&rows.array);
    return made;
}

void pml_mem_store__copy_last(mem_store *s)
{
    const struct ArrowArray none = {0};
    mem_chunk *c = (mem_chunk *)s->building->items[s->building->n - 1], *exact = chunk_join(s->account, &c, 1, &none);
    if (exact != NULL)
        (void)list_put(s, s->building->n - 1, 1, exact);
}

/* ---- append ---- */

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

static bool join_last(mem_store *s, mem_chunk *const *v)
{
    struct ArrowArray arrays[JOIN_CHUNKS] = {{0}};
    mem_chunk *made = NULL;
    bool dense = all_adjacent(v, JOIN_CHUNKS), ok = true;
    for (size_t i = 0; i < JOIN_CHUNKS && !dense && ok; i++)
        ok = !v[i]->dense || make_explicit(&arrays[i], s, v[i]) == PML_OK;
    if (ok)
        made = chunk_join(s->account, v, JOIN_CHUNKS, arrays);
    for (size_t i = 0; i < JOIN_CHUNKS; i++)
        if (arrays[i].release != NULL)
            arrays[i].release(&arrays[i]);
    if (made == NULL)
        return false;
    made->dense = dense;
    made->tier = v[0]->tier + 1;
    return list_put(s, s->building->n - JOIN_CHUNKS, JOIN_CHUNKS, made);
}

/* Bounded: every round leaves fewer chunks. */
static void join_chunks(mem_store *s)
{
    for (bool again = true; again;) {
        mem_chunk *v[JOIN_CHUNKS];
        uint64_t bytes = 0;
        again = s->building != NULL && s->building->n >= JOIN_CHUNKS;
        for (size_t i = 0; again && i < JOIN_CHUNKS; i++) {
            v[i] = (mem_chunk *)s->building->items[s->building->n - JOIN_CHUNKS + i];
            bytes += v[i]->bytes;
            again = v[i]->tier == v[0]->tier && bytes < s->join_bytes;
        }
        again = again && join_last(s, v);
    }
}

/* ---- rows with keys ---- */

static void job_destroy(mem_counted *self)
{
    mem_job *job = (mem_job *)self;
    for (size_t i = 0; i < job->n; i++)
        pml_mem_counted__release(&job->from[i]->counted);
    if (job->made != NULL)
        pml_mem_counted__release(&job->made->counted);
}

static mem_chunk *merge_runs(mem_account *a, mem_chunk *const *from, size_t n)
{
    const struct ArrowArray none[JOB_RUNS_MAX] = {{0}};
    mem_chunk *made = chunk_join(a, from, n, none);
    if (made != NULL)
        made->tier = from[0]->tier + 1;
    return made;
}

/* In the host's thread. */
static void job_run(void *arg)
{
    mem_job *job = arg;
    job->made = merge_runs(job->counted.account, job->from, job->n);
    atomic_store_explicit(&job->done, true, memory_order_release);
    pml_mem_counted__release(&job->counted);
}

/* false: nobody will do it. */
static bool job_start(mem_store *s, mem_chunk *const *from, size_t n)
{
    const pml_rt_host *host = s->account->host;
    mem_job *job = pml_mem_counted__new(s->account, sizeof *job, job_destroy);
    if (job == NULL)
        return false;
    for (; job->n < n; job->n++) {
        job->from[job->n] = from[job->n];
        pml_mem_counted__acquire(&from[job->n]->counted);
    }
    pml_mem_counted__acquire(&job->counted);
    if (host->submit(host->ctx, job_run, job) == PML_OK) {
        s->job = job;
        return true;
    }
    pml_mem_counted__release(&job->counted);
    pml_mem_counted__release(&job->counted);
    return false;
}

/* Puts what a job made in its place; its runs are still next to each other, since nothing else touches them. */
static void job_finish(mem_store *s)
{
    mem_job *job = s->job;
    size_t at = 0, n = s->building == NULL ? 0 : s->building->n;
    if (job == NULL || !atomic_load_explicit(&job->done, memory_order_acquire))
        return;
    while (at < n && s->building->items[at] != &job->from[0]->counted)
        at++;
    if (job->made != NULL && at < n) {
        mem_chunk *made = job->made;
        job->made = NULL;
        (void)list_put(s, at, job->n, made);
    }
    s->job = NULL;
    pml_mem_counted__release(&job->counted);
}

void pml_mem_store__forget_job(mem_store *s)
{
    mem_job *job = s->job;
    s->job = NULL;
    if (job != NULL)
        pml_mem_counted__release(&job->counted);
}

/* Whether a job has the run. */
static bool is_taken(const mem_store *s, const mem_chunk *c)
{
    for (size_t i = 0; s->job != NULL && i < s->job->n; i++)
        if (s->job->from[i] == c)
            return true;
    return false;
}

/* The newest runs of one tier below `end`, at most JOB_RUNS_MAX of them, the oldest first; *end: where those of that tier begin. */
static size_t runs_of_tier(mem_chunk **v, size_t *at, size_t *end, const mem_store *s)
{
    const mem_list *list = s->building;
    size_t begin = *end, stop = *end;
    int tier = ((const mem_chunk *)list->items[stop - 1])->tier;
    while (begin > 0 && ((const mem_chunk *)list->items[begin - 1])->tier == tier && !is_taken(s, (const mem_chunk *)list->items[begin - 1]))
        begin--;
    *at = begin;
    *end = begin == stop ? stop - 1 : begin; /* a job has that run */
    size_t n = stop - begin < JOB_RUNS_MAX ? stop - begin : JOB_RUNS_MAX;
    for (size_t i = 0; i < n; i++)
        v[i] = (mem_chunk *)list->items[begin + i];
    return n;
}

typedef struct run_sum {
    int64_t rows;
    uint64_t bytes;
} run_sum;

static run_sum sum_of(mem_chunk *const *v, size_t n)
{
    run_sum sum = {0};
    for (size_t i = 0; i < n; i++) {
        sum.rows += v[i]->rows;
        sum.bytes += v[i]->bytes;
    }
    return sum;
}

/* Whether the runs are left to the thread, now or later. */
static bool leave(mem_store *s, mem_chunk *const *v, size_t n)
{
    while (n >= JOB_RUNS_MIN && sum_of(v, n).bytes > s->run_bytes)
        n--;
    if (s->job == NULL && n >= JOB_RUNS_MIN && job_start(s, v, n))
        return true;
    return s->building->n <= RUNS_PRESSED && (s->job != NULL || n < JOB_RUNS_MIN);
}

/* Merges what there is to merge of the tiers from the newest on. Whether something in the list has changed. */
static bool merge_some(mem_store *s)
{
    for (size_t end = s->building->n, at; end > 0;) {
        mem_chunk *v[JOB_RUNS_MAX];
        size_t n = runs_of_tier(v, &at, &end, s);
        run_sum sum = sum_of(v, n < s->merge_runs ? n : s->merge_runs);
        if (n < s->merge_runs || sum.bytes > s->run_bytes)
            continue;
        if (sum.rows > s->inline_rows && (leave(s, v, n) || sum.rows > PRESSED_ROWS_MAX))
            continue;
        mem_chunk *made = merge_runs(s->account, v, s->merge_runs);
        return made != NULL && list_put(s, at, s->merge_runs, made);
    }
    return false;
}

static void nothing(void *arg)
{
    (void)arg;
}

/* Lets the host start its thread, as soon as there is something to merge: else the first reader would, for whom that takes as long as
   half of his read. */
static void wake_thread(mem_store *s)
{
    const pml_rt_host *host = s->account->host;
    if (s->woken || s->building == NULL || s->building->n < 2)
        return;
    s->woken = true;
    (void)host->submit(host->ctx, nothing, NULL);
}

void pml_mem_store__join(mem_store *s)
{
    if (!s->account->can_copy)
        return;
    if (!s->keyed) {
        join_chunks(s);
        return;
    }
    wake_thread(s);
    job_finish(s);
    while (s->building != NULL && merge_some(s)) /* bounded: every round leaves fewer runs */
        continue;
}

/* One run of each JOB_RUNS_MAX neighbours. Whether something in the list has changed. */
static bool merge_all_pass(mem_store *s)
{
    bool changed = false;
    for (size_t at = 0; at < s->building->n; at++) {
        mem_chunk *v[JOB_RUNS_MAX];
        size_t left = s->building->n - at, n = left < JOB_RUNS_MAX ? left : JOB_RUNS_MAX;
        for (size_t i = 0; i < n; i++)
            v[i] = (mem_chunk *)s->building->items[at + i];
        mem_chunk *made = n < 2 ? NULL : merge_runs(s->account, v, n);
        changed = (made != NULL && list_put(s, at, n, made)) || changed;
    }
    return changed;
}

void pml_mem_store__join_all(mem_store *s)
{
    job_finish(s);
    pml_mem_store__forget_job(s);
    if (!s->account->can_copy || !s->keyed || s->building == NULL || s->building_rows > s->inline_rows || s->building_bytes > s->run_bytes)
        return;
    while (s->building->n > 1 && merge_all_pass(s)) /* bounded: every pass leaves fewer runs */
        continue;
}
