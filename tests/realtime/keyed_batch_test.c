/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which array of a batch with keys on its way to a store: all of it once, whatever came with it and whoever lets go of what. */
#include "realtime/rt_keyed_batch.h"

#include <string.h>

#include "support/random_batch.h"

enum { ROWS = 50, GIVEN = 4, N_FIELDS = PML_RT_KEYED_SYSTEM + 2 };

/* Explicit offsets, two columns of the table, kinds. */
static const pml_field given[GIVEN] = {
    {.id = 0, .name = "o", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = 1, .name = "id", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = 2, .name = "name", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}},
    {.id = 3, .name = "kind", .type = {.kind = PML_TYPE_TINYINT}},
};

/* The table's columns alone, or with what came before and behind them. */
static void start(struct ArrowArray *from, test_env *t, size_t first, size_t behind)
{
    random_batch(from, t, given + 1 - first, first + 2 + behind, ROWS);
}

static void must_have_columns(const rt_keyed_batch *b, const struct ArrowArray *columns[2])
{
    assert_int_equal(b->array.n_children, N_FIELDS);
    assert_int_equal(b->array.length, ROWS);
    for (size_t i = 0; i < PML_RT_KEYED_SYSTEM; i++)
        assert_int_equal(b->array.children[i]->length, ROWS);
    assert_ptr_equal(b->array.children[0]->buffers[1], b->kinds);
    assert_ptr_equal(b->array.children[1]->buffers[1], b->sequences);
    assert_ptr_equal(b->array.children[2]->buffers[1], b->offsets);
    for (size_t i = 0; i < 2; i++)
        assert_ptr_equal(b->array.children[PML_RT_KEYED_SYSTEM + i]->buffers, columns[i]->buffers);
}

typedef void (*ending)(rt_keyed_batch *b, struct ArrowArray *from, size_t first, size_t behind);

/* A store takes the batch. */
static void is_taken(rt_keyed_batch *b, struct ArrowArray *from, size_t first, size_t behind)
{
    struct ArrowArray taken = b->array;
    (void)first, (void)behind;
    b->array.release = NULL;
    pml_rt_keyed_batch__clear(b);
    assert_null(from->release);
    pml_array__release(&taken);
}

static void is_copied(rt_keyed_batch *b, struct ArrowArray *from, size_t first, size_t behind)
{
    (void)first, (void)behind;
    pml_rt_keyed_batch__clear(b);
    assert_null(from->release);
}

/* The columns are moved out, and live on without the batch. */
static void columns_are_taken_out(rt_keyed_batch *b, struct ArrowArray *from, size_t first, size_t behind)
{
    struct ArrowArray out[N_FIELDS];
    int64_t sum = 0;
    (void)first, (void)behind;
    for (size_t i = 0; i < N_FIELDS; i++) {
        out[i] = *b->array.children[i];
        b->array.children[i]->release = NULL;
    }
    pml_rt_keyed_batch__clear(b);
    assert_null(from->release);
    for (size_t i = 0; i < ROWS; i++)
        sum += ((const int64_t *)out[1].buffers[1])[i];
    assert_int_equal(sum, ROWS * (ROWS - 1) / 2);
    for (size_t i = N_FIELDS; i > 0; i--)
        pml_array__release(&out[i - 1]);
}

/* Nobody took it: the caller has what he gave. */
static void is_given_back(rt_keyed_batch *b, struct ArrowArray *from, size_t first, size_t behind)
{
    pml_rt_keyed_batch__give_back(b, from);
    pml_rt_keyed_batch__clear(b);
    assert_non_null(from->release);
    for (size_t i = 0; i < first + 2 + behind; i++)
        assert_non_null(from->children[i]->release);
    must_ok(pml_batch__check(from, given + 1 - first, first + 2 + behind, PML_CHECK_FULL, NULL), NULL);
    pml_array__release(from);
}

static void every_array_of_a_batch_is_let_go_once(void **state)
{
    (void)state;
    static const ending endings[] = {is_taken, is_copied, columns_are_taken_out, is_given_back};
    for (unsigned i = 0; i < 4 * sizeof endings / sizeof *endings; i++) {
        const size_t first = i & 1, behind = i >> 1 & 1;
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        struct ArrowArray from;
        rt_keyed_batch b;
        start(&from, t, first, behind);
        const struct ArrowArray *columns[2] = {from.children[first], from.children[first + 1]};
        must_ok(pml_rt_keyed_batch__new(&b, t->env, N_FIELDS, ROWS, &from, first, &err), &err);
        must_have_columns(&b, columns);
        assert_int_equal(b.given_offsets.release != NULL, first);
        assert_int_equal(b.given_kinds.release != NULL, behind);
        for (int64_t row = 0; row < ROWS; row++) {
            b.sequences[row] = row;
            b.offsets[row] = 1000 + row;
            b.kinds[row] = (int8_t)(row % 4);
        }
        endings[i / 4](&b, &from, first, behind);
        test_env_close(t);
    }
}

static void batch_without_memory_leaves_the_rows_where_they_are(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray from;
    rt_keyed_batch b;
    start(&from, t, 1, 1);
    const struct ArrowArray before = from;
    test_env_fail_at(t, 1);
    must_fail_with(PML_E_NOMEM, pml_rt_keyed_batch__new(&b, t->env, N_FIELDS, ROWS, &from, 1, &err), &err);
    test_env_fail_at(t, 0);
    assert_memory_equal(&from, &before, sizeof from);
    for (size_t i = 0; i < GIVEN; i++)
        assert_non_null(from.children[i]->release);
    pml_array__release(&from);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_array_of_a_batch_is_let_go_once),
        cmocka_unit_test(batch_without_memory_leaves_the_rows_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
