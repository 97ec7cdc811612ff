/* SPDX-License-Identifier: Apache-2.0 */
/* Merges on read by several threads: rows, order and errors of one thread; tables of all merge engines that Java wrote. */
#include <dirent.h>
#include <paimonlive/rows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"

enum { THREADS_MAX = 4, TABLES_MIN = 20 };

static int table_open(pml_table **out, test_env *t, const char *name, pml_error *err)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", PML_JAVA_TABLES, name);
    return pml_table_open(out, t->env, path, NULL, err);
}

/* All rows with their kinds as text, in order; the code that the read ends with. */
static int read_all(pml_text *text, pml_plan *plan, uint32_t threads, int64_t batch_rows, pml_error *err)
{
    pml_read_options o = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    pml_rows_printer *printer = NULL;
    int rc;
    o.threads = threads;
    o.batch_rows = batch_rows;
    o.flags = PML_READ_ROW_KIND;
    PML_TRY(pml_read_open(&stream, plan, &o, err));
    rc = stream.get_schema(&stream, &schema) == 0 ? PML_OK : pml_stream_error(&stream, err);
    if (rc == PML_OK)
        rc = pml_rows_printer_new(&printer, plan->env, &schema, PML_ROWS_JSON, err);
    while (rc == PML_OK) {
        struct ArrowArray batch = {0};
        if (stream.get_next(&stream, &batch) != 0)
            rc = pml_stream_error(&stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        rc = pml_rows_print(text, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
    }
out:
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream.release != NULL)
        stream.release(&stream);
    return rc;
}

static int plan_all(pml_plan **plan, pml_table *table, pml_error *err)
{
    pml_scan *scan = NULL;
    *plan = NULL;
    int rc = pml_scan_new(&scan, table, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(plan, scan, err);
    pml_scan_free(scan);
    return rc;
}

static bool merges(const pml_plan *plan)
{
    for (size_t i = 0; i < plan->n_splits; i++)
        if (pml_split__merges(plan, &plan->splits[i]))
            return true;
    return false;
}

/* Each number of threads with each size of batches (PAIRS=1, as `make check-tsan` sets it), or with one of them: another for each table. */
static void must_be_as_one_thread(const char *name, size_t table, pml_plan *plan)
{
    static const int64_t batch_rows[] = {0, 1, 7};
    const size_t sizes = sizeof batch_rows / sizeof batch_rows[0];
    const bool pairs = test_setting("PAIRS", 0, 0, 1) != 0;
    pml_error err = PML_ERROR_INIT;
    pml_text one = {0};
    int rc = read_all(&one, plan, 1, 0, &err);
    for (uint32_t threads = 2; threads <= THREADS_MAX; threads++)
        for (size_t i = 0; i < sizes; i++) {
            if (!pairs && (table + threads) % sizes != i)
                continue;
            pml_error why = PML_ERROR_INIT;
            pml_text many = {0};
            int code = read_all(&many, plan, threads, batch_rows[i], &why);
            if (code != rc || (rc == PML_OK && (many.len != one.len || memcmp(many.ptr, one.ptr, one.len) != 0)))
                fail_msg("%s with %u threads, batches of %lld rows: %zu bytes instead of %zu, code %d (%s) instead of %d", name, threads,
                         (long long)batch_rows[i], many.len, one.len, code, why.message, rc);
            if (rc != PML_OK)
                assert_string_equal(why.message, err.message);
            pml_text_clear(&many);
        }
    pml_text_clear(&one);
}

static void any_number_of_threads_reads_the_same(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    DIR *dir = opendir(PML_JAVA_TABLES);
    size_t tables = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        pml_error err = PML_ERROR_INIT;
        pml_table *table = NULL;
        pml_plan *plan = NULL;
        if (e->d_name[0] == '.' || strchr(e->d_name, '.') != NULL)
            continue;
        if (table_open(&table, t, e->d_name, &err) == PML_OK && plan_all(&plan, table, &err) == PML_OK && merges(plan)) {
            must_be_as_one_thread(e->d_name, tables, plan);
            tables++;
        }
        pml_plan_free(plan);
        pml_table_release(table);
    }
    (void)closedir(dir);
    assert_true(tables >= TABLES_MIN);
    test_env_close(t);
}

static pml_plan *must_plan(pml_table **table, test_env *t, const char *name)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    must_ok(table_open(table, t, name, &err), &err);
    must_ok(plan_all(&plan, *table, &err), &err);
    assert_true(merges(plan));
    return plan;
}

static void a_stream_that_is_given_up_stops_the_threads(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_plan *plan = must_plan(&table, t, "pk_dedup_parquet");
    for (int i = 0; i < 40; i++) {
        pml_read_options o = PML_READ_OPTIONS_INIT;
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        o.threads = 2 + (uint32_t)i % (THREADS_MAX - 1);
        o.batch_rows = 1 + i % 3;
        must_ok(pml_read_open(&stream, plan, &o, &err), &err);
        for (int taken = 0; taken < i / 3 && stream.get_next(&stream, &batch) == 0 && batch.release != NULL; taken++)
            batch.release(&batch);
        stream.release(&stream);
    }
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_plan *plan = must_plan(&table, t, "pk_dedup_parquet");
    int failed = 0;
    for (long long n = 1;; n += 1 + n / 30) {
        pml_error err = PML_ERROR_INIT;
        pml_text text = {0};
        test_env_fail_at(t, n);
        int rc = read_all(&text, plan, 3, 5, &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        pml_text_clear(&text);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        failed += rc != PML_OK;
        if (!reached)
            break;
    }
    assert_true(failed > 20);
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

static void any_file_operation_may_fail(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_table *table;
    pml_plan *plan = must_plan(&table, t, "pk_dedup_parquet");
    int failed = 0;
    for (long long n = 1;; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_text text = {0};
        faulty_fs_reset(&f);
        faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
        int rc = read_all(&text, plan, 2, 5, &err);
        bool reached = faulty_fs_failures(&f) > 0;
        faulty_fs_reset(&f);
        pml_text_clear(&text);
        assert_true(rc == PML_OK || rc == PML_E_IO);
        failed += rc != PML_OK;
        if (!reached)
            break;
    }
    assert_true(failed > 10);
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_reads_the_same),
        cmocka_unit_test(a_stream_that_is_given_up_stops_the_threads),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(any_file_operation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
