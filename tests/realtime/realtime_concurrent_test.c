/* SPDX-License-Identifier: Apache-2.0 */
/* 73: writers, a committer, an advancer and readers at once. Each read shows a prefix of what each writer wrote to its
   partition-bucket, with nothing twice, and never less than an earlier read of the same thread (I10, I11). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_kit.h"
#include "util/thread.h"

enum { WRITERS = 2, READERS = 3, BATCHES = 60, BATCH_ROWS = 5, CYCLES_MAX = 1000 };

typedef struct world {
    rt_kit k;
    const char *const *partitions; /* of the writers */
    atomic_int writers_left;
    atomic_llong written[WRITERS]; /* rows of the writer whose write call has returned */
    atomic_llong snapshot;         /* newest one committed */
    atomic_bool committed_all;
    atomic_int errors;
} world;

typedef struct actor {
    world *w;
    int number;
    pml_thread thread;
    int64_t reads;
} actor;

static const char *const apart[WRITERS] = {"a", "b"}, *const together[WRITERS] = {"a", "a"};

/* cmocka cannot fail a test from another thread: the first error is printed and counted. */
static bool ok(world *w, int rc, const pml_error *err, const char *what)
{
    if (rc == PML_OK)
        return true;
    if (atomic_fetch_add(&w->errors, 1) == 0)
        print_error("%s: %s: %s\n", what, pml_error_name(rc), err->message);
    return false;
}

static bool right(world *w, bool holds, const char *what, long long a, long long b)
{
    if (!holds && atomic_fetch_add(&w->errors, 1) == 0)
        print_error("%s: %lld, %lld\n", what, a, b);
    return holds;
}

/* Ids of writer i: i * 10000 + 0, 1, 2, ... */
static void *writing(void *arg)
{
    actor *a = arg;
    world *w = a->w;
    rt_kit own = w->k; /* its own counters over the shared handles */
    own.next_id = a->number * 10000;
    for (int i = 0; i < BATCHES && atomic_load(&w->errors) == 0; i++) {
        pml_error err = PML_ERROR_INIT;
        struct ArrowSchema schema = rt_kit_schema(&own);
        struct ArrowArray batch = rt_kit_batch(&own, BATCH_ROWS, w->partitions[a->number]);
        int rc = pml_rt_write(NULL, w->k.w, &batch, &schema, NULL, &err);
        schema.release(&schema);
        if (!ok(w, rc, &err, "write")) {
            batch.release(&batch);
            break;
        }
        own.next_id += BATCH_ROWS;
        (void)atomic_fetch_add(&w->written[a->number], BATCH_ROWS);
    }
    (void)atomic_fetch_sub(&w->writers_left, 1);
    return NULL;
}

static bool cycle(world *w, int64_t identifier, bool *anything)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    *anything = false;
    if (!ok(w, pml_rt_prepare(&p, w->k.w, identifier, NULL, &err), &err, "prepare"))
        return false;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    int rc = n == 0 ? PML_OK : pml_rt_commit(&r, w->k.commit, e, n, identifier, NULL, &err);
    pml_rt_prepared_free(p);
    if (!ok(w, rc, &err, "commit"))
        return false;
    *anything = n > 0;
    if (n > 0)
        atomic_store(&w->snapshot, r.snapshot_id);
    return true;
}

static void *committing(void *arg)
{
    world *w = ((actor *)arg)->w;
    bool anything = true;
    for (int i = 1; i < CYCLES_MAX; i++) {
        bool last = atomic_load(&w->writers_left) == 0;
        if (!cycle(w, i, &anything) || (last && !anything))
            break;
    }
    atomic_store(&w->committed_all, true);
    return NULL;
}

/* Advances to the newest and, as a late caller would, to older ones; and seals. */
static void *advancing(void *arg)
{
    world *w = ((actor *)arg)->w;
    while (!atomic_load(&w->committed_all) && atomic_load(&w->errors) == 0) {
        pml_error err = PML_ERROR_INIT;
        int64_t id = atomic_load(&w->snapshot);
        if (id > 0 && !ok(w, pml_rt_advance(w->k.ctx, id, &err), &err, "advance"))
            break;
        if (id > 2 && !ok(w, pml_rt_advance(w->k.ctx, id - 1, &err), &err, "advance to an older one"))
            break;
        if (!ok(w, pml_rt_seal(w->k.w, &err), &err, "seal"))
            break;
    }
    return NULL;
}

static bool see_batch(world *w, const struct ArrowArray *a, int64_t rows[WRITERS], uint8_t *seen)
{
    const struct ArrowArray *ids = a->children[0];
    const int64_t *v = (const int64_t *)ids->buffers[1] + ids->offset;
    for (int64_t i = 0; i < a->length; i++) {
        int writer = (int)(v[i] / 10000);
        if (!right(w, writer < WRITERS && seen[v[i]] == 0, "a row came twice or from nowhere", v[i], a->length))
            return false;
        seen[v[i]] = 1;
        rows[writer]++;
    }
    return true;
}

static bool drain(world *w, pml_plan *plan, int64_t rows[WRITERS], uint8_t *seen)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream s;
    bool good = true;
    memset(seen, 0, WRITERS * 10000);
    memset(rows, 0, WRITERS * sizeof *rows);
    if (!ok(w, pml_read_open(&s, plan, NULL, &err), &err, "read"))
        return false;
    while (good) {
        struct ArrowArray a = {0};
        good = s.get_next(&s, &a) == 0 || ok(w, pml_stream_error(&s, &err), &err, "next");
        if (!good || a.release == NULL)
            break;
        good = see_batch(w, &a, rows, seen);
        a.release(&a);
    }
    s.release(&s);
    for (int i = 0; good && i < WRITERS; i++)
        for (int64_t j = 0; good && j < rows[i]; j++)
            good = right(w, seen[i * 10000 + j] == 1, "a row is missing below a later one", j, rows[i]);
    return good;
}

static void *reading(void *arg)
{
    actor *a = arg;
    world *w = a->w;
    int64_t before[WRITERS] = {0}, rows[WRITERS], least[WRITERS];
    uint8_t *seen = malloc(WRITERS * 10000);
    bool good = seen != NULL, last = false;
    rt_kit own = w->k;
    while (good && !last) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan;
        last = atomic_load(&w->committed_all) || atomic_load(&w->errors) != 0;
        for (int i = 0; i < WRITERS; i++)
            least[i] = atomic_load(&w->written[i]);
        if (!ok(w, rt_kit_try_plan(&plan, &own, w->k.ctx, -1, &err), &err, "plan"))
            break;
        for (int again = 0; good && again < 2; again++) { /* a plan may be read twice, with the same result */
            good = drain(w, plan, rows, seen);
            for (int i = 0; good && i < WRITERS; i++)
                good = right(w, rows[i] >= least[i], "acknowledged rows are missing", rows[i], least[i]) &&
                       right(w, rows[i] >= before[i], "rows that were seen are gone", rows[i], before[i]) &&
                       right(w, rows[i] % BATCH_ROWS == 0, "half a batch", rows[i], BATCH_ROWS) &&
                       right(w, again == 0 || rows[i] == before[i], "a plan changed", rows[i], before[i]);
            memcpy(before, rows, sizeof before);
        }
        pml_plan_free(plan);
        a->reads++;
    }
    free(seen);
    return NULL;
}

static void run_all(const char *const *partitions)
{
    world *w = calloc(1, sizeof *w);
    actor actors[WRITERS + READERS + 2] = {0};
    int n = 0;
    assert_non_null(w);
    w->partitions = partitions;
    rt_kit_create(&w->k, NULL, "\"p\"", "");
    rt_kit_start(&w->k, NULL, NULL);
    atomic_store(&w->writers_left, WRITERS);
    for (int i = 0; i < WRITERS + READERS + 2; i++) {
        void *(*run)(void *) = i < WRITERS ? writing : i < WRITERS + READERS ? reading : i == WRITERS + READERS ? committing : advancing;
        actors[n] = (actor){.w = w, .number = i};
        assert_int_equal(pml_thread__start(&actors[n].thread, run, &actors[n]), 0);
        n++;
    }
    for (int i = 0; i < n; i++)
        pml_thread__join(&actors[i].thread);
    assert_int_equal(atomic_load(&w->errors), 0);
    for (int i = WRITERS; i < WRITERS + READERS; i++)
        assert_true(actors[i].reads > 0);
    pml_rt_metrics m = rt_kit_metrics(&w->k);
    assert_int_equal(m.write_rows, WRITERS * BATCHES * BATCH_ROWS);
    assert_int_equal(m.total_row_count, 0); /* 95 */
    assert_int_equal(m.uncommitted_rows, 0);
    assert_int_equal(m.open_views, 0);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(rt_kit_end(&w->k, -1, partitions[i], 0), BATCHES * BATCH_ROWS * (partitions == together ? WRITERS : 1));
    rt_kit_close(&w->k);
    free(w);
}

static void readers_see_prefixes_while_rows_move_to_disk(void **state)
{
    (void)state;
    run_all(apart);
}

static void readers_see_prefixes_of_two_writers_of_one_partition_bucket(void **state)
{
    (void)state;
    run_all(together);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_prefixes_while_rows_move_to_disk),
        cmocka_unit_test(readers_see_prefixes_of_two_writers_of_one_partition_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
