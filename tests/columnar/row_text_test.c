/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include <paimonlive/rows.h>
#include <string.h>

#include "columnar/batch.h"
#include "columnar/row_text.h"

static void must_print(test_env *t, const pml_type *type, const struct ArrowArray *array, int64_t row,
                       const char *expected)
{
    pml_buf out;
    pml_buf__init(&out, t->env, 1 << 20);
    (void)pml_row_text__append(&out, type, array, row);
    (void)pml_buf__append_byte(&out, '\0');
    must_ok(pml_buf__check(&out, NULL), NULL);
    assert_string_equal((const char *)out.data, expected);
    pml_buf__clear(&out);
}

static void must_append(pml_builder *b, pml_value v)
{
    must_ok(pml_builder__append_value(b, &v), NULL);
}

static pml_value int_of(int64_t i)
{
    return (pml_value){.kind = PML_VALUE_INT, .i = i};
}

static pml_value text_of(const char *s)
{
    return (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)s, strlen(s)}};
}

static struct ArrowArray finished(pml_builder *b)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray array;
    must_ok(pml_builder__finish(b, &array, &err), &err);
    pml_builder__free(b);
    return array;
}

static pml_type type_of(pml_arena *arena, const char *text)
{
    pml_error err = PML_ERROR_INIT;
    pml_type type;
    must_ok(pml_type__parse(&type, arena, text, strlen(text), NULL, &err), &err);
    return type;
}

static void strings_escape_only_what_json_must(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_buf out;
    pml_buf__init(&out, t->env, 1024);
    (void)pml_row_text__append_string(&out, "a\"b\\c\x01\x1f\x7f\n/\xe9\x9b\xb6\0z", 15);
    (void)pml_buf__append_byte(&out, '\0');
    assert_string_equal((const char *)out.data, "\"a\\\"b\\\\c\\u0001\\u001f\x7f\\u000a/\xe9\x9b\xb6\\u0000z\"");
    pml_buf__reset(&out);
    (void)pml_row_text__append_string(&out, "", 0);
    assert_memory_equal(out.data, "\"\"", 2);
    pml_buf__clear(&out);
    test_env_close(t);
}

static void integers_of_every_size_print_in_full(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type type = {.kind = PML_TYPE_BIGINT, .nullable = true};
    pml_builder *b;
    must_ok(pml_builder__new(&b, t->env, &type, NULL), NULL);
    must_append(b, int_of(INT64_MIN));
    must_append(b, int_of(INT64_MAX));
    must_append(b, int_of(0));
    must_ok(pml_builder__append_null(b), NULL);
    struct ArrowArray array = finished(b);
    must_print(t, &type, &array, 0, "-9223372036854775808");
    must_print(t, &type, &array, 1, "9223372036854775807");
    must_print(t, &type, &array, 2, "0");
    must_print(t, &type, &array, 3, "null");
    array.release(&array);
    test_env_close(t);
}

static void map_entries_are_sorted_by_the_bytes_of_their_text(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_builder *b;
    pml_arena__init(&arena, t->env);
    pml_type type = type_of(&arena, "MAP<INT, STRING>");
    must_ok(pml_builder__new(&b, t->env, &type, NULL), NULL);
    must_ok(pml_builder__append_null(b), NULL);
    static const int64_t keys[] = {9, 10, -1, 100};
    for (size_t i = 0; i < 4; i++) {
        must_append(pml_builder__child(b, 0), int_of(keys[i]));
        must_append(pml_builder__child(b, 1), text_of("v"));
    }
    must_ok(pml_builder__close_item(b), NULL);
    must_ok(pml_builder__close_item(b), NULL); /* an empty one */
    struct ArrowArray array = finished(b);
    must_print(t, &type, &array, 0, "null");
    must_print(t, &type, &array, 1, "[[-1,\"v\"],[10,\"v\"],[100,\"v\"],[9,\"v\"]]");
    must_print(t, &type, &array, 2, "[]");
    array.release(&array);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void slices_of_nested_arrays_print_their_own_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_builder *b;
    pml_arena__init(&arena, t->env);
    pml_type type = type_of(&arena, "ROW<a INT, l ARRAY<INT>, v VECTOR<FLOAT, 2>>");
    must_ok(pml_builder__new(&b, t->env, &type, NULL), NULL);
    for (int64_t i = 0; i < 4; i++) {
        must_append(pml_builder__child(b, 0), int_of(i));
        for (int64_t k = 0; k < i; k++)
            must_append(pml_builder__child(pml_builder__child(b, 1), 0), int_of(10 * i + k));
        must_ok(pml_builder__close_item(pml_builder__child(b, 1)), NULL);
        for (int k = 0; k < 2; k++)
            must_append(pml_builder__child(pml_builder__child(b, 2), 0),
                        (pml_value){.kind = PML_VALUE_FLOAT, .f = (float)i / 2});
        must_ok(pml_builder__close_item(pml_builder__child(b, 2)), NULL);
        must_ok(pml_builder__close_item(b), NULL);
    }
    struct ArrowArray array = finished(b);
    array.offset = 2;
    array.length = 2;
    must_print(t, &type, &array, 0, "{\"a\":2,\"l\":[20,21],\"v\":[1,1]}");
    must_print(t, &type, &array, 1, "{\"a\":3,\"l\":[30,31,32],\"v\":[1.5,1.5]}");
    array.release(&array);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void schema_without_metadata_gives_types_by_format(void **state)
{
    (void)state;
    static const char *const formats[] = {"b",   "c",   "s",    "i",    "l",    "f",       "g",       "u",    "z",
                                          "tdD", "ttm", "tsm:", "tsu:", "tsn:", "tsu:UTC", "d:38,10", "d:5,5"};
    enum { N = sizeof formats / sizeof *formats };
    test_env *t = test_env_open(NULL);
    struct ArrowSchema children[N], *pointers[N], schema = {.format = "+s", .n_children = N, .children = pointers};
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_field *fields;
    size_t n;
    for (size_t i = 0; i < N; i++) {
        children[i] = (struct ArrowSchema){.format = formats[i], .name = "x", .flags = ARROW_FLAG_NULLABLE};
        pointers[i] = &children[i];
    }
    pml_arena__init(&arena, t->env);
    must_ok(pml_row_text__fields(&fields, &n, &arena, &schema, &err), &err);
    assert_int_equal(n, N);
    for (size_t i = 0; i < N; i++) {
        char format[48];
        pml_type__arrow_format(format, &fields[i].type);
        assert_string_equal(format, formats[i]);
        assert_true(fields[i].type.nullable);
        assert_int_equal(fields[i].id, -1);
    }
    static const char *const foreign[] = {"n",  "C", "tss:", "tsu:Europe/Berlin", "d:39,0", "d:5,6", "d:5,2,256",
                                          "+L", "U", ""};
    schema.n_children = 1;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        children[0].format = foreign[i];
        must_fail_with(PML_E_SCHEMA, pml_row_text__fields(&fields, &n, &arena, &schema, &err), &err);
    }
    schema.format = "i";
    must_fail_with(PML_E_INVAL, pml_row_text__fields(&fields, &n, &arena, &schema, &err), &err);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void schema_that_the_library_exports_gives_its_types_back(void **state)
{
    (void)state;
    static const char text[] =
        "ROW<a CHAR(3), b TIMESTAMP(4), c MULTISET<STRING>, d MAP<INT, ARRAY<DECIMAL(9, 2)>>, e TIME(0), "
        "f ROW<g TIMESTAMP(0) WITH LOCAL TIME ZONE>, h VECTOR<FLOAT, 3>, i BLOB>";
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema schema;
    pml_arena arena;
    pml_field *fields;
    size_t n;
    int32_t next_id = 5;
    pml_type row;
    pml_arena__init(&arena, t->env);
    must_ok(pml_type__parse(&row, &arena, text, strlen(text), &next_id, &err), &err);
    must_ok(pml_type__export(&schema, t->env, row.children, row.n_children, &err), &err);
    must_ok(pml_row_text__fields(&fields, &n, &arena, &schema, &err), &err);
    assert_int_equal(n, row.n_children);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fields[i].id, row.children[i].id);
        assert_string_equal(fields[i].name, row.children[i].name);
        assert_int_equal(fields[i].type.kind, row.children[i].type.kind);
        assert_int_equal(fields[i].type.precision, row.children[i].type.precision);
        assert_int_equal(fields[i].type.length, row.children[i].type.length);
    }
    assert_int_equal(fields[3].type.children[1].type.children[0].type.scale, 2);
    /* A type that does not go with the buffers. */
    schema.children[0]->format = "i";
    must_fail_with(PML_E_SCHEMA, pml_row_text__fields(&fields, &n, &arena, &schema, &err), &err);
    schema.children[0]->format = "u";
    schema.release(&schema);
    pml_arena__clear(&arena);
    test_env_close(t);
}

/* The JSON of a variant is a string of the row; a malformed one has no text. */
static void variants_print_as_the_text_of_their_json(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema schema;
    pml_arena arena;
    pml_field *fields;
    size_t n;
    pml_builder *b;
    pml_text text = {0};
    pml_rows_printer *printer;
    pml_arena__init(&arena, t->env);
    pml_field field = {.id = 0, .name = "v", .type = {.kind = PML_TYPE_VARIANT, .nullable = true}};
    must_ok(pml_type__export(&schema, t->env, &field, 1, &err), &err);
    must_ok(pml_row_text__fields(&fields, &n, &arena, &schema, &err), &err);
    assert_int_equal(fields[0].type.kind, PML_TYPE_VARIANT);
    must_ok(pml_builder__new(&b, t->env, &field.type, NULL), NULL);
    const pml_value values[] = {{.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"\x02\1\0\0\2\5\"", 7}},
                                {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"\x03\1", 2}}};
    const pml_value keys = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"\1\1\0\1k", 5}};
    for (int i = 0; i < 2; i++) {
        must_append(pml_builder__child(b, 0), values[i]);
        must_append(pml_builder__child(b, 1), keys);
        must_ok(pml_builder__close_item(b), NULL);
    }
    must_ok(pml_builder__append_null(b), NULL);
    struct ArrowArray column = finished(b), batch;
    must_print(t, &field.type, &column, 0, "\"{\\\"k\\\":\\\"\\\\\\\"\\\"}\"");
    must_print(t, &field.type, &column, 2, "null");
    must_ok(pml_batch__from_columns(&batch, t->env, &column, 1, 3, &err), &err);
    must_ok(pml_rows_printer_new(&printer, t->env, &schema, PML_ROWS_JSON, &err), &err);
    must_ok(pml_rows_print_cell(&text, printer, &batch, 0, 0, &err), &err);
    assert_string_equal(text.ptr, "{\"k\":\"\\\"\"}"); /* a cell is the JSON itself */
    must_fail_with(PML_E_CORRUPT, pml_rows_print(&text, printer, &batch, 0, 3, &err), &err);
    pml_text_clear(&text);
    pml_rows_printer_free(printer);
    pml_array__release(&batch);
    schema.release(&schema);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void printing_survives_every_failed_allocation(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_builder *b;
    pml_arena__init(&arena, t->env);
    pml_type type = type_of(&arena, "MULTISET<STRING>");
    must_ok(pml_builder__new(&b, t->env, &type, NULL), NULL);
    for (int i = 0; i < 3; i++) {
        must_append(pml_builder__child(b, 0), text_of("abc" + i));
        must_append(pml_builder__child(b, 1), int_of(i));
    }
    must_ok(pml_builder__close_item(b), NULL);
    struct ArrowArray array = finished(b);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_buf out;
        pml_buf__init(&out, t->env, 1 << 20);
        test_env_fail_at(t, n);
        rc = pml_row_text__append(&out, &type, &array, 0);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_buf__clear(&out);
        assert_true(n < 100);
    }
    array.release(&array);
    pml_arena__clear(&arena);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_escape_only_what_json_must),
        cmocka_unit_test(integers_of_every_size_print_in_full),
        cmocka_unit_test(map_entries_are_sorted_by_the_bytes_of_their_text),
        cmocka_unit_test(slices_of_nested_arrays_print_their_own_rows),
        cmocka_unit_test(schema_without_metadata_gives_types_by_format),
        cmocka_unit_test(schema_that_the_library_exports_gives_its_types_back),
        cmocka_unit_test(variants_print_as_the_text_of_their_json),
        cmocka_unit_test(printing_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
