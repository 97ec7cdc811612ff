/* SPDX-License-Identifier: Apache-2.0 */
#include "util/env.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "util/thread.h"

/* A sanitizer is to see each block come and go, and where it ends. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEP_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KEEP_BLOCKS 0
#endif
#endif
#ifndef KEEP_BLOCKS
#define KEEP_BLOCKS 1
#endif

/* The only place of the C code that calls malloc, and with block_cache.c free. ctx: the cache, or NULL. */
static void *system_alloc(void *ctx, size_t n)
{
    void *p = KEEP_BLOCKS && ctx != NULL ? pml_block_cache__take(ctx, &n) : NULL;
    return p != NULL ? p : malloc(n);
}

static void *system_realloc(void *ctx, void *p, size_t n)
{
    (void)ctx;
    return realloc(p, n);
}

static void system_free(void *ctx, void *p)
{
    if (!KEEP_BLOCKS || ctx == NULL || p == NULL || !pml_block_cache__give(ctx, p, malloc_usable_size(p)))
        free(p);
}

static int64_t system_wall_ms(void *ctx)
{
    struct timespec ts;
    (void)ctx;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t system_mono_ns(void *ctx)
{
    struct timespec ts;
    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void system_sleep_ms(void *ctx, int64_t ms)
{
    struct timespec ts = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)ctx;
    while (ms > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR) {
    }
}

static int system_random(void *ctx, void *buf, size_t n)
{
    uint8_t *p = buf;
    (void)ctx;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return PML_E_IO;
        p += got;
        n -= (size_t)got;
    }
    return PML_OK;
}

static void system_log(void *ctx, int level, const char *component, const char *message)
{
    (void)ctx;
    if (level <= PML_LOG_WARN)
        (void)fprintf(stderr, "paimonlive: %s: %s: %s\n", level == PML_LOG_ERROR ? "error" : "warning", component, message);
}

extern const pml_file_system pml_local_file_system; /* src/storage/local_fs.c; bound here so that env needs no set-up call */

/* A table of functions with a hole would be a crash at the first call that needs it. */
static int env_check(const pml_env_options *o, pml_error *err)
{
    const pml_allocator *a = o->allocator;
    const pml_clock *c = o->clock;
    const pml_file_system *f = o->file_system;
    const char *missing = NULL;
    if (o->struct_size != sizeof *o)
        return pml_error__set(err, PML_E_INVAL, "pml_env_options.struct_size is %zu, this library knows %zu", o->struct_size,
                              sizeof *o);
    if (a != NULL && (a->alloc == NULL || a->realloc == NULL || a->free == NULL))
        missing = "allocator";
    if (c != NULL && (c->wall_ms == NULL || c->mono_ns == NULL || c->sleep_ms == NULL))
        missing = "clock";
    if (o->random != NULL && o->random->bytes == NULL)
        missing = "random";
    if (o->logger != NULL && o->logger->write == NULL)
        missing = "logger";
    if (f != NULL && f->struct_size != sizeof *f)
        return pml_error__set(err, PML_E_INVAL, "pml_file_system.struct_size is %zu, this library knows %zu", f->struct_size, sizeof *f);
    if (f != NULL && (f->open_read == NULL || f->size == NULL || f->read_at == NULL || f->close_read == NULL || f->create == NULL ||
                      f->write == NULL || f->sync == NULL || f->close_write == NULL || f->publish == NULL || f->replace == NULL ||
                      f->remove_file == NULL || f->remove_directory == NULL || f->make_directory == NULL ||
                      f->sync_directory == NULL || f->stat == NULL || f->list == NULL))
        missing = "file_system";
    return missing == NULL ? PML_OK : pml_error__set(err, PML_E_INVAL, "a function of pml_env_options.%s is missing", missing);
}

static void env_fill(pml_env *env, const pml_env_options *o)
{
    if (o != NULL && o->file_system != NULL)
        env->fs = *o->file_system;
    else
        env->fs = pml_local_file_system;
    if (o != NULL && o->clock != NULL)
        env->clock = *o->clock;
    else
        env->clock = (pml_clock){NULL, system_wall_ms, system_mono_ns, system_sleep_ms};
    if (o != NULL && o->random != NULL)
        env->random = *o->random;
    else
        env->random = (pml_random){NULL, system_random};
    env->log = o != NULL && o->logger != NULL ? *o->logger : (pml_logger){NULL, system_log};
    if (env->random.bytes(env->random.ctx, &env->hash_seed, sizeof env->hash_seed) != PML_OK)
        env->hash_seed = (uint64_t)(uintptr_t)env; /* which is hard to guess, too; who needs real randomness will see the failure */
}

int pml_env_new(pml_env **out, const pml_env_options *options, pml_error *err)
{
    const pml_allocator fallback = {NULL, system_alloc, system_realloc, system_free};
    const pml_allocator *al = &fallback;
    pml_env *env;
    if (out == NULL)
        return pml_error__set(err, PML_E_INVAL, "pml_env_new has nowhere to put the environment");
    *out = NULL;
    if (options != NULL)
        PML_RETURN_IF(env_check(options, err));
    if (options != NULL && options->allocator != NULL)
        al = options->allocator;
    env = al->alloc(al->ctx, sizeof *env + sizeof(pml_mutex));
    if (env == NULL)
        return pml_error__no_memory(err);
    memset(env, 0, sizeof *env);
    atomic_init(&env->refs, 1);
    env->al = *al;
    atomic_flag_clear(&env->blocks.busy);
    if (al == &fallback)
        env->al.ctx = &env->blocks;
    env->slot_lock = env + 1;
    env_fill(env, options);
    pml_mutex__init(env->slot_lock, "env.slot", 0);
    *out = env;
    return PML_OK;
}

void pml_env_acquire(pml_env *env)
{
    (void)atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
}

void pml_env_release(pml_env *env)
{
    if (env == NULL || atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < sizeof env->slots / sizeof env->slots[0]; i++)
        if (env->slots[i] != NULL)
            env->slot_free[i](env, env->slots[i]);
    if (env->fs.release != NULL)
        env->fs.release(env->fs.ctx);
    pml_mutex__destroy(env->slot_lock);
    pml_block_cache__clear(&env->blocks);
    pml_allocator al = env->al;
    al.free(al.ctx == &env->blocks ? NULL : al.ctx, env);
}

void *pml_env__alloc(pml_env *env, size_t n)
{
    return env->al.alloc(env->al.ctx, n == 0 ? 1 : n);
}

void *pml_env__calloc(pml_env *env, size_t count, size_t size)
{
    size_t n;
    void *p;
    if (__builtin_mul_overflow(count, size, &n))
        return NULL;
    p = pml_env__alloc(env, n);
    if (p != NULL)
        memset(p, 0, n);
    return p;
}

void *pml_env__realloc(pml_env *env, void *p, size_t n)
{
    return env->al.realloc(env->al.ctx, p, n == 0 ? 1 : n);
}

void pml_env__free(pml_env *env, void *p)
{
    if (p != NULL)
        env->al.free(env->al.ctx, p);
}

char *pml_env__strndup(pml_env *env, const char *s, size_t n)
{
    char *copy = n == SIZE_MAX ? NULL : pml_env__alloc(env, n + 1);
    if (copy != NULL) {
        if (n > 0)
            memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}

char *pml_env__strdup(pml_env *env, const char *s)
{
    return pml_env__strndup(env, s, strlen(s));
}

char *pml_env__format(pml_env *env, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : pml_env__alloc(env, (size_t)n + 1);
    if (text != NULL) {
        va_start(args, format);
        (void)vsnprintf(text, (size_t)n + 1, format, args);
        va_end(args);
    }
    return text;
}

int64_t pml_env__wall_ms(pml_env *env)
{
    return env->clock.wall_ms(env->clock.ctx);
}

int64_t pml_env__mono_ns(pml_env *env)
{
    return env->clock.mono_ns(env->clock.ctx);
}

void pml_env__sleep_ms(pml_env *env, int64_t ms)
{
    env->clock.sleep_ms(env->clock.ctx, ms);
}

int pml_env__random(pml_env *env, void *buf, size_t n, pml_error *err)
{
    if (env->random.bytes(env->random.ctx, buf, n) != PML_OK)
        return pml_error__set(err, PML_E_IO, "the source of randomness failed");
    return PML_OK;
}

int pml_env__uuid(pml_env *env, char out[37], pml_error *err)
{
    uint8_t b[16];
    PML_RETURN_IF(pml_env__random(env, b, sizeof b, err));
    b[6] = (uint8_t)((b[6] & 0x0F) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3F) | 0x80);
    (void)snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4],
                   b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return PML_OK;
}

void pml_env__log(pml_env *env, int level, const char *component, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    env->log.write(env->log.ctx, level, component, message);
}

int pml_env__slot(pml_env *env, int slot, void **out, int (*make)(pml_env *env, void **out, pml_error *err),
                  void (*free_fn)(pml_env *env, void *slot), pml_error *err)
{
    int rc = PML_OK;
    *out = NULL;
    pml_mutex__lock(env->slot_lock);
    if (env->slots[slot] == NULL) {
        rc = make(env, &env->slots[slot], err);
        env->slot_free[slot] = free_fn;
    }
    if (rc == PML_OK)
        *out = env->slots[slot];
    pml_mutex__unlock(env->slot_lock);
    return rc;
}
