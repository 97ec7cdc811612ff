/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/array_memory.h"
#include "support/random_batch.h"

enum { COLUMNS = 30, INPUTS = 5 };

static void concat_of_random_batches_has_their_rows_in_order(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 40; round++) {
        pml_arena arena;
        struct ArrowArray in[INPUTS], out;
        const struct ArrowArray *inputs[INPUTS];
        size_t n = 1 + test_random(t) % INPUTS;
        int64_t at = 0;
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 3, true);
        for (size_t i = 0; i < n; i++) {
            random_batch(&in[i], t, fields, COLUMNS, (int64_t)(test_random(t) % 40));
            inputs[i] = &in[i];
        }
        must_ok(pml_batch__concat(&out, t->env, fields, COLUMNS, inputs, n, &err), &err);
        for (size_t i = 0; i < n; i++)
            for (int64_t r = 0; r < in[i].length; r++)
                assert_true(batch_rows_equal(&in[i], r, &out, at++, fields, COLUMNS));
        assert_int_equal(out.length, at);
        must_ok(pml_batch__check(&out, fields, COLUMNS, PML_CHECK_FULL, &err), &err);
        assert_true(out.null_count >= 0);
        for (size_t i = 0; i < n; i++)
            pml_array__release(&in[i]);
        pml_array__release(&out);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static void concat_without_memory_leaves_nothing(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    struct ArrowArray in[2], out;
    const struct ArrowArray *inputs[2] = {&in[0], &in[1]};
    int rc = PML_E_NOMEM;
    t->random_state = test_seed();
    pml_arena__init(&arena, t->env);
    pml_field *fields = random_fields(t, &arena, COLUMNS, 2, true);
    random_batch(&in[0], t, fields, COLUMNS, 9);
    random_batch(&in[1], t, fields, COLUMNS, 5);
    for (long long n = 1; rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        rc = pml_batch__concat(&out, t->env, fields, COLUMNS, inputs, 2, &err);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && err.code == rc && out.release == NULL));
    }
    pml_array__release(&out);
    pml_array__release(&in[0]);
    pml_array__release(&in[1]);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void concat_refuses_offsets_that_go_backwards_and_other_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const pml_field text = {.id = 1, .name = "s", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}};
    static int32_t offsets[] = {0, 7, 3, 5};
    const void *buffers[3] = {NULL, offsets, "abcdefgh"}, *none[1] = {NULL};
    struct ArrowArray child = {.length = 3, .n_buffers = 3, .buffers = buffers}, *children[1] = {&child}, out;
    struct ArrowArray batch = {.length = 3, .n_buffers = 1, .buffers = none, .n_children = 1, .children = children};
    const struct ArrowArray *inputs[1] = {&batch};
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_INVAL, pml_batch__concat(&out, t->env, &text, 1, inputs, 1, &err), &err);
    batch.n_children = 0;
    must_fail_with(PML_E_INVAL, pml_batch__concat(&out, t->env, &text, 1, inputs, 1, &err), &err);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concat_of_random_batches_has_their_rows_in_order),
        cmocka_unit_test(concat_without_memory_leaves_nothing),
        cmocka_unit_test(concat_refuses_offsets_that_go_backwards_and_other_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
