/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_json.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/table_schema.h"

static test_env *t;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_error__clear(&err);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_fail_at(t, 0);
    test_env_close(t);
    return 0;
}

static int parse(pml_table_schema **out, const char *text)
{
    return pml_table_schema__parse(out, t->env, test_text(text), "schema-7", &err);
}

static pml_table_schema *load(const char *path)
{
    pml_table_schema *s;
    pml_bytes file = test_data(path);
    must_ok(pml_table_schema__parse(&s, t->env, file, path, &err), &err);
    free((void *)(uintptr_t)file.ptr);
    return s;
}

static void must_write_as(const pml_table_schema *s, pml_bytes expected, const char *what)
{
    pml_buf b;
    pml_buf__init(&b, t->env, PML_SCHEMA_FILE_MAX);
    must_ok(pml_table_schema__write(&b, s), NULL);
    test_must_hold(&b, expected, what);
    pml_buf__clear(&b);
}

/* The latest schema of 250 tables, written by Java 0.9.0, 1.1.1, 1.3.1 and 1.4.2. */
static void schema_of_java_is_written_back_byte_for_byte(void **state)
{
    (void)state;
    DIR *dir = opendir(PML_TEST_SOURCE "/meta/data/schemas");
    int n = 0;
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[512];
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "meta/data/schemas/%s", e->d_name);
        pml_table_schema *s = load(path);
        pml_bytes file = test_data(path);
        must_write_as(s, file, path);
        free((void *)(uintptr_t)file.ptr);
        pml_table_schema__release(s);
        n++;
    }
    (void)closedir(dir);
    assert_int_equal(n, 250);
}

static void schema_members_have_the_values_of_the_file(void **state)
{
    (void)state;
    pml_table_schema *s = load("meta/data/schemas/append_fixed_multikey.json");
    assert_int_equal(s->version, 3);
    assert_string_equal(pml_table_schema__option(s, "bucket-key"), "name,day");
    assert_null(pml_table_schema__option(s, "bucket-ke"));
    assert_int_equal(s->n_bucket_keys, 2);
    assert_int_equal(s->bucket_index[0], pml_table_schema__find(s, "name", 4));
    assert_int_equal(s->bucket_index[1], pml_table_schema__find(s, "day", 3));
    assert_int_equal(pml_table_schema__find(s, "nam", 3), -1);
    assert_int_equal(pml_table_schema__find_id(s, s->fields[2].id), 2);
    assert_int_equal(pml_table_schema__find_id(s, 4711), -1);
    pml_table_schema__acquire(s);
    pml_table_schema__release(s);
    pml_table_schema__release(s);
}

static void schema_of_a_keyed_table_has_the_trimmed_key_as_bucket_key(void **state)
{
    (void)state;
    pml_table_schema *s = load("meta/data/schemas/part_pk_multi.json");
    assert_true(s->n_partition_keys > 0);
    assert_true(s->n_bucket_keys > 0 && s->n_bucket_keys < s->n_primary_keys);
    for (size_t i = 0; i < s->n_bucket_keys; i++)
        for (size_t j = 0; j < s->n_partition_keys; j++)
            assert_int_not_equal(s->bucket_index[i], s->partition_index[j]);
    pml_table_schema__release(s);
}

static void schema_default_value_and_description_are_kept(void **state)
{
    (void)state;
    pml_table_schema *s = load("meta/data/schemas/append_defaults.json");
    bool found = false;
    for (size_t i = 0; i < s->n_fields; i++)
        found = found || s->fields[i].default_value != NULL;
    assert_true(found);
    pml_table_schema__release(s);
    s = load("meta/data/schemas/history_comments.json");
    found = false;
    for (size_t i = 0; i < s->n_fields; i++)
        found = found || s->fields[i].description != NULL;
    assert_true(found);
    pml_table_schema__release(s);
}

#define FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"type\":" type "}"
#define REST(options) "\"highestFieldId\":9,\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{" options "}}"
#define SCHEMA(fields) "{\"version\":3,\"id\":0,\"fields\":[" fields "]," REST("")

static void must_have_option(const char *text, const char *key, const char *value)
{
    pml_table_schema *s;
    must_ok(parse(&s, text), &err);
    const char *got = pml_table_schema__option(s, key);
    assert_true((got == NULL) == (value == NULL));
    assert_true(got == NULL || strcmp(got, value) == 0);
    pml_table_schema__release(s);
}

static void schema_of_an_old_version_gets_the_defaults_of_its_time(void **state)
{
    (void)state;
    must_have_option("{\"id\":0,\"fields\":[]," REST(""), "bucket", "1");
    must_have_option("{\"id\":0,\"fields\":[]," REST(""), "file.format", "orc");
    must_have_option("{\"version\":1,\"id\":0,\"fields\":[]," REST("\"bucket\":\"4\",\"file.format\":\"avro\""),
                     "bucket", "4");
    must_have_option("{\"version\":1,\"id\":0,\"fields\":[]," REST("\"bucket\":\"4\",\"file.format\":\"avro\""),
                     "file.format", "avro");
    must_have_option("{\"version\":2,\"id\":0,\"fields\":[]," REST(""), "bucket", NULL);
    must_have_option("{\"version\":2,\"id\":0,\"fields\":[]," REST(""), "file.format", "orc");
    must_have_option("{\"version\":3,\"id\":0,\"fields\":[]," REST(""), "file.format", NULL);
}

static void schema_of_a_newer_version_or_type_is_unsupported(void **state)
{
    (void)state;
    pml_table_schema *s;
    must_fail_with(PML_E_UNSUPPORTED, parse(&s, "{\"version\":4,\"id\":0,\"fields\":[]," REST("")), &err);
    assert_non_null(strstr(err.message, "schema-7"));
    must_fail_with(PML_E_UNSUPPORTED, parse(&s, SCHEMA(FIELD(0, "a", "\"GEOGRAPHY\""))), &err);
    assert_non_null(strstr(err.message, "type:geography"));
}

static const char *const bad_schemas[] = {
    "{}",
    "[]",
    "",
    SCHEMA("1"),
    SCHEMA("{\"id\":0,\"type\":\"INT\"}"),
    SCHEMA("{\"id\":0,\"name\":\"a\"}"),
    SCHEMA("{\"name\":\"a\",\"type\":\"INT\"}"),
    SCHEMA(FIELD(10, "a", "\"INT\"")),
    SCHEMA(FIELD(-1, "a", "\"INT\"")),
    SCHEMA(FIELD(0, "a", "\"INTT\"")),
    SCHEMA(FIELD(0, "a", "5")),
    SCHEMA(FIELD(0, "a", "null")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ARRAY\"}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ARRAYX\",\"element\":\"INT\"}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ARRAY NULL\",\"element\":\"INT\"}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"MAP\",\"key\":\"INT\"}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ROW\"}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ROW\",\"fields\":[{\"name\":\"x\",\"type\":\"INT\"}]}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ROW\",\"fields\":[" FIELD(0, "x", "\"INT\"") "]}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"ROW\",\"fields\":[" FIELD(1, "x", "\"INT\"") "," FIELD(2, "x", "\"INT\"") "]}")),
    SCHEMA(FIELD(
        0, "a",
        "{\"type\":\"MAP\",\"key\":\"INT\",\"value\":{\"type\":\"ROW\",\"fields\":[" FIELD(0, "x", "\"INT\"") "]}}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"VECTOR\",\"element\":\"STRING\",\"length\":3}")),
    SCHEMA(FIELD(0, "a", "{\"type\":\"VECTOR\",\"element\":\"INT\",\"length\":0}")),
    SCHEMA(FIELD(0, "a", "\"ROW<x INT>\"")),
    SCHEMA(FIELD(0, "a", "\"INT\"") "," FIELD(0, "b", "\"INT\"")),
    SCHEMA(FIELD(0, "a", "\"INT\"") "," FIELD(1, "a", "\"INT\"")),
    SCHEMA(FIELD(0, " ", "\"INT\"")),
    SCHEMA(FIELD(0, "_KEY_x", "\"INT\"")),
    SCHEMA(FIELD(0, "rowkind", "\"INT\"")),
    "{\"version\":3,\"id\":0,\"fields\":[],\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}",
    "{\"version\":3,\"id\":0,\"fields\":[],\"highestFieldId\":0,\"partitionKeys\":[\"a\"],\"primaryKeys\":[],"
    "\"options\":{}}",
    "{\"version\":3,\"id\":0,\"fields\":[],\"highestFieldId\":0,\"partitionKeys\":[1],\"primaryKeys\":[],\"options\":{}"
    "}",
    "{\"version\":3,\"id\":0,\"fields\":[],\"highestFieldId\":0,\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{"
    "\"a\":1}}",
    "{\"version\":3,\"id\":0,\"fields\":[" FIELD(0, "a", "\"INT\"") "]," REST("\"bucket-key\":\"zz\""),
    "{\"version\":3,\"id\":1.0,\"fields\":[]," REST(""),
    "{\"version\":0,\"id\":1,\"fields\":[]," REST(""),
    "{\"version\":3,\"id\":1,\"comment\":5,\"fields\":[]," REST(""),
};

static void schema_that_is_wrong_is_corrupt(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_schemas / sizeof bad_schemas[0]; i++) {
        pml_table_schema *s;
        int rc = parse(&s, bad_schemas[i]);
        if (rc != PML_E_CORRUPT)
            print_message("%s\n", bad_schemas[i]);
        must_fail_with(PML_E_CORRUPT, rc, &err);
        assert_null(s);
        assert_non_null(strstr(err.message, "schema-7"));
    }
}

static void schema_every_prefix_of_a_file_is_refused(void **state)
{
    (void)state;
    pml_bytes file = test_data("meta/data/schemas/agg_nested.json");
    for (size_t n = 0; n < file.len; n += 3) {
        pml_table_schema *s;
        must_fail_with(PML_E_CORRUPT, pml_table_schema__parse(&s, t->env, (pml_bytes){file.ptr, n}, "x", &err), &err);
    }
    free((void *)(uintptr_t)file.ptr);
}

static void schema_with_a_changed_byte_never_crashes(void **state)
{
    (void)state;
    pml_bytes file = test_data("meta/data/schemas/agg_nested.json");
    uint8_t *copy = malloc(file.len);
    t->random_state = test_seed();
    for (int i = 0; i < 3000; i++) {
        pml_table_schema *s;
        memcpy(copy, file.ptr, file.len);
        for (uint64_t n = test_random(t) % 4; n-- > 0;)
            copy[test_random(t) % file.len] = (uint8_t)test_random(t);
        int rc = pml_table_schema__parse(&s, t->env, (pml_bytes){copy, file.len}, "x", &err);
        assert_true(rc == PML_OK || rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED || rc == PML_E_LIMIT);
        pml_table_schema__release(s);
    }
    free(copy);
    free((void *)(uintptr_t)file.ptr);
}

static void must_parse_nested(int depth, int code)
{
    pml_buf b;
    pml_table_schema *s;
    pml_buf__init(&b, t->env, 1 << 24);
    (void)pml_buf__append_str(&b, "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":");
    for (int i = 0; i < depth; i++)
        (void)pml_buf__append_str(&b, "{\"type\":\"ARRAY\",\"element\":");
    (void)pml_buf__append_str(&b, "\"INT ARRAY\"");
    for (int i = 0; i < depth; i++)
        (void)pml_buf__append_str(&b, "}");
    (void)pml_buf__append_str(&b, "}]," REST(""));
    must_fail_with(code, pml_table_schema__parse(&s, t->env, (pml_bytes){b.data, b.len}, "x", &err), &err);
    pml_table_schema__release(s);
    pml_buf__clear(&b);
}

static void schema_types_nested_too_deep_are_refused(void **state)
{
    (void)state;
    must_parse_nested(31, PML_OK);
    must_parse_nested(32, PML_E_LIMIT);
    must_parse_nested(33, PML_E_LIMIT);
    must_parse_nested(1000, PML_E_LIMIT);
    must_parse_nested(100000, PML_E_CORRUPT); /* already for the JSON parser */
}

/* 16384 members below each of 32 levels would not fit: the deepest tree that may be written is. */
static void schema_deepest_types_are_written(void **state)
{
    (void)state;
    pml_buf b;
    pml_table_schema *s;
    pml_buf__init(&b, t->env, 1 << 24);
    (void)pml_buf__append_str(&b, "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":");
    for (int i = 0; i < 32; i++)
        (void)pml_buf__append_format(&b, "{\"type\":\"ROW\",\"fields\":[{\"id\":%d,\"name\":\"a\",\"type\":", i + 1);
    (void)pml_buf__append_str(&b, "\"INT\"");
    for (int i = 0; i < 32; i++)
        (void)pml_buf__append_str(&b, "}]}");
    (void)pml_buf__append_str(&b, "}],\"highestFieldId\":32,\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}");
    must_ok(pml_table_schema__parse(&s, t->env, (pml_bytes){b.data, b.len}, "x", &err), &err);
    pml_buf__reset(&b);
    must_ok(pml_table_schema__write(&b, s), NULL);
    pml_table_schema__release(s);
    pml_buf__clear(&b);
}

static void schema_of_many_columns_is_read_up_to_the_limit(void **state)
{
    (void)state;
    static const int counts[] = {PML_TYPE_COLUMNS_MAX, 17000};
    for (size_t c = 0; c < 2; c++) {
        pml_buf b;
        pml_table_schema *s;
        pml_buf__init(&b, t->env, 1 << 24);
        (void)pml_buf__append_str(&b, "{\"version\":3,\"id\":0,\"fields\":[");
        for (int i = 0; i < counts[c]; i++)
            (void)pml_buf__append_format(&b, "%s{\"id\":%d,\"name\":\"c%d\",\"type\":\"INT\"}", i == 0 ? "" : ",", i,
                                         i);
        (void)pml_buf__append_str(&b,
                                  "],\"highestFieldId\":20000,\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}");
        int rc = pml_table_schema__parse(&s, t->env, (pml_bytes){b.data, b.len}, "x", &err);
        must_fail_with(c == 0 ? PML_OK : PML_E_LIMIT, rc, &err);
        pml_table_schema__release(s);
        pml_buf__clear(&b);
    }
}

/* tests/meta/data/requests.json: requests, and the file that Java 1.4.2 made of each (with timeMillis 0), or its refusal. */
static void request_gives_the_schema_that_java_makes(void **state)
{
    (void)state;
    json_error_t e;
    json_t *cases = json_load_file(PML_TEST_SOURCE "/meta/data/requests.json", 0, &e), *v;
    const char *name;
    assert_non_null(cases);
    json_object_foreach(cases, name, v)
    {
        char *request = json_dumps(json_object_get(v, "request"), JSON_COMPACT);
        const char *expected = json_string_value(json_object_get(v, "schema"));
        pml_table_schema *s;
        int rc = pml_table_schema__parse_request(&s, t->env, test_text(request), &err);
        if ((rc == PML_OK) != (expected != NULL))
            print_message("%s: %s\n", name, request);
        must_fail_with(expected == NULL ? PML_E_INVAL : PML_OK, rc, &err);
        if (rc == PML_OK)
            must_write_as(s, test_text(expected), name);
        pml_table_schema__release(s);
        free(request);
    }
    json_decref(cases);
}

static void must_refuse_request(const char *text, const char *words)
{
    pml_table_schema *s;
    must_fail_with(PML_E_INVAL, pml_table_schema__parse_request(&s, t->env, test_text(text), &err), &err);
    assert_null(s);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void request_that_is_wrong_says_why(void **state)
{
    (void)state;
    must_refuse_request("{", "not valid JSON");
    must_refuse_request("{\"fields\":[],\"partitionkeys\":[]}", "'partitionkeys' is not known");
    must_refuse_request("{}", "'fields' is missing");
    must_refuse_request("{\"fields\":[{\"name\":\"a\",\"type\":\"INTT\"}]}", "type text 'INTT'");
    must_refuse_request("{\"fields\":[{\"name\":\"a\",\"type\":\"INT\"}],\"options\":{\"bucket\":\"2\"}}",
                        "bucket-key");
    must_refuse_request("{\"fields\":[{\"name\":\"a\",\"type\":\"INT\"}],\"options\":{\"target-file-size\":\"much\"}}",
                        "option target-file-size of schema request is 'much'");
    must_refuse_request("{\"fields\":[{\"name\":\"a\",\"type\":\"VARIANT\"}],\"partitionKeys\":[\"a\"]}",
                        "keys must be atomic");
    must_refuse_request(
        "{\"fields\":[{\"name\":\"a\",\"type\":\"STRING\"}],\"options\":{\"bucket\":\"2\",\"bucket-key\":\"a\","
        "\"bucket-function.type\":\"mod\"}}",
        "INT or BIGINT");
}

static void request_that_is_a_schema_file_is_taken(void **state)
{
    (void)state;
    pml_table_schema *s;
    pml_bytes file = test_data("meta/data/schemas/append_unaware_parquet.json");
    must_ok(pml_table_schema__parse_request(&s, t->env, file, &err), &err);
    assert_int_equal(s->time_ms, 0);
    assert_int_equal(s->id, 0);
    pml_table_schema__release(s);
    free((void *)(uintptr_t)file.ptr);
}

static void schema_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const paths[] = {"meta/data/schemas/agg_nested.json",
                                        "meta/data/schemas/append_fixed_multikey.json"};
    for (int i = 0; i < 4; i++) {
        pml_bytes file = test_data(paths[i / 2]);
        int rc = PML_E_NOMEM;
        for (long long n = 1; rc == PML_E_NOMEM; n++) {
            pml_table_schema *s;
            pml_buf b;
            pml_buf__init(&b, t->env, PML_SCHEMA_FILE_MAX);
            test_env_fail_at(t, n);
            rc = i % 2 == 0 ? pml_table_schema__parse(&s, t->env, file, "x", &err)
                            : pml_table_schema__parse_request(&s, t->env, file, &err);
            if (rc == PML_OK)
                rc = pml_table_schema__write(&b, s);
            test_env_fail_at(t, 0);
            pml_table_schema__release(s);
            pml_buf__clear(&b);
        }
        must_ok(rc, &err);
        free((void *)(uintptr_t)file.ptr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(schema_of_java_is_written_back_byte_for_byte, given, closed),
        cmocka_unit_test_setup_teardown(schema_members_have_the_values_of_the_file, given, closed),
        cmocka_unit_test_setup_teardown(schema_of_a_keyed_table_has_the_trimmed_key_as_bucket_key, given, closed),
        cmocka_unit_test_setup_teardown(schema_default_value_and_description_are_kept, given, closed),
        cmocka_unit_test_setup_teardown(schema_of_an_old_version_gets_the_defaults_of_its_time, given, closed),
        cmocka_unit_test_setup_teardown(schema_of_a_newer_version_or_type_is_unsupported, given, closed),
        cmocka_unit_test_setup_teardown(schema_that_is_wrong_is_corrupt, given, closed),
        cmocka_unit_test_setup_teardown(schema_every_prefix_of_a_file_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(schema_with_a_changed_byte_never_crashes, given, closed),
        cmocka_unit_test_setup_teardown(schema_types_nested_too_deep_are_refused, given, closed),
        cmocka_unit_test_setup_teardown(schema_deepest_types_are_written, given, closed),
        cmocka_unit_test_setup_teardown(schema_of_many_columns_is_read_up_to_the_limit, given, closed),
        cmocka_unit_test_setup_teardown(request_gives_the_schema_that_java_makes, given, closed),
        cmocka_unit_test_setup_teardown(request_that_is_wrong_says_why, given, closed),
        cmocka_unit_test_setup_teardown(request_that_is_a_schema_file_is_taken, given, closed),
        cmocka_unit_test_setup_teardown(schema_without_memory_leaves_nothing_behind, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
