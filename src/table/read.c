/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a split: its files one after the other, then its memory, as one stream; or its files merged (read_merge.c).
 *
 *   source batch (file_source.c, read_columns.c, read_merge.c, or memory put together by assemble.c) in "read columns" order: output columns first,
 *   then those that only the predicate needs, then the kind of a merged row if it is wanted
 *     -> exact predicate
 *     -> output: the read columns cut down to the output columns, rows gathered when the predicate dropped any
 */
#include <string.h>

#include "meta/partition.h"
#include "table/assemble.h"
#include "table/file_source.h"
#include "table/read_columns.h"
#include "table/read_merge.h"
#include "table/read_pair.h"

typedef struct split_reader {
    pml_env *env;
    pml_plan *plan;
    const pml_split *split;
    int64_t batch_rows;
    bool validate_full;
    bool merges, with_kind;
    bool stored_kind; /* the kind of a row is read with it: merged, or as its file has it */
    /* Read columns: the plan's output columns, then extra ones of the predicate, then the kind of merged rows. */
    size_t n_read;
    pml_field *read_fields;
    pml_assembly memory; /* how they come out of memory */
    pml_value partition_values[PML_PARTITION_KEYS_MAX];
    size_t next_file, end_file; /* n_files stands for the memory */
    int32_t part, parts;
    pml_shared_rows *rows;
    struct pml_ahead_merge *ahead;
    struct ArrowArrayStream source; /* release NULL: none open */
    bool in_memory;                 /* what the source is */
    pml_arena arena;
} split_reader;

static void reader_drop(void *owner)
{
    split_reader *r = owner;
    pml_env *env = r->env;
    if (r->source.release != NULL)
        r->source.release(&r->source);
    pml_shared_rows__release(r->rows);
    pml_arena__clear(&r->arena);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- setting up ---- */

struct column_walk {
    split_reader *r;
    int32_t *columns; /* schema indexes of the read columns */
    size_t n;
};

static void add_column(void *arg, int32_t field_id)
{
    struct column_walk *w = arg;
    int32_t index = pml_table_schema__find_id(w->r->plan->schema, field_id);
    for (size_t i = 0; i < w->n; i++)
        if (w->columns[i] == index)
            return;
    w->columns[w->n++] = index;
}

static int reader_columns(split_reader *r, pml_error *err)
{
    pml_plan *p = r->plan;
    size_t max = p->schema->n_fields;
    struct column_walk w = {r, pml_arena__array(&r->arena, max, sizeof(int32_t)), 0};
    r->read_fields = pml_arena__array(&r->arena, max + 1, sizeof *r->read_fields);
    if (w.columns == NULL || r->read_fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < p->n_columns; i++)
        w.columns[w.n++] = p->columns[i];
    if (p->predicate != NULL)
        pml_pred__columns(p->predicate, add_column, &w);
    r->n_read = w.n;
    for (size_t i = 0; i < w.n; i++)
        r->read_fields[i] = p->schema->fields[w.columns[i]];
    if (r->stored_kind && r->with_kind)
        r->read_fields[r->n_read++] = pml_field_value_kind;
    if (r->split->memory_part < 0 || r->merges)
        return PML_OK;
    PML_RETURN_IF(pml_partition__decode(r->partition_values, p->schema, r->split->partition, err));
    return pml_assembly__init(&r->memory, &r->arena, p->schema, r->read_fields, r->n_read, r->partition_values, err);
}

/* ---- sources ---- */

static int open_merged(split_reader *r, pml_error *err)
{
    const pml_merge_read request = {.plan = r->plan,
                                    .split = r->split,
                                    .fields = r->read_fields,
                                    .n_fields = r->n_read,
                                    .predicate = r->plan->predicate,
                                    .batch_rows = r->batch_rows,
                                    .validate_full = r->validate_full,
                                    .ahead = r->ahead};
    r->next_file = r->end_file;
    return r->split->before != NULL ? pml_pair_read__open(&r->source, &request, err) : pml_merge_read__open(&r->source, &request, err);
}

/* Files [first, end), which have columns of the same rows. */
static int open_columns(split_reader *r, size_t first, size_t end, pml_error *err)
{
    const pml_columns_read request = {.plan = r->plan,
                                      .split = r->split,
                                      .first = first,
                                      .end = end,
                                      .fields = r->read_fields,
                                      .n_fields = r->n_read,
                                      .predicate = r->plan->predicate,
                                      .indexes = r->plan->table->options.file_index_read,
                                      .batch_rows = r->batch_rows,
                                      .validate_full = r->validate_full};
    r->next_file = end;
    return pml_columns_read__open(&r->source, &request, err);
}

/* Opens the next file or the memory part. */
static int open_next(split_reader *r, pml_error *err)
{
    if (r->merges)
        return open_merged(r, err);
    size_t i = r->next_file++;
    r->in_memory = i >= r->split->n_files;
    if (r->in_memory) {
        const pml_memory_read request = {r->memory.stored_fields, r->memory.n_stored, r->plan->predicate, r->batch_rows};
        return r->plan->memory->open(&r->source, r->plan->pins, (size_t)r->split->memory_part, &request, err);
    }
    size_t end = pml_split__rows_end(r->split, i);
    if (end > i + 1)
        return open_columns(r, i, end, err);
    const pml_file_source request = {.plan = r->plan,
                                     .indexes = r->plan->table->options.file_index_read,
                                     .split = r->split,
                                     .file = i,
                                     .fields = r->read_fields,
                                     .n_fields = r->n_read,
                                     .predicate = r->plan->predicate,
                                     .batch_rows = r->batch_rows,
                                     .validate_full = r->validate_full,
                                     .part = r->part,
                                     .parts = r->parts,
                                     .rows = r->rows};
    return pml_file_source__open(&r->source, &request, err);
}

/* The next batch of the read columns; out->release NULL at the end of the split. What memory gives was checked when it was written. */
static int source_next(split_reader *r, struct ArrowArray *out, pml_error *err)
{
    for (;;) {
        if (r->source.release == NULL) {
            if (r->next_file >= r->end_file)
                return PML_OK;
            PML_RETURN_IF(open_next(r, err));
        }
        int code = r->source.get_next(&r->source, out);
        if (code != 0)
            return pml_source__error(&r->source, code, err);
        if (out->release != NULL && r->in_memory && out->length > 0) {
            struct ArrowArray batch = *out;
            out->release = NULL;
            return pml_assembly__batch(out, &r->memory, &batch, err);
        }
        if (out->release != NULL)
            return PML_OK;
        r->source.release(&r->source);
    }
}

/* ---- a batch ---- */

static void release_all(struct ArrowArray *arrays, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pml_array__release(&arrays[i]);
}

/* Row numbers that the predicate keeps; *n_kept == length: all of them. */
static int filter(split_reader *r, const struct ArrowArray *batch, int64_t *rows, int64_t *n_kept, pml_error *err)
{
    uint8_t *keep = pml_env__alloc(r->env, (size_t)batch->length);
    int64_t n = 0;
    if (keep == NULL)
        return pml_error__no_memory(err);
    int rc = pml_pred__eval(keep, r->plan->predicate, r->env, batch, r->read_fields, r->n_read, err);
    for (int64_t i = 0; rc == PML_OK && i < batch->length; i++) {
        rows[n] = i;
        n += keep[i] != 0;
    }
    *n_kept = n;
    pml_env__free(r->env, keep);
    return rc;
}

/* Output column i of the read columns `whole`, cut to the kept rows. */
static int project_column(split_reader *r, struct ArrowArray *out, struct ArrowArray *whole, size_t i, const int64_t *rows,
                          int64_t n_kept, pml_error *err)
{
    static const pml_value insert = {.kind = PML_VALUE_INT, .i = 0};
    if (i == r->plan->n_columns && !r->stored_kind) /* what is read without merging counts as inserted, whatever the file says (D 10.5) */
        return pml_batch__constant(out, r->env, &pml_field_value_kind.type, &insert, n_kept, err);
    size_t from = i == r->plan->n_columns ? r->n_read - 1 : i;
    if (n_kept < whole->length)
        return pml_batch__gather(out, r->env, &r->read_fields[from].type, whole->children[from], rows, n_kept, err);
    *out = *whole->children[from];
    whole->children[from]->release = NULL;
    return PML_OK;
}

/* Cuts `whole` (moved) down to the output columns, and to the kept rows. */
static int project(split_reader *r, struct ArrowArray *out, struct ArrowArray *whole, const int64_t *rows, int64_t n_kept,
                   pml_error *err)
{
    size_t n = r->plan->n_columns + r->with_kind;
    struct ArrowArray *columns = pml_env__calloc(r->env, n, sizeof *columns);
    int rc = columns == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0; rc == PML_OK && i < n; i++)
        rc = project_column(r, &columns[i], whole, i, rows, n_kept, err);
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, r->env, columns, n, n_kept, err);
    if (rc != PML_OK && columns != NULL)
        release_all(columns, n);
    pml_env__free(r->env, columns);
    whole->release(whole);
    return rc;
}

/* Turns one source batch (moved) into an output batch; out->release stays NULL when no row is left. */
static int refine(split_reader *r, struct ArrowArray *out, struct ArrowArray *whole, pml_error *err)
{
    int64_t n_kept = whole->length;
    int64_t *rows = NULL;
    int rc = PML_OK;
    if (r->plan->predicate != NULL) {
        rows = pml_env__calloc(r->env, (size_t)whole->length + 1, sizeof *rows);
        rc = rows == NULL ? pml_error__no_memory(err) : filter(r, whole, rows, &n_kept, err);
    }
    if (rc == PML_OK && n_kept > 0)
        rc = project(r, out, whole, rows, n_kept, err);
    pml_array__release(whole);
    pml_env__free(r->env, rows);
    return rc;
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    split_reader *r = owner;
    while (out->release == NULL) {
        struct ArrowArray batch = {0};
        PML_RETURN_IF(source_next(r, &batch, err));
        if (batch.release == NULL)
            return PML_OK;
        if (batch.length == 0)
            batch.release(&batch);
        else
            PML_RETURN_IF(refine(r, out, &batch, err));
    }
    return PML_OK;
}

int pml_split__open(struct ArrowArrayStream *out, pml_plan *plan, size_t split, const pml_read_options *o, pml_error *err)
{
    return pml_split__open_piece(out, plan, &(pml_split_piece){.split = split, .end = pml_split__end(&plan->splits[split])}, o, err);
}

int pml_split__open_piece(struct ArrowArrayStream *out, pml_plan *plan, const pml_split_piece *piece, const pml_read_options *o,
                          pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    split_reader *r = pml_env__calloc(plan->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(plan->env);
    r->env = plan->env;
    r->split = &plan->splits[piece->split];
    plan = r->split->plan == NULL ? plan : r->split->plan;
    pml_plan__acquire(plan);
    r->plan = plan;
    r->merges = pml_split__merges(plan, r->split);
    r->stored_kind = r->merges || (plan->schema->n_keys > 0 && r->split->kind == PML_SPLIT_CHANGES);
    r->with_kind = (o->flags & PML_READ_ROW_KIND) != 0;
    r->next_file = piece->first;
    r->end_file = piece->end;
    r->part = piece->part;
    r->parts = piece->parts;
    r->rows = pml_shared_rows__acquire(piece->rows);
    r->ahead = piece->ahead;
    r->batch_rows = o->batch_rows > 0 ? o->batch_rows : plan->table->options.read_batch_rows;
    r->validate_full = o->validate == PML_VALIDATE_DEFAULT ? plan->table->options.read_validate == PML_READ_VALIDATE_FULL
                                                           : o->validate == PML_VALIDATE_FULL;
    pml_arena__init(&r->arena, plan->env);
    PML_TRY(reader_columns(r, err));
    PML_TRY(pml_read__schema(&schema, plan, o, err));
    PML_TRY(pml_stream__new(out, plan->env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
