/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that no one array can hold together: two texts of a gigabyte among short ones. The bytes are never written, so they cost little. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "columnar/array_memory.h"
#include "merge/function.h"
#include "support/test_env.h"

enum { KIND, NUMBER, KEY, TEXT, TWICE, COLUMNS, ROWS = 4, HUGE_TEXT = INT32_MAX / 2 + 1 };

static const pml_field fields[COLUMNS] = {
    {.id = 0, .name = "kind", .type = {.kind = PML_TYPE_TINYINT}},
    {.id = 1, .name = "number", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = 2, .name = "key", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = 3, .name = "text", .type = {.kind = PML_TYPE_VARBINARY, .nullable = true, .length = INT32_MAX}},
    {.id = 4, .name = "twice", .type = {.kind = PML_TYPE_BIGINT}}};
static const int32_t key = KEY, columns[] = {KEY, TEXT, TWICE, NUMBER};
static const pml_merge_layout layout = {.fields = fields, .n_fields = COLUMNS, .keys = &key, .n_keys = 1, .row_kind = KIND, .sequence_number = NUMBER};

typedef struct source {
    test_env *t;
    int64_t first; /* its keys: this and every second one from there */
    bool ended;
    void *bytes;
} source;

static void text_release(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

static int source_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    source *s = ctx;
    struct ArrowArray column[COLUMNS] = {{0}};
    void *values[COLUMNS];
    static int32_t offsets[] = {0, HUGE_TEXT, HUGE_TEXT + 1};
    *out = (struct ArrowArray){0};
    if (s->ended)
        return PML_OK;
    s->ended = true;
    for (int i = 0; i < COLUMNS; i++) {
        if (i == TEXT)
            continue;
        PML_RETURN_IF(pml_array__numbers(&column[i], &values[i], s->t->env, 2, i == KIND ? 1 : 8, err));
        memset(values[i], 0, i == KIND ? 2 : 16);
    }
    const void **buffers = malloc(3 * sizeof *buffers);
    assert_non_null(buffers);
    buffers[0] = NULL;
    buffers[1] = offsets;
    buffers[2] = s->bytes;
    column[TEXT] = (struct ArrowArray){.length = 2, .n_buffers = 3, .buffers = buffers, .private_data = buffers, .release = text_release};
    for (int64_t i = 0; i < 2; i++)
        ((int64_t *)values[KEY])[i] = s->first + 2 * i;
    return pml_batch__from_columns(out, s->t->env, column, COLUMNS, 2, err);
}

static void source_drop(void *ctx)
{
    (void)ctx;
}

static int decide(void *self, const pml_merge_group *g, pml_merge_output *o, pml_error *err)
{
    pml_value v;
    const pml_row_ref ref = g->rows[0].ref;
    (void)self;
    (void)err;
    pml_value__get(&v, &fields[KEY].type, pml_merge_group__column(g, ref, KEY), ref.row);
    PML_RETURN_IF(pml_merge_output__pick(o, KEY, ref));
    PML_RETURN_IF(pml_merge_output__pick(o, TEXT, ref));
    v.i *= 2;
    PML_RETURN_IF(pml_merge_output__value(o, TWICE, &v));
    return pml_merge_output__end_row(o, PML_ROW_INSERT, v.i + 1);
}

static void must_be(const struct ArrowArray *batch, int64_t first, bool computed)
{
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t k = first + i, is[] = {k, computed ? 2 * k : 0, computed ? 2 * k + 1 : 0};
        const int32_t *offsets = batch->children[1]->buffers[1];
        const int at[] = {0, 2, 3};
        for (int c = 0; c < 3; c++)
            assert_int_equal(((const int64_t *)batch->children[at[c]]->buffers[1])[i], is[c]);
        assert_int_equal(offsets[i + 1] - offsets[i], k <= 2 ? HUGE_TEXT : 1);
    }
}

static void merged(pml_merge_kind kind)
{
    static const int64_t lengths[] = {1, 3};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    void *bytes = mmap(NULL, HUGE_TEXT + 1u, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(bytes != MAP_FAILED);
    source sources[] = {{t, 1, false, bytes}, {t, 2, false, bytes}};
    const pml_merge_function function = {.kind = kind, .always = true, .decide = decide};
    const pml_merge_request request = {.layout = &layout, .function = &function, .columns = columns, .n_columns = 4, .batch_rows = 100,
                                       .window_bytes = UINT64_MAX};
    pml_run runs[2];
    pml_merge *m;
    for (int i = 0; i < 2; i++)
        runs[i] = (pml_run){.next = source_next, .drop = source_drop, .ctx = &sources[i], .name = "a run"};
    must_ok(pml_merge__open(&m, t->env, &request, runs, 2, &err), &err);
    int64_t first = 1;
    for (int i = 0; i < 2; i++) {
        struct ArrowArray batch;
        must_ok(pml_merge__next(m, &batch, &err), &err);
        assert_int_equal(batch.length, lengths[i]);
        must_be(&batch, first, kind == PML_MERGE_COLUMNS);
        first += batch.length;
        batch.release(&batch);
    }
    struct ArrowArray end;
    must_ok(pml_merge__next(m, &end, &err), &err);
    assert_null(end.release);
    assert_int_equal(err.code, PML_OK);
    pml_merge__free(m);
    (void)munmap(bytes, HUGE_TEXT + 1u);
    test_env_close(t);
}

static void rows_that_are_too_much_for_one_batch_come_in_two(void **state)
{
    (void)state;
    merged(PML_MERGE_LAST);
}

static void computed_values_come_in_both(void **state)
{
    (void)state;
    merged(PML_MERGE_COLUMNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_too_much_for_one_batch_come_in_two),
        cmocka_unit_test(computed_values_come_in_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
