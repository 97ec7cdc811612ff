/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores in shared objects. One is opened for good: its rows, and threads that it may have started, can outlive every handle of
 * ours, so that nobody can say when its code is no longer needed. The object stays mapped even when it is refused.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "realtime/rt_registry.h"

#define ENTRY_SYMBOL "pml_rt_plugin_entry_v1"

typedef const pml_rt_plugin *(*entry_fn)(void);

static int check_path(const char *path, pml_error *err)
{
    if (path == NULL || path[0] == '\0')
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL,
                             "a store plugin needs the path of its shared object");
    /* Without a slash the loader would look through the system's folders, and the caller could not say what it found. */
    if (strchr(path, '/') == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_FILE, path,
                             "%.200s names no folder: write ./%.200s, or a whole path", path, path);
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_FILE, path, "there is no store plugin %.300s", path);
    return PML_OK;
}

int pml_rt_plugin__open(const pml_rt_plugin **out, const char *path, pml_error *err)
{
    pml_error inner = PML_ERROR_INIT;
    entry_fn entry;
    *out = NULL;
    PML_RETURN_IF(check_path(path, err));
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        return pml_error__at(err, PML_E_PLUGIN, PML_PLACE_FILE, path, "cannot load a store plugin: %.400s",
                             reason == NULL ? path : reason);
    }
    void *symbol = dlsym(handle, ENTRY_SYMBOL);
    if (symbol == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_FILE, path, "%.300s is no store plugin: it does not export %s",
                             path, ENTRY_SYMBOL);
    /* A function pointer from an object pointer, as POSIX wants it. */
    memcpy(&entry, &symbol, sizeof entry);
    const pml_rt_plugin *plugin = entry();
    int rc = pml_rt_plugin__check(plugin, &inner);
    if (rc != PML_OK)
        return pml_error__at(err, rc, PML_PLACE_FILE, path, "%.200s: %.280s", path, inner.message);
    *out = plugin;
    return PML_OK;
}

int pml_rt_plugin_load(char name_out[PML_RT_PLUGIN_NAME_SIZE], pml_env *env, const char *path, pml_error *err)
{
    const pml_rt_plugin *plugin;
    if (name_out != NULL)
        name_out[0] = '\0';
    int rc = pml_rt_plugin__open(&plugin, path, err);
    if (rc != PML_OK || plugin == NULL) /* never NULL after success: for the static analyser */
        return rc;
    PML_RETURN_IF(pml_rt_plugin_register(env, plugin, err));
    if (name_out != NULL) /* the check bounds it */
        memcpy(name_out, plugin->name, strlen(plugin->name) + 1);
    return PML_OK;
}

int pml_rt_plugin__find_or_load(const pml_rt_plugin **out, pml_env *env, const char *name, const char *path,
                                pml_error *err)
{
    int rc = pml_rt_plugin__find(out, env, name, err);
    if (rc != PML_E_UNSUPPORTED || path == NULL)
        return rc;
    rc = pml_rt_plugin__open(out, path, err);
    if (rc != PML_OK || *out == NULL)
        return rc;
    if (strcmp((*out)->name, name) == 0)
        rc = pml_rt_plugin_register(env, *out, err);
    else
        rc = pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, "realtime.store.plugin-path",
                           "%.200s holds the store '%s', but realtime.store is '%.64s'", path, (*out)->name, name);
    if (rc != PML_OK)
        *out = NULL;
    return rc;
}
