/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV through the bridge. The header line is read here, because Arrow passes over columns that nobody asked for. Only the
 * columns of the file are asked for; those that CSV cannot carry itself, nested ones (JSON in the canonical form) and binaries
 * (hex), come as text and are parsed here. A batch is then put together from both and from nulls for what the file lacks.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "columnar/batch.h"
#include "format/bridge_load.h"
#include "table/rows_csv_file.h"
#include "table/rows_value.h"
#include "util/number.h"

enum {
    HEADER_MAX_BYTES = 1024 * 1024, /* a line of names beyond this is no header */
    BLOCK_BYTES = 2 * 1024 * 1024   /* text of one batch; the reader takes every row that is no longer than a block */
};

typedef struct rows_csv {
    pml_env *env;
    pml_table *table;
    const pml_bridge *bridge;
    struct ArrowArrayStream stream;
    char *name; /* of the input, for messages */
    const pml_field *fields;
    size_t n_fields;
    int32_t *columns; /* of field i: its column in the stream, -1: not in the file */
    pml_arena arena;  /* bytes of one value */
    pml_arena kept;   /* of scan */
    pml_csv_scan scan;
    bool has_header;
    int64_t row; /* rows given out before this batch */
    pml_rows_kinds kinds;
} rows_csv;

static bool is_text_in_csv(const pml_type *t)
{
    return pml_type__is_nested(t) || t->kind == PML_TYPE_BINARY || t->kind == PML_TYPE_VARBINARY ||
           t->kind == PML_TYPE_BLOB;
}

/* ---- the header ---- */

/* Splits the first record of text into names, in place. Returns how many, or -1 when the record has no end in the text.
   names has room for len / 2 + 1. */
static int64_t header_split(char *text, size_t len, bool whole, char delimiter, const char **names)
{
    size_t at = 0, to = 0, n = 0, begin = 0;
    bool quoted = false;
    for (; at < len; at++) {
        char c = text[at];
        if (quoted && c == '"' && at + 1 < len && text[at + 1] == '"') {
            text[to++] = text[at++];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == delimiter || c == '\n' || c == '\r')) {
            text[to++] = '\0';
            names[n++] = text + begin;
            begin = to;
            if (c != delimiter)
                return (int64_t)n;
        } else {
            text[to++] = c;
        }
    }
    if (!whole)
        return -1;
    text[to] = '\0';
    names[n++] = text + begin;
    return (int64_t)n;
}

/* The table's columns in the order of the file. */
static int scan_columns(rows_csv *r, const pml_rows_input *in, const char *const *names, size_t n, pml_error *err)
{
    const pml_field **columns = pml_arena__array(&r->kept, n, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < in->n_fields; i++)
            if (names == NULL ? i == k : strcmp(names[k], in->fields[i].name) == 0)
                columns[k] = &in->fields[i];
    r->scan.columns = columns;
    r->scan.n_columns = n;
    return PML_OK;
}

/* Checks the names and finds which columns the file has. */
static int header_read(rows_csv *r, pml_csv_file *f, const pml_rows_input *in, char delimiter, pml_error *err)
{
    int64_t size = pml_csv_file__size(f);
    size_t len = size > HEADER_MAX_BYTES ? HEADER_MAX_BYTES : (size_t)size;
    int rc;
    char *text = pml_env__alloc(in->env, len + 1);
    const char **names = pml_env__calloc(in->env, len + 1, sizeof *names);
    if (text == NULL || names == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_csv_file__read_at(f, 0, text, (int64_t)len, err));
    size_t skip = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    int64_t n = header_split(text + skip, len - skip, (int64_t)len == size, delimiter, names);
    if (size == 0)
        rc = pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, r->name, "%s is empty: CSV begins with a line of names",
                           r->name);
    else if (n < 0)
        rc = pml_error__at(err, PML_E_LIMIT, PML_PLACE_ROW, r->name, "%s: the header line is longer than %d bytes",
                           r->name, HEADER_MAX_BYTES);
    else
        rc = pml_rows_input__check_columns(in, names, (size_t)n, err);
    if (rc == PML_OK)
        rc = scan_columns(r, in, names, (size_t)n, err);
    for (size_t i = 0; rc == PML_OK && i < in->n_fields; i++) {
        r->columns[i] = -1;
        for (int64_t k = 0; k < n; k++)
            if (strcmp(names[k], in->fields[i].name) == 0)
                r->columns[i] = 0; /* numbered later, in table order */
    }
out:
    pml_env__free(in->env, names);
    pml_env__free(in->env, text);
    return rc;
}

/* ---- batches ---- */

/* One text of a nested or binary column. */
static int text_append(rows_csv *r, pml_builder *b, const pml_field *f, const struct ArrowArray *text, int64_t row,
                       pml_error *err)
{
    static const pml_type string = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    pml_value v;
    json_error_t parse;
    json_t *json = NULL;
    int rc;
    if (text->buffers[0] == NULL || pml_bit_get(text->buffers[0], text->offset + row)) {
        pml_value__get(&v, &string, text, row);
        json = pml_type__is_nested(&f->type)
                   ? json_loadb((const char *)v.bytes.ptr, v.bytes.len,
                                JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &parse)
                   : json_stringn_nocheck((const char *)v.bytes.ptr, v.bytes.len);
        if (json == NULL && pml_type__is_nested(&f->type))
            return pml_error__set(err, PML_E_INVAL, "column \"%s\" wants JSON: %s (at column %d)", f->name, parse.text,
                                  parse.column);
        if (json == NULL)
            return pml_error__no_memory(err);
    }
    rc = pml_rows_value__append(b, &r->arena, &f->type, f->name, json, err);
    json_decref(json);
    pml_arena__clear(&r->arena);
    return rc;
}

static int text_column(rows_csv *r, struct ArrowArray *out, const pml_field *f, const struct ArrowArray *text,
                       pml_error *err)
{
    pml_builder *b = NULL;
    int rc;
    PML_TRY(pml_builder__new(&b, r->env, &f->type, err));
    for (int64_t row = 0; row < text->length; row++) {
        rc = text_append(r, b, f, text, row, err);
        if (rc != PML_OK) {
            rc = pml_error__prefix(err, rc, "%s, row %lld", r->name, (long long)(r->row + row + 1));
            goto out;
        }
    }
    PML_TRY(pml_builder__finish(b, out, err));
out:
    pml_builder__free(b);
    return rc;
}

/* The batch of the bridge becomes one of the table's columns. The batch is emptied, not released. */
static int batch_complete(rows_csv *r, struct ArrowArray *out, struct ArrowArray *batch, pml_error *err)
{
    const pml_value null = {.kind = PML_VALUE_NULL};
    int rc = PML_OK;
    struct ArrowArray *columns = pml_env__calloc(r->env, r->n_fields, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    if (batch->offset != 0) {
        rc = pml_error__set(err, PML_E_INTERNAL, "a batch of the CSV reader begins at %lld", (long long)batch->offset);
        goto out;
    }
    for (size_t i = 0; i < r->n_fields; i++) {
        const pml_field *f = &r->fields[i];
        if (r->columns[i] < 0) {
            PML_TRY(pml_batch__constant(&columns[i], r->env, &f->type, &null, batch->length, err));
        } else if (is_text_in_csv(&f->type)) {
            PML_TRY(text_column(r, &columns[i], f, batch->children[r->columns[i]], err));
        } else {
            columns[i] = *batch->children[r->columns[i]];
            batch->children[r->columns[i]]->release = NULL;
        }
    }
    PML_TRY(pml_batch__from_columns(out, r->env, columns, r->n_fields, batch->length, err));
    rc = pml_rows_input__check_batch(r->name, r->fields, r->n_fields, &r->kinds, out, r->row, err);
    if (rc != PML_OK)
        pml_array__release(out);
    r->row += batch->length;
out:
    for (size_t i = 0; rc != PML_OK && i < r->n_fields; i++)
        pml_array__release(&columns[i]);
    pml_env__free(r->env, columns);
    return rc;
}

/* Finds mark with a number behind it. Returns where it begins (NULL: nowhere) and how long both are. */
static char *find_number(char *message, const char *mark, int64_t *number, size_t *len)
{
    char *at = strstr(message, mark);
    size_t n = strlen(mark), digits = at == NULL ? 0 : strspn(at + n, "0123456789");
    *len = n + digits;
    return at != NULL && pml_number__int64(number, at + n, digits) ? at : NULL;
}

/* The reader counts columns from 0 and the header as a row, and knows little of types: says it as this library does. */
static void reword(const rows_csv *r, pml_error *err)
{
    char rest[sizeof err->message];
    const char *end = err->message + sizeof err->message;
    int64_t number;
    size_t len;
    char *at = find_number(err->message, "In CSV column #", &number, &len);
    if (at != NULL && number < (int64_t)r->scan.n_columns) {
        const pml_field *f = r->scan.columns[number];
        bool is_time = f->type.kind == PML_TYPE_TIMESTAMP || f->type.kind == PML_TYPE_TIMESTAMP_LTZ;
        (void)snprintf(rest, sizeof rest, "%s", at + len);
        (void)snprintf(at, (size_t)(end - at), "column \"%s\"%s%s", f->name, rest,
                       is_time && f->type.precision > 6 ? " (" PML_ROWS_NANOS_RANGE ")" : "");
    }
    at = find_number(err->message, ": Row #", &number, &len);
    if (at != NULL && number > r->has_header) {
        (void)snprintf(rest, sizeof rest, "%s", at + len);
        (void)snprintf(at, (size_t)(end - at), ", row %lld%s", (long long)number - r->has_header, rest);
    }
}

/* To the bridge, text that a column cannot hold is damage; here it is a wrong row of somebody's file. */
static int wrong_row(const rows_csv *r, int rc, pml_error *err)
{
    if (rc != PML_E_CORRUPT && rc != PML_E_INVAL)
        return rc;
    if (err != NULL) {
        err->code = PML_E_INVAL;
        err->place = PML_PLACE_ROW;
        reword(r, err);
    }
    return PML_E_INVAL;
}

static int csv_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    rows_csv *r = owner;
    struct ArrowArray batch = {0};
    int rc = PML_OK;
    if (r->stream.get_next(&r->stream, &batch) != 0) {
        batch.release = NULL;
        rc = r->bridge->stream_error(&r->stream, err);
    } else if (batch.release != NULL) {
        rc = batch_complete(r, out, &batch, err);
        batch.release(&batch);
    }
    return wrong_row(r, rc, err);
}

static void csv_drop(void *owner)
{
    rows_csv *r = owner;
    pml_env *env = r->env;
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    pml_arena__clear(&r->arena);
    pml_arena__clear(&r->kept);
    pml_env__free(env, r->columns);
    pml_env__free(env, r->name);
    pml_rows_kinds__clear(&r->kinds);
    pml_table_release(r->table);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- opening ---- */

/* The schema that the bridge is asked for: columns of the file in table order, text for what is parsed here. */
static int bridge_schema(struct ArrowSchema *out, rows_csv *r, pml_error *err)
{
    int32_t n = 0;
    pml_field *fields = pml_env__calloc(r->env, r->n_fields, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->n_fields; i++) {
        if (r->columns[i] < 0)
            continue;
        fields[n] = r->fields[i];
        if (is_text_in_csv(&fields[n].type))
            fields[n].type = (pml_type){.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
        r->columns[i] = n++;
    }
    int rc = pml_type__export(out, r->env, fields, (size_t)n, err);
    pml_env__free(r->env, fields);
    return rc;
}

static int csv_open(rows_csv *r, const pml_rows_input *in, pml_error *err)
{
    const pml_rows_options *o = in->options;
    const pml_bridge_csv_options options = {.delimiter = o->csv_delimiter == 0 ? ',' : o->csv_delimiter,
                                            .quote = '"',
                                            .header = !o->csv_no_header,
                                            .null_text = o->csv_null,
                                            .block_bytes = BLOCK_BYTES};
    struct ArrowSchema schema = {0};
    pml_csv_file *f = NULL;
    int rc;
    PML_TRY(pml_rows_kinds__init(&r->kinds, in->table, in->options->realtime != 0, err));
    PML_TRY(pml_csv_file__open(&f, in, err));
    if (options.header)
        PML_TRY(header_read(r, f, in, options.delimiter, err));
    else
        PML_TRY(scan_columns(r, in, NULL, in->n_fields, err));
    r->has_header = options.header;
    r->scan.file = r->name;
    r->scan.delimiter = options.delimiter;
    r->scan.quote = options.quote;
    r->scan.null_text = options.null_text;
    r->scan.row_max_bytes = BLOCK_BYTES;
    pml_csv_file__set_scan(f, &r->scan);
    PML_TRY(bridge_schema(&schema, r, err));
    const pml_bridge_input input = {f, r->name, pml_csv_file__size(f), pml_csv_file__read_at, pml_csv_file__close};
    f = NULL; /* the bridge owns it on any return */
    const pml_bridge_memory memory = pml_bridge__read_memory(r->env);
    rc = wrong_row(r, r->bridge->csv_open(&r->stream, &input, &memory, &schema, &options, err), err);
out:
    if (f != NULL)
        pml_csv_file__close(f);
    pml_schema__release(&schema);
    return rc;
}

static int csv_fill(rows_csv *r, const pml_rows_input *in, pml_error *err)
{
    r->fields = in->fields;
    r->n_fields = in->n_fields;
    r->name = pml_env__strdup(in->env, strcmp(in->path, "-") == 0 ? "standard input" : in->path);
    r->columns = pml_env__calloc(in->env, in->n_fields, sizeof *r->columns);
    return r->name == NULL || r->columns == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_rows_csv__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    rows_csv *r = pml_env__calloc(in->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(in->env);
    pml_table_acquire(in->table);
    r->env = in->env;
    r->table = in->table;
    pml_arena__init(&r->arena, in->env);
    pml_arena__init(&r->kept, in->env);
    PML_TRY(csv_fill(r, in, err));
    PML_TRY(pml_bridge__get(&r->bridge, in->env, err));
    PML_TRY(csv_open(r, in, err));
    PML_TRY(pml_type__export(&schema, in->env, in->fields, in->n_fields, err));
    PML_TRY(pml_stream__new(out, in->env, &schema, csv_next, csv_drop, r, err));
    return PML_OK;
out:
    pml_schema__release(&schema);
    csv_drop(r);
    return rc;
}
