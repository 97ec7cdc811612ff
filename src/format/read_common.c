/* SPDX-License-Identifier: Apache-2.0 */
#include "format/read_common.h"

int pml_format__open_input(pml_input **out, pml_env *env, const char *path, const pml_format_read *request, pml_error *err)
{
    return request->content.ptr == NULL ? pml_input__open(out, env, path, err)
                                        : pml_input__of_bytes(out, env, path, request->content, err);
}

int pml_format__keep(const char **path_kept, const pml_field **fields, pml_arena *arena, const char *path, const pml_format_read *request,
                     pml_error *err)
{
    pml_field *copies = pml_arena__array(arena, request->n_fields, sizeof *copies);
    *path_kept = pml_arena__strdup(arena, path);
    *fields = copies;
    if (*path_kept == NULL || copies == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < request->n_fields; i++) {
        copies[i] = request->fields[i];
        copies[i].name = pml_arena__strdup(arena, request->fields[i].name);
        if (copies[i].name == NULL || pml_type__copy(&copies[i].type, arena, &request->fields[i].type) != PML_OK)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

const pml_field pml_format_position = {.id = -1, .name = "_POSITION", .type = {.kind = PML_TYPE_BIGINT}};

int pml_format__export(struct ArrowSchema *out, pml_env *env, const pml_format_read *q, pml_error *err)
{
    if (!q->positions)
        return pml_type__export(out, env, q->fields, q->n_fields, err);
    pml_field *fields = pml_env__calloc(env, q->n_fields + 1, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < q->n_fields; i++)
        fields[i] = q->fields[i];
    fields[q->n_fields] = pml_format_position;
    int rc = pml_type__export(out, env, fields, q->n_fields + 1, err);
    pml_env__free(env, fields);
    return rc;
}

int pml_format__check_identity(const char *path, const pml_format_read *request, int64_t bytes, int64_t rows, pml_error *err)
{
    if (request->expect_bytes > 0 && bytes != request->expect_bytes)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path,
                             "%s has %lld bytes, its manifest says %lld: it is not the file that was written", path, (long long)bytes,
                             (long long)request->expect_bytes);
    if (request->expect_rows > 0 && rows >= 0 && rows != request->expect_rows)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path,
                             "%s has %lld rows, its manifest says %lld: it is not the file that was written", path, (long long)rows,
                             (long long)request->expect_rows);
    return PML_OK;
}

int pml_format__check_values(const char *path, const struct ArrowArray *batch, const pml_field *fields, size_t n, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    if (pml_batch__check(batch, fields, n, PML_CHECK_STORED, &why) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path,
                         "%s is damaged, or its writer broke the rules: %s (counted from the start of a batch; read.validate = basic "
                         "takes the values as they are)",
                         path, why.message);
}
