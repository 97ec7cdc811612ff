/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/distinct.h"

#include <stdio.h>

#include "support/test_env.h"

enum { ROWS = 65536, COLUMNS = 6, DICTIONARY = 1024 * 1024, TEXT = 16 };

static int64_t longs[3][ROWS]; /* each value once; 1,000 values; 50,000 values, one after the other */
static int32_t ints[ROWS], ends[ROWS + 1];
static char texts[ROWS * TEXT];
static uint8_t no_rows[ROWS / 8];

static void released(struct ArrowArray *a)
{
    a->release = NULL;
}

static void fill(void)
{
    uint64_t r = 1;
    for (int i = 0; i < ROWS; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        longs[0][i] = (int64_t)r;
        longs[1][i] = (int64_t)(r >> 33) % 1000;
        longs[2][i] = i % 50000;
        ints[i] = (int32_t)(r >> 33);
        (void)snprintf(texts + (size_t)i * TEXT, TEXT, "row %010d", i);
        texts[i * TEXT + TEXT - 1] = '.';
        ends[i + 1] = (i + 1) * TEXT;
    }
}

/* Which of the columns outgrow a dictionary, as bits. */
static unsigned outgrowing(int64_t first, int64_t rows, int rc)
{
    static const void *buffers[COLUMNS][3] = {{NULL, longs[0]}, {NULL, longs[1]},         {NULL, longs[2]},
                                              {NULL, ints},     {NULL, ends, texts}, {no_rows, longs[0]}};
    const pml_type_kind kinds[COLUMNS] = {PML_TYPE_BIGINT, PML_TYPE_DOUBLE,  PML_TYPE_BIGINT,
                                          PML_TYPE_INT,    PML_TYPE_VARCHAR, PML_TYPE_BIGINT};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_field fields[COLUMNS] = {{0}};
    struct ArrowArray columns[COLUMNS], *children[COLUMNS];
    uint8_t outgrows[COLUMNS];
    unsigned bits = 0;
    for (int i = 0; i < COLUMNS; i++) {
        fields[i].type = (pml_type){.kind = kinds[i], .nullable = true, .length = INT32_MAX};
        columns[i] = (struct ArrowArray){.length = ROWS, .n_buffers = i == 4 ? 3 : 2, .buffers = buffers[i],
                                         .null_count = i == 5 ? ROWS : 0, .release = released};
        children[i] = &columns[i];
    }
    struct ArrowArray batch = {.length = rows, .offset = first, .n_children = COLUMNS, .children = children,
                               .release = released};
    if (rc != PML_OK)
        test_env_fail_at(t, 1);
    assert_int_equal(pml_distinct__outgrows(outgrows, t->env, fields, COLUMNS, &batch, 1, DICTIONARY, &err), rc);
    for (unsigned i = 0; i < COLUMNS && rc == PML_OK; i++)
        bits |= (unsigned)outgrows[i] << i;
    test_env_fail_at(t, 0);
    test_env_close(t);
    return bits;
}

static void columns_whose_values_differ_outgrow_a_dictionary(void **state)
{
    (void)state;
    fill();
    assert_int_equal(outgrowing(0, ROWS, PML_OK), 1u | 8u | 16u);
    assert_int_equal(outgrowing(1000, ROWS - 1000, PML_OK), 1u | 8u | 16u);
}

static void few_rows_do_not_tell(void **state)
{
    (void)state;
    fill();
    assert_int_equal(outgrowing(0, 8192, PML_OK), 0);
    assert_int_equal(outgrowing(0, 0, PML_OK), 0);
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    fill();
    (void)outgrowing(0, ROWS, PML_E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_whose_values_differ_outgrow_a_dictionary),
        cmocka_unit_test(few_rows_do_not_tell),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
