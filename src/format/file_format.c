/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file_format.h"

#include <string.h>

#include "format/avro_data.h"
#include "format/blob.h"
#include "format/bridge_load.h"
#include "format/orc.h"
#include "format/parquet.h"
#include "format/text_data.h"
#include "storage/file_io.h"

enum { WRITE_BATCH_ROWS = 4096 }; /* values encoded in one go, after which the size of the page is looked at */

struct pml_format_writer {
    pml_env *env;
    const pml_bridge *bridge;
    pml_bridge_writer *parquet;
    pml_output *out;
    char *path;
};

static int unknown_format(const char *format, const char *path, pml_error *err)
{
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path,
                         "needs format:%s: this version reads Parquet, ORC, Avro, CSV, JSON, text and blob data files and writes Parquet (%s)", format, path);
}

int pml_format__check_readable(const char *format, const char *path, bool untrusted, pml_error *err)
{
    if (strcmp(format, "orc") == 0 && untrusted)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path,
                             "needs trusted-input: ORC files are trusted input, and read.untrusted is true (%s)", path);
    bool known = strcmp(format, "parquet") == 0 || strcmp(format, "orc") == 0 || strcmp(format, "avro") == 0 || strcmp(format, "blob") == 0 ||
                 pml_text_data__is(format);
    return known ? PML_OK : unknown_format(format, path, err);
}

static bool has_blobs(const pml_type *t)
{
    bool some = t->kind == PML_TYPE_BLOB;
    for (size_t i = 0; i < t->n_children && !some; i++)
        some = has_blobs(&t->children[i].type);
    return some;
}

/* A BLOB among other columns is the place where its bytes are (blob-descriptor-field): a path or an address anywhere, which a table that
   came from somewhere must not make us read. */
static int refuse_descriptors(const char *path, const pml_format_read *request, pml_error *err)
{
    for (size_t i = 0; i < request->n_fields; i++)
        if (has_blobs(&request->fields[i].type))
            return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path,
                                 "needs blob-descriptor-field: column '%.80s' of %s holds places of BLOBs, which this version does not follow",
                                 request->fields[i].name, path);
    return PML_OK;
}

int pml_format__open(struct ArrowArrayStream *out, pml_env *env, const char *format, const char *path,
                     const pml_format_read *request, pml_error *err)
{
    *out = (struct ArrowArrayStream){0};
    PML_RETURN_IF(pml_format__check_readable(format, path, request->untrusted, err));
    if (strcmp(format, "blob") == 0)
        return pml_blob__open(out, env, path, request, err);
    PML_RETURN_IF(refuse_descriptors(path, request, err));
    if (strcmp(format, "avro") == 0)
        return pml_avro_data__open(out, env, path, request, err);
    if (strcmp(format, "orc") == 0)
        return pml_orc__open(out, env, path, request, err);
    if (pml_text_data__is(format))
        return pml_text_data__open(out, env, format, path, request, err);
    return pml_parquet__open(out, env, path, request, err);
}

static int output_write(void *ctx, const void *buf, int64_t n, pml_error *err)
{
    const pml_format_writer *w = ctx;
    int rc = pml_output__append(w->out, buf, (size_t)n);
    return rc == PML_OK ? PML_OK
                        : pml_error__at(err, rc, PML_PLACE_DATA_FILE, w->path, "%s cannot be written (%s)", w->path,
                                        pml_error_name(rc));
}

int pml_format__create(pml_format_writer **out, pml_env *env, const char *format, const char *path,
                       const pml_field *fields, size_t n_fields, const pml_format_write_options *o, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    *out = NULL;
    if (strcmp(format, "parquet") != 0)
        return unknown_format(format, path, err);
    pml_format_writer *w = pml_env__calloc(env, 1, sizeof *w);
    if (w == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    w->env = env;
    w->path = pml_env__strdup(env, path);
    if (w->path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_bridge__get(&w->bridge, env, err));
    PML_TRY(pml_type__export(&schema, env, fields, n_fields, err));
    PML_TRY(pml_output__create(&w->out, env, path, err));
    const pml_bridge_output output = {w, w->path, output_write};
    const pml_bridge_write_options options = {.compression = o->compression,
                                              .compression_level =
                                                  strcmp(o->compression, "zstd") == 0 ? o->zstd_level : INT32_MIN,
                                              .dictionary = o->dictionary,
                                              .row_group_bytes = o->block_bytes,
                                              .page_bytes = o->page_bytes,
                                              .write_batch_rows = WRITE_BATCH_ROWS,
                                              .plain = o->plain,
                                              .delta = o->delta};
    const pml_bridge_memory memory = pml_bridge__write_memory(env);
    PML_TRY(w->bridge->parquet_create(&w->parquet, &output, &memory, &schema, &options, err));
    *out = w;
    w = NULL;
out:
    pml_schema__release(&schema);
    pml_format_writer__free(w);
    return rc;
}

int pml_format_writer__write(pml_format_writer *w, struct ArrowArray *array, pml_error *err)
{
    return w->bridge->parquet_write(w->parquet, array, err);
}

int64_t pml_format_writer__size(const pml_format_writer *w)
{
    return w->bridge->parquet_size(w->parquet);
}

int pml_format_writer__finish(pml_format_writer *w, bool sync, int64_t *size_bytes, pml_error *err)
{
    PML_RETURN_IF(w->bridge->parquet_finish(w->parquet, err));
    *size_bytes = pml_output__size(w->out);
    pml_output *out = w->out;
    w->out = NULL; /* finish moves it, and removes the file when it fails */
    return pml_output__finish(out, sync ? 0 : PML_WRITE_NO_SYNC, err);
}

void pml_format_writer__free(pml_format_writer *w)
{
    if (w == NULL)
        return;
    pml_env *env = w->env;
    if (w->parquet != NULL)
        w->bridge->parquet_free(w->parquet);
    pml_output__abandon(w->out);
    pml_env__free(env, w->path);
    pml_env__free(env, w);
    pml_env_release(env);
}
