/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nested_update and nested_partial_update: an ARRAY<ROW> as a table. With `nested-key` a later row replaces the one with its key,
 * or only its members that are not null; without, rows are appended. Keys are equal when their binary rows are.
 *
 * Release 1.4.2: a list of `count-limit` rows takes nothing more, not even rows that it knows; else as many rows of the input as
 * there is room for are added first and looked up then. The first value of a key is left as it is.
 */
#include "merge/aggregate_collection.h"

typedef struct nested {
    pml_collector base;
    const pml_type *row;
    uint32_t *keys; /* members */
    size_t n_keys;
    int32_t limit;
    pml_item *members; /* of the row at hand; nested_partial_update */
} nested;

/* The list of a nested_partial_update holds members, everything else whole rows. */
static bool holds_members(const nested *s, const pml_elements *e)
{
    return s->base.listed_members && e->listed != NULL;
}

static pml_item member_at(const nested *s, const pml_elements *e, size_t i, size_t member)
{
    if (holds_members(s, e))
        return e->listed->items[i * e->listed->stride + member];
    return pml_item__member(pml_elements__at(e, i), member);
}

static bool row_is_null(const nested *s, const pml_elements *e, size_t i)
{
    return !holds_members(s, e) && pml_item__is_null(pml_elements__at(e, i));
}

static int row_key(nested *s, const pml_elements *e, size_t i)
{
    bool never = false;
    pml_buf__reset(&s->base.key);
    for (size_t k = 0; k < s->n_keys; k++) {
        pml_item member = member_at(s, e, i, s->keys[k]);
        PML_RETURN_IF(
            pml_item__append_key(&s->base.key, &never, &s->row->children[s->keys[k]].type, member, PML_ITEM_BITS));
    }
    return PML_OK;
}

/* Adds row i of e, replacing or completing the one with its key. */
static int add_keyed(pml_aggregator *a, nested *s, pml_collection *acc, const pml_elements *e, size_t i)
{
    size_t stride = acc->stride;
    PML_RETURN_IF(row_key(s, e, i));
    pml_bytes key = {s->base.key.data, s->base.key.len};
    size_t found = pml_collection__find(acc, key);
    if (found == 0)
        PML_RETURN_IF(pml_collection__note(acc, key, acc->n));
    if (!s->base.listed_members) {
        pml_item row = pml_elements__at(e, i);
        if (found == 0)
            return pml_collection__append(a, acc, &row);
        acc->items[found - 1] = row;
        return PML_OK;
    }
    for (size_t k = 0; k < stride; k++)
        s->members[k] = member_at(s, e, i, k);
    if (found == 0)
        return pml_collection__append(a, acc, s->members);
    for (size_t k = 0; k < stride; k++)
        if (!pml_item__is_null(s->members[k]))
            acc->items[(found - 1) * stride + k] = s->members[k];
    return PML_OK;
}

static int add_row(pml_aggregator *a, nested *s, pml_collection *acc, const pml_elements *e, size_t i)
{
    if (s->n_keys > 0)
        return add_keyed(a, s, acc, e, i);
    pml_item row = pml_elements__at(e, i);
    return pml_collection__append(a, acc, &row);
}

/* The rows of the accumulator that are not null, by key; without those with a key in gone. */
static int to_list(pml_aggregator *a, nested *s, pml_collection *acc, const pml_collection *gone)
{
    pml_collection from;
    int rc = PML_OK;
    pml_collection__rebuild(a, acc, &from);
    acc->indexed = true;
    pml_elements e = pml_collection__elements(a, &from);
    for (size_t i = 0; i < e.n && rc == PML_OK; i++) {
        if (row_is_null(s, &e, i))
            continue;
        if (gone != NULL)
            rc = row_key(s, &e, i);
        if (rc == PML_OK &&
            (gone == NULL || pml_collection__find(gone, (pml_bytes){s->base.key.data, s->base.key.len}) == 0))
            rc = add_row(a, s, acc, &e, i);
    }
    pml_env__free(a->env, from.items);
    return rc;
}

static int nested_combine(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err)
{
    nested *s = a->state;
    size_t size = pml_collection__elements(a, acc).n;
    if (a->mode == PML_NESTED_UPDATE && (s->limit < 0 || size >= (size_t)s->limit))
        return PML_OK;
    size_t room = a->mode == PML_NESTED_UPDATE ? (size_t)s->limit - size : SIZE_MAX;
    if (acc->form != PML_COLLECTION_LISTED || !acc->indexed)
        PML_RETURN_IF(to_list(a, s, acc, NULL));
    pml_elements e = pml_collection__elements(a, in);
    if (in->form == PML_COLLECTION_LISTED && s->n_keys > 0 && e.n > room)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "column %s: which %zu rows an older row leaves within fields.%s.count-limit hangs on the "
                              "order of a hash table in Java",
                              a->column, room, a->column);
    for (size_t i = 0; i < e.n && room > 0; i++) {
        if (row_is_null(s, &e, i))
            continue;
        PML_RETURN_IF(add_row(a, s, acc, &e, i));
        room--;
    }
    return PML_OK;
}

/* Without keys: rows that equal one of the input go, all of them. */
static int retract_equal(pml_aggregator *a, nested *s, pml_collection *acc, pml_collection *gone, const pml_elements *e)
{
    pml_collection from;
    bool never = false;
    int rc = PML_OK;
    for (size_t i = 0; i < e->n; i++) {
        pml_buf__reset(&s->base.key);
        PML_RETURN_IF(pml_item__append_key(&s->base.key, &never, s->row, pml_elements__at(e, i), PML_ITEM_GENERATED));
        if (!never && !row_is_null(s, e, i))
            PML_RETURN_IF(pml_collection__note(gone, (pml_bytes){s->base.key.data, s->base.key.len}, i));
        never = false;
    }
    pml_collection__rebuild(a, acc, &from);
    pml_elements old = pml_collection__elements(a, &from);
    for (size_t i = 0; i < old.n && rc == PML_OK; i++) {
        pml_item row = pml_elements__at(&old, i);
        pml_buf__reset(&s->base.key);
        never = false;
        rc = pml_item__append_key(&s->base.key, &never, s->row, row, PML_ITEM_GENERATED);
        bool goes = pml_item__is_null(row) ||
                    (!never && pml_collection__find(gone, (pml_bytes){s->base.key.data, s->base.key.len}) != 0);
        if (rc == PML_OK && !goes)
            rc = pml_collection__append(a, acc, &row);
    }
    pml_env__free(a->env, from.items);
    return rc;
}

static int nested_retract(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err)
{
    nested *s = a->state;
    pml_collection *gone = &s->base.other;
    pml_elements e = pml_collection__elements(a, in);
    pml_collection__clear(a, gone);
    gone->indexed = true;
    if (s->n_keys == 0) {
        if (!pml_item__has_key(s->row, PML_ITEM_GENERATED))
            return pml_error__set(
                err, PML_E_UNSUPPORTED,
                "column %s: nested_update takes back no rows with such members without fields.%s.nested-key", a->column,
                a->column);
        return retract_equal(a, s, acc, gone, &e);
    }
    for (size_t i = 0; i < e.n; i++) {
        if (row_is_null(s, &e, i))
            continue;
        PML_RETURN_IF(row_key(s, &e, i));
        PML_RETURN_IF(pml_collection__note(gone, (pml_bytes){s->base.key.data, s->base.key.len}, i));
    }
    return to_list(a, s, acc, gone);
}

static int open_keys(pml_aggregator *a, nested *s, const char *names, pml_error *err)
{
    const char *at = names;
    pml_bytes name;
    s->keys = pml_env__calloc(a->env, strlen(names) + 1, sizeof *s->keys);
    if (s->keys == NULL)
        return pml_error__no_memory(err);
    while (pml_merge_options__piece(&at, &name)) {
        size_t i = 0;
        name = pml_merge_options__trim(name);
        while (i < s->row->n_children && !pml_bytes_equal(name, (pml_bytes){(const uint8_t *)s->row->children[i].name,
                                                                            strlen(s->row->children[i].name)}))
            i++;
        if (i == s->row->n_children)
            return pml_error__set(err, PML_E_SCHEMA,
                                  "column %s: its ROWs have no member %.*s, which fields.%s.nested-key names",
                                  a->column, (int)name.len, (const char *)name.ptr, a->column);
        if (!pml_item__has_key(&s->row->children[i].type, PML_ITEM_BITS))
            return pml_error__set(err, PML_E_UNSUPPORTED, "needs aggregator:%s with a nested-key of type %s: column %s",
                                  a->name, pml_type__word(s->row->children[i].type.kind), a->column);
        s->keys[s->n_keys++] = (uint32_t)i;
    }
    return PML_OK;
}

static int nested_open(pml_aggregator *a, const pml_merge_options *o, pml_error *err)
{
    static const char *const newer[] = {"nested-sequence-field", "nested-key-null-strategy"};
    nested *s = a->state;
    s->row = &a->type->children[0].type;
    bool partial = a->mode == PML_NESTED_PARTIAL_UPDATE;
    PML_RETURN_IF(pml_collector__open(a, partial ? s->row->n_children : 1));
    s->base.listed_members = partial;
    s->base.combine = nested_combine;
    s->base.retract = nested_retract;
    s->members = pml_env__calloc(a->env, s->row->n_children, sizeof *s->members);
    if (s->members == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < 2; i++)
        if (pml_merge_options__field(o, a->column, newer[i]) != NULL)
            return pml_error__set(err, PML_E_UNSUPPORTED, "needs aggregator:%s with option fields.%s.%s", a->name,
                                  a->column, newer[i]);
    const char *names = pml_merge_options__field(o, a->column, "nested-key");
    if (names != NULL)
        PML_RETURN_IF(open_keys(a, s, names, err));
    if (partial && s->n_keys == 0)
        return pml_error__set(err, PML_E_SCHEMA, "column %s: nested_partial_update wants option fields.%s.nested-key",
                              a->column, a->column);
    return pml_merge_options__field_int(&s->limit, o, a->column, "count-limit", INT32_MAX, err);
}

static void nested_drop(pml_aggregator *a)
{
    pml_collector__drop(a);
    pml_env__free(a->env, ((nested *)a->state)->keys);
    pml_env__free(a->env, ((nested *)a->state)->members);
}

const pml_aggregator_kind pml_aggregator_nested = {
    .state_size = sizeof(nested),
    .open = nested_open,
    .drop = nested_drop,
    .begin = pml_collector__begin,
    .step = pml_collector__step,
    .end = pml_collector__end,
};
