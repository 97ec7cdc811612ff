/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bridge_load.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buf.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BRIDGE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define BRIDGE_SANITIZED 1
#endif
#endif
#ifndef BRIDGE_SANITIZED
#define BRIDGE_SANITIZED 0
#endif

#define BRIDGE_FILE "libpaimonlive_bridge.so"

/* Deep binding keeps a host's other libarrow from lending us its symbols. The sanitizers intercept by symbol and refuse it. */
static int bridge_dlopen_flags(void)
{
    return RTLD_NOW | RTLD_LOCAL | (BRIDGE_SANITIZED ? 0 : RTLD_DEEPBIND);
}

/* Opened once per process and never closed: Arrow starts threads and arrays may outlive everything of ours. dlopen counts. */
static int bridge_open(const pml_bridge **out, const char *path, pml_error *err)
{
    pml_error inner = PML_ERROR_INIT;
    void *handle = dlopen(path, bridge_dlopen_flags());
    if (handle == NULL) {
        const char *reason = dlerror();
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_FILE, path, "cannot load the Arrow bridge: %s",
                             reason == NULL ? path : reason);
    }
    void *symbol = dlsym(handle, PML_BRIDGE_SYMBOL);
    if (symbol == NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_FILE, path, "%s is not an Arrow bridge: it has no %s", path,
                             PML_BRIDGE_SYMBOL);
    pml_bridge_entry_fn entry;
    /* A function pointer from an object pointer, as POSIX wants it. */
    memcpy(&entry, &symbol, sizeof entry);
    const pml_bridge *bridge = entry(&inner);
    if (bridge == NULL)
        return pml_error__at(err, inner.code == PML_OK ? PML_E_UNSUPPORTED : inner.code, PML_PLACE_FILE, path, "%s: %s", path,
                             inner.message);
    if (bridge->abi != PML_BRIDGE_ABI || bridge->struct_size != sizeof *bridge)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_FILE, path,
                             "%s has bridge ABI %u of %zu bytes, this library needs %u of %zu: install both from one build",
                             path, bridge->abi, bridge->struct_size, PML_BRIDGE_ABI, sizeof *bridge);
    *out = bridge;
    return PML_OK;
}

/* The first candidate that exists decides: a broken bridge must be reported, not skipped for an older one. */
static int bridge_find(char **out, pml_env *env, pml_error *err)
{
    Dl_info info;
    const char *given = secure_getenv("PAIMONLIVE_BRIDGE");
    char *path = NULL;
    *out = NULL;
    if (given != NULL && given[0] != '\0') {
        *out = pml_env__strdup(env, given);
        return *out == NULL ? pml_error__no_memory(err) : PML_OK;
    }
    const char *self = dladdr((void *)(uintptr_t)&pml_bridge__get, &info) != 0 ? info.dli_fname : NULL;
    const char *slash = self == NULL ? NULL : strrchr(self, '/');
    const int dir_len = slash == NULL ? 1 : (int)(slash - self);
    const char *dir = slash == NULL ? "." : self;
    const char *const sub[] = {"/", "/paimonlive/"};
    for (size_t i = 0; i < sizeof sub / sizeof sub[0]; i++) {
        path = pml_env__format(env, "%.*s%s%s", dir_len, dir, sub[i], BRIDGE_FILE);
        if (path == NULL)
            return pml_error__no_memory(err);
        if (access(path, F_OK) == 0) {
            *out = path;
            return PML_OK;
        }
        pml_env__free(env, path);
    }
#ifdef PML_BRIDGE_BUILD_PATH
    *out = pml_env__strdup(env, PML_BRIDGE_BUILD_PATH);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
#else
    return pml_error__set(err, PML_E_UNSUPPORTED,
                          "the Arrow bridge %s was not found in %.*s or in paimonlive/ below: install it or set PAIMONLIVE_BRIDGE",
                          BRIDGE_FILE, dir_len, dir);
#endif
}

static int bridge_make(pml_env *env, void **out, pml_error *err)
{
    const pml_bridge *bridge = NULL;
    char *path = NULL;
    int rc;
    PML_TRY(bridge_find(&path, env, err));
    PML_TRY(bridge_open(&bridge, path, err));
    /* Static storage of the bridge, which is never unloaded: nothing to free. */
    *out = (void *)(uintptr_t)bridge;
out:
    pml_env__free(env, path);
    return rc;
}

static void bridge_forget(pml_env *env, void *slot)
{
    (void)env, (void)slot;
}

int pml_bridge__get(const pml_bridge **out, pml_env *env, pml_error *err)
{
    void *slot = NULL;
    int rc = pml_env__slot(env, PML_ENV_SLOT_BRIDGE, &slot, bridge_make, bridge_forget, err);
    *out = slot;
    return rc;
}

/* ---- memory ---- */

static void memory_charge(void *ctx, int64_t delta_bytes)
{
    (void)atomic_fetch_add_explicit(&((pml_env *)ctx)->bridge_bytes, delta_bytes, memory_order_relaxed);
}

static void memory_drop(void *ctx)
{
    pml_env_release(ctx);
}

pml_bridge_memory pml_bridge__write_memory(pml_env *env)
{
    pml_env_acquire(env);
    return (pml_bridge_memory){.ctx = env, .charge = memory_charge, .drop = memory_drop};
}

pml_bridge_memory pml_bridge__read_memory(pml_env *env)
{
    pml_bridge_memory m = pml_bridge__write_memory(env);
    m.bytes_max = env->bridge_bytes_max > 0 ? env->bridge_bytes_max : PML_BRIDGE_BYTES_MAX;
    return m;
}

/* ---- files ---- */

static int input_read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err)
{
    if (n < 0)
        return pml_error__set(err, PML_E_INTERNAL, "a read of %lld bytes was asked for", (long long)n);
    return pml_input__read_at(ctx, offset, buf, (size_t)n, err);
}

static void input_close(void *ctx)
{
    pml_input__close(ctx);
}

pml_bridge_input pml_bridge__input(pml_input *in, const char *path)
{
    return (pml_bridge_input){in, path, pml_input__size(in), input_read_at, input_close};
}
