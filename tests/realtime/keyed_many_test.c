/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live rows with a primary key in batches large enough that runs are merged, some by the thread, and collapsed: what reads and queries by key
 * show against a plain reading of deduplicate, while rows go from memory to files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_kit.h"

enum { KEYS = 1500, ROWS_MAX = 400, COLUMNS = 3, JSON_MAX = 2048 };

/* The row that counts of a key. */
typedef struct key_state {
    bool any, deleted;
    int32_t s;
    int64_t v;
} key_state;

typedef struct world {
    rt_kit k; /* its table is ours */
    bool by_sequence;
    int64_t next_v, written;
    key_state keys[KEYS];
    pml_rt_prepared *prepared;
    int64_t identifier;
} world;

static void open_world(world *w, uint64_t seed, const char *collapse, bool by_sequence)
{
    static const char fields[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"s\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"BIGINT\"}],"
        "\"partitionKeys\":[],\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\",\"bucket\":\"%d\","
        "\"realtime.memory.inline-merge-rows\":\"%d\",\"realtime.memory.collapse\":\"%s\"%s}}";
    char json[JSON_MAX];
    const pml_file_system fast = rt_kit_fs();
    pml_error err = PML_ERROR_INIT;
    w->by_sequence = by_sequence;
    w->k.t = test_env_open(&fast);
    w->k.t->random_state = seed;
    int n = snprintf(json, sizeof json, fields, 1 + (int)(seed % 3), seed % 2 == 0 ? 500 : 100000, collapse,
                     by_sequence ? ",\"sequence.field\":\"s\"" : "");
    must_ok(pml_table_create(&w->k.table, w->k.t->env, test_path(w->k.t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&w->k.commit, w->k.table, "many", &err), &err);
    must_ok(pml_rt_context_open(&w->k.ctx, w->k.t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->k.w, w->k.table, w->k.ctx, NULL, &err), &err);
}

static void close_world(world *w)
{
    pml_rt_writer_abort(w->k.w);
    pml_rt_context_close(w->k.ctx);
    pml_commit_close(w->k.commit);
    pml_table_release(w->k.table);
    test_env_close(w->k.t);
    free(w);
}

static void take(world *w, int64_t id, int32_t s, int64_t v, int8_t kind)
{
    key_state *k = &w->keys[id];
    if (w->by_sequence && k->any && s < k->s)
        return;
    *k = (key_state){true, kind == 3, s, v};
}

/* Batches of few keys or of many, in order or in none. */
static void write_one(world *w)
{
    test_env *t = w->k.t;
    int64_t n = 1 + (int64_t)(test_random(t) % (test_random(t) % 4 == 0 ? 5 : ROWS_MAX)), ids[ROWS_MAX], vs[ROWS_MAX];
    int64_t among = test_random(t) % 3 == 0 ? 20 : KEYS, step = test_random(t) % 4 == 0 ? 1 : 0;
    int32_t ss[ROWS_MAX];
    int8_t kinds[ROWS_MAX];
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = step == 1 ? (KEYS - n) / 2 + i : (int64_t)(test_random(t) % (uint64_t)among);
        ss[i] = (int32_t)(test_random(t) % 10);
        vs[i] = w->next_v++;
        kinds[i] = test_random(t) % 6 == 0 ? 3 : (int8_t)(2 * (test_random(t) % 2));
        take(w, ids[i], ss[i], vs[i], kinds[i]);
    }
    struct ArrowArray c[COLUMNS] = {test_fixed_array(8, n, ids), test_fixed_array(4, n, ss), test_fixed_array(8, n, vs)};
    struct ArrowSchema f[COLUMNS] = {test_field("l", "id", -1, false, 0, NULL), test_field("i", "s", -1, true, 0, NULL),
                                     test_field("l", "v", -1, true, 0, NULL)};
    struct ArrowArray batch = test_struct_array(n, COLUMNS, c);
    struct ArrowSchema schema = test_struct(COLUMNS, f);
    o.row_kinds = kinds;
    must_ok(pml_rt_write(NULL, w->k.w, &batch, &schema, &o, &err), &err);
    schema.release(&schema);
    w->written += n;
}

/* Rows with ids from lo to hi, both included. */
static void must_show(world *w, int64_t lo, int64_t hi)
{
    char low[24], high[24];
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *from, *to;
    struct ArrowArrayStream s;
    bool *seen = calloc(KEYS, sizeof *seen);
    pml_error err = PML_ERROR_INIT;
    const pml_literal bounds[2] = {{low, (size_t)snprintf(low, sizeof low, "%lld", (long long)lo)},
                                   {high, (size_t)snprintf(high, sizeof high, "%lld", (long long)hi)}};
    assert_non_null(seen);
    must_ok(pml_scan_new(&scan, w->k.table, &err), &err);
    must_ok(pml_predicate_leaf(&from, w->k.table, "id", lo == hi ? PML_OP_EQ : PML_OP_GE, &bounds[0], 1, &err), &err);
    must_ok(pml_predicate_leaf(&to, w->k.table, "id", PML_OP_LE, &bounds[1], 1, &err), &err);
    pml_predicate *both[2] = {from, to}, *all;
    must_ok(pml_predicate_and(&all, w->k.t->env, both, 2, &err), &err);
    if (lo > 0 || hi < KEYS - 1)
        must_ok(pml_scan_set_predicate(scan, all, &err), &err);
    must_ok(pml_scan_set_realtime(scan, w->k.ctx, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    pml_predicate_free(all);
    must_ok(pml_read_open(&s, plan, NULL, &err), &err);
    pml_plan_free(plan);
    for (bool more = true; more;) {
        struct ArrowArray a = {0};
        if (s.get_next(&s, &a) != 0)
            fail_msg("%s", s.get_last_error(&s));
        more = a.release != NULL;
        for (int64_t i = 0; more && i < a.length; i++) {
            int64_t id = ((const int64_t *)a.children[0]->buffers[1])[a.offset + a.children[0]->offset + i];
            int64_t v = ((const int64_t *)a.children[2]->buffers[1])[a.offset + a.children[2]->offset + i];
            if (id < lo || id > hi || seen[id] || !w->keys[id].any || w->keys[id].deleted || w->keys[id].v != v)
                fail_msg("key %lld shows %lld, where %lld counts", (long long)id, (long long)v, (long long)w->keys[id].v);
            seen[id] = true;
        }
        if (more)
            a.release(&a);
    }
    s.release(&s);
    for (int64_t id = lo; id <= hi; id++)
        if (w->keys[id].any && !w->keys[id].deleted && !seen[id])
            fail_msg("key %lld is missing, its row is %lld", (long long)id, (long long)w->keys[id].v);
    free(seen);
}

static void must_show_some(world *w)
{
    int64_t lo = (int64_t)(test_random(w->k.t) % KEYS), hi = lo + (int64_t)(test_random(w->k.t) % (uint64_t)(KEYS - lo));
    must_show(w, 0, KEYS - 1);
    must_show(w, lo, lo);
    must_show(w, lo, hi);
}

static void prepare(world *w)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_prepare(&w->prepared, w->k.w, ++w->identifier, NULL, &err), &err);
}

static void settle(world *w)
{
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, w->prepared);
    if (n > 0)
        must_ok(pml_rt_commit(&r, w->k.commit, entries, n, w->identifier, NULL, &err), &err);
    pml_rt_prepared_free(w->prepared);
    w->prepared = NULL;
}

static int64_t rows_in_memory(const world *w)
{
    pml_rt_metrics m = PML_RT_METRICS_INIT;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_context_metrics(&m, w->k.ctx, &err), &err);
    return m.total_row_count;
}

static void episode(uint64_t seed, const char *collapse, bool by_sequence)
{
    world *w = calloc(1, sizeof *w);
    bool some = false;
    assert_non_null(w);
    open_world(w, seed, collapse, by_sequence);
    for (int step = 0; step < 120; step++) {
        uint64_t dice = test_random(w->k.t) % 40;
        if (dice < 34) {
            write_one(w);
            some = some || (w->identifier == 0 && rows_in_memory(w) < w->written);
            continue;
        }
        must_show_some(w);
        if (dice == 34 && w->prepared == NULL && step > 70)
            prepare(w);
        else if (dice < 37 && w->prepared != NULL)
            settle(w);
        else if (dice == 37 && step > 60)
            must_ok(pml_rt_seal(w->k.w, NULL), NULL);
        must_show_some(w);
    }
    if (w->prepared != NULL)
        settle(w);
    prepare(w);
    must_show_some(w);
    settle(w);
    must_show_some(w);
    assert_true(some == (strcmp(collapse, "auto") == 0));
    close_world(w);
}

static void many_rows_show_what_counts(void **state)
{
    (void)state;
    int64_t rounds = test_setting("ROUNDS", 1, 1, 1000000);
    uint64_t seed = test_seed();
    for (int64_t i = 0; i < 4 * rounds; i++)
        episode(seed + (uint64_t)i, i % 2 == 0 ? "off" : "auto", i % 4 >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_rows_show_what_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
