/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the memory part of a split (10.2): the store's streams one after the other, cut to the visible offsets. Offsets increase
 * inside a batch, so the visible rows of a batch are one range and nothing is copied. The offset column is not asked for when the
 * whole view is visible.
 */
#include <string.h>

#include "columnar/batch.h"
#include "realtime/rt_key_range.h"
#include "realtime/rt_plan.h"
#include "realtime/rt_stream_check.h"

typedef struct memory_reader {
    pml_env *env;
    rt_pins *pins;
    const rt_part *part;
    bool with_offsets;
    size_t n_fields; /* asked of the store: the offset column first, if at all */
    pml_field *fields;
    int32_t *columns; /* their positions in the current stream */
    pml_rt_streams streams;
    size_t next; /* stream being drained is next - 1 */
    bool open;
} memory_reader;

static void reader_drop(void *owner)
{
    memory_reader *r = owner;
    pml_env *env = r->env;
    for (size_t i = 0; i < r->streams.n; i++)
        if (r->streams.v[i].release != NULL)
            r->streams.v[i].release(&r->streams.v[i]);
    if (r->streams.free != NULL)
        r->streams.free(&r->streams);
    pml_rt_pins__release(r->pins);
    pml_env__free(env, r->columns);
    pml_env__free(env, r->fields);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* First row with an offset >= bound; offsets increase. */
static int64_t lower_bound(const int64_t *offsets, int64_t n, int64_t bound)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (offsets[mid] < bound)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The visible rows of a batch: [*from, *to). */
static int visible_range(memory_reader *r, int64_t *from, int64_t *to, const struct ArrowArray *batch, pml_error *err)
{
    const int64_t *offsets;
    *from = 0;
    *to = batch->length;
    PML_RETURN_IF(pml_rt_stream__check_batch(&offsets, batch, r->columns, r->n_fields, r->with_offsets, err));
    if (!r->with_offsets)
        return PML_OK;
    for (int64_t i = 1; i < batch->length; i++)
        if (offsets[i - 1] >= offsets[i])
            return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, r->part->pb->name,
                                 "the store of %s gave offset %lld after %lld: a view's rows must come in offset order", r->part->pb->name,
                                 (long long)offsets[i], (long long)offsets[i - 1]);
    *from = lower_bound(offsets, batch->length, r->part->committed);
    *to = lower_bound(offsets, batch->length, r->part->info.end);
    return PML_OK;
}

/* The next batch of the store; release NULL at the end of all streams. */
static int store_next(memory_reader *r, struct ArrowArray *batch, pml_error *err)
{
    const char *name = r->part->pb->name;
    for (;;) {
        if (!r->open) {
            if (r->next == r->streams.n)
                return PML_OK;
            PML_RETURN_IF(pml_rt_stream__columns(r->columns, NULL, &r->streams.v[r->next], r->fields, r->n_fields, name, err));
            r->next++;
            r->open = true;
        }
        struct ArrowArrayStream *s = &r->streams.v[r->next - 1];
        if (s->get_next(s, batch) != 0)
            return pml_rt_stream__error(s, name, err);
        if (batch->release != NULL)
            return PML_OK;
        s->release(s);
        r->open = false;
    }
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    memory_reader *r = owner;
    while (out->release == NULL) {
        struct ArrowArray batch = {0};
        int64_t from, to;
        PML_RETURN_IF(store_next(r, &batch, err));
        if (batch.release == NULL)
            return PML_OK;
        int rc = visible_range(r, &from, &to, &batch, err);
        if (rc != PML_OK || from >= to) {
            batch.release(&batch);
            PML_RETURN_IF(rc);
            continue;
        }
        size_t skip = r->with_offsets ? 1 : 0;
        PML_RETURN_IF(pml_rt_stream__take(out, r->env, &batch, r->columns + skip, r->n_fields - skip, from, to, err));
    }
    return PML_OK;
}

int pml_rt_part__query(pml_rt_streams *out, const rt_part *part, const pml_field *fields, size_t n, const pml_memory_read *request,
                       pml_error *err)
{
    struct ArrowSchema schema = {0};
    pml_rt_context *c = part->pb->ctx;
    pml_rt_key_range keys;
    int rc;
    PML_RETURN_IF(pml_rt_key_range__of(&keys, c->env, c->layout, request->predicate, err));
    PML_TRY(pml_type__export(&schema, c->env, fields, n, err));
    const pml_rt_query q = {.struct_size = sizeof q,
                            .read_schema = &schema,
                            .predicate = request->predicate,
                            .visible = {part->committed, part->info.end},
                            .batch_rows = request->batch_rows,
                            .limit = -1,
                            .key_lo = keys.lo.release == NULL ? NULL : &keys.lo,
                            .key_hi = keys.hi.release == NULL ? NULL : &keys.hi};
    *out = (pml_rt_streams){.struct_size = sizeof *out};
    pml_rt__assert_store_call();
    rc = part->vt->query_streams(part->view, out, &q, err);
    if (rc != PML_OK)
        rc = pml_rt_stream__plugin_code(rc, err, "query_streams", part->pb->name);
out:
    pml_schema__release(&schema);
    pml_rt_key_range__clear(&keys);
    return rc;
}

/* Memory has the columns of the context's schema; aligning them with another one is not done yet. */
int pml_rt_context__check_fields(const pml_rt_context *c, const pml_field *fields, size_t n, pml_error *err)
{
    const pml_table_schema *s = c->table->schema;
    for (size_t i = 0; i < n; i++) {
        const pml_field *f = &fields[i];
        if (f->id == PML_ID_SEQUENCE || f->id == PML_ID_VALUE_KIND)
            continue;
        int32_t at = pml_table_schema__find_id(s, f->id);
        if (at < 0 || !pml_type__equal(&s->fields[at].type, &f->type, true))
            return pml_error__set(err, PML_E_UNSUPPORTED,
                                  "needs schema-evolution: rows in memory of %s have schema %lld, in which column '%s' is missing or "
                                  "of another type; commit them and open a new context",
                                  c->table->path, (long long)s->id, f->name);
    }
    return PML_OK;
}

static int reader_open(memory_reader **out, rt_pins *pins, const rt_part *part, bool with_offsets, const pml_memory_read *request,
                       pml_error *err)
{
    pml_rt_context *c = pins->ctx;
    int rc;
    *out = NULL;
    PML_RETURN_IF(pml_rt_context__check_fields(c, request->fields, request->n_fields, err));
    memory_reader *r = pml_env__calloc(c->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(c->env);
    r->env = c->env;
    pml_rt_pins__acquire(pins);
    r->pins = pins;
    r->part = part;
    r->with_offsets = with_offsets;
    r->fields = pml_env__calloc(c->env, request->n_fields + 1, sizeof *r->fields);
    r->columns = pml_env__calloc(c->env, request->n_fields + 1, sizeof *r->columns);
    if (r->fields == NULL || r->columns == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    if (with_offsets)
        r->fields[r->n_fields++] = c->transport[c->layout->offset_column];
    for (size_t i = 0; i < request->n_fields; i++)
        r->fields[r->n_fields++] = request->fields[i];
    PML_TRY(pml_rt_part__query(&r->streams, part, r->fields, r->n_fields, request, err));
    *out = r;
    r = NULL;
out:
    if (r != NULL)
        reader_drop(r);
    return rc;
}

int pml_rt_part__count(int64_t *rows, rt_pins *p, rt_part *part, pml_error *err)
{
    const pml_memory_read request = {.batch_rows = p->ctx->options.read_batch_rows};
    memory_reader *r;
    int rc;
    *rows = part->info.rows;
    if (part->info.first >= part->committed)
        return PML_OK;
    *rows = 0;
    if (p->ctx->layout->mode == PML_RT_MODE_PRIMARY_KEY)
        return pml_rt_part__count_runs(rows, p, part, err);
    PML_RETURN_IF(reader_open(&r, p, part, true, &request, err));
    for (;;) {
        struct ArrowArray batch = {0};
        rc = reader_next(r, &batch, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        *rows += batch.length;
        batch.release(&batch);
    }
    reader_drop(r);
    return rc;
}

int pml_rt_part__open(struct ArrowArrayStream *out, void *pins, size_t i, const pml_memory_read *request, pml_error *err)
{
    rt_pins *p = pins;
    const rt_part *part = &p->parts[i];
    struct ArrowSchema schema = {0};
    memory_reader *r = NULL;
    int rc;
    memset(out, 0, sizeof *out);
    PML_TRY(reader_open(&r, p, part, part->info.first < part->committed, request, err));
    PML_TRY(pml_type__export(&schema, p->ctx->env, request->fields, request->n_fields, err));
    PML_TRY(pml_stream__new(out, p->ctx->env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
