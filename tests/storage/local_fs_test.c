/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/local_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/faulty_fs.h"
#include "support/fs_kit.h"
#include "support/test_env.h"

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static void local_fs_passes_the_kit_and_leaves_no_descriptor(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    int before = open_descriptors();
    fs_kit_run(&pml_local_file_system, t->dir);
    assert_int_equal(open_descriptors(), before);
    test_env_close(t);
}

static void faulty_fs_without_faults_passes_the_kit(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    faulty_fs f;
    int before = open_descriptors();
    faulty_fs_init(&f, &pml_local_file_system);
    fs_kit_run(&f.fs, t->dir);
    assert_true(faulty_fs_count(&f, FS_OP_ALL) > 50);
    assert_int_equal(open_descriptors(), before);
    faulty_fs_destroy(&f);
    test_env_close(t);
}

static void local_fs_opens_close_on_exec(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    void *w, *r;
    must_ok(pml_local_file_system.create(NULL, &w, test_path(t, "f"), &err), &err);
    must_ok(pml_local_file_system.open_read(NULL, &r, test_path(t, "f"), &err), &err);
    assert_true((fcntl((int)((intptr_t)w - 1), F_GETFD) & FD_CLOEXEC) != 0);
    assert_true((fcntl((int)((intptr_t)r - 1), F_GETFD) & FD_CLOEXEC) != 0);
    pml_local_file_system.close_read(NULL, r);
    must_ok(pml_local_file_system.close_write(NULL, w, &err), &err);
    test_env_close(t);
}

static void local_fs_pipe_under_the_name_of_a_file_does_not_hang(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    void *file;
    assert_int_equal(mkfifo(test_path(t, "pipe"), 0600), 0);
    must_fail_with(PML_E_IO, pml_local_file_system.open_read(NULL, &file, test_path(t, "pipe"), &err), &err);
    assert_null(file);
    test_env_close(t);
}

static void local_fs_failed_write_names_the_file(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    must_fail_with(PML_E_NO_SPACE, pml_local_file_system.write(NULL, (void *)((intptr_t)fd + 1), "x", 1, &err), &err);
    assert_string_equal(err.file, "/dev/full");
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_int_equal(err.flags & PML_ERRF_NO_EFFECT, 0);
    must_ok(pml_local_file_system.close_write(NULL, (void *)((intptr_t)fd + 1), &err), &err);
}

static void local_fs_publish_by_rename_never_replaces(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    size_t n;
    write_text(test_path(t, "a"), "A");
    write_text(test_path(t, "b"), "B");
    int rc = pml_local_fs__publish_by_rename(test_path(t, "a"), test_path(t, "final"), &err);
    if (rc == PML_E_UNSUPPORTED) {
        test_env_close(t);
        skip();
    }
    must_ok(rc, &err);
    must_fail_with(PML_E_EXISTS, pml_local_fs__publish_by_rename(test_path(t, "b"), test_path(t, "final"), &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    uint8_t *text = test_read_file(test_path(t, "final"), &n);
    assert_string_equal((char *)text, "A");
    free(text);
    test_env_close(t);
}

static void local_fs_repeated_publish_of_the_same_file_is_a_success(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    write_text(test_path(t, "a"), "A");
    must_ok(pml_local_file_system.publish(NULL, test_path(t, "a"), test_path(t, "final"), &err), &err);
    must_ok(pml_local_file_system.publish(NULL, test_path(t, "a"), test_path(t, "final"), &err), &err);
    test_env_close(t);
}

static int symlink_kind(void *arg, const char *name, uint32_t kind)
{
    if (strcmp(name, "link") == 0)
        *(uint32_t *)arg = kind;
    return PML_OK;
}

static void local_fs_list_looks_through_symbolic_links(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    uint32_t kind = 0;
    write_text(test_path(t, "target"), "x");
    assert_int_equal(symlink("target", test_path(t, "link")), 0);
    must_ok(pml_local_file_system.list(NULL, t->dir, symlink_kind, &kind, &err), &err);
    assert_int_equal(kind, PML_FILE_REGULAR);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_fs_passes_the_kit_and_leaves_no_descriptor),
        cmocka_unit_test(faulty_fs_without_faults_passes_the_kit),
        cmocka_unit_test(local_fs_opens_close_on_exec),
        cmocka_unit_test(local_fs_pipe_under_the_name_of_a_file_does_not_hang),
        cmocka_unit_test(local_fs_failed_write_names_the_file),
        cmocka_unit_test(local_fs_publish_by_rename_never_replaces),
        cmocka_unit_test(local_fs_repeated_publish_of_the_same_file_is_a_success),
        cmocka_unit_test(local_fs_list_looks_through_symbolic_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
