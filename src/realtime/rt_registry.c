/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_registry.h"

#include <string.h>

#include "stores/memory.h"
#include "util/thread.h"

enum {
    PLUGIN_NAME_MAX = PML_RT_PLUGIN_NAME_SIZE - 1, /* it is part of option keys: realtime.store.<name>.x */
    PLUGINS_MAX = 64      /* registered ones of one environment; each is a program's own code */
};

typedef struct registry {
    pml_mutex m;
    size_t n;
    const pml_rt_plugin *plugins[PLUGINS_MAX];
} registry;

static int registry_make(pml_env *env, void **out, pml_error *err)
{
    registry *r = *out = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_mutex__init(&r->m, "rt_registry", 0);
    return PML_OK;
}

static void registry_free(pml_env *env, void *slot)
{
    registry *r = slot;
    pml_mutex__destroy(&r->m);
    pml_env__free(env, r);
}

static bool name_ok(const char *name)
{
    size_t n = name == NULL ? 0 : strnlen(name, PLUGIN_NAME_MAX + 1);
    bool ok = n > 0 && n <= PLUGIN_NAME_MAX;
    for (size_t i = 0; i < n && ok; i++)
        ok = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= '0' && name[i] <= '9') ||
             name[i] == '-' || name[i] == '_';
    return ok;
}

int pml_rt_plugin__check(const pml_rt_plugin *plugin, pml_error *err)
{
    const size_t size_min = offsetof(pml_rt_plugin, view_open_remote); /* what a P1 store must have */
    if (plugin == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "the store plugin is NULL");
    /* The first two fields say whether the rest may be read at all. */
    if (plugin->struct_size < offsetof(pml_rt_plugin, abi_major) || plugin->magic != PML_RT_PLUGIN_MAGIC)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL,
                             "this is no store plugin: its magic number is not PML_RT_PLUGIN_MAGIC");
    if (plugin->struct_size < size_min)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "pml_rt_plugin.struct_size is %zu, at least %zu is needed",
                             plugin->struct_size, size_min);
    if (!name_ok(plugin->name))
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL,
                             "a store plugin needs a name of 1 to %d letters, digits, '-' or '_'", PLUGIN_NAME_MAX);
    if (plugin->abi_major != PML_RT_ABI_MAJOR)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_STORE, NULL,
                             "the store '%s' was built for plugin ABI %u, this library has %u; rebuild the store", plugin->name,
                             plugin->abi_major, PML_RT_ABI_MAJOR);
    if (plugin->open == NULL || plugin->store_open == NULL || plugin->close == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "the store '%s' lacks open, store_open or close",
                             plugin->name);
    return PML_OK;
}

static const pml_rt_plugin *find_locked(const registry *r, const char *name)
{
    const pml_rt_plugin *memory = pml_memory_store_plugin();
    if (strcmp(memory->name, name) == 0)
        return memory;
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->plugins[i]->name, name) == 0)
            return r->plugins[i];
    return NULL;
}

int pml_rt_plugin_register(pml_env *env, const struct pml_rt_plugin *plugin, pml_error *err)
{
    void *slot;
    int rc = pml_rt_plugin__check(plugin, err);
    if (rc == PML_OK)
        rc = pml_env__slot(env, PML_ENV_SLOT_STORES, &slot, registry_make, registry_free, err);
    if (rc != PML_OK)
        return rc;
    registry *r = slot;
    pml_mutex__lock(&r->m);
    const pml_rt_plugin *other = find_locked(r, plugin->name);
    if (other != NULL && other != plugin) /* the same one again is no mistake: two parts of a program may both need it */
        rc = pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "another store plugin is named '%s' already", plugin->name);
    else if (other == NULL && r->n == PLUGINS_MAX)
        rc = pml_error__at(err, PML_E_LIMIT, PML_PLACE_STORE, NULL, "the store '%s' would be number %d of this environment, at most %d",
                           plugin->name, PLUGINS_MAX + 1, PLUGINS_MAX);
    else if (other == NULL)
        r->plugins[r->n++] = plugin;
    pml_mutex__unlock(&r->m);
    return rc;
}

int pml_rt_plugin__find(const pml_rt_plugin **out, pml_env *env, const char *name, pml_error *err)
{
    void *slot;
    *out = NULL;
    PML_RETURN_IF(pml_env__slot(env, PML_ENV_SLOT_STORES, &slot, registry_make, registry_free, err));
    registry *r = slot;
    pml_mutex__lock(&r->m);
    *out = find_locked(r, name);
    pml_mutex__unlock(&r->m);
    if (*out == NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, NULL,
                             "there is no real-time store '%.64s'; set realtime.store to 'memory', or register the store with "
                             "pml_rt_plugin_register, or give realtime.store.plugin-path when you open the table or the context",
                             name);
    return PML_OK;
}

static int broken(const pml_rt_plugin *plugin, const char *what, pml_error *err)
{
    return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_STORE, NULL, "the store '%s' gave %s", plugin->name, what);
}

int pml_rt_plugin__check_store(const pml_rt_plugin *plugin, const void *store, const pml_rt_store_vtbl *v, pml_error *err)
{
    if (store == NULL || v == NULL)
        return broken(plugin, "no store or no functions when it opened one", err);
    if (v->struct_size < offsetof(pml_rt_store_vtbl, set_schema))
        return broken(plugin, "a table of store functions that is too short", err);
    if (v->write == NULL || v->seal == NULL || v->segment_info == NULL || v->commit_streams == NULL ||
        v->segment_release == NULL || v->acquire_view == NULL || v->advance == NULL || v->usage == NULL || v->close == NULL ||
        v->release == NULL)
        return broken(plugin, "a table of store functions with a gap", err);
    return PML_OK;
}

int pml_rt_plugin__check_view(const pml_rt_plugin *plugin, const void *view, const pml_rt_view_vtbl *v, pml_error *err)
{
    if (view == NULL || v == NULL)
        return broken(plugin, "no view or no functions for it", err);
    if (v->struct_size < offsetof(pml_rt_view_vtbl, lookup) || v->info == NULL || v->query_streams == NULL || v->release == NULL)
        return broken(plugin, "a table of view functions that is too short or has a gap", err);
    return PML_OK;
}
