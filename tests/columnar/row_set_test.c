/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/row_set.h"

#include "support/test_env.h"
#include "util/buf.h"

enum { ROWS = 300000, PLAIN = 12346, RUNS = 12347 };

/* Writes the rows of a set as Roaring's portable format has them; kind: 0 arrays or bits, 1 runs. */
static void put_le(pml_buf *b, uint32_t v, size_t n)
{
    assert_int_equal(pml_buf__append(b, &v, n), PML_OK);
}

static void put_values(pml_buf *b, const pml_row_set *s, int64_t from, uint32_t n)
{
    uint64_t words[1024] = {0};
    for (int64_t i = 0; i < 65536 && from + i < s->n_rows; i++) {
        if (!pml_row_set__has(s, from + i))
            continue;
        if (n <= 4096)
            put_le(b, (uint32_t)i, 2);
        words[i >> 6] |= UINT64_C(1) << (i & 63);
    }
    if (n > 4096)
        assert_int_equal(pml_buf__append(b, words, sizeof words), PML_OK);
}

static void put_runs(pml_buf *b, const pml_row_set *s, int64_t from)
{
    int64_t end = from + 65536 < s->n_rows ? from + 65536 : s->n_rows;
    size_t at = b->len;
    uint32_t n = 0;
    put_le(b, 0, 2);
    for (int64_t i = pml_row_set__next(s, from, true); i < end; n++) {
        int64_t stop = pml_row_set__next(s, i, false);
        stop = stop < end ? stop : end;
        put_le(b, (uint32_t)(i - from), 2);
        put_le(b, (uint32_t)(stop - i - 1), 2);
        i = pml_row_set__next(s, stop, true);
    }
    memcpy((uint8_t *)b->data + at, &n, 2);
}

static void write_roaring(pml_buf *b, const pml_row_set *s, bool runs)
{
    uint32_t counts[16], n = 0;
    int64_t firsts[16];
    for (int64_t from = 0; from < s->n_rows; from += 65536) {
        int64_t end = from + 65536 < s->n_rows ? from + 65536 : s->n_rows;
        counts[n] = (uint32_t)pml_row_set__count(s, from, end);
        firsts[n] = from;
        n += counts[n] > 0;
    }
    put_le(b, runs ? RUNS + ((n - 1) << 16) : PLAIN, 4);
    if (runs)
        for (uint32_t i = 0; i < n; i += 8)
            put_le(b, 0xFF, 1);
    else
        put_le(b, n, 4);
    for (uint32_t i = 0; i < n; i++) {
        put_le(b, (uint32_t)(firsts[i] >> 16), 2);
        put_le(b, counts[i] - 1, 2);
    }
    for (uint32_t i = 0; i < n && (!runs || n >= 4); i++)
        put_le(b, 0, 4); /* places, which nobody needs */
    for (uint32_t i = 0; i < n; i++) {
        if (runs)
            put_runs(b, s, firsts[i]);
        else
            put_values(b, s, firsts[i], counts[i]);
    }
}

/* Some rows: single ones, a dense stretch, a long range. */
static void fill(pml_row_set *s, uint64_t seed, int64_t dense)
{
    uint64_t r = seed;
    for (int i = 0; i < 500; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        pml_row_set__add(s, (int64_t)((r >> 20) % (uint64_t)s->n_rows));
    }
    for (int64_t i = dense; i < dense + 40000 && i < s->n_rows; i += 2)
        pml_row_set__add(s, i);
    pml_row_set__add_range(s, s->n_rows / 2, s->n_rows / 2 + 1000);
}

static bool same(const pml_row_set *a, const pml_row_set *b)
{
    return a->n_rows == b->n_rows && memcmp(a->words, b->words, ((size_t)a->n_rows + 63) / 64 * 8) == 0;
}

static void row_set_ranges_and_questions_agree_with_single_rows(void **state)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_row_set a, b;
    (void)state;
    for (int64_t n = 0; n <= 200; n += n < 70 ? 1 : 13) {
        for (int64_t first = 0; first <= n; first += 7) {
            for (int64_t end = first; end <= n; end += 5) {
                assert_int_equal(pml_row_set__init(&a, t->env, n, false, &err), PML_OK);
                assert_int_equal(pml_row_set__init(&b, t->env, n, true, &err), PML_OK);
                pml_row_set__add_range(&a, first, end);
                assert_int_equal(pml_row_set__count(&a, 0, n), end - first);
                assert_int_equal(pml_row_set__count(&b, first, end), end - first);
                assert_int_equal(pml_row_set__any(&a, 0, n), end > first);
                assert_false(pml_row_set__any(&a, end, n));
                assert_int_equal(pml_row_set__next(&a, 0, true), end > first ? first : n);
                assert_int_equal(pml_row_set__next(&a, first, false), end);
                pml_row_set__and_not(&b, &a);
                pml_row_set__invert(&b);
                assert_true(same(&a, &b));
                pml_row_set__clear(&a);
                pml_row_set__clear(&b);
            }
        }
    }
    assert_int_equal(pml_row_set__init(&a, t->env, PML_ROW_SET_MAX + 1, false, &err), PML_E_LIMIT);
    assert_int_equal(pml_row_set__init(&a, t->env, -1, false, &err), PML_E_LIMIT);
    test_env_close(t);
}

static void roaring_of_all_kinds_is_read_to_its_last_byte(void **state)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    (void)state;
    for (int round = 0; round < 12; round++) {
        pml_row_set want, got;
        pml_buf bytes;
        size_t used;
        int64_t n, rows = round < 6 ? ROWS : 70000 + round;
        pml_buf__init(&bytes, t->env, SIZE_MAX / 2);
        assert_int_equal(pml_row_set__init(&want, t->env, rows, false, &err), PML_OK);
        fill(&want, (uint64_t)round, round * 9000);
        write_roaring(&bytes, &want, round % 2 == 1);
        put_le(&bytes, 0xAAAAAAAA, 4); /* what follows is not its business */
        assert_int_equal(pml_row_set__init(&got, t->env, rows, false, &err), PML_OK);
        assert_int_equal(pml_row_set__add_roaring(&got, 0, (pml_bytes){bytes.data, bytes.len}, &used, &n, &err), PML_OK);
        assert_int_equal(used, bytes.len - 4);
        assert_int_equal(n, pml_row_set__count(&want, 0, rows));
        assert_true(same(&want, &got));
        for (size_t cut = 0; cut < used; cut += 1 + cut / 50) /* any shorter one is damaged */
            assert_int_equal(pml_row_set__add_roaring(&got, 0, (pml_bytes){bytes.data, cut}, NULL, NULL, &err), PML_E_CORRUPT);
        got.n_rows = pml_row_set__next(&want, rows - 1000, true); /* a row beyond the end */
        if (got.n_rows < rows)
            assert_int_equal(pml_row_set__add_roaring(&got, 0, (pml_bytes){bytes.data, used}, NULL, NULL, &err), PML_E_CORRUPT);
        assert_int_equal(pml_row_set__add_roaring(&want, 1, (pml_bytes){bytes.data, 4}, NULL, NULL, &err), PML_E_CORRUPT);
        pml_row_set__clear(&want);
        pml_row_set__clear(&got);
        pml_buf__clear(&bytes);
    }
    test_env_close(t);
}

static void roaring_that_breaks_its_rules_is_damaged(void **state)
{
    static const struct {
        uint8_t bytes[32];
        size_t n;
    } bad[] = {
        {{1, 2, 3, 4, 0, 0, 0, 0}, 8},                                                                /* cookie */
        {{0x3A, 0x30, 0, 0, 1, 0, 1, 0}, 8},                                                          /* 65,537 containers */
        {{0x3A, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 5, 0, 5, 0}, 20},                      /* 5, 5 */
        {{0x3A, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 5, 0, 4, 0}, 20},                      /* 5, 4 */
        {{0x3A, 0x30, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0}, 28}, /* container 0 twice */
        {{0x3B, 0x30, 0, 0, 1, 0, 0, 2, 0, 2, 0, 3, 0, 1, 0, 4, 0, 0, 0}, 19},                         /* runs 3-4, 4 */
        {{0x3B, 0x30, 0, 0, 1, 0, 0, 9, 0, 1, 0, 3, 0, 1, 0}, 15},                                     /* two values, not ten */
        {{0x3B, 0x30, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0xFF, 0xFF, 1, 0}, 15},                               /* a run past 65,535 */
    };
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_row_set s;
    (void)state;
    assert_int_equal(pml_row_set__init(&s, t->env, 1 << 20, false, &err), PML_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(pml_row_set__add_roaring(&s, 0, (pml_bytes){bad[i].bytes, bad[i].n}, NULL, NULL, &err), PML_E_CORRUPT);
        assert_int_equal(pml_row_set__add_roaring(&s, UINT64_MAX - 65536, (pml_bytes){bad[i].bytes, bad[i].n}, NULL, NULL, &err),
                         PML_E_CORRUPT);
    }
    pml_row_set__clear(&s);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_set_ranges_and_questions_agree_with_single_rows),
        cmocka_unit_test(roaring_of_all_kinds_is_read_to_its_last_byte),
        cmocka_unit_test(roaring_that_breaks_its_rules_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
