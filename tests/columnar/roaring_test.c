/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged bitmaps. What unions give is in tests/merge/aggregation_test.c, against Java. */
#include "columnar/roaring.h"

#include <stdlib.h>
#include <string.h>

#include "support/test_env.h"

static test_env *t;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

static pml_bytes bytes_of(uint8_t *out, const char *hex)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        static const char digits[] = "0123456789abcdef";
        out[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 | (strchr(digits, hex[2 * i + 1]) - digits));
    }
    return (pml_bytes){out, n};
}

static int unite(pml_buf *out, const char *a, const char *b)
{
    uint8_t x[256], y[256];
    pml_buf__init(out, t->env, 1 << 20);
    return pml_roaring__union(out, bytes_of(x, a), bytes_of(y, b), &err);
}

#define EMPTY "3a30000000000000"
#define ONE_AND_SEVEN  \
    "3a30000001000000" \
    "00000100"         \
    "10000000"         \
    "01000700"

static void damaged(const char *hex, const char *words)
{
    pml_buf out;
    must_fail_with(PML_E_CORRUPT, unite(&out, hex, EMPTY), &err);
    if (strstr(err.message, words) == NULL || strstr(err.message, "the first") == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    pml_buf__clear(&out);
    must_fail_with(PML_E_CORRUPT, unite(&out, ONE_AND_SEVEN, hex), &err);
    pml_buf__clear(&out);
}

static void damage_is_named(void **state)
{
    (void)state;
    damaged("", "no cookie");
    damaged("3a3000", "no cookie");
    damaged("3a300000", "none of the portable format");
    damaged("3930000001000000", "none of the portable format");
    damaged("3a30000002000000"
            "00000000"
            "10000000",
            "shorter than its head");
    damaged("3a300000ffffffff", "shorter than its head");
    damaged("3b300300"
            "0f"
            "0000000001000000",
            "shorter than its head");
    damaged("3a30000001000000"
            "00000100"
            "10000000"
            "0100",
            "ends inside a container");
    damaged("3b300000"
            "01"
            "00000000",
            "ends inside a container");
    damaged("3b300000"
            "01"
            "00000000"
            "0100"
            "0000",
            "ends inside a container");
    damaged("3a30000001000000"
            "00000100"
            "10000000"
            "07000100",
            "values do not ascend");
    damaged("3a30000001000000"
            "00000100"
            "10000000"
            "07000700",
            "values do not ascend");
    damaged("3b300000"
            "01"
            "00000000"
            "0100"
            "ffff0100",
            "runs do not ascend");
    damaged("3b300000"
            "01"
            "00000300"
            "0200"
            "01000100"
            "02000100",
            "runs do not ascend");
    damaged("3b300000"
            "01"
            "00000300"
            "0100"
            "01000100",
            "cardinality");
    damaged("3a30000002000000"
            "01000000"
            "01000000"
            "18000000"
            "1a000000"
            "0100"
            "0100",
            "keys do not ascend");
}

static void what_stands_behind_a_bitmap_is_passed_over(void **state)
{
    (void)state;
    pml_buf out;
    uint8_t expected[256];
    pml_bytes e = bytes_of(expected, ONE_AND_SEVEN);
    must_ok(unite(&out, ONE_AND_SEVEN "ff", EMPTY "00"), &err);
    assert_int_equal(out.len, e.len);
    assert_memory_equal(out.data, e.ptr, e.len);
    pml_buf__clear(&out);
}

static void no_memory_is_said(void **state)
{
    (void)state;
    for (long long i = 1, reached = 1; reached; i++) {
        pml_buf out;
        test_env_fail_at(t, i);
        int rc = unite(&out, ONE_AND_SEVEN, ONE_AND_SEVEN);
        reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_int_equal(rc, reached ? PML_E_NOMEM : PML_OK);
        pml_buf__clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(damage_is_named, given, closed),
        cmocka_unit_test_setup_teardown(what_stands_behind_a_bitmap_is_passed_over, given, closed),
        cmocka_unit_test_setup_teardown(no_memory_is_said, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
