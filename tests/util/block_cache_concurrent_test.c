/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that come back: those that fit, no more than a bound, none twice. */
#include "support/test_env.h"

#include <malloc.h>
#include <stdlib.h>

#include "util/block_cache.h"
#include "util/thread.h"

enum { SLOTS = 64, STEPS = 200000, THREADS = 4 };

/* As an environment does it. */
static void *block_new(pml_block_cache *c, size_t n)
{
    void *p = pml_block_cache__take(c, &n);
    p = p != NULL ? p : malloc(n);
    if (p == NULL || malloc_usable_size(p) < n)
        abort(); /* threads come here, too */
    return p;
}

static void block_free(pml_block_cache *c, void *p)
{
    if (!pml_block_cache__give(c, p, malloc_usable_size(p)))
        free(p);
}

static void a_block_comes_back_for_as_much_and_for_a_little_less(void **state)
{
    (void)state;
    static const size_t sizes[] = {8192, 8193, 10000, 65536, 100000, 131072, 1000000, (4 << 20) - 1, 4 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pml_block_cache c = {0};
        void *p = block_new(&c, sizes[i]);
        block_free(&c, p);
        assert_true(c.bytes >= sizes[i]);
        assert_ptr_equal(block_new(&c, sizes[i]), p);
        assert_int_equal(c.bytes, 0);
        block_free(&c, p);
        void *more = block_new(&c, sizes[i] + sizes[i] / 2);
        assert_ptr_not_equal(more, p);
        block_free(&c, more);
        pml_block_cache__clear(&c);
        assert_int_equal(c.bytes, 0);
    }
}

static void small_and_huge_blocks_stay_with_the_caller(void **state)
{
    (void)state;
    pml_block_cache c = {0};
    size_t n = 8191;
    void *small = malloc(n), *huge = malloc(5 << 20);
    assert_null(pml_block_cache__take(&c, &n));
    assert_int_equal(n, 8191);
    n = (4 << 20) + 1;
    assert_null(pml_block_cache__take(&c, &n));
    assert_int_equal(n, (4 << 20) + 1);
    assert_false(pml_block_cache__give(&c, small, 8191));
    assert_false(pml_block_cache__give(&c, huge, 5 << 20));
    free(small);
    free(huge);
}

/* Where it is held, as by a thread that a fork left behind, nothing waits. */
static void a_cache_that_somebody_is_in_is_passed_by(void **state)
{
    (void)state;
    pml_block_cache c = {0};
    size_t n = 20000;
    void *p = malloc(n);
    (void)atomic_flag_test_and_set(&c.busy);
    assert_null(pml_block_cache__take(&c, &n));
    assert_false(pml_block_cache__give(&c, p, malloc_usable_size(p)));
    free(p);
}

typedef struct worker {
    pml_block_cache *cache;
    uint64_t random;
    int wrong;
} worker;

/* Each block is marked whole while it is held: one that two had would show. */
static void *work(void *arg)
{
    worker *w = arg;
    struct {
        uint8_t *p;
        size_t n;
    } slots[SLOTS] = {0};
    for (int step = 0; step < STEPS / THREADS; step++) {
        w->random = w->random * 6364136223846793005u + 1442695040888963407u;
        size_t i = (size_t)(w->random >> 33) % SLOTS, n = (size_t)(w->random >> 40) % 300000 + 1;
        uint8_t mark = (uint8_t)((uintptr_t)w >> 4 ^ i);
        if (slots[i].p == NULL) {
            slots[i].p = block_new(w->cache, n);
            slots[i].n = n;
            slots[i].p[0] = slots[i].p[n / 2] = slots[i].p[n - 1] = mark;
        } else {
            n = slots[i].n;
            w->wrong += slots[i].p[0] != mark || slots[i].p[n / 2] != mark || slots[i].p[n - 1] != mark;
            block_free(w->cache, slots[i].p);
            slots[i].p = NULL;
        }
    }
    for (size_t i = 0; i < SLOTS; i++)
        free(slots[i].p);
    return NULL;
}

static void threads_share_it_and_it_stays_bounded(void **state)
{
    (void)state;
    pml_block_cache c = {0};
    pml_thread threads[THREADS];
    worker workers[THREADS];
    uint64_t seed = test_seed();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){&c, seed + (uint64_t)i, 0};
        assert_int_equal(pml_thread__start(&threads[i], work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pml_thread__join(&threads[i]);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_true(c.bytes > PML_BLOCK_CACHE_BYTES_MAX / 4 && c.bytes <= PML_BLOCK_CACHE_BYTES_MAX);
    pml_block_cache__clear(&c);
    assert_int_equal(c.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_comes_back_for_as_much_and_for_a_little_less),
        cmocka_unit_test(small_and_huge_blocks_stay_with_the_caller),
        cmocka_unit_test(a_cache_that_somebody_is_in_is_passed_by),
        cmocka_unit_test(threads_share_it_and_it_stays_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
