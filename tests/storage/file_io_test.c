/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/file_io.h"

#include <stdlib.h>
#include <string.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/sim_fs.h"
#include "support/test_env.h"

static void must_hold(test_env *t, const char *path, const void *bytes, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    uint8_t *data;
    size_t len;
    must_ok(pml_file__read_all(&data, &len, t->env, path, 1 << 24, &err), &err);
    assert_int_equal(len, n);
    assert_memory_equal(data, bytes, n);
    assert_int_equal(data[len], 0);
    pml_env__free(t->env, data);
}

static bool exists(test_env *t, const char *path)
{
    pml_error err = PML_ERROR_INIT;
    bool yes = true;
    must_ok(pml_file__exists(&yes, t->env, path, &err), &err);
    return yes;
}

static void put(test_env *t, const char *path, const char *text)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__write_new(t->env, path, text, strlen(text), PML_WRITE_NO_SYNC, &err), &err);
}

/* ---- whole files ------------------------------------------------------------------------------------------------- */

static void read_all_gives_the_content_and_respects_its_limit(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    uint8_t *data = (uint8_t *)&err;
    size_t n = 9;
    put(t, test_path(t, "f"), "12345");
    put(t, test_path(t, "empty"), "");
    must_hold(t, test_path(t, "f"), "12345", 5);
    must_hold(t, test_path(t, "empty"), "", 0);
    must_fail_with(PML_E_LIMIT, pml_file__read_all(&data, &n, t->env, test_path(t, "f"), 4, &err), &err);
    assert_null(data);
    assert_int_equal(n, 0);
    must_ok(pml_file__read_all(&data, &n, t->env, test_path(t, "f"), 5, &err), &err);
    pml_env__free(t->env, data);
    must_fail_with(PML_E_NOT_FOUND, pml_file__read_all(&data, &n, t->env, test_path(t, "no"), 5, &err), &err);
    must_fail_with(PML_E_IO, pml_file__read_all(&data, &n, t->env, t->dir, 5, &err), &err);
    test_env_close(t);
}

static void read_all_tells_of_every_failure_and_leaks_nothing(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    uint8_t *data;
    size_t n;
    put(t, test_path(t, "f"), "12345");
    for (long long i = 1; i <= 3; i++) {
        faulty_fs_fail_at(&f, i, i % 2 == 0 ? FAULT_BEFORE : FAULT_AFTER, PML_E_IO, 0);
        must_fail_with(PML_E_IO, pml_file__read_all(&data, &n, t->env, test_path(t, "f"), 5, NULL), NULL);
    }
    test_env_fail_at(t, 1);
    must_fail_with(PML_E_NOMEM, pml_file__read_all(&data, &n, t->env, test_path(t, "f"), 5, NULL), NULL);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static void exists_knows_absent_from_unknown(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    bool yes = true;
    put(t, test_path(t, "f"), "x");
    assert_true(exists(t, test_path(t, "f")));
    assert_true(exists(t, t->dir));
    assert_false(exists(t, test_path(t, "g")));
    assert_false(exists(t, test_path(t, "f/below")));
    faulty_fs_fail_at(&f, 1, FAULT_BEFORE, PML_E_IO, 0);
    must_fail_with(PML_E_IO, pml_file__exists(&yes, t->env, test_path(t, "f"), &err), &err);
    assert_false(yes);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static void make_directories_makes_all_parents_and_accepts_existing_ones(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__make_directories(t->env, test_path(t, "a/b//c/d/"), &err), &err);
    assert_true(exists(t, test_path(t, "a/b/c/d")));
    must_ok(pml_file__make_directories(t->env, test_path(t, "a/b/c/d"), &err), &err);
    must_ok(pml_file__make_directories(t->env, t->dir, &err), &err);
    must_ok(pml_file__make_directories(t->env, "/", &err), &err);
    must_ok(pml_file__make_directories(t->env, ".", &err), &err);
    put(t, test_path(t, "file"), "x");
    must_fail_with(PML_E_IO, pml_file__make_directories(t->env, test_path(t, "file"), &err), &err);
    must_fail_with(PML_E_IO, pml_file__make_directories(t->env, test_path(t, "file"), NULL), NULL);
    assert_int_not_equal(pml_file__make_directories(t->env, test_path(t, "file/x/y"), &err), PML_OK);
    assert_int_not_equal(pml_file__write_new(t->env, test_path(t, "file/x"), "", 0, 0, &err), PML_OK);
    assert_int_not_equal(pml_file__make_directories(t->env, "", &err), PML_OK);
    test_env_close(t);
}

typedef struct rival {
    test_env *t;
    const char *path;
} rival;

static void rival_makes_it(void *arg, int kind, const char *path)
{
    rival *r = arg;
    (void)kind, (void)path;
    must_ok(pml_local_file_system.make_directory(NULL, r->path, NULL), NULL);
}

static void make_directories_overtaken_by_another_one_succeeds(void **state)
{
    (void)state;
    /* Going up: 1 a/b/c, 2 a/b, 3 a; going down: 4 a/b, 5 a/b/c. */
    const struct { long long at; const char *path; } cases[] = {{3, "a"}, {4, "a/b"}, {5, "a/b/c"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        faulty_fs f;
        faulty_fs_init(&f, &pml_local_file_system);
        test_env *t = test_env_open(&f.fs);
        pml_error err = PML_ERROR_INIT;
        rival r = {t, test_path(t, cases[i].path)};
        faulty_fs_call_at(&f, cases[i].at, FS_OP(FS_OP_MAKE_DIRECTORY), rival_makes_it, &r);
        must_ok(pml_file__make_directories(t->env, test_path(t, "a/b/c"), &err), &err);
        assert_true(exists(t, test_path(t, "a/b/c")));
        test_env_close(t);
        faulty_fs_destroy(&f);
    }
}

static void parent_cuts_the_last_part(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const char *cases[][2] = {{"/a/b", "/a"}, {"/a//b", "/a"}, {"/a/b/", "/a"}, {"/a", "/"},
                              {"a", "."}, {"a/b", "a"}, {"/", "/"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *p = pml_file__parent(t->env, cases[i][0]);
        assert_string_equal(p, cases[i][1]);
        pml_env__free(t->env, p);
    }
    test_env_close(t);
}

static void write_new_is_exclusive_and_makes_its_directory_only_when_missing(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__write_new(t->env, test_path(t, "d/e/f"), "abc", 3, 0, &err), &err);
    must_hold(t, test_path(t, "d/e/f"), "abc", 3);
    must_fail_with(PML_E_EXISTS, pml_file__write_new(t->env, test_path(t, "d/e/f"), "xyz", 3, 0, &err), &err);
    must_hold(t, test_path(t, "d/e/f"), "abc", 3);
    faulty_fs_reset(&f);
    must_ok(pml_file__write_new(t->env, test_path(t, "d/e/g"), "abc", 3, PML_WRITE_NO_SYNC, &err), &err);
    assert_int_equal(faulty_fs_count(&f, FS_OP_ALL), 3); /* create, write, close */
    faulty_fs_reset(&f);
    must_ok(pml_file__write_new(t->env, test_path(t, "d/e/h"), "abc", 3, PML_WRITE_NO_DIRECTORY_SYNC, &err), &err);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC)), 1);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), 0);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static void write_new_that_fails_anywhere_leaves_no_file(void **state)
{
    (void)state;
    const int modes[] = {FAULT_BEFORE, FAULT_AFTER};
    for (size_t m = 0; m < 2; m++) {
        long long n = 1;
        bool failed = true;
        for (; failed; n++) {
            faulty_fs f;
            faulty_fs_init(&f, &pml_local_file_system);
            test_env *t = test_env_open(&f.fs);
            pml_error err = PML_ERROR_INIT;
            faulty_fs_fail_at(&f, n, (fault_mode)modes[m], PML_E_NO_SPACE, 0);
            int rc = pml_file__write_new(t->env, test_path(t, "d/f"), "abc", 3, 0, &err);
            failed = faulty_fs_failures(&f) > 0;
            assert_int_equal(rc, failed ? PML_E_NO_SPACE : PML_OK);
            assert_int_equal(err.code, rc);
            /* A create that worked and denies it: it is not known to be ours, so it stays. */
            bool create_denied = m == 1 && faulty_fs_count(&f, FS_OP(FS_OP_WRITE)) == 0;
            faulty_fs_reset(&f);
            if (failed && !create_denied)
                assert_false(exists(t, test_path(t, "d/f")));
            test_env_close(t);
            faulty_fs_destroy(&f);
        }
        assert_true(n > 10);
    }
}

static void writes_survive_allocation_failures(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_file__write_new(t->env, test_path(t, "a/b/f"), "abc", 3, 0, NULL);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    must_hold(t, test_path(t, "a/b/f"), "abc", 3);
    rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_file__replace(t->env, test_path(t, "a/b/f"), "xy", 2, NULL);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    must_hold(t, test_path(t, "a/b/f"), "xy", 2);
    test_env_close(t);
}

static void replace_that_fails_anywhere_leaves_old_or_new_content(void **state)
{
    (void)state;
    bool failed = true;
    for (long long n = 1; failed; n++) {
        sim_fs *sim = sim_fs_new();
        faulty_fs f;
        faulty_fs_init(&f, sim_fs_system(sim));
        test_env *t = test_env_open(&f.fs);
        put(t, "/d/LATEST", "1");
        faulty_fs_reset(&f);
        faulty_fs_fail_at(&f, n, n % 2 == 0 ? FAULT_BEFORE : FAULT_AFTER, PML_E_IO, 0);
        int rc = pml_file__replace(t->env, "/d/LATEST", "2", 1, NULL);
        failed = faulty_fs_failures(&f) > 0;
        faulty_fs_reset(&f);
        uint8_t *data;
        size_t len;
        must_ok(pml_file__read_all(&data, &len, t->env, "/d/LATEST", 1, NULL), NULL);
        assert_true(data[0] == '2' || (rc != PML_OK && data[0] == '1'));
        pml_env__free(t->env, data);
        test_env_close(t);
        faulty_fs_destroy(&f);
        sim_fs_free(sim);
    }
}

static void remove_of_an_absent_file_is_fine(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    put(t, test_path(t, "f"), "x");
    must_ok(pml_file__remove(t->env, test_path(t, "f"), &err), &err);
    assert_int_equal(err.code, PML_OK);
    assert_false(exists(t, test_path(t, "f")));
    must_ok(pml_file__remove(t->env, test_path(t, "f"), &err), &err);
    assert_int_equal(err.code, PML_OK);
    must_fail_with(PML_E_IO, pml_file__remove(t->env, t->dir, &err), &err);
    test_env_close(t);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

enum { OUTPUT_CALL_MAX = 256 * 1024 };

/* The local file system needs no context of its own. */
static int checked_write(void *ctx, void *file, const void *buf, size_t n, pml_error *err)
{
    size_t *written = ctx;
    assert_in_range(n, 1, OUTPUT_CALL_MAX);
    assert_int_equal(*written % OUTPUT_CALL_MAX, 0);
    *written += n;
    return pml_local_file_system.write(NULL, file, buf, n, err);
}

static void output_of_random_pieces_is_read_back_by_input(void **state)
{
    (void)state;
    size_t written = 0;
    pml_file_system fs = pml_local_file_system;
    fs.ctx = &written;
    fs.write = checked_write;
    test_env *t = test_env_open(&fs);
    pml_error err = PML_ERROR_INIT;
    enum { TOTAL = 5 * 1024 * 1024 };
    uint8_t *bytes = malloc(TOTAL), *back = malloc(TOTAL);
    pml_output *o;
    pml_input *in;
    size_t done = 0;
    t->random_state = test_seed();
    for (size_t i = 0; i < TOTAL; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    must_ok(pml_output__create(&o, t->env, test_path(t, "d/out"), &err), &err);
    while (done < TOTAL) {
        uint64_t r = test_random(t);
        size_t n = (size_t)(r % 3 == 0 ? r / 3 % (2 << 20) : r % 3 == 1 ? r / 3 % 1000 : r / 3 % 200000);
        n = n < TOTAL - done ? n : TOTAL - done;
        must_ok(pml_output__append(o, bytes + done, n), NULL);
        done += n;
        assert_int_equal(pml_output__size(o), done);
    }
    must_ok(pml_output__finish(o, 0, &err), &err);
    must_ok(pml_input__open(&in, t->env, test_path(t, "d/out"), &err), &err);
    assert_int_equal(pml_input__size(in), TOTAL);
    must_ok(pml_input__read_at(in, 0, back, TOTAL, &err), &err);
    assert_memory_equal(back, bytes, TOTAL);
    must_ok(pml_input__read_at(in, 1000, back, 77, &err), &err);
    assert_memory_equal(back, bytes + 1000, 77);
    must_ok(pml_input__read_at(in, TOTAL, back, 0, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_input__read_at(in, TOTAL, back, 1, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_input__read_at(in, TOTAL - 5, back, 6, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_input__read_at(in, -1, back, 1, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_input__read_at(in, INT64_MAX, back, 1, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_input__read_at(in, 1, back, SIZE_MAX, &err), &err);
    pml_input__close(in);
    pml_input__close(NULL);
    free(bytes);
    free(back);
    test_env_close(t);
}

static void output_error_sticks_and_the_file_is_removed(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    char *big = calloc(1, 2 << 20);
    pml_output *o;
    must_ok(pml_output__create(&o, t->env, test_path(t, "out"), &err), &err);
    must_fail_with(PML_E_EXISTS, pml_output__create(&(pml_output *){NULL}, t->env, test_path(t, "out"), &err), &err);
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_WRITE));
    faulty_fs_fail_at(&f, 1, FAULT_AFTER, PML_E_NO_SPACE, 0);
    must_ok(pml_output__append(o, "small", 5), NULL);
    assert_int_equal(pml_output__append(o, big, 2 << 20), PML_E_NO_SPACE);
    assert_int_equal(pml_output__append(o, "more", 4), PML_E_NO_SPACE);
    must_fail_with(PML_E_NO_SPACE, pml_output__finish(o, 0, &err), &err);
    assert_non_null(strstr(err.message, "injected"));
    assert_false(exists(t, test_path(t, "out")));
    must_ok(pml_output__create(&o, t->env, test_path(t, "out"), &err), &err);
    pml_output__abandon(o);
    pml_output__abandon(NULL);
    assert_false(exists(t, test_path(t, "out")));
    free(big);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static int write_stream(test_env *t, const char *path)
{
    pml_output *o;
    PML_RETURN_IF(pml_output__create(&o, t->env, path, NULL));
    (void)pml_output__append(o, "abc", 3);
    return pml_output__finish(o, 0, NULL);
}

static int read_stream(test_env *t, const char *path)
{
    pml_input *in;
    char buf[3];
    PML_RETURN_IF(pml_input__open(&in, t->env, path, NULL));
    int rc = pml_input__read_at(in, 0, buf, 3, NULL);
    pml_input__close(in);
    return rc;
}

static void streams_survive_failures_of_memory_and_files(void **state)
{
    (void)state;
    int (*const runs[])(test_env *, const char *) = {write_stream, read_stream};
    for (size_t i = 0; i < 2; i++) {
        for (int memory = 0; memory < 2; memory++) {
            faulty_fs f;
            faulty_fs_init(&f, &pml_local_file_system);
            test_env *t = test_env_open(&f.fs);
            int rc = PML_E_IO;
            if (i == 1)
                put(t, test_path(t, "s"), "abc");
            for (long long n = 1; rc != PML_OK; n++) {
                test_env_fail_at(t, memory == 1 ? n : 0);
                faulty_fs_reset(&f);
                faulty_fs_fail_at(&f, memory == 0 ? n : 0, FAULT_BEFORE, PML_E_IO, 0);
                rc = runs[i](t, test_path(t, "s"));
                assert_true(rc == PML_OK || rc == (memory == 1 ? PML_E_NOMEM : PML_E_IO));
            }
            faulty_fs_reset(&f);
            test_env_fail_at(t, 0);
            must_hold(t, test_path(t, "s"), "abc", 3);
            test_env_close(t);
            faulty_fs_destroy(&f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_all_gives_the_content_and_respects_its_limit),
        cmocka_unit_test(read_all_tells_of_every_failure_and_leaks_nothing),
        cmocka_unit_test(exists_knows_absent_from_unknown),
        cmocka_unit_test(make_directories_makes_all_parents_and_accepts_existing_ones),
        cmocka_unit_test(make_directories_overtaken_by_another_one_succeeds),
        cmocka_unit_test(parent_cuts_the_last_part),
        cmocka_unit_test(write_new_is_exclusive_and_makes_its_directory_only_when_missing),
        cmocka_unit_test(write_new_that_fails_anywhere_leaves_no_file),
        cmocka_unit_test(writes_survive_allocation_failures),
        cmocka_unit_test(replace_that_fails_anywhere_leaves_old_or_new_content),
        cmocka_unit_test(remove_of_an_absent_file_is_fine),
        cmocka_unit_test(output_of_random_pieces_is_read_back_by_input),
        cmocka_unit_test(output_error_sticks_and_the_file_is_removed),
        cmocka_unit_test(streams_survive_failures_of_memory_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
