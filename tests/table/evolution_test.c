/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of older schemas under the newest one: which column is which, what is left out without looking, and what is refused. That Java
 * reads the same is for tests/tables (evolution_*, append_defaults, old_*_evolved); here the corners that no such table has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "support/rows_kit.h"
#include "support/sim_fs.h"
#include "support/table_kit.h"
#include "table/evolution.h"
#include "table/file_source.h"

typedef struct world {
    test_env *t;
    pml_table *table;
    char path[400];
    int n_schemas;
    char shown[4096]; /* the last read */
} world;

static void write_text(test_env *t, const char *path, const char *text)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_file__publish(t->env, path, (const uint8_t *)text, strlen(text), 0, &err), &err);
}

/* The next schema: ids are written out, as a schema change has them. */
static void alter(world *w, const char *fields, const char *partition_keys)
{
    char path[500], text[2000];
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/schema/schema-%d", w->path, w->n_schemas);
    (void)snprintf(text, sizeof text,
                   "{\"version\":3,\"id\":%d,\"fields\":[%s],\"highestFieldId\":99,\"partitionKeys\":[%s],\"primaryKeys\":[],"
                   "\"options\":{\"bucket\":\"-1\"},\"timeMillis\":0}",
                   w->n_schemas++, fields, partition_keys);
    write_text(w->t, path, text);
    pml_table_release(w->table);
    w->table = NULL;
    must_ok(pml_table_open(&w->table, w->t->env, w->path, NULL, &err), &err);
}

#define FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"type\":\"" type "\"}"

static void world_open(world *w, test_env *t, const char *path, const char *fields, const char *partition_keys)
{
    memset(w, 0, sizeof *w);
    w->t = t;
    (void)snprintf(w->path, sizeof w->path, "%s", path);
    alter(w, fields, partition_keys);
}

static void world_close(world *w)
{
    test_env *t = w->t;
    pml_table_release(w->table);
    test_env_close(t);
}

/* One commit of JSON rows. */
static void put(world *w, const char *rows)
{
    rows_commit(w->t, w->table, rows, NULL, NULL);
}


/* Plans and reads into w->shown; *files is how many the plan has. predicate NULL: none. snapshot 0: the latest. */
static int read_at(world *w, int64_t *files, const pml_predicate *predicate, int64_t snapshot, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    int rc;
    w->shown[0] = '\0';
    PML_TRY(pml_scan_new(&scan, w->table, err));
    PML_TRY(pml_scan_set_predicate(scan, predicate, err));
    if (snapshot > 0)
        PML_TRY(pml_scan_set_snapshot(scan, snapshot, err));
    PML_TRY(pml_scan_plan(&plan, scan, err));
    *files = kit_plan_files(plan);
    PML_TRY(rows_show(w->shown, sizeof w->shown, plan, NULL, PML_ROWS_JSON, err));
out:
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static void must_show(world *w, int64_t snapshot, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    int64_t files;
    must_ok(read_at(w, &files, NULL, snapshot, &err), &err);
    assert_string_equal(w->shown, rows);
}

static void must_find(world *w, const char *column, pml_predicate_op op, const char *literal, int64_t files, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_predicate *p;
    int64_t n;
    const pml_literal l = {literal, literal == NULL ? 0 : strlen(literal)};
    must_ok(pml_predicate_leaf(&p, w->table, column, op, &l, literal == NULL ? 0 : 1, &err), &err);
    must_ok(read_at(w, &n, p, 0, &err), &err);
    pml_predicate_free(p);
    assert_string_equal(w->shown, rows);
    assert_int_equal(n, files);
}

#define FIRST  FIELD(0, "id", "INT NOT NULL") "," FIELD(1, "a", "INT") "," FIELD(2, "b", "STRING")
#define SECOND FIELD(2, "text", "STRING NOT NULL") "," FIELD(0, "id", "BIGINT NOT NULL") "," FIELD(3, "a", "INT") "," FIELD(1, "n", "BIGINT NOT NULL")

static void two_schemas(world *w)
{
    test_env *t = test_env_open(NULL);
    world_open(w, t, test_path(t, "t"), FIRST, "");
    put(w, "{\"id\":1,\"a\":10,\"b\":\"x\"}\n{\"id\":2,\"a\":null,\"b\":null}\n");
    alter(w, SECOND, "");
    put(w, "{\"id\":3,\"a\":7,\"n\":5000000000,\"text\":\"y\"}\n");
}

static void columns_are_the_same_when_their_ids_are(void **state)
{
    world w;
    (void)state;
    two_schemas(&w);
    /* b is called text, n was a, and a is another a; nulls of columns that are NOT NULL now stay. */
    must_show(&w, 0,
              "{\"_kind\":\"+I\",\"text\":\"x\",\"id\":1,\"a\":null,\"n\":10}\n"
              "{\"_kind\":\"+I\",\"text\":null,\"id\":2,\"a\":null,\"n\":null}\n"
              "{\"_kind\":\"+I\",\"text\":\"y\",\"id\":3,\"a\":7,\"n\":5000000000}\n");
    must_show(&w, 1, "{\"_kind\":\"+I\",\"id\":1,\"a\":10,\"b\":\"x\"}\n{\"_kind\":\"+I\",\"id\":2,\"a\":null,\"b\":null}\n");
    world_close(&w);
}

#define ROW1 "{\"_kind\":\"+I\",\"text\":\"x\",\"id\":1,\"a\":null,\"n\":10}\n"
#define ROW2 "{\"_kind\":\"+I\",\"text\":null,\"id\":2,\"a\":null,\"n\":null}\n"
#define ROW3 "{\"_kind\":\"+I\",\"text\":\"y\",\"id\":3,\"a\":7,\"n\":5000000000}\n"

static void predicate_meets_the_columns_that_a_file_has(void **state)
{
    world w;
    (void)state;
    two_schemas(&w);
    must_find(&w, "a", PML_OP_EQ, "10", 0, "");        /* the old a is another column: all null in the first file */
    must_find(&w, "a", PML_OP_EQ, "7", 1, ROW3);
    must_find(&w, "a", PML_OP_IS_NULL, NULL, 1, ROW1 ROW2);
    must_find(&w, "a", PML_OP_IS_NOT_NULL, NULL, 1, ROW3);
    must_find(&w, "n", PML_OP_EQ, "10", 1, ROW1);      /* by the statistics of an INT */
    must_find(&w, "n", PML_OP_EQ, "11", 0, "");
    must_find(&w, "n", PML_OP_LT, "5000000000", 1, ROW1); /* no INT: the first file stays */
    must_find(&w, "n", PML_OP_GT, "4999999999", 2, ROW3);
    must_find(&w, "text", PML_OP_GE, "x", 2, ROW1 ROW3);
    must_find(&w, "text", PML_OP_EQ, "a", 0, "");
    world_close(&w);
}

/* An OR is only asked of a file whole: x = 3 or y = 8 must not become y = 8 where nothing is known of x. */
static void or_with_a_term_that_is_not_known_leaves_nothing_out(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_predicate *leaves[2], *p;
    const pml_literal three = {"3", 1}, eight = {"8", 1};
    int64_t files;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), FIELD(0, "x", "STRING") "," FIELD(1, "y", "INT"), "");
    put(&w, "{\"x\":\"3\",\"y\":1}\n");
    alter(&w, FIELD(0, "x", "INT") "," FIELD(1, "y", "INT"), "");
    must_ok(pml_predicate_leaf(&leaves[0], w.table, "x", PML_OP_EQ, &three, 1, &err), &err);
    must_ok(pml_predicate_leaf(&leaves[1], w.table, "y", PML_OP_EQ, &eight, 1, &err), &err);
    must_ok(pml_predicate_or(&p, t->env, leaves, 2, &err), &err);
    must_ok(read_at(&w, &files, p, 0, &err), &err);
    pml_predicate_free(p);
    assert_string_equal(w.shown, "{\"_kind\":\"+I\",\"x\":3,\"y\":1}\n");
    must_find(&w, "x", PML_OP_EQ, "4", 1, "");
    must_find(&w, "y", PML_OP_EQ, "8", 0, "");
    world_close(&w);
}

static void partition_columns_come_from_the_partition(void **state)
{
    world w;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), FIELD(0, "p", "INT") "," FIELD(1, "v", "INT"), "\"p\"");
    put(&w, "{\"p\":4,\"v\":1}\n");
    alter(&w, FIELD(2, "new", "INT") "," FIELD(1, "v", "STRING") "," FIELD(0, "p", "INT"), "\"p\"");
    put(&w, "{\"p\":5,\"v\":\"two\",\"new\":2}\n");
    must_show(&w, 0, "{\"_kind\":\"+I\",\"new\":null,\"v\":\"1\",\"p\":4}\n{\"_kind\":\"+I\",\"new\":2,\"v\":\"two\",\"p\":5}\n");
    must_find(&w, "p", PML_OP_EQ, "4", 1, "{\"_kind\":\"+I\",\"new\":null,\"v\":\"1\",\"p\":4}\n");
    world_close(&w);
}

static void value_without_a_counterpart_is_named(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    int64_t files;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), FIELD(0, "v", "STRING"), "");
    put(&w, "{\"v\":\"12\"}\n{\"v\":\"twelve\"}\n");
    alter(&w, FIELD(0, "v", "INT"), "");
    must_fail_with(PML_E_SCHEMA, read_at(&w, &files, NULL, 0, &err), &err);
    assert_non_null(strstr(err.message, ".parquet"));
    assert_non_null(strstr(err.message, "column 'v': row 1: 'twelve' cannot be read as INT"));
    world_close(&w);
}

static void pair_of_types_without_a_rule_is_refused_when_planned(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan;
    const char *const id = "id";
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), FIELD(0, "id", "INT") "," FIELD(1, "v", "DATE"), "");
    put(&w, "{\"id\":1,\"v\":\"2024-01-01\"}\n");
    alter(&w, FIELD(0, "id", "INT") "," FIELD(1, "v", "INT"), "");
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_scan_plan(&plan, scan, &err), &err);
    assert_non_null(strstr(err.message, "needs cast:DATE->INT"));
    /* Nobody asks for the column: nothing is wrong. */
    must_ok(pml_scan_set_columns(scan, &id, 1, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(rows_show(w.shown, sizeof w.shown, plan, NULL, PML_ROWS_JSON, &err), &err);
    assert_string_equal(w.shown, "{\"_kind\":\"+I\",\"id\":1}\n");
    pml_plan_free(plan);
    pml_scan_free(scan);
    world_close(&w);
}

/* What a reader that merges asks for, and what a file of some columns has. */
static void system_columns_are_stored_and_unwritten_ones_null(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_assembly a;
    const char *const names[] = {"a", "id"};
    const pml_string_list columns = {true, 2, names};
    const pml_field fields[] = {{.id = PML_ID_SEQUENCE, .name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT}},
                                {.id = 1, .name = "n", .type = {.kind = PML_TYPE_BIGINT, .nullable = true}},
                                {.id = PML_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.kind = PML_TYPE_TINYINT}},
                                {.id = 2, .name = "text", .type = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX}}};
    (void)state;
    two_schemas(&w);
    pml_arena__init(&arena, w.t->env);
    pml_written written = {NULL, &columns};
    must_ok(pml_table__schema_at(&written.schema, w.table, 0, &err), &err);
    must_ok(pml_evolution__assembly(&a, &arena, w.table->schema, &written, fields, 4, NULL, &err), &err);
    assert_int_equal(a.n_stored, 3);
    assert_string_equal(a.stored_fields[0].name, "_SEQUENCE_NUMBER");
    assert_string_equal(a.stored_fields[1].name, "a");
    assert_string_equal(a.stored_fields[2].name, "_VALUE_KIND");
    assert_non_null(a.columns[1].cast);
    assert_int_equal(a.columns[3].stored, -1);
    pml_arena__clear(&arena);
    world_close(&w);
}

/* Each allocation of a plan and its read fails once. */
static void every_failure_of_an_evolved_read_is_survived(void **state)
{
    world w;
    faulty_fs f;
    int64_t files;
    (void)state;
    sim_fs *sim = sim_fs_new();
    faulty_fs_init(&f, sim_fs_system(sim));
    test_env *t = test_env_open(&f.fs);
    world_open(&w, t, "/t", FIRST, "");
    put(&w, "{\"id\":1,\"a\":10,\"b\":\"x\"}\n");
    alter(&w, FIELD(1, "a", "STRING") "," FIELD(0, "id", "DECIMAL(10, 2)") "," FIELD(4, "c", "INT"), "");
    const pml_literal one = {"10", 2};
    pml_predicate *p;
    must_ok(pml_predicate_leaf(&p, w.table, "a", PML_OP_EQ, &one, 1, NULL), NULL);
    for (long long i = 1;; i++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, i);
        int rc = read_at(&w, &files, p, 0, &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        if (rc == PML_OK)
            assert_string_equal(w.shown, "{\"_kind\":\"+I\",\"a\":\"10\",\"id\":\"1.00\",\"c\":null}\n");
        if (!reached)
            break;
    }
    pml_predicate_free(p);
    world_close(&w);
    faulty_fs_destroy(&f);
    sim_fs_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_same_when_their_ids_are),
        cmocka_unit_test(predicate_meets_the_columns_that_a_file_has),
        cmocka_unit_test(or_with_a_term_that_is_not_known_leaves_nothing_out),
        cmocka_unit_test(partition_columns_come_from_the_partition),
        cmocka_unit_test(value_without_a_counterpart_is_named),
        cmocka_unit_test(pair_of_types_without_a_rule_is_refused_when_planned),
        cmocka_unit_test(system_columns_are_stored_and_unwritten_ones_null),
        cmocka_unit_test(every_failure_of_an_evolved_read_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
