/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet files in: columns by name, rows by statistics (parquet_prune.c), batches in the canonical Arrow form. */
#include "format/parquet.h"

#include <string.h>

#include "format/bridge_load.h"
#include "format/parquet_match.h"
#include "format/read_common.h"
#include "format/variant_shred.h"
#include "storage/stream.h"

typedef struct parquet_reader {
    pml_env *env;
    const pml_bridge *bridge;
    pml_bridge_reader *file;
    struct ArrowArrayStream stream; /* release NULL: no stored column is wanted */
    struct ArrowSchema file_schema; /* what the stream gives, in wanted order */
    struct ArrowSchema out_schema;  /* the canonical form of the wanted fields */
    pml_variant_shred *shred;       /* of variants in several columns; file_schema is what it makes of them */
    bool as_is;                     /* the two schemas agree */
    bool check_values;
    pml_selection selection;
    int64_t rows_left, batch_rows;  /* without a stream: rows to make up */
    pml_arena arena;
    const char *path;
    const pml_field *fields; /* copies in the arena */
    size_t n_fields;
} parquet_reader;

static void reader_drop(void *owner)
{
    parquet_reader *r = owner;
    pml_env *env = r->env;
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    if (r->file != NULL)
        r->bridge->parquet_close(r->file);
    pml_schema__release(&r->file_schema);
    pml_schema__release(&r->out_schema);
    pml_variant_shred__free(r->shred);
    pml_arena__clear(&r->arena);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- batches ---- */

/* Without any stored column only the number of rows matters; columns that the file lacks are null. */
static int make_up(parquet_reader *r, struct ArrowArray *out, pml_error *err)
{
    int64_t n = r->rows_left < r->batch_rows ? r->rows_left : r->batch_rows;
    const pml_value null = {.kind = PML_VALUE_NULL};
    int rc = PML_OK;
    if (n == 0)
        return PML_OK;
    size_t n_columns = r->n_fields + r->selection.positions;
    struct ArrowArray *columns = pml_env__calloc(r->env, n_columns, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; rc == PML_OK && i < r->n_fields; i++)
        rc = pml_batch__constant(&columns[i], r->env, &r->fields[i].type, &null, n, err);
    if (rc == PML_OK && r->selection.positions)
        rc = pml_selection__positions(&columns[r->n_fields], &r->selection, n, err);
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, r->env, columns, n_columns, n, err);
    for (size_t i = 0; rc != PML_OK && i < n_columns; i++)
        pml_array__release(&columns[i]);
    pml_env__free(r->env, columns);
    if (rc == PML_OK)
        r->rows_left -= n;
    return rc;
}

/* What the file holds as the types of the table. That they do not fit is no mistake of the caller. */
static int cast_batch(parquet_reader *r, struct ArrowArray *out, struct ArrowArray *batch, pml_error *err)
{
    const pml_bridge_memory memory = pml_bridge__read_memory(r->env);
    pml_error why = PML_ERROR_INIT;
    int rc = r->bridge->cast(out, batch, &r->file_schema, &r->out_schema, &memory, &why);
    if (r->check_values && (rc == PML_E_INVAL || rc == PML_E_UNSUPPORTED)) /* a data file; a file of rows is the caller's */
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path,
                             "%s is damaged, or its columns have other types than the table's: %.400s", r->path, why.message);
    if (rc != PML_OK && err != NULL)
        *err = why;
    return rc;
}

/* Variants in several columns become whole. */
static int assemble_variants(parquet_reader *r, struct ArrowArray *batch, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    int rc = r->shred == NULL ? PML_OK : pml_variant_shred__batch(r->shred, batch, &why);
    if (rc == PML_OK)
        return PML_OK;
    pml_array__release(batch);
    return pml_error__at(err, rc, PML_PLACE_DATA_FILE, r->path, "%.400s (%s)", why.message, r->path);
}

/* The wanted rows of the next batch of the file, which may be none (release NULL). */
static int next_of_file(bool *more, parquet_reader *r, struct ArrowArray *out, pml_error *err)
{
    struct ArrowArray batch = {0};
    if (r->stream.get_next(&r->stream, &batch) != 0)
        return r->bridge->stream_error(&r->stream, err);
    *more = batch.release != NULL;
    if (!*more)
        return PML_OK;
    PML_RETURN_IF(assemble_variants(r, &batch, err));
    if (r->as_is) {
        *out = batch;
    } else {
        PML_RETURN_IF(cast_batch(r, out, &batch, err));
    }
    if (r->check_values)
        PML_RETURN_IF(pml_format__check_values(r->path, out, r->fields, r->n_fields, err));
    return pml_selection__cut(&r->selection, out, r->fields, r->n_fields, err);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    parquet_reader *r = owner;
    bool more = true;
    if (r->stream.release == NULL)
        return make_up(r, out, err);
    while (more && out->release == NULL)
        PML_RETURN_IF(next_of_file(&more, r, out, err));
    return PML_OK;
}

/* ---- opening ---- */

static int32_t column_by_name(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* The bridge gives no other metadata than the id. */
static bool has_field_ids(const struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->metadata != NULL)
            return true;
    return false;
}

static int schema_damaged(const parquet_reader *r, const char *why, const char *column, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path,
                         "%s is damaged, or its writer broke the rules: %s%s%s (the schema that its metadata names says otherwise)", r->path,
                         why, column == NULL ? "" : column, column == NULL ? "" : "'");
}

/* A damaged footer that still parses would give nulls for a column of another name, and other values for one of another type. */
static int check_own_schema(const parquet_reader *r, const struct ArrowSchema *schema, const int32_t *columns, size_t n_needed,
                            pml_error *err)
{
    if (!has_field_ids(schema))
        return PML_OK;
    for (size_t i = 0; i < r->n_fields; i++) {
        const char *name = r->fields[i].name;
        pml_error why = PML_ERROR_INIT;
        if (columns[i] < 0 && i < n_needed)
            return schema_damaged(r, "it has no column '", name, err);
        if (columns[i] < 0)
            continue;
        for (int64_t j = columns[i] + 1; j < schema->n_children; j++)
            if (strcmp(schema->children[j]->name, name) == 0)
                return schema_damaged(r, "it has two columns '", name, err);
        if (pml_type__check_arrow_stored(schema->children[columns[i]], &r->fields[i], &why) != PML_OK)
            return schema_damaged(r, why.message, NULL, err);
    }
    return PML_OK;
}

static int select_rows(parquet_reader *r, const pml_parquet_rows *rows, const pml_parquet_file *f, const pml_format_read *q, pml_error *err)
{
    pml_row_range *ranges;
    PML_RETURN_IF(pml_parquet__row_ranges(&ranges, rows, f, err));
    r->selection =
        (pml_selection){.env = r->env, .rows = q->rows, .ranges = ranges, .n_ranges = rows->n, .positions = q->positions};
    r->rows_left = pml_selection__count(&r->selection);
    return PML_OK;
}

static int open_variants(parquet_reader *r, const pml_format_read *q, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    int rc = pml_variant_shred__new(&r->shred, r->env, &r->file_schema, q->fields, q->n_fields, &why);
    return rc == PML_OK ? PML_OK : pml_error__at(err, rc, PML_PLACE_DATA_FILE, r->path, "%.400s (%s)", why.message, r->path);
}

static int open_stream(parquet_reader *r, const pml_format_read *q, pml_error *err)
{
    struct ArrowSchema file_schema = {0};
    int32_t *columns = pml_arena__array(&r->arena, q->n_fields, sizeof *columns);
    int32_t *present = pml_arena__array(&r->arena, q->n_fields, sizeof *present);
    pml_parquet_rows rows;
    size_t n_present = 0;
    int rc;
    if (columns == NULL || present == NULL)
        return pml_error__no_memory(err);
    PML_TRY(r->bridge->parquet_schema(&file_schema, r->file, err));
    for (size_t i = 0; i < q->n_fields; i++) {
        columns[i] = column_by_name(&file_schema, q->fields[i].name);
        if (columns[i] >= 0)
            present[n_present++] = columns[i];
    }
    if (q->own_schema)
        PML_TRY(check_own_schema(r, &file_schema, columns, q->n_fields - q->n_optional, err));
    const pml_parquet_file file = {&r->arena, r->bridge, r->file, r->path, &file_schema, columns};
    PML_TRY(pml_selection__check(q->rows, r->bridge->parquet_rows(r->file), r->path, err));
    PML_TRY(pml_parquet__choose_rows(&rows, &file, q, err));
    if (q->match_rows)
        PML_TRY(pml_parquet__match_rows(&rows, &file, q, err));
    r->rows_left = rows.total;
    if (q->rows != NULL || q->positions)
        PML_TRY(select_rows(r, &rows, &file, q, err));
    if (n_present == 0)
        goto out;
    if (rows.groups != NULL)
        PML_TRY(r->bridge->parquet_stream(&r->stream, r->file, rows.groups, rows.n, present, n_present, err));
    else
        PML_TRY(r->bridge->parquet_stream_rows(&r->stream, r->file, rows.v, rows.n, present, n_present, err));
    if (r->stream.get_schema(&r->stream, &r->file_schema) != 0) {
        rc = r->bridge->stream_error(&r->stream, err);
        goto out;
    }
    PML_TRY(open_variants(r, q, err));
    r->as_is =
        n_present == q->n_fields && pml_type__check_arrow(&r->file_schema, q->fields, q->n_fields, NULL) == PML_OK;
out:
    pml_schema__release(&file_schema);
    return rc;
}

int pml_parquet__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *q,
                      pml_error *err)
{
    pml_input *in = NULL;
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    parquet_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    r->batch_rows = q->batch_rows > 0 ? q->batch_rows : PML_PARQUET_BATCH_ROWS;
    pml_arena__init(&r->arena, env);
    r->n_fields = q->n_fields;
    PML_TRY(pml_format__keep(&r->path, &r->fields, &r->arena, path, q, err));
    PML_TRY(pml_bridge__get(&r->bridge, env, err));
    PML_TRY(pml_format__open_input(&in, env, path, q, err));
    rc = pml_format__check_identity(path, q, pml_input__size(in), -1, err);
    if (rc != PML_OK) {
        pml_input__close(in);
        goto out;
    }
    const pml_bridge_input input = pml_bridge__input(in, path);
    /* Values are checked here, by the types of the table: what the bridge would do of it costs more and knows less. */
    const pml_bridge_read_options options = {r->batch_rows, PML_BRIDGE_VALIDATE_BASIC, q->checksums};
    r->check_values = q->check_values;
    const pml_bridge_memory memory = pml_bridge__read_memory(env);
    PML_TRY(r->bridge->parquet_open(&r->file, &input, &memory, &options, err)); /* owns the input on any return */
    PML_TRY(pml_format__check_identity(path, q, input.size_bytes, r->bridge->parquet_rows(r->file), err));
    PML_TRY(open_stream(r, q, err));
    PML_TRY(pml_format__export(&schema, env, q, err));
    PML_TRY(pml_type__export(&r->out_schema, env, q->fields, q->n_fields, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
