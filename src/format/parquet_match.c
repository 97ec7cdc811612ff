/* SPDX-License-Identifier: Apache-2.0 */
#include "format/parquet_match.h"

#include <assert.h>

#include "format/read_common.h"

enum {
    MATCH_ROWS_MAX = 65536, /* more are not held up by a look at each */
    MATCH_GAP_ROWS = 128    /* a stretch of fewer rows is cheaper to decode than to go around */
};

typedef struct matcher {
    const pml_parquet_file *f;
    const pml_format_read *q;
    pml_field *fields; /* of the predicate */
    int32_t *columns;  /* of the file */
    size_t n;
    const pml_parquet_rows *in;
    size_t range; /* of in */
    int64_t done; /* rows of it */
    pml_bridge_rows *v;
    size_t n_out, cap;
    int64_t total;
} matcher;

struct column_walk {
    matcher *m;
    bool unknown;
};

/* Only columns that come as they lie in the file: others are cast first. */
static void column_add(void *arg, int32_t field_id)
{
    struct column_walk *w = arg;
    matcher *m = w->m;
    size_t i = 0;
    char want[48];
    while (i < m->q->n_fields && m->q->fields[i].id != field_id)
        i++;
    if (i == m->q->n_fields || m->f->columns[i] < 0 || pml_type__is_nested(&m->q->fields[i].type)) {
        w->unknown = true;
        return;
    }
    pml_type__arrow_format(want, &m->q->fields[i].type);
    w->unknown = w->unknown || strcmp(m->f->schema->children[m->f->columns[i]]->format, want) != 0;
    m->fields[m->n] = m->q->fields[i];
    m->columns[m->n++] = m->f->columns[i];
}

/* Row `row` of the range that the batches have come to. */
static int row_add(matcher *m, int64_t row, pml_error *err)
{
    const pml_bridge_rows *from = &m->in->v[m->range];
    pml_bridge_rows *last = m->n_out == 0 ? NULL : &m->v[m->n_out - 1];
    if (last != NULL && last->group == from->group && last->end >= from->first && row - last->end < MATCH_GAP_ROWS) {
        m->total += row + 1 - last->end;
        last->end = row + 1;
        return PML_OK;
    }
    if (m->n_out == m->cap) {
        size_t cap = m->cap == 0 ? 8 : m->cap * 2;
        pml_bridge_rows *v = pml_arena__array(m->f->arena, cap, sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        if (m->v != NULL)
            memcpy(v, m->v, m->n_out * sizeof *v);
        m->v = v;
        m->cap = cap;
    }
    assert(m->v != NULL);
    m->v[m->n_out++] = (pml_bridge_rows){.group = from->group, .first = row, .end = row + 1};
    m->total++;
    return PML_OK;
}

/* A batch lies in one range. */
static int batch_match(matcher *m, const struct ArrowArray *batch, uint8_t *keep, pml_error *err)
{
    const pml_bridge_rows *from = m->range < m->in->n ? &m->in->v[m->range] : NULL;
    if (from == NULL || batch->length > from->end - from->first - m->done)
        return pml_error__set(err, PML_E_INTERNAL, "%s gave rows that it was not asked for", m->f->path);
    if (m->q->check_values)
        PML_RETURN_IF(pml_format__check_values(m->f->path, batch, m->fields, m->n, err));
    PML_RETURN_IF(pml_pred__eval(keep, m->q->predicate, m->f->arena->env, batch, m->fields, m->n, err));
    for (int64_t i = 0; i < batch->length; i++)
        if (keep[i] != 0)
            PML_RETURN_IF(row_add(m, from->first + m->done + i, err));
    m->done += batch->length;
    if (m->done == from->end - from->first) {
        m->range++;
        m->done = 0;
    }
    return PML_OK;
}

static int stream_match(matcher *m, uint8_t *keep, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    int rc = PML_OK;
    PML_RETURN_IF(m->f->bridge->parquet_stream_rows(&stream, m->f->reader, m->in->v, m->in->n, m->columns, m->n, err));
    while (rc == PML_OK) {
        struct ArrowArray batch = {0};
        if (stream.get_next(&stream, &batch) != 0)
            rc = m->f->bridge->stream_error(&stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        rc = batch_match(m, &batch, keep, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return rc;
}

int pml_parquet__match_rows(pml_parquet_rows *rows, const pml_parquet_file *f, const pml_format_read *q, pml_error *err)
{
    matcher m = {.f = f, .q = q, .in = rows};
    struct column_walk w = {&m, false};
    /* One batch of rows is as well read at once. */
    if (q->predicate == NULL || rows->total <= q->batch_rows || rows->total > MATCH_ROWS_MAX)
        return PML_OK;
    m.fields = pml_arena__array(f->arena, q->n_fields, sizeof *m.fields);
    m.columns = pml_arena__array(f->arena, q->n_fields, sizeof *m.columns);
    if (m.fields == NULL || m.columns == NULL)
        return pml_error__no_memory(err);
    pml_pred__columns(q->predicate, column_add, &w);
    if (w.unknown || m.n == 0 || m.n == q->n_fields)
        return PML_OK;
    uint8_t *keep = pml_env__alloc(f->arena->env, (size_t)rows->total);
    int rc = keep == NULL ? pml_error__no_memory(err) : stream_match(&m, keep, err);
    pml_env__free(f->arena->env, keep);
    PML_RETURN_IF(rc);
    if (m.total > rows->total / 4 * 3) /* to go around the others costs, too */
        return PML_OK;
    *rows = (pml_parquet_rows){.n = m.n_out, .v = m.v, .total = m.total};
    if (m.n_out == 0) { /* no row group at all opens no column */
        rows->groups = pml_arena__array(f->arena, 1, sizeof *rows->groups);
        if (rows->groups == NULL)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}
