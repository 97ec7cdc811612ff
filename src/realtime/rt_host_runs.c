/* SPDX-License-Identifier: Apache-2.0 */
/* Host services over rows with keys: sorting a batch into a run, merging runs, finding a key in one. */
#include <string.h>

#include "merge/function.h"
#include "realtime/rt_context.h"
#include "realtime/rt_host_services.h"
#include "util/hash.h"

static int keyed_layout(const pml_rt_layout **out, pml_rt_host_ctx *ctx, int64_t schema_id, pml_error *err)
{
    PML_RETURN_IF(pml_rt_host__find_layout(out, ctx, schema_id, err));
    if ((*out)->merge.keys == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "schema %lld has no primary key", (long long)schema_id);
    return PML_OK;
}

static int check_rows(const pml_rt_layout *l, const struct ArrowArray *a, pml_error *err)
{
    if (a != NULL && a->release != NULL && a->offset == 0 && a->n_children == (int64_t)l->n_fields)
        return PML_OK;
    return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_STORE, NULL,
                         "rows for schema %lld must be a struct array without an offset that has its %zu columns", (long long)l->schema_id,
                         l->n_fields);
}

int pml_rt_host__sort_run(void *p, struct ArrowArray *out, int64_t schema_id, const struct ArrowArray *array, pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    int64_t *rows = NULL;
    *out = (struct ArrowArray){0};
    PML_RETURN_IF(keyed_layout(&l, ctx, schema_id, err));
    PML_RETURN_IF(check_rows(l, array, err));
    PML_RETURN_IF(pml_sorter__order(&rows, ctx->env, &l->sorter, array, err));
    int rc = pml_batch__gather_rows(out, ctx->env, l->fields, l->n_fields, array, rows, array->length, err);
    pml_env__free(ctx->env, rows);
    return rc;
}

/* ---- merging ---- */

typedef struct borrowed_run {
    pml_env *env;
    const struct ArrowArray *array; /* NULL: given already */
    size_t n_fields;
} borrowed_run;

static void keep(void *owner)
{
    (void)owner; /* the caller has the array for as long as the call lasts, and the merge ends before it returns */
}

static int run_next(void *p, struct ArrowArray *out, pml_error *err)
{
    borrowed_run *r = p;
    pml_shared *shared;
    *out = (struct ArrowArray){0};
    if (r->array == NULL || r->array->length == 0)
        return PML_OK;
    PML_RETURN_IF(pml_shared__borrow(&shared, r->env, r->array, keep, NULL, err));
    int rc = pml_shared__slice(out, shared, 0, r->array->length, NULL, r->n_fields, NULL, err);
    pml_shared__release(shared);
    r->array = NULL;
    return rc;
}

static void run_drop(void *p)
{
    (void)p;
}

/* What a merge gave. */
typedef struct merged_batches {
    struct ArrowArray *v;
    size_t n, cap;
} merged_batches;

static int check_wanted(pml_rt_host_ctx *ctx, pml_error *err)
{
    if (!pml_rt_worker__is_over(&ctx->worker))
        return PML_OK;
    return pml_error__at(err, PML_E_STATE, PML_PLACE_STORE, NULL, "the context is closed: nobody waits for this merge");
}

/* An output batch has at most so many rows as the merge takes at once, and ends early where its inputs are large. */
static int take_batches(merged_batches *b, pml_rt_host_ctx *ctx, pml_merge *m, pml_error *err)
{
    pml_env *env = ctx->env;
    for (;; b->n++) {
        PML_RETURN_IF(check_wanted(ctx, err));
        if (b->n == b->cap) {
            size_t cap = b->cap == 0 ? 4 : 2 * b->cap;
            struct ArrowArray *v = pml_env__realloc(env, b->v, cap * sizeof *v);
            if (v == NULL)
                return pml_error__no_memory(err);
            b->v = v;
            b->cap = cap;
        }
        PML_RETURN_IF(pml_merge__next(m, &b->v[b->n], err));
        if (b->v[b->n].release == NULL)
            return PML_OK;
    }
}

/* All batches of a merge as one array. */
static int drain(struct ArrowArray *out, pml_rt_host_ctx *ctx, const pml_rt_layout *l, pml_merge *m, pml_error *err)
{
    merged_batches b = {0};
    const struct ArrowArray **inputs = NULL;
    int rc;
    PML_TRY(take_batches(&b, ctx, m, err));
    if (b.n == 1) {
        *out = b.v[0];
        b.n = 0;
        goto out;
    }
    inputs = pml_env__calloc(ctx->env, b.n + 1, sizeof *inputs);
    if (inputs == NULL)
        PML_TRY(pml_error__no_memory(err));
    for (size_t i = 0; i < b.n; i++)
        inputs[i] = &b.v[i];
    rc = pml_batch__concat(out, ctx->env, l->fields, l->n_fields, inputs, b.n, err);
out:
    for (size_t i = 0; i < b.n; i++)
        pml_array__release(&b.v[i]);
    pml_env__free(ctx->env, inputs);
    pml_env__free(ctx->env, b.v);
    return rc;
}

enum { MERGE_COLLAPSE = 1 /* pml_rt_merge.flags */ };

static int merge_all(struct ArrowArray *out, pml_rt_host_ctx *ctx, const pml_rt_layout *l, const pml_rt_merge *req, pml_error *err)
{
    static const pml_merge_function all = {.kind = PML_MERGE_ALL}, last = {.kind = PML_MERGE_LAST};
    pml_merge *merge = NULL;
    int64_t rows = 0;
    int rc = PML_OK;
    borrowed_run *sources = pml_env__calloc(ctx->env, req->n, sizeof *sources);
    pml_run *runs = pml_env__calloc(ctx->env, req->n, sizeof *runs);
    int32_t *columns = pml_env__calloc(ctx->env, l->n_fields, sizeof *columns);
    if (sources == NULL || runs == NULL || columns == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < req->n; i++) {
        PML_TRY(check_rows(l, req->inputs[i], err));
        rows += req->inputs[i]->length;
        sources[i] = (borrowed_run){ctx->env, req->inputs[i], l->n_fields};
        runs[i] = (pml_run){.next = run_next, .drop = run_drop, .ctx = &sources[i], .name = "a run in memory", .level = -1};
    }
    for (size_t i = 0; i < l->n_fields; i++)
        columns[i] = (int32_t)i;
    const pml_merge_request request = {.layout = &l->merge,
                                       .function = (req->flags & MERGE_COLLAPSE) != 0 ? &last : &all,
                                       .columns = columns,
                                       .n_columns = l->n_fields,
                                       .keep_retracts = true,
                                       .batch_rows = rows < 1 ? 1 : rows};
    PML_TRY(pml_merge__open(&merge, ctx->env, &request, runs, req->n, err));
    PML_TRY(drain(out, ctx, l, merge, err));
out:
    pml_merge__free(merge);
    pml_env__free(ctx->env, columns);
    pml_env__free(ctx->env, runs);
    pml_env__free(ctx->env, sources);
    return rc;
}

static uint64_t hash_of(const pml_rt_layout *l, const struct ArrowArray *a)
{
    const struct ArrowArray *offsets = a->children[l->offset_column];
    const int64_t *v = (const int64_t *)offsets->buffers[1] + offsets->offset;
    uint64_t sum = 0;
    for (int64_t i = 0; i < a->length; i++)
        sum += pml_hash__mix64((uint64_t)v[i]);
    return sum;
}

/* What is in the inputs and not in the result. */
static void count_collapsed(pml_rt_merged *m, const pml_rt_layout *l, const pml_rt_merge *req)
{
    int64_t rows = 0;
    for (size_t i = 0; i < req->n; i++)
        rows += req->inputs[i]->length;
    m->collapsed_rows = rows - (m->array.release == NULL ? 0 : m->array.length);
    if (m->collapsed_rows == 0)
        return;
    for (size_t i = 0; i < req->n; i++)
        m->collapsed_hash += hash_of(l, req->inputs[i]);
    m->collapsed_hash -= hash_of(l, &m->array);
}

int pml_rt_host__merge_sorted(void *p, pml_rt_merged *out, const pml_rt_merge *req, pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    struct ArrowArray array = {0};
    if (out == NULL || out->struct_size != sizeof *out || req == NULL || req->struct_size != sizeof *req || req->n == 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "merge_sorted was called with structs of another version, or without runs");
    if ((req->flags & ~(uint32_t)MERGE_COLLAPSE) != 0)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_STORE, NULL, "needs mode: a merge was asked for with flags 0x%x", req->flags);
    PML_RETURN_IF(keyed_layout(&l, ctx, req->schema_id, err));
    PML_RETURN_IF(check_wanted(ctx, err));
    int rc = merge_all(&array, ctx, l, req, err);
    if (rc != PML_OK) {
        pml_array__release(&array);
        return rc;
    }
    *out = (pml_rt_merged){.struct_size = sizeof *out, .array = array};
    if ((req->flags & MERGE_COLLAPSE) != 0)
        count_collapsed(out, l, req);
    return PML_OK;
}

/* ---- one key ---- */

/* Whether a row of the run is below the key, which may have only the first columns, at it or above. */
static int compare_key(const pml_rt_layout *l, const struct ArrowArray *run, int64_t row, const struct ArrowArray *keys, int64_t key_row)
{
    for (size_t i = 0; i < (size_t)keys->n_children; i++) {
        const pml_order_column *c = &l->sorter.keys.columns[i];
        int order = c->compare(c->type, run->children[c->position], row, keys->children[i], key_row);
        if (order != 0)
            return order;
    }
    return 0;
}

/* In columns of numbers, without calls and without branches that nobody foresees, since a lookup asks this of every run: the first row
   of a sorted one that is not below the value of another; the last of the first n of any that equals it, -1: none. */
#define SEARCHES(first_not_below, last_equal, ctype)                                                         \
    static int64_t first_not_below(const struct ArrowArray *a, int64_t n, const struct ArrowArray *b, int64_t row)      \
    {                                                                                                        \
        const uint8_t *values = (const uint8_t *)a->buffers[1] + a->offset * (int64_t)sizeof(ctype);         \
        int64_t at = 0;                                                                                      \
        ctype key, v;                                                                                        \
        memcpy(&key, (const uint8_t *)b->buffers[1] + (b->offset + row) * (int64_t)sizeof key, sizeof key);  \
        while (n > 0) {                                                                                      \
            int64_t half = n / 2;                                                                            \
            memcpy(&v, values + (at + half) * (int64_t)sizeof v, sizeof v);                                  \
            at += v < key ? half + 1 : 0;                                                                    \
            n = v < key ? n - half - 1 : half;                                                               \
        }                                                                                                    \
        return at;                                                                                           \
    }                                                                                                        \
    static int64_t last_equal(const struct ArrowArray *a, int64_t n, const struct ArrowArray *b, int64_t row) \
    {                                                                                                        \
        const uint8_t *values = (const uint8_t *)a->buffers[1] + a->offset * (int64_t)sizeof(ctype);         \
        ctype key, v;                                                                                        \
        memcpy(&key, (const uint8_t *)b->buffers[1] + (b->offset + row) * (int64_t)sizeof key, sizeof key);  \
        for (; n > 0; n--) {                                                                                 \
            memcpy(&v, values + (n - 1) * (int64_t)sizeof v, sizeof v);                                      \
            if (v == key)                                                                                    \
                break;                                                                                       \
        }                                                                                                    \
        return n - 1;                                                                                        \
    }
SEARCHES(first_not_below_32, last_equal_32, int32_t)
SEARCHES(first_not_below_64, last_equal_64, int64_t)

/* How wide the numbers of a column are that the order of row_order.c takes as such, in bytes; 0: it is none of them. */
static int number_width(const pml_order_column *c)
{
    pml_type_kind kind = c->type->kind;
    if (kind == PML_TYPE_BIGINT || kind == PML_TYPE_TIMESTAMP || kind == PML_TYPE_TIMESTAMP_LTZ)
        return 8;
    return kind == PML_TYPE_INT || kind == PML_TYPE_DATE || kind == PML_TYPE_TIME ? 4 : 0;
}

/* The first row that is not below the key. */
static int64_t lower_bound(const pml_rt_layout *l, const struct ArrowArray *run, const struct ArrowArray *keys, int64_t key_row)
{
    const pml_order_column *c = &l->sorter.keys.columns[0];
    int width = number_width(c);
    int64_t lo = 0, hi = run->length;
    if (width > 0)
        lo = (width == 8 ? first_not_below_64 : first_not_below_32)(run->children[c->position], hi, keys->children[0], key_row);
    if (width > 0 && keys->n_children == 1)
        return lo;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (compare_key(l, run, mid, keys, key_row) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Behind the rows of the key, the first of which is `from` if there is any. Mostly they are few. */
static int64_t upper_bound(const pml_rt_layout *l, const struct ArrowArray *run, const struct ArrowArray *keys, int64_t key_row, int64_t from)
{
    int64_t lo = from, step = 1;
    while (lo < run->length && compare_key(l, run, lo, keys, key_row) == 0) {
        lo += step;
        step = lo > run->length - step * 2 ? 1 : step * 2;
    }
    int64_t hi = lo < run->length ? lo : run->length;
    for (lo = from; lo < hi;) { /* rows below lo are of the key, those from hi on are not */
        int64_t mid = lo + (hi - lo) / 2;
        if (compare_key(l, run, mid, keys, key_row) == 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int check_key(const pml_rt_layout *l, const struct ArrowArray *keys, int64_t key_row, pml_error *err)
{
    if (keys != NULL && keys->offset == 0 && keys->n_children >= 1 && keys->n_children <= (int64_t)l->merge.n_keys && key_row >= 0 &&
        key_row < keys->length)
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "key %lld is none of the %lld keys of up to %zu columns", (long long)key_row,
                         keys == NULL ? 0 : (long long)keys->length, l->merge.n_keys);
}

int pml_rt_host__key_bounds(void *p, int64_t *lo, int64_t *hi, int64_t schema_id, const struct ArrowArray *run, const struct ArrowArray *keys,
                            int64_t key_row, pml_error *err)
{
    const pml_rt_layout *l;
    PML_RETURN_IF(keyed_layout(&l, p, schema_id, err));
    PML_RETURN_IF(check_rows(l, run, err));
    PML_RETURN_IF(check_key(l, keys, key_row, err));
    *lo = lower_bound(l, run, keys, key_row);
    *hi = upper_bound(l, run, keys, key_row, *lo);
    return PML_OK;
}

/* The last of the first n rows that may be of the key, -1: none. */
static int64_t last_candidate(const pml_rt_layout *l, const struct ArrowArray *array, int64_t n, const struct ArrowArray *keys, int64_t key_row)
{
    const pml_order_column *c = &l->sorter.keys.columns[0];
    int width = number_width(c);
    return width == 0 ? n - 1 : (width == 8 ? last_equal_64 : last_equal_32)(array->children[c->position], n, keys->children[0], key_row);
}

int pml_rt_host__find_key(void *p, int64_t *row, int64_t schema_id, const struct ArrowArray *array, int64_t before,
                          const struct ArrowArray *keys, int64_t key_row, pml_error *err)
{
    const pml_rt_layout *l;
    *row = -1;
    PML_RETURN_IF(keyed_layout(&l, p, schema_id, err));
    PML_RETURN_IF(check_rows(l, array, err));
    PML_RETURN_IF(check_key(l, keys, key_row, err));
    if (before < 0 || before > array->length)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "row %lld of %lld", (long long)before, (long long)array->length);
    for (int64_t i = before; *row < 0 && (i = last_candidate(l, array, i, keys, key_row)) >= 0;)
        if (compare_key(l, array, i, keys, key_row) == 0)
            *row = i;
    return PML_OK;
}
