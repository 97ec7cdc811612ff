/* SPDX-License-Identifier: Apache-2.0 */
#include "util/arena.h"

#include <string.h>

enum { ARENA_FIRST = 1024, ARENA_MAX_STEP = 256 * 1024, ARENA_ALIGN = 16 };

struct pml_arena_block {
    struct pml_arena_block *next;
    size_t pad; /* keeps data aligned to 16 bytes */
    uint8_t data[];
};

void pml_arena__init(pml_arena *a, pml_env *env)
{
    *a = (pml_arena){.env = env};
}

void pml_arena__clear(pml_arena *a)
{
    while (a->blocks != NULL) {
        struct pml_arena_block *next = a->blocks->next;
        pml_env__free(a->env, a->blocks);
        a->blocks = next;
    }
    a->used = a->cap = 0;
}

void pml_arena__reset(pml_arena *a)
{
    struct pml_arena_block *newest = a->blocks;
    if (newest == NULL)
        return;
    a->blocks = newest->next;
    size_t cap = a->cap;
    pml_arena__clear(a);
    newest->next = NULL;
    a->blocks = newest;
    a->cap = cap;
}

void *pml_arena__alloc(pml_arena *a, size_t n)
{
    size_t need;
    if (__builtin_add_overflow(n, (size_t)(ARENA_ALIGN - 1), &need) || need > SIZE_MAX / 2)
        return NULL;
    need &= ~(size_t)(ARENA_ALIGN - 1);
    if (need > a->cap - a->used || a->blocks == NULL) {
        size_t cap = a->cap == 0 ? ARENA_FIRST : a->cap * 2 > ARENA_MAX_STEP ? ARENA_MAX_STEP : a->cap * 2;
        if (cap < need)
            cap = need;
        struct pml_arena_block *b = pml_env__alloc(a->env, sizeof *b + cap);
        if (b == NULL)
            return NULL;
        b->next = a->blocks;
        a->blocks = b;
        a->used = 0;
        a->cap = cap;
    }
    void *p = a->blocks->data + a->used;
    a->used += need;
    memset(p, 0, need);
    return p;
}

void *pml_arena__array(pml_arena *a, size_t count, size_t size)
{
    size_t n;
    return __builtin_mul_overflow(count, size, &n) ? NULL : pml_arena__alloc(a, n);
}

void *pml_arena__copy(pml_arena *a, const void *p, size_t n)
{
    void *copy = pml_arena__alloc(a, n);
    if (copy != NULL && n > 0)
        memcpy(copy, p, n);
    return copy;
}

char *pml_arena__strndup(pml_arena *a, const char *s, size_t n)
{
    char *copy = n == SIZE_MAX ? NULL : pml_arena__alloc(a, n + 1);
    if (copy != NULL && n > 0)
        memcpy(copy, s, n);
    return copy;
}

char *pml_arena__strdup(pml_arena *a, const char *s)
{
    return pml_arena__strndup(a, s, strlen(s));
}
