/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is read back: every layout of a table, projections, predicates, limits, snapshots, lifetimes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"

#define SMALL_FILES "\"target-file-size\":\"1 kb\""
#define SMALL_GROUPS "\"parquet.block.size\":\"2048\",\"metadata.stats-mode\":\"none\""

static void with_table(const char *partition_keys, const char *options, void (*body)(table_kit *k))
{
    test_env *t = test_env_open(NULL);
    table_kit k;
    char *json = kit_schema_json(partition_keys, options);
    table_kit_create(&k, t, test_path(t, "wh/t"), json);
    free(json);
    body(&k);
    table_kit_close(&k);
    test_env_close(t);
}

/* ---- layouts ---- */

static void write_and_read_all(table_kit *k)
{
    static const int64_t rows[] = {1, 0, 100, 7};
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
        with_table(layouts[i][0], layouts[i][1], write_and_read_all);
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
    with_table("\"p\"", SMALL_FILES, null_and_blank);
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
    with_table("", SMALL_FILES ",\"metadata.stats-mode\":\"none\"", rolls);
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
    with_table("\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", several_prepares);
}

/* ---- choosing ---- */

static void shuffle(test_env *t, int32_t *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = test_random(t) % i;
        int32_t x = v[i - 1];
        v[i - 1] = v[j];
        v[j] = x;
    }
}

static void random_projections(table_kit *k)
{
    pml_arena arena;
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(k, 100);
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < (k->table->schema->n_partition_keys > 1 ? 6 : 16); i++) {
        int32_t columns[64];
        for (size_t c = 0; c < k->n_fields; c++)
            columns[c] = (int32_t)c;
        shuffle(k->t, columns + 1, k->n_fields - 1);
        size_t n = 1 + test_random(k->t) % k->n_fields;
        shuffle(k->t, columns, n);
        kit_read r = {.n_columns = n, .columns = columns, .batch_rows = 1 + (int64_t)(test_random(k->t) % 200)};
        r.predicate = i % 3 == 0 ? NULL : kit_random_predicate(k, &arena, 3);
        r.limit = i % 5 == 0 ? 1 + (int64_t)(test_random(k->t) % 300) : 0;
        table_kit_must_read(k, &r);
    }
    pml_arena__clear(&arena);
}

static void reads_with_random_columns_predicates_and_limits_equal_brute_force(void **state)
{
    (void)state;
    (void)test_seed();
    with_table("", "", random_projections);
    with_table("\"p\",\"q\"", SMALL_FILES, random_projections);
    with_table("\"d\"", "\"bucket\":\"3\",\"bucket-key\":\"id\"", random_projections);
    with_table("", SMALL_GROUPS, random_projections);
    with_table("", "\"metadata.stats-mode\":\"full\"", random_projections);
}

static void no_columns(table_kit *k)
{
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    int64_t rows = 0;
    const pml_value half = {.kind = PML_VALUE_INT, .i = 100};
    (void)table_kit_append(k, 200);
    pml_arena__init(&arena, k->t->env);
    const pml_predicate p = {.tree = kit_leaf(k, &arena, 0, PML_PRED_LT, &half, 1)};
    for (int with = 0; with < 2; with++) {
        must_ok(pml_scan_new(&scan, k->table, &err), &err);
        must_ok(pml_scan_set_columns(scan, NULL, 0, &err), &err);
        must_ok(pml_scan_set_predicate(scan, with ? &p : NULL, &err), &err);
        must_ok(pml_scan_plan(&plan, scan, &err), &err);
        must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
        pml_plan_free(plan);
        pml_scan_free(scan);
        for (rows = 0; stream.get_next(&stream, &batch) == 0 && batch.release != NULL; batch.release(&batch)) {
            assert_int_equal(batch.n_children, 0);
            rows += batch.length;
        }
        stream.release(&stream);
        assert_int_equal(rows, with ? 100 : 200);
    }
    pml_arena__clear(&arena);
}

static void read_of_no_columns_gives_row_counts(void **state)
{
    (void)state;
    with_table("", "", no_columns);
    with_table("\"p\"", "", no_columns);
}

static void pruning(table_kit *k)
{
    pml_arena arena;
    pml_plan *plan;
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < 10; i++)
        (void)table_kit_append(k, 20);
    kit_plan(&plan, k, &(kit_read){0});
    int64_t all = kit_plan_files(plan);
    pml_plan_free(plan);
    assert_int_equal(all, 10);
    for (int64_t id = 0; id < 200; id += 26) {
        const pml_value v = {.kind = PML_VALUE_INT, .i = id};
        kit_read r = {.predicate = kit_leaf(k, &arena, 0, PML_PRED_EQ, &v, 1)};
        kit_plan(&plan, k, &r);
        assert_int_equal(kit_plan_files(plan), 1);
        pml_plan_free(plan);
        table_kit_must_read(k, &r);
        r.predicate = kit_leaf(k, &arena, 0, PML_PRED_GE, &v, 1);
        kit_plan(&plan, k, &r);
        assert_int_equal(kit_plan_files(plan), 10 - id / 20);
        pml_plan_free(plan);
        table_kit_must_read(k, &r);
    }
    pml_arena__clear(&arena);
}

static void plan_leaves_out_files_whose_statistics_exclude_the_predicate(void **state)
{
    (void)state;
    with_table("", "", pruning);
}

static void partition_pruning(table_kit *k)
{
    pml_arena arena;
    pml_plan *plan;
    pml_split_info info = PML_SPLIT_INFO_INIT;
    const pml_value v = {.kind = PML_VALUE_INT, .i = 50};
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(k, 100);
    const kit_read r = {.predicate = kit_leaf(k, &arena, 2, PML_PRED_EQ, &v, 1)};
    kit_plan(&plan, k, &r);
    assert_int_equal(pml_plan_split_count(plan), 1);
    must_ok(pml_plan_split_get(&info, plan, 0, NULL), NULL);
    assert_string_equal(info.partition, "q=50");
    assert_int_equal(info.files, 3);
    assert_int_equal(info.rows_on_disk, kit_expected_rows(k, r.predicate, 0)); /* the partition is exactly the answer */
    must_fail_with(PML_E_INVAL, pml_plan_split_get(&info, plan, 1, NULL), NULL);
    pml_plan_free(plan);
    table_kit_must_read(k, &r);
    pml_arena__clear(&arena);
}

static void plan_leaves_out_partitions_that_do_not_match(void **state)
{
    (void)state;
    with_table("\"q\"", "", partition_pruning);
}

static const int32_t id_only[] = {0};

/* NaN is the largest value, and Parquet footers leave it out of their maximum; -0.0 is less than 0.0. */
static void float_footers(table_kit *k)
{
    pml_arena arena;
    pml_arena__init(&arena, k->t->env);
    (void)table_kit_append(k, 200);
    for (int32_t c = 8; c <= 9; c++)
        for (int op = PML_PRED_EQ; op <= PML_PRED_GE; op++) {
            const double values[] = {INFINITY, NAN, -0.0, 0.0, -INFINITY, 1e30};
            for (size_t i = 0; i < 6; i++) {
                pml_value v = {.kind = c == 8 ? PML_VALUE_FLOAT : PML_VALUE_DOUBLE};
                if (c == 8)
                    v.f = (float)values[i];
                else
                    v.d = values[i];
                table_kit_must_read(k, &(kit_read){.predicate = kit_leaf(k, &arena, c, (pml_pred_op)op, &v, 1), .columns = id_only, .n_columns = 1});
            }
        }
    pml_arena__clear(&arena);
}

static void special_values(table_kit *k, double low, double high, double extra)
{
    struct ArrowArray batch, columns[64];
    pml_builder *b;
    pml_writer *w;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    const double values[] = {low, high, extra, low};
    table_kit_batch(&batch, k, 4);
    for (size_t i = 0; i < k->n_fields; i++) {
        columns[i] = *batch.children[i];
        batch.children[i]->release = NULL;
    }
    batch.release(&batch);
    for (size_t c = 8; c <= 9; c++) {
        must_ok(pml_builder__new(&b, k->t->env, &k->fields[c].type, NULL), NULL);
        for (size_t i = 0; i < 4; i++)
            must_ok(pml_builder__append_value(b, c == 8 ? &(pml_value){.kind = PML_VALUE_FLOAT, .f = (float)values[i]}
                                                        : &(pml_value){.kind = PML_VALUE_DOUBLE, .d = values[i]}),
                    NULL);
        columns[c].release(&columns[c]);
        must_ok(pml_builder__finish(b, &columns[c], NULL), NULL);
        pml_builder__free(b);
    }
    must_ok(pml_batch__from_columns(&batch, k->t->env, columns, k->n_fields, 4, NULL), NULL);
    size_t at = k->n_batches - 1;
    pml_array__release(&k->batches[at]);
    must_ok(pml_batch__gather_rows(&k->batches[at], k->t->env, k->fields, k->n_fields, &batch, NULL, 4, NULL), NULL);
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(table_kit_write(k, w, &batch, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    (void)table_kit_commit(k, m);
}

static void small_float_files(table_kit *k)
{
    pml_arena arena;
    special_values(k, 1, 2, NAN);
    special_values(k, 0.0, 1, -0.0);
    special_values(k, -1, -0.0, 0.0);
    special_values(k, NAN, NAN, NAN);
    special_values(k, -0.0, -0.0, -0.0);
    special_values(k, 0.0, 0.0, 0.0);
    pml_arena__init(&arena, k->t->env);
    for (int32_t c = 8; c <= 9; c++)
        for (int op = PML_PRED_EQ; op <= PML_PRED_GE; op++) {
            const double values[] = {3, NAN, -0.0, 0.0, INFINITY, 1};
            for (size_t i = 0; i < 6; i++) {
                pml_value v = {.kind = PML_VALUE_FLOAT, .f = (float)values[i]};
                if (c == 9)
                    v = (pml_value){.kind = PML_VALUE_DOUBLE, .d = values[i]};
                table_kit_must_read(k, &(kit_read){.predicate = kit_leaf(k, &arena, c, (pml_pred_op)op, &v, 1), .columns = id_only, .n_columns = 1});
            }
        }
    pml_arena__clear(&arena);
}

static void row_groups_with_nan_or_negative_zero_lose_no_row(void **state)
{
    (void)state;
    with_table("", SMALL_GROUPS, float_footers);
    with_table("", "\"metadata.stats-mode\":\"none\"", small_float_files);
    with_table("", "", small_float_files);
}

static void row_groups(table_kit *k)
{
    pml_arena arena;
    pml_arena__init(&arena, k->t->env);
    struct ArrowArray batch;
    pml_writer *w;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    for (int i = 0; i < 8; i++) {
        table_kit_batch(&batch, k, 100);
        must_ok(table_kit_write(k, w, &batch, &err), &err);
    }
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    assert_int_equal(pml_messages_files(m), 1);
    (void)table_kit_commit(k, m);
    for (int i = 0; i < 20; i++)
        table_kit_must_read(k, &(kit_read){.predicate = kit_random_predicate(k, &arena, 2), .columns = id_only, .n_columns = 1});
    /* Nothing matches: all row groups are left out. */
    const pml_value v = {.kind = PML_VALUE_INT, .i = -5};
    table_kit_must_read(k, &(kit_read){.predicate = kit_leaf(k, &arena, 0, PML_PRED_EQ, &v, 1)});
    pml_arena__clear(&arena);
}

static void files_of_several_row_groups_are_pruned_exactly(void **state)
{
    (void)state;
    with_table("", SMALL_GROUPS, row_groups);
}

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
    with_table("", "", snapshots);
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
    with_table("", "", empty_table);
    with_table("\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", empty_table);
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
    with_table("\"q\"", "\"bucket\":\"2\",\"bucket-key\":\"id\",\"source.split.target-size\":\"1 b\"", each_split);
}

static void missing_file(table_kit *k)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    (void)table_kit_append(k, 10);
    (void)table_kit_append(k, 10);
    kit_plan(&plan, k, &(kit_read){0});
    assert_int_equal(remove(plan->splits[0].paths[0]), 0);
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    pml_plan_free(plan);
    for (int i = 0; i < 3; i++) { /* going on after a failure must not skip the file */
        assert_int_not_equal(stream.get_next(&stream, &batch), 0);
        assert_null(batch.release);
        must_fail_with(PML_E_SNAPSHOT_GONE, pml_stream_error(&stream, &err), &err);
        assert_non_null(strstr(err.message, "plan again"));
    }
    stream.release(&stream);
}

static void missing_data_file_fails_the_stream_for_good(void **state)
{
    (void)state;
    with_table("", "", missing_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_each_layout_reads_back_what_was_written),
        cmocka_unit_test(partitions_null_and_blank_share_a_directory_and_stay_apart),
        cmocka_unit_test(writer_with_a_tiny_target_size_rolls_files),
        cmocka_unit_test(writer_goes_on_after_a_prepare),
        cmocka_unit_test(reads_with_random_columns_predicates_and_limits_equal_brute_force),
        cmocka_unit_test(read_of_no_columns_gives_row_counts),
        cmocka_unit_test(plan_leaves_out_files_whose_statistics_exclude_the_predicate),
        cmocka_unit_test(plan_leaves_out_partitions_that_do_not_match),
        cmocka_unit_test(row_groups_with_nan_or_negative_zero_lose_no_row),
        cmocka_unit_test(files_of_several_row_groups_are_pruned_exactly),
        cmocka_unit_test(chosen_snapshot_shows_the_rows_of_then),
        cmocka_unit_test(table_without_snapshot_reads_as_empty),
        cmocka_unit_test(streams_outlive_everything),
        cmocka_unit_test(splits_read_one_by_one_are_the_whole),
        cmocka_unit_test(missing_data_file_fails_the_stream_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
