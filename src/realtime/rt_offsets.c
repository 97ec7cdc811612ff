/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_offsets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES_MAX = 16 * 1024 * 1024 }; /* encoded texts: a file has fewer bytes than four of these */

/* ---- lineage ---- */

bool pml_lineage__conflicts(const pml_lineage *a, const pml_lineage *b)
{
    return a->known && b->known && memcmp(a->bytes, b->bytes, PML_LINEAGE_BYTES) != 0;
}

int pml_lineage__draw(pml_lineage *out, pml_env *env, pml_error *err)
{
    *out = (pml_lineage){0};
    PML_RETURN_IF(pml_env__random(env, out->bytes, PML_LINEAGE_BYTES, err));
    out->known = true;
    return PML_OK;
}

void pml_lineage__print(char out[PML_LINEAGE_TEXT], const pml_lineage *l)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = l->known ? PML_LINEAGE_BYTES : 0;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[l->bytes[i] >> 4];
        out[2 * i + 1] = digits[l->bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool pml_lineage__parse(pml_lineage *out, const char *text)
{
    bool ok = strlen(text) == PML_LINEAGE_TEXT - 1;
    *out = (pml_lineage){0};
    for (size_t i = 0; ok && i < PML_LINEAGE_BYTES; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        out->bytes[i] = (uint8_t)(ok ? high * 16 + low : 0);
    }
    out->known = ok;
    return ok;
}

/* ---- the map ---- */

static int copy_texts(const char *const **out, pml_arena *arena, size_t n, const char *const *texts, pml_error *err)
{
    const char **copy = pml_arena__array(arena, n, sizeof *copy);
    *out = copy;
    if (copy == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        copy[i] = pml_arena__strdup(arena, texts[i]);
        if (copy[i] == NULL)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

int pml_progress__init(pml_progress *p, pml_env *env, size_t n_keys, const char *const *keys, pml_error *err)
{
    *p = (pml_progress){0};
    pml_arena__init(&p->arena, env);
    pml_map__init(&p->index, env);
    p->n_keys = n_keys;
    return copy_texts(&p->keys, &p->arena, n_keys, keys, err);
}

void pml_progress__clear(pml_progress *p)
{
    if (p->arena.env == NULL)
        return;
    pml_map__clear(&p->index, NULL);
    pml_env__free(p->arena.env, p->v);
    pml_arena__clear(&p->arena);
    *p = (pml_progress){0};
}

static size_t encoded_length(const pml_pb_texts *pb)
{
    size_t n = 4;
    for (size_t i = 0; i < pb->n; i++)
        n += strlen(pb->partition[i]) + 1;
    return n;
}

pml_progress_entry *pml_progress__find(const pml_progress *p, const pml_pb_texts *pb)
{
    enum { FIXED = 256 };
    uint8_t fixed[FIXED];
    pml_buf key;
    pml_progress_entry *found = NULL;
    if (pb->n != p->n_keys)
        return NULL;
    /* Looking up must not fail for want of memory: long texts, which are rare, are compared one by one. */
    if (encoded_length(pb) > FIXED) {
        for (size_t i = 0; i < p->n && found == NULL; i++)
            found = pml_pb_texts__equal(&p->v[i].pb, pb) ? &p->v[i] : NULL;
        return found;
    }
    key = (pml_buf){.env = p->arena.env, .data = fixed, .cap = FIXED, .max = FIXED};
    (void)pml_pb_texts__encode(&key, pb);
    assert(key.rc == PML_OK && key.data == fixed);
    uintptr_t number = (uintptr_t)pml_map__get(&p->index, key.data, key.len);
    return number == 0 ? NULL : &p->v[number - 1];
}

static int entries_grow(pml_progress *p, pml_error *err)
{
    if (p->n < p->cap)
        return PML_OK;
    if (p->n >= PML_PROGRESS_ENTRIES_MAX)
        return pml_error__set(err, PML_E_LIMIT, "progress has more than %d partition-buckets", PML_PROGRESS_ENTRIES_MAX);
    size_t cap = p->cap == 0 ? 16 : p->cap * 2;
    size_t bytes = cap * sizeof *p->v;
    void *v = p->v == NULL ? pml_env__alloc(p->arena.env, bytes) : pml_env__realloc(p->arena.env, p->v, bytes);
    if (v == NULL)
        return pml_error__no_memory(err);
    p->v = v;
    p->cap = cap;
    return PML_OK;
}

int pml_progress__add(pml_progress_entry **out, pml_progress *p, const pml_pb_texts *pb, pml_error *err)
{
    pml_buf key;
    int rc;
    *out = NULL;
    assert(pb->n == p->n_keys && pb->bucket >= 0);
    pml_buf__init(&key, p->arena.env, KEY_BYTES_MAX);
    (void)pml_pb_texts__encode(&key, pb);
    PML_TRY(pml_buf__check(&key, err));
    if (pml_map__has(&p->index, key.data, key.len)) {
        char name[PML_PB_NAME_BYTES];
        pml_pb_texts__name(name, p->keys, pb);
        rc = pml_error__at(err, PML_E_EXISTS, PML_PLACE_PB, name, "there is a second entry for %s", name);
        goto out;
    }
    PML_TRY(entries_grow(p, err));
    pml_progress_entry *e = &p->v[p->n];
    *e = (pml_progress_entry){.pb = *pb};
    PML_TRY(copy_texts(&e->pb.partition, &p->arena, pb->n, pb->partition, err));
    if (pml_map__put(&p->index, key.data, key.len, (void *)(uintptr_t)(p->n + 1), NULL) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    p->n++;
    *out = e;
out:
    pml_buf__clear(&key);
    return rc;
}

int pml_progress__add_copy(pml_progress *p, const pml_progress_entry *from, pml_error *err)
{
    pml_progress_entry *e;
    PML_RETURN_IF(pml_progress__add(&e, p, &from->pb, err));
    pml_pb_texts pb = e->pb;
    *e = *from;
    e->pb = pb;
    if (from->commit_user == NULL)
        return PML_OK;
    e->commit_user = pml_arena__strdup(&p->arena, from->commit_user);
    return e->commit_user == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* ---- order of the file ---- */

typedef struct sort_item {
    const pml_progress_entry *e;
    const size_t *key_order;
    size_t number;
} sort_item;

/* All entries have the same keys, so that comparing the sorted lists of pairs is comparing values in the order of the keys. */
static int compare_items(const void *left, const void *right)
{
    const sort_item *a = left, *b = right;
    for (size_t i = 0; i < a->e->pb.n; i++) {
        size_t k = a->key_order[i];
        int c = strcmp(a->e->pb.partition[k], b->e->pb.partition[k]);
        if (c != 0)
            return c;
    }
    return a->e->pb.bucket < b->e->pb.bucket ? -1 : a->e->pb.bucket > b->e->pb.bucket;
}

int pml_progress__sorted(size_t **order, pml_progress *p, pml_error *err)
{
    sort_item *items = pml_arena__array(&p->arena, p->n, sizeof *items);
    size_t *keys = pml_arena__array(&p->arena, p->n_keys, sizeof *keys);
    *order = pml_arena__array(&p->arena, p->n, sizeof **order);
    if (items == NULL || keys == NULL || *order == NULL)
        return pml_error__no_memory(err);
    pml_progress__key_order(keys, p);
    for (size_t i = 0; i < p->n; i++)
        items[i] = (sort_item){&p->v[i], keys, i};
    if (p->n > 1)
        qsort(items, p->n, sizeof *items, compare_items);
    for (size_t i = 0; i < p->n; i++)
        (*order)[i] = items[i].number;
    return PML_OK;
}

/* Insertion sort: a table has a handful of partition keys. */
void pml_progress__key_order(size_t *order, const pml_progress *p)
{
    for (size_t i = 0; i < p->n_keys; i++) {
        size_t at = i;
        for (; at > 0 && strcmp(p->keys[i], p->keys[order[at - 1]]) < 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}
