/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live rows with a primary key in batches large enough that runs are merged, some by the thread, and collapsed: what reads and queries by key
 * show against a plain reading of deduplicate, while rows go from memory to files. HOT=n: updates of the one hot key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores/memory.h"
#include "support/rows_kit.h"
#include "support/rt_kit.h"

enum { KEYS = 1500, ROWS_MAX = 400, COLUMNS = 3, JSON_MAX = 2048, PINNED = 4, HOT_KEY = 7, HOT_ROWS_BOUND = 8 * ROWS_MAX };

/* The row that counts of a key. */
typedef struct key_state {
    bool any, deleted;
    int32_t s;
    int64_t v;
} key_state;

typedef struct world {
    rt_kit k; /* its table is ours */
    bool by_sequence, ignores_deletes;
    int64_t next_v, written;
    key_state keys[KEYS];
    pml_rt_prepared *prepared;
    int64_t identifier;
} world;

typedef struct setting {
    const char *collapse;
    bool by_sequence, ignores_deletes;
    const pml_rt_plugin *store; /* NULL: memory */
} setting;

static void open_world(world *w, uint64_t seed, const setting *o)
{
    static const char fields[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"s\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"BIGINT\"}],"
        "\"partitionKeys\":[],\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\",\"bucket\":\"%d\","
        "\"realtime.memory.inline-merge-rows\":\"%d\",\"realtime.memory.collapse\":\"%s\"%s%s}}";
    char json[JSON_MAX];
    const pml_file_system fast = rt_kit_fs();
    pml_error err = PML_ERROR_INIT;
    w->by_sequence = o->by_sequence;
    w->ignores_deletes = o->ignores_deletes;
    w->k.t = test_env_open(&fast);
    w->k.t->random_state = seed;
    int n = snprintf(json, sizeof json, fields, 1 + (int)(seed % 3), seed % 2 == 0 ? 500 : 100000, o->collapse,
                     o->by_sequence ? ",\"sequence.field\":\"s\"" : "", o->ignores_deletes ? ",\"ignore-delete\":\"true\"" : "");
    must_ok(pml_table_create(&w->k.table, w->k.t->env, test_path(w->k.t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&w->k.commit, w->k.table, "many", &err), &err);
    rt_kit_start(&w->k, o->store, NULL);
}

static void close_world(world *w)
{
    rt_kit_close(&w->k);
    free(w);
}

static void take(world *w, int64_t id, int32_t s, int64_t v, int8_t kind)
{
    key_state *k = &w->keys[id];
    if ((w->by_sequence && k->any && s < k->s) || (w->ignores_deletes && kind == 3))
        return;
    *k = (key_state){true, kind == 3, s, v};
}

/* Rows of these keys, with anything else at random. */
static void write_keys(world *w, const int64_t *ids, int64_t n)
{
    test_env *t = w->k.t;
    int64_t vs[ROWS_MAX];
    int32_t ss[ROWS_MAX];
    int8_t kinds[ROWS_MAX];
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    for (int64_t i = 0; i < n; i++) {
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

/* Batches of few keys or of many, in order or in none. */
static void write_one(world *w)
{
    test_env *t = w->k.t;
    int64_t n = 1 + (int64_t)(test_random(t) % (test_random(t) % 4 == 0 ? 5 : ROWS_MAX)), ids[ROWS_MAX];
    int64_t among = test_random(t) % 3 == 0 ? 20 : KEYS, step = test_random(t) % 4 == 0 ? 1 : 0;
    for (int64_t i = 0; i < n; i++)
        ids[i] = step == 1 ? (KEYS - n) / 2 + i : (int64_t)(test_random(t) % (uint64_t)among);
    write_keys(w, ids, n);
}

/* Of rows with ids from lo to hi, both included. */
static pml_plan *plan_of(world *w, int64_t lo, int64_t hi)
{
    char low[24], high[24];
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *from, *to;
    pml_error err = PML_ERROR_INIT;
    const pml_literal bounds[2] = {{low, (size_t)snprintf(low, sizeof low, "%lld", (long long)lo)},
                                   {high, (size_t)snprintf(high, sizeof high, "%lld", (long long)hi)}};
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
    return plan;
}

/* The plan, which is freed, gives the rows that count. */
static void must_give(pml_plan *plan, const key_state *keys, int64_t lo, int64_t hi)
{
    struct ArrowArray a = {0};
    bool *seen = calloc(KEYS, sizeof *seen);
    assert_non_null(seen);
    struct ArrowArrayStream s = rows_open(plan);
    while (rows_next(&s, &a)) {
        for (int64_t i = 0; i < a.length; i++) {
            int64_t id = ((const int64_t *)a.children[0]->buffers[1])[a.offset + a.children[0]->offset + i];
            int64_t v = ((const int64_t *)a.children[2]->buffers[1])[a.offset + a.children[2]->offset + i];
            if (id < lo || id > hi || seen[id] || !keys[id].any || keys[id].deleted || keys[id].v != v)
                fail_msg("key %lld shows %lld, where %lld counts", (long long)id, (long long)v, (long long)keys[id].v);
            seen[id] = true;
        }
    }
    for (int64_t id = lo; id <= hi; id++)
        if (keys[id].any && !keys[id].deleted && !seen[id])
            fail_msg("key %lld is missing, its row is %lld", (long long)id, (long long)keys[id].v);
    free(seen);
}

static void must_show(world *w, int64_t lo, int64_t hi)
{
    must_give(plan_of(w, lo, hi), w->keys, lo, hi);
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

static void episode(uint64_t seed, const setting *o)
{
    world *w = calloc(1, sizeof *w);
    bool some = false;
    assert_non_null(w);
    open_world(w, seed, o);
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
    assert_true(some == (strcmp(o->collapse, "auto") == 0));
    close_world(w);
}

static void many_rows_show_what_counts(void **state)
{
    (void)state;
    int64_t rounds = test_setting("ROUNDS", 1, 1, 1000000);
    uint64_t seed = test_seed();
    for (int64_t i = 0; i < 4 * rounds; i++)
        episode(seed + (uint64_t)i, &(setting){.collapse = i % 2 == 0 ? "off" : "auto", .by_sequence = i % 4 >= 2});
}

/* ---- collapse (68) ---- */

/* What a view pinned in the middle shows. */
typedef struct pin {
    pml_plan *plan;
    key_state keys[KEYS];
} pin;

static void update_hot_key(world *w)
{
    int64_t n = 1 + (int64_t)(test_random(w->k.t) % ROWS_MAX), ids[ROWS_MAX];
    for (int64_t i = 0; i < n; i++)
        ids[i] = HOT_KEY;
    if (test_random(w->k.t) % 3 == 0)
        ids[n / 2] = (int64_t)(test_random(w->k.t) % 20);
    write_keys(w, ids, n);
}

static void one_key_many_times(uint64_t seed, const setting *o, int64_t updates)
{
    world *w = calloc(1, sizeof *w);
    pin *pins = calloc(PINNED, sizeof *pins);
    int64_t rows_max = 0, bytes_max = 0;
    assert_true(w != NULL && pins != NULL);
    open_world(w, seed, o);
    for (int n = 0; w->written < updates;) {
        pml_rt_metrics m = PML_RT_METRICS_INIT;
        pml_error err = PML_ERROR_INIT;
        update_hot_key(w);
        must_ok(pml_rt_context_metrics(&m, w->k.ctx, &err), &err);
        rows_max = m.total_row_count > rows_max ? m.total_row_count : rows_max;
        bytes_max = n == 0 && m.total_memory_bytes > bytes_max ? m.total_memory_bytes : bytes_max; /* while no view pins any */
        if (n < PINNED && w->written > updates * (n + 2) / (PINNED + 2)) {
            pins[n].plan = plan_of(w, 0, KEYS - 1);
            memcpy(pins[n++].keys, w->keys, sizeof w->keys);
        }
    }
    print_message("%lld updates: at most %lld rows, %lld bytes\n", (long long)w->written, (long long)rows_max, (long long)bytes_max);
    assert_in_range(rows_max, 1, HOT_ROWS_BOUND);
    assert_in_range(bytes_max, 1, HOT_ROWS_BOUND * 64);
    must_show(w, 0, KEYS - 1);
    must_show(w, HOT_KEY, HOT_KEY);
    prepare(w); /* kept and collapsed rows are all that was written, or it fails */
    must_show(w, 0, KEYS - 1);
    for (int i = 0; i < PINNED / 2; i++)
        must_give(pins[i].plan, pins[i].keys, 0, KEYS - 1);
    settle(w);
    must_show(w, 0, KEYS - 1);
    for (int i = PINNED / 2; i < PINNED; i++)
        must_give(pins[i].plan, pins[i].keys, 0, KEYS - 1);
    free(pins);
    close_world(w);
}

/* 68: the durable end and the barrier inside of a group: P3, P4. A million updates: HOT=1000000 (check-long). */
static void hot_key_takes_bounded_memory_and_keeps_its_row(void **state)
{
    (void)state;
    const int64_t updates = test_setting("HOT", 20000, 20000, INT64_MAX / 16);
    for (int i = 0; i < 4; i++)
        one_key_many_times(test_seed() / 6 * 6 + 3 + 6 * (uint64_t)i, &(setting){.collapse = "auto", .by_sequence = i % 2 == 1, .ignores_deletes = i >= 2}, updates);
}

/* A memory store whose counters are wrong. */
static pml_rt_store_vtbl lying_vtbl;
static const pml_rt_store_vtbl *honest;
static int lie;

static int lying_segment_info(void *segment, pml_rt_segment_info *out, pml_error *err)
{
    int rc = honest->segment_info(segment, out, err);
    out->collapsed_rows = lie == 1 ? out->collapsed_rows - 1 : lie == 2 ? out->collapsed_rows + 1 : lie == 3 ? 0 : lie == 4 ? -1 : out->collapsed_rows;
    out->collapsed_hash += lie == 5;
    return rc;
}

static int lying_store_open(void *backend, void **store, const pml_rt_store_vtbl **vt, const pml_rt_store_params *params, pml_error *err)
{
    int rc = pml_memory_store_plugin()->store_open(backend, store, &honest, params, err);
    if (rc != PML_OK)
        return rc;
    lying_vtbl = *honest;
    lying_vtbl.segment_info = lying_segment_info;
    *vt = &lying_vtbl;
    return PML_OK;
}

/* 68: rows that a store does not have must be those that it says were replaced. */
static void wrong_counters_of_collapsed_rows_are_refused(void **state)
{
    (void)state;
    pml_rt_plugin lying = *pml_memory_store_plugin();
    lying.store_open = lying_store_open;
    for (lie = 0; lie <= 5; lie++) {
        world *w = calloc(1, sizeof *w);
        pml_error err = PML_ERROR_INIT;
        assert_non_null(w);
        open_world(w, 3, &(setting){.collapse = "auto", .store = &lying});
        while (w->written < 10 * ROWS_MAX)
            update_hot_key(w);
        assert_true(rows_in_memory(w) < w->written);
        must_fail_with(lie == 0 ? PML_OK : PML_E_PLUGIN_CONTRACT, pml_rt_prepare(&w->prepared, w->k.w, 1, NULL, &err), &err);
        if (lie == 0)
            settle(w);
        close_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_rows_show_what_counts), cmocka_unit_test(hot_key_takes_bounded_memory_and_keeps_its_row),
                                       cmocka_unit_test(wrong_counters_of_collapsed_rows_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
