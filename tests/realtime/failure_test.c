/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation fails, for every n, in each call: no crash, no leak, nothing lost or doubled, and a failure that says it had
   no effect can be repeated. */
#include <stdio.h>
#include <string.h>

#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

/* Disk rows, committed but not advanced rows, and rows in memory. */
static void start(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(k, NULL, "\"p\"", "");
    rt_kit_start(k, NULL, manual);
    rt_kit_write(k, 4, "*");
    must_ok(pml_rt_advance(k->ctx, rt_kit_cycle(k, 1), &err), &err);
    rt_kit_write(k, 4, "*");
    (void)rt_kit_cycle(k, 2);
    rt_kit_write(k, 4, "*");
}

static void context_and_writer_open_without_leaks(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    const pml_option_pair pair = {"realtime.validate-input", "full"};
    o.n_options = 1;
    o.options = &pair;
    rt_kit_create(&k, NULL, "\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 10, "*");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_stop(&k);
    bool reached = true;
    for (int at = 1; reached; at++) {
        test_env_fail_at(k.t, at);
        int rc = pml_rt_context_open(&k.ctx, k.t->env, &o, &err);
        if (rc == PML_OK)
            rc = pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        if (reached)
            rt_kit_stop(&k);
    }
    rt_kit_must_show(&k, 0, 10);
    rt_kit_close(&k);
}

static void writes_fail_without_effect(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    for (int round = 0; round < 2; round++) { /* with stores to be made, and with those that are there */
        bool reached = true;
        int64_t written = k.next_id;
        for (int at = 1; reached; at++) {
            err = (pml_error)PML_ERROR_INIT;
            test_env_fail_at(k.t, at);
            int rc = rt_kit_try_write(&k, 5, "a", NULL, NULL, &err);
            reached = test_env_fail_reached(k.t);
            test_env_fail_at(k.t, 0);
            if (rc == PML_OK) {
                written += 5;
                continue;
            }
            must_fail_with(PML_E_NOMEM, rc, &err);
            assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
        }
        rt_kit_must_show(&k, 0, written);
        if (round == 0)
            rt_kit_write(&k, 5, "b");
    }
    rt_kit_close(&k);
}

/* A batch over two partition-buckets is applied in order: what was applied is told, the rest can be sent again. */
static void writes_over_partitions_tell_what_was_applied(void **state)
{
    (void)state;
    bool reached = true;
    for (int at = 1; reached; at++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
        struct ArrowArrayStream s;
        rt_kit_create(&k, NULL, "\"p\"", "");
        rt_kit_start(&k, NULL, NULL);
        test_env_fail_at(k.t, at);
        int rc = rt_kit_try_write(&k, 6, "*", NULL, &r, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        assert_int_equal(r.rows, rc == PML_OK ? 6 : 3 * (int64_t)r.n_pbs);
        if (rc != PML_OK)
            assert_int_equal((err.flags & PML_ERRF_NO_EFFECT) != 0, r.n_pbs == 0);
        pml_plan *p = rt_kit_plan(&k);
        must_ok(pml_read_open(&s, p, NULL, &err), &err);
        assert_int_equal(rt_kit_read(&k, &s), r.rows);
        pml_plan_free(p);
        rt_kit_close(&k);
    }
}

static pml_rt_prepared *give_up(rt_kit *k, pml_rt_prepared *p)
{
    pml_error err = PML_ERROR_INIT;
    size_t n;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_progress_abort(k->commit, e, n, &err), &err);
    pml_rt_prepared_free(p);
    return NULL;
}

static void seal_and_prepare_can_be_repeated(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_prepared *p = NULL;
    start(&k);
    bool reached = true;
    for (int at = 1; reached; at++) {
        pml_error err = PML_ERROR_INIT;
        int64_t files = rt_kit_files(&k, "data-");
        test_env_fail_at(k.t, at);
        int rc = at % 2 == 0 ? pml_rt_seal(k.w, &err) : PML_OK;
        if (rc == PML_OK)
            rc = pml_rt_prepare(&p, k.w, 3, NULL, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc == PML_OK && reached)
            p = give_up(&k, p);
        if (rc != PML_OK) {
            must_fail_with(PML_E_NOMEM, rc, &err);
            assert_int_equal(rt_kit_files(&k, "data-"), files);
            if (at % 16 == 0)
                rt_kit_must_show(&k, 0, 12);
        }
    }
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    rt_kit_must_store(&k, 0, 12);
    rt_kit_must_show(&k, 0, 12);
    rt_kit_close(&k);
}

static void commit_can_be_repeated(void **state)
{
    (void)state;
    rt_kit k;
    pml_rt_commit_result r;
    start(&k);
    int64_t commits = 2;
    pml_rt_prepared *p = rt_kit_prepare(&k, 3);
    bool reached = true;
    for (int at = 1; reached; at++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(k.t, at);
        int rc = rt_kit_try_commit(&k, &r, p, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc != PML_OK && rc != PML_E_UNKNOWN_OUTCOME)
            must_fail_with(PML_E_NOMEM, rc, &err);
        if (rc == PML_OK || at % 32 == 0)
            rt_kit_must_show(&k, 0, k.next_id);
        if (rc != PML_OK)
            continue;
        assert_int_equal(rt_kit_latest(&k), ++commits);
        assert_int_equal(rt_kit_files(&k, ".offsets"), commits); /* attempts in vain left none */
        if (reached) {
            pml_rt_prepared_free(p);
            rt_kit_write(&k, 3, "*");
            p = rt_kit_prepare(&k, commits + 1);
        }
    }
    rt_kit_must_store(&k, 0, k.next_id);
    pml_rt_prepared_free(p);
    rt_kit_close(&k);
}

static void abort_can_be_repeated(void **state)
{
    (void)state;
    rt_kit k;
    size_t n;
    start(&k);
    pml_rt_prepared *p = rt_kit_prepare(&k, 3);
    bool reached = true;
    for (int at = 1; reached; at++) {
        pml_error err = PML_ERROR_INIT;
        const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
        test_env_fail_at(k.t, at);
        int rc = pml_rt_progress_abort(k.commit, e, n, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        if (rc == PML_OK && reached) {
            pml_rt_prepared_free(p);
            p = rt_kit_prepare(&k, 3);
        }
    }
    rt_kit_must_show(&k, 0, 12);
    pml_rt_prepared_free(p);
    (void)rt_kit_cycle(&k, 4);
    rt_kit_must_store(&k, 0, 12);
    rt_kit_close(&k);
}

static void advance_can_be_repeated(void **state)
{
    (void)state;
    rt_kit k;
    start(&k);
    pml_plan *pinned = rt_kit_plan(&k);
    int64_t snapshot = 2;
    bool reached = true;
    for (int at = 1; reached; at++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(k.t, at);
        int rc = pml_rt_advance(k.ctx, snapshot, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        rt_kit_must_show(&k, 0, k.next_id);
        if (rc == PML_OK && reached)
            snapshot = rt_kit_cycle(&k, snapshot + 1), rt_kit_write(&k, 4, "*");
    }
    rt_kit_must_be(&k, pinned, 0, 12);
    pml_plan_free(pinned);
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 4);
    rt_kit_close(&k);
}

/* What an advance that succeeds lets go it lets go at once, be there memory for a list of it or not. */
static void advance_without_memory_keeps_no_segment(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    bool reached = true;
    for (int at = 1; reached; at++) {
        pml_error err = PML_ERROR_INIT;
        for (int i = 0; i < 11; i++) {
            rt_kit_write(&k, 1, "*");
            must_ok(pml_rt_seal(k.w, &err), &err);
        }
        int64_t snapshot = rt_kit_cycle(&k, at);
        test_env_fail_at(k.t, at);
        int rc = pml_rt_advance(k.ctx, snapshot, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc != PML_OK)
            must_ok(pml_rt_advance(k.ctx, snapshot, &err), &err);
        assert_int_equal(rt_kit_metrics(&k).pinned_bytes, 0);
        assert_int_equal(rt_kit_metrics(&k).sealed_memory_bytes, 0);
    }
    rt_kit_must_show(&k, 0, k.next_id);
    rt_kit_close(&k);
}

static int plan_and_read(rt_kit *k, int64_t *rows, pml_error *err)
{
    pml_plan *p = NULL;
    struct ArrowArrayStream s = {0};
    *rows = 0;
    int rc = rt_kit_try_plan(&p, k, k->ctx, -1, err);
    if (rc == PML_OK)
        rc = pml_read_open(&s, p, NULL, err);
    while (rc == PML_OK) {
        struct ArrowArray a = {0};
        if (s.get_next(&s, &a) != 0)
            rc = pml_stream_error(&s, err);
        if (rc != PML_OK || a.release == NULL)
            break;
        *rows += a.length;
        a.release(&a);
    }
    if (s.release != NULL)
        s.release(&s);
    pml_plan_free(p);
    return rc;
}

static void plan_and_read_can_be_repeated(void **state)
{
    (void)state;
    rt_kit k;
    int64_t rows;
    start(&k);
    bool reached = true;
    for (int at = 1; reached; at++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(k.t, at);
        int rc = plan_and_read(&k, &rows, &err);
        reached = test_env_fail_reached(k.t);
        test_env_fail_at(k.t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
    }
    assert_int_equal(rows, 12);
    assert_int_equal(rt_kit_metrics(&k).open_views, 0);
    rt_kit_must_show(&k, 0, 12);
    rt_kit_close(&k);
}

static void writer_aborted_without_memory_lets_no_writer_go_on(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k);
    test_env_fail_at(k.t, 1);
    pml_rt_writer_abort(k.w);
    test_env_fail_at(k.t, 0);
    k.w = NULL;
    must_fail_with(PML_E_RECREATE, pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_and_writer_open_without_leaks),
        cmocka_unit_test(writes_fail_without_effect),
        cmocka_unit_test(writes_over_partitions_tell_what_was_applied),
        cmocka_unit_test(seal_and_prepare_can_be_repeated),
        cmocka_unit_test(commit_can_be_repeated),
        cmocka_unit_test(abort_can_be_repeated),
        cmocka_unit_test(advance_can_be_repeated),
        cmocka_unit_test(advance_without_memory_keeps_no_segment),
        cmocka_unit_test(plan_and_read_can_be_repeated),
        cmocka_unit_test(writer_aborted_without_memory_lets_no_writer_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
