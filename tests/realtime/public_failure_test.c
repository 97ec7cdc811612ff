/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The n-th allocation fails, for every n, in the public calls whose loops are nowhere else: no crash, no leak, PML_E_NOMEM, and
 * the call can be repeated. realtime/public_calls_test.c says where those of all the others are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_kit.h"
#include <paimonlive/paimonlive.h>

/* Runs from the same start again and again; takes away what it made. */
typedef int (*step_fn)(rt_kit *k, pml_error *err);

/* *reached: the step got as far as its n-th allocation. */
static int with_failure(bool *reached, rt_kit *k, step_fn step, int n, pml_error *err)
{
    *err = (pml_error)PML_ERROR_INIT;
    test_env_fail_at(k->t, n);
    int rc = step(k, err);
    *reached = test_env_fail_reached(k->t);
    test_env_fail_at(k->t, 0);
    return rc;
}

static void survive(rt_kit *k, step_fn step, int least)
{
    pml_error err;
    bool reached = true;
    int failures = 0;
    for (int n = 1; reached; n++) {
        int rc = with_failure(&reached, k, step, n, &err);
        if (rc == PML_OK)
            continue;
        must_fail_with(PML_E_NOMEM, rc, &err);
        failures++;
    }
    assert_true(failures >= least);
}

/* ---- tables and catalogs ---- */

static int step_describe(rt_kit *k, pml_error *err)
{
    struct ArrowSchema schema = {0};
    pml_text text = {0};
    int64_t id;
    int rc;
    PML_TRY(pml_table_arrow_schema(&schema, k->table, err));
    PML_TRY(pml_table_schema_json(&text, k->table, err));
    PML_TRY(pml_table_latest_snapshot(&id, k->table, err));
    assert_int_equal(id, 1);
out:
    if (schema.release != NULL)
        schema.release(&schema);
    pml_text_clear(&text);
    return rc;
}

/* All batches of a stream (released), and its schema. */
static int drain(int64_t *rows, struct ArrowArrayStream *stream, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    int rc = PML_OK;
    *rows = 0;
    if (stream->get_schema(stream, &schema) != 0)
        rc = pml_stream_error(stream, err);
    else
        schema.release(&schema);
    while (rc == PML_OK) {
        if (stream->get_next(stream, &array) != 0)
            rc = pml_stream_error(stream, err);
        if (rc != PML_OK || array.release == NULL)
            break;
        *rows += array.length;
        array.release(&array);
    }
    stream->release(stream);
    return rc;
}

static int step_lists(rt_kit *k, pml_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = {0};
    pml_predicate *none = NULL;
    pml_system_options o = PML_SYSTEM_OPTIONS_INIT;
    int64_t rows;
    int rc;
    PML_TRY(pml_table_snapshots(&stream, k->table, err));
    PML_TRY(drain(&rows, &stream, err));
    assert_int_equal(rows, 1);
    PML_TRY(pml_table_files(&stream, k->table, -1, err));
    PML_TRY(drain(&rows, &stream, err));
    assert_true(rows > 0);
    PML_TRY(pml_system_table_open(&stream, k->table, "manifests", NULL, err));
    PML_TRY(drain(&rows, &stream, err));
    assert_true(rows > 0);
    PML_TRY(pml_system_table_schema(&schema, k->table, "manifests", err));
    PML_TRY(pml_system_predicate_leaf(&none, k->table, "manifests", "file_name", PML_OP_EQ, &(pml_literal){"x", 1}, 1, err));
    o.predicate = none;
    PML_TRY(pml_system_table_open(&stream, k->table, "manifests", &o, err));
    PML_TRY(drain(&rows, &stream, err));
    assert_int_equal(rows, 0);
out:
    if (schema.release != NULL)
        schema.release(&schema);
    pml_predicate_free(none);
    return rc;
}

static int step_catalog(rt_kit *k, pml_error *err)
{
    pml_catalog *catalog = NULL;
    pml_text path = {0};
    int rc;
    PML_TRY(pml_catalog_open(&catalog, k->t->env, k->t->dir, err));
    PML_TRY(pml_catalog_table_path(&path, catalog, "here.there", err));
    assert_non_null(strstr(path.ptr, "here.db/there"));
out:
    pml_text_clear(&path);
    pml_catalog_release(catalog);
    return rc;
}

static int step_read_schema(rt_kit *k, pml_error *err)
{
    struct ArrowArrayStream stream;
    pml_plan *plan = NULL;
    int64_t rows;
    int rc;
    PML_TRY(rt_kit_try_plan(&plan, k, k->ctx, -1, err));
    PML_TRY(pml_read_open(&stream, plan, NULL, err));
    PML_TRY(drain(&rows, &stream, err));
    assert_int_equal(rows, 9);
out:
    pml_plan_free(plan);
    return rc;
}

/* a = 1 or (b or c): children are moved in, also on failure. */
static int step_predicate(rt_kit *k, pml_error *err)
{
    pml_predicate *v[3] = {NULL}, *inner = NULL, *outer = NULL;
    int rc;
    for (int i = 0; i < 3; i++)
        PML_TRY(pml_predicate_leaf(&v[i], k->table, i == 0 ? "id" : "v", PML_OP_NE, &(pml_literal){"1", 1}, 1, err));
    rc = pml_predicate_or(&inner, k->t->env, v + 1, 2, err);
    v[1] = v[2] = NULL;
    if (rc != PML_OK)
        goto out;
    pml_predicate *both[] = {v[0], inner};
    v[0] = inner = NULL;
    PML_TRY(pml_predicate_or(&outer, k->t->env, both, 2, err));
out:
    for (int i = 0; i < 3; i++)
        pml_predicate_free(v[i]);
    pml_predicate_free(inner);
    pml_predicate_free(outer);
    return rc;
}

static int step_cells(rt_kit *k, pml_error *err)
{
    const long long fail_at = k->t->fail_at, count = atomic_load(&k->t->count);
    k->t->fail_at = 0; /* not while the input is made */
    struct ArrowArray array = rt_kit_batch(k, 2, "a");
    struct ArrowSchema schema = rt_kit_schema(k);
    atomic_store(&k->t->count, count);
    k->t->fail_at = fail_at;
    pml_rows_printer *printer = NULL;
    pml_text text = {0};
    int rc;
    PML_TRY(pml_rows_printer_new(&printer, k->t->env, &schema, PML_ROWS_JSON, err));
    for (int64_t column = 0; column < schema.n_children; column++)
        PML_TRY(pml_rows_print_cell(&text, printer, &array, 1, column, err));
out:
    pml_text_clear(&text);
    pml_rows_printer_free(printer);
    schema.release(&schema);
    array.release(&array);
    return rc;
}

static int step_offsets(rt_kit *k, pml_error *err)
{
    const char *const partition[] = {"a"};
    const pml_rt_pb pb = {sizeof pb, 1, partition, 0, 0};
    pml_rt_offsets *offsets;
    int rc = pml_rt_offsets_load(&offsets, k->table, -1, err);
    if (rc == PML_OK) {
        assert_int_equal(pml_rt_offsets_find(offsets, &pb), 4);
        pml_rt_offsets_free(offsets);
    }
    return rc;
}

static int step_metrics(rt_kit *k, pml_error *err)
{
    pml_rt_metrics metrics = PML_RT_METRICS_INIT;
    int rc = pml_rt_context_metrics(&metrics, k->ctx, err);
    assert_int_equal(metrics.total_row_count, rc == PML_OK ? 5 : 0);
    return rc;
}

static int step_status(rt_kit *k, pml_error *err)
{
    pml_rt_status status = PML_RT_STATUS_INIT;
    int rc = pml_rt_status_get(&status, k->ctx, err);
    assert_int_equal(status.metrics.total_row_count, rc == PML_OK ? 5 : 0);
    return rc;
}

static void calls_that_change_nothing_can_be_repeated(void **state)
{
    (void)state;
    static const struct {
        step_fn step;
        int least; /* failures */
    } steps[] = {{step_describe, 10}, {step_lists, 100}, {step_catalog, 3},  {step_read_schema, 100},
                 {step_predicate, 5}, {step_cells, 3},   {step_offsets, 10}, {step_metrics, 1},
                 {step_status, 1}};
    rt_kit k;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 4, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        survive(&k, steps[i].step, steps[i].least);
    rt_kit_must_show(&k, 0, 9);
    rt_kit_close(&k);
}

/* ---- calls that take away ---- */

static pml_catalog *catalog_of_drop;

static int step_drop(rt_kit *k, pml_error *err)
{
    (void)k;
    return pml_catalog_drop_table(catalog_of_drop, "d.t", err);
}

static void table_is_dropped_at_the_latest_when_there_is_memory(void **state)
{
    (void)state;
    static const char text[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}]}";
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    bool reached;
    int failures = 0, rc = PML_E_NOMEM;
    rt_kit_create(&k, NULL, "", "");
    must_ok(pml_catalog_open(&catalog_of_drop, k.t->env, k.t->dir, &err), &err);
    for (int n = 1; rc != PML_OK; n++, failures++) {
        pml_table *table;
        must_ok(pml_table_create(&table, k.t->env, test_path(k.t, "d.db/t"), text, strlen(text),
                                 PML_TABLE_IF_NOT_EXISTS, &err),
                &err);
        pml_table_release(table);
        rc = with_failure(&reached, &k, step_drop, n, &err);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
    }
    assert_true(failures > 3);
    must_fail_with(PML_E_NOT_FOUND, pml_catalog_drop_table(catalog_of_drop, "d.t", &err), &err);
    pml_catalog_release(catalog_of_drop);
    rt_kit_close(&k);
}

static int step_close(rt_kit *k, pml_error *err)
{
    return pml_rt_writer_close(k->w, err);
}

static void writer_closes_or_says_why_not(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 6, "*");
    bool reached;
    int rc = PML_E_NOMEM, n = 1;
    for (; rc == PML_E_NOMEM; n++)
        rc = with_failure(&reached, &k, step_close, n, &err);
    must_fail_with(PML_E_STATE, rc, &err);
    assert_true(n > 2);
    (void)rt_kit_cycle(&k, 1);
    survive(&k, step_close, 1);
    k.w = NULL;
    rt_kit_must_store(&k, 0, 6);
    rt_kit_close(&k);
}

static pml_text split_of_release;

static int step_release_ticket(rt_kit *k, pml_error *err)
{
    return pml_rt_split_release_ticket(k->ctx, &(pml_blob){split_of_release.ptr, split_of_release.len}, err);
}

static void tickets_are_let_go(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 6, NULL);
    pml_plan *plan = rt_kit_plan(&k);
    must_ok(pml_rt_split_serialize(&split_of_release, plan, 0, &err), &err);
    pml_plan_free(plan);
    assert_int_equal(rt_kit_metrics(&k).open_views, 1);
    survive(&k, step_release_ticket, 1);
    assert_int_equal(rt_kit_metrics(&k).open_views, 0);
    pml_text_clear(&split_of_release);
    rt_kit_close(&k);
}

/* ---- the environment itself ---- */

typedef struct meter {
    int left; /* allocations that succeed */
    int live;
} meter;

static void *meter_realloc(void *ctx, void *p, size_t n)
{
    meter *m = ctx;
    if (m->left-- <= 0)
        return NULL;
    m->live += p == NULL;
    return realloc(p, n);
}

static void *meter_alloc(void *ctx, size_t n)
{
    return meter_realloc(ctx, NULL, n);
}

static void meter_free(void *ctx, void *p)
{
    ((meter *)ctx)->live--;
    free(p);
}

static void environment_is_made_or_not(void **state)
{
    (void)state;
    int rc = PML_E_NOMEM, n = 0;
    for (; rc != PML_OK; n++) {
        meter m = {n, 0};
        const pml_allocator allocator = {&m, meter_alloc, meter_realloc, meter_free};
        pml_env_options o = PML_ENV_OPTIONS_INIT;
        pml_error err = PML_ERROR_INIT;
        pml_env *env = NULL;
        o.allocator = &allocator;
        rc = pml_env_new(&env, &o, &err);
        assert_true((rc == PML_OK) == (env != NULL));
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        pml_env_release(env);
        assert_int_equal(m.live, 0);
    }
    assert_true(n > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_change_nothing_can_be_repeated),
        cmocka_unit_test(table_is_dropped_at_the_latest_when_there_is_memory),
        cmocka_unit_test(writer_closes_or_says_why_not),
        cmocka_unit_test(tickets_are_let_go),
        cmocka_unit_test(environment_is_made_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
