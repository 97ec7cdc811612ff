/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as canonical JSON lines, as CSV, and cell by cell for a terminal. */
#include <paimonlive/rows.h>
#include <string.h>

#include "columnar/row_text.h"
#include "columnar/value.h"
#include "util/env.h"

enum {
    /* One call prints one batch; a single batch beyond this is a mistake of the caller, not a table. */
    ROWS_TEXT_MAX = 1024 * 1024 * 1024
};

struct pml_rows_printer {
    pml_env *env;
    pml_arena arena;
    int32_t format; /* PML_ROWS_JSON or PML_ROWS_CSV */
    bool kind;
    pml_field *fields;
    size_t n_fields, n_printed; /* the last field is not printed where it gives "_kind" */
    pml_bytes *prefixes; /* of column i: `"name":`, with what stands before it */
    pml_buf text;        /* kept between calls */
};

static int printer_make_prefixes(pml_rows_printer *p, pml_error *err)
{
    int rc = PML_OK;
    pml_buf b;
    pml_buf__init(&b, p->env, ROWS_TEXT_MAX);
    p->prefixes = pml_arena__array(&p->arena, p->n_printed == 0 ? 1 : p->n_printed, sizeof *p->prefixes);
    if (p->prefixes == NULL)
        rc = pml_error__no_memory(err);
    for (size_t i = 0; rc == PML_OK && i < p->n_printed; i++) {
        pml_buf__reset(&b);
        if (i > 0 || p->kind)
            pml_buf__append_byte(&b, ',');
        pml_row_text__append_string(&b, p->fields[i].name, strlen(p->fields[i].name));
        pml_buf__append_byte(&b, ':');
        rc = pml_buf__check(&b, err);
        if (rc != PML_OK)
            break;
        p->prefixes[i].ptr = pml_arena__copy(&p->arena, b.data, b.len);
        p->prefixes[i].len = b.len;
        if (p->prefixes[i].ptr == NULL)
            rc = pml_error__no_memory(err);
    }
    pml_buf__clear(&b);
    return rc;
}

/* What a read with PML_READ_ROW_KIND gives. No column of a table may have this name. */
static bool has_kind_column(const pml_rows_printer *p)
{
    const pml_field *last = p->n_fields == 0 ? NULL : &p->fields[p->n_fields - 1];
    return p->kind && p->format == PML_ROWS_JSON && last != NULL && last->type.kind == PML_TYPE_TINYINT &&
           strcmp(last->name, "_VALUE_KIND") == 0;
}

int pml_rows_printer_new(pml_rows_printer **out, pml_env *env, const struct ArrowSchema *schema,
                         int32_t format_and_flags, pml_error *err)
{
    int rc;
    int32_t format = format_and_flags & ~PML_ROWS_NO_KIND;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (format != PML_ROWS_JSON && format != PML_ROWS_CSV)
        return pml_error__set(err, PML_E_INVAL, "rows are printed as PML_ROWS_JSON or PML_ROWS_CSV, not as format %d",
                              format);
    pml_rows_printer *p = pml_env__calloc(env, 1, sizeof *p);
    if (p == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    p->env = env;
    p->format = format;
    p->kind = (format_and_flags & PML_ROWS_NO_KIND) == 0;
    pml_arena__init(&p->arena, env);
    pml_buf__init(&p->text, env, ROWS_TEXT_MAX);
    PML_TRY(pml_row_text__fields(&p->fields, &p->n_fields, &p->arena, schema, err));
    p->n_printed = p->n_fields - has_kind_column(p);
    PML_TRY(printer_make_prefixes(p, err));
    *out = p;
    return PML_OK;
out:
    pml_rows_printer_free(p);
    return rc;
}

void pml_rows_printer_free(pml_rows_printer *p)
{
    if (p == NULL)
        return;
    pml_env *env = p->env;
    pml_buf__clear(&p->text);
    pml_arena__clear(&p->arena);
    pml_env__free(env, p);
    pml_env_release(env);
}

/* The kind of a row, -1: none that there is. */
static int64_t kind_of(const pml_rows_printer *p, const struct ArrowArray *batch, int64_t row)
{
    pml_value v;
    if (p->n_printed == p->n_fields)
        return 0;
    pml_value__get(&v, &p->fields[p->n_printed].type, batch->children[p->n_printed], batch->offset + row);
    return v.kind == PML_VALUE_INT && v.i >= 0 && v.i <= 3 ? v.i : -1;
}

static void print_json(pml_rows_printer *p, const struct ArrowArray *batch, int64_t row)
{
    static const char *const heads[] = {"{\"_kind\":\"+I\"", "{\"_kind\":\"-U\"", "{\"_kind\":\"+U\"", "{\"_kind\":\"-D\""};
    pml_buf *b = &p->text;
    pml_buf__append_str(b, p->kind ? heads[kind_of(p, batch, row)] : "{");
    for (size_t i = 0; i < p->n_printed && b->rc == PML_OK; i++) {
        pml_buf__append(b, p->prefixes[i].ptr, p->prefixes[i].len);
        pml_row_text__append(b, &p->fields[i].type, batch->children[i], batch->offset + row);
    }
    pml_buf__append(b, "}\n", 2);
}

/* The value without JSON's quotes; nested values keep their JSON form. */
static void print_bare(pml_buf *b, const pml_type *t, const struct ArrowArray *column, int64_t row)
{
    if (t->kind == PML_TYPE_VARIANT && !pml_row_text__is_null(column, row)) {
        pml_row_text__append_variant(b, column, row);
        return;
    }
    if (pml_type__is_nested(t)) {
        pml_row_text__append(b, t, column, row);
        return;
    }
    pml_value v;
    pml_value__get(&v, t, column, row);
    if (v.kind == PML_VALUE_BYTES && (t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR))
        pml_buf__append(b, v.bytes.ptr, v.bytes.len);
    else
        pml_value__print(b, t, &v);
}

/* RFC 4180. An empty string is "" so that it stays apart from null, the empty field. */
static void csv_quote_from(pml_buf *b, size_t start)
{
    size_t len = b->len - start, quotes = 0;
    bool need = len == 0;
    if (b->rc != PML_OK)
        return;
    for (size_t i = start; i < b->len; i++) {
        uint8_t c = b->data[i];
        quotes += c == '"';
        need = need || c == '"' || c == ',' || c == '\n' || c == '\r';
    }
    if (!need || pml_buf__reserve(b, quotes + 2) == NULL)
        return;
    b->len += quotes + 2;
    size_t to = b->len;
    b->data[--to] = '"';
    for (size_t from = start + len; from > start; from--) { /* from the back, so that nothing is overwritten unread */
        uint8_t c = b->data[from - 1];
        b->data[--to] = c;
        if (c == '"')
            b->data[--to] = '"';
    }
    b->data[--to] = '"';
}

static void print_csv(pml_rows_printer *p, const struct ArrowArray *batch, int64_t row)
{
    pml_buf *b = &p->text;
    for (size_t i = 0; i < p->n_fields && b->rc == PML_OK; i++) {
        const struct ArrowArray *column = batch->children[i];
        if (i > 0)
            pml_buf__append_byte(b, ',');
        if (pml_row_text__is_null(column, batch->offset + row))
            continue;
        size_t start = b->len;
        print_bare(b, &p->fields[i].type, column, batch->offset + row);
        csv_quote_from(b, start);
    }
    pml_buf__append_byte(b, '\n');
}

/* Moves what the buffer holds to the end of text. */
static int text_add(pml_text *text, pml_rows_printer *p, pml_error *err)
{
    size_t need;
    PML_RETURN_IF(pml_buf__check(&p->text, err));
    if (__builtin_add_overflow(text->len, p->text.len + 1, &need))
        return pml_error__no_memory(err);
    char *ptr = text->ptr == NULL ? pml_env__alloc(p->env, need) : pml_env__realloc(p->env, text->ptr, need);
    if (ptr == NULL)
        return pml_error__no_memory(err);
    if (p->text.len > 0)
        memcpy(ptr + text->len, p->text.data, p->text.len);
    text->ptr = ptr;
    text->len += p->text.len;
    text->ptr[text->len] = '\0';
    text->env = p->env;
    return PML_OK;
}

static int batch_check(const pml_rows_printer *p, const struct ArrowArray *array, int64_t first, int64_t n,
                       pml_error *err)
{
    if (array->n_children < 0 || (size_t)array->n_children != p->n_fields)
        return pml_error__set(err, PML_E_INVAL, "the array has %lld columns, the printer's schema %zu",
                              (long long)array->n_children, p->n_fields);
    if (first < 0 || n < 0 || first > array->length || n > array->length - first)
        return pml_error__set(err, PML_E_INVAL, "rows %lld to %lld are outside of the array of %lld rows",
                              (long long)first, (long long)(first + n), (long long)array->length);
    for (int64_t row = first; p->n_printed < p->n_fields && row < first + n; row++)
        if (kind_of(p, array, row) < 0)
            return pml_error__set(err, PML_E_INVAL, "the _VALUE_KIND of row %lld is none of 0 +I, 1 -U, 2 +U, 3 -D", (long long)row);
    return PML_OK;
}

int pml_rows_print(pml_text *text, pml_rows_printer *p, const struct ArrowArray *array, int64_t first, int64_t n,
                   pml_error *err)
{
    PML_RETURN_IF(pml_error__need(text, "text", err));
    PML_RETURN_IF(batch_check(p, array, first, n, err));
    pml_buf__reset(&p->text);
    for (int64_t row = first; row < first + n && p->text.rc == PML_OK; row++) {
        if (p->format == PML_ROWS_JSON)
            print_json(p, array, row);
        else
            print_csv(p, array, row);
    }
    return text_add(text, p, err);
}

int pml_rows_print_cell(pml_text *text, pml_rows_printer *p, const struct ArrowArray *array, int64_t row,
                        int64_t column, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(text, "text", err));
    PML_RETURN_IF(batch_check(p, array, row, 1, err));
    if (column < 0 || (size_t)column >= p->n_fields)
        return pml_error__set(err, PML_E_INVAL, "column %lld is outside of the %zu columns", (long long)column,
                              p->n_fields);
    pml_buf__reset(&p->text);
    if (pml_row_text__is_null(array->children[column], array->offset + row))
        pml_buf__append_str(&p->text, "null");
    else
        print_bare(&p->text, &p->fields[column].type, array->children[column], array->offset + row);
    return text_add(text, p, err);
}
