/* SPDX-License-Identifier: Apache-2.0 */
/* Data files that do not fit the schema of their table: an error that names the file, never an array that breaks its own schema. */
#include <stdio.h>
#include <string.h>

#include "format/file_format.h"
#include "support/table_kit.h"
#include "support/test_types.h"

static const char schema_json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"p\",\"type\":\"INT\"},"
                                  "{\"name\":\"r\",\"type\":\"ROW<a INT, b INT>\"},{\"name\":\"d\",\"type\":\"DECIMAL(10, 2)\"}],"
                                  "\"partitionKeys\":[%s],\"primaryKeys\":[],\"options\":{}}";

/* A table "t" of random rows, some of whose values are null. */
static test_env *table_with_nulls(const char *partition_keys)
{
    test_env *t = test_env_open(NULL);
    char json[1024];
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_writer *w;
    pml_messages *m;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    int n = snprintf(json, sizeof json, schema_json, partition_keys);
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_table_arrow_schema(&schema, table, &err), &err);
    size_t n_fields;
    const pml_field *fields = pml_table__fields(table, &n_fields);
    must_ok(pml_writer_open(&w, table, &err), &err);
    for (int i = 0; i < 8; i++) { /* a random column may be without nulls */
        random_batch(&batch, t, fields, n_fields, 50);
        must_ok(pml_writer_write(w, &batch, &schema, &err), &err);
    }
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    must_ok(pml_commit_open(&c, table, "u", &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    pml_writer_close(w);
    schema.release(&schema);
    pml_table_release(table);
    return t;
}

static int read_all(test_env *t, uint32_t validate, pml_error *err)
{
    pml_table *table = kit_open(t, test_path(t, "t"));
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    int rc = PML_OK;
    o.validate = validate;
    must_ok(pml_scan_new(&scan, table, err), err);
    must_ok(pml_scan_plan(&plan, scan, err), err);
    must_ok(pml_read_open(&stream, plan, &o, err), err);
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0)
            rc = pml_stream_error(&stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        batch.release(&batch);
    }
    stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    return rc;
}

/* Columns become NOT NULL in the schema file only, or get another name. */
static void must_be_damaged(const char *partition_keys, const char *from, const char *to, const char *column)
{
    test_env *t = table_with_nulls(partition_keys);
    pml_error err = PML_ERROR_INIT;
    must_ok(read_all(t, PML_VALIDATE_FULL, &err), &err);
    kit_replace_in_file(test_path(t, "t/schema/schema-0"), from, to);
    for (uint32_t validate = PML_VALIDATE_DEFAULT; validate <= PML_VALIDATE_FULL; validate++) {
        must_fail_with(PML_E_CORRUPT, read_all(t, validate, &err), &err);
        assert_non_null(strstr(err.message, column));
        assert_non_null(strstr(err.message, "data-"));
        assert_int_equal(err.place, PML_PLACE_DATA_FILE);
    }
    test_env_close(t);
}

static void null_in_a_not_null_column_is_damage(void **state)
{
    (void)state;
    must_be_damaged("", "\"name\" : \"id\",\n    \"type\" : \"BIGINT\"", "\"name\" : \"id\",\n    \"type\" : \"BIGINT NOT NULL\"", "id");
}

static void null_in_a_not_null_member_is_damage(void **state)
{
    (void)state;
    must_be_damaged("", "\"name\" : \"a\",\n        \"type\" : \"INT\"", "\"name\" : \"a\",\n        \"type\" : \"INT NOT NULL\"", "r.a");
}

static void not_null_column_that_the_file_lacks_is_damage(void **state)
{
    (void)state;
    must_be_damaged("", "\"name\" : \"id\",\n    \"type\" : \"BIGINT\"", "\"name\" : \"di\",\n    \"type\" : \"BIGINT NOT NULL\"", "di");
}

static void null_partition_of_a_not_null_column_is_damage(void **state)
{
    (void)state;
    must_be_damaged("\"p\"", "\"name\" : \"p\",\n    \"type\" : \"INT\"", "\"name\" : \"p\",\n    \"type\" : \"INT NOT NULL\"", "p");
}

/* As after a flipped bit in a footer that still parses: without a look at the types these read as nulls, or as other values. */
static void file_whose_own_columns_are_not_those_of_its_schema_is_damage(void **state)
{
    (void)state;
    must_be_damaged("", "\"name\" : \"id\"", "\"name\" : \"ie\"", "'ie'");
    must_be_damaged("", "\"type\" : \"INT\"", "\"type\" : \"BIGINT\"", "'p'");
    must_be_damaged("", "\"type\" : \"BIGINT\"", "\"type\" : \"TIMESTAMP(3)\"", "'id'");
    must_be_damaged("", "DECIMAL(10, 2)", "DECIMAL(10, 4)", "'d'");
    must_be_damaged("", "DECIMAL(10, 2)", "DECIMAL(11, 2)", "'d'");
    must_be_damaged("", "\"name\" : \"b\"", "\"name\" : \"c\"", "'r'");
}

/* A second column of the name: a scan of that column alone would take the first it finds. */
static void file_with_two_columns_of_a_name_is_damage(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_field two[] = {{.id = 0, .name = "q", .type = test_type("INT")}, {.id = 1, .name = "q", .type = test_type("INT")}};
    const pml_format_write_options o = {.compression = "none", .block_bytes = 1 << 20, .page_bytes = 1 << 16};
    const pml_value values[] = {test_int(1), test_int(2)};
    pml_format_read request = {.fields = two, .n_fields = 1, .batch_rows = 10};
    struct ArrowArray batch, columns[2];
    struct ArrowArrayStream stream;
    pml_format_writer *w;
    pml_error err = PML_ERROR_INIT;
    int64_t bytes;
    const char *path = test_path(t, "data.parquet");
    for (int i = 0; i < 2; i++)
        must_ok(pml_batch__gather(&columns[i], t->env, &two[i].type, test_column(&two[i].type, values, 2, 0), NULL, 2, &err), &err);
    must_ok(pml_batch__from_columns(&batch, t->env, columns, 2, 2, &err), &err);
    must_ok(pml_format__create(&w, t->env, "parquet", path, two, 2, &o, &err), &err);
    must_ok(pml_format_writer__write(w, &batch, &err), &err);
    must_ok(pml_format_writer__finish(w, false, &bytes, &err), &err);
    pml_format_writer__free(w);
    must_ok(pml_format__open(&stream, t->env, "parquet", path, &request, &err), &err);
    stream.release(&stream);
    request.own_schema = true;
    must_fail_with(PML_E_CORRUPT, pml_format__open(&stream, t->env, "parquet", path, &request, &err), &err);
    assert_non_null(strstr(err.message, "two columns 'q'"));
    test_types_clear();
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_in_a_not_null_column_is_damage),
        cmocka_unit_test(null_in_a_not_null_member_is_damage),
        cmocka_unit_test(not_null_column_that_the_file_lacks_is_damage),
        cmocka_unit_test(file_whose_own_columns_are_not_those_of_its_schema_is_damage),
        cmocka_unit_test(file_with_two_columns_of_a_name_is_damage),
        cmocka_unit_test(null_partition_of_a_not_null_column_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
