/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit of unknown outcome may leave a snapshot that everybody sees and whose name no sync has reached (realtime.md 23.1). Whoever tells
 * a source from where to go on makes it durable first: what was believed is there after a power cut.
 */
#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "support/rt_kit.h"
#include "support/sim_fs.h"

typedef struct world {
    sim_fs *sim;
    faulty_fs f;
    rt_kit k;
} world;

/* The snapshot gets its name, and then nothing can be read or made durable any more. */
static void darkness(void *arg, int kind, const char *path)
{
    faulty_fs *f = arg;
    (void)kind, (void)path;
    faulty_fs_fail_kinds(f, FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_STAT) | FS_OP(FS_OP_LIST) | FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(f, 1, FAULT_BEFORE, PML_E_IO, 0);
    faulty_fs_fail_sticky(f);
}

static void world_open(world *w, const char *options)
{
    w->sim = sim_fs_new();
    faulty_fs_init(&w->f, sim_fs_system(w->sim));
    rt_kit_create(&w->k, &w->f.fs, "", options);
    sim_fs_sync_all(w->sim);
}

/* Snapshot 1 has the rows 0 to 4 and an unsynced name. The process that made it is gone. */
static void leave_unknown(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    rt_kit_start(&w->k, NULL, NULL);
    rt_kit_write(&w->k, 5, NULL);
    pml_rt_prepared *p = rt_kit_prepare(&w->k, 1);
    faulty_fs_call_at(&w->f, 1, FS_OP(FS_OP_PUBLISH), darkness, &w->f);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, rt_kit_try_commit(&w->k, &r, p, &err), &err);
    pml_rt_prepared_free(p);
    rt_kit_stop(&w->k);
    faulty_fs_reset(&w->f);
    assert_int_equal(rt_kit_latest(&w->k), 1);
}

/* What a power cut leaves. */
static void world_close(world *w, bool durable)
{
    rt_kit_stop(&w->k);
    sim_fs_crash(w->sim, SIM_FS_LOSE_ALL);
    assert_int_equal(rt_kit_latest(&w->k), durable ? 1 : -1);
    if (durable)
        rt_kit_must_store(&w->k, 0, 5);
    rt_kit_close(&w->k);
    faulty_fs_destroy(&w->f);
    sim_fs_free(w->sim);
}

/* The danger is there, and readers, who let go of nothing, do not pay for it. */
static void reader_makes_nothing_durable(void **state)
{
    world w;
    (void)state;
    world_open(&w, "");
    leave_unknown(&w);
    rt_kit_must_store(&w.k, 0, 5);
    assert_int_equal(faulty_fs_count(&w.f, FS_OP(FS_OP_SYNC) | FS_OP(FS_OP_SYNC_DIRECTORY) | FS_OP(FS_OP_SYNC_ALL)), 0);
    world_close(&w, false);
}

static void writer_that_opens_makes_durable_what_it_begins_on(void **state)
{
    static const char *const options[] = {"", "\"commit.durability\":\"file-system\""};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        world w;
        world_open(&w, options[i]);
        leave_unknown(&w);
        rt_kit_start(&w.k, NULL, NULL);
        assert_int_equal(faulty_fs_count(&w.f, FS_OP(FS_OP_SYNC_DIRECTORY)), 1);
        world_close(&w, true);
    }
}

static void progress_that_is_loaded_is_durable(void **state)
{
    (void)state;
    for (int64_t snapshot = -1; snapshot <= 1; snapshot += 2) {
        world w;
        world_open(&w, "");
        leave_unknown(&w);
        assert_int_equal(rt_kit_end(&w.k, snapshot, NULL, 0), 5);
        assert_int_equal(faulty_fs_count(&w.f, FS_OP(FS_OP_SYNC_DIRECTORY)), 1);
        world_close(&w, true);
    }
}

static void without_durability_nothing_is_synced(void **state)
{
    world w;
    (void)state;
    world_open(&w, "\"commit.durability\":\"none\"");
    rt_kit_start(&w.k, NULL, NULL);
    rt_kit_write(&w.k, 5, NULL);
    (void)rt_kit_cycle(&w.k, 1);
    rt_kit_stop(&w.k);
    faulty_fs_reset(&w.f); /* folders were made */
    rt_kit_start(&w.k, NULL, NULL);
    assert_int_equal(rt_kit_end(&w.k, -1, NULL, 0), 5);
    assert_int_equal(faulty_fs_count(&w.f, FS_OP(FS_OP_SYNC) | FS_OP(FS_OP_SYNC_DIRECTORY) | FS_OP(FS_OP_SYNC_ALL)), 0);
    rt_kit_stop(&w.k);
    sim_fs_sync_all(w.sim);
    world_close(&w, true);
}

/* The writer was open before; its store begins at what another process left. */
static void partition_bucket_that_opens_late_makes_durable_what_it_begins_on(void **state)
{
    world w;
    rt_kit late;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    world_open(&w, "");
    rt_kit_share(&late, &w.k, &w.f.fs);
    rt_kit_start(&late, NULL, NULL);
    leave_unknown(&w);
    late.next_id = 5;
    faulty_fs_fail_kinds(&w.f, FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(&w.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    must_fail_with(PML_E_IO, rt_kit_try_write(&late, 1, NULL, NULL, NULL, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    rt_kit_write(&late, 1, NULL);
    rt_kit_must_show(&late, 0, 6);
    rt_kit_close(&late);
    world_close(&w, true);
}

static void what_cannot_be_made_durable_is_not_told(void **state)
{
    world w;
    pml_rt_offsets *o;
    pml_rt_writer *writer;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    world_open(&w, "");
    leave_unknown(&w);
    must_ok(pml_rt_context_open(&w.k.ctx, w.k.t->env, NULL, &err), &err);
    faulty_fs_fail_kinds(&w.f, FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(&w.f, 1, FAULT_BEFORE, PML_E_IO, 0);
    faulty_fs_fail_sticky(&w.f);
    must_fail_with(PML_E_IO, pml_rt_offsets_load(&o, w.k.table, -1, &err), &err);
    assert_null(o);
    assert_non_null(strstr(err.message, "durable"));
    must_fail_with(PML_E_IO, pml_rt_writer_open(&writer, w.k.table, w.k.ctx, NULL, &err), &err);
    assert_null(writer);
    faulty_fs_reset(&w.f);
    must_ok(pml_rt_writer_open(&w.k.w, w.k.table, w.k.ctx, NULL, &err), &err);
    world_close(&w, true);
}

/* Expiry does not sync what it removes: after a power cut the snapshot may be back, and then its file must be there. */
static void clean_up_leaves_no_snapshot_without_its_progress(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed < 40; seed++) {
        world w;
        char path[600];
        pml_error err = PML_ERROR_INIT;
        pml_rt_clean_options o = PML_RT_CLEAN_OPTIONS_INIT;
        pml_rt_clean_result r = PML_RT_CLEAN_RESULT_INIT;
        bool there;
        world_open(&w, "");
        rt_kit_start(&w.k, NULL, NULL);
        for (int i = 1; i <= 2; i++) {
            rt_kit_write(&w.k, 5, NULL);
            (void)rt_kit_cycle(&w.k, i);
        }
        rt_kit_stop(&w.k);
        (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-1", w.k.path);
        must_ok(w.f.fs.remove_file(w.f.fs.ctx, path, &err), &err);
        (void)atomic_fetch_add(&w.k.t->wall_ms, 2 * PML_RT_CLEAN_OLDER_THAN_MS);
        must_ok(pml_rt_offsets_clean(&r, w.k.table, &o, &err), &err);
        assert_int_equal(r.orphans, 1);
        sim_fs_crash(w.sim, test_seed() + seed);
        must_ok(pml_file__exists(&there, w.k.t->env, path, &err), &err);
        if (there)
            assert_int_equal(rt_kit_end(&w.k, 1, NULL, 0), 5);
        assert_int_equal(rt_kit_end(&w.k, -1, NULL, 0), 10);
        rt_kit_close(&w.k);
        faulty_fs_destroy(&w.f);
        sim_fs_free(w.sim);
    }
}

/* ---- what it costs ---- */

static long long directory_syncs(world *w)
{
    long long n = faulty_fs_count(&w->f, FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_reset(&w->f);
    return n;
}

/* Partition-buckets open by the thousand: one sync for each snapshot of others, and none for those of the context. */
static void snapshots_that_are_known_to_be_durable_are_not_synced_again(void **state)
{
    world w;
    (void)state;
    world_open(&w, "\"bucket\":\"64\",\"bucket-key\":\"id\"");
    faulty_fs_reset(&w.f);
    rt_kit_start(&w.k, NULL, NULL);
    rt_kit_write(&w.k, 1, NULL);
    assert_int_equal(directory_syncs(&w), 0); /* no snapshot yet */
    (void)rt_kit_cycle(&w.k, 1);
    faulty_fs_reset(&w.f);
    rt_kit_write(&w.k, 5, NULL); /* of other buckets */
    assert_int_equal(directory_syncs(&w), 0);
    (void)rt_kit_append(&w.k, 1, NULL);
    faulty_fs_reset(&w.f);
    rt_kit_write(&w.k, 20, NULL);
    rt_kit_write(&w.k, 20, NULL);
    assert_int_equal(directory_syncs(&w), 1);
    assert_int_equal(rt_kit_metrics(&w.k).pb_active > 10, 1);
    rt_kit_must_show(&w.k, 0, 47);
    rt_kit_close(&w.k);
    faulty_fs_destroy(&w.f);
    sim_fs_free(w.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_makes_nothing_durable),
        cmocka_unit_test(writer_that_opens_makes_durable_what_it_begins_on),
        cmocka_unit_test(progress_that_is_loaded_is_durable),
        cmocka_unit_test(without_durability_nothing_is_synced),
        cmocka_unit_test(partition_bucket_that_opens_late_makes_durable_what_it_begins_on),
        cmocka_unit_test(what_cannot_be_made_durable_is_not_told),
        cmocka_unit_test(clean_up_leaves_no_snapshot_without_its_progress),
        cmocka_unit_test(snapshots_that_are_known_to_be_durable_are_not_synced_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
