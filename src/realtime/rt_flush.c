/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flush: the sealed segments of one partition-bucket are read back from the store, verified row by row (9.3) and written to data
 * files. Writes go on meanwhile; the only lock taken is prepare_mu, shortly, to claim and to mark segments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/batch.h"
#include "realtime/rt_context.h"
#include "realtime/rt_stream_check.h"

typedef struct flush {
    rt_pb *pb;
    pml_env *env;
    pml_rolling *rolling;
    /* of the segment being drained */
    const rt_segment *segment;
    int64_t rows;
    int64_t last_offset; /* of the batch before; -1: none yet */
    uint64_t hash;
    int64_t *exact; /* verify.commit=exact: all offsets seen */
    int32_t *columns; /* of the stream: position of the offset column first, then of each table column */
} flush;

static int broken(rt_pb *pb, pml_error *err, const char *what)
{
    return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb->name,
                         "the store of %s gave back other rows than it was given: %s. Nothing was published", pb->name, what);
}

static int check_range(flush *f, const int64_t *offsets, int64_t n, pml_error *err)
{
    const pml_rt_range c = f->segment->cover;
    for (int64_t i = 0; i < n; i++)
        if (offsets[i] < c.begin || offsets[i] >= c.end)
            return broken(f->pb, err, "an offset lies outside of its segment");
    return PML_OK;
}

/* Takes note of the offsets of a batch. */
static int verify_batch(flush *f, const int64_t *offsets, int64_t n, pml_error *err)
{
    int mode = f->pb->ctx->options.rt_verify_commit;
    if (mode != PML_RT_VERIFY_OFF)
        PML_RETURN_IF(check_range(f, offsets, n, err));
    if (mode == PML_RT_VERIFY_HASH)
        for (int64_t i = 0; i < n; i++)
            f->hash += pml_rt_mix64((uint64_t)offsets[i]);
    if (mode == PML_RT_VERIFY_EXACT && n > 0) {
        if (f->rows + n > f->segment->note.rows)
            return broken(f->pb, err, "there are more rows than were written");
        memcpy(f->exact + f->rows, offsets, (size_t)n * sizeof *offsets);
    }
    for (int64_t i = 0; f->pb->ctx->options.rt_verify_order && i < n; i++) {
        if (offsets[i] <= f->last_offset)
            return broken(f->pb, err, "offsets do not increase");
        f->last_offset = offsets[i];
    }
    f->rows += n;
    return PML_OK;
}

static int compare_int64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

/* Every offset once: the sorted ones of a segment without explicit offsets must be its dense ranges; with explicit ones the sum
   decides and doubles are named. */
static int verify_exact(flush *f, pml_error *err)
{
    char what[96];
    if (f->rows > 1)
        qsort(f->exact, (size_t)f->rows, sizeof *f->exact, compare_int64);
    for (int64_t i = 1; i < f->rows; i++)
        if (f->exact[i - 1] == f->exact[i]) {
            (void)snprintf(what, sizeof what, "offset %lld came twice", (long long)f->exact[i]);
            return broken(f->pb, err, what);
        }
    for (int64_t i = 0; i < f->rows; i++)
        f->hash += pml_rt_mix64((uint64_t)f->exact[i]);
    return PML_OK;
}

/* After all streams of a segment are drained. */
static int verify_segment(flush *f, pml_error *err)
{
    int mode = f->pb->ctx->options.rt_verify_commit;
    if (mode == PML_RT_VERIFY_OFF || mode == PML_RT_VERIFY_RANGE)
        return PML_OK;
    if (mode == PML_RT_VERIFY_EXACT)
        PML_RETURN_IF(verify_exact(f, err));
    if (f->rows != f->segment->note.rows)
        return broken(f->pb, err, f->rows < f->segment->note.rows ? "rows are missing" : "there are more rows than were written");
    if (f->hash != pml_rt_note__hash(&f->segment->note))
        return broken(f->pb, err, "some offsets are missing and others came twice");
    return PML_OK;
}

/* The table columns of a transport batch (moved) as a batch of their own. */
static int take_table_columns(flush *f, struct ArrowArray *out, struct ArrowArray *batch, pml_error *err)
{
    size_t n = f->pb->ctx->table->schema->n_fields;
    struct ArrowArray *columns = pml_env__calloc(f->env, n, sizeof *columns);
    int rc = columns == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0; columns != NULL && i < n; i++) {
        struct ArrowArray *child = batch->children[f->columns[1 + i]];
        columns[i] = *child;
        child->release = NULL;
        if (columns[i].length > batch->length) { /* legal: a struct may be shorter than its children */
            columns[i].length = batch->length;
            columns[i].null_count = columns[i].null_count == 0 ? 0 : -1;
        }
    }
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, f->env, columns, n, batch->length, err);
    for (size_t i = 0; rc != PML_OK && columns != NULL && i < n; i++)
        pml_array__release(&columns[i]);
    pml_env__free(f->env, columns);
    batch->release(batch);
    return rc;
}

static int flush_batch(flush *f, struct ArrowArray *batch, pml_error *err)
{
    struct ArrowArray rows = {0};
    const int64_t *offsets;
    int rc = pml_rt_stream__check_batch(&offsets, batch, f->columns, f->pb->ctx->n_transport, true, err);
    if (rc == PML_OK)
        rc = verify_batch(f, offsets, batch->length, err);
    if (rc != PML_OK) {
        batch->release(batch);
        return rc;
    }
    PML_RETURN_IF(take_table_columns(f, &rows, batch, err));
    return pml_rolling__write(f->rolling, &rows, err);
}

static int drain(flush *f, struct ArrowArrayStream *stream, pml_error *err)
{
    pml_rt_context *c = f->pb->ctx;
    PML_RETURN_IF(pml_rt_stream__columns(f->columns, stream, c->transport, c->n_transport, f->pb->name, err));
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0)
            return pml_rt_stream__error(stream, f->pb->name, err);
        if (batch.release == NULL)
            return PML_OK;
        PML_RETURN_IF(flush_batch(f, &batch, err));
    }
}

static int flush_segment(flush *f, const rt_segment *s, pml_error *err)
{
    pml_rt_streams streams = {.struct_size = sizeof streams};
    size_t done = 0;
    int rc;
    f->segment = s;
    f->rows = 0;
    f->last_offset = -1;
    f->hash = 0;
    if (f->pb->ctx->options.rt_verify_commit == PML_RT_VERIFY_EXACT) {
        f->exact = pml_env__calloc(f->env, (size_t)s->note.rows, sizeof *f->exact);
        if (f->exact == NULL)
            return pml_error__no_memory(err);
    }
    pml_rt__assert_store_call();
    rc = f->pb->vt->commit_streams(f->pb->store, &streams, s->handle, err);
    if (rc != PML_OK) {
        rc = pml_rt_stream__plugin_code(rc, err, "commit_streams", f->pb->name);
        goto out;
    }
    for (; done < streams.n; done++) {
        PML_TRY(drain(f, &streams.v[done], err));
        streams.v[done].release(&streams.v[done]);
    }
    PML_TRY(verify_segment(f, err));
out:
    for (; done < streams.n; done++)
        if (streams.v[done].release != NULL)
            streams.v[done].release(&streams.v[done]);
    if (streams.free != NULL)
        streams.free(&streams);
    pml_env__free(f->env, f->exact);
    f->exact = NULL;
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
    flush f = {.pb = pb, .env = pb->ctx->env};
    pml_table *t = pb->ctx->table;
    rt_segment *segments = NULL;
    pml_file_shape shape;
    pml_arena arena;
    size_t n = 0;
    int rc;
    pml_arena__init(&arena, f.env);
    *out = (rt_flush_result){0};
    *anything = false;
    PML_TRY(claim(&segments, &n, pb, err));
    if (segments == NULL || n == 0)
        goto out;
    out->cover = (pml_rt_range){segments[0].cover.begin, segments[n - 1].cover.end};
    out->n_segments = n;
    f.columns = pml_env__calloc(f.env, t->schema->n_fields + 1, sizeof *f.columns);
    if (f.columns == NULL || pml_new_files__init(&out->files, f.env, pb->key.partition, pb->key.bucket, pb->total_buckets) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_file_shape__init(&shape, &arena, t, err));
    PML_TRY(pml_rolling__new(&f.rolling, t, &shape, &out->files, pb->next_sequence, err));
    for (size_t i = 0; i < n; i++) {
        PML_TRY(flush_segment(&f, &segments[i], err));
        out->rows += segments[i].note.rows;
    }
    PML_TRY(pml_rolling__finish(f.rolling, err));
    pb->next_sequence = pml_rolling__next_sequence(f.rolling);
    pml_rt_pb__mark(pb, out->cover, RT_SEGMENT_PREPARED);
    *anything = true;
out:
    pml_rolling__free(f.rolling);
    pml_env__free(f.env, f.columns);
    if (rc != PML_OK) {
        pml_new_files__delete(&out->files);
        pml_new_files__clear(&out->files);
        if (n > 0)
            pml_rt_pb__mark(pb, out->cover, RT_SEGMENT_SEALED);
        if (rc == PML_E_PLUGIN_CONTRACT)
            rc = pml_rt_pb__store_failed(pb, rc, err, "commit_streams");
    }
    pml_env__free(f.env, segments);
    pml_arena__clear(&arena);
    return rc;
}
