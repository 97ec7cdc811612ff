/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_map: newer values replace older ones key by key. merge_map_with_keytime: values are ROWs with a time as text, the later one
 * stays; a null value of the newer side removes its key, one without a time changes nothing.
 *
 * Both are hash tables of Java objects: no binary key equals any other, not even in one map.
 */
#include "columnar/java_text.h"
#include "merge/aggregate_collection.h"

typedef struct map {
    pml_collector base;
    const pml_type *key;
    size_t ts; /* keytime: the member of the value that is its time */
} map;

static int entry_key(map *m, bool *never, pml_item entry)
{
    pml_buf__reset(&m->base.key);
    *never = false;
    return pml_item__append_key(&m->base.key, never, m->key, pml_item__member(entry, 0), PML_ITEM_BOXED);
}

static int append_entry(pml_aggregator *a, map *m, pml_collection *acc, pml_item entry, bool never)
{
    if (!never)
        PML_RETURN_IF(pml_collection__note(acc, (pml_bytes){m->base.key.data, m->base.key.len}, acc->n));
    return pml_collection__append(a, acc, &entry);
}

/* HashMap.put */
static int put(pml_aggregator *a, map *m, pml_collection *acc, pml_item entry)
{
    bool never;
    PML_RETURN_IF(entry_key(m, &never, entry));
    size_t found = never ? 0 : pml_collection__find(acc, (pml_bytes){m->base.key.data, m->base.key.len});
    if (found == 0)
        return append_entry(a, m, acc, entry, never);
    acc->items[found - 1] = entry;
    return PML_OK;
}

/* A list with an index of its keys; without those that are in gone. */
static int to_list(pml_aggregator *a, map *m, pml_collection *acc, const pml_collection *gone)
{
    pml_collection from;
    int rc = PML_OK;
    pml_collection__rebuild(a, acc, &from);
    acc->indexed = true;
    pml_elements e = pml_collection__elements(a, &from);
    for (size_t i = 0; i < e.n && rc == PML_OK; i++) {
        bool never = false;
        pml_item entry = pml_elements__at(&e, i);
        if (gone != NULL)
            rc = entry_key(m, &never, entry);
        if (rc == PML_OK &&
            (gone == NULL || never || pml_collection__find(gone, (pml_bytes){m->base.key.data, m->base.key.len}) == 0))
            rc = put(a, m, acc, entry);
    }
    pml_env__free(a->env, from.items);
    return rc;
}

static pml_bytes time_of(const pml_aggregator *a, const map *m, pml_item value, bool *null)
{
    pml_value v;
    pml_item member = pml_item__member(value, m->ts);
    pml_value__get(&v, &a->type->children[1].type.children[m->ts].type, member.array, member.row);
    *null = v.kind == PML_VALUE_NULL;
    return *null ? (pml_bytes){NULL, 0} : v.bytes;
}

static int merge_timed(pml_aggregator *a, map *m, pml_collection *acc, pml_item entry)
{
    bool never, null, null_old;
    pml_item value = pml_item__member(entry, 1);
    PML_RETURN_IF(entry_key(m, &never, entry));
    pml_bytes key = {m->base.key.data, m->base.key.len};
    size_t found = never ? 0 : pml_collection__find(acc, key);
    if (pml_item__is_null(value)) {
        if (found != 0)
            acc->items[found - 1].array = NULL; /* swept out later */
        if (found != 0)
            (void)pml_map__remove(&acc->index, key.ptr, key.len);
        return PML_OK;
    }
    pml_bytes time = time_of(a, m, value, &null);
    if (null)
        return PML_OK;
    if (found == 0)
        return append_entry(a, m, acc, entry, never);
    pml_item old = pml_item__member(acc->items[found - 1], 1);
    null_old = pml_item__is_null(old);
    pml_bytes old_time = null_old ? (pml_bytes){NULL, 0} : time_of(a, m, old, &null_old);
    if (null_old || pml_java_text__compare(time, old_time) > 0)
        acc->items[found - 1] = entry;
    return PML_OK;
}

static int map_combine(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err)
{
    map *m = a->state;
    (void)err;
    if (acc->form != PML_COLLECTION_LISTED || !acc->indexed)
        PML_RETURN_IF(to_list(a, m, acc, NULL));
    pml_elements e = pml_collection__elements(a, in);
    bool swept = true;
    for (size_t i = 0; i < e.n; i++) {
        pml_item entry = pml_elements__at(&e, i);
        bool removes = a->mode == PML_MAP_KEYTIME && pml_item__is_null(pml_item__member(entry, 1));
        swept = swept && !removes;
        PML_RETURN_IF(a->mode == PML_MAP_KEYTIME ? merge_timed(a, m, acc, entry) : put(a, m, acc, entry));
    }
    size_t kept = 0;
    for (size_t i = 0; !swept && i < acc->n; i++)
        if (acc->items[i].array != NULL)
            acc->items[kept++] = acc->items[i];
    if (!swept && kept < acc->n) {
        acc->n = kept;
        pml_collection__forget_index(a, acc); /* its numbers are those from before */
    }
    return PML_OK;
}

static int map_retract(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err)
{
    map *m = a->state;
    pml_collection *gone = &m->base.other;
    pml_elements e = pml_collection__elements(a, in);
    bool never;
    (void)err;
    if (e.n == 0)
        return PML_OK;
    pml_collection__clear(a, gone);
    gone->indexed = true;
    for (size_t i = 0; i < e.n; i++) {
        PML_RETURN_IF(entry_key(m, &never, pml_elements__at(&e, i)));
        if (!never)
            PML_RETURN_IF(pml_collection__note(gone, (pml_bytes){m->base.key.data, m->base.key.len}, i));
    }
    return to_list(a, m, acc, gone);
}

static int open_keytime(pml_aggregator *a, map *m, const pml_merge_options *o, pml_error *err)
{
    const pml_type *value = &a->type->children[1].type;
    const char *name = pml_merge_options__field(o, a->column, "ts-field");
    if (value->kind != PML_TYPE_ROW || value->n_children < 2)
        return pml_error__set(err, PML_E_SCHEMA, "column %s: %s wants a MAP of ROWs with at least two members",
                              a->column, a->name);
    m->ts = value->n_children - 1;
    if (name != NULL) {
        m->ts = 0;
        while (m->ts < value->n_children && strcmp(value->children[m->ts].name, name) != 0)
            m->ts++;
        if (m->ts == value->n_children)
            return pml_error__set(err, PML_E_SCHEMA,
                                  "column %s: its ROWs have no member %s, which fields.%s.ts-field names", a->column,
                                  name, a->column);
    }
    const pml_field *ts = &value->children[m->ts];
    if (ts->type.kind != PML_TYPE_VARCHAR && ts->type.kind != PML_TYPE_CHAR)
        return pml_error__set(err, PML_E_SCHEMA, "column %s: %s wants a time of type STRING, but %s is %s", a->column,
                              a->name, ts->name, pml_type__word(ts->type.kind));
    return PML_OK;
}

static int map_open(pml_aggregator *a, const pml_merge_options *o, pml_error *err)
{
    map *m = a->state;
    PML_RETURN_IF(pml_collector__open(a, 1));
    m->key = &a->type->children[0].type;
    m->base.combine = map_combine;
    m->base.retract = map_retract;
    if (!pml_item__has_key(m->key, PML_ITEM_BOXED))
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs aggregator:%s over keys of type %s: column %s", a->name,
                              pml_type__word(m->key->kind), a->column);
    return a->mode == PML_MAP_KEYTIME ? open_keytime(a, m, o, err) : PML_OK;
}

const pml_aggregator_kind pml_aggregator_map = {
    .state_size = sizeof(map),
    .open = map_open,
    .drop = pml_collector__drop,
    .begin = pml_collector__begin,
    .step = pml_collector__step,
    .end = pml_collector__end,
};
