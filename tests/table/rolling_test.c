/* SPDX-License-Identifier: Apache-2.0 */
/* How batches become files: short ones wait for each other, files end at their targets, encodings follow the options. */
#include <stdio.h>

#include "support/table_kit.h"
#include "table/writer.h"

typedef struct world {
    test_env *t;
    table_kit k;
    int64_t bytes; /* of the first file of the last commit */
} world;

static void world_open(world *w, const char *options)
{
    char json[600];
    (void)snprintf(json, sizeof json,
                   "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"v\",\"type\":\"STRING\"},"
                   "{\"name\":\"d\",\"type\":\"DECIMAL(20,2)\"}],\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{%s}}",
                   options);
    w->t = test_env_open(NULL);
    w->k = (table_kit){0};
    table_kit_create(&w->k, w->t, test_path(w->t, "t"), json);
}

static void world_close(world *w)
{
    table_kit_close(&w->k);
    test_env_close(w->t);
}

/* Batches of these many rows by one writer, one commit. Returns the number of files. */
static int64_t written(world *w, const int64_t *rows, size_t n)
{
    pml_writer *writer = NULL;
    pml_messages *m = NULL;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&writer, w->k.table, &err), &err);
    for (size_t i = 0; i < n; i++) {
        struct ArrowArray batch;
        table_kit_batch(&batch, &w->k, rows[i]);
        must_ok(table_kit_write(&w->k, writer, &batch, &err), &err);
    }
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    int64_t files = pml_messages_files(m);
    w->bytes = m->v[0]->files[0].size_bytes;
    (void)table_kit_commit(&w->k, m);
    pml_writer_close(writer);
    return files;
}

static void short_batches_become_one_file_in_their_order(void **state)
{
    (void)state;
    world w;
    int64_t rows[45];
    for (size_t i = 0; i < 45; i++)
        rows[i] = 1 + (int64_t)(i * i) % 977;
    world_open(&w, "");
    assert_int_equal(written(&w, rows, 45), 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
}

/* 8,192 rows are a piece, 32,768 are enough to begin a file with: all sides of both. */
static void short_and_long_batches_keep_their_order(void **state)
{
    (void)state;
    world w;
    static const int64_t rows[] = {5, 8191, 8192, 1, 20000, 8191, 8193, 40000, 3, 70000, 2};
    world_open(&w, "");
    assert_int_equal(written(&w, rows, sizeof rows / sizeof rows[0]), 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
}

static void rows_do_not_wait_past_the_target_of_a_file(void **state)
{
    (void)state;
    world w;
    int64_t rows[20];
    for (size_t i = 0; i < 20; i++)
        rows[i] = 50;
    world_open(&w, "\"target-file-row-num\":\"100\"");
    assert_int_equal(written(&w, rows, 20), 10);
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
    world_open(&w, "\"target-file-size\":\"2 kb\"");
    assert_true(written(&w, rows, 20) > 3);
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
}

static void writer_closed_while_rows_wait_leaves_nothing(void **state)
{
    (void)state;
    world w;
    pml_writer *writer = NULL;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "");
    must_ok(pml_writer_open(&writer, w.k.table, &err), &err);
    table_kit_batch(&batch, &w.k, 10);
    must_ok(table_kit_write(&w.k, writer, &batch, &err), &err);
    pml_writer_close(writer);
    w.k.absent[0] = true;
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
}

/* Bytes of the only data file of 50,000 ids in a row. */
static int64_t bytes_with(const char *options)
{
    world w;
    static const int64_t rows[] = {50000};
    world_open(&w, options);
    assert_int_equal(written(&w, rows, 1), 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    int64_t bytes = w.bytes;
    world_close(&w);
    return bytes;
}

static void whole_numbers_without_a_dictionary_are_differences(void **state)
{
    (void)state;
    int64_t plain = bytes_with("\"parquet.enable.dictionary\":\"false\",\"parquet.enable.delta\":\"false\","
                               "\"file.compression\":\"none\"");
    int64_t delta = bytes_with("\"parquet.enable.dictionary\":\"false\",\"file.compression\":\"none\"");
    print_message("%lld bytes, %lld plain\n", (long long)delta, (long long)plain);
    assert_in_range(plain - delta, 50000 * 7, 50000 * 8); /* of eight bytes a row nearly nothing is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_batches_become_one_file_in_their_order),
        cmocka_unit_test(short_and_long_batches_keep_their_order),
        cmocka_unit_test(rows_do_not_wait_past_the_target_of_a_file),
        cmocka_unit_test(writer_closed_while_rows_wait_leaves_nothing),
        cmocka_unit_test(whole_numbers_without_a_dictionary_are_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
