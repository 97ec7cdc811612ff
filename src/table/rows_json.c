/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON lines to batches. One line is one row; it is parsed whole by jansson, so a line has a maximum. The builder of the row
 * type collects rows; a batch ends at batch_rows rows or when enough text went by, so that long rows do not make huge batches.
 * It also ends where standard input has no more for now, so that rows of a slow source are not kept from who waits for them; the
 * batch behind it has as many rows less, so that the ends of batches stay where they would be (`pml ingest --commit-every`).
 */
#include <string.h>

#include "table/read_merge.h"
#include "table/rows_input.h"
#include "table/rows_source.h"
#include "table/rows_value.h"

enum {
    LINE_MAX_BYTES = 64 * 1024 * 1024, /* jansson needs the whole line and several times its size in memory */
    READ_BLOCK = 256 * 1024,
    BATCH_TEXT_BYTES = 32 * 1024 * 1024, /* of one batch */
    KEEP_MS = 100 /* how long a row waits for others of its batch */
};

typedef struct rows_json {
    pml_env *env;
    pml_table *table;
    char *path;
    const pml_field *fields; /* the table's; of one with a primary key also _VALUE_KIND, for "_kind" */
    size_t n_fields;
    pml_field *own_fields; /* the latter; NULL: no primary key */
    pml_type row_type;
    int64_t batch_rows;
    pml_rows_source source;
    pml_buf text; /* read and not yet used: [at, text.len) */
    size_t at;
    bool ended;
    int64_t line_number;
    pml_buf patched; /* a line with -0 made -0.0 */
    pml_arena arena; /* bytes of one row */
    pml_builder *builder;
    int64_t *lines;  /* of the rows in the builder */
    int64_t begun_ns; /* when its first row came */
    int64_t given;   /* rows given out since the last whole batch */
    pml_rows_kinds kinds;
    int failed; /* the first error; the stream stays at it */
} rows_json;

static void json_drop(void *owner)
{
    rows_json *r = owner;
    pml_env *env = r->env;
    pml_builder__free(r->builder);
    pml_arena__clear(&r->arena);
    pml_buf__clear(&r->patched);
    pml_buf__clear(&r->text);
    pml_rows_source__close(&r->source);
    pml_rows_kinds__clear(&r->kinds);
    pml_env__free(env, r->lines);
    pml_env__free(env, r->own_fields);
    pml_env__free(env, r->path);
    pml_table_release(r->table);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* Reads one more block behind what is there. */
static int json_fill(rows_json *r, pml_error *err)
{
    size_t got;
    if (r->at > 0) {
        memmove(r->text.data, r->text.data + r->at, r->text.len - r->at);
        r->text.len -= r->at;
        r->at = 0;
    }
    if (r->text.len > LINE_MAX_BYTES)
        return pml_error__at(err, PML_E_LIMIT, PML_PLACE_ROW, r->path,
                             "%s, line %lld: longer than the limit of %d bytes", r->path, (long long)r->line_number + 1,
                             LINE_MAX_BYTES);
    uint8_t *to = pml_buf__reserve(&r->text, READ_BLOCK);
    if (to == NULL)
        return pml_buf__check(&r->text, err);
    PML_RETURN_IF(pml_rows_source__read(&r->source, &got, to, READ_BLOCK, err));
    r->text.len += got;
    r->ended = got == 0;
    return PML_OK;
}

/* Whether to give out the rows that are there instead of waiting for more. */
static bool json_pauses(const rows_json *r)
{
    if (pml_builder__length(r->builder) == 0)
        return false;
    int64_t kept_ms = (pml_env__mono_ns(r->env) - r->begun_ns) / 1000000;
    return !pml_rows_source__ready(&r->source, kept_ms >= 0 && kept_ms < KEEP_MS ? (int)(KEEP_MS - kept_ms) : 0);
}

/* The next line that holds something, without its end; line->ptr NULL at the end of the input, or where a batch is to end. */
static int json_next_line(rows_json *r, pml_bytes *line, pml_error *err)
{
    size_t scanned = 0; /* bytes behind at that hold no line end */
    *line = (pml_bytes){NULL, 0};
    for (;;) {
        size_t have = r->text.len - r->at;
        const uint8_t *begin = have == 0 ? NULL : r->text.data + r->at;
        const uint8_t *end = have == scanned ? NULL : memchr(begin + scanned, '\n', have - scanned);
        if (end == NULL && !r->ended) {
            if (json_pauses(r))
                return PML_OK;
            scanned = have;
            PML_RETURN_IF(json_fill(r, err));
            continue;
        }
        if (end == NULL && have == 0)
            return PML_OK;
        size_t len = end == NULL ? have : (size_t)(end - begin);
        r->at += end == NULL ? len : len + 1;
        r->line_number++;
        scanned = 0;
        if (r->line_number == 1 && len >= 3 && memcmp(begin, "\xef\xbb\xbf", 3) == 0) {
            begin += 3;
            len -= 3;
        }
        while (len > 0 && (begin[len - 1] == '\r' || begin[len - 1] == ' ' || begin[len - 1] == '\t'))
            len--;
        if (len > 0) {
            *line = (pml_bytes){begin, len};
            return PML_OK;
        }
    }
}

/* jansson reads -0 as the integer 0 and the sign is gone. Writes such numbers as -0.0 instead; strings are left alone. */
static int json_keep_minus_zero(rows_json *r, pml_bytes *line, pml_error *err)
{
    bool in_string = false;
    if (memmem(line->ptr, line->len, "-0", 2) == NULL)
        return PML_OK;
    pml_buf__reset(&r->patched);
    for (size_t i = 0; i < line->len; i++) {
        uint8_t c = line->ptr[i];
        pml_buf__append_byte(&r->patched, c);
        if (in_string && c == '\\' && i + 1 < line->len)
            pml_buf__append_byte(&r->patched, line->ptr[++i]);
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && c == '0' && i > 0 && line->ptr[i - 1] == '-' &&
                 (i + 1 == line->len || strchr(",]} \t", line->ptr[i + 1]) != NULL) &&
                 (i == 1 || strchr("eE", line->ptr[i - 2]) == NULL))
            pml_buf__append_str(&r->patched, ".0");
    }
    PML_RETURN_IF(pml_buf__check(&r->patched, err));
    *line = (pml_bytes){r->patched.data, r->patched.len};
    return PML_OK;
}

/* "_kind" is a column of the table, or of the rows of a table with a primary key, or says +I. */
static int json_take_kind(const rows_json *r, json_t *object, bool is_column, pml_error *err)
{
    static const char *const texts[] = {"+I", "-U", "+U", "-D"};
    const json_t *kind = is_column ? NULL : json_object_get(object, "_kind");
    const char *text = kind == NULL ? texts[0] : json_is_string(kind) ? json_string_value(kind) : "";
    int i = 0;
    while (i < 4 && strcmp(text, texts[i]) != 0)
        i++;
    if (i == 4)
        return pml_error__set(err, PML_E_INVAL, "_kind must be \"+I\", \"-U\", \"+U\" or \"-D\"");
    if (r->own_fields == NULL)
        return i == 0 ? PML_OK
                      : pml_error__set(err, PML_E_UNSUPPORTED, "a row of kind %s needs primary-key: append tables take +I only", text);
    if (json_object_get(object, pml_field_value_kind.name) != NULL)
        return pml_error__set(err, PML_E_INVAL, "the table has no column \"%s\"; \"_kind\" says what a row is", pml_field_value_kind.name);
    return json_object_set_new(object, pml_field_value_kind.name, json_integer(i)) == 0 ? PML_OK : pml_error__no_memory(err);
}

static int json_add_line(rows_json *r, pml_bytes line, pml_error *err)
{
    json_error_t parse;
    bool kind_is_column = false;
    int rc = json_keep_minus_zero(r, &line, err);
    if (rc != PML_OK)
        return rc;
    json_t *object = json_loadb((const char *)line.ptr, line.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &parse);
    if (object == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, r->path,
                             "%s, line %lld: not a JSON object: %s (at column %d)", r->path, (long long)r->line_number,
                             parse.text, parse.column);
    for (size_t i = 0; i < r->n_fields; i++)
        kind_is_column = kind_is_column || strcmp(r->fields[i].name, "_kind") == 0;
    if (!json_is_object(object))
        rc = pml_error__set(err, PML_E_INVAL, "a row is a JSON object");
    else
        rc = json_take_kind(r, object, kind_is_column, err);
    if (rc == PML_OK)
        rc = pml_rows_value__append_row(r->builder, &r->arena, r->fields, r->n_fields, object, !kind_is_column, err);
    json_decref(object);
    pml_arena__clear(&r->arena);
    if (rc != PML_OK && err != NULL) {
        err->place = PML_PLACE_ROW;
        rc = pml_error__prefix(err, rc, "%s, line %lld", r->path, (long long)r->line_number);
    }
    return rc;
}

/* The batch of the rows in the builder. */
static int json_finish(rows_json *r, struct ArrowArray *out, pml_error *err)
{
    int64_t wrong = -1;
    PML_RETURN_IF(pml_builder__finish(r->builder, out, err));
    const struct ArrowArray *kinds = r->own_fields == NULL ? NULL : out->children[r->n_fields - 1];
    int rc = pml_rows_kinds__check(&wrong, &r->kinds, out, kinds == NULL ? NULL : (const int8_t *)kinds->buffers[1] + kinds->offset, err);
    if (rc == PML_OK)
        return rc;
    pml_array__release(out);
    return pml_error__prefix(err, rc, "%s, line %lld", r->path, (long long)r->lines[wrong]);
}

static int json_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    rows_json *r = owner;
    int rc = PML_OK;
    size_t text_bytes = 0;
    out->release = NULL;
    if (r->failed != PML_OK)
        return pml_error__set(err, r->failed, "%s: reading ended with an error at line %lld", r->path,
                              (long long)r->line_number);
    while (pml_builder__length(r->builder) < r->batch_rows - r->given && text_bytes < BATCH_TEXT_BYTES) {
        pml_bytes line;
        PML_TRY(json_next_line(r, &line, err));
        if (line.ptr == NULL)
            break;
        text_bytes += line.len;
        if (pml_builder__length(r->builder) == 0)
            r->begun_ns = pml_env__mono_ns(r->env);
        r->lines[pml_builder__length(r->builder)] = r->line_number;
        PML_TRY(json_add_line(r, line, err));
    }
    if (pml_builder__length(r->builder) > 0)
        PML_TRY(json_finish(r, out, err));
    r->given = out->release == NULL ? r->given : (r->given + out->length) % r->batch_rows;
out:
    r->failed = rc;
    return rc;
}

/* The columns of the rows. */
static int json_fields(rows_json *r, const pml_rows_input *in, pml_error *err)
{
    size_t n = in->n_fields;
    r->fields = in->fields;
    r->n_fields = n;
    if (in->table->schema->n_keys == 0)
        return PML_OK;
    r->own_fields = pml_env__calloc(in->env, n + 1, sizeof *r->own_fields);
    if (r->own_fields == NULL)
        return pml_error__no_memory(err);
    memcpy(r->own_fields, in->fields, n * sizeof *r->own_fields);
    r->own_fields[n] = pml_field_value_kind;
    r->fields = r->own_fields;
    r->n_fields = n + 1;
    return PML_OK;
}

int pml_rows_json__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err)
{
    int rc;
    struct ArrowSchema schema = {0};
    rows_json *r = pml_env__calloc(in->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(in->env);
    pml_table_acquire(in->table);
    r->env = in->env;
    r->table = in->table;
    r->batch_rows = in->batch_rows;
    pml_buf__init(&r->text, in->env, (size_t)LINE_MAX_BYTES + 2 * READ_BLOCK);
    pml_buf__init(&r->patched, in->env, 3 * (size_t)LINE_MAX_BYTES);
    pml_arena__init(&r->arena, in->env);
    r->source.env = in->env;
    r->path = pml_env__strdup(in->env, strcmp(in->path, "-") == 0 ? "standard input" : in->path);
    if (r->path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    r->lines = pml_env__calloc(in->env, (size_t)r->batch_rows, sizeof *r->lines);
    if (r->lines == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(json_fields(r, in, err));
    PML_TRY(pml_rows_kinds__init(&r->kinds, in->table, in->options->realtime != 0, err));
    r->row_type = (pml_type){.kind = PML_TYPE_ROW, .n_children = r->n_fields, .children = (pml_field *)(uintptr_t)r->fields};
    PML_TRY(pml_rows_source__open(&r->source, in->env, in->path, in->options, err));
    r->source.path = r->path;
    PML_TRY(pml_builder__new(&r->builder, in->env, &r->row_type, err));
    PML_TRY(pml_type__export(&schema, in->env, r->fields, r->n_fields, err));
    PML_TRY(pml_stream__new(out, in->env, &schema, json_next, json_drop, r, err));
    return PML_OK;
out:
    pml_schema__release(&schema);
    json_drop(r);
    return rc;
}
