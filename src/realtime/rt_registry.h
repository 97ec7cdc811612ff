/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stores that an environment knows: the built-in ones, and those given to pml_rt_plugin_register. Checks of what a plugin
 * hands over, so that a missing function is an error and not a crash.
 */
#ifndef PML_REALTIME_RT_REGISTRY_H
#define PML_REALTIME_RT_REGISTRY_H

#include <paimonlive/realtime.h>
#include <paimonlive/sys/realtime_store.h>

#include "util/env.h"

/* Borrowed. PML_E_UNSUPPORTED: no store of that name. */
int pml_rt_plugin__find(const pml_rt_plugin **out, pml_env *env, const char *name, pml_error *err);
/* As find; a store that nobody has registered is loaded from path (NULL: none), where it must have that name. Thread-safe. */
int pml_rt_plugin__find_or_load(const pml_rt_plugin **out, pml_env *env, const char *name, const char *path, pml_error *err);
/* The checked plugin of a shared object, which is never unloaded; not registered. Codes as of pml_rt_plugin_load. */
int pml_rt_plugin__open(const pml_rt_plugin **out, const char *path, pml_error *err);
/* Magic, ABI, size, name, functions: PML_E_INVAL, PML_E_UNSUPPORTED. For plugins that a context gets directly, too. */
int pml_rt_plugin__check(const pml_rt_plugin *plugin, pml_error *err);
/* What store_open and acquire_view gave: PML_E_PLUGIN_CONTRACT when a handle or a function of phase P1 is missing. */
int pml_rt_plugin__check_store(const pml_rt_plugin *plugin, const void *store, const pml_rt_store_vtbl *vtbl, pml_error *err);
int pml_rt_plugin__check_view(const pml_rt_plugin *plugin, const void *view, const pml_rt_view_vtbl *vtbl, pml_error *err);

#endif
