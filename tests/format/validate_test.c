/* SPDX-License-Identifier: Apache-2.0 */
/* What read.validate finds in data files of writers that break the rules, and in damaged ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/file_format.h"
#include "support/table_kit.h"
#include "support/test_types.h"

static const pml_format_write_options write_options = {.compression = "none", .block_bytes = 1 << 20, .page_bytes = 1 << 16};

/* A file of one column. Our writer of files believes its caller: it is the table above it that checks. */
static void file_write(test_env *t, const char *path, const pml_field *field, const pml_value *values, int64_t n)
{
    pml_format_writer *w;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray batch, column;
    int64_t bytes;
    must_ok(pml_batch__gather(&column, t->env, &field->type, test_column(&field->type, values, n, 0), NULL, n, &err), &err);
    must_ok(pml_batch__from_columns(&batch, t->env, &column, 1, n, &err), &err);
    must_ok(pml_format__create(&w, t->env, "parquet", path, field, 1, &write_options, &err), &err);
    must_ok(pml_format_writer__write(w, &batch, &err), &err);
    must_ok(pml_format_writer__finish(w, false, &bytes, &err), &err);
    pml_format_writer__free(w);
}

static int file_read(int64_t *rows, test_env *t, const char *path, const pml_field *field, bool full, pml_error *err)
{
    const pml_format_read request = {.fields = field, .n_fields = 1, .batch_rows = 100, .checksums = full, .check_values = full};
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int rc = pml_format__open(&stream, t->env, "parquet", path, &request, err);
    *rows = 0;
    while (rc == PML_OK) {
        rc = stream.get_next(&stream, &batch) != 0 ? pml_stream_error(&stream, err) : PML_OK;
        if (rc != PML_OK || batch.release == NULL)
            break;
        *rows += batch.length;
        batch.release(&batch);
    }
    if (stream.release != NULL)
        stream.release(&stream);
    return rc;
}

/* The file has `good`, then `bad`. Full names the file, the column and why; basic gives both rows out. */
static void bad_value(const char *type, bool nullable, pml_value good, pml_value bad, const char *why)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = test_path(t, "data.parquet");
    const pml_value values[2] = {good, bad};
    const pml_field w = {.name = "col", .type = test_type(type)};
    pml_field r = w;
    r.type.nullable = nullable;
    int64_t rows;
    file_write(t, path, &w, values, 1);
    must_ok(file_read(&rows, t, path, &r, true, &err), &err);
    assert_int_equal(remove(path), 0);
    file_write(t, path, &w, values, 2);
    must_fail_with(PML_E_CORRUPT, file_read(&rows, t, path, &r, true, &err), &err);
    assert_non_null(strstr(err.message, "data.parquet"));
    assert_non_null(strstr(err.message, "col"));
    assert_non_null(strstr(err.message, why));
    assert_non_null(strstr(err.message, "read.validate"));
    must_ok(file_read(&rows, t, path, &r, false, &err), &err);
    assert_int_equal(rows, 2);
    test_types_clear();
    test_env_close(t);
}

static void full_refuses_values_that_the_type_cannot_have_and_basic_gives_them_out(void **state)
{
    (void)state;
    const pml_value null = {.kind = PML_VALUE_NULL};
    bad_value("STRING", true, test_bytes("\xC3\xA9t\xC3\xA9"), test_bytes("\xFF\xFE"), "UTF-8");
    bad_value("STRING", true, test_bytes("plain"), test_bytes("half \xC3"), "UTF-8");
    bad_value("CHAR(4)", true, test_bytes("abcd"), test_bytes("\xED\xA0\x80"), "UTF-8");
    bad_value("DECIMAL(20, 2)", true, test_decimal(-5),
              (pml_value){.kind = PML_VALUE_DECIMAL, .dec = -((pml_int128)1000000000 * 100000000000)}, "20 digits");
    bad_value("TIME(3)", true, test_int(86399999), test_int(86400000), "millisecond of a day");
    bad_value("INT", false, test_int(7), null, "NOT NULL");
}

/* Two halves of one character in two texts: each byte is in order for the whole, neither text is. */
static void texts_that_share_a_character_are_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = test_path(t, "data.parquet");
    const pml_field f = {.name = "col", .type = test_type("STRING")};
    const pml_value values[] = {test_bytes("a\xC3"), test_bytes("\xA9z")};
    int64_t rows;
    file_write(t, path, &f, values, 2);
    must_fail_with(PML_E_CORRUPT, file_read(&rows, t, path, &f, true, &err), &err);
    test_types_clear();
    test_env_close(t);
}

/* One byte of an uncompressed page is changed. It is a good text still, so only the checksum of the page can tell. */
static void damaged_page(table_kit *k)
{
    pml_plan *plan;
    size_t len;
    pml_error err = PML_ERROR_INIT;
    int64_t rows = 0;
    (void)table_kit_append(k, 500);
    kit_plan(&plan, k, &(kit_read){0});
    const char *path = plan->splits[0].paths[0];
    uint8_t *data = test_read_file(path, &len);
    data[len / 2] ^= 1;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    free(data);
    for (uint32_t validate = PML_VALIDATE_DEFAULT; validate <= PML_VALIDATE_FULL; validate++) {
        bool basic = validate == PML_VALIDATE_BASIC ||
                     (validate == PML_VALIDATE_DEFAULT && k->table->options.read_validate == PML_READ_VALIDATE_BASIC);
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        pml_read_options o = PML_READ_OPTIONS_INIT;
        o.validate = validate;
        must_ok(pml_read_open(&stream, plan, &o, &err), &err);
        int code = 0;
        for (rows = 0; (code = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL; batch.release(&batch))
            rows += batch.length;
        if (basic)
            assert_int_equal(rows, 500);
        else
            must_fail_with(PML_E_CORRUPT, pml_stream_error(&stream, &err), &err);
        stream.release(&stream);
    }
    pml_plan_free(plan);
}

static void checksums_of_pages_are_verified_unless_the_option_says_basic(void **state)
{
    (void)state;
    const char *plain = "\"parquet.enable.dictionary\":\"false\"";
    table_kit_run("", plain, damaged_page);
    table_kit_run("", "\"parquet.enable.dictionary\":\"false\",\"read.validate\":\"full\"", damaged_page);
    table_kit_run("", "\"parquet.enable.dictionary\":\"false\",\"read.validate\":\"Basic\"", damaged_page);
}

static void option_with_another_value_is_refused_by_name(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    char *json = kit_schema_json("", "\"read.validate\":\"none\"");
    must_fail_with(PML_E_INVAL, pml_table_create(&table, t->env, test_path(t, "t"), json, strlen(json), 0, &err), &err);
    assert_non_null(strstr(err.message, "read.validate"));
    assert_non_null(strstr(err.message, "full|basic"));
    free(json);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_refuses_values_that_the_type_cannot_have_and_basic_gives_them_out),
        cmocka_unit_test(texts_that_share_a_character_are_refused),
        cmocka_unit_test(checksums_of_pages_are_verified_unless_the_option_says_basic),
        cmocka_unit_test(option_with_another_value_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
