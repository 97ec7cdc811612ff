/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of what changed between two snapshots of tables that Java wrote. More of Java's answers: tests/interop/java_changes.py. */
#include "table/changes.h"

#include <paimonlive/split.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/local_fs.h"
#include "support/changes_kit.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"
#include "table/auto_tag.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void must_say(const pml_error *err, const char *words)
{
    if (strstr(err->message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err->message, words);
}

static int plan_of(pml_plan **plan, pml_table *table, pml_error *err)
{
    pml_scan *scan = NULL;
    int rc = pml_scan_new(&scan, table, err);
    *plan = NULL;
    if (rc == PML_OK)
        rc = pml_scan_plan(plan, scan, err);
    pml_scan_free(scan);
    return rc;
}

/* What the table shows with these options, sorted; the number of rows counts as what is read. */
static pml_text rows_of(test_env *t, const char *name, const char *const *options, uint32_t threads)
{
    pml_error err = PML_ERROR_INIT;
    pml_table *table = changes_open(t, name, options);
    pml_text text = {0};
    pml_plan *plan;
    int64_t rows = 0, counted;
    must_ok(plan_of(&plan, table, &err), &err);
    must_ok(changes_read(&text, &rows, plan, threads, &err), &err);
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    assert_int_equal(counted, rows);
    changes_sort(&text);
    pml_plan_free(plan);
    pml_table_release(table);
    return text;
}

static void must_show(const char *name, const char *const *options, const char *expected)
{
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        test_env *t = test_env_open(NULL);
        pml_text text = rows_of(t, name, options, threads);
        if (expected[0] == '{' || expected[0] == '\0')
            assert_string_equal(text.len == 0 ? "" : text.ptr, expected);
        else
            changes_must_be(&text, expected);
        pml_text_clear(&text);
        test_env_close(t);
    }
}

static void must_refuse(int code, const char *name, const char *const *options, const char *words)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = changes_open(t, name, options);
    pml_plan *plan;
    must_fail_with(code, plan_of(&plan, table, &err), &err);
    must_say(&err, words);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- rows ---- */

static void ids_show_what_came_behind_the_first_up_to_the_second(void **state)
{
    (void)state;
    must_show("history_incremental", OPTIONS("incremental-between", "1,4"), "history_incremental.option-incremental-1-4.expected.jsonl");
    must_show("history_incremental", OPTIONS("incremental-between", "2,3", "scan.mode", "incremental"),
              "history_incremental.option-incremental-2-3.expected.jsonl");
    must_show("history_incremental", OPTIONS("incremental-between", "2,2"), "");
}

static void changelogs_come_with_the_kinds_of_their_files(void **state)
{
    (void)state;
    must_show("changelog_aggregation", OPTIONS("incremental-between", "2,4"),
              "{\"_kind\":\"+U\",\"id\":1,\"n\":6}\n{\"_kind\":\"-U\",\"id\":1,\"n\":1}\n");
    must_show("changelog_aggregation", OPTIONS("incremental-between", "2,4", "incremental-between-scan-mode", "delta"),
              "{\"_kind\":\"+I\",\"id\":1,\"n\":5}\n");
    must_show("changelog_none", OPTIONS("incremental-between", "0,3", "incremental-between-scan-mode", "changelog"), "");
}

static void level_0_of_tables_with_deletion_vectors_is_no_delta_as_in_java(void **state)
{
    (void)state;
    must_show("changelog_dv", OPTIONS("incremental-between", "0,1", "incremental-between-scan-mode", "delta"), "");
}

static void difference_is_the_later_row_or_a_delete(void **state)
{
    (void)state;
    const char *const options[] = {"incremental-between", "3,4", "incremental-between-scan-mode", "diff", NULL};
    /* Java compares the rows of the files that only one side has, and takes the order of a tie from its loser tree. */
    must_show("changelog_aggregation", options, "");
    must_show("changelog_aggregation", OPTIONS("incremental-between", "2,4", "incremental-between-scan-mode", "diff"),
              "{\"_kind\":\"+I\",\"id\":1,\"n\":6}\n");
}

static void conditions_are_asked_of_the_rows_that_come_out(void **state)
{
    (void)state;
    static const struct {
        pml_predicate_op op;
        int64_t rows;
    } cases[] = {{PML_OP_LT, 0}, {PML_OP_GE, 1}}; /* that id 1 was below 5 once says nothing */
    for (size_t i = 0; i < 2; i++) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        pml_table *table = changes_open(t, "changelog_aggregation", OPTIONS("incremental-between", "2,4", "incremental-between-scan-mode", "diff"));
        pml_scan *scan;
        pml_plan *plan;
        pml_predicate *p;
        int64_t rows = 0;
        must_ok(pml_scan_new(&scan, table, &err), &err);
        must_ok(pml_predicate_leaf(&p, table, "n", cases[i].op, &(pml_literal){"5", 1}, 1, &err), &err);
        must_ok(pml_scan_set_predicate(scan, p, &err), &err);
        must_ok(pml_scan_plan(&plan, scan, &err), &err);
        must_ok(changes_read(NULL, &rows, plan, 1, &err), &err);
        assert_int_equal(rows, cases[i].rows);
        pml_predicate_free(p);
        pml_plan_free(plan);
        pml_scan_free(scan);
        pml_table_release(table);
        test_env_close(t);
    }
}

static void calls_say_what_the_options_say(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = changes_open(t, "history_incremental", NULL);
    pml_text text = {0};
    pml_scan *scan;
    pml_plan *plan;
    int64_t rows = 0;
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_changes(scan, 3, 2, PML_CHANGES_AUTO, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_changes(scan, 1, 2, 4, &err), &err);
    must_ok(pml_scan_set_changes(scan, 1, 4, PML_CHANGES_AUTO, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(plan), 4);
    must_ok(changes_read(&text, &rows, plan, 1, &err), &err);
    changes_sort(&text);
    changes_must_be(&text, "history_incremental.option-incremental-1-4.expected.jsonl");
    pml_text_clear(&text);
    pml_plan_free(plan);
    must_fail_with(PML_E_INVAL, pml_scan_set_changes_of_tags(scan, "a/b", "c", &err), &err);
    must_ok(pml_scan_set_changes_of_tags(scan, "one", "two", &err), &err);
    must_fail_with(PML_E_NOT_FOUND, pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
}

static void splits_of_changes_travel_as_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = changes_open(t, "changelog_aggregation", OPTIONS("incremental-between", "2,4"));
    pml_text bytes, text = {0};
    pml_scan *scan;
    pml_plan *plan, *again;
    int64_t rows = 0;
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_plan_split_serialize(&bytes, plan, 0, &err), &err);
    must_ok(pml_plan_from_splits(&again, scan, &(pml_blob){(const uint8_t *)bytes.ptr, bytes.len}, 1, &err), &err);
    must_ok(changes_read(&text, &rows, again, 1, &err), &err);
    changes_sort(&text);
    assert_string_equal(text.ptr, "{\"_kind\":\"+U\",\"id\":1,\"n\":6}\n{\"_kind\":\"-U\",\"id\":1,\"n\":1}\n");
    pml_plan_free(again);
    pml_plan_free(plan);
    must_ok(pml_scan_set_changes(scan, 2, 4, PML_CHANGES_DIFF, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_text_clear(&bytes);
    must_fail_with(PML_E_UNSUPPORTED, pml_plan_split_serialize(&bytes, plan, 0, &err), &err);
    must_say(&err, "needs incremental-split");
    pml_plan_free(plan);
    pml_text_clear(&text);
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- which snapshots ---- */

static void what_is_not_there_is_named_with_what_is(void **state)
{
    (void)state;
    must_refuse(PML_E_NOT_FOUND, "history_incremental", OPTIONS("incremental-between", "1,9"), "it has the snapshots 1 to 4");
    must_refuse(PML_E_INVAL, "history_incremental", OPTIONS("incremental-between", "3,1"), "lies before the start");
    must_refuse(PML_E_INVAL, "history_incremental", OPTIONS("incremental-between", "3"), "it takes two values");
    must_refuse(PML_E_INVAL, "history_incremental", OPTIONS("incremental-between", "1,2,3"), "it takes two values");
    must_refuse(PML_E_NOT_FOUND, "history_incremental", OPTIONS("incremental-between", "1, 3"), "neither two of its tags nor two ids");
    must_refuse(PML_E_UNSUPPORTED, "history_incremental", OPTIONS("incremental-between-timestamp", "2024-01-01,2025-01-01"),
                "needs incremental-between-timestamp");
    must_refuse(PML_E_INVAL, "history_incremental", OPTIONS("incremental-to-auto-tag", "today"), "not the name of a tag made on its own");
}

static void options_that_contradict_each_other_are_refused_at_open(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    const char *path = changes_copy(t, "history_incremental");
    must_fail_with(PML_E_INVAL, changes_try_open(&table, t, path, OPTIONS("scan.mode", "incremental"), &err), &err);
    must_say(&err, "incremental-between");
    must_fail_with(PML_E_INVAL, changes_try_open(&table, t, path, OPTIONS("incremental-between", "1,2", "scan.snapshot-id", "1"), &err), &err);
    must_fail_with(PML_E_INVAL, changes_try_open(&table, t, path, OPTIONS("incremental-between", "1,2", "scan.mode", "latest"), &err), &err);
    must_fail_with(PML_E_INVAL, changes_try_open(&table, t, path, OPTIONS("incremental-between-scan-mode", "all"), &err), &err);
    test_env_close(t);
}

static void put_tag(test_env *t, const char *path, const char *name, int64_t snapshot)
{
    char from[400], to[400];
    size_t len;
    (void)t;
    (void)snprintf(from, sizeof from, "%s/snapshot/snapshot-%lld", path, (long long)snapshot);
    (void)snprintf(to, sizeof to, "%s/tag", path);
    (void)pml_local_file_system.make_directory(pml_local_file_system.ctx, to, NULL);
    (void)snprintf(to, sizeof to, "%s/tag/tag-%s", path, name);
    char *text = (char *)test_read_file(from, &len);
    text = realloc(text, len + 1);
    assert_non_null(text);
    text[len] = '\0';
    kit_write_text(to, text);
    free(text);
}

static void tags_are_two_snapshots_that_differ(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = changes_copy(t, "changelog_aggregation");
    put_tag(t, path, "2024-01-01", 2);
    put_tag(t, path, "2024-01-03", 4);
    put_tag(t, path, "2024-02-30", 1); /* no day */
    put_tag(t, path, "other", 1);
    static const struct {
        const char *const options[7];
        int64_t rows;
    } cases[] = {{{"incremental-between", "2024-01-01,2024-01-03", NULL}, 1},
                 {{"incremental-between", "2024-01-01,2024-01-03", "incremental-between-tag-to-snapshot", "true", NULL}, 2},
                 {{"incremental-to-auto-tag", "2024-01-03", NULL}, 1},
                 {{"incremental-to-auto-tag", "2024-01-01", NULL}, 0},
                 {{"incremental-to-auto-tag", "2024-01-09", NULL}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_table *table;
        pml_plan *plan;
        int64_t rows = 0;
        must_ok(changes_try_open(&table, t, path, cases[i].options, &err), &err);
        must_ok(plan_of(&plan, table, &err), &err);
        must_ok(changes_read(NULL, &rows, plan, 1, &err), &err);
        if (rows != cases[i].rows)
            fail_msg("case %zu: %lld rows", i, (long long)rows);
        pml_plan_free(plan);
        pml_table_release(table);
    }
    test_env_close(t);
}

static void auto_tags_have_the_form_of_the_options(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = changes_copy(t, "changelog_aggregation");
    static const char *const names[] = {"2024-01-01 07", "2024-01-01 08", "20240101 07", "2024010107", "202401010700", "20240101"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        put_tag(t, path, names[i], 1);
    static const struct {
        const char *options[7], *name, *before;
    } cases[] = {{{"tag.creation-period", "hourly", NULL}, "2024-01-01 09", "2024-01-01 08"},
                 {{"tag.creation-period", "two_hours", NULL}, "2024-01-01 08", "2024-01-01 07"},
                 {{"tag.creation-period", "hourly", "tag.period-formatter", "without_dashes", NULL}, "20240101 08", "20240101 07"},
                 {{"tag.creation-period", "hourly", "tag.period-formatter", "without_dashes_and_spaces", NULL}, "2024010108", "2024010107"},
                 {{"tag.creation-period-duration", "1 h", NULL}, "202401010701", "202401010700"},
                 {{"tag.period-formatter", "without_dashes", NULL}, "20240102", "20240101 07"},
                 {{"tag.creation-period", "hourly", NULL}, "2024-01-01 07", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_table *table;
        pml_arena arena;
        const char *before;
        pml_arena__init(&arena, t->env);
        must_ok(changes_try_open(&table, t, path, cases[i].options, &err), &err);
        must_ok(pml_auto_tag__before(&before, &arena, table, cases[i].name, &err), &err);
        if (cases[i].before == NULL ? before != NULL : before == NULL || strncmp(before, cases[i].before, 8) != 0)
            fail_msg("case %zu: %s", i, before == NULL ? "none" : before);
        pml_arena__clear(&arena);
        pml_table_release(table);
    }
    pml_table *table;
    const char *before;
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    must_ok(changes_try_open(&table, t, path, OPTIONS("tag.creation-period", "weekly"), &err), &err);
    must_fail_with(PML_E_INVAL, pml_auto_tag__before(&before, &arena, table, "2024-01-01", &err), &err);
    pml_table_release(table);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void times_are_the_snapshots_that_are_not_newer(void **state)
{
    (void)state;
    static const struct {
        const char *times, *mode;
        size_t lines;
    } cases[] = {{"0,9999999999999", "auto", 14}, {"0,9999999999999", "diff", 7}, {"7,8", "auto", 0}, {"9999999999998,9999999999999", "auto", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_env *t = test_env_open(NULL);
        pml_text text = rows_of(t, "history_incremental",
                                OPTIONS("incremental-between-timestamp", cases[i].times, "incremental-between-scan-mode", cases[i].mode), 1);
        size_t lines = 0;
        for (size_t k = 0; k < text.len; k++)
            lines += text.ptr[k] == '\n';
        if (lines != cases[i].lines)
            fail_msg("case %zu: %zu rows", i, lines);
        pml_text_clear(&text);
        test_env_close(t);
    }
}

/* ---- failures ---- */

static int plan_and_read(pml_table *table, int way, int64_t *rows, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    int rc;
    *rows = 0;
    PML_TRY(pml_scan_new(&scan, table, err));
    if (way == 3)
        PML_TRY(pml_scan_set_changes_of_tags(scan, "a", "b", err));
    else
        PML_TRY(pml_scan_set_changes(scan, 2, 4, way + 1, err));
    PML_TRY(pml_scan_plan(&plan, scan, err));
    PML_TRY(changes_read(NULL, rows, plan, 1, err));
out:
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static void failure_anywhere_is_clean(void **state)
{
    (void)state;
    static const int64_t wanted[] = {1, 2, 1, 1};
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    const char *path = changes_copy(t, "changelog_aggregation");
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    int failures = 0;
    put_tag(t, path, "a", 2);
    put_tag(t, path, "b", 4);
    must_ok(changes_try_open(&table, t, path, NULL, &err), &err);
    for (int way = 0; way < 4; way++)
        for (int memory = 0; memory < 2; memory++)
            for (long long n = 1;; n += memory == 0 || n < 60 ? 1 : 1 + (long long)(test_random(t) % 5)) {
                int64_t rows;
                if (memory != 0)
                    test_env_fail_at(t, n);
                else
                    faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
                int rc = plan_and_read(table, way, &rows, &err);
                bool reached = memory != 0 ? test_env_fail_reached(t) : faulty_fs_failures(&f) > 0;
                test_env_fail_at(t, 0);
                faulty_fs_reset(&f);
                if (rc == PML_OK)
                    assert_int_equal(rows, wanted[way]);
                else if (rc != PML_E_NOMEM && rc != PML_E_IO && rc != PML_E_SNAPSHOT_GONE)
                    fail_msg("way %d, %lld: code %d: %s", way, n, rc, err.message);
                if (!reached)
                    break;
                failures++;
            }
    assert_true(failures > 100);
    pml_table_release(table);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_show_what_came_behind_the_first_up_to_the_second),
        cmocka_unit_test(changelogs_come_with_the_kinds_of_their_files),
        cmocka_unit_test(level_0_of_tables_with_deletion_vectors_is_no_delta_as_in_java),
        cmocka_unit_test(difference_is_the_later_row_or_a_delete),
        cmocka_unit_test(conditions_are_asked_of_the_rows_that_come_out),
        cmocka_unit_test(calls_say_what_the_options_say),
        cmocka_unit_test(splits_of_changes_travel_as_bytes),
        cmocka_unit_test(what_is_not_there_is_named_with_what_is),
        cmocka_unit_test(options_that_contradict_each_other_are_refused_at_open),
        cmocka_unit_test(tags_are_two_snapshots_that_differ),
        cmocka_unit_test(auto_tags_have_the_form_of_the_options),
        cmocka_unit_test(times_are_the_snapshots_that_are_not_newer),
        cmocka_unit_test(failure_anywhere_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
