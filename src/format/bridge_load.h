/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the bridge to Apache Arrow on first use. */
#ifndef PML_FORMAT_BRIDGE_LOAD_H
#define PML_FORMAT_BRIDGE_LOAD_H

#include "format/bridge/bridge.h"
#include "util/env.h"

/* The bridge, once per environment; it stays loaded for the life of the process. Looked for at PAIMONLIVE_BRIDGE (environment
   variable, then nowhere else), beside this library, in paimonlive/ beside it, and where the build put it.
   PML_E_UNSUPPORTED names what was tried or which version did not fit. */
int pml_bridge__get(const pml_bridge **out, pml_env *env, pml_error *err);

#endif
