/* SPDX-License-Identifier: Apache-2.0 */
#include "util/map.h"

#include <string.h>
#include <xxhash.h>

void pml_map__init(pml_map *m, pml_env *env)
{
    *m = (pml_map){.env = env};
}

void pml_map__clear(pml_map *m, void (*free_value)(pml_env *env, void *value))
{
    for (size_t i = 0; i < m->n_entries; i++) {
        if (m->entries[i].key == NULL)
            continue;
        if (free_value != NULL)
            free_value(m->env, m->entries[i].value);
        pml_env__free(m->env, m->entries[i].key);
    }
    if (m->env != NULL) {
        pml_env__free(m->env, m->entries);
        pml_env__free(m->env, m->index);
    }
    pml_map__init(m, m->env);
}

/* The slot of the key, or the empty slot where it would go. The index is never full. */
static size_t map_slot(const pml_map *m, const void *key, size_t len, uint64_t hash)
{
    size_t mask = m->index_cap - 1, slot = (size_t)hash & mask;
    while (m->index[slot] != 0) {
        const pml_map_entry *e = &m->entries[m->index[slot] - 1];
        if (e->key != NULL && e->hash == hash && e->key_len == len && (len == 0 || memcmp(e->key, key, len) == 0))
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

static pml_map_entry *map_find(const pml_map *m, const void *key, size_t len)
{
    if (m->index_cap == 0)
        return NULL;
    size_t slot = map_slot(m, key, len, XXH3_64bits_withSeed(key, len, m->env->hash_seed));
    return m->index[slot] == 0 ? NULL : &m->entries[m->index[slot] - 1];
}

void *pml_map__get(const pml_map *m, const void *key, size_t len)
{
    const pml_map_entry *e = map_find(m, key, len);
    return e == NULL ? NULL : e->value;
}

bool pml_map__has(const pml_map *m, const void *key, size_t len)
{
    return map_find(m, key, len) != NULL;
}

/* Drops removed entries and makes room for twice the live ones. */
static int map_rebuild(pml_map *m)
{
    size_t cap = 16;
    while (cap < m->live * 4 + 4)
        cap *= 2;
    if (cap > UINT32_MAX / 2)
        return PML_E_NOMEM;
    uint32_t *index = pml_env__calloc(m->env, cap, sizeof *index);
    pml_map_entry *entries = pml_env__calloc(m->env, cap / 2, sizeof *entries);
    if (index == NULL || entries == NULL) {
        pml_env__free(m->env, index);
        pml_env__free(m->env, entries);
        return PML_E_NOMEM;
    }
    size_t n = 0;
    for (size_t i = 0; i < m->n_entries; i++) {
        if (m->entries[i].key == NULL)
            continue;
        size_t slot = (size_t)m->entries[i].hash & (cap - 1);
        while (index[slot] != 0)
            slot = (slot + 1) & (cap - 1);
        entries[n] = m->entries[i];
        index[slot] = (uint32_t)++n;
    }
    pml_env__free(m->env, m->index);
    pml_env__free(m->env, m->entries);
    m->index = index;
    m->index_cap = cap;
    m->entries = entries;
    m->cap_entries = cap / 2;
    m->n_entries = n;
    return PML_OK;
}

int pml_map__put(pml_map *m, const void *key, size_t len, void *value, void **old)
{
    pml_map_entry *e = map_find(m, key, len);
    if (old != NULL)
        *old = e == NULL ? NULL : e->value;
    if (e != NULL) {
        e->value = value;
        return PML_OK;
    }
    if (m->n_entries == m->cap_entries && map_rebuild(m) != PML_OK)
        return PML_E_NOMEM;
    void *copy = pml_env__alloc(m->env, len);
    if (copy == NULL)
        return PML_E_NOMEM;
    if (len > 0)
        memcpy(copy, key, len);
    uint64_t hash = XXH3_64bits_withSeed(key, len, m->env->hash_seed);
    size_t slot = map_slot(m, key, len, hash);
    m->entries[m->n_entries] = (pml_map_entry){copy, len, hash, value};
    m->index[slot] = (uint32_t)++m->n_entries;
    m->live++;
    return PML_OK;
}

void *pml_map__remove(pml_map *m, const void *key, size_t len)
{
    pml_map_entry *e = map_find(m, key, len);
    if (e == NULL)
        return NULL;
    void *value = e->value;
    pml_env__free(m->env, e->key);
    /* The index slot stays taken by the dead entry, so that probing passes over it; rebuild drops it. */
    e->key = NULL;
    m->live--;
    return value;
}

const pml_map_entry *pml_map__next(const pml_map *m, size_t *i)
{
    while (*i < m->n_entries) {
        const pml_map_entry *e = &m->entries[(*i)++];
        if (e->key != NULL)
            return e;
    }
    return NULL;
}
