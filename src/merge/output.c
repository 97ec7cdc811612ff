/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/output.h"

#include "columnar/array_memory.h"

#include <assert.h>

/* As batch of a reference, while the batch is made: the row of the column's builder. */
#define REF_BUILT (PML_REF_NULL - 1)

int pml_merge_output__init(pml_merge_output *o, pml_env *env, const pml_merge_request *request,
                           const pml_window *window, bool computed, pml_error *err)
{
    const pml_merge_layout *l = request->layout;
    *o = (pml_merge_output){.env = env,
                            .layout = l,
                            .columns = request->columns,
                            .n_columns = request->n_columns,
                            .window = window,
                            .keep_retracts = request->keep_retracts,
                            .max = request->batch_rows};
    size_t room = (size_t)o->max + 1;
    o->rows = pml_env__calloc(env, room, sizeof *o->rows);
    o->by_position = pml_env__calloc(env, l->n_fields, sizeof *o->by_position);
    if (o->rows == NULL || o->by_position == NULL)
        return pml_error__no_memory(err);
    for (size_t i = o->n_columns; i-- > 0;) {
        o->by_position[o->columns[i]].wanted = true;
        o->by_position[o->columns[i]].first = i;
    }
    if (!computed)
        return PML_OK;
    o->by_position[l->row_kind].wanted = o->by_position[l->sequence_number].wanted = false;
    o->kinds = pml_env__calloc(env, room, sizeof *o->kinds);
    o->sequences = pml_env__calloc(env, room, sizeof *o->sequences);
    return o->kinds == NULL || o->sequences == NULL ? pml_error__no_memory(err) : PML_OK;
}

void pml_merge_output__clear(pml_merge_output *o)
{
    for (size_t i = 0; o->by_position != NULL && i < o->layout->n_fields; i++) {
        pml_env__free(o->env, o->by_position[i].refs);
        pml_builder__free(o->by_position[i].builder);
        pml_array__release(&o->by_position[i].built);
    }
    pml_env__free(o->env, o->rows);
    pml_env__free(o->env, o->by_position);
    pml_env__free(o->env, o->kinds);
    pml_env__free(o->env, o->sequences);
}

/* ---- for merge functions ---- */

bool pml_merge_output__wanted(const pml_merge_output *o, int32_t position)
{
    return o->by_position[position].wanted;
}

static int output_split(pml_merge_output *o)
{
    for (size_t i = 0; i < o->layout->n_fields; i++) {
        pml_output_column *c = &o->by_position[i];
        if (!c->wanted)
            continue;
        if (c->refs == NULL)
            c->refs = pml_env__calloc(o->env, (size_t)o->max + 1, sizeof *c->refs);
        if (c->refs == NULL)
            return PML_E_NOMEM;
        memcpy(c->refs, o->rows, (size_t)o->n * sizeof *c->refs);
        c->rows = o->n;
    }
    o->split = true;
    return PML_OK;
}

static void column_pick(pml_merge_output *o, pml_output_column *c, pml_row_ref ref)
{
    c->refs[o->n] = ref;
    c->rows = o->n + 1;
}

int pml_merge_output__pick_row(pml_merge_output *o, pml_row_ref ref)
{
    o->rows[o->n] = ref;
    for (size_t i = 0; o->split && i < o->layout->n_fields; i++)
        if (o->by_position[i].wanted)
            column_pick(o, &o->by_position[i], ref);
    return PML_OK;
}

int pml_merge_output__pick(pml_merge_output *o, int32_t position, pml_row_ref ref)
{
    pml_output_column *c = &o->by_position[position];
    if (!c->wanted)
        return PML_OK;
    if (!o->split)
        PML_RETURN_IF(output_split(o));
    column_pick(o, c, ref);
    return PML_OK;
}

pml_builder *pml_merge_output__builder(pml_merge_output *o, int32_t position)
{
    pml_output_column *c = &o->by_position[position];
    if (c->builder == NULL)
        (void)pml_builder__new(&c->builder, o->env, &o->layout->fields[position].type, NULL);
    return c->builder;
}

int pml_merge_output__built(pml_merge_output *o, int32_t position)
{
    pml_builder *b = o->by_position[position].builder;
    int64_t n = b == NULL ? 0 : pml_builder__length(b);
    assert(n > 0);
    if (n > UINT32_MAX)
        return PML_E_LIMIT;
    return pml_merge_output__pick(o, position, (pml_row_ref){REF_BUILT, (uint32_t)(n - 1)});
}

int pml_merge_output__value(pml_merge_output *o, int32_t position, const pml_value *v)
{
    if (v->kind == PML_VALUE_NULL)
        return pml_merge_output__pick(o, position, (pml_row_ref){PML_REF_NULL, 0});
    if (!o->by_position[position].wanted)
        return PML_OK;
    pml_builder *b = pml_merge_output__builder(o, position);
    if (b == NULL)
        return PML_E_NOMEM;
    int rc = pml_builder__append_value(b, v);
    if (rc == PML_OK)
        return pml_merge_output__built(o, position);
    o->failure = rc;
    o->failed_position = position;
    return rc;
}

int pml_merge_output__end_row(pml_merge_output *o, int8_t kind, int64_t sequence)
{
    assert(o->n < o->max + 1 && o->kinds != NULL);
    for (size_t i = 0; o->split && i < o->layout->n_fields; i++)
        assert(!o->by_position[i].wanted || o->by_position[i].rows == o->n + 1);
    o->kinds[o->n] = kind;
    o->sequences[o->n] = sequence;
    o->n += o->keep_retracts || !pml_row_kind__is_retract(kind);
    return PML_OK;
}

/* ---- for the merge ---- */

int pml_merge_output__explain(const pml_merge_output *o, int rc, pml_error *err)
{
    if (rc == PML_E_NOMEM)
        return pml_error__no_memory(err);
    if (rc == PML_OK || rc != o->failure)
        return rc; /* it came with words */
    return pml_error__set(err, rc, "a value that was computed for column %s %s", o->layout->fields[o->failed_position].name,
                          rc == PML_E_LIMIT ? "makes its texts too long for one batch, or is out of range" : "does not fit its type");
}

int pml_merge_output__forget(pml_merge_output *o, pml_error *err)
{
    assert(o->n == 0);
    for (size_t i = 0; o->kinds != NULL && i < o->layout->n_fields; i++) {
        struct ArrowArray built;
        pml_builder *b = o->by_position[i].builder;
        if (b == NULL || pml_builder__length(b) == 0)
            continue;
        PML_RETURN_IF(pml_builder__finish(b, &built, err));
        pml_array__release(&built);
    }
    return PML_OK;
}

int pml_merge_output__pick_rows(pml_merge_output *o, pml_row_ref first, uint32_t n, const int8_t *kinds,
                                const uint8_t *sequences, bool retracts)
{
    bool drop = retracts && !o->keep_retracts;
    for (uint32_t i = 0; o->kinds != NULL && i < n; i++) {
        uint32_t row = first.row + i;
        (void)pml_merge_output__pick_row(o, (pml_row_ref){first.batch, row});
        (void)pml_merge_output__end_row(o, kinds[row], (int64_t)pml_le64(sequences + (size_t)row * 8));
    }
    if (o->kinds != NULL)
        return PML_OK;
    pml_row_ref *to = o->rows + o->n;
    for (uint32_t i = 0; !drop && i < n; i++)
        to[i] = (pml_row_ref){first.batch, first.row + i};
    o->n += drop ? 0 : n;
    for (uint32_t i = 0; drop && i < n; i++) {
        o->rows[o->n] = (pml_row_ref){first.batch, first.row + i};
        o->n += !pml_row_kind__is_retract(kinds[first.row + i]);
    }
    return PML_OK;
}

/* n values from *values on, of which each has `width` bytes. */
static int finish_system(struct ArrowArray *out, const pml_merge_output *o, const void *values, size_t width, int64_t n, pml_error *err)
{
    void *to;
    PML_RETURN_IF(pml_array__numbers(out, &to, o->env, n, width, err));
    memcpy(to, values, (size_t)n * width);
    return PML_OK;
}

/* What was computed moves out of the builder, once for all parts that the batch is given in. */
static int finish_builder(pml_merge_output *o, pml_output_column *c, pml_error *err)
{
    if (c->builder == NULL || c->built.release != NULL)
        return PML_OK;
    PML_RETURN_IF(pml_builder__finish(c->builder, &c->built, err));
    for (int64_t i = 0; o->split && i < o->n; i++)
        c->refs[i].batch = c->refs[i].batch == REF_BUILT ? o->window->n : c->refs[i].batch;
    return PML_OK;
}

/* n rows. arrays: one entry more than the window has batches, for what was built. rows: the shared list. */
static int finish_column(struct ArrowArray *out, pml_merge_output *o, int32_t position, int64_t n, const struct ArrowArray **arrays,
                         const pml_ref_list *rows, pml_error *err)
{
    pml_output_column *c = &o->by_position[position];
    pml_ref_list own = {.env = o->env};
    uint32_t n_batches = o->window->n;
    int rc = PML_OK;
    if (o->kinds != NULL && position == o->layout->row_kind)
        return finish_system(out, o, o->kinds + o->given, sizeof *o->kinds, n, err);
    if (o->kinds != NULL && position == o->layout->sequence_number)
        return finish_system(out, o, o->sequences + o->given, sizeof *o->sequences, n, err);
    for (uint32_t i = 0; i < n_batches; i++)
        arrays[i] = o->window->batches[i]->children[position];
    arrays[n_batches] = &c->built;
    PML_TRY(finish_builder(o, c, err));
    if (o->split)
        PML_TRY(pml_ref_list__init(&own, o->env, c->refs + o->given, n, err));
    PML_TRY(pml_batch__gather_refs(out, &o->layout->fields[position].type, arrays, (size_t)n_batches + 1, o->split ? &own : rows, err));
out:
    pml_ref_list__clear(&own);
    return rc;
}

static int finish_columns(struct ArrowArray *out, pml_merge_output *o, int64_t n, const struct ArrowArray **arrays,
                          const pml_ref_list *rows, pml_error *err)
{
    int rc = PML_OK;
    for (size_t i = 0; i < o->n_columns; i++) {
        int32_t position = o->columns[i];
        size_t first = o->by_position[position].first;
        PML_TRY(first == i ? finish_column(out->children[i], o, position, n, arrays, rows, err)
                           : pml_batch__gather(out->children[i], o->env, &o->layout->fields[position].type, out->children[first], NULL,
                                               n, err));
    }
out:
    return rc;
}

/* n rows that were not given yet. */
static int give(struct ArrowArray *out, pml_merge_output *o, int64_t n, pml_error *err)
{
    int rc;
    pml_ref_list rows = {.env = o->env};
    *out = (struct ArrowArray){0};
    const struct ArrowArray **arrays = pml_env__calloc(o->env, (size_t)o->window->n + 1, sizeof *arrays);
    if (arrays == NULL)
        return pml_error__no_memory(err);
    if (!o->split)
        PML_TRY(pml_ref_list__init(&rows, o->env, o->rows + o->given, n, err));
    PML_TRY(pml_array__init(out, o->env, NULL, 1, (int64_t)o->n_columns, err));
    out->length = n;
    PML_TRY(finish_columns(out, o, n, arrays, &rows, err));
out:
    pml_ref_list__clear(&rows);
    pml_env__free(o->env, arrays);
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}

int pml_merge_output__finish(struct ArrowArray *out, pml_merge_output *o, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    int64_t n = o->n - o->given;
    int rc = give(out, o, n, &why);
    while (rc == PML_E_LIMIT && n > 1) { /* a few large values among many small ones, which nobody could know before */
        n = n / 2;
        rc = give(out, o, n, &why);
    }
    if (rc != PML_OK && err != NULL)
        *err = why;
    if (rc != PML_OK)
        return rc;
    o->given += n;
    if (o->given < o->n)
        return PML_OK;
    o->n = o->given = 0;
    o->split = false;
    for (size_t i = 0; i < o->layout->n_fields; i++)
        pml_array__release(&o->by_position[i].built);
    return PML_OK;
}
