/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test 82 with real processes: a child writes a stream with offsets of its own, prepares and commits all the time, and is killed at
 * a random moment. The next one reads how far the table is, and sends the rest again. In the end every row is there once.
 * Once more with a primary key and sums, which a row that came twice would show. KILLS=n in the environment sets the number of kills;
 * .ci/run has 200 of them.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/rows_kit.h"
#include "support/rt_rows.h"
#include "support/table_kit.h"
#include "util/number.h"

enum { BUCKETS = 2, KILLS = 20, BATCH = 7, BATCHES = 3, LONGEST_US = 50000, READY_FD = 3, ID_STEP = 2 };

static const rt_shape shape = {.columns = "ivx", .buckets = BUCKETS, .external = true, .auto_advance = true};

extern char **environ;

/* ---- the child ---- */

static int ends_of(int64_t ends[BUCKETS], pml_table *table, pml_error *err)
{
    pml_rt_offsets *offsets;
    int rc = pml_rt_offsets_load(&offsets, table, -1, err);
    for (int b = 0; b < BUCKETS; b++) {
        pml_rt_pb pb = PML_RT_PB_INIT;
        pb.bucket = b;
        int64_t end = rc == PML_OK ? pml_rt_offsets_find(offsets, &pb) : -1;
        ends[b] = end < 0 ? 0 : end;
    }
    if (rc == PML_OK)
        pml_rt_offsets_free(offsets);
    return rc;
}

/* Row with offset o of bucket b has the id o * ID_STEP + b. */
static int write_rows(pml_rt_writer *w, int b, int64_t first, int64_t n, pml_error *err)
{
    int64_t ids[BATCH];
    struct ArrowArray a;
    struct ArrowSchema s;
    pml_rt_pb pb = PML_RT_PB_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    for (int64_t i = 0; i < n; i++)
        ids[i] = (first + i) * ID_STEP + b;
    pb.bucket = b;
    o.pb = &pb;
    o.first_offset = first;
    rt_rows_make(&a, &s, &shape, n, ids, NULL, NULL);
    int rc = pml_rt_write(NULL, w, &a, &s, &o, err);
    if (a.release != NULL)
        a.release(&a);
    s.release(&s);
    return rc;
}

static int commit_all(pml_rt_writer *w, pml_commit *c, int64_t identifier, pml_error *err)
{
    pml_rt_prepared *p = NULL;
    size_t n;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    int rc = pml_rt_prepare(&p, w, identifier, NULL, err);
    if (rc != PML_OK)
        return rc;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    if (n > 0)
        rc = pml_rt_commit(&r, c, e, n, identifier, NULL, err);
    pml_rt_prepared_free(p);
    return rc;
}

static int write_until(pml_rt_writer *w, pml_commit *c, int64_t ends[BUCKETS], int64_t target, int64_t identifier, pml_error *err)
{
    bool more = true;
    int rc = PML_OK;
    while (more && rc == PML_OK) {
        more = false;
        for (int k = 0; k < BATCHES * BUCKETS && rc == PML_OK; k++) {
            int b = k % BUCKETS;
            int64_t n = target - ends[b] < BATCH ? target - ends[b] : BATCH;
            if (n <= 0)
                continue;
            rc = write_rows(w, b, ends[b], n, err);
            ends[b] += n;
            more = true;
        }
        if (rc == PML_OK)
            rc = commit_all(w, c, identifier++, err);
        if (rc == PML_OK && write(READY_FD, "!", 1) != 1)
            return PML_E_IO; /* the parent is gone */
    }
    return rc;
}

/* Writes until every bucket has `target` rows. */
static int child(const char *path, const char *target_text)
{
    pml_env *env;
    pml_table *table = NULL;
    pml_rt_context *ctx = NULL;
    pml_rt_writer *w = NULL;
    pml_commit *c = NULL;
    int64_t ends[BUCKETS], target = 0, latest = 0;
    pml_error err = PML_ERROR_INIT;
    if (!pml_number__int64(&target, target_text, strlen(target_text)) || pml_env_new(&env, NULL, &err) != PML_OK)
        return 2;
    int rc = pml_table_open(&table, env, path, NULL, &err);
    if (rc == PML_OK)
        rc = ends_of(ends, table, &err);
    if (rc == PML_OK)
        rc = pml_table_latest_snapshot(&latest, table, &err);
    if (rc == PML_OK)
        rc = pml_rt_context_open(&ctx, env, NULL, &err);
    if (rc == PML_OK)
        rc = pml_rt_writer_open(&w, table, ctx, NULL, &err);
    if (rc == PML_OK)
        rc = pml_commit_open(&c, table, "stream", &err);
    /* One identifier for each snapshot at most, so that they never fall. */
    if (rc == PML_OK)
        rc = write_until(w, c, ends, target, (latest < 0 ? 0 : latest) + 1, &err);
    if (rc == PML_OK)
        rc = pml_rt_writer_close(w, &err);
    else
        pml_rt_writer_abort(w);
    if (rc != PML_OK)
        (void)fprintf(stderr, "child: %s: %s\n", pml_error_name(rc), err.message);
    pml_commit_close(c);
    pml_rt_context_close(ctx);
    pml_table_release(table);
    pml_env_release(env);
    return rc == PML_OK ? 0 : 3;
}

/* ---- the parent ---- */

/* *ready: a byte comes out of it for each commit of the child. */
static pid_t start(const char *path, int64_t target, int *ready)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    char text[32], self[] = "/proc/self/exe", mode[] = "child", where[512];
    pid_t pid;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    if (ends[1] != READY_FD)
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], READY_FD), 0);
    (void)snprintf(text, sizeof text, "%lld", (long long)target);
    (void)snprintf(where, sizeof where, "%s", path);
    char *const args[] = {self, mode, where, text, NULL};
    assert_int_equal(posix_spawn(&pid, self, &actions, NULL, args, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *ready = ends[0];
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

/* Every row below the ends once, and none else. */
static void check_table(pml_table *table, int64_t ends[BUCKETS])
{
    pml_error err = PML_ERROR_INIT;
    int64_t most = 0, total = 0;
    must_ok(ends_of(ends, table, &err), &err);
    for (int b = 0; b < BUCKETS; b++)
        most = ends[b] > most ? ends[b] : most;
    bool *seen = calloc((size_t)(most * ID_STEP) + 1, sizeof *seen);
    assert_non_null(seen);
    struct ArrowArrayStream stream = rows_open(rows_plan(table, NULL, NULL));
    for (int64_t n = 0; n >= 0;) {
        int64_t *ids;
        int *parts;
        char wrong[160];
        must_ok(rt_rows_next(&stream, shape.columns, &ids, &parts, &n, wrong, &err), &err);
        assert_string_equal(wrong, "");
        for (int64_t i = 0; i < n; i++, total++) {
            assert_true(ids[i] >= 0 && ids[i] / ID_STEP < ends[ids[i] % ID_STEP]);
            assert_false(seen[ids[i]]);
            seen[ids[i]] = true;
        }
        free(ids);
        free(parts);
    }
    int64_t want = 0;
    for (int b = 0; b < BUCKETS; b++)
        want += ends[b];
    assert_int_equal(total, want);
    free(seen);
    stream.release(&stream);
}

static double seconds(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_table(pml_table **out, test_env *t, const char *path, bool keyed)
{
    pml_error err = PML_ERROR_INIT;
    char schema[600];
    must_ok(rt_table_create(out, t->env, path, &shape, &err), &err);
    if (!keyed)
        return;
    pml_table_release(*out);
    (void)snprintf(schema, sizeof schema, "%s/schema/schema-0", path);
    kit_replace_in_file(schema, "\"primaryKeys\" : [ ]", "\"primaryKeys\" : [ \"i\" ]");
    kit_replace_in_file(schema, "\"options\" : {", "\"options\" : {\"merge-engine\":\"aggregation\","
                                                  "\"fields.x.aggregate-function\":\"sum\",");
    must_ok(pml_table_open(out, t->env, path, NULL, &err), &err);
}

static void kill_again_and_again(bool keyed)
{
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    const char *path = test_path(t, "t");
    int64_t kills = test_setting("KILLS", KILLS, 1, 1000000), ends[BUCKETS], target = 0, commits = 0;
    const double start_s = seconds();
    (void)test_seed();
    make_table(&table, t, path, keyed);
    for (int64_t i = 0; i < kills; i++) {
        int ready;
        char byte;
        pid_t pid = start(path, INT32_MAX, &ready);
        if (test_random(t) % 8 != 0) /* now and then it is killed before its first commit */
            assert_int_equal(read(ready, &byte, 1), 1);
        (void)usleep((useconds_t)(test_random(t) % LONGEST_US));
        assert_int_equal(kill(pid, SIGKILL), 0);
        int status = wait_for(pid);
        (void)close(ready);
        assert_true(WIFSIGNALED(status));
        if (i % 4 == 3 || i + 1 == kills)
            check_table(table, ends);
    }
    for (int b = 0; b < BUCKETS; b++)
        target = ends[b] + 50 > target ? ends[b] + 50 : target;
    int ready;
    int status = wait_for(start(path, target, &ready));
    (void)close(ready); /* not before: the child would get SIGPIPE */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_table(table, ends);
    for (int b = 0; b < BUCKETS; b++)
        assert_int_equal(ends[b], target);
    must_ok(pml_table_latest_snapshot(&commits, table, &err), &err);
    assert_true(commits > kills / 2); /* the children came to work */
    print_message("%lld kills, %lld rows in %lld snapshots, %.1f s\n", (long long)kills, (long long)target * BUCKETS,
                  (long long)commits, seconds() - start_s);
    pml_table_release(table);
    test_env_close(t);
}

static void stream_killed_again_and_again_leaves_every_row_once(void **state)
{
    (void)state;
    kill_again_and_again(false);
}

static void keyed_stream_killed_again_and_again_counts_every_row_once(void **state)
{
    (void)state;
    kill_again_and_again(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_killed_again_and_again_leaves_every_row_once),
        cmocka_unit_test(keyed_stream_killed_again_and_again_counts_every_row_once),
    };
    if (argc == 4 && strcmp(argv[1], "child") == 0)
        return child(argv[2], argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
