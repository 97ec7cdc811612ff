/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with keys on their way to the stores (realtime.md 8, realtime-pk.md 6.4): one sort of the batch outside of every lock, and one
 * copy of each value, into the sorted slice of its partition-bucket. Under the lock rows get their offsets and sequence numbers, in the
 * order in which they came. Rows that the table's options pass over take an offset and nothing else.
 */
#include <string.h>

#include "realtime/rt_write.h"

typedef struct keyed_call {
    rt_write_call *k;
    pml_env *env;
    struct ArrowArray view, *columns; /* the transport's columns of the batch, those of the system empty; owns nothing */
    struct ArrowArray **children;
    int8_t *kinds;   /* NULL: all +I */
    int64_t *order;  /* rows of the batch in run order; NULL: as they are */
    int64_t *arrival; /* of each row: its number in its slice, counting all */
    uint32_t *slice_of;
    pml_route route;
    rt_pb **pbs;
} keyed_call;

/* The kept rows of one slice in run order, and how they came. */
typedef struct keyed_slice {
    int64_t *rows; /* of the batch */
    int64_t n;
    int64_t *offsets;   /* explicit ones, or the number within the slice */
    int64_t *sequences; /* the number among the kept rows of the slice */
    int64_t n_all, first, last; /* rows with those passed over; explicit offsets of the first and the last */
} keyed_slice;

/* ---- the batch ---- */

static int make_view(keyed_call *c, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    const struct ArrowArray *batch = c->k->array;
    size_t skip = c->k->has_offsets ? 1 : 0;
    c->columns = pml_env__calloc(c->env, l->n_fields, sizeof *c->columns);
    c->children = pml_env__calloc(c->env, l->n_fields, sizeof(struct ArrowArray *));
    if (c->columns == NULL || c->children == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < l->n_fields; i++) {
        c->children[i] = &c->columns[i];
        if (i < PML_RT_KEYED_SYSTEM)
            continue;
        c->columns[i] = *batch->children[i - PML_RT_KEYED_SYSTEM + skip];
        c->columns[i].offset += batch->offset;
        if (c->columns[i].length != batch->length)
            c->columns[i].null_count = c->columns[i].null_count == 0 ? 0 : -1;
        c->columns[i].length = batch->length;
    }
    c->view = (struct ArrowArray){.length = batch->length, .n_children = (int64_t)l->n_fields, .children = c->children};
    return PML_OK;
}

/* Of the option's column, of the batch's last column, or of the call's options. */
static int find_kinds(keyed_call *c, pml_error *err)
{
    rt_write_call *k = c->k;
    const pml_rt_context *ctx = k->w->ctx;
    size_t table_columns = ctx->n_transport - PML_RT_KEYED_SYSTEM + (k->has_offsets ? 1 : 0);
    const int8_t *given = k->options->row_kinds;
    struct ArrowArray table = c->view;
    if (k->n_fields > table_columns) {
        const struct ArrowArray *a = k->array->children[table_columns];
        if (given != NULL)
            return pml_error__set(err, PML_E_INVAL, "kinds of rows are given twice: as a column and in the options");
        given = (const int8_t *)a->buffers[1] + a->offset + k->array->offset;
    }
    table.children += PML_RT_KEYED_SYSTEM;
    table.n_children -= PML_RT_KEYED_SYSTEM;
    return pml_row_kinds__of(&c->kinds, &ctx->kinds, &table, given, err);
}

/* What has no place in the order of rows: NaN in a sequence field. */
static int check_order(const keyed_call *c, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    for (size_t i = 0; i < l->merge.n_sequence; i++) {
        const pml_field *f = &l->fields[l->merge.sequence[i]];
        const struct ArrowArray *a = c->view.children[l->merge.sequence[i]];
        for (int64_t row = 0; (f->type.kind == PML_TYPE_FLOAT || f->type.kind == PML_TYPE_DOUBLE) && row < c->view.length; row++) {
            bool nan = f->type.kind == PML_TYPE_FLOAT ? ((const float *)a->buffers[1])[a->offset + row] != ((const float *)a->buffers[1])[a->offset + row]
                                                      : ((const double *)a->buffers[1])[a->offset + row] != ((const double *)a->buffers[1])[a->offset + row];
            if (nan && !pml_array__is_null(a, row))
                return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, NULL,
                                     "row %lld: the sequence field %s is NaN, which has no place in the order of rows", (long long)row, f->name);
        }
    }
    return PML_OK;
}

/* ---- slices ---- */

static void note_slice(keyed_call *c, size_t i)
{
    const pml_route_slice *s = &c->route.slices[i];
    for (int64_t n = 0; n < s->n; n++) {
        int64_t row = s->rows == NULL ? n : s->rows[n];
        c->arrival[row] = n;
        c->slice_of[row] = (uint32_t)i;
    }
}

static bool drops(const keyed_call *c, int64_t row)
{
    return c->kinds != NULL && pml_row_kinds__drops(&c->k->w->ctx->kinds, c->kinds[row]);
}

static void slice_free(keyed_slice *s, pml_env *env)
{
    pml_env__free(env, s->rows);
    pml_env__free(env, s->offsets);
    pml_env__free(env, s->sequences);
}

/* Sequence numbers of the kept rows in the order of their arrival, by row of the batch, into c->arrival's place holder. */
static int slice_make(keyed_slice *out, keyed_call *c, size_t i, pml_error *err)
{
    const pml_route_slice *s = &c->route.slices[i];
    const int64_t *explicit = c->k->has_offsets ? pml_rt_write__offsets(c->k->array) : NULL;
    int64_t kept = 0, total = c->view.length;
    int64_t *number = pml_env__alloc(c->env, (size_t)s->n * sizeof *number); /* of a row of the slice among those kept */
    *out = (keyed_slice){.n_all = s->n};
    out->rows = pml_env__alloc(c->env, (size_t)s->n * sizeof *out->rows);
    out->offsets = pml_env__alloc(c->env, (size_t)s->n * sizeof *out->offsets);
    out->sequences = pml_env__alloc(c->env, (size_t)s->n * sizeof *out->sequences);
    if (number == NULL || out->rows == NULL || out->offsets == NULL || out->sequences == NULL) {
        pml_env__free(c->env, number);
        return pml_error__no_memory(err);
    }
    for (int64_t n = 0; n < s->n; n++)
        number[n] = drops(c, s->rows == NULL ? n : s->rows[n]) ? -1 : kept++;
    for (int64_t at = 0; at < total && out->n < kept; at++) {
        int64_t row = c->order == NULL ? at : c->order[at], n = c->arrival[row];
        if (c->slice_of[row] != i || number[n] < 0)
            continue;
        out->rows[out->n] = row;
        out->offsets[out->n] = explicit == NULL ? n : explicit[row];
        out->sequences[out->n++] = number[n];
    }
    pml_env__free(c->env, number);
    if (explicit != NULL) {
        out->first = explicit[s->rows == NULL ? 0 : s->rows[0]];
        out->last = explicit[s->rows == NULL ? s->n - 1 : s->rows[s->n - 1]];
    }
    return PML_OK;
}

/* A fixed-width column over memory that is filled later; *values: that memory. */
static int number_column(struct ArrowArray *out, void **values, pml_env *env, int64_t n, size_t width, pml_error *err)
{
    PML_RETURN_IF(pml_array__init(out, env, NULL, 2, 0, err));
    *values = pml_array__alloc(out, 1, (size_t)n * width);
    out->length = n;
    if (*values != NULL)
        return PML_OK;
    pml_array__release(out);
    return pml_error__no_memory(err);
}

typedef struct keyed_batch {
    struct ArrowArray array;
    int64_t *sequences, *offsets;
} keyed_batch;

/* The transport batch; its numbers still begin at 0. */
static int batch_make(keyed_batch *out, keyed_call *c, const keyed_slice *s, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    struct ArrowArray table = c->view, gathered = {0}, *columns = pml_env__calloc(c->env, l->n_fields, sizeof *columns);
    void *kinds, *sequences, *offsets;
    int rc = PML_OK;
    *out = (keyed_batch){0};
    if (columns == NULL)
        return pml_error__no_memory(err);
    table.children += PML_RT_KEYED_SYSTEM;
    table.n_children -= PML_RT_KEYED_SYSTEM;
    PML_TRY(pml_batch__gather_rows(&gathered, c->env, l->fields + PML_RT_KEYED_SYSTEM, l->n_fields - PML_RT_KEYED_SYSTEM, &table, s->rows,
                                   s->n, err));
    for (size_t i = PML_RT_KEYED_SYSTEM; i < l->n_fields; i++) {
        columns[i] = *gathered.children[i - PML_RT_KEYED_SYSTEM];
        gathered.children[i - PML_RT_KEYED_SYSTEM]->release = NULL;
    }
    PML_TRY(number_column(&columns[0], &kinds, c->env, s->n, 1, err));
    PML_TRY(number_column(&columns[1], &sequences, c->env, s->n, 8, err));
    PML_TRY(number_column(&columns[2], &offsets, c->env, s->n, 8, err));
    for (int64_t i = 0; i < s->n; i++)
        ((int8_t *)kinds)[i] = c->kinds == NULL ? PML_ROW_INSERT : c->kinds[s->rows[i]];
    PML_TRY(pml_batch__from_columns(&out->array, c->env, columns, l->n_fields, s->n, err));
    out->sequences = sequences;
    out->offsets = offsets;
out:
    for (size_t i = 0; rc != PML_OK && i < l->n_fields; i++)
        pml_array__release(&columns[i]);
    pml_array__release(&gathered);
    pml_env__free(c->env, columns);
    return rc;
}

/* ---- one slice ---- */

static int write_locked(rt_slice_offsets *o, keyed_call *c, rt_pb *pb, const keyed_slice *s, keyed_batch *b, pml_error *err)
{
    PML_RETURN_IF(pml_rt_pb__check_state(pb, err));
    PML_RETURN_IF(pml_rt_write__range(&o->range, c->k, pb, s->n_all, s->first, s->last, err));
    if (pb->next_sequence > INT64_MAX - s->n)
        return pml_error__at(err, PML_E_OVERFLOW, PML_PLACE_PB, pb->name, "the sequence numbers of %s are used up", pb->name);
    int64_t base = c->k->has_offsets ? 0 : o->range.begin;
    for (int64_t i = 0; i < s->n; i++) {
        b->sequences[i] = pb->next_sequence + s->sequences[i];
        b->offsets[i] = base + s->offsets[i];
    }
    for (int64_t i = 0; !o->dense && i < s->n; i++)
        o->hash += pml_rt_mix64((uint64_t)b->offsets[i]);
    pml_rt_batch batch = {.struct_size = sizeof batch,
                          .array = &b->array,
                          .schema_id = c->k->w->table->schema->id,
                          .range = o->range,
                          .rows = s->n,
                          .first_sequence = pb->next_sequence,
                          .last_sequence = pb->next_sequence + s->n - 1,
                          .bytes = o->bytes};
    const bool first = pb->building.rows == 0;
    PML_RETURN_IF(pml_rt_write__hand_over(c->k, pb, o, &batch, err));
    if (first)
        pb->building_sequence = pb->next_sequence;
    pb->next_sequence += s->n;
    return PML_OK;
}

static int apply_slice(keyed_call *c, size_t i, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    keyed_slice s = {0};
    keyed_batch b = {0};
    rt_pb *pb = c->pbs[i];
    int rc;
    PML_TRY(slice_make(&s, c, i, err));
    if (s.n > 0)
        PML_TRY(batch_make(&b, c, &s, err));
    rt_slice_offsets o = {.rows = s.n, .dense = !c->k->has_offsets && s.n == s.n_all};
    if (s.n > 0)
        o.bytes = pml_batch__bytes(&b.array, l->fields, l->n_fields);
    pml_rt_sequences__catch_up(pb);
    pml_mutex__lock(&pb->write_mu);
    rc = write_locked(&o, c, pb, &s, &b, err);
    pml_mutex__unlock(&pb->write_mu);
    if (rc == PML_OK)
        pml_rt_write__applied(c->k, pb, o.range, s.n_all);
out:
    pml_array__release(&b.array);
    slice_free(&s, c->env);
    return rc;
}

static int route_rows(keyed_call *c, pml_error *err)
{
    size_t n = (size_t)c->view.length;
    PML_RETURN_IF(pml_rt_write__route(&c->route, c->k, err));
    c->arrival = pml_env__alloc(c->env, n * sizeof *c->arrival);
    c->slice_of = pml_env__alloc(c->env, n * sizeof *c->slice_of);
    c->pbs = pml_env__calloc(c->env, c->route.n, sizeof *c->pbs);
    if (c->arrival == NULL || c->slice_of == NULL || c->pbs == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < c->route.n; i++)
        note_slice(c, i);
    return pml_rt_write__pbs(c->pbs, c->k, &c->route, err);
}

int pml_rt_write__keyed(rt_write_call *k, pml_error *err)
{
    keyed_call c = {.k = k, .env = k->w->env};
    int rc;
    PML_TRY(make_view(&c, err));
    PML_TRY(find_kinds(&c, err));
    PML_TRY(check_order(&c, err));
    PML_TRY(route_rows(&c, err));
    PML_TRY(pml_sorter__order(&c.order, c.env, &k->w->ctx->layout->sorter, &c.view, err));
    for (size_t i = 0; i < c.route.n; i++)
        PML_TRY(apply_slice(&c, i, err));
out:
    for (size_t i = 0; c.pbs != NULL && i < c.route.n; i++)
        pml_rt_pb__release(c.pbs[i]);
    pml_env__free(c.env, c.pbs);
    pml_env__free(c.env, c.slice_of);
    pml_env__free(c.env, c.arrival);
    pml_env__free(c.env, c.order);
    pml_env__free(c.env, c.kinds);
    pml_env__free(c.env, c.children);
    pml_env__free(c.env, c.columns);
    pml_route__clear(&c.route);
    return rc;
}
