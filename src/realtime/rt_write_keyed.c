/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with keys on their way to the stores (realtime.md 8, realtime-pk.md 6.4): one sort of the batch outside of every lock, and one
 * copy of each value, into the sorted slice of its partition-bucket; none when they are in order as they came. Under the lock rows get
 * their offsets and sequence numbers, in the order in which they came. Rows that the table's options pass over take an offset and nothing
 * else.
 */
#include <string.h>

#include "merge/row_order.h"
#include "realtime/rt_keyed_batch.h"
#include "realtime/rt_write.h"
#include "util/hash.h"

enum { FEW_COLUMNS = 24 };

/* Room for a view of few columns. */
typedef struct keyed_room {
    struct ArrowArray columns[FEW_COLUMNS], *children[FEW_COLUMNS];
} keyed_room;

typedef struct keyed_call {
    rt_write_call *k;
    pml_env *env;
    struct ArrowArray view, *columns; /* the transport's columns of the batch, those of the system empty; owns nothing. columns: room */
    struct ArrowArray **children;
    keyed_room *room;
    int8_t *kinds;      /* NULL: all +I */
    int64_t *order;     /* rows of the batch in run order; NULL: as they are */
    int64_t *numbers;   /* of each row: how many came before it in its slice, and how many of those are kept; NULL: both the row itself */
    int64_t *rows;      /* kept ones in run order, slice by slice; NULL: the order */
    pml_route route;
    size_t n_slices;
    pml_row_list *lists; /* of each slice in rows */
    rt_pb **pbs;
    pml_row_list one_list; /* room for one slice */
    rt_pb *one_pb;
} keyed_call;

/* One slice: its kept rows in run order, and how it came. */
typedef struct keyed_slice {
    pml_row_list kept;
    int64_t n_all, first, last; /* rows with those passed over; explicit offsets of the first and the last */
} keyed_slice;

/* ---- the batch ---- */

static int make_view(keyed_call *c, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    const struct ArrowArray *batch = c->k->array;
    size_t skip = c->k->has_offsets ? 1 : 0;
    bool few = l->n_fields <= FEW_COLUMNS;
    c->columns = few ? c->room->columns : pml_env__alloc(c->env, l->n_fields * sizeof *c->columns);
    c->children = few ? c->room->children : pml_env__alloc(c->env, l->n_fields * sizeof(struct ArrowArray *));
    if (c->columns == NULL || c->children == NULL)
        return pml_error__no_memory(err);
    c->columns[0] = (struct ArrowArray){0};
    for (size_t i = 0; i < PML_RT_KEYED_SYSTEM; i++)
        c->children[i] = &c->columns[0];
    for (size_t i = PML_RT_KEYED_SYSTEM; i < l->n_fields; i++) {
        struct ArrowArray *given = batch->children[i - PML_RT_KEYED_SYSTEM + skip];
        bool fits = batch->offset == 0 && given->length == batch->length;
        c->children[i] = fits ? given : &c->columns[i];
        if (fits)
            continue;
        c->columns[i] = *given;
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

static int check_order(const keyed_call *c, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    const pml_merge_layout *m = &l->merge;
    int64_t row, n = c->view.length;
    int rc = pml_row_order__check_values(&row, l->fields, c->view.children, n, m->keys, m->n_keys, true, err);
    if (rc == PML_OK)
        rc = pml_row_order__check_values(&row, l->fields, c->view.children, n, m->sequence, m->n_sequence, false, err);
    return rc == PML_OK ? rc : pml_error__prefix(err, rc, "row %lld", (long long)row);
}

/* ---- slices ---- */

static bool drops(const keyed_call *c, int64_t row)
{
    return c->kinds != NULL && pml_row_kinds__drops(&c->k->w->ctx->kinds, c->kinds[row]);
}

/* Numbers the rows in the order of their arrival. */
static void number_rows(keyed_call *c, uint32_t *slice_of)
{
    for (size_t i = 0; i < c->n_slices; i++) {
        const int64_t *rows = c->route.n == 0 ? NULL : c->route.slices[i].rows;
        int64_t n = rows == NULL ? c->view.length : c->route.slices[i].n, kept = 0;
        for (int64_t at = 0; at < n; at++) {
            int64_t row = rows == NULL ? at : rows[at];
            slice_of[row] = drops(c, row) ? UINT32_MAX : (uint32_t)i;
            c->numbers[2 * row] = at;
            c->numbers[2 * row + 1] = kept;
            kept += slice_of[row] != UINT32_MAX;
        }
        c->lists[i].n = kept;
    }
}

/* Deals the kept rows out to their slices, in one pass over the run order. */
static int deal_rows(keyed_call *c, pml_error *err)
{
    size_t n = (size_t)c->view.length;
    bool all = c->kinds == NULL || !pml_row_kinds__drops_any(&c->k->w->ctx->kinds, c->kinds, c->view.length);
    c->lists = c->n_slices == 1 ? &c->one_list : pml_env__calloc(c->env, c->n_slices, sizeof *c->lists);
    if (c->lists == NULL)
        return pml_error__no_memory(err);
    c->lists[0] = (pml_row_list){c->order, c->view.length};
    if (all && c->n_slices == 1)
        return PML_OK;
    uint32_t *slice_of = pml_env__alloc(c->env, n * sizeof *slice_of);
    int64_t **to = pml_env__calloc(c->env, c->n_slices, sizeof *to);
    c->numbers = pml_env__alloc(c->env, 2 * n * sizeof *c->numbers);
    c->rows = pml_env__alloc(c->env, n * sizeof *c->rows);
    int rc = slice_of == NULL || to == NULL || c->numbers == NULL || c->rows == NULL ? pml_error__no_memory(err) : PML_OK;
    if (rc == PML_OK)
        number_rows(c, slice_of);
    for (size_t i = 0, at = 0; rc == PML_OK && i < c->n_slices; at += (size_t)c->lists[i++].n)
        c->lists[i].rows = to[i] = c->rows + at;
    for (size_t at = 0; rc == PML_OK && at < n; at++) {
        int64_t row = c->order == NULL ? (int64_t)at : c->order[at];
        if (slice_of[row] != UINT32_MAX)
            *to[slice_of[row]]++ = row;
    }
    pml_env__free(c->env, to);
    pml_env__free(c->env, slice_of);
    return rc;
}

static keyed_slice slice_of(const keyed_call *c, size_t i)
{
    const int64_t *explicit = c->k->has_offsets ? pml_rt_write__offsets(c->k->array) : NULL;
    const int64_t *rows = c->route.n == 0 ? NULL : c->route.slices[i].rows;
    keyed_slice s = {.kept = c->lists[i], .n_all = rows == NULL ? c->view.length : c->route.slices[i].n};
    if (explicit != NULL) {
        s.first = explicit[rows == NULL ? 0 : rows[0]];
        s.last = explicit[rows == NULL ? s.n_all - 1 : rows[s.n_all - 1]];
    }
    return s;
}

/* The system columns of a slice; what is assigned still begins at 0. */
static void fill_system(rt_keyed_batch *b, const keyed_call *c, const keyed_slice *s)
{
    const int64_t *explicit = c->k->has_offsets ? pml_rt_write__offsets(c->k->array) : NULL;
    for (int64_t i = 0; i < s->kept.n; i++) {
        int64_t row = s->kept.rows == NULL ? i : s->kept.rows[i];
        b->kinds[i] = c->kinds == NULL ? PML_ROW_INSERT : c->kinds[row];
        b->sequences[i] = c->numbers == NULL ? row : c->numbers[2 * row + 1];
        b->offsets[i] = explicit != NULL ? explicit[row] : c->numbers == NULL ? row : c->numbers[2 * row];
    }
}

/* ---- one slice ---- */

static int write_locked(rt_slice_offsets *o, keyed_call *c, rt_pb *pb, const keyed_slice *s, rt_keyed_batch *b, pml_error *err)
{
    int64_t n = s->kept.n;
    PML_RETURN_IF(pml_rt_pb__check_state(pb, err));
    PML_RETURN_IF(pml_rt_write__range(&o->range, c->k, pb, s->n_all, s->first, s->last, err));
    if (pb->next_sequence > INT64_MAX - n)
        return pml_error__at(err, PML_E_OVERFLOW, PML_PLACE_PB, pb->name, "the sequence numbers of %s are used up", pb->name);
    int64_t base = c->k->has_offsets ? 0 : o->range.begin, sequence = pb->next_sequence;
    for (int64_t i = 0; i < n; i++) {
        b->sequences[i] += sequence;
        b->offsets[i] += base;
    }
    for (int64_t i = 0; !o->dense && i < n; i++)
        o->hash += pml_hash__mix64((uint64_t)b->offsets[i]);
    pml_rt_batch batch = {.struct_size = sizeof batch,
                          .array = &b->array,
                          .schema_id = c->k->w->table->schema->id,
                          .range = o->range,
                          .rows = n,
                          .first_sequence = pb->next_sequence,
                          .last_sequence = pb->next_sequence + n - 1,
                          .bytes = o->bytes};
    const bool first = n > 0 && pb->building.rows == 0;
    PML_RETURN_IF(pml_rt_write__hand_over(c->k, pb, o, &batch, err));
    if (first)
        atomic_store_explicit(&pb->building_sequence, pb->next_sequence, memory_order_release);
    pb->next_sequence += n;
    return PML_OK;
}

/* Hands a slice over; b has no rows when all were passed over. */
static int write_slice(keyed_call *c, rt_pb *pb, const keyed_slice *s, rt_keyed_batch *b, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    rt_slice_offsets o = {.rows = s->kept.n, .dense = !c->k->has_offsets && s->kept.n == s->n_all};
    if (s->kept.n > 0)
        o.bytes = pml_rt_keyed_batch__bytes(b, l);
    pml_rt_sequences__catch_up(pb, &c->k->looked);
    pml_mutex__lock(&pb->write_mu);
    int rc = write_locked(&o, c, pb, s, b, err);
    pml_mutex__unlock(&pb->write_mu);
    if (rc == PML_OK)
        pml_rt_write__applied(c->k, pb, o.range, s->n_all);
    return rc;
}

/* Rows that are in order already stay where they are. */
static bool can_move(const keyed_call *c)
{
    const struct ArrowArray *a = c->k->array;
    bool ok = c->n_slices == 1 && c->lists[0].rows == NULL && a->offset == 0;
    for (int64_t i = 0; ok && i < a->n_children; i++)
        ok = a->children[i]->length == a->length;
    return ok;
}

static int move_slice(keyed_call *c, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    const keyed_slice s = slice_of(c, 0);
    size_t first = c->k->has_offsets ? 1 : 0;
    rt_keyed_batch b;
    PML_RETURN_IF(pml_rt_keyed_batch__new(&b, c->env, l->n_fields, s.kept.n, c->k->array, first, err));
    fill_system(&b, c, &s);
    int rc = write_slice(c, c->pbs[0], &s, &b, err);
    if (rc != PML_OK && b.array.release != NULL)
        pml_rt_keyed_batch__give_back(&b, c->k->array);
    pml_rt_keyed_batch__clear(&b);
    return rc;
}

/* One copy of each value, into the slice of its partition-bucket. */
static int copy_slices(keyed_call *c, pml_error *err)
{
    const pml_rt_layout *l = c->k->w->ctx->layout;
    size_t n_table = l->n_fields - PML_RT_KEYED_SYSTEM;
    struct ArrowArray table = c->view, *copies = pml_env__calloc(c->env, c->n_slices, sizeof *copies);
    int rc = PML_OK;
    table.children += PML_RT_KEYED_SYSTEM;
    table.n_children -= PML_RT_KEYED_SYSTEM;
    if (copies == NULL)
        return pml_error__no_memory(err);
    if (c->n_slices == 1)
        PML_TRY(pml_batch__gather_rows(copies, c->env, l->fields + PML_RT_KEYED_SYSTEM, n_table, &table, c->lists[0].rows, c->lists[0].n, err));
    else
        PML_TRY(pml_batch__deal(copies, c->env, l->fields + PML_RT_KEYED_SYSTEM, n_table, &table, c->lists, c->n_slices, err));
    for (size_t i = 0; i < c->n_slices; i++) {
        const keyed_slice s = slice_of(c, i);
        rt_keyed_batch b;
        PML_TRY(pml_rt_keyed_batch__new(&b, c->env, l->n_fields, s.kept.n, &copies[i], 0, err));
        fill_system(&b, c, &s);
        rc = write_slice(c, c->pbs[i], &s, &b, err);
        pml_rt_keyed_batch__clear(&b);
        PML_TRY(rc);
    }
out:
    for (size_t i = 0; i < c->n_slices; i++)
        pml_array__release(&copies[i]);
    pml_env__free(c->env, copies);
    return rc;
}

/* only: where all rows go, if that is known; NULL: they are routed. */
static int find_pbs(keyed_call *c, rt_pb *only, pml_error *err)
{
    c->n_slices = 1;
    if (only == NULL) {
        PML_RETURN_IF(pml_rt_write__route(&c->route, c->k, err));
        c->n_slices = c->route.n;
    }
    c->pbs = c->n_slices == 1 ? &c->one_pb : pml_env__calloc(c->env, c->n_slices, sizeof *c->pbs);
    if (c->pbs == NULL)
        return pml_error__no_memory(err);
    if (only == NULL) {
        PML_RETURN_IF(pml_rt_write__pbs(c->pbs, c->k, &c->route, err));
        pml_rt_write__keep_only(c->k->w, c->pbs[0]);
        return PML_OK;
    }
    pml_rt_pb__acquire(only);
    c->pbs[0] = only;
    return PML_OK;
}

int pml_rt_write__keyed(rt_write_call *k, rt_pb *only, pml_error *err)
{
    keyed_room room;
    keyed_call c = {.k = k, .env = k->w->env, .room = &room};
    int rc;
    PML_TRY(make_view(&c, err));
    PML_TRY(find_kinds(&c, err));
    PML_TRY(check_order(&c, err));
    PML_TRY(find_pbs(&c, only, err));
    if (k->array->length > 1)
        PML_TRY(pml_sorter__order(&c.order, c.env, &k->w->ctx->layout->sorter, &c.view, err));
    PML_TRY(deal_rows(&c, err));
    rc = can_move(&c) ? move_slice(&c, err) : copy_slices(&c, err);
out:
    for (size_t i = 0; c.pbs != NULL && i < c.n_slices; i++)
        pml_rt_pb__release(c.pbs[i]);
    if (c.n_slices != 1) {
        pml_env__free(c.env, c.pbs);
        pml_env__free(c.env, c.lists);
    }
    pml_env__free(c.env, c.rows);
    pml_env__free(c.env, c.numbers);
    pml_env__free(c.env, c.order);
    pml_env__free(c.env, c.kinds);
    if (c.columns != room.columns) {
        pml_env__free(c.env, c.children);
        pml_env__free(c.env, c.columns);
    }
    pml_route__clear(&c.route);
    return rc;
}
