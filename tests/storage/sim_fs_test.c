/* SPDX-License-Identifier: Apache-2.0 */
/* The instruments are tested, too: a crash test proves nothing when the simulated disk forgets nothing. */
#include "support/sim_fs.h"

#include <string.h>

#include "support/faulty_fs.h"
#include "support/fs_kit.h"
#include "support/test_env.h"

enum { SEEDS = 64 };

#define SIM(s, op, ...) sim_fs_system(s)->op(sim_fs_system(s)->ctx, __VA_ARGS__)

/* Creates /f, writes a synced and an unsynced part, syncs the directory if told. */
static void write_file(sim_fs *s, const char *path, const char *synced, const char *unsynced, bool sync_directory)
{
    pml_error err = PML_ERROR_INIT;
    void *file;
    must_ok(SIM(s, create, &file, path, &err), &err);
    must_ok(SIM(s, write, file, synced, strlen(synced), &err), &err);
    must_ok(SIM(s, sync, file, &err), &err);
    must_ok(SIM(s, write, file, unsynced, strlen(unsynced), &err), &err);
    must_ok(SIM(s, close_write, file, &err), &err);
    if (sync_directory)
        must_ok(SIM(s, sync_directory, "/", &err), &err);
}

/* The length of the content in buf, -1: no such file. */
static int read_file(sim_fs *s, const char *path, char buf[64])
{
    void *file;
    size_t got;
    if (SIM(s, open_read, &file, path, NULL) != PML_OK)
        return -1;
    assert_int_equal(SIM(s, read_at, &got, file, 0, buf, 64, NULL), PML_OK);
    SIM(s, close_read, file);
    return (int)got;
}

static void sim_fs_passes_the_kit(void **state)
{
    (void)state;
    sim_fs *s = sim_fs_new();
    pml_error err = PML_ERROR_INIT;
    must_ok(SIM(s, make_directory, "/kit", &err), &err);
    fs_kit_run(sim_fs_system(s), "/kit");
    sim_fs_free(s);
}

static void sim_fs_synced_file_and_name_survive_every_crash(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sim_fs *s = sim_fs_new();
        char buf[64];
        write_file(s, "/f", "durable", "", true);
        sim_fs_crash(s, seed);
        assert_int_equal(read_file(s, "/f", buf), 7);
        assert_memory_equal(buf, "durable", 7);
        sim_fs_free(s);
    }
}

static void sim_fs_unsynced_content_is_lost_torn_and_kept_in_some_crash(void **state)
{
    (void)state;
    int lost = 0, torn = 0, zeroed = 0, kept = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sim_fs *s = sim_fs_new();
        char buf[64];
        write_file(s, "/f", "durable", "-and-not", true);
        sim_fs_crash(s, seed);
        int n = read_file(s, "/f", buf);
        assert_true(n >= 7 && n <= 15);
        assert_memory_equal(buf, "durable", 7);
        lost += n == 7;
        torn += n > 7 && n < 15;
        zeroed += n > 7 && memchr(buf, 0, (size_t)n) != NULL;
        kept += n == 15 && memcmp(buf, "durable-and-not", 15) == 0;
        sim_fs_free(s);
    }
    assert_true(lost > 0 && torn > 0 && zeroed > 0 && kept > 0);
}

static void sim_fs_unsynced_name_is_lost_in_some_crash(void **state)
{
    (void)state;
    int lost = 0, kept = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sim_fs *s = sim_fs_new();
        char buf[64];
        write_file(s, "/f", "durable", "", false);
        sim_fs_crash(s, seed);
        lost += read_file(s, "/f", buf) < 0;
        kept += read_file(s, "/f", buf) == 7;
        sim_fs_free(s);
    }
    assert_true(lost > 0 && kept > 0);
    assert_int_equal(lost + kept, SEEDS);
}

static void sim_fs_unsynced_names_are_lost_each_on_its_own(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sim_fs *s = sim_fs_new();
        char buf[64];
        write_file(s, "/removed", "r", "", true);
        write_file(s, "/new", "n", "", false);
        assert_int_equal(SIM(s, remove_file, "/removed", NULL), PML_OK);
        sim_fs_crash(s, seed);
        seen |= 1u << ((read_file(s, "/removed", buf) == 1) + 2 * (read_file(s, "/new", buf) == 1));
        sim_fs_free(s);
    }
    assert_int_equal(seen, 0xF);
}

static void sim_fs_replace_leaves_old_or_new_content(void **state)
{
    (void)state;
    int old = 0, new = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sim_fs *s = sim_fs_new();
        char buf[64];
        write_file(s, "/f", "old", "", true);
        write_file(s, "/t", "newer", "", false);
        assert_int_equal(SIM(s, replace, "/t", "/f", NULL), PML_OK);
        sim_fs_crash(s, seed);
        int n = read_file(s, "/f", buf);
        old += n == 3 && memcmp(buf, "old", 3) == 0;
        new += n == 5 && memcmp(buf, "newer", 5) == 0;
        sim_fs_free(s);
    }
    assert_true(old > 0 && new > 0);
    assert_int_equal(old + new, SEEDS);
}

static void sim_fs_lost_directory_takes_its_synced_files_along(void **state)
{
    (void)state;
    sim_fs *s = sim_fs_new();
    pml_file_info info;
    assert_int_equal(SIM(s, make_directory, "/d", NULL), PML_OK);
    write_file(s, "/d/f", "durable", "", false);
    assert_int_equal(SIM(s, sync_directory, "/d", NULL), PML_OK);
    sim_fs_crash(s, SIM_FS_LOSE_ALL);
    assert_int_equal(SIM(s, stat, &info, "/d/f", NULL), PML_E_NOT_FOUND);
    assert_int_equal(SIM(s, stat, &info, "/d", NULL), PML_E_NOT_FOUND);
    sim_fs_free(s);
}

static void sim_fs_after_its_crash_point_everything_fails_until_restart(void **state)
{
    (void)state;
    sim_fs *s = sim_fs_new();
    pml_error err = PML_ERROR_INIT;
    void *file, *stale;
    char buf[64];
    sim_fs_crash_at(s, 2);
    must_ok(SIM(s, create, &file, "/f", &err), &err);
    must_ok(SIM(s, write, file, "abc", 3, &err), &err);
    assert_false(sim_fs_is_down(s));
    must_fail_with(PML_E_IO, SIM(s, sync, file, &err), &err);
    assert_true(sim_fs_is_down(s));
    must_fail_with(PML_E_IO, SIM(s, create, &stale, "/g", &err), &err);
    assert_int_equal(sim_fs_operations(s), 2);
    sim_fs_restart(s, SIM_FS_KEEP_ALL);
    must_fail_with(PML_E_IO, SIM(s, write, file, "d", 1, &err), &err);
    must_fail_with(PML_E_IO, SIM(s, close_write, file, &err), &err);
    assert_int_equal(read_file(s, "/f", buf), 3);
    assert_int_equal(read_file(s, "/g", buf), -1);
    sim_fs_free(s);
}

static void sim_fs_sync_all_makes_the_set_up_durable(void **state)
{
    (void)state;
    sim_fs *s = sim_fs_new();
    char buf[64];
    assert_int_equal(SIM(s, make_directory, "/d", NULL), PML_OK);
    write_file(s, "/d/f", "a", "b", false);
    sim_fs_sync_all(s);
    sim_fs_crash(s, SIM_FS_LOSE_ALL);
    assert_int_equal(read_file(s, "/d/f", buf), 2);
    sim_fs_free(s);
}

static void note_call(void *arg, int kind, const char *path)
{
    assert_int_equal(kind, FS_OP_PUBLISH);
    assert_string_equal(path, "/p");
    ++*(int *)arg;
}

static void faulty_fs_fails_before_after_by_kind_and_for_good(void **state)
{
    (void)state;
    sim_fs *s = sim_fs_new();
    faulty_fs f;
    pml_error err = PML_ERROR_INIT;
    pml_file_info info;
    int calls = 0;
    faulty_fs_init(&f, sim_fs_system(s));
    write_file(s, "/t", "x", "", true);
    faulty_fs_fail_at(&f, 2, FAULT_BEFORE, PML_E_NO_SPACE, PML_ERRF_NO_EFFECT);
    faulty_fs_call_at(&f, 1, FS_OP(FS_OP_PUBLISH), note_call, &calls);
    must_ok(f.fs.stat(&f, &info, "/t", &err), &err);
    must_fail_with(PML_E_NO_SPACE, f.fs.publish(&f, "/t", "/p", &err), &err);
    assert_int_equal(err.flags, PML_ERRF_NO_EFFECT);
    assert_int_equal(calls, 1);
    must_fail_with(PML_E_NOT_FOUND, f.fs.stat(&f, &info, "/p", &err), &err);
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_PUBLISH));
    faulty_fs_fail_at(&f, 1, FAULT_AFTER, PML_E_IO, 0);
    must_ok(f.fs.stat(&f, &info, "/t", &err), &err);
    must_fail_with(PML_E_IO, f.fs.publish(&f, "/t", "/p", &err), &err);
    must_ok(f.fs.stat(&f, &info, "/p", &err), &err);
    faulty_fs_reset(&f);
    faulty_fs_fail_at(&f, 1, FAULT_BEFORE, PML_E_IO, 0);
    faulty_fs_fail_sticky(&f);
    must_fail_with(PML_E_IO, f.fs.stat(&f, &info, "/p", &err), &err);
    must_fail_with(PML_E_IO, f.fs.stat(&f, &info, "/p", &err), &err);
    assert_int_equal(faulty_fs_failures(&f), 2);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_STAT)), 2);
    faulty_fs_destroy(&f);
    sim_fs_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sim_fs_passes_the_kit),
        cmocka_unit_test(sim_fs_synced_file_and_name_survive_every_crash),
        cmocka_unit_test(sim_fs_unsynced_content_is_lost_torn_and_kept_in_some_crash),
        cmocka_unit_test(sim_fs_unsynced_name_is_lost_in_some_crash),
        cmocka_unit_test(sim_fs_unsynced_names_are_lost_each_on_its_own),
        cmocka_unit_test(sim_fs_replace_leaves_old_or_new_content),
        cmocka_unit_test(sim_fs_lost_directory_takes_its_synced_files_along),
        cmocka_unit_test(sim_fs_after_its_crash_point_everything_fails_until_restart),
        cmocka_unit_test(sim_fs_sync_all_makes_the_set_up_durable),
        cmocka_unit_test(faulty_fs_fails_before_after_by_kind_and_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
