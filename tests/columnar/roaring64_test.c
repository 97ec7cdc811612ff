/* SPDX-License-Identifier: Apache-2.0 */
/* tests/columnar/data/rbm64.txt is made by Java 1.4.2 (RoaringBitmap64): two bitmaps and the first.or(the second), in hex. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/roaring.h"
#include "support/test_env.h"

enum { LINE_MAX_BYTES = 1 << 21 };

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

static pml_bytes bytes_of(const char *hex, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *p = malloc(n / 2);
    assert_non_null(p);
    for (size_t i = 0; i < n / 2; i++)
        p[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 | (strchr(digits, hex[2 * i + 1]) - digits));
    return (pml_bytes){p, n / 2};
}

typedef void (*with)(pml_bytes a, pml_bytes b, pml_bytes want, int number);

/* ROARING64 names another file, of any number of lines. */
static void with_cases(with run)
{
    static char line[LINE_MAX_BYTES];
    const char *other = getenv("ROARING64");
    FILE *f = fopen(other != NULL ? other : PML_TEST_SOURCE "/columnar/data/rbm64.txt", "r");
    assert_non_null(f);
    int n = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        pml_bytes parts[3];
        char *at = line;
        for (int i = 0; i < 3; i++) {
            size_t len = strcspn(at, " \n");
            parts[i] = bytes_of(at, len);
            at += len + 1;
        }
        run(parts[0], parts[1], parts[2], n++);
        for (int i = 0; i < 3; i++)
            free((void *)parts[i].ptr);
    }
    (void)fclose(f);
    assert_true(n >= 100);
}

static void unites(pml_bytes a, pml_bytes b, pml_bytes want, int number)
{
    pml_buf out;
    pml_buf__init(&out, t->env, INT32_MAX);
    must_ok(pml_roaring64__union(&out, a, b, &err), &err);
    size_t same = 0;
    while (same < out.len && same < want.len && out.data[same] == want.ptr[same])
        same++;
    if (out.len != want.len || same != want.len)
        fail_msg("case %d: %zu bytes, Java has %zu; they differ from byte %zu on", number, out.len, want.len, same);
    pml_buf__clear(&out);
}

static void unions_are_javas_byte_by_byte(void **state)
{
    (void)state;
    with_cases(unites);
}

static void cut(pml_bytes a, pml_bytes b, pml_bytes want, int number)
{
    pml_buf out;
    (void)want;
    for (size_t len = 0; len < a.len && number < 40; len++) {
        uint8_t *exact = malloc(len + 1);
        assert_non_null(exact);
        memcpy(exact, a.ptr, len);
        pml_buf__init(&out, t->env, INT32_MAX);
        must_fail_with(PML_E_CORRUPT, pml_roaring64__union(&out, b, (pml_bytes){exact, len}, &err), &err);
        assert_non_null(strstr(err.message, "the second"));
        pml_buf__clear(&out);
        free(exact);
    }
}

static void cut_bitmaps_are_damaged(void **state)
{
    (void)state;
    with_cases(cut);
}

static void survive(pml_bytes a, pml_bytes b, pml_bytes want, int number)
{
    pml_buf out;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK && number < 30; n++) {
        pml_buf__init(&out, t->env, INT32_MAX);
        test_env_fail_at(t, n);
        rc = pml_roaring64__union(&out, a, b, &err);
        test_env_fail_at(t, 0);
        if (rc == PML_OK)
            assert_int_equal(out.len, want.len);
        else
            must_fail_with(PML_E_NOMEM, rc, &err);
        pml_buf__clear(&out);
    }
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    with_cases(survive);
}

/* Nodes with room for 256 children cost a file 36 bytes: 65,536 of them with one leaf each. What follows is cut off. */
static void nodes_take_no_more_memory_than_their_bytes(void **state)
{
    (void)state;
    enum { WIDE = 36, LEAF = 18, BYTES = 9 + WIDE + 256 * (WIDE + 256 * (WIDE + LEAF)) };
    static const uint8_t wide[4] = {3, 0, 1, 0}, one[4] = {3, 1, 0, 0}, leaf[4] = {4, 0, 0, 0};
    uint8_t *bytes = calloc(BYTES, 1), *at = bytes + 9;
    pml_buf out;
    assert_non_null(bytes);
    bytes[0] = 1;
    for (int i = -1; i < 256; i++) {
        memcpy(at, wide, sizeof wide);
        memset(at + 4, 0xff, 32);
        at += WIDE;
        for (int k = 0; k < 256 && i >= 0; k++) {
            const uint8_t key[6] = {(uint8_t)i, (uint8_t)k, 0, 0, 0, 1};
            memcpy(at, one, sizeof one);
            at[4] = 1;
            memcpy(at + WIDE, leaf, sizeof leaf);
            memcpy(at + WIDE + 4, key, sizeof key);
            at += WIDE + LEAF;
        }
    }
    assert_int_equal(at - bytes, BYTES);
    pml_buf__init(&out, t->env, INT32_MAX);
    t->bytes_max = 4 * (long long)BYTES;
    must_fail_with(PML_E_CORRUPT, pml_roaring64__union(&out, (pml_bytes){bytes, BYTES}, (pml_bytes){bytes, BYTES}, &err), &err);
    if (strstr(err.message, "number of keys than it says") == NULL)
        fail_msg("%s", err.message);
    assert_false(t->bytes_exceeded);
    t->bytes_max = 0;
    pml_buf__clear(&out);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unions_are_javas_byte_by_byte, given, closed),
        cmocka_unit_test_setup_teardown(cut_bitmaps_are_damaged, given, closed),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, given, closed),
        cmocka_unit_test_setup_teardown(nodes_take_no_more_memory_than_their_bytes, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
