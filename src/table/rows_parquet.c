/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet files of any maker as input: the reader of data files matches and casts columns; what it would pass over in silence,
   columns that the table lacks, is an error here. */
#include <paimonlive/scan.h>
#include <string.h>

#include "columnar/batch.h"
#include "format/bridge_load.h"
#include "format/file_format.h"
#include "storage/stream.h"
#include "table/rows_input.h"

static int input_read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err)
{
    return pml_input__read_at(ctx, offset, buf, (size_t)n, err);
}

static void input_close(void *ctx)
{
    pml_input__close(ctx);
}

static bool schema_has(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return true;
    return false;
}

static int check_file(const pml_rows_input *in, const pml_bridge *bridge, pml_error *err)
{
    const pml_bridge_read_options options = {in->batch_rows, PML_BRIDGE_VALIDATE_BASIC, 0};
    struct ArrowSchema schema = {0};
    pml_bridge_reader *reader = NULL;
    const char **names = NULL;
    pml_input *file = NULL;
    int rc;
    PML_TRY(pml_input__open(&file, in->env, in->path, err));
    const pml_bridge_input input = {file, in->path, pml_input__size(file), input_read_at, input_close};
    const pml_bridge_memory memory = pml_bridge__read_memory(in->env);
    PML_TRY(bridge->parquet_open(&reader, &input, &memory, &options, err)); /* owns the file on any return */
    PML_TRY(bridge->parquet_schema(&schema, reader, err));
    names = pml_env__calloc(in->env, (size_t)schema.n_children, sizeof *names);
    if (names == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (int64_t i = 0; i < schema.n_children; i++)
        names[i] = schema.children[i]->name;
    PML_TRY(pml_rows_input__check_columns(in, names, (size_t)schema.n_children, err));
    bool any = false;
    for (size_t i = 0; i < in->n_fields; i++)
        any = any || schema_has(&schema, in->fields[i].name);
    if (!any)
        rc = pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, in->path, "%s has none of the table's columns", in->path);
out:
    pml_env__free(in->env, names);
    pml_schema__release(&schema);
    if (reader != NULL)
        bridge->parquet_close(reader);
    return rc;
}

typedef struct rows_parquet {
    pml_env *env;
    pml_table *table;
    struct ArrowArrayStream stream;
    char *path;
    const pml_field *fields;
    size_t n_fields;
    int64_t row; /* rows given out */
    pml_rows_kinds kinds;
} rows_parquet;

static int parquet_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    rows_parquet *r = owner;
    int rc = PML_OK;
    memset(out, 0, sizeof *out);
    if (r->stream.get_next(&r->stream, out) != 0) {
        out->release = NULL;
        rc = pml_stream_error(&r->stream, err);
        return pml_rows_input__wrong_row(rc, r->path, err);
    }
    if (out->release == NULL)
        return PML_OK;
    rc = pml_rows_input__check_batch(r->path, r->fields, r->n_fields, &r->kinds, out, r->row, err);
    r->row += out->length;
    if (rc != PML_OK)
        pml_array__release(out);
    return rc;
}

static void parquet_drop(void *owner)
{
    rows_parquet *r = owner;
    pml_env *env = r->env;
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    pml_env__free(env, r->path);
    pml_rows_kinds__clear(&r->kinds);
    pml_table_release(r->table);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int parquet_wrap(struct ArrowArrayStream *out, rows_parquet *r, const pml_rows_input *in, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    r->fields = in->fields;
    r->n_fields = in->n_fields;
    r->path = pml_env__strdup(in->env, in->path);
    if (r->path == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_rows_kinds__init(&r->kinds, in->table, in->options->realtime != 0, err));
    PML_TRY(pml_type__export(&schema, in->env, in->fields, in->n_fields, err));
    PML_TRY(pml_stream__new(out, in->env, &schema, parquet_next, parquet_drop, r, err));
out:
    if (rc != PML_OK)
        pml_schema__release(&schema);
    return rc;
}

int pml_rows_parquet__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err)
{
    const pml_bridge *bridge;
    const pml_format_read request = {
        .fields = in->fields, .n_fields = in->n_fields, .batch_rows = in->batch_rows, .checksums = true};
    int rc;
    if (strcmp(in->path, "-") == 0)
        return pml_error__set(err, PML_E_INVAL,
                              "Parquet cannot be read from standard input: its directory is at the end of the file");
    PML_RETURN_IF(pml_bridge__get(&bridge, in->env, err));
    PML_RETURN_IF(check_file(in, bridge, err));
    rows_parquet *r = pml_env__calloc(in->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(in->env);
    pml_table_acquire(in->table);
    r->env = in->env;
    r->table = in->table;
    rc = pml_format__open(&r->stream, in->env, "parquet", in->path, &request, err);
    PML_TRY(pml_rows_input__wrong_row(rc, in->path, err));
    PML_TRY(parquet_wrap(out, r, in, err));
    return PML_OK;
out:
    parquet_drop(r);
    return rc;
}
