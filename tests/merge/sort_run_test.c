/* SPDX-License-Identifier: Apache-2.0 */
/* The sort of rows that come in no order against a plain stable one. */
#include "merge/sort_run.h"

#include <stdlib.h>

#include "support/merge_kit.h"

static int64_t below(test_env *t, int64_t n)
{
    return (int64_t)(test_random(t) % (uint64_t)n);
}

/* ---- the plain sort ---- */

static struct {
    const pml_sorter *sorter;
    const struct ArrowArray *batch;
} plain; /* qsort passes nothing along */

static int plain_compare(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    int c = pml_row_order__compare(&plain.sorter->keys, plain.batch, a, plain.batch, b);
    if (c == 0)
        c = pml_row_order__compare(&plain.sorter->sequence, plain.batch, a, plain.batch, b);
    return c != 0 ? c : (a > b) - (a < b);
}

static int64_t *plain_sort(const pml_sorter *s, const struct ArrowArray *batch)
{
    int64_t *rows = calloc((size_t)batch->length + 1, sizeof *rows);
    assert_non_null(rows);
    for (int64_t i = 0; i < batch->length; i++)
        rows[i] = i;
    plain.sorter = s;
    plain.batch = batch;
    qsort(rows, (size_t)batch->length, sizeof *rows, plain_compare);
    return rows;
}

static bool in_order(const int64_t *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (rows[i] != i)
            return false;
    return true;
}

/* ---- batches ---- */

/* Rows first to first + n of a batch, which is released: children with offsets. */
static void cut(struct ArrowArray *out, test_env *t, const merge_world *w, struct ArrowArray *batch, int64_t first, int64_t n)
{
    pml_shared *shared;
    must_ok(pml_shared__new(&shared, t->env, batch, NULL), NULL);
    must_ok(pml_shared__slice(out, shared, first, n, NULL, w->layout.n_fields, NULL, NULL), NULL);
    pml_shared__release(shared);
    assert_int_equal(out->offset, 0);
}

/* n rows, each a random one of the world's run, behind some others. */
static void picked(struct ArrowArray *out, test_env *t, const merge_world *w, int64_t n)
{
    struct ArrowArray all;
    int64_t lead = below(t, 9), *rows = calloc((size_t)(lead + n) + 1, sizeof *rows);
    assert_non_null(rows);
    for (int64_t i = 0; i < lead + n; i++)
        rows[i] = below(t, w->runs[0].rows.length);
    must_ok(pml_batch__gather_rows(&all, t->env, w->fields, w->layout.n_fields, &w->runs[0].rows, rows, lead + n, NULL), NULL);
    free(rows);
    cut(out, t, w, &all, lead, n);
}

/* Random rows of the world's columns. */
static void drawn(struct ArrowArray *out, test_env *t, const merge_world *w, int64_t n)
{
    struct ArrowArray in, all;
    int64_t lead = below(t, 9);
    random_batch(&in, t, w->fields, w->layout.n_fields, lead + n);
    must_ok(pml_batch__gather_rows(&all, t->env, w->fields, w->layout.n_fields, &in, NULL, lead + n, NULL), NULL);
    pml_array__release(&in);
    cut(out, t, w, &all, lead, n);
}

/* ---- the comparison ---- */

/* Sorts the batch (released) both ways. Returns whether there was something to do. */
static bool must_sort(test_env *t, const merge_world *w, struct ArrowArray *batch)
{
    pml_error err = PML_ERROR_INIT;
    pml_sorter s;
    pml_arena arena;
    struct ArrowArray sorted = {0};
    int64_t *rows, n = batch->length, length;
    pml_arena__init(&arena, t->env);
    must_ok(pml_sorter__init(&s, &arena, &w->layout, &err), &err);
    int64_t *expected = plain_sort(&s, batch);
    bool moves = !in_order(expected, n);
    must_ok(pml_sorter__order(&rows, t->env, &s, batch, &err), &err);
    assert_true((rows != NULL) == moves);
    if (moves)
        assert_memory_equal(rows, expected, (size_t)n * sizeof *rows);
    pml_env__free(t->env, rows);

    struct ArrowArray kept; /* what the rows were, for batch is moved */
    must_ok(pml_batch__gather_rows(&kept, t->env, w->fields, w->layout.n_fields, batch, expected, n, &err), &err);
    must_ok(pml_sorter__sort(&sorted, t->env, &s, batch, &err), &err);
    assert_null(batch->release);
    length = sorted.length;
    assert_int_equal(length, n);
    for (int64_t i = 0; i < n; i++)
        assert_true(batch_rows_equal(&sorted, i, &kept, i, w->fields, w->layout.n_fields));
    /* Sorted once, it stays as it is. */
    must_ok(pml_sorter__order(&rows, t->env, &s, &sorted, &err), &err);
    assert_null(rows);
    pml_array__release(&kept);
    pml_array__release(&sorted);
    free(expected);
    pml_arena__clear(&arena);
    return moves;
}

static const int64_t counts[] = {0, 1, 2, 3, 31, 32, 33, 64, 65, 200};
enum { N_COUNTS = sizeof counts / sizeof counts[0] };

static void rows_of_any_columns_sort_as_in_a_plain_sort(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    int64_t rounds = test_setting("ROUNDS", 120, 1, 1000000), sorted = 0;
    for (int64_t round = 0; round < rounds; round++) {
        merge_world w;
        merge_world_make(&w, t, 0, 1); /* up to 3 keys and 2 sequence fields, which may be null and descending */
        for (size_t i = 0; i < N_COUNTS; i++) {
            struct ArrowArray batch;
            drawn(&batch, t, &w, counts[i]);
            sorted += must_sort(t, &w, &batch);
        }
        merge_world_clear(&w);
    }
    assert_true(sorted > rounds); /* not everything was in order by chance */
    test_env_close(t);
}

static void keys_of_every_kind_sort_as_in_a_plain_sort(void **state)
{
    (void)state;
    static const int64_t long_counts[] = {2, 33, 65, 700, 5000};
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed() + 1;
    for (int round = 0; round < 3 * MERGE_KEY_KINDS; round++) {
        merge_world w;
        struct ArrowArray batch;
        int64_t of_rows = round % 3 == 0 ? 8 : 3000; /* 8: many equal keys */
        merge_world_make_long(&w, t, 1, of_rows, (merge_key_kind)(round % MERGE_KEY_KINDS));
        while (w.runs[0].rows.length < 2) {
            merge_world_clear(&w);
            merge_world_make_long(&w, t, 1, of_rows, (merge_key_kind)(round % MERGE_KEY_KINDS));
        }
        /* A sequence field among the columns that are no keys: the text, which comes in no order. */
        w.sequence[0] = 3;
        w.layout.sequence = w.sequence;
        w.layout.n_sequence = (size_t)(round % 2);
        w.layout.sequence_descending = round % 4 == 1;
        for (size_t i = 0; i < 5; i++) {
            picked(&batch, t, &w, long_counts[i]);
            (void)must_sort(t, &w, &batch);
        }
        merge_world_clear(&w);
    }
    test_env_close(t);
}

/* Few groups far apart, whose keys differ in the last bits only, beside some rows that are alone. */
static void groups_of_keys_sort_as_in_a_plain_sort(void **state)
{
    (void)state;
    static const int64_t spans[] = {1, 7, 300, 70000, (int64_t)1 << 30};
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed() + 3;
    for (int64_t groups = 1; groups < 400; groups = groups * 3 + 1)
        for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
            merge_world w;
            struct ArrowArray batch;
            merge_world_make_long(&w, t, 1, 3000, MERGE_KEY_BIGINT);
            picked(&batch, t, &w, 1 + below(t, 3000));
            struct ArrowArray *keys = batch.children[w.layout.keys[0]];
            int64_t *v = (int64_t *)(uintptr_t)keys->buffers[1] + keys->offset;
            for (int64_t row = 0; row < batch.length; row++)
                v[row] = below(t, groups) * ((int64_t)1 << 50) + below(t, spans[i]) - (row % 100 == 0 ? (int64_t)1 << 61 : 0);
            (void)must_sort(t, &w, &batch);
            merge_world_clear(&w);
        }
    test_env_close(t);
}

static void rows_in_order_are_moved_not_copied(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed() + 2;
    for (int kind = 0; kind < MERGE_KEY_KINDS; kind++) {
        merge_world w;
        pml_sorter s;
        struct ArrowArray batch, sorted = {0};
        pml_error err = PML_ERROR_INIT;
        merge_world_make_long(&w, t, 1, 3000, (merge_key_kind)kind);
        must_ok(pml_batch__gather_rows(&batch, t->env, w.fields, 5, &w.runs[0].rows, NULL, w.runs[0].rows.length, &err), &err);
        const void *buffer = batch.children[1]->buffers[1];
        must_ok(pml_sorter__init(&s, &w.arena, &w.layout, &err), &err);
        must_ok(pml_sorter__sort(&sorted, t->env, &s, &batch, &err), &err);
        assert_null(batch.release);
        assert_ptr_equal(sorted.children[1]->buffers[1], buffer);
        pml_array__release(&sorted);
        merge_world_clear(&w);
    }
    test_env_close(t);
}

static void sort_without_memory_leaves_the_batch_as_it_is(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed() + 3;
    for (int round = 0; round < 6; round++) {
        merge_world w;
        struct ArrowArray batch, sorted;
        bool reached = true;
        merge_world_make(&w, t, 0, 1);
        drawn(&batch, t, &w, round % 2 == 0 ? 40 : 90);
        for (long long n = 1; reached; n++) {
            pml_error err = PML_ERROR_INIT;
            pml_sorter s;
            pml_arena arena;
            int64_t length = batch.length;
            sorted = (struct ArrowArray){0};
            pml_arena__init(&arena, t->env);
            test_env_fail_at(t, n);
            int rc = pml_sorter__init(&s, &arena, &w.layout, &err);
            if (rc == PML_OK)
                rc = pml_sorter__sort(&sorted, t->env, &s, &batch, &err);
            reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            assert_int_equal(rc, reached ? PML_E_NOMEM : PML_OK);
            assert_int_equal(err.code, rc);
            assert_true((batch.release == NULL) == (rc == PML_OK));
            assert_true((sorted.release != NULL) == (rc == PML_OK));
            assert_true(rc == PML_OK || batch.length == length);
            pml_arena__clear(&arena);
        }
        pml_array__release(&sorted);
        merge_world_clear(&w);
    }
    test_env_close(t);
}

/* A text's prefix leaves out what all keys begin with; one row in the middle that begins otherwise must be met. */
static void a_key_in_the_middle_that_begins_otherwise_is_sorted_rightly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const int64_t rows[][3] = {{5, 0, 0}, {3, 1, 0}, {4, 2, 0}};
    simple_world made;
    merge_world w = {0};
    simple_world_make(&made, t, 2);
    w.fields = made.fields;
    w.layout = made.layout;
    w.layout.fields = made.fields;
    const pml_type row = pml_layout__row(made.fields, 3);
    for (int at = 0; at < 3; at++) {
        pml_builder *b = NULL;
        struct ArrowArray batch;
        must_ok(pml_builder__new(&b, t->env, &row, NULL), NULL);
        for (int i = 0; i < 3; i++) {
            char text[] = "a prefix that is longer than any 0", first[] = "0 begins otherwise";
            text[sizeof text - 2] = (char)('0' + rows[i][0]);
            const char *key = i == at ? first : text;
            must_ok(pml_builder__append_value(pml_builder__child(b, 0),
                                              &(pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)key, strlen(key)}}),
                    NULL);
            must_ok(pml_builder__append_value(pml_builder__child(b, 1), &(pml_value){.kind = PML_VALUE_INT, .i = rows[i][1]}), NULL);
            must_ok(pml_builder__append_value(pml_builder__child(b, 2), &(pml_value){.kind = PML_VALUE_INT}), NULL);
            must_ok(pml_builder__close_item(b), NULL);
        }
        must_ok(pml_builder__finish(b, &batch, NULL), NULL);
        pml_builder__free(b);
        (void)must_sort(t, &w, &batch);
    }
    simple_world_clear(&made);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_any_columns_sort_as_in_a_plain_sort),
        cmocka_unit_test(keys_of_every_kind_sort_as_in_a_plain_sort),
        cmocka_unit_test(groups_of_keys_sort_as_in_a_plain_sort),
        cmocka_unit_test(rows_in_order_are_moved_not_copied),
        cmocka_unit_test(sort_without_memory_leaves_the_batch_as_it_is),
        cmocka_unit_test(a_key_in_the_middle_that_begins_otherwise_is_sorted_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
