/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is read back: every layout of a table, snapshots, splits, lifetimes. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"

#define SMALL_FILES  "\"target-file-size\":\"1 kb\""
#define SMALL_GROUPS "\"parquet.block.size\":\"2048\",\"metadata.stats-mode\":\"none\""

/* ---- layouts ---- */

static void write_and_read_all(table_kit *k)
{
    static const int64_t rows[] = {1, 0, 30, 7};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        (void)table_kit_append(k, rows[i]);
    table_kit_must_read(k, &(kit_read){0});
    table_kit_must_read(k, &(kit_read){.batch_rows = 5});
}

static void table_of_each_layout_reads_back_what_was_written(void **state)
{
    (void)state;
    static const char *const layouts[][2] = {
        {"", ""},
        {"\"p\"", ""},
        {"\"q\"", ""},
        {"\"d\"", ""},
        {"\"p\",\"q\"", ""},
        {"\"q\",\"p\",\"d\"", "\"bucket\":\"2\",\"bucket-key\":\"v\""},
        {"", "\"bucket\":\"4\",\"bucket-key\":\"id\""},
        {"", "\"bucket\":\"3\",\"bucket-key\":\"v,n\""},
        {"", "\"bucket\":\"3\",\"bucket-key\":\"k\",\"bucket-function.type\":\"mod\""},
        {"", "\"file.compression\":\"zstd\""},
        {"", "\"file.compression\":\"snappy\",\"parquet.enable.dictionary\":\"false\""},
        {"", SMALL_FILES},
        {"", SMALL_GROUPS},
        {"\"p\"", "\"data-file.path-directory\":\"data\",\"file.suffix.include.compression\":\"true\""},
        {"", "\"metadata.stats-dense-store\":\"false\",\"metadata.stats-keep-first-n-columns\":\"3\""},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        table_kit_run(layouts[i][0], layouts[i][1], write_and_read_all);
}

static void null_and_blank(table_kit *k)
{
    for (int i = 0; i < 6; i++)
        (void)table_kit_append(k, 40);
    table_kit_must_read(k, &(kit_read){0});
}

static void partitions_null_and_blank_share_a_directory_and_stay_apart(void **state)
{
    (void)state;
    table_kit_run("\"p\"", SMALL_FILES, null_and_blank);
}

static void rolls(table_kit *k)
{
    struct ArrowArray batch;
    pml_writer *w;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    for (int i = 0; i < 2; i++) {
        table_kit_batch(&batch, k, 8200);
        must_ok(table_kit_write(k, w, &batch, &err), &err);
    }
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    assert_int_equal(pml_messages_count(m), 1);
    assert_int_equal(pml_messages_rows(m), 16400);
    assert_int_equal(pml_messages_files(m), 4); /* 8192 rows and the rest of each batch */
    (void)table_kit_commit(k, m);
    table_kit_must_read(k, &(kit_read){0});
}

static void writer_with_a_tiny_target_size_rolls_files(void **state)
{
    (void)state;
    table_kit_run("", SMALL_FILES ",\"metadata.stats-mode\":\"none\"", rolls);
}

static void several_prepares(table_kit *k)
{
    struct ArrowArray batch;
    pml_writer *w;
    pml_messages *m[3];
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    for (int i = 0; i < 3; i++) {
        table_kit_batch(&batch, k, 50);
        must_ok(table_kit_write(k, w, &batch, &err), &err);
        must_ok(pml_writer_prepare(&m[i], w, &err), &err);
        assert_int_equal(pml_messages_rows(m[i]), 50);
    }
    pml_messages *none;
    must_ok(pml_writer_prepare(&none, w, &err), &err);
    assert_int_equal(pml_messages_files(none), 0);
    pml_messages_free(none);
    pml_writer_close(w); /* deletes nothing that a prepare returned */
    for (int i = 0; i < 3; i++)
        (void)table_kit_commit(k, m[i]);
    table_kit_must_read(k, &(kit_read){0});
}

static void writer_goes_on_after_a_prepare(void **state)
{
    (void)state;
    table_kit_run("\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", several_prepares);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n;
}

static void writer_of_many_partitions_keeps_few_files_open(void **state)
{
    (void)state;
    static const char json[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"v\",\"type\":\"INT\"}],"
        "\"partitionKeys\":[\"id\"],\"options\":{\"file.compression\":\"none\"}}";
    test_env *t = test_env_open(NULL);
    table_kit k;
    struct ArrowArray batch;
    pml_writer *w;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    table_kit_create(&k, t, test_path(t, "t"), json);
    must_ok(pml_writer_open(&w, k.table, &err), &err);
    int before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        table_kit_batch(&batch, &k, 150);
        must_ok(table_kit_write(&k, w, &batch, &err), &err);
    }
    assert_true(open_descriptors() - before <= 260);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    assert_int_equal(pml_messages_count(m), 450);
    assert_int_equal(pml_messages_rows(m), 450);
    pml_writer_close(w);
    (void)table_kit_commit(&k, m);
    table_kit_must_read(&k, &(kit_read){0});
    table_kit_close(&k);
    test_env_close(t);
}

/* ---- snapshots ---- */

static void snapshots(table_kit *k)
{
    for (int64_t i = 1; i <= 4; i++)
        assert_int_equal(table_kit_append(k, 30), i);
    for (int64_t i = 1; i <= 4; i++)
        table_kit_must_read(k, &(kit_read){.snapshot = i, .batches = (size_t)i});
    pml_scan *scan;
    pml_plan *plan;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, 9, &err), &err);
    must_fail_with(PML_E_NOT_FOUND, pml_scan_plan(&plan, scan, &err), &err);
    assert_non_null(strstr(err.message, "1 to 4"));
    must_fail_with(PML_E_INVAL, pml_scan_set_snapshot(scan, 0, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_limit(scan, -2, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_columns(scan, (const char *[]){"id", "v", "id"}, 3, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, -1, &err), &err);
    must_ok(pml_scan_set_columns(scan, (const char *[]){"id", "nobody"}, 2, &err), &err);
    must_fail_with(PML_E_NOT_FOUND, pml_scan_plan(&plan, scan, &err), &err);
    assert_non_null(strstr(err.message, "nobody"));
    pml_scan_free(scan);
}

static void chosen_snapshot_shows_the_rows_of_then(void **state)
{
    (void)state;
    table_kit_run("", "", snapshots);
}

static void empty_table(table_kit *k)
{
    pml_plan *plan;
    int64_t n;
    kit_plan(&plan, k, &(kit_read){0});
    assert_int_equal(pml_plan_snapshot_id(plan), -1);
    assert_int_equal(pml_plan_split_count(plan), 0);
    must_ok(pml_plan_count(&n, plan, NULL), NULL);
    assert_int_equal(n, 0);
    pml_plan_free(plan);
    table_kit_must_read(k, &(kit_read){0});
    must_ok(pml_table_latest_snapshot(&n, k->table, NULL), NULL);
    assert_int_equal(n, -1);
}

static void table_without_snapshot_reads_as_empty(void **state)
{
    (void)state;
    table_kit_run("", "", empty_table);
    table_kit_run("\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", empty_table);
}

/* ---- lifetimes and splits ---- */

static void streams_outlive_everything(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray first, second;
    char *json = kit_schema_json("\"p\"", "");
    table_kit_create(&k, t, test_path(t, "t"), json);
    free(json);
    (void)table_kit_append(&k, 100);
    kit_plan(&plan, &k, &(kit_read){0});
    must_ok(pml_read_open(&stream, plan, NULL, NULL), NULL);
    pml_plan_free(plan);
    table_kit_close(&k);
    pml_env_release(t->env);
    assert_int_equal(stream.get_next(&stream, &first), 0);
    assert_int_equal(stream.get_next(&stream, &second), 0);
    stream.release(&stream);
    assert_true(first.length > 0 && second.length > 0);
    second.release(&second); /* arrays outlive the stream, too */
    first.release(&first);
    assert_int_equal(atomic_load(&t->live), 0);
    must_ok(pml_env_new(&t->env, NULL, NULL), NULL); /* for test_env_close */
    test_env_close(t);
}

static void each_split(table_kit *k)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    int64_t rows = 0;
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(k, 60);
    kit_plan(&plan, k, &(kit_read){0});
    assert_true(pml_plan_split_count(plan) > 3);
    for (size_t i = 0; i < pml_plan_split_count(plan); i++) {
        pml_split_info info = PML_SPLIT_INFO_INIT;
        pml_read_options o = PML_READ_OPTIONS_INIT;
        int64_t n = 0;
        o.split = (int64_t)i;
        must_ok(pml_plan_split_get(&info, plan, i, &err), &err);
        must_ok(pml_read_open(&stream, plan, &o, &err), &err);
        for (; stream.get_next(&stream, &batch) == 0 && batch.release != NULL; batch.release(&batch))
            n += batch.length;
        stream.release(&stream);
        assert_int_equal(n, info.rows_on_disk);
        rows += n;
    }
    assert_int_equal(rows, 180);
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.split = (int64_t)pml_plan_split_count(plan);
    must_fail_with(PML_E_INVAL, pml_read_open(&stream, plan, &o, &err), &err);
    pml_plan_free(plan);
}

static void splits_read_one_by_one_are_the_whole(void **state)
{
    (void)state;
    table_kit_run("\"q\"", "\"bucket\":\"2\",\"bucket-key\":\"id\",\"source.split.target-size\":\"1 b\"", each_split);
}

/* expired: a newer snapshot came after the plan, so that the one it read may be gone with its files. */
static void missing_file(table_kit *k, bool expired)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    (void)table_kit_append(k, 10);
    (void)table_kit_append(k, 10);
    kit_plan(&plan, k, &(kit_read){0});
    if (expired)
        (void)table_kit_append(k, 10);
    assert_int_equal(remove(plan->splits[0].paths[0]), 0);
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    pml_plan_free(plan);
    for (int i = 0; i < 3; i++) { /* going on after a failure must not skip the file */
        assert_int_not_equal(stream.get_next(&stream, &batch), 0);
        assert_null(batch.release);
        must_fail_with(expired ? PML_E_SNAPSHOT_GONE : PML_E_CORRUPT, pml_stream_error(&stream, &err), &err);
        assert_non_null(strstr(err.message, expired ? "plan again" : "damaged"));
    }
    stream.release(&stream);
}

static void missing_file_of_the_latest_snapshot(table_kit *k)
{
    missing_file(k, false);
}

static void missing_file_of_an_older_snapshot(table_kit *k)
{
    missing_file(k, true);
}

static void missing_data_file_fails_the_stream_for_good(void **state)
{
    (void)state;
    table_kit_run("", "", missing_file_of_the_latest_snapshot);
    table_kit_run("", "", missing_file_of_an_older_snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_each_layout_reads_back_what_was_written),
        cmocka_unit_test(partitions_null_and_blank_share_a_directory_and_stay_apart),
        cmocka_unit_test(writer_with_a_tiny_target_size_rolls_files),
        cmocka_unit_test(writer_goes_on_after_a_prepare),
        cmocka_unit_test(writer_of_many_partitions_keeps_few_files_open),
        cmocka_unit_test(chosen_snapshot_shows_the_rows_of_then),
        cmocka_unit_test(table_without_snapshot_reads_as_empty),
        cmocka_unit_test(streams_outlive_everything),
        cmocka_unit_test(splits_read_one_by_one_are_the_whole),
        cmocka_unit_test(missing_data_file_fails_the_stream_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
