/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in store "memory": uncommitted rows of append tables, lost with the process. */
#ifndef PML_STORES_MEMORY_H
#define PML_STORES_MEMORY_H

#include <paimonlive/sys/realtime_store.h>

/* What a store in a shared object exports as pml_rt_plugin_entry_v1. Static. */
const pml_rt_plugin *pml_memory_store_plugin(void);

#endif
