/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect: ARRAYs one behind the other, or as a set. A set of plain values is a hash table in Java, in which repeated elements of
 * the first array become one too; of constructed elements only the added ones are looked up, by their generated equality, and a
 * null among ROWs is an error there as soon as another element is compared with it.
 */
#include "merge/aggregate_collection.h"

typedef struct collect {
    pml_collector base;
    const pml_type *element;
    bool distinct, constructed;
    pml_item_rule rule;
} collect;

/* Into base.key. */
static int element_key(collect *s, bool *never, pml_item item)
{
    pml_buf__reset(&s->base.key);
    *never = false;
    return pml_item__append_key(&s->base.key, never, s->element, item, s->rule);
}

/* Appends an element and notes it when it is the first of its kind. */
static int add_noted(pml_aggregator *a, collect *s, pml_collection *acc, pml_item item, bool unless_there,
                     pml_error *err)
{
    bool never;
    PML_RETURN_IF(element_key(s, &never, item));
    pml_bytes key = {s->base.key.data, s->base.key.len};
    size_t found = never ? 0 : pml_collection__find(acc, key);
    if (unless_there && s->element->kind == PML_TYPE_ROW && !pml_item__is_null(item)) {
        uint8_t null_key = 0;
        size_t null = pml_collection__find(acc, (pml_bytes){&null_key, 1});
        if (null != 0 && (found == 0 || null < found))
            return pml_error__set(err, PML_E_INVAL, "column %s: collect with distinct cannot compare a null ROW",
                                  a->column);
    }
    if (unless_there && found != 0)
        return PML_OK;
    if (!never && found == 0)
        PML_RETURN_IF(pml_collection__note(acc, key, acc->n));
    return pml_collection__append(a, acc, &item);
}

/* Turns the accumulator into a list; with distinct an indexed one. */
static int to_list(pml_aggregator *a, collect *s, pml_collection *acc, pml_error *err)
{
    int rc = PML_OK;
    pml_collection from;
    if (acc->form == PML_COLLECTION_LISTED && (acc->indexed || !s->distinct))
        return PML_OK;
    pml_collection__rebuild(a, acc, &from);
    acc->indexed = s->distinct;
    pml_elements e = pml_collection__elements(a, &from);
    for (size_t i = 0; i < e.n && rc == PML_OK; i++) {
        pml_item item = pml_elements__at(&e, i);
        rc = s->distinct ? add_noted(a, s, acc, item, !s->constructed, err) : pml_collection__append(a, acc, &item);
    }
    pml_env__free(a->env, from.items);
    return rc;
}

static int collect_combine(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err)
{
    collect *s = a->state;
    PML_RETURN_IF(to_list(a, s, acc, err));
    pml_elements e = pml_collection__elements(a, in);
    for (size_t i = 0; i < e.n; i++) {
        pml_item item = pml_elements__at(&e, i);
        PML_RETURN_IF(s->distinct ? add_noted(a, s, acc, item, true, err) : pml_collection__append(a, acc, &item));
    }
    return PML_OK;
}

/* How many of each element are to go: the numbers in the index of a collection without elements. */
static int count_gone(pml_aggregator *a, collect *s, pml_collection *gone, const pml_elements *e)
{
    bool never;
    pml_collection__clear(a, gone);
    gone->indexed = true;
    for (size_t i = 0; i < e->n; i++) {
        PML_RETURN_IF(element_key(s, &never, pml_elements__at(e, i)));
        pml_bytes key = {s->base.key.data, s->base.key.len};
        if (!never)
            PML_RETURN_IF(pml_collection__note(gone, key, pml_collection__find(gone, key)));
    }
    return PML_OK;
}

/* Appends an element unless one like it is still to go. */
static int keep_or_drop(pml_aggregator *a, collect *s, pml_collection *acc, pml_collection *gone, pml_item item)
{
    bool never;
    PML_RETURN_IF(element_key(s, &never, item));
    pml_bytes key = {s->base.key.data, s->base.key.len};
    size_t left = never ? 0 : pml_collection__find(gone, key);
    if (left == 0)
        return pml_collection__append(a, acc, &item);
    if (left > 1)
        return pml_collection__note(gone, key, left - 2);
    (void)pml_map__remove(&gone->index, key.ptr, key.len);
    return PML_OK;
}

/* Without distinct Java asks its constructed objects for equals(), which those of files do not have; it fails when two of them
   meet. */
static bool comparable(const collect *s)
{
    return pml_item__has_key(s->element, s->rule) && (!s->constructed || s->distinct);
}

static bool any_value(const pml_elements *e)
{
    bool any = false;
    for (size_t i = 0; i < e->n && !any; i++)
        any = !pml_item__is_null(pml_elements__at(e, i));
    return any;
}

static int collect_retract(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err)
{
    collect *s = a->state;
    pml_collection from, *gone = &s->base.other;
    pml_elements e = pml_collection__elements(a, in);
    if (e.n == 0)
        return PML_OK;
    if (!comparable(s) && any_value(&e)) {
        pml_elements old = pml_collection__elements(a, acc);
        if (any_value(&old))
            return pml_error__set(err, PML_E_UNSUPPORTED,
                                  "column %s: collect takes back no %s elements without fields.%s.distinct", a->column,
                                  pml_type__word(s->element->kind), a->column);
    }
    PML_RETURN_IF(count_gone(a, s, gone, &e));
    pml_collection__rebuild(a, acc, &from);
    pml_elements old = pml_collection__elements(a, &from);
    int rc = PML_OK;
    for (size_t i = 0; i < old.n && rc == PML_OK; i++)
        rc = keep_or_drop(a, s, acc, gone, pml_elements__at(&old, i));
    pml_env__free(a->env, from.items);
    return rc;
}

static int collect_open(pml_aggregator *a, const pml_merge_options *o, pml_error *err)
{
    collect *s = a->state;
    s->element = &a->type->children[0].type;
    s->constructed = pml_type__is_nested(s->element);
    s->rule = s->constructed ? PML_ITEM_GENERATED : PML_ITEM_BOXED;
    PML_RETURN_IF(pml_collector__open(a, 1));
    PML_RETURN_IF(pml_merge_options__field_bool(&s->distinct, o, a->column, "distinct", err));
    if (s->distinct && !pml_item__has_key(s->element, s->rule))
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs aggregator:collect with distinct over elements with %s: column %s",
                              pml_type__word(s->element->kind), a->column);
    s->base.combine = collect_combine;
    s->base.retract = collect_retract;
    s->base.normalizes = s->distinct;
    s->base.keeps_order = !a->ignore_retract; /* Java's wrapper for ignore-retract forgets this rule */
    return PML_OK;
}

const pml_aggregator_kind pml_aggregator_collect = {
    .state_size = sizeof(collect),
    .open = collect_open,
    .drop = pml_collector__drop,
    .begin = pml_collector__begin,
    .step = pml_collector__step,
    .end = pml_collector__end,
};
