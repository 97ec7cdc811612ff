/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the bridge to Apache Arrow on first use. */
#ifndef PML_FORMAT_BRIDGE_LOAD_H
#define PML_FORMAT_BRIDGE_LOAD_H

#include "format/bridge/bridge.h"
#include "storage/stream.h"

/* The bridge, once per environment; it stays loaded for the life of the process. Looked for at PAIMONLIVE_BRIDGE (environment
   variable, then nowhere else), beside this library, in paimonlive/ beside it, and where the build put it.
   PML_E_UNSUPPORTED names what was tried or which version did not fit. */
int pml_bridge__get(const pml_bridge **out, pml_env *env, pml_error *err);

/* What one call that reads may take, whatever the file claims: two columns of 2 GiB of text. */
#define PML_BRIDGE_BYTES_MAX (INT64_C(4) << 30)
/* Memory charged to the environment, which is held until the last array is released. For the next call of the bridge, which ends
   it in any case. */
pml_bridge_memory pml_bridge__read_memory(pml_env *env);
pml_bridge_memory pml_bridge__write_memory(pml_env *env);
/* A file for the bridge to read, which closes it. */
pml_bridge_input pml_bridge__input(pml_input *in, const char *path);

#endif
