/* SPDX-License-Identifier: Apache-2.0 */
/* Projections, predicates and limits against brute force; what plans and readers leave out never loses a row. */
#include <math.h>
#include <string.h>

#include "support/table_kit.h"

#define SMALL_FILES  "\"target-file-size\":\"1 kb\""
#define SMALL_GROUPS "\"parquet.block.size\":\"2048\",\"metadata.stats-mode\":\"none\""

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
        (void)table_kit_append(k, 50);
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < (k->table->schema->n_partition_keys > 1 ? 4 : 12); i++) {
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
    table_kit_run("", "", random_projections);
    table_kit_run("\"p\",\"q\"", SMALL_FILES, random_projections);
    table_kit_run("\"d\"", "\"bucket\":\"3\",\"bucket-key\":\"id\"", random_projections);
    table_kit_run("", SMALL_GROUPS, random_projections);
    table_kit_run("", "\"metadata.stats-mode\":\"full\"", random_projections);
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
    table_kit_run("", "", no_columns);
    table_kit_run("\"p\"", "", no_columns);
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
    table_kit_run("", "", pruning);
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
    table_kit_run("\"q\"", "", partition_pruning);
}

static const int32_t id_only[] = {0};

/* NaN is the largest value, and Parquet footers leave it out of their maximum; -0.0 is less than 0.0. */
static void float_footers(table_kit *k)
{
    pml_arena arena;
    pml_arena__init(&arena, k->t->env);
    (void)table_kit_append(k, 100);
    for (int32_t c = 8; c <= 9; c++)
        for (int op = PML_PRED_EQ; op <= PML_PRED_GE; op++) {
            const double values[] = {INFINITY, NAN, -0.0, 0.0};
            for (size_t i = 0; i < 4; i++) {
                pml_value v = {.kind = c == 8 ? PML_VALUE_FLOAT : PML_VALUE_DOUBLE};
                if (c == 8)
                    v.f = (float)values[i];
                else
                    v.d = values[i];
                table_kit_must_read(k, &(kit_read){.predicate = kit_leaf(k, &arena, c, (pml_pred_op)op, &v, 1),
                                                   .columns = id_only,
                                                   .n_columns = 1});
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
                table_kit_must_read(k, &(kit_read){.predicate = kit_leaf(k, &arena, c, (pml_pred_op)op, &v, 1),
                                                   .columns = id_only,
                                                   .n_columns = 1});
            }
        }
    pml_arena__clear(&arena);
}

static void row_groups_with_nan_or_negative_zero_lose_no_row(void **state)
{
    (void)state;
    table_kit_run("", SMALL_GROUPS, float_footers);
    table_kit_run("", "\"metadata.stats-mode\":\"none\"", small_float_files);
    table_kit_run("", "", small_float_files);
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
        table_kit_must_read(
            k, &(kit_read){.predicate = kit_random_predicate(k, &arena, 2), .columns = id_only, .n_columns = 1});
    /* Nothing matches: all row groups are left out. */
    const pml_value v = {.kind = PML_VALUE_INT, .i = -5};
    table_kit_must_read(k, &(kit_read){.predicate = kit_leaf(k, &arena, 0, PML_PRED_EQ, &v, 1)});
    pml_arena__clear(&arena);
}

static void files_of_several_row_groups_are_pruned_exactly(void **state)
{
    (void)state;
    table_kit_run("", SMALL_GROUPS, row_groups);
}

/* Files of a plan by one condition on a column. */
static int64_t files_by(table_kit *k, int32_t column, pml_pred_op op, pml_value v)
{
    pml_arena arena;
    pml_plan *plan;
    pml_arena__init(&arena, k->t->env);
    kit_plan(&plan, k, &(kit_read){.predicate = kit_leaf(k, &arena, column, op, &v, 1)});
    int64_t files = kit_plan_files(plan);
    pml_plan_free(plan);
    pml_arena__clear(&arena);
    return files;
}

/* Statistics that Java takes from ORC footers are those of padded CHAR texts, and know nothing of NaN; and CHAR values were dealt to
   buckets with the blanks that reading takes away. The files are only planned: they are Parquet under another name. */
static void orc_files_are_not_left_out_by_char_and_floating_point_columns(void **state)
{
    (void)state;
    static const char json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"c\",\"type\":\"CHAR(4)\"},"
                               "{\"name\":\"v\",\"type\":\"VARCHAR(4)\"},{\"name\":\"f\",\"type\":\"FLOAT\"},"
                               "{\"name\":\"d\",\"type\":\"DOUBLE\"}],\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{"
                               "\"bucket\":\"4\",\"bucket-key\":\"c\"},\"comment\":\"\"}";
    const pml_value below_all = {.kind = PML_VALUE_DOUBLE, .d = -INFINITY}, no_text = {.kind = PML_VALUE_BYTES, .bytes = {NULL, 0}};
    for (int orc = 0; orc <= 1; orc++) {
        test_env *t = test_env_open(NULL);
        table_kit k;
        table_kit_create(&k, t, test_path(t, "t"), json);
        pml_messages *m = table_kit_prepare(&k, 100);
        size_t buckets = m->n;
        for (size_t i = 0; i < buckets && orc == 1; i++)
            m->v[i]->files[0].name = "data-1.orc";
        (void)table_kit_commit(&k, m);
        k.absent[0] = true;
        assert_int_equal(buckets, 4);
        assert_int_equal(files_by(&k, 0, PML_PRED_LT, (pml_value){.kind = PML_VALUE_INT, .i = -1}), 0);
        assert_int_equal(files_by(&k, 2, PML_PRED_LT, no_text), 0);
        assert_int_equal(files_by(&k, 1, PML_PRED_LT, no_text), orc == 1 ? 4 : 0);
        assert_in_range(files_by(&k, 4, PML_PRED_LT, below_all), orc == 1 ? 4 : 0, 4); /* ours have no bounds where NaN is */
        assert_in_range(files_by(&k, 1, PML_PRED_EQ, no_text), orc == 1 ? 4 : 0, orc == 1 ? 4 : 1);
        table_kit_close(&k);
        test_env_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_with_random_columns_predicates_and_limits_equal_brute_force),
        cmocka_unit_test(read_of_no_columns_gives_row_counts),
        cmocka_unit_test(plan_leaves_out_files_whose_statistics_exclude_the_predicate),
        cmocka_unit_test(plan_leaves_out_partitions_that_do_not_match),
        cmocka_unit_test(row_groups_with_nan_or_negative_zero_lose_no_row),
        cmocka_unit_test(files_of_several_row_groups_are_pruned_exactly),
        cmocka_unit_test(orc_files_are_not_left_out_by_char_and_floating_point_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
