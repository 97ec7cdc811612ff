/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"
#include "util/hash.h"

/* From the pages of those who made them. */
static void hashes_are_those_of_their_names(void **state)
{
    (void)state;
    assert_true(pml_hash__fnv1a(0, "") == UINT64_C(0xcbf29ce484222325));
    assert_true(pml_hash__fnv1a(0, "a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(pml_hash__fnv1a(0, "foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(pml_hash__mix64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf)); /* the first number of seed 0 */
    assert_true(pml_hash__mix64(UINT64_C(0x9e3779b97f4a7c15) * 2) == UINT64_C(0x6e789e6aa1b965f4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
