/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, writers and what they refuse (realtime.md 4, 20, 24). Numbers: realtime-tests.md. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/failing_store.h"
#include "support/rt_kit.h"

static void context_refuses_options_that_do_not_exist(void **state)
{
    (void)state;
    static const char *const wrong[] = {"realtime.memory.chunk-byte", "realtime.memory", "realtime.", "realtime.Offset-mode", "bucket", ""};
    static const char *const right[] = {"realtime.memory.chunk-bytes", "realtime.store.mine.depth"};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_option_pair pair = {NULL, "1 mb"};
    pml_rt_context *c;
    o.n_options = 1;
    o.options = &pair;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pair.key = wrong[i];
        must_fail_with(PML_E_INVAL, pml_rt_context_open(&c, t->env, &o, &err), &err);
        assert_null(c);
        assert_non_null(strstr(err.message, wrong[i]));
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        pair.key = right[i];
        must_ok(pml_rt_context_open(&c, t->env, &o, &err), &err);
        pml_rt_context_close(c);
    }
    test_env_close(t);
}

/* 1 */
static void context_refuses_what_is_no_store(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_rt_plugin bad = failing_store_plugin;
    const pml_option_pair unknown = {"realtime.store", "nosuch"};
    rt_kit_create(&k, NULL, "", "");
    bad.abi_major++;
    o.store = &bad;
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_context_open(&k.ctx, k.t->env, &o, &err), &err);
    assert_null(k.ctx);
    o = (pml_rt_context_options)PML_RT_CONTEXT_OPTIONS_INIT;
    o.n_options = 1;
    o.options = &unknown;
    must_ok(pml_rt_context_open(&k.ctx, k.t->env, &o, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    assert_non_null(strstr(err.message, "nosuch"));
    pml_rt_context_close(k.ctx);
    bad = failing_store_plugin;
    bad.caps = PML_RT_CAP_MODE_KEY;
    o = (pml_rt_context_options)PML_RT_CONTEXT_OPTIONS_INIT;
    o.store = &bad;
    must_ok(pml_rt_context_open(&k.ctx, k.t->env, &o, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    o.struct_size--;
    pml_rt_context *none;
    must_fail_with(PML_E_INVAL, pml_rt_context_open(&none, k.t->env, &o, &err), &err);
    rt_kit_close(&k);
}

/* 2 */
static void each_partition_bucket_has_one_store(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 5, "a");
    assert_int_equal(rt_kit_metrics(&k).pb_active, 1);
    rt_kit_write(&k, 5, "b");
    assert_int_equal(rt_kit_metrics(&k).pb_active, 2);
    pml_plan *p = rt_kit_plan(&k);
    assert_int_equal(rt_kit_metrics(&k).open_views, 2);
    rt_kit_must_be(&k, p, 0, 15);
    pml_plan_free(p);
    assert_int_equal(rt_kit_metrics(&k).open_views, 0); /* 14 */
    rt_kit_close(&k);
}

/* 11 */
static void table_has_one_writer_at_a_time(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_writer *w;
    pml_rt_context *other;
    pml_table *again;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    must_fail_with(PML_E_BUSY, pml_rt_writer_open(&w, k.table, k.ctx, NULL, &err), &err);
    assert_null(w);
    must_ok(pml_rt_context_open(&other, k.t->env, NULL, &err), &err);
    must_ok(pml_table_open(&again, k.t->env, k.path, NULL, &err), &err);
    must_fail_with(PML_E_BUSY, pml_rt_writer_open(&w, again, other, NULL, &err), &err);
    must_ok(pml_rt_writer_close(k.w, &err), &err);
    must_ok(pml_rt_writer_open(&w, again, other, NULL, &err), &err);
    must_fail_with(PML_E_BUSY, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    must_ok(pml_rt_writer_close(w, &err), &err);
    must_ok(pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    pml_rt_context_close(other);
    pml_table_release(again);
    rt_kit_close(&k);
}

/* 11 */
static void context_serves_one_table(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_table *other;
    pml_rt_writer *w;
    pml_scan *scan;
    static const char json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}],\"partitionKeys\":[],\"primaryKeys\":[],"
                               "\"options\":{\"realtime.enabled\":\"true\"},\"comment\":\"\"}";
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    must_ok(pml_table_create(&other, k.t->env, test_path(k.t, "other"), json, sizeof json - 1, 0, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rt_writer_open(&w, other, k.ctx, NULL, &err), &err);
    must_ok(pml_scan_new(&scan, other, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_realtime(scan, k.ctx, &err), &err);
    must_ok(pml_scan_set_realtime(scan, NULL, &err), &err);
    pml_scan_free(scan);
    pml_table_release(other);
    rt_kit_close(&k);
}

/* 11 */
static void forked_child_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_prepared *p;
    int status;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    p = rt_kit_prepare(&k, 1);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan;
        pml_rt_prepared *second;
        pml_rt_commit_result r;
        pml_rt_metrics m = PML_RT_METRICS_INIT;
        size_t n;
        const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
        int ok = rt_kit_try_write(&k, 1, "a", NULL, NULL, &err) == PML_E_STATE;
        ok += rt_kit_try_plan(&plan, &k, k.ctx, -1, &err) == PML_E_STATE;
        ok += pml_rt_seal(k.w, &err) == PML_E_STATE;
        ok += pml_rt_prepare(&second, k.w, 1, NULL, &err) == PML_E_STATE;
        ok += rt_kit_try_commit(&k, &r, p, &err) == PML_E_STATE;
        ok += pml_rt_progress_abort(k.commit, e, n, &err) == PML_E_STATE;
        ok += pml_rt_advance(k.ctx, 1, &err) == PML_E_STATE;
        ok += pml_rt_context_metrics(&m, k.ctx, &err) == PML_E_STATE;
        ok += pml_rt_writer_close(k.w, &err) == PML_E_STATE;
        _exit(ok == 9 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    rt_kit_must_store(&k, 0, 5);
    rt_kit_close(&k);
}

static void closed_context_refuses_what_is_new(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    pml_rt_writer *w;
    pml_scan *scan;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    pml_plan *before = rt_kit_plan(&k);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
    pml_rt_writer_abort(k.w);
    k.w = NULL;
    pml_rt_context_acquire(k.ctx); /* a second owner */
    pml_rt_context_close(k.ctx);
    must_fail_with(PML_E_RECREATE, pml_rt_writer_open(&w, k.table, k.ctx, NULL, &err), &err);
    must_ok(pml_scan_plan(&p, scan, &err), &err);
    pml_plan_free(p);
    pml_rt_context_close(k.ctx);
    must_fail_with(PML_E_STATE, pml_scan_plan(&p, scan, &err), &err); /* the scan keeps it alive, no more */
    k.ctx = NULL;
    rt_kit_must_be(&k, before, 0, 5);
    pml_plan_free(before);
    pml_scan_free(scan);
    rt_kit_close(&k);
}

/* 14b, 21 */
static void metrics_count_what_happens(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_metrics m;
    const char *const manual[] = {"realtime.auto-advance", "false"};
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    m = rt_kit_metrics(&k);
    assert_int_equal(m.total_memory_bytes, 0);
    rt_kit_write(&k, 5, "a");
    rt_kit_write(&k, 4, "a");
    must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "a", &(pml_rt_write_options){sizeof(pml_rt_write_options), NULL, 3, NULL}, NULL, &err),
                   &err);
    m = rt_kit_metrics(&k);
    assert_int_equal(m.building_row_count, 9);
    assert_int_equal(m.sealed_row_count, 0);
    assert_int_equal(m.total_row_count, 9);
    assert_true(m.building_memory_bytes > 0);
    assert_int_equal(m.total_memory_bytes, m.building_memory_bytes);
    assert_int_equal(m.uncommitted_rows, 9);
    assert_int_equal(m.write_rows, 9);
    assert_int_equal(m.write_batches, 2);
    assert_int_equal(m.rejected_batches, 1);
    assert_int_equal(m.pb_active, 1);
    must_ok(pml_rt_seal(k.w, &err), &err);
    rt_kit_write(&k, 1, "a");
    m = rt_kit_metrics(&k);
    assert_int_equal(m.building_row_count, 1);
    assert_int_equal(m.sealed_row_count, 9);
    assert_int_equal(m.total_memory_bytes, m.building_memory_bytes + m.sealed_memory_bytes);
    assert_int_equal(m.seals, 1);
    int64_t id = rt_kit_cycle(&k, 1);
    m = rt_kit_metrics(&k);
    assert_int_equal(m.seals, 2);
    assert_int_equal(m.prepares, 1);
    assert_int_equal(m.commits, 1);
    assert_int_equal(m.uncommitted_rows, 0);
    assert_int_equal(m.total_row_count, 10);
    assert_int_equal(m.advances, 0);
    must_ok(pml_rt_advance(k.ctx, id, &err), &err);
    rt_kit_must_show(&k, 0, 10);
    m = rt_kit_metrics(&k);
    assert_int_equal(m.advances, 1);
    assert_int_equal(m.reclaimed_rows, 10);
    assert_int_equal(m.total_row_count, 0);
    assert_int_equal(m.total_memory_bytes, 0);
    assert_int_equal(m.plans, 1);
    assert_int_equal(m.plan_retries, 0);
    assert_int_equal(m.dropped_views, 0);
    m.struct_size--;
    must_fail_with(PML_E_INVAL, pml_rt_context_metrics(&m, k.ctx, &err), &err);
    rt_kit_close(&k);
}

/* 14d: these numbers are for ever */
static void error_codes_have_the_values_of_the_table(void **state)
{
    (void)state;
    static const int first[] = {PML_OK, PML_E_INVAL, PML_E_UNSUPPORTED, PML_E_NOMEM, PML_E_IO, PML_E_CORRUPT, PML_E_NOT_FOUND,
                                PML_E_EXISTS, PML_E_NO_SPACE, PML_E_CONFLICT, PML_E_UNKNOWN_OUTCOME, PML_E_CANCELLED, PML_E_LIMIT,
                                PML_E_TIMEOUT, PML_E_STATE, PML_E_BUSY, PML_E_SCHEMA, PML_E_SNAPSHOT_GONE, PML_E_INTERNAL};
    static const int second[] = {PML_E_TICKET, PML_E_RECREATE, PML_E_PB_FAILED, PML_E_PB_RESET, PML_E_PROGRESS_GAP,
                                 PML_E_PROGRESS_LOST, PML_E_OVERFLOW, PML_E_OFFSET_ORDER, PML_E_BUDGET, PML_E_PLUGIN,
                                 PML_E_PLUGIN_CONTRACT};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        assert_int_equal(first[i], -(int)i);
    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++)
        assert_int_equal(second[i], -32 - (int)i);
    assert_int_equal(PML_ERRF_NO_EFFECT, 1);
    assert_int_equal(PML_ERRF_TRANSIENT, 2);
}

/* 14e */
static void table_without_realtime_is_refused_by_name_and_left_alone(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    const pml_option_pair off = {"realtime.enabled", "false"};
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    rt_kit_create(&k, NULL, "", "");
    pml_table_release(k.table);
    o.n_options = 1;
    o.options = &off;
    must_ok(pml_table_open(&k.table, k.t->env, k.path, &o, &err), &err);
    must_ok(pml_rt_context_open(&k.ctx, k.t->env, NULL, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    assert_non_null(strstr(err.message, "realtime.enabled"));
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_scan_set_realtime(scan, k.ctx, &err), &err);
    pml_scan_free(scan);
    (void)rt_kit_append(&k, 5, "a");
    rt_kit_must_store(&k, 0, 5);
    assert_int_equal(rt_kit_files(&k, ".offsets"), 0);
    char path[600];
    (void)snprintf(path, sizeof path, "%s/metadata", k.path);
    assert_int_not_equal(access(path, F_OK), 0);
    rt_kit_close(&k);
}

/* 14f: options of compaction do not throttle live commits */
static void compaction_options_do_not_stop_live_commits(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "\"num-sorted-run.stop-trigger\":\"2\",\"compaction.min.file-num\":\"2\"");
    rt_kit_start(&k, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        rt_kit_write(&k, 2, "a");
        (void)rt_kit_cycle(&k, i);
    }
    rt_kit_must_store(&k, 0, 40);
    rt_kit_close(&k);
}

/* 14g */
static void unknown_option_values_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const options[][2] = {{"realtime.offset-mode", "given"},      {"realtime.validate-input", "some"},
                                             {"realtime.verify.commit", "sometimes"}, {"realtime.verify.order", "maybe"},
                                             {"realtime.auto-advance", "yes!"},       {"realtime.foreign-overwrite", "guess"},
                                             {"realtime.progress.max-walk", "x"},     {"realtime.plan.retries", "many"},
                                             {"realtime.append.accept-update-after", "2"},
                                             {"realtime.memory.merge-runs", "abc"},   {"realtime.memory.chunk-bytes", "-1"}};
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
        const pml_option_pair pair = {options[i][0], options[i][1]};
        o.n_options = 1;
        o.options = &pair;
        must_ok(pml_rt_context_open(&k.ctx, k.t->env, &o, &err), &err);
        must_fail_with(PML_E_INVAL, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
        assert_non_null(strstr(err.message, options[i][0]));
        rt_kit_stop(&k);
    }
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    const pml_option_pair other = {"bucket", "3"};
    o.n_options = 1;
    o.options = &other;
    must_fail_with(PML_E_INVAL, pml_rt_context_open(&k.ctx, k.t->env, &o, &err), &err);
    rt_kit_close(&k);
}

/* 14g: what the table layer refuses, it refuses for live writers too */
static void refused_table_features_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const options[][2] = {
        {"chain-table.enabled", "true"}, {"file.format", "orc"}, {"bucket", "-2"}};
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
        const pml_option_pair pair = {options[i][0], options[i][1]};
        pml_table *t = NULL;
        o.n_options = 1;
        o.options = &pair;
        int rc = pml_table_open(&t, k.t->env, k.path, &o, &err);
        must_ok(pml_rt_context_open(&k.ctx, k.t->env, NULL, &(pml_error)PML_ERROR_INIT), NULL);
        if (rc == PML_OK)
            rc = pml_rt_writer_open(&k.w, t, k.ctx, NULL, &err);
        must_fail_with(PML_E_UNSUPPORTED, rc, &err);
        pml_table_release(t);
        rt_kit_stop(&k);
    }
    rt_kit_close(&k);
}

/* 14h */
static void column_with_a_system_name_is_refused_at_open(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_table *t;
    pml_rt_writer *w;
    static const char json[] =
        "{\"fields\":[{\"name\":\"_REALTIME_OFFSET\",\"type\":\"BIGINT NOT NULL\"}],\"partitionKeys\":[],\"primaryKeys\":[],"
        "\"options\":{\"realtime.enabled\":\"true\"},\"comment\":\"\"}";
    rt_kit_create(&k, NULL, "", "");
    int rc = pml_table_create(&t, k.t->env, test_path(k.t, "sys"), json, sizeof json - 1, 0, &err);
    must_ok(pml_rt_context_open(&k.ctx, k.t->env, NULL, &err), &err);
    if (rc == PML_OK)
        rc = pml_rt_writer_open(&w, t, k.ctx, NULL, &err);
    assert_int_not_equal(rc, PML_OK);
    assert_non_null(strstr(err.message, "_REALTIME_OFFSET"));
    pml_table_release(t);
    rt_kit_close(&k);
}

/* 41, 23.3: progress that is lost stops writes and plans with memory by name */
static void lost_progress_is_refused_by_name(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    char path[600];
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-1", k.path);
    assert_int_equal(unlink(path), 0); /* the anchor expired */
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL);
    must_fail_with(PML_E_PROGRESS_LOST, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err);
    rt_kit_must_show(&k, 0, 5); /* without memory rows the disk alone is right */
    rt_kit_close(&k);
}

/* A table, context and writer of an environment that nobody else holds. */
static void open_alone(rt_kit *alone, const rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_env *env;
    *alone = *k;
    must_ok(pml_env_new(&env, NULL, &err), &err);
    must_ok(pml_table_open(&alone->table, env, k->path, NULL, &err), &err);
    must_ok(pml_rt_context_open(&alone->ctx, env, NULL, &err), &err);
    pml_env_release(env);
    must_ok(pml_rt_writer_open(&alone->w, alone->table, alone->ctx, NULL, &err), &err);
    rt_kit_write(alone, 5, "a");
}

static void close_alone(rt_kit *alone)
{
    rt_kit_stop(alone);
    pml_table_release(alone->table);
}

/* env.h: the caller may release its own reference first. */
static void plans_and_prepares_may_be_the_last_to_go(void **state)
{
    (void)state;
    rt_kit k, alone;
    rt_kit_create(&k, NULL, "", "");
    open_alone(&alone, &k);
    pml_rt_prepared *p = rt_kit_prepare(&alone, 1);
    close_alone(&alone);
    pml_rt_prepared_free(p);
    open_alone(&alone, &k);
    pml_plan *plan = rt_kit_plan(&alone);
    close_alone(&alone);
    pml_plan_free(plan);
    open_alone(&alone, &k);
    pml_rt_writer_abort(alone.w);
    alone.w = NULL;
    pml_rt_context_close(alone.ctx);
    alone.ctx = NULL;
    must_ok(rt_kit_try_plan(&plan, &alone, NULL, -1, NULL), NULL); /* of the disk alone */
    pml_table_release(alone.table);
    pml_plan_free(plan);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_refuses_options_that_do_not_exist),
        cmocka_unit_test(context_refuses_what_is_no_store),
        cmocka_unit_test(each_partition_bucket_has_one_store),
        cmocka_unit_test(table_has_one_writer_at_a_time),
        cmocka_unit_test(context_serves_one_table),
        cmocka_unit_test(forked_child_is_refused),
        cmocka_unit_test(plans_and_prepares_may_be_the_last_to_go),
        cmocka_unit_test(closed_context_refuses_what_is_new),
        cmocka_unit_test(metrics_count_what_happens),
        cmocka_unit_test(error_codes_have_the_values_of_the_table),
        cmocka_unit_test(table_without_realtime_is_refused_by_name_and_left_alone),
        cmocka_unit_test(compaction_options_do_not_stop_live_commits),
        cmocka_unit_test(unknown_option_values_are_refused_by_name),
        cmocka_unit_test(refused_table_features_are_refused_by_name),
        cmocka_unit_test(column_with_a_system_name_is_refused_at_open),
        cmocka_unit_test(lost_progress_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
