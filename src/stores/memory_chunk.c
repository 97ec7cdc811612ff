/* SPDX-License-Identifier: Apache-2.0 */
#include "stores/memory_chunk.h"

#include <string.h>

enum {
    MEM_ALIGN = 16,
    MEM_LIST_FIRST = 8,
    MEM_STATS_ROWS_MIN = 64 /* fewer rows are looked at as fast as their statistics */
};

int pml_mem_account__new(mem_account **out, const pml_rt_host *host, pml_error *err)
{
    mem_account *a = *out = host->alloc(host->ctx, sizeof *a, MEM_ALIGN);
    if (a == NULL)
        return pml_store__no_memory(err);
    memset(a, 0, sizeof *a);
    if (pthread_mutex_init(&a->sorted_m, NULL) != 0) {
        host->free(host->ctx, a, sizeof *a, MEM_ALIGN);
        *out = NULL;
        return pml_store__no_memory(err);
    }
    atomic_init(&a->refs, 1);
    a->host = host;
    a->rereads = true;
    return PML_OK;
}

void pml_mem_account__release(mem_account *account)
{
    if (account == NULL || atomic_fetch_sub_explicit(&account->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&account->sorted_m);
    account->host->free(account->host->ctx, account, sizeof *account, MEM_ALIGN);
}

void *pml_mem_account__alloc(mem_account *account, size_t bytes)
{
    void *p = account->host->alloc(account->host->ctx, bytes, MEM_ALIGN);
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

void pml_mem_account__free(mem_account *account, void *p, size_t bytes)
{
    account->host->free(account->host->ctx, p, bytes, MEM_ALIGN);
}

void *pml_mem_counted__new(mem_account *account, size_t bytes, void (*destroy)(mem_counted *self))
{
    mem_counted *c = pml_mem_account__alloc(account, bytes);
    if (c == NULL)
        return NULL;
    (void)atomic_fetch_add_explicit(&account->refs, 1, memory_order_relaxed);
    atomic_init(&c->refs, 1);
    c->account = account;
    c->bytes = bytes;
    c->destroy = destroy;
    return c;
}

void pml_mem_counted__acquire(mem_counted *c)
{
    (void)atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void pml_mem_counted__release(mem_counted *c)
{
    if (c == NULL || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    mem_account *account = c->account;
    if (c->destroy != NULL)
        c->destroy(c);
    pml_mem_account__free(account, c, c->bytes);
    pml_mem_account__release(account);
}

static void uncharge(mem_account *account, uint64_t bytes)
{
    (void)atomic_fetch_sub_explicit(&account->live_bytes, (long long)bytes, memory_order_relaxed);
    (void)account->host->charge(account->host->ctx, -(int64_t)bytes);
}

static void stats_free(mem_account *account, mem_stats *s)
{
    if (s == NULL)
        return;
    if (s->min.release != NULL)
        s->min.release(&s->min);
    if (s->max.release != NULL)
        s->max.release(&s->max);
    pml_mem_account__free(account, s, sizeof *s + account->n_columns * sizeof s->null_counts[0]);
}

static void chunk_destroy(mem_counted *self)
{
    mem_chunk *c = (mem_chunk *)self;
    mem_account *account = self->account;
    stats_free(account, atomic_load_explicit(&c->stats, memory_order_acquire));
    if (c->sorted != NULL)
        pml_mem_counted__release(&c->sorted->counted);
    if (c->array.release != NULL)
        c->array.release(&c->array);
    if (c->open != NULL)
        account->host->chunk_release(account->host->ctx, c->open);
    uncharge(account, c->bytes);
}

mem_chunk *pml_mem_chunk__sorted(mem_chunk *open, int64_t rows)
{
    mem_account *account = open->counted.account;
    pthread_mutex_lock(&account->sorted_m);
    mem_chunk *run = open->sorted != NULL && open->sorted_rows == rows ? open->sorted : NULL;
    if (run != NULL) {
        pml_mem_counted__acquire(&run->counted);
        run->unread = false;
    }
    pthread_mutex_unlock(&account->sorted_m);
    return run;
}

bool pml_mem_chunk__keep_sorted(mem_chunk *open, mem_chunk *run, int64_t rows)
{
    mem_account *account = open->counted.account;
    pthread_mutex_lock(&account->sorted_m);
    mem_chunk *old = open->sorted;
    bool better = rows > open->sorted_rows || (rows == open->sorted_rows && run != NULL && old != NULL && run->rows > old->rows);
    if (better) {
        open->sorted = run;
        open->sorted_rows = rows;
        if (run != NULL)
            pml_mem_counted__acquire(&run->counted);
        account->rereads = account->rereads && (old == NULL || !old->unread);
    } else {
        old = NULL;
    }
    pthread_mutex_unlock(&account->sorted_m);
    if (old != NULL)
        pml_mem_counted__release(&old->counted);
    return better;
}

bool pml_mem_account__begin_merge(mem_account *account, bool again)
{
    pthread_mutex_lock(&account->sorted_m);
    account->rereads = account->rereads || again;
    bool begin = account->rereads && !account->merging;
    account->merging = account->merging || begin;
    pthread_mutex_unlock(&account->sorted_m);
    return begin;
}

void pml_mem_account__end_merge(mem_account *account, bool wasted)
{
    pthread_mutex_lock(&account->sorted_m);
    account->merging = false;
    account->rereads = account->rereads && !wasted;
    pthread_mutex_unlock(&account->sorted_m);
}

static mem_stats *stats_of(mem_chunk *c)
{
    mem_account *account = c->counted.account;
    const pml_rt_host *host = account->host;
    mem_stats *found = atomic_load_explicit(&c->stats, memory_order_acquire);
    if (found != NULL)
        return found;
    mem_stats *made = pml_mem_account__alloc(account, sizeof *made + account->n_columns * sizeof made->null_counts[0]);
    if (made == NULL || host->stats(host->ctx, &made->min, &made->max, made->null_counts, account->schema_id, account->stats_mode,
                                    &c->array, NULL) != PML_OK) {
        stats_free(account, made);
        return NULL;
    }
    /* Two queries may have come at once; one result is kept. */
    if (atomic_compare_exchange_strong_explicit(&c->stats, &found, made, memory_order_acq_rel, memory_order_acquire))
        return made;
    stats_free(account, made);
    return found;
}

bool pml_mem_chunk__may_match(mem_chunk *c, const void *predicate)
{
    const mem_account *account = c->counted.account;
    if (predicate == NULL || account->stats_mode == PML_RT_STATS_NONE || c->rows < MEM_STATS_ROWS_MIN)
        return true;
    const mem_stats *s = stats_of(c);
    return s == NULL || account->host->may_match(account->host->ctx, predicate, account->schema_id, c->rows, &s->min, &s->max,
                                                 s->null_counts) != 0;
}

int pml_mem_chunk__new(mem_chunk **out, mem_account *account, const pml_rt_batch *batch, pml_error *err)
{
    mem_chunk *c = *out = pml_mem_counted__new(account, sizeof *c, chunk_destroy);
    if (c == NULL)
        return pml_store__no_memory(err);
    c->range = batch->range;
    c->rows = batch->rows;
    c->dense = (batch->flags & PML_RT_BATCH_DENSE) != 0;
    if (account->host->charge(account->host->ctx, (int64_t)batch->bytes) != PML_OK) {
        c->counted.destroy = NULL; /* nothing was charged */
        pml_mem_counted__release(&c->counted);
        *out = NULL;
        return pml_store__fail(err, PML_E_BUDGET, PML_ERRF_NO_EFFECT | PML_ERRF_TRANSIENT,
                               "%lld bytes are over the memory budget", (long long)batch->bytes);
    }
    c->bytes = batch->bytes;
    (void)atomic_fetch_add_explicit(&account->live_bytes, (long long)batch->bytes, memory_order_relaxed);
    return PML_OK;
}

static void list_destroy(mem_counted *self)
{
    mem_list *list = (mem_list *)self;
    for (size_t i = 0; i < list->n; i++)
        pml_mem_counted__release(list->items[i]);
}

static int list_copy(mem_list **out, mem_account *account, const mem_list *list, size_t first, size_t n, size_t cap, pml_error *err)
{
    size_t bytes;
    *out = NULL;
    if (__builtin_mul_overflow(cap, sizeof(mem_counted *), &bytes) || __builtin_add_overflow(bytes, sizeof(mem_list), &bytes))
        return pml_store__no_memory(err);
    mem_list *copy = pml_mem_counted__new(account, bytes, list_destroy);
    if (copy == NULL)
        return pml_store__no_memory(err);
    copy->cap = cap;
    for (size_t i = 0; i < n; i++) {
        copy->items[i] = list->items[first + i];
        pml_mem_counted__acquire(copy->items[i]);
    }
    copy->n = n;
    *out = copy;
    return PML_OK;
}

int pml_mem_list__with_room(mem_list **out, mem_account *account, mem_list *list, pml_error *err)
{
    *out = list;
    if (list != NULL && list->n < list->cap)
        return PML_OK;
    return list_copy(out, account, list, 0, list == NULL ? 0 : list->n, list == NULL ? MEM_LIST_FIRST : 2 * list->cap, err);
}

int pml_mem_list__tail(mem_list **out, mem_account *account, const mem_list *list, size_t first, pml_error *err)
{
    size_t n = list->n - first;
    return list_copy(out, account, list, first, n, n < MEM_LIST_FIRST ? MEM_LIST_FIRST : n, err);
}

mem_list *pml_mem_list__head(mem_account *account, const mem_list *list, size_t n)
{
    mem_list *out;
    return list_copy(&out, account, list, 0, n, list->cap, NULL) == PML_OK ? out : NULL;
}

static void segment_destroy(mem_counted *self)
{
    mem_segment *s = (mem_segment *)self;
    if (s->chunks != NULL)
        pml_mem_counted__release(&s->chunks->counted);
}

mem_segment *pml_mem_segment__new(mem_account *account)
{
    return pml_mem_counted__new(account, sizeof(mem_segment), segment_destroy);
}
