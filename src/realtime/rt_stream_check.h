/* SPDX-License-Identifier: Apache-2.0 */
/* What is always checked of streams that come out of a store (9.3, 18b): cheap, and the last point before wrong rows spread. */
#ifndef PML_REALTIME_RT_STREAM_CHECK_H
#define PML_REALTIME_RT_STREAM_CHECK_H

#include "columnar/batch.h"

/* columns[i] = position in the stream of fields[i], found by field id. PML_E_PLUGIN_CONTRACT when one is missing or has another
   Arrow type. *schema: that of the stream, on success; NULL: not wanted. */
int pml_rt_stream__columns(int32_t *columns, struct ArrowSchema *schema, struct ArrowArrayStream *stream, const pml_field *fields,
                           size_t n, const char *pb, pml_error *err);
/* A batch must be a struct without nulls of its own that has the n columns whole. with_offsets: the first of them must be int64
   without nulls; *offsets: its first value. */
int pml_rt_stream__check_batch(const int64_t **offsets, const struct ArrowArray *batch, const int32_t *columns, size_t n,
                               bool with_offsets, pml_error *err);
/* Rows [from, to) of n columns of a checked batch (moved on any return), over the same buffers. */
int pml_rt_stream__take(struct ArrowArray *out, pml_env *env, struct ArrowArray *batch, const int32_t *columns, size_t n, int64_t from,
                        int64_t to, pml_error *err);
/* The error of a failed stream call. */
int pml_rt_stream__error(struct ArrowArrayStream *stream, const char *pb, pml_error *err);
/* A code that a plugin may not return becomes PML_E_PLUGIN (19); fills err when the plugin did not. */
int pml_rt_stream__plugin_code(int code, pml_error *err, const char *call, const char *pb);

#endif
