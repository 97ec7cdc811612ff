/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/durable_dirs.h"
#include "storage/file_io.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/sim_fs.h"
#include "support/test_env.h"

enum { RACE_ROUNDS = 500, RACERS = 2, CRASH_SEEDS = 40, CONTENT = 3000 };

/* What a racer writes: long enough that a mix of two would show. */
static void fill(char *p, char who)
{
    memset(p, who, CONTENT);
}

/* 'a'.. for intact content of that writer, 0: absent, '?': damaged. */
static char content_of(pml_env *env, const char *path)
{
    char expected[CONTENT];
    uint8_t *data;
    size_t n;
    int rc = pml_file__read_all(&data, &n, env, path, 1 << 20, NULL);
    if (rc == PML_E_NOT_FOUND)
        return 0;
    char who = '?';
    if (rc == PML_OK && n == CONTENT) {
        fill(expected, (char)data[0]);
        who = memcmp(expected, data, n) == 0 ? (char)data[0] : '?';
    }
    pml_env__free(env, data);
    return who;
}

static int publish_as(pml_env *env, const char *path, char who, uint32_t flags, pml_error *err)
{
    char bytes[CONTENT];
    fill(bytes, who);
    return pml_file__publish(env, path, bytes, sizeof bytes, flags, err);
}

static int count_name(void *arg, const char *name, uint32_t kind)
{
    (void)name, (void)kind;
    ++*(int *)arg;
    return PML_OK;
}

static int names_in(pml_env *env, const char *dir)
{
    int n = 0;
    int rc = env->fs.list(env->fs.ctx, dir, count_name, &n, NULL);
    assert_true(rc == PML_OK || rc == PML_E_NOT_FOUND);
    return n;
}

static void publish_makes_the_directory_and_leaves_only_the_file(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    must_ok(publish_as(t->env, test_path(t, "x/y/7"), 'a', 0, &err), &err);
    assert_int_equal(content_of(t->env, test_path(t, "x/y/7")), 'a');
    assert_int_equal(names_in(t->env, test_path(t, "x/y")), 1);
    test_env_close(t);
}

static void publish_of_a_taken_name_changes_nothing(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    must_ok(publish_as(t->env, test_path(t, "7"), 'a', 0, &err), &err);
    must_fail_with(PML_E_EXISTS, publish_as(t->env, test_path(t, "7"), 'b', 0, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    must_fail_with(PML_E_EXISTS, publish_as(t->env, test_path(t, "7"), 'b', 0, NULL), NULL);
    assert_int_equal(content_of(t->env, test_path(t, "7")), 'a');
    assert_int_equal(names_in(t->env, t->dir), 1);
    test_env_close(t);
}

static void publish_of_an_empty_file_works(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_file_info info;
    must_ok(pml_file__publish(t->env, test_path(t, "7"), "", 0, 0, &err), &err);
    must_ok(t->env->fs.stat(t->env->fs.ctx, &info, test_path(t, "7"), &err), &err);
    assert_int_equal(info.size_bytes, 0);
    test_env_close(t);
}

/* ---- truth under failures ---------------------------------------------------------------------------------------- */

typedef struct fault_case {
    fault_mode mode;
    int code;
    uint32_t flags;
    bool taken;       /* the name exists before */
    const char *path; /* its directory exists for "/t/7" only */
} fault_case;

/* Whether the answer agrees with what a look at the disk finds. */
static void check_truth(const fault_case *c, int rc, const pml_error *err, char found, int rubbish, bool remove_failed)
{
    char before = c->taken ? 'o' : 0;
    if (rc == PML_OK) {
        assert_int_equal(found, 'a');
    } else if (rc == PML_E_UNKNOWN_OUTCOME) {
        assert_int_equal(err->flags & PML_ERRF_NO_EFFECT, 0);
        assert_true(found == before || found == 'a');
    } else {
        assert_true((err->flags & PML_ERRF_NO_EFFECT) != 0);
        assert_int_equal(found, before);
        assert_true(rc == PML_E_EXISTS ? c->taken : rc == c->code);
    }
    if (rc != PML_E_UNKNOWN_OUTCOME && !remove_failed)
        assert_int_equal(rubbish, 0);
}

static bool publish_with_failure_at(const fault_case *c, long long n)
{
    sim_fs *sim = sim_fs_new();
    faulty_fs f;
    faulty_fs_init(&f, sim_fs_system(sim));
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__make_directories(t->env, "/t", &err), &err);
    if (c->taken)
        must_ok(publish_as(t->env, c->path, 'o', 0, &err), &err);
    faulty_fs_reset(&f);
    faulty_fs_fail_at(&f, n, c->mode, c->code, c->flags);
    pml_error__clear(&err);
    int rc = publish_as(t->env, c->path, 'a', 0, &err);
    bool failed = faulty_fs_failures(&f) > 0;
    /* The operation that failed was the last of the run and a removal: what is left behind is its doing. */
    bool remove_failed = failed && faulty_fs_count(&f, FS_OP_ALL) == n && faulty_fs_count(&f, FS_OP(FS_OP_REMOVE_FILE)) > 0;
    faulty_fs_reset(&f);
    char *dir = pml_file__parent(t->env, c->path);
    char found = content_of(t->env, c->path);
    check_truth(c, rc, &err, found, names_in(t->env, dir) - (found != 0), remove_failed);
    pml_env__free(t->env, dir);
    test_env_close(t);
    faulty_fs_destroy(&f);
    sim_fs_free(sim);
    return failed;
}

static void publish_tells_the_truth_whatever_operation_fails(void **state)
{
    (void)state;
    const fault_case cases[] = {
        {FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT, false, "/t/7"},  {FAULT_BEFORE, PML_E_IO, 0, false, "/t/7"},
        {FAULT_AFTER, PML_E_IO, 0, false, "/t/7"},                    {FAULT_AFTER, PML_E_NO_SPACE, 0, false, "/t/7"},
        {FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT, true, "/t/7"},   {FAULT_BEFORE, PML_E_IO, 0, true, "/t/7"},
        {FAULT_AFTER, PML_E_IO, 0, true, "/t/7"},                     {FAULT_BEFORE, PML_E_IO, 0, false, "/t/x/y/7"},
        {FAULT_AFTER, PML_E_IO, 0, false, "/t/x/y/7"},                {FAULT_BEFORE, PML_E_NOMEM, 0, true, "/t/x/y/7"},
        {FAULT_AFTER, PML_E_TIMEOUT, 0, false, "/t/7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        long long n = 1;
        while (publish_with_failure_at(&cases[i], n))
            n++;
        assert_true(n > (cases[i].taken ? 6 : 7)); /* create, write, sync, close, publish, [sync directory,] remove */
    }
}

static void publish_whose_last_step_lost_its_answer_is_unknown_and_deletes_nothing(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_PUBLISH));
    faulty_fs_fail_at(&f, 1, FAULT_AFTER, PML_E_IO, 0);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, publish_as(t->env, test_path(t, "7"), 'a', 0, &err), &err);
    assert_non_null(strstr(err.message, "injected failure"));
    faulty_fs_fail_at(&f, 1, FAULT_AFTER, PML_E_IO, 0);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, publish_as(t->env, test_path(t, "8"), 'b', 0, NULL), NULL);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_REMOVE_FILE)), 0);
    assert_int_equal(content_of(t->env, test_path(t, "7")), 'a');
    assert_int_equal(content_of(t->env, test_path(t, "8")), 'b');
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static void publish_whose_directory_sync_failed_is_unknown(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(&f, 1, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
    must_fail_with(PML_E_IO, publish_as(t->env, test_path(t, "7"), 'a', 0, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0); /* of the directory's own name, before anything else */
    faulty_fs_reset(&f);
    must_ok(publish_as(t->env, test_path(t, "6"), 'a', 0, &err), &err);
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(&f, 1, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
    must_fail_with(PML_E_UNKNOWN_OUTCOME, publish_as(t->env, test_path(t, "7"), 'a', 0, &err), &err);
    assert_int_equal(err.flags & PML_ERRF_NO_EFFECT, 0);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static void publish_whose_temporary_name_is_always_taken_does_not_say_exists(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_CREATE));
    faulty_fs_fail_at(&f, 1, FAULT_BEFORE, PML_E_EXISTS, PML_ERRF_NO_EFFECT);
    faulty_fs_fail_sticky(&f);
    must_fail_with(PML_E_IO, publish_as(t->env, test_path(t, "7"), 'a', 0, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_CREATE)), 8);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_REMOVE_FILE)), 0); /* they are somebody else's */
    test_env_close(t);
    faulty_fs_destroy(&f);
}

static void publish_out_of_memory_has_no_effect(void **state)
{
    (void)state;
    const char *paths[] = {"7", "d/e/7"};
    for (size_t i = 0; i < 2; i++) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        int rc = PML_E_NOMEM;
        long long n = 0;
        while (rc != PML_OK) {
            assert_int_equal(content_of(t->env, test_path(t, paths[i])), 0);
            test_env_fail_at(t, ++n);
            rc = publish_as(t->env, test_path(t, paths[i]), 'a', 0, &err);
            test_env_fail_at(t, 0);
            assert_true(rc == PML_OK || (rc == PML_E_NOMEM && (err.flags & PML_ERRF_NO_EFFECT) != 0));
        }
        assert_true(n > 2);
        assert_int_equal(content_of(t->env, test_path(t, paths[i])), 'a');
        test_env_close(t);
    }
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

typedef struct race {
    pthread_barrier_t barrier;
    int rc[RACE_ROUNDS][RACERS];
    uint32_t flags[RACE_ROUNDS][RACERS];
} race;

typedef struct racer {
    race *race;
    pml_env *env;
    const char *dir;
    int who;
} racer;

static void race_path(char out[512], const char *dir, int round)
{
    (void)snprintf(out, 512, "%s/numbered-%d", dir, round);
}

static void *run_racer(void *arg)
{
    racer *r = arg;
    char path[512];
    for (int round = 0; round < RACE_ROUNDS; round++) {
        pml_error err = PML_ERROR_INIT;
        race_path(path, r->dir, round);
        (void)pthread_barrier_wait(&r->race->barrier);
        /* Without syncs: they only make the race slower, and rarer. */
        r->race->rc[round][r->who] = publish_as(r->env, path, (char)('a' + r->who), PML_WRITE_NO_SYNC, &err);
        r->race->flags[round][r->who] = err.flags;
    }
    return NULL;
}

static race *race_new(void)
{
    pthread_barrierattr_t attr;
    race *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(r != MAP_FAILED);
    assert_int_equal(pthread_barrierattr_init(&attr), 0);
    assert_int_equal(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
    assert_int_equal(pthread_barrier_init(&r->barrier, &attr, RACERS), 0);
    (void)pthread_barrierattr_destroy(&attr);
    return r;
}

static void race_check(race *r, test_env *t)
{
    int wins[RACERS] = {0};
    char path[512];
    for (int round = 0; round < RACE_ROUNDS; round++) {
        int winner = r->rc[round][0] == PML_OK ? 0 : 1;
        assert_int_equal(r->rc[round][winner], PML_OK);
        assert_int_equal(r->rc[round][1 - winner], PML_E_EXISTS);
        assert_true((r->flags[round][1 - winner] & PML_ERRF_NO_EFFECT) != 0);
        race_path(path, t->dir, round);
        assert_int_equal(content_of(t->env, path), 'a' + winner);
        wins[winner]++;
    }
    assert_int_equal(names_in(t->env, t->dir), RACE_ROUNDS);
    print_message("wins: %d, %d\n", wins[0], wins[1]);
    assert_int_equal(munmap(r, sizeof *r), 0);
}

static _Noreturn void race_child(racer *r)
{
    pml_env *env;
    (void)alarm(120); /* the other one may have died: never wait for ever */
    /* Real randomness: the seeded one of the parent would give both children the same temporary names. */
    if (pml_env_new(&env, NULL, NULL) != PML_OK)
        _exit(2);
    r->env = env;
    (void)run_racer(r);
    pml_env_release(env);
    _exit(0);
}

static void publish_by_two_processes_has_exactly_one_winner(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    race *r = race_new();
    pid_t pids[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racer child = {r, NULL, t->dir, i};
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            race_child(&child);
    }
    for (int i = 0; i < RACERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    race_check(r, t);
    test_env_close(t);
}

static void publish_by_two_threads_has_exactly_one_winner(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    race *r = race_new();
    pml_env *env;
    racer racers[RACERS];
    pml_thread threads[RACERS];
    must_ok(pml_env_new(&env, NULL, NULL), NULL);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){r, env, t->dir, i};
        assert_int_equal(pml_thread__start(&threads[i], run_racer, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++)
        pml_thread__join(&threads[i]);
    pml_env_release(env);
    race_check(r, t);
    test_env_close(t);
}

typedef struct rival {
    pml_env *env;
    const char *path;
} rival;

static void rival_publishes(void *arg, int kind, const char *path)
{
    rival *r = arg;
    (void)kind, (void)path;
    must_ok(publish_as(r->env, r->path, 'r', 0, NULL), NULL);
}

static void publish_overtaken_just_before_its_last_step_loses_for_certain(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs), *other = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    /* Both draw the same random names, as their seeds are the same: the one that comes second must cope. */
    rival r = {other->env, test_path(t, "7")};
    faulty_fs_call_at(&f, 1, FS_OP(FS_OP_PUBLISH), rival_publishes, &r);
    must_fail_with(PML_E_EXISTS, publish_as(t->env, r.path, 'a', 0, &err), &err);
    assert_int_equal(content_of(t->env, r.path), 'r');
    test_env_close(other);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

/* ---- power cuts -------------------------------------------------------------------------------------------------- */

typedef int (*write_fn)(pml_env *env, const char *path, pml_error *err);

typedef struct crash_result {
    int rc;
    bool crashed;
    char found;
} crash_result;

static crash_result crash_run(write_fn fn, const char *path, long long n, uint64_t seed)
{
    crash_result r;
    sim_fs *sim = sim_fs_new();
    test_env *t = test_env_open(sim_fs_system(sim));
    must_ok(pml_file__make_directories(t->env, "/t", NULL), NULL);
    sim_fs_crash_at(sim, n);
    r.rc = fn(t->env, path, NULL);
    r.crashed = sim_fs_is_down(sim);
    sim_fs_restart(sim, seed);
    r.found = content_of(t->env, path);
    test_env_close(t);
    sim_fs_free(sim);
    return r;
}

static int write_by_publish(pml_env *env, const char *path, pml_error *err)
{
    return publish_as(env, path, 'a', 0, err);
}

static int write_by_write_new(pml_env *env, const char *path, pml_error *err)
{
    char bytes[CONTENT];
    fill(bytes, 'a');
    return pml_file__write_new(env, path, bytes, sizeof bytes, 0, err);
}

static int write_by_output(pml_env *env, const char *path, pml_error *err)
{
    char bytes[CONTENT];
    pml_output *o;
    fill(bytes, 'a');
    PML_RETURN_IF(pml_output__create(&o, env, path, err));
    for (int i = 0; i < CONTENT; i += CONTENT / 3)
        (void)pml_output__append(o, bytes + i, CONTENT / 3);
    return pml_output__finish(o, 0, err);
}

static int write_by_careless_publish(pml_env *env, const char *path, pml_error *err)
{
    return publish_as(env, path, 'a', PML_WRITE_NO_SYNC, err);
}

/* Runs through all crash points; *lost counts runs that answered OK before the crash and have no intact file after it. */
static void crash_everywhere(write_fn fn, const char *path, bool all_or_nothing, int *lost)
{
    uint64_t first = test_seed();
    bool crashed = true;
    *lost = 0;
    for (long long n = 0; crashed; n++) {
        for (uint64_t i = 0; i < CRASH_SEEDS; i++) {
            crash_result r = crash_run(fn, path, n, i < 2 ? i : first + i);
            crashed = r.crashed;
            if (r.rc == PML_OK && r.found != 'a')
                ++*lost;
            if (all_or_nothing)
                assert_true(r.found == 0 || r.found == 'a');
        }
    }
}

/* The n-th sync of a directory fails and the write with it; the same again succeeds; then the power goes. */
static bool written_after_a_failed_sync(write_fn fn, long long n, uint64_t seed)
{
    static const char path[] = "/t/p=1/bucket-0/data-1";
    sim_fs *sim = sim_fs_new();
    faulty_fs f;
    faulty_fs_init(&f, sim_fs_system(sim));
    test_env *t = test_env_open(&f.fs);
    must_ok(pml_file__make_directories(t->env, "/t", NULL), NULL);
    faulty_fs_reset(&f);
    faulty_fs_fail_kinds(&f, FS_OP(FS_OP_SYNC_DIRECTORY));
    faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, 0);
    int rc = fn(t->env, path, NULL);
    bool failed = faulty_fs_failures(&f) > 0;
    faulty_fs_reset(&f);
    assert_int_equal(rc == PML_OK, !failed);
    if (failed)
        must_ok(fn(t->env, path, NULL), NULL);
    sim_fs_crash(sim, seed);
    sim_fs_restart(sim, seed);
    assert_int_equal(content_of(t->env, path), 'a');
    test_env_close(t);
    faulty_fs_destroy(&f);
    sim_fs_free(sim);
    return failed;
}

static void files_in_directories_that_could_not_be_synced_at_first_survive(void **state)
{
    static const write_fn writes[] = {write_by_write_new, write_by_output};
    (void)state;
    for (size_t w = 0; w < 2; w++) {
        for (uint64_t seed = 0; seed < CRASH_SEEDS; seed++) {
            long long n = 1;
            while (written_after_a_failed_sync(writes[w], n, seed))
                n++;
            assert_int_equal(n, 4); /* those of /t, of the partition's and of the bucket's directory */
        }
    }
}

/* Directories that a process made and was killed before it synced them: their names, and all below, are gone by a power cut unless whoever
   uses them next syncs them. Later files cost nothing. */
static void files_in_directories_that_a_killed_process_left_survive(void **state)
{
    static const write_fn writes[] = {write_by_write_new, write_by_output, write_by_publish};
    static const char *const left[] = {"/w", "/w/t", "/w/t/p=1", "/w/t/p=1/bucket-0"};
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        for (uint64_t seed = 0; seed < CRASH_SEEDS; seed++) {
            sim_fs *sim = sim_fs_new();
            faulty_fs f;
            faulty_fs_init(&f, sim_fs_system(sim));
            test_env *t = test_env_open(&f.fs);
            for (size_t i = 0; i < 4; i++)
                must_ok(f.fs.make_directory(f.fs.ctx, left[i], NULL), NULL);
            must_ok(writes[w](t->env, "/w/t/p=1/bucket-0/1", NULL), NULL);
            faulty_fs_reset(&f);
            must_ok(writes[w](t->env, "/w/t/p=1/bucket-0/2", NULL), NULL);
            assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), 1);
            must_ok(f.fs.make_directory(f.fs.ctx, "/w/t/p=2", NULL), NULL);
            faulty_fs_reset(&f);
            must_ok(writes[w](t->env, "/w/t/p=2/3", NULL), NULL);
            assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), 2);
            sim_fs_crash(sim, seed);
            sim_fs_restart(sim, seed);
            assert_int_equal(content_of(t->env, "/w/t/p=1/bucket-0/1"), 'a');
            assert_int_equal(content_of(t->env, "/w/t/p=1/bucket-0/2"), 'a');
            assert_int_equal(content_of(t->env, "/w/t/p=2/3"), 'a');
            test_env_close(t);
            faulty_fs_destroy(&f);
            sim_fs_free(sim);
        }
    }
}

static char synced[200];

static int note_sync(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    (void)err;
    (void)snprintf(synced + strlen(synced), sizeof synced - strlen(synced), "%s ", path);
    return PML_OK;
}

static void must_sync(test_env *t, const char *dir, const char *expected)
{
    pml_error err = PML_ERROR_INIT;
    synced[0] = '\0';
    must_ok(pml_durable_dirs__ensure(t->env, dir, &err), &err);
    assert_string_equal(synced, expected);
}

/* The working directory holds the first name of a relative path. */
static void names_of_relative_paths_are_synced_up_to_the_working_directory(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->env->fs.sync_directory = note_sync;
    must_sync(t, "w/t/m", "w/t w . ");
    must_sync(t, "w/t/m", "");
    must_sync(t, "w/u//", "w ");
    must_sync(t, "alone", ". ");
    must_sync(t, "alone", "");
    must_sync(t, ".", "");
    must_sync(t, "./x/y", "./x . ");
    must_sync(t, "../x", ".. ");
    must_sync(t, "s3://bucket", "");
    must_sync(t, "s3://bucket/t", "s3://bucket ");
    pml_durable_dirs__made(t->env, "fresh/");
    pml_durable_dirs__made(t->env, "fresh/t");
    must_sync(t, "fresh/t/m", "fresh/t ");
    test_env_close(t);
}

static int sync_of_a_directory_that_may_not_be_opened(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    return pml_error__from_errno(err, EACCES, path, "open the directory");
}

/* What is known of a table's directories ends where somebody else's begin, and where they may not be opened. */
static void the_way_up_ends_above_the_table_and_where_nothing_may_be_opened(void **state)
{
    (void)state;
    sim_fs *sim = sim_fs_new();
    faulty_fs f;
    faulty_fs_init(&f, sim_fs_system(sim));
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__make_directories(t->env, "/a/b/c/d/t/m", NULL), NULL);
    pml_durable_dirs__forget(t->env);
    pml_durable_dirs__table(t->env, "/a/b/c/d/t/");
    faulty_fs_reset(&f);
    must_ok(pml_durable_dirs__ensure(t->env, "/a/b/c/d/t/m/", &err), &err);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), 3); /* t, d, c */
    must_ok(pml_durable_dirs__ensure(t->env, "/a/b/c/d/t/m", &err), &err);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), 3);
    must_ok(pml_durable_dirs__ensure(t->env, "s3://bucket", &err), &err);
    assert_int_equal(faulty_fs_count(&f, FS_OP(FS_OP_SYNC_DIRECTORY)), 3);
    pml_durable_dirs__forget(t->env);
    t->env->fs.sync_directory = sync_of_a_directory_that_may_not_be_opened;
    must_ok(pml_durable_dirs__ensure(t->env, "/a/b/c/d/t/m", &err), &err);
    t->env->fs = f.fs;
    pml_durable_dirs__forget(t->env);
    for (long long n = 1;; n++) { /* without memory it syncs, or says so */
        test_env_fail_at(t, n);
        int rc = pml_durable_dirs__ensure(t->env, "/a/b/c/d/t/m", &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        pml_durable_dirs__forget(t->env);
        assert_true(rc == PML_OK || (reached && rc == PML_E_NOMEM));
        if (!reached)
            break;
    }
    test_env_close(t);
    faulty_fs_destroy(&f);
    sim_fs_free(sim);
}

static void publish_cut_off_at_any_point_leaves_all_or_nothing(void **state)
{
    (void)state;
    int lost;
    crash_everywhere(write_by_publish, "/t/7", true, &lost);
    assert_int_equal(lost, 0);
    crash_everywhere(write_by_publish, "/t/new/deep/7", true, &lost);
    assert_int_equal(lost, 0);
}

static void write_new_that_answered_ok_survives_every_power_cut(void **state)
{
    (void)state;
    int lost;
    crash_everywhere(write_by_write_new, "/t/7", false, &lost);
    assert_int_equal(lost, 0);
    crash_everywhere(write_by_write_new, "/t/new/deep/7", false, &lost);
    assert_int_equal(lost, 0);
    crash_everywhere(write_by_output, "/t/new/7", false, &lost);
    assert_int_equal(lost, 0);
}

/* The test of the two tests above: without the syncs they would fail. */
static void publish_without_sync_is_lost_by_some_power_cut(void **state)
{
    (void)state;
    int lost;
    crash_everywhere(write_by_careless_publish, "/t/7", false, &lost);
    assert_true(lost > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: forks while there is one thread. */
        cmocka_unit_test(publish_by_two_processes_has_exactly_one_winner),
        cmocka_unit_test(publish_makes_the_directory_and_leaves_only_the_file),
        cmocka_unit_test(publish_of_a_taken_name_changes_nothing),
        cmocka_unit_test(publish_of_an_empty_file_works),
        cmocka_unit_test(publish_tells_the_truth_whatever_operation_fails),
        cmocka_unit_test(publish_whose_last_step_lost_its_answer_is_unknown_and_deletes_nothing),
        cmocka_unit_test(publish_whose_directory_sync_failed_is_unknown),
        cmocka_unit_test(publish_whose_temporary_name_is_always_taken_does_not_say_exists),
        cmocka_unit_test(publish_out_of_memory_has_no_effect),
        cmocka_unit_test(publish_by_two_threads_has_exactly_one_winner),
        cmocka_unit_test(publish_overtaken_just_before_its_last_step_loses_for_certain),
        cmocka_unit_test(files_in_directories_that_could_not_be_synced_at_first_survive),
        cmocka_unit_test(files_in_directories_that_a_killed_process_left_survive),
        cmocka_unit_test(names_of_relative_paths_are_synced_up_to_the_working_directory),
        cmocka_unit_test(the_way_up_ends_above_the_table_and_where_nothing_may_be_opened),
        cmocka_unit_test(publish_cut_off_at_any_point_leaves_all_or_nothing),
        cmocka_unit_test(write_new_that_answered_ok_survives_every_power_cut),
        cmocka_unit_test(publish_without_sync_is_lost_by_some_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
