/* SPDX-License-Identifier: Apache-2.0 */
/* One walk from a snapshot back to its anchor; rt_effective.c decides what its end means. */
#ifndef PML_REALTIME_RT_EFFECTIVE_WALK_H
#define PML_REALTIME_RT_EFFECTIVE_WALK_H

#include "realtime/rt_effective.h"

typedef enum pml_effective_outcome {
    PML_EFFECTIVE_DONE, /* e holds the progress: of the anchor, none at all, or all lost after too long a walk */
    PML_EFFECTIVE_GONE  /* a file that the walk needs does not exist */
} pml_effective_outcome;

/* From e->snapshot; fills e->property, e->anchor, e->progress. */
int pml_effective__walk(pml_effective_outcome *outcome, pml_effective *e, const pml_effective_source *source,
                        const pml_effective_options *o, pml_error *err);

#endif
