/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/array_memory.h"
#include "support/random_batch.h"

enum { ROWS = 90, COLUMNS = 30 };

/* Runs, descending runs, repeats and single rows, as merges make them. */
static int64_t random_rows(int64_t *rows, test_env *t, int64_t n)
{
    int64_t shape = (int64_t)(test_random(t) % 4), at = (int64_t)(test_random(t) % ROWS);
    if (shape == 0 && n > ROWS - at)
        n = ROWS - at;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = at;
        bool jump = shape != 0 && (shape == 1 || test_random(t) % 6 == 0);
        at = jump || at + 1 == ROWS ? (int64_t)(test_random(t) % ROWS) : at + 1;
    }
    return n;
}

static void gather_of_random_rows_equals_the_source_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 60; round++) {
        pml_arena arena;
        struct ArrowArray batch, out;
        int64_t rows[120], n = random_rows(rows, t, (int64_t)(test_random(t) % 120));
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 3, true);
        random_batch(&batch, t, fields, COLUMNS, ROWS);
        must_ok(pml_batch__gather_rows(&out, t->env, fields, COLUMNS, &batch, rows, n, &err), &err);
        assert_int_equal(out.length, n);
        for (int64_t i = 0; i < n; i++)
            assert_true(batch_rows_equal(&batch, rows[i], &out, i, fields, COLUMNS));
        must_ok(pml_batch__check(&out, fields, COLUMNS, PML_CHECK_FULL, &err), &err);
        assert_true(out.null_count >= 0);
        pml_array__release(&batch);
        pml_array__release(&out);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static void gather_of_one_column_without_a_list_takes_the_first_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 200; round++) {
        pml_arena arena;
        struct ArrowArray a, out;
        pml_arena__init(&arena, t->env);
        pml_type type = random_type(t, &arena, 2);
        random_array(&a, t, &type, ROWS);
        must_ok(pml_batch__gather(&out, t->env, &type, &a, NULL, round % ROWS, NULL), NULL);
        assert_int_equal(out.length, round % ROWS);
        for (int64_t i = 0; i < round % ROWS; i++)
            assert_true(array_rows_equal(&a, i, &out, i, &type));
        pml_array__release(&a);
        pml_array__release(&out);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static void deal_equals_a_gather_of_each_list(void **state)
{
    (void)state;
    enum { LISTS = 4 };
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 30; round++) {
        pml_arena arena;
        struct ArrowArray batch, dealt[LISTS];
        int64_t rows[LISTS][120];
        pml_row_list lists[LISTS];
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 3, true);
        random_batch(&batch, t, fields, COLUMNS, ROWS);
        for (int i = 0; i < LISTS; i++)
            lists[i] = (pml_row_list){rows[i], random_rows(rows[i], t, (int64_t)(test_random(t) % 120))};
        must_ok(pml_batch__deal(dealt, t->env, fields, COLUMNS, &batch, lists, LISTS, &err), &err);
        for (int i = 0; i < LISTS; i++) {
            assert_int_equal(dealt[i].length, lists[i].n);
            must_ok(pml_batch__check(&dealt[i], fields, COLUMNS, PML_CHECK_FULL, &err), &err);
            for (int64_t r = 0; r < lists[i].n; r++)
                assert_true(batch_rows_equal(&batch, rows[i][r], &dealt[i], r, fields, COLUMNS));
            pml_array__release(&dealt[i]);
        }
        pml_array__release(&batch);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

/* Texts around the length that is copied in one step, at both ends of both buffers. */
static void gather_of_short_texts_stays_inside_of_its_buffers(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_type type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    for (int length = 0; length < 70; length++) {
        int32_t offsets[4] = {0, length, 2 * length, 3 * length};
        char *text = pml_env__alloc(t->env, (size_t)length * 3 + 1); /* to the byte: the sanitizer sees what lies behind */
        const void *buffers[3] = {NULL, offsets, text};
        const struct ArrowArray a = {.length = 3, .n_buffers = 3, .buffers = buffers};
        static const int64_t orders[][3] = {{0, 2, 1}, {2, 0, 2}, {1, 0, 0}, {2, 1, 0}};
        for (int i = 0; i < 3 * length; i++)
            text[i] = (char)('a' + i % 23);
        for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
            struct ArrowArray out;
            must_ok(pml_batch__gather(&out, t->env, &type, &a, orders[o], 3, NULL), NULL);
            for (int64_t i = 0; i < 3; i++)
                assert_true(array_rows_equal(&a, orders[o][i], &out, i, &type));
            pml_array__release(&out);
        }
        pml_env__free(t->env, text);
    }
    test_env_close(t);
}

static void gather_with_offsets_going_backwards_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    int32_t offsets[4] = {0, 5, 2, 6};
    const void *buffers[3] = {NULL, offsets, "abcdef"};
    struct ArrowArray a = {.length = 3, .n_buffers = 3, .buffers = buffers}, out;
    const int64_t rows[2] = {2, 1};
    pml_type type = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
    must_fail_with(PML_E_INVAL, pml_batch__gather(&out, t->env, &type, &a, rows, 2, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_batch__gather(&out, t->env, &type, &a, NULL, 3, NULL), NULL);
    assert_null(out.release);
    test_env_close(t);
}

static void gather_of_too_much_text_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    int32_t offsets[2] = {0, INT32_MAX};
    const void *buffers[3] = {NULL, offsets, "never read"};
    struct ArrowArray a = {.length = 1, .n_buffers = 3, .buffers = buffers}, out;
    const int64_t rows[2] = {0, 0};
    pml_type type = {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX};
    must_fail_with(PML_E_LIMIT, pml_batch__gather(&out, t->env, &type, &a, rows, 2, NULL), NULL);
    test_env_close(t);
}

static void bits_copied_between_any_positions_agree_with_a_loop(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 3000; round++) {
        uint8_t src[40], dst[40], model[40];
        for (int i = 0; i < 40; i++)
            src[i] = (uint8_t)test_random(t), dst[i] = model[i] = (uint8_t)test_random(t);
        int64_t from = (int64_t)(test_random(t) % 60), to = (int64_t)(test_random(t) % 60), ones = 0;
        int64_t n = (int64_t)(test_random(t) % 260);
        for (int64_t i = 0; i < n; i++) {
            ones += pml_bit_get(src, from + i);
            pml_bit_get(src, from + i) ? pml_bit_set(model, to + i) : pml_bit_unset(model, to + i);
        }
        pml_bits__copy(dst, to, src, from, n);
        for (int64_t i = 0; i < to + n; i++)
            assert_int_equal(pml_bit_get(dst, i), pml_bit_get(model, i));
        assert_int_equal(pml_bits__count(src, from, n), ones);
        pml_bits__fill(dst, to, n, round % 2);
        assert_int_equal(pml_bits__count(dst, to, n), round % 2 ? n : 0);
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_of_random_rows_equals_the_source_rows),
        cmocka_unit_test(gather_of_one_column_without_a_list_takes_the_first_rows),
        cmocka_unit_test(deal_equals_a_gather_of_each_list),
        cmocka_unit_test(gather_of_short_texts_stays_inside_of_its_buffers),
        cmocka_unit_test(gather_with_offsets_going_backwards_is_refused),
        cmocka_unit_test(gather_of_too_much_text_is_refused),
        cmocka_unit_test(bits_copied_between_any_positions_agree_with_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
