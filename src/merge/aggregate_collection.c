/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/aggregate_collection.h"

enum { ITEMS_MAX = INT32_MAX, KEY_MAX = INT32_MAX };

int pml_collector__open(pml_aggregator *a, size_t stride)
{
    pml_collector *c = a->state;
    pml_buf__init(&c->key, a->env, KEY_MAX);
    pml_buf__init(&c->key_2, a->env, KEY_MAX);
    c->acc.stride = c->other.stride = stride;
    pml_map__init(&c->acc.index, a->env);
    pml_map__init(&c->other.index, a->env);
    return PML_OK;
}

void pml_collector__drop(pml_aggregator *a)
{
    pml_collector *c = a->state;
    pml_buf__clear(&c->key);
    pml_buf__clear(&c->key_2);
    pml_env__free(a->env, c->acc.items);
    pml_env__free(a->env, c->other.items);
    pml_map__clear(&c->acc.index, NULL);
    pml_map__clear(&c->other.index, NULL);
}

void pml_collector__begin(pml_aggregator *a, const pml_fold *f)
{
    pml_collector *c = a->state;
    c->fold = f;
    c->acc.form = PML_COLLECTION_NULL;
    pml_collection__forget_index(a, &c->acc);
}

pml_elements pml_collection__elements(const pml_aggregator *a, const pml_collection *c)
{
    if (c->form == PML_COLLECTION_LISTED)
        return (pml_elements){.listed = c, .n = c->n};
    if (c->form == PML_COLLECTION_NULL)
        return (pml_elements){.n = 0};
    const pml_collector *state = a->state;
    pml_item_range r = pml_item__elements(a->type, pml_fold__item(state->fold, a, c->ref));
    return (pml_elements){.range = r, .n = (size_t)r.n};
}

int pml_collection__append(const pml_aggregator *a, pml_collection *c, const pml_item *items)
{
    size_t stride = c->stride;
    if ((c->n + 1) * stride > c->cap) {
        size_t cap = c->cap * 2 + 16 * stride;
        if (cap > ITEMS_MAX)
            return PML_E_LIMIT;
        pml_item *grown = pml_env__realloc(a->env, c->items, cap * sizeof *grown);
        if (grown == NULL)
            return PML_E_NOMEM;
        c->items = grown;
        c->cap = cap;
    }
    memcpy(c->items + c->n * stride, items, stride * sizeof *items);
    c->n++;
    return PML_OK;
}

void pml_collection__forget_index(pml_aggregator *a, pml_collection *c)
{
    if (c->indexed || c->index.n_entries > 0) {
        pml_map__clear(&c->index, NULL);
        pml_map__init(&c->index, a->env);
    }
    c->indexed = false;
}

void pml_collection__clear(pml_aggregator *a, pml_collection *c)
{
    c->form = PML_COLLECTION_LISTED;
    c->n = 0;
    pml_collection__forget_index(a, c);
}

void pml_collection__rebuild(pml_aggregator *a, pml_collection *c, pml_collection *from)
{
    *from = *c;
    from->index = (pml_map){0};
    if (c->form == PML_COLLECTION_LISTED) {
        c->items = NULL;
        c->cap = 0;
    } else {
        from->items = NULL;
    }
    pml_collection__clear(a, c);
}

size_t pml_collection__find(const pml_collection *c, pml_bytes key)
{
    return (size_t)(uintptr_t)pml_map__get(&c->index, key.ptr, key.len);
}

int pml_collection__note(pml_collection *c, pml_bytes key, size_t number)
{
    return pml_map__put(&c->index, key.ptr, key.len, (void *)(uintptr_t)(number + 1), NULL);
}

static void set_picked(pml_aggregator *a, pml_collection *c, pml_row_ref in)
{
    c->form = in.batch == PML_REF_NULL ? PML_COLLECTION_NULL : PML_COLLECTION_PICKED;
    c->ref = in;
    pml_collection__forget_index(a, c);
}

static int join(pml_aggregator *a, pml_collector *c, pml_collection *acc, pml_collection *in, pml_error *err)
{
    if (in->form == PML_COLLECTION_NULL && (acc->form == PML_COLLECTION_NULL || !c->normalizes))
        return PML_OK;
    if (acc->form == PML_COLLECTION_NULL && !c->normalizes) {
        set_picked(a, acc, in->ref);
        return PML_OK;
    }
    return c->combine(a, acc, in, err);
}

int pml_collector__step(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err)
{
    pml_collector *c = a->state;
    pml_collection input = {
        .form = in.batch == PML_REF_NULL ? PML_COLLECTION_NULL : PML_COLLECTION_PICKED, .ref = in, .stride = 1};
    switch (op) {
    case PML_FOLD_TAKE: set_picked(a, &c->acc, in); return PML_OK;
    case PML_FOLD_CLEAR: set_picked(a, &c->acc, (pml_row_ref){PML_REF_NULL, 0}); return PML_OK;
    case PML_FOLD_RETRACT:
        if (c->acc.form == PML_COLLECTION_NULL || input.form == PML_COLLECTION_NULL)
            return PML_OK;
        return pml_aggregator__explain(a, c->retract(a, &c->acc, &input, err), err);
    case PML_FOLD_ADD: break;
    case PML_FOLD_REVERSED:
        if (c->keeps_order || c->acc.form == PML_COLLECTION_NULL)
            break;
        /* The input becomes the accumulator, and the accumulator is added to it. */
        set_picked(a, &c->other, in);
        if (c->other.form == PML_COLLECTION_NULL && !c->normalizes)
            return PML_OK;
        PML_RETURN_IF(pml_aggregator__explain(a, c->combine(a, &c->other, &c->acc, err), err));
        pml_collection old = c->acc;
        c->acc = c->other;
        c->other = old;
        return PML_OK;
    }
    return pml_aggregator__explain(a, join(a, c, &c->acc, &input, err), err);
}

static int build_members(pml_builder *row, const pml_item *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pml_builder *member = pml_builder__child(row, i);
        PML_RETURN_IF(pml_item__is_null(members[i])
                          ? pml_builder__append_null(member)
                          : pml_builder__append_item(member, members[i].array, members[i].row));
    }
    return pml_builder__close_item(row);
}

static int build_entry(pml_builder *b, pml_item entry)
{
    for (size_t i = 0; i < 2; i++) {
        pml_item part = pml_item__member(entry, i);
        PML_RETURN_IF(pml_builder__append_item(pml_builder__child(b, i), part.array, part.row));
    }
    return PML_OK;
}

int pml_collector__end(pml_aggregator *a, pml_merge_output *out, pml_error *err)
{
    pml_collector *c = a->state;
    const pml_collection *acc = &c->acc;
    (void)err;
    if (acc->form == PML_COLLECTION_NULL)
        return pml_merge_output__pick(out, a->position, (pml_row_ref){PML_REF_NULL, 0});
    if (acc->form == PML_COLLECTION_PICKED)
        return pml_merge_output__pick(out, a->position, acc->ref);
    pml_builder *b = pml_merge_output__builder(out, a->position);
    if (b == NULL)
        return PML_E_NOMEM;
    for (size_t i = 0; i < acc->n; i++) {
        const pml_item *items = acc->items + i * acc->stride;
        if (a->type->kind == PML_TYPE_MAP)
            PML_RETURN_IF(build_entry(b, items[0]));
        else if (c->listed_members)
            PML_RETURN_IF(build_members(pml_builder__child(b, 0), items, acc->stride));
        else if (pml_item__is_null(items[0]))
            PML_RETURN_IF(pml_builder__append_null(pml_builder__child(b, 0)));
        else
            PML_RETURN_IF(pml_builder__append_item(pml_builder__child(b, 0), items[0].array, items[0].row));
    }
    PML_RETURN_IF(pml_builder__close_item(b));
    return pml_merge_output__built(out, a->position);
}
