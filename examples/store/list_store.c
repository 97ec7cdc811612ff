/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real-time store in a shared object of its own: it keeps the batches of a partition-bucket in a plain list, and counts what
 * it was given. Start your own store from it; the rules are in <paimonlive/sys/realtime_store.h>, the only header it needs.
 *
 *   building   batches since the last seal
 *   sealed     the segments, oldest first; advance drops them from the front
 *
 * A mutex guards both; what they hold is counted (list_rows.h). Rows are charged to the host's budget; the few bytes of
 * bookkeeping come from malloc. The price of the simple list: acquire_view costs one pointer for each batch held, and every
 * query looks at all of them. The memory store of the library does better.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list_rows.h"

enum { LIST_FIRST = 16, CLOSE_DISCARD = 1, LOG_INFO = 3 };

typedef struct backend {
    const pml_rt_host *host;
    atomic_llong batches, rows;
} backend;

typedef struct list {
    size_t n, room;
    void **v;
} list;

typedef struct store {
    account *a;
    backend *b;
    pthread_mutex_t m;
    list building, sealed; /* of batch, of rows */
    pml_rt_usage usage;
    int64_t floor, end, n_columns;
    bool closed;
} store;

/* Room for one more. */
static bool list_grow(list *l)
{
    if (l->n < l->room)
        return true;
    void **v = realloc(l->v, (l->room == 0 ? LIST_FIRST : 2 * l->room) * sizeof *v);
    if (v == NULL)
        return false;
    l->room = l->room == 0 ? LIST_FIRST : 2 * l->room;
    l->v = v;
    return true;
}

static void list_clear(list *l, void (*release)(void *))
{
    for (size_t i = 0; i < l->n; i++)
        release(l->v[i]);
    free(l->v);
}

/* ---- segments ---- */

static int list_commit_streams(void *s, pml_rt_streams *out, void *segment, pml_error *err)
{
    (void)s;
    return rows_stream(out, segment, NULL, 0, err);
}

static int list_segment_info(void *segment, pml_rt_segment_info *out, pml_error *err)
{
    const rows *r = segment;
    const pml_rt_segment_info info = {.range = {r->info.floor, r->info.end},
                                      .rows = r->info.rows,
                                      .schema_id = r->a->schema_id,
                                      .memory_bytes = r->info.memory_bytes};
    (void)err;
    write_struct(out, &info, sizeof info);
    return PML_OK;
}

/* ---- writing ---- */

static int check_batch(const store *s, const pml_rt_batch *b, bool dense, pml_error *err)
{
    if (b->array == NULL || b->array->release == NULL || b->rows <= 0 || b->rows != b->array->length)
        return fail(err, PML_E_INVAL, "got a batch without rows, or with another number of them than its array");
    if (b->schema_id != s->a->schema_id || b->array->n_children != s->n_columns - dense)
        return fail(err, PML_E_SCHEMA, "got a batch of another schema");
    if (b->range.begin < s->end || b->range.end <= b->range.begin)
        return fail(err, PML_E_INVAL, "got offsets that go back");
    if (dense ? b->range.end - b->range.begin != b->rows : b->range.end - b->range.begin < b->rows)
        return fail(err, PML_E_INVAL, "got fewer or more offsets than rows");
    return PML_OK;
}

static int list_write(void *p, pml_rt_batch *given, pml_error *err)
{
    store *s = p;
    account *a = s->a;
    pml_rt_batch g;
    read_struct(&g, sizeof g, given);
    bool dense = (g.flags & PML_RT_BATCH_DENSE) != 0;
    int rc = check_batch(s, &g, dense, err);
    if (rc != PML_OK)
        return rc;
    batch *b = malloc(sizeof *b);
    if (b == NULL)
        return no_memory(err);
    pthread_mutex_lock(&s->m);
    if (s->closed)
        rc = fail(err, PML_E_STATE, "is closed");
    else if (!list_grow(&s->building))
        rc = no_memory(err);
    else if (a->host->charge(a->host->ctx, (int64_t)g.bytes) != PML_OK)
        rc = fail(err, PML_E_BUDGET, "is over the memory budget");
    if (rc == PML_OK) {
        *b = (batch){.a = a, .refs = 1, .array = *g.array, .range = g.range, .n = g.rows, .bytes = g.bytes};
        g.array->release = NULL; /* the array has moved */
        atomic_fetch_add(&a->refs, 1);
        atomic_fetch_add(&a->live_bytes, (long long)b->bytes);
        s->building.v[s->building.n++] = b;
        s->usage.building_rows += b->n;
        s->usage.building_bytes += b->bytes;
        s->end = b->range.end;
    }
    pthread_mutex_unlock(&s->m);
    if (rc != PML_OK) {
        free(b);
        return rc;
    }
    atomic_fetch_add(&s->b->batches, 1);
    atomic_fetch_add(&s->b->rows, (long long)g.rows);
    return PML_OK;
}

static int list_seal(void *p, void **segment, pml_error *err)
{
    store *s = p;
    account *a = s->a;
    rows *r = NULL;
    int rc = PML_OK;
    *segment = NULL;
    pthread_mutex_lock(&s->m);
    if (s->closed)
        rc = fail(err, PML_E_STATE, "is closed");
    else if (s->building.n > 0 && (!list_grow(&s->sealed) || (r = rows_new(a, s->building.n)) == NULL))
        rc = no_memory(err);
    if (r != NULL) {
        for (size_t i = 0; i < s->building.n; i++) {
            rows_add(r, s->building.v[i]);
            batch_release(s->building.v[i]); /* not the last reference: rows_add took one */
        }
        r->info.floor = r->v[0]->range.begin;
        r->info.end = s->end;
        s->building.n = 0;
        s->usage.sealed_rows += s->usage.building_rows;
        s->usage.sealed_bytes += s->usage.building_bytes;
        s->usage.building_rows = 0;
        s->usage.building_bytes = 0;
        atomic_fetch_add(&r->refs, 1); /* the host's */
        s->sealed.v[s->sealed.n++] = r;
        *segment = r;
    }
    pthread_mutex_unlock(&s->m);
    return rc;
}

static int list_acquire_view(void *p, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    store *s = p;
    size_t n;
    rows *r = NULL;
    *view = NULL;
    pthread_mutex_lock(&s->m);
    bool closed = s->closed;
    n = s->building.n;
    for (size_t i = 0; i < s->sealed.n; i++)
        n += ((const rows *)s->sealed.v[i])->n;
    if (!closed)
        r = rows_new(s->a, n);
    if (r != NULL) {
        for (size_t i = 0; i < s->sealed.n; i++)
            for (size_t j = 0; j < ((const rows *)s->sealed.v[i])->n; j++)
                rows_add(r, ((const rows *)s->sealed.v[i])->v[j]);
        for (size_t i = 0; i < s->building.n; i++)
            rows_add(r, s->building.v[i]);
        r->info.floor = s->floor;
        r->info.end = s->end > s->floor ? s->end : s->floor;
        r->info.first = n > 0 ? r->v[0]->range.begin : r->info.end;
        r->info.streams_hint = 1;
    }
    pthread_mutex_unlock(&s->m);
    if (r == NULL)
        return closed ? fail(err, PML_E_STATE, "is closed") : no_memory(err);
    *view = r;
    *vtbl = &list_view_functions;
    return PML_OK;
}

/* ---- letting go ---- */

static int list_advance(void *p, int64_t committed_end, int64_t snapshot_id, pml_error *err)
{
    store *s = p;
    rows *dead = NULL;
    size_t k = 0;
    (void)snapshot_id, (void)err;
    pthread_mutex_lock(&s->m);
    for (; k < s->sealed.n && ((const rows *)s->sealed.v[k])->info.end <= committed_end; k++) {
        rows *r = s->sealed.v[k];
        s->usage.sealed_rows -= r->info.rows;
        s->usage.sealed_bytes -= r->info.memory_bytes;
        r->next = dead;
        dead = r;
    }
    if (k > 0) {
        s->sealed.n -= k;
        memmove(s->sealed.v, s->sealed.v + k, s->sealed.n * sizeof s->sealed.v[0]);
    }
    if (committed_end > s->floor)
        s->floor = committed_end;
    pthread_mutex_unlock(&s->m);
    while (dead != NULL) { /* outside of the mutex: they may own gigabytes */
        rows *next = dead->next;
        rows_release(dead);
        dead = next;
    }
    return PML_OK;
}

static int list_usage(void *p, pml_rt_usage *out, pml_error *err)
{
    store *s = p;
    (void)err;
    pthread_mutex_lock(&s->m);
    pml_rt_usage u = s->usage;
    u.pinned_only_bytes = (uint64_t)atomic_load(&s->a->live_bytes) - u.building_bytes - u.sealed_bytes;
    pthread_mutex_unlock(&s->m);
    write_struct(out, &u, sizeof u);
    return PML_OK;
}

static void drop_rows(store *s)
{
    pthread_mutex_lock(&s->m);
    list building = s->building, sealed = s->sealed;
    s->building = s->sealed = (list){0};
    s->usage = (pml_rt_usage){0};
    pthread_mutex_unlock(&s->m);
    list_clear(&building, batch_release);
    list_clear(&sealed, rows_release);
}

static int list_close(void *p, uint32_t flags, pml_error *err)
{
    store *s = p;
    (void)err;
    pthread_mutex_lock(&s->m);
    s->closed = true;
    pthread_mutex_unlock(&s->m);
    if ((flags & CLOSE_DISCARD) != 0)
        drop_rows(s);
    return PML_OK;
}

static void list_release(void *p)
{
    store *s = p;
    drop_rows(s);
    pthread_mutex_destroy(&s->m);
    account_release(s->a);
    free(s);
}

/* ---- the plugin ---- */

static const pml_rt_store_vtbl functions = {.struct_size = sizeof functions,
                                            .write = list_write,
                                            .seal = list_seal,
                                            .segment_info = list_segment_info,
                                            .commit_streams = list_commit_streams,
                                            .segment_release = rows_release,
                                            .acquire_view = list_acquire_view,
                                            .advance = list_advance,
                                            .usage = list_usage,
                                            .close = list_close,
                                            .release = list_release};

static int list_store_open(void *b, void **out, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *params,
                           pml_error *err)
{
    pml_rt_store_params p;
    read_struct(&p, sizeof p, params);
    *out = NULL;
    if (p.mode != PML_RT_MODE_APPEND || p.schema == NULL)
        return fail(err, PML_E_UNSUPPORTED, "serves append tables only");
    store *s = calloc(1, sizeof *s);
    account *a = calloc(1, sizeof *a);
    if (s == NULL || a == NULL || pthread_mutex_init(&s->m, NULL) != 0) {
        free(a);
        free(s);
        return no_memory(err);
    }
    a->host = p.host; /* valid until all that we gave away is released */
    a->schema_id = p.schema_id;
    a->refs = 1;
    s->a = a;
    s->b = b;
    s->n_columns = p.schema->n_children;
    s->floor = s->end = p.committed_end;
    *out = s;
    *vtbl = &functions;
    return PML_OK;
}

static int list_open(void **out, const pml_rt_host *host, size_t n_options, const pml_rt_kv *options, pml_error *err)
{
    (void)n_options, (void)options; /* realtime.store.list.* would come here, and the table's */
    *out = NULL;
    if (host->struct_size < offsetof(pml_rt_host, concat))
        return fail(err, PML_E_UNSUPPORTED, "needs the host's columns, share and stream");
    backend *b = calloc(1, sizeof *b);
    if (b == NULL)
        return no_memory(err);
    b->host = host;
    *out = b;
    return PML_OK;
}

static void list_backend_close(void *p)
{
    backend *b = p;
    char text[96];
    (void)snprintf(text, sizeof text, "took %lld rows in %lld batches", (long long)b->rows, (long long)b->batches);
    b->host->log(b->host->ctx, LOG_INFO, "list", text);
    free(b);
}

const pml_rt_plugin *pml_rt_plugin_entry_v1(void)
{
    static const pml_rt_plugin plugin = {.struct_size = sizeof plugin,
                                         .magic = PML_RT_PLUGIN_MAGIC,
                                         .abi_major = PML_RT_ABI_MAJOR,
                                         .abi_minor = PML_RT_ABI_MINOR,
                                         .name = "list",
                                         .version = "1",
                                         .caps = PML_RT_CAP_MODE_APPEND,
                                         .open = list_open,
                                         .store_open = list_store_open,
                                         .close = list_backend_close};
    return &plugin;
}
