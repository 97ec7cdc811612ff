/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publications whose answer is wrong or late, as file servers give them. However our own snapshot is found in the end, whoever is told that
 * it is committed finds it after a power cut.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/sim_fs.h"
#include "support/table_kit.h"

typedef enum late_answer {
    ANSWER_RIGHT,
    ANSWER_EXISTS, /* the request was sent twice, and the second one found the name taken */
    ANSWER_LATE,   /* the request was given up, and is carried out when the next round begins */
    ANSWER_LATER   /* the same, when the next attempt publishes under its name */
} late_answer;

/* Of the simulated file system with the next publication answered so. */
static struct {
    const pml_file_system *inner;
    late_answer answer;
    bool pending, dark, old; /* old: what asks for snapshot 2 by its name hears that there is none, and the hint stays at 1 */
    char from[300], to[300];
} late;

static int carry_out(pml_error *err)
{
    late.pending = false;
    return late.inner->publish(late.inner->ctx, late.from, late.to, err);
}

static int late_publish(void *ctx, const char *from, const char *to, pml_error *err)
{
    late_answer answer = late.answer;
    if (late.pending)
        must_ok(carry_out(err), err);
    late.answer = ANSWER_RIGHT;
    if (answer == ANSWER_RIGHT)
        return late.inner->publish(ctx, from, to, err);
    (void)snprintf(late.from, sizeof late.from, "%s", from);
    (void)snprintf(late.to, sizeof late.to, "%s", to);
    if (answer == ANSWER_EXISTS) {
        must_ok(carry_out(err), err);
        return pml_error__set(err, PML_E_EXISTS, "%s exists", to);
    }
    late.pending = true;
    late.answer = answer == ANSWER_LATE ? ANSWER_LATE : ANSWER_RIGHT;
    return pml_error__set(err, PML_E_IO, "no answer from the server about %s", to);
}

/* Each round begins with the hint of the latest snapshot. */
static int late_open_read(void *ctx, void **file, const char *path, pml_error *err)
{
    const char *name = strrchr(path, '/');
    if (late.pending && late.answer == ANSWER_LATE && strcmp(name == NULL ? path : name, "/LATEST") == 0) {
        must_ok(carry_out(err), err);
        late.answer = ANSWER_RIGHT;
    }
    return late.inner->open_read(ctx, file, path, err);
}

static int late_sync_directory(void *ctx, const char *path, pml_error *err)
{
    const char *name = strrchr(path, '/');
    if (late.dark && strcmp(name == NULL ? path : name, "/snapshot") == 0)
        return pml_error__set(err, PML_E_IO, "the disk of %s is gone", path);
    return late.inner->sync_directory(ctx, path, err);
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static int late_stat(void *ctx, pml_file_info *out, const char *path, pml_error *err)
{
    return late.old && ends_with(path, "/snapshot-2") ? PML_E_NOT_FOUND : late.inner->stat(ctx, out, path, err);
}

static int late_replace(void *ctx, const char *from, const char *to, pml_error *err)
{
    return late.old && ends_with(to, "/LATEST") ? late.inner->remove_file(ctx, from, err) : late.inner->replace(ctx, from, to, err);
}

typedef struct world {
    sim_fs *sim;
    pml_file_system fs;
    test_env *t;
    table_kit k;
} world;

static void world_open(world *w, late_answer answer)
{
    char *json = kit_schema_json("", "");
    w->sim = sim_fs_new();
    w->fs = *sim_fs_system(w->sim);
    w->fs.publish = late_publish;
    w->fs.open_read = late_open_read;
    w->fs.sync_directory = late_sync_directory;
    w->fs.stat = late_stat;
    w->fs.replace = late_replace;
    memset(&late, 0, sizeof late);
    late.inner = sim_fs_system(w->sim);
    w->t = test_env_open(&w->fs);
    table_kit_create(&w->k, w->t, "/wh/t", json);
    free(json);
    (void)table_kit_append(&w->k, 3);
    late.answer = answer;
}

/* The power is cut: both batches are there. */
static void world_close(world *w)
{
    pml_error err = PML_ERROR_INIT;
    sim_fs_crash(w->sim, SIM_FS_LOSE_ALL);
    pml_table_release(w->k.table);
    must_ok(pml_table_open(&w->k.table, w->t->env, "/wh/t", NULL, &err), &err);
    w->k.fields = pml_table__fields(w->k.table, &w->k.n_fields);
    table_kit_must_read(&w->k, &(kit_read){0});
    table_kit_close(&w->k);
    test_env_close(w->t);
    sim_fs_free(w->sim);
}

static int commit(pml_commit_result *r, world *w, const char *user, pml_messages *m, uint32_t flags, pml_error *err)
{
    pml_commit *c;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    *r = (pml_commit_result)PML_COMMIT_RESULT_INIT;
    o.flags = flags;
    must_ok(pml_commit_open(&c, w->k.table, user, err), err);
    int rc = pml_commit_run(r, c, &m, 1, 1, &o, err);
    pml_commit_close(c);
    return rc;
}

static void commit_that_finds_its_own_snapshot_is_durable(void **state)
{
    (void)state;
    for (int answer = ANSWER_RIGHT; answer <= ANSWER_LATER; answer++) {
        world w;
        pml_commit_result r;
        pml_error err = PML_ERROR_INIT;
        world_open(&w, (late_answer)answer);
        pml_messages *m = table_kit_prepare(&w.k, 7);
        must_ok(commit(&r, &w, "me", m, 0, &err), &err);
        assert_int_equal(r.snapshot_id, 2);
        assert_false(late.pending);
        pml_messages_free(m);
        world_close(&w);
    }
}

/* What cannot be made durable is not said to be committed; sent again, it is. */
static void commit_that_cannot_sync_its_own_snapshot_is_unknown(void **state)
{
    (void)state;
    for (int answer = ANSWER_RIGHT; answer <= ANSWER_LATER; answer++) {
        world w;
        pml_commit_result r;
        pml_error err = PML_ERROR_INIT;
        world_open(&w, (late_answer)answer);
        pml_messages *m = table_kit_prepare(&w.k, 7);
        late.dark = true;
        for (int i = 0; i < 2; i++)
            must_fail_with(PML_E_UNKNOWN_OUTCOME, commit(&r, &w, "me", m, i == 0 ? 0 : PML_COMMIT_CHECK, &err), &err);
        late.dark = false;
        must_ok(commit(&r, &w, "me", m, PML_COMMIT_CHECK, &err), &err);
        assert_int_equal(r.already_committed, 1);
        pml_messages_free(m);
        world_close(&w);
    }
}

/* "Committed before" is as much of a promise as "committed". */
static void conflict_of_messages_that_are_in_the_table_is_durable(void **state)
{
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    world_open(&w, ANSWER_RIGHT);
    pml_messages *m = table_kit_prepare(&w.k, 7);
    late.dark = true;
    must_fail_with(PML_E_UNKNOWN_OUTCOME, commit(&r, &w, "me", m, 0, &err), &err);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, commit(&r, &w, "another", m, PML_COMMIT_CHECK, &err), &err);
    late.dark = false;
    must_fail_with(PML_E_CONFLICT, commit(&r, &w, "another", m, PML_COMMIT_CHECK, &err), &err);
    pml_messages_free(m);
    world_close(&w);
}

/* Who made a snapshot goes on from it, though its name is not seen yet; and from an older one after a rollback, which the listing shows. */
static void commit_follows_on_its_own_snapshot(void **state)
{
    (void)state;
    for (int rolled_back = 0; rolled_back < 2; rolled_back++) {
        world w;
        pml_commit *c;
        pml_error err = PML_ERROR_INIT;
        world_open(&w, ANSWER_RIGHT);
        must_ok(pml_commit_open(&c, w.k.table, "me", &err), &err);
        late.old = true;
        for (int i = 0; i < 2; i++) {
            pml_commit_result r = PML_COMMIT_RESULT_INIT;
            pml_messages *m = table_kit_prepare(&w.k, 7);
            if (i == 1 && rolled_back)
                must_ok(w.fs.remove_file(w.fs.ctx, "/wh/t/snapshot/snapshot-2", &err), &err);
            must_ok(pml_commit_run(&r, c, &m, 1, i + 1, NULL, &err), &err);
            assert_int_equal(r.snapshot_id, i == 1 && rolled_back ? 2 : i + 2);
            assert_int_equal(r.attempts, 1);
            pml_messages_free(m);
        }
        pml_commit_close(c);
        late.old = false;
        w.k.absent[1] = rolled_back;
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_that_finds_its_own_snapshot_is_durable),
        cmocka_unit_test(commit_that_cannot_sync_its_own_snapshot_is_unknown),
        cmocka_unit_test(conflict_of_messages_that_are_in_the_table_is_durable),
        cmocka_unit_test(commit_follows_on_its_own_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
