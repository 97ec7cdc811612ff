/* SPDX-License-Identifier: Apache-2.0 */
#include "table/read_columns.h"

#include <string.h>

#include "columnar/batch.h"
#include "table/evolution.h"
#include "table/column_chain.h"
#include "table/file_source.h"
#include "table/row_tracking.h"

/* One file, or a chain of companions, and the columns that it gives. */
typedef struct column_source {
    size_t file;    /* index into the split's files: the one that is open, the first at first */
    pml_file_chain chain; /* of a companion: all of them, `file` is chain.files[chain.at] */
    pml_field *fields;
    size_t n_fields;
    struct ArrowArrayStream stream; /* release NULL: not open */
    pml_shared *batch;              /* given out from row `row` on; NULL: none */
    int64_t row;
} column_source;

typedef struct source_column {
    size_t source, column;
} source_column;

typedef struct columns_reader {
    pml_env *env;
    pml_plan *plan;
    const pml_split *split;
    size_t n_fields;
    source_column *columns; /* where each field comes from */
    size_t n_sources;
    column_source *sources;
    int64_t batch_rows;
    bool validate_full;
    pml_arena arena;
} columns_reader;

static void reader_drop(void *owner)
{
    columns_reader *r = owner;
    pml_env *env = r->env;
    for (size_t i = 0; i < r->n_sources; i++) {
        if (r->sources[i].batch != NULL)
            pml_shared__release(r->sources[i].batch);
        if (r->sources[i].stream.release != NULL)
            r->sources[i].stream.release(&r->sources[i].stream);
    }
    pml_arena__clear(&r->arena);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- which file has which column ---- */

static int file_of(size_t *file, const pml_columns_read *q, const pml_field *f, pml_error *err)
{
    *file = q->first; /* a column of the partition comes from none, one that nobody has is null */
    if (pml_assembly__partition_key(q->plan->schema, f->id) >= 0 || pml_row_tracking__has(q->plan->schema, f->id))
        return PML_OK; /* ids and numbers are those of the newest, in Java as here */
    for (size_t i = q->first; i < q->end; i++) {
        pml_written w = {NULL, &q->split->files[i].write_cols};
        PML_RETURN_IF(pml_table__schema_at(&w.schema, q->plan->table, q->split->files[i].schema_id, err));
        if (pml_evolution__column(&w, f->id) == NULL)
            continue;
        *file = i;
        return pml_plan__is_companion(&q->split->files[i]) ? pml_file_chain__first(file, q, f->id, err) : PML_OK;
    }
    if (f->type.nullable)
        return PML_OK;
    return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_DATA_FILE, q->split->paths[q->first],
                         "column %s is NOT NULL, but none of the %zu files of the rows from id %lld on has it; the newest is %s", f->name,
                         q->end - q->first, (long long)q->split->files[q->first].first_row_id.v, q->split->paths[q->first]);
}

static int source_of(column_source **out, columns_reader *r, const pml_columns_read *q, size_t file, size_t max_fields, pml_error *err)
{
    for (size_t i = 0; i < r->n_sources; i++)
        if (r->sources[i].file == file) {
            *out = &r->sources[i];
            return PML_OK;
        }
    column_source *s = &r->sources[r->n_sources];
    *s = (column_source){.file = file};
    s->fields = pml_arena__array(&r->arena, max_fields, sizeof *s->fields);
    if (s->fields == NULL)
        return pml_error__no_memory(err);
    r->n_sources++;
    *out = s;
    return pml_plan__is_companion(&r->split->files[file]) ? pml_file_chain__make(&s->chain, &r->arena, r->split, q, file, err) : PML_OK;
}

static int choose_sources(columns_reader *r, const pml_columns_read *q, pml_error *err)
{
    column_source *s;
    size_t files = q->end - q->first;
    r->n_fields = q->n_fields;
    r->columns = pml_arena__array(&r->arena, q->n_fields, sizeof *r->columns);
    /* more files than fields are never open; without any field one file tells how many rows there are */
    r->sources = pml_arena__array(&r->arena, files < q->n_fields + 1 ? files : q->n_fields + 1, sizeof *r->sources);
    if (r->columns == NULL || r->sources == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < q->n_fields; i++) {
        size_t file;
        PML_RETURN_IF(file_of(&file, q, &q->fields[i], err));
        PML_RETURN_IF(source_of(&s, r, q, file, q->n_fields, err));
        r->columns[i] = (source_column){(size_t)(s - r->sources), s->n_fields};
        s->fields[s->n_fields++] = q->fields[i];
    }
    return r->n_sources > 0 ? PML_OK : source_of(&s, r, q, q->first, 1, err);
}

/* ---- in step ---- */

static pml_file_source source_request(const columns_reader *r, const column_source *s)
{
    return (pml_file_source){.plan = r->plan,
                             .split = r->split,
                             .file = s->file,
                             .fields = s->fields,
                             .n_fields = s->n_fields,
                             .batch_rows = r->batch_rows,
                             .validate_full = r->validate_full};
}

static int source_open(columns_reader *r, column_source *s, pml_error *err)
{
    const pml_file_source request = source_request(r, s);
    if (s->stream.release != NULL)
        s->stream.release(&s->stream);
    return pml_file_source__open(&s->stream, &request, err);
}

/* s->batch stays NULL at the end of the file. */
static int source_fill(columns_reader *r, column_source *s, pml_error *err)
{
    while (s->batch == NULL) {
        struct ArrowArray batch = {0};
        int code = s->stream.get_next(&s->stream, &batch);
        if (code != 0)
            return pml_source__error(&s->stream, code, err);
        if (batch.release == NULL && s->chain.at + 1 >= s->chain.n)
            return PML_OK;
        if (batch.release == NULL) {
            s->file = s->chain.files[++s->chain.at];
            PML_RETURN_IF(source_open(r, s, err));
            continue;
        }
        s->row = 0;
        int rc = batch.length == 0 ? PML_OK : pml_shared__new(&s->batch, r->env, &batch, err);
        pml_array__release(&batch);
        PML_RETURN_IF(rc);
    }
    return PML_OK;
}

/* Rows that all sources have at hand; 0: all have ended. */
static int rows_at_hand(int64_t *rows, columns_reader *r, pml_error *err)
{
    const column_source *ended = NULL, *more = NULL;
    *rows = 0;
    for (size_t i = 0; i < r->n_sources; i++) {
        column_source *s = &r->sources[i];
        PML_RETURN_IF(source_fill(r, s, err));
        if (s->batch == NULL) {
            ended = s;
            continue;
        }
        int64_t left = pml_shared__array(s->batch)->length - s->row;
        *rows = more == NULL || left < *rows ? left : *rows;
        more = s;
    }
    if (ended == NULL || more == NULL)
        return PML_OK;
    const char *path = r->split->paths[ended->file];
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path, "%s has fewer rows than %s, which has other columns of the same rows",
                         path, r->split->paths[more->file]);
}

/* Moves the source's columns of its next rows to where they belong. */
static int source_take(columns_reader *r, size_t source, struct ArrowArray *columns, int64_t rows, pml_error *err)
{
    struct ArrowArray part;
    column_source *s = &r->sources[source];
    PML_RETURN_IF(pml_shared__slice(&part, s->batch, s->row, rows, NULL, s->n_fields, NULL, err));
    for (size_t i = 0; i < r->n_fields; i++)
        if (r->columns[i].source == source) {
            columns[i] = *part.children[r->columns[i].column];
            part.children[r->columns[i].column]->release = NULL;
        }
    part.release(&part);
    s->row += rows;
    if (s->row == pml_shared__array(s->batch)->length) {
        pml_shared__release(s->batch);
        s->batch = NULL;
    }
    return PML_OK;
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    columns_reader *r = owner;
    int64_t rows;
    int rc;
    PML_RETURN_IF(rows_at_hand(&rows, r, err));
    if (rows == 0)
        return PML_OK;
    struct ArrowArray *columns = pml_env__calloc(r->env, r->n_fields, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->n_sources; i++)
        PML_TRY(source_take(r, i, columns, rows, err));
    PML_TRY(pml_batch__from_columns(out, r->env, columns, r->n_fields, rows, err));
out:
    for (size_t i = 0; i < r->n_fields; i++)
        pml_array__release(&columns[i]);
    pml_env__free(r->env, columns);
    return rc;
}

/* ---- opening ---- */

static int open_in_step(struct ArrowArrayStream *out, columns_reader *r, const pml_columns_read *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc = PML_OK;
    for (size_t i = 0; i < r->n_sources; i++)
        PML_TRY(source_open(r, &r->sources[i], err));
    PML_TRY(pml_type__export(&schema, r->env, q->fields, q->n_fields, err));
    PML_TRY(pml_stream__new(out, r->env, &schema, reader_next, reader_drop, r, err));
out:
    pml_schema__release(&schema);
    return rc;
}

int pml_columns_read__open(struct ArrowArrayStream *out, const pml_columns_read *q, pml_error *err)
{
    int rc;
    memset(out, 0, sizeof *out);
    pml_env *env = q->plan->env;
    columns_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    pml_plan__acquire(q->plan);
    r->plan = q->plan;
    r->split = q->split;
    r->batch_rows = q->batch_rows;
    r->validate_full = q->validate_full;
    pml_arena__init(&r->arena, env);
    PML_TRY(choose_sources(r, q, err));
    if (r->n_sources == 1 && r->sources[0].chain.n <= 1) { /* its rows are all that is read, so that some of them may be left out */
        pml_file_source request = source_request(r, &r->sources[0]);
        request.fields = q->fields;
        request.predicate = q->predicate;
        request.indexes = q->indexes;
        PML_TRY(pml_file_source__open(out, &request, err));
    } else {
        PML_TRY(open_in_step(out, r, q, err));
        r = NULL;
    }
out:
    if (r != NULL)
        reader_drop(r);
    return rc;
}
