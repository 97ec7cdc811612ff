/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets of serialised live splits (realtime.md 4.5). Numbers: realtime-tests.md. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "realtime/rt_context.h"
#include "support/rt_kit.h"

enum { MANY = 100000 };

typedef struct world {
    rt_kit k;
    pml_scan *scan; /* with the context */
} world;

static void advance_clock(world *w, long long seconds)
{
    (void)atomic_fetch_add(&w->k.t->mono_ns, seconds * 1000000000LL);
}

/* Ten committed rows, ten in memory. */
static void setup(world *w, const char *const option[2])
{
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&w->k, NULL, "", "");
    rt_kit_start(&w->k, NULL, option);
    rt_kit_write(&w->k, 10, NULL);
    (void)rt_kit_cycle(&w->k, 1);
    rt_kit_write(&w->k, 10, NULL);
    must_ok(pml_scan_new(&w->scan, w->k.table, &err), &err);
    must_ok(pml_scan_set_realtime(w->scan, w->k.ctx, &err), &err);
}

static void teardown(world *w)
{
    pml_scan_free(w->scan);
    rt_kit_close(&w->k);
}

static pml_text draw(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text;
    pml_plan *plan = rt_kit_plan(&w->k);
    assert_int_equal(pml_plan_split_count(plan), 1);
    must_ok(pml_rt_split_serialize(&text, plan, 0, &err), &err);
    pml_plan_free(plan);
    return text;
}

static int open_split(pml_plan **out, world *w, const pml_text *text, pml_error *err)
{
    return pml_rt_split_deserialize(out, w->scan, &(pml_blob){text->ptr, text->len}, 1, err);
}

static int release(world *w, const pml_text *text, pml_error *err)
{
    return pml_rt_split_release_ticket(w->k.ctx, &(pml_blob){text->ptr, text->len}, err);
}

static int64_t open_views(world *w)
{
    return rt_kit_metrics(&w->k).open_views;
}

/* 3 */
static void ticket_released_twice_is_fine_and_opens_nothing(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_text t = draw(&w);
    assert_int_equal(open_views(&w), 1);
    must_ok(release(&w, &t, &err), &err);
    assert_int_equal(open_views(&w), 0);
    must_ok(release(&w, &t, &err), &err);
    must_fail_with(PML_E_TICKET, open_split(&plan, &w, &t, &err), &err);
    pml_text_clear(&t);
    teardown(&w);
}

/* 4: without threads the next operation on tickets, or the next plan, finds the expired ones */
static void ticket_that_nobody_fetches_expires(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_text t = draw(&w);
    advance_clock(&w, 5 * 60 - 1);
    pml_rt_tickets__expire(w.k.ctx);
    assert_int_equal(open_views(&w), 1);
    advance_clock(&w, 1);
    pml_plan *other = rt_kit_plan(&w.k);
    assert_int_equal(open_views(&w), 1); /* of the plan */
    pml_plan_free(other);
    assert_int_equal(open_views(&w), 0);
    must_fail_with(PML_E_TICKET, open_split(&plan, &w, &t, &err), &err);
    must_ok(release(&w, &t, &err), &err);
    pml_text_clear(&t);
    teardown(&w);
}

static void ticket_lives_as_long_as_the_option_says(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    static const char *const second[] = {"realtime.read-view-ttl", "1 s"};
    setup(&w, second);
    pml_text a = draw(&w), b = draw(&w);
    (void)atomic_fetch_add(&w.k.t->mono_ns, 999999999LL);
    must_ok(open_split(&plan, &w, &a, &err), &err);
    pml_plan_free(plan);
    (void)atomic_fetch_add(&w.k.t->mono_ns, 1);
    must_fail_with(PML_E_TICKET, open_split(&plan, &w, &b, &err), &err);
    pml_text_clear(&a);
    pml_text_clear(&b);
    teardown(&w);
}

static void ttl_of_zero_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context *c;
    pml_scan *scan;
    const pml_option_pair zero = {"realtime.read-view-ttl", "0 s"};
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    rt_kit_create(&k, NULL, "", "");
    o.n_options = 1;
    o.options = &zero;
    must_ok(pml_rt_context_open(&c, k.t->env, &o, &err), &err);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_realtime(scan, c, &err), &err);
    assert_non_null(strstr(err.message, "realtime.read-view-ttl"));
    pml_scan_free(scan);
    pml_rt_context_close(c);
    rt_kit_close(&k);
}

/* 5 */
static void failed_opening_keeps_the_tickets_of_all_splits(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_text t[3] = {draw(&w), draw(&w), draw(&w)};
    pml_blob b[3];
    for (int i = 0; i < 3; i++)
        b[i] = (pml_blob){t[i].ptr, t[i].len};
    must_ok(release(&w, &t[2], &err), &err);
    must_fail_with(PML_E_TICKET, pml_rt_split_deserialize(&plan, w.scan, b, 3, &err), &err);
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 2);
    t[2].ptr[20] ^= 1;
    must_fail_with(PML_E_CORRUPT, pml_rt_split_deserialize(&plan, w.scan, b, 3, &err), &err);
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 2);
    assert_int_equal(open_views(&w), 2);
    must_ok(pml_rt_split_deserialize(&plan, w.scan, b, 2, &err), &err);
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 0);
    assert_int_equal(open_views(&w), 2); /* the plan's */
    pml_plan_free(plan);
    assert_int_equal(open_views(&w), 0);
    for (int i = 0; i < 3; i++)
        pml_text_clear(&t[i]);
    teardown(&w);
}

static void failing_allocations_use_no_ticket_up(void **state)
{
    (void)state;
    world w;
    setup(&w, NULL);
    pml_text t = draw(&w);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan;
        test_env_fail_at(w.k.t, n);
        rc = open_split(&plan, &w, &t, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(w.k.t));
        test_env_fail_at(w.k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        assert_int_equal(pml_rt_tickets__count(w.k.ctx), rc == PML_OK ? 0 : 1);
        if (rc == PML_OK)
            rt_kit_must_be(&w.k, plan, 0, 20);
        pml_plan_free(plan);
    }
    pml_text_clear(&t);
    teardown(&w);
}

static void failing_allocations_while_serialising_leave_no_ticket(void **state)
{
    (void)state;
    world w;
    setup(&w, NULL);
    pml_plan *plan = rt_kit_plan(&w.k);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_text t;
        test_env_fail_at(w.k.t, n);
        rc = pml_rt_split_serialize(&t, plan, 0, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(w.k.t));
        test_env_fail_at(w.k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        assert_int_equal(pml_rt_tickets__count(w.k.ctx), rc == PML_OK ? 1 : 0);
        pml_text_clear(&t);
    }
    pml_plan_free(plan);
    teardown(&w);
}

/* 6 */
static void opened_split_is_used_up(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan, *again;
    setup(&w, NULL);
    pml_text t = draw(&w);
    must_ok(open_split(&plan, &w, &t, &err), &err);
    must_fail_with(PML_E_TICKET, open_split(&again, &w, &t, &err), &err);
    rt_kit_must_be(&w.k, plan, 0, 20);
    rt_kit_must_be(&w.k, plan, 0, 20);
    pml_plan_free(plan);
    must_ok(release(&w, &t, &err), &err);
    pml_text_clear(&t);
    teardown(&w);
}

static void same_split_twice_in_one_call_is_refused_and_keeps_its_ticket(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_text t = draw(&w);
    pml_blob twice[2] = {{t.ptr, t.len}, {t.ptr, t.len}};
    must_fail_with(PML_E_TICKET, pml_rt_split_deserialize(&plan, w.scan, twice, 2, &err), &err);
    must_ok(open_split(&plan, &w, &t, &err), &err);
    rt_kit_must_be(&w.k, plan, 0, 20);
    pml_plan_free(plan);
    pml_text_clear(&t);
    teardown(&w);
}

/* 7 */
static void ticket_of_another_context_is_told_so(void **state)
{
    (void)state;
    world a, b;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&a, NULL);
    setup(&b, NULL);
    b.k.t->random_state += 0x9e3779b9; /* another id than a's */
    pml_text t = draw(&a);
    must_fail_with(PML_E_TICKET, open_split(&plan, &b, &t, &err), &err);
    assert_non_null(strstr(err.message, "not this one"));
    must_fail_with(PML_E_TICKET, release(&b, &t, &err), &err);
    pml_text own = draw(&b); /* now b has an id of its own */
    must_fail_with(PML_E_TICKET, open_split(&plan, &b, &t, &err), &err);
    must_ok(open_split(&plan, &a, &t, &err), &err);
    pml_plan_free(plan);
    pml_text_clear(&own);
    pml_text_clear(&t);
    teardown(&b);
    teardown(&a);
}

/* 7 */
static void ticket_that_expires_while_it_is_opened_is_good(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    rt_ticket *k;
    char text[RT_TICKET_TEXT];
    setup(&w, NULL);
    pml_text t = draw(&w);
    /* The ticket's text is in the bytes. */
    const char *at = memmem(t.ptr, t.len, "rt1-", 4);
    assert_non_null(at);
    memcpy(text, at, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    must_ok(pml_rt_ticket__resolve(&k, w.k.ctx, text, &err), &err);
    advance_clock(&w, 3600);
    pml_rt_tickets__expire(w.k.ctx);
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 0);
    assert_int_equal(open_views(&w), 1);
    must_ok(pml_rt_tickets__consume(w.k.ctx, &k, 1, &err), &err);
    pml_rt_ticket__unref(w.k.ctx, k);
    assert_int_equal(open_views(&w), 0);
    pml_text_clear(&t);
    teardown(&w);
}

/* 5, 6: of two that open at once one wins; the loser gives its other tickets back */
static void ticket_consumed_by_another_meanwhile_keeps_the_rest(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    rt_ticket *mine[2], *theirs;
    char text[2][RT_TICKET_TEXT] = {{0}};
    setup(&w, NULL);
    pml_text t[2] = {draw(&w), draw(&w)};
    for (int i = 0; i < 2; i++) {
        memcpy(text[i], memmem(t[i].ptr, t[i].len, "rt1-", 4), RT_TICKET_TEXT - 1);
        must_ok(pml_rt_ticket__resolve(&mine[i], w.k.ctx, text[i], &err), &err);
    }
    must_ok(pml_rt_ticket__resolve(&theirs, w.k.ctx, text[1], &err), &err);
    must_ok(pml_rt_tickets__consume(w.k.ctx, &theirs, 1, &err), &err);
    must_fail_with(PML_E_TICKET, pml_rt_tickets__consume(w.k.ctx, mine, 2, &err), &err);
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 1);
    must_ok(pml_rt_tickets__consume(w.k.ctx, mine, 1, &err), &err);
    pml_rt_ticket__unref(w.k.ctx, theirs);
    for (int i = 0; i < 2; i++) {
        pml_rt_ticket__unref(w.k.ctx, mine[i]);
        pml_text_clear(&t[i]);
    }
    assert_int_equal(open_views(&w), 0);
    teardown(&w);
}

/* 12 */
static void wall_clock_does_not_touch_tickets(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_text t = draw(&w);
    atomic_store(&w.k.t->wall_ms, 4102444800000LL);
    pml_rt_tickets__expire(w.k.ctx);
    atomic_store(&w.k.t->wall_ms, 1);
    pml_rt_tickets__expire(w.k.ctx);
    must_ok(open_split(&plan, &w, &t, &err), &err);
    pml_plan_free(plan);
    pml_text_clear(&t);
    teardown(&w);
}

/* 13 */
static void many_tickets_expire_without_growth(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    setup(&w, NULL);
    pml_plan *plan = rt_kit_plan(&w.k);
    long long after_some = 0;
    for (int i = 0; i < MANY; i++) {
        pml_text t;
        must_ok(pml_rt_split_serialize(&t, plan, 0, &err), &err);
        pml_text_clear(&t);
        advance_clock(&w, 1); /* 300 live at a time */
        if (i == MANY / 10)
            after_some = atomic_load(&w.k.t->live);
    }
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 300);
    assert_true(atomic_load(&w.k.t->live) <= after_some);
    assert_true(w.k.ctx->tickets.by_secret.index_cap <= 16384);
    advance_clock(&w, 300);
    pml_rt_tickets__expire(w.k.ctx);
    assert_int_equal(pml_rt_tickets__count(w.k.ctx), 0);
    pml_plan_free(plan);
    assert_int_equal(open_views(&w), 0);
    teardown(&w);
}

/* 14 */
static void ticket_survives_its_plan_and_an_unread_plan_lets_go(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_plan_free(rt_kit_plan(&w.k));
    assert_int_equal(open_views(&w), 0);
    pml_text t = draw(&w); /* its plan is gone */
    assert_int_equal(open_views(&w), 1);
    rt_kit_write(&w.k, 5, NULL); /* not shown by the older view */
    (void)rt_kit_cycle(&w.k, 2);
    must_ok(open_split(&plan, &w, &t, &err), &err);
    rt_kit_must_be(&w.k, plan, 0, 20);
    pml_plan_free(plan);
    assert_int_equal(open_views(&w), 0);
    rt_kit_must_show(&w.k, 0, 25);
    pml_text_clear(&t);
    teardown(&w);
}

static void closed_context_gives_up_its_tickets(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    setup(&w, NULL);
    pml_text t = draw(&w);
    pml_plan *held = rt_kit_plan(&w.k);
    rt_kit_stop(&w.k); /* the scan and the plan still hold the context */
    must_fail_with(PML_E_STATE, open_split(&plan, &w, &t, &err), &err);
    pml_text late;
    must_fail_with(PML_E_STATE, pml_rt_split_serialize(&late, held, 0, &err), &err);
    rt_kit_must_be(&w.k, held, 0, 20);
    pml_plan_free(held);
    pml_text_clear(&t);
    teardown(&w); /* fails on what is not freed */
}

/* 11 */
static void forked_child_is_refused(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    setup(&w, NULL);
    pml_text t = draw(&w);
    pid_t pid = fork();
    if (pid == 0) {
        pml_plan *plan;
        _exit(open_split(&plan, &w, &t, NULL) == PML_E_STATE && release(&w, &t, NULL) == PML_E_STATE ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    must_ok(release(&w, &t, &err), &err);
    pml_text_clear(&t);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticket_released_twice_is_fine_and_opens_nothing),
        cmocka_unit_test(ticket_that_nobody_fetches_expires),
        cmocka_unit_test(ticket_lives_as_long_as_the_option_says),
        cmocka_unit_test(ttl_of_zero_is_refused),
        cmocka_unit_test(failed_opening_keeps_the_tickets_of_all_splits),
        cmocka_unit_test(failing_allocations_use_no_ticket_up),
        cmocka_unit_test(failing_allocations_while_serialising_leave_no_ticket),
        cmocka_unit_test(opened_split_is_used_up),
        cmocka_unit_test(same_split_twice_in_one_call_is_refused_and_keeps_its_ticket),
        cmocka_unit_test(ticket_of_another_context_is_told_so),
        cmocka_unit_test(ticket_that_expires_while_it_is_opened_is_good),
        cmocka_unit_test(ticket_consumed_by_another_meanwhile_keeps_the_rest),
        cmocka_unit_test(wall_clock_does_not_touch_tickets),
        cmocka_unit_test(many_tickets_expire_without_growth),
        cmocka_unit_test(ticket_survives_its_plan_and_an_unread_plan_lets_go),
        cmocka_unit_test(closed_context_gives_up_its_tickets),
        cmocka_unit_test(forked_child_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
