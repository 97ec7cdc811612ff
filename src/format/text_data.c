/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data files whose rows are lines. A file says nothing of itself: what the lines mean are the options of the table and, of CSV, the
 * columns of the file. How many rows there are is not what the metadata says, since Java's writer does not care for ends of lines inside
 * of texts, which its reader takes for ends of rows.
 */
#include "format/text_data.h"

#include <string.h>

#include "columnar/array_memory.h"
#include "columnar/check.h"
#include "columnar/java_text.h"
#include "format/csv_line.h"
#include "format/json_line.h"
#include "format/read_common.h"
#include "format/text_lines.h"

enum {
    BATCH_ROWS = 4096,
    BATCH_TEXT_BYTES = 32 * 1024 * 1024 /* of one batch */
};

typedef enum text_kind { TEXT_CSV, TEXT_JSON, TEXT_PLAIN } text_kind;

typedef struct text_reader {
    pml_env *env;
    pml_arena arena, row; /* for the life of the reader; for one row */
    const char *path;
    text_kind kind;
    const pml_field *fields; /* copies in the arena */
    size_t n_fields;
    pml_type row_type;
    pml_text_rule *rules;
    pml_input *in; /* NULL: a part of a file, which has no rows */
    pml_text_lines lines;
    pml_csv_line csv;
    pml_json_line json;
    bool header;
    pml_builder *builder;
    int64_t batch_rows, position; /* position: of the next line */
    const pml_row_set *wanted;    /* NULL: all lines */
    pml_buf decoded;              /* a line that was no UTF-8 */
} text_reader;

bool pml_text_data__is(const char *format)
{
    return strcmp(format, "csv") == 0 || strcmp(format, "json") == 0 || strcmp(format, "text") == 0;
}

static void reader_drop(void *owner)
{
    text_reader *r = owner;
    pml_env *env = r->env;
    pml_builder__free(r->builder);
    pml_csv_line__clear(&r->csv);
    pml_text_lines__close(&r->lines);
    pml_input__close(r->in);
    pml_buf__clear(&r->decoded);
    pml_arena__clear(&r->row);
    pml_arena__clear(&r->arena);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- rows ---- */

static int wrong_line(const text_reader *r, int rc, const char *what, const char *column, pml_error *err)
{
    return pml_error__at(err, rc, PML_PLACE_DATA_FILE, r->path, "line %lld of %s cannot be read: %.300s%s%.100s", (long long)r->lines.number,
                         r->path, what, column == NULL ? "" : ", column ", column == NULL ? "" : column);
}

/* The values of a line, ready to be appended. */
static int parse_line(bool *keep, text_reader *r, pml_bytes line, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    size_t field = 0;
    int rc = PML_OK;
    *keep = true;
    if (r->kind == TEXT_CSV)
        rc = pml_csv_line__parse(&r->csv, keep, &field, line, &r->row, &why);
    if (r->kind == TEXT_JSON)
        rc = pml_json_line__parse(&r->json, keep, line, &r->row, &why);
    if (rc == PML_E_INVAL && r->kind == TEXT_CSV)
        return wrong_line(r, PML_E_CORRUPT, "a value is none of its type, and csv.mode is failfast", r->fields[field].name, err);
    if (rc == PML_E_INVAL)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path,
                             "line %lld of %s cannot be read: %.300s (json.ignore-parse-errors=true passes over it)",
                             (long long)r->lines.number, r->path, why.message);
    return rc == PML_OK || rc == PML_E_NOMEM ? (rc == PML_OK ? rc : pml_error__no_memory(err)) : wrong_line(r, rc, why.message, NULL, err);
}

static int append_field(text_reader *r, size_t i, pml_bytes line)
{
    pml_builder *b = pml_builder__child(r->builder, i);
    const pml_value whole = {.kind = PML_VALUE_BYTES, .bytes = {line.len == 0 ? (const uint8_t *)"" : line.ptr, line.len}};
    switch (r->kind) {
    case TEXT_CSV: return pml_builder__append_value(b, &r->csv.values[i]);
    case TEXT_JSON: return pml_json_line__append(b, &r->json, i);
    case TEXT_PLAIN: break;
    }
    return pml_builder__append_value(b, &whole);
}

static int append_row(text_reader *r, pml_bytes line, pml_error *err)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        int rc = append_field(r, i, line);
        if (rc == PML_E_NOMEM)
            return pml_error__no_memory(err);
        if (rc != PML_OK)
            return wrong_line(r, rc == PML_E_LIMIT ? rc : PML_E_CORRUPT, "a value is out of the range of its type", r->fields[i].name, err);
    }
    return pml_builder__close_item(r->builder) == PML_OK ? PML_OK : pml_error__no_memory(err);
}

/* A line as Java has it: as a text, whatever its bytes are. */
static int decode_line(pml_bytes *line, text_reader *r, pml_error *err)
{
    if (pml_check__utf8(line->ptr, line->len))
        return PML_OK;
    pml_buf__reset(&r->decoded);
    if (pml_java_text__decode(&r->decoded, *line) != PML_OK)
        return pml_buf__check(&r->decoded, err);
    *line = (pml_bytes){r->decoded.data, r->decoded.len};
    return PML_OK;
}

/* Whether the line at the next position is wanted at all. */
static int is_wanted(bool *out, text_reader *r, pml_error *err)
{
    int64_t position = r->position++;
    *out = true;
    if (r->wanted == NULL)
        return PML_OK;
    if (position >= r->wanted->n_rows)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path, "%s has more than the %lld rows that its metadata knows of",
                             r->path, (long long)r->wanted->n_rows);
    *out = pml_row_set__has(r->wanted, position);
    return PML_OK;
}

static int finish_batch(text_reader *r, struct ArrowArray *out, pml_error *err)
{
    PML_RETURN_IF(pml_builder__finish(r->builder, out, err));
    pml_error why = PML_ERROR_INIT;
    if (pml_batch__check(out, r->fields, r->n_fields, PML_CHECK_FULL, &why) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path, "%s is damaged, or its writer broke the rules: %s (in the %d lines up to %lld)",
                         r->path, why.message, (int)r->batch_rows, (long long)r->lines.number);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    text_reader *r = owner;
    size_t bytes = 0;
    if (r->in == NULL)
        return PML_OK;
    while (pml_builder__length(r->builder) < r->batch_rows && bytes < BATCH_TEXT_BYTES) {
        pml_bytes line;
        bool keep;
        PML_RETURN_IF(pml_text_lines__next(&line, &r->lines, err));
        if (line.ptr == NULL)
            break;
        if (r->header) {
            r->header = false;
            continue;
        }
        PML_RETURN_IF(is_wanted(&keep, r, err));
        if (!keep)
            continue;
        pml_arena__reset(&r->row);
        PML_RETURN_IF(decode_line(&line, r, err));
        PML_RETURN_IF(parse_line(&keep, r, line, err));
        if (keep)
            PML_RETURN_IF(append_row(r, line, err));
        bytes += line.len;
    }
    return pml_builder__length(r->builder) > 0 ? finish_batch(r, out, err) : PML_OK;
}

/* ---- opening ---- */

/* Where the wanted columns stand in the file; one that it does not have must not be asked for. */
static int find_places(const int32_t **out, text_reader *r, const pml_format_read *q, pml_error *err)
{
    int32_t *places = pml_arena__array(&r->arena, r->n_fields, sizeof *places);
    if (places == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->n_fields; i++) {
        places[i] = -1;
        for (size_t k = 0; k < q->n_file_columns && places[i] < 0; k++)
            if (strcmp(q->file_columns[k], r->fields[i].name) == 0)
                places[i] = (int32_t)k;
        if (places[i] < 0)
            return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, r->path,
                                 "needs csv-columns: where column '%s' stands in %s is not known", r->fields[i].name, r->path);
    }
    *out = places;
    return PML_OK;
}

static int make_parser(text_reader *r, const pml_format_read *q, pml_error *err)
{
    const int32_t *places = NULL;
    const pml_text_options *o = q->text;
    if (r->kind == TEXT_JSON)
        return pml_json_line__init(&r->json, &r->arena, r->fields, r->rules, r->n_fields, o->ignore_errors, err);
    if (r->kind == TEXT_CSV) {
        PML_RETURN_IF(find_places(&places, r, q, err));
        r->header = o->header;
        return pml_csv_line__init(&r->csv, &r->arena, o, r->rules, places, r->n_fields, err);
    }
    for (size_t i = 0; i < r->n_fields; i++)
        if (i > 0 || (r->fields[i].type.kind != PML_TYPE_VARCHAR && r->fields[i].type.kind != PML_TYPE_CHAR))
            return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, r->path,
                                 "needs text-columns: files of the format text hold one text, not column '%s' (%s)", r->fields[i].name,
                                 r->path);
    return PML_OK;
}

static int make_rules(text_reader *r, pml_error *err)
{
    r->rules = pml_arena__array(&r->arena, r->n_fields, sizeof *r->rules);
    if (r->rules == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->n_fields; i++) {
        const pml_field *f = &r->fields[i];
        int rc = pml_text_rule__make(&r->rules[i], &r->arena, &f->type, f->name, err);
        if (rc == PML_OK && r->kind == TEXT_CSV && r->rules[i].n_children > 0)
            rc = pml_error__set(err, PML_E_UNSUPPORTED, "needs text-type:%s: column '%s' has a type that CSV files do not hold",
                                pml_type__word(f->type.kind), f->name);
        if (rc == PML_E_UNSUPPORTED)
            return pml_error__prefix(err, rc, "%s", r->path);
        PML_RETURN_IF(rc);
    }
    return PML_OK;
}

static int open_file(text_reader *r, const pml_format_read *q, pml_error *err)
{
    PML_RETURN_IF(pml_format__open_input(&r->in, r->env, r->path, q, err));
    PML_RETURN_IF(pml_format__check_identity(r->path, q, pml_input__size(r->in), -1, err));
    return pml_text_lines__open(&r->lines, r->env, r->in, q->text->line_delimiter, err);
}

static text_reader *reader_new(pml_env *env, const char *format, const pml_format_read *q)
{
    text_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    pml_env_acquire(env);
    r->env = env;
    r->kind = strcmp(format, "csv") == 0 ? TEXT_CSV : strcmp(format, "json") == 0 ? TEXT_JSON : TEXT_PLAIN;
    r->n_fields = q->n_fields;
    r->batch_rows = q->batch_rows > 0 ? q->batch_rows : BATCH_ROWS;
    r->wanted = q->rows;
    pml_arena__init(&r->arena, env);
    pml_arena__init(&r->row, env);
    pml_buf__init(&r->decoded, env, 3 * (size_t)PML_TEXT_LINE_MAX); /* each byte may be a character of three */
    return r;
}

int pml_text_data__open(struct ArrowArrayStream *out, pml_env *env, const char *format, const char *path, const pml_format_read *q,
                        pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    if (q->text == NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path, "needs format:%s: how %s is to be read is not known", format, path);
    if (q->positions)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path,
                             "needs text-row-tracking: ids of rows are not read from files of the format %s (%s)", format, path);
    text_reader *r = reader_new(env, format, q);
    if (r == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_format__keep(&r->path, &r->fields, &r->arena, path, q, err));
    PML_TRY(make_rules(r, err));
    PML_TRY(make_parser(r, q, err));
    if (q->parts <= 1 || q->part == 0) /* lines are only found from the beginning on */
        PML_TRY(open_file(r, q, err));
    r->row_type = pml_layout__row(r->fields, r->n_fields);
    PML_TRY(pml_builder__new(&r->builder, env, &r->row_type, err));
    PML_TRY(pml_type__export(&schema, env, r->fields, r->n_fields, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
