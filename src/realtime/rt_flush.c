/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flush: the sealed segments of one partition-bucket are read back from the store, verified row by row (rt_verify.c) and written to
 * data files: rows of append tables as they come, those with keys merged, a segment at a time. Writes go on meanwhile; the only lock
 * taken is prepare_mu, shortly, to claim and to mark segments.
 */
#include <string.h>

#include "columnar/batch.h"
#include "merge/fold.h"
#include "realtime/rt_stream_check.h"
#include "realtime/rt_verify.h"

typedef struct flush {
    rt_pb *pb;
    pml_env *env;
    pml_rolling *rolling;
    const pml_field *fields; /* asked of each stream: the offset, then what goes to files */
    size_t n_fields;
    rt_verify verify; /* of the segment at hand */
} flush;

/* A stream of the store. */
typedef struct flush_stream {
    flush *f;
    struct ArrowArrayStream *stream;
    int32_t *columns; /* of f->fields, in the stream */
} flush_stream;

static int stream_open(flush_stream *s, flush *f, struct ArrowArrayStream *stream, pml_error *err)
{
    *s = (flush_stream){.f = f, .stream = stream};
    s->columns = pml_env__calloc(f->env, f->n_fields, sizeof *s->columns);
    if (s->columns == NULL)
        return pml_error__no_memory(err);
    return pml_rt_stream__columns(s->columns, NULL, stream, f->fields, f->n_fields, f->pb->name, err);
}

/* The next verified batch without its offsets; release NULL at the end. */
static int stream_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    flush_stream *s = ctx;
    flush *f = s->f;
    struct ArrowArray batch = {0};
    const int64_t *offsets;
    *out = (struct ArrowArray){0};
    if (s->stream->get_next(s->stream, &batch) != 0)
        return pml_rt_stream__error(s->stream, f->pb->name, err);
    if (batch.release == NULL)
        return PML_OK;
    int rc = pml_rt_stream__check_batch(&offsets, &batch, s->columns, f->n_fields, true, err);
    if (rc == PML_OK)
        rc = pml_rt_verify__batch(&f->verify, offsets, batch.length, err);
    if (rc != PML_OK) {
        batch.release(&batch);
        return rc;
    }
    return pml_rt_stream__take(out, f->env, &batch, s->columns + 1, f->n_fields - 1, 0, batch.length, err); /* what is behind the offset */
}

/* ---- append ---- */

static int drain(flush *f, struct ArrowArrayStream *stream, pml_error *err)
{
    flush_stream s;
    int rc;
    PML_TRY(stream_open(&s, f, stream, err));
    for (;;) {
        struct ArrowArray batch;
        PML_TRY(stream_next(&s, &batch, err));
        if (batch.release == NULL)
            break;
        PML_TRY(pml_rolling__write(f->rolling, &batch, err));
    }
out:
    pml_env__free(f->env, s.columns);
    return rc;
}

static int write_in_order(flush *f, pml_rt_streams *streams, pml_error *err)
{
    for (size_t i = 0; i < streams->n; i++) {
        PML_RETURN_IF(drain(f, &streams->v[i], err));
        streams->v[i].release(&streams->v[i]);
    }
    return PML_OK;
}

/* ---- primary key ---- */

enum { FOLD_BATCH_ROWS = 4096 /* where a segment has more runs than one merge may */ };

static void run_drop(void *ctx)
{
    (void)ctx; /* streams end with their segment */
}

/* Each stream is a sorted run. A segment is merged by itself and ends its files: what is merged together must not hang on what else is
   flushed (I12), and a file has each key once. */
static int write_merged(flush *f, const rt_segment *segment, pml_rt_streams *streams, pml_error *err)
{
    pml_rt_context *c = f->pb->ctx;
    size_t n = streams->n;
    pml_run *runs = pml_env__calloc(f->env, n, sizeof *runs);
    flush_stream *s = pml_env__calloc(f->env, n, sizeof *s);
    int rc = PML_OK;
    if (runs == NULL || s == NULL)
        PML_TRY(pml_error__no_memory(err));
    for (size_t i = 0; i < streams->n; i++) {
        PML_TRY(stream_open(&s[i], f, &streams->v[i], err));
        runs[i] = (pml_run){.next = stream_next, .drop = run_drop, .ctx = &s[i], .name = f->pb->name, .level = -1};
    }
    const pml_fold fold = {.layout = &c->rows.layout, .max = pml_rt_context__fan_in(c, n), .batch_rows = FOLD_BATCH_ROWS};
    rc = pml_runs__fold(runs, &n, f->env, &fold, err);
    for (size_t i = 0; rc != PML_OK && i < n; i++)
        runs[i].drop(runs[i].ctx);
    PML_TRY(rc);
    PML_TRY(pml_keyed_rows__flush(&c->rows, f->rolling, runs, n, segment->bytes / (uint64_t)segment->note.rows, err));
    PML_TRY(pml_rolling__finish(f->rolling, err));
out:
    for (size_t i = 0; s != NULL && i < streams->n; i++)
        pml_env__free(f->env, s[i].columns);
    pml_env__free(f->env, s);
    pml_env__free(f->env, runs);
    return rc;
}

/* ---- segments ---- */

static int flush_segment(flush *f, const rt_segment *s, pml_error *err)
{
    pml_rt_streams streams = {.struct_size = sizeof streams};
    int rc;
    if (s->handle == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_rt_verify__begin(&f->verify, f->pb, s, err));
    pml_rt__assert_store_call();
    if (pml_rt_context__may_collapse(f->pb->ctx)) {
        pml_rt_segment_info info = {.struct_size = sizeof info};
        rc = f->pb->vt->segment_info(s->handle, &info, err);
        if (rc != PML_OK) {
            rc = pml_rt_stream__plugin_code(rc, err, "segment_info", f->pb->name);
            goto out;
        }
        pml_rt_verify__collapsed(&f->verify, &info);
    }
    rc = f->pb->vt->commit_streams(f->pb->store, &streams, s->handle, err);
    if (rc != PML_OK) {
        rc = pml_rt_stream__plugin_code(rc, err, "commit_streams", f->pb->name);
        goto out;
    }
    PML_TRY(f->pb->ctx->layout->mode == PML_RT_MODE_APPEND ? write_in_order(f, &streams, err) : write_merged(f, s, &streams, err));
    PML_TRY(pml_rt_verify__end(&f->verify, err));
out:
    for (size_t i = 0; i < streams.n; i++)
        if (streams.v[i].release != NULL)
            streams.v[i].release(&streams.v[i]);
    if (streams.free != NULL)
        streams.free(&streams);
    pml_rt_verify__clear(&f->verify);
    return rc;
}

/* Claims the SEALED segments: copies of their descriptions, valid while they are FLUSHING. */
static int claim(rt_segment **v, size_t *n, rt_pb *pb, pml_error *err)
{
    int rc = PML_OK;
    *n = 0;
    pml_mutex__lock(&pb->prepare_mu);
    *v = pml_env__calloc(pb->ctx->env, pb->n_queue, sizeof **v);
    if (*v == NULL)
        rc = pml_error__no_memory(err);
    for (size_t i = 0; *v != NULL && i < pb->n_queue; i++)
        if (pb->queue[i].state == RT_SEGMENT_SEALED) {
            pb->queue[i].state = RT_SEGMENT_FLUSHING;
            (*v)[(*n)++] = pb->queue[i];
        }
    pml_mutex__unlock(&pb->prepare_mu);
    return rc;
}

int pml_rt_pb__flush(rt_flush_result *out, bool *anything, rt_pb *pb, pml_error *err)
{
    pml_rt_context *c = pb->ctx;
    flush f = {.pb = pb, .env = c->env, .fields = c->stream_fields, .n_fields = c->n_stream_fields};
    rt_segment *segments = NULL;
    size_t n = 0;
    int rc;
    *out = (rt_flush_result){.first_sequence = -1, .last_sequence = -1};
    *anything = false;
    PML_TRY(claim(&segments, &n, pb, err));
    if (segments == NULL || n == 0)
        goto out;
    out->cover = (pml_rt_range){segments[0].cover.begin, segments[n - 1].cover.end};
    out->n_segments = n;
    if (pml_new_files__init(&out->files, f.env, pb->key.partition, pb->key.bucket, pb->total_buckets) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_rolling__new(&f.rolling, c->table, &c->shape, &out->files, c->shape.keyed ? 0 : pb->next_sequence, err));
    for (size_t i = 0; i < n; i++) {
        PML_TRY(flush_segment(&f, &segments[i], err));
        out->rows += segments[i].note.rows;
        if (segments[i].first_sequence >= 0) {
            out->first_sequence = out->first_sequence < 0 ? segments[i].first_sequence : out->first_sequence;
            out->last_sequence = segments[i].last_sequence;
        }
    }
    PML_TRY(pml_rolling__finish(f.rolling, err));
    if (!c->shape.keyed)
        pb->next_sequence = pml_rolling__next_sequence(f.rolling);
    pml_rt_pb__mark(pb, out->cover, RT_SEGMENT_PREPARED);
    *anything = true;
out:
    pml_rolling__free(f.rolling);
    if (rc != PML_OK) {
        pml_new_files__delete(&out->files);
        pml_new_files__clear(&out->files);
        if (n > 0)
            pml_rt_pb__mark(pb, out->cover, RT_SEGMENT_SEALED);
        if (rc == PML_E_PLUGIN_CONTRACT)
            rc = pml_rt_pb__store_failed(pb, rc, err, "commit_streams");
    }
    pml_env__free(f.env, segments);
    return rc;
}
