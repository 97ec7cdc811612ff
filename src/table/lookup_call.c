/* SPDX-License-Identifier: Apache-2.0 */
#include "table/lookup_call.h"

#include <string.h>

#include "columnar/array_memory.h"
#include "columnar/binary_row.h"
#include "meta/partition.h"

enum { ROOM_FIRST = 4 };

/* ---- keys ---- */

static int key_bytes(pml_buf *out, const pml_lookup_call *c, const struct ArrowArray *batch, const int32_t *columns, int64_t row, pml_error *err)
{
    pml_buf__reset(out);
    PML_RETURN_IF(pml_binary_row__write_from_arrow(out, c->base->key_types, batch, columns, c->base->n_keys, row, err));
    if (c->base->float_in_key) /* one NaN is as good as another, as in conditions */
        pml_binary_row__same_nan(out->data, c->base->key_types, c->base->n_keys);
    return PML_OK;
}

int pml_lookup_call__key_of(int64_t *out, pml_lookup_call *c, pml_buf *scratch, const struct ArrowArray *batch, int64_t row, pml_error *err)
{
    PML_RETURN_IF(key_bytes(scratch, c, batch, c->base->key_columns, row, err));
    if (c->first_of == NULL)
        *out = scratch->len == c->key.len && memcmp(scratch->data, c->key.data, c->key.len) == 0 ? 0 : -1;
    else
        *out = (int64_t)(uintptr_t)pml_map__get(&c->by_key, scratch->data, scratch->len) - 1;
    return PML_OK;
}

/* Equal keys have equal bytes. */
static int index_keys(pml_lookup_call *c, pml_error *err)
{
    size_t n = (size_t)c->keys->length;
    int32_t *columns = pml_arena__array(&c->arena, c->base->n_keys, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < c->base->n_keys; i++)
        columns[i] = (int32_t)i;
    if (n == 1)
        return key_bytes(&c->key, c, c->keys, columns, 0, err);
    c->first_of = pml_arena__array(&c->arena, n, sizeof *c->first_of);
    if (c->first_of == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        PML_RETURN_IF(key_bytes(&c->key, c, c->keys, columns, (int64_t)i, err));
        uintptr_t known = (uintptr_t)pml_map__get(&c->by_key, c->key.data, c->key.len);
        c->first_of[i] = known > 0 ? (int64_t)known - 1 : (int64_t)i;
        if (known == 0 && pml_map__put(&c->by_key, c->key.data, c->key.len, (void *)(uintptr_t)(i + 1), NULL) != PML_OK)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

/* A struct of some columns of the keys, for calls that only look at those; it owns nothing. column_of gives each its place. */
static int view_columns(struct ArrowArray *out, pml_lookup_call *c, const int32_t *key_of, size_t n, pml_error *err)
{
    struct ArrowArray **children = pml_arena__array(&c->arena, n, sizeof *children);
    const void **buffers = pml_arena__array(&c->arena, 1, sizeof *buffers);
    if (children == NULL || buffers == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        children[i] = key_of[i] < 0 ? NULL : c->keys->children[key_of[i]];
    *out = *c->keys;
    out->n_children = (int64_t)n;
    out->children = children;
    out->buffers = buffers;
    return PML_OK;
}

static int view_keys(pml_lookup_call *c, pml_error *err)
{
    const pml_table_schema *s = c->base->plan->schema;
    int32_t *trimmed = pml_arena__array(&c->arena, s->n_keys, sizeof *trimmed);
    if (trimmed == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_keys; i++)
        trimmed[i] = c->base->key_at[s->key_index[i]];
    PML_RETURN_IF(view_columns(&c->by_table, c, c->base->key_at, s->n_fields, err));
    return view_columns(&c->trimmed, c, trimmed, s->n_keys, err);
}

/* ---- places ---- */

/* Those of the rows (NULL: all) that no earlier key is equal to. */
static int place_make(pml_lookup_place *p, pml_lookup_call *c, pml_bytes partition, int32_t bucket, const int64_t *rows, int64_t n, pml_error *err)
{
    *p = (pml_lookup_place){.partition = partition, .bucket = bucket};
    p->rows = pml_arena__array(&c->arena, (size_t)n, sizeof *p->rows);
    if (p->rows == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows == NULL ? i : rows[i];
        if (c->first_of == NULL || c->first_of[row] == row)
            p->rows[p->n++] = row;
    }
    return PML_OK;
}

static int make_places(pml_lookup_call *c, pml_error *err)
{
    const pml_lookup_base *b = c->base;
    /* Where the columns are those of another time nobody knows by which rule rows were placed then. */
    bool routed = b->partition_in_key && b->plan->schema == b->plan->table->schema;
    if (routed)
        PML_RETURN_IF(pml_route__batch(&c->route, b->plan->table, &c->by_table, 0, err));
    size_t n = routed ? c->route.n : 1;
    c->places = pml_arena__array(&c->arena, n, sizeof *c->places);
    if (c->places == NULL)
        return pml_error__no_memory(err);
    if (!routed)
        PML_RETURN_IF(place_make(&c->places[0], c, (pml_bytes){NULL, 0}, -1, NULL, c->keys->length, err));
    for (size_t i = 0; routed && i < n; i++) {
        const pml_route_slice *s = &c->route.slices[i];
        PML_RETURN_IF(place_make(&c->places[i], c, s->partition, b->placeable ? s->bucket : -1, s->rows, s->n, err));
    }
    c->n_places = n;
    return PML_OK;
}

int pml_lookup_call__init(pml_lookup_call *c, const pml_scan *scan, const pml_lookup_base *base, const struct ArrowArray *keys, pml_error *err)
{
    pml_env *env = scan->table->env;
    *c = (pml_lookup_call){.env = env, .scan = scan, .base = base, .keys = keys};
    pml_arena__init(&c->arena, env);
    pml_map__init(&c->by_key, env);
    pml_buf__init(&c->key, env, PML_BINARY_ROW_MAX);
    c->refs = pml_arena__array(&c->arena, (size_t)keys->length, sizeof *c->refs);
    if (c->refs == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < keys->length; i++)
        c->refs[i].batch = PML_REF_NULL;
    if (keys->length == 0)
        return PML_OK;
    PML_RETURN_IF(view_keys(c, err));
    PML_RETURN_IF(index_keys(c, err));
    return make_places(c, err);
}

int pml_lookup_call__pin(pml_lookup_call *c, pml_error *err)
{
    const pml_memory_source *memory = c->scan->memory;
    for (size_t i = 0; memory != NULL && i < c->n_places; i++)
        PML_RETURN_IF(memory->pin_some(&c->places[i].pins, c->scan->memory_ctx, c->places[i].partition, c->places[i].bucket, err));
    return PML_OK;
}

void pml_lookup_call__clear(pml_lookup_call *c)
{
    for (size_t i = 0; i < c->n_sources; i++)
        pml_array__release(&c->sources[i].owned);
    for (size_t i = 0; i < c->n_places; i++)
        if (c->places[i].pins != NULL)
            c->scan->memory->release(c->places[i].pins);
    pml_route__clear(&c->route);
    pml_env__free(c->env, c->sources);
    pml_map__clear(&c->by_key, NULL);
    pml_buf__clear(&c->key);
    pml_arena__clear(&c->arena);
}

/* ---- what is found ---- */

int pml_lookup_call__source(pml_lookup_rows **out, pml_lookup_call *c, pml_error *err)
{
    if (c->n_sources == UINT32_MAX - 1)
        return pml_error__set(err, PML_E_LIMIT, "the answer of a lookup lies in too many batches: ask for fewer keys at once");
    if (c->n_sources == c->cap_sources) {
        size_t wider = c->cap_sources == 0 ? ROOM_FIRST : c->cap_sources * 2;
        pml_lookup_rows *v = pml_env__realloc(c->env, c->sources, wider * sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        c->sources = v;
        c->cap_sources = wider;
    }
    *out = &c->sources[c->n_sources++];
    **out = (pml_lookup_rows){0};
    return PML_OK;
}

/* ---- one place ---- */

static int place_buckets(pml_lookup_place *p, pml_lookup_call *c, pml_error *err)
{
    const pml_lookup_base *b = c->base;
    const pml_lookup_partition *partition = p->partition.ptr == NULL ? NULL : pml_lookup_base__partition(b, p->partition);
    size_t n = 0;
    if (p->partition.ptr != NULL && partition == NULL)
        return PML_OK;
    pml_lookup_bucket *first = partition == NULL ? b->first : partition->first, *only = NULL;
    if (partition != NULL && partition->by_bucket && p->bucket >= 0) {
        pml_buf key;
        pml_buf__init(&key, c->env, SIZE_MAX / 2);
        int rc = pml_partition__bucket_key(&key, p->partition, p->bucket);
        only = rc == PML_OK ? pml_map__get(&b->buckets, key.data, key.len) : NULL;
        pml_buf__clear(&key);
        if (rc != PML_OK)
            return pml_error__no_memory(err);
        first = only;
    }
    for (pml_lookup_bucket *at = first; at != NULL; at = only != NULL ? NULL : partition == NULL ? at->after : at->next)
        n++;
    p->buckets = pml_arena__array(&c->arena, n, sizeof(pml_lookup_bucket *));
    if (p->buckets == NULL)
        return pml_error__no_memory(err);
    for (pml_lookup_bucket *at = first; at != NULL; at = only != NULL ? NULL : partition == NULL ? at->after : at->next)
        p->buckets[p->n_buckets++] = at;
    return PML_OK;
}

static int take_answers(pml_lookup_place *p, int64_t *merged, int64_t *n_merged, pml_lookup_call *c, const pml_memory_found *found, pml_error *err)
{
    int64_t left = 0;
    *n_merged = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t row = p->rows[i];
        pml_lookup_rows *source;
        switch (found[i].answer) {
        case PML_MEMORY_NONE: p->rows[left++] = row; break;
        case PML_MEMORY_SOME: merged[(*n_merged)++] = row; break;
        case PML_MEMORY_GONE: break;
        case PML_MEMORY_ROW:
            if (c->n_sources > 0 && c->sources[c->n_sources - 1].rows == found[i].rows) {
                source = &c->sources[c->n_sources - 1]; /* neighbours mostly lie in one run */
            } else {
                PML_RETURN_IF(pml_lookup_call__source(&source, c, err));
                *source = (pml_lookup_rows){.rows = found[i].rows, .columns = c->base->memory_columns};
            }
            c->refs[row] = (pml_row_ref){(uint32_t)(source - c->sources), (uint32_t)found[i].row};
            break;
        }
    }
    p->n = left;
    return PML_OK;
}

/* Asks memory; keys that need rows of both are read here, those that are not in memory stay in the place. */
static int ask_memory(bool *again, pml_lookup_place *p, pml_lookup_call *c, pml_error *err)
{
    const pml_memory_source *memory = c->scan->memory;
    int64_t n_merged = 0, disk_sequence = INT64_MIN;
    PML_RETURN_IF(memory->check(p->pins, again, c->base->memory, err));
    if (memory->count(p->pins) == 0)
        return PML_OK;
    for (size_t i = 0; i < p->n_buckets; i++)
        disk_sequence = p->buckets[i]->max_sequence > disk_sequence ? p->buckets[i]->max_sequence : disk_sequence;
    pml_memory_found *found = pml_arena__array(&c->arena, (size_t)p->n, sizeof *found);
    int64_t *merged = pml_arena__array(&c->arena, (size_t)p->n, sizeof *merged);
    if (found == NULL || merged == NULL)
        return pml_error__no_memory(err);
    const pml_memory_find request = {.keys = &c->trimmed,
                                     .rows = p->rows,
                                     .n = (size_t)p->n,
                                     .disk_sequence = disk_sequence,
                                     .any_partition = p->partition.ptr == NULL && c->base->plan->schema->n_partition_keys > 0};
    PML_RETURN_IF(memory->find(found, p->pins, &request, err));
    PML_RETURN_IF(take_answers(p, merged, &n_merged, c, found, err));
    return n_merged == 0 ? PML_OK : pml_lookup_call__read(c, p->buckets, p->n_buckets, p->pins, merged, n_merged, err);
}

static int answer_place(bool *again, pml_lookup_place *p, pml_lookup_call *c, pml_error *err)
{
    PML_RETURN_IF(place_buckets(p, c, err));
    if (p->pins != NULL)
        PML_RETURN_IF(ask_memory(again, p, c, err));
    return p->n == 0 || p->n_buckets == 0 ? PML_OK : pml_lookup_call__read(c, p->buckets, p->n_buckets, NULL, p->rows, p->n, err);
}

/* ---- the answer ---- */

static int gather_column(struct ArrowArray *out, pml_lookup_call *c, size_t i, const struct ArrowArray **arrays, const pml_ref_list *list,
                         pml_error *err)
{
    for (size_t k = 0; k < c->n_sources; k++) {
        const pml_lookup_rows *s = &c->sources[k];
        arrays[k] = (s->rows == NULL ? &s->owned : s->rows)->children[s->columns == NULL ? (int32_t)i : s->columns[i]];
    }
    return pml_batch__gather_refs(out, &c->base->plan->out_fields[i].type, arrays, c->n_sources, list, err);
}

static int mark_missing(struct ArrowArray *out, const pml_lookup_call *c, pml_error *err)
{
    int64_t n = c->keys->length, missing = 0;
    for (int64_t i = 0; i < n; i++)
        missing += c->refs[i].batch == PML_REF_NULL;
    if (missing == 0)
        return PML_OK;
    uint8_t *bits = pml_array__calloc(out, 0, pml_bits__bytes(n));
    if (bits == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < n; i++)
        if (c->refs[i].batch != PML_REF_NULL)
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
    out->null_count = missing;
    return PML_OK;
}

static int gather(struct ArrowArray *out, pml_lookup_call *c, pml_error *err)
{
    size_t n = c->base->n_wanted, made = 0;
    pml_ref_list list = {0};
    struct ArrowArray *columns = pml_arena__array(&c->arena, n, sizeof *columns);
    const struct ArrowArray **arrays = pml_arena__array(&c->arena, c->n_sources, sizeof *arrays);
    int rc;
    if (columns == NULL || arrays == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; c->first_of != NULL && i < c->keys->length; i++)
        c->refs[i] = c->refs[c->first_of[i]];
    PML_TRY(pml_ref_list__init(&list, c->env, c->refs, c->keys->length, err));
    for (; made < n; made++)
        PML_TRY(gather_column(&columns[made], c, made, arrays, &list, err));
    PML_TRY(pml_batch__from_columns(out, c->env, columns, n, c->keys->length, err));
    made = 0;
    rc = mark_missing(out, c, err);
    if (rc != PML_OK)
        pml_array__release(out);
out:
    for (size_t i = 0; i < made; i++)
        pml_array__release(&columns[i]);
    pml_ref_list__clear(&list);
    return rc;
}

int pml_lookup_call__answer(struct ArrowArray *out, bool *again, pml_lookup_call *c, const pml_lookup_base *base, pml_error *err)
{
    c->base = base;
    *again = false;
    for (size_t i = 0; i < c->n_places; i++)
        PML_RETURN_IF(answer_place(again, &c->places[i], c, err));
    return gather(out, c, err);
}
