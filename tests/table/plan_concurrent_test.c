/* SPDX-License-Identifier: Apache-2.0 */
/* One table handle in many threads: some commit, some read one plan that they share, some plan anew. */
#include <stdlib.h>

#include "support/test_arrow.h"
#include "support/test_env.h"
#include "table/scan.h"
#include "table/writer.h"
#include "util/thread.h"

enum { WRITERS = 3, READERS = 3, COMMITS = 6, ROWS = 20 };

static const char schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"}],\"options\":{\"file.compression\":\"none\","
    "\"commit.max-retries\":\"1000\",\"commit.min-retry-wait\":\"1 ms\",\"commit.max-retry-wait\":\"5 ms\"}}";

typedef struct worker {
    pml_thread thread;
    pml_table *table;
    pml_plan *shared;
    int64_t number;
    int failed; /* line; cmocka's assertions belong to the main thread */
} worker;

#define CHECK(w, condition)         \
    do {                            \
        if (!(condition))           \
            (w)->failed = __LINE__; \
    } while (0)

static void *writer_run(void *arg)
{
    worker *w = arg;
    for (int64_t i = 0; i < COMMITS && w->failed == 0; i++) {
        int64_t ids[ROWS];
        struct ArrowSchema arrow = {0};
        pml_writer *writer = NULL;
        pml_messages *m = NULL;
        pml_commit *c = NULL;
        pml_commit_result r = PML_COMMIT_RESULT_INIT;
        for (int64_t j = 0; j < ROWS; j++)
            ids[j] = (w->number * COMMITS + i) * ROWS + j;
        struct ArrowArray column = test_fixed_array(8, ROWS, ids), batch = test_struct_array(ROWS, 1, &column);
        CHECK(w, pml_table_arrow_schema(&arrow, w->table, NULL) == PML_OK);
        CHECK(w, pml_writer_open(&writer, w->table, NULL) == PML_OK);
        CHECK(w, pml_writer_write(writer, &batch, &arrow, NULL) == PML_OK);
        CHECK(w, pml_writer_prepare(&m, writer, NULL) == PML_OK);
        CHECK(w, pml_commit_open(&c, w->table, NULL, NULL) == PML_OK);
        CHECK(w, pml_commit_run(&r, c, &m, 1, 1, NULL, NULL) == PML_OK);
        pml_commit_close(c);
        pml_messages_free(m);
        pml_writer_close(writer);
        arrow.release(&arrow);
    }
    return NULL;
}

static int64_t read_rows(worker *w, pml_plan *plan)
{
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch;
    int64_t rows = 0;
    if (pml_read_open(&stream, plan, NULL, NULL) != PML_OK)
        return -1;
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        rows += batch.length;
        batch.release(&batch);
    }
    CHECK(w, stream.get_last_error(&stream) == NULL);
    stream.release(&stream);
    return rows;
}

static void *reader_run(void *arg)
{
    worker *w = arg;
    int64_t last = 0;
    for (int i = 0; i < COMMITS && w->failed == 0; i++) {
        pml_scan *scan = NULL;
        pml_plan *plan = NULL;
        pml_predicate *p = NULL;
        int64_t counted = -1;
        CHECK(w, pml_predicate_leaf(&p, w->table, "id", PML_OP_GE, &(pml_literal){"0", 1}, 1, NULL) == PML_OK);
        CHECK(w, pml_scan_new(&scan, w->table, NULL) == PML_OK);
        CHECK(w, pml_scan_set_predicate(scan, p, NULL) == PML_OK);
        CHECK(w, pml_scan_plan(&plan, scan, NULL) == PML_OK);
        CHECK(w, pml_plan_count(&counted, plan, NULL) == PML_OK);
        int64_t rows = read_rows(w, plan);
        CHECK(w, rows == counted && rows % ROWS == 0 && rows >= last);
        last = rows;
        CHECK(w, read_rows(w, w->shared) == ROWS);
        pml_plan_free(plan);
        pml_scan_free(scan);
        pml_predicate_free(p);
    }
    return NULL;
}

static void one_table_in_many_threads_loses_nothing(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL); /* only for its directory: its randomness is not made for threads */
    pml_env *env;
    pml_table *table;
    pml_scan *scan;
    pml_plan *shared, *plan;
    pml_error err = PML_ERROR_INIT;
    worker w[WRITERS + READERS];
    int64_t last, rows;
    must_ok(pml_env_new(&env, NULL, &err), &err);
    must_ok(pml_table_create(&table, env, test_path(t, "t"), schema, sizeof schema - 1, 0, &err), &err);
    worker first = {.table = table, .number = WRITERS};
    (void)writer_run(&first); /* COMMITS commits before the others start */
    assert_int_equal(first.failed, 0);
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, 1, &err), &err);
    must_ok(pml_scan_plan(&shared, scan, &err), &err);
    for (int i = 0; i < WRITERS + READERS; i++) {
        w[i] = (worker){.table = table, .shared = shared, .number = i};
        assert_int_equal(pml_thread__start(&w[i].thread, i < WRITERS ? writer_run : reader_run, &w[i]), 0);
    }
    for (int i = 0; i < WRITERS + READERS; i++) {
        pml_thread__join(&w[i].thread);
        assert_int_equal(w[i].failed, 0);
    }
    must_ok(pml_scan_set_snapshot(scan, -1, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, (WRITERS + 1) * COMMITS * ROWS);
    must_ok(pml_table_latest_snapshot(&last, table, &err), &err);
    assert_int_equal(last, (WRITERS + 1) * COMMITS);
    pml_plan_free(plan);
    pml_plan_free(shared);
    pml_scan_free(scan);
    pml_table_release(table);
    pml_env_release(env);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_table_in_many_threads_loses_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
