/* SPDX-License-Identifier: Apache-2.0 */
/* Damage and failures under the bridge: errors that name their cause, never a crash and never a wrong value. */
#include "support/test_bridge.h"
#include "util/number.h"

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
    pml_bridge_read_options o = test_read_options;
    o.validate = PML_BRIDGE_VALIDATE_BASIC; /* the checksum of the page belongs to the bytes that were there before */
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &o, err), err);
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

/* A flipped bit in an uncompressed page would be a wrong value: the page's checksum catches it. */
static void page_with_a_flipped_bit_is_corrupt(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowArray array = {0};
    pml_error err = PML_ERROR_INIT;
    test_file f = int96_file(7, 2440588);
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
    assert_int_not_equal(stream.get_next(&stream, &array), 0);
    must_fail_with(PML_E_CORRUPT, b->stream_error(&stream, &err), &err);
    assert_non_null(strstr(err.message, "CRC"));
    stream.release(&stream);
    test_file_free(&f);
}

/* Reads all; whether that fails for a checksum. */
static bool fails_by_checksum(test_file *f)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    must_ok(test_parquet_stream(&stream, b, f, NULL, 0, &test_read_options, &err), &err);
    int64_t rows = test_drain(b, &stream, &err);
    stream.release(&stream);
    assert_true(rows > 0 || rows == PML_E_CORRUPT);
    return rows < 0 && strstr(err.message, "CRC") != NULL;
}

/* One text of so many bytes, as it lies in the file. */
static test_file text_file(uint8_t **text, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    char value[512];
    const char *const values[] = {value};
    for (size_t i = 0; i < n; i++)
        value[i] = (char)('a' + test_random(t) % 26);
    value[n] = '\0';
    struct ArrowSchema field = FIELD("u", "text", 0, false);
    struct ArrowArray column = test_text_array(1, values);
    struct ArrowSchema schema = test_struct(1, &field);
    struct ArrowArray array = test_struct_array(1, 1, &column);
    pml_bridge_write_options o = test_write_options;
    o.compression = "none";
    o.dictionary = 0;
    test_file f = {0};
    must_ok(test_parquet_write(&f, b, &schema, &array, &o, &err), &err);
    schema.release(&schema);
    *text = memmem(f.data, f.len, value, n);
    assert_non_null(*text);
    return f;
}

/* The checksums are those of Arrow's writer. Pages of all lengths modulo what is taken at once, each byte of some of them. */
static void checksums_of_pages_of_any_length_are_verified(void **state)
{
    (void)state;
    for (size_t n = 20; n < 400; n++) {
        uint8_t *text;
        test_file f = text_file(&text, n);
        assert_false(fails_by_checksum(&f));
        for (size_t i = test_random(t) % 8; i < n; i += n % 13 == 0 ? 1 : n / 4) {
            uint8_t flip = (uint8_t)(1 << test_random(t) % 5);
            text[i] ^= flip;
            assert_true(fails_by_checksum(&f));
            text[i] ^= flip;
        }
        test_file_free(&f);
    }
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
    struct ArrowSchema schema = test_scalar_schema();
    test_file f = test_file_of(b, &schema, 300, &test_write_options);
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
    struct ArrowSchema schema = test_scalar_schema();
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
    struct ArrowSchema schema = test_scalar_schema();
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
    struct ArrowSchema schema = test_scalar_schema();
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
    static const char *const texts[] = {"", "PAR1", "PAR1PAR1", "PAR1\xff\xff\xff\x7fPAR1", "this is not a Parquet file"};
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

static void mutants_of(test_file f, int n)
{
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
    test_file_free(&f);
}

static test_file small_groups_file(struct ArrowSchema schema)
{
    pml_bridge_write_options o = test_write_options;
    o.row_group_bytes = 20000;
    test_file f = test_file_of(b, &schema, 200, &o);
    schema.release(&schema);
    return f;
}

static void parquet_mutants_give_errors_or_valid_arrays(void **state)
{
    (void)state;
    int n = (int)test_setting("MUTANTS", 500, 1, INT32_MAX); /* by hand: more of them */
    mutants_of(small_groups_file(test_scalar_schema()), n);
    mutants_of(small_groups_file(test_nested_schema()), n);
    mutants_of(test_file_load("java_scalar.parquet"), n);
    mutants_of(test_file_load("java_nested.parquet"), n);
    mutants_of(test_file_load("arrow_schema.parquet"), n);
}

/* ---- memory ---- */

/* One text of so many zeros: a few kilobytes of file. */
static test_file bomb(size_t bytes, int32_t dictionary)
{
    pml_error err = PML_ERROR_INIT;
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memset(text, '0', bytes);
    text[bytes] = '\0';
    const char *const values[] = {text, "short"};
    struct ArrowSchema field = FIELD("u", "bomb", 0, true);
    struct ArrowSchema schema = test_struct(1, &field);
    struct ArrowArray column = test_text_array(2, values);
    struct ArrowArray array = test_struct_array(2, 1, &column);
    pml_bridge_write_options o = test_write_options;
    o.dictionary = dictionary;
    o.page_bytes = (int64_t)bytes * 2;
    test_file f = {0};
    must_ok(test_parquet_write(&f, b, &schema, &array, &o, &err), &err);
    schema.release(&schema);
    free(text);
    return f;
}

static void parquet_page_that_unpacks_past_the_bound_is_refused_by_name(void **state)
{
    (void)state;
    enum { MIB = 1024 * 1024 };
    for (int32_t dictionary = 0; dictionary < 2; dictionary++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowArrayStream stream;
        test_file f = bomb(64 * MIB, dictionary);
        assert_in_range(f.len, 1, MIB);
        f.bytes_max = 32 * MIB;
        must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
        f.charged_max = 0;
        assert_int_equal(test_drain(b, &stream, &err), PML_E_LIMIT);
        assert_in_range(f.charged_max, 1, f.bytes_max + MIB);
        assert_non_null(strstr(err.message, "data-0.parquet"));
        assert_non_null(strstr(err.message, "read.batch-size"));
        stream.release(&stream);
        assert_int_equal(f.charged, 0);
        /* With room for it, it is just a text. */
        f.bytes_max = 512 * (int64_t)MIB;
        must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
        assert_int_equal(test_drain(b, &stream, &err), 2);
        stream.release(&stream);
        test_file_free(&f);
    }
}

/* The bound is for one call: batches that the caller keeps are not counted against the next one. */
static void parquet_batches_that_are_kept_do_not_count_for_the_next(void **state)
{
    (void)state;
    enum { KEPT = 40 };
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray kept[KEPT];
    struct ArrowSchema schema = test_scalar_schema();
    test_file f = test_file_of(b, &schema, 4000, &test_write_options);
    pml_bridge_read_options o = test_read_options;
    o.batch_rows = 100;
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &o, &err), &err);
    stream.release(&stream);
    f.charged_max = 0;
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &o, &err), &err);
    assert_int_equal(stream.get_next(&stream, &kept[0]), 0);
    int64_t one = f.charged_max;
    kept[0].release(&kept[0]);
    stream.release(&stream);
    f.bytes_max = one;
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &o, &err), &err);
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(stream.get_next(&stream, &kept[i]), 0);
    assert_true(f.charged > one);
    for (int i = 0; i < KEPT; i++)
        kept[i].release(&kept[i]);
    stream.release(&stream);
    schema.release(&schema);
    test_file_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int96_with_negative_nanos_equals_the_normalised_form),
        cmocka_unit_test(page_with_a_flipped_bit_is_corrupt),
        cmocka_unit_test(checksums_of_pages_of_any_length_are_verified),
        cmocka_unit_test(int96_outside_of_nanoseconds_is_an_error_that_names_the_column),
        cmocka_unit_test(parquet_read_that_fails_gives_the_error_of_the_callback),
        cmocka_unit_test(parquet_write_that_fails_gives_the_error_of_the_callback),
        cmocka_unit_test(parquet_writer_given_up_writes_nothing_more),
        cmocka_unit_test(parquet_null_in_a_not_null_column_is_refused),
        cmocka_unit_test(parquet_unknown_compression_is_refused_by_name),
        cmocka_unit_test(parquet_bytes_that_are_none_are_corrupt),
        cmocka_unit_test(parquet_mutants_give_errors_or_valid_arrays),
        cmocka_unit_test(parquet_page_that_unpacks_past_the_bound_is_refused_by_name),
        cmocka_unit_test(parquet_batches_that_are_kept_do_not_count_for_the_next),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
