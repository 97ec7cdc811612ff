/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups of many threads on one object while rows are written, sealed, prepared, committed and advanced (realtime-tests 70): each key has
 * a number that only grows; a lookup that began after a write returned sees that number or a later one, and no thread sees less than it
 * saw before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lookup_kit.h"
#include "support/rt_kit.h"
#include "util/thread.h"

enum { KEYS = 8, LOOKERS = 3, ROUNDS = 120 };

typedef struct world {
    test_env *t;
    pml_table *table;
    pml_commit *commit;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    pml_lookup *lookup;
    bool sums; /* aggregation: each write adds one */
    atomic_llong written[KEYS]; /* what a write that has returned made of each */
    atomic_bool done;
    atomic_int errors;
} world;

/* cmocka cannot fail a test from another thread: the first error is printed and counted. */
static bool right(world *w, bool holds, const char *what, long long a, long long b)
{
    if (!holds && atomic_fetch_add(&w->errors, 1) == 0)
        print_error("%s: %lld, %lld\n", what, a, b);
    return holds;
}

static bool ok(world *w, int rc, const pml_error *err, const char *what)
{
    if (rc != PML_OK && atomic_fetch_add(&w->errors, 1) == 0)
        print_error("%s: %s: %s\n", what, pml_error_name(rc), err->message);
    return rc == PML_OK;
}

static void *looking(void *arg)
{
    world *w = arg;
    long long seen[KEYS] = {0};
    for (unsigned turn = 0; !atomic_load(&w->done) && atomic_load(&w->errors) == 0; turn++) {
        char text[KEYS][8];
        const char *keys[KEYS];
        long long before[KEYS];
        size_t n = turn % 3 == 0 ? KEYS : 1;
        pml_error err = PML_ERROR_INIT;
        struct ArrowArray rows;
        for (size_t i = 0; i < n; i++) {
            (void)snprintf(text[i], sizeof text[i], "%d", (int)((turn + i) % KEYS));
            keys[i] = text[i];
            before[i] = atomic_load(&w->written[(turn + i) % KEYS]);
        }
        if (!ok(w, lookup_kit_ask(&rows, w->lookup, keys, n, &err), &err, "lookup"))
            break;
        for (size_t i = 0; i < n; i++) {
            bool found = lookup_kit_is_found(&rows, (int64_t)i);
            long long got = found ? ((const int64_t *)rows.children[1]->buffers[1])[i] : 0, *least = &seen[(turn + i) % KEYS];
            if (!right(w, got >= before[i], "less than what was written before", got, before[i]) ||
                !right(w, got >= *least, "less than what the thread saw before", got, *least))
                break;
            *least = got;
        }
        rows.release(&rows);
    }
    return NULL;
}

static bool put(world *w, int64_t round)
{
    int64_t ids[KEYS], numbers[KEYS];
    int64_t n = 1 + round % 3;
    pml_error err = PML_ERROR_INIT;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (round * 3 + i) % KEYS;
        numbers[i] = w->sums ? 1 : atomic_load(&w->written[ids[i]]) + 1;
    }
    struct ArrowArray c[2] = {test_fixed_array(8, n, ids), test_fixed_array(8, n, numbers)}, batch = test_struct_array(n, 2, c);
    struct ArrowSchema f[2] = {test_field("l", "id", -1, false, 0, NULL), test_field("l", "n", -1, true, 0, NULL)}, schema = test_struct(2, f);
    bool good = ok(w, pml_rt_write(NULL, w->w, &batch, &schema, NULL, &err), &err, "write");
    schema.release(&schema);
    for (int64_t i = 0; good && i < n; i++)
        (void)atomic_fetch_add(&w->written[ids[i]], 1);
    return good;
}

static bool cycle(world *w, int64_t identifier)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    if (!ok(w, pml_rt_prepare(&p, w->w, identifier, NULL, &err), &err, "prepare"))
        return false;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    bool good = n == 0 || ok(w, pml_rt_commit(&r, w->commit, e, n, identifier, NULL, &err), &err, "commit");
    pml_rt_prepared_free(p);
    return good;
}

static void look_while_rows_move(const char *options, bool sums)
{
    char json[1024];
    const pml_file_system fast = rt_kit_fs();
    pml_error err = PML_ERROR_INIT;
    pml_thread threads[LOOKERS];
    world w = {.sums = sums};
    w.t = test_env_open(&fast);
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"n\",\"type\":\"BIGINT\"}],\"partitionKeys\":[],"
                     "\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\",\"bucket\":\"2\"%s}}",
                     options);
    must_ok(pml_table_create(&w.table, w.t->env, test_path(w.t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&w.commit, w.table, "looked-at", &err), &err);
    must_ok(pml_rt_context_open(&w.ctx, w.t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w.w, w.table, w.ctx, NULL, &err), &err);
    w.lookup = lookup_kit_open(w.table, w.ctx, NULL, 0);
    for (int i = 0; i < LOOKERS; i++)
        assert_int_equal(pml_thread__start(&threads[i], looking, &w), 0);
    for (int64_t round = 1; round <= ROUNDS && atomic_load(&w.errors) == 0; round++) {
        if (!put(&w, round) || (round % 5 == 0 && !ok(&w, pml_rt_seal(w.w, &err), &err, "seal")) || (round % 9 == 0 && !cycle(&w, round)))
            break;
    }
    (void)cycle(&w, ROUNDS + 1);
    atomic_store(&w.done, true);
    for (int i = 0; i < LOOKERS; i++)
        pml_thread__join(&threads[i]);
    assert_int_equal(atomic_load(&w.errors), 0);
    pml_lookup_close(w.lookup);
    must_ok(pml_rt_writer_close(w.w, &err), &err);
    pml_rt_context_close(w.ctx);
    pml_commit_close(w.commit);
    pml_table_release(w.table);
    test_env_close(w.t);
}

static void newest_row_is_seen_while_rows_move(void **state)
{
    (void)state;
    look_while_rows_move("", false);
}

static void sum_is_seen_while_rows_move(void **state)
{
    (void)state;
    look_while_rows_move(",\"merge-engine\":\"aggregation\",\"fields.n.aggregate-function\":\"sum\"", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(newest_row_is_seen_while_rows_move), cmocka_unit_test(sum_is_seen_while_rows_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
