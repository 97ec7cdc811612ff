/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet through the bridge: what is written reads back equal, and nothing that goes wrong goes wrong silently. */
#include "support/test_bridge.h"

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

/* ---- schemas ---- */

static struct ArrowSchema list_of(const char *format, const char *name, int id, struct ArrowSchema element)
{
    return test_field(format, name, id, true, 1, &element);
}

static struct ArrowSchema map_of(const char *name, int id, struct ArrowSchema key, struct ArrowSchema value)
{
    struct ArrowSchema pair[2] = {key, value};
    struct ArrowSchema entries = test_field("+s", "key_value", -1, false, 2, pair);
    return test_field("+m", name, id, true, 1, &entries);
}

static struct ArrowSchema scalar_schema(void)
{
    struct ArrowSchema f[] = {
        FIELD("b", "c_boolean", 0, true),      FIELD("c", "c_tinyint", 1, true),      FIELD("s", "c_smallint", 2, true),
        FIELD("i", "c_int", 3, false),         FIELD("l", "c_bigint", 4, true),       FIELD("f", "c_float", 5, true),
        FIELD("g", "c_double", 6, true),       FIELD("d:5,2", "c_dec5", 7, true),     FIELD("d:18,6", "c_dec18", 8, true),
        FIELD("d:19,0", "c_dec19", 9, true),   FIELD("d:38,10", "c_dec38", 10, true), FIELD("u", "c_string", 11, true),
        FIELD("z", "c_bytes", 12, true),       FIELD("tdD", "c_date", 13, true),      FIELD("ttm", "c_time", 14, true),
        FIELD("tsm:", "c_ts3", 15, true),      FIELD("tsu:", "c_ts6", 16, true),      FIELD("tsn:", "c_ts9", 17, true),
        FIELD("tsm:UTC", "c_ltz3", 18, true),  FIELD("tsu:UTC", "c_ltz6", 19, true),  FIELD("tsn:UTC", "c_ltz9", 20, true),
        FIELD("u", "_text_not_null", 21, false),
    };
    return test_struct(sizeof f / sizeof f[0], f);
}

static struct ArrowSchema nested_schema(void)
{
    struct ArrowSchema row[] = {FIELD("i", "a", 31, true), FIELD("tsn:", "b", 32, true), FIELD("u", "c", 33, false)};
    struct ArrowSchema variant[] = {FIELD("z", "value", 0, false), FIELD("z", "metadata", 1, false)};
    struct ArrowSchema inner_vector = list_of("+w:2", "element", 901, FIELD("g", "element", 902, true));
    struct ArrowSchema f[] = {
        FIELD("l", "id", 0, false),
        list_of("+l", "n_array", 1, FIELD("i", "element", 536871936, true)),
        list_of("+l", "n_array2", 2, list_of("+l", "element", 700, FIELD("tsn:", "element", 701, true))),
        map_of("n_map", 3, FIELD("u", "key", 536867837, false), FIELD("d:9,3", "value", 536873985, true)),
        map_of("n_multiset", 4, FIELD("tsu:", "key", 800, false), FIELD("i", "value", 801, false)),
        test_field("+s", "n_row", 5, true, 3, row),
        test_field("+s", "n_variant", 6, true, 2, variant),
        list_of("+w:3", "n_vector", 7, FIELD("f", "element", 900, true)),
        list_of("+l", "n_vectors", 8, inner_vector),
    };
    return test_struct(sizeof f / sizeof f[0], f);
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
    round_trip(scalar_schema(), 3333, &test_write_options);
}

static void parquet_every_nested_type_reads_back_equal(void **state)
{
    (void)state;
    round_trip(nested_schema(), 3333, &test_write_options);
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
        round_trip(scalar_schema(), 700, &o);
    }
}

static void parquet_small_row_groups_and_pages_read_back_equal(void **state)
{
    (void)state;
    pml_bridge_write_options o = test_write_options;
    o.row_group_bytes = 1;
    o.page_bytes = 100;
    o.write_batch_rows = 64;
    round_trip(nested_schema(), 20000, &o);
}

static void parquet_without_rows_reads_back_empty(void **state)
{
    (void)state;
    round_trip(scalar_schema(), 0, &test_write_options);
}

/* ---- shape of the file ---- */

static test_file file_of(struct ArrowSchema *schema, int64_t rows, const pml_bridge_write_options *options)
{
    pml_error err = PML_ERROR_INIT;
    test_file f = {0};
    test_env seed = {.random_state = test_seed()};
    struct ArrowArray array = test_random_array(&seed, schema, rows);
    must_ok(test_parquet_write(&f, b, schema, &array, options, &err), &err);
    f.dropped = f.calls = 0;
    return f;
}

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
    struct ArrowSchema schema = scalar_schema();
    test_file f = file_of(&schema, 30000, &o);
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
    struct ArrowSchema schemas[] = {scalar_schema(), nested_schema()};
    for (size_t i = 0; i < 2; i++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowSchema got;
        test_file f = file_of(&schemas[i], 5, &test_write_options);
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
    struct ArrowSchema schema = nested_schema(), got;
    test_file f = file_of(&schema, 50, &test_write_options);
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
    struct ArrowSchema schema = scalar_schema();
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
    struct ArrowSchema fields[] = {FIELD("l", "l", 0, true), FIELD("g", "g", 1, true), FIELD("u", "u", 2, true),
                                   FIELD("tsn:", "ts9", 3, true), list_of("+l", "list", 4, FIELD("i", "element", 5, true))};
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
    assert_true(s.kind == PML_BRIDGE_STAT_DOUBLE && s.min_d < -2 && s.max_d > 1);
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

/* ---- INT96 ---- */

/* One plain INT96 column of one value whose raw 12 bytes are then replaced. */
static test_file int96_file(int64_t nanos, int32_t julian)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema field = FIELD("tsn:", "ts9", 0, false);
    const int64_t marker = 0x123456789AB; /* nanoseconds of 1970-01-01 */
    uint8_t raw[12];
    const int32_t epoch = 2440588;
    struct ArrowArray column = test_fixed_array(8, 1, &marker);
    struct ArrowSchema schema = test_struct(1, &field);
    struct ArrowArray array = test_struct_array(1, 1, &column);
    pml_bridge_write_options o = test_write_options;
    o.compression = "none";
    o.dictionary = 0;
    test_file f = {0};
    must_ok(test_parquet_write(&f, b, &schema, &array, &o, &err), &err);
    memcpy(raw, &marker, 8), memcpy(raw + 8, &epoch, 4);
    uint8_t *at = memmem(f.data, f.len, raw, 12);
    assert_non_null(at);
    memcpy(at, &nanos, 8), memcpy(at + 8, &julian, 4);
    schema.release(&schema);
    return f;
}

static int int96_read(int64_t *out, int64_t nanos, int32_t julian, pml_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    test_file f = int96_file(nanos, julian);
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, err), err);
    *out = 0;
    if (stream.get_next(&stream, &array) == 0) {
        *out = ((const int64_t *)array.children[0]->buffers[1])[0];
        array.release(&array);
    }
    int rc = b->stream_error(&stream, err);
    stream.release(&stream);
    test_file_free(&f);
    return rc;
}

static void int96_with_negative_nanos_equals_the_normalised_form(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    int64_t a, c;
    must_ok(int96_read(&a, -1, 2440588, &err), &err);
    must_ok(int96_read(&c, 86399999999999, 2440587, &err), &err);
    assert_int_equal(a, -1);
    assert_int_equal(c, -1);
    must_ok(int96_read(&a, 85636854775807, 2440588 + 106751, &err), &err);
    assert_int_equal(a, INT64_MAX);
    must_ok(int96_read(&a, 763145224192, 2440588 - 106752, &err), &err);
    assert_int_equal(a, INT64_MIN);
}

static void int96_outside_of_nanoseconds_is_an_error_that_names_the_column(void **state)
{
    (void)state;
    static const struct {
        int64_t nanos;
        int32_t julian;
    } cases[] = {{0, 1721426}, {0, 5373484}, {85636854775808, 2440588 + 106751}, {763145224191, 2440588 - 106752}, {0, -1},
                 {INT64_MAX, 2440589}, {INT64_MIN, 2440587}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        int64_t value;
        must_fail_with(PML_E_CORRUPT, int96_read(&value, cases[i].nanos, cases[i].julian, &err), &err);
        assert_non_null(strstr(err.message, "ts9"));
        assert_non_null(strstr(err.message, "data-0.parquet"));
    }
}

/* ---- failures ---- */

static void parquet_read_that_fails_gives_the_error_of_the_callback(void **state)
{
    (void)state;
    struct ArrowSchema schema = scalar_schema();
    test_file f = file_of(&schema, 300, &test_write_options);
    for (f.fail_at = 1; f.fail_at < 1000; f.fail_at++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowArrayStream stream;
        f.calls = f.closed = f.dropped = 0;
        int rc = test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err);
        int64_t rows = rc == PML_OK ? test_drain(b, &stream, &err) : rc;
        if (stream.release != NULL)
            stream.release(&stream);
        assert_true(f.charged == 0 && f.closed == 1 && f.dropped == 1);
        if (f.calls < f.fail_at) {
            assert_int_equal(rows, 300);
            break;
        }
        assert_int_equal(rows, PML_E_NO_SPACE);
        assert_non_null(strstr(err.message, "fails on command"));
    }
    assert_in_range(f.fail_at, 20, 999);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_write_that_fails_gives_the_error_of_the_callback(void **state)
{
    (void)state;
    struct ArrowSchema schema = scalar_schema();
    int n;
    for (n = 1; n < 1000; n++) {
        pml_error err = PML_ERROR_INIT;
        test_file f = {.fail_at = n};
        struct ArrowArray array = test_random_array(t, &schema, 300);
        int rc = test_parquet_write(&f, b, &schema, &array, &test_write_options, &err);
        bool done = f.calls < n;
        /* Nothing is written after the failure, not even while the writer is freed. */
        assert_int_equal(f.calls, done ? f.calls : n);
        assert_int_equal(f.dropped, 1);
        test_file_free(&f);
        if (done) {
            must_ok(rc, &err);
            break;
        }
        must_fail_with(PML_E_NO_SPACE, rc, &err);
        assert_non_null(strstr(err.message, "fails on command"));
    }
    assert_in_range(n, 3, 999);
    schema.release(&schema);
}

static void parquet_writer_given_up_writes_nothing_more(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    test_file f = {0};
    struct ArrowSchema schema = scalar_schema();
    struct ArrowArray array = test_random_array(t, &schema, 300);
    pml_bridge_output output = test_output(&f);
    pml_bridge_writer *w = NULL;
    must_ok(b->parquet_create(&w, &output, NULL, &schema, &test_write_options, &err), &err);
    must_ok(b->parquet_write(w, &array, &err), &err);
    int calls = f.calls;
    b->parquet_free(w);
    assert_int_equal(f.calls, calls);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_null_in_a_not_null_column_is_refused(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    test_file f = {0};
    const char *const values[] = {"a", NULL};
    struct ArrowSchema field = FIELD("u", "strict", 0, false);
    struct ArrowSchema schema = test_struct(1, &field);
    struct ArrowArray column = test_text_array(2, values);
    struct ArrowArray array = test_struct_array(2, 1, &column);
    must_fail_with(PML_E_INVAL, test_parquet_write(&f, b, &schema, &array, &test_write_options, &err), &err);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_unknown_compression_is_refused_by_name(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    test_file f = {0};
    pml_bridge_write_options o = test_write_options;
    struct ArrowSchema schema = scalar_schema();
    struct ArrowArray array = test_random_array(t, &schema, 1);
    o.compression = "lzo";
    must_fail_with(PML_E_UNSUPPORTED, test_parquet_write(&f, b, &schema, &array, &o, &err), &err);
    assert_non_null(strstr(err.message, "lzo"));
    o.compression = "zstd";
    o.compression_level = 1000;
    array = test_random_array(t, &schema, 1);
    must_fail_with(PML_E_INVAL, test_parquet_write(&f, b, &schema, &array, &o, &err), &err);
    schema.release(&schema);
}

static void parquet_bytes_that_are_none_are_corrupt(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "PAR1", "PAR1PAR1", "PAR1\xff\xff\xff\x7fPAR1", "hello, this is not a Parquet file"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowArrayStream stream;
        test_file f = {.data = (uint8_t *)strdup(texts[i]), .len = strlen(texts[i])};
        must_fail_with(PML_E_CORRUPT, test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
        assert_true(f.closed == 1 && f.dropped == 1);
        assert_non_null(strstr(err.message, "data-0.parquet"));
        test_file_free(&f);
    }
}

static void mutant_read(test_file *f)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int rc = test_parquet_stream(&stream, b, f, NULL, 0, &test_read_options, &err);
    int64_t rows = rc == PML_OK ? test_drain(b, &stream, &err) : rc;
    if (stream.release != NULL)
        stream.release(&stream);
    assert_true(rows >= 0 || err.code == rows);
    assert_int_equal(f->charged, 0);
}

static void mutants_of(struct ArrowSchema schema, int n)
{
    pml_bridge_write_options o = test_write_options;
    o.row_group_bytes = 20000;
    test_file f = file_of(&schema, 200, &o);
    test_env seed = {.random_state = test_seed()};
    uint8_t *original = malloc(f.len);
    memcpy(original, f.data, f.len);
    for (int i = 0; i < n; i++) {
        for (uint64_t flips = 1 + test_random(&seed) % 4; flips > 0; flips--) {
            /* Half of them near the end, where the footer is. */
            size_t span = test_random(&seed) % 2 == 0 ? f.len : f.len / 3;
            f.data[f.len - 1 - test_random(&seed) % span] = (uint8_t)test_random(&seed);
        }
        mutant_read(&f);
        memcpy(f.data, original, f.len);
    }
    free(original);
    schema.release(&schema);
    test_file_free(&f);
}

static void parquet_mutants_give_errors_or_valid_arrays(void **state)
{
    (void)state;
    mutants_of(scalar_schema(), 1000);
    mutants_of(nested_schema(), 1000);
}

/* ---- lifetimes ---- */

static void array_outlives_reader_stream_and_environment(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct ArrowSchema schema = nested_schema();
    test_file f = file_of(&schema, 100, &test_write_options);
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
        cmocka_unit_test(parquet_without_rows_reads_back_empty),
        cmocka_unit_test(parquet_row_groups_end_near_their_size),
        cmocka_unit_test(parquet_schema_is_the_one_written_with_field_ids),
        cmocka_unit_test(parquet_projection_follows_the_given_order),
        cmocka_unit_test(parquet_size_estimates_what_is_buffered),
        cmocka_unit_test(parquet_statistics_have_the_raw_values),
        cmocka_unit_test(int96_with_negative_nanos_equals_the_normalised_form),
        cmocka_unit_test(int96_outside_of_nanoseconds_is_an_error_that_names_the_column),
        cmocka_unit_test(parquet_read_that_fails_gives_the_error_of_the_callback),
        cmocka_unit_test(parquet_write_that_fails_gives_the_error_of_the_callback),
        cmocka_unit_test(parquet_writer_given_up_writes_nothing_more),
        cmocka_unit_test(parquet_null_in_a_not_null_column_is_refused),
        cmocka_unit_test(parquet_unknown_compression_is_refused_by_name),
        cmocka_unit_test(parquet_bytes_that_are_none_are_corrupt),
        cmocka_unit_test(parquet_mutants_give_errors_or_valid_arrays),
        cmocka_unit_test(array_outlives_reader_stream_and_environment),
        cmocka_unit_test(bridge_is_the_same_table_every_time),
        cmocka_unit_test(bridge_named_by_a_wrong_path_is_unsupported),
        cmocka_unit_test(bridge_get_without_memory_fails_and_recovers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
