/* SPDX-License-Identifier: Apache-2.0 */
#include "table/metadata_rows.h"

#include <string.h>

enum { TEXT_MAX = 256 * 1024 * 1024 }; /* of one cell: larger than any metadata file */

int pml_meta_rows__init(pml_meta_rows *r, pml_env *env, const pml_field *fields, size_t n, pml_error *err)
{
    *r = (pml_meta_rows){.env = env, .fields = fields, .n_fields = n};
    pml_buf__init(&r->text, env, TEXT_MAX);
    r->columns = pml_env__calloc(env, n, sizeof *r->columns);
    if (r->columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(pml_builder__new(&r->columns[i], env, &fields[i].type, err));
    return PML_OK;
}

void pml_meta_rows__clear(pml_meta_rows *r)
{
    if (r->env == NULL)
        return;
    for (size_t i = 0; r->columns != NULL && i < r->n_fields; i++)
        pml_builder__free(r->columns[i]);
    pml_env__free(r->env, r->columns);
    pml_buf__clear(&r->text);
    *r = (pml_meta_rows){0};
}

/* The cell is done. */
static void step(pml_meta_rows *r, int rc)
{
    r->rc = r->rc == PML_OK ? rc : r->rc;
    r->next = (r->next + 1) % r->n_fields;
    r->length += r->next == 0;
}

void pml_meta_rows__put(pml_meta_rows *r, const pml_value *v)
{
    step(r, r->rc == PML_OK ? pml_builder__append_value(r->columns[r->next], v) : PML_OK);
}

void pml_meta_rows__put_null(pml_meta_rows *r)
{
    step(r, r->rc == PML_OK ? pml_builder__append_null(r->columns[r->next]) : PML_OK);
}

void pml_meta_rows__put_int(pml_meta_rows *r, int64_t i)
{
    pml_meta_rows__put(r, &(pml_value){.kind = PML_VALUE_INT, .i = i});
}

void pml_meta_rows__put_optional(pml_meta_rows *r, pml_optional_int64 v)
{
    if (v.present)
        pml_meta_rows__put_int(r, v.v);
    else
        pml_meta_rows__put_null(r);
}

void pml_meta_rows__put_text(pml_meta_rows *r, const char *s)
{
    if (s == NULL)
        pml_meta_rows__put_null(r);
    else
        pml_meta_rows__put(r, &(pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)s, strlen(s)}});
}

void pml_meta_rows__put_time(pml_meta_rows *r, bool present, int64_t ms)
{
    if (present)
        pml_meta_rows__put(r, &(pml_value){.kind = PML_VALUE_TIMESTAMP, .ts = {ms, 0}});
    else
        pml_meta_rows__put_null(r);
}

pml_buf *pml_meta_rows__begin_text(pml_meta_rows *r)
{
    pml_buf__reset(&r->text);
    return &r->text;
}

void pml_meta_rows__end_text(pml_meta_rows *r)
{
    int rc = pml_buf__check(&r->text, NULL);
    r->rc = r->rc == PML_OK ? rc : r->rc;
    pml_meta_rows__put(r, &(pml_value){.kind = PML_VALUE_BYTES, .bytes = {r->text.data, r->text.len}});
}

pml_builder *pml_meta_rows__begin_nested(pml_meta_rows *r)
{
    return r->columns[r->next];
}

void pml_meta_rows__end_nested(pml_meta_rows *r, int rc)
{
    step(r, rc);
}

/* The wanted columns one after the other, as fields with their place in the table as id. */
static int take_columns(struct ArrowArray *arrays, pml_field *fields, pml_meta_rows *r, const int32_t *columns,
                        size_t n, pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t from = columns == NULL ? i : (size_t)columns[i];
        fields[i] = r->fields[from];
        fields[i].id = (int32_t)from;
        PML_RETURN_IF(pml_builder__finish(r->columns[from], &arrays[i], err));
    }
    return PML_OK;
}

/* The first n columns of the batch, which is replaced. */
static int keep_columns(struct ArrowArray *batch, pml_env *env, size_t n, pml_error *err)
{
    struct ArrowArray out = {0};
    struct ArrowArray *columns = pml_env__calloc(env, n, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        columns[i] = *batch->children[i];
        batch->children[i]->release = NULL;
    }
    int rc = pml_batch__from_columns(&out, env, columns, n, batch->length, err);
    for (size_t i = 0; rc != PML_OK && i < n; i++)
        pml_array__release(&columns[i]);
    pml_env__free(env, columns);
    batch->release(batch);
    *batch = out;
    return rc;
}

int pml_meta_rows__stream(struct ArrowArrayStream *out, pml_meta_rows *r, const int32_t *columns, size_t n, size_t n_shown,
                          const pml_pred *predicate, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    int rc = r->rc;
    n = columns == NULL ? r->n_fields : n;
    n_shown = columns == NULL ? n : n_shown;
    struct ArrowArray *arrays = pml_env__calloc(r->env, n, sizeof *arrays);
    pml_field *fields = pml_env__calloc(r->env, n, sizeof *fields);
    if (arrays == NULL || fields == NULL || rc == PML_E_NOMEM) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    if (rc != PML_OK) {
        rc = pml_error__set(err, rc, "a value of the metadata does not fit its column");
        goto out;
    }
    PML_TRY(take_columns(arrays, fields, r, columns, n, err));
    PML_TRY(pml_batch__from_columns(&batch, r->env, arrays, n, r->length, err));
    if (predicate != NULL)
        PML_TRY(pml_batch__filter(&batch, r->env, predicate, fields, n, err));
    if (n_shown < n)
        PML_TRY(keep_columns(&batch, r->env, n_shown, err));
    PML_TRY(pml_type__export(&schema, r->env, fields, n_shown, err));
    PML_TRY(pml_stream__from_array(out, r->env, &schema, &batch, err));
out:
    for (size_t i = 0; arrays != NULL && i < n; i++)
        pml_array__release(&arrays[i]);
    pml_array__release(&batch);
    pml_schema__release(&schema);
    pml_env__free(r->env, fields);
    pml_env__free(r->env, arrays);
    return rc;
}
