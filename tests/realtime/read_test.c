/* SPDX-License-Identifier: Apache-2.0 */
/* Reading memory and disk as one: columns, predicates, limits, batch sizes, schemas (realtime.md 10.2). Numbers: realtime-tests.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_kit.h"

static const char *const manual[] = {"realtime.auto-advance", "false"};

/* a: ids 0-4 on disk, 5-9 on disk and in memory, 10-14 in memory; b: 15-19 in memory. */
static void start(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(k, NULL, "\"p\"", "");
    rt_kit_start(k, NULL, manual);
    rt_kit_write(k, 5, "a");
    must_ok(pml_rt_advance(k->ctx, rt_kit_cycle(k, 1), &err), &err);
    rt_kit_write(k, 5, "a");
    (void)rt_kit_cycle(k, 2);
    rt_kit_write(k, 5, "a");
    rt_kit_write(k, 5, "b");
}

static pml_scan *scan_of(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k->ctx, &err), &err);
    return scan;
}

static pml_plan *plan_of(pml_scan *scan)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    must_ok(pml_scan_plan(&p, scan, &err), &err);
    pml_scan_free(scan);
    return p;
}

/* Rows and largest batch. */
static int64_t rows_of(pml_plan *p, const pml_read_options *o, int64_t *largest)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream s;
    int64_t n = 0;
    *largest = 0;
    must_ok(pml_read_open(&s, p, o, &err), &err);
    for (;;) {
        struct ArrowArray a = {0};
        assert_int_equal(s.get_next(&s, &a), 0);
        if (a.release == NULL)
            break;
        n += a.length;
        *largest = a.length > *largest ? a.length : *largest;
        a.release(&a);
    }
    s.release(&s);
    return n;
}

static void must_count(pml_plan *p, int64_t expected)
{
    pml_error err = PML_ERROR_INIT;
    int64_t rows, largest;
    must_ok(pml_plan_count(&rows, p, &err), &err);
    assert_int_equal(rows, expected);
    assert_int_equal(rows_of(p, NULL, &largest), expected);
}

/* 44 */
static void columns_come_in_the_wanted_order_from_memory_too(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream s;
    int seen = 0;
    start(&k);
    pml_scan *scan = scan_of(&k);
    must_ok(pml_scan_set_columns(scan, (const char *const[]){"v", "id"}, 2, &err), &err);
    pml_plan *p = plan_of(scan);
    must_ok(pml_read_open(&s, p, NULL, &err), &err);
    for (;;) {
        struct ArrowArray a = {0};
        assert_int_equal(s.get_next(&s, &a), 0);
        if (a.release == NULL)
            break;
        assert_int_equal(a.n_children, 2);
        for (int64_t i = 0; i < a.length; i++) {
            const struct ArrowArray *v = a.children[0], *id = a.children[1];
            const int32_t *o = (const int32_t *)v->buffers[1] + v->offset + i;
            char text[24];
            (void)snprintf(text, sizeof text, "v%lld", (long long)((const int64_t *)id->buffers[1])[id->offset + i]);
            assert_memory_equal((const char *)v->buffers[2] + o[0], text, strlen(text));
            seen++;
        }
        a.release(&a);
    }
    s.release(&s);
    assert_int_equal(seen, 20);
    pml_plan_free(p);
    rt_kit_close(&k);
}

static void no_columns_give_counts_of_memory_and_disk(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start(&k);
    pml_scan *scan = scan_of(&k);
    must_ok(pml_scan_set_columns(scan, NULL, 0, &err), &err);
    pml_plan *p = plan_of(scan);
    must_count(p, 20);
    pml_plan_free(p);
    rt_kit_close(&k);
}

static pml_plan *plan_where(rt_kit *k, const char *column, pml_predicate_op op, const char *text)
{
    pml_error err = PML_ERROR_INIT;
    pml_predicate *pred;
    const pml_literal literal = {text, strlen(text)};
    pml_scan *scan = scan_of(k);
    must_ok(pml_predicate_leaf(&pred, k->table, column, op, &literal, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, pred, &err), &err);
    pml_predicate_free(pred);
    return plan_of(scan);
}

/* 44 */
static void predicates_are_exact_on_memory_and_disk(void **state)
{
    (void)state;
    static const struct {
        const char *column;
        pml_predicate_op op;
        const char *text;
        int64_t rows;
    } cases[] = {{"id", PML_OP_GE, "3", 17}, {"id", PML_OP_EQ, "7", 1},  {"id", PML_OP_GT, "12", 7}, {"id", PML_OP_LT, "0", 0},
                 {"p", PML_OP_EQ, "b", 5},   {"p", PML_OP_EQ, "c", 0},   {"p", PML_OP_NE, "b", 15},  {"v", PML_OP_EQ, "v17", 1},
                 {"v", PML_OP_STARTS_WITH, "v1", 11}};
    rt_kit k;
    start(&k);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_plan *p = plan_where(&k, cases[i].column, cases[i].op, cases[i].text);
        must_count(p, cases[i].rows);
        pml_plan_free(p);
    }
    pml_plan *p = plan_where(&k, "p", PML_OP_EQ, "b"); /* the memory of a is left out by its partition */
    assert_int_equal(pml_plan_split_count(p), 1);
    pml_plan_free(p);
    rt_kit_close(&k);
}

/* 47 */
static void limits_count_memory_and_disk_together(void **state)
{
    (void)state;
    rt_kit k;
    start(&k);
    for (int64_t limit = 0; limit <= 22; limit++) {
        pml_error err = PML_ERROR_INIT;
        pml_scan *scan = scan_of(&k);
        must_ok(pml_scan_set_limit(scan, limit, &err), &err);
        pml_plan *p = plan_of(scan);
        must_count(p, limit < 20 ? limit : 20);
        pml_plan_free(p);
    }
    rt_kit_close(&k);
}

/* 49 */
static void batches_from_memory_keep_the_wanted_size(void **state)
{
    (void)state;
    rt_kit k;
    int64_t largest;
    start(&k);
    rt_kit_write(&k, 1000, "a");
    pml_plan *p = rt_kit_plan(&k);
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.batch_rows = 64;
    for (o.threads = 0; o.threads < 4; o.threads++) { /* several threads read files and memory of a split beside each other */
        assert_int_equal(rows_of(p, &o, &largest), 1020);
        assert_true(largest <= 64);
    }
    int64_t sum = 0;
    for (size_t i = 0; i < pml_plan_split_count(p); i++) { /* splits may be read one by one, too */
        o.split = (int64_t)i;
        o.threads = 2 * (uint32_t)(i % 2);
        sum += rows_of(p, &o, &largest);
    }
    assert_int_equal(sum, 1020);
    pml_plan_free(p);
    rt_kit_close(&k);
}

/* ---- schemas: 10, and what P1 says of ALTER ---- */

/* Writes schema-1: schema-0 with a text replaced. */
static void alter(rt_kit *k, const char *what, const char *with)
{
    char path[600];
    size_t len;
    (void)snprintf(path, sizeof path, "%s/schema/schema-0", k->path);
    char *text = (char *)test_read_file(path, &len);
    char *id = strstr(text, "\"id\" : 0");
    char *at = strstr(text, what);
    assert_non_null(id);
    assert_non_null(at);
    id[7] = '1';
    (void)snprintf(path, sizeof path, "%s/schema/schema-1", k->path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    (void)fprintf(f, "%.*s%s%s", (int)(at - text), text, with, at + strlen(what));
    (void)fclose(f);
    free(text);
}

static void context_keeps_its_schema_until_it_is_opened_anew(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_writer *w;
    pml_table *altered;
    start(&k);
    alter(&k, "\"name\" : \"v\"", "\"name\" : \"w\"");
    must_ok(pml_table_open(&altered, k.t->env, k.path, NULL, &err), &err);
    assert_int_equal(pml_table_schema_id(altered), 1);
    must_fail_with(PML_E_SCHEMA, pml_rt_writer_open(&w, altered, k.ctx, NULL, &err), &err);
    rt_kit_write(&k, 5, "a"); /* the open writer and its prepares stay valid */
    rt_kit_must_show(&k, 0, 25);
    (void)rt_kit_cycle(&k, 3);
    rt_kit_must_store(&k, 0, 25);
    rt_kit_stop(&k);
    must_ok(pml_rt_context_open(&k.ctx, k.t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&k.w, altered, k.ctx, NULL, &err), &err);
    must_fail_with(PML_E_SCHEMA, rt_kit_try_write(&k, 1, "a", NULL, NULL, &err), &err); /* the batch still says v */
    pml_table_release(altered);
    rt_kit_close(&k);
}

/* Never a wrong or half answer: refused by name. */
static void plan_of_another_schema_does_not_misread_memory(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"\"name\" : \"v\"", "\"name\" : \"w\""},
        {"\"type\" : \"STRING\"", "\"type\" : \"INT\""},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_table *altered;
        pml_scan *scan;
        pml_plan *p = NULL;
        struct ArrowArrayStream s = {0};
        struct ArrowArray a = {0};
        rt_kit_create(&k, NULL, "", "");
        rt_kit_start(&k, NULL, NULL);
        rt_kit_write(&k, 5, "a");
        alter(&k, changes[i][0], changes[i][1]);
        must_ok(pml_table_open(&altered, k.t->env, k.path, NULL, &err), &err);
        must_ok(pml_scan_new(&scan, altered, &err), &err);
        must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
        int rc = pml_scan_plan(&p, scan, &err);
        if (rc == PML_OK)
            rc = pml_read_open(&s, p, NULL, &err);
        if (rc == PML_OK && s.get_next(&s, &a) != 0)
            rc = pml_stream_error(&s, &err);
        if (i == 0 && rc == PML_OK)
            assert_int_equal(a.length, 5); /* renamed: found by its id */
        else
            must_fail_with(PML_E_UNSUPPORTED, rc, &err);
        if (a.release != NULL)
            a.release(&a);
        if (s.release != NULL)
            s.release(&s);
        pml_plan_free(p);
        pml_scan_free(scan);
        pml_table_release(altered);
        rt_kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_in_the_wanted_order_from_memory_too),
        cmocka_unit_test(no_columns_give_counts_of_memory_and_disk),
        cmocka_unit_test(predicates_are_exact_on_memory_and_disk),
        cmocka_unit_test(limits_count_memory_and_disk_together),
        cmocka_unit_test(batches_from_memory_keep_the_wanted_size),
        cmocka_unit_test(context_keeps_its_schema_until_it_is_opened_anew),
        cmocka_unit_test(plan_of_another_schema_does_not_misread_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
