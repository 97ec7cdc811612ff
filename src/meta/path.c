/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/path.h"

#include <stdio.h>
#include <string.h>

#include "columnar/java_text.h"

enum {
    PATH_BYTES_MAX = 256 * 1024, /* text of a partition directory: no file system takes more than 4096 */
    PARTITION_KEYS_MAX = 256,    /* columns of a partition */
    FORMAT_BYTES = 16,           /* with the NUL; the longest known format has 7 letters */
    BUCKET_POSTPONE = -2
};

/* ---- metadata ---- */

char *pml_path__join(pml_env *env, const char *a, const char *b)
{
    return pml_env__format(env, "%s/%s", a, b);
}

char *pml_path__branch(pml_env *env, const char *root, const char *branch)
{
    if (branch == NULL || strcmp(branch, "main") == 0)
        return pml_env__strdup(env, root);
    return pml_env__format(env, "%s/branch/branch-%s", root, branch);
}

char *pml_path__schema(pml_env *env, const char *branch_root, int64_t id)
{
    return pml_env__format(env, "%s/schema/schema-%lld", branch_root, (long long)id);
}

char *pml_path__snapshot(pml_env *env, const char *branch_root, int64_t id)
{
    return pml_env__format(env, "%s/snapshot/snapshot-%lld", branch_root, (long long)id);
}

char *pml_path__manifest(pml_env *env, const char *root, const char *name)
{
    return pml_env__format(env, "%s/manifest/%s", root, name);
}

char *pml_path__index(pml_env *env, const char *root, const char *name)
{
    return pml_env__format(env, "%s/index/%s", root, name);
}

/* ---- partitions ---- */

int pml_path__escape(pml_buf *out, const char *s, size_t n)
{
    static const char special[] = "\"#%'*/:=?\\{[]}^";
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)s[i];
        bool plain = c >= 0x20 && c != 0x7f && strchr(special, c) == NULL;
        if (plain)
            (void)pml_buf__append_byte(out, c);
        else
            (void)pml_buf__append_format(out, "%%%02X", c);
    }
    return out->rc;
}

/* Length of the character at p if Java's Character.isWhitespace holds for it, else 0. Not the no-break spaces. */
static size_t blank_length(const uint8_t *p, size_t n)
{
    static const char *const wide[] = {"\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x81\x9f", "\xe3\x80\x80"};
    if ((p[0] >= 0x09 && p[0] <= 0x0d) || (p[0] >= 0x1c && p[0] <= 0x20))
        return 1;
    if (n < 3)
        return 0;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (memcmp(p, wide[i], 3) == 0)
            return 3;
    /* U+2000 to U+200A without U+2007. */
    return p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0x80 && p[2] <= 0x8a && p[2] != 0x87 ? 3 : 0;
}

bool pml_path__is_blank(const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t i = 0, step = 1;
    while (i < n && step > 0) {
        step = blank_length(p + i, n - i);
        i += step;
    }
    return i >= n;
}

/* The text of one value before escaping: null, empty and blank text share the default name. */
static int append_text(pml_buf *out, const pml_type *t, const pml_value *v, const pml_table_options *o, pml_error *err)
{
    size_t from = out->len;
    if (v->kind != PML_VALUE_NULL)
        PML_RETURN_IF(o->partition_legacy_name ? pml_java_text__to_string(out, t, v, err)
                                               : pml_java_text__cast(out, t, v, err));
    if (out->len == from || pml_path__is_blank((const char *)out->data + from, out->len - from)) {
        out->len = from;
        (void)pml_buf__append_str(out, o->partition_default_name);
    }
    return pml_buf__check(out, err);
}

typedef struct partition_row {
    const pml_type *types[PARTITION_KEYS_MAX];
    pml_value values[PARTITION_KEYS_MAX];
} partition_row;

static const pml_field *key_field(const pml_table_schema *s, size_t i)
{
    return &s->fields[s->partition_index[i]];
}

static int load_row(partition_row *row, const pml_table_schema *s, pml_bytes partition, pml_error *err)
{
    pml_bytes bytes;
    if (s->n_partition_keys > PARTITION_KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a table has %zu partition columns; the limit is %d",
                              s->n_partition_keys, PARTITION_KEYS_MAX);
    for (size_t i = 0; i < s->n_partition_keys; i++)
        row->types[i] = &key_field(s, i)->type;
    int rc = pml_binary_row__uncount(&bytes, partition, s->n_partition_keys, err);
    if (rc == PML_OK)
        rc = pml_binary_row__read(row->values, row->types, s->n_partition_keys, bytes, err);
    return rc == PML_OK ? rc : pml_error__prefix(err, rc, "partition of a manifest entry");
}

static int add_key_place(pml_error *err, int rc, const pml_table_schema *s, size_t i)
{
    return pml_error__prefix(err, rc, "directory of partition column '%s'", key_field(s, i)->name);
}

/* One owned text, which as a C string cannot hold a NUL. */
static int take_text(char **out, pml_buf *text, pml_error *err)
{
    size_t len;
    if (text->len > 0 && memchr(text->data, '\0', text->len) != NULL)
        return pml_error__set(err, PML_E_UNSUPPORTED, "the value has a NUL character");
    *out = (char *)pml_buf__take(text, &len);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_path__partition_texts(char **out, pml_env *env, const pml_table_schema *s, const pml_table_options *o,
                              pml_bytes partition, pml_error *err)
{
    int rc;
    partition_row row;
    pml_buf text;
    pml_buf__init(&text, env, PATH_BYTES_MAX);
    for (size_t i = 0; i < s->n_partition_keys; i++)
        out[i] = NULL;
    if (s->n_partition_keys == 0)
        return PML_OK;
    PML_TRY(load_row(&row, s, partition, err));
    for (size_t i = 0; i < s->n_partition_keys && rc == PML_OK; i++) {
        rc = append_text(&text, row.types[i], &row.values[i], o, err);
        if (rc == PML_OK)
            rc = take_text(&out[i], &text, err);
        if (rc != PML_OK)
            rc = add_key_place(err, rc, s, i);
    }
out:
    for (size_t i = 0; i < s->n_partition_keys && rc != PML_OK; i++) {
        pml_env__free(env, out[i]);
        out[i] = NULL;
    }
    pml_buf__clear(&text);
    return rc;
}

static int append_partition(pml_buf *out, const pml_table_schema *s, const pml_table_options *o, pml_bytes partition,
                            pml_error *err)
{
    int rc = PML_OK;
    partition_row row;
    pml_buf text;
    if (s->n_partition_keys == 0)
        return PML_OK;
    pml_buf__init(&text, out->env, PATH_BYTES_MAX);
    PML_TRY(load_row(&row, s, partition, err));
    for (size_t i = 0; i < s->n_partition_keys; i++) {
        const char *name = key_field(s, i)->name;
        pml_buf__reset(&text);
        rc = append_text(&text, row.types[i], &row.values[i], o, err);
        if (rc != PML_OK) {
            rc = add_key_place(err, rc, s, i);
            break;
        }
        (void)pml_path__escape(out, name, strlen(name));
        (void)pml_buf__append_byte(out, '=');
        (void)pml_path__escape(out, (const char *)text.data, text.len);
        (void)pml_buf__append_byte(out, '/');
        PML_TRY(pml_buf__check(out, err));
    }
out:
    pml_buf__clear(&text);
    return rc;
}

static int take_path(char **out, pml_buf *path, pml_error *err)
{
    size_t len;
    PML_RETURN_IF(pml_buf__check(path, err));
    *out = (char *)pml_buf__take(path, &len);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_path__partition(char **out, pml_env *env, const pml_table_schema *s, const pml_table_options *o,
                        pml_bytes partition, pml_error *err)
{
    int rc;
    pml_buf path;
    *out = NULL;
    pml_buf__init(&path, env, PATH_BYTES_MAX);
    PML_TRY(append_partition(&path, s, o, partition, err));
    PML_TRY(take_path(out, &path, err));
out:
    pml_buf__clear(&path);
    return rc;
}

/* ---- buckets and data files ---- */

static int append_bucket(pml_buf *out, const char *root, const pml_table_schema *s, const pml_table_options *o,
                         pml_bytes partition, int32_t bucket, pml_error *err)
{
    if (bucket < 0 && bucket != BUCKET_POSTPONE)
        return pml_error__set(err, PML_E_CORRUPT, "a manifest entry has the bucket %d", bucket);
    (void)pml_buf__append_format(out, "%s/", root);
    if (o->data_path_directory != NULL)
        (void)pml_buf__append_format(out, "%s/", o->data_path_directory);
    PML_RETURN_IF(append_partition(out, s, o, partition, err));
    if (bucket == BUCKET_POSTPONE)
        (void)pml_buf__append_str(out, "bucket-postpone");
    else
        (void)pml_buf__append_format(out, "bucket-%d", bucket);
    return pml_buf__check(out, err);
}

int pml_path__bucket(char **out, pml_env *env, const char *root, const pml_table_schema *s, const pml_table_options *o,
                     pml_bytes partition, int32_t bucket, pml_error *err)
{
    int rc;
    pml_buf path;
    *out = NULL;
    pml_buf__init(&path, env, PATH_BYTES_MAX);
    PML_TRY(append_bucket(&path, root, s, o, partition, bucket, err));
    PML_TRY(take_path(out, &path, err));
out:
    pml_buf__clear(&path);
    return rc;
}

/* A name from a manifest must name a file of its directory and nothing else. */
static int check_name(const char *name, pml_error *err)
{
    if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, name, "a manifest names the data file '%.200s'",
                             name);
    return PML_OK;
}

/* Java records external paths as URIs. Those of local files become plain paths; other schemes stay as they are. */
const char *pml_path__without_scheme(const char *path)
{
    if (strncmp(path, "file:/", 6) != 0)
        return path;
    path += 5;
    return strncmp(path, "///", 3) == 0 ? path + 2 : path;
}

int pml_path__in_bucket(char **out, pml_env *env, const char *root, const pml_table_schema *s, const pml_table_options *o,
                        pml_bytes partition, int32_t bucket, const char *name, pml_error *err)
{
    int rc;
    pml_buf path;
    *out = NULL;
    pml_buf__init(&path, env, PATH_BYTES_MAX);
    PML_TRY(check_name(name, err));
    PML_TRY(append_bucket(&path, root, s, o, partition, bucket, err));
    (void)pml_buf__append_format(&path, "/%s", name);
    PML_TRY(take_path(out, &path, err));
out:
    pml_buf__clear(&path);
    return rc;
}

int pml_path__data_file(char **out, pml_env *env, const char *root, const pml_table_schema *s,
                        const pml_table_options *o, pml_bytes partition, int32_t bucket, const pml_data_file *f,
                        pml_error *err)
{
    *out = NULL;
    PML_RETURN_IF(check_name(f->name, err));
    if (f->external_path == NULL || f->external_path[0] == '\0')
        return pml_path__in_bucket(out, env, root, s, o, partition, bucket, f->name, err);
    *out = pml_env__strdup(env, pml_path__without_scheme(f->external_path));
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* ---- formats ---- */

static bool is_compression(const char *s, size_t n)
{
    static const char *const words[] = {"gz", "bz2", "deflate", "snappy", "lz4", "zst"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0)
            return true;
    return false;
}

/* The last dot of s[0, n), NULL: none. */
static const char *last_dot(const char *s, size_t n)
{
    return n == 0 ? NULL : memrchr(s, '.', n);
}

int pml_path__format(char text[16], const char *file_name, pml_error *err)
{
    size_t len = strlen(file_name);
    const char *end = file_name + len, *dot = last_dot(file_name, len);
    memset(text, 0, FORMAT_BYTES);
    if (dot != NULL && is_compression(dot + 1, (size_t)(end - dot - 1))) {
        const char *before = last_dot(file_name, (size_t)(dot - file_name));
        /* Without a part before it the compression stands for the format, as in Java; no reader will know it. */
        end = before == NULL ? end : dot;
        dot = before == NULL ? dot : before;
    }
    if (dot == NULL || end - dot < 2 || end - dot > FORMAT_BYTES)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, file_name,
                             "no file format can be seen in the name '%.200s'", file_name);
    memcpy(text, dot + 1, (size_t)(end - dot - 1));
    return PML_OK;
}

bool pml_path__is_orc(const char *file_name)
{
    char format[FORMAT_BYTES];
    return pml_path__format(format, file_name, NULL) == PML_OK && strcmp(format, "orc") == 0;
}

/* The extension that a codec gives to file names when file.suffix.include.compression asks for it (format-data.md 2.1). */
static const char *codec_extension(const char *codec)
{
    if (strcmp(codec, "gzip") == 0)
        return "gz";
    if (strcmp(codec, "bzip2") == 0)
        return "bz2";
    if (strcmp(codec, "zstd") == 0)
        return "zst";
    return strcmp(codec, "none") == 0 ? "" : codec;
}

char *pml_path__data_file_name(pml_env *env, const pml_table_options *o, const char *uuid, int64_t counter)
{
    const char *codec = o->suffix_include_compression ? codec_extension(o->file_compression) : "";
    return pml_env__format(env, "%s%s-%lld%s%s.%s", o->data_file_prefix, uuid, (long long)counter, codec[0] == '\0' ? "" : ".", codec,
                           o->file_format);
}
