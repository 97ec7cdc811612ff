/* SPDX-License-Identifier: Apache-2.0 */
/* Closing does not wait for merges that nobody wants any more: those in the queue end at once, and one under way soon. */
#include "columnar/array_memory.h"
#include "realtime/rt_host_services.h"
#include "support/test_arrow.h"
#include "support/test_env.h"

enum { SCHEMA = 5, ROWS = 4 };

typedef struct fixture {
    test_env *t;
    pml_rt_host_ctx *ctx;
    const pml_rt_host *host;
    struct ArrowArray run;
} fixture;

static void host_open(fixture *f)
{
    static const int32_t key = 0;
    static pml_field id = {.id = 0, .name = "id", .type = {.kind = PML_TYPE_BIGINT}};
    pml_error err = PML_ERROR_INIT;
    f->t = test_env_open(NULL);
    must_ok(pml_rt_host__new(&f->ctx, f->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(f->ctx, PML_RT_MODE_PRIMARY_KEY, SCHEMA, &id, 1, &err), &err);
    must_ok(pml_rt_host__set_order(f->ctx, SCHEMA, &key, 1, NULL, 0, false, &err), &err);
    f->host = pml_rt_host__services(f->ctx);
    static const int8_t kinds[ROWS] = {0};
    static const int64_t numbers[ROWS] = {0, 1, 2, 3};
    struct ArrowArray columns[] = {test_fixed_array(1, ROWS, kinds), test_fixed_array(8, ROWS, numbers), test_fixed_array(8, ROWS, numbers),
                                   test_fixed_array(8, ROWS, numbers)};
    f->run = test_struct_array(ROWS, 4, columns);
}

static int merge(const fixture *f)
{
    const struct ArrowArray *inputs[] = {&f->run, &f->run};
    const pml_rt_merge request = {.struct_size = sizeof request, .schema_id = SCHEMA, .n = 2, .inputs = inputs};
    pml_rt_merged out = {.struct_size = sizeof out};
    pml_error err = PML_ERROR_INIT;
    int rc = f->host->merge_sorted(f->host->ctx, &out, &request, &err);
    if (rc != PML_OK && rc != PML_E_STATE)
        fail_msg("%s", err.message);
    if (rc == PML_OK) {
        assert_int_equal(out.array.length, 2 * ROWS);
        pml_array__release(&out.array);
    }
    return rc;
}

typedef struct job {
    const fixture *f;
    bool waits;
    int rc;
} job;

static void run(void *arg)
{
    job *j = arg;
    while (j->waits && !atomic_load(&j->f->ctx->worker.over))
        continue;
    j->rc = merge(j->f);
}

static void closing_waits_for_no_merge(void **state)
{
    (void)state;
    fixture f;
    host_open(&f);
    job jobs[] = {{&f, false, -1}, {&f, true, -1}, {&f, false, -1}, {&f, false, -1}};
    assert_int_equal(merge(&f), PML_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(f.host->submit(f.host->ctx, run, &jobs[i]), PML_OK);
    pml_rt_host__end(f.ctx); /* the second one is under way then, or in the queue */
    for (int i = 1; i < 4; i++)
        assert_int_equal(jobs[i].rc, PML_E_STATE);
    assert_true(jobs[0].rc == PML_OK || jobs[0].rc == PML_E_STATE);
    assert_int_equal(merge(&f), PML_OK); /* who reads goes on */
    assert_int_not_equal(f.host->submit(f.host->ctx, run, &jobs[0]), PML_OK);
    pml_array__release(&f.run);
    pml_rt_host__release(f.ctx);
    test_env_close(f.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_waits_for_no_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
