/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include "util/map.h"

static void map_random_operations_agree_with_an_array(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_map m;
    intptr_t model[200] = {0};
    t->random_state = test_seed();
    pml_map__init(&m, t->env);
    for (int step = 0; step < 20000; step++) {
        uint32_t key = (uint32_t)(test_random(t) % 200);
        intptr_t value = (intptr_t)(test_random(t) % 1000 + 1);
        if (test_random(t) % 3 == 0) {
            assert_int_equal((intptr_t)pml_map__remove(&m, &key, sizeof key), model[key]);
            model[key] = 0;
        } else {
            void *old;
            must_ok(pml_map__put(&m, &key, sizeof key, (void *)value, &old), NULL);
            assert_int_equal((intptr_t)old, model[key]);
            model[key] = value;
        }
        assert_int_equal((intptr_t)pml_map__get(&m, &key, sizeof key), model[key]);
    }
    size_t live = 0, seen = 0, i = 0;
    for (size_t k = 0; k < 200; k++)
        live += model[k] != 0;
    while (pml_map__next(&m, &i) != NULL)
        seen++;
    assert_int_equal(seen, live);
    pml_map__clear(&m, NULL);
    test_env_close(t);
}

/* Keys come out of files: who wrote them must not know which ones meet in the index. */
static void hashes_are_of_the_environments_own_seed(void **state)
{
    (void)state;
    uint64_t hash[2];
    for (uint64_t i = 0; i < 2; i++) {
        test_env *t = test_env_open(NULL);
        pml_map m;
        t->env->hash_seed += i;
        pml_map__init(&m, t->env);
        must_ok(pml_map__put(&m, "key", 3, NULL, NULL), NULL);
        assert_true(pml_map__has(&m, "key", 3));
        hash[i] = m.entries[0].hash;
        pml_map__clear(&m, NULL);
        test_env_close(t);
    }
    assert_true(hash[0] != hash[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_random_operations_agree_with_an_array),
        cmocka_unit_test(hashes_are_of_the_environments_own_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
