/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a consumer. What streams make of it is in stream_scan_test.c. */
#include "table/consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"

static void names_are_names_of_files(void **state)
{
    (void)state;
    enum { MAX = 246 }; /* with "consumer-" in front of it the longest name that a file can have */
    char name[MAX + 2] = {0};
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_consumer__check_name("a", &err), &err);
    memset(name, 'n', MAX);
    must_ok(pml_consumer__check_name(name, &err), &err);
    name[MAX] = 'n';
    must_fail_with(PML_E_INVAL, pml_consumer__check_name(name, &err), &err);
    must_fail_with(PML_E_INVAL, pml_consumer__check_name("", &err), &err);
    must_fail_with(PML_E_INVAL, pml_consumer__check_name("a/b", &err), &err);
}

/* ---- a table with a branch ---- */

typedef struct world {
    test_env *t;
    table_kit k;
    pml_table *branch;
    char file[512];
    int sleeps, good_at; /* good_at: with which sleep the file becomes whole; 0: never */
    int64_t slept;
} world;

static void world_open(world *w, test_env *t)
{
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    char *json = kit_schema_json("", "\"bucket\":\"-1\""), to[512];
    size_t len;
    *w = (world){.t = t};
    table_kit_create(&w->k, t, test_path(t, "t"), json);
    free(json);
    (void)snprintf(to, sizeof to, "%s/schema/schema-0", w->k.table->path);
    char *schema = (char *)test_read_file(to, &len);
    static const char *const made[] = {"branch", "branch/branch-b", "branch/branch-b/schema"};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(to, sizeof to, "%s/%s", w->k.table->path, made[i]);
        assert_int_equal(mkdir(to, 0755), 0);
    }
    char *text = malloc(len + 1);
    assert_non_null(text);
    memcpy(text, schema, len);
    text[len] = '\0';
    (void)snprintf(to, sizeof to, "%s/branch/branch-b/schema/schema-0", w->k.table->path);
    kit_write_text(to, text);
    free(text);
    free(schema);
    o.branch = "b";
    must_ok(pml_table_open(&w->branch, t->env, w->k.table->path, &o, &err), &err);
    (void)snprintf(w->file, sizeof w->file, "%s/consumer/consumer-c", w->k.table->path);
}

static void world_close(world *w)
{
    pml_table_release(w->branch);
    table_kit_close(&w->k);
}

static void a_number_comes_back_from_its_branch(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0, 1, INT64_MAX, -1, INT64_MIN};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    world w;
    struct stat st;
    world_open(&w, t);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t next = 77;
        must_ok(pml_consumer__store(w.k.table, "c", numbers[i], &err), &err);
        must_ok(pml_consumer__load(&next, w.k.table, "c", &err), &err);
        assert_int_equal(next, numbers[i]);
        next = 77;
        must_ok(pml_consumer__load(&next, w.branch, "c", &err), &err); /* which has none of that name */
        assert_int_equal(next, -1);
        assert_int_equal(err.code, PML_OK);
    }
    must_ok(pml_consumer__store(w.branch, "c", 5, &err), &err);
    (void)snprintf(w.file, sizeof w.file, "%s/branch/branch-b/consumer/consumer-c", w.k.table->path);
    assert_int_equal(stat(w.file, &st), 0);
    world_close(&w);
    test_env_close(t);
}

static world *sleeper; /* the clock's own context is the environment's */

static void sleep_and_write(void *ctx, int64_t ms)
{
    world *w = sleeper;
    (void)ctx;
    w->slept += ms;
    if (++w->sleeps == w->good_at)
        kit_write_text(w->file, "{\"nextSnapshot\":9}");
}

/* Java writes over the file in place: half of it may be there for a while. */
static void half_a_file_is_read_again_for_two_seconds(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    int64_t next;
    world w;
    world_open(&w, t);
    must_ok(pml_consumer__store(w.k.table, "c", 1, &err), &err);
    sleeper = &w;
    t->env->clock.sleep_ms = sleep_and_write;
    for (w.good_at = 9; w.good_at <= 10; w.good_at++) {
        w.sleeps = 0;
        w.slept = 0;
        kit_write_text(w.file, "{\"nextSnap");
        int rc = pml_consumer__load(&next, w.k.table, "c", &err);
        assert_int_equal(w.sleeps, 9);
        assert_int_equal(w.slept, 1800);
        if (w.good_at == 10) {
            must_fail_with(PML_E_CORRUPT, rc, &err);
            continue;
        }
        must_ok(rc, &err);
        assert_int_equal(next, 9);
        assert_int_equal(err.code, PML_OK);
    }
    w.sleeps = 0;
    must_ok(pml_consumer__store(w.k.table, "c", 1, &err), &err);
    must_ok(pml_consumer__load(&next, w.k.table, "c", &err), &err);
    must_ok(pml_consumer__load(&next, w.k.table, "nobody", &err), &err);
    assert_int_equal(w.sleeps, 0);
    world_close(&w);
    test_env_close(t);
}

static void failure_anywhere_is_clean(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    int64_t next;
    world w;
    world_open(&w, t);
    for (int way = 0; way < 2; way++) { /* memory, files */
        for (long long n = 1;; n++) {
            if (way == 0)
                test_env_fail_at(t, n);
            else
                faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, 0);
            int rc = pml_consumer__store(w.k.table, "c", n, &err);
            if (rc == PML_OK)
                rc = pml_consumer__load(&next, w.k.table, "c", &err);
            bool reached = way == 0 ? test_env_fail_reached(t) : faulty_fs_failures(&f) > 0;
            test_env_fail_at(t, 0);
            faulty_fs_reset(&f);
            if (rc == PML_OK)
                assert_int_equal(next, n);
            else
                must_fail_with(way == 0 ? PML_E_NOMEM : PML_E_IO, rc, &err);
            err = (pml_error)PML_ERROR_INIT;
            if (!reached)
                break;
            assert_true(n < 1000);
        }
    }
    world_close(&w);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_names_of_files),
        cmocka_unit_test(a_number_comes_back_from_its_branch),
        cmocka_unit_test(half_a_file_is_read_again_for_two_seconds),
        cmocka_unit_test(failure_anywhere_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
