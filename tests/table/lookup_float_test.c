/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT and DOUBLE as keys of lookups: a NaN is the same key whatever its bits, as it is for a scan with a condition; -0.0 is not 0.0. */
#include <paimonlive/lookup.h>
#include <stdio.h>
#include <string.h>

#include "support/table_kit.h"
#include "support/test_arrow.h"

static uint64_t bits_of(double d)
{
    uint64_t b;
    memcpy(&b, &d, sizeof b);
    return b;
}

static struct ArrowArray row_of(uint64_t k, float f, int32_t v)
{
    struct ArrowArray columns[] = {test_fixed_array(8, 1, &k), test_fixed_array(4, 1, &f), test_fixed_array(4, 1, &v)};
    return test_struct_array(1, 3, columns);
}

/* v of the rows of some keys, -1 where there is none. */
static void must_find(pml_lookup *l, const uint64_t *k, const uint32_t *f, int64_t n, const int32_t *expected)
{
    struct ArrowArray columns[] = {test_fixed_array(8, n, k), test_fixed_array(4, n, f)}, rows;
    struct ArrowArray keys = test_struct_array(n, 2, columns);
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_lookup_key_schema(&schema, l, &err), &err);
    must_ok(pml_lookup_get(&rows, l, &keys, &schema, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        bool found = rows.null_count == 0 || rows.buffers[0] == NULL || (((const uint8_t *)rows.buffers[0])[i / 8] >> (i % 8) & 1) != 0;
        assert_int_equal(found, expected[i] >= 0);
        if (found)
            assert_int_equal(((const int32_t *)rows.children[2]->buffers[1])[rows.children[2]->offset + i], expected[i]);
    }
    rows.release(&rows);
    keys.release(&keys);
    schema.release(&schema);
}

static void a_nan_is_found_whatever_its_bits(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    char json[600];
    pml_table *table;
    table_kit k;
    pml_scan *scan;
    pml_lookup *l;
    pml_error err = PML_ERROR_INIT;
    static const uint32_t one = 0x3f800000, float_nan = 0x7fc00000, other_float_nan = 0xffc00123;
    const uint64_t nan = UINT64_C(0x7ff8000000000000), other_nan = UINT64_C(0xfff8000000000007), zero = bits_of(0.0), minus = bits_of(-0.0);
    float f_one, f_nan;
    memcpy(&f_one, &one, sizeof f_one);
    memcpy(&f_nan, &other_float_nan, sizeof f_nan);
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"k\",\"type\":\"DOUBLE NOT NULL\"},{\"name\":\"f\",\"type\":\"FLOAT NOT NULL\"},{\"name\":\"v\",\"type\":\"INT\"}],"
                     "\"partitionKeys\":[],\"primaryKeys\":[\"k\",\"f\"],\"options\":{\"bucket\":\"4\"},\"comment\":\"\"}");
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), json, (size_t)n, 0, &err), &err);
    table_kit_init(&k, t, table);
    struct ArrowArray rows[] = {row_of(nan, f_one, 1), row_of(zero, f_one, 2), row_of(bits_of(1.5), f_nan, 3), row_of(minus, f_one, 4)};
    for (int i = 0; i < 4; i++) {
        pml_messages *m;
        must_ok(table_kit_try_prepare(&m, &k, &rows[i], &err), &err);
        (void)table_kit_commit(&k, m);
    }
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_lookup_open(&l, scan, NULL, &err), &err);
    pml_scan_free(scan);
    const uint64_t doubles[] = {other_nan, zero, bits_of(1.5), minus, nan, other_nan};
    const uint32_t floats[] = {one, one, float_nan, one, one, float_nan};
    const int32_t expected[] = {1, 2, 3, 4, 1, -1};
    must_find(l, doubles, floats, 6, expected);
    for (int i = 0; i < 6; i++)
        must_find(l, &doubles[i], &floats[i], 1, &expected[i]);
    pml_lookup_close(l);
    table_kit_close(&k);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_is_found_whatever_its_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
