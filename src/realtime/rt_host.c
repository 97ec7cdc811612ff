/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_host.h"

#include <stdio.h>
#include <string.h>

#include "columnar/array_memory.h"
#include "realtime/rt_host_services.h"
#include "util/number.h"

enum {
    HOST_ALIGN_FREE = 16,    /* what the allocator of the environment promises */
    HOST_ALIGN_MAX = 4096,   /* a page: nobody needs more */
    HOST_SCHEMAS_MAX = 65536 /* one more per ALTER TABLE seen by a context */
};

/* ---- memory, log, clock ---- */

/* Beyond the natural alignment the pointer to be freed lies before the memory. */
static void *host_alloc(void *p, size_t bytes, size_t align)
{
    pml_rt_host_ctx *ctx = p;
    size_t total = bytes;
    bool plain = align <= HOST_ALIGN_FREE;
    if (align > HOST_ALIGN_MAX || (align & (align - 1)) != 0 || bytes > INT64_MAX / 2)
        return NULL;
    if (!plain)
        total = bytes + align + sizeof(void *);
    uint8_t *raw = pml_env__alloc(ctx->env, total);
    if (raw == NULL)
        return NULL;
    (void)atomic_fetch_add_explicit(&ctx->bytes, (long long)bytes, memory_order_relaxed);
    if (plain)
        return raw;
    uintptr_t at = ((uintptr_t)raw + sizeof(void *) + align - 1) & ~(uintptr_t)(align - 1);
    ((void **)at)[-1] = raw;
    return (void *)at;
}

static void host_free(void *p, void *memory, size_t bytes, size_t align)
{
    pml_rt_host_ctx *ctx = p;
    if (memory == NULL)
        return;
    (void)atomic_fetch_sub_explicit(&ctx->bytes, (long long)bytes, memory_order_relaxed);
    pml_env__free(ctx->env, align <= HOST_ALIGN_FREE ? memory : ((void **)memory)[-1]);
}

static int host_charge(void *p, int64_t delta_bytes)
{
    pml_rt_host_ctx *ctx = p;
    (void)atomic_fetch_add_explicit(&ctx->bytes, delta_bytes, memory_order_relaxed);
    return PML_OK;
}

static void host_log(void *p, int32_t level, const char *component, const char *message)
{
    pml_rt_host_ctx *ctx = p;
    pml_env__log(ctx->env, level, component == NULL ? "store" : component, "%s", message == NULL ? "" : message);
}

static int64_t host_mono_ms(void *p)
{
    pml_rt_host_ctx *ctx = p;
    return pml_env__mono_ns(ctx->env) / 1000000;
}

/* ---- schemas ---- */

const pml_rt_layout *pml_rt_host__layout(pml_rt_host_ctx *ctx, int64_t schema_id)
{
    const pml_rt_layout *found = atomic_load_explicit(&ctx->newest, memory_order_acquire);
    if (found != NULL && found->schema_id == schema_id)
        return found;
    found = NULL;
    pml_mutex__lock(&ctx->m);
    for (size_t i = ctx->n_layouts; i > 0 && found == NULL; i--)
        if (ctx->layouts[i - 1]->schema_id == schema_id)
            found = ctx->layouts[i - 1];
    pml_mutex__unlock(&ctx->m);
    return found;
}

int pml_rt_host__add_schema(pml_rt_host_ctx *ctx, uint32_t mode, int64_t schema_id, const pml_field *columns, size_t n,
                            pml_error *err)
{
    pml_rt_layout *layout = NULL;
    bool known = false;
    int rc;
    PML_TRY(pml_rt_layout__new(&layout, ctx->env, mode, schema_id, columns, n, err));
    pml_mutex__lock(&ctx->m);
    for (size_t i = 0; i < ctx->n_layouts; i++)
        known = known || ctx->layouts[i]->schema_id == schema_id;
    if (!known && ctx->n_layouts == HOST_SCHEMAS_MAX) {
        rc = pml_error__set(err, PML_E_LIMIT, "a real-time context saw more than %d schemas; open a new one", HOST_SCHEMAS_MAX);
    } else if (!known) {
        pml_rt_layout **grown =
            pml_env__realloc(ctx->env, ctx->layouts, (ctx->n_layouts + 1) * sizeof(pml_rt_layout *));
        if (grown == NULL) {
            rc = pml_error__no_memory(err);
        } else {
            ctx->layouts = grown;
            grown[ctx->n_layouts++] = layout;
            atomic_store_explicit(&ctx->newest, layout, memory_order_release);
            layout = NULL;
        }
    }
    pml_mutex__unlock(&ctx->m);
out:
    pml_rt_layout__free(layout);
    return rc;
}

int pml_rt_host__set_key_columns(pml_rt_host_ctx *ctx, int64_t schema_id, const int32_t *ids, size_t n, pml_error *err)
{
    const pml_rt_layout *l;
    PML_RETURN_IF(pml_rt_host__find_layout(&l, ctx, schema_id, err));
    for (size_t i = 0; i < l->n_fields; i++)
        for (size_t k = 0; k < n; k++)
            if (l->fields[i].id == ids[k])
                l->is_key[i] = true;
    return PML_OK;
}

int pml_rt_host__set_order(pml_rt_host_ctx *ctx, int64_t schema_id, const int32_t *keys, size_t n_keys, const int32_t *sequence,
                           size_t n_sequence, bool descending, pml_error *err)
{
    pml_rt_layout *l = NULL;
    pml_mutex__lock(&ctx->m);
    for (size_t i = 0; i < ctx->n_layouts; i++)
        l = ctx->layouts[i]->schema_id == schema_id ? ctx->layouts[i] : l;
    pml_mutex__unlock(&ctx->m);
    if (l == NULL || l->mode != PML_RT_MODE_PRIMARY_KEY)
        return pml_error__set(err, PML_E_INTERNAL, "schema %lld has no keys", (long long)schema_id);
    return pml_rt_layout__set_order(l, keys, n_keys, sequence, n_sequence, descending, err);
}

int pml_rt_host__find_layout(const pml_rt_layout **out, pml_rt_host_ctx *ctx, int64_t schema_id, pml_error *err)
{
    *out = pml_rt_host__layout(ctx, schema_id);
    if (*out == NULL)
        return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_STORE, NULL, "schema %lld was never given to the store",
                             (long long)schema_id);
    return PML_OK;
}

static int check_columns(const pml_rt_layout *l, size_t n_cols, const uint32_t *cols, pml_error *err)
{
    for (size_t i = 0; i < n_cols; i++)
        if (cols[i] >= l->n_fields)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "column %u of the %zu of schema %lld was asked for",
                                 cols[i], l->n_fields, (long long)l->schema_id);
    return PML_OK;
}

/* The column with the field id of an Arrow field, which travels in its metadata; n_fields when there is none. */
static size_t find_column(const pml_rt_layout *l, const struct ArrowSchema *field)
{
    const char *text;
    size_t len, i = 0;
    int64_t id;
    if (!pml_schema__metadata_find(&text, &len, field->metadata, "PARQUET:field_id") ||
        !pml_number__int64(&id, text, len))
        return l->n_fields;
    while (i < l->n_fields && l->fields[i].id != id)
        i++;
    return i;
}

static int host_columns(void *p, uint32_t *cols, size_t cap, size_t *n, int64_t schema_id, const pml_rt_query *query,
                        pml_error *err)
{
    const pml_rt_layout *l;
    const struct ArrowSchema *wanted = query == NULL ? NULL : query->read_schema;
    size_t count = 0;
    *n = 0;
    PML_RETURN_IF(pml_rt_host__find_layout(&l, p, schema_id, err));
    if (wanted != NULL && (wanted->release == NULL || wanted->n_children < 0 || wanted->n_children > PML_TYPE_COLUMNS_MAX))
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "the read schema of a query is released or has %lld columns",
                             (long long)wanted->n_children);
    size_t asked = wanted == NULL ? l->n_fields : (size_t)wanted->n_children;
    for (size_t i = 0; i < asked; i++) {
        size_t c = wanted == NULL ? i : find_column(l, wanted->children[i]);
        if (c == l->n_fields) /* newer than the rows: reads as null, made by the host */
            continue;
        if (count < cap)
            cols[count] = (uint32_t)c;
        count++;
    }
    *n = count;
    return PML_OK;
}

/* ---- arrays ---- */

/* What an array or a stream made for a store holds on to. */
typedef struct loan {
    pml_rt_host_ctx *ctx;
    void (*drop)(void *owner);
    void *owner;
    int (*next)(void *owner, struct ArrowArray *out, pml_error *err); /* streams only */
    pml_error failed;                                                 /* code 0: not yet */
} loan;

static int loan_new(loan **out, pml_rt_host_ctx *ctx, void (*drop)(void *owner), void *owner, pml_error *err)
{
    loan *l = *out = pml_env__calloc(ctx->env, 1, sizeof *l);
    if (l == NULL)
        return pml_error__no_memory(err);
    pml_rt_host__acquire(ctx);
    *l = (loan){.ctx = ctx, .drop = drop, .owner = owner, .failed = PML_ERROR_INIT};
    return PML_OK;
}

static void loan_end(void *p)
{
    loan *l = p;
    pml_rt_host_ctx *ctx = l->ctx;
    if (l->drop != NULL)
        l->drop(l->owner);
    pml_env__free(ctx->env, l);
    pml_rt_host__release(ctx); /* last: drop frees through the services */
}

static int make_offsets(struct ArrowArray *out, pml_env *env, int64_t first, int64_t rows, pml_error *err)
{
    int64_t last;
    void *values;
    if (first < 0 || rows < 0 || __builtin_add_overflow(first, rows, &last))
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "%lld rows from offset %lld are no range",
                             (long long)rows, (long long)first);
    PML_RETURN_IF(pml_array__numbers(out, &values, env, rows, sizeof(int64_t), err));
    for (int64_t i = 0; i < rows; i++)
        ((int64_t *)values)[i] = first + i;
    return PML_OK;
}

/* Columns of the transport schema as children of the array; -1: the offset column, to be made. */
static int map_columns(int32_t *map, size_t *n_made, const pml_rt_layout *l, const struct ArrowArray *array, int64_t row,
                       int64_t rows, size_t n_cols, const uint32_t *cols, pml_error *err)
{
    bool dense = l->mode == PML_RT_MODE_APPEND && array->n_children == (int64_t)l->n_fields - 1;
    *n_made = 0;
    if (row < 0 || rows < 0 || rows > array->length || row > array->length - rows)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "%lld rows from row %lld were asked of an array of %lld",
                             (long long)rows, (long long)row, (long long)array->length);
    if (!dense && array->n_children != (int64_t)l->n_fields)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "an array of %lld columns is shared as schema %lld, which has %zu",
                             (long long)array->n_children, (long long)l->schema_id, l->n_fields);
    for (size_t i = 0; i < n_cols; i++) {
        map[i] = (int32_t)cols[i] - (dense ? 1 : 0);
        *n_made += map[i] < 0;
    }
    if (*n_made > 1)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "the offset column was asked for %zu times", *n_made);
    return PML_OK;
}

static int host_share(void *p, struct ArrowArray *out, int64_t schema_id, const struct ArrowArray *array, int64_t row,
                      int64_t rows, size_t n_cols, const uint32_t *cols, int64_t first_offset, void (*drop)(void *owner),
                      void *owner, pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    struct ArrowArray offsets = {0};
    pml_shared *shared = NULL;
    loan *lent = NULL;
    int32_t small[32], *map = small;
    size_t n_made = 0;
    int rc;
    *out = (struct ArrowArray){0};
    PML_TRY(pml_rt_host__find_layout(&l, ctx, schema_id, err));
    PML_TRY(check_columns(l, n_cols, cols, err));
    if (n_cols > sizeof small / sizeof small[0])
        map = pml_env__alloc(ctx->env, n_cols * sizeof *map);
    if (map == NULL)
        PML_TRY(pml_error__no_memory(err));
    PML_TRY(map_columns(map, &n_made, l, array, row, rows, n_cols, cols, err));
    if (n_made > 0)
        PML_TRY(make_offsets(&offsets, ctx->env, first_offset, rows, err));
    PML_TRY(loan_new(&lent, ctx, NULL, NULL, err));
    PML_TRY(pml_shared__borrow(&shared, ctx->env, array, loan_end, lent, err));
    loan *armed = lent;
    lent = NULL;
    PML_TRY(pml_shared__slice(out, shared, row, rows, map, n_cols, &offsets, err));
    armed->drop = drop; /* nothing can fail any more */
    armed->owner = owner;
out:
    pml_shared__release(shared);
    if (lent != NULL)
        loan_end(lent);
    pml_array__release(&offsets);
    if (map != small)
        pml_env__free(ctx->env, map);
    return rc;
}

/* ---- streams ---- */

static int loan_next(void *p, struct ArrowArray *out, pml_error *err)
{
    loan *l = p;
    if (l->failed.code == PML_OK) {
        int rc = l->next(l->owner, out, &l->failed);
        if (rc == PML_OK) {
            pml_error__clear(&l->failed);
            return PML_OK;
        }
        if (l->failed.code != rc)
            (void)pml_error__set(&l->failed, rc, "a stream of the store failed without a message");
    }
    /* A stream that failed stays failed: going on could skip rows. */
    if (err != NULL)
        *err = l->failed;
    return l->failed.code;
}

static int export_columns(struct ArrowSchema *out, pml_rt_host_ctx *ctx, const pml_rt_layout *l, size_t n_cols,
                          const uint32_t *cols, int64_t segment, pml_error *err)
{
    struct ArrowSchema chosen = l->arrow; /* owns nothing */
    char number[24];
    int rc = PML_OK;
    struct ArrowSchema **children = pml_env__calloc(ctx->env, n_cols == 0 ? 1 : n_cols, sizeof(struct ArrowSchema *));
    if (children == NULL)
        PML_TRY(pml_error__no_memory(err));
    for (size_t i = 0; i < n_cols; i++)
        children[i] = l->arrow.children[cols[i]];
    chosen.children = children;
    chosen.n_children = (int64_t)n_cols;
    (void)snprintf(number, sizeof number, "%lld", (long long)segment);
    if (segment >= 0)
        PML_TRY(pml_schema__copy_with(out, ctx->env, &chosen, PML_RT_META_SEGMENT, number, err));
    else
        PML_TRY(pml_schema__copy(out, ctx->env, &chosen, err));
out:
    pml_env__free(ctx->env, children);
    return rc;
}

static int host_stream(void *p, struct ArrowArrayStream *out, int64_t schema_id, size_t n_cols, const uint32_t *cols,
                       int64_t segment, int (*next)(void *owner, struct ArrowArray *out, pml_error *err),
                       void (*drop)(void *owner), void *owner, pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    struct ArrowSchema schema = {0};
    loan *lent = NULL;
    int rc;
    *out = (struct ArrowArrayStream){0};
    PML_TRY(pml_rt_host__find_layout(&l, ctx, schema_id, err));
    PML_TRY(check_columns(l, n_cols, cols, err));
    PML_TRY(export_columns(&schema, ctx, l, n_cols, cols, segment, err));
    PML_TRY(loan_new(&lent, ctx, NULL, NULL, err));
    PML_TRY(pml_stream__new(out, ctx->env, &schema, loan_next, loan_end, lent, err));
    lent->next = next;
    lent->drop = drop;
    lent->owner = owner;
    lent = NULL;
out:
    if (lent != NULL)
        loan_end(lent);
    pml_schema__release(&schema);
    return rc;
}

/* ---- life ---- */

int pml_rt_host__new(pml_rt_host_ctx **out, pml_env *env, pml_error *err)
{
    pml_rt_host_ctx *ctx = *out = pml_env__calloc(env, 1, sizeof *ctx);
    if (ctx == NULL)
        return pml_error__no_memory(err);
    atomic_init(&ctx->refs, 1);
    ctx->env = env;
    pml_env_acquire(env);
    pml_mutex__init(&ctx->m, "rt_host", 0);
    pml_rt_worker__init(&ctx->worker, env);
    ctx->host = (pml_rt_host){.struct_size = sizeof ctx->host,
                              .abi_minor = PML_RT_ABI_MINOR,
                              .ctx = ctx,
                              .alloc = host_alloc,
                              .free = host_free,
                              .charge = host_charge,
                              .log = host_log,
                              .mono_ms = host_mono_ms,
                              .columns = host_columns,
                              .share = host_share,
                              .stream = host_stream,
                              .concat = pml_rt_host__concat,
                              .stats = pml_rt_host__stats,
                              .may_match = pml_rt_host__may_match,
                              .chunk_new = pml_rt_host__chunk_new,
                              .chunk_append = pml_rt_host__chunk_append,
                              .chunk_view = pml_rt_host__chunk_view,
                              .chunk_release = pml_rt_host__chunk_release,
                              .submit = pml_rt_host__submit,
                              .merge_sorted = pml_rt_host__merge_sorted,
                              .sort_run = pml_rt_host__sort_run,
                              .key_bounds = pml_rt_host__key_bounds,
                              .find_key = pml_rt_host__find_key};
    return PML_OK;
}

void pml_rt_host__acquire(pml_rt_host_ctx *ctx)
{
    (void)atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

void pml_rt_host__release(pml_rt_host_ctx *ctx)
{
    if (ctx == NULL || atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = ctx->env;
    pml_rt_host__end(ctx);
    for (size_t i = 0; i < ctx->n_layouts; i++)
        pml_rt_layout__free(ctx->layouts[i]);
    pml_env__free(env, ctx->layouts);
    pml_mutex__destroy(&ctx->m);
    pml_rt_worker__clear(&ctx->worker);
    pml_env__free(env, ctx);
    pml_env_release(env);
}

const pml_rt_host *pml_rt_host__services(pml_rt_host_ctx *ctx)
{
    return &ctx->host;
}

int64_t pml_rt_host__bytes(const pml_rt_host_ctx *ctx)
{
    return atomic_load_explicit(&ctx->bytes, memory_order_relaxed);
}
