/* SPDX-License-Identifier: Apache-2.0 */
/* Commits beside a busy Java writer were replaced after they had been read back: rows were lost. */
#include "support/test_env.h"

#include "storage/file_io.h"

static void make_file(test_env *t, const char *name)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__write_new(t->env, test_path(t, name), "x", 1, 0, &err), &err);
}

/* Milliseconds that the call slept. */
static long long waited_ms(test_env *t)
{
    long long before = atomic_load(&t->mono_ns);
    pml_file__await_rivals(t->env, test_path(t, "snapshot-7"));
    return (atomic_load(&t->mono_ns) - before) / 1000000;
}

static void rivals_without_a_temporary_file_are_not_waited_for(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    assert_int_equal(0, waited_ms(t));
    make_file(t, "snapshot-7");
    make_file(t, ".snapshot-7.1d0f4f3e.pml.tmp"); /* ours never replace */
    make_file(t, ".snapshot-70.1d0f4f3e.tmp");
    make_file(t, ".snapshot-6.1d0f4f3e.tmp");
    make_file(t, ".snapshot-7.1d0f4f3e.crc");
    assert_int_equal(0, waited_ms(t));
    test_env_close(t);
}

static void rivals_that_never_end_are_waited_for_about_two_seconds(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    make_file(t, ".snapshot-7.1d0f4f3e.tmp");
    assert_in_range(waited_ms(t), 1000, 4000);
    test_env_close(t);
}

static void rivals_are_not_waited_for_without_memory_or_directory(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    make_file(t, ".snapshot-7.1d0f4f3e.tmp");
    test_env_fail_at(t, 1);
    assert_int_equal(0, waited_ms(t));
    test_env_fail_at(t, 0);
    pml_file__await_rivals(t->env, test_path(t, "absent/snapshot-7"));
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rivals_without_a_temporary_file_are_not_waited_for),
        cmocka_unit_test(rivals_that_never_end_are_waited_for_about_two_seconds),
        cmocka_unit_test(rivals_are_not_waited_for_without_memory_or_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
