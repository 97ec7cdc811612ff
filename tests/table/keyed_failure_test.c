/* SPDX-License-Identifier: Apache-2.0 */
/* Writing with a primary key when memory, files or the power fail: no leak, a truthful answer, the batch the caller's, a whole table. */
#include <stdio.h>
#include <stdlib.h>

#include "support/faulty_fs.h"
#include "support/keyed_kit.h"
#include "support/sim_fs.h"

enum { ROWS = 24, BATCHES = 3 };

typedef struct world {
    sim_fs *sim;
    faulty_fs f;
    test_env *t;
    table_kit k;
    keyed_row rows[BATCHES][ROWS];
    keyed_model model;
    pml_messages *m;
    int files;
} world;

static void world_open(world *w, bool partitioned, const char *options)
{
    memset(w, 0, sizeof *w);
    w->sim = sim_fs_new();
    faulty_fs_init(&w->f, sim_fs_system(w->sim));
    w->t = test_env_open(&w->f.fs);
    w->t->random_state = test_seed();
    keyed_create(&w->k, w->t, "/t", partitioned, options);
    w->model = keyed_model_new(KEYED_LAST, partitioned);
    for (size_t i = 0; i < BATCHES; i++)
        keyed_random(w->rows[i], ROWS, w->t, 15, 20);
    keyed_upsert(&w->k, w->rows[0], ROWS);
    for (size_t i = 0; i < ROWS; i++)
        if (w->rows[0][i].kind != PML_ROW_UPDATE_BEFORE || !w->k.table->options.ignore_update_before)
            keyed_model_apply(&w->model, &w->rows[0][i], 1);
}

static void world_close(world *w)
{
    keyed_must_hold(&w->k, &w->model);
    keyed_model_free(&w->model);
    table_kit_close(&w->k);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
    sim_fs_free(w->sim);
}

static int count_file(void *arg, const char *name, uint32_t kind)
{
    (void)name;
    if (kind == PML_FILE_REGULAR)
        ++*(int *)arg;
    return PML_OK;
}

static int data_files(world *w)
{
    static const char *const dirs[] = {"", "/p=0", "/p=1"};
    int n = 0;
    for (size_t i = 0; i < 3; i++)
        for (int b = 0; b < 2; b++) {
            char path[100];
            (void)snprintf(path, sizeof path, "/t%s/bucket-%d", dirs[i], b);
            (void)w->f.inner.list(w->f.inner.ctx, path, count_file, &n, NULL);
        }
    (void)w->f.inner.list(w->f.inner.ctx, "/t/index", count_file, &n, NULL);
    return n;
}

/* keyed_write looks after the batches. */
static int step(world *w, pml_error *err)
{
    pml_writer *writer = NULL;
    w->m = NULL;
    int rc = pml_writer_open(&writer, w->k.table, err);
    for (size_t i = 0; i < BATCHES && rc == PML_OK; i++)
        rc = keyed_write(&w->k, writer, w->rows[i], ROWS, KEYED_WITH_KINDS, err);
    if (rc == PML_OK)
        rc = pml_writer_prepare(&w->m, writer, err);
    pml_writer_close(writer);
    return rc;
}

static void after(world *w, int rc, const pml_error *err)
{
    assert_int_equal(rc, err->code);
    assert_true((rc == PML_OK) == (w->m != NULL));
    assert_true(rc == PML_OK || rc == PML_E_NOMEM || rc == PML_E_IO || rc == PML_E_SNAPSHOT_GONE);
    assert_true(rc == PML_OK || err->message[0] != '\0');
    if (w->m != NULL) {
        pml_commit *c;
        must_ok(pml_commit_open(&c, w->k.table, NULL, NULL), NULL);
        must_ok(pml_commit_abort(c, &w->m, 1, NULL), NULL);
        pml_commit_close(c);
    }
    pml_messages_free(w->m);
    /* A removal that failed may leave one file behind. */
    int now = data_files(w);
    assert_in_range(now, w->files, w->files + 1);
    w->files = now;
}

static void writes_survive_every_failure(const char *options, bool partitioned)
{
    world w;
    world_open(&w, partitioned, options);
    w.files = data_files(&w);
    bool reached = true;
    for (long long n = 1; reached; n += n < 80 ? 1 : 1 + (long long)(test_random(w.t) % 30)) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(w.t, n);
        int rc = step(&w, &err);
        reached = test_env_fail_reached(w.t);
        test_env_fail_at(w.t, 0);
        after(&w, rc, &err);
    }
    static const struct {
        fault_mode mode;
        uint32_t flags;
    } modes[] = {{FAULT_BEFORE, PML_ERRF_NO_EFFECT}, {FAULT_BEFORE, 0}, {FAULT_AFTER, 0}};
    for (int i = 0; i < 3; i++) {
        bool failed = true;
        for (long long n = 1; failed; n += 1 + (long long)(test_random(w.t) % 3)) {
            pml_error err = PML_ERROR_INIT;
            faulty_fs_reset(&w.f);
            faulty_fs_fail_at(&w.f, n, modes[i].mode, PML_E_IO, modes[i].flags);
            int rc = step(&w, &err);
            failed = faulty_fs_failures(&w.f) > 0;
            faulty_fs_reset(&w.f);
            after(&w, rc, &err);
        }
    }
    world_close(&w);
}

static void writes_of_one_flush_survive_every_failure(void **state)
{
    (void)state;
    writes_survive_every_failure("\"bucket\":\"2\"", true);
}

static void writes_of_several_flushes_survive_every_failure(void **state)
{
    (void)state;
    writes_survive_every_failure("\"bucket\":\"1\",\"write-buffer-size\":\"1 kb\",\"ignore-update-before\":\"true\"", false);
}

/* Keys that the table has, and new ones: index files are read and written. */
static void writes_to_dynamic_buckets_survive_every_failure(void **state)
{
    (void)state;
    writes_survive_every_failure("\"bucket\":\"-1\",\"dynamic-bucket.target-row-num\":\"8\"", true);
}

/* The rows are in the table with the keys that the index has, or nothing of them is. */
static void commit_once(world *w, int round, bool files, long long n, bool *failed)
{
    keyed_row rows[6];
    pml_writer *writer;
    pml_messages *m;
    pml_commit *c;
    pml_error err = PML_ERROR_INIT;
    for (int64_t i = 0; i < 6; i++)
        rows[i] = (keyed_row){.id = 100 + (round + i) % 40, .p = i % 2, .n = 1, .s = 1, .v = round};
    must_ok(pml_writer_open(&writer, w->k.table, &err), &err);
    must_ok(keyed_write(&w->k, writer, rows, 6, KEYED_ALL_INSERTS, &err), &err);
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    must_ok(pml_commit_open(&c, w->k.table, NULL, &err), &err);
    if (files)
        faulty_fs_fail_at(&w->f, n, n % 2 == 0 ? FAULT_BEFORE : FAULT_AFTER, PML_E_IO, n % 2 == 0 ? PML_ERRF_NO_EFFECT : 0);
    else
        test_env_fail_at(w->t, n);
    int rc = pml_commit_run(NULL, c, &m, 1, 1, NULL, &err);
    *failed = files ? faulty_fs_failures(&w->f) > 0 : test_env_fail_reached(w->t);
    faulty_fs_reset(&w->f);
    test_env_fail_at(w->t, 0);
    if (rc != PML_OK) {
        const pml_commit_options check = {.struct_size = sizeof check, .flags = PML_COMMIT_CHECK};
        assert_true(rc == PML_E_NOMEM || rc == PML_E_IO || rc == PML_E_UNKNOWN_OUTCOME || rc == PML_E_SNAPSHOT_GONE);
        must_ok(pml_commit_run(NULL, c, &m, 1, 1, &check, &err), &err);
    }
    pml_commit_close(c);
    pml_messages_free(m);
    pml_writer_close(writer);
    keyed_model_apply(&w->model, rows, 6);
}

static void commits_to_dynamic_buckets_survive_every_failure(void **state)
{
    (void)state;
    world w;
    int round = 0;
    world_open(&w, true, "\"bucket\":\"-1\",\"dynamic-bucket.target-row-num\":\"5\",\"manifest.merge-min-count\":\"4\"");
    for (int files = 0; files < 2; files++) {
        bool failed = true;
        for (long long n = 1; failed; n += 1 + (long long)(test_random(w.t) % (files ? 1 : 6)))
            commit_once(&w, round++, files == 1, n, &failed);
        keyed_must_hold(&w.k, &w.model);
    }
    world_close(&w);
}

static void writer_that_failed_only_closes(void **state)
{
    (void)state;
    world w;
    pml_writer *writer;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, false, "\"bucket\":\"1\",\"write-buffer-size\":\"1 b\"");
    w.files = data_files(&w);
    must_ok(pml_writer_open(&writer, w.k.table, &err), &err);
    must_ok(keyed_write(&w.k, writer, w.rows[1], ROWS, KEYED_WITH_KINDS, &err), &err); /* is in a file already */
    faulty_fs_fail_at(&w.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    must_fail_with(PML_E_IO, keyed_write(&w.k, writer, w.rows[1], ROWS, KEYED_WITH_KINDS, &err), &err);
    faulty_fs_reset(&w.f);
    must_fail_with(PML_E_STATE, keyed_write(&w.k, writer, w.rows[1], ROWS, KEYED_WITH_KINDS, &err), &err);
    must_fail_with(PML_E_STATE, pml_writer_prepare(&m, writer, &err), &err);
    pml_writer_close(writer);
    assert_int_equal(data_files(&w), w.files);
    world_close(&w);
}

/* What every power cut begins with, made once: a durable table with eight keys in two partitions, among others. */
static sim_fs *table_before(const char *options, keyed_row rows[8])
{
    world w;
    world_open(&w, true, options);
    for (int64_t i = 0; i < 8; i++)
        rows[i] = (keyed_row){.id = 1000 + i / 2, .p = i % 2, .n = 1, .s = 1, .v = 0};
    keyed_upsert(&w.k, rows, 8);
    keyed_model_apply(&w.model, rows, 8);
    sim_fs_sync_all(w.sim);
    sim_fs *before = sim_fs_copy(w.sim);
    world_close(&w);
    return before;
}

/* Two commits of all keys and one more, with the first that failed and what comes after it. */
static int two_commits(table_kit *k, keyed_row rows[9])
{
    pml_error err = PML_ERROR_INIT;
    int acknowledged = 0;
    for (int commit = 1; commit <= 2; commit++) {
        pml_writer *writer = NULL;
        pml_messages *m = NULL;
        pml_commit *c = NULL;
        pml_commit_result r = PML_COMMIT_RESULT_INIT;
        for (int64_t i = 0; i < 8; i++)
            rows[i].v = commit;
        rows[8] = (keyed_row){.id = 900 + commit, .p = 0, .n = 1, .s = 1, .v = commit};
        int rc = pml_writer_open(&writer, k->table, &err);
        rc = rc == PML_OK ? keyed_write(k, writer, rows, 9, KEYED_WITH_KINDS, &err) : rc;
        rc = rc == PML_OK ? pml_writer_prepare(&m, writer, &err) : rc;
        rc = rc == PML_OK ? pml_commit_open(&c, k->table, "job", &err) : rc;
        rc = rc == PML_OK ? pml_commit_run(&r, c, &m, 1, commit, NULL, &err) : rc;
        pml_commit_close(c);
        pml_messages_free(m);
        pml_writer_close(writer);
        acknowledged = rc == PML_OK ? commit : acknowledged;
    }
    return acknowledged;
}

/* All keys have the value of one commit, and not an older one than was acknowledged. */
static void keys_must_hold(table_kit *k, int acknowledged)
{
    keyed_row *found;
    size_t n = keyed_read(&found, k), seen = 0;
    int64_t v = -1;
    for (size_t i = 0; i < n; i++)
        if (found[i].id >= 1000) {
            assert_true(seen == 0 || v == found[i].v);
            v = found[i].v;
            seen++;
        }
    assert_int_equal(seen, 8);
    assert_in_range(v, acknowledged, 2);
    free(found);
}

/* Two commits change all keys; after a power cut they have the value of one of them. Returns the operations of both. */
static long long crash_in_commits(sim_fs *before, keyed_row rows[9], long long point, uint64_t seed)
{
    keyed_row *found;
    table_kit k;
    sim_fs *sim = sim_fs_copy(before);
    test_env *t = test_env_open(sim_fs_system(sim));
    t->random_state = test_seed() + 1000000; /* other names than those of the table before */
    table_kit_init(&k, t, kit_open(t, "/t"));
    long long start = sim_fs_operations(sim);
    if (point > 0)
        sim_fs_crash_at(sim, point);
    int acknowledged = two_commits(&k, rows);
    long long n = sim_fs_operations(sim) - start;
    sim_fs_restart(sim, seed);
    table_kit_close(&k);
    table_kit_init(&k, t, kit_open(t, "/t"));
    keys_must_hold(&k, acknowledged);
    keyed_upsert(&k, rows, 9); /* life goes on */
    size_t again = keyed_read(&found, &k);
    for (size_t i = 1; i < again; i++)
        assert_true(found[i].id != found[i - 1].id || found[i].p != found[i - 1].p);
    free(found);
    table_kit_close(&k);
    test_env_close(t);
    sim_fs_free(sim);
    return n;
}

static void power_cut_at_any_point_of_two_commits_keeps_what_was_acknowledged(void **state)
{
    (void)state;
    static const char *const options[] = {"\"bucket\":\"1\",\"manifest.merge-min-count\":\"2\"",
                                          "\"bucket\":\"-1\",\"dynamic-bucket.target-row-num\":\"3\""};
    for (size_t i = 0; i < 2; i++) {
        keyed_row rows[9]; /* the last: another key in each commit */
        sim_fs *before = table_before(options[i], rows);
        long long points = crash_in_commits(before, rows, 0, SIM_FS_LOSE_ALL);
        print_message("%lld points\n", points);
        assert_true(points > 30);
        for (long long point = 1; point <= points + 1; point += 1 + point % 2)
            (void)crash_in_commits(before, rows, point, point % 4 == 0 ? SIM_FS_KEEP_ALL : point % 4 == 1 ? SIM_FS_LOSE_ALL : test_seed() + (uint64_t)point);
        sim_fs_free(before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_of_one_flush_survive_every_failure),
        cmocka_unit_test(writes_of_several_flushes_survive_every_failure),
        cmocka_unit_test(writes_to_dynamic_buckets_survive_every_failure),
        cmocka_unit_test(commits_to_dynamic_buckets_survive_every_failure),
        cmocka_unit_test(writer_that_failed_only_closes),
        cmocka_unit_test(power_cut_at_any_point_of_two_commits_keeps_what_was_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
