/* SPDX-License-Identifier: Apache-2.0 */
/* A store that ends its process when it is used: pml-store-conform must report it and go on. */
#include <paimonlive/sys/realtime_store.h>
#include <unistd.h>

static int crash_open(void **backend, const pml_rt_host *host, size_t n, const pml_rt_kv *options, pml_error *err)
{
    (void)backend, (void)host, (void)n, (void)options, (void)err;
    _exit(77);
}

static int crash_store(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *p,
                       pml_error *err)
{
    (void)backend, (void)store, (void)vtbl, (void)p, (void)err;
    _exit(78);
}

static void crash_close(void *backend)
{
    (void)backend;
}

const pml_rt_plugin *pml_rt_plugin_entry_v1(void)
{
    static const pml_rt_plugin p = {.struct_size = sizeof p,
                                    .magic = PML_RT_PLUGIN_MAGIC,
                                    .abi_major = PML_RT_ABI_MAJOR,
                                    .name = "crashing",
                                    .caps = PML_RT_CAP_MODE_APPEND,
                                    .open = crash_open,
                                    .store_open = crash_store,
                                    .close = crash_close};
    return &p;
}
