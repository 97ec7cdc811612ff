/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pml_env: everything the library takes from its surroundings. There are no globals: two environments never see each other.
 *
 *     pml_env *env;
 *     pml_env_new(&env, NULL, &err);          // production allocator, local files, real clock and randomness
 *     ...
 *     pml_env_release(env);
 *
 * An environment is counted. Tables, plans, contexts, streams and exported arrays hold it until the last of them is
 * released, so the caller may release its own reference first. Thread-safe.
 */
#ifndef PAIMONLIVE_ENV_H
#define PAIMONLIVE_ENV_H

#include <paimonlive/error.h>
#include <paimonlive/sys/file_system.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pml_env pml_env;

/* All functions may be called from any thread. alloc and realloc return NULL when there is no memory; n is never 0; memory
   is aligned for any type (at least 16 bytes). */
typedef struct pml_allocator {
    void *ctx;
    void *(*alloc)(void *ctx, size_t n);
    void *(*realloc)(void *ctx, void *p, size_t n);
    void (*free)(void *ctx, void *p);
} pml_allocator;

typedef struct pml_clock {
    void *ctx;
    int64_t (*wall_ms)(void *ctx);          /* epoch milliseconds */
    int64_t (*mono_ns)(void *ctx);          /* monotonic nanoseconds from any origin */
    void (*sleep_ms)(void *ctx, int64_t ms); /* waits; tests return at once */
} pml_clock;

/* Fills buf with random bytes. Ids of files, snapshots and lineages come from here. Returns 0 or a negative code. */
typedef struct pml_random {
    void *ctx;
    int (*bytes)(void *ctx, void *buf, size_t n);
} pml_random;

enum { PML_LOG_ERROR = 1, PML_LOG_WARN = 2, PML_LOG_INFO = 3, PML_LOG_DEBUG = 4 };

typedef struct pml_logger {
    void *ctx;
    void (*write)(void *ctx, int level, const char *component, const char *message);
} pml_logger;

typedef struct pml_env_options {
    size_t struct_size;
    const pml_allocator *allocator;     /* NULL: malloc */
    const pml_file_system *file_system; /* NULL: local files; borrowed until its release is called */
    const pml_clock *clock;             /* NULL: the real clock */
    const pml_random *random;           /* NULL: the system's randomness */
    const pml_logger *logger;           /* NULL: warnings and errors to stderr */
} pml_env_options;

#define PML_ENV_OPTIONS_INIT {sizeof(pml_env_options), NULL, NULL, NULL, NULL, NULL}

/* Makes an environment. options NULL: defaults; the structs it points to are copied.
   Returns owned; free with pml_env_release. Errors: PML_E_NOMEM, PML_E_INVAL (struct_size, missing function). */
PML_API int pml_env_new(pml_env **out, const pml_env_options *options, pml_error *err);

/* One more owner. */
PML_API void pml_env_acquire(pml_env *env);

/* Lets go of one reference; NULL is allowed. */
PML_API void pml_env_release(pml_env *env);

/* Library version, e.g. "0.1.0". */
PML_API const char *pml_version(void);

#ifdef __cplusplus
}
#endif

#endif
