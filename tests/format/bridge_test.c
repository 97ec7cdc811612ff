/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet through the bridge: what is written reads back equal, and nothing that goes wrong goes wrong silently. */
#include "support/test_bridge.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

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

static void round_trip(struct ArrowSchema schema, int64_t rows, const pml_bridge_write_options *options)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    test_file f = {0};
    test_env seed = {.random_state = test_seed()};
    struct ArrowArray kept = test_random_array(&seed, &schema, rows);
    seed.random_state = test_seed();
    struct ArrowArray array = test_random_array(&seed, &schema, rows);
    must_ok(test_parquet_write(&f, b, &schema, &array, options, &err), &err);
    f.dropped = 0;
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
    test_stream_equals(b, &stream, &schema, &kept);
    assert_int_equal(f.charged, 0);
    assert_int_equal(f.closed, 1);
    assert_int_equal(f.dropped, 1);
    kept.release(&kept);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_every_atomic_type_reads_back_equal(void **state)
{
    (void)state;
    round_trip(test_scalar_schema(), 3333, &test_write_options);
}

static void parquet_every_nested_type_reads_back_equal(void **state)
{
    (void)state;
    round_trip(test_nested_schema(), 3333, &test_write_options);
}

static void parquet_every_compression_reads_back_equal(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pml_bridge_write_options o = test_write_options;
        o.compression = names[i];
        o.compression_level = i < 2 ? INT32_MIN : 3;
        o.dictionary = (int32_t)(i % 2);
        round_trip(test_scalar_schema(), 700, &o);
    }
}

static void parquet_small_row_groups_and_pages_read_back_equal(void **state)
{
    (void)state;
    pml_bridge_write_options o = test_write_options;
    o.row_group_bytes = 1;
    o.page_bytes = 100;
    o.write_batch_rows = 64;
    round_trip(test_nested_schema(), 20000, &o);
}

/* Chunks this large are read through a window. */
static void parquet_large_column_chunks_read_back_equal_in_little_memory(void **state)
{
    (void)state;
    enum { ROWS = 600000 };
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct ArrowSchema field = FIELD("l", "x", 0, false);
    struct ArrowSchema schema = test_struct(1, &field);
    pml_bridge_write_options o = test_write_options;
    o.compression = "none";
    o.dictionary = 0;
    test_env seed = {.random_state = test_seed()};
    struct ArrowArray kept = test_random_array(&seed, &schema, ROWS);
    seed.random_state = test_seed();
    array = test_random_array(&seed, &schema, ROWS);
    test_file f = {0};
    must_ok(test_parquet_write(&f, b, &schema, &array, &o, &err), &err);
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_in_range(f.charged, 1, f.len / 2);
    array.release(&array);
    stream.release(&stream);
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
    test_stream_equals(b, &stream, &schema, &kept);
    kept.release(&kept);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_without_rows_reads_back_empty(void **state)
{
    (void)state;
    round_trip(test_scalar_schema(), 0, &test_write_options);
}

/* ---- shape of the file ---- */

static pml_bridge_reader *must_open(test_file *f)
{
    pml_error err = PML_ERROR_INIT;
    pml_bridge_reader *r = NULL;
    pml_bridge_input input = test_input(f);
    pml_bridge_memory memory = test_memory(f);
    must_ok(b->parquet_open(&r, &input, &memory, &test_read_options, &err), &err);
    return r;
}

static void parquet_row_groups_end_near_their_size(void **state)
{
    (void)state;
    pml_bridge_write_options o = test_write_options;
    o.row_group_bytes = 200000;
    o.compression = "none";
    struct ArrowSchema schema = test_scalar_schema();
    test_file f = test_file_of(b, &schema, 30000, &o);
    pml_bridge_reader *r = must_open(&f);
    assert_int_equal(b->parquet_rows(r), 30000);
    assert_true(b->parquet_row_groups(r) >= 3);
    int64_t rows = 0;
    for (int32_t i = 0; i < b->parquet_row_groups(r); i++)
        rows += b->parquet_row_group_rows(r, i);
    assert_int_equal(rows, 30000);
    assert_int_equal(b->parquet_row_group_rows(r, 99), -1);
    b->parquet_close(r);
    schema.release(&schema);
    test_file_free(&f);
}

/* All groups here are full, the last one, too. */
static void parquet_no_row_group_is_empty(void **state)
{
    (void)state;
    pml_bridge_write_options o = test_write_options;
    o.row_group_bytes = 1;
    struct ArrowSchema schema = test_scalar_schema();
    test_file f = test_file_of(b, &schema, 20000, &o);
    pml_bridge_reader *r = must_open(&f);
    assert_int_equal(b->parquet_rows(r), 20000);
    assert_true(b->parquet_row_groups(r) >= 2);
    for (int32_t i = 0; i < b->parquet_row_groups(r); i++)
        assert_true(b->parquet_row_group_rows(r, i) > 0);
    b->parquet_close(r);
    schema.release(&schema);
    test_file_free(&f);
}

static void schema_equal(const struct ArrowSchema *want, const struct ArrowSchema *got)
{
    /* A zone is not stored for INT96, and a vector is a list in the file. */
    bool zone_lost = strcmp(want->format, "tsn:UTC") == 0;
    bool vector = strncmp(want->format, "+w", 2) == 0;
    assert_string_equal(got->format, zone_lost ? "tsn:" : vector ? "+l" : want->format);
    assert_string_equal(got->name, want->name);
    assert_int_equal(test_field_id(got), test_field_id(want));
    assert_int_equal(got->flags & ARROW_FLAG_NULLABLE, want->flags & ARROW_FLAG_NULLABLE);
    assert_int_equal(got->n_children, want->n_children);
    for (int64_t i = 0; i < want->n_children; i++)
        schema_equal(want->children[i], got->children[i]);
}

static void parquet_schema_is_the_one_written_with_field_ids(void **state)
{
    (void)state;
    struct ArrowSchema schemas[] = {test_scalar_schema(), test_nested_schema()};
    for (size_t i = 0; i < 2; i++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowSchema got;
        test_file f = test_file_of(b, &schemas[i], 5, &test_write_options);
        pml_bridge_reader *r = must_open(&f);
        must_ok(b->parquet_schema(&got, r, &err), &err);
        assert_int_equal(got.n_children, schemas[i].n_children);
        for (int64_t c = 0; c < got.n_children; c++)
            schema_equal(schemas[i].children[c], got.children[c]);
        got.release(&got);
        b->parquet_close(r);
        schemas[i].release(&schemas[i]);
        assert_null(memmem(f.data, f.len, "ARROW:schema", 12));
        assert_non_null(memmem(f.data, f.len, "paimon_schema", 13));
        assert_non_null(memmem(f.data, f.len, "paimon-live", 11));
        test_file_free(&f);
    }
}

static void parquet_projection_follows_the_given_order(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = test_nested_schema(), got;
    test_file f = test_file_of(b, &schema, 50, &test_write_options);
    const int32_t columns[] = {5, 0, 3};
    must_ok(test_parquet_stream(&stream, b, &f, columns, 3, &test_read_options, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &got), 0);
    assert_string_equal(got.children[0]->name, "n_row");
    assert_string_equal(got.children[1]->name, "id");
    assert_string_equal(got.children[2]->name, "n_map");
    assert_int_equal(test_drain(b, &stream, &err), 50);
    stream.release(&stream);
    got.release(&got);
    must_ok(test_parquet_stream(&stream, b, &f, columns, 0, &test_read_options, &err), &err);
    assert_int_equal(test_drain(b, &stream, &err), 50);
    stream.release(&stream);
    const int32_t twice[] = {1, 1};
    must_fail_with(PML_E_INVAL, test_parquet_stream(&stream, b, &f, twice, 2, &test_read_options, &err), &err);
    const int32_t absent[] = {99};
    must_fail_with(PML_E_INVAL, test_parquet_stream(&stream, b, &f, absent, 1, &test_read_options, &err), &err);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_size_estimates_what_is_buffered(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    test_file f = {0};
    struct ArrowSchema schema = test_scalar_schema();
    pml_bridge_output output = test_output(&f);
    pml_bridge_writer *w = NULL;
    pml_bridge_write_options o = test_write_options;
    o.compression = "none";
    must_ok(b->parquet_create(&w, &output, NULL, &schema, &o, &err), &err);
    int64_t last = b->parquet_size(w);
    for (int i = 0; i < 5; i++) {
        struct ArrowArray array = test_random_array(t, &schema, 2000);
        must_ok(b->parquet_write(w, &array, &err), &err);
        assert_true(b->parquet_size(w) > last);
        last = b->parquet_size(w);
    }
    assert_true(f.len < 100);
    must_ok(b->parquet_finish(w, &err), &err);
    assert_true(last > (int64_t)f.len / 2 && last < (int64_t)f.len * 2);
    must_fail_with(PML_E_STATE, b->parquet_finish(w, &err), &err);
    b->parquet_free(w);
    schema.release(&schema);
    test_file_free(&f);
}

/* ---- statistics ---- */

static void parquet_statistics_have_the_raw_values(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    pml_bridge_stat s;
    struct ArrowSchema element = FIELD("i", "element", 5, true);
    struct ArrowSchema fields[] = {FIELD("l", "l", 0, true), FIELD("g", "g", 1, true), FIELD("u", "u", 2, true),
                                   FIELD("tsn:", "ts9", 3, true), test_field("+l", "list", 4, true, 1, &element)};
    const int64_t l[] = {5, -7, 12}, empty[] = {0, 0, 0};
    const double g[] = {1.5, -2.5, 0};
    const char *const u[] = {"pear", NULL, "apple"};
    struct ArrowArray columns[] = {test_fixed_array(8, 3, l), test_fixed_array(8, 3, g), test_text_array(3, u),
                                   test_fixed_array(8, 3, empty), test_random_array(t, &fields[4], 3)};
    struct ArrowSchema schema = test_struct(5, fields);
    struct ArrowArray array = test_struct_array(3, 5, columns);
    test_file f = {0};
    must_ok(test_parquet_write(&f, b, &schema, &array, &test_write_options, &err), &err);
    pml_bridge_reader *r = must_open(&f);
    must_ok(b->parquet_stat(&s, r, 0, 0, &err), &err);
    assert_true(s.kind == PML_BRIDGE_STAT_INT && s.min_i == -7 && s.max_i == 12 && s.null_count == 0);
    must_ok(b->parquet_stat(&s, r, 0, 1, &err), &err);
    assert_true(s.kind == PML_BRIDGE_STAT_NONE && s.null_count == -1); /* none of ours: Java would skip rows with a NaN by them */
    must_ok(b->parquet_stat(&s, r, 0, 2, &err), &err);
    assert_true(s.kind == PML_BRIDGE_STAT_BYTES && s.null_count == 1);
    assert_memory_equal(s.min_ptr, "apple", s.min_len);
    assert_memory_equal(s.max_ptr, "pear", s.max_len);
    must_ok(b->parquet_stat(&s, r, 0, 3, &err), &err);
    assert_int_equal(s.kind, PML_BRIDGE_STAT_NONE);
    must_ok(b->parquet_stat(&s, r, 0, 4, &err), &err);
    assert_true(s.kind == PML_BRIDGE_STAT_NONE && s.null_count == -1);
    must_fail_with(PML_E_INVAL, b->parquet_stat(&s, r, 1, 0, &err), &err);
    b->parquet_close(r);
    schema.release(&schema);
    test_file_free(&f);
}

/* ---- lifetimes ---- */

static void array_outlives_reader_stream_and_environment(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct ArrowSchema schema = test_nested_schema();
    test_file f = test_file_of(b, &schema, 100, &test_write_options);
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    stream.release(&stream);
    assert_int_equal(f.closed, 1);
    assert_true(f.charged > 0);
    assert_int_equal(f.dropped, 0);
    array.release(&array);
    assert_int_equal(f.charged, 0);
    assert_int_equal(f.dropped, 1);
    schema.release(&schema);
    test_file_free(&f);
}

static void bridge_is_the_same_table_every_time(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    const pml_bridge *again;
    must_ok(pml_bridge__get(&again, t->env, &err), &err);
    assert_ptr_equal(again, b);
    assert_string_equal(b->arrow_version_built, b->arrow_version_loaded);
}

static void bridge_lends_its_symbols_to_nobody(void **state)
{
    (void)state;
    assert_null(dlsym(RTLD_DEFAULT, PML_BRIDGE_SYMBOL));
    /* arrow::default_memory_pool() */
    assert_null(dlsym(RTLD_DEFAULT, "_ZN5arrow19default_memory_poolEv"));
}

static void bridge_named_by_a_wrong_path_is_unsupported(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    const pml_bridge *none;
    test_env *other = test_env_open(NULL);
    assert_int_equal(setenv("PAIMONLIVE_BRIDGE", "/nowhere/libbridge.so", 1), 0);
    must_fail_with(PML_E_UNSUPPORTED, pml_bridge__get(&none, other->env, &err), &err);
    assert_int_equal(unsetenv("PAIMONLIVE_BRIDGE"), 0);
    assert_null(none);
    assert_non_null(strstr(err.message, "/nowhere/libbridge.so"));
    must_ok(pml_bridge__get(&none, other->env, &err), &err);
    test_env_close(other);
}

static void bridge_get_without_memory_fails_and_recovers(void **state)
{
    (void)state;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK && n < 20; n++) {
        pml_error err = PML_ERROR_INIT;
        const pml_bridge *got;
        test_env *other = test_env_open(NULL);
        test_env_fail_at(other, n);
        rc = pml_bridge__get(&got, other->env, &err);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        test_env_close(other);
    }
    assert_int_equal(rc, PML_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parquet_every_atomic_type_reads_back_equal),
        cmocka_unit_test(parquet_every_nested_type_reads_back_equal),
        cmocka_unit_test(parquet_every_compression_reads_back_equal),
        cmocka_unit_test(parquet_small_row_groups_and_pages_read_back_equal),
        cmocka_unit_test(parquet_large_column_chunks_read_back_equal_in_little_memory),
        cmocka_unit_test(parquet_without_rows_reads_back_empty),
        cmocka_unit_test(parquet_row_groups_end_near_their_size),
        cmocka_unit_test(parquet_no_row_group_is_empty),
        cmocka_unit_test(parquet_schema_is_the_one_written_with_field_ids),
        cmocka_unit_test(parquet_projection_follows_the_given_order),
        cmocka_unit_test(parquet_size_estimates_what_is_buffered),
        cmocka_unit_test(parquet_statistics_have_the_raw_values),
        cmocka_unit_test(array_outlives_reader_stream_and_environment),
        cmocka_unit_test(bridge_is_the_same_table_every_time),
        cmocka_unit_test(bridge_lends_its_symbols_to_nobody),
        cmocka_unit_test(bridge_named_by_a_wrong_path_is_unsupported),
        cmocka_unit_test(bridge_get_without_memory_fails_and_recovers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
