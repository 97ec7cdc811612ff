/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan need not open: manifests by their partitions, files by their buckets. Never at the price of a row. */
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"
#include "support/test_types.h"
#include "table/prune.h"

/* ---- manifests ---- */

enum { PARTITIONS = 12 };

static const char schema[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"p\",\"type\":\"STRING\"}],"
                             "\"partitionKeys\":[\"p\"],\"options\":{\"file.compression\":\"none\",\"manifest.merge-min-count\":\"1000\","
                             "\"partition.default-name\":\"none\"}}";

/* One commit, and so one manifest, per partition: null, a blank, short ones, and long ones that differ in their last byte. */
static pml_value partition_value(char *memory, int i)
{
    if (i == 0)
        return (pml_value){.kind = PML_VALUE_NULL};
    size_t n = i > 8 ? 200 : (size_t)i; /* a directory name has at most 255 bytes */
    memset(memory, 'k', n);
    memory[n - 1] = (char)('a' + i);
    return (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(uint8_t *)memory, n}};
}

static void commit_row(test_env *t, pml_table *table, int i, const pml_value *partition)
{
    pml_error err = PML_ERROR_INIT;
    size_t n;
    const pml_field *fields = pml_table__fields(table, &n);
    struct ArrowArray columns[2], batch;
    struct ArrowSchema arrow;
    pml_writer *w;
    pml_messages *m;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    const pml_value id = {.kind = PML_VALUE_INT, .i = i};
    must_ok(pml_batch__constant(&columns[0], t->env, &fields[0].type, &id, 1, &err), &err);
    must_ok(pml_batch__constant(&columns[1], t->env, &fields[1].type, partition, 1, &err), &err);
    must_ok(pml_batch__from_columns(&batch, t->env, columns, 2, 1, &err), &err);
    must_ok(pml_table_arrow_schema(&arrow, table, &err), &err);
    must_ok(pml_writer_open(&w, table, &err), &err);
    must_ok(pml_writer_write(w, &batch, &arrow, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    must_ok(pml_commit_open(&c, table, NULL, &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    pml_writer_close(w);
    arrow.release(&arrow);
}

static bool row_matches(const pml_pred *p, const pml_table *table, const pml_value *partition)
{
    const int32_t id = table->schema->fields[1].id;
    return pml_pred__test_values(p, &id, partition, 1);
}

/* Manifests of the newest snapshot that the predicate leaves, of all. */
static int64_t manifests_kept(test_env *t, pml_table *table, const pml_pred *p, int64_t *all)
{
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_snapshot s;
    pml_prune prune;
    int64_t latest, kept = 0;
    pml_arena__init(&arena, t->env);
    must_ok(pml_table__latest_snapshot(&latest, table, false, &err), &err);
    must_ok(pml_table__load_snapshot(&s, &arena, table, latest, &err), &err);
    must_ok(pml_prune__init(&prune, t->env, table->schema, &table->options, p, &err), &err);
    *all = 0;
    for (int l = 0; l < 2; l++) {
        pml_manifest_list list = {0};
        must_ok(pml_table__load_manifest_list(&list, &arena, table, l == 0 ? s.base_manifest_list : s.delta_manifest_list, &err), &err);
        for (size_t i = 0; i < list.n; i++)
            kept += pml_prune__keep_manifest(&prune, &list.v[i]);
        *all += (int64_t)list.n;
    }
    must_ok(prune.rc, &prune.err);
    pml_prune__clear(&prune);
    pml_arena__clear(&arena);
    return kept;
}

static int64_t rows_planned(pml_table *table, const pml_pred *p)
{
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan;
    int64_t rows;
    const pml_predicate predicate = {.tree = (pml_pred *)p};
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_set_predicate(scan, &predicate, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rows;
}

static void manifests_of_other_partitions_are_not_opened(void **state)
{
    (void)state;
    static const pml_pred_op ops[] = {PML_PRED_EQ, PML_PRED_NE,      PML_PRED_LT,          PML_PRED_LE,         PML_PRED_GT,
                                      PML_PRED_GE, PML_PRED_IS_NULL, PML_PRED_IS_NOT_NULL, PML_PRED_STARTS_WITH};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    char memory[PARTITIONS][256];
    pml_value values[PARTITIONS];
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), schema, sizeof schema - 1, 0, &err), &err);
    for (int i = 0; i < PARTITIONS; i++) {
        values[i] = partition_value(memory[i], i);
        commit_row(t, table, i, &values[i]);
    }
    for (int i = 1; i < PARTITIONS; i += 2)
        for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
            bool has_value = ops[o] != PML_PRED_IS_NULL && ops[o] != PML_PRED_IS_NOT_NULL;
            pml_pred p = {.op = ops[o],
                          .field_id = table->schema->fields[1].id,
                          .type = &table->schema->fields[1].type,
                          .name = "p",
                          .n_literals = has_value,
                          .literals = &values[i]};
            int64_t expected = 0, all;
            for (int k = 0; k < PARTITIONS; k++)
                expected += row_matches(&p, table, &values[k]);
            assert_int_equal(manifests_kept(t, table, &p, &all), expected); /* one partition each: the range is the value */
            assert_int_equal(all, PARTITIONS);
            assert_int_equal(rows_planned(table, &p), expected);
        }
    pml_table_release(table);
    test_env_close(t);
}

/* A manifest list may be old, or of a program that leaves the statistics out or writes others. */
static void statistics_that_say_nothing_keep_the_manifest(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_prune prune;
    static const uint8_t none[4], three[] = {0, 0, 0, 3, 0, 0, 0, 0}, one_null[] = {0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int64_t null_counts[2] = {0, -7};
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), schema, sizeof schema - 1, 0, &err), &err);
    pml_value v = test_bytes("x");
    pml_pred p = {.op = PML_PRED_EQ, .field_id = table->schema->fields[1].id, .type = &table->schema->fields[1].type, .name = "p",
                  .n_literals = 1, .literals = &v};
    must_ok(pml_prune__init(&prune, t->env, table->schema, &table->options, &p, &err), &err);
    pml_manifest_meta m = {.name = "m", .n_added = 1};
    assert_true(pml_prune__keep_manifest(&prune, &m));
    m.partition_stats = (pml_simple_stats){.min = {none, 4}, .max = {none, 4}};
    assert_true(pml_prune__keep_manifest(&prune, &m));
    m.partition_stats = (pml_simple_stats){.min = {three, 8}, .max = {three, 8}};
    assert_true(pml_prune__keep_manifest(&prune, &m));
    m.partition_stats = (pml_simple_stats){.min = {one_null, 20}, .max = {one_null, 20}, .null_counts = null_counts, .n_null_counts = 1};
    assert_true(pml_prune__keep_manifest(&prune, &m)); /* no bounds, and not all null */
    m.partition_stats.null_counts = null_counts + 1;
    assert_true(pml_prune__keep_manifest(&prune, &m)); /* an impossible count */
    m.n_added = INT64_MAX;
    m.n_deleted = INT64_MAX;
    assert_true(pml_prune__keep_manifest(&prune, &m));
    must_ok(prune.rc, &prune.err);
    pml_prune__clear(&prune);
    pml_table_release(table);
    test_types_clear();
    test_env_close(t);
}

/* ---- buckets ---- */

static void by_id(table_kit *k)
{
    pml_arena arena;
    pml_plan *plan;
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < 2; i++)
        (void)table_kit_append(k, 40);
    for (int64_t id = -2; id < 82; id += 14) {
        const pml_value v[3] = {{.kind = PML_VALUE_INT, .i = id}, {.kind = PML_VALUE_INT, .i = id + 7}, {.kind = PML_VALUE_NULL}};
        kit_read r = {.predicate = kit_leaf(k, &arena, 0, PML_PRED_EQ, v, 1)};
        kit_plan(&plan, k, &r);
        assert_int_equal(pml_plan_split_count(plan), 1); /* of four buckets; without statistics nothing else leaves files out */
        pml_plan_free(plan);
        table_kit_must_read(k, &r);
        r.predicate = kit_leaf(k, &arena, 0, PML_PRED_IN, v, 3);
        kit_plan(&plan, k, &r);
        assert_in_range(pml_plan_split_count(plan), 1, 2);
        pml_plan_free(plan);
        table_kit_must_read(k, &r);
        r.predicate = kit_leaf(k, &arena, 0, PML_PRED_NE, v, 1);
        table_kit_must_read(k, &r);
    }
    pml_arena__clear(&arena);
}

static void files_of_other_buckets_are_left_out(void **state)
{
    (void)state;
    table_kit_run("", "\"bucket\":\"4\",\"bucket-key\":\"id\",\"metadata.stats-mode\":\"none\"", by_id);
    table_kit_run("", "\"bucket\":\"4\",\"bucket-key\":\"id\",\"metadata.stats-mode\":\"none\",\"bucket-function.type\":\"mod\"", by_id);
}

/* Conjunctions of EQ and IN over the values that rows have, and whatever else comes. */
static void by_random_keys(table_kit *k)
{
    static const int32_t keys[] = {2, 11, 13, 17, 8};
    pml_arena arena;
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(k, 60);
    for (int i = 0; i < 14; i++) {
        size_t batch = test_random(k->t) % k->n_batches;
        int64_t row = (int64_t)(test_random(k->t) % (uint64_t)k->batches[batch].length);
        pml_pred *leaves[6];
        for (size_t c = 0; c < 5; c++) {
            pml_value v[2];
            const struct ArrowArray *column = k->batches[batch].children[keys[c]];
            pml_value__get(&v[0], &k->fields[keys[c]].type, column, row);
            pml_value__get(&v[1], &k->fields[keys[c]].type, column, (row + 1) % k->batches[batch].length);
            if (v[0].kind == PML_VALUE_NULL)
                leaves[c] = kit_leaf(k, &arena, keys[c], PML_PRED_IS_NULL, NULL, 0);
            else
                leaves[c] = kit_leaf(k, &arena, keys[c], i % 2 == 0 ? PML_PRED_EQ : PML_PRED_IN, v, i % 2 == 0 ? 1 : 2);
        }
        leaves[5] = kit_random_predicate(k, &arena, 1);
        pml_pred tree = {.op = i % 7 == 0 ? PML_PRED_OR : PML_PRED_AND, .n_children = 3 + (size_t)i % 4, .children = leaves};
        table_kit_must_read(k, &(kit_read){.predicate = &tree});
    }
    pml_arena__clear(&arena);
}

static void predicates_over_bucket_keys_lose_no_row(void **state)
{
    (void)state;
    (void)test_seed();
    table_kit_run("", "\"bucket\":\"5\",\"bucket-key\":\"q,v\",\"metadata.stats-mode\":\"none\"", by_random_keys);
    table_kit_run("", "\"bucket\":\"3\",\"bucket-key\":\"n\"", by_random_keys);
    table_kit_run("", "\"bucket\":\"3\",\"bucket-key\":\"z,q\",\"metadata.stats-mode\":\"none\"", by_random_keys);
    table_kit_run("", "\"bucket\":\"3\",\"bucket-key\":\"f\",\"metadata.stats-mode\":\"none\"", by_random_keys);
    table_kit_run("\"d\"", "\"bucket\":\"2\",\"bucket-key\":\"v\",\"metadata.stats-mode\":\"none\"", by_random_keys);
}

static void without_memory(table_kit *k)
{
    pml_arena arena;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    (void)table_kit_append(k, 30);
    pml_arena__init(&arena, k->t->env);
    const pml_value id = {.kind = PML_VALUE_INT, .i = 3}, day = test_int(19000);
    pml_pred *leaves[] = {kit_leaf(k, &arena, 0, PML_PRED_EQ, &id, 1), kit_leaf(k, &arena, 3, PML_PRED_GE, &day, 1)};
    pml_pred tree = {.op = PML_PRED_AND, .n_children = 2, .children = leaves};
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_scan_set_predicate(scan, &(pml_predicate){.tree = &tree}, &err), &err);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc == PML_E_NOMEM; n += 1 + n / 25) {
        pml_plan *plan = NULL;
        assert_true(n < 5000);
        test_env_fail_at(k->t, n);
        rc = pml_scan_plan(&plan, scan, &err);
        test_env_fail_at(k->t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && plan == NULL));
        pml_plan_free(plan);
    }
    must_ok(rc, &err);
    pml_scan_free(scan);
    pml_arena__clear(&arena);
}

static void plan_without_memory_fails_cleanly(void **state)
{
    (void)state;
    table_kit_run("\"d\"", "\"bucket\":\"4\",\"bucket-key\":\"id\"", without_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifests_of_other_partitions_are_not_opened),
        cmocka_unit_test(statistics_that_say_nothing_keep_the_manifest),
        cmocka_unit_test(files_of_other_buckets_are_left_out),
        cmocka_unit_test(predicates_over_bucket_keys_lose_no_row),
        cmocka_unit_test(plan_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
