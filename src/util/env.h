/* SPDX-License-Identifier: Apache-2.0 */
/* The environment from inside: allocation, time, randomness and log go through it, so that tests can inject all of them. */
#ifndef PML_UTIL_ENV_H
#define PML_UTIL_ENV_H

#include <paimonlive/env.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/block_cache.h"
#include "util/error.h"

struct pml_env {
    atomic_int refs;
    pml_allocator al;
    pml_block_cache blocks; /* of the system's allocator; empty where the caller has one of his own */
    pml_file_system fs;
    pml_clock clock;
    pml_random random;
    pml_logger log;
    uint64_t hash_seed; /* of hashes over bytes that others wrote: who does not know it cannot make them collide */
    /* Filled by higher layers on first use, never by util: the bridge and the registered stores. Freed through these. */
    void *slots[5];
    void (*slot_free[5])(pml_env *env, void *slot);
    void *slot_lock;
    /* The memory of the bridge's library, which has an allocator of its own: what it holds now, and the most that one call may take
       (0: the format layer's default). */
    atomic_llong bridge_bytes;
    int64_t bridge_bytes_max;
};

enum { PML_ENV_SLOT_BRIDGE = 0, PML_ENV_SLOT_STORES = 1, PML_ENV_SLOT_REALTIME = 2, PML_ENV_SLOT_CODECS = 3, PML_ENV_SLOT_DIRECTORIES = 4 };

/* n == 0 gives a pointer that may be freed. NULL: no memory. */
void *pml_env__alloc(pml_env *env, size_t n);
void *pml_env__calloc(pml_env *env, size_t count, size_t size); /* zeroed; NULL on overflow, too */
void *pml_env__realloc(pml_env *env, void *p, size_t n);
void pml_env__free(pml_env *env, void *p);
char *pml_env__strdup(pml_env *env, const char *s);
char *pml_env__strndup(pml_env *env, const char *s, size_t n);
/* printf into fresh memory; NULL: no memory. */
char *pml_env__format(pml_env *env, const char *format, ...) PML_PRINTF(2, 3);

int64_t pml_env__wall_ms(pml_env *env);
int64_t pml_env__mono_ns(pml_env *env);
void pml_env__sleep_ms(pml_env *env, int64_t ms);
int pml_env__random(pml_env *env, void *buf, size_t n, pml_error *err);
/* A random version-4 UUID as 36 characters and a NUL. */
int pml_env__uuid(pml_env *env, char out[37], pml_error *err);
void pml_env__log(pml_env *env, int level, const char *component, const char *format, ...) PML_PRINTF(4, 5);

/* Returns what the slot holds; make is called under the slot lock when it is empty. */
int pml_env__slot(pml_env *env, int slot, void **out, int (*make)(pml_env *env, void **out, pml_error *err),
                  void (*free_fn)(pml_env *env, void *slot), pml_error *err);

#endif
