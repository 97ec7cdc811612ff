/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 73, 77b, 78: a writer, one that prepares and commits, one that advances, one that seals and readers in orders that a seed decides
 * (support/interleave.h). Every read, also of a plan that was made long before, shows what was written up to some moment between the
 * begin of its plan and the end of it, and no reader goes back. ROUNDS=n, SEED=n, ROUND=n for one of them.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <paimonlive/realtime.h>

#include "support/interleave.h"
#include "support/rt_model.h"
#include "support/rt_rows.h"
#include "support/sim_fs.h"

enum { BATCHES = 12, ROWS_MAX = 4, READS_MAX = 12, PREPARES_MAX = 60, ADVANCES_MAX = 40, SEALS = 4 };

typedef struct race {
    rt_shape shape;
    test_env *t;
    sim_fs *sim;
    pml_table *table;
    pml_commit *commit;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    uint64_t seed;
    int64_t first[BATCHES + 1]; /* number of the first row of each batch; of the last: the number of rows */
    atomic_int begun, written;  /* batches */
    atomic_llong snapshot;
    char wrong[600]; /* one thread runs at a time */
} race;

static void must(race *r, bool ok, const char *what, const pml_error *err)
{
    if (!ok && r->wrong[0] == '\0')
        (void)snprintf(r->wrong, sizeof r->wrong, "%s: %s", what, err == NULL ? "" : err->message);
}

static void write_batches(void *p)
{
    race *r = p;
    for (int i = 0; i < BATCHES; i++) {
        int64_t ids[ROWS_MAX], n = r->first[i + 1] - r->first[i];
        int8_t kinds[ROWS_MAX];
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
        must(r, pml_rt_write(NULL, r->w, &a, &s, &o, &err) == PML_OK, "write", &err);
        atomic_store(&r->written, i + 1);
        interleave_point();
        if (a.release != NULL)
            a.release(&a);
        s.release(&s);
    }
}

static void prepare_and_commit(void *p)
{
    race *r = p;
    bool last = false;
    for (int i = 0; i < PREPARES_MAX && !last; i++) {
        last = atomic_load(&r->written) == BATCHES;
        pml_rt_prepared *prepared = NULL;
        pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
        pml_error err = PML_ERROR_INIT;
        size_t n;
        int rc = pml_rt_prepare(&prepared, r->w, i + 1, NULL, &err);
        must(r, rc == PML_OK, "prepare", &err);
        if (rc != PML_OK)
            return;
        const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
        if (n > 0 && (r->seed + (uint64_t)i) % 5 == 0) {
            must(r, pml_rt_progress_abort(r->commit, entries, n, &err) == PML_OK, "abort", &err);
        } else if (n > 0) {
            must(r, pml_rt_commit(&result, r->commit, entries, n, i + 1, NULL, &err) == PML_OK, "commit", &err);
            atomic_store(&r->snapshot, result.snapshot_id);
        }
        pml_rt_prepared_free(prepared);
        interleave_point();
    }
}

static void advance(void *p)
{
    race *r = p;
    for (int i = 0; i < ADVANCES_MAX && atomic_load(&r->written) < BATCHES; i++) {
        pml_error err = PML_ERROR_INIT;
        int64_t id = atomic_load(&r->snapshot);
        if (id >= 2 && i % 3 == 2)
            id--; /* late */
        if (id >= 1)
            must(r, pml_rt_advance(r->ctx, id, &err) == PML_OK, "advance", &err);
        interleave_point();
    }
}

static void seal(void *p)
{
    race *r = p;
    for (int i = 0; i < SEALS; i++) {
        pml_error err = PML_ERROR_INIT;
        must(r, pml_rt_seal(r->w, &err) == PML_OK, "seal", &err);
        interleave_point();
    }
}

/* What is to be seen after so many batches. */
static void lines_after(rt_lines *out, const race *r, int batches)
{
    rt_reference ref;
    if (r->shape.keyed == NULL) {
        for (int64_t i = 0; i < r->first[batches]; i++) {
            char text[24];
            (void)snprintf(text, sizeof text, "i%lld ", (long long)i);
            rt_lines_add(out, strdup(text));
        }
        return;
    }
    rt_reference_init(&ref, r->shape.keyed, r->shape.salt);
    for (int64_t i = 0; i < r->first[batches]; i++)
        rt_reference_add(&ref, i);
    rt_reference_answer(&ref);
    for (size_t i = 0; i < ref.n; i++)
        rt_lines_add(out, rt_keyed_line(&ref.rows[i], r->shape.columns, NULL));
    rt_reference_clear(&ref);
}

static bool read_lines(rt_lines *out, race *r, pml_plan *plan)
{
    struct ArrowArrayStream s;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    o.batch_rows = 3;
    int rc = pml_read_open(&s, plan, &o, &err);
    must(r, rc == PML_OK, "read_open", &err);
    if (rc != PML_OK)
        return false;
    for (;;) {
        struct ArrowArray batch = {0};
        if (s.get_next(&s, &batch) != 0) {
            (void)pml_stream_error(&s, &err);
            must(r, false, "get_next", &err);
            break;
        }
        if (batch.release == NULL)
            break;
        for (int64_t i = 0; i < batch.length; i++)
            rt_lines_add(out, rt_keyed_line_of(&batch, i, r->shape.keyed == NULL ? "i" : r->shape.columns));
        batch.release(&batch);
    }
    s.release(&s);
    return r->wrong[0] == '\0';
}

/* The number of batches that these lines are of, between two; -1: none, and why. */
static int batches_of(race *r, rt_lines *got, int from, int to)
{
    char wrong[300] = "";
    for (int i = from; i <= to; i++) {
        rt_lines want = {0};
        lines_after(&want, r, i);
        bool equal = rt_lines_equal(got, &want, -1, wrong, sizeof wrong);
        rt_lines_clear(&want);
        if (equal)
            return i;
    }
    if (r->wrong[0] == '\0')
        (void)snprintf(r->wrong, sizeof r->wrong, "a read of %zu rows is that of none of %d to %d batches: %s", got->n, from, to, wrong);
    return -1;
}

static void read_again_and_again(void *p)
{
    race *r = p;
    int last = 0;
    pml_scan *scan = NULL;
    pml_plan *old = NULL;
    int old_batches = 0;
    pml_error err = PML_ERROR_INIT;
    must(r, pml_scan_new(&scan, r->table, &err) == PML_OK && pml_scan_set_realtime(scan, r->ctx, &err) == PML_OK, "scan", &err);
    if (r->shape.keyed == NULL)
        must(r, pml_scan_set_columns(scan, (const char *const[]){"i"}, 1, &err) == PML_OK, "columns", &err);
    bool over = false;
    for (int i = 0; i < READS_MAX && !over && r->wrong[0] == '\0'; i++) {
        over = atomic_load(&r->written) == BATCHES;
        rt_lines got = {0}, again = {0};
        pml_plan *plan = NULL;
        int from = atomic_load(&r->written);
        must(r, pml_scan_plan(&plan, scan, &err) == PML_OK, "plan", &err);
        int to = atomic_load(&r->begun);
        from = from > last ? from : last;
        if (plan != NULL && read_lines(&got, r, plan))
            last = batches_of(r, &got, from, to);
        if (old != NULL && read_lines(&again, r, old)) /* what a plan shows stays */
            (void)batches_of(r, &again, old_batches, old_batches);
        pml_plan_free(old);
        old = plan;
        old_batches = last;
        rt_lines_clear(&got);
        rt_lines_clear(&again);
        interleave_point();
    }
    pml_plan_free(old);
    pml_scan_free(scan);
}

static void open_race(race *r, uint64_t seed, const rt_variant *v, const pml_rt_plugin *store)
{
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    const pml_option_pair unchecked = {"realtime.verify.commit", "off"};
    pml_error err = PML_ERROR_INIT;
    o.store = store;
    o.options = &unchecked;
    o.n_options = store == NULL ? 0 : 1;
    *r = (race){.seed = seed, .sim = sim_fs_new()};
    r->t = test_env_open(sim_fs_system(r->sim));
    r->t->random_state = seed;
    r->shape = (rt_shape){.columns = v == NULL ? "iv" : "igsabc", .buckets = v == NULL ? -1 : 1, .keyed = v, .salt = seed};
    r->shape.auto_advance = seed % 2 == 0;
    for (int i = 0; i < BATCHES; i++)
        r->first[i + 1] = r->first[i] + 1 + (int64_t)(test_random(r->t) % ROWS_MAX);
    must_ok(rt_table_create(&r->table, r->t->env, "/t", &r->shape, &err), &err);
    must_ok(pml_commit_open(&r->commit, r->table, "race", &err), &err);
    must_ok(pml_rt_context_open(&r->ctx, r->t->env, &o, &err), &err);
    must_ok(pml_rt_writer_open(&r->w, r->table, r->ctx, NULL, &err), &err);
}

static void close_race(race *r)
{
    pml_rt_writer_abort(r->w);
    pml_rt_context_close(r->ctx);
    pml_commit_close(r->commit);
    pml_table_release(r->table);
    test_env_close(r->t);
    sim_fs_free(r->sim);
}

/* Why it went wrong; "": it did not. */
static long long one_round(char why[600], uint64_t seed, const rt_variant *v, const pml_rt_plugin *store)
{
    race *r = calloc(1, sizeof *r);
    char stuck[200];
    assert_non_null(r);
    open_race(r, seed, v, store);
    const interleave_thread threads[] = {{write_batches, r, "writer"}, {prepare_and_commit, r, "committer"}, {advance, r, "advancer"},
                                         {seal, r, "sealer"},          {read_again_and_again, r, "reader 1"}, {read_again_and_again, r, "reader 2"}};
    long long switches = interleave_run(threads, sizeof threads / sizeof threads[0], seed, stuck, sizeof stuck);
    if (switches < 0)
        fail_msg("seed %llu: all wait for each other: %s", (unsigned long long)seed, stuck);
    pml_plan *plan = NULL;
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    rt_lines got = {0};
    must_ok(pml_scan_new(&scan, r->table, &err), &err);
    if (v == NULL)
        must_ok(pml_scan_set_columns(scan, (const char *const[]){"i"}, 1, &err), &err);
    must_ok(pml_scan_set_realtime(scan, r->ctx, &err), &err);
    must(r, pml_scan_plan(&plan, scan, &err) == PML_OK, "the last plan", &err);
    pml_scan_free(scan);
    if (plan != NULL && read_lines(&got, r, plan))
        (void)batches_of(r, &got, BATCHES, BATCHES);
    pml_plan_free(plan);
    rt_lines_clear(&got);
    (void)snprintf(why, 600, "%s", r->wrong);
    close_race(r);
    free(r);
    return switches;
}

/* Of engines for which it does not matter which rows are in one segment. */
static const rt_variant *engine_of(uint64_t seed)
{
    static const char *const names[] = {"deduplicate", "sequence.field", "first-row", "partial-update", "ignore-update-before"};
    for (size_t i = 0; i < rt_n_variants; i++)
        if (strcmp(rt_variants[i].name, names[seed % 5]) == 0)
            return &rt_variants[i];
    return NULL;
}

static void rounds(bool keyed)
{
    int64_t n = test_setting("ROUNDS", 25, 1, INT64_MAX), only = test_setting("ROUND", -1, 0, INT64_MAX);
    long long switches = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t seed = only >= 0 ? (uint64_t)only : test_seed() + (uint64_t)i;
        char why[600];
        switches += one_round(why, seed, keyed ? engine_of(seed) : NULL, NULL);
        if (why[0] != '\0')
            fail_msg("ROUND=%llu: %s", (unsigned long long)seed, why);
    }
    print_message("%lld rounds, %lld switches\n", (long long)n, switches);
}

static void reads_show_a_moment_without_keys(void **state)
{
    (void)state;
    rounds(false);
}

static void reads_show_a_moment_with_keys(void **state)
{
    (void)state;
    rounds(true);
}

/* The same order again for the same seed. */
static void a_seed_is_an_order(void **state)
{
    (void)state;
    char why[600];
    for (uint64_t seed = 1; seed < 4; seed++)
        assert_int_equal(one_round(why, seed, engine_of(seed), NULL), one_round(why, seed, engine_of(seed), NULL));
}

static void must_notice(rt_mutant mutant, bool keyed)
{
    for (uint64_t seed = 1; seed < 60; seed++) {
        char why[600];
        (void)one_round(why, seed, keyed ? engine_of(seed) : NULL, rt_model_plugin(mutant));
        if (why[0] != '\0') {
            print_message("noticed in round %d: %s\n", (int)seed, why);
            return;
        }
    }
    fail_msg("nobody noticed");
}

static void a_store_that_lets_go_early_is_noticed(void **state)
{
    (void)state;
    must_notice(RT_MUTANT_EAGER_ADVANCE, false);
    must_notice(RT_MUTANT_EAGER_ADVANCE, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_show_a_moment_without_keys),
        cmocka_unit_test(reads_show_a_moment_with_keys),
        cmocka_unit_test(a_seed_is_an_order),
        cmocka_unit_test(a_store_that_lets_go_early_is_noticed),
    };
    if (getenv("TEST") != NULL)
        cmocka_set_test_filter(getenv("TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
