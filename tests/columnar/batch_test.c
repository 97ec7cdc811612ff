/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/array_memory.h"
#include "support/random_batch.h"

enum { ROUNDS = 40, ROWS = 70 };

/* Appends row `row` of an array to a builder. */
static int append_row(pml_builder *b, const pml_type *type, const struct ArrowArray *a, int64_t row)
{
    int rc = PML_OK;
    pml_layout layout = pml_layout__of(type);
    if (pml_array__is_null(a, row))
        return pml_builder__append_null(b);
    if (layout <= PML_LAYOUT_TEXT) {
        pml_value v;
        pml_value__get(&v, type, a, row);
        return pml_builder__append_value(b, &v);
    }
    int64_t at = a->offset + row, n = 1;
    if (layout == PML_LAYOUT_FIXED_LIST) {
        n = type->length;
        at *= n;
    } else if (layout != PML_LAYOUT_STRUCT) {
        const int32_t *offsets = a->buffers[1];
        n = offsets[at + 1] - offsets[at];
        at = offsets[at];
    }
    if (layout == PML_LAYOUT_MAP) {
        a = a->children[0];
        at += a->offset;
    }
    for (size_t i = 0; i < pml_layout__children(type); i++)
        for (int64_t k = 0; k < n; k++)
            PML_TRY(append_row(pml_builder__child(b, i), pml_layout__child(type, i), a->children[i], at + k));
    PML_TRY(pml_builder__close_item(b));
out:
    return rc;
}

static void builder_rebuilds_random_arrays_of_every_type(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < ROUNDS; round++) {
        pml_arena arena;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, 26, 3, true);
        pml_type row = pml_layout__row(fields, 26);
        struct ArrowArray batch, copy;
        pml_builder *b;
        pml_error err = PML_ERROR_INIT;
        random_batch(&batch, t, fields, 26, ROWS);
        must_ok(pml_builder__new(&b, t->env, &row, &err), &err);
        for (int again = 0; again < 2; again++) {
            int64_t n = again == 0 ? ROWS : round % 3;
            for (int64_t i = 0; i < n; i++)
                must_ok(append_row(b, &row, &batch, i), NULL);
            assert_int_equal(pml_builder__length(b), n);
            must_ok(pml_builder__finish(b, &copy, &err), &err);
            assert_int_equal(copy.length, n);
            must_ok(pml_batch__check(&copy, fields, 26, PML_CHECK_FULL, &err), &err);
            for (int64_t i = 0; i < n; i++)
                assert_true(batch_rows_equal(&batch, i, &copy, i, fields, 26));
            pml_array__release(&copy);
        }
        pml_builder__free(b);
        pml_array__release(&batch);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static void builder_that_gets_wrong_values_refuses_them(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_field member = {.id = -1, .name = "element", .type = {.kind = PML_TYPE_TINYINT, .nullable = true}};
    pml_type vector = {.kind = PML_TYPE_VECTOR, .length = 2, .n_children = 1, .children = &member};
    pml_value big = {.kind = PML_VALUE_INT, .i = 128}, text = {.kind = PML_VALUE_BYTES},
              one = {.kind = PML_VALUE_INT, .i = 1};
    pml_builder *b;
    struct ArrowArray out;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_builder__new(&b, t->env, &vector, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_builder__append_value(pml_builder__child(b, 0), &big), NULL);
    must_fail_with(PML_E_INVAL, pml_builder__append_value(pml_builder__child(b, 0), &text), NULL);
    must_fail_with(PML_E_INVAL, pml_builder__append_value(b, &one), NULL);
    must_ok(pml_builder__append_value(pml_builder__child(b, 0), &one), NULL);
    must_fail_with(PML_E_INVAL, pml_builder__close_item(b), NULL);
    must_fail_with(PML_E_INVAL, pml_builder__finish(b, &out, &err), &err);
    assert_null(out.release);
    pml_builder__free(b);
    test_env_close(t);
}

static void constant_of_every_type_repeats_the_value(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 400; round++) {
        pml_arena arena;
        pml_arena__init(&arena, t->env);
        pml_type type = random_type(t, &arena, round % 3);
        bool nested = pml_layout__of(&type) > PML_LAYOUT_TEXT;
        type.nullable = true;
        pml_value v = {.kind = PML_VALUE_NULL}, got;
        if (!nested && round % 5 != 0)
            v = random_value(t, &arena, &type);
        int64_t n = (int64_t)(test_random(t) % 40);
        struct ArrowArray a, batch;
        pml_error err = PML_ERROR_INIT;
        const pml_field field = {.name = "c", .type = type};
        must_ok(pml_batch__constant(&a, t->env, &type, &v, n, &err), &err);
        must_ok(pml_batch__from_columns(&batch, t->env, &a, 1, n, &err), &err);
        assert_null(a.release);
        must_ok(pml_batch__check(&batch, &field, 1, PML_CHECK_FULL, &err), &err);
        for (int64_t i = 0; i < n; i++) {
            assert_true(pml_array__is_null(batch.children[0], i) == (v.kind == PML_VALUE_NULL));
            if (nested)
                continue;
            pml_value__get(&got, &type, batch.children[0], i);
            /* Digits below the unit of the column are cut off. */
            if (v.kind == PML_VALUE_TIMESTAMP)
                v.ts.nanos -= (int32_t)(v.ts.nanos % pml_layout__unit_nanos(&type));
            assert_true(pml_value__equal(&got, &v));
        }
        pml_array__release(&batch);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static void constant_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type text = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX}, ts = {.kind = PML_TYPE_TIMESTAMP, .precision = 9};
    pml_value abc = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"abc", 3}};
    pml_value late = {.kind = PML_VALUE_TIMESTAMP, .ts = {INT64_MAX / 1000, 0}};
    struct ArrowArray out;
    must_fail_with(PML_E_LIMIT, pml_batch__constant(&out, t->env, &text, &abc, INT32_MAX, NULL), NULL);
    must_fail_with(PML_E_LIMIT, pml_batch__constant(&out, t->env, &ts, &late, 1, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_batch__constant(&out, t->env, &ts, &abc, 1, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_batch__constant(&out, t->env, &ts, &late, -1, NULL), NULL);
    test_env_close(t);
}

static void slice_shows_the_chosen_rows_and_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < ROUNDS; round++) {
        pml_arena arena;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, 8, 3, false);
        pml_field chosen[4] = {fields[6], fields[0], {.name = "x", .type = {.kind = PML_TYPE_BIGINT}}, fields[6]};
        const int32_t columns[4] = {6, 0, -1, 6};
        int64_t row = (int64_t)(test_random(t) % ROWS), n = (int64_t)(test_random(t) % (uint64_t)(ROWS - row + 1));
        struct ArrowArray batch, extra, out;
        pml_shared *s;
        pml_error err = PML_ERROR_INIT;
        random_batch(&batch, t, fields, 8, ROWS);
        random_array(&extra, t, &chosen[2].type, n);
        must_ok(pml_shared__new(&s, t->env, &batch, &err), &err);
        assert_null(batch.release);
        must_ok(pml_shared__slice(&out, s, row, n, columns, 4, &extra, &err), &err);
        assert_null(extra.release);
        const struct ArrowArray *in = pml_shared__array(s);
        assert_int_equal(out.length, n);
        for (int64_t i = 0; i < n; i++)
            for (int c = 0; c < 4; c++)
                if (c != 2)
                    assert_true(array_rows_equal(out.children[c], i, in->children[columns[c]], in->offset + row + i,
                                                 &chosen[c].type));
        must_ok(pml_batch__check(&out, chosen, 4, PML_CHECK_FULL, &err), &err);
        pml_shared__release(s);
        pml_array__release(&out);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static int64_t touch(const struct ArrowArray *a, const pml_type *type)
{
    int64_t equal = 0;
    for (int64_t i = 0; i < a->length; i++)
        equal += array_rows_equal(a, i, a, i, type);
    return equal;
}

static void slice_outlives_owner_and_children_outlive_slice(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    pml_field *fields = random_fields(t, &arena, 26, 3, true);
    struct ArrowArray batch, a, b, child, deep;
    pml_shared *s;
    pml_env *env = t->env;
    random_batch(&batch, t, fields, 26, ROWS);
    must_ok(pml_shared__new(&s, env, &batch, NULL), NULL);
    must_ok(pml_shared__slice(&a, s, 0, ROWS, NULL, 26, NULL, NULL), NULL);
    must_ok(pml_shared__slice(&b, s, 10, 20, NULL, 26, NULL, NULL), NULL);
    pml_shared__release(s);
    child = *a.children[17]; /* ARRAY */
    a.children[17]->release = NULL;
    deep = *b.children[19]->children[0]->children[0]; /* key of a MAP */
    b.children[19]->children[0]->children[0]->release = NULL;
    pml_array__release(&a);
    assert_int_equal(touch(&child, &fields[17].type), ROWS);
    pml_array__release(&b);
    assert_int_equal(touch(&child, &fields[17].type), ROWS);
    pml_array__release(&child);
    assert_int_equal(touch(&deep, &fields[19].type.children[0].type), deep.length);
    pml_array__release(&deep);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void slice_with_wrong_arguments_leaves_extra_alone(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type type = {.kind = PML_TYPE_INT};
    const pml_field field = {.name = "c", .type = type};
    const int32_t columns[2] = {0, -1}, bad[1] = {1};
    struct ArrowArray batch, extra, out;
    pml_shared *s;
    random_batch(&batch, t, &field, 1, 10);
    random_array(&extra, t, &type, 3);
    must_ok(pml_shared__new(&s, t->env, &batch, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_shared__slice(&out, s, 0, 4, columns, 2, &extra, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_shared__slice(&out, s, 0, 4, bad, 1, NULL, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_shared__slice(&out, s, 8, 3, columns, 1, NULL, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_shared__slice(&out, s, -1, 3, columns, 1, NULL, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_shared__slice(&out, s, 1, INT64_MAX, columns, 1, NULL, NULL), NULL);
    assert_non_null(extra.release);
    pml_array__release(&extra);
    pml_shared__release(s);
    test_env_close(t);
}

static void bytes_of_a_slice_count_only_its_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_field fields[2] = {{.name = "i", .type = {.kind = PML_TYPE_INT}},
                                 {.name = "s", .type = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX}}};
    const pml_value five = {.kind = PML_VALUE_INT, .i = 5};
    const pml_value abc = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"abc", 3}};
    struct ArrowArray columns[2], batch, out;
    pml_shared *s;
    must_ok(pml_batch__constant(&columns[0], t->env, &fields[0].type, &five, 100, NULL), NULL);
    must_ok(pml_batch__constant(&columns[1], t->env, &fields[1].type, &abc, 100, NULL), NULL);
    must_ok(pml_batch__from_columns(&batch, t->env, columns, 2, 100, NULL), NULL);
    assert_int_equal(pml_batch__bytes(&batch, fields, 2), 400 + 404 + 300);
    must_ok(pml_shared__new(&s, t->env, &batch, NULL), NULL);
    must_ok(pml_shared__slice(&out, s, 50, 10, NULL, 2, NULL, NULL), NULL);
    assert_int_equal(pml_batch__bytes(&out, fields, 2), 40 + 44 + 30);
    pml_array__release(&out);
    pml_shared__release(s);
    test_env_close(t);
}

static int everything(test_env *t, const pml_field *fields, const struct ArrowArray *batch)
{
    int rc = PML_OK;
    struct ArrowArray copy = {0}, view = {0}, constant = {0}, built = {0};
    pml_shared *s = NULL;
    pml_builder *b = NULL;
    const pml_value null = {.kind = PML_VALUE_NULL};
    const int64_t rows[5] = {3, 1, 1, 4, 0};
    const pml_type row = pml_layout__row(fields, 26);
    PML_TRY(pml_batch__gather_rows(&copy, t->env, fields, 26, batch, rows, 5, NULL));
    PML_TRY(pml_shared__new(&s, t->env, &copy, NULL));
    PML_TRY(pml_shared__slice(&view, s, 1, 3, NULL, 26, NULL, NULL));
    PML_TRY(pml_batch__constant(&constant, t->env, &row, &null, 3, NULL));
    PML_TRY(pml_builder__new(&b, t->env, &row, NULL));
    for (int64_t i = 0; i < 5; i++)
        PML_TRY(append_row(b, &row, batch, i));
    PML_TRY(pml_builder__finish(b, &built, NULL));
out:
    pml_array__release(&copy);
    pml_array__release(&view);
    pml_array__release(&constant);
    pml_array__release(&built);
    pml_shared__release(s);
    pml_builder__free(b);
    return rc;
}

static void batches_without_memory_fail_cleanly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    struct ArrowArray batch;
    pml_arena__init(&arena, t->env);
    pml_field *fields = random_fields(t, &arena, 26, 2, true);
    random_batch(&batch, t, fields, 26, 6);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        long long live = atomic_load(&t->live);
        test_env_fail_at(t, n);
        rc = everything(t, fields, &batch);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        assert_int_equal(atomic_load(&t->live), live);
    }
    pml_array__release(&batch);
    pml_arena__clear(&arena);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builder_rebuilds_random_arrays_of_every_type),
        cmocka_unit_test(builder_that_gets_wrong_values_refuses_them),
        cmocka_unit_test(constant_of_every_type_repeats_the_value),
        cmocka_unit_test(constant_that_does_not_fit_is_refused),
        cmocka_unit_test(slice_shows_the_chosen_rows_and_columns),
        cmocka_unit_test(slice_outlives_owner_and_children_outlive_slice),
        cmocka_unit_test(slice_with_wrong_arguments_leaves_extra_alone),
        cmocka_unit_test(bytes_of_a_slice_count_only_its_rows),
        cmocka_unit_test(batches_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
