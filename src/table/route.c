/* SPDX-License-Identifier: Apache-2.0 */
#include "table/route.h"

#include <stdlib.h>
#include <string.h>

#include "columnar/bucket.h"
#include "meta/partition.h"
#include "table/key_buckets.h"

void pml_route__clear(pml_route *r)
{
    if (r->arena.env != NULL)
        pml_arena__clear(&r->arena);
    *r = (pml_route){0};
}

int pml_route__compare(pml_bytes a_partition, int32_t a_bucket, pml_bytes b_partition, int32_t b_bucket)
{
    int c = pml_bytes_compare(a_partition, b_partition);
    return c != 0 ? c : (a_bucket > b_bucket) - (a_bucket < b_bucket);
}

enum {
    FEW_KEYS = 16,            /* bucket keys that need no allocation */
    BUCKETS_IN_TABLE = 65536, /* more are looked up one by one */
};

/* Slice number of each row is kept here first, then rows are dealt out in one pass. */
typedef struct routing {
    pml_route *route;
    pml_map by_key;
    pml_buf key;
    const pml_table *t;
    const pml_type *partition_types[PML_PARTITION_KEYS_MAX];
    int32_t partition_columns[PML_PARTITION_KEYS_MAX];
    bool one_slice;    /* one row, or one place for all: nothing will be looked up */
    int32_t *buckets;  /* of each row; NULL: all 0 */
    bool given;        /* they are the caller's */
    int32_t one_bucket; /* memory for one row */
    uint32_t *slice_of; /* of each row */
} routing;

static int slice_add(routing *g, int32_t bucket, uint32_t *index)
{
    pml_route *r = g->route;
    if (r->n == r->cap) {
        size_t cap = r->cap == 0 ? 8 : r->cap * 2;
        pml_route_slice *v = pml_arena__array(&r->arena, cap, sizeof *v);
        if (v == NULL)
            return PML_E_NOMEM;
        if (r->n > 0)
            memcpy(v, r->slices, r->n * sizeof *v);
        r->slices = v;
        r->cap = cap;
    }
    pml_route_slice *s = &r->slices[r->n];
    size_t len = g->key.len - 4; /* the bucket stands behind the partition */
    *s = (pml_route_slice){.partition = {pml_arena__copy(&r->arena, g->key.data, len), len}, .bucket = bucket};
    if (s->partition.ptr == NULL)
        return PML_E_NOMEM;
    if (!g->one_slice && pml_map__put(&g->by_key, g->key.data, g->key.len, (void *)(uintptr_t)(r->n + 1), NULL) != PML_OK)
        return PML_E_NOMEM;
    *index = (uint32_t)r->n++;
    return PML_OK;
}

/* Key of a row: counted partition row, then the bucket. */
static int row_key(routing *g, const struct ArrowArray *batch, int64_t row, pml_error *err)
{
    size_t n = g->t->schema->n_partition_keys;
    pml_buf__reset(&g->key);
    (void)pml_buf__append_be32(&g->key, (uint32_t)n);
    PML_RETURN_IF(pml_binary_row__write_from_arrow(&g->key, g->partition_types, batch, g->partition_columns, n, row, err));
    if (pml_buf__append_be32(&g->key, (uint32_t)(g->buckets == NULL ? 0 : g->buckets[row])) != PML_OK)
        return pml_error__no_memory(err);
    return PML_OK;
}

static int assign_by_key(routing *g, const struct ArrowArray *batch, pml_error *err)
{
    pml_buf last;
    uint32_t last_slice = 0;
    int rc = PML_OK;
    pml_buf__init(&last, g->t->env, PML_BINARY_ROW_MAX);
    for (int64_t row = 0; row < batch->length; row++) {
        PML_TRY(row_key(g, batch, row, err));
        /* Neighbours mostly go to the same place. */
        if (row > 0 && last.len == g->key.len && memcmp(last.data, g->key.data, last.len) == 0) {
            g->slice_of[row] = last_slice;
            continue;
        }
        uintptr_t known = (uintptr_t)pml_map__get(&g->by_key, g->key.data, g->key.len);
        last_slice = (uint32_t)(known - 1);
        if (known == 0 && slice_add(g, g->buckets == NULL ? 0 : g->buckets[row], &last_slice) != PML_OK) {
            rc = pml_error__no_memory(err);
            goto out;
        }
        g->slice_of[row] = last_slice;
        pml_buf__reset(&last);
        if (pml_buf__append(&last, g->key.data, g->key.len) != PML_OK) {
            rc = pml_error__no_memory(err);
            goto out;
        }
    }
out:
    pml_buf__clear(&last);
    return rc;
}

/* Without partitions the bucket is the place: a table of slices by bucket, 0: none yet. */
static int assign_by_bucket(routing *g, const struct ArrowArray *batch, uint32_t *slice_of_bucket, pml_error *err)
{
    for (int64_t row = 0; row < batch->length; row++) {
        uint32_t *known = &slice_of_bucket[g->buckets[row]], index;
        if (*known == 0) {
            PML_RETURN_IF(row_key(g, batch, row, err));
            if (slice_add(g, g->buckets[row], &index) != PML_OK)
                return pml_error__no_memory(err);
            *known = index + 1;
        }
        g->slice_of[row] = *known - 1;
    }
    return PML_OK;
}

static int assign_slices(routing *g, const struct ArrowArray *batch, pml_error *err)
{
    int32_t total = g->given ? PML_DYNAMIC_BUCKETS_MAX : g->t->options.bucket;
    if (g->t->schema->n_partition_keys == 0 && g->buckets != NULL && total <= BUCKETS_IN_TABLE) {
        uint32_t *slice_of_bucket = pml_env__calloc(g->t->env, (size_t)total, sizeof *slice_of_bucket);
        int rc = slice_of_bucket == NULL ? pml_error__no_memory(err)
                                         : assign_by_bucket(g, batch, slice_of_bucket, err);
        pml_env__free(g->t->env, slice_of_bucket);
        return rc;
    }
    return assign_by_key(g, batch, err);
}

static int compare_slices(const void *pa, const void *pb)
{
    const pml_route_slice *a = pa, *b = pb;
    return pml_route__compare(a->partition, a->bucket, b->partition, b->bucket);
}

static int deal_rows(routing *g, int64_t length, pml_error *err)
{
    pml_route *r = g->route;
    if (r->n == 1) {
        r->slices[0].n = length;
        return PML_OK;
    }
    for (int64_t row = 0; row < length; row++)
        r->slices[g->slice_of[row]].n++;
    for (size_t i = 0; i < r->n; i++) {
        r->slices[i].rows = pml_arena__array(&r->arena, (size_t)r->slices[i].n, sizeof *r->slices[i].rows);
        if (r->slices[i].rows == NULL)
            return pml_error__no_memory(err);
        r->slices[i].n = 0;
    }
    for (int64_t row = 0; row < length; row++) {
        pml_route_slice *s = &r->slices[g->slice_of[row]];
        s->rows[s->n++] = row;
    }
    qsort(r->slices, r->n, sizeof *r->slices, compare_slices);
    return PML_OK;
}

static int assign_buckets(routing *g, const struct ArrowArray *batch, int32_t first_column, pml_error *err)
{
    const pml_table_schema *s = g->t->schema;
    const pml_table_options *o = &g->t->options;
    if (o->bucket < 1 || (o->bucket == 1 && o->bucket_function != PML_BUCKET_FUNCTION_MOD)) /* that one looks whether the key fits it */
        return PML_OK;
    const pml_type *few_types[FEW_KEYS], **types = few_types;
    int32_t few_columns[FEW_KEYS], *columns = few_columns;
    g->buckets = batch->length == 1 ? &g->one_bucket : pml_env__calloc(g->t->env, (size_t)batch->length, sizeof *g->buckets);
    if (s->n_bucket_keys > FEW_KEYS) {
        types = pml_env__calloc(g->t->env, s->n_bucket_keys, sizeof *types);
        columns = pml_env__calloc(g->t->env, s->n_bucket_keys, sizeof *columns);
    }
    int rc = g->buckets == NULL || types == NULL || columns == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0; rc == PML_OK && i < s->n_bucket_keys; i++) {
        types[i] = &s->fields[s->bucket_index[i]].type;
        columns[i] = s->bucket_index[i] + first_column;
    }
    if (rc == PML_OK)
        rc = pml_bucket__assign(g->buckets, g->t->env, o->bucket_function == PML_BUCKET_FUNCTION_MOD ? PML_BUCKET_BY_MOD : PML_BUCKET_BY_HASH,
                                o->bucket, types, batch, columns, s->n_bucket_keys, err);
    if (types != few_types)
        pml_env__free(g->t->env, types);
    if (columns != few_columns)
        pml_env__free(g->t->env, columns);
    return rc;
}

static int partition_columns(routing *g, int32_t first_column, pml_error *err)
{
    const pml_table_schema *s = g->t->schema;
    if (s->n_partition_keys > PML_PARTITION_KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%s has more than %d partition keys", g->t->path, PML_PARTITION_KEYS_MAX);
    for (size_t i = 0; i < s->n_partition_keys; i++) {
        g->partition_types[i] = &s->fields[s->partition_index[i]].type;
        g->partition_columns[i] = s->partition_index[i] + first_column;
    }
    return PML_OK;
}

static int route_rows(pml_route *out, const pml_table *t, const int32_t *buckets, const struct ArrowArray *batch, int32_t first_column,
                      pml_error *err)
{
    routing g = {.route = out, .t = t, .buckets = (int32_t *)buckets, .given = buckets != NULL};
    const pml_table_schema *s = t->schema;
    int rc = PML_OK;
    *out = (pml_route){0};
    pml_arena__init(&out->arena, t->env);
    pml_map__init(&g.by_key, t->env);
    pml_buf__init(&g.key, t->env, PML_BINARY_ROW_MAX);
    if (batch->length == 0)
        goto out;
    PML_TRY(partition_columns(&g, first_column, err));
    if (!g.given)
        PML_TRY(assign_buckets(&g, batch, first_column, err));
    if (batch->length == 1 || (s->n_partition_keys == 0 && g.buckets == NULL)) { /* one slice, no look at further rows */
        uint32_t index;
        g.one_slice = true;
        PML_TRY(row_key(&g, batch, 0, err));
        rc = slice_add(&g, g.buckets == NULL ? 0 : g.buckets[0], &index) == PML_OK ? deal_rows(&g, batch->length, err) : pml_error__no_memory(err);
        goto out;
    }
    g.slice_of = pml_env__calloc(t->env, (size_t)batch->length, sizeof *g.slice_of);
    if (g.slice_of == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(assign_slices(&g, batch, err));
    PML_TRY(deal_rows(&g, batch->length, err));
out:
    pml_env__free(t->env, g.slice_of);
    if (g.buckets != &g.one_bucket && !g.given)
        pml_env__free(t->env, g.buckets);
    pml_buf__clear(&g.key);
    pml_map__clear(&g.by_key, NULL);
    if (rc != PML_OK)
        pml_route__clear(out);
    return rc;
}

int pml_route__batch(pml_route *out, const pml_table *t, const struct ArrowArray *batch, int32_t first_column, pml_error *err)
{
    return route_rows(out, t, NULL, batch, first_column, err);
}

int pml_route__assigned(pml_route *out, const pml_table *t, const int32_t *buckets, const struct ArrowArray *batch, int32_t first_column,
                        pml_error *err)
{
    return route_rows(out, t, buckets, batch, first_column, err);
}

int pml_route__partition_of(pml_bytes *out, pml_arena *arena, const pml_table *t, const struct ArrowArray *batch, int64_t row,
                            int32_t first_column, pml_error *err)
{
    routing g = {.t = t};
    int rc;
    pml_buf__init(&g.key, t->env, PML_BINARY_ROW_MAX);
    PML_TRY(partition_columns(&g, first_column, err));
    PML_TRY(row_key(&g, batch, row, err));
    out->len = g.key.len - 4;
    out->ptr = pml_arena__copy(arena, g.key.data, out->len);
    rc = out->ptr == NULL ? pml_error__no_memory(err) : PML_OK;
out:
    pml_buf__clear(&g.key);
    return rc;
}
