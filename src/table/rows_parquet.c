/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet files of any maker as input: the reader of data files matches and casts columns; what it would pass over in silence,
   columns that the table lacks, is an error here. */
#include <string.h>

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
    PML_TRY(bridge->parquet_open(&reader, &input, NULL, &options, err)); /* owns the file on any return */
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

int pml_rows_parquet__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err)
{
    const pml_bridge *bridge;
    const pml_format_read request = {
        .fields = in->fields, .n_fields = in->n_fields, .batch_rows = in->batch_rows, .validate_full = true};
    if (strcmp(in->path, "-") == 0)
        return pml_error__set(err, PML_E_INVAL,
                              "Parquet cannot be read from standard input: its directory is at the end of the file");
    PML_RETURN_IF(pml_bridge__get(&bridge, in->env, err));
    PML_RETURN_IF(check_file(in, bridge, err));
    return pml_format__open(out, in->env, "parquet", in->path, &request, err);
}
