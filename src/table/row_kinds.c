/* SPDX-License-Identifier: Apache-2.0 */
#include "table/row_kinds.h"

#include <string.h>

#include "columnar/column_keys.h"
#include "merge/engine.h"
#include "merge/merge_options.h"

static const char *const kind_texts[] = {"+I", "-U", "+U", "-D"};

int pml_row_kinds__init(pml_row_kinds *out, const pml_table *t, const pml_merge_function *function, pml_error *err)
{
    const char *field = t->options.rowkind_field;
    const pml_merge_options options = {t->schema, t->overrides, t->n_overrides};
    *out = (pml_row_kinds){.env = t->env, .table = t, .column = -1, .function = function};
    if (function == NULL)
        return PML_OK;
    out->drops_before = t->options.ignore_update_before;
    PML_RETURN_IF(pml_merge_options__ignore_delete(&out->drops_retracts, &options, err));
    if (field == NULL)
        return PML_OK;
    out->column = pml_table_schema__find(t->schema, field, strlen(field));
    pml_type_kind kind = out->column < 0 ? PML_TYPE_INT : t->schema->fields[out->column].type.kind;
    if (kind == PML_TYPE_VARCHAR || kind == PML_TYPE_CHAR)
        return PML_OK;
    return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_OPTION, t->path, "option rowkind.field of %.120s is '%.80s': %s", t->path, field,
                         out->column < 0 ? "there is no such column" : "the column is no STRING");
}

bool pml_row_kinds__drops_any(const pml_row_kinds *k, const int8_t *kinds, int64_t n)
{
    for (int64_t i = 0; kinds != NULL && i < n; i++)
        if (pml_row_kinds__drops(k, kinds[i]))
            return true;
    return false;
}

/* One kind, in a batch or found to be wrong. Errors do not say which row it is of, but for what tables without a key do not take. */
static int check_kind(const pml_row_kinds *k, int8_t kind, int64_t row, pml_error *err)
{
    if (kind < PML_ROW_INSERT || kind > PML_ROW_DELETE)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, NULL, "_VALUE_KIND is %d, which is none of 0 +I, 1 -U, 2 +U, 3 -D", kind);
    if (k->function == NULL && kind != PML_ROW_INSERT)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs primary-key: row %lld is of kind %s, and tables without one take +I only",
                              (long long)row, kind_texts[kind]);
    if (k->function == NULL || pml_row_kinds__drops(k, kind))
        return PML_OK;
    int rc = pml_merge_engine__check_kind(k->function, kind, err);
    if (rc != PML_OK && err != NULL)
        err->place = PML_PLACE_ROW;
    return rc;
}

static int kind_of_text(int8_t *kind, const pml_row_kinds *k, const struct ArrowArray *batch, int64_t i, pml_error *err)
{
    const struct ArrowArray *a = batch->children[k->column];
    int64_t row = batch->offset + i;
    pml_bytes text = pml_array__is_null(a, row) ? (pml_bytes){0} : pml_text_at(a, row);
    for (*kind = 0; *kind < 4; ++*kind)
        if (pml_bytes_equal(text, (pml_bytes){(const uint8_t *)kind_texts[*kind], 2}))
            return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, NULL, "column %s, which gives the kind of a row, is %s%.*s; it must be +I, -U, +U or -D",
                         k->table->schema->fields[k->column].name, text.ptr == NULL ? "null" : "", (int)(text.len < 40 ? text.len : 40),
                         text.ptr == NULL ? "" : (const char *)text.ptr);
}

static int kind_at(int8_t *kind, const pml_row_kinds *k, const struct ArrowArray *batch, const int8_t *given, int64_t i, pml_error *err)
{
    if (k->column >= 0)
        PML_RETURN_IF(kind_of_text(kind, k, batch, i, err));
    else
        *kind = given[i];
    return check_kind(k, *kind, i, err);
}

int pml_row_kinds__check(int64_t *wrong, const pml_row_kinds *k, const struct ArrowArray *batch, const int8_t *given, pml_error *err)
{
    int8_t kind;
    *wrong = -1;
    for (int64_t i = 0; (given != NULL || k->column >= 0) && i < batch->length; i++) {
        int rc = kind_at(&kind, k, batch, given, i, err);
        if (rc != PML_OK) {
            *wrong = i;
            return rc;
        }
    }
    return PML_OK;
}

int pml_row_kinds__of(int8_t **kinds, const pml_row_kinds *k, const struct ArrowArray *batch, const int8_t *given, pml_error *err)
{
    int rc = PML_OK;
    *kinds = NULL;
    if (batch->length == 0 || (given == NULL && k->column < 0))
        return PML_OK;
    int8_t *v = pml_env__alloc(k->env, (size_t)batch->length);
    if (v == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; rc == PML_OK && i < batch->length; i++) {
        rc = kind_at(&v[i], k, batch, given, i, err);
        if (rc == PML_E_INVAL)
            rc = pml_error__prefix(err, rc, "row %lld of a batch for %s", (long long)i, k->table->path);
    }
    if (rc == PML_OK)
        *kinds = v;
    else
        pml_env__free(k->env, v);
    return rc;
}
