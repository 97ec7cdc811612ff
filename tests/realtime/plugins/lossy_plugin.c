/* SPDX-License-Identifier: Apache-2.0 */
/* The memory store with one planted mistake, as a shared object: pml-store-conform must find it. */
#include "support/broken_stores.h"

const pml_rt_plugin *pml_rt_plugin_entry_v1(void)
{
    return broken_store_plugin(BROKEN_LOSES);
}
