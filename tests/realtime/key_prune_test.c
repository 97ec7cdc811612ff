/* SPDX-License-Identifier: Apache-2.0 */
/* 69: conditions on the key leave runs in memory out before they are read (realtime-pk.md 11.5): how many runs a query opens, and that its answer
   is that of all rows; and columns without those of the key. */
#include <stdio.h>
#include <string.h>

#include "stores/memory.h"
#include "support/rt_kit.h"
#include "util/number.h"

enum { ROWS = 80, RUNS = 11, COLUMNS = 3, ALL_ROWS = ROWS * RUNS };

/* ---- a memory store that counts what queries open ---- */

static pml_rt_store_vtbl store_vtbl;
static pml_rt_view_vtbl view_vtbl;
static const pml_rt_view_vtbl *real_view;
static const pml_rt_store_vtbl *real_store;
static size_t opened;

static int query_streams(void *view, pml_rt_streams *out, const pml_rt_query *q, pml_error *err)
{
    int rc = real_view->query_streams(view, out, q, err);
    opened += rc == PML_OK ? out->n : 0;
    return rc;
}

static int acquire_view(void *store, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    int rc = real_store->acquire_view(store, view, &real_view, err);
    if (rc != PML_OK)
        return rc;
    view_vtbl = *real_view;
    view_vtbl.query_streams = query_streams;
    *vtbl = &view_vtbl;
    return PML_OK;
}

static int store_open(void *backend, void **store, const pml_rt_store_vtbl **vt, const pml_rt_store_params *params, pml_error *err)
{
    int rc = pml_memory_store_plugin()->store_open(backend, store, &real_store, params, err);
    if (rc != PML_OK)
        return rc;
    store_vtbl = *real_store;
    store_vtbl.acquire_view = acquire_view;
    *vt = &store_vtbl;
    return PML_OK;
}

/* ---- rows: key (a, b), and which run they are of ---- */

typedef struct row {
    int32_t a;
    char b[4];
    int64_t v;
} row;

/* Runs 0 to 6 have ten values of a each, 7 to 9 the same a and other texts, and 10 the keys of run 2 once more. */
static row row_of(int run, int i)
{
    row r = {.v = run};
    r.a = run == 10 ? 20 + i / 8 : run >= 7 ? 100 : 10 * run + i / 8;
    (void)snprintf(r.b, sizeof r.b, "%c%02d", run >= 7 && run < 10 ? 'a' + run - 7 : 'p' + i % 8, i);
    if (run < 7 || run == 10)
        r.b[1] = '\0';
    return r;
}

/* The first n of its rows, in no order. */
static void write_rows(rt_kit *k, int run, int64_t n)
{
    int32_t a[ROWS];
    row rows[ROWS];
    const char *b[ROWS];
    int64_t v[ROWS];
    pml_error err = PML_ERROR_INIT;
    for (int i = 0; i < n; i++) {
        rows[i] = row_of(run, (i * 7) % ROWS);
        a[i] = rows[i].a;
        b[i] = rows[i].b;
        v[i] = rows[i].v;
    }
    struct ArrowArray c[COLUMNS] = {test_fixed_array(4, n, a), test_text_array(n, b), test_fixed_array(8, n, v)};
    struct ArrowSchema f[COLUMNS] = {test_field("i", "a", -1, false, 0, NULL), test_field("u", "b", -1, false, 0, NULL),
                                     test_field("l", "v", -1, true, 0, NULL)};
    struct ArrowArray batch = test_struct_array(n, COLUMNS, c);
    struct ArrowSchema schema = test_struct(COLUMNS, f);
    must_ok(pml_rt_write(NULL, k->w, &batch, &schema, NULL, &err), &err);
    schema.release(&schema);
}

static void write_run(rt_kit *k, int run)
{
    write_rows(k, run, ROWS);
}

static void start(rt_kit *k, const char *mode)
{
    static const char fields[] =
        "{\"fields\":[{\"name\":\"a\",\"type\":\"INT NOT NULL\"},{\"name\":\"b\",\"type\":\"STRING NOT NULL\"},{\"name\":\"v\",\"type\":\"BIGINT\"}],"
        "\"partitionKeys\":[],\"primaryKeys\":[\"a\",\"b\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\",\"bucket\":\"1\","
        "\"realtime.memory.inline-merge-rows\":\"1\",\"realtime.store.stats-mode\":\"%s\"}}";
    static pml_rt_plugin counting;
    const pml_file_system fast = rt_kit_fs();
    char json[1024];
    pml_error err = PML_ERROR_INIT;
    memset(k, 0, sizeof *k);
    counting = *pml_memory_store_plugin();
    counting.store_open = store_open;
    k->t = test_env_open(&fast);
    int n = snprintf(json, sizeof json, fields, mode);
    must_ok(pml_table_create(&k->table, k->t->env, test_path(k->t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&k->commit, k->table, "prune", &err), &err);
    rt_kit_start(k, &counting, NULL);
    for (int run = 0; run < RUNS; run++) {
        write_run(k, run);
        if (run == 4)
            must_ok(pml_rt_seal(k->w, &err), &err);
    }
}

/* ---- conditions ---- */

typedef struct leaf {
    const char *column;
    int op;
    const char *literals[3];
} leaf;

typedef struct condition {
    leaf all[2]; /* joined by AND */
    size_t by_range, by_statistics; /* runs that are read: without statistics, with those of keys */
} condition;

static bool is_true(const leaf *l, const row *r)
{
    bool any = false;
    for (int i = 0; i < 3 && l->literals[i] != NULL; i++) {
        int64_t literal = 0, number = l->column[0] == 'a' ? r->a : r->v;
        assert_true(l->column[0] == 'b' || pml_number__int64(&literal, l->literals[i], strlen(l->literals[i])));
        int c = l->column[0] == 'b' ? strcmp(r->b, l->literals[i]) : (number > literal) - (number < literal);
        any = any || (l->op == PML_OP_EQ || l->op == PML_OP_IN ? c == 0 : l->op == PML_OP_GE ? c >= 0 : l->op == PML_OP_LE ? c <= 0 : c < 0);
    }
    return any;
}

/* By hand: of each key the newest row, and of those the matching ones. */
static int64_t matching_rows(const condition *c)
{
    int64_t n = 0;
    for (int run = 0; run < RUNS; run++)
        for (int i = 0; i < ROWS; i++) {
            const row r = row_of(run, i);
            bool ok = run != 2; /* run 10 has its keys */
            for (int k = 0; k < 2 && c->all[k].column != NULL; k++)
                ok = ok && is_true(&c->all[k], &r);
            n += ok;
        }
    return n;
}

static pml_predicate *predicate_of(rt_kit *k, const condition *c)
{
    pml_predicate *leaves[2], *all;
    size_t n = 0;
    pml_error err = PML_ERROR_INIT;
    for (; n < 2 && c->all[n].column != NULL; n++) {
        pml_literal literals[3];
        size_t n_literals = 0;
        for (; n_literals < 3 && c->all[n].literals[n_literals] != NULL; n_literals++)
            literals[n_literals] = (pml_literal){c->all[n].literals[n_literals], strlen(c->all[n].literals[n_literals])};
        must_ok(pml_predicate_leaf(&leaves[n], k->table, c->all[n].column, c->all[n].op, literals, n_literals, &err), &err);
    }
    must_ok(pml_predicate_and(&all, k->t->env, leaves, n, &err), &err);
    return all;
}

/* Each row that comes is the newest of its key. */
static int64_t read_rows(struct ArrowArrayStream *s)
{
    int64_t n = 0;
    for (;;) {
        struct ArrowArray batch;
        assert_int_equal(s->get_next(s, &batch), 0);
        if (batch.release == NULL)
            break;
        const struct ArrowArray *a = batch.children[0], *v = batch.children[2];
        for (int64_t i = 0; i < batch.length; i++) {
            int32_t key = ((const int32_t *)a->buffers[1])[a->offset + batch.offset + i];
            int64_t value = ((const int64_t *)v->buffers[1])[v->offset + batch.offset + i];
            assert_true(key == 100 ? value >= 7 && value < 10 : key / 10 == 2 ? value == 10 : value == key / 10);
        }
        n += batch.length;
        batch.release(&batch);
    }
    s->release(s);
    return n;
}

/* How many runs a query opens, whose answer is right. */
static size_t runs_opened(rt_kit *k, const condition *c)
{
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream s;
    pml_error err = PML_ERROR_INIT;
    pml_predicate *p = predicate_of(k, c);
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k->ctx, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    pml_predicate_free(p);
    opened = 0;
    must_ok(pml_read_open(&s, plan, NULL, &err), &err);
    pml_plan_free(plan);
    assert_int_equal(read_rows(&s), matching_rows(c));
    return opened;
}

static void must_open(rt_kit *k, const condition *c, bool statistics)
{
    const int64_t left_out = rt_kit_metrics(k).pruned_runs;
    const size_t n = runs_opened(k, c), wanted = statistics ? c->by_statistics : c->by_range;
    if (n != wanted)
        fail_msg("%s %s: %zu runs were opened, %zu are needed", c->all[0].column, c->all[0].literals[0], n, wanted);
    assert_true(rt_kit_metrics(k).pruned_runs - left_out <= (int64_t)(RUNS - n));
    assert_true(statistics || rt_kit_metrics(k).pruned_runs == left_out);
    assert_true(!statistics || n == RUNS || rt_kit_metrics(k).pruned_runs > left_out);
}

static const condition conditions[] = {
    {{{"a", PML_OP_EQ, {"25"}}}, 2, 2},
    {{{"a", PML_OP_EQ, {"999"}}}, 0, 0},
    {{{"a", PML_OP_EQ, {"35"}}, {"b", PML_OP_EQ, {"q"}}}, 1, 1},
    {{{"a", PML_OP_IN, {"5", "45"}}}, 6, 2},
    {{{"a", PML_OP_IN, {"12", "13", "25"}}}, 3, 3},
    {{{"a", PML_OP_GE, {"50"}}}, 5, 5},
    {{{"a", PML_OP_LT, {"20"}}}, 4, 2}, /* ranges of a run have their ends with them */
    {{{"a", PML_OP_GE, {"30"}}, {"a", PML_OP_LE, {"49"}}}, 2, 2},
    {{{"a", PML_OP_EQ, {"100"}}}, 3, 3}, /* the first column of the key by itself */
    {{{"a", PML_OP_EQ, {"100"}}, {"b", PML_OP_EQ, {"b01"}}}, 1, 1},
    {{{"a", PML_OP_EQ, {"100"}}, {"b", PML_OP_GE, {"b40"}}}, 2, 2},
    {{{"a", PML_OP_EQ, {"100"}}, {"b", PML_OP_LT, {"a00"}}}, 1, 0},
    {{{"b", PML_OP_EQ, {"b01"}}}, RUNS, 1}, /* no prefix of the key: by statistics only */
    {{{"v", PML_OP_EQ, {"2"}}}, RUNS, RUNS}, /* no key: all versions must be seen, the newest of these keys do not match */
    {{{"v", PML_OP_EQ, {"10"}}}, RUNS, RUNS},
    {{{"v", PML_OP_LT, {"3"}}, {"a", PML_OP_LT, {"30"}}}, 5, 4},
};

static void runs_without_a_wanted_key_are_left_out(void **state)
{
    (void)state;
    static const char *const modes[] = {"none", "keys", "full"};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        rt_kit k;
        start(&k, modes[m]);
        for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
            must_open(&k, &conditions[i], m > 0);
        rt_kit_close(&k);
    }
}

/* ---- columns ---- */

/* Rows of a read of these columns; values: how often each of v comes, where it is the first column. */
static int64_t count_rows(rt_kit *k, const char *const *columns, size_t n_columns, int64_t values[RUNS])
{
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream s;
    int64_t n = 0, counted;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_scan_set_columns(scan, columns, n_columns, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k->ctx, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    must_ok(pml_read_open(&s, plan, NULL, &err), &err);
    pml_plan_free(plan);
    for (;;) {
        struct ArrowArray batch;
        assert_int_equal(s.get_next(&s, &batch), 0);
        if (batch.release == NULL)
            break;
        assert_int_equal(batch.n_children, n_columns);
        for (int64_t i = 0; values != NULL && i < batch.length; i++)
            values[((const int64_t *)batch.children[0]->buffers[1])[batch.children[0]->offset + batch.offset + i]]++;
        n += batch.length;
        batch.release(&batch);
    }
    s.release(&s);
    assert_int_equal(n, counted);
    return n;
}

static void must_count(rt_kit *k)
{
    static const struct {
        const char *columns[3];
        size_t n;
    } asked[] = {{{"v"}, 1}, {{"v", "b"}, 2}, {{"b"}, 1}, {{"a"}, 1}, {{"b", "a"}, 2}, {{NULL}, 0}};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        int64_t values[RUNS] = {0};
        assert_int_equal(count_rows(k, asked[i].columns, asked[i].n, i < 2 ? values : NULL), ALL_ROWS - ROWS);
        for (int run = 0; run < RUNS && i < 2; run++)
            assert_int_equal(values[run], run == 2 ? 0 : ROWS);
    }
}

/* 56: a key of two columns: no column of it, one, both and no others; a child of a column by itself cannot be asked for */
static void columns_without_the_key_are_those_of_the_newest_rows(void **state)
{
    (void)state;
    rt_kit k;
    start(&k, "none");
    must_count(&k);
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    must_count(&k);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    must_count(&k);
    write_run(&k, 10); /* over files */
    must_count(&k);
    rt_kit_close(&k);
}

/* A thread merges small runs with the rows that are still being written: what came out is left out like the others. */
static void a_run_of_small_runs_is_left_out(void **state)
{
    (void)state;
    static const condition all = {{{"v", PML_OP_EQ, {"3"}}}, 0, 0};
    static const condition some = {{{"b", PML_OP_EQ, {"b01"}}}, 5 + 1, 1}, none = {{{"b", PML_OP_EQ, {"A"}}}, 5 + 1, 0};
    static const char *const modes[] = {"none", "keys", "full"};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        rt_kit k;
        start(&k, modes[m]);
        write_rows(&k, 10, 10);
        for (int i = 0; runs_opened(&k, &all) != 5 + 1; i++) {
            assert_true(i < TEST_PATIENCE_MS);
            test_sleep_a_millisecond();
        }
        must_open(&k, &some, m > 0);
        must_open(&k, &none, m > 0);
        rt_kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_without_a_wanted_key_are_left_out),
                                       cmocka_unit_test(a_run_of_small_runs_is_left_out),
                                       cmocka_unit_test(columns_without_the_key_are_those_of_the_newest_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
