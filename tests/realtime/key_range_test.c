/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a run that a predicate is looked for in: never too small, and no larger than it must be where one key is asked for. */
#include "realtime/rt_key_range.h"

#include "realtime/rt_host.h"
#include "support/random_batch.h"
#include "support/random_pred.h"

enum { SCHEMA = 3, COLUMNS = 24, KEYS_MAX = 3, ROWS = 60 };

typedef struct fixture {
    test_env *t;
    pml_arena arena;
    pml_field *columns;
    int32_t keys[KEYS_MAX];
    size_t n_keys;
    pml_rt_host_ctx *ctx;
    const pml_rt_host *host;
    const pml_rt_layout *layout;
    struct ArrowArray run;
} fixture;

static bool can_be_key(const pml_type *t)
{
    return t->kind != PML_TYPE_FLOAT && t->kind != PML_TYPE_DOUBLE && t->kind != PML_TYPE_BLOB && t->kind <= PML_TYPE_TIMESTAMP_LTZ;
}

/* Some columns become the key, and random rows a run. */
static void open_run(fixture *f, uint64_t seed)
{
    struct ArrowArray rows;
    pml_error err = PML_ERROR_INIT;
    *f = (fixture){.t = test_env_open(NULL)};
    f->t->random_state = seed;
    pml_arena__init(&f->arena, f->t->env);
    f->columns = random_fields(f->t, &f->arena, COLUMNS, 0, true);
    size_t n_keys = 1 + test_random(f->t) % KEYS_MAX;
    while (f->n_keys < n_keys) {
        int32_t c = (int32_t)(test_random(f->t) % COLUMNS);
        bool fit = can_be_key(&f->columns[c].type);
        for (size_t i = 0; i < f->n_keys; i++)
            fit = fit && f->keys[i] != c;
        if (!fit)
            continue;
        f->columns[c].type.nullable = false;
        f->keys[f->n_keys++] = c;
    }
    must_ok(pml_rt_host__new(&f->ctx, f->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(f->ctx, PML_RT_MODE_PRIMARY_KEY, SCHEMA, f->columns, COLUMNS, &err), &err);
    must_ok(pml_rt_host__set_order(f->ctx, SCHEMA, f->keys, f->n_keys, NULL, 0, false, &err), &err);
    f->host = pml_rt_host__services(f->ctx);
    f->layout = pml_rt_host__layout(f->ctx, SCHEMA);
    random_batch(&rows, f->t, f->layout->fields, f->layout->n_fields, ROWS);
    int64_t at[ROWS];
    struct ArrowArray plain;
    for (int64_t i = 0; i < ROWS; i++)
        at[i] = i;
    must_ok(pml_batch__gather_rows(&plain, f->t->env, f->layout->fields, f->layout->n_fields, &rows, at, ROWS, &err), &err);
    must_ok(f->host->sort_run(f->host->ctx, &f->run, SCHEMA, &plain, &err), &err);
    pml_array__release(&plain);
    pml_array__release(&rows);
}

static void close_run(fixture *f)
{
    pml_array__release(&f->run);
    pml_rt_host__release(f->ctx);
    pml_arena__clear(&f->arena);
    test_env_close(f->t);
}

/* The rows that a store would look at. */
static void rows_of(int64_t *begin, int64_t *end, fixture *f, const pml_pred *p)
{
    pml_rt_key_range r;
    int64_t hi;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_key_range__of(&r, f->t->env, f->layout, p, &err), &err);
    *begin = 0;
    *end = f->run.length;
    if (r.lo.release != NULL)
        must_ok(f->host->key_bounds(f->host->ctx, begin, &hi, SCHEMA, &f->run, &r.lo, 0, &err), &err);
    if (r.hi.release != NULL)
        must_ok(f->host->key_bounds(f->host->ctx, end, &hi, SCHEMA, &f->run, &r.hi, 0, &err), &err);
    pml_rt_key_range__clear(&r);
}

static void matches(uint8_t keep[ROWS], fixture *f, const pml_pred *p)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_pred__eval(keep, p, f->t->env, &f->run, f->layout->fields, f->layout->n_fields, &err), &err);
}

static void no_matching_row_lies_outside(void **state)
{
    (void)state;
    int64_t rounds = test_setting("ROUNDS", 300, 1, 10000000), narrowed = 0, some = 0;
    uint64_t seed = test_seed();
    for (int64_t round = 0; round < rounds; round++) {
        fixture f;
        open_run(&f, seed + (uint64_t)round);
        for (int i = 0; i < 10; i++) {
            pml_field about[KEYS_MAX + 1];
            uint8_t keep[ROWS];
            int64_t begin, end;
            for (size_t k = 0; k < f.n_keys; k++)
                about[k] = f.columns[f.keys[k]];
            about[f.n_keys] = f.columns[0];
            const pml_pred *p = random_pred(f.t, &f.arena, about, f.n_keys + 1, 2);
            rows_of(&begin, &end, &f, p);
            matches(keep, &f, p);
            for (int64_t row = 0; row < ROWS; row++) {
                some += keep[row];
                if (keep[row] && (row < begin || row >= end))
                    fail_msg("round %lld: row %lld matches, and lies outside of [%lld, %lld)", (long long)round, (long long)row, (long long)begin,
                             (long long)end);
            }
            narrowed += begin > 0 || end < ROWS;
        }
        close_run(&f);
    }
    print_message("%lld of %lld ranges are narrower, %lld rows match\n", (long long)narrowed, (long long)rounds * 10, (long long)some);
    assert_true(narrowed > rounds / 2 && some > rounds);
}

/* Equality in all columns of the key leaves the versions of that key, and of nearly all types nothing else. */
static void one_key_leaves_its_versions(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    int64_t rounds = test_setting("ROUNDS", 300, 1, 10000000), wider = 0;
    for (int64_t round = 0; round < rounds; round++) {
        fixture f;
        pml_value values[KEYS_MAX];
        pml_pred leaves[KEYS_MAX], *children[KEYS_MAX], all = {.op = PML_PRED_AND, .children = children};
        uint8_t keep[ROWS];
        int64_t begin, end, row, matching = 0;
        open_run(&f, seed + (uint64_t)round);
        row = (int64_t)(test_random(f.t) % ROWS);
        for (size_t i = 0; i < f.n_keys; i++) {
            const pml_field *c = &f.layout->fields[f.layout->merge.keys[i]];
            pml_value__get(&values[i], &c->type, f.run.children[f.layout->merge.keys[i]], row);
            leaves[i] = (pml_pred){
                .op = PML_PRED_EQ, .field_id = c->id, .type = &c->type, .name = c->name, .n_literals = 1, .literals = &values[i]};
            children[all.n_children++] = &leaves[i];
        }
        rows_of(&begin, &end, &f, &all);
        matches(keep, &f, &all);
        for (int64_t i = 0; i < ROWS; i++)
            matching += keep[i];
        assert_true(begin <= row && row < end && matching >= 1 && end - begin >= matching);
        wider += end - begin > matching;
        close_run(&f);
    }
    print_message("%lld of %lld ranges hold other keys\n", (long long)wider, (long long)rounds);
    assert_true(wider * 20 <= rounds); /* the greatest value of a type has no next one */
}

/* Whether two rows of the run have the same first n key columns. */
static bool same_key(const fixture *f, size_t n, int64_t a, int64_t b)
{
    bool same = true;
    for (size_t i = 0; same && i < n; i++) {
        int32_t c = f->layout->merge.keys[i];
        same = array_rows_equal(f->run.children[c], a, f->run.children[c], b, &f->layout->fields[c].type);
    }
    return same;
}

/* By keys of the run, all columns of them or the first ones: all rows of the key, and the last one before a row. */
static void rows_of_a_key_are_found(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    int64_t rounds = test_setting("ROUNDS", 100, 1, 10000000);
    for (int64_t round = 0; round < rounds; round++) {
        fixture f;
        struct ArrowArray *columns[KEYS_MAX], keys = {.length = ROWS, .children = columns};
        pml_error err = PML_ERROR_INIT;
        open_run(&f, seed + (uint64_t)round);
        keys.n_children = 1 + (int64_t)(test_random(f.t) % f.n_keys);
        for (size_t i = 0; i < f.n_keys; i++)
            columns[i] = f.run.children[f.layout->merge.keys[i]];
        for (int64_t row = 0; row < ROWS; row++) {
            int64_t lo, hi, first = row, end = row + 1, found, before = (int64_t)(test_random(f.t) % (ROWS + 1)), last = before - 1;
            while (first > 0 && same_key(&f, (size_t)keys.n_children, first - 1, row))
                first--;
            while (end < ROWS && same_key(&f, (size_t)keys.n_children, end, row))
                end++;
            while (last >= 0 && !same_key(&f, (size_t)keys.n_children, last, row))
                last--;
            must_ok(f.host->key_bounds(f.host->ctx, &lo, &hi, SCHEMA, &f.run, &keys, row, &err), &err);
            must_ok(f.host->find_key(f.host->ctx, &found, SCHEMA, &f.run, before, &keys, row, &err), &err);
            if (lo != first || hi != end || found != last)
                fail_msg("round %lld: row %lld of [%lld, %lld), its last before %lld is %lld; found were [%lld, %lld) and %lld", (long long)round,
                         (long long)row, (long long)first, (long long)end, (long long)before, (long long)last, (long long)lo, (long long)hi,
                         (long long)found);
        }
        close_run(&f);
    }
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    fixture f;
    pml_value v;
    pml_error err = PML_ERROR_INIT;
    open_run(&f, 17);
    const pml_field *c = &f.layout->fields[f.layout->merge.keys[0]];
    pml_value__get(&v, &c->type, f.run.children[f.layout->merge.keys[0]], 5);
    const pml_pred p = {.op = PML_PRED_EQ, .field_id = c->id, .type = &c->type, .name = c->name, .n_literals = 1, .literals = &v};
    int rc = PML_E_NOMEM;
    for (int64_t n = 1; rc != PML_OK && n < 100; n++) {
        pml_rt_key_range r;
        test_env_fail_at(f.t, n);
        rc = pml_rt_key_range__of(&r, f.t->env, f.layout, &p, &err);
        test_env_fail_at(f.t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && r.lo.release == NULL && r.hi.release == NULL));
        pml_rt_key_range__clear(&r);
    }
    assert_int_equal(rc, PML_OK);
    close_run(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_matching_row_lies_outside), cmocka_unit_test(one_key_leaves_its_versions),
                                       cmocka_unit_test(rows_of_a_key_are_found),
                                       cmocka_unit_test(failures_leave_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
