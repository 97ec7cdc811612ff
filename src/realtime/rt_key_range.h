/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys a predicate can be true for, as far as one range of the run order says it: so that a store looks at a part of each run. */
#ifndef PML_REALTIME_RT_KEY_RANGE_H
#define PML_REALTIME_RT_KEY_RANGE_H

#include "columnar/predicate.h"
#include "realtime/rt_layout.h"

enum { PML_RT_KEY_BOUND_MAX = 8 /* key columns that are looked at */ };

/* lo, hi: one-row structs of the first key columns, no row below lo and none at or above hi can match; released: no such bound. */
typedef struct pml_rt_key_range {
    struct ArrowArray lo, hi;
} pml_rt_key_range;

/* predicate NULL, or a layout without keys: no bounds. */
int pml_rt_key_range__of(pml_rt_key_range *out, pml_env *env, const pml_rt_layout *layout, const pml_pred *predicate, pml_error *err);
void pml_rt_key_range__clear(pml_rt_key_range *r);

#endif
