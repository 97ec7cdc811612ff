/* SPDX-License-Identifier: Apache-2.0 */
/* The host services of phase P1b: concat, statistics and pruning, chunks. */
#include "realtime/rt_host.h"

#include "columnar/array_memory.h"
#include "support/random_batch.h"
#include "support/random_pred.h"

enum { SCHEMA = 5, COLUMNS = 23 };

typedef struct host_fixture {
    test_env *t;
    pml_arena arena;
    pml_field *columns;
    pml_rt_host_ctx *ctx;
    const pml_rt_host *host;
    const pml_rt_layout *layout;
} host_fixture;

static void host_open(host_fixture *f)
{
    pml_error err = PML_ERROR_INIT;
    f->t = test_env_open(NULL);
    f->t->random_state = test_seed();
    pml_arena__init(&f->arena, f->t->env);
    f->columns = random_fields(f->t, &f->arena, COLUMNS, 2, true);
    must_ok(pml_rt_host__new(&f->ctx, f->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(f->ctx, PML_RT_MODE_APPEND, SCHEMA, f->columns, COLUMNS, &err), &err);
    f->host = pml_rt_host__services(f->ctx);
    f->layout = pml_rt_host__layout(f->ctx, SCHEMA);
}

static void host_close(host_fixture *f)
{
    pml_rt_host__release(f->ctx);
    pml_arena__clear(&f->arena);
    test_env_close(f->t);
}

static void host_concat_joins_dense_and_explicit_arrays(void **state)
{
    (void)state;
    host_fixture f;
    pml_error err = PML_ERROR_INIT;
    host_open(&f);
    for (int dense = 0; dense < 2; dense++) {
        const pml_field *fields = f.layout->fields + dense;
        size_t n = f.layout->n_fields - (size_t)dense;
        struct ArrowArray a, b, out;
        const struct ArrowArray *inputs[2] = {&a, &b};
        random_batch(&a, f.t, fields, n, 7);
        random_batch(&b, f.t, fields, n, 4);
        must_ok(f.host->concat(f.host->ctx, &out, SCHEMA, 2, inputs, &err), &err);
        for (int64_t r = 0; r < 11; r++)
            assert_true(batch_rows_equal(r < 7 ? &a : &b, r < 7 ? r : r - 7, &out, r, fields, n));
        pml_array__release(&out);
        must_fail_with(PML_E_INVAL, f.host->concat(f.host->ctx, &out, SCHEMA, 0, inputs, &err), &err);
        must_fail_with(PML_E_SCHEMA, f.host->concat(f.host->ctx, &out, SCHEMA + 1, 2, inputs, &err), &err);
        pml_array__release(&a);
        pml_array__release(&b);
    }
    host_close(&f);
}

/* realtime-tests.md 28: nulls and NaN included, random predicates against brute force. */
static void host_may_match_never_loses_a_row(void **state)
{
    (void)state;
    host_fixture f;
    int pruned = 0;
    pml_error err = PML_ERROR_INIT;
    host_open(&f);
    for (int round = 0; round < 300; round++) {
        struct ArrowArray a, min, max;
        pml_arena arena;
        int64_t nulls[COLUMNS + 1], rows = (int64_t)(test_random(f.t) % 6);
        uint8_t keep[8] = {0}, any = 0;
        pml_arena__init(&arena, f.t->env);
        random_batch(&a, f.t, f.columns, COLUMNS, rows);
        must_ok(f.host->stats(f.host->ctx, &min, &max, nulls, SCHEMA, PML_RT_STATS_FULL, &a, &err), &err);
        assert_int_equal(min.length, 1);
        assert_int_equal(max.n_children, COLUMNS);
        for (int i = 0; i < 8; i++) {
            const pml_pred *p = random_pred(f.t, &arena, f.columns, COLUMNS, i % 3);
            int may = f.host->may_match(f.host->ctx, p, SCHEMA, rows, &min, &max, nulls);
            must_ok(pml_pred__eval(keep, p, f.t->env, &a, f.columns, COLUMNS, &err), &err);
            any = 0;
            for (int64_t r = 0; r < rows; r++)
                any |= keep[r];
            assert_true(may == 1 || (may == 0 && any == 0));
            pruned += may == 0;
        }
        pml_array__release(&a);
        pml_array__release(&min);
        pml_array__release(&max);
        pml_arena__clear(&arena);
    }
    print_message("%d of 2400 left out\n", pruned);
    assert_true(pruned > 100);
    host_close(&f);
}

static void host_stats_say_unknown_for_what_the_mode_leaves_out(void **state)
{
    (void)state;
    host_fixture f;
    struct ArrowArray a, min, max;
    int64_t nulls[COLUMNS + 1];
    pml_error err = PML_ERROR_INIT;
    host_open(&f);
    const int32_t key = f.columns[3].id;
    must_ok(pml_rt_host__set_key_columns(f.ctx, SCHEMA, &key, 1, &err), &err);
    must_fail_with(PML_E_SCHEMA, pml_rt_host__set_key_columns(f.ctx, 99, &key, 1, &err), &err);
    random_batch(&a, f.t, f.layout->fields, f.layout->n_fields, 40);
    for (uint32_t mode = PML_RT_STATS_NONE; mode <= PML_RT_STATS_KEYS; mode++) {
        must_ok(f.host->stats(f.host->ctx, &min, &max, nulls, SCHEMA, mode, &a, &err), &err);
        for (size_t i = 0; i < f.layout->n_fields; i++) {
            bool known = mode == PML_RT_STATS_KEYS && i == 4;
            assert_true(known ? nulls[i] >= 0 : nulls[i] == -1);
            assert_true(known || pml_array__is_null(min.children[i], 0));
        }
        pml_array__release(&min);
        pml_array__release(&max);
    }
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(f.t, n);
        rc = f.host->stats(f.host->ctx, &min, &max, nulls, SCHEMA, PML_RT_STATS_FULL, &a, &err);
        test_env_fail_at(f.t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && min.release == NULL && max.release == NULL));
    }
    assert_true(f.host->may_match(f.host->ctx, NULL, SCHEMA, 40, &min, &max, nulls) == 1);
    const pml_pred never = {.op = PML_PRED_FALSE};
    assert_int_equal(f.host->may_match(f.host->ctx, &never, SCHEMA, 40, &min, &max, nulls), 0);
    assert_true(f.host->may_match(f.host->ctx, &never, SCHEMA + 1, 40, &min, &max, nulls) < 0);
    pml_array__release(&min);
    pml_array__release(&max);
    pml_array__release(&a);
    host_close(&f);
}

static void host_chunk_outlives_store_and_services(void **state)
{
    (void)state;
    host_fixture f;
    struct ArrowArray a, view;
    void *chunk;
    int64_t taken;
    pml_error err = PML_ERROR_INIT;
    host_open(&f);
    random_batch(&a, f.t, f.columns, COLUMNS, 3);
    must_ok(f.host->chunk_new(f.host->ctx, &chunk, SCHEMA, 1, 64, 1 << 20, &err), &err);
    must_ok(f.host->chunk_append(f.host->ctx, &taken, chunk, &a, &err), &err);
    assert_int_equal(taken, 3);
    must_ok(f.host->chunk_view(f.host->ctx, &view, chunk, 2, &err), &err);
    f.host->chunk_release(f.host->ctx, chunk);
    must_fail_with(PML_E_SCHEMA, f.host->chunk_new(f.host->ctx, &chunk, SCHEMA + 1, 1, 64, 1 << 20, &err), &err);
    assert_null(chunk);
    must_fail_with(PML_E_INVAL, f.host->chunk_new(f.host->ctx, &chunk, SCHEMA, 1, INT64_MAX, 1 << 20, &err), &err);
    pml_rt_host__release(f.ctx);
    for (int64_t r = 0; r < 2; r++)
        assert_true(batch_rows_equal(&a, r, &view, r, f.columns, COLUMNS));
    pml_array__release(&view);
    pml_array__release(&a);
    f.ctx = NULL;
    host_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_concat_joins_dense_and_explicit_arrays),
        cmocka_unit_test(host_may_match_never_loses_a_row),
        cmocka_unit_test(host_stats_say_unknown_for_what_the_mode_leaves_out),
        cmocka_unit_test(host_chunk_outlives_store_and_services),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
