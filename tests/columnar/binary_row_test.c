/* SPDX-License-Identifier: Apache-2.0 */
/* Golden bytes were made with Java 1.4.2. */
#include "columnar/binary_row.h"

#include <math.h>
#include <stdlib.h>

#include "support/test_types.h"

enum { MAX_FIELDS = 64 };

static const pml_value null_value = {.kind = PML_VALUE_NULL};

static pml_value value_bool(bool b)
{
    pml_value v = test_int(b);
    v.kind = PML_VALUE_BOOL;
    return v;
}

static pml_value value_float(float f)
{
    pml_value v = {.kind = PML_VALUE_FLOAT};
    v.f = f;
    return v;
}

static pml_value value_double(double d)
{
    pml_value v = {.kind = PML_VALUE_DOUBLE};
    v.d = d;
    return v;
}

/* Writes one field, compares bytes, hash both ways and bucket of five, and reads it back. */
static void one_is(test_env *t, const char *type_text, pml_value v, int32_t hash, int32_t bucket, const char *hex)
{
    pml_type type = test_type(type_text);
    const pml_type *types[1] = {&type};
    pml_error err = PML_ERROR_INIT;
    pml_value back;
    pml_bytes row;
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_row__write_counted(&out, types, &v, 1), NULL);
    test_bytes_are(out.data, out.len, hex);
    must_ok(pml_binary_row__uncount(&row, (pml_bytes){out.data, out.len}, 1, &err), &err);
    assert_int_equal(pml_binary_row__hash(row), hash);
    assert_int_equal(pml_binary_row__hash_one(&type, &v), hash);
    assert_int_equal(pml_bucket__default(hash, 5), bucket);
    must_ok(pml_binary_row__read(&back, types, 1, row, &err), &err);
    assert_true(pml_value__equal(&back, &v));
    pml_buf__clear(&out);
}

static void row_of_one_field_is_java_s_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    one_is(t, "INT", test_int(1), 1465514398, 3, "0000000100000000000000000100000000000000");
    one_is(t, "INT", null_value, -1748325344, 4, "0000000100010000000000000000000000000000");
    one_is(t, "INT", test_int(-7), 1485184587, 2, "000000010000000000000000f9ffffff00000000");
    one_is(t, "BIGINT", test_int(1), 1465514398, 3, "0000000100000000000000000100000000000000");
    one_is(t, "BIGINT", test_int(1234567890123), -1873221036, 1, "000000010000000000000000cb04fb711f010000");
    one_is(t, "STRING", test_bytes(""), 302122119, 4, "0000000100000000000000000000000000000080");
    one_is(t, "STRING", test_bytes("a"), 943281246, 1, "0000000100000000000000006100000000000081");
    one_is(t, "STRING", test_bytes("1234567"), 199144172, 2, "0000000100000000000000003132333435363787");
    one_is(t, "STRING", test_bytes("12345678"), -391021801, 1,
           "00000001000000000000000008000000100000003132333435363738");
    one_is(t, "STRING", test_bytes("123456789"), 1682144562, 2,
           "000000010000000000000000090000001000000031323334353637383900000000000000");
    one_is(t, "STRING", null_value, -1748325344, 4, "0000000100010000000000000000000000000000");
    one_is(t, "TINYINT", test_int(-1), 2004758659, 4, "000000010000000000000000ff00000000000000");
    one_is(t, "SMALLINT", test_int(-2), 557672611, 1, "000000010000000000000000feff000000000000");
    one_is(t, "BOOLEAN", value_bool(true), 1465514398, 3, "0000000100000000000000000100000000000000");
    one_is(t, "FLOAT", value_float(1.5f), -173842779, 4, "0000000100000000000000000000c03f00000000");
    one_is(t, "DOUBLE", value_double(1.5), 1860889473, 3, "000000010000000000000000000000000000f83f");
    one_is(t, "DATE", test_int(19000), -1241043695, 0, "000000010000000000000000384a000000000000");
    one_is(t, "BYTES", test_bytes("\x01\x02\x03"), 1066645297, 2, "0000000100000000000000000102030000000083");
    test_types_clear();
    test_env_close(t);
}

static void row_of_decimal_or_timestamp_reserves_space_as_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    one_is(t, "DECIMAL(10, 2)", test_decimal(12345), 767607022, 2, "0000000100000000000000003930000000000000");
    one_is(t, "DECIMAL(20, 2)", test_decimal(12345), -118192725, 0,
           "000000010000000000000000020000001000000030390000000000000000000000000000");
    one_is(t, "DECIMAL(20, 2)", test_decimal(-12345), -605613085, 0,
           "0000000100000000000000000200000010000000cfc70000000000000000000000000000");
    one_is(t, "DECIMAL(20, 2)", null_value, -1380280760, 0,
           "000000010001000000000000000000001000000000000000000000000000000000000000");
    one_is(t, "TIMESTAMP(3)", test_timestamp(1700000000123, 0), -1285420957, 2,
           "0000000100000000000000007b68e5cf8b010000");
    one_is(t, "TIMESTAMP(6)", test_timestamp(1700000000123, 456000), 1196670069, 4,
           "00000001000000000000000040f50600100000007b68e5cf8b010000");
    one_is(t, "TIMESTAMP(6)", null_value, -340882661, 1, "00000001000100000000000000000000100000000000000000000000");
    test_types_clear();
    test_env_close(t);
}

static void row_of_several_or_no_fields_is_java_s_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type a = test_type("INT"), b = test_type("STRING"), c = test_type("BIGINT");
    const pml_type *types[3] = {&a, &b, &c};
    const pml_value values[3] = {test_int(1), test_bytes("paimon-c!"), null_value};
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_row__write_counted(&out, types, values, 3), NULL);
    test_bytes_are(
        out.data, out.len,
        "0000000300040000000000000100000000000000090000002000000000000000000000007061696d6f6e2d632100000000000000");
    assert_int_equal(pml_binary_row__hash((pml_bytes){out.data + 4, out.len - 4}), -812569366);
    pml_buf__reset(&out);
    must_ok(pml_binary_row__write_counted(&out, NULL, NULL, 0), NULL);
    test_bytes_are(out.data, out.len, "000000000000000000000000");
    assert_int_equal(pml_binary_row__hash((pml_bytes){out.data + 4, out.len - 4}), -1670924195);
    pml_buf__clear(&out);
    test_types_clear();
    test_env_close(t);
}

static void row_of_57_fields_has_a_header_of_16_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type type = test_type("INT");
    const pml_type *types[57];
    pml_value values[57], back[57];
    pml_error err = PML_ERROR_INIT;
    pml_buf out;
    for (int i = 0; i < 57; i++) {
        types[i] = &type;
        values[i] = test_int(i);
    }
    values[56] = null_value;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_row__write(&out, types, values, 57), NULL);
    assert_int_equal(out.len, 472);
    assert_int_equal(out.data[8], 1);
    assert_int_equal(pml_binary_row__hash((pml_bytes){out.data, out.len}), -785623908);
    must_ok(pml_binary_row__read(back, types, 57, (pml_bytes){out.data, out.len}, &err), &err);
    assert_int_equal(back[55].i, 55);
    assert_int_equal(back[56].kind, PML_VALUE_NULL);
    pml_buf__reset(&out);
    must_ok(pml_binary_row__write(&out, types, values, 56), NULL);
    assert_int_equal(out.len, 8 + 56 * 8);
    pml_buf__clear(&out);
    test_env_close(t);
}

static void string_hashes_give_java_s_buckets(void **state)
{
    (void)state;
    pml_type type = test_type("STRING");
    const pml_value a = test_bytes("paimon-c-bucket"), b = test_bytes("日本"), c = test_bytes("paimon");
    int32_t h = pml_binary_row__hash_one(&type, &a);
    assert_int_equal(h, -1764780929);
    assert_int_equal(pml_bucket__default(h, 2), 1);
    assert_int_equal(pml_bucket__default(h, 5), 4);
    assert_int_equal(pml_bucket__default(h, 16), 1);
    assert_int_equal(pml_bucket__default(h, 128), 1);
    h = pml_binary_row__hash_one(&type, &b);
    assert_int_equal(h, -687604583);
    assert_int_equal(pml_bucket__default(h, 2), 1);
    assert_int_equal(pml_bucket__default(h, 5), 3);
    assert_int_equal(pml_bucket__default(h, 16), 7);
    assert_int_equal(pml_bucket__default(h, 128), 103);
    h = pml_binary_row__hash_one(&type, &c);
    assert_int_equal(h, 1504888072);
    assert_int_equal(pml_bucket__default(INT32_MIN, 1), 0);
}

/* A list array of one row over `child` with n elements; keys and values of maps come as a struct child. */
static struct ArrowArray list_of(struct ArrowArray **child, const int32_t offsets[2], const void *buffers[2])
{
    buffers[0] = NULL;
    buffers[1] = offsets;
    return (struct ArrowArray){.length = 1, .n_buffers = 2, .buffers = buffers, .n_children = 1, .children = child};
}

static void nested_is(test_env *t, const pml_type *type, struct ArrowArray *column, int32_t hash, const char *hex)
{
    const int32_t first = 0;
    pml_error err = PML_ERROR_INIT;
    pml_value back;
    pml_buf out;
    struct ArrowArray *batch = test_batch(&column, 1, 1);
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_row__write_from_arrow(&out, &type, batch, &first, 1, 0, &err), &err);
    test_bytes_are(out.data, out.len, hex);
    assert_int_equal(pml_binary_row__hash((pml_bytes){out.data, out.len}), hash);
    /* Reading gives the raw structure; writing that gives the same row again. */
    must_ok(pml_binary_row__read(&back, &type, 1, (pml_bytes){out.data, out.len}, &err), &err);
    pml_buf again;
    pml_buf__init(&again, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_row__write(&again, &type, &back, 1), NULL);
    test_bytes_are(again.data, again.len, hex);
    pml_buf__clear(&again);
    pml_buf__clear(&out);
}

static void nested_columns_are_java_s_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const int32_t three[2] = {0, 3}, one[2] = {0, 1};
    const void *buffers[2];
    pml_field int_field = {.id = -1, .name = "element", .type = test_type("INT")};
    const pml_value ints[3] = {test_int(1), null_value, test_int(3)};
    struct ArrowArray *child = test_column(&int_field.type, ints, 3, 1);
    pml_type array = {.kind = PML_TYPE_ARRAY, .n_children = 1, .children = &int_field};
    struct ArrowArray list = list_of(&child, three, buffers);
    nested_is(t, &array, &list, 1830759751,
              "00000000000000001800000010000000030000000200000001000000000000000300000000000000");

    pml_field pair[2] = {{.id = -1, .name = "key", .type = test_type("STRING")},
                         {.id = -1, .name = "value", .type = test_type("BIGINT")}};
    const pml_value key = test_bytes("k"), seven = test_int(7);
    struct ArrowArray *columns[2] = {test_column(&pair[0].type, &key, 1, 2), test_column(&pair[1].type, &seven, 1, 0)};
    struct ArrowArray *entries = test_batch(columns, 2, 1);
    pml_type map = {.kind = PML_TYPE_MAP, .n_children = 2, .children = pair};
    list = list_of(&entries, one, buffers);
    nested_is(t, &map, &list, 1122452947,
              "000000000000000024000000100000001000000001000000000000006b0000000000008101000000000000000700000000000000"
              "00000000");

    pml_field members[2] = {{.id = 1, .name = "a", .type = test_type("INT")},
                            {.id = 2, .name = "b", .type = test_type("STRING")}};
    const pml_value five = test_int(5), abc = test_bytes("abc");
    struct ArrowArray *parts[2] = {test_column(&members[0].type, &five, 1, 0),
                                   test_column(&members[1].type, &abc, 1, 0)};
    pml_type row = {.kind = PML_TYPE_ROW, .n_children = 2, .children = members};
    nested_is(t, &row, test_batch(parts, 2, 1), 513132583,
              "00000000000000001800000010000000000000000000000005000000000000006162630000000083");
    test_types_clear();
    test_env_close(t);
}

/* No Java vectors for these: the layout of format-metadata.md 4.1 and 4.3. */
static void multisets_vectors_and_variants_have_their_layout(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const int32_t one[2] = {0, 1}, first = 0;
    const void *buffers[2];
    pml_field text = {.id = -1, .name = "element", .type = test_type("STRING")};
    pml_field single = {.id = -1, .name = "element", .type = test_type("FLOAT")};
    pml_type multiset = {.kind = PML_TYPE_MULTISET, .n_children = 1, .children = &text}, count = test_type("INT");
    const pml_value key = test_bytes("k"), twice = test_int(2);
    struct ArrowArray *columns[2] = {test_column(&text.type, &key, 1, 0), test_column(&count, &twice, 1, 0)};
    struct ArrowArray *entries = test_batch(columns, 2, 1);
    struct ArrowArray list = list_of(&entries, one, buffers);
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    struct ArrowArray *column = &list;
    const pml_type *type = &multiset;
    must_ok(pml_binary_row__write_from_arrow(&out, &type, test_batch(&column, 1, 1), &first, 1, 0, NULL), NULL);
    test_bytes_are(out.data, out.len,
                   "000000000000000024000000100000001000000001000000000000006b00000000000081"
                   "0100000000000000020000000000000000000000");

    pml_type vector = {.kind = PML_TYPE_VECTOR, .length = 3, .n_children = 1, .children = &single};
    const pml_value floats[7] = {null_value,     value_float(9), value_float(9), value_float(9),
                                 value_float(1), value_float(2), value_float(-1)};
    struct ArrowArray *elements = test_column(&single.type, floats + 1, 6, 0);
    const void *none[1] = {NULL};
    struct ArrowArray fixed = {
        .length = 1, .offset = 1, .n_buffers = 1, .buffers = none, .n_children = 1, .children = &elements};
    column = &fixed;
    type = &vector;
    pml_buf__reset(&out);
    must_ok(pml_binary_row__write_from_arrow(&out, &type, test_batch(&column, 1, 1), &first, 1, 0, NULL), NULL);
    test_bytes_are(out.data, out.len,
                   "00000000000000001400000010000000030000000000803f00000040000080bf0000000000000000");
    elements = test_column(&single.type, floats, 3, 3);
    elements->offset = 0;
    must_fail_with(PML_E_INVAL,
                   pml_binary_row__write_from_arrow(&out, &type, test_batch(&column, 1, 1), &first, 1, 0, NULL), NULL);

    pml_type variant = {.kind = PML_TYPE_VARIANT}, bytes = test_type("BYTES");
    const pml_value value = test_bytes("vvv"), metadata = test_bytes("mm");
    struct ArrowArray *parts[2] = {test_column(&bytes, &value, 1, 0), test_column(&bytes, &metadata, 1, 0)};
    column = test_batch(parts, 2, 1);
    type = &variant;
    pml_buf__reset(&out);
    must_ok(pml_binary_row__write_from_arrow(&out, &type, test_batch(&column, 1, 1), &first, 1, 0, NULL), NULL);
    test_bytes_are(out.data, out.len, "00000000000000000900000010000000030000007676766d6d00000000000000");
    pml_buf__clear(&out);
    test_types_clear();
    test_env_close(t);
}

static void types_nested_too_deeply_are_refused(void **state)
{
    (void)state;
    enum { DEPTH = PML_TYPE_DEPTH_MAX + 1 };
    test_env *t = test_env_open(NULL);
    pml_field fields[DEPTH + 1];
    struct ArrowArray *column;
    const pml_value v = test_int(1);
    const int32_t first = 0;
    fields[DEPTH] = (pml_field){.id = 1, .name = "x", .type = test_type("INT")};
    column = test_column(&fields[DEPTH].type, &v, 1, 0);
    for (int i = DEPTH - 1; i >= 0; i--) {
        fields[i] = (pml_field){
            .id = 1, .name = "x", .type = {.kind = PML_TYPE_ROW, .n_children = 1, .children = &fields[i + 1]}};
        column = test_batch(&column, 1, 1);
    }
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    struct ArrowArray *batch = test_batch(&column, 1, 1);
    const pml_type *type = &fields[1].type, *deeper = &fields[0].type;
    must_fail_with(PML_E_LIMIT, pml_binary_row__write_from_arrow(&out, &deeper, batch, &first, 1, 0, NULL), NULL);
    assert_int_equal(out.len, 0);
    must_ok(pml_binary_row__write_from_arrow(&out, &type, column, &first, 1, 0, NULL), NULL);
    pml_buf__clear(&out);
    test_types_clear();
    test_env_close(t);
}

/* The array behind the row header and slot. */
static void array_is(test_env *t, const char *element, const pml_value *values, const char *hex)
{
    const int32_t two[2] = {0, 2}, first = 0;
    const void *buffers[2];
    pml_field field = {.id = -1, .name = "element", .type = test_type(element)};
    pml_type type = {.kind = PML_TYPE_ARRAY, .n_children = 1, .children = &field};
    const pml_type *types[1] = {&type};
    struct ArrowArray *child = test_column(&field.type, values, 2, 0);
    struct ArrowArray list = list_of(&child, two, buffers), *column = &list;
    pml_error err = PML_ERROR_INIT;
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_row__write_from_arrow(&out, types, test_batch(&column, 1, 1), &first, 1, 0, &err), &err);
    test_bytes_are(out.data + 16, out.len - 16, hex);
    pml_buf__clear(&out);
}

static void arrays_of_long_items_reserve_nothing_for_null(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_value decimals[2] = {null_value, test_decimal(5)}, times[2] = {null_value, test_timestamp(5, 7)};
    const pml_value nans[2] = {value_float(-NAN), value_float(1)};
    array_is(t, "DECIMAL(20, 2)", decimals,
             "02000000010000000000000000000000010000001800000005000000000000000000000000000000");
    /* Java made these bytes as TIMESTAMP(6), whose Arrow form has no nanoseconds; the layout is the same. */
    array_is(t, "TIMESTAMP(9)", times, "0200000001000000000000000000000007000000180000000500000000000000");
    array_is(t, "FLOAT", nans, "02000000000000000000c07f0000803f");
    test_types_clear();
    test_env_close(t);
}

static void array_of_longs_survives_and_is_checked(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const int64_t values[3] = {0, -1, 2};
    int64_t back[3];
    pml_error err = PML_ERROR_INIT;
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    must_ok(pml_binary_array__write_longs(&out, values, 3), NULL);
    test_bytes_are(out.data, out.len, "0300000002000000000000000000000000000000000000000200000000000000");
    must_ok(pml_binary_array__read_longs(back, 3, (pml_bytes){out.data, out.len}, &err), &err);
    assert_memory_equal(back, values, sizeof back);
    must_fail_with(PML_E_CORRUPT, pml_binary_array__read_longs(back, 2, (pml_bytes){out.data, out.len}, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_binary_array__read_longs(back, 3, (pml_bytes){out.data, 31}, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_binary_array__read_longs(back, 3, (pml_bytes){NULL, 0}, &err), &err);
    pml_buf__clear(&out);
    test_types_clear();
    test_env_close(t);
}

static const char *const all_types[] = {"BOOLEAN",
                                        "TINYINT",
                                        "SMALLINT",
                                        "INT",
                                        "BIGINT",
                                        "FLOAT",
                                        "DOUBLE",
                                        "CHAR(8)",
                                        "VARCHAR(20)",
                                        "STRING",
                                        "BINARY(8)",
                                        "VARBINARY(9)",
                                        "BYTES",
                                        "DECIMAL(5, 2)",
                                        "DECIMAL(18, 6)",
                                        "DECIMAL(19, 0)",
                                        "DECIMAL(38, 10)",
                                        "DATE",
                                        "TIME(3)",
                                        "TIMESTAMP(0)",
                                        "TIMESTAMP(3)",
                                        "TIMESTAMP(6)",
                                        "TIMESTAMP(9)",
                                        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
                                        "TIMESTAMP(6) WITH LOCAL TIME ZONE"};
enum { N_TYPES = sizeof all_types / sizeof all_types[0] };

static size_t random_row(test_env *t, pml_type *types, const pml_type **pointers, pml_value *values)
{
    size_t n = 1 + test_random(t) % (MAX_FIELDS - 1);
    for (size_t i = 0; i < n; i++) {
        types[i] = test_type(all_types[test_random(t) % N_TYPES]);
        pointers[i] = &types[i];
        values[i] = test_value(t, &types[i]);
    }
    return n;
}

static void random_rows_survive_and_agree_with_their_arrow_form(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type types[MAX_FIELDS];
    const pml_type *pointers[MAX_FIELDS];
    pml_value values[MAX_FIELDS], back[MAX_FIELDS];
    pml_error err = PML_ERROR_INIT;
    pml_buf out, arrow;
    t->random_state = test_seed();
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    pml_buf__init(&arrow, t->env, PML_BINARY_ROW_MAX);
    for (int round = 0; round < 400; round++) {
        struct ArrowArray *columns[MAX_FIELDS];
        int32_t indexes[MAX_FIELDS];
        size_t n = random_row(t, types, pointers, values);
        pml_buf__reset(&out);
        pml_buf__reset(&arrow);
        must_ok(pml_binary_row__write(&out, pointers, values, n), NULL);
        must_ok(pml_binary_row__read(back, pointers, n, (pml_bytes){out.data, out.len}, &err), &err);
        for (size_t i = 0; i < n; i++) {
            assert_true(pml_value__equal(&back[i], &values[i]));
            columns[i] = test_column(pointers[i], &values[i], 1, (int64_t)(test_random(t) % 9));
            indexes[i] = (int32_t)i;
        }
        struct ArrowArray *batch = test_batch(columns, (int64_t)n, 1);
        must_ok(pml_binary_row__write_from_arrow(&arrow, pointers, batch, indexes, n, 0, &err), &err);
        assert_int_equal(arrow.len, out.len);
        assert_memory_equal(arrow.data, out.data, out.len);
        test_types_clear();
    }
    pml_buf__clear(&out);
    pml_buf__clear(&arrow);
    test_env_close(t);
}

static void mutated_rows_are_read_or_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type types[MAX_FIELDS];
    const pml_type *pointers[MAX_FIELDS];
    pml_value values[MAX_FIELDS], back[MAX_FIELDS];
    pml_buf out;
    size_t refused = 0;
    t->random_state = test_seed();
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    for (int round = 0; round < 3000; round++) {
        size_t n = random_row(t, types, pointers, values);
        pml_buf__reset(&out);
        must_ok(pml_binary_row__write(&out, pointers, values, n), NULL);
        /* An exact copy, so that the sanitizer sees a read past the end. */
        size_t len = test_random(t) % 4 == 0 ? test_random(t) % (out.len + 1) : out.len;
        uint8_t *copy = malloc(len == 0 ? 1 : len);
        assert_non_null(copy);
        memcpy(copy, out.data, len);
        for (size_t k = test_random(t) % 8; len > 0 && k > 0; k--)
            copy[test_random(t) % len] = (uint8_t)test_random(t);
        int rc = pml_binary_row__read(back, pointers, n, (pml_bytes){copy, len}, NULL);
        assert_true(rc == PML_OK || rc == PML_E_CORRUPT);
        refused += rc != PML_OK;
        unsigned sum = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; back[i].kind == PML_VALUE_BYTES && k < back[i].bytes.len; k++)
                sum += back[i].bytes.ptr[k];
        assert_true(sum < UINT32_MAX);
        free(copy);
        test_types_clear();
    }
    assert_true(refused > 100);
    pml_buf__clear(&out);
    test_env_close(t);
}

static void slot_is_refused(const char *type_text, uint64_t slot)
{
    pml_type type = test_type(type_text);
    const pml_type *types[1] = {&type};
    uint8_t row[32] = {0};
    pml_value v;
    pml_error err = PML_ERROR_INIT;
    pml_put_le64(row + 8, slot);
    must_fail_with(PML_E_CORRUPT, pml_binary_row__read(&v, types, 1, (pml_bytes){row, sizeof row}, &err), &err);
    assert_int_equal(v.kind, PML_VALUE_NULL);
}

static void slots_that_point_outside_are_refused(void **state)
{
    (void)state;
    pml_type type = test_type("INT");
    const pml_type *types[1] = {&type};
    const uint8_t row[16] = {4};
    pml_bytes rest;
    pml_value v;
    slot_is_refused("STRING", UINT64_C(16) << 32 | 17);         /* longer than the row */
    slot_is_refused("STRING", UINT64_C(8) << 32 | 8);           /* into the slots */
    slot_is_refused("STRING", UINT64_C(0x7fffffff) << 32 | 8);  /* far behind */
    slot_is_refused("STRING", UINT64_C(16) << 32 | UINT32_MAX); /* longest */
    slot_is_refused("STRING", UINT64_C(0x88) << 56);            /* eight inlined bytes */
    slot_is_refused("DECIMAL(20, 2)", UINT64_C(16) << 32 | 17);
    slot_is_refused("DECIMAL(20, 2)", UINT64_C(16) << 32);
    slot_is_refused("DECIMAL(20, 2)", UINT64_C(24) << 32 | 16);
    slot_is_refused("TIMESTAMP(6)", UINT64_C(16) << 32 | 1000000);
    slot_is_refused("TIMESTAMP(6)", UINT64_C(25) << 32);
    must_fail_with(PML_E_CORRUPT, pml_binary_row__read(&v, types, 1, (pml_bytes){row, 16}, NULL), NULL);
    must_fail_with(PML_E_CORRUPT, pml_binary_row__read(&v, types, 1, (pml_bytes){row, 15}, NULL), NULL);
    must_fail_with(PML_E_CORRUPT, pml_binary_row__uncount(&rest, (pml_bytes){row, 3}, 0, NULL), NULL);
    must_fail_with(PML_E_CORRUPT, pml_binary_row__uncount(&rest, (pml_bytes){row, 16}, 1, NULL), NULL);
}

static void row_too_long_or_without_memory_fails_and_leaves_the_buffer(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type type = test_type("BYTES");
    const pml_type *types[2] = {&type, &type};
    uint8_t *big = calloc(1, PML_BINARY_ROW_MAX);
    pml_value values[2] = {test_bytes("0123456789"), test_bytes("x")};
    pml_buf out;
    pml_buf__init(&out, t->env, 3 * (size_t)PML_BINARY_ROW_MAX);
    values[1].bytes = (pml_bytes){big, PML_BINARY_ROW_MAX};
    must_ok(pml_buf__append(&out, "ab", 2), NULL);
    must_fail_with(PML_E_LIMIT, pml_binary_row__write_counted(&out, types, values, 2), NULL);
    assert_int_equal(out.len, 2);
    free(big);
    pml_buf__clear(&out);
    int rc = PML_E_NOMEM;
    values[1] = values[0];
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_binary_row__write_counted(&out, types, values, 2);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_buf__clear(&out);
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_of_one_field_is_java_s_bytes),
        cmocka_unit_test(row_of_decimal_or_timestamp_reserves_space_as_java),
        cmocka_unit_test(row_of_several_or_no_fields_is_java_s_bytes),
        cmocka_unit_test(row_of_57_fields_has_a_header_of_16_bytes),
        cmocka_unit_test(string_hashes_give_java_s_buckets),
        cmocka_unit_test(nested_columns_are_java_s_bytes),
        cmocka_unit_test(multisets_vectors_and_variants_have_their_layout),
        cmocka_unit_test(types_nested_too_deeply_are_refused),
        cmocka_unit_test(arrays_of_long_items_reserve_nothing_for_null),
        cmocka_unit_test(array_of_longs_survives_and_is_checked),
        cmocka_unit_test(random_rows_survive_and_agree_with_their_arrow_form),
        cmocka_unit_test(mutated_rows_are_read_or_refused),
        cmocka_unit_test(slots_that_point_outside_are_refused),
        cmocka_unit_test(row_too_long_or_without_memory_fails_and_leaves_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
