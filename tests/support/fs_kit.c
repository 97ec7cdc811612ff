/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fs_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test_env.h"

static const pml_file_system *fs;
static const char *base;

#define CALL(op, ...) fs->op(fs->ctx, __VA_ARGS__)

static const char *at(const char *name)
{
    static char text[4][1200];
    static int next;
    char *p = text[next++ % 4];
    (void)snprintf(p, sizeof text[0], "%s/%s", base, name);
    return p;
}

static void put(const char *name, const char *content)
{
    pml_error err = PML_ERROR_INIT;
    void *file;
    must_ok(CALL(create, &file, at(name), &err), &err);
    must_ok(CALL(write, file, content, strlen(content), &err), &err);
    must_ok(CALL(close_write, file, &err), &err);
}

static void must_hold(const char *name, const char *content)
{
    pml_error err = PML_ERROR_INIT;
    char buf[256];
    int64_t size;
    size_t got;
    void *file;
    must_ok(CALL(open_read, &file, at(name), &err), &err);
    must_ok(CALL(size, &size, file, &err), &err);
    must_ok(CALL(read_at, &got, file, 0, buf, sizeof buf, &err), &err);
    CALL(close_read, file);
    assert_int_equal(size, strlen(content));
    assert_int_equal(got, strlen(content));
    assert_memory_equal(buf, content, got);
}

static void must_be_absent(const char *name)
{
    pml_error err = PML_ERROR_INIT;
    pml_file_info info;
    memset(&info, 0xAA, sizeof info);
    must_fail_with(PML_E_NOT_FOUND, CALL(stat, &info, at(name), &err), &err);
    assert_int_equal(info.kind, 0);
    assert_int_equal(info.size_bytes, 0);
    assert_int_equal(err.code, PML_E_NOT_FOUND);
}

static void kit_create_is_exclusive_and_needs_its_directory(void)
{
    pml_error err = PML_ERROR_INIT;
    void *file = &err;
    put("a", "one");
    must_fail_with(PML_E_EXISTS, CALL(create, &file, at("a"), &err), &err);
    assert_null(file);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    must_hold("a", "one");
    must_fail_with(PML_E_NOT_FOUND, CALL(create, &file, at("missing/a"), &err), &err);
    must_fail_with(PML_E_NOT_FOUND, CALL(create, &file, at("a/below-a-file"), &err), &err);
    must_fail_with(PML_E_NOT_FOUND, CALL(create, &file, at("missing/a"), NULL), NULL);
}

static void kit_writes_append_and_are_read_at_any_place(void)
{
    pml_error err = PML_ERROR_INIT;
    void *file, *in = &err;
    char buf[8];
    size_t got = 99;
    int64_t size = 99;
    must_ok(CALL(create, &file, at("w"), &err), &err);
    must_ok(CALL(write, file, "hello ", 6, &err), &err);
    must_ok(CALL(write, file, "", 0, &err), &err);
    must_ok(CALL(sync, file, &err), &err);
    must_ok(CALL(write, file, "world", 5, &err), &err);
    must_ok(CALL(sync, file, &err), &err);
    must_ok(CALL(close_write, file, &err), &err);
    must_hold("w", "hello world");
    must_ok(CALL(open_read, &in, at("w"), &err), &err);
    must_ok(CALL(size, &size, in, &err), &err);
    assert_int_equal(size, 11);
    must_ok(CALL(read_at, &got, in, 6, buf, 4, &err), &err);
    assert_int_equal(got, 4);
    assert_memory_equal(buf, "worl", 4);
    must_ok(CALL(read_at, &got, in, 9, buf, 8, &err), &err);
    assert_int_equal(got, 2);
    must_ok(CALL(read_at, &got, in, 11, buf, 8, &err), &err);
    assert_int_equal(got, 0);
    must_ok(CALL(read_at, &got, in, 5000, buf, 8, &err), &err);
    assert_int_equal(got, 0);
    must_fail_with(PML_E_IO, CALL(read_at, &got, in, -1, buf, 8, &err), &err);
    CALL(close_read, in);
    must_fail_with(PML_E_NOT_FOUND, CALL(open_read, &in, at("absent"), &err), &err);
    assert_null(in);
    must_fail_with(PML_E_IO, CALL(open_read, &in, base, &err), &err);
    assert_null(in);
}

static void kit_publish_gives_a_free_name_only(void)
{
    pml_error err = PML_ERROR_INIT;
    put("t1", "first");
    put("t2", "second");
    must_ok(CALL(publish, at("t1"), at("p"), &err), &err);
    must_hold("p", "first");
    must_fail_with(PML_E_EXISTS, CALL(publish, at("t2"), at("p"), &err), &err);
    must_hold("p", "first");
    must_hold("t2", "second");
    (void)CALL(remove_file, at("t1"), NULL);
    must_hold("p", "first");
    must_fail_with(PML_E_NOT_FOUND, CALL(publish, at("t1"), at("q"), &err), &err);
    must_be_absent("q");
    must_fail_with(PML_E_NOT_FOUND, CALL(publish, at("t2"), at("missing/q"), &err), &err);
}

static void kit_replace_replaces(void)
{
    pml_error err = PML_ERROR_INIT;
    put("r1", "new");
    put("r", "old");
    must_ok(CALL(replace, at("r1"), at("r"), &err), &err);
    must_hold("r", "new");
    must_be_absent("r1");
    must_ok(CALL(replace, at("r"), at("r2"), &err), &err);
    must_hold("r2", "new");
    must_fail_with(PML_E_NOT_FOUND, CALL(replace, at("r"), at("r2"), &err), &err);
}

static void kit_remove_takes_files_and_empty_directories(void)
{
    pml_error err = PML_ERROR_INIT;
    put("x", "");
    must_hold("x", "");
    must_ok(CALL(remove_file, at("x"), &err), &err);
    must_be_absent("x");
    must_fail_with(PML_E_NOT_FOUND, CALL(remove_file, at("x"), &err), &err);
    must_ok(CALL(make_directory, at("d"), &err), &err);
    must_fail_with(PML_E_EXISTS, CALL(make_directory, at("d"), &err), &err);
    must_fail_with(PML_E_NOT_FOUND, CALL(make_directory, at("no/d"), &err), &err);
    put("d/f", "x");
    must_fail_with(PML_E_EXISTS, CALL(make_directory, at("d/f"), &err), &err);
    must_fail_with(PML_E_EXISTS, CALL(remove_directory, at("d"), &err), &err);
    must_fail_with(PML_E_IO, CALL(remove_file, at("d"), &err), &err);
    must_ok(CALL(sync_directory, at("d"), &err), &err);
    must_ok(CALL(remove_file, at("d/f"), &err), &err);
    must_ok(CALL(remove_directory, at("d"), &err), &err);
    must_be_absent("d");
    must_fail_with(PML_E_NOT_FOUND, CALL(remove_directory, at("d"), &err), &err);
    must_fail_with(PML_E_NOT_FOUND, CALL(sync_directory, at("d"), &err), &err);
}

typedef struct seen {
    int n, files, directories, stop_after;
} seen;

static int count_entry(void *arg, const char *name, uint32_t kind)
{
    seen *s = arg;
    assert_true(strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strchr(name, '/') == NULL);
    s->files += kind == PML_FILE_REGULAR;
    s->directories += kind == PML_FILE_DIRECTORY;
    return ++s->n == s->stop_after ? 7 : PML_OK;
}

static void kit_list_and_stat_tell_what_is_there(void)
{
    pml_error err = PML_ERROR_INIT;
    pml_file_info info;
    seen all = {0}, some = {.stop_after = 2};
    must_ok(CALL(make_directory, at("l"), &err), &err);
    must_ok(CALL(list, at("l"), count_entry, &all, &err), &err);
    assert_int_equal(all.n, 0);
    put("l/1", "abc");
    put("l/.2", "");
    must_ok(CALL(make_directory, at("l/3"), &err), &err);
    put("l/3/deeper", "");
    must_ok(CALL(list, at("l"), count_entry, &all, &err), &err);
    assert_int_equal(all.files, 2);
    assert_int_equal(all.directories, 1);
    assert_int_equal(CALL(list, at("l"), count_entry, &some, &err), 7);
    assert_int_equal(some.n, 2);
    must_fail_with(PML_E_NOT_FOUND, CALL(list, at("no"), count_entry, &all, &err), &err);
    must_ok(CALL(stat, &info, at("l/1"), &err), &err);
    assert_int_equal(info.kind, PML_FILE_REGULAR);
    assert_int_equal(info.size_bytes, 3);
    assert_true(info.mtime_ms > 1500000000000);
    must_ok(CALL(stat, &info, at("l/3"), &err), &err);
    assert_int_equal(info.kind, PML_FILE_DIRECTORY);
}

static void kit_names_too_long_are_an_error(void)
{
    pml_error err = PML_ERROR_INIT;
    char name[400];
    void *file = &err;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    must_fail_with(PML_E_IO, CALL(create, &file, at(name), &err), &err);
    assert_null(file);
}

void fs_kit_run(const pml_file_system *system, const char *dir)
{
    fs = system;
    base = dir;
    kit_create_is_exclusive_and_needs_its_directory();
    kit_writes_append_and_are_read_at_any_place();
    kit_publish_gives_a_free_name_only();
    kit_replace_replaces();
    kit_remove_takes_files_and_empty_directories();
    kit_list_and_stat_tell_what_is_there();
    kit_names_too_long_are_an_error();
}
