/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from byte strings to pointers; keys are copied in. Iteration follows insertion order (removed entries are
 * skipped), so that everything built from a map is the same from run to run; hashes are of a seed of the environment's own.
 * Not thread-safe.
 */
#ifndef PML_UTIL_MAP_H
#define PML_UTIL_MAP_H

#include "util/env.h"

typedef struct pml_map_entry {
    void *key; /* NULL: removed */
    size_t key_len;
    uint64_t hash;
    void *value;
} pml_map_entry;

typedef struct pml_map {
    pml_env *env;
    pml_map_entry *entries;
    size_t n_entries, cap_entries, live;
    uint32_t *index; /* 0: empty, else entry number + 1 */
    size_t index_cap;
} pml_map;

void pml_map__init(pml_map *m, pml_env *env);
/* free_value may be NULL. */
void pml_map__clear(pml_map *m, void (*free_value)(pml_env *env, void *value));
/* NULL when absent. */
void *pml_map__get(const pml_map *m, const void *key, size_t len);
bool pml_map__has(const pml_map *m, const void *key, size_t len);
/* Replaces; the old value comes back in *old when old is not NULL (NULL: was absent). PML_OK or PML_E_NOMEM. */
int pml_map__put(pml_map *m, const void *key, size_t len, void *value, void **old);
/* The removed value, NULL when absent. */
void *pml_map__remove(pml_map *m, const void *key, size_t len);
/* for (size_t i = 0; (e = pml_map__next(m, &i)) != NULL;) */
const pml_map_entry *pml_map__next(const pml_map *m, size_t *i);

#endif
