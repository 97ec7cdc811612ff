/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes commit to one table as fast as they can. Afterwards the snapshots are 1, 2, 3, ... without a gap, each
 * process has each of its commits once and in its order, and each row is there once.
 *
 * COMMITS=2000 sets how many commits there are in all; the default keeps `make check` short.
 *
 * The workers are this program again: a fork of a process that has loaded the bridge is not supported.
 */
#include "support/rows_kit.h"
#include "support/test_arrow.h"
#include "support/test_env.h"
#include "util/number.h"

#include <errno.h>
#include <inttypes.h>
#include <paimonlive/scan.h>
#include <paimonlive/write.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum {
    COMMITS_DEFAULT = 200,
    COMMITS_MAX = 1000000,
    WORKERS_MAX = 8,
    WORKER_ROWS = COMMITS_MAX, /* ids of worker w begin at w * WORKER_ROWS */
    ATTEMPTS_MAX = 1000        /* of one commit, each with the table's own retries; a livelock ends as a failure */
};

static int64_t number_of(const char *text)
{
    int64_t n = 0;
    assert_true(pml_number__int64(&n, text, strlen(text)));
    return n;
}

static int64_t commits_wanted(void)
{
    return test_setting("COMMITS", COMMITS_DEFAULT, 1, COMMITS_MAX);
}

/* ---- a worker ---- */

static int write_row(pml_writer *writer, const struct ArrowSchema *schema, int64_t id, int32_t worker, pml_error *err)
{
    struct ArrowArray columns[2] = {test_fixed_array(sizeof id, 1, &id), test_fixed_array(sizeof worker, 1, &worker)};
    struct ArrowArray row = test_struct_array(1, 2, columns);
    int rc = pml_writer_write(writer, &row, schema, err);
    if (row.release != NULL)
        row.release(&row);
    return rc;
}

/* Lost races come back as an error once the retries of the table's options are used up; nothing is lost by asking again. */
static int commit_until_done(pml_commit *commit, pml_messages *messages, int64_t identifier, pml_error *err)
{
    pml_commit_options options = PML_COMMIT_OPTIONS_INIT;
    int rc = PML_E_CONFLICT;
    for (int i = 0; i < ATTEMPTS_MAX && (rc == PML_E_CONFLICT || rc == PML_E_TIMEOUT || rc == PML_E_UNKNOWN_OUTCOME); i++) {
        pml_commit_result result = PML_COMMIT_RESULT_INIT;
        rc = pml_commit_run(&result, commit, &messages, 1, identifier, &options, err);
        options.flags = PML_COMMIT_CHECK;
    }
    return rc;
}

static int worker_run(pml_table *table, int32_t worker, int64_t n, pml_error *err)
{
    char user[32];
    (void)snprintf(user, sizeof user, "worker-%" PRId32, worker);
    struct ArrowSchema schema = {0};
    pml_writer *writer = NULL;
    pml_commit *commit = NULL;
    int rc = pml_table_arrow_schema(&schema, table, err);
    if (rc == PML_OK)
        rc = pml_writer_open(&writer, table, err);
    if (rc == PML_OK)
        rc = pml_commit_open(&commit, table, user, err);
    for (int64_t i = 0; i < n && rc == PML_OK; i++) {
        pml_messages *messages = NULL;
        rc = write_row(writer, &schema, (int64_t)worker * WORKER_ROWS + i, worker, err);
        if (rc == PML_OK)
            rc = pml_writer_prepare(&messages, writer, err);
        if (rc == PML_OK)
            rc = commit_until_done(commit, messages, i + 1, err);
        pml_messages_free(messages);
    }
    pml_commit_close(commit);
    pml_writer_close(writer);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

/* argv: program, "worker", table, number, commits. */
static int worker_main(char **argv)
{
    pml_error err = PML_ERROR_INIT;
    pml_env *env = NULL;
    pml_table *table = NULL;
    int rc = pml_env_new(&env, NULL, &err);
    if (rc == PML_OK)
        rc = pml_table_open(&table, env, argv[2], NULL, &err);
    if (rc == PML_OK)
        rc = worker_run(table, (int32_t)number_of(argv[3]), number_of(argv[4]), &err);
    if (rc != PML_OK)
        (void)fprintf(stderr, "worker %s: %d: %s\n", argv[3], rc, err.message);
    if (table != NULL)
        pml_table_release(table);
    pml_env_release(env);
    return rc == PML_OK ? 0 : 1;
}

/* ---- the judge ---- */

static pid_t worker_start(const char *table, int worker, int64_t commits)
{
    char number[16], n[24], word[] = "worker", program[] = "/proc/self/exe", path[1024];
    (void)snprintf(number, sizeof number, "%d", worker);
    (void)snprintf(n, sizeof n, "%" PRId64, commits);
    (void)snprintf(path, sizeof path, "%s", table);
    char *argv[] = {program, word, path, number, n, NULL};
    pid_t pid = 0;
    assert_int_equal(0, posix_spawn(&pid, program, NULL, NULL, argv, environ));
    return pid;
}

static bool worker_wait(pid_t pid)
{
    int status = 0;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const struct ArrowArray *column(const struct ArrowSchema *schema, const struct ArrowArray *array, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return array->children[i];
    fail_msg("no column %s", name);
    return NULL;
}

static int64_t int64_at(const struct ArrowArray *c, int64_t row)
{
    return ((const int64_t *)c->buffers[1])[c->offset + row];
}

/* Worker number of "worker-N". */
static int64_t worker_at(const struct ArrowArray *c, int64_t row)
{
    const int32_t *ends = (const int32_t *)c->buffers[1] + c->offset;
    const char *text = (const char *)c->buffers[2] + ends[row];
    size_t len = (size_t)(ends[row + 1] - ends[row]), prefix = strlen("worker-");
    assert_true(len > prefix && memcmp(text, "worker-", prefix) == 0);
    int64_t n = -1;
    assert_true(pml_number__int64(&n, text + prefix, len - prefix));
    assert_in_range(n, 0, WORKERS_MAX - 1);
    return n;
}

static void must_have_each_snapshot_once(pml_table *table, int workers, int64_t commits)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    int64_t next = 1, last[WORKERS_MAX] = {0};
    must_ok(pml_table_snapshots(&stream, table, &err), &err);
    assert_int_equal(0, stream.get_schema(&stream, &schema));
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
        for (int64_t row = 0; row < array.length; row++) {
            int64_t w = worker_at(column(&schema, &array, "commit_user"), row);
            assert_int_equal(next, int64_at(column(&schema, &array, "snapshot_id"), row));
            assert_int_equal(next, int64_at(column(&schema, &array, "total_record_count"), row));
            assert_int_equal(++last[w], int64_at(column(&schema, &array, "commit_identifier"), row));
            next++;
        }
        array.release(&array);
    }
    assert_int_equal(commits + 1, next);
    for (int w = 0; w < workers; w++)
        assert_int_equal(commits / workers, last[w]);
    schema.release(&schema);
    stream.release(&stream);
}

static void must_have_each_row_once(pml_table *table, int workers, int64_t commits)
{
    struct ArrowArray array = {0};
    int64_t each = commits / workers, rows = 0;
    uint8_t *seen = calloc((size_t)commits, 1);
    assert_non_null(seen);
    struct ArrowArrayStream stream = rows_open(rows_plan(table, NULL, NULL));
    while (rows_next(&stream, &array)) {
        for (int64_t row = 0; row < array.length; row++, rows++) {
            int64_t id = int64_at(array.children[0], row);
            int64_t at = id / WORKER_ROWS * each + id % WORKER_ROWS;
            assert_in_range(at, 0, commits - 1);
            assert_int_equal(0, seen[at]++);
        }
    }
    assert_int_equal(commits, rows);
    free(seen);
}

#define SCHEMA(keys, options)                                                                                                        \
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"worker\",\"type\":\"INT NOT NULL\"}],\"partitionKeys\":[]," \
    "\"primaryKeys\":[" keys "],\"options\":{\"commit.max-retries\":\"1000\",\"commit.min-retry-wait\":\"1 ms\","                     \
    "\"commit.max-retry-wait\":\"20 ms\"" options "}}"

static void race(int workers, bool keyed)
{
    const char *schema = keyed ? SCHEMA("\"id\"", ",\"bucket\":\"1\"") : SCHEMA("", "");
    int64_t each = commits_wanted() / workers;
    pid_t pids[WORKERS_MAX];
    bool good = true;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = NULL;
    const char *path = test_path(t, "raced");
    must_ok(pml_table_create(&table, t->env, path, schema, strlen(schema), 0, &err), &err);

    for (int w = 0; w < workers; w++)
        pids[w] = worker_start(path, w, each);
    for (int w = 0; w < workers; w++)
        good = worker_wait(pids[w]) && good;
    assert_true(good);

    must_have_each_snapshot_once(table, workers, each * workers);
    must_have_each_row_once(table, workers, each * workers);
    pml_table_release(table);
    test_env_close(t);
}

static void commits_of_two_processes_are_all_there(void **state)
{
    (void)state;
    race(2, false);
}

static void commits_of_four_processes_are_all_there(void **state)
{
    (void)state;
    race(4, false);
}

/* All in one bucket: files of level 0 over the same keys, which a reader merges. */
static void commits_of_three_processes_with_a_primary_key_are_all_there(void **state)
{
    (void)state;
    race(3, true);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "worker") == 0)
        return worker_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_of_two_processes_are_all_there),
        cmocka_unit_test(commits_of_four_processes_are_all_there),
        cmocka_unit_test(commits_of_three_processes_with_a_primary_key_are_all_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
