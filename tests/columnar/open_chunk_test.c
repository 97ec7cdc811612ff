/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/open_chunk.h"

#include "columnar/array_memory.h"
#include "support/random_batch.h"

enum { COLUMNS = 30, VIEWS = 40 };

static void count_drop(void *owner)
{
    ++*(int *)owner;
}

/* Random batches of every type go in until one does not fit; a view is kept at every length and checked at the end. */
static void open_chunk_views_never_show_rows_behind_their_length(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 30; round++) {
        pml_arena arena;
        struct ArrowArray in[VIEWS], views[VIEWS];
        pml_open_chunk *c;
        pml_error err = PML_ERROR_INIT;
        int64_t rows = 0, ends[VIEWS];
        int n = 0, drops = 0;
        bool taken = true;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 3, true);
        must_ok(pml_open_chunk__new(&c, t->env, fields, COLUMNS, 64, 40000, count_drop, &drops, &err), &err);
        assert_true(pml_open_chunk__bytes(c) <= 40000 + COLUMNS * 200);
        while (n < VIEWS && taken) {
            random_batch(&in[n], t, fields, COLUMNS, (int64_t)(test_random(t) % 4));
            taken = pml_open_chunk__append(c, &in[n]);
            rows += taken ? in[n].length : 0;
            ends[n] = rows;
            must_ok(pml_open_chunk__view(&views[n], c, rows, &err), &err);
            n++;
        }
        pml_open_chunk__release(c);
        assert_int_equal(drops, 0); /* the views keep it */
        for (int v = 0; v < n; v++) {
            int64_t at = 0;
            assert_int_equal(views[v].length, ends[v]);
            must_ok(pml_batch__check(&views[v], fields, COLUMNS, PML_CHECK_FULL, &err), &err);
            for (int i = 0; i <= v && (i < n - 1 || taken); i++)
                for (int64_t r = 0; r < in[i].length; r++)
                    assert_true(batch_rows_equal(&in[i], r, &views[v], at++, fields, COLUMNS));
            assert_int_equal(at, ends[v]);
        }
        for (int i = 0; i < n; i++) {
            pml_array__release(&in[i]);
            pml_array__release(&views[i]);
        }
        assert_int_equal(drops, 1);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static const pml_field two[] = {
    {.id = 0, .name = "id", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = 1, .name = "s", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}}};

/* One row (id 5, text of len bytes). */
typedef struct one_row {
    int64_t id;
    int32_t offsets[2];
    uint8_t validity;
    const void *id_buffers[2], *text_buffers[3], *none[1];
    struct ArrowArray columns[2], *children[2], batch;
} one_row;

static void make_row(one_row *r, const char *text, int32_t len)
{
    *r = (one_row){.id = 5, .offsets = {0, len}, .validity = 0xfe};
    r->id_buffers[1] = &r->id;
    r->text_buffers[1] = r->offsets;
    r->text_buffers[2] = text;
    r->columns[0] = (struct ArrowArray){.length = 1, .n_buffers = 2, .buffers = r->id_buffers};
    r->columns[1] = (struct ArrowArray){.length = 1, .n_buffers = 3, .buffers = r->text_buffers};
    r->children[0] = &r->columns[0];
    r->children[1] = &r->columns[1];
    r->batch = (struct ArrowArray){.length = 1, .n_buffers = 1, .buffers = r->none, .n_children = 2, .children = r->children};
}

static void open_chunk_takes_nothing_that_does_not_fit(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static char text[4096];
    pml_open_chunk *c;
    struct ArrowArray view;
    one_row r;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_open_chunk__new(&c, t->env, two, 2, 4, 300, NULL, NULL, &err), &err);
    make_row(&r, text, 4096);
    assert_false(pml_open_chunk__append(c, &r.batch)); /* too much text */
    make_row(&r, text, 3);
    r.offsets[0] = 4;
    assert_false(pml_open_chunk__append(c, &r.batch)); /* goes backwards */
    make_row(&r, text, 3);
    r.batch.n_children = 1;
    assert_false(pml_open_chunk__append(c, &r.batch));
    make_row(&r, text, 3);
    r.id_buffers[0] = &r.validity;
    r.columns[0].null_count = 1;
    assert_false(pml_open_chunk__append(c, &r.batch)); /* a null in a NOT NULL column */
    make_row(&r, text, 3);
    for (int i = 0; i < 4; i++)
        assert_true(pml_open_chunk__append(c, &r.batch));
    assert_false(pml_open_chunk__append(c, &r.batch)); /* full */
    must_ok(pml_open_chunk__view(&view, c, 4, &err), &err);
    for (int64_t i = 0; i < 4; i++)
        assert_true(batch_rows_equal(&r.batch, 0, &view, i, two, 2));
    pml_array__release(&view);
    must_fail_with(PML_E_INVAL, pml_open_chunk__view(&view, c, 5, &err), &err);
    pml_open_chunk__release(c);
    must_ok(pml_open_chunk__new(&c, t->env, two, 2, 4, 10, NULL, NULL, &err), &err);
    assert_false(pml_open_chunk__append(c, &r.batch)); /* room for no row at all */
    pml_open_chunk__release(c);
    must_fail_with(PML_E_INVAL, pml_open_chunk__new(&c, t->env, two, 2, -1, 10, NULL, NULL, &err), &err);
    must_fail_with(PML_E_INVAL, pml_open_chunk__new(&c, t->env, two, 2, 1, INT64_MAX, NULL, NULL, &err), &err);
    test_env_close(t);
}

static void open_chunk_without_memory_leaves_nothing(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_open_chunk *c = NULL;
    struct ArrowArray view = {0};
    one_row r;
    int drops = 0, rc = PML_E_NOMEM;
    make_row(&r, "abc", 3);
    r.text_buffers[0] = &r.validity;
    r.columns[1].null_count = 1;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_open_chunk__new(&c, t->env, two, 2, 64, 4000, count_drop, &drops, NULL);
        test_env_fail_at(t, 0);
        assert_true(drops == 0 && (rc == PML_OK || (rc == PML_E_NOMEM && c == NULL)));
    }
    assert_true(pml_open_chunk__append(c, &r.batch));
    rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_open_chunk__view(&view, c, 1, NULL);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && view.release == NULL));
    }
    assert_int_equal(view.children[1]->null_count, 1);
    pml_array__release(&view);
    pml_open_chunk__release(c);
    assert_int_equal(drops, 1);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_chunk_views_never_show_rows_behind_their_length),
        cmocka_unit_test(open_chunk_takes_nothing_that_does_not_fit),
        cmocka_unit_test(open_chunk_without_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
