/* SPDX-License-Identifier: Apache-2.0 */
/* Power cuts at every point of creating, writing and committing: after the restart the table opens, every commit that was
   acknowledged is there in full, every other one is there in full or not at all. */
#include <stdio.h>
#include <string.h>

#include "support/sim_fs.h"
#include "support/table_kit.h"

static const char schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT "
    "NULL\"},{\"name\":\"q\",\"type\":\"INT\"}],\"partitionKeys\":[\"q\"],"
    "\"primaryKeys\":[],\"options\":{\"file.compression\":\"none\",\"manifest.merge-min-count\":\"2\"}}";

typedef struct world {
    sim_fs *sim;
    test_env *t;
    table_kit k;
} world;

static void world_open(world *w, uint64_t salt)
{
    w->sim = sim_fs_new();
    w->t = test_env_open(sim_fs_system(w->sim));
    w->t->random_state ^= salt;
}

static void world_close(world *w)
{
    test_env_close(w->t);
    sim_fs_free(w->sim);
}

static int try_commit(world *w, pml_messages *m, int64_t identifier, uint32_t flags, pml_commit_result *r,
                      pml_error *err)
{
    pml_commit *c = NULL;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    *r = (pml_commit_result)PML_COMMIT_RESULT_INIT;
    o.flags = flags;
    int rc = pml_commit_open(&c, w->k.table, "job", err);
    if (rc == PML_OK)
        rc = pml_commit_run(r, c, &m, 1, identifier, &o, err);
    pml_commit_close(c);
    return rc;
}

/* Two commits; *acknowledged counts those that said PML_OK. */
static void write_twice(world *w, int *acknowledged)
{
    *acknowledged = 0;
    for (int i = 0; i < 2; i++) {
        struct ArrowArray batch;
        pml_messages *m;
        pml_commit_result r;
        pml_error err = PML_ERROR_INIT;
        table_kit_batch(&batch, &w->k, 2);
        int rc = table_kit_try_prepare(&m, &w->k, &batch, &err);
        if (rc == PML_OK)
            rc = try_commit(w, m, i + 1, 0, &r, &err);
        pml_messages_free(m);
        *acknowledged += rc == PML_OK && *acknowledged == i;
    }
}

static void reopen(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_table_release(w->k.table);
    must_ok(pml_table_open(&w->k.table, w->t->env, "/wh/t", NULL, &err), &err);
    w->k.fields = pml_table__fields(w->k.table, &w->k.n_fields);
}

/* Returns how many operations the whole takes, for point 0. */
static long long crash_in_commit(long long point, uint64_t seed)
{
    world w;
    int acknowledged;
    world_open(&w, (uint64_t)point * 31 + seed);
    table_kit_create(&w.k, w.t, "/wh/t", schema);
    (void)table_kit_append(&w.k, 2); /* acknowledged: must be durable without help */
    long long start = sim_fs_operations(w.sim);
    if (point > 0)
        sim_fs_crash_at(w.sim, point);
    write_twice(&w, &acknowledged);
    long long n = sim_fs_operations(w.sim) - start;
    sim_fs_restart(w.sim, seed);
    reopen(&w);
    for (size_t b = 1; b < w.k.n_batches; b++) {
        w.k.absent[b] = !table_kit_has_batch(&w.k, b); /* whole or not at all */
        if ((int)b <= acknowledged)
            assert_false(w.k.absent[b]);
    }
    table_kit_must_read(&w.k, &(kit_read){0});
    /* Life goes on. */
    (void)table_kit_append(&w.k, 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    table_kit_close(&w.k);
    world_close(&w);
    return n;
}

static void power_cut_at_any_point_of_two_commits_keeps_what_was_acknowledged(void **state)
{
    (void)state;
    long long points = crash_in_commit(0, SIM_FS_LOSE_ALL);
    assert_true(points > 40);
    for (long long point = 1; point <= points + 1; point++)
        for (size_t i = 0; i < 2; i++)
            (void)crash_in_commit(point, i == 0           ? SIM_FS_LOSE_ALL
                                         : point % 4 == 0 ? SIM_FS_KEEP_ALL
                                                          : test_seed() + (uint64_t)point);
}

/* Messages were prepared, the power goes in the commit, and the same messages are committed again: exactly once. */
static bool crash_and_commit_again(long long point, uint64_t seed)
{
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, (uint64_t)point * 17 + seed);
    table_kit_create(&w.k, w.t, "/wh/t", schema);
    pml_messages *m = table_kit_prepare(&w.k, 2);
    sim_fs_crash_at(w.sim, point);
    int rc = try_commit(&w, m, 1, 0, &r, &err);
    bool down = sim_fs_is_down(w.sim);
    sim_fs_restart(w.sim, seed);
    reopen(&w);
    bool has = table_kit_has_batch(&w.k, 0);
    assert_true(rc != PML_OK || has);
    must_ok(try_commit(&w, m, 1, PML_COMMIT_CHECK, &r, &err), &err);
    assert_int_equal(r.already_committed, has);
    assert_int_equal(r.snapshot_id, 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    pml_messages_free(m);
    table_kit_close(&w.k);
    world_close(&w);
    return down;
}

static void messages_prepared_before_a_power_cut_can_be_committed_after_it(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++)
        for (long long point = 1; crash_and_commit_again(point, seed); point++)
            assert_true(point < 500);
}

static bool crash_in_create(long long point, uint64_t seed)
{
    world w;
    pml_table *t = NULL;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, (uint64_t)point);
    sim_fs_crash_at(w.sim, point);
    int rc = pml_table_create(&t, w.t->env, "/wh/t", schema, strlen(schema), 0, &err);
    pml_table_release(t);
    bool down = sim_fs_is_down(w.sim);
    sim_fs_restart(w.sim, seed);
    if (rc == PML_OK)
        must_ok(pml_table_open(&t, w.t->env, "/wh/t", NULL, &err), &err);
    else
        must_ok(pml_table_create(&t, w.t->env, "/wh/t", schema, strlen(schema), PML_TABLE_IF_NOT_EXISTS, &err), &err);
    table_kit_init(&w.k, w.t, t);
    (void)table_kit_append(&w.k, 3);
    table_kit_must_read(&w.k, &(kit_read){0});
    table_kit_close(&w.k);
    world_close(&w);
    return down;
}

static void power_cut_while_a_table_is_made_leaves_it_whole_or_absent(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (long long point = 1; crash_in_create(point, seed); point++)
            assert_true(point < 200);
}

/* An overwrite is there in full or not at all: the old rows, or the new ones. */
static bool crash_in_overwrite(long long point, uint64_t seed)
{
    world w;
    pml_commit *c = NULL;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    const pml_partition_spec everything = {0, NULL};
    world_open(&w, (uint64_t)point * 13 + seed);
    table_kit_create(&w.k, w.t, "/wh/t", schema);
    (void)table_kit_append(&w.k, 2);
    (void)table_kit_append(&w.k, 2);
    pml_messages *m = table_kit_prepare(&w.k, 3);
    sim_fs_crash_at(w.sim, point);
    int rc = pml_commit_open(&c, w.k.table, "job", &err);
    if (rc == PML_OK)
        rc = pml_commit_overwrite(&r, c, &everything, &m, 1, 1, NULL, &err);
    pml_commit_close(c);
    pml_messages_free(m);
    bool down = sim_fs_is_down(w.sim);
    sim_fs_restart(w.sim, seed);
    reopen(&w);
    w.k.absent[2] = !table_kit_has_batch(&w.k, 2);
    w.k.absent[0] = w.k.absent[1] = !w.k.absent[2];
    assert_true(rc != PML_OK || !w.k.absent[2]);
    table_kit_must_read(&w.k, &(kit_read){0});
    (void)table_kit_append(&w.k, 1);
    table_kit_must_read(&w.k, &(kit_read){0});
    table_kit_close(&w.k);
    world_close(&w);
    return down;
}

static void power_cut_in_an_overwrite_leaves_old_rows_or_new_ones(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++)
        for (long long point = 1; crash_in_overwrite(point, seed); point++)
            assert_true(point < 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_cut_at_any_point_of_two_commits_keeps_what_was_acknowledged),
        cmocka_unit_test(messages_prepared_before_a_power_cut_can_be_committed_after_it),
        cmocka_unit_test(power_cut_in_an_overwrite_leaves_old_rows_or_new_ones),
        cmocka_unit_test(power_cut_while_a_table_is_made_leaves_it_whole_or_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
