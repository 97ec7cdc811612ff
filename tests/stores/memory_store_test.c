/* SPDX-License-Identifier: Apache-2.0 */
/* The contract kit on the memory store, and what only this store promises. */
#include "support/store_kit.h"

#include "stores/memory.h"

static void memory_store_keeps_the_contract(void **state)
{
    (void)state;
    store_kit_result r;
    store_kit_run(&r, pml_memory_store_plugin());
    if (r.failed > 0)
        fail_msg("%d of %d cases failed (%s); first: %s", r.failed, r.cases, r.names, r.first);
    assert_int_equal(r.cases, n_kit_cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_store_keeps_the_contract)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
