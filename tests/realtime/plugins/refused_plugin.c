/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects that must be refused, one for each REFUSED_* that the build defines. */
#include <paimonlive/sys/realtime_store.h>

#ifndef REFUSED_NO_SYMBOL

static int no_open(void **backend, const pml_rt_host *host, size_t n, const pml_rt_kv *options, pml_error *err)
{
    (void)backend, (void)host, (void)n, (void)options, (void)err;
    return PML_E_INTERNAL;
}

static int no_store(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *p,
                    pml_error *err)
{
    (void)backend, (void)store, (void)vtbl, (void)p, (void)err;
    return PML_E_INTERNAL;
}

static void no_close(void *backend)
{
    (void)backend;
}

const pml_rt_plugin *pml_rt_plugin_entry_v1(void)
{
    static pml_rt_plugin p = {.struct_size = sizeof p,
                              .magic = PML_RT_PLUGIN_MAGIC,
                              .abi_major = PML_RT_ABI_MAJOR,
                              .name = "refused",
                              .caps = PML_RT_CAP_MODE_APPEND,
                              .open = no_open,
                              .store_open = no_store,
                              .close = no_close};
#if defined(REFUSED_MAGIC)
    p.magic++;
#elif defined(REFUSED_ABI)
    p.abi_major = PML_RT_ABI_MAJOR + 1;
#elif defined(REFUSED_SIZE)
    p.struct_size = offsetof(pml_rt_plugin, close);
#elif defined(REFUSED_NAME)
    p.name = "memory";
#elif defined(REFUSED_NULL)
    return 0;
#endif
    return &p;
}

#else

extern const int refused_nothing;
const int refused_nothing = 1;

#endif
