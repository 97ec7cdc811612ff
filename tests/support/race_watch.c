/* SPDX-License-Identifier: Apache-2.0 */
/* The memory store, watched. */
#include "stores/memory.h"
#include "support/race_kit.h"

enum { WATCHED_MAX = 64 };
static struct {
    pthread_mutex_t m;
    const pml_rt_store_vtbl *real; /* the same for all stores */
    pml_rt_store_vtbl vtbl;
    void *stores[WATCHED_MAX];
    int64_t ends[WATCHED_MAX];
    size_t n;
    int told, back;
} watch = {.m = PTHREAD_MUTEX_INITIALIZER};

static int watched_advance(void *store, int64_t end, int64_t snapshot_id, pml_error *err)
{
    pthread_mutex_lock(&watch.m);
    size_t i = 0;
    while (i < watch.n && watch.stores[i] != store)
        i++;
    watch.told++;
    watch.back += i == watch.n || end < watch.ends[i];
    if (i < watch.n)
        watch.ends[i] = end;
    pthread_mutex_unlock(&watch.m);
    return watch.real->advance(store, end, snapshot_id, err);
}

static int watched_open(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *params,
                        pml_error *err)
{
    int rc = pml_memory_store_plugin()->store_open(backend, store, vtbl, params, err);
    if (rc != PML_OK)
        return rc;
    pthread_mutex_lock(&watch.m);
    watch.real = *vtbl;
    watch.vtbl = **vtbl;
    watch.vtbl.advance = watched_advance;
    if (watch.n < WATCHED_MAX) {
        watch.ends[watch.n] = params->committed_end;
        watch.stores[watch.n++] = *store;
    }
    pthread_mutex_unlock(&watch.m);
    *vtbl = &watch.vtbl;
    return PML_OK;
}

const struct pml_rt_plugin *race_watching_store(void)
{
    static pml_rt_plugin plugin;
    plugin = *pml_memory_store_plugin();
    plugin.name = "watching";
    plugin.store_open = watched_open;
    watch.n = 0;
    watch.told = watch.back = 0;
    return &plugin;
}

int race_ends_gone_back(void)
{
    return watch.back;
}

int race_ends_told(void)
{
    return watch.told;
}
