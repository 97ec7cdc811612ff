/* SPDX-License-Identifier: Apache-2.0 */
/* What commits of this layer share. */
#ifndef PML_REALTIME_RT_COMMIT_H
#define PML_REALTIME_RT_COMMIT_H

#include "realtime/rt_context.h"
#include "realtime/rt_progress_build.h"
#include "table/commit.h"

/* pml_progress__publish into a decision. */
int pml_rt_commit__progress(pml_commit_decision *d, char **written, pml_table *t, const pml_progress_build *build, pml_arena *arena,
                            pml_error *err);

/* ---- re-anchoring (7.4, rt_reanchor.c) ---- */
/* A writer begins, or a commit of ours has just written the progress: the next look is an interval away. */
void pml_rt_reanchor__postpone(pml_rt_context *c);
/* The writer has ended: no more looks. */
void pml_rt_reanchor__stop(pml_rt_context *c);
/* Called by writes, prepares, commits, advances and plans, under no lock; now_ns is the monotonic clock. When it is time, looks whether
   the latest snapshot says its progress itself, and commits that it does. Failures are logged, not returned. */
void pml_rt_reanchor__tick(pml_rt_context *c, int64_t now_ns);

#endif
