/* SPDX-License-Identifier: Apache-2.0 */
/* One key out of several runs: when the newest run that has it decides, and that the answer is that of a merge of all. */
#include <paimonlive/rows.h>
#include <stdio.h>
#include <string.h>

#include "merge/sections.h"
#include "support/table_kit.h"
#include "table/newest_first.h"

enum { RUNS = 3, FILES = 4 };

static void order_must_be(const int64_t (*sequences)[2], const char *order)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_data_file files[FILES] = {{0}};
    const size_t of[] = {0, 1, 2, 3};
    const pml_sorted_run runs[RUNS] = {{1, of}, {2, of + 1}, {1, of + 3}};
    const pml_section s = {FILES, RUNS, runs};
    pml_sorted_run *newest;
    pml_arena__init(&arena, t->env);
    for (int i = 0; i < FILES; i++) {
        files[i].min_sequence = sequences[i][0];
        files[i].max_sequence = sequences[i][1];
    }
    must_ok(pml_newest__runs(&newest, &arena, &s, files, &err), &err);
    assert_true((newest == NULL) == (order == NULL));
    for (int i = 0; order != NULL && i < RUNS; i++)
        assert_ptr_equal(newest[i].files, runs[order[i] - '0'].files);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void runs_are_ordered_where_their_sequence_numbers_do_not_overlap(void **state)
{
    (void)state;
    order_must_be((const int64_t[][2]){{0, 9}, {10, 14}, {15, 19}, {20, 20}}, "210");
    order_must_be((const int64_t[][2]){{50, 59}, {30, 34}, {10, 19}, {20, 29}}, NULL); /* files of the second run on both sides of the third */
    order_must_be((const int64_t[][2]){{50, 59}, {10, 14}, {10, 19}, {20, 29}}, "021");
    order_must_be((const int64_t[][2]){{0, 10}, {10, 14}, {15, 19}, {20, 20}}, NULL); /* a number in two runs */
    order_must_be((const int64_t[][2]){{9, 0}, {10, 14}, {15, 19}, {20, 20}}, NULL);  /* makes no sense */
    order_must_be((const int64_t[][2]){{INT64_MIN, INT64_MAX}, {1, 1}, {2, 2}, {3, 3}}, NULL);
}

/* ---- tables of Java ---- */

/* The rows, of one key or of all (column NULL). */
static int64_t read_key(pml_text *text, pml_table *table, const char *column, int64_t key)
{
    char digits[32];
    pml_error err = PML_ERROR_INIT;
    pml_predicate *p = NULL;
    pml_scan *scan;
    pml_plan *plan;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    pml_rows_printer *printer;
    int64_t rows = 0;
    (void)snprintf(digits, sizeof digits, "%lld", (long long)key);
    const pml_literal literal = {digits, strlen(digits)};
    must_ok(pml_scan_new(&scan, table, &err), &err);
    if (column != NULL)
        must_ok(pml_predicate_leaf(&p, table, column, PML_OP_EQ, &literal, 1, &err), &err);
    if (column != NULL)
        must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_read_open(&stream, plan, &o, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    must_ok(pml_rows_printer_new(&printer, table->env, &schema, PML_ROWS_JSON, &err), &err);
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0)
            must_ok(pml_stream_error(&stream, &err), &err);
        if (batch.release == NULL)
            break;
        rows += batch.length;
        must_ok(pml_rows_print(text, printer, &batch, 0, batch.length, &err), &err);
        batch.release(&batch);
    }
    pml_rows_printer_free(printer);
    schema.release(&schema);
    stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_predicate_free(p);
    return rows;
}

/* Every key by itself against a read of all, in which the rows of all keys begin with the key. */
static void each_key_is_read_as_all_are(void **state)
{
    (void)state;
    /* The last one: what was deleted when it was written is there again. */
    static const char *const names[] = {"pk_ten_runs", "pk_levels", "pk_dedup_parquet", "pk_sequence_one", "pk_ignore_delete", "dv_pk_aggregation",
                                        "pk_dedup_parquet"};
    const pml_option_pair ignore_delete = {"ignore-delete", "true"};
    enum { KEYS = 130 };
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        pml_table *table;
        pml_text all = {0};
        int64_t found = 0;
        pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
        o.options = &ignore_delete;
        o.n_options = i + 1 == sizeof names / sizeof names[0];
        (void)snprintf(path, sizeof path, "%s/%s", PML_JAVA_TABLES, names[i]);
        must_ok(pml_table_open(&table, t->env, path, &o, &err), &err);
        int64_t rows = read_key(&all, table, NULL, 0);
        for (int64_t key = -1; key < KEYS; key++) {
            char begins[64];
            pml_text one = {0};
            (void)snprintf(begins, sizeof begins, "{\"_kind\":\"+I\",\"id\":%lld,", (long long)key);
            int64_t n = read_key(&one, table, "id", key);
            const char *want = strstr(all.ptr, begins);
            if (n != (want != NULL))
                fail_msg("%s, id %lld: %lld rows alone: %.*s", names[i], (long long)key, (long long)n, (int)one.len, one.ptr);
            if (n == 1 && (strncmp(one.ptr, want, one.len) != 0))
                fail_msg("%s: alone %s, among all %.*s", names[i], one.ptr, (int)strcspn(want, "\n"), want);
            found += n;
            pml_text_clear(&one);
        }
        if (found < (rows < KEYS ? rows : KEYS) / 2)
            fail_msg("%s: %lld of %lld rows were found", names[i], (long long)found, (long long)rows);
        pml_text_clear(&all);
        pml_table_release(table);
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_ordered_where_their_sequence_numbers_do_not_overlap),
        cmocka_unit_test(each_key_is_read_as_all_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
