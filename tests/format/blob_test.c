/* SPDX-License-Identifier: Apache-2.0 */
/* Blob files: rows, parts, selections, limits and damage. Those of Java are read in tests/tables and tests/interop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "support/avro_kit.h"

typedef struct blob_file {
    uint8_t bytes[4096], index[256];
    size_t len, index_len;
    int64_t last;
} blob_file;

static void put_index(blob_file *f, int64_t length)
{
    int64_t delta = length - f->last;
    uint64_t bits = (uint64_t)delta << 1 ^ (uint64_t)(delta >> 63);
    f->last = length;
    for (; bits >= 0x80; bits >>= 7)
        f->index[f->index_len++] = (uint8_t)(bits | 0x80);
    f->index[f->index_len++] = (uint8_t)bits;
}

/* NULL: a null. */
static void put_value(blob_file *f, const char *value)
{
    uint8_t *p = f->bytes + f->len;
    size_t n = value == NULL ? 0 : strlen(value);
    put_index(f, value == NULL ? -1 : (int64_t)n + 16);
    if (value == NULL)
        return;
    pml_put_le32(p, 1481511375);
    memcpy(p + 4, value, n);
    pml_put_le64(p + 4 + n, n + 16);
    pml_put_le32(p + 12 + n, (uint32_t)crc32(0, p, (uInt)n + 12));
    f->len += n + 16;
}

static void end_file(blob_file *f)
{
    memcpy(f->bytes + f->len, f->index, f->index_len);
    f->len += f->index_len;
    pml_put_le32(f->bytes + f->len, (uint32_t)f->index_len);
    f->bytes[f->len + 4] = 1;
    f->len += 5;
}

static void kit_open(avro_kit *k, const blob_file *f)
{
    avro_kit_open(k);
    k->format = "blob";
    k->path = test_path(k->t, "data-1.blob");
    avro_kit_want(k, "b BLOB");
    avro_kit_put(k, f->bytes, f->len);
}

static void four_values(blob_file *f)
{
    memset(f, 0, sizeof *f);
    put_value(f, "a value");
    put_value(f, NULL);
    put_value(f, "");
    put_value(f, "another one");
    end_file(f);
}

#define FOUR "{\"b\":\"612076616c7565\"}\n{\"b\":null}\n{\"b\":\"\"}\n{\"b\":\"616e6f74686572206f6e65\"}\n"

static void blob_file_gives_its_values(void **state)
{
    (void)state;
    avro_kit k;
    blob_file f;
    four_values(&f);
    kit_open(&k, &f);
    avro_kit_must_read(&k, FOUR);
    k.q.checksums = true;
    for (k.q.batch_rows = 1; k.q.batch_rows < 5; k.q.batch_rows++)
        avro_kit_must_read(&k, FOUR);
    k.q.n_fields = 0;
    k.want.n_children = 0;
    avro_kit_must_read(&k, "{}\n{}\n{}\n{}\n");
    avro_kit_close(&k);
}

static void parts_are_the_file_in_order(void **state)
{
    (void)state;
    avro_kit k;
    blob_file f;
    char all[sizeof FOUR] = "";
    four_values(&f);
    kit_open(&k, &f);
    k.q.parts = 3;
    for (k.q.part = 0; k.q.part < 3; k.q.part++) {
        pml_error err = PML_ERROR_INIT;
        must_ok(avro_kit_read(&k, &err), &err);
        strncat(all, k.text.len == 0 ? "" : (const char *)k.text.data, k.text.len);
    }
    assert_string_equal(all, FOUR);
    avro_kit_close(&k);
}

static void only_wanted_rows_are_read(void **state)
{
    (void)state;
    avro_kit k;
    blob_file f;
    pml_row_set set;
    pml_error err = PML_ERROR_INIT;
    four_values(&f);
    f.bytes[0] ^= 1; /* row 0 is damaged, but nobody wants it */
    kit_open(&k, &f);
    must_ok(pml_row_set__init(&set, k.t->env, 4, false, &err), &err);
    pml_row_set__add_range(&set, 1, 4);
    k.q.rows = &set;
    avro_kit_must_read(&k, strchr(FOUR, '\n') + 1);
    pml_row_set__clear(&set);
    must_ok(pml_row_set__init(&set, k.t->env, 5, true, &err), &err);
    avro_kit_must_fail(&k, PML_E_CORRUPT, "4 rows");
    pml_row_set__clear(&set);
    avro_kit_close(&k);
}

static void batches_end_where_values_are_large(void **state)
{
    (void)state;
    avro_kit k;
    blob_file f;
    four_values(&f);
    kit_open(&k, &f);
    k.t->env->bridge_bytes_max = 11;
    avro_kit_must_read(&k, FOUR);
    assert_int_equal(k.batches, 2);
    k.t->env->bridge_bytes_max = 10;
    avro_kit_must_fail(&k, PML_E_LIMIT, "row 3");
    avro_kit_close(&k);
}

static void other_columns_are_refused(void **state)
{
    (void)state;
    avro_kit k;
    blob_file f;
    four_values(&f);
    kit_open(&k, &f);
    avro_kit_want(&k, "b BYTES");
    avro_kit_must_fail(&k, PML_E_CORRUPT, "no 'b'");
    avro_kit_want(&k, "b BLOB, c BLOB");
    avro_kit_must_fail(&k, PML_E_CORRUPT, "no 'c'");
    avro_kit_close(&k);
    avro_kit_open(&k);
    avro_kit_want(&k, "r ROW<b BLOB>"); /* in files of other formats there are only places */
    avro_kit_put(&k, "", 0);
    avro_kit_must_fail(&k, PML_E_UNSUPPORTED, "needs blob-descriptor-field");
    avro_kit_close(&k);
}

static void damage(size_t at, uint8_t byte, int code, const char *words)
{
    avro_kit k;
    blob_file f;
    four_values(&f);
    assert_true(at < f.len);
    f.bytes[at] = byte;
    kit_open(&k, &f);
    k.q.checksums = true;
    avro_kit_must_fail(&k, code, words);
    avro_kit_close(&k);
}

static void damaged_blob_files_are_refused(void **state)
{
    (void)state;
    blob_file f;
    four_values(&f);
    size_t index = f.len - 5 - f.index_len;
    damage(0, 'x', PML_E_CORRUPT, "does not begin as values do");
    damage(5, 'x', PML_E_CORRUPT, "checksum");
    damage(11, 22, PML_E_CORRUPT, "another length");
    damage(f.len - 1, 2, PML_E_UNSUPPORTED, "needs blob-version:2");
    damage(f.len - 2, 0x80, PML_E_CORRUPT, "longer than the file");
    damage(f.len - 4, 1, PML_E_CORRUPT, "longer than the file");
    damage(f.len - 5, (uint8_t)(f.index_len - 1), PML_E_CORRUPT, "");
    damage(f.len - 6, 0xff, PML_E_CORRUPT, "other lengths");           /* the last number has no end: a row less */
    damage(index, 46 + 2, PML_E_CORRUPT, "");                          /* all values a byte longer */
    damage(index, 30, PML_E_CORRUPT, "fewer than one has");            /* 15 bytes */
    damage(index + f.index_len - 1, 120, PML_E_CORRUPT, "more bytes than there are");
}

static void cut_blob_files_are_refused(void **state)
{
    (void)state;
    blob_file f;
    four_values(&f);
    for (size_t len = 0; len < f.len; len++) {
        avro_kit k;
        pml_error err = PML_ERROR_INIT;
        kit_open(&k, &f);
        avro_kit_put(&k, f.bytes, len);
        int rc = avro_kit_read(&k, &err);
        assert_true(rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED);
        avro_kit_close(&k);
    }
}

static void every_failure_is_survived(void **state)
{
    (void)state;
    avro_kit k;
    blob_file f;
    four_values(&f);
    kit_open(&k, &f);
    for (int files = 0; files < 2; files++)
        for (long long n = 1;; n++) {
            pml_error err = PML_ERROR_INIT;
            k.q.batch_rows = 2;
            pml_buf__clear(&k.text);
            if (files != 0)
                faulty_fs_fail_at(&k.fs, n, FAULT_BEFORE, PML_E_IO, 0);
            else
                test_env_fail_at(k.t, n);
            int rc = avro_kit_read(&k, &err);
            bool reached = files != 0 ? rc != PML_OK : test_env_fail_reached(k.t);
            test_env_fail_at(k.t, 0);
            faulty_fs_fail_at(&k.fs, 0, FAULT_BEFORE, PML_E_IO, 0);
            assert_true(rc == PML_OK || rc == (files != 0 ? PML_E_IO : PML_E_NOMEM));
            if (!reached)
                break;
        }
    avro_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blob_file_gives_its_values),
        cmocka_unit_test(parts_are_the_file_in_order),
        cmocka_unit_test(only_wanted_rows_are_read),
        cmocka_unit_test(batches_end_where_values_are_large),
        cmocka_unit_test(other_columns_are_refused),
        cmocka_unit_test(damaged_blob_files_are_refused),
        cmocka_unit_test(cut_blob_files_are_refused),
        cmocka_unit_test(every_failure_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
