/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked out of ranges of a file, and where they lie in it: against a plain walk over every row. */
#include <string.h>

#include "columnar/array_memory.h"
#include "format/selection.h"
#include "support/test_env.h"

enum { FILE_ROWS = 500, RANGES_MAX = 6 };

static const pml_field number_field = {.id = 0, .name = "n", .type = {.kind = PML_TYPE_BIGINT}};

typedef struct world {
    test_env *t;
    pml_row_set rows;
    bool all;
    pml_row_range ranges[RANGES_MAX];
    size_t n_ranges;
    int64_t raw[FILE_ROWS], want[FILE_ROWS]; /* positions of the rows of all ranges, and of the wanted ones */
    int64_t n_raw, n_want;
} world;

static void world_init(world *w, test_env *t)
{
    pml_error err = PML_ERROR_INIT;
    *w = (world){.t = t, .all = test_random(t) % 4 == 0};
    must_ok(pml_row_set__init(&w->rows, t->env, FILE_ROWS, false, &err), &err);
    for (int64_t i = 0; i < FILE_ROWS; i++)
        if (test_random(t) % 3 != 0)
            pml_row_set__add(&w->rows, i);
    for (int64_t at = 0; w->n_ranges < RANGES_MAX && at < FILE_ROWS;) {
        int64_t first = at + (int64_t)(test_random(t) % 80), end = first + (int64_t)(test_random(t) % 90);
        at = end < FILE_ROWS ? end : FILE_ROWS;
        if (first < at)
            w->ranges[w->n_ranges++] = (pml_row_range){first, at};
    }
    for (size_t i = 0; i < w->n_ranges; i++)
        for (int64_t at = w->ranges[i].first; at < w->ranges[i].end; at++) {
            w->raw[w->n_raw++] = at;
            w->want[w->n_want] = at;
            w->n_want += w->all || pml_row_set__has(&w->rows, at);
        }
}

static pml_selection selection_of(world *w)
{
    return (pml_selection){
        .env = w->t->env, .rows = w->all ? NULL : &w->rows, .ranges = w->ranges, .n_ranges = w->n_ranges, .positions = true};
}

static void batch_of(struct ArrowArray *out, world *w, int64_t first, int64_t n)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray column;
    must_ok(pml_array__init(&column, w->t->env, NULL, 2, 0, &err), &err);
    column.length = n;
    memcpy(pml_array__alloc(&column, 1, (size_t)n * 8), w->raw + first, (size_t)n * 8);
    must_ok(pml_batch__from_columns(out, w->t->env, &column, 1, n, &err), &err);
}

/* The batches of a file are of any length; a value of ours is its own position. */
static void batches_are_cut_to_wanted_rows_with_their_positions(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    for (int round = 0; round < 200; round++) {
        world w;
        int64_t done = 0, seen = 0;
        world_init(&w, t);
        pml_selection s = selection_of(&w);
        assert_int_equal(pml_selection__check(s.rows, FILE_ROWS, "f", NULL), PML_OK);
        while (done < w.n_raw) {
            pml_error err = PML_ERROR_INIT;
            struct ArrowArray batch;
            int64_t n = 1 + (int64_t)(test_random(t) % 100);
            n = n < w.n_raw - done ? n : w.n_raw - done;
            batch_of(&batch, &w, done, n);
            must_ok(pml_selection__cut(&s, &batch, &number_field, 1, &err), &err);
            done += n;
            if (batch.release == NULL)
                continue;
            assert_int_equal(batch.n_children, 2);
            for (int64_t i = 0; i < batch.length; i++, seen++)
                for (int c = 0; c < 2; c++)
                    assert_int_equal(((const int64_t *)batch.children[c]->buffers[1])[i], w.want[seen]);
            batch.release(&batch);
        }
        assert_int_equal(seen, w.n_want);
        pml_row_set__clear(&w.rows);
    }
    test_env_close(t);
}

static void positions_alone_are_those_of_wanted_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    for (int round = 0; round < 200; round++) {
        pml_error err = PML_ERROR_INIT;
        world w;
        struct ArrowArray column;
        world_init(&w, t);
        pml_selection s = selection_of(&w);
        if (!w.all)
            assert_int_equal(pml_selection__count(&s), w.n_want);
        for (int64_t seen = 0; seen < w.n_want;) {
            int64_t n = 1 + (int64_t)(test_random(t) % 50);
            n = n < w.n_want - seen ? n : w.n_want - seen;
            must_ok(pml_selection__positions(&column, &s, n, &err), &err);
            for (int64_t i = 0; i < n; i++, seen++)
                assert_int_equal(((const int64_t *)column.buffers[1])[i], w.want[seen]);
            column.release(&column);
        }
        must_fail_with(PML_E_INTERNAL, pml_selection__positions(&column, &s, 1, &err), &err);
        pml_row_set__clear(&w.rows);
    }
    test_env_close(t);
}

static void failing_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    world w;
    world_init(&w, t);
    while (w.all || w.n_want == 0 || w.n_want == w.n_raw) {
        pml_row_set__clear(&w.rows);
        world_init(&w, t);
    }
    bool reached = true;
    for (long long n = 1; reached; n++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowArray batch;
        pml_selection s = selection_of(&w);
        batch_of(&batch, &w, 0, w.n_raw);
        test_env_fail_at(t, n);
        int rc = pml_selection__cut(&s, &batch, &number_field, 1, &err);
        reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        if (rc == PML_OK)
            batch.release(&batch);
        else
            must_fail_with(PML_E_NOMEM, rc, &err);
    }
    pml_row_set__clear(&w.rows);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_are_cut_to_wanted_rows_with_their_positions),
                                       cmocka_unit_test(positions_alone_are_those_of_wanted_rows),
                                       cmocka_unit_test(failing_memory_leaves_nothing_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
