/* SPDX-License-Identifier: Apache-2.0 */
/* What a commit syncs, by commit.durability. What the syncs are worth is for the power cuts of crash_test.c. */
#include <stdio.h>

#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/rt_kit.h"
#include "support/table_kit.h"

typedef struct world {
    faulty_fs f;
    test_env *t;
    table_kit k;
} world;

typedef struct syncs {
    long long files, directories, all;
} syncs;

static void world_open(world *w, const char *durability, bool with_sync_all)
{
    char json[400];
    pml_file_system fs = pml_local_file_system;
    if (!with_sync_all)
        fs.sync_all = NULL;
    faulty_fs_init(&w->f, &fs);
    w->t = test_env_open(&w->f.fs);
    (void)snprintf(json, sizeof json,
                   "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}],\"partitionKeys\":[],\"primaryKeys\":[],"
                   "\"options\":{\"commit.durability\":\"%s\"}}",
                   durability);
    w->k = (table_kit){0};
    table_kit_create(&w->k, w->t, test_path(w->t, "t"), json);
}

static void world_close(world *w)
{
    table_kit_close(&w->k);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
}

static syncs counted(world *w)
{
    return (syncs){faulty_fs_count(&w->f, FS_OP(FS_OP_SYNC)), faulty_fs_count(&w->f, FS_OP(FS_OP_SYNC_DIRECTORY)),
                   faulty_fs_count(&w->f, FS_OP(FS_OP_SYNC_ALL))};
}

/* Of one row and its commit, in a table that has its folders. */
static syncs syncs_of_a_commit(const char *durability)
{
    world w;
    world_open(&w, durability, true);
    (void)table_kit_append(&w.k, 1);
    faulty_fs_reset(&w.f);
    (void)table_kit_append(&w.k, 1);
    syncs s = counted(&w);
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
    return s;
}

static void commit_of_one_row_syncs_each_file_and_three_directories(void **state)
{
    (void)state;
    syncs s = syncs_of_a_commit("files");
    assert_int_equal(s.files, 5); /* data, manifest, two lists, snapshot */
    assert_int_equal(s.directories, 3);
    assert_int_equal(s.all, 0);
}

static void commit_syncs_the_file_system_once_and_then_the_name(void **state)
{
    (void)state;
    syncs s = syncs_of_a_commit("file-system");
    assert_int_equal(s.files, 0);
    assert_int_equal(s.directories, 1);
    assert_int_equal(s.all, 1);
}

static void commit_without_durability_syncs_nothing(void **state)
{
    (void)state;
    syncs s = syncs_of_a_commit("none");
    assert_int_equal(s.files + s.directories + s.all, 0);
}

static int commit(world *w, pml_messages *m, pml_error *err)
{
    pml_commit *c = NULL;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    must_ok(pml_commit_open(&c, w->k.table, NULL, err), err);
    int rc = pml_commit_run(&r, c, &m, 1, PML_COMMIT_IDENTIFIER_BATCH, NULL, err);
    pml_commit_close(c);
    return rc;
}

static void commit_where_the_file_system_has_no_such_sync_is_refused_by_name(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "file-system", false);
    pml_messages *m = table_kit_prepare(&w.k, 1);
    must_fail_with(PML_E_UNSUPPORTED, commit(&w, m, &err), &err);
    assert_non_null(strstr(err.message, "commit.durability"));
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    pml_messages_free(m);
    world_close(&w);
}

static void commit_whose_file_system_sync_failed_had_no_effect(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "file-system", true);
    pml_messages *m = table_kit_prepare(&w.k, 1);
    faulty_fs_fail_kinds(&w.f, FS_OP(FS_OP_SYNC_ALL));
    faulty_fs_fail_at(&w.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    must_fail_with(PML_E_IO, commit(&w, m, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    faulty_fs_reset(&w.f);
    must_ok(commit(&w, m, &err), &err);
    table_kit_must_read(&w.k, &(kit_read){0});
    pml_messages_free(m);
    world_close(&w);
}

static void live_commit_follows_the_option_with_its_progress_file(void **state)
{
    (void)state;
    const struct {
        const char *option;
        long long files, directories, all;
    } wanted[] = {{"files", 6, 4, 0}, {"file-system", 0, 1, 1}, {"none", 0, 0, 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char options[120];
        faulty_fs f;
        rt_kit k;
        faulty_fs_init(&f, &pml_local_file_system);
        (void)snprintf(options, sizeof options, "\"bucket\":\"1\",\"bucket-key\":\"id\",\"commit.durability\":\"%s\"",
                       wanted[i].option);
        rt_kit_create(&k, &f.fs, "", options);
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 1, NULL);
        (void)rt_kit_cycle(&k, 1);
        faulty_fs_reset(&f);
        rt_kit_write(&k, 1, NULL);
        (void)rt_kit_cycle(&k, 2);
        assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC)), wanted[i].files);
        assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), wanted[i].directories);
        assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_ALL)), wanted[i].all);
        rt_kit_must_show(&k, 0, 2);
        rt_kit_close(&k);
        faulty_fs_destroy(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_of_one_row_syncs_each_file_and_three_directories),
        cmocka_unit_test(commit_syncs_the_file_system_once_and_then_the_name),
        cmocka_unit_test(commit_without_durability_syncs_nothing),
        cmocka_unit_test(commit_where_the_file_system_has_no_such_sync_is_refused_by_name),
        cmocka_unit_test(commit_whose_file_system_sync_failed_had_no_effect),
        cmocka_unit_test(live_commit_follows_the_option_with_its_progress_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
