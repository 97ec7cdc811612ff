/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/meta/data/partition_dirs.jsonl: partition values and directories of tables that Java 1.4.2, 1.3.1, 1.1.1 and 0.9.0
 * wrote; values in the canonical row form.
 */
#include "meta/path.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test_types.h"

enum { MAX_KEYS = 16 };

/* A table whose columns are its partition keys. */
typedef struct table {
    pml_table_schema schema;
    pml_table_options options;
    pml_field fields[MAX_KEYS];
    int32_t index[MAX_KEYS];
    const char *keys[MAX_KEYS];
    const pml_type *types[MAX_KEYS];
    pml_value values[MAX_KEYS];
    pml_buf row;
} table;

static void table_init(table *x, test_env *t)
{
    memset(x, 0, sizeof *x);
    x->schema.fields = x->fields;
    x->schema.partition_index = x->index;
    x->schema.partition_keys = x->keys;
    x->options.partition_legacy_name = true;
    x->options.partition_default_name = "__DEFAULT_PARTITION__";
    pml_buf__init(&x->row, t->env, PML_BINARY_ROW_MAX);
}

static void table_add_key(table *x, const char *name, const char *type, pml_value v)
{
    size_t i = x->schema.n_partition_keys++;
    x->schema.n_fields = i + 1;
    x->fields[i] = (pml_field){.id = (int32_t)i, .name = name, .type = test_type(type)};
    x->index[i] = (int32_t)i;
    x->keys[i] = name;
    x->types[i] = &x->fields[i].type;
    x->values[i] = v;
}

static pml_bytes table_row(table *x)
{
    pml_buf__reset(&x->row);
    must_ok(pml_binary_row__write_counted(&x->row, x->types, x->values, x->schema.n_partition_keys), NULL);
    return (pml_bytes){x->row.data, x->row.len};
}

static void table_clear(table *x)
{
    pml_buf__clear(&x->row);
}

static pml_value value_of(pml_arena *arena, const char *type_text, const json_t *v)
{
    pml_type type = test_type(type_text);
    pml_value out = {.kind = PML_VALUE_NULL};
    pml_error err = PML_ERROR_INIT;
    char text[64];
    const char *s = text;
    if (json_is_null(v))
        return out;
    if (json_is_string(v))
        s = json_string_value(v);
    else if (json_is_boolean(v))
        s = json_is_true(v) ? "true" : "false";
    else if (json_is_integer(v))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
    else
        (void)snprintf(text, sizeof text, "%.17g", json_real_value(v));
    must_ok(pml_value__parse(&out, arena, &type, s, strlen(s), &err), &err);
    return out;
}

static void check_line(test_env *t, json_t *line)
{
    table x;
    pml_arena arena;
    pml_error err = PML_ERROR_INIT;
    char *dir, *partition, expected[600];
    json_t *keys = json_object_get(line, "keys"), *types = json_object_get(line, "types");
    table_init(&x, t);
    pml_arena__init(&arena, t->env);
    x.options.partition_legacy_name = json_is_true(json_object_get(line, "legacy"));
    x.options.partition_default_name = json_string_value(json_object_get(line, "default"));
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        table_add_key(&x, json_string_value(json_array_get(keys, i)), type,
                      value_of(&arena, type, json_array_get(json_object_get(line, "values"), i)));
    }
    int32_t bucket = (int32_t)json_integer_value(json_object_get(line, "bucket"));
    must_ok(pml_path__bucket(&dir, t->env, "/t", &x.schema, &x.options, table_row(&x), bucket, &err), &err);
    (void)snprintf(expected, sizeof expected, "/t/%s", json_string_value(json_object_get(line, "dir")));
    assert_string_equal(dir, expected);
    must_ok(pml_path__partition(&partition, t->env, &x.schema, &x.options, table_row(&x), &err), &err);
    assert_memory_equal(partition, expected + 3, strlen(partition));
    pml_env__free(t->env, partition);
    pml_env__free(t->env, dir);
    pml_arena__clear(&arena);
    table_clear(&x);
}

static void directories_are_those_that_java_made(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    size_t len, lines = 0;
    char *file = (char *)test_read_file(PML_TEST_SOURCE "/meta/data/partition_dirs.jsonl", &len);
    for (char *p = file, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        json_t *line = json_loadb(p, (size_t)(end - p), 0, NULL);
        assert_non_null(line);
        check_line(t, line);
        json_decref(line);
        lines++;
    }
    assert_int_equal(lines, 93);
    free(file);
    test_env_close(t);
}

static void must_be(test_env *t, char *path, const char *expected)
{
    assert_non_null(path);
    assert_string_equal(path, expected);
    pml_env__free(t->env, path);
}

static void metadata_of_a_branch_is_below_its_root(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    must_be(t, pml_path__join(t->env, "a", "b"), "a/b");
    must_be(t, pml_path__branch(t->env, "/w/t", "main"), "/w/t");
    must_be(t, pml_path__branch(t->env, "/w/t", "dev"), "/w/t/branch/branch-dev");
    must_be(t, pml_path__schema(t->env, "/w/t", 3), "/w/t/schema/schema-3");
    must_be(t, pml_path__snapshot(t->env, "/w/t/branch/branch-dev", 12), "/w/t/branch/branch-dev/snapshot/snapshot-12");
    must_be(t, pml_path__manifest(t->env, "/w/t", "manifest-x-0"), "/w/t/manifest/manifest-x-0");
    test_env_close(t);
}

static void escape_covers_the_control_and_special_characters(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_buf out;
    pml_buf__init(&out, t->env, 1000);
    must_ok(pml_path__escape(&out, "\x01\x1f \"#%'*/:=?\\\x7f{[]}^~|&é", 24), NULL);
    (void)pml_buf__append_byte(&out, 0);
    assert_string_equal((char *)out.data, "%01%1F %22%23%25%27%2A%2F%3A%3D%3F%5C%7F%7B%5B%5D%7D%5E~|&é");
    pml_buf__reset(&out);
    must_ok(pml_path__escape(&out, "\0", 1), NULL);
    assert_memory_equal(out.data, "%00", 3);
    pml_buf__clear(&out);
    test_env_close(t);
}

static void text_is_default(test_env *t, const char *value, bool expected)
{
    table x;
    char *texts[1];
    pml_error err = PML_ERROR_INIT;
    table_init(&x, t);
    table_add_key(&x, "p", "STRING", test_bytes(value));
    must_ok(pml_path__partition_texts(texts, t->env, &x.schema, &x.options, table_row(&x), &err), &err);
    must_be(t, texts[0], expected ? "__DEFAULT_PARTITION__" : value);
    table_clear(&x);
}

static void blank_text_is_the_default_name_by_java_s_idea_of_blank(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    text_is_default(t, "", true);
    text_is_default(t, " \t\n\v\f\r\x1c\x1f", true);
    text_is_default(t, "\u2003\u3000\u2028 \u205f\u1680", true);
    text_is_default(t, "\u00a0", false);
    text_is_default(t, "\u2007", false);
    text_is_default(t, "\u200b", false);
    text_is_default(t, " a", false);
    text_is_default(t, "a/b=%", false); /* texts are not escaped */
    text_is_default(t, "\xe2", false);
    test_env_close(t);
}

static void unpartitioned_and_postpone_buckets_have_their_names(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table x;
    char *path;
    pml_error err = PML_ERROR_INIT;
    table_init(&x, t);
    must_ok(pml_path__partition(&path, t->env, &x.schema, &x.options, table_row(&x), &err), &err);
    must_be(t, path, "");
    must_ok(pml_path__bucket(&path, t->env, "/t", &x.schema, &x.options, table_row(&x), 0, &err), &err);
    must_be(t, path, "/t/bucket-0");
    must_ok(pml_path__bucket(&path, t->env, "/t", &x.schema, &x.options, table_row(&x), -2, &err), &err);
    must_be(t, path, "/t/bucket-postpone");
    must_fail_with(PML_E_CORRUPT, pml_path__bucket(&path, t->env, "/t", &x.schema, &x.options, table_row(&x), -1, &err),
                   &err);
    x.options.data_path_directory = "data";
    must_ok(pml_path__bucket(&path, t->env, "/t", &x.schema, &x.options, table_row(&x), 3, &err), &err);
    must_be(t, path, "/t/data/bucket-3");
    table_clear(&x);
    test_env_close(t);
}

static int file_path(char **out, test_env *t, table *x, const char *name, const char *external)
{
    pml_data_file f = {.name = name, .external_path = external};
    return pml_path__data_file(out, t->env, "/t", &x->schema, &x->options, table_row(x), 1, &f, NULL);
}

static void data_file_is_in_its_bucket_or_where_its_external_path_says(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table x;
    char *path;
    table_init(&x, t);
    table_add_key(&x, "dt", "DATE", test_int(19000));
    must_ok(file_path(&path, t, &x, "data-1.parquet", NULL), NULL);
    must_be(t, path, "/t/dt=19000/bucket-1/data-1.parquet");
    must_ok(file_path(&path, t, &x, "data-1.parquet", "/other/data-1.parquet"), NULL);
    must_be(t, path, "/other/data-1.parquet");
    must_ok(file_path(&path, t, &x, "data-1.parquet", "file:/other/data-1.parquet"), NULL);
    must_be(t, path, "/other/data-1.parquet");
    must_ok(file_path(&path, t, &x, "data-1.parquet", "file:///other/data-1.parquet"), NULL);
    must_be(t, path, "/other/data-1.parquet");
    must_ok(file_path(&path, t, &x, "data-1.parquet", "s3://bucket/data-1.parquet"), NULL);
    must_be(t, path, "s3://bucket/data-1.parquet");
    must_fail_with(PML_E_CORRUPT, file_path(&path, t, &x, "../../secret", NULL), NULL);
    must_fail_with(PML_E_CORRUPT, file_path(&path, t, &x, "/etc/passwd", NULL), NULL);
    must_fail_with(PML_E_CORRUPT, file_path(&path, t, &x, "..", NULL), NULL);
    must_fail_with(PML_E_CORRUPT, file_path(&path, t, &x, "", NULL), NULL);
    assert_null(path);
    table_clear(&x);
    test_env_close(t);
}

static void partition_that_cannot_be_named_is_refused_by_column(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table x;
    char *texts[1], *path;
    pml_error err = PML_ERROR_INIT;
    table_init(&x, t);
    table_add_key(&x, "b", "BYTES", test_bytes("x"));
    must_fail_with(PML_E_UNSUPPORTED, pml_path__partition(&path, t->env, &x.schema, &x.options, table_row(&x), &err),
                   &err);
    assert_non_null(strstr(err.message, "'b'"));
    x.fields[0].type = test_type("STRING");
    x.values[0].bytes = (pml_bytes){(const uint8_t *)"a\0b", 3};
    must_fail_with(PML_E_UNSUPPORTED,
                   pml_path__partition_texts(texts, t->env, &x.schema, &x.options, table_row(&x), &err), &err);
    must_ok(pml_path__partition(&path, t->env, &x.schema, &x.options, table_row(&x), &err), &err);
    must_be(t, path, "b=a%00b/");
    pml_bytes row = table_row(&x);
    row.len--;
    must_fail_with(PML_E_CORRUPT, pml_path__partition(&path, t->env, &x.schema, &x.options, row, &err), &err);
    table_clear(&x);
    test_env_close(t);
}

static void format_is_the_last_part_of_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *format;
    } cases[] = {{"data-1.parquet", "parquet"},
                 {"data-1.zst.parquet", "parquet"},
                 {"x.csv.gz", "csv"},
                 {"x.json.snappy", "json"},
                 {"x.vector.lance", "lance"},
                 {"x.gz", "gz"},
                 {"a.b.orc", "orc"},
                 {"x$0-1.cc-parquet", "cc-parquet"}};
    static const char *const bad[] = {"data-1", "data-1.", "", ".", "x.abcdefghijklmnop", "x..gz"};
    char text[16];
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        must_ok(pml_path__format(text, cases[i].name, &err), &err);
        assert_int_equal(pml_path__is_orc(cases[i].name), strcmp(text, "orc") == 0);
        assert_string_equal(text, cases[i].format);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        must_fail_with(PML_E_CORRUPT, pml_path__format(text, bad[i], &err), &err);
}

static void paths_without_memory_fail_cleanly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table x;
    int rc = PML_E_NOMEM;
    table_init(&x, t);
    table_add_key(&x, "a", "STRING", test_bytes("one"));
    table_add_key(&x, "b", "TIMESTAMP(3)", test_timestamp(0, 0));
    pml_bytes row = table_row(&x);
    pml_data_file f = {.name = "data-1.parquet"};
    for (long long n = 1; rc != PML_OK; n++) {
        char *texts[2], *path = NULL;
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        rc = pml_path__partition_texts(texts, t->env, &x.schema, &x.options, row, &err);
        if (rc == PML_OK) {
            pml_env__free(t->env, texts[0]);
            pml_env__free(t->env, texts[1]);
            rc = pml_path__data_file(&path, t->env, "/t", &x.schema, &x.options, row, 0, &f, &err);
        }
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_env__free(t->env, path);
    }
    test_env_fail_at(t, 0);
    table_clear(&x);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directories_are_those_that_java_made),
        cmocka_unit_test(metadata_of_a_branch_is_below_its_root),
        cmocka_unit_test(escape_covers_the_control_and_special_characters),
        cmocka_unit_test(blank_text_is_the_default_name_by_java_s_idea_of_blank),
        cmocka_unit_test(unpartitioned_and_postpone_buckets_have_their_names),
        cmocka_unit_test(data_file_is_in_its_bucket_or_where_its_external_path_says),
        cmocka_unit_test(partition_that_cannot_be_named_is_refused_by_column),
        cmocka_unit_test(format_is_the_last_part_of_the_name),
        cmocka_unit_test(paths_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
