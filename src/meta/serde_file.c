/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/serde_file.h"

enum { FIELDS = PML_FILE_GENERATION_20, STATS_FIELDS = 3, FILE_BYTES_LEAST = 4 + 8 + 8 * PML_FILE_GENERATION_08 };

/* In the order of the fields of DataFileMeta. */
enum {
    F_NAME,
    F_SIZE,
    F_ROW_COUNT,
    F_MIN_KEY,
    F_MAX_KEY,
    F_KEY_STATS,
    F_VALUE_STATS,
    F_MIN_SEQUENCE,
    F_MAX_SEQUENCE,
    F_SCHEMA_ID,
    F_LEVEL,
    F_EXTRA_FILES,
    F_CREATION_TIME,
    F_DELETE_ROW_COUNT,
    F_EMBEDDED_INDEX,
    F_FILE_SOURCE,
    F_VALUE_STATS_COLS,
    F_EXTERNAL_PATH,
    F_FIRST_ROW_ID,
    F_WRITE_COLS,
    F_REQUIRED = F_CREATION_TIME /* those before it are never null */
};

static const pml_type type_string = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
static const pml_type type_bytes = {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX};
static const pml_type type_long = {.kind = PML_TYPE_BIGINT};
static const pml_type type_int = {.kind = PML_TYPE_INT};
static const pml_type type_tiny = {.kind = PML_TYPE_TINYINT};
static const pml_type type_time = {.kind = PML_TYPE_TIMESTAMP, .precision = 3};
static const pml_type type_array = {.kind = PML_TYPE_ARRAY}; /* nested values travel as their bytes */
static const pml_type type_row = {.kind = PML_TYPE_ROW};

static const pml_type *const stats_types[STATS_FIELDS] = {&type_bytes, &type_bytes, &type_array};
static const pml_type *const file_types[FIELDS] = {
    [F_NAME] = &type_string,          [F_SIZE] = &type_long,          [F_ROW_COUNT] = &type_long,
    [F_MIN_KEY] = &type_bytes,        [F_MAX_KEY] = &type_bytes,      [F_KEY_STATS] = &type_row,
    [F_VALUE_STATS] = &type_row,      [F_MIN_SEQUENCE] = &type_long,  [F_MAX_SEQUENCE] = &type_long,
    [F_SCHEMA_ID] = &type_long,       [F_LEVEL] = &type_int,          [F_EXTRA_FILES] = &type_array,
    [F_CREATION_TIME] = &type_time,   [F_DELETE_ROW_COUNT] = &type_long, [F_EMBEDDED_INDEX] = &type_bytes,
    [F_FILE_SOURCE] = &type_tiny,     [F_VALUE_STATS_COLS] = &type_array, [F_EXTERNAL_PATH] = &type_string,
    [F_FIRST_ROW_ID] = &type_long,    [F_WRITE_COLS] = &type_array};

/* ---- writing ---- */

static pml_value of_bytes(pml_bytes b)
{
    pml_value v = {.kind = PML_VALUE_BYTES};
    v.bytes = b;
    return v;
}

static pml_value of_text(const char *s)
{
    return s == NULL ? (pml_value){0} : of_bytes((pml_bytes){(const uint8_t *)s, strlen(s)});
}

static pml_value of_int(int64_t i)
{
    pml_value v = {.kind = PML_VALUE_INT};
    v.i = i;
    return v;
}

static pml_value of_optional(pml_optional_int64 o)
{
    return o.present ? of_int(o.v) : (pml_value){0};
}

/* Nested structures are made in a scratch buffer first; the row then takes their bytes. */
typedef struct nested {
    pml_buf buf;
    size_t n;
    struct {
        size_t from, len;
    } part[8];
} nested;

static size_t nested_end(nested *s, size_t from)
{
    s->part[s->n].from = from;
    s->part[s->n].len = s->buf.len - from;
    return s->n++;
}

static pml_value nested_value(const nested *s, size_t i)
{
    return of_bytes((pml_bytes){s->buf.data + s->part[i].from, s->part[i].len});
}

static int put_stats(size_t *part, nested *s, const pml_simple_stats *st)
{
    pml_buf counts;
    pml_buf__init(&counts, s->buf.env, PML_BINARY_ROW_MAX);
    pml_value v[STATS_FIELDS] = {of_bytes(st->min), of_bytes(st->max), {0}};
    int rc = PML_OK;
    if (st->has_null_counts) {
        rc = pml_binary_array__write_longs(&counts, st->null_counts, st->n_null_counts);
        v[2] = of_bytes((pml_bytes){counts.data, counts.len});
    }
    size_t from = s->buf.len;
    if (rc == PML_OK)
        rc = pml_binary_row__write(&s->buf, stats_types, v, STATS_FIELDS);
    pml_buf__clear(&counts);
    *part = nested_end(s, from);
    return rc;
}

static int put_list(size_t *part, nested *s, const pml_string_list *l)
{
    size_t from = s->buf.len;
    pml_value *v = pml_env__calloc(s->buf.env, l->n, sizeof *v);
    if (v == NULL)
        return PML_E_NOMEM;
    for (size_t i = 0; i < l->n; i++)
        v[i] = of_text(l->v[i]);
    int rc = pml_binary_array__write(&s->buf, &type_string, v, l->n);
    pml_env__free(s->buf.env, v);
    *part = nested_end(s, from);
    return rc;
}

static int put_row(pml_buf *out, const pml_value *v)
{
    size_t start = out->len;
    PML_RETURN_IF(pml_buf__append_be32(out, 0));
    PML_RETURN_IF(pml_binary_row__write(out, file_types, v, FIELDS));
    pml_put_be32(out->data + start, (uint32_t)(out->len - start - 4));
    return PML_OK;
}

int pml_serde_file__write(pml_buf *out, const pml_data_file *f)
{
    nested s = {.n = 0};
    pml_value v[FIELDS] = {{0}};
    size_t key_stats, value_stats, extra, stats_cols = 0, write_cols = 0;
    int rc;
    pml_buf__init(&s.buf, out->env, PML_BINARY_ROW_MAX);
    PML_TRY(put_stats(&key_stats, &s, &f->key_stats));
    PML_TRY(put_stats(&value_stats, &s, &f->value_stats));
    PML_TRY(put_list(&extra, &s, &f->extra_files));
    if (f->value_stats_cols.present)
        PML_TRY(put_list(&stats_cols, &s, &f->value_stats_cols));
    if (f->write_cols.present)
        PML_TRY(put_list(&write_cols, &s, &f->write_cols));
    v[F_NAME] = of_text(f->name);
    v[F_SIZE] = of_int(f->size_bytes);
    v[F_ROW_COUNT] = of_int(f->row_count);
    v[F_MIN_KEY] = of_bytes(f->min_key);
    v[F_MAX_KEY] = of_bytes(f->max_key);
    v[F_KEY_STATS] = nested_value(&s, key_stats);
    v[F_VALUE_STATS] = nested_value(&s, value_stats);
    v[F_MIN_SEQUENCE] = of_int(f->min_sequence);
    v[F_MAX_SEQUENCE] = of_int(f->max_sequence);
    v[F_SCHEMA_ID] = of_int(f->schema_id);
    v[F_LEVEL] = of_int(f->level);
    v[F_EXTRA_FILES] = nested_value(&s, extra);
    if (f->creation_time_ms.present) {
        v[F_CREATION_TIME].kind = PML_VALUE_TIMESTAMP;
        v[F_CREATION_TIME].ts.ms = f->creation_time_ms.v;
    }
    v[F_DELETE_ROW_COUNT] = of_optional(f->delete_row_count);
    if (f->has_embedded_index)
        v[F_EMBEDDED_INDEX] = of_bytes(f->embedded_index);
    if (f->file_source != PML_FILE_SOURCE_UNKNOWN)
        v[F_FILE_SOURCE] = of_int(f->file_source);
    if (f->value_stats_cols.present)
        v[F_VALUE_STATS_COLS] = nested_value(&s, stats_cols);
    v[F_EXTERNAL_PATH] = of_text(f->external_path);
    v[F_FIRST_ROW_ID] = of_optional(f->first_row_id);
    if (f->write_cols.present)
        v[F_WRITE_COLS] = nested_value(&s, write_cols);
    PML_TRY(put_row(out, v));
out:
    pml_buf__clear(&s.buf);
    if (rc != PML_OK && out->rc == PML_OK)
        out->rc = rc;
    return rc;
}

int pml_serde_file__write_list(pml_buf *out, const pml_data_file *v, size_t n)
{
    if (n > INT32_MAX)
        return PML_E_LIMIT;
    PML_RETURN_IF(pml_java__put_i32(out, (int32_t)n));
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(pml_serde_file__write(out, &v[i]));
    return PML_OK;
}

/* ---- reading ---- */

static int no_memory(pml_java_reader *r)
{
    if (r->rc == PML_OK)
        r->rc = pml_error__no_memory(r->err);
    return r->rc;
}

/* An error of the binary row layer, told with the place. */
static int row_bad(pml_java_reader *r, int rc)
{
    if (rc != PML_OK && r->rc == PML_OK)
        r->rc = pml_error__prefix(r->err, rc, "%s, before byte %zu", r->what, r->at);
    return r->rc;
}

static int keep(pml_bytes *out, pml_java_reader *r, const pml_value *v)
{
    out->len = v->bytes.len;
    out->ptr = pml_arena__copy(r->arena, v->bytes.ptr, v->bytes.len);
    return out->ptr == NULL ? no_memory(r) : PML_OK;
}

static int get_text(const char **out, pml_java_reader *r, const pml_value *v, const char *field)
{
    *out = NULL;
    if (v->kind == PML_VALUE_NULL)
        return PML_OK;
    if (v->bytes.len > 0 && memchr(v->bytes.ptr, '\0', v->bytes.len) != NULL)
        return pml_java__bad(r, "%s has a NUL in it", field);
    *out = pml_arena__strndup(r->arena, (const char *)v->bytes.ptr, v->bytes.len);
    return *out == NULL ? no_memory(r) : PML_OK;
}

/* A file name goes into paths, so it must not lead anywhere else. */
static int check_name(pml_java_reader *r, const char *name, const char *field)
{
    if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return pml_java__bad(r, "%s '%.80s' is not a plain file name", field, name);
    return PML_OK;
}

static int get_list(pml_string_list *out, pml_java_reader *r, const pml_value *v, bool names, const char *field)
{
    size_t n;
    *out = (pml_string_list){.present = v->kind != PML_VALUE_NULL};
    if (!out->present)
        return PML_OK;
    PML_RETURN_IF(row_bad(r, pml_binary_array__count(&n, &type_string, v->bytes, r->err)));
    pml_value *items = pml_arena__array(r->arena, n, sizeof *items);
    const char **texts = pml_arena__array(r->arena, n, sizeof *texts);
    if (items == NULL || texts == NULL)
        return no_memory(r);
    PML_RETURN_IF(row_bad(r, pml_binary_array__read(items, &type_string, n, v->bytes, r->err)));
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind == PML_VALUE_NULL)
            return pml_java__bad(r, "item %zu of %s is null", i, field);
        PML_RETURN_IF(get_text(&texts[i], r, &items[i], field));
        if (names)
            PML_RETURN_IF(check_name(r, texts[i], field));
    }
    out->n = n;
    out->v = texts;
    return PML_OK;
}

static int get_stats(pml_simple_stats *out, pml_java_reader *r, const pml_value *v, const char *field)
{
    pml_value s[STATS_FIELDS];
    size_t n;
    *out = (pml_simple_stats){.min = {NULL, 0}};
    PML_RETURN_IF(row_bad(r, pml_binary_row__read(s, stats_types, STATS_FIELDS, v->bytes, r->err)));
    if (s[0].kind == PML_VALUE_NULL || s[1].kind == PML_VALUE_NULL)
        return pml_java__bad(r, "%s has no minimum or no maximum", field);
    PML_RETURN_IF(keep(&out->min, r, &s[0]));
    PML_RETURN_IF(keep(&out->max, r, &s[1]));
    if (s[2].kind == PML_VALUE_NULL)
        return PML_OK;
    PML_RETURN_IF(row_bad(r, pml_binary_array__count(&n, &type_long, s[2].bytes, r->err)));
    int64_t *counts = pml_arena__array(r->arena, n, sizeof *counts);
    if (counts == NULL)
        return no_memory(r);
    PML_RETURN_IF(row_bad(r, pml_binary_array__read_longs(counts, n, s[2].bytes, r->err)));
    for (size_t i = 0; i < n; i++)
        if (counts[i] < -1)
            return pml_java__bad(r, "%s has the null count %lld", field, (long long)counts[i]);
    out->has_null_counts = true;
    out->n_null_counts = n;
    out->null_counts = counts;
    return PML_OK;
}

static int get_optional(pml_optional_int64 *out, pml_java_reader *r, const pml_value *v, const char *field)
{
    *out = (pml_optional_int64){v->kind != PML_VALUE_NULL, 0};
    if (!out->present)
        return PML_OK;
    out->v = v->i;
    return v->i < 0 ? pml_java__bad(r, "%s is %lld", field, (long long)v->i) : PML_OK;
}

static int get_numbers(pml_data_file *f, pml_java_reader *r, const pml_value *v)
{
    f->size_bytes = v[F_SIZE].i;
    f->row_count = v[F_ROW_COUNT].i;
    f->min_sequence = v[F_MIN_SEQUENCE].i;
    f->max_sequence = v[F_MAX_SEQUENCE].i;
    f->schema_id = v[F_SCHEMA_ID].i;
    f->level = (int32_t)v[F_LEVEL].i;
    if (f->size_bytes < 0 || f->row_count < 0 || f->schema_id < 0 || f->level < 0)
        return pml_java__bad(r, "a file has %lld bytes, %lld rows, schema %lld, level %d", (long long)f->size_bytes,
                             (long long)f->row_count, (long long)f->schema_id, f->level);
    if (v[F_CREATION_TIME].kind != PML_VALUE_NULL)
        f->creation_time_ms = (pml_optional_int64){true, v[F_CREATION_TIME].ts.ms};
    f->file_source = PML_FILE_SOURCE_UNKNOWN;
    if (v[F_FILE_SOURCE].kind != PML_VALUE_NULL) {
        f->file_source = (int32_t)v[F_FILE_SOURCE].i;
        if (f->file_source != PML_FILE_SOURCE_APPEND && f->file_source != PML_FILE_SOURCE_COMPACT)
            return pml_java__bad(r, "the unknown file source %d", f->file_source);
    }
    PML_RETURN_IF(get_optional(&f->delete_row_count, r, &v[F_DELETE_ROW_COUNT], "_DELETE_ROW_COUNT"));
    return get_optional(&f->first_row_id, r, &v[F_FIRST_ROW_ID], "_FIRST_ROW_ID");
}

static int get_rest(pml_data_file *f, pml_java_reader *r, const pml_value *v)
{
    PML_RETURN_IF(get_text(&f->name, r, &v[F_NAME], "_FILE_NAME"));
    PML_RETURN_IF(check_name(r, f->name, "_FILE_NAME"));
    PML_RETURN_IF(keep(&f->min_key, r, &v[F_MIN_KEY]));
    PML_RETURN_IF(keep(&f->max_key, r, &v[F_MAX_KEY]));
    PML_RETURN_IF(get_stats(&f->key_stats, r, &v[F_KEY_STATS], "_KEY_STATS"));
    PML_RETURN_IF(get_stats(&f->value_stats, r, &v[F_VALUE_STATS], "_VALUE_STATS"));
    PML_RETURN_IF(get_list(&f->extra_files, r, &v[F_EXTRA_FILES], true, "_EXTRA_FILES"));
    f->has_embedded_index = v[F_EMBEDDED_INDEX].kind != PML_VALUE_NULL;
    if (f->has_embedded_index)
        PML_RETURN_IF(keep(&f->embedded_index, r, &v[F_EMBEDDED_INDEX]));
    PML_RETURN_IF(get_list(&f->value_stats_cols, r, &v[F_VALUE_STATS_COLS], false, "_VALUE_STATS_COLS"));
    PML_RETURN_IF(get_text(&f->external_path, r, &v[F_EXTERNAL_PATH], "_EXTERNAL_PATH"));
    if (f->external_path != NULL && f->external_path[0] == '\0')
        return pml_java__bad(r, "_EXTERNAL_PATH is empty");
    return get_list(&f->write_cols, r, &v[F_WRITE_COLS], false, "_WRITE_COLS");
}

int pml_serde_file__read(pml_data_file *out, pml_java_reader *r, pml_file_generation generation)
{
    pml_value v[FIELDS] = {{0}};
    *out = (pml_data_file){0};
    pml_bytes row = pml_java__get_row(r);
    if (r->rc != PML_OK)
        return r->rc;
    PML_RETURN_IF(row_bad(r, pml_binary_row__read(v, file_types, (size_t)generation, row, r->err)));
    for (size_t i = 0; i < F_REQUIRED; i++)
        if (v[i].kind == PML_VALUE_NULL)
            return pml_java__bad(r, "field %zu of a data file is null", i);
    PML_RETURN_IF(get_numbers(out, r, v));
    return get_rest(out, r, v);
}

int pml_serde_file__read_list(pml_data_file **out, size_t *n, pml_java_reader *r, pml_file_generation generation)
{
    size_t count = pml_java__get_count(r, FILE_BYTES_LEAST);
    *out = NULL;
    *n = 0;
    if (r->rc != PML_OK)
        return r->rc;
    pml_data_file *v = pml_arena__array(r->arena, count, sizeof *v);
    if (v == NULL)
        return no_memory(r);
    for (size_t i = 0; i < count; i++)
        PML_RETURN_IF(pml_serde_file__read(&v[i], r, generation));
    *out = v;
    *n = count;
    return PML_OK;
}
