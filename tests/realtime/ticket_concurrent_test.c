/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets from many threads: each ticket is opened once, whoever comes first, and no view is left behind. */
#include <string.h>

#include "realtime/rt_context.h"
#include "support/rt_kit.h"

enum { THREADS = 4, ROUNDS = 100 };

typedef struct shared {
    rt_kit k;
    pml_text split;     /* the contested one */
    pml_plan *plan;     /* every thread serialises it too */
    atomic_int opened, refused;
    pthread_barrier_t barrier;
} shared;

static void open_contested(shared *s, pml_scan *scan)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    int rc = pml_rt_split_deserialize(&plan, scan, &(pml_blob){s->split.ptr, s->split.len}, 1, &err);
    (void)atomic_fetch_add(rc == PML_OK ? &s->opened : &s->refused, rc == PML_OK || rc == PML_E_TICKET);
    pml_plan_free(plan);
}

static void open_own(shared *s, pml_scan *scan)
{
    pml_error err = PML_ERROR_INIT;
    pml_text own;
    pml_plan *plan;
    int64_t rows;
    must_ok(pml_rt_split_serialize(&own, s->plan, 0, &err), &err);
    must_ok(pml_rt_split_deserialize(&plan, scan, &(pml_blob){own.ptr, own.len}, 1, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 20);
    pml_plan_free(plan);
    pml_text_clear(&own);
}

static void *work(void *arg)
{
    shared *s = arg;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, s->k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, s->k.ctx, &err), &err);
    for (int i = 0; i < ROUNDS; i++) {
        int turn = pthread_barrier_wait(&s->barrier);
        if (turn == PTHREAD_BARRIER_SERIAL_THREAD) {
            pml_text_clear(&s->split);
            must_ok(pml_rt_split_serialize(&s->split, s->plan, 0, &err), &err);
        }
        (void)pthread_barrier_wait(&s->barrier);
        open_contested(s, scan);
        open_own(s, scan);
    }
    pml_scan_free(scan);
    return NULL;
}

static void ticket_wanted_by_many_is_opened_by_one(void **state)
{
    (void)state;
    shared s = {.opened = 0};
    pml_thread threads[THREADS];
    rt_kit_create(&s.k, NULL, "", "");
    rt_kit_start(&s.k, NULL, NULL);
    rt_kit_write(&s.k, 10, NULL);
    (void)rt_kit_cycle(&s.k, 1);
    rt_kit_write(&s.k, 10, NULL);
    s.plan = rt_kit_plan(&s.k);
    assert_int_equal(pthread_barrier_init(&s.barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pml_thread__start(&threads[i], work, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pml_thread__join(&threads[i]);
    assert_int_equal(s.opened, ROUNDS);
    assert_int_equal(s.refused, (THREADS - 1) * ROUNDS);
    assert_int_equal(pml_rt_tickets__count(s.k.ctx), 0);
    pml_plan_free(s.plan);
    assert_int_equal(rt_kit_metrics(&s.k).open_views, 0);
    pml_text_clear(&s.split);
    (void)pthread_barrier_destroy(&s.barrier);
    rt_kit_close(&s.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ticket_wanted_by_many_is_opened_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
