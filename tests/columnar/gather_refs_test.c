/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/array_memory.h"
#include "support/random_batch.h"
#include "support/test_arrow.h"

enum { COLUMNS = 30, ARRAYS = 5, REFS_MAX = 200 };

typedef struct world {
    pml_arena arena;
    pml_field *fields;
    struct ArrowArray in[ARRAYS];
    const struct ArrowArray *column[ARRAYS];
    size_t n;
    pml_row_ref refs[REFS_MAX];
    int64_t n_refs;
} world;

static void world_make(world *w, test_env *t, int64_t rows_max)
{
    pml_arena__init(&w->arena, t->env);
    w->fields = random_fields(t, &w->arena, COLUMNS, 3, true);
    for (size_t i = 0; i < COLUMNS; i++)
        w->fields[i].type.nullable = true; /* nulls may be picked for any column */
    w->n = 1 + test_random(t) % ARRAYS;
    for (size_t i = 0; i < w->n; i++)
        random_batch(&w->in[i], t, w->fields, COLUMNS, 1 + (int64_t)(test_random(t) % (uint64_t)rows_max));
}

static void world_clear(world *w)
{
    for (size_t i = 0; i < w->n; i++)
        pml_array__release(&w->in[i]);
    pml_arena__clear(&w->arena);
}

/* Rows here and there, or stretches of them; `nulls` of ten are nulls. */
static void world_refs(world *w, test_env *t, uint64_t stretch, uint64_t nulls)
{
    w->n_refs = (int64_t)(test_random(t) % REFS_MAX);
    for (int64_t i = 0; i < w->n_refs; i++) {
        pml_row_ref *r = &w->refs[i];
        r->batch = (uint32_t)(test_random(t) % w->n);
        r->row = (uint32_t)(test_random(t) % (uint64_t)w->in[r->batch].length);
        if (i > 0 && test_random(t) % 8 == 0) /* the next row, perhaps of another array */
            r->row = r[-1].row + 1;
        else if (i > 0 && test_random(t) % stretch != 0)
            *r = (pml_row_ref){r[-1].batch, r[-1].row + (r[-1].batch != PML_REF_NULL)};
        if (test_random(t) % 10 < nulls || (r->batch != PML_REF_NULL && r->row >= (uint32_t)w->in[r->batch].length))
            *r = (pml_row_ref){nulls > 0 ? PML_REF_NULL : 0, 0};
    }
}

/* Releases out. */
static void refs_are_gathered(const world *w, test_env *t, struct ArrowArray *out, size_t c)
{
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    assert_int_equal(out->length, w->n_refs);
    for (int64_t i = 0; i < w->n_refs; i++) {
        pml_row_ref r = w->refs[i];
        if (r.batch == PML_REF_NULL)
            assert_true(pml_array__is_null(out, i));
        else
            assert_true(array_rows_equal(w->column[r.batch], r.row, out, i, &w->fields[c].type));
    }
    must_ok(pml_batch__from_columns(&batch, t->env, out, 1, w->n_refs, &err), &err);
    must_ok(pml_batch__check(&batch, &w->fields[c], 1, PML_CHECK_FULL, &err), &err);
    pml_array__release(&batch);
}

static int gather(struct ArrowArray *out, test_env *t, const pml_type *type, const struct ArrowArray *const *arrays,
                  size_t n_arrays, const pml_row_ref *refs, int64_t n, pml_error *err)
{
    pml_ref_list list;
    *out = (struct ArrowArray){0};
    int rc = pml_ref_list__init(&list, t->env, refs, n, err);
    if (rc == PML_OK)
        rc = pml_batch__gather_refs(out, type, arrays, n_arrays, &list, err);
    pml_ref_list__clear(&list);
    return rc;
}

static void gather_refs_of_random_arrays_gives_the_rows_that_are_named(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 60; round++) {
        world w;
        struct ArrowArray out;
        pml_error err = PML_ERROR_INIT;
        world_make(&w, t, round % 3 == 0 ? 200 : 12);
        for (size_t c = 0; c < COLUMNS; c++) {
            world_refs(&w, t, 1 + test_random(t) % 60, test_random(t) % 3);
            struct ArrowArray columns[ARRAYS];
            for (size_t i = 0; i < w.n; i++) { /* a column of a struct with an offset, as a slice of it has it */
                columns[i] = *w.in[i].children[c];
                columns[i].offset += w.in[i].offset;
                columns[i].length = w.in[i].length;
                columns[i].null_count = columns[i].null_count == 0 ? 0 : -1;
                w.column[i] = &columns[i];
            }
            must_ok(gather(&out, t, &w.fields[c].type, w.column, w.n, w.refs, w.n_refs, &err), &err);
            refs_are_gathered(&w, t, &out, c);
        }
        world_clear(&w);
    }
    test_env_close(t);
}

static void gather_refs_without_memory_leaves_nothing(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    world w;
    t->random_state = test_seed();
    world_make(&w, t, 12);
    for (size_t c = 0; c < COLUMNS; c++) {
        world_refs(&w, t, 1 + 40 * (c % 2), 1);
        for (size_t i = 0; i < w.n; i++)
            w.column[i] = w.in[i].children[c];
        struct ArrowArray out;
        int rc = PML_E_NOMEM;
        for (long long n = 1; rc != PML_OK; n++) {
            pml_error err = PML_ERROR_INIT;
            test_env_fail_at(t, n);
            rc = gather(&out, t, &w.fields[c].type, w.column, w.n, w.refs, w.n_refs, &err);
            test_env_fail_at(t, 0);
            assert_true(rc == PML_OK || (rc == PML_E_NOMEM && err.code == rc && out.release == NULL));
        }
        pml_array__release(&out);
    }
    world_clear(&w);
    test_env_close(t);
}

static void gather_refs_refuses_offsets_that_go_backwards(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const pml_type text = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    static int32_t offsets[] = {0, 7, 3, 5};
    const void *buffers[3] = {NULL, offsets, "abcdefgh"};
    const struct ArrowArray a = {.length = 3, .n_buffers = 3, .buffers = buffers}, *arrays[1] = {&a};
    const pml_row_ref refs[2] = {{0, 0}, {0, 1}};
    struct ArrowArray out;
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_INVAL, gather(&out, t, &text, arrays, 1, refs, 2, &err), &err);
    test_env_close(t);
}

static void gather_refs_of_more_text_than_offsets_reach_is_a_limit(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    static const pml_type text = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    static const int32_t offsets[] = {0, INT32_MAX};
    const void *buffers[3] = {NULL, offsets, "never read"};
    const struct ArrowArray a = {.length = 1, .n_buffers = 3, .buffers = buffers}, *arrays[1] = {&a};
    const pml_row_ref refs[2] = {{0, 0}, {0, 0}};
    struct ArrowArray out;
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_LIMIT, gather(&out, t, &text, arrays, 1, refs, 2, &err), &err);
    test_env_close(t);
}

/* Texts are copied in steps that are no shorter than the longest of them: at each border, and where buffers end right behind a text. */
static void gather_refs_of_texts_up_to_a_length_writes_no_more_than_them(void **state)
{
    (void)state;
    enum { TEXTS = 40 };
    static const pml_type text = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    static const size_t most[] = {0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200};
    test_env *t = test_env_open(NULL);
    char bytes[TEXTS][208];
    const char *values[TEXTS];
    t->random_state = test_seed();
    for (int round = 0; round < 240; round++) {
        const size_t longest = most[round % 12];
        struct ArrowArray in[2], out;
        const struct ArrowArray *arrays[2] = {&in[0], &in[1]};
        pml_row_ref refs[REFS_MAX];
        pml_error err = PML_ERROR_INIT;
        const int64_t n = 1 + (int64_t)(test_random(t) % REFS_MAX);
        for (size_t a = 0; a < 2; a++) {
            for (size_t i = 0; i < TEXTS; i++) {
                const size_t len = i == 7 ? longest : test_random(t) % (longest + 1);
                for (size_t k = 0; k < len; k++)
                    bytes[i][k] = (char)('a' + (a * 13 + i * 7 + k) % 26);
                bytes[i][len] = '\0';
                values[i] = bytes[i];
            }
            in[a] = test_text_array(TEXTS, values);
        }
        for (int64_t i = 0; i < n; i++)
            refs[i] = (pml_row_ref){(uint32_t)(test_random(t) % 2), i == n / 2 ? 7 : (uint32_t)(test_random(t) % TEXTS)};
        must_ok(gather(&out, t, &text, arrays, 2, refs, n, &err), &err);
        for (int64_t i = 0; i < n; i++)
            assert_true(array_rows_equal(arrays[refs[i].batch], refs[i].row, &out, i, &text));
        pml_array__release(&out);
        pml_array__release(&in[0]);
        pml_array__release(&in[1]);
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_refs_of_random_arrays_gives_the_rows_that_are_named),
        cmocka_unit_test(gather_refs_of_texts_up_to_a_length_writes_no_more_than_them),
        cmocka_unit_test(gather_refs_without_memory_leaves_nothing),
        cmocka_unit_test(gather_refs_refuses_offsets_that_go_backwards),
        cmocka_unit_test(gather_refs_of_more_text_than_offsets_reach_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
