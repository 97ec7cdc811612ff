/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/serde_index.h"

#include <string.h>

enum { F_TYPE, F_NAME, F_SIZE, F_ROW_COUNT, F_RANGES, F_EXTERNAL_PATH, F_GLOBAL, FIELDS, F_REQUIRED = F_RANGES };
enum { VERSION_EXTERNAL_PATH = 9, VERSION_GLOBAL = 11 };

static const pml_type type_string = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
static const pml_type type_long = {.kind = PML_TYPE_BIGINT};
static const pml_type type_array = {.kind = PML_TYPE_ARRAY}; /* nested values travel as their bytes */
static const pml_type type_row = {.kind = PML_TYPE_ROW};
static const pml_type *const types[FIELDS] = {[F_TYPE] = &type_string,      [F_NAME] = &type_string,  [F_SIZE] = &type_long,
                                              [F_ROW_COUNT] = &type_long,   [F_RANGES] = &type_array, [F_EXTERNAL_PATH] = &type_string,
                                              [F_GLOBAL] = &type_row};

static pml_value of_text(const char *s)
{
    pml_value v = {.kind = PML_VALUE_BYTES};
    v.bytes = (pml_bytes){(const uint8_t *)s, strlen(s)};
    return v;
}

static pml_value of_int(int64_t i)
{
    pml_value v = {.kind = PML_VALUE_INT};
    v.i = i;
    return v;
}

int pml_serde_index__write_list(pml_buf *out, const pml_index_entry *e)
{
    pml_value v[FIELDS] = {{0}};
    PML_RETURN_IF(pml_java__put_i32(out, e == NULL ? 0 : 1));
    if (e == NULL)
        return PML_OK;
    v[F_TYPE] = of_text(e->type);
    v[F_NAME] = of_text(e->name);
    v[F_SIZE] = of_int(e->size_bytes);
    v[F_ROW_COUNT] = of_int(e->row_count);
    size_t start = out->len;
    PML_RETURN_IF(pml_buf__append_be32(out, 0));
    PML_RETURN_IF(pml_binary_row__write(out, types, v, FIELDS));
    pml_put_be32(out->data + start, (uint32_t)(out->len - start - 4));
    return PML_OK;
}

/* ---- reading ---- */

static int get_text(const char **out, pml_java_reader *r, const pml_value *v, const char *field)
{
    if (v->bytes.len > 0 && memchr(v->bytes.ptr, '\0', v->bytes.len) != NULL)
        return pml_java__bad(r, "%s has a NUL in it", field);
    *out = pml_arena__strndup(r->arena, (const char *)v->bytes.ptr, v->bytes.len);
    if (*out == NULL)
        r->rc = pml_error__no_memory(r->err);
    return r->rc;
}

static int check(const pml_index_entry *e, pml_java_reader *r, const pml_value *v)
{
    if (strchr(e->name, '/') != NULL || e->name[0] == '\0' || strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
        return pml_java__bad(r, "the index file '%.80s' is not a plain file name", e->name);
    if (e->size_bytes < 0 || e->row_count < 0)
        return pml_java__bad(r, "an index file has %lld bytes and %lld rows", (long long)e->size_bytes, (long long)e->row_count);
    if (strcmp(e->type, "HASH") == 0 && v[F_RANGES].kind == PML_VALUE_NULL && v[F_EXTERNAL_PATH].kind == PML_VALUE_NULL &&
        v[F_GLOBAL].kind == PML_VALUE_NULL)
        return PML_OK;
    r->rc = pml_error__set(r->err, PML_E_UNSUPPORTED,
                           "needs index-files: a commit message has an index file of type %.40s%s, which this version does not commit", e->type,
                           v[F_EXTERNAL_PATH].kind == PML_VALUE_NULL ? "" : " outside of the table");
    return r->rc;
}

int pml_serde_index__read_list(pml_index_entry *out, bool *found, pml_java_reader *r, int32_t version)
{
    size_t n = pml_java__get_count(r, 4), fields = version >= VERSION_GLOBAL ? FIELDS : version >= VERSION_EXTERNAL_PATH ? F_GLOBAL : F_EXTERNAL_PATH;
    pml_value v[FIELDS] = {{0}};
    *out = (pml_index_entry){0};
    *found = false;
    if (r->rc != PML_OK || n == 0)
        return r->rc;
    if (n > 1)
        return r->rc = pml_error__set(r->err, PML_E_UNSUPPORTED,
                                      "needs index-files: a commit message has %zu index files, and this version commits one for each bucket", n);
    pml_bytes row = pml_java__get_row(r);
    PML_RETURN_IF(r->rc);
    r->rc = pml_binary_row__read(v, types, fields, row, r->err);
    PML_RETURN_IF(r->rc);
    for (size_t i = 0; i < F_REQUIRED; i++)
        if (v[i].kind == PML_VALUE_NULL)
            return pml_java__bad(r, "field %zu of an index file is null", i);
    out->size_bytes = v[F_SIZE].i;
    out->row_count = v[F_ROW_COUNT].i;
    PML_RETURN_IF(get_text(&out->type, r, &v[F_TYPE], "_INDEX_TYPE"));
    PML_RETURN_IF(get_text(&out->name, r, &v[F_NAME], "_FILE_NAME"));
    *found = true;
    return check(out, r, v);
}
