/* SPDX-License-Identifier: Apache-2.0 */
/* pml_table_route against what the writer does with the same rows. */
#include "support/test_env.h"

#include <paimonlive/rows.h>
#include <paimonlive/scan.h>
#include <paimonlive/write.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 300 };

typedef struct world {
    test_env *t;
    pml_table *table;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    char partition_of[ROWS][32]; /* as routed; "" before */
    int32_t bucket_of[ROWS];
} world;

static void world_open(world *w, const char *partition_keys, const char *options)
{
    char text[512];
    struct ArrowArrayStream rows;
    pml_error err = PML_ERROR_INIT;
    *w = (world){.t = test_env_open(NULL)};
    (void)snprintf(
        text, sizeof text,
        "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"region\",\"type\":\"STRING\"}],"
        "\"partitionKeys\":[%s],\"primaryKeys\":[],\"options\":{%s}}",
        partition_keys, options);
    must_ok(pml_table_create(&w->table, w->t->env, test_path(w->t, "t"), text, strlen(text), 0, &err), &err);
    const char *path = test_path(w->t, "rows.jsonl");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < ROWS; i++)
        if (i % 5 == 0)
            (void)fprintf(f, "{\"id\":%d}\n", i); /* no region */
        else
            (void)fprintf(f, "{\"id\":%d,\"region\":\"r/%d\"}\n", i, i % 3);
    (void)fclose(f);
    must_ok(pml_rows_open(&rows, w->table, path, NULL, &err), &err);
    assert_int_equal(rows.get_schema(&rows, &w->schema), 0);
    assert_int_equal(rows.get_next(&rows, &w->batch), 0);
    rows.release(&rows);
    assert_int_equal(w->batch.length, ROWS);
}

static void world_close(world *w)
{
    if (w->batch.release != NULL)
        w->batch.release(&w->batch);
    w->schema.release(&w->schema);
    pml_table_release(w->table);
    test_env_close(w->t);
}

static void route(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_routes *routes;
    int64_t seen = 0;
    must_ok(pml_table_route(&routes, w->table, &w->batch, &w->schema, &err), &err);
    for (size_t i = 0; i < pml_routes_count(routes); i++) {
        pml_route_info info = PML_ROUTE_INFO_INIT;
        must_ok(pml_routes_get(&info, routes, i, &err), &err);
        for (int64_t k = 0; k < info.n_rows; k++) {
            assert_true(k == 0 || info.rows[k] > info.rows[k - 1]);
            assert_int_equal(w->bucket_of[info.rows[k]], 0);
            w->bucket_of[info.rows[k]] = info.bucket + 1; /* 0: not seen */
            (void)snprintf(w->partition_of[info.rows[k]], sizeof w->partition_of[0], "%s",
                           info.n_partition == 0 ? "" : info.partition[0]);
        }
        seen += info.n_rows;
    }
    assert_int_equal(seen, ROWS);
    pml_routes_free(routes);
}

static void write_and_commit(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_writer *writer;
    pml_messages *messages;
    pml_commit *commit;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    must_ok(pml_writer_open(&writer, w->table, &err), &err);
    must_ok(pml_writer_write(writer, &w->batch, &w->schema, &err), &err);
    must_ok(pml_writer_prepare(&messages, writer, &err), &err);
    must_ok(pml_commit_open(&commit, w->table, "test", &err), &err);
    must_ok(pml_commit_run(&r, commit, &messages, 1, 1, NULL, &err), &err);
    pml_commit_close(commit);
    pml_messages_free(messages);
    pml_writer_close(writer);
}

static void must_stand_as_routed(world *w, pml_plan *plan, size_t split)
{
    pml_error err = PML_ERROR_INIT;
    pml_split_info info = PML_SPLIT_INFO_INIT;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream s;
    struct ArrowArray a;
    must_ok(pml_plan_split_get(&info, plan, split, &err), &err);
    o.split = (int64_t)split;
    must_ok(pml_read_open(&s, plan, &o, &err), &err);
    for (assert_int_equal(s.get_next(&s, &a), 0); a.release != NULL; assert_int_equal(s.get_next(&s, &a), 0)) {
        const int32_t *ids = (const int32_t *)a.children[0]->buffers[1] + a.children[0]->offset;
        for (int64_t i = 0; i < a.length; i++) {
            const char *want = w->partition_of[ids[i]];
            assert_int_equal(w->bucket_of[ids[i]], info.bucket + 1);
            if (info.partition[0] == '\0')
                assert_string_equal(want, "");
            else if (strcmp(want, "none") == 0)
                assert_string_equal(info.partition, "region=none");
            else /* escaped there, not here */
                assert_int_equal(info.partition[strlen(info.partition) - 1], want[strlen(want) - 1]);
        }
        a.release(&a);
    }
    s.release(&s);
}

static void must_agree_with_files(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan;
    route(w);
    write_and_commit(w);
    must_ok(pml_scan_new(&scan, w->table, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    assert_true(pml_plan_split_count(plan) > 0);
    for (size_t i = 0; i < pml_plan_split_count(plan); i++)
        must_stand_as_routed(w, plan, i);
    pml_plan_free(plan);
    pml_scan_free(scan);
}

static void route_of_partitions_and_buckets_agrees_with_files(void **state)
{
    (void)state;
    world w;
    world_open(&w, "\"region\"", "\"bucket\":\"3\",\"bucket-key\":\"id\",\"partition.default-name\":\"none\"");
    must_agree_with_files(&w);
    assert_string_equal(w.partition_of[0], "none");
    assert_string_equal(w.partition_of[1], "r/1");
    world_close(&w);
}

static void route_of_a_plain_table_is_one_bucket(void **state)
{
    (void)state;
    world w;
    world_open(&w, "", "");
    must_agree_with_files(&w);
    assert_int_equal(w.bucket_of[ROWS - 1], 1);
    world_close(&w);
}

static void route_of_no_rows_is_empty(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_routes *routes;
    pml_route_info info = PML_ROUTE_INFO_INIT;
    world_open(&w, "", "");
    w.batch.length = 0;
    must_ok(pml_table_route(&routes, w.table, &w.batch, &w.schema, &err), &err);
    assert_int_equal(pml_routes_count(routes), 0);
    must_fail_with(PML_E_INVAL, pml_routes_get(&info, routes, 0, &err), &err);
    pml_routes_free(routes);
    world_close(&w);
}

static void route_of_another_schema_is_refused(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_routes *routes;
    world_open(&w, "", "");
    must_fail_with(PML_E_SCHEMA, pml_table_route(&routes, w.table, w.batch.children[0], w.schema.children[0], &err),
                   &err);
    assert_null(routes);
    world_close(&w);
}

static void route_without_memory_fails_clean(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_routes *routes = NULL;
    int rc = PML_E_NOMEM;
    world_open(&w, "\"region\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"");
    for (long long n = 1; n < 10000 && rc != PML_OK; n++) {
        test_env_fail_at(w.t, n);
        rc = pml_table_route(&routes, w.table, &w.batch, &w.schema, &err);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && routes == NULL));
    }
    test_env_fail_at(w.t, 0);
    assert_int_equal(rc, PML_OK);
    pml_routes_free(routes);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(route_of_partitions_and_buckets_agrees_with_files),
        cmocka_unit_test(route_of_a_plain_table_is_one_bucket),
        cmocka_unit_test(route_of_no_rows_is_empty),
        cmocka_unit_test(route_of_another_schema_is_refused),
        cmocka_unit_test(route_without_memory_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
