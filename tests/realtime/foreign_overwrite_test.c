/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overwrites by others under a live context (realtime-tests.md 40, 41, 46a; realtime.md 7.4, 7.6 items 1 to 3, option
 * realtime.foreign-overwrite): each kind of change, under each policy, with memory in each state, before and after the advance that
 * notices it. Another partition-bucket goes on in every case.
 */
#include <string.h>

#include "support/rt_kit.h"

typedef enum change {
    EMPTIED,      /* truncate, drop partition: all files of the partition deleted, none added */
    UNCLEAR,      /* some are left: INSERT OVERWRITE, or a row-level change by a writer that does not say so */
    ROW_LEVEL,    /* the same, and the snapshot says DELETE */
    INDEX_ONLY,   /* a deletion vector: no file changes */
    CHANGES
} change;

typedef enum memory_state { BUILDING, SEALED, PREPARED, COMMITTED, STATES } memory_state;
typedef enum fate { KEPT, RESET, LOST } fate;

static const char *const policies[] = {"ask", "inherit", "reset"};
static const fate fates[CHANGES][3] = {[EMPTIED] = {RESET, KEPT, RESET},
                                       [UNCLEAR] = {LOST, KEPT, RESET},
                                       [ROW_LEVEL] = {KEPT, KEPT, KEPT},
                                       [INDEX_ONLY] = {KEPT, KEPT, KEPT}};

typedef struct life {
    rt_kit k;
    fate fate;
    pml_rt_prepared *p;
    int64_t snapshot; /* of the change */
    int64_t rows;     /* a latest plan shows, when it may */
} life;

static void start(rt_kit *k, const char *policy)
{
    static const char *const manual[] = {"realtime.auto-advance", "false"};
    const pml_option_pair options[] = {{manual[0], manual[1]}, {"realtime.foreign-overwrite", policy}};
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    o.n_options = 2;
    o.options = options;
    must_ok(pml_rt_context_open(&k->ctx, k->t->env, &o, &err), &err);
    must_ok(pml_rt_writer_open(&k->w, k->table, k->ctx, NULL, &err), &err);
}

/* Partition a: ten rows in two files, committed and advanced, then five in the state. Partition b: five committed, five in memory. */
static void begin(life *l, change c, int policy, memory_state at)
{
    rt_kit *k = &l->k;
    pml_error err = PML_ERROR_INIT;
    *l = (life){.fate = fates[c][policy]};
    rt_kit_create(k, NULL, "\"p\"", "");
    start(k, policies[policy]);
    rt_kit_write(k, 5, "a");
    (void)rt_kit_cycle(k, 1);
    rt_kit_write(k, 5, "a");
    rt_kit_write(k, 5, "b");
    must_ok(pml_rt_advance(k->ctx, rt_kit_cycle(k, 2), &err), &err);
    rt_kit_write(k, 5, "a");
    if (at == SEALED)
        must_ok(pml_rt_seal(k->w, &err), &err);
    if (at >= PREPARED)
        l->p = rt_kit_prepare(k, 3);
    if (at == COMMITTED)
        (void)rt_kit_commit(k, l->p);
    rt_kit_write(k, 5, "b");
    k->foreign_operation = c == ROW_LEVEL ? "DELETE" : NULL;
    k->foreign_removes = c == EMPTIED ? 0 : 1;
    l->snapshot = rt_kit_foreign(k, PML_COMMIT_OVERWRITE, c != INDEX_ONLY, "a");
    int64_t disk = at == COMMITTED ? 15 : 10, removed = c == EMPTIED ? disk : c == INDEX_ONLY ? 0 : 5;
    l->rows = 10 + disk - removed + (l->fate == KEPT && at != COMMITTED ? 5 : 0);
}

static void end(life *l)
{
    pml_rt_prepared_free(l->p);
    rt_kit_close(&l->k);
}

static void must_plan(life *l)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    int64_t rows;
    int rc = rt_kit_try_plan(&p, &l->k, l->k.ctx, -1, &err);
    if (l->fate == LOST) {
        must_fail_with(PML_E_PROGRESS_LOST, rc, &err);
        return;
    }
    must_ok(rc, &err);
    must_ok(pml_plan_count(&rows, p, &err), &err);
    assert_int_equal(rows, l->rows);
    pml_plan_free(p);
}

static int code_of(fate f, int reset)
{
    return f == KEPT ? PML_OK : f == LOST ? PML_E_PROGRESS_LOST : reset;
}

static void must_commit(life *l, memory_state at)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    must_fail_with(code_of(l->fate, PML_E_CONFLICT), rt_kit_try_commit(&l->k, &r, l->p, &err), &err);
    if (l->fate == KEPT)
        assert_int_equal(r.already_committed, at == COMMITTED);
    else
        assert_int_equal(rt_kit_latest(&l->k), l->snapshot); /* dead rows did not come back */
}

/* Before anybody advanced: plans and commits know by themselves. */
static void before_advance(change c, int policy, memory_state at)
{
    life l;
    begin(&l, c, policy, at);
    must_plan(&l);
    if (at >= PREPARED)
        must_commit(&l, at);
    must_plan(&l);
    end(&l);
}

static void after_advance(change c, int policy, memory_state at)
{
    life l;
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p = NULL;
    begin(&l, c, policy, at);
    rt_kit *k = &l.k;
    must_ok(pml_rt_advance(k->ctx, l.snapshot, &err), &err);
    must_plan(&l);
    must_fail_with(code_of(l.fate, PML_E_RECREATE), rt_kit_try_write(k, 2, "a", NULL, NULL, &err), &err);
    rt_kit_write(k, 1, "b"); /* the others go on */
    l.rows += l.fate == KEPT ? 3 : 1;
    must_plan(&l);
    if (at >= PREPARED)
        must_commit(&l, at);
    must_fail_with(code_of(l.fate, PML_E_RECREATE), pml_rt_seal(k->w, &err), &err);
    int rc = pml_rt_prepare(&p, k->w, 4, NULL, &err);
    must_fail_with(at == PREPARED && l.fate != KEPT ? PML_E_BUSY : code_of(l.fate, PML_E_RECREATE), rc, &err);
    pml_rt_prepared_free(p);
    if (at == PREPARED && l.fate != KEPT) { /* its files are in no snapshot: they may go */
        size_t n;
        const pml_rt_entry *const *e = pml_rt_prepared_get(&n, l.p);
        must_ok(pml_rt_progress_abort(k->commit, e, n, &err), &err);
    }
    must_plan(&l);
    end(&l);
}

/* A new life: what it may do, and from where it must replay. */
static void after_restart(change c, int policy, memory_state at)
{
    life l;
    pml_error err = PML_ERROR_INIT;
    begin(&l, c, policy, at);
    rt_kit *k = &l.k;
    pml_rt_prepared_free(l.p);
    l.p = NULL;
    rt_kit_stop(k);
    start(k, policies[policy]);
    must_fail_with(code_of(l.fate, PML_OK), rt_kit_try_write(k, 2, "a", NULL, NULL, &err), &err);
    rt_kit_write(k, 5, "b");
    int64_t id = rt_kit_cycle(k, 9);
    assert_int_equal(rt_kit_end(k, id, "b", 0), 10);
    assert_int_equal(rt_kit_end(k, id, "a", 0), l.fate == LOST ? -1 : 2 + (l.fate == RESET ? 0 : at == COMMITTED ? 15 : 10));
    end(&l);
}

static void every_case(void (*body)(change c, int policy, memory_state at))
{
    for (int c = 0; c < CHANGES; c++)
        for (int policy = 0; policy < 3; policy++)
            for (int at = 0; at < STATES; at++)
                body((change)c, policy, (memory_state)at);
}

static void overwrite_by_others_is_known_to_plans_and_commits_at_once(void **state)
{
    (void)state;
    every_case(before_advance);
}

static void overwrite_by_others_stops_what_it_touched_and_nothing_else(void **state)
{
    (void)state;
    every_case(after_advance);
}

static void partition_bucket_goes_on_as_the_policy_says_after_a_restart(void **state)
{
    (void)state;
    every_case(after_restart);
}

/* The policy may be set afterwards: nothing but the walk says what is lost. Once a commit of ours, or an anchor, has written it down,
   it stays (I22). */
static void policy_set_afterwards_frees_what_is_lost_until_it_is_written_down(void **state)
{
    (void)state;
    for (int anchored = 0; anchored < 2; anchored++) {
        life l;
        pml_error err = PML_ERROR_INIT;
        begin(&l, UNCLEAR, 0, BUILDING);
        rt_kit *k = &l.k;
        if (anchored) {
            (void)atomic_fetch_add(&k->t->mono_ns, 3600ll * 1000000000);
            must_ok(pml_rt_advance(k->ctx, l.snapshot, &err), &err);
            assert_int_equal(rt_kit_metrics(k).reanchors, 1);
        }
        rt_kit_stop(k);
        start(k, "inherit");
        must_fail_with(anchored ? PML_E_PROGRESS_LOST : PML_OK, rt_kit_try_write(k, 5, "a", NULL, NULL, &err), &err);
        rt_kit_write(k, 5, "b");
        int64_t id = rt_kit_cycle(k, 9);
        assert_int_equal(rt_kit_end(k, id, "a", 0), anchored ? -1 : 15);
        assert_int_equal(rt_kit_end(k, id, "b", 0), 10);
        end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overwrite_by_others_is_known_to_plans_and_commits_at_once),
        cmocka_unit_test(overwrite_by_others_stops_what_it_touched_and_nothing_else),
        cmocka_unit_test(partition_bucket_goes_on_as_the_policy_says_after_a_restart),
        cmocka_unit_test(policy_set_afterwards_frees_what_is_lost_until_it_is_written_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
