/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/numbered.h"

#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/sim_fs.h"
#include "support/test_env.h"

typedef struct fixture {
    faulty_fs f;
    test_env *t;
    char dir[300];
} fixture;

static void setup(fixture *x, int64_t first, int64_t last)
{
    char name[64];
    faulty_fs_init(&x->f, &pml_local_file_system);
    x->t = test_env_open(&x->f.fs);
    (void)snprintf(x->dir, sizeof x->dir, "%s/numbered", x->t->dir);
    for (int64_t id = first; id <= last; id++) {
        (void)snprintf(name, sizeof name, "numbered/snap-%lld", (long long)id);
        must_ok(pml_file__write_new(x->t->env, test_path(x->t, name), "x", 1, PML_WRITE_NO_SYNC, NULL), NULL);
    }
    faulty_fs_reset(&x->f);
}

static void teardown(fixture *x)
{
    test_env_close(x->t);
    faulty_fs_destroy(&x->f);
}

static void put(fixture *x, const char *name, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof path, "numbered/%s", name);
    must_ok(pml_file__replace(x->t->env, test_path(x->t, path), text, strlen(text), NULL), NULL);
}

static int64_t latest(fixture *x, uint32_t flags)
{
    pml_error err = PML_ERROR_INIT;
    int64_t id = 77;
    must_ok(pml_numbered__latest(&id, x->t->env, x->dir, "snap-", flags, &err), &err);
    return id;
}

static int64_t earliest(fixture *x, uint32_t flags)
{
    pml_error err = PML_ERROR_INIT;
    int64_t id = 77;
    must_ok(pml_numbered__earliest(&id, x->t->env, x->dir, "snap-", flags, &err), &err);
    return id;
}

static long long lists(fixture *x)
{
    long long n = faulty_fs_count(&x->f, FS_OP(FS_OP_LIST));
    faulty_fs_reset(&x->f);
    return n;
}

static void list_ids_takes_exact_names_and_sorts_them(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 8, 12);
    pml_error err = PML_ERROR_INIT;
    const char *other[] = {"snap-", "snap-x", "snap-1x", "snap--5", "snap-007", "snap-+3", "snap- 3",
                           ".snap-5.uuid.tmp", "snap-5uuid.tmp", "snap-9223372036854775808", "LATEST", "snap-00",
                           "snapshot-3", "snap-99999999999999999999999"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        put(&x, other[i], "x");
    put(&x, "snap-0", "x");
    put(&x, "snap-9223372036854775807", "x");
    must_ok(pml_file__make_directories(x.t->env, test_path(x.t, "numbered/snap-4"), &err), &err);
    const int64_t expected[] = {0, 8, 9, 10, 11, 12, INT64_MAX};
    int64_t *ids;
    size_t n;
    must_ok(pml_file__list_ids(&ids, &n, x.t->env, x.dir, "snap-", &err), &err);
    assert_int_equal(n, 7);
    assert_memory_equal(ids, expected, sizeof expected);
    pml_env__free(x.t->env, ids);
    assert_int_equal(latest(&x, 0), INT64_MAX);
    put(&x, "LATEST", "9223372036854775807"); /* has no next one to look for */
    assert_int_equal(latest(&x, 0), INT64_MAX);
    assert_int_equal(earliest(&x, 0), 0);
    teardown(&x);
}

static void list_ids_of_many_files_and_of_no_directory(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 1, 300);
    int64_t *ids = (int64_t *)&x;
    size_t n = 5;
    must_ok(pml_file__list_ids(&ids, &n, x.t->env, test_path(x.t, "no"), "snap-", NULL), NULL);
    assert_null(ids);
    assert_int_equal(n, 0);
    int rc = PML_E_NOMEM;
    for (long long k = 1; rc != PML_OK; k++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(x.t, k);
        rc = pml_file__list_ids(&ids, &n, x.t->env, x.dir, "snap-", &err);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && err.code == PML_E_NOMEM && ids == NULL && n == 0));
    }
    test_env_fail_at(x.t, 0);
    assert_int_equal(n, 300);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], i + 1);
    pml_env__free(x.t->env, ids);
    faulty_fs_fail_at(&x.f, 1, FAULT_AFTER, PML_E_IO, 0);
    must_fail_with(PML_E_IO, pml_file__list_ids(&ids, &n, x.t->env, x.dir, "snap-", NULL), NULL);
    assert_null(ids);
    teardown(&x);
}

static void hint_that_is_right_saves_the_listing(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 3, 9);
    must_ok(pml_numbered__write_hint(x.t->env, x.dir, "LATEST", 9, NULL), NULL);
    must_ok(pml_numbered__write_hint(x.t->env, x.dir, "EARLIEST", 3, NULL), NULL);
    faulty_fs_reset(&x.f);
    assert_int_equal(latest(&x, 0), 9);
    assert_int_equal(earliest(&x, 0), 3);
    assert_int_equal(lists(&x), 0);
    assert_int_equal(latest(&x, PML_NUMBERED_NO_HINT), 9);
    assert_int_equal(earliest(&x, PML_NUMBERED_NO_HINT), 3);
    assert_int_equal(lists(&x), 2);
    teardown(&x);
}

static void hint_that_is_missing_stale_garbage_or_huge_is_not_believed(void **state)
{
    (void)state;
    const char *hints[] = {NULL, "4", "8", "", "x", "9\n", " 9", "-9", "+9", "09", "9223372036854775807",
                           "9223372036854775808", "99999999999999999999999999999999999", "2000", "0", "-1", "9x"};
    fixture x;
    setup(&x, 3, 9);
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (hints[i] != NULL)
            put(&x, "LATEST", hints[i]);
        assert_int_equal(latest(&x, 0), 9);
        assert_int_equal(lists(&x), 1);
    }
    const char *early[] = {NULL, "2", "10", "", "x", "3\n", "03", "-3", "9223372036854775807", "9223372036854775808"};
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) {
        if (early[i] != NULL)
            put(&x, "EARLIEST", early[i]);
        assert_int_equal(earliest(&x, 0), 3);
        assert_int_equal(lists(&x), 1);
    }
    teardown(&x);
}

static void hint_that_is_a_directory_is_not_believed(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 1, 2);
    must_ok(pml_file__make_directories(x.t->env, test_path(x.t, "numbered/LATEST"), NULL), NULL);
    assert_int_equal(latest(&x, 0), 2);
    teardown(&x);
}

static void numbered_directory_empty_or_missing_has_no_ids(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 1, 0);
    assert_int_equal(latest(&x, 0), -1);
    assert_int_equal(earliest(&x, 0), -1);
    put(&x, "LATEST", "5");
    put(&x, "EARLIEST", "5");
    assert_int_equal(latest(&x, 0), -1);
    assert_int_equal(earliest(&x, 0), -1);
    teardown(&x);
}

/* Whatever fails on the way, the answer is right or an error, never another number. */
static void latest_and_earliest_are_right_or_an_error_whatever_fails(void **state)
{
    (void)state;
    for (int sticky = 0; sticky < 2; sticky++) {
        fixture x;
        setup(&x, 3, 9);
        put(&x, "LATEST", "9");
        put(&x, "EARLIEST", "3");
        for (long long n = 1; n < 12; n++) {
            int64_t id = 77;
            faulty_fs_reset(&x.f);
            faulty_fs_fail_at(&x.f, n, FAULT_BEFORE, PML_E_IO, 0);
            if (sticky)
                faulty_fs_fail_sticky(&x.f);
            int rc = pml_numbered__latest(&id, x.t->env, x.dir, "snap-", 0, NULL);
            assert_true(rc == PML_OK ? id == 9 : id == -1);
            assert_true(rc == PML_OK || sticky);
            faulty_fs_reset(&x.f);
            faulty_fs_fail_at(&x.f, n, FAULT_BEFORE, PML_E_IO, 0);
            rc = pml_numbered__earliest(&id, x.t->env, x.dir, "snap-", 0, NULL);
            assert_true(rc == PML_OK && id == 3);
            faulty_fs_reset(&x.f);
            test_env_fail_at(x.t, n);
            assert_int_equal(latest(&x, 0), 9);
            test_env_fail_at(x.t, 0);
        }
        teardown(&x);
    }
}

/* A hint is not synced: what is left of "12" may be nothing, zeros, or a "1" that is a number as well. */
static void hint_torn_by_a_power_cut_does_not_mislead(void **state)
{
    (void)state;
    bool crashed = true;
    for (long long n = 0; crashed; n++) {
        for (uint64_t seed = 0; seed < 40; seed++) {
            sim_fs *sim = sim_fs_new();
            test_env *t = test_env_open(sim_fs_system(sim));
            char name[64];
            int64_t id;
            for (int i = 8; i <= 12; i++) {
                (void)snprintf(name, sizeof name, "/d/snap-%d", i);
                must_ok(pml_file__publish(t->env, name, "x", 1, 0, NULL), NULL);
            }
            sim_fs_crash_at(sim, n);
            (void)pml_numbered__write_hint(t->env, "/d", "LATEST", 12, NULL);
            crashed = sim_fs_is_down(sim);
            sim_fs_restart(sim, seed);
            must_ok(pml_numbered__latest(&id, t->env, "/d", "snap-", 0, NULL), NULL);
            assert_int_equal(id, 12);
            test_env_close(t);
            sim_fs_free(sim);
        }
    }
}

static void hint_is_read_three_times_before_it_is_given_up(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 3, 9);
    put(&x, "LATEST", "half");
    faulty_fs_reset(&x.f);
    int64_t before = atomic_load(&x.t->wall_ms);
    assert_int_equal(latest(&x, 0), 9);
    assert_int_equal(faulty_fs_count(&x.f, FS_OP(FS_OP_OPEN_READ)), 3);
    assert_int_equal(atomic_load(&x.t->wall_ms) - before, 2);
    teardown(&x);
}

static void write_hint_has_the_bare_number_and_is_tried_three_times(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 1, 1);
    pml_error err = PML_ERROR_INIT;
    size_t n;
    int64_t before = atomic_load(&x.t->wall_ms);
    faulty_fs_fail_kinds(&x.f, FS_OP(FS_OP_REPLACE));
    faulty_fs_fail_at(&x.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    must_ok(pml_numbered__write_hint(x.t->env, x.dir, "LATEST", 1234567890123, &err), &err);
    assert_int_equal(faulty_fs_count(&x.f, FS_OP(FS_OP_REPLACE)), 2);
    assert_in_range(atomic_load(&x.t->wall_ms) - before, 500, 1500);
    uint8_t *text = NULL;
    must_ok(pml_file__read_all(&text, &n, x.t->env, test_path(x.t, "numbered/LATEST"), 100, &err), &err);
    assert_string_equal((char *)text, "1234567890123");
    pml_env__free(x.t->env, text);
    faulty_fs_fail_at(&x.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    faulty_fs_fail_sticky(&x.f);
    must_fail_with(PML_E_IO, pml_numbered__write_hint(x.t->env, x.dir, "LATEST", 5, &err), &err);
    assert_int_equal(faulty_fs_count(&x.f, FS_OP(FS_OP_REPLACE)), 5);
    teardown(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_ids_takes_exact_names_and_sorts_them),
        cmocka_unit_test(list_ids_of_many_files_and_of_no_directory),
        cmocka_unit_test(hint_that_is_right_saves_the_listing),
        cmocka_unit_test(hint_that_is_missing_stale_garbage_or_huge_is_not_believed),
        cmocka_unit_test(hint_that_is_a_directory_is_not_believed),
        cmocka_unit_test(numbered_directory_empty_or_missing_has_no_ids),
        cmocka_unit_test(latest_and_earliest_are_right_or_an_error_whatever_fails),
        cmocka_unit_test(hint_torn_by_a_power_cut_does_not_mislead),
        cmocka_unit_test(hint_is_read_three_times_before_it_is_given_up),
        cmocka_unit_test(write_hint_has_the_bare_number_and_is_tried_three_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
