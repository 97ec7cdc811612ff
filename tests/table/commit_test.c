/* SPDX-License-Identifier: Apache-2.0 */
/* Commits: races, unknown outcomes, replacement by writers that rename over, idempotence, merging, what a snapshot carries. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"
#include "table/commit.h"

typedef struct world {
    faulty_fs f;
    test_env *t, *other; /* two processes at one table */
    table_kit k, foreign;
    char path[300];
    int acts_left, moment;
} world;

static void world_open_with(world *w, const char *partition_keys, const char *options)
{
    char *json = kit_schema_json(partition_keys, options);
    memset(w, 0, sizeof *w);
    faulty_fs_init(&w->f, &pml_local_file_system);
    w->t = test_env_open(&w->f.fs);
    w->other = test_env_open(NULL);
    w->other->random_state ^= 0x5555;
    (void)snprintf(w->path, sizeof w->path, "%s", test_path(w->t, "t"));
    table_kit_create(&w->k, w->t, w->path, json);
    table_kit_init(&w->foreign, w->other, kit_open(w->other, w->path));
    free(json);
}

static void world_open(world *w)
{
    world_open_with(w, "", "");
}

static void world_close(world *w)
{
    table_kit_close(&w->k);
    table_kit_close(&w->foreign);
    test_env_close(w->other);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
}

static int run(pml_commit_result *r, world *w, const char *user, pml_messages *m, int64_t identifier, uint32_t flags,
               pml_error *err)
{
    pml_commit *c;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    *r = (pml_commit_result)PML_COMMIT_RESULT_INIT;
    o.flags = flags;
    must_ok(pml_commit_open(&c, w->k.table, user, err), err);
    int rc = pml_commit_run(r, c, &m, m == NULL ? 0 : 1, identifier, &o, err);
    pml_commit_close(c);
    return rc;
}

/* Rows of the table by a plain count: both kits number their rows from 0, so they cannot be compared by id together. */
static int64_t rows_now(world *w)
{
    pml_plan *plan;
    int64_t n;
    kit_plan(&plan, &w->foreign, &(kit_read){0});
    must_ok(pml_plan_count(&n, plan, NULL), NULL);
    pml_plan_free(plan);
    return n;
}

static void load(pml_snapshot *s, pml_arena *arena, world *w, int64_t id)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_table__load_snapshot(s, arena, w->k.table, id, &err), &err);
}

static size_t orphan_manifests(world *w)
{
    return kit_orphan_manifests(w->k.table);
}

/* ---- races ---- */

static void foreign_commits(void *arg, int kind, const char *path)
{
    world *w = arg;
    (void)kind;
    if (strstr(path, "snapshot-") == NULL)
        fail_msg("published %s", path);
    (void)table_kit_append(&w->foreign, 5);
    if (--w->acts_left > 0)
        faulty_fs_call_at(&w->f, 1, FS_OP(FS_OP_PUBLISH), foreign_commits, w);
}

static void commit_that_loses_races_tries_again_and_deletes_only_its_own_files(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m = table_kit_prepare(&w.k, 7);
    w.acts_left = 4;
    faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), foreign_commits, &w);
    must_ok(run(&r, &w, "me", m, 1, 0, &err), &err);
    assert_int_equal(r.snapshot_id, 5);
    assert_int_equal(r.attempts, 5);
    assert_int_equal(r.already_committed, 0);
    assert_int_equal(rows_now(&w), 27);
    assert_int_equal(orphan_manifests(&w), 0);
    pml_messages_free(m);
    world_close(&w);
}

static void commit_gives_up_after_the_retries_it_may_make(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open_with(&w, "", "\"commit.max-retries\":\"2\"");
    pml_messages *m = table_kit_prepare(&w.k, 7);
    w.acts_left = 3;
    faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), foreign_commits, &w);
    must_fail_with(PML_E_CONFLICT, run(&r, &w, "me", m, 1, 0, &err), &err);
    assert_non_null(strstr(err.message, "commit.max-retries"));
    assert_int_equal(rows_now(&w), 15);
    assert_int_equal(orphan_manifests(&w), 0);
    must_ok(run(&r, &w, "me", m, 1, PML_COMMIT_CHECK, &err), &err); /* messages may be committed again */
    assert_int_equal(r.snapshot_id, 4);
    assert_int_equal(rows_now(&w), 22);
    pml_messages_free(m);
    world_close(&w);
}

static void commit_gives_up_after_its_timeout(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open_with(&w, "", "\"commit.timeout\":\"15 ms\"");
    pml_messages *m = table_kit_prepare(&w.k, 7);
    w.acts_left = 9;
    faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), foreign_commits, &w);
    must_fail_with(PML_E_TIMEOUT, run(&r, &w, "me", m, 1, 0, &err), &err);
    faulty_fs_reset(&w.f);
    pml_messages_free(m);
    world_close(&w);
}

/* Java tests for the name and renames over it: our snapshot is gone a moment after it was published. */
static void foreign_replaces(void *arg, int kind, const char *path)
{
    world *w = arg;
    char name[400];
    (void)kind, (void)path;
    (void)snprintf(name, sizeof name, "%s/snapshot/snapshot-2", w->path);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(table_kit_append(&w->foreign, 5), 2);
}

/* Called before the publish: the next operation of the kind comes after it. */
static void arm_replace(void *arg, int kind, const char *path)
{
    world *w = arg;
    (void)kind, (void)path;
    faulty_fs_call_at(&w->f, 1, FS_OP(w->moment), foreign_replaces, w);
}

static void commit_whose_snapshot_is_replaced_ends_up_in_the_next_one(void **state)
{
    (void)state;
    static const int moments[] = {FS_OP_SYNC_DIRECTORY, FS_OP_REMOVE_FILE, FS_OP_OPEN_READ};
    for (size_t i = 0; i < 3; i++) {
        world w;
        pml_commit_result r;
        pml_error err = PML_ERROR_INIT;
        world_open(&w);
        (void)table_kit_append(&w.k, 3);
        pml_messages *m = table_kit_prepare(&w.k, 7);
        w.moment = moments[i];
        faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), arm_replace, &w);
        must_ok(run(&r, &w, "me", m, 1, 0, &err), &err);
        assert_int_equal(r.snapshot_id, 3);
        assert_int_equal(rows_now(&w), 15);
        pml_messages_free(m);
        world_close(&w);
    }
}

/* ---- outcomes ---- */

static void commit_with_an_unknown_outcome_looks_and_tells_the_truth(void **state)
{
    (void)state;
    static const struct {
        int kind;
        fault_mode mode;
        uint32_t flags;
    } faults[] = {{FS_OP_PUBLISH, FAULT_AFTER, 0},
                  {FS_OP_PUBLISH, FAULT_BEFORE, 0},
                  {FS_OP_PUBLISH, FAULT_BEFORE, PML_ERRF_NO_EFFECT},
                  {FS_OP_SYNC_DIRECTORY, FAULT_AFTER, 0},
                  {FS_OP_SYNC_DIRECTORY, FAULT_BEFORE, PML_ERRF_NO_EFFECT}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        for (int sticky = 0; sticky < 2; sticky++) {
            world w;
            pml_commit_result r;
            pml_error err = PML_ERROR_INIT;
            world_open(&w);
            (void)table_kit_append(&w.k, 3);
            pml_messages *m = table_kit_prepare(&w.k, 7);
            faulty_fs_reset(&w.f);
            faulty_fs_fail_kinds(&w.f, FS_OP(faults[i].kind));
            /* Of the directory syncs only the one of snapshot/ is meant: manifest/ comes first. */
            faulty_fs_fail_at(&w.f, faults[i].kind == FS_OP_PUBLISH ? 1 : 2, faults[i].mode, PML_E_IO, faults[i].flags);
            if (sticky)
                faulty_fs_fail_sticky(&w.f);
            int rc = run(&r, &w, "me", m, 1, 0, &err);
            assert_true(faulty_fs_failures(&w.f) > 0);
            faulty_fs_reset(&w.f);
            if (rc == PML_OK)
                assert_int_equal(rows_now(&w), 10);
            else if (rc != PML_E_UNKNOWN_OUTCOME)
                assert_int_equal(rows_now(&w), 3);
            else
                assert_non_null(strstr(err.message, "delete nothing"));
            must_ok(run(&r, &w, "me", m, 1, PML_COMMIT_CHECK, &err), &err);
            assert_int_equal(r.snapshot_id, 2);
            assert_int_equal(rows_now(&w), 10);
            (void)table_kit_append(&w.k, 2);
            table_kit_must_read(&w.k, &(kit_read){0});
            pml_messages_free(m);
            world_close(&w);
        }
}

static void publish_that_happened_late(void *arg, int kind, const char *path)
{
    (void)kind, (void)path;
    foreign_commits(arg, FS_OP_PUBLISH, "snapshot-");
}

static void commit_with_an_unknown_outcome_and_a_foreign_snapshot_goes_on(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m = table_kit_prepare(&w.k, 7);
    w.acts_left = 1;
    faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), publish_that_happened_late, &w);
    faulty_fs_fail_kinds(&w.f, FS_OP(FS_OP_PUBLISH));
    faulty_fs_fail_at(&w.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    must_ok(run(&r, &w, "me", m, 1, 0, &err), &err);
    assert_int_equal(r.snapshot_id, 2);
    assert_int_equal(rows_now(&w), 12);
    pml_messages_free(m);
    world_close(&w);
}

/* The snapshot is published, read by somebody who commits on top of it, and expired before it could be read back. */
static void next_and_expire(void *arg, int kind, const char *path)
{
    world *w = arg;
    char name[400];
    (void)kind, (void)path;
    (void)snprintf(name, sizeof name, "%s/snapshot/snapshot-2", w->path);
    assert_int_equal(table_kit_append(&w->foreign, 5), 3);
    assert_int_equal(unlink(name), 0);
}

static void arm_expire(void *arg, int kind, const char *path)
{
    world *w = arg;
    (void)kind, (void)path;
    faulty_fs_call_at(&w->f, 1, FS_OP(FS_OP_OPEN_READ), next_and_expire, w);
}

static void commit_whose_snapshot_expires_at_once_deletes_nothing(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    (void)table_kit_append(&w.k, 3);
    pml_messages *m = table_kit_prepare(&w.k, 7);
    faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), arm_expire, &w);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, run(&r, &w, "me", m, 1, 0, &err), &err);
    assert_int_equal(rows_now(&w), 15);
    (void)run(&r, &w, "me", m, 1, PML_COMMIT_CHECK, &err);
    assert_int_equal(rows_now(&w), 15); /* the files are known: nothing is added twice */
    pml_messages_free(m);
    world_close(&w);
}

/* ---- idempotence ---- */

static void commit_with_check_makes_nothing_twice(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m[3];
    for (int i = 0; i < 3; i++)
        m[i] = table_kit_prepare(&w.k, 10);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2; i++) {
            must_ok(run(&r, &w, "job", m[i], i + 1, PML_COMMIT_CHECK, &err), &err);
            assert_int_equal(r.already_committed, round);
            assert_int_equal(r.snapshot_id, round == 0 ? i + 1 : 2);
        }
    (void)table_kit_append(&w.foreign, 5);
    must_ok(run(&r, &w, "job", m[1], 2, PML_COMMIT_CHECK, &err), &err);
    assert_int_equal(r.already_committed, 1);
    must_ok(run(&r, &w, "another job", m[2], 1, PML_COMMIT_CHECK, &err), &err);
    assert_int_equal(r.already_committed, 0);
    assert_int_equal(rows_now(&w), 35);
    /* Under a new name the check by user finds nothing; the files are known all the same. */
    must_fail_with(PML_E_CONFLICT, run(&r, &w, "third job", m[2], 1, PML_COMMIT_CHECK, &err), &err);
    assert_int_equal(rows_now(&w), 35);
    for (int i = 0; i < 3; i++)
        pml_messages_free(m[i]);
    world_close(&w);
}

/* Also under another name and without a look at the table, also when the rows are gone again. */
static void messages_committed_before_are_neither_committed_again_nor_aborted(void **state)
{
    (void)state;
    world w;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m[2];
    for (int i = 0; i < 2; i++)
        m[i] = table_kit_prepare(&w.k, 10);
    must_ok(pml_commit_open(&c, w.k.table, "job", &err), &err);
    must_ok(pml_commit_run(&r, c, &m[0], 1, 1, NULL, &err), &err);
    must_ok(pml_commit_overwrite(&r, c, NULL, &m[1], 1, 2, NULL, &err), &err);
    for (int round = 0; round < 2; round++) {
        size_t files = kit_files_in(w.path, "bucket-0");
        for (int i = 0; i < 2; i++) {
            must_fail_with(PML_E_CONFLICT, pml_commit_run(&r, c, &m[i], 1, 3, NULL, &err), &err);
            assert_non_null(strstr(err.message, "committed before"));
            must_fail_with(PML_E_CONFLICT, pml_commit_overwrite(&r, c, NULL, &m[i], 1, 3, NULL, &err), &err);
            must_fail_with(PML_E_CONFLICT, pml_commit_abort(c, &m[i], 1, &err), &err);
        }
        assert_int_equal(kit_files_in(w.path, "bucket-0"), files);
        assert_int_equal(rows_now(&w), round == 0 ? 10 : 0);
        if (round == 0)
            must_ok(pml_table_truncate(&r, w.k.table, &err), &err);
    }
    pml_commit_close(c);
    for (int i = 0; i < 2; i++)
        pml_messages_free(m[i]);
    world_close(&w);
}

/* The identifier was committed with other files: these are the caller's to give up. */
static void messages_that_a_check_found_needless_can_be_aborted(void **state)
{
    (void)state;
    world w;
    pml_commit *c;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m[2];
    for (int i = 0; i < 2; i++) {
        m[i] = table_kit_prepare(&w.k, 10);
        must_ok(run(&r, &w, "job", m[i], 1, PML_COMMIT_CHECK, &err), &err);
        assert_int_equal(r.already_committed, i);
    }
    must_ok(pml_commit_open(&c, w.k.table, "job", &err), &err);
    must_ok(pml_commit_abort(c, &m[1], 1, &err), &err);
    assert_int_equal(kit_files_in(w.path, "bucket-0"), 1);
    assert_int_equal(rows_now(&w), 10);
    pml_commit_close(c);
    for (int i = 0; i < 2; i++)
        pml_messages_free(m[i]);
    world_close(&w);
}

static void commit_of_deleted_files_is_refused_with_check(void **state)
{
    (void)state;
    world w;
    pml_commit *c;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m = table_kit_prepare(&w.k, 10);
    must_ok(pml_commit_open(&c, w.k.table, "job", &err), &err);
    assert_string_equal(pml_commit_user(c), "job");
    assert_int_equal(kit_files_in(w.path, "bucket-0"), 1);
    pml_messages copy = *m;
    pml_new_files files = *m->v[0];
    pml_new_files *v[] = {&files};
    copy.v = v;
    must_ok(pml_commit_abort(c, (pml_messages *[]){&copy}, 1, &err), &err);
    assert_int_equal(kit_files_in(w.path, "bucket-0"), 0);
    must_fail_with(PML_E_NOT_FOUND, run(&r, &w, "job", m, 1, PML_COMMIT_CHECK, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    world_close(&w);
}

static void commit_without_files_makes_no_snapshot_unless_asked(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    must_ok(run(&r, &w, "job", NULL, 1, 0, &err), &err);
    assert_int_equal(r.snapshot_id, -1);
    assert_int_equal(r.already_committed, 0);
    must_ok(run(&r, &w, "job", NULL, 2, PML_COMMIT_EMPTY, &err), &err);
    assert_int_equal(r.snapshot_id, 1);
    must_ok(run(&r, &w, "job", NULL, 2, PML_COMMIT_EMPTY | PML_COMMIT_CHECK, &err), &err);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(rows_now(&w), 0);
    (void)table_kit_append(&w.k, 4);
    table_kit_must_read(&w.k, &(kit_read){0});
    world_close(&w);
}

/* ---- what a snapshot carries ---- */

static void snapshot_carries_counts_watermark_and_properties(void **state)
{
    (void)state;
    world w;
    pml_arena arena;
    pml_snapshot s;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    int64_t watermark = 77;
    const pml_option_pair properties[] = {{"a", "1"}, {"b\"", "\xC3\xA9\n"}};
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    world_open(&w);
    pml_arena__init(&arena, w.t->env);
    o.watermark = &watermark;
    o.properties = properties;
    o.n_properties = 2;
    pml_messages *m = table_kit_prepare(&w.k, 10);
    must_ok(pml_commit_open(&c, w.k.table, "job", &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, 5, &o, &err), &err);
    load(&s, &arena, &w, 1);
    assert_int_equal(s.watermark.v, 77);
    assert_string_equal(s.commit_user, "job");
    assert_int_equal(s.commit_identifier, 5);
    assert_int_equal(s.total_record_count, 10);
    assert_int_equal(s.delta_record_count, 10);
    assert_string_equal(pml_snapshot__property(&s, "b\""), "\xC3\xA9\n");
    pml_messages_free(m);
    /* A lower watermark does not lower it; properties belong to one snapshot; time does not fall. */
    atomic_fetch_sub(&w.t->wall_ms, 5000);
    watermark = 3;
    o.n_properties = 0;
    m = table_kit_prepare(&w.k, 20);
    must_ok(pml_commit_run(&r, c, &m, 1, 6, &o, &err), &err);
    int64_t before = s.time_ms;
    load(&s, &arena, &w, 2);
    assert_int_equal(s.watermark.v, 77);
    assert_int_equal(s.n_properties, 0);
    assert_int_equal(s.total_record_count, 30);
    assert_int_equal(s.delta_record_count, 20);
    assert_true(s.time_ms >= before);
    pml_messages_free(m);
    pml_commit_close(c);
    pml_arena__clear(&arena);
    world_close(&w);
}

static const char *in_table(world *w, const char *name)
{
    static char path[2][400];
    static int i;
    i = 1 - i;
    (void)snprintf(path[i], sizeof path[i], "%s/%s", w->path, name);
    return path[i];
}

static void snapshot_carries_the_statistics_of_its_schema_on(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool carried;
    } cases[] = {{"{\"snapshotId\":1,\"schemaId\":0}", true},
                 {"{\"snapshotId\":1,\"schemaId\":1}", false},
                 {"{\"snapshotId\":1", false}};
    for (size_t i = 0; i < 3; i++) {
        world w;
        pml_arena arena;
        pml_snapshot s;
        world_open(&w);
        pml_arena__init(&arena, w.t->env);
        (void)table_kit_append(&w.k, 3);
        assert_int_equal(mkdir(in_table(&w, "statistics"), 0700), 0);
        kit_write_text(in_table(&w, "statistics/stat-1"), cases[i].text);
        kit_replace_in_file(in_table(&w, "snapshot/snapshot-1"), "\"nextRowId\"",
                            "\"statistics\" : \"stat-1\",\n  \"nextRowId\"");
        (void)table_kit_append(&w.k, 3);
        load(&s, &arena, &w, 2);
        assert_int_equal(s.statistics != NULL, cases[i].carried);
        pml_arena__clear(&arena);
        world_close(&w);
    }
}

static void snapshot_names_the_latest_schema(void **state)
{
    (void)state;
    world w;
    pml_arena arena;
    pml_snapshot s;
    size_t len;
    world_open(&w);
    pml_arena__init(&arena, w.t->env);
    (void)table_kit_append(&w.k, 3);
    uint8_t *text = test_read_file(in_table(&w, "schema/schema-0"), &len);
    char *copy = calloc(len + 1, 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    kit_write_text(in_table(&w, "schema/schema-1"), copy);
    kit_replace_in_file(in_table(&w, "schema/schema-1"), "\"id\" : 0", "\"id\" : 1");
    free(copy);
    free(text);
    (void)table_kit_append(&w.k, 3);
    load(&s, &arena, &w, 2);
    assert_int_equal(s.schema_id, 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    table_kit_must_read(&w.k, &(kit_read){.snapshot = 2});
    pml_arena__clear(&arena);
    world_close(&w);
}

static void many_commits_merge_manifests_and_keep_every_file(void **state)
{
    (void)state;
    static const char *const options[] = {"\"manifest.merge-min-count\":\"5\"",
                                          "\"manifest.target-file-size\":\"4 kb\"",
                                          "\"manifest.merge-min-count\":\"1\"", "\"manifest.merge-min-count\":\"0\""};
    for (size_t i = 0; i < 4; i++) {
        world w;
        pml_arena arena;
        pml_snapshot s;
        world_open_with(&w, i % 2 == 0 ? "\"q\"" : "", options[i]);
        for (int n = 0; n < 12; n++) {
            pml_manifest_list l = {0};
            pml_arena__init(&arena, w.t->env);
            (void)table_kit_append(&w.k, 6);
            load(&s, &arena, &w, n + 1);
            must_ok(pml_table__load_manifest_list(&l, &arena, w.k.table, s.base_manifest_list, NULL), NULL);
            assert_true(i == 1 || l.n < 6);
            assert_true(l.n <= 12);
            pml_arena__clear(&arena);
        }
        assert_int_equal(orphan_manifests(&w), 0);
        table_kit_must_read(&w.k, &(kit_read){0});
        for (int64_t id = 1; id <= 12; id++)
            table_kit_must_read(&w.k, &(kit_read){.snapshot = id, .batches = (size_t)id});
        world_close(&w);
    }
}

static void remove_metadata(world *w, const char *dir)
{
    char path[400], file[800];
    struct dirent *e;
    (void)snprintf(path, sizeof path, "%s/%s", w->path, dir);
    DIR *d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL)
        if (strncmp(e->d_name, "manifest-list-", 14) != 0 && e->d_name[0] != '.') {
            (void)snprintf(file, sizeof file, "%s/%s", path, e->d_name);
            assert_int_equal(unlink(file), 0);
        }
    (void)closedir(d);
}

static void commit_on_a_damaged_table_names_the_missing_file_at_once(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open_with(&w, "", "\"manifest.merge-min-count\":\"2\"");
    for (int i = 0; i < 2; i++)
        (void)table_kit_append(&w.k, 3);
    pml_messages *m = table_kit_prepare(&w.k, 3);
    remove_metadata(&w, "manifest");
    int64_t started = atomic_load(&w.t->wall_ms);
    must_fail_with(PML_E_SNAPSHOT_GONE, run(&r, &w, "me", m, 1, 0, &err), &err);
    assert_non_null(strstr(err.message, "manifest-"));
    assert_true(atomic_load(&w.t->wall_ms) - started < 1000);
    pml_messages_free(m);
    world_close(&w);
}

static void messages_given_twice_are_refused(void **state)
{
    (void)state;
    world w;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    pml_messages *m = table_kit_prepare(&w.k, 3);
    must_ok(pml_commit_open(&c, w.k.table, "me", &err), &err);
    must_fail_with(PML_E_INVAL, pml_commit_run(&r, c, (pml_messages *[]){m, m}, 2, 1, NULL, &err), &err);
    assert_int_equal(rows_now(&w), 0);
    pml_commit_close(c);
    pml_messages_free(m);
    world_close(&w);
}

static void messages_of_another_table_are_refused(void **state)
{
    (void)state;
    world w;
    table_kit b;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    char *json = kit_schema_json("", "");
    table_kit_create(&b, w.t, test_path(w.t, "b"), json);
    free(json);
    pml_messages *m = table_kit_prepare(&b, 3);
    must_fail_with(PML_E_INVAL, run(&r, &w, "me", m, 1, 0, &err), &err);
    pml_messages_free(m);
    table_kit_close(&b);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_that_loses_races_tries_again_and_deletes_only_its_own_files),
        cmocka_unit_test(commit_gives_up_after_the_retries_it_may_make),
        cmocka_unit_test(commit_gives_up_after_its_timeout),
        cmocka_unit_test(commit_whose_snapshot_is_replaced_ends_up_in_the_next_one),
        cmocka_unit_test(commit_with_an_unknown_outcome_looks_and_tells_the_truth),
        cmocka_unit_test(commit_with_an_unknown_outcome_and_a_foreign_snapshot_goes_on),
        cmocka_unit_test(commit_whose_snapshot_expires_at_once_deletes_nothing),
        cmocka_unit_test(commit_with_check_makes_nothing_twice),
        cmocka_unit_test(messages_committed_before_are_neither_committed_again_nor_aborted),
        cmocka_unit_test(messages_that_a_check_found_needless_can_be_aborted),
        cmocka_unit_test(commit_of_deleted_files_is_refused_with_check),
        cmocka_unit_test(commit_without_files_makes_no_snapshot_unless_asked),
        cmocka_unit_test(snapshot_carries_counts_watermark_and_properties),
        cmocka_unit_test(snapshot_carries_the_statistics_of_its_schema_on),
        cmocka_unit_test(snapshot_names_the_latest_schema),
        cmocka_unit_test(many_commits_merge_manifests_and_keep_every_file),
        cmocka_unit_test(commit_on_a_damaged_table_names_the_missing_file_at_once),
        cmocka_unit_test(messages_given_twice_are_refused),
        cmocka_unit_test(messages_of_another_table_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
