/* SPDX-License-Identifier: Apache-2.0 */
/* Partition rows as directories: number of keys, flags, types, row bytes; and the bytes as names of files and of values. */
#include "fuzz.h"
#include "meta/partition.h"
#include "meta/path.h"

FUZZ_MEMORY(4 * MIB);

enum { KEYS_MAX = 4 };

/* A table with these partition keys, through the request form. */
static pml_table_schema *schema_of(const pml_type *types, size_t n, bool legacy)
{
    pml_error err = PML_ERROR_INIT;
    pml_table_schema *s;
    pml_buf json;
    pml_buf__init(&json, fuzz_env()->env, 16 * KIB);
    (void)pml_buf__append_str(&json, "{\"fields\":[{\"name\":\"id\",\"type\":\"INT\"}");
    for (size_t i = 0; i < n; i++) {
        (void)pml_buf__append_format(&json, ",{\"name\":\"k%zu\",\"type\":\"", i);
        (void)pml_type__print(&json, &types[i]);
        (void)pml_buf__append_str(&json, "\"}");
    }
    (void)pml_buf__append_str(&json, "],\"partitionKeys\":[");
    for (size_t i = 0; i < n; i++)
        (void)pml_buf__append_format(&json, "%s\"k%zu\"", i == 0 ? "" : ",", i);
    (void)pml_buf__append_format(&json, "],\"primaryKeys\":[],\"options\":{\"partition.legacy-name\":\"%s\"}}", legacy ? "true" : "false");
    must_ok(pml_table_schema__parse_request(&s, fuzz_env()->env, (pml_bytes){json.data, json.len}, &err), &err);
    pml_buf__clear(&json);
    return s;
}

static void must_be_safe(const char *path)
{
    FUZZ_CHECK(path[0] != '/' && strstr(path, "/../") == NULL && strstr(path, "//") == NULL, "a path that leaves its place: %s", path);
}

static void make_paths(const pml_table_schema *s, pml_bytes row)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_table_options o;
    pml_value values[KEYS_MAX];
    char *path = NULL, *texts[KEYS_MAX] = {0};
    must_ok(pml_table_options__parse(&o, s, NULL, 0, false, "t", &err), &err);
    int rc = pml_partition__decode(values, s, row, &err);
    fuzz_must_be_answer(rc, &err);
    rc = pml_path__partition(&path, env, s, &o, row, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK)
        must_be_safe(path);
    pml_env__free(env, path);
    path = NULL;
    fuzz_must_be_answer(pml_path__bucket(&path, env, "/w/t", s, &o, row, 3, &err), &err);
    pml_env__free(env, path);
    rc = pml_path__partition_texts(texts, env, s, &o, row, &err);
    fuzz_must_be_answer(rc, &err);
    for (size_t i = 0; rc == PML_OK && i < s->n_partition_keys; i++)
        pml_env__free(env, texts[i]);
}

static void use_as_names(pml_bytes bytes)
{
    pml_error err = PML_ERROR_INIT;
    pml_buf out;
    char format[16];
    fuzz_input in = {bytes.ptr, bytes.len};
    char *text = fuzz_rest_text(&in);
    pml_buf__init(&out, fuzz_env()->env, MIB);
    must_ok(pml_path__escape(&out, text, strlen(text)), NULL);
    FUZZ_CHECK(out.len == 0 || memchr(out.data, '/', out.len) == NULL, "a slash was not escaped");
    (void)pml_path__is_blank(text, strlen(text));
    int rc = pml_path__format(format, text, &err);
    fuzz_must_be_answer(rc, &err);
    FUZZ_CHECK(rc != PML_OK || strlen(format) < sizeof format, "a long format");
    pml_buf__clear(&out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_type types[KEYS_MAX];
    fuzz_begin();
    uint8_t head = fuzz_u8(&in);
    size_t n = head % (KEYS_MAX + 1);
    for (size_t i = 0; i < n; i++)
        types[i] = fuzz_type(&in);
    pml_bytes row = fuzz_rest(&in);
    pml_table_schema *s = schema_of(types, n, head >= 128);
    make_paths(s, row);
    use_as_names(row);
    pml_table_schema__release(s);
    fuzz_end();
    return 0;
}
