/* SPDX-License-Identifier: Apache-2.0 */
/* Data files that do not fit the schema of their table: an error that names the file, never an array that breaks its own schema. */
#include <stdio.h>
#include <string.h>

#include "support/table_kit.h"

static const char schema_json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"p\",\"type\":\"INT\"},"
                                  "{\"name\":\"r\",\"type\":\"ROW<a INT, b INT>\"}],"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_in_a_not_null_column_is_damage),
        cmocka_unit_test(null_in_a_not_null_member_is_damage),
        cmocka_unit_test(not_null_column_that_the_file_lacks_is_damage),
        cmocka_unit_test(null_partition_of_a_not_null_column_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
