/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed as a whole: one arena per parsed file or per plan. Not thread-safe. Zeroed memory. */
#ifndef PML_UTIL_ARENA_H
#define PML_UTIL_ARENA_H

#include "util/env.h"

struct pml_arena_block;

typedef struct pml_arena {
    pml_env *env;
    struct pml_arena_block *blocks;
    size_t used, cap; /* of the newest block */
} pml_arena;

void pml_arena__init(pml_arena *a, pml_env *env);
void pml_arena__clear(pml_arena *a);
/* Forgets everything but keeps the newest block: for memory that is used up once per record. */
void pml_arena__reset(pml_arena *a);
/* Zeroed, aligned to 16 bytes; NULL: no memory. */
void *pml_arena__alloc(pml_arena *a, size_t n);
/* count * size, NULL on overflow. */
void *pml_arena__array(pml_arena *a, size_t count, size_t size);
void *pml_arena__copy(pml_arena *a, const void *p, size_t n);
char *pml_arena__strdup(pml_arena *a, const char *s);
char *pml_arena__strndup(pml_arena *a, const char *s, size_t n);

#endif
