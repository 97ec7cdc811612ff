/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a split of an append plan: its files one after the other, then its memory, as one stream.
 *
 *   source batch (columns stored in the file, or in memory)
 *     -> assemble: stored columns and constants of the partition, in "read columns" order (output columns first, then those that
 *        only the predicate needs)
 *     -> exact predicate
 *     -> output: the read columns cut down to the output columns, rows gathered when the predicate dropped any
 */
#include <string.h>

#include "format/file_format.h"
#include "meta/partition.h"
#include "table/scan.h"

typedef struct split_reader {
    pml_env *env;
    pml_plan *plan;
    const pml_split *split;
    int64_t batch_rows;
    bool validate_full;
    /* Read columns: the plan's output columns, then extra ones of the predicate. */
    size_t n_read;
    pml_field *read_fields;
    int32_t *stored; /* position in stored_fields, or -1: a partition column */
    int32_t *partition_key; /* position in partition_values, where stored is -1 */
    size_t n_stored;
    pml_field *stored_fields;
    pml_value partition_values[PML_PARTITION_KEYS_MAX];
    size_t next_file, end_file; /* n_files stands for the memory */
    int32_t part, parts;
    struct ArrowArrayStream source; /* release NULL: none open */
    const char *file;               /* path of the source; NULL: it is memory */
    pml_arena arena;
} split_reader;

static void reader_drop(void *owner)
{
    split_reader *r = owner;
    pml_env *env = r->env;
    if (r->source.release != NULL)
        r->source.release(&r->source);
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

static int32_t partition_position(const pml_table_schema *s, int32_t column)
{
    for (size_t i = 0; i < s->n_partition_keys; i++)
        if (s->partition_index[i] == column)
            return (int32_t)i;
    return -1;
}

static int reader_columns(split_reader *r, pml_error *err)
{
    pml_plan *p = r->plan;
    size_t max = p->schema->n_fields;
    struct column_walk w = {r, pml_arena__array(&r->arena, max, sizeof(int32_t)), 0};
    r->read_fields = pml_arena__array(&r->arena, max, sizeof *r->read_fields);
    r->stored = pml_arena__array(&r->arena, max, sizeof *r->stored);
    r->partition_key = pml_arena__array(&r->arena, max, sizeof *r->partition_key);
    r->stored_fields = pml_arena__array(&r->arena, max, sizeof *r->stored_fields);
    if (w.columns == NULL || r->read_fields == NULL || r->stored == NULL || r->partition_key == NULL || r->stored_fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < p->n_columns; i++)
        w.columns[w.n++] = p->columns[i];
    if (p->predicate != NULL)
        pml_pred__columns(p->predicate, add_column, &w);
    r->n_read = w.n;
    for (size_t i = 0; i < w.n; i++) {
        r->read_fields[i] = p->schema->fields[w.columns[i]];
        r->partition_key[i] = partition_position(p->schema, w.columns[i]);
        r->stored[i] = r->partition_key[i] >= 0 ? -1 : (int32_t)r->n_stored;
        if (r->stored[i] >= 0)
            r->stored_fields[r->n_stored++] = r->read_fields[i];
    }
    return PML_OK;
}

/* ---- sources ---- */

/* Opens the next file or the memory part. */
static int open_next(split_reader *r, pml_error *err)
{
    const pml_split *s = r->split;
    size_t i = r->next_file++;
    if (i < s->n_files) {
        char format[16];
        const pml_format_read request = {.fields = r->stored_fields,
                                         .n_fields = r->n_stored,
                                         .predicate = r->plan->predicate,
                                         .batch_rows = r->batch_rows,
                                         .checksums = r->validate_full,
                                         .check_values = r->validate_full,
                                         .part = r->part,
                                         .parts = r->parts,
                                         .own_schema = true,
                                         .orc_ltz_exact = !r->plan->table->options.orc_ltz_legacy,
                                         .untrusted = r->plan->table->options.read_untrusted,
                                         .expect_rows = s->files[i].row_count,
                                         .expect_bytes = s->files[i].size_bytes};
        PML_RETURN_IF(pml_path__format(format, s->files[i].name, err));
        r->file = s->paths[i];
        int rc = pml_format__open(&r->source, r->env, format, s->paths[i], &request, err);
        if (rc == PML_E_NOT_FOUND)
            rc = pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_DATA_FILE, s->paths[i],
                               "%s is gone: its snapshot expired after the plan was made; plan again", s->paths[i]);
        if (rc == PML_E_SNAPSHOT_GONE)
            rc = pml_table__gone_or_damaged(r->plan->table, r->plan->snapshot_id, err);
        return rc;
    }
    r->file = NULL;
    const pml_memory_read request = {r->stored_fields, r->n_stored, r->plan->predicate, r->batch_rows};
    return r->plan->memory->open(&r->source, r->plan->pins, (size_t)s->memory_part, &request, err);
}

static int source_error(split_reader *r, int code, pml_error *err)
{
    pml_error own = PML_ERROR_INIT;
    if (pml_stream__last_error(&r->source, &own)) {
        if (err != NULL)
            *err = own;
        return own.code;
    }
    const char *text = r->source.get_last_error(&r->source);
    return pml_error__set(err, PML_E_IO, "a data file could not be read (%d): %s", code, text == NULL ? "no reason given" : text);
}

/* The next batch of the stored columns; out->release NULL at the end of the split. */
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
            return source_error(r, code, err);
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

/* Moves the read columns of a source batch into columns[n_read]; the batch is released. */
static int assemble(split_reader *r, struct ArrowArray *columns, struct ArrowArray *batch, pml_error *err)
{
    int rc = PML_OK;
    if ((size_t)batch->n_children != r->n_stored || batch->offset != 0)
        rc = pml_error__set(err, PML_E_INTERNAL, "a source gave %lld columns (offset %lld), wanted are %zu",
                            (long long)batch->n_children, (long long)batch->offset, r->n_stored);
    for (size_t i = 0; rc == PML_OK && i < r->n_read; i++) {
        if (r->stored[i] < 0) {
            rc = pml_batch__constant(&columns[i], r->env, &r->read_fields[i].type, &r->partition_values[r->partition_key[i]],
                                     batch->length, err);
            continue;
        }
        struct ArrowArray *child = batch->children[r->stored[i]];
        columns[i] = *child;
        child->release = NULL;
    }
    batch->release(batch);
    if (rc != PML_OK)
        release_all(columns, r->n_read);
    return rc;
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

/* Cuts `whole` (moved) down to the output columns, and to the kept rows. */
static int project(split_reader *r, struct ArrowArray *out, struct ArrowArray *whole, const int64_t *rows, int64_t n_kept,
                   pml_error *err)
{
    pml_plan *p = r->plan;
    struct ArrowArray *columns = pml_env__calloc(r->env, p->n_columns, sizeof *columns);
    int rc = columns == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0; rc == PML_OK && i < p->n_columns; i++) {
        if (n_kept == whole->length) {
            columns[i] = *whole->children[i];
            whole->children[i]->release = NULL;
        } else {
            rc = pml_batch__gather(&columns[i], r->env, &r->read_fields[i].type, whole->children[i], rows, n_kept, err);
        }
    }
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, r->env, columns, p->n_columns, n_kept, err);
    if (rc != PML_OK && columns != NULL)
        release_all(columns, p->n_columns);
    pml_env__free(r->env, columns);
    whole->release(whole);
    return rc;
}

/* A file may lack a NOT NULL column, or hold nulls where its schema has none; what leaves here says that there are none. What
   memory gives was checked when it was written. */
static int check_file_batch(const split_reader *r, const struct ArrowArray *whole, pml_error *err)
{
    pml_error wrong = PML_ERROR_INIT;
    /* Stored values were looked at where they came from, if at all; partition values and columns made up were not. */
    pml_check_level level = r->validate_full ? PML_CHECK_TRUSTED : PML_CHECK_BASIC;
    if (r->file == NULL || pml_batch__check(whole, r->read_fields, r->n_read, level, &wrong) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->file, "%s is damaged, or its writer broke the rules: %s", r->file,
                         wrong.message);
}

/* Turns one source batch (moved) into an output batch; out->release stays NULL when no row is left. */
static int refine(split_reader *r, struct ArrowArray *out, struct ArrowArray *batch, pml_error *err)
{
    struct ArrowArray whole = {0};
    int64_t length = batch->length, n_kept = length;
    int64_t *rows = NULL;
    int rc;
    struct ArrowArray *columns = pml_env__calloc(r->env, r->n_read, sizeof *columns);
    if (columns == NULL) {
        batch->release(batch);
        return pml_error__no_memory(err);
    }
    PML_TRY(assemble(r, columns, batch, err));
    rc = pml_batch__from_columns(&whole, r->env, columns, r->n_read, length, err);
    if (rc != PML_OK) {
        release_all(columns, r->n_read);
        goto out;
    }
    PML_TRY(check_file_batch(r, &whole, err));
    if (r->plan->predicate != NULL) {
        rows = pml_env__calloc(r->env, (size_t)length + 1, sizeof *rows);
        rc = rows == NULL ? pml_error__no_memory(err) : filter(r, &whole, rows, &n_kept, err);
    }
    if (rc == PML_OK && n_kept > 0)
        rc = project(r, out, &whole, rows, n_kept, err);
out:
    pml_array__release(&whole);
    pml_env__free(r->env, rows);
    pml_env__free(r->env, columns);
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
    const pml_split *s = &plan->splits[split];
    return pml_split__open_piece(out, plan, &(pml_split_piece){.split = split, .end = s->n_files + (s->memory_part >= 0)}, o, err);
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
    pml_plan__acquire(plan);
    r->plan = plan;
    r->split = &plan->splits[piece->split];
    r->next_file = piece->first;
    r->end_file = piece->end;
    r->part = piece->part;
    r->parts = piece->parts;
    r->batch_rows = o->batch_rows > 0 ? o->batch_rows : plan->table->options.read_batch_rows;
    r->validate_full = o->validate == PML_VALIDATE_DEFAULT ? plan->table->options.read_validate == PML_READ_VALIDATE_FULL
                                                           : o->validate == PML_VALIDATE_FULL;
    pml_arena__init(&r->arena, plan->env);
    PML_TRY(reader_columns(r, err));
    PML_TRY(pml_partition__decode(r->partition_values, plan->schema, r->split->partition, err));
    PML_TRY(pml_type__export(&schema, plan->env, plan->out_fields, plan->n_columns, err));
    PML_TRY(pml_stream__new(out, plan->env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
