/* SPDX-License-Identifier: Apache-2.0 */
#include "table/read_pair.h"

#include <string.h>

#include "columnar/binary_row.h"
#include "columnar/item.h"
#include "merge/function.h"
#include "table/file_source.h"
#include "table/prune.h"

enum { BEFORE = 0, AFTER = 1 };

typedef struct pair_reader {
    pml_env *env;
    pml_plan *plan;
    pml_merge_read read; /* what one side is asked for */
    struct ArrowArrayStream sides[2]; /* release NULL: moved, or not open */
    size_t kind_at;      /* of the stream's columns: _VALUE_KIND; n_fields: it is not wanted */
    /* DIFF */
    pml_field *fields; /* all columns, then _SEQUENCE_NUMBER and _VALUE_KIND */
    const pml_type **types;
    int32_t *values; /* positions of those that are compared: the columns */
    size_t n_values;
    pml_merge_layout layout;
    pml_merge_function function;
    pml_merge *merge;
    pml_buf keys[2]; /* rows as bytes */
    int32_t waits;   /* the side that comes first of a tie */
    pml_arena arena;
} pair_reader;

static void reader_drop(void *owner)
{
    pair_reader *r = owner;
    pml_env *env = r->env;
    pml_merge__free(r->merge);
    for (size_t i = 0; i < 2; i++) {
        if (r->sides[i].release != NULL)
            r->sides[i].release(&r->sides[i]);
        pml_buf__clear(&r->keys[i]);
    }
    pml_arena__clear(&r->arena);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int side_next(struct ArrowArrayStream *side, struct ArrowArray *out, pml_error *err)
{
    int code = side->get_next(side, out);
    return code == 0 ? PML_OK : pml_source__error(side, code, err);
}

/* ---- what differs ---- */

static int row_bytes(pml_buf *out, const pair_reader *r, const pml_merge_group *g, const pml_merge_row *row, pml_error *err)
{
    pml_buf__reset(out);
    return pml_binary_row__write_from_arrow(out, r->types, g->batches[row->ref.batch], r->values, r->n_values, row->ref.row, err);
}

static int put_row(pml_merge_output *o, const pml_merge_row *row, int8_t kind)
{
    PML_RETURN_IF(pml_merge_output__pick_row(o, row->ref));
    return pml_merge_output__end_row(o, kind, row->sequence);
}

/* Neither is newer by sequence fields or sequence number. */
static bool tie(const pml_merge_group *g)
{
    const pml_merge_row *a = &g->rows[0], *b = &g->rows[1];
    bool same = a->sequence == b->sequence;
    for (size_t i = 0; same && i < g->layout->n_sequence; i++) {
        int32_t at = g->layout->sequence[i];
        const pml_item x = {pml_merge_group__column(g, a->ref, at), a->ref.row}, y = {pml_merge_group__column(g, b->ref, at), b->ref.row};
        same = pml_item__compare(&g->layout->fields[at].type, x, y) == 0;
    }
    return same;
}

/* Rows of both sides: which of them is the later one. Java takes the order of its merge, and of a tie that of its loser tree: the side
   that waits in it comes first, which is the later one of the last pair, or else the one that did not have the last key. */
static const pml_merge_row *later_of(const pair_reader *r, const pml_merge_group *g)
{
    return &g->rows[tie(g) ? g->rows[0].level == r->waits : 1];
}

/* One key: at most one row of each side (one_of_run), told apart by their levels. Where the row before is the later one, Java shows nothing. */
static int decide(void *self, const pml_merge_group *g, pml_merge_output *o, pml_error *err)
{
    pair_reader *r = self;
    const pml_merge_row *last = g->n == 1 ? &g->rows[0] : later_of(r, g);
    bool adds = !pml_row_kind__is_retract(last->kind);
    r->waits = g->n == 1 ? 1 - last->level : last->level;
    if (last->level == BEFORE)
        return g->n == 1 && adds ? put_row(o, last, PML_ROW_DELETE) : PML_OK;
    const pml_merge_row *before = &g->rows[last == &g->rows[0]];
    if (g->n == 2 && pml_row_kind__is_retract(before->kind) != adds) {
        PML_RETURN_IF(row_bytes(&r->keys[0], r, g, before, err));
        PML_RETURN_IF(row_bytes(&r->keys[1], r, g, last, err));
        if (r->keys[0].len == r->keys[1].len && memcmp(r->keys[0].data, r->keys[1].data, r->keys[0].len) == 0)
            return PML_OK;
    }
    return put_row(o, last, last->kind);
}

static int run_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    memset(out, 0, sizeof *out);
    return side_next(ctx, out, err);
}

static void run_drop(void *ctx)
{
    struct ArrowArrayStream *side = ctx;
    if (side->release != NULL)
        side->release(side);
}

static int diff_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    pair_reader *r = owner;
    return pml_merge__next(r->merge, out, err);
}

static int make_layout(pair_reader *r, pml_error *err)
{
    const pml_table_schema *s = r->plan->schema;
    pml_table_schema now = *s; /* with the options of now; not counted */
    int32_t *keys = pml_arena__array(&r->arena, s->n_keys, sizeof *keys), *sequence;
    size_t n = s->n_fields;
    r->fields = pml_arena__array(&r->arena, n + 2, sizeof *r->fields);
    r->types = pml_arena__array(&r->arena, n, sizeof *r->types);
    r->values = pml_arena__array(&r->arena, n, sizeof *r->values);
    if (keys == NULL || r->fields == NULL || r->types == NULL || r->values == NULL)
        return pml_error__no_memory(err);
    memcpy(r->fields, s->fields, n * sizeof *r->fields);
    r->fields[n] = pml_field_sequence_number;
    r->fields[n + 1] = pml_field_value_kind;
    for (size_t i = 0; i < n; i++) {
        if (r->fields[i].id == PML_ID_SEQUENCE) /* a column that audit logs show: a row is the same with another number */
            continue;
        r->types[r->n_values] = &r->fields[i].type;
        r->values[r->n_values++] = (int32_t)i;
    }
    for (size_t i = 0; i < s->n_keys; i++)
        keys[i] = s->key_index[i];
    now.options = r->plan->table->schema->options;
    now.n_options = r->plan->table->schema->n_options;
    r->layout = (pml_merge_layout){.fields = r->fields,
                                   .n_fields = n + 2,
                                   .keys = keys,
                                   .n_keys = s->n_keys,
                                   .sequence_descending = r->plan->table->options.sequence_order == PML_SEQUENCE_DESCENDING,
                                   .sequence_number = (int32_t)n,
                                   .row_kind = (int32_t)n + 1};
    PML_RETURN_IF(pml_merge_read__sequence(&sequence, &r->layout.n_sequence, &r->arena, r->plan->table, &now, err));
    r->layout.sequence = sequence;
    return PML_OK;
}

/* Positions of the wanted fields in the layout. */
static int wanted_columns(const int32_t **out, const pair_reader *r, const pml_field *fields, size_t n, pml_arena *arena, pml_error *err)
{
    int32_t *v = pml_arena__array(arena, n, sizeof *v);
    *out = v;
    if (v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        while (r->fields[v[i]].id != fields[i].id)
            v[i]++;
    return PML_OK;
}

static int open_diff(pair_reader *r, const pml_merge_read *q, pml_error *err)
{
    const int32_t *columns;
    pml_run runs[2];
    PML_RETURN_IF(make_layout(r, err));
    PML_RETURN_IF(wanted_columns(&columns, r, q->fields, q->n_fields, &r->arena, err));
    r->read.fields = r->fields;
    r->read.n_fields = r->layout.n_fields;
    for (size_t i = 0; i < 2; i++) {
        r->read.split = i == BEFORE ? q->split->before : q->split;
        PML_RETURN_IF(pml_merge_read__open(&r->sides[i], &r->read, err));
        runs[i] = (pml_run){.next = run_next, .drop = run_drop, .ctx = &r->sides[i], .name = r->plan->table->path, .level = (int32_t)i};
    }
    r->waits = AFTER;
    r->function = (pml_merge_function){.kind = PML_MERGE_COLUMNS, .always = true, .decide = decide, .self = r};
    const pml_merge_request request = {.layout = &r->layout,
                                       .function = &r->function,
                                       .columns = columns,
                                       .n_columns = q->n_fields,
                                       .keep_retracts = r->plan->keep_retracts,
                                       .one_of_run = true,
                                       .batch_rows = q->batch_rows};
    return pml_merge__open(&r->merge, r->env, &request, runs, 2, err);
}

/* ---- what was replaced ---- */

/* +I for -D and the other way round, -U for +U. */
static int take_back(const pair_reader *r, struct ArrowArray *kinds, pml_error *err)
{
    struct ArrowArray turned = {0};
    pml_builder *b;
    PML_RETURN_IF(pml_builder__new(&b, r->env, &pml_field_value_kind.type, err));
    int rc = PML_OK;
    for (int64_t i = 0; rc == PML_OK && i < kinds->length; i++) {
        pml_value v;
        pml_value__get(&v, &pml_field_value_kind.type, kinds, i);
        v.i = 3 - v.i;
        rc = pml_builder__append_value(b, &v);
    }
    rc = rc == PML_OK ? pml_builder__finish(b, &turned, err) : pml_error__no_memory(err);
    pml_builder__free(b);
    if (rc != PML_OK)
        return rc;
    kinds->release(kinds);
    *kinds = turned;
    return PML_OK;
}

static int replaced_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    pair_reader *r = owner;
    for (size_t i = 0; i < 2 && out->release == NULL; i++) {
        if (r->sides[i].release == NULL)
            continue;
        PML_RETURN_IF(side_next(&r->sides[i], out, err));
        if (out->release == NULL)
            r->sides[i].release(&r->sides[i]);
        else if (i == BEFORE && r->kind_at < r->read.n_fields)
            return take_back(r, out->children[r->kind_at], err);
    }
    return PML_OK;
}

static int open_replaced(pair_reader *r, const pml_merge_read *q, pml_error *err)
{
    for (r->kind_at = 0; r->kind_at < q->n_fields && q->fields[r->kind_at].id != pml_field_value_kind.id;)
        r->kind_at++;
    for (size_t i = 0; i < 2; i++) {
        r->read.split = i == BEFORE ? q->split->before : q->split;
        PML_RETURN_IF(pml_merge_read__open(&r->sides[i], &r->read, err));
    }
    return PML_OK;
}

/* ---- both ---- */

/* A row that does not match may be what a matching one replaced: only what all rows of a key answer alike is asked of the sides. */
static int key_predicate(pair_reader *r, const pml_pred *predicate, pml_error *err)
{
    const pml_table_schema *s = r->plan->schema;
    int32_t *ids = pml_arena__array(&r->arena, s->n_keys, sizeof *ids);
    pml_pred *keys = NULL;
    if (ids == NULL)
        return pml_error__no_memory(err);
    if (predicate != NULL && pml_pred__project(&keys, &r->arena, predicate, ids, pml_prune__key_ids(ids, s)) != PML_OK)
        return pml_error__no_memory(err);
    r->read.predicate = keys;
    return PML_OK;
}

int pml_pair_read__open(struct ArrowArrayStream *out, const pml_merge_read *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    pml_env *env = q->plan->env;
    bool diff = q->split->kind == PML_SPLIT_DIFF;
    int rc;
    memset(out, 0, sizeof *out);
    pair_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    pml_plan__acquire(q->plan);
    r->plan = q->plan;
    r->read = *q;
    r->read.ahead = NULL; /* of two merges at once it knows nothing */
    pml_arena__init(&r->arena, env);
    pml_buf__init(&r->keys[0], env, SIZE_MAX / 2);
    pml_buf__init(&r->keys[1], env, SIZE_MAX / 2);
    PML_TRY(key_predicate(r, q->predicate, err));
    PML_TRY(diff ? open_diff(r, q, err) : open_replaced(r, q, err));
    PML_TRY(pml_type__export(&schema, env, q->fields, q->n_fields, err));
    PML_TRY(pml_stream__new(out, env, &schema, diff ? diff_next : replaced_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
