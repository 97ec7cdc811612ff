/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/manifest_rows.h"

#include <stdio.h>

#include "columnar/array_memory.h"
#include "columnar/batch.h"
#include "format/file_format.h"

enum {
    BATCH_ROWS = 1024,
    RECORD_VALUES_MAX = 1024 * 1024 /* as of an Avro record */
};

struct pml_manifest_rows {
    pml_env *env;
    const char *name;
    pml_arena fixed, record; /* for the life of the rows; for one record */
    const pml_avro_field *wanted;
    pml_field *fields; /* the same as columns */
    size_t n_fields;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t row;
    size_t n_values; /* of the open record */
};

const char *pml_manifest_rows__format(pml_bytes file)
{
    if (file.len >= 4 && memcmp(file.ptr, "PAR1", 4) == 0)
        return "parquet";
    return file.len >= 3 && memcmp(file.ptr, "ORC", 3) == 0 ? "orc" : NULL;
}

/* ---- the wanted fields as columns ---- */

static int columns_of(pml_field **out, pml_arena *arena, const pml_avro_field *wanted, size_t n);

/* How deep wanted fields nest is ours to say: they are constants. */
static int type_of(pml_type *out, pml_arena *arena, const pml_avro_field *f)
{
    *out = (pml_type){0};
    switch (f->kind) {
    case PML_AVRO_RECORD:
        out->kind = PML_TYPE_ROW;
        out->n_children = f->n_children;
        PML_RETURN_IF(columns_of(&out->children, arena, f->children, f->n_children));
        break;
    case PML_AVRO_ARRAY:
        out->kind = PML_TYPE_ARRAY;
        out->n_children = 1;
        PML_RETURN_IF(columns_of(&out->children, arena, f->children, 1));
        out->children[0].name = "element";
        out->children[0].id = -1;
        break;
    default: *out = *f->type; break;
    }
    out->nullable = f->nullable;
    return PML_OK;
}

static int columns_of(pml_field **out, pml_arena *arena, const pml_avro_field *wanted, size_t n)
{
    *out = pml_arena__array(arena, n, sizeof **out);
    if (*out == NULL)
        return PML_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = (pml_field){.id = (int32_t)i, .name = wanted[i].name};
        PML_RETURN_IF(type_of(&(*out)[i].type, arena, &wanted[i]));
    }
    return PML_OK;
}

/* ---- life ---- */

/* What the readers of data files say of a file whose columns are not those of the format. */
static int is_damage(const pml_manifest_rows *r, int rc, pml_error *err)
{
    char why[256];
    if (rc != PML_E_INVAL && rc != PML_E_SCHEMA)
        return rc;
    (void)snprintf(why, sizeof why, "%.255s", err == NULL ? "" : err->message);
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name, "%s is damaged: %s", r->name, why);
}

int pml_manifest_rows__open(pml_manifest_rows **out, pml_env *env, pml_bytes file, const char *name, const pml_avro_field *fields,
                            size_t n_fields, pml_error *err)
{
    int rc;
    *out = NULL;
    pml_manifest_rows *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    r->env = env;
    r->name = name;
    r->wanted = fields;
    r->n_fields = n_fields;
    pml_arena__init(&r->fixed, env);
    pml_arena__init(&r->record, env);
    if (columns_of(&r->fields, &r->fixed, fields, n_fields) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    const pml_format_read request = {
        .fields = r->fields, .n_fields = n_fields, .batch_rows = BATCH_ROWS, .checksums = true, .content = file};
    rc = pml_format__open(&r->stream, env, pml_manifest_rows__format(file), name, &request, err);
    if (rc != PML_OK) {
        rc = is_damage(r, rc, err);
        goto out;
    }
    *out = r;
    r = NULL;
out:
    pml_manifest_rows__free(r);
    return rc;
}

void pml_manifest_rows__free(pml_manifest_rows *r)
{
    if (r == NULL)
        return;
    pml_array__release(&r->batch);
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    pml_arena__clear(&r->record);
    pml_arena__clear(&r->fixed);
    pml_env__free(r->env, r);
}

/* ---- values ---- */

static int put_value(pml_manifest_rows *r, pml_avro_value *v, const pml_avro_field *f, const struct ArrowArray *a, int64_t row,
                     pml_error *err);

static int values_take(pml_avro_value **out, pml_manifest_rows *r, const pml_avro_field *f, size_t n, pml_error *err)
{
    if (n > RECORD_VALUES_MAX - r->n_values)
        return pml_error__at(err, PML_E_LIMIT, PML_PLACE_FILE, r->name,
                             "a record of %s has more than %d values, counted at field %s", r->name, RECORD_VALUES_MAX, f->name);
    r->n_values += n;
    *out = pml_arena__array(&r->record, n, sizeof **out);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

static int64_t number_at(const struct ArrowArray *a, size_t width, int64_t at)
{
    const uint8_t *p = (const uint8_t *)a->buffers[1] + at * (int64_t)width;
    if (width == 1)
        return *(const int8_t *)p;
    return width == 4 ? (int32_t)pml_le32(p) : (int64_t)pml_le64(p);
}

static int put_record(pml_manifest_rows *r, pml_avro_value *v, const pml_avro_field *f, const struct ArrowArray *a, int64_t at,
                      pml_error *err)
{
    pml_avro_value *members;
    PML_RETURN_IF(values_take(&members, r, f, f->n_children, err));
    for (size_t i = 0; i < f->n_children; i++)
        PML_RETURN_IF(put_value(r, &members[i], &f->children[i], a->children[i], at, err));
    v->n = f->n_children;
    v->items = members;
    return PML_OK;
}

static int put_items(pml_manifest_rows *r, pml_avro_value *v, const pml_avro_field *f, const struct ArrowArray *a, int64_t at,
                     pml_error *err)
{
    pml_avro_value *items;
    int64_t first = pml_load_i32(a->buffers[1], at), end = pml_load_i32(a->buffers[1], at + 1);
    PML_RETURN_IF(values_take(&items, r, f, (size_t)(end - first), err));
    for (int64_t i = first; i < end; i++)
        PML_RETURN_IF(put_value(r, &items[i - first], &f->children[0], a->children[0], i, err));
    v->n = (size_t)(end - first);
    v->items = items;
    return PML_OK;
}

/* The batch was checked: its buffers and children are what its columns say. row counts beyond the array's own offset. */
static int put_value(pml_manifest_rows *r, pml_avro_value *v, const pml_avro_field *f, const struct ArrowArray *a, int64_t row,
                     pml_error *err)
{
    int64_t at = a->offset + row;
    *v = (pml_avro_value){.present = !pml_array__is_null(a, row)};
    if (!v->present)
        return f->nullable ? PML_OK
                           : pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name,
                                           "field %s of %s is null, which it must not be", f->name, r->name);
    switch (f->kind) {
    case PML_AVRO_RECORD: return put_record(r, v, f, a, at, err);
    case PML_AVRO_ARRAY: return put_items(r, v, f, a, at, err);
    case PML_AVRO_BYTES: {
        int32_t first = pml_load_i32(a->buffers[1], at), end = pml_load_i32(a->buffers[1], at + 1);
        v->bytes.len = (size_t)(end - first);
        v->bytes.ptr = v->bytes.len == 0 ? (const uint8_t *)"" : (const uint8_t *)a->buffers[2] + first;
        return PML_OK;
    }
    default: v->i = number_at(a, pml_layout__width(f->type), at); return PML_OK;
    }
}

/* ---- records ---- */

static int batch_next(pml_manifest_rows *r, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    pml_array__release(&r->batch);
    r->batch = (struct ArrowArray){0};
    r->row = 0;
    if (r->stream.get_next(&r->stream, &r->batch) != 0) {
        (void)pml_stream__last_error(&r->stream, &why);
        if (err != NULL)
            *err = why;
        return is_damage(r, why.code, err);
    }
    if (r->batch.release == NULL || pml_batch__check(&r->batch, r->fields, r->n_fields, PML_CHECK_BASIC, &why) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name, "%s is damaged: %.255s", r->name, why.message);
}

int pml_manifest_rows__next(bool *more, pml_avro_value *values, pml_manifest_rows *r, pml_error *err)
{
    *more = false;
    memset(values, 0, r->n_fields * sizeof *values);
    pml_arena__reset(&r->record);
    r->n_values = 0;
    while (r->batch.release == NULL || r->row == r->batch.length) {
        PML_RETURN_IF(batch_next(r, err));
        if (r->batch.release == NULL)
            return PML_OK;
    }
    for (size_t i = 0; i < r->n_fields; i++)
        PML_RETURN_IF(put_value(r, &values[i], &r->wanted[i], r->batch.children[i], r->batch.offset + r->row, err));
    r->row++;
    *more = true;
    return PML_OK;
}
