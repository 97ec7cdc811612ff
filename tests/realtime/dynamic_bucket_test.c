/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 71: in a live table with dynamic buckets a key stays in its bucket across memory, commit and restart, also where batch writers add keys
 * between; what a key has is what was written last; and of a live and a batch writer that add keys at once the second is refused.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <paimonlive/realtime.h>

#include "support/faulty_fs.h"
#include "support/keyed_kit.h"
#include "support/rows_kit.h"
#include "support/rt_kit.h"

#define LIVE "\"bucket\":\"-1\",\"realtime.enabled\":\"true\",\"dynamic-bucket.target-row-num\":\"3\""

enum { KEYS = 60, PARTITIONS = 2 };

typedef struct key {
    int32_t bucket; /* -1: not seen yet */
    int64_t n, committed_n; /* KEYED_NULL: none */
} key;

typedef struct world {
    test_env *t;
    table_kit k;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    pml_commit *commit;
    key keys[PARTITIONS][KEYS];
    int64_t identifier, next_n;
} world;

static void live_open(world *w)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_context_open(&w->ctx, w->t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->w, w->k.table, w->ctx, NULL, &err), &err);
}

static void world_open_on(world *w, const pml_file_system *fs, const char *options)
{
    pml_error err = PML_ERROR_INIT;
    memset(w, 0, sizeof *w);
    w->t = test_env_open(fs);
    w->t->random_state = test_seed();
    keyed_create(&w->k, w->t, test_path(w->t, "t"), true, options);
    must_ok(pml_commit_open(&w->commit, w->k.table, "live", &err), &err);
    for (int p = 0; p < PARTITIONS; p++)
        for (int i = 0; i < KEYS; i++)
            w->keys[p][i] = (key){.bucket = -1, .n = KEYED_NULL, .committed_n = KEYED_NULL};
    live_open(w);
}

static void world_open(world *w, const char *options)
{
    world_open_on(w, NULL, options);
}

static void live_close(world *w)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_writer_close(w->w, &err), &err);
    pml_rt_context_close(w->ctx);
}

static void world_close(world *w)
{
    pml_commit_close(w->commit);
    table_kit_close(&w->k);
    test_env_close(w->t);
}

static int try_write(world *w, pml_rt_write_result *r, const keyed_row *rows, size_t n, pml_error *err)
{
    struct ArrowArray batch;
    struct ArrowSchema schema;
    long long fail_at = w->t->fail_at, count = atomic_load(&w->t->count);
    w->t->fail_at = 0; /* not while the input is made */
    keyed_batch(&batch, &w->k, rows, n, KEYED_ALL_INSERTS);
    keyed_schema(&schema, &w->k, KEYED_ALL_INSERTS);
    atomic_store(&w->t->count, count);
    w->t->fail_at = fail_at;
    int rc = pml_rt_write(r, w->w, &batch, &schema, NULL, err);
    pml_array__release(&batch);
    pml_schema__release(&schema);
    return rc;
}

/* A row by itself says its bucket. */
static void write_one(world *w, int64_t p, int64_t id)
{
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    key *k = &w->keys[p][id];
    k->n = w->next_n++;
    const keyed_row row = {.id = id, .p = p, .n = k->n, .s = 1, .v = 1};
    must_ok(try_write(w, &r, &row, 1, &err), &err);
    assert_int_equal(r.n_pbs, 1);
    if (k->bucket >= 0)
        assert_int_equal(r.bucket[0], k->bucket);
    k->bucket = r.bucket[0];
}

static void write_some(world *w)
{
    for (uint64_t i = 0; i < 6; i++)
        write_one(w, (int64_t)(test_random(w->t) % PARTITIONS), (int64_t)(test_random(w->t) % KEYS));
    keyed_row rows[8];
    pml_error err = PML_ERROR_INIT;
    for (int i = 0; i < 8; i++) {
        rows[i] = (keyed_row){.id = (int64_t)(test_random(w->t) % KEYS), .p = i % PARTITIONS, .n = w->next_n, .s = 1, .v = 1};
        w->keys[rows[i].p][rows[i].id].n = w->next_n++;
    }
    must_ok(try_write(w, NULL, rows, 8, &err), &err);
    for (int i = 0; i < 8; i++)
        write_one(w, rows[i].p, rows[i].id); /* where are they? */
}

static pml_rt_prepared *prepared(world *w)
{
    pml_rt_prepared *p;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_prepare(&p, w->w, ++w->identifier, NULL, &err), &err);
    return p;
}

static int try_commit(world *w, pml_rt_prepared *p, pml_error *err)
{
    size_t n;
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
    return n == 0 ? PML_OK : pml_rt_commit(NULL, w->commit, entries, n, w->identifier, NULL, err);
}

static void give_up(world *w, pml_rt_prepared *p)
{
    size_t n;
    pml_error err = PML_ERROR_INIT;
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
    if (n > 0)
        must_ok(pml_rt_progress_abort(w->commit, entries, n, &err), &err);
    pml_rt_prepared_free(p);
}

/* Everything that was written so far is in the table then. */
static void commit_all(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p = prepared(w);
    if (test_random(w->t) % 3 == 0) {
        give_up(w, p);
        p = prepared(w);
    }
    must_ok(try_commit(w, p, &err), &err);
    pml_rt_prepared_free(p);
    for (int i = 0; i < PARTITIONS * KEYS; i++)
        (&w->keys[0][0])[i].committed_n = (&w->keys[0][0])[i].n;
}

/* Keys that no snapshot has may be anywhere afterwards. */
static void crash(world *w)
{
    pml_rt_writer_abort(w->w);
    pml_rt_context_close(w->ctx);
    for (int i = 0; i < PARTITIONS * KEYS; i++) {
        key *k = &(&w->keys[0][0])[i];
        k->n = k->committed_n;
        k->bucket = k->n == KEYED_NULL ? -1 : k->bucket;
    }
    live_open(w);
}

static void batch_between(world *w)
{
    keyed_row rows[5];
    live_close(w);
    for (int i = 0; i < 5; i++) {
        rows[i] = (keyed_row){.id = (int64_t)(test_random(w->t) % KEYS), .p = i % PARTITIONS, .n = w->next_n, .s = 1, .v = 1};
        w->keys[rows[i].p][rows[i].id].n = w->keys[rows[i].p][rows[i].id].committed_n = w->next_n++;
    }
    keyed_upsert(&w->k, rows, 5);
    live_open(w);
}

static void must_show(world *w, bool live)
{
    size_t n = 0, want = 0;
    struct ArrowArray batch = {0};
    struct ArrowArrayStream s = rows_open(rows_plan(w->k.table, live ? w->ctx : NULL, NULL));
    while (rows_next(&s, &batch)) {
        for (int64_t i = 0; i < batch.length; i++, n++) {
            const struct ArrowArray *id = batch.children[0], *p = batch.children[1], *v = batch.children[2];
            const key *k = &w->keys[((const int32_t *)p->buffers[1])[batch.offset + p->offset + i]][((const int64_t *)id->buffers[1])[batch.offset + id->offset + i]];
            assert_int_equal(((const int32_t *)v->buffers[1])[batch.offset + v->offset + i], live ? k->n : k->committed_n);
        }
    }
    for (int i = 0; i < PARTITIONS * KEYS; i++)
        want += (live ? (&w->keys[0][0])[i].n : (&w->keys[0][0])[i].committed_n) != KEYED_NULL;
    assert_int_equal(n, want);
}

static void keys_stay_in_their_bucket(void **state)
{
    (void)state;
    int64_t rounds = test_setting("ROUNDS", 3, 1, 100000);
    for (int64_t round = 0; round < rounds; round++) {
        world w;
        world_open(&w, round % 2 == 0 ? LIVE : LIVE ",\"dynamic-bucket.max-buckets\":\"4\"");
        w.t->random_state += (uint64_t)round;
        for (int step = 0; step < 25; step++) {
            uint64_t dice = test_random(w.t) % 10;
            if (dice < 5)
                write_some(&w);
            else if (dice < 8)
                commit_all(&w);
            else if (dice == 8)
                crash(&w);
            else {
                commit_all(&w);
                batch_between(&w);
            }
            must_show(&w, true);
            must_show(&w, false);
        }
        commit_all(&w);
        must_show(&w, false);
        live_close(&w);
        world_close(&w);
    }
}

/* Two that add keys at once. What was refused is written again by a new context. */
static void keys_that_a_batch_writer_added_meanwhile_are_a_conflict(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    keyed_row row = {.id = 7, .p = 0, .n = 1000, .s = 1, .v = 1};
    world_open(&w, LIVE);
    write_one(&w, 0, 1);
    commit_all(&w);
    write_one(&w, 0, 2);
    write_one(&w, 1, 3);
    keyed_upsert(&w.k, &row, 1);
    w.keys[0][7].n = w.keys[0][7].committed_n = 1000;
    pml_rt_prepared *p = prepared(&w);
    must_fail_with(PML_E_CONFLICT, try_commit(&w, p, &err), &err);
    give_up(&w, p);
    crash(&w);
    must_show(&w, true);
    write_one(&w, 0, 2);
    write_one(&w, 1, 3);
    commit_all(&w);
    must_show(&w, false);
    live_close(&w);
    world_close(&w);
}

static void a_bucket_cannot_be_named(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray batch;
    struct ArrowSchema schema;
    const char *partition = "0";
    pml_rt_pb pb = PML_RT_PB_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    keyed_row row = {.id = 7, .p = 0, .n = 1, .s = 1, .v = 1};
    world_open(&w, LIVE);
    pb.n_partition = 1;
    pb.partition = &partition;
    o.pb = &pb;
    keyed_batch(&batch, &w.k, &row, 1, KEYED_ALL_INSERTS);
    keyed_schema(&schema, &w.k, KEYED_ALL_INSERTS);
    must_fail_with(PML_E_INVAL, pml_rt_write(NULL, w.w, &batch, &schema, &o, &err), &err);
    assert_non_null(strstr(err.message, "dynamic"));
    pml_array__release(&batch);
    pml_schema__release(&schema);
    live_close(&w);
    world_close(&w);
}

/* Entries of one prepare in several commits, in any order; keys that another adds between them are a conflict for the others. */
static void entries_of_one_prepare_may_be_committed_one_by_one(void **state)
{
    (void)state;
    for (int stranger = 0; stranger < 2; stranger++) {
        world w;
        pml_error err = PML_ERROR_INIT;
        size_t n;
        world_open(&w, LIVE);
        for (int64_t i = 0; i < 5; i++)
            write_one(&w, 0, i);
        commit_all(&w);
        for (int64_t i = 0; i < 11; i++) /* bucket 0 gets no new key, 1 gets one, 2 and 3 are new */
            write_one(&w, 0, i);
        write_one(&w, 1, 3);
        pml_rt_prepared *p = prepared(&w);
        const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
        assert_int_equal(n, 5);
        static const size_t order[] = {2, 4, 0, 3, 1};
        for (size_t i = 0; i < n; i++) {
            keyed_row row = {.id = 13, .p = 0, .n = 1000, .s = 1, .v = 1};
            if (stranger && i == 2)
                keyed_upsert(&w.k, &row, 1);
            int rc = pml_rt_commit(NULL, w.commit, &entries[order[i]], 1, w.identifier, NULL, &err);
            if (stranger && i >= 2)
                must_fail_with(PML_E_CONFLICT, rc, &err);
            else
                must_ok(rc, &err);
        }
        for (int i = 0; !stranger && i < PARTITIONS * KEYS; i++)
            (&w.keys[0][0])[i].committed_n = (&w.keys[0][0])[i].n;
        pml_rt_prepared_free(p);
        if (!stranger) {
            must_show(&w, false);
            write_one(&w, 0, 10);
            write_one(&w, 0, 11);
            commit_all(&w);
            must_show(&w, true);
        }
        live_close(&w);
        world_close(&w);
    }
}

/* Keys that were prepared and given up are new again: the next prepare has them. */
static void keys_of_an_aborted_prepare_are_in_the_next(void **state)
{
    (void)state;
    world w;
    world_open(&w, LIVE);
    for (int64_t i = 0; i < 8; i++)
        write_one(&w, 0, i);
    give_up(&w, prepared(&w));
    give_up(&w, prepared(&w));
    commit_all(&w);
    for (int64_t i = 4; i < 12; i++)
        write_one(&w, 0, i);
    give_up(&w, prepared(&w));
    commit_all(&w);
    live_close(&w);
    live_open(&w);
    for (int64_t i = 0; i < 14; i++)
        write_one(&w, 0, i);
    commit_all(&w);
    must_show(&w, false);
    live_close(&w);
    world_close(&w);
}

/* ---- while index files are read and written ---- */

typedef struct meanwhile {
    world *w;
    faulty_fs *f;
    uint32_t kinds;
    int64_t p, id; /* a key that another thread writes */
    bool done;
} meanwhile;

static void *write_meanwhile(void *arg)
{
    const meanwhile *m = arg;
    write_one(m->w, m->p, m->id);
    return NULL;
}

static void at_operation(void *arg, int kind, const char *path)
{
    meanwhile *m = arg;
    pthread_t thread;
    struct timespec until;
    (void)kind;
    if (strstr(path, "/index/index-") == NULL) {
        faulty_fs_call_at(m->f, 1, m->kinds, at_operation, m);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    assert_int_equal(pthread_create(&thread, NULL, write_meanwhile, m), 0);
    if (pthread_timedjoin_np(thread, NULL, &until) != 0)
        fail_msg("a row of partition %d waits for an index file", (int)m->p);
    m->done = true;
}

static void watch(meanwhile *m, uint32_t kinds, int64_t p, int64_t id)
{
    m->kinds = kinds;
    m->p = p;
    m->id = id;
    m->done = false;
    faulty_fs_call_at(m->f, 1, kinds, at_operation, m);
}

static void nobody_waits_for_index_files(void **state)
{
    (void)state;
    world w;
    faulty_fs f;
    meanwhile m = {.w = &w, .f = &f};
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    world_open_on(&w, &f.fs, LIVE);
    for (int64_t i = 0; i < 4; i++) {
        write_one(&w, 0, i);
        write_one(&w, 1, i);
    }
    commit_all(&w);
    live_close(&w);
    live_open(&w);
    write_one(&w, 1, 0);
    watch(&m, FS_OP(FS_OP_OPEN_READ), 1, 20);
    write_one(&w, 0, 0); /* reads those of its partition */
    assert_true(m.done);
    write_one(&w, 0, 30);
    watch(&m, FS_OP(FS_OP_CREATE), 0, 31); /* in the same bucket */
    pml_rt_prepared *p = prepared(&w);
    pml_error err = PML_ERROR_INIT;
    assert_true(m.done);
    assert_int_equal(w.keys[0][31].bucket, w.keys[0][30].bucket);
    must_ok(try_commit(&w, p, &err), &err);
    pml_rt_prepared_free(p);
    write_one(&w, 0, 31);
    watch(&m, FS_OP(FS_OP_CREATE), 1, 32);
    commit_all(&w);
    commit_all(&w);
    crash(&w);
    for (int64_t p_of = 0; p_of < PARTITIONS; p_of++)
        for (int64_t i = 0; i < KEYS; i++)
            if (w.keys[p_of][i].n != KEYED_NULL)
                write_one(&w, p_of, i); /* where it was */
    commit_all(&w);
    must_show(&w, false);
    live_close(&w);
    world_close(&w);
    faulty_fs_destroy(&f);
}

/* Whatever fails: the rows are in a snapshot with their keys, or a new context writes them again. */
static void one_failure(world *w, long long n, bool *failed)
{
    pml_rt_prepared *p = NULL;
    pml_error err = PML_ERROR_INIT;
    keyed_row rows[4];
    bool in_table = false;
    for (int64_t i = 0; i < 4; i++)
        rows[i] = (keyed_row){.id = (n + i) % KEYS, .p = i % PARTITIONS, .n = w->next_n++, .s = 1, .v = 1};
    write_one(w, 0, n % KEYS);
    test_env_fail_at(w->t, n);
    int rc = try_write(w, NULL, rows, 4, &err);
    bool written = rc == PML_OK;
    if (rc == PML_OK)
        rc = pml_rt_prepare(&p, w->w, ++w->identifier, NULL, &err);
    if (rc == PML_OK)
        rc = try_commit(w, p, &err);
    *failed = test_env_fail_reached(w->t);
    test_env_fail_at(w->t, 0);
    assert_true(rc == PML_OK || rc == PML_E_NOMEM || rc == PML_E_UNKNOWN_OUTCOME || rc == PML_E_RECREATE);
    if (p != NULL && rc != PML_OK)
        rc = try_commit(w, p, &err);
    in_table = rc == PML_OK && p != NULL;
    for (int i = 0; in_table && written && i < 4; i++)
        w->keys[rows[i].p][rows[i].id].n = rows[i].n;
    for (int i = 0; in_table && i < PARTITIONS * KEYS; i++)
        (&w->keys[0][0])[i].committed_n = (&w->keys[0][0])[i].n;
    for (int i = 0; i < PARTITIONS * KEYS; i++)
        (&w->keys[0][0])[i].bucket = -1; /* those of the four are not known */
    pml_rt_prepared_free(p);
    crash(w);
    if (n % 4 == 0) /* each look merges all files so far */
        must_show(w, false);
}

static void rows_survive_every_failure_of_memory(void **state)
{
    (void)state;
    world w;
    bool failed = true;
    world_open(&w, LIVE);
    for (long long n = 1; failed; n += n < 10 ? 1 : 1 + (long long)(test_random(w.t) % 60))
        one_failure(&w, n, &failed);
    must_show(&w, true);
    live_close(&w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_stay_in_their_bucket),
        cmocka_unit_test(keys_that_a_batch_writer_added_meanwhile_are_a_conflict),
        cmocka_unit_test(a_bucket_cannot_be_named),
        cmocka_unit_test(entries_of_one_prepare_may_be_committed_one_by_one),
        cmocka_unit_test(keys_of_an_aborted_prepare_are_in_the_next),
        cmocka_unit_test(nobody_waits_for_index_files),
        cmocka_unit_test(rows_survive_every_failure_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
