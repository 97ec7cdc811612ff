/* SPDX-License-Identifier: Apache-2.0 */
/* Keys out of files: a plan of the kept files, as a scan with a condition on the key would make it, and the rows that come out. */
#include <stdlib.h>

#include "table/lookup_call.h"
#include "table/prune.h"

/* Of how many keys one plan reads at once: a list of values is looked up, but each row is held against each of several composite keys. */
enum { KEYS_AT_ONCE = 256, COMPOSITE_KEYS_AT_ONCE = 16 };

/* ---- the condition ---- */

static pml_pred *new_node(pml_arena *arena, pml_pred_op op, size_t n_literals, size_t n_children)
{
    pml_pred *p = pml_arena__alloc(arena, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (pml_pred){.op = op, .n_literals = n_literals, .n_children = n_children};
    p->literals = pml_arena__array(arena, n_literals, sizeof *p->literals);
    p->children = pml_arena__array(arena, n_children, sizeof(pml_pred *));
    return p->literals == NULL || p->children == NULL ? NULL : p;
}

/* Key column i is that of one of the keys. The values borrow from the keys. */
static pml_pred *one_of(const pml_lookup_call *c, pml_arena *arena, size_t i, const int64_t *rows, size_t n)
{
    const pml_field *f = &c->base->key_fields[i];
    pml_pred *p = new_node(arena, n == 1 ? PML_PRED_EQ : PML_PRED_IN, n, 0);
    if (p == NULL)
        return NULL;
    p->field_id = f->id;
    p->type = &f->type;
    p->name = f->name;
    for (size_t k = 0; k < n; k++)
        pml_value__get(&p->literals[k], &f->type, c->keys->children[i], rows[k]);
    return p;
}

static pml_pred *is_key(const pml_lookup_call *c, pml_arena *arena, const int64_t *row)
{
    size_t n = c->base->n_keys;
    pml_pred *all = new_node(arena, PML_PRED_AND, 0, n);
    for (size_t i = 0; all != NULL && i < n; i++)
        if ((all->children[i] = one_of(c, arena, i, row, 1)) == NULL)
            return NULL;
    return all;
}

/* Of several composite keys also each column by itself, which is what files are left out by. */
static int make_condition(pml_pred **out, const pml_lookup_call *c, pml_arena *arena, const int64_t *rows, size_t n, pml_error *err)
{
    size_t n_keys = c->base->n_keys;
    pml_pred *all, *any;
    if (n_keys == 1 || n == 1) {
        *out = n_keys == 1 ? one_of(c, arena, 0, rows, n) : is_key(c, arena, rows);
        return *out == NULL ? pml_error__no_memory(err) : PML_OK;
    }
    *out = all = new_node(arena, PML_PRED_AND, 0, n_keys + 1);
    any = new_node(arena, PML_PRED_OR, 0, n);
    if (all == NULL || any == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n_keys; i++)
        if ((all->children[i] = one_of(c, arena, i, rows, n)) == NULL)
            return pml_error__no_memory(err);
    for (size_t k = 0; k < n; k++)
        if ((any->children[k] = is_key(c, arena, &rows[k])) == NULL)
            return pml_error__no_memory(err);
    all->children[n_keys] = any;
    return PML_OK;
}

/* ---- the plan ---- */

static int copy_entries(pml_manifest_entries *out, pml_arena *arena, pml_lookup_bucket *const *buckets, size_t n, pml_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += buckets[i]->n;
    *out = (pml_manifest_entries){.v = pml_arena__array(arena, total, sizeof *out->v), .cap = total};
    if (out->v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < buckets[i]->n; k++)
            out->v[out->n++] = *buckets[i]->entries[k];
    return PML_OK;
}

static int add_splits(pml_plan *p, pml_lookup_bucket *const *buckets, size_t n, pml_error *err)
{
    pml_manifest_entries live;
    pml_prune prune;
    int rc;
    PML_TRY(pml_prune__init(&prune, p->env, p->schema, &p->table->options, p->predicate, err));
    PML_TRY(copy_entries(&live, &p->arena, buckets, n, err));
    PML_TRY(pml_plan__keep_keyed_files(&live, p, &prune, err));
    PML_TRY(pml_plan__make_splits(p, &live, err));
out:
    pml_prune__clear(&prune);
    return rc;
}

/* Takes the reference of pins over, also on failure. */
static int plan_new(pml_plan **out, pml_lookup_call *c, pml_lookup_bucket *const *buckets, size_t n_buckets, void *pins, const int64_t *rows,
                    size_t n, pml_error *err)
{
    pml_plan *base = c->base->plan, *p;
    int rc = pml_plan__new(out, c->scan, err);
    p = *out;
    if (rc != PML_OK) {
        if (pins != NULL)
            base->memory->release(pins);
        return rc;
    }
    p->pins = pins;
    pml_plan__acquire(base);
    p->base = base;
    p->snapshot_id = base->snapshot_id;
    p->schema = base->schema;
    p->n_columns = base->n_columns;
    p->columns = base->columns;
    p->out_fields = base->out_fields;
    PML_RETURN_IF(make_condition(&p->predicate, c, &p->arena, rows, n, err));
    return add_splits(p, buckets, n_buckets, err);
}

/* ---- the rows ---- */

/* Moves the batch in, also on failure. */
static int take_batch(pml_lookup_call *c, pml_buf *scratch, struct ArrowArray *batch, pml_error *err)
{
    pml_lookup_rows *source;
    int rc = pml_lookup_call__source(&source, c, err);
    if (rc != PML_OK) {
        pml_array__release(batch);
        return rc;
    }
    source->owned = *batch;
    for (int64_t row = 0; row < source->owned.length; row++) {
        int64_t key;
        PML_RETURN_IF(pml_lookup_call__key_of(&key, c, scratch, &source->owned, row, err));
        if (key >= 0 && c->refs[key].batch == PML_REF_NULL)
            c->refs[key] = (pml_row_ref){(uint32_t)(c->n_sources - 1), (uint32_t)row};
    }
    return PML_OK;
}

static int read_plan(pml_lookup_call *c, pml_plan *p, pml_error *err)
{
    pml_read_options options = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream = {0};
    pml_buf scratch;
    int rc;
    options.validate = c->validate;
    PML_RETURN_IF(pml_read_open(&stream, p, &options, err));
    pml_buf__init(&scratch, c->env, PML_BINARY_ROW_MAX);
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            break;
        }
        rc = PML_OK;
        if (batch.release == NULL)
            break;
        rc = take_batch(c, &scratch, &batch, err);
        if (rc != PML_OK)
            break;
    }
    pml_buf__clear(&scratch);
    stream.release(&stream);
    return rc;
}

/* ---- many keys ---- */

typedef struct keyed {
    const pml_lookup_call *c;
    int64_t row;
} keyed;

static int compare_keys(const void *x, const void *y)
{
    const keyed *a = x, *b = y;
    const pml_lookup_base *base = a->c->base;
    for (size_t i = 0; i < base->n_keys; i++) {
        pml_value va, vb;
        pml_value__get(&va, base->key_types[i], a->c->keys->children[i], a->row);
        pml_value__get(&vb, base->key_types[i], a->c->keys->children[i], b->row);
        int order = pml_value__compare(&va, &vb);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Neighbours lie in the same pages, which are unpacked once for all keys of a plan. In the arena of the call. */
static int in_order(const int64_t **out, pml_lookup_call *c, const int64_t *rows, int64_t n, pml_error *err)
{
    keyed *v = pml_arena__array(&c->arena, (size_t)n, sizeof *v);
    int64_t *ordered = pml_arena__array(&c->arena, (size_t)n, sizeof *ordered);
    if (v == NULL || ordered == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < n; i++)
        v[i] = (keyed){c, rows[i]};
    qsort(v, (size_t)n, sizeof *v, compare_keys);
    for (int64_t i = 0; i < n; i++)
        ordered[i] = v[i].row;
    *out = ordered;
    return PML_OK;
}

int pml_lookup_call__read(pml_lookup_call *c, pml_lookup_bucket *const *buckets, size_t n_buckets, void *pins, const int64_t *rows, int64_t n,
                          pml_error *err)
{
    int64_t most = c->base->n_keys == 1 ? KEYS_AT_ONCE : COMPOSITE_KEYS_AT_ONCE;
    int rc = n > most ? in_order(&rows, c, rows, n, err) : PML_OK;
    for (int64_t at = 0; rc == PML_OK && at < n; at += most) {
        pml_plan *p;
        if (pins != NULL)
            c->base->plan->memory->acquire(pins);
        rc = plan_new(&p, c, buckets, n_buckets, pins, rows + at, (size_t)(n - at < most ? n - at : most), err);
        if (rc == PML_OK)
            rc = read_plan(c, p, err);
        pml_plan_free(p);
    }
    return rc;
}
