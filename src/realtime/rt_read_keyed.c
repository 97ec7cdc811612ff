/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory part of a split of a table with a primary key: each stream of the store is a sorted run for the merge with the files. Rows
 * below the committed end, which only the progress of others puts inside of a view, are taken out one by one.
 */
#include <string.h>

#include "realtime/rt_lookup.h"
#include "realtime/rt_stream_check.h"
#include "util/number.h"

typedef struct keyed_run {
    pml_env *env;
    rt_pins *pins; /* holds a reference */
    const rt_part *part;
    struct ArrowArrayStream stream; /* release NULL: none */
    bool with_offsets;
    size_t n_fields; /* asked of the store: the offset column first, if at all */
    pml_field *fields;
    int32_t *columns; /* their positions in the stream */
} keyed_run;

static void run_drop(void *p)
{
    keyed_run *r = p;
    pml_env *env = r->env;
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    pml_rt_pins__release(r->pins);
    pml_env__free(env, r->columns);
    pml_env__free(env, r->fields);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* The rows of a batch (moved) that are not committed, when some are. */
static int keep_visible(keyed_run *r, struct ArrowArray *out, struct ArrowArray *batch, const int64_t *offsets, pml_error *err)
{
    struct ArrowArray all = {0};
    int64_t n = batch->length, kept = 0;
    int64_t *rows = pml_env__alloc(r->env, (size_t)(n + 1) * sizeof *rows);
    for (int64_t i = 0; rows != NULL && i < n; i++)
        if (offsets[i] >= r->part->committed && offsets[i] < r->part->info.end)
            rows[kept++] = i;
    int rc = pml_rt_stream__take(&all, r->env, batch, r->columns + 1, r->n_fields - 1, 0, n, err);
    if (rc == PML_OK && rows == NULL)
        rc = pml_error__no_memory(err);
    if (rc == PML_OK && kept == n) {
        *out = all;
        all.release = NULL;
    } else if (rc == PML_OK && kept > 0) {
        rc = pml_batch__gather_rows(out, r->env, r->fields + 1, r->n_fields - 1, &all, rows, kept, err);
    }
    pml_array__release(&all);
    pml_env__free(r->env, rows);
    return rc;
}

static int run_next(void *p, struct ArrowArray *out, pml_error *err)
{
    keyed_run *r = p;
    *out = (struct ArrowArray){0};
    while (out->release == NULL) {
        struct ArrowArray batch = {0};
        const int64_t *offsets;
        if (r->stream.get_next(&r->stream, &batch) != 0)
            return pml_rt_stream__error(&r->stream, r->part->pb->name, err);
        if (batch.release == NULL)
            return PML_OK;
        int rc = pml_rt_stream__check_batch(&offsets, &batch, r->columns, r->n_fields, r->with_offsets, err);
        if (rc != PML_OK || batch.length == 0) {
            batch.release(&batch);
            PML_RETURN_IF(rc);
            continue;
        }
        if (r->with_offsets)
            PML_RETURN_IF(keep_visible(r, out, &batch, offsets, err));
        else
            PML_RETURN_IF(pml_rt_stream__take(out, r->env, &batch, r->columns, r->n_fields, 0, batch.length, err));
    }
    return PML_OK;
}

/* The segment that a stream says it is of; those that say nothing are of one. */
static int group_of(int64_t *group, const struct ArrowSchema *schema, const rt_part *part, pml_error *err)
{
    const char *text;
    size_t len;
    *group = 0;
    bool found = pml_schema__metadata_find(&text, &len, schema->metadata, PML_RT_META_SEGMENT), number = found && pml_number__int64(group, text, len);
    if (!found || number)
        return PML_OK;
    return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, part->pb->name,
                         "a stream of the store of %s has metadata " PML_RT_META_SEGMENT " that is no number", part->pb->name);
}

/* Moves the stream in on success. */
static int run_open(pml_memory_run *out, rt_pins *pins, const rt_part *part, struct ArrowArrayStream *stream, const pml_field *fields,
                    size_t n, bool with_offsets, pml_error *err)
{
    pml_env *env = pins->ctx->env;
    struct ArrowSchema schema = {0};
    int rc;
    keyed_run *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    pml_rt_pins__acquire(pins);
    *r = (keyed_run){.env = env, .pins = pins, .part = part, .with_offsets = with_offsets, .n_fields = n};
    r->fields = pml_env__calloc(env, n + 1, sizeof *r->fields);
    r->columns = pml_env__calloc(env, n + 1, sizeof *r->columns);
    if (r->fields == NULL || r->columns == NULL)
        PML_TRY(pml_error__no_memory(err));
    memcpy(r->fields, fields, n * sizeof *fields);
    PML_TRY(pml_rt_stream__columns(r->columns, &schema, stream, fields, n, part->pb->name, err));
    PML_TRY(group_of(&out->group, &schema, part, err));
    pml_schema__release(&schema);
    r->stream = *stream;
    stream->release = NULL;
    out->run = (pml_run){.next = run_next, .drop = run_drop, .ctx = r, .name = part->pb->name, .level = -1};
    return PML_OK;
out:
    pml_schema__release(&schema);
    run_drop(r);
    return rc;
}

static int open_runs(pml_memory_run **runs, size_t *n, rt_pins *p, const rt_part *part, const pml_memory_read *request, bool with_offsets,
                     pml_error *err)
{
    pml_rt_context *c = p->ctx;
    pml_rt_streams streams = {0};
    size_t n_fields = 0;
    int rc;
    *runs = NULL;
    *n = 0;
    PML_RETURN_IF(pml_rt_context__check_fields(c, request->fields, request->n_fields, err));
    pml_field *fields = pml_env__calloc(c->env, request->n_fields + 1, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    if (with_offsets)
        fields[n_fields++] = c->transport[c->layout->offset_column];
    for (size_t i = 0; i < request->n_fields; i++)
        fields[n_fields++] = request->fields[i];
    PML_TRY(pml_rt_part__query(&streams, part, fields, n_fields, request, err));
    *runs = pml_env__calloc(c->env, streams.n + 1, sizeof **runs);
    if (*runs == NULL)
        PML_TRY(pml_error__no_memory(err));
    for (size_t i = 0; i < streams.n; i++, ++*n)
        PML_TRY(run_open(&(*runs)[i], p, part, &streams.v[i], fields, n_fields, with_offsets, err));
out:
    for (size_t i = 0; i < streams.n; i++)
        if (streams.v[i].release != NULL)
            streams.v[i].release(&streams.v[i]);
    if (streams.free != NULL)
        streams.free(&streams);
    for (size_t i = 0; rc != PML_OK && i < *n; i++)
        (*runs)[i].run.drop((*runs)[i].run.ctx);
    if (rc != PML_OK) {
        pml_env__free(c->env, *runs);
        *runs = NULL;
        *n = 0;
    }
    pml_env__free(c->env, fields);
    return rc;
}

int pml_rt_part__open_runs(pml_memory_run **runs, size_t *n, void *pins, size_t i, const pml_memory_read *request, pml_error *err)
{
    rt_pins *p = pins;
    const rt_part *part = &p->parts[i];
    if (part->found != NULL) {
        PML_RETURN_IF(pml_rt_context__check_fields(p->ctx, request->fields, request->n_fields, err));
        return pml_rt_found__open_runs(runs, n, part, request, err);
    }
    return open_runs(runs, n, p, part, request, part->info.first < part->committed, err);
}

int pml_rt_part__count_runs(int64_t *rows, rt_pins *p, const rt_part *part, pml_error *err)
{
    const pml_memory_read request = {.batch_rows = p->ctx->options.read_batch_rows};
    pml_memory_run *runs;
    size_t n;
    int rc = PML_OK;
    *rows = 0;
    PML_RETURN_IF(open_runs(&runs, &n, p, part, &request, true, err));
    for (size_t i = 0; i < n; i++) {
        struct ArrowArray batch = {0};
        while (rc == PML_OK && (rc = runs[i].run.next(runs[i].run.ctx, &batch, err)) == PML_OK && batch.release != NULL) {
            *rows += batch.length;
            batch.release(&batch);
        }
        runs[i].run.drop(runs[i].run.ctx);
    }
    pml_env__free(p->ctx->env, runs);
    return rc;
}
