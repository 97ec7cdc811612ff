/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory store (realtime-store.md 15.1; realtime-pk.md 15.2): a list of chunks of rows; seal turns the list into a segment; advance
 * forgets a prefix of the segments. How rows become chunks stands in memory_write.c, how they are read in memory_read.c.
 *
 * What happens under the mutex is a few assignments, so that views are cheap: acquire_view takes two references and notes three
 * lengths, whatever the store holds. Everything that a view, a stream or an array may still see is counted (memory_chunk.h), and
 * nothing that dies is destroyed under the mutex: it may own gigabytes.
 */
#include "stores/memory.h"

#include <string.h>

#include "stores/memory_read.h"
#include "stores/memory_store.h"

enum { COLLAPSE_ALLOWED = 1 /* pml_rt_store_params.flags */ };

#define JOIN_BYTES_DEFAULT ((uint64_t)4 << 20)
#define RUN_BYTES_DEFAULT ((uint64_t)256 << 20)
#define INLINE_ROWS_DEFAULT ((uint64_t)16384)
#define MERGE_RUNS_DEFAULT 8u

static int refuse(pml_error *err, int code, const char *what, int64_t got, int64_t expected)
{
    return pml_store__fail(err, code, PML_ERRF_NO_EFFECT, "%s: %lld, expected %lld", what, (long long)got, (long long)expected);
}

int pml_mem_store__closed_error(pml_error *err)
{
    return pml_store__fail(err, PML_E_STATE, PML_ERRF_NO_EFFECT, "the memory store is closed");
}

/* The host has checked the array; what would break our own bookkeeping is checked again. */
static int check_batch(const mem_store *s, const pml_rt_batch *b, pml_error *err)
{
    bool dense = (b->flags & PML_RT_BATCH_DENSE) != 0;
    int64_t columns = s->n_columns - (dense ? 1 : 0), span = 0;
    if (b->array == NULL || b->array->release == NULL)
        return pml_store__fail(err, PML_E_INVAL, PML_ERRF_NO_EFFECT, "a batch came without its array");
    if (b->schema_id != s->schema_id)
        return refuse(err, PML_E_SCHEMA, "schema of a batch", b->schema_id, s->schema_id);
    if (b->rows <= 0 || b->rows != b->array->length)
        return refuse(err, PML_E_INVAL, "rows of a batch", b->rows, b->array->length);
    if (b->range.begin < s->end)
        return refuse(err, PML_E_INVAL, "first offset of a batch goes back", b->range.begin, s->end);
    if (__builtin_sub_overflow(b->range.end, b->range.begin, &span) || span < b->rows || (dense && span != b->rows))
        return refuse(err, PML_E_INVAL, "offsets of a batch", span, b->rows);
    if (b->array->n_children != columns)
        return refuse(err, PML_E_SCHEMA, "columns of a batch", b->array->n_children, columns);
    return PML_OK;
}

static int memory_write(void *store, pml_rt_batch *batch, pml_error *err)
{
    mem_store *s = store;
    pml_rt_batch b;
    pml_store__read_struct(&b, sizeof b, batch);
    int rc = check_batch(s, &b, err);
    return rc == PML_OK ? pml_mem_store__write(s, &b, err) : rc;
}

static void fill_segment_locked(mem_segment *seg, mem_store *s)
{
    const mem_chunk *first = (const mem_chunk *)s->building->items[0];
    seg->chunks = s->building;
    seg->n = s->building->n;
    seg->range = (pml_rt_range){first->range.begin, s->end};
    seg->rows = s->building_rows;
    seg->bytes = s->building_bytes;
    seg->schema_id = s->schema_id;
    for (size_t i = 0; s->account->collapse && i < seg->n; i++) {
        seg->collapsed_rows += ((const mem_chunk *)seg->chunks->items[i])->collapsed_rows;
        seg->collapsed_hash += ((const mem_chunk *)seg->chunks->items[i])->collapsed_hash;
    }
    s->building = NULL;
    s->building_rows = 0;
    s->building_bytes = 0;
}

static int memory_seal(void *store, void **segment, pml_error *err)
{
    mem_store *s = store;
    mem_list *room = NULL, *old = NULL;
    mem_segment *seg;
    int rc;
    *segment = NULL;
    rc = pml_mem_store__close_chunk(s, err);
    if (rc != PML_OK)
        return rc;
    pml_mem_store__join_all(s);
    seg = pml_mem_segment__new(s->account);
    if (seg == NULL)
        return pml_store__no_memory(err);
    pthread_mutex_lock(&s->m);
    rc = s->closed ? pml_mem_store__closed_error(err) : PML_OK;
    if (rc != PML_OK || s->building == NULL)
        goto out;
    rc = pml_mem_list__with_room(&room, s->account, s->sealed, err); /* here, since advance changes the list too */
    if (rc != PML_OK)
        goto out;
    fill_segment_locked(seg, s);
    pml_mem_counted__acquire(&seg->counted);
    room->items[room->n++] = &seg->counted;
    old = room == s->sealed ? NULL : s->sealed;
    s->sealed = room;
    s->sealed_rows += seg->rows;
    s->sealed_bytes += seg->bytes;
    *segment = seg;
    seg = NULL;
out:
    pthread_mutex_unlock(&s->m);
    pml_mem_list__release(old);
    if (seg != NULL)
        pml_mem_counted__release(&seg->counted);
    return rc;
}

static int memory_segment_info(void *segment, pml_rt_segment_info *out, pml_error *err)
{
    const mem_segment *seg = segment;
    const pml_rt_segment_info info = {
        .range = seg->range, .rows = seg->rows + seg->collapsed_rows, .collapsed_rows = seg->collapsed_rows, .collapsed_hash = seg->collapsed_hash,
        .schema_id = seg->schema_id, .memory_bytes = seg->bytes};
    (void)err;
    pml_store__write_struct(out, &info, sizeof info);
    return PML_OK;
}

static int memory_commit_streams(void *store, pml_rt_streams *out, void *segment, pml_error *err)
{
    mem_store *s = store;
    mem_segment *seg = segment;
    if (seg->counted.account != s->account)
        return pml_store__fail(err, PML_E_INVAL, PML_ERRF_NO_EFFECT, "the segment belongs to another store");
    return pml_mem_segment__stream(out, seg, err);
}

static void memory_segment_release(void *segment)
{
    mem_segment *seg = segment;
    pml_mem_counted__release(&seg->counted);
}

static void fill_view_locked(mem_view *v, const mem_store *s)
{
    v->schema_id = s->schema_id;
    v->floor = s->floor;
    v->end = v->first = s->end > s->floor ? s->end : s->floor;
    v->rows = s->sealed_rows + s->building_rows;
    v->bytes = s->sealed_bytes + s->building_bytes;
    if (s->building != NULL) {
        v->building = s->building;
        v->n_building = s->building->n;
        v->open_rows = s->open_rows;
        v->first = ((const mem_chunk *)s->building->items[0])->range.begin;
        pml_mem_counted__acquire(&v->building->counted);
    }
    if (s->sealed != NULL && s->sealed->n > 0) {
        v->sealed = s->sealed;
        v->n_sealed = s->sealed->n;
        v->first = ((const mem_segment *)s->sealed->items[0])->range.begin;
        pml_mem_counted__acquire(&v->sealed->counted);
    }
}

static int memory_acquire_view(void *store, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    mem_store *s = store;
    *view = NULL;
    *vtbl = NULL;
    mem_view *v = pml_mem_view__new(s->account);
    if (v == NULL)
        return pml_store__no_memory(err);
    pthread_mutex_lock(&s->m);
    bool closed = s->closed;
    if (!closed)
        fill_view_locked(v, s);
    pthread_mutex_unlock(&s->m);
    if (closed) {
        pml_mem_counted__release(&v->counted);
        return pml_mem_store__closed_error(err);
    }
    *view = v;
    *vtbl = &pml_mem_view_vtbl;
    return PML_OK;
}

/* Takes the first k segments out of the store's list. In place when no view holds the list: then nothing is allocated, so that
   memory can be let go of when there is none left. *chain: their references; *old: the list that was replaced. */
static int take_prefix_locked(mem_store *s, size_t k, mem_segment **chain, mem_list **old, pml_error *err)
{
    mem_list *list = s->sealed, *rest = NULL;
    bool shared = atomic_load_explicit(&list->counted.refs, memory_order_acquire) > 1;
    if (shared) {
        int rc = pml_mem_list__tail(&rest, s->account, list, k, err);
        if (rc != PML_OK)
            return rc;
    }
    for (size_t i = 0; i < k; i++) {
        mem_segment *seg = (mem_segment *)list->items[i];
        s->sealed_rows -= seg->rows;
        s->sealed_bytes -= seg->bytes;
        if (shared)
            continue;
        seg->dropped = *chain;
        *chain = seg;
    }
    if (shared) {
        *old = list;
        s->sealed = rest;
        return PML_OK;
    }
    memmove(list->items, list->items + k, (list->n - k) * sizeof list->items[0]);
    list->n -= k;
    return PML_OK;
}

static int memory_advance(void *store, int64_t committed_end, int64_t snapshot_id, pml_error *err)
{
    mem_store *s = store;
    mem_segment *chain = NULL;
    mem_list *old = NULL;
    size_t k = 0;
    int rc = PML_OK;
    (void)snapshot_id;
    pthread_mutex_lock(&s->m);
    while (s->sealed != NULL && k < s->sealed->n &&
           ((const mem_segment *)s->sealed->items[k])->range.end <= committed_end)
        k++;
    if (k > 0)
        rc = take_prefix_locked(s, k, &chain, &old, err);
    if (rc == PML_OK && committed_end > s->floor)
        s->floor = committed_end;
    pthread_mutex_unlock(&s->m);
    while (chain != NULL) {
        mem_segment *next = chain->dropped;
        pml_mem_counted__release(&chain->counted);
        chain = next;
    }
    pml_mem_list__release(old);
    return rc;
}

/* Chunks of rows; the mutex is held. */
static uint32_t count_runs_locked(const mem_store *s)
{
    size_t n = s->building == NULL ? 0 : s->building->n;
    for (size_t i = 0; s->sealed != NULL && i < s->sealed->n; i++)
        n += ((const mem_segment *)(const void *)s->sealed->items[i])->n;
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int memory_usage(void *store, pml_rt_usage *out, pml_error *err)
{
    mem_store *s = store;
    pml_rt_usage u = {0};
    (void)err;
    pthread_mutex_lock(&s->m);
    u.building_bytes = s->building_bytes;
    u.sealed_bytes = s->sealed_bytes;
    u.building_rows = s->building_rows;
    u.sealed_rows = s->sealed_rows;
    u.runs = count_runs_locked(s);
    /* A chunk leaves the account after it left the lists: the difference is never negative. */
    u.pinned_only_bytes = (uint64_t)atomic_load_explicit(&s->account->live_bytes, memory_order_relaxed) - u.building_bytes -
                          u.sealed_bytes;
    pthread_mutex_unlock(&s->m);
    pml_store__write_struct(out, &u, sizeof u);
    return PML_OK;
}

static void drop_rows(mem_store *s)
{
    pthread_mutex_lock(&s->m);
    mem_list *building = s->building, *sealed = s->sealed;
    s->building = s->sealed = NULL;
    s->open = NULL;
    s->open_rows = 0;
    s->building_rows = s->sealed_rows = 0;
    s->building_bytes = s->sealed_bytes = 0;
    pthread_mutex_unlock(&s->m);
    pml_mem_list__release(building);
    pml_mem_list__release(sealed);
}

enum { CLOSE_DISCARD = 1 };

static int memory_close(void *store, uint32_t flags, pml_error *err)
{
    mem_store *s = store;
    (void)err;
    pthread_mutex_lock(&s->m);
    s->closed = true;
    pthread_mutex_unlock(&s->m);
    if ((flags & CLOSE_DISCARD) != 0)
        drop_rows(s);
    return PML_OK;
}

static void memory_release(void *store)
{
    mem_store *s = store;
    mem_account *account = s->account;
    pml_mem_store__forget_job(s);
    drop_rows(s);
    pthread_mutex_destroy(&s->m);
    pml_mem_account__free(account, s, sizeof *s);
    pml_mem_account__release(account);
}

static const pml_rt_store_vtbl memory_vtbl = {.struct_size = sizeof(pml_rt_store_vtbl),
                                              .write = memory_write,
                                              .seal = memory_seal,
                                              .segment_info = memory_segment_info,
                                              .commit_streams = memory_commit_streams,
                                              .segment_release = memory_segment_release,
                                              .acquire_view = memory_acquire_view,
                                              .advance = memory_advance,
                                              .usage = memory_usage,
                                              .close = memory_close,
                                              .release = memory_release};

static int check_host(const pml_rt_host *host, pml_error *err)
{
    if (host == NULL || host->struct_size < offsetof(pml_rt_host, concat))
        return pml_store__fail(err, PML_E_UNSUPPORTED, PML_ERRF_NO_EFFECT,
                               "the memory store needs the host services up to `stream`");
    return PML_OK;
}

/* A size such as "4 mb" or "65536", as the host has checked it; anything else: the default. */
static uint64_t size_option(const pml_rt_store_params *p, const char *key, uint64_t otherwise)
{
    static const char units[] = "bkmgt";
    uint64_t v = 0;
    size_t i = 0, len = strlen(key), n = p->n_options;
    while (n > 0 && (p->options[n - 1].key.len != len || memcmp(p->options[n - 1].key.ptr, key, len) != 0))
        n--; /* the last one wins */
    const pml_rt_kv *o = n == 0 ? NULL : &p->options[n - 1];
    if (o == NULL || o->value.len == 0)
        return otherwise;
    const char *text = o->value.ptr;
    for (; i < o->value.len && text[i] >= '0' && text[i] <= '9' && v < UINT64_MAX / 20; i++)
        v = v * 10 + (uint64_t)(text[i] - '0');
    size_t digits = i;
    while (i < o->value.len && text[i] == ' ')
        i++;
    const char *unit = i < o->value.len ? strchr(units, text[i] | 0x20) : units;
    if (digits == 0 || unit == NULL || *unit == '\0' || v > UINT64_MAX >> (10 * (unit - units)))
        return otherwise;
    return v << (10 * (unit - units));
}

static void account_settings(mem_account *a, const pml_rt_store_params *p)
{
    a->schema_id = p->schema_id;
    a->keyed = p->mode == PML_RT_MODE_PRIMARY_KEY;
    a->collapse = a->keyed && (p->flags & COLLAPSE_ALLOWED) != 0;
    a->n_columns = (size_t)p->schema->n_children;
    a->can_copy = p->host->struct_size >= offsetof(pml_rt_host, submit);
    a->stats_mode = a->can_copy ? p->stats_mode : PML_RT_STATS_NONE;
}

static int memory_store_open(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *params,
                             pml_error *err)
{
    pml_rt_store_params p;
    mem_account *account = NULL;
    (void)backend;
    *store = NULL;
    *vtbl = NULL;
    pml_store__read_struct(&p, sizeof p, params);
    int rc = check_host(p.host, err);
    if (rc != PML_OK)
        return rc;
    if (p.mode != PML_RT_MODE_APPEND && p.mode != PML_RT_MODE_PRIMARY_KEY)
        return pml_store__fail(err, PML_E_UNSUPPORTED, PML_ERRF_NO_EFFECT, "needs mode %u: the memory store serves append tables and those "
                               "with a primary key", p.mode);
    if (p.mode == PML_RT_MODE_PRIMARY_KEY && p.host->struct_size < sizeof *p.host)
        return pml_store__fail(err, PML_E_UNSUPPORTED, PML_ERRF_NO_EFFECT,
                               "for rows with keys the memory store needs the host services up to `key_bounds`");
    if (p.schema == NULL || p.schema->n_children < 1 || p.committed_end < 0)
        return pml_store__fail(err, PML_E_INVAL, PML_ERRF_NO_EFFECT, "the parameters of a memory store are not complete");
    rc = pml_mem_account__new(&account, p.host, err);
    if (rc != PML_OK)
        return rc;
    mem_store *s = pml_mem_account__alloc(account, sizeof *s);
    if (s == NULL || pthread_mutex_init(&s->m, NULL) != 0) {
        if (s != NULL)
            pml_mem_account__free(account, s, sizeof *s);
        pml_mem_account__release(account);
        return pml_store__no_memory(err);
    }
    s->account = account;
    account_settings(account, &p);
    s->schema_id = p.schema_id;
    s->n_columns = p.schema->n_children;
    s->keyed = p.mode == PML_RT_MODE_PRIMARY_KEY;
    s->join_bytes = size_option(&p, "realtime.memory.chunk-bytes", JOIN_BYTES_DEFAULT);
    s->run_bytes = size_option(&p, "realtime.memory.max-run-bytes", RUN_BYTES_DEFAULT);
    uint64_t rows = size_option(&p, "realtime.memory.inline-merge-rows", INLINE_ROWS_DEFAULT);
    s->inline_rows = rows > INT64_MAX ? INT64_MAX : (int64_t)rows;
    uint64_t runs = size_option(&p, "realtime.memory.merge-runs", MERGE_RUNS_DEFAULT);
    s->merge_runs = runs < 2 ? 2 : runs > MEM_MERGE_RUNS_MAX ? MEM_MERGE_RUNS_MAX : (size_t)runs;
    s->next_room = MEM_OPEN_ROWS_FIRST;
    s->floor = s->end = p.committed_end;
    *store = s;
    *vtbl = &memory_vtbl;
    return PML_OK;
}

/* Stores share nothing, so the backend is only a mark: handles are never NULL. */
static char backend_mark;

static int memory_open(void **backend, const pml_rt_host *host, size_t n_options, const pml_rt_kv *options, pml_error *err)
{
    (void)n_options, (void)options;
    *backend = NULL;
    int rc = check_host(host, err);
    if (rc == PML_OK)
        *backend = &backend_mark;
    return rc;
}

static void memory_plugin_close(void *backend)
{
    (void)backend;
}

static const pml_rt_plugin plugin = {.struct_size = sizeof(pml_rt_plugin),
                                     .magic = PML_RT_PLUGIN_MAGIC,
                                     .abi_major = PML_RT_ABI_MAJOR,
                                     .abi_minor = PML_RT_ABI_MINOR,
                                     .name = "memory",
                                     .version = "1",
                                     .caps = PML_RT_CAP_MODE_APPEND | PML_RT_CAP_MODE_KEY | PML_RT_CAP_LOOKUP | PML_RT_CAP_COLLAPSE,
                                     .open = memory_open,
                                     .store_open = memory_store_open,
                                     .close = memory_plugin_close};

const pml_rt_plugin *pml_memory_store_plugin(void)
{
    return &plugin;
}
