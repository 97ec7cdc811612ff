/* SPDX-License-Identifier: Apache-2.0 */
/* Avro data files of many rows: batches, parts, limits, damage, failures. */
#include "support/avro_kit.h"

#include <stdlib.h>
#include <string.h>

static const char *const codecs[] = {"null", "deflate", "snappy", "zstandard"};
static const char row_schema[] = RECORD(F("id", INT) "," F("name", NULLABLE("\"string\"")) "," F("l", LIST(NULLABLE("\"long\""))));
static const char row_columns[] = "id INT, name STRING, l ARRAY<BIGINT>";

static void row_put(pml_buf *b, int64_t i)
{
    (void)pml_avro__put_long(b, i);
    (void)pml_avro__put_branch(b, i % 3 != 0);
    if (i % 3 != 0)
        (void)pml_avro__put_string(b, i % 2 == 0 ? "even" : "odd, and longer than sixteen bytes");
    if (i % 4 != 0)
        (void)pml_avro__put_long(b, i % 4);
    for (int64_t k = 0; k < i % 4; k++) {
        (void)pml_avro__put_branch(b, k != 1);
        if (k != 1)
            (void)pml_avro__put_long(b, i * i);
    }
    (void)pml_avro__put_long(b, 0);
}

static void row_print(pml_buf *b, int64_t i)
{
    (void)pml_buf__append_format(b, "{\"id\":%lld,\"name\":%s,\"l\":[", (long long)i,
                                 i % 3 == 0   ? "null"
                                 : i % 2 == 0 ? "\"even\""
                                              : "\"odd, and longer than sixteen bytes\"");
    for (int64_t k = 0; k < i % 4; k++)
        (void)(k == 1 ? pml_buf__append_str(b, ",null") : pml_buf__append_format(b, "%s%lld", k == 0 ? "" : ",", (long long)(i * i)));
    (void)pml_buf__append_str(b, "]}\n");
}

static void rows_file(avro_kit *k, const char *codec, int64_t n)
{
    pml_error err = PML_ERROR_INIT;
    pml_avro_writer *w;
    uint8_t *data;
    size_t len;
    avro_kit_want(k, row_columns);
    must_ok(pml_avro_writer__new(&w, k->t->env, row_schema, codec, 1, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        row_put(pml_avro_writer__record(w), i);
        must_ok(pml_avro_writer__end_record(w, &err), &err);
    }
    must_ok(pml_avro_writer__finish(w, &data, &len, &err), &err);
    pml_avro_writer__free(w);
    avro_kit_put(k, data, len);
    pml_env__free(k->t->env, data);
}

static void rows_must_be_there(avro_kit *k, int64_t n)
{
    pml_buf want;
    pml_buf__init(&want, k->t->env, (size_t)1 << 30);
    for (int64_t i = 0; i < n; i++)
        row_print(&want, i);
    must_ok(pml_buf__check(&want, NULL), NULL);
    assert_int_equal(want.len, k->text.len);
    assert_true(n == 0 || memcmp(want.data, k->text.data, want.len) == 0);
    pml_buf__clear(&want);
}

static void avro_data_of_many_blocks_comes_in_batches(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        avro_kit k;
        pml_error err = PML_ERROR_INIT;
        avro_kit_open(&k);
        rows_file(&k, codecs[c], 20000);
        k.q.expect_rows = 20000;
        for (int64_t rows = 1000; rows <= 100000; rows *= 10) {
            k.q.batch_rows = rows;
            must_ok(avro_kit_read(&k, &err), &err);
            assert_int_equal(k.batches, (20000 + rows - 1) / rows);
            rows_must_be_there(&k, 20000);
        }
        avro_kit_close(&k);
    }
}

static void avro_data_without_wanted_columns_gives_the_number_of_rows(void **state)
{
    (void)state;
    avro_kit k;
    pml_error err = PML_ERROR_INIT;
    avro_kit_open(&k);
    rows_file(&k, "zstandard", 5000);
    k.q.n_fields = 0;
    k.want.n_children = 0;
    k.q.batch_rows = 700;
    must_ok(avro_kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 5000);
    assert_int_equal(k.batches, 8);
    rows_file(&k, "null", 0);
    must_ok(avro_kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 0);
    k.q.own_schema = false;
    rows_file(&k, "null", 3);
    avro_kit_want(&k, "gone INT");
    avro_kit_must_read(&k, "{\"gone\":null}\n{\"gone\":null}\n{\"gone\":null}\n");
    avro_kit_close(&k);
}

static void avro_data_in_parts_is_the_file_in_order(void **state)
{
    (void)state;
    /* below and above what is read in one piece */
    for (int64_t rows = 5000; rows <= 80000; rows *= 16) {
        avro_kit k;
        avro_kit_open(&k);
        rows_file(&k, "null", rows);
        for (int32_t parts = 0; parts <= 40; parts = parts * 2 + 1) {
            pml_error err = PML_ERROR_INIT;
            pml_buf all;
            int with_rows = 0;
            pml_buf__init(&all, k.t->env, (size_t)1 << 30);
            k.q.parts = parts;
            for (k.q.part = 0; k.q.part < (parts == 0 ? 1 : parts); k.q.part++) {
                must_ok(avro_kit_read(&k, &err), &err);
                (void)(k.text.len > 0 ? pml_buf__append(&all, k.text.data, k.text.len) : PML_OK);
                with_rows += k.rows > 0;
            }
            assert_true(with_rows <= 8 && (rows < 80000 || with_rows >= (parts < 3 ? 1 : 3)));
            pml_buf kept = k.text;
            k.text = all;
            rows_must_be_there(&k, rows);
            k.text = kept;
            pml_buf__clear(&all);
        }
        avro_kit_close(&k);
    }
}

static void avro_data_file_must_be_the_one_that_the_manifest_says(void **state)
{
    (void)state;
    avro_kit k;
    pml_error err = PML_ERROR_INIT;
    size_t len;
    avro_kit_open(&k);
    rows_file(&k, "snappy", 5000);
    free(test_read_file(k.path, &len));
    k.q.expect_rows = 4999;
    avro_kit_must_fail(&k, PML_E_CORRUPT, "5000 rows");
    k.q.expect_rows = 5000;
    k.q.expect_bytes = (int64_t)len + 1;
    avro_kit_must_fail(&k, PML_E_CORRUPT, "bytes");
    k.q.expect_bytes--;
    must_ok(avro_kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 5000);
    avro_kit_close(&k);
}

/* ---- values, limits, damage ---- */

static void avro_data_with_values_that_the_type_cannot_have_is_damaged(void **state)
{
    (void)state;
    avro_kit k;
    FAILS(PML_E_CORRUPT, "a STRING", RECORD(F("a", "\"string\"")), "\x02\xff", "UTF-8");
    FAILS(PML_E_CORRUPT, "a TIME(3)", RECORD(F("a", LOGICAL("int", "time-millis"))), "\x01", "millisecond");
    FAILS(PML_E_CORRUPT, "a INT NOT NULL", RECORD(F("a", NULLABLE(INT))), "\x00", "NOT NULL");
    /* these do not fit the column's buffers, so nobody is asked */
    FAILS(PML_E_CORRUPT, "a TINYINT", RECORD(F("a", INT)), "\x80\x02", "field a");
    FAILS(PML_E_CORRUPT, "a SMALLINT", RECORD(F("a", INT)), "\x80\x80\x04", "field a");
    FAILS(PML_E_CORRUPT, "a INT", RECORD(F("a", INT)), "\x80\x80\x80\x80\x10", "field a");
    FAILS(PML_E_CORRUPT, "a BOOLEAN", RECORD(F("a", "\"boolean\"")), "\x02", "field a");
    FAILS(PML_E_CORRUPT, "a DECIMAL(38, 0)", RECORD(F("a", DECIMAL("38", "0"))), "\x00", "field a");
    FAILS(PML_E_CORRUPT, "a DECIMAL(9, 3) NOT NULL", RECORD(F("a", DECIMAL("9", "3"))), "\x08\xc4\x65\x35\x1c", "field a");
    avro_kit_open(&k);
    k.q.check_values = false;
    avro_kit_want(&k, "a TIME(3)");
    AVRO_FILE_OF(&k, RECORD(F("a", LOGICAL("int", "time-millis"))), "\x01");
    pml_error err = PML_ERROR_INIT;
    must_ok(avro_kit_read(&k, &err), &err);
    avro_kit_close(&k);
}

static void avro_data_with_numbers_larger_than_the_bytes_behind_them_is_damaged(void **state)
{
    (void)state;
#define LISTS RECORD(F("l", LIST(NULLABLE(INT))) "," F("s", "\"string\""))
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field l");     /* 2^63 - 1 items */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "field l"); /* -2^63 of them in one byte */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x01\x01\x00\x00\x00", "field l");                         /* -1 bytes */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x00\xfe\xff\xff\xff\x0f", "field s");                     /* a text of 2 GiB */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x00\x01", "field s");                                     /* of -1 bytes */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x02\x04\x02\x00\x00", "field l");                         /* branch 2 of 2 */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "field l"); /* a number of eleven bytes */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x00\x00\x00", "behind its records");
    FAILS(PML_E_CORRUPT, "s STRING", RECORD(F("l", LIST(NULLABLE(INT))) "," F("s", "\"string\"")), "\x0c\x00\x00\x00\x00\x00", "skipped");
    FAILS(PML_E_UNSUPPORTED, "l ARRAY<ROW<x INT>>", OTHER(F("l", LIST(NESTED("e", "")))), "\xfe\xff\x03\x00", "no bytes");
    FAILS(PML_E_UNSUPPORTED, "a INT", OTHER(""), "", "no bytes");
}

static void avro_data_packed_otherwise_is_refused_by_name(void **state)
{
    (void)state;
    static const char head[] = "Obj\x01\x04\x14" "avro.codec\x0a" "lzma2\x16" "avro.schema\x04" "{}\x00" "0123456789abcdef";
    avro_kit k;
    avro_kit_open(&k);
    avro_kit_want(&k, "a INT");
    avro_kit_put(&k, head, sizeof head - 1);
    avro_kit_must_fail(&k, PML_E_UNSUPPORTED, "needs avro-codec:lzma2");
    avro_kit_put(&k, "Obk\x01", 4);
    avro_kit_must_fail(&k, PML_E_CORRUPT, "not an Avro file");
    avro_kit_put(&k, "", 0);
    avro_kit_must_fail(&k, PML_E_CORRUPT, "not an Avro file");
    avro_kit_close(&k);
}

/* Heads of blocks alone, as a count of rows is taken from them. */
static void avro_data_cannot_claim_rows_without_bytes(void **state)
{
    (void)state;
    avro_kit k;
    size_t len;
    avro_kit_open(&k);
    rows_file(&k, "deflate", 0);
    uint8_t *data = test_read_file(k.path, &len);
    uint8_t *more = malloc(len + 64);
    static const uint8_t head[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00};
    memcpy(more, data, len);
    memcpy(more + len, head, sizeof head);
    memcpy(more + len + sizeof head, data + len - 16, 16);
    avro_kit_put(&k, more, len + sizeof head + 16);
    k.q.n_fields = 0;
    k.want.n_children = 0;
    avro_kit_must_fail(&k, PML_E_CORRUPT, "fewer bytes");
    free(more);
    free(data);
    avro_kit_close(&k);
}

static void avro_data_row_that_becomes_far_larger_hits_a_limit(void **state)
{
    (void)state;
    avro_kit k;
    pml_buf want, record;
    avro_kit_open(&k);
    pml_buf__init(&want, k.t->env, 1 << 20);
    pml_buf__init(&record, k.t->env, 16 << 20);
    /* a null of a wide row takes a byte in the file, and thousands in the columns */
    (void)pml_buf__append_str(&want, "l ARRAY<ROW<c0 BIGINT");
    for (int i = 1; i < 2000; i++)
        (void)pml_buf__append_format(&want, ", c%d BIGINT", i);
    (void)pml_buf__append_str(&want, ">>");
    must_ok(pml_buf__append(&want, "", 1), NULL);
    (void)pml_avro__put_long(&record, 4 << 20);
    (void)pml_buf__append_zeros(&record, 4 << 20);
    (void)pml_avro__put_long(&record, 0);
    avro_kit_want(&k, (const char *)want.data);
    k.q.own_schema = false;
    k.t->env->bridge_bytes_max = 96 << 20;
    avro_kit_file(&k, "zstandard", OTHER(F("l", LIST(NULLABLE(NESTED("r", F("c7", "\"long\"")))))), record.data, record.len, 1);
    avro_kit_must_fail(&k, PML_E_LIMIT, "field l");
    pml_buf__clear(&want);
    pml_buf__clear(&record);
    avro_kit_close(&k);
}

static void avro_data_batch_ends_early_when_rows_are_large(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20, ROWS = 40 };
    avro_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_buf record;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t rows = 0;
    int batches = 0;
    avro_kit_open(&k);
    pml_buf__init(&record, k.t->env, 16 << 20);
    (void)pml_avro__put_long(&record, LARGE);
    (void)pml_buf__append_zeros(&record, LARGE);
    avro_kit_want(&k, "b BYTES");
    avro_kit_file(&k, "snappy", RECORD(F("b", "\"bytes\"")), record.data, record.len, ROWS);
    must_ok(pml_format__open(&stream, k.t->env, "avro", k.path, &k.q, &err), &err);
    for (;;) {
        assert_int_equal(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL)
            break;
        rows += batch.length;
        batches++;
        batch.release(&batch);
    }
    assert_int_equal(rows, ROWS);
    assert_true(batches >= 3 && batches <= 10);
    stream.release(&stream);
    pml_buf__clear(&record);
    avro_kit_close(&k);
}

/* A cut file must fail, except where the cut leaves whole blocks; then its rows are fewer than the manifest says. */
static void avro_data_file_cut_at_any_byte_fails(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        avro_kit k;
        pml_error err = PML_ERROR_INIT;
        size_t len;
        avro_kit_open(&k);
        rows_file(&k, codecs[c], 40);
        uint8_t *data = test_read_file(k.path, &len);
        k.q.expect_rows = 40;
        for (size_t cut = 0; cut < len; cut++) {
            avro_kit_put(&k, data, cut);
            must_fail_with(PML_E_CORRUPT, avro_kit_read(&k, &err), &err);
        }
        /* and no other byte makes it crash, or give more rows than there are */
        for (size_t at = 0; at < len; at++) {
            data[at] ^= (uint8_t)(1u << (at % 8));
            avro_kit_put(&k, data, len);
            int rc = avro_kit_read(&k, &err);
            assert_true(rc == PML_OK || rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED || rc == PML_E_LIMIT);
            assert_true(rc != PML_OK || k.rows == 40);
            data[at] ^= (uint8_t)(1u << (at % 8));
        }
        free(data);
        avro_kit_close(&k);
    }
}

/* Of a larger file only pieces are in memory: damage in the middle is found where it lies. */
static void avro_data_block_without_its_marker_is_damaged(void **state)
{
    (void)state;
    avro_kit k;
    size_t len;
    avro_kit_open(&k);
    rows_file(&k, "null", 80000);
    uint8_t *data = test_read_file(k.path, &len);
    const uint8_t *sync = data + len - 16;
    uint8_t *middle = memmem(data + len / 2, len / 2, sync, 16);
    assert_non_null(middle);
    middle[3] ^= 1;
    avro_kit_put(&k, data, len);
    avro_kit_must_fail(&k, PML_E_CORRUPT, "sync marker");
    free(data);
    avro_kit_close(&k);
}

static void avro_data_reading_survives_failing_memory_and_files(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        avro_kit k;
        pml_error err = PML_ERROR_INIT;
        int rc;
        avro_kit_open(&k);
        rows_file(&k, codecs[c], 6000);
        must_ok(pml_buf__reserve(&k.text, 1 << 20) == NULL ? PML_E_NOMEM : PML_OK, NULL);
        k.q.batch_rows = 1000;
        for (long long n = 1;; n++) {
            test_env_fail_at(k.t, n);
            rc = avro_kit_read(&k, &err);
            if (!test_env_fail_reached(k.t))
                break;
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        }
        test_env_fail_at(k.t, 0);
        must_ok(rc, &err);
        rows_must_be_there(&k, 6000);
        rc = PML_E_IO;
        for (long long n = 1; rc != PML_OK; n++) {
            faulty_fs_reset(&k.fs);
            faulty_fs_fail_at(&k.fs, n, FAULT_BEFORE, PML_E_IO, 0);
            rc = avro_kit_read(&k, &err);
            assert_true(rc == PML_E_IO || (rc == PML_OK && faulty_fs_failures(&k.fs) == 0));
        }
        avro_kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avro_data_of_many_blocks_comes_in_batches),
        cmocka_unit_test(avro_data_without_wanted_columns_gives_the_number_of_rows),
        cmocka_unit_test(avro_data_in_parts_is_the_file_in_order),
        cmocka_unit_test(avro_data_file_must_be_the_one_that_the_manifest_says),
        cmocka_unit_test(avro_data_with_values_that_the_type_cannot_have_is_damaged),
        cmocka_unit_test(avro_data_with_numbers_larger_than_the_bytes_behind_them_is_damaged),
        cmocka_unit_test(avro_data_packed_otherwise_is_refused_by_name),
        cmocka_unit_test(avro_data_cannot_claim_rows_without_bytes),
        cmocka_unit_test(avro_data_row_that_becomes_far_larger_hits_a_limit),
        cmocka_unit_test(avro_data_batch_ends_early_when_rows_are_large),
        cmocka_unit_test(avro_data_file_cut_at_any_byte_fails),
        cmocka_unit_test(avro_data_block_without_its_marker_is_damaged),
        cmocka_unit_test(avro_data_reading_survives_failing_memory_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
