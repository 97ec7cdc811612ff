/* SPDX-License-Identifier: Apache-2.0 */
/* CSV and casts through the bridge. */
#include "support/test_bridge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/array_memory.h"

#define FIELD(format, name, id, nullable) test_field(format, name, id, nullable, 0, NULL)

static test_env *t;
static const pml_bridge *b;

static int setup(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    t = test_env_open(NULL);
    must_ok(pml_bridge__get(&b, t->env, &err), &err);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

static const pml_bridge_csv_options csv_options = {.delimiter = ',', .quote = '"', .header = 1};

/* Opens text as CSV and gives the first batch; array->release is NULL when there is none. */
static int csv_read(struct ArrowArray *array, const char *text, const struct ArrowSchema *schema,
                    const pml_bridge_csv_options *options, pml_error *err)
{
    struct ArrowArrayStream stream;
    test_file f = {.data = (uint8_t *)(uintptr_t)text, .len = strlen(text), .thread = (uint64_t)pthread_self()};
    pml_bridge_input input = test_input(&f);
    memset(array, 0, sizeof *array);
    int rc = b->csv_open(&stream, &input, NULL, schema, options, err);
    if (rc == PML_OK) {
        struct ArrowArray more = {0};
        if (stream.get_next(&stream, array) != 0)
            rc = b->stream_error(&stream, err);
        while (rc == PML_OK && stream.get_next(&stream, &more) == 0 && more.release != NULL)
            more.release(&more);
        stream.release(&stream);
    }
    assert_int_equal(f.closed, 1);
    return rc;
}

static void csv_every_type_is_converted(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema f[] = {
        FIELD("b", "b", 0, true),        FIELD("c", "c", 1, true),      FIELD("s", "s", 2, true),
        FIELD("i", "i", 3, true),        FIELD("l", "l", 4, true),      FIELD("f", "f", 5, true),
        FIELD("g", "g", 6, true),        FIELD("d:10,2", "d", 7, true), FIELD("u", "u", 8, true),
        FIELD("z", "z", 9, true),        FIELD("tdD", "day", 10, true), FIELD("ttm", "time", 11, true),
        FIELD("tsm:", "ms", 12, true),   FIELD("tsu:", "us", 13, true), FIELD("tsn:", "ns", 14, true),
        FIELD("tsu:UTC", "ltz", 15, true),
    };
    struct ArrowSchema schema = test_struct(sizeof f / sizeof f[0], f);
    static const char text[] = "b,c,s,i,l,f,g,d,u,z,day,time,ms,us,ns,ltz\n"
                               "true,-1,-2,-3,-4,1.5,2.5,12.34,text,bytes,1970-01-02,00:00:01.5,1970-01-01T00:00:01,"
                               "1970-01-01 00:00:00.000001,1970-01-01 00:00:00.000000001,1970-01-01 00:00:00.000002\n"
                               ",,,,,,,,,,,,,,,1970-01-01T01:00:00.000002+01:00\n";
    must_ok(csv_read(&a, text, &schema, &csv_options, &err), &err);
    assert_int_equal(a.length, 2);
    assert_int_equal(((const int8_t *)a.children[1]->buffers[1])[0], -1);
    assert_int_equal(((const int64_t *)a.children[7]->buffers[1])[0], 1234);
    assert_int_equal(((const int32_t *)a.children[10]->buffers[1])[0], 1);
    assert_int_equal(((const int32_t *)a.children[11]->buffers[1])[0], 1500);
    assert_int_equal(((const int64_t *)a.children[12]->buffers[1])[0], 1000);
    assert_int_equal(((const int64_t *)a.children[13]->buffers[1])[0], 1);
    assert_int_equal(((const int64_t *)a.children[14]->buffers[1])[0], 1);
    assert_int_equal(((const int64_t *)a.children[15]->buffers[1])[0], 2);
    assert_int_equal(((const int64_t *)a.children[15]->buffers[1])[1], 2);
    for (int64_t c = 0; c < 15; c++)
        assert_true(pml_array__is_null(a.children[c], 1));
    a.release(&a);
    schema.release(&schema);
}

static void csv_columns_are_matched_by_name_and_absent_ones_are_null(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema f[] = {FIELD("i", "x", 0, true), FIELD("u", "gone", 1, true), FIELD("i", "y", 2, true)};
    struct ArrowSchema schema = test_struct(3, f);
    must_ok(csv_read(&a, "y,extra,x\n1,2,3\n", &schema, &csv_options, &err), &err);
    assert_int_equal(((const int32_t *)a.children[0]->buffers[1])[0], 3);
    assert_true(pml_array__is_null(a.children[1], 0));
    assert_int_equal(((const int32_t *)a.children[2]->buffers[1])[0], 1);
    a.release(&a);
    schema.release(&schema);
}

static void csv_null_text_counts_only_unquoted(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema f[] = {FIELD("u", "x", 0, true), FIELD("i", "y", 1, true)};
    struct ArrowSchema schema = test_struct(2, f);
    pml_bridge_csv_options o = csv_options;
    must_ok(csv_read(&a, "x,y\n,1\n\"\",2\n\"two\nlines, \"\"quoted\"\"\",3\n", &schema, &o, &err), &err);
    const int32_t *end = a.children[0]->buffers[1];
    assert_int_equal(a.length, 3);
    assert_true(pml_array__is_null(a.children[0], 0));
    assert_false(pml_array__is_null(a.children[0], 1));
    assert_memory_equal((const char *)a.children[0]->buffers[2] + end[2], "two\nlines, \"quoted\"", 19);
    a.release(&a);
    o = (pml_bridge_csv_options){.delimiter = ';', .null_text = "\\N"};
    must_ok(csv_read(&a, "\\N;1\n;2\nNULL;\\N\n", &schema, &o, &err), &err);
    assert_true(pml_array__is_null(a.children[0], 0) && !pml_array__is_null(a.children[0], 1) && !pml_array__is_null(a.children[0], 2) && pml_array__is_null(a.children[1], 2));
    a.release(&a);
    schema.release(&schema);
}

static void csv_small_blocks_give_all_rows(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    char text[10000] = "";
    size_t len = 0;
    for (int i = 0; i < 500; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%d,\"row %d\"\n", i, i);
    test_file f = {.data = (uint8_t *)text, .len = len, .thread = (uint64_t)pthread_self()};
    struct ArrowSchema fields[] = {FIELD("i", "x", 0, true), FIELD("u", "y", 1, true)};
    struct ArrowSchema schema = test_struct(2, fields);
    pml_bridge_csv_options o = {.delimiter = ',', .quote = '"', .block_bytes = 100};
    pml_bridge_input input = test_input(&f);
    pml_bridge_memory memory = test_memory(&f);
    must_ok(b->csv_open(&stream, &input, &memory, &schema, &o, &err), &err);
    assert_int_equal(test_drain(b, &stream, &err), 500);
    stream.release(&stream);
    assert_true(f.closed == 1 && f.dropped == 1 && f.charged == 0 && f.calls > 20);
    /* Given up in the middle. */
    f.closed = f.dropped = 0;
    must_ok(b->csv_open(&stream, &input, &memory, &schema, &o, &err), &err);
    struct ArrowArray one;
    assert_int_equal(stream.get_next(&stream, &one), 0);
    one.release(&one);
    stream.release(&stream);
    assert_true(f.closed == 1 && f.dropped == 1 && f.charged == 0);
    schema.release(&schema);
}

static void csv_read_that_fails_gives_the_error_of_the_callback(void **state)
{
    (void)state;
    struct ArrowSchema field = FIELD("i", "x", 0, true);
    struct ArrowSchema schema = test_struct(1, &field);
    pml_bridge_csv_options o = {.delimiter = ',', .quote = '"', .block_bytes = 10};
    static const char text[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n";
    test_file f = {.data = (uint8_t *)(uintptr_t)text, .len = sizeof text - 1};
    for (f.fail_at = 1; f.fail_at < 100; f.fail_at++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowArrayStream stream;
        pml_bridge_input input = test_input(&f);
        pml_bridge_memory memory = test_memory(&f);
        f.calls = f.closed = f.dropped = 0;
        int rc = b->csv_open(&stream, &input, &memory, &schema, &o, &err);
        int64_t rows = rc == PML_OK ? test_drain(b, &stream, &err) : rc;
        if (stream.release != NULL)
            stream.release(&stream);
        assert_true(f.closed == 1 && f.dropped == 1 && f.charged == 0);
        if (f.calls < f.fail_at) {
            assert_int_equal(rows, 14);
            break;
        }
        assert_int_equal(rows, PML_E_NO_SPACE);
    }
    assert_in_range(f.fail_at, 3, 99);
    schema.release(&schema);
}

static void csv_bad_input_is_refused(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema field = FIELD("i", "x", 0, true), element = FIELD("i", "element", 1, true);
    struct ArrowSchema nested = test_field("+l", "list", 0, true, 1, &element);
    struct ArrowSchema schema = test_struct(1, &field), nested_schema = test_struct(1, &nested);
    must_fail_with(PML_E_CORRUPT, csv_read(&a, "x\n1\nabc\n", &schema, &csv_options, &err), &err);
    assert_non_null(strstr(err.message, "abc"));
    must_fail_with(PML_E_CORRUPT, csv_read(&a, "x\n1,2\n", &schema, &csv_options, &err), &err);
    must_fail_with(PML_E_CORRUPT, csv_read(&a, "", &schema, &csv_options, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, csv_read(&a, "list\n1\n", &nested_schema, &csv_options, &err), &err);
    assert_non_null(strstr(err.message, "list"));
    const pml_bridge_csv_options no_header = {.delimiter = ','};
    must_ok(csv_read(&a, "", &schema, &no_header, &err), &err);
    assert_null(a.release);
    must_ok(csv_read(&a, "x\n", &schema, &csv_options, &err), &err);
    assert_null(a.release);
    schema.release(&schema);
    nested_schema.release(&nested_schema);
}

/* ---- casts ---- */

static int cast_column(struct ArrowArray *out, struct ArrowArray column, const char *from, const char *to, pml_error *err)
{
    struct ArrowSchema from_field = FIELD(from, "x", 0, true);
    struct ArrowSchema to_fields[] = {FIELD("u", "absent", 1, true), FIELD(to, "x", 0, true)};
    struct ArrowSchema from_schema = test_struct(1, &from_field), to_schema = test_struct(2, to_fields);
    struct ArrowArray batch = test_struct_array(column.length, 1, &column);
    static test_file f; /* static: the arrays charge it until they are released */
    f = (test_file){0};
    pml_bridge_memory memory = test_memory(&f);
    int rc = b->cast(out, &batch, &from_schema, &to_schema, &memory, err);
    assert_null(batch.release);
    from_schema.release(&from_schema);
    to_schema.release(&to_schema);
    if (rc == PML_OK) {
        struct ArrowArray kept = *out;
        assert_int_equal(kept.children[0]->null_count, kept.length);
    } else {
        assert_null(out->release);
        assert_true(f.charged == 0 && f.dropped == 1);
    }
    return rc;
}

static void cast_widens_and_narrows_without_loss(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray out;
    const int64_t values[] = {1, -2, 300};
    must_ok(cast_column(&out, test_fixed_array(8, 3, values), "l", "s", &err), &err);
    assert_int_equal(((const int16_t *)out.children[1]->buffers[1])[2], 300);
    out.release(&out);
    must_fail_with(PML_E_INVAL, cast_column(&out, test_fixed_array(8, 3, values), "l", "c", &err), &err);
    assert_non_null(strstr(err.message, "column x"));
    must_ok(cast_column(&out, test_fixed_array(8, 3, values), "l", "d:38,2", &err), &err);
    assert_int_equal(((const int64_t *)out.children[1]->buffers[1])[2], -200);
    out.release(&out);
    must_ok(cast_column(&out, test_fixed_array(8, 3, values), "tsn:", "tsn:UTC", &err), &err);
    assert_int_equal(((const int64_t *)out.children[1]->buffers[1])[1], -2);
    out.release(&out);
    must_ok(cast_column(&out, test_fixed_array(8, 3, values), "tsm:UTC", "tsu:", &err), &err);
    assert_int_equal(((const int64_t *)out.children[1]->buffers[1])[1], -2000);
    out.release(&out);
    must_fail_with(PML_E_INVAL, cast_column(&out, test_fixed_array(8, 3, values), "tsn:", "tsu:", &err), &err);
    must_ok(cast_column(&out, test_fixed_array(8, 3, values), "w:8", "z", &err), &err);
    assert_int_equal(((const int32_t *)out.children[1]->buffers[1])[3], 24);
    out.release(&out);
}

static void cast_makes_vectors_of_lists(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema e1 = FIELD("f", "element", 1, true), e2 = FIELD("f", "element", 1, true);
    struct ArrowSchema e3 = FIELD("f", "element", 1, true);
    struct ArrowSchema vector = test_field("+w:3", "v", 0, true, 1, &e1), list = test_field("+l", "v", 0, true, 1, &e2);
    struct ArrowSchema wrong = test_field("+w:4", "v", 0, true, 1, &e3);
    struct ArrowSchema vectors = test_struct(1, &vector), lists = test_struct(1, &list), wrongs = test_struct(1, &wrong);
    test_env seed = {.random_state = test_seed()};
    struct ArrowArray array = test_random_array(&seed, &vectors, 100), out, batch;
    struct ArrowArrayStream stream;
    seed.random_state = test_seed();
    struct ArrowArray kept = test_random_array(&seed, &vectors, 100);
    test_file f = {0};
    must_ok(test_parquet_write(&f, b, &vectors, &array, &test_write_options, &err), &err);
    for (int i = 0; i < 2; i++) {
        must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
        assert_int_equal(stream.get_next(&stream, &batch), 0);
        stream.release(&stream);
        if (i == 1) {
            must_fail_with(PML_E_INVAL, b->cast(&out, &batch, &lists, &wrongs, NULL, &err), &err);
            break;
        }
        must_ok(b->cast(&out, &batch, &lists, &vectors, NULL, &err), &err);
        for (int64_t row = 0; row < 100; row++)
            assert_true(test_item_equal(&vectors, &kept, row, &vectors, &out, row));
        out.release(&out);
    }
    kept.release(&kept);
    vectors.release(&vectors), lists.release(&lists), wrongs.release(&wrongs);
    test_file_free(&f);
}

static struct ArrowSchema nested_times(const char *format)
{
    struct ArrowSchema key = FIELD(format, "key", 1, false), value = FIELD(format, "value", 2, true);
    struct ArrowSchema pair[] = {key, value};
    struct ArrowSchema entries = test_field("+s", "key_value", -1, false, 2, pair);
    struct ArrowSchema element = FIELD(format, "element", 4, true);
    struct ArrowSchema list = test_field("+l", "list", 3, true, 1, &element);
    struct ArrowSchema members[] = {list, FIELD(format, "t", 5, true)};
    struct ArrowSchema fields[] = {test_field("+m", "map", 0, true, 1, &entries), test_field("+s", "row", 6, true, 2, members)};
    return test_struct(2, fields);
}

static void cast_gives_nested_timestamps_their_zone(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema naive = nested_times("tsn:"), zoned = nested_times("tsn:UTC");
    test_env seed = {.random_state = test_seed()};
    struct ArrowArray array = test_random_array(&seed, &naive, 100), out;
    seed.random_state = test_seed();
    struct ArrowArray kept = test_random_array(&seed, &naive, 100);
    must_ok(b->cast(&out, &array, &naive, &zoned, NULL, &err), &err);
    for (int64_t row = 0; row < 100; row++)
        assert_true(test_item_equal(&naive, &kept, row, &zoned, &out, row));
    out.release(&out);
    kept.release(&kept);
    naive.release(&naive), zoned.release(&zoned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_every_type_is_converted),
        cmocka_unit_test(csv_columns_are_matched_by_name_and_absent_ones_are_null),
        cmocka_unit_test(csv_null_text_counts_only_unquoted),
        cmocka_unit_test(csv_small_blocks_give_all_rows),
        cmocka_unit_test(csv_read_that_fails_gives_the_error_of_the_callback),
        cmocka_unit_test(csv_bad_input_is_refused),
        cmocka_unit_test(cast_widens_and_narrows_without_loss),
        cmocka_unit_test(cast_makes_vectors_of_lists),
        cmocka_unit_test(cast_gives_nested_timestamps_their_zone),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
