/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a merge: files one after the other, in batches that get smaller where rows are wide, or one row of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"
#include "support/test_bridge.h"
#include "table/file_run.h"

enum { RUN_ROWS = 4096, BATCH = 64, SHORT = 6000, WIDE = 12000, WIDE_BYTES = 2000 };

/* Rows of an id and a text; the wide ones all alike, so that they are narrow in the file. */
static struct ArrowArray texts_make(int64_t first_id, int64_t n_short, int64_t n_wide)
{
    int64_t n = n_short + n_wide;
    int64_t *ids = calloc((size_t)n, sizeof *ids);
    const char **texts = calloc((size_t)n, sizeof *texts);
    static char wide[WIDE_BYTES + 1];
    assert_true(ids != NULL && texts != NULL);
    memset(wide, 'a', WIDE_BYTES);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = first_id + i;
        texts[i] = i < n_short ? "short" : wide;
    }
    struct ArrowArray columns[] = {test_fixed_array(8, n, ids), test_text_array(n, texts)}, batch = test_struct_array(n, 2, columns);
    free(ids);
    free(texts);
    return batch;
}

static void append_texts(table_kit *k, int64_t n_short, int64_t n_wide)
{
    pml_error err = PML_ERROR_INIT;
    pml_writer *w;
    pml_messages *m;
    struct ArrowSchema arrow;
    struct ArrowArray batch = texts_make(k->next_id, n_short, n_wide);
    k->next_id += n_short + n_wide;
    must_ok(pml_table_arrow_schema(&arrow, k->table, &err), &err);
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(pml_writer_write(w, &batch, &arrow, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    (void)table_kit_commit(k, m);
    arrow.release(&arrow);
}

/* Writes the first file anew in small pages: the writer's own have thousands of rows, and one is as large as a batch. */
static void write_small_pages(table_kit *k, pml_plan *plan, int64_t n_short, int64_t n_wide)
{
    const pml_bridge_write_options options = {.compression = "zstd", .compression_level = 1, .row_group_bytes = 1 << 28, .page_bytes = 1 << 16,
                                              .write_batch_rows = BATCH};
    pml_error err = PML_ERROR_INIT;
    const pml_bridge *bridge;
    struct ArrowSchema arrow;
    struct ArrowArray batch = texts_make(0, n_short, n_wide);
    test_file f = {0};
    must_ok(pml_bridge__get(&bridge, k->t->env, &err), &err);
    must_ok(pml_table_arrow_schema(&arrow, k->table, &err), &err);
    must_ok(test_parquet_write(&f, bridge, &arrow, &batch, &options, &err), &err);
    FILE *out = fopen(plan->splits[0].paths[0], "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f.data, 1, f.len, out), f.len);
    assert_int_equal(fclose(out), 0);
    plan->splits[0].files[0].size_bytes = (int64_t)f.len;
    test_file_free(&f);
    arrow.release(&arrow);
}

static void kit_open_texts(table_kit *k, test_env *t)
{
    static const char schema[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
                                 "\"options\":{}}";
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), schema, sizeof schema - 1, 0, &err), &err);
    table_kit_init(k, t, table);
}

/* Everything that the run gives is ids in order. Returns how many; *rc the end, *longest the longest of those with wide rows only. */
static int64_t read_run(int *rc, int64_t *longest, const pml_file_run *q, pml_error *err)
{
    pml_run run;
    int64_t n = 0;
    *longest = 0;
    *rc = pml_file_run__open(&run, q, err);
    if (*rc != PML_OK)
        return 0;
    for (;;) {
        struct ArrowArray batch;
        *rc = run.next(run.ctx, &batch, err);
        if (*rc != PML_OK || batch.release == NULL)
            break;
        assert_true(batch.length > 0);
        if (n >= 2 * RUN_ROWS && batch.length > *longest)
            *longest = batch.length;
        for (int64_t i = 0; i < batch.length; i++, n++) {
            pml_value v;
            pml_value__get(&v, &q->fields[0].type, batch.children[0], batch.offset + i);
            if (v.i != n)
                fail_msg("row %lld has id %lld", (long long)n, (long long)v.i);
        }
        batch.release(&batch);
    }
    run.drop(run.ctx);
    return n;
}

static void rows_that_were_not_so_narrow_are_read_again_in_smaller_batches(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_plan *plan;
    int rc;
    int64_t longest;
    kit_open_texts(&k, t);
    append_texts(&k, SHORT, WIDE);
    append_texts(&k, 100, 0); /* another file, which is narrow again */
    kit_plan(&plan, &k, &(kit_read){0});
    assert_int_equal(plan->n_splits, 1);
    assert_int_equal(plan->splits[0].n_files, 2);
    write_small_pages(&k, plan, SHORT, WIDE);
    const size_t files[] = {0, 1};
    const pml_sorted_run sorted = {2, files};
    assert_true(plan->splits[0].files[0].size_bytes / 512 < SHORT + WIDE);
    pml_file_run q = {.plan = plan, .split = &plan->splits[0], .files = &sorted, .fields = plan->out_fields, .n_fields = 2, .batch_rows = BATCH};
    pml_error err = PML_ERROR_INIT;
    int64_t rows = read_run(&rc, &longest, &q, &err);
    must_ok(rc, &err);
    assert_int_equal(rows, SHORT + WIDE + 100);
    assert_int_equal(longest, RUN_ROWS);
    int64_t most = t->env->bridge_bytes_max;
    t->env->bridge_bytes_max = (int64_t)RUN_ROWS * WIDE_BYTES / 2;
    rows = read_run(&rc, &longest, &q, &err);
    must_ok(rc, &err);
    assert_int_equal(rows, SHORT + WIDE + 100);
    assert_int_equal(longest, 100); /* of the second file */
    /* The limit is one where batches are as small as asked for. */
    q.batch_rows = RUN_ROWS;
    assert_true(read_run(&rc, &longest, &q, &err) < SHORT + WIDE);
    must_fail_with(PML_E_LIMIT, rc, &err);
    /* Any allocation on the way may fail. */
    q.batch_rows = BATCH;
    for (long long n = 1;; n += 1 + n / 20) {
        pml_error why = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        (void)read_run(&rc, &longest, &q, &why);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        if (!reached)
            break;
    }
    t->env->bridge_bytes_max = most;
    pml_plan_free(plan);
    table_kit_close(&k);
    test_env_close(t);
}

static void a_run_that_is_asked_for_a_row_gives_nothing_else(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_plan *plan;
    pml_arena arena;
    kit_open_texts(&k, t);
    append_texts(&k, SHORT, 0);
    pml_arena__init(&arena, t->env);
    kit_plan(&plan, &k, &(kit_read){0});
    const size_t files[] = {0};
    const pml_sorted_run sorted = {1, files};
    for (int64_t id = -1; id <= SHORT; id += id < 0 || id == SHORT - 1 ? 1 : SHORT / 2 - (id != 0)) {
        const pml_value v = {.kind = PML_VALUE_INT, .i = id};
        const pml_pred *p = kit_leaf(&k, &arena, 0, PML_PRED_EQ, &v, 1);
        bool found = false;
        int rows = 0;
        pml_error err = PML_ERROR_INIT;
        pml_run run;
        const pml_file_run q = {.plan = plan, .split = &plan->splits[0], .files = &sorted, .fields = plan->out_fields, .n_fields = 2, .predicate = p,
                                .batch_rows = BATCH, .found = &found};
        must_ok(pml_file_run__open(&run, &q, &err), &err);
        for (struct ArrowArray batch = {0};; batch.release(&batch)) {
            must_ok(run.next(run.ctx, &batch, &err), &err);
            if (batch.release == NULL)
                break;
            for (int64_t i = 0; i < batch.length; i++) {
                pml_value got;
                pml_value__get(&got, &plan->out_fields[0].type, batch.children[0], batch.offset + i);
                assert_int_equal(got.i, id);
                rows++;
            }
            assert_true(found); /* not later than the row */
        }
        run.drop(run.ctx);
        assert_true(found == (id >= 0 && id < SHORT));
        assert_int_equal(rows, found);
    }
    pml_arena__clear(&arena);
    pml_plan_free(plan);
    table_kit_close(&k);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_were_not_so_narrow_are_read_again_in_smaller_batches),
        cmocka_unit_test(a_run_that_is_asked_for_a_row_gives_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
