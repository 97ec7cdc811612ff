/* SPDX-License-Identifier: Apache-2.0 */
#include "support/race_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/numbered.h"
#include "support/test_env.h"

enum { TRIES_MAX = 200, WAITS_MAX = 100000, SEALS = 4, HINTS = 40 };

void race_must(race *r, bool ok, const char *what, const pml_error *err)
{
    if (!ok && !atomic_exchange(&r->failed, true))
        (void)snprintf(r->wrong, sizeof r->wrong, "%s: %s", what, err == NULL ? "" : err->message);
}

bool race_is_over(const race *r)
{
    return atomic_load(&r->written) == r->o.batches || atomic_load(&r->failed);
}

/* Of the actors' own, since that of the environment is drawn from by the library. */
uint64_t race_random(race *r)
{
    uint64_t z = atomic_fetch_add(&r->draws, 1) * 0x9E3779B97F4A7C15u + r->o.seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static bool may_fail(const race *r, int rc)
{
    return r->o.faults && (rc == PML_E_IO || rc == PML_E_UNKNOWN_OUTCOME);
}

/* ---- writing ---- */

void race_write_one(race *r, int i)
{
    int64_t ids[RACE_ROWS_MAX], n = r->first[i + 1] - r->first[i];
    int8_t kinds[RACE_ROWS_MAX];
    struct ArrowArray a;
    struct ArrowSchema s;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    for (int64_t k = 0; k < n; k++) {
        ids[k] = r->first[i] + k;
        kinds[k] = r->shape.keyed == NULL ? 0 : rt_keyed_kind(r->shape.keyed, r->shape.salt, ids[k]);
    }
    rt_rows_make(&a, &s, &r->shape, n, ids, NULL, NULL);
    o.row_kinds = kinds;
    atomic_store(&r->begun, i + 1);
    int rc = pml_rt_write(NULL, r->w, &a, &s, &o, &err);
    race_must(r, rc == PML_OK, "write", &err);
    if (rc == PML_OK)
        atomic_store(&r->written, i + 1);
    if (a.release != NULL)
        a.release(&a);
    s.release(&s);
}

void race_write(void *p)
{
    race *r = p;
    for (int i = 0; i < r->o.batches && !atomic_load(&r->failed); i++) {
        const int lead = r->o.lead;
        for (int n = 0;
             lead > 0 && n < WAITS_MAX && i >= (atomic_load(&r->commits) + 1) * lead && !atomic_load(&r->failed); n++)
            r->o.pause();
        race_write_one(r, i);
        r->o.pause();
    }
}

void race_seal(void *p)
{
    race *r = p;
    for (int i = 0; i < (r->o.late_merges ? 0 : SEALS); i++) {
        pml_error err = PML_ERROR_INIT;
        race_must(r, pml_rt_seal(r->w, &err) == PML_OK, "seal", &err);
        r->o.pause();
    }
}

/* ---- preparing and committing ---- */

void race_prepare(void *p)
{
    race *r = p;
    bool done = false;
    while (!done && !atomic_load(&r->failed)) {
        while (r->o.late_merges && !race_is_over(r) &&
               atomic_load(&r->written) < (atomic_load(&r->commits) + 1) * r->o.lead)
            r->o.pause(); /* else no segment gets many runs */
        bool last = atomic_load(&r->written) == r->o.batches;
        pml_rt_prepared *prepared = NULL;
        pml_error err = PML_ERROR_INIT;
        size_t n = 0;
        int rc = pml_rt_prepare(&prepared, r->w, atomic_fetch_add(&r->identifier, 1), NULL, &err);
        race_must(r, rc == PML_OK || rc == PML_E_BUSY || may_fail(r, rc), "prepare", &err);
        if (rc == PML_OK)
            (void)pml_rt_prepared_get(&n, prepared);
        done = last && rc == PML_OK && n == 0;
        if (n == 0)
            pml_rt_prepared_free(prepared);
        else /* there is one in flight at a time */
            race_must(r, atomic_exchange(&r->prepared, prepared) == NULL, "two prepares in flight", NULL);
        r->o.pause();
    }
    (void)atomic_fetch_sub(&r->preparers, 1);
}

static void settle(race *r, const pml_rt_prepared *prepared)
{
    size_t n;
    pml_error err = PML_ERROR_INIT;
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
    if (race_random(r) % 5 == 0) {
        race_must(r, pml_rt_progress_abort(r->commit, entries, n, &err) == PML_OK, "abort", &err);
        return;
    }
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    int rc = PML_E_IO;
    for (int i = 0; i < TRIES_MAX && rc != PML_OK; i++) {
        rc = pml_rt_commit(&result, r->commit, entries, n, 1, NULL, &err);
        if (rc != PML_OK && !may_fail(r, rc))
            break;
        r->o.pause();
    }
    race_must(r, rc == PML_OK, "commit", &err);
    if (rc == PML_OK) {
        atomic_store(&r->snapshot, result.snapshot_id);
        (void)atomic_fetch_add(&r->commits, 1);
    }
}

void race_commit(void *p)
{
    race *r = p;
    for (bool last = false; !last;) {
        last = atomic_load(&r->preparers) == 0;
        pml_rt_prepared *prepared = atomic_exchange(&r->prepared, NULL);
        if (prepared != NULL && !atomic_load(&r->failed))
            settle(r, prepared);
        pml_rt_prepared_free(prepared);
        r->o.pause();
    }
}

/* To the newest, and as a late caller would to older ones. */
void race_advance(void *p)
{
    race *r = p;
    for (int i = 0; atomic_load(&r->preparers) > 0 && !atomic_load(&r->failed); i++) {
        pml_error err = PML_ERROR_INIT;
        int64_t id = atomic_load(&r->snapshot);
        if (id >= 2 && i % 3 == 2)
            id -= 1 + (int64_t)(race_random(r) % 2) % (id - 1);
        int rc = id >= 1 ? pml_rt_advance(r->ctx, id, &err) : PML_OK;
        race_must(r, rc == PML_OK || (rc == PML_E_NOT_FOUND && r->o.expires), "advance", &err);
        r->o.pause();
    }
}

/* ---- disturbers ---- */

void race_set_hint(void *p)
{
    race *r = p;
    for (int i = 0; i < HINTS && !race_is_over(r); i++) {
        int64_t newest = atomic_load(&r->snapshot);
        if (newest >= 1)
            (void)pml_numbered__write_hint(r->t->env, RACE_TABLE "/snapshot", "LATEST",
                                           1 + (int64_t)(race_random(r) % (uint64_t)newest), NULL);
        r->o.pause();
    }
}

static void delay(void *arg, int kind, const char *path)
{
    race *r = arg;
    (void)kind, (void)path;
    for (uint64_t n = race_random(r) % 8; n > 0; n--)
        r->o.pause();
}

void race_disturb(void *p)
{
    static const uint32_t kinds[] = {FS_OP(FS_OP_CREATE), FS_OP(FS_OP_WRITE), FS_OP(FS_OP_CLOSE_WRITE),
                                     FS_OP(FS_OP_PUBLISH)};
    race *r = p;
    while (!race_is_over(r)) {
        uint64_t draw = race_random(r);
        bool before = draw % 2 == 0;
        faulty_fs_fail_kinds(&r->fs, kinds[draw / 2 % 4]);
        faulty_fs_fail_at(&r->fs, 1 + (long long)(draw / 8 % 3), before ? FAULT_BEFORE : FAULT_AFTER, PML_E_IO,
                          before ? PML_ERRF_NO_EFFECT : 0);
        faulty_fs_call_at(&r->fs, 1 + (long long)(draw / 32 % 6), kinds[draw / 256 % 4], delay, r);
        for (uint64_t n = draw / 1024 % 4 + 1; n > 0; n--)
            r->o.pause();
    }
    faulty_fs_fail_at(&r->fs, 0, FAULT_NONE, 0, 0);
}

/* ---- a race ---- */

const rt_variant *race_engine(uint64_t seed)
{
    static const char *const names[] = {"deduplicate", "sequence.field", "first-row", "partial-update",
                                        "ignore-update-before"};
    for (size_t i = 0; i < rt_n_variants; i++)
        if (strcmp(rt_variants[i].name, names[seed % 5]) == 0)
            return &rt_variants[i];
    return NULL;
}

_Thread_local bool race_sees_late;

/* Of a store that shows new names late, to those who read only: the hint looks like the latest one for ever. */
static int late_stat(void *ctx, pml_file_info *info, const char *path, pml_error *err)
{
    race *r = (race *)(void *)((char *)ctx - offsetof(race, fs));
    if (race_sees_late && strcmp(path, RACE_TABLE "/snapshot/snapshot-2") == 0)
        return pml_error__set(err, PML_E_NOT_FOUND, "%s is not there yet", path);
    return r->stat(ctx, info, path, err);
}

void race_open(race *r, const race_options *o, int preparers)
{
    pml_rt_context_options c = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_option_pair pairs[4];
    pml_error err = PML_ERROR_INIT;
    c.store = o->store;
    c.options = pairs;
    if (o->store != NULL)
        pairs[c.n_options++] = (pml_option_pair){"realtime.verify.commit", "off"};
    if (o->short_tickets)
        pairs[c.n_options++] = (pml_option_pair){"realtime.read-view-ttl", "1 ms"};
    if (o->late_merges)
        pairs[c.n_options++] = (pml_option_pair){"realtime.memory.inline-merge-rows", "1"};
    *r = (race){.o = *o, .sim = sim_fs_new(), .preparers = preparers, .identifier = 1, .earliest = 1};
    assert_in_range(o->batches, 1, RACE_BATCHES_MAX);
    faulty_fs_init(&r->fs, sim_fs_system(r->sim));
    r->stat = r->fs.fs.stat;
    if (o->stale)
        r->fs.fs.stat = late_stat;
    r->t = test_env_open(&r->fs.fs);
    r->t->random_state = o->seed;
    r->shape = (rt_shape){.columns = o->keyed == NULL ? "iv" : "igsabc",
                          .buckets = o->keyed == NULL ? -1 : 1,
                          .keyed = o->keyed,
                          .salt = o->seed};
    r->shape.auto_advance = o->seed % 2 == 0;
    for (int i = 0; i < o->batches; i++)
        r->first[i + 1] = r->first[i] + (o->late_merges ? RACE_ROWS_OF_RUN : 1) + (int64_t)(test_random(r->t) % 4);
    must_ok(rt_table_create(&r->table, r->t->env, RACE_TABLE, &r->shape, &err), &err);
    must_ok(pml_commit_open(&r->commit, r->table, "race", &err), &err);
    must_ok(pml_rt_context_open(&r->ctx, r->t->env, &c, &err), &err);
    must_ok(pml_rt_writer_open(&r->w, r->table, r->ctx, NULL, &err), &err);
    if (o->stale) {
        faulty_fs_fail_kinds(&r->fs, FS_OP(FS_OP_REPLACE));
        faulty_fs_fail_at(&r->fs, 2, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT); /* that of the first commit stays */
        faulty_fs_fail_sticky(&r->fs);
    }
}

void race_close(race *r)
{
    pml_rt_prepared_free(atomic_exchange(&r->prepared, NULL));
    if (r->w != NULL)
        pml_rt_writer_abort(r->w);
    if (r->ctx != NULL)
        pml_rt_context_close(r->ctx);
    pml_commit_close(r->commit);
    pml_table_release(r->table);
    test_env_close(r->t);
    faulty_fs_destroy(&r->fs);
    sim_fs_free(r->sim);
}
