/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store gives back the rows of a segment that it was given (9.3). */
#ifndef PML_REALTIME_RT_VERIFY_H
#define PML_REALTIME_RT_VERIFY_H

#include "realtime/rt_context.h"

typedef struct rt_verify {
    rt_pb *pb;
    const rt_segment *segment;
    bool by_offset; /* rows must come in the order of their offsets */
    int64_t rows;
    int64_t last_offset; /* of the batch before; -1: none yet */
    uint64_t hash;
    int64_t collapsed_rows; /* replaced by others in the store, as it says: they are missing, and that is right */
    uint64_t collapsed_hash;
    int64_t *exact; /* verify.commit=exact: all offsets seen */
} rt_verify;

int pml_rt_verify__begin(rt_verify *v, rt_pb *pb, const rt_segment *segment, pml_error *err);
/* Takes note of the offsets of a batch. */
int pml_rt_verify__batch(rt_verify *v, const int64_t *offsets, int64_t n, pml_error *err);
/* What the store says of the segment (14.6). Before the end. */
static inline void pml_rt_verify__collapsed(rt_verify *v, const pml_rt_segment_info *info)
{
    v->collapsed_rows = info->collapsed_rows;
    v->collapsed_hash = info->collapsed_hash;
}
/* After all streams of the segment were drained. PML_E_PLUGIN_CONTRACT. */
int pml_rt_verify__end(rt_verify *v, pml_error *err);
void pml_rt_verify__clear(rt_verify *v);

#endif
