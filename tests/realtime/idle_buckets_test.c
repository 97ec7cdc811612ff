/* SPDX-License-Identifier: Apache-2.0 */
/* A write to many buckets without uncommitted rows looks for what others loaded once, not once for each. */
#include "support/faulty_fs.h"
#include "support/rt_kit.h"

static void a_call_looks_for_new_snapshots_once(void **state)
{
    (void)state;
    static const int64_t rows[] = {100, 1, 100};
    long long operations[3];
    rt_kit k;
    faulty_fs f;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    rt_kit_create_keyed(&k, &f.fs, "", "\"bucket\":\"8\"");
    rt_kit_start(&k, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        faulty_fs_reset(&f);
        rt_kit_write(&k, rows[i], "");
        operations[i] = faulty_fs_count(&f, FS_OP_ALL);
        (void)rt_kit_cycle(&k, i + 1);
    }
    assert_int_equal(operations[2], operations[1]);
    rt_kit_must_store(&k, 0, 201);
    rt_kit_close(&k);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_looks_for_new_snapshots_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
