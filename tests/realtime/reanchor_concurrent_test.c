/* SPDX-License-Identifier: Apache-2.0 */
/* Re-anchoring (realtime.md 7.4) is due for many threads at once: one of them does it. */
#include "support/rt_kit.h"
#include "util/thread.h"

typedef struct planner {
    pml_thread thread;
    rt_kit *k;
    int rc;
} planner;

static void *plan_often(void *arg)
{
    planner *p = arg;
    for (int i = 0; i < 20 && p->rc == PML_OK; i++) {
        pml_plan *plan;
        p->rc = rt_kit_try_plan(&plan, p->k, p->k->ctx, -1, NULL);
        pml_plan_free(plan);
    }
    return NULL;
}

static void one_of_many_threads_makes_the_anchor(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    planner p[THREADS];
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 5, "a");
    (void)rt_kit_cycle(&k, 1);
    (void)rt_kit_foreign(&k, PML_COMMIT_APPEND, false, NULL);
    (void)atomic_fetch_add(&k.t->mono_ns, 3600ll * 1000000000);
    for (int i = 0; i < THREADS; i++) {
        p[i] = (planner){.k = &k};
        assert_int_equal(pml_thread__start(&p[i].thread, plan_often, &p[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pml_thread__join(&p[i].thread);
        assert_int_equal(p[i].rc, PML_OK);
    }
    assert_int_equal(rt_kit_latest(&k), 3);
    assert_int_equal(rt_kit_metrics(&k).reanchors, 1);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_many_threads_makes_the_anchor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
