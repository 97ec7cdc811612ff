/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/value_store.h"
#include "support/random_batch.h"

enum { COLUMNS = 26, BATCHES = 3 };

/* What the collector must find, row by row. */
static void model_add(pml_column_stats *m, bool *nan, pml_arena *arena, const pml_type *t, const struct ArrowArray *a,
                      int64_t row)
{
    pml_value v;
    if (a->buffers[0] != NULL && !pml_bit_get(a->buffers[0], a->offset + row)) {
        m->null_count++;
        return;
    }
    if (pml_value__kind_of(t) == PML_VALUE_NULL || t->kind == PML_TYPE_BLOB)
        return;
    pml_value__get(&v, t, a, row);
    *nan |= (v.kind == PML_VALUE_FLOAT && isnan(v.f)) || (v.kind == PML_VALUE_DOUBLE && isnan(v.d));
    if (m->min.kind == PML_VALUE_NULL || pml_value__compare(&v, &m->min) < 0)
        must_ok(pml_value__copy(&m->min, arena, &v), NULL);
    if (m->max.kind == PML_VALUE_NULL || pml_value__compare(&v, &m->max) > 0)
        must_ok(pml_value__copy(&m->max, arena, &v), NULL);
}

static void stats_of_random_batches_agree_with_a_row_wise_model(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 60; round++) {
        pml_arena arena;
        pml_stats_collector *s;
        pml_column_stats model[COLUMNS] = {0}, got;
        bool nan[COLUMNS] = {false};
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 1, true);
        must_ok(pml_stats__new(&s, t->env, fields, COLUMNS, &err), &err);
        for (int b = 0; b < BATCHES; b++) {
            struct ArrowArray batch;
            random_batch(&batch, t, fields, COLUMNS, (int64_t)(test_random(t) % (round % 8 == 0 ? 1300 : 5)));
            must_ok(pml_stats__update(s, &batch, &err), &err);
            for (size_t c = 0; c < COLUMNS; c++)
                for (int64_t i = 0; i < batch.length; i++)
                    model_add(&model[c], &nan[c], &arena, &fields[c].type, batch.children[c], batch.offset + i);
            pml_array__release(&batch);
        }
        for (size_t c = 0; c < COLUMNS; c++) {
            pml_stats__get(&got, s, c);
            if (nan[c])
                model[c].min.kind = model[c].max.kind = PML_VALUE_NULL;
            assert_int_equal(got.field_id, fields[c].id);
            assert_int_equal(got.null_count, model[c].null_count);
            assert_true(pml_value__equal(&got.min, &model[c].min));
            assert_true(pml_value__equal(&got.max, &model[c].max));
        }
        pml_stats__free(s);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

enum { TEXTS = 40, TEXT_MAX = 20 };

/* Texts that begin alike, long and short, whose bytes end with their memory. */
static void random_texts(struct ArrowArray *a, int32_t *offsets, uint8_t **bytes, test_env *t)
{
    static const uint8_t letters[] = {0, 'a', 0xFF};
    uint8_t all[TEXTS * TEXT_MAX];
    int32_t at = 0;
    size_t alike = (size_t)(test_random(t) % TEXT_MAX);
    for (int i = 0; i < TEXTS; i++) {
        offsets[i] = at;
        for (size_t k = 0, len = (size_t)(test_random(t) % (TEXT_MAX + 1)); k < len; k++)
            all[at++] = k < alike ? 'a' : letters[test_random(t) % sizeof letters];
    }
    offsets[TEXTS] = at;
    *bytes = malloc((size_t)at + (at == 0));
    memcpy(*bytes, all, (size_t)at);
    a->buffers[1] = offsets;
    a->buffers[2] = *bytes;
}

static void stats_of_texts_that_begin_alike_are_exact(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_field field = {.name = "c", .type = {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX, .nullable = true}};
    t->random_state = test_seed();
    for (int round = 0; round < 2000; round++) {
        pml_stats_collector *s;
        pml_column_stats got;
        int32_t offsets[TEXTS + 1];
        uint8_t *bytes[BATCHES];
        pml_bytes min = {0}, max = {0};
        must_ok(pml_stats__new(&s, t->env, &field, 1, NULL), NULL);
        for (int b = 0, n = 0; b < BATCHES; b++) {
            const void *buffers[3] = {0};
            struct ArrowArray column = {.length = TEXTS, .n_buffers = 3, .buffers = buffers}, *children[] = {&column};
            struct ArrowArray batch = {.length = TEXTS, .n_children = 1, .children = children};
            random_texts(&column, offsets, &bytes[b], t);
            must_ok(pml_stats__update(s, &batch, NULL), NULL);
            for (int i = 0; i < TEXTS; i++, n++) {
                pml_bytes v = {bytes[b] + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
                min = n == 0 || pml_bytes_compare(v, min) < 0 ? v : min;
                max = n == 0 || pml_bytes_compare(v, max) > 0 ? v : max;
            }
        }
        pml_stats__get(&got, s, 0);
        assert_true(pml_bytes_equal(got.min.bytes, min) && pml_bytes_equal(got.max.bytes, max));
        pml_stats__free(s);
        for (int b = 0; b < BATCHES; b++)
            free(bytes[b]);
    }
    test_env_close(t);
}

static void stats_without_memory_fail_cleanly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    struct ArrowArray batch;
    pml_arena__init(&arena, t->env);
    pml_field *fields = random_fields(t, &arena, COLUMNS, 1, true);
    random_batch(&batch, t, fields, COLUMNS, 50);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_stats_collector *s;
        test_env_fail_at(t, n);
        rc = pml_stats__new(&s, t->env, fields, COLUMNS, NULL);
        if (rc == PML_OK)
            rc = pml_stats__update(s, &batch, NULL);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_stats__free(s);
    }
    pml_array__release(&batch);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_of_a_batch_with_other_columns_are_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_field field = {.name = "c", .type = {.kind = PML_TYPE_INT}};
    struct ArrowArray batch;
    pml_stats_collector *s;
    random_batch(&batch, t, &field, 1, 3);
    must_ok(pml_stats__new(&s, t->env, &field, 0, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_stats__update(s, &batch, NULL), NULL);
    pml_stats__free(s);
    pml_array__release(&batch);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_of_random_batches_agree_with_a_row_wise_model),
        cmocka_unit_test(stats_of_texts_that_begin_alike_are_exact),
        cmocka_unit_test(stats_without_memory_fail_cleanly),
        cmocka_unit_test(stats_of_a_batch_with_other_columns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
