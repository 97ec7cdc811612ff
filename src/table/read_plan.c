/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as one stream: its splits one after the other, up to the limit. And counting without reading where that is exact. */
#include <string.h>

#include "columnar/batch.h"
#include "table/read_merge.h"

typedef struct plan_reader {
    pml_env *env;
    pml_plan *plan;
    pml_read_options options;
    size_t next, end; /* splits */
    int64_t left;     /* rows still wanted; -1: all */
    struct ArrowArrayStream split;
} plan_reader;

static void plan_reader_drop(void *owner)
{
    plan_reader *r = owner;
    pml_env *env = r->env;
    if (r->split.release != NULL)
        r->split.release(&r->split);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* The buffers stay as they are. */
void pml_read__cut(struct ArrowArray *batch, int64_t *left)
{
    int64_t n = batch->length < *left ? batch->length : *left;
    *left -= n;
    if (n == batch->length)
        return;
    batch->length = n;
    for (int64_t i = 0; i < batch->n_children; i++) {
        batch->children[i]->length = n;
        batch->children[i]->null_count = batch->children[i]->null_count == 0 ? 0 : -1;
    }
}

static int plan_reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    plan_reader *r = owner;
    while (out->release == NULL && r->left != 0) {
        if (r->split.release == NULL) {
            if (r->next == r->end)
                return PML_OK;
            PML_RETURN_IF(pml_split__open(&r->split, r->plan, r->next++, &r->options, err));
        }
        if (r->split.get_next(&r->split, out) != 0)
            return pml_stream_error(&r->split, err);
        if (out->release == NULL) {
            r->split.release(&r->split);
            continue;
        }
        if (r->left > 0)
            pml_read__cut(out, &r->left);
    }
    return PML_OK;
}

int pml_read__schema(struct ArrowSchema *out, const pml_plan *plan, const pml_read_options *o, pml_error *err)
{
    size_t n = plan->n_columns;
    if ((o->flags & PML_READ_ROW_KIND) == 0)
        return pml_type__export(out, plan->env, plan->out_fields, n, err);
    pml_field *fields = pml_env__calloc(plan->env, n + 1, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    if (n > 0)
        memcpy(fields, plan->out_fields, n * sizeof *fields);
    fields[n] = pml_field_value_kind;
    int rc = pml_type__export(out, plan->env, fields, n + 1, err);
    pml_env__free(plan->env, fields);
    return rc;
}

int pml_read_open(struct ArrowArrayStream *out, pml_plan *plan, const pml_read_options *options, pml_error *err)
{
    const pml_read_options defaults = PML_READ_OPTIONS_INIT;
    const pml_read_options *o = options == NULL ? &defaults : options;
    struct ArrowSchema schema = {0};
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    if (o->struct_size != sizeof *o)
        return pml_error__set(err, PML_E_INVAL, "pml_read_options.struct_size is %zu, this library knows %zu",
                              o->struct_size, sizeof *o);
    if (o->split < -1 || o->split >= (int64_t)plan->n_splits || o->batch_rows < 0 || o->validate > PML_VALIDATE_FULL ||
        o->threads > PML_READ_THREADS_MAX || (o->flags & ~(uint32_t)PML_READ_ROW_KIND) != 0 || o->reserved != 0)
        return pml_error__set(err, PML_E_INVAL, "read options: split %lld of %zu, batch_rows %lld, validate %u, threads %u, flags 0x%x",
                              (long long)o->split, plan->n_splits, (long long)o->batch_rows, o->validate, o->threads, o->flags);
    /* What one batch answers is not worth a thread. */
    int64_t batch_rows = o->batch_rows > 0 ? o->batch_rows : plan->table->options.read_batch_rows;
    if (o->threads > 1 && (plan->limit < 0 || plan->limit > batch_rows))
        return pml_read__open_parallel(out, plan, o, err);
    plan_reader *r = pml_env__calloc(plan->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(plan->env);
    r->env = plan->env;
    pml_plan__acquire(plan);
    r->plan = plan;
    r->options = *o;
    r->next = o->split < 0 ? 0 : (size_t)o->split;
    r->end = o->split < 0 ? plan->n_splits : (size_t)o->split + 1;
    r->left = plan->limit;
    PML_TRY(pml_read__schema(&schema, plan, o, err));
    PML_TRY(pml_stream__new(out, plan->env, &schema, plan_reader_next, plan_reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        plan_reader_drop(r);
    return rc;
}

int pml_stream_error(struct ArrowArrayStream *stream, pml_error *err)
{
    pml_error own = PML_ERROR_INIT;
    if (!pml_stream__last_error(stream, &own))
        return pml_error__set(err, PML_E_INVAL, "the stream is not one of this library, or none of its calls failed");
    if (err != NULL)
        *err = own;
    return own.code;
}

/* Reads the plan. */
static int count_by_reading(int64_t *rows, pml_plan *plan, pml_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch = {0};
    int rc;
    *rows = 0;
    PML_RETURN_IF(pml_read_open(&stream, plan, NULL, err));
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            break;
        }
        rc = PML_OK;
        if (batch.release == NULL)
            break;
        *rows += batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return rc;
}

/* Which rows there are depends on which columns are read where deletes go by version columns: as in Java, a group whose columns are not
   read removes nothing. What counts is a read of all columns. */
static bool counts_all_columns(const pml_plan *p)
{
    const char *groups = pml_table_option(p->table, "partial-update.remove-record-on-sequence-group");
    return groups != NULL && groups[0] != '\0' && p->table->options.merge_engine == PML_MERGE_ENGINE_PARTIAL_UPDATE;
}

/* All columns into the plan, in the arena. */
static int take_all_columns(pml_plan *p, pml_arena *arena, pml_error *err)
{
    p->n_columns = p->schema->n_fields;
    p->columns = pml_arena__array(arena, p->n_columns, sizeof *p->columns);
    p->out_fields = p->schema->fields;
    for (size_t i = 0; p->columns != NULL && i < p->n_columns; i++)
        p->columns[i] = (int32_t)i;
    return p->columns == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* The rows of n splits, read with the columns of the predicate only. The plan itself is not changed for others. */
static int count_splits(int64_t *rows, pml_plan *plan, pml_split *splits, size_t n, pml_error *err)
{
    pml_plan narrow = {.refs = 1,
                       .env = plan->env,
                       .table = plan->table,
                       .snapshot_id = plan->snapshot_id,
                       .schema = plan->schema,
                       .columns = plan->columns,
                       .out_fields = plan->out_fields,
                       .predicate = plan->predicate,
                       .limit = plan->limit,
                       .only_level = plan->only_level,
                       .keep_retracts = plan->keep_retracts,
                       .shape = plan->shape,
                       .n_splits = n,
                       .splits = splits,
                       .memory = plan->memory,
                       .pins = plan->pins};
    pml_arena arena;
    int rc = PML_OK;
    pml_arena__init(&arena, plan->env);
    if (counts_all_columns(plan))
        rc = take_all_columns(&narrow, &arena, err);
    if (rc == PML_OK)
        rc = count_by_reading(rows, &narrow, err);
    pml_arena__clear(&arena);
    return rc;
}

/* What the metadata knows of the rows of a split: false if it must be read, because it merges, or nothing says how many rows of a
 * file were deleted in place. */
static bool known_rows(int64_t *rows, const pml_plan *plan, const pml_split *s)
{
    if (pml_split__merges(plan, s))
        return false;
    *rows = pml_split__rows_on_disk(s);
    for (size_t i = 0; i < s->n_files; i++) {
        const pml_deletion *gone = s->deletions[i];
        if (gone == NULL)
            continue;
        if (gone->at.cardinality < 0 || gone->at.cardinality > s->files[i].row_count || *rows == INT64_MAX)
            return false;
        *rows -= gone->at.cardinality;
    }
    return true;
}

/* Splits of which the metadata does not know the number of rows are read. */
static int count_without_predicate(int64_t *rows, pml_plan *plan, size_t n_splits, pml_error *err)
{
    size_t n = 0;
    int64_t known = 0, counted = 0;
    int rc = PML_OK;
    pml_split *unknown = pml_env__calloc(plan->env, n_splits, sizeof *unknown);
    if (unknown == NULL)
        return pml_error__no_memory(err);
    bool over = false;
    for (size_t i = 0; i < n_splits; i++) {
        if (!known_rows(&known, plan, &plan->splits[i])) {
            unknown[n++] = plan->splits[i];
            continue;
        }
        over = over || __builtin_add_overflow(*rows, known, rows) ||
               __builtin_add_overflow(*rows, plan->splits[i].memory_rows, rows);
    }
    if (!over && n > 0)
        rc = count_splits(&counted, plan, unknown, n, err);
    if (rc == PML_OK && (over || __builtin_add_overflow(*rows, counted, rows)))
        rc = pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SNAPSHOT, plan->table->path,
                           "the row counts of snapshot %lld of %s pass 2^63", (long long)plan->snapshot_id, plan->table->path);
    pml_env__free(plan->env, unknown);
    return rc;
}

int pml_plan_count(int64_t *rows, pml_plan *plan, pml_error *err)
{
    size_t n = 0;
    int64_t more = 0;
    PML_RETURN_IF(pml_error__need(rows, "rows", err));
    *rows = 0;
    while (n < plan->n_splits && plan->splits[n].plan == NULL) /* those of the other branch are that plan's to count */
        n++;
    int rc = plan->predicate != NULL ? count_splits(rows, plan, plan->splits, n, err) : count_without_predicate(rows, plan, n, err);
    if (rc == PML_OK && plan->other != NULL)
        rc = pml_plan_count(&more, plan->other, err);
    if (rc == PML_OK && __builtin_add_overflow(*rows, more, rows))
        rc = pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SNAPSHOT, plan->table->path, "the row counts of both branches of %s pass 2^63",
                           plan->table->path);
    if (rc != PML_OK)
        *rows = 0;
    else if (plan->limit >= 0 && *rows > plan->limit)
        *rows = plan->limit;
    return rc;
}
