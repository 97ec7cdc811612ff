/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions on and counts of tables of Java (tests/table/data/java) whose rows are not what their files, statistics and indexes say: none may be lost,
 * none be shown that a read of all rows does not have.
 */
#include <stdio.h>
#include <string.h>

#include "support/rows_kit.h"
#include "support/table_kit.h"

static pml_table *data_open(test_env *t, const char *folder, const char *name)
{
    char path[512];
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    must_ok(pml_table_open(&table, t->env, path, NULL, &err), &err);
    return table;
}

static pml_plan *plan_by(pml_table *table, const char *column, pml_predicate_op op, const char *value)
{
    pml_error err = PML_ERROR_INIT;
    const pml_literal literal = {value, value == NULL ? 0 : strlen(value)};
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *p;
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_predicate_leaf(&p, table, column, op, &literal, value != NULL, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_predicate_free(p);
    pml_scan_free(scan);
    return plan;
}

/* The rows of a plan as JSON lines, in the order of reading. */
static void rows_are(pml_plan *plan, const char *expected)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    int64_t rows = 0, counted;
    must_ok(rows_read(&text, &rows, plan, NULL, PML_ROWS_JSON, &err), &err);
    assert_string_equal(text.ptr == NULL ? "" : text.ptr, expected);
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    assert_int_equal(counted, rows);
    pml_text_clear(&text);
}

static void rows_by(const char *name, const char *column, pml_predicate_op op, const char *value, const char *expected)
{
    test_env *t = test_env_open(NULL);
    pml_table *table = data_open(t, PML_TEST_SOURCE "/table/data/java", name);
    pml_plan *plan = plan_by(table, column, op, value);
    rows_are(plan, expected);
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

/* Key 0.0 was written in the first file and, as -0.0, in the second. By its statistics the second holds no 0.0, and a condition that its
   reader applies to single rows would let go of the newer one. */
static void zeros_of_both_signs_are_one_key_whatever_a_condition_says_of_them(void **state)
{
    (void)state;
    rows_by("float_key", "k", PML_OP_EQ, "0", "");
    rows_by("float_key", "k", PML_OP_EQ, "-0", "{\"_kind\":\"+I\",\"k\":-0,\"v\":3}\n");
    rows_by("float_key", "k", PML_OP_GE, "0",
            "{\"_kind\":\"+I\",\"k\":1.5,\"v\":2}\n{\"_kind\":\"+I\",\"k\":7,\"v\":5}\n{\"_kind\":\"+I\",\"k\":9,\"v\":6}\n");
    rows_by("float_key", "k", PML_OP_LT, "0", "{\"_kind\":\"+I\",\"k\":-2.5,\"v\":4}\n{\"_kind\":\"+I\",\"k\":-0,\"v\":3}\n");
}

/* 'b   ' was written and indexed, 'b' is what the ORC file gives back. */
static void indexes_of_char_columns_are_not_asked_of_orc_files(void **state)
{
    (void)state;
    rows_by("char_index", "c", PML_OP_EQ, "a", "{\"_kind\":\"+I\",\"id\":1,\"c\":\"a\"}\n");
    rows_by("char_index", "c", PML_OP_EQ, "b", "{\"_kind\":\"+I\",\"id\":2,\"c\":\"b\"}\n");
    rows_by("char_index", "c", PML_OP_EQ, "b   ", "");
    rows_by("char_index", "c", PML_OP_NE, "b", "{\"_kind\":\"+I\",\"id\":1,\"c\":\"a\"}\n{\"_kind\":\"+I\",\"id\":3,\"c\":\"c\"}\n");
}

/* 1 and 10 are added up over two files; neither has an 11. */
static void sums_that_no_file_holds_are_found_with_deletion_vectors_and_merge_on_read(void **state)
{
    (void)state;
    rows_by("dv_sum", "a", PML_OP_EQ, "11", "{\"_kind\":\"+I\",\"id\":1,\"a\":11}\n");
    rows_by("dv_sum", "a", PML_OP_EQ, "10", "");
    rows_by("dv_sum", "id", PML_OP_EQ, "1", "{\"_kind\":\"+I\",\"id\":1,\"a\":11}\n");
}

/* A ROW without members is null, and so is what consists of such ones, whatever the file says. */
static void rows_that_lost_all_members_are_null(void **state)
{
    (void)state;
    rows_by("empty_rows", "k", PML_OP_GE, "1",
            "{\"_kind\":\"+I\",\"k\":1,\"m\":null,\"r\":null,\"l\":null,\"n\":{\"x\":null,\"y\":5}}\n"
            "{\"_kind\":\"+I\",\"k\":2,\"m\":null,\"r\":null,\"l\":null,\"n\":null}\n"
            "{\"_kind\":\"+I\",\"k\":3,\"m\":null,\"r\":null,\"l\":null,\"n\":{\"x\":null,\"y\":5}}\n");
}

/* Keys 'a' with no, one and three blanks, then with two, then with two and none: the ORC files hold 'a' for all of them, so the runs hold a
   key several times. Java merges one row of each run at a time. */
static void char_keys_that_orc_made_equal_are_merged_as_java_merges_them(void **state)
{
    (void)state;
    rows_by("char_keys", "v", PML_OP_GT, "0",
            "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":8}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":7}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":3}\n");
    rows_by("char_keys", "k", PML_OP_EQ, "a",
            "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":8}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":7}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":3}\n");
    rows_by("char_keys", "k", PML_OP_EQ, "b", "");
}

/* Their differences too: the sides of one are merges that hold a key several times. */
static void differences_of_char_keys_take_one_row_of_each_side_as_java_does(void **state)
{
    (void)state;
    static const char *const expected[] = {"{\"_kind\":\"+I\",\"k\":\"a\",\"v\":5}\n{\"_kind\":\"+I\",\"k\":\"b\",\"v\":6}\n",
                                           "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":8}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":7}\n"};
    for (int from = 1; from <= 2; from++)
        for (int to = from + 1; to <= 3; to++) {
            test_env *t = test_env_open(NULL);
            pml_error err = PML_ERROR_INIT;
            pml_table *table = data_open(t, PML_TEST_SOURCE "/table/data/java", "char_keys");
            pml_scan *scan;
            pml_plan *plan;
            must_ok(pml_scan_new(&scan, table, &err), &err);
            must_ok(pml_scan_set_changes(scan, from, to, PML_CHANGES_DIFF, &err), &err);
            must_ok(pml_scan_plan(&plan, scan, &err), &err);
            rows_are(plan, expected[to - 2]);
            pml_plan_free(plan);
            pml_scan_free(scan);
            pml_table_release(table);
            test_env_close(t);
        }
}

/* 999 + 999 in a DECIMAL(3, 0): Java stores the sum as it is, where one of more than 18 digits becomes null. */
static void sums_beyond_their_precision_are_read_as_they_were_stored(void **state)
{
    (void)state;
    rows_by("dec_sum", "id", PML_OP_EQ, "1", "{\"_kind\":\"+I\",\"id\":1,\"a\":\"1998\",\"b\":null}\n");
    rows_by("dec_sum", "a", PML_OP_GT, "999", "{\"_kind\":\"+I\",\"id\":1,\"a\":\"1998\",\"b\":null}\n");
}

/* ---- conditions in a time travel ---- */

#define FIRST  "{\"_kind\":\"+I\",\"id\":1,\"a\":10,\"b\":20,\"gone\":\"x\",\"n\":\"7\"}\n"
#define SECOND "{\"_kind\":\"+I\",\"id\":2,\"a\":20,\"b\":10,\"gone\":\"y\",\"n\":\"abc\"}\n"

/* expected NULL: the plan is refused with this code. */
static void rows_of_then(bool names_of_then, const char *column, const char *value, const char *expected, int code)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const pml_literal literal = {value, strlen(value)};
    pml_table *table = data_open(t, PML_TEST_SOURCE "/table/data/java", "renamed"), *then;
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *p;
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_table(&then, scan, &err), &err);
    assert_ptr_equal(then, table);
    pml_table_release(then);
    must_ok(pml_scan_set_changes(scan, 1, 2, PML_CHANGES_AUTO, &err), &err);
    must_ok(pml_scan_table(&then, scan, &err), &err);
    assert_ptr_equal(then, table);
    pml_table_release(then);
    must_ok(pml_scan_set_snapshot(scan, 1, &err), &err);
    must_ok(pml_scan_table(&then, scan, &err), &err);
    must_ok(pml_predicate_leaf(&p, names_of_then ? then : table, column, PML_OP_EQ, &literal, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    int rc = pml_scan_plan(&plan, scan, &err);
    if (expected == NULL)
        must_fail_with(code, rc, &err);
    else {
        must_ok(rc, &err);
        rows_are(plan, expected);
    }
    pml_plan_free(plan);
    pml_predicate_free(p);
    pml_table_release(then);
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
}

static void conditions_of_a_time_travel_mean_the_columns_of_then(void **state)
{
    (void)state;
    rows_of_then(true, "a", "10", FIRST, PML_OK);
    rows_of_then(true, "b", "10", SECOND, PML_OK);
    rows_of_then(true, "gone", "y", SECOND, PML_OK);
    rows_of_then(true, "n", "abc", SECOND, PML_OK);
    /* By its id a column of now is what it was then: a is called b. One that came later is none. */
    rows_of_then(false, "a", "10", SECOND, PML_OK);
    rows_of_then(false, "n", "7", NULL, PML_E_NOT_FOUND);
}

static void a_condition_on_another_type_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = data_open(t, PML_TEST_SOURCE "/table/data/java", "renamed");
    const pml_type text = {.kind = PML_TYPE_VARCHAR, .length = 5}, list = {.kind = PML_TYPE_ARRAY};
    pml_value seven = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"7", 1}};
    pml_pred leaf = {.op = PML_PRED_EQ, .field_id = 1, .type = &text, .name = "a", .n_literals = 1, .literals = &seven};
    for (int i = 0; i < 2; i++) {
        const pml_predicate p = {.tree = &leaf};
        pml_scan *scan;
        pml_plan *plan;
        must_ok(pml_scan_new(&scan, table, &err), &err);
        must_ok(pml_scan_set_snapshot(scan, 1, &err), &err);
        must_ok(pml_scan_set_predicate(scan, &p, &err), &err);
        must_fail_with(PML_E_INVAL, pml_scan_plan(&plan, scan, &err), &err);
        assert_non_null(strstr(err.message, "pml_scan_table"));
        pml_scan_free(scan);
        leaf = (pml_pred){.op = PML_PRED_IS_NULL, .field_id = 1, .type = &list, .name = "a"};
    }
    pml_table_release(table);
    test_env_close(t);
}

static void any_allocation_of_the_table_of_then_may_fail(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = data_open(t, PML_TEST_SOURCE "/table/data/java", "renamed"), *then;
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, table, NULL), NULL);
    must_ok(pml_scan_set_snapshot(scan, 1, NULL), NULL);
    for (long long n = 1, again = 1; again; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        int rc = pml_scan_table(&then, scan, &err);
        again = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_int_equal(rc, again ? PML_E_NOMEM : PML_OK);
        assert_true((then == NULL) == (rc != PML_OK));
        pml_table_release(then);
    }
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- counts ---- */

static int64_t rows_of(pml_plan *plan)
{
    pml_error err = PML_ERROR_INIT;
    int64_t rows = 0;
    must_ok(rows_read(NULL, &rows, plan, NULL, PML_ROWS_JSON, &err), &err);
    return rows;
}

/* Rows of a Java table by counting and by reading. forget: as where the metadata do not say how many rows a vector deletes. */
static int64_t count_of(const char *name, bool retracts, bool forget)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = data_open(t, PML_JAVA_TABLES, name);
    pml_scan *scan;
    pml_plan *plan;
    int64_t counted;
    must_ok(pml_scan_new(&scan, table, &err), &err);
    scan->keep_retracts = retracts;
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    for (size_t i = 0; forget && i < plan->n_splits; i++)
        for (size_t f = 0; f < plan->splits[i].n_files; f++)
            if (plan->splits[i].deletions[f] != NULL)
                ((pml_deletion *)plan->splits[i].deletions[f])->at.cardinality = -1;
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    assert_int_equal(counted, rows_of(plan));
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
    return counted;
}

static void counts_leave_out_what_deletion_vectors_delete(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t rows;
    } tables[] = {{"dv_append", 54}, {"dv_append_fixed", 48}, {"dv_pk_parquet", 29}, {"dv_pk_level0", 20}, {"dv_append_bitmap64", 54}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (int forget = 0; forget < 2; forget++)
            assert_int_equal(count_of(tables[i].name, false, forget), tables[i].rows);
}

/* Java wants deletion-vectors.modifiable for that, and then reads rows that were deleted. */
static void vectors_of_a_table_that_switched_them_off_delete_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t rows; /* Java's */
    } tables[] = {{"dv_append", 65}, {"dv_append_fixed", 60}, {"dv_pk_parquet", 30}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        test_env *t = test_env_open(NULL);
        char from[512];
        pml_error err = PML_ERROR_INIT;
        pml_scan *scan;
        pml_plan *plan;
        (void)snprintf(from, sizeof from, "%s/%s", PML_JAVA_TABLES, tables[i].name);
        kit_copy_tree(test_path(t, "t"), from);
        kit_replace_in_file(test_path(t, "t/schema/schema-0"), "\"deletion-vectors.enabled\" : \"true\"", "\"deletion-vectors.enabled\" : \"false\"");
        pml_table *table = data_open(t, t->dir, "t");
        must_ok(pml_scan_new(&scan, table, &err), &err);
        must_ok(pml_scan_plan(&plan, scan, &err), &err);
        assert_int_equal(rows_of(plan), tables[i].rows);
        pml_plan_free(plan);
        pml_scan_free(scan);
        pml_table_release(table);
        test_env_close(t);
    }
}

/* A manifest that claims 2^33 rows for a file must not make a set of so many, for a vector or for an index. */
static void rows_that_only_the_manifest_claims_get_no_set(void **state)
{
    (void)state;
    static const struct {
        const char *name, *column, *value; /* column NULL: no condition */
    } tables[] = {{"dv_append", NULL, NULL}, {"dv_pk_orc", NULL, NULL}, {"dv_pk_avro", NULL, NULL}, {"index_bitmap_file", "id", "1"}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        int rc;
        pml_table *table = data_open(t, PML_JAVA_TABLES, tables[i].name);
        pml_plan *plan = tables[i].column == NULL ? plan_by(table, table->schema->fields[0].name, PML_OP_IS_NOT_NULL, NULL)
                                                  : plan_by(table, tables[i].column, PML_OP_EQ, tables[i].value);
        for (size_t s = 0; s < plan->n_splits; s++)
            for (size_t f = 0; f < plan->splits[s].n_files; f++)
                if (tables[i].column != NULL || plan->splits[s].deletions[f] != NULL)
                    plan->splits[s].files[f].row_count = PML_ROW_SET_MAX;
        t->bytes_max = atomic_load(&t->bytes) + (64 << 20);
        rc = pml_read_open(&stream, plan, NULL, &err);
        while (rc == PML_OK && (rc = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL)
            batch.release(&batch);
        assert_int_not_equal(rc, 0);
        must_fail_with(PML_E_CORRUPT, pml_stream_error(&stream, &err), &err);
        assert_non_null(strstr(err.message, "its manifest says 8589934592"));
        assert_false(atomic_load(&t->bytes_exceeded));
        stream.release(&stream);
        t->bytes_max = 0;
        pml_plan_free(plan);
        pml_table_release(table);
        test_env_close(t);
    }
}

/* Counting reads what it cannot know; it must read what the plan would. */
static void counts_with_retracts_count_them(void **state)
{
    (void)state;
    int64_t without = count_of("changelog_none", false, false), with = count_of("changelog_none", true, false);
    assert_true(with > without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_of_both_signs_are_one_key_whatever_a_condition_says_of_them),
        cmocka_unit_test(indexes_of_char_columns_are_not_asked_of_orc_files),
        cmocka_unit_test(sums_that_no_file_holds_are_found_with_deletion_vectors_and_merge_on_read),
        cmocka_unit_test(rows_that_lost_all_members_are_null),
        cmocka_unit_test(char_keys_that_orc_made_equal_are_merged_as_java_merges_them),
        cmocka_unit_test(differences_of_char_keys_take_one_row_of_each_side_as_java_does),
        cmocka_unit_test(sums_beyond_their_precision_are_read_as_they_were_stored),
        cmocka_unit_test(conditions_of_a_time_travel_mean_the_columns_of_then),
        cmocka_unit_test(a_condition_on_another_type_is_refused),
        cmocka_unit_test(any_allocation_of_the_table_of_then_may_fail),
        cmocka_unit_test(counts_leave_out_what_deletion_vectors_delete),
        cmocka_unit_test(vectors_of_a_table_that_switched_them_off_delete_nothing),
        cmocka_unit_test(rows_that_only_the_manifest_claims_get_no_set),
        cmocka_unit_test(counts_with_retracts_count_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
