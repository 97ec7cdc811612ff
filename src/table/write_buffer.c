/* SPDX-License-Identifier: Apache-2.0 */
#include "table/write_buffer.h"

#include <string.h>

#include "columnar/array_memory.h"
#include "merge/merge_options.h"
#include "table/read_merge.h"

/* Short batches wait until there are rows for a run that is worth sorting. A merge of many runs costs more for each row. What goes to a
   file at once is bounded in bytes, too: a column of a batch has 2 GiB at most. */
enum { RUN_ROWS = 65536, RUN_BYTES = 32 * 1024 * 1024, FLUSH_BATCH_ROWS = 32768, FLUSH_BATCH_BYTES = 64 * 1024 * 1024 };

/* ---- what the rows look like ---- */

static int keyed_layout(pml_keyed_rows *k, pml_arena *arena, pml_error *err)
{
    const pml_table_schema *s = k->table->schema;
    const pml_merge_options options = {s, k->table->overrides, k->table->n_overrides};
    int32_t *keys = pml_arena__array(arena, s->n_keys, sizeof *keys), *sequence = pml_arena__array(arena, s->n_fields, sizeof *sequence);
    if (keys == NULL || sequence == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_keys; i++)
        keys[i] = s->key_index[i] + PML_KEYED_SYSTEM_COLUMNS;
    PML_RETURN_IF(pml_merge_options__sequence_columns(sequence, &k->layout.n_sequence, &options, k->table->path, err));
    for (size_t i = 0; i < k->layout.n_sequence; i++)
        sequence[i] += PML_KEYED_SYSTEM_COLUMNS;
    k->layout.fields = k->fields;
    k->layout.n_fields = k->n_fields;
    k->layout.keys = keys;
    k->layout.n_keys = s->n_keys;
    k->layout.sequence = sequence;
    k->layout.sequence_descending = k->table->options.sequence_order == PML_SEQUENCE_DESCENDING;
    k->layout.row_kind = 0;
    k->layout.sequence_number = 1;
    return PML_OK;
}

static int keyed_file_columns(pml_keyed_rows *k, pml_arena *arena, pml_error *err)
{
    const pml_file_shape *shape = k->shape;
    int32_t *columns = pml_arena__array(arena, shape->n_fields, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < shape->n_key_columns; i++)
        columns[i] = k->layout.keys[i];
    columns[shape->sequence] = k->layout.sequence_number;
    columns[shape->kind] = k->layout.row_kind;
    for (size_t i = shape->first_value; i < shape->n_fields; i++)
        columns[i] = (int32_t)(i - shape->first_value) + PML_KEYED_SYSTEM_COLUMNS;
    k->file_columns = columns;
    return PML_OK;
}

int pml_keyed_rows__init(pml_keyed_rows *out, pml_arena *arena, pml_table *t, const pml_file_shape *shape, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    pml_field *fields = pml_arena__array(arena, s->n_fields + PML_KEYED_SYSTEM_COLUMNS, sizeof *fields);
    *out = (pml_keyed_rows){.table = t, .shape = shape, .fields = fields, .n_fields = s->n_fields + PML_KEYED_SYSTEM_COLUMNS};
    if (fields == NULL)
        return pml_error__no_memory(err);
    fields[0] = pml_field_value_kind;
    fields[1] = pml_field_sequence_number;
    memcpy(fields + PML_KEYED_SYSTEM_COLUMNS, s->fields, s->n_fields * sizeof *fields);
    PML_RETURN_IF(keyed_layout(out, arena, err));
    PML_RETURN_IF(keyed_file_columns(out, arena, err));
    return pml_sorter__init(&out->sorter, arena, &out->layout, err);
}

int pml_keyed_rows__function(pml_merge_function *out, const pml_keyed_rows *k, pml_error *err)
{
    const pml_table *t = k->table;
    return pml_merge_engine__new(out, t->env, &k->layout, t->schema, t->overrides, t->n_overrides, err);
}

static int flush_batches(pml_merge *m, pml_rolling *to, pml_error *err)
{
    for (;;) {
        struct ArrowArray batch = {0};
        PML_RETURN_IF(pml_merge__next(m, &batch, err));
        if (batch.release == NULL)
            return PML_OK;
        PML_RETURN_IF(pml_rolling__write(to, &batch, err));
    }
}

int pml_keyed_rows__flush(const pml_keyed_rows *k, pml_rolling *to, const pml_run *runs, size_t n, uint64_t row_bytes, pml_error *err)
{
    pml_merge_function function = {0};
    pml_merge *merge = NULL;
    int rc = pml_keyed_rows__function(&function, k, err);
    if (rc != PML_OK) {
        for (size_t i = 0; i < n; i++)
            runs[i].drop(runs[i].ctx);
        return rc;
    }
    uint64_t fit = FLUSH_BATCH_BYTES / (row_bytes + 1);
    const pml_merge_request request = {.layout = &k->layout,
                                       .function = &function,
                                       .columns = k->file_columns,
                                       .n_columns = k->shape->n_fields,
                                       .keep_retracts = true,
                                       .batch_rows = fit < 1 ? 1 : fit < FLUSH_BATCH_ROWS ? (int64_t)fit : FLUSH_BATCH_ROWS};
    rc = pml_merge__open(&merge, k->table->env, &request, runs, n, err);
    if (rc == PML_OK)
        rc = flush_batches(merge, to, err);
    pml_merge__free(merge);
    if (function.drop != NULL)
        function.drop(function.self);
    return rc;
}

/* ---- one partition-bucket ---- */

void pml_write_buffer__init(pml_write_buffer *b, pml_env *env, const pml_keyed_rows *rows, int64_t next_sequence)
{
    *b = (pml_write_buffer){.rows = rows, .env = env, .next_sequence = next_sequence};
    b->held = (pml_held){.env = env, .fields = rows->fields, .n_fields = rows->n_fields};
}

void pml_write_buffer__clear(pml_write_buffer *b)
{
    if (b->env == NULL)
        return;
    pml_held__clear(&b->held);
    for (size_t i = 0; i < b->n; i++)
        pml_array__release(&b->runs[i]);
    pml_env__free(b->env, b->runs);
    *b = (pml_write_buffer){0};
}

/* _VALUE_KIND and _SEQUENCE_NUMBER of n rows. */
static int system_columns(struct ArrowArray out[PML_KEYED_SYSTEM_COLUMNS], const pml_write_buffer *b, const int8_t *kinds, int64_t n,
                          pml_error *err)
{
    void *kind, *sequence;
    PML_RETURN_IF(pml_array__numbers(&out[0], &kind, b->env, n, 1, err));
    PML_RETURN_IF(pml_array__numbers(&out[1], &sequence, b->env, n, 8, err));
    if (kinds == NULL)
        memset(kind, PML_ROW_INSERT, (size_t)n);
    else
        memcpy(kind, kinds, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)sequence)[i] = b->next_sequence + i;
    return PML_OK;
}

/* The batch (moved on any return) with its system columns. */
static int with_system_columns(struct ArrowArray *out, const pml_write_buffer *b, struct ArrowArray *batch, const int8_t *kinds,
                               pml_error *err)
{
    struct ArrowArray extra[PML_KEYED_SYSTEM_COLUMNS] = {{0}};
    int64_t rows = batch->length;
    size_t n = b->rows->n_fields;
    pml_shared *shared = NULL;
    int rc = PML_OK;
    int32_t *columns = pml_env__calloc(b->env, n, sizeof *columns);
    if (columns == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        columns[i] = (int32_t)i - PML_KEYED_SYSTEM_COLUMNS < 0 ? -1 : (int32_t)i - PML_KEYED_SYSTEM_COLUMNS;
    PML_TRY(system_columns(extra, b, kinds, rows, err));
    PML_TRY(pml_shared__new(&shared, b->env, batch, err));
    PML_TRY(pml_shared__slice(out, shared, 0, rows, columns, n, extra, err));
out:
    pml_array__release(batch); /* still ours when it could not be shared */
    if (shared != NULL)
        pml_shared__release(shared);
    for (size_t i = 0; rc != PML_OK && i < PML_KEYED_SYSTEM_COLUMNS; i++)
        pml_array__release(&extra[i]);
    pml_env__free(b->env, columns);
    return rc;
}

static int add_run(pml_write_buffer *b, struct ArrowArray *batch, pml_error *err)
{
    if (b->n == b->cap) {
        size_t cap = b->cap == 0 ? 8 : b->cap * 2;
        struct ArrowArray *v = pml_env__realloc(b->env, b->runs, cap * sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        b->runs = v;
        b->cap = cap;
    }
    PML_RETURN_IF(pml_sorter__sort(&b->runs[b->n], b->env, &b->rows->sorter, batch, err));
    b->run_bytes += pml_batch__bytes(&b->runs[b->n], b->rows->fields, b->rows->n_fields);
    b->n++;
    return PML_OK;
}

/* What waits becomes one run, or a few. */
static int sort_held(pml_write_buffer *b, pml_error *err)
{
    pml_held *h = &b->held;
    int rc = pml_held__join(h, RUN_ROWS, err);
    for (size_t i = 0; rc == PML_OK && i < h->n; i++)
        rc = add_run(b, &h->v[i], err);
    pml_held__clear(h);
    return rc;
}

int pml_write_buffer__add(pml_write_buffer *b, struct ArrowArray *batch, const int8_t *kinds, pml_error *err)
{
    struct ArrowArray rows = {0};
    int64_t n = batch->length;
    int rc = PML_OK;
    if (n == 0) {
        pml_array__release(batch);
        return PML_OK;
    }
    if (b->next_sequence > INT64_MAX - n) {
        pml_array__release(batch);
        return pml_error__set(err, PML_E_OVERFLOW, "the sequence numbers of a bucket of %s are used up", b->rows->table->path);
    }
    PML_RETURN_IF(with_system_columns(&rows, b, batch, kinds, err));
    if (pml_batch__bytes(&rows, b->rows->fields, b->rows->n_fields) >= RUN_BYTES)
        rc = sort_held(b, err); /* a run by itself: joined with others it might be too long for one array */
    if (rc == PML_OK)
        rc = pml_held__add(&b->held, &rows, err);
    if (rc != PML_OK) {
        pml_array__release(&rows);
        return rc;
    }
    b->next_sequence += n;
    return b->held.rows >= RUN_ROWS || b->held.bytes >= RUN_BYTES ? sort_held(b, err) : PML_OK;
}

/* ---- runs for the merge ---- */

static int run_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    struct ArrowArray *run = ctx;
    (void)err;
    *out = *run;
    run->release = NULL;
    return PML_OK;
}

static void run_drop(void *ctx)
{
    pml_array__release(ctx);
}

int pml_write_buffer__flush(pml_write_buffer *b, pml_rolling *to, pml_error *err)
{
    PML_RETURN_IF(sort_held(b, err));
    if (b->n == 0)
        return PML_OK;
    pml_run *runs = pml_env__calloc(b->env, b->n, sizeof *runs);
    if (runs == NULL)
        return pml_error__no_memory(err);
    int64_t rows = 0;
    for (size_t i = 0; i < b->n; i++) {
        rows += b->runs[i].length;
        runs[i] = (pml_run){.next = run_next, .drop = run_drop, .ctx = &b->runs[i], .name = "the write buffer", .level = -1};
    }
    int rc = pml_keyed_rows__flush(b->rows, to, runs, b->n, b->run_bytes / (uint64_t)rows, err);
    b->n = 0;
    b->run_bytes = 0;
    pml_env__free(b->env, runs);
    return rc;
}
