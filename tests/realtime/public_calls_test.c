/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests the failures of each public function: the test in which its n-th allocation fails, for every n, or that it
 * allocates nothing, which is shown here. src/paimonlive.map is the list of functions: one that is not in the table below fails
 * the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_kit.h"
#include <paimonlive/paimonlive.h>

typedef struct public_call {
    const char *name;
    const char *file;     /* below tests/; NULL: it allocates nothing, see below */
    const char *function; /* of that file, with the loop or called by it */
} public_call;

#define TABLE  "table/failure_test.c"
#define TABLES "table/table_test.c"
#define SPLIT  "table/split_test.c"
#define ROWS   "table/rows_test.c"
#define CHANGES "table/changes_test.c"
#define STREAM "table/stream_scan_test.c"
#define LIVE   "realtime/failure_test.c"
#define TICKET "realtime/ticket_test.c"
#define LOOKUP "realtime/lookup_test.c"
#define HERE   NULL, NULL
#define REST   "realtime/public_failure_test.c"

static const public_call calls[] = {
    {"pml_catalog_drop_table", REST, "step_drop"},
    {"pml_catalog_open", REST, "step_catalog"},
    {"pml_catalog_release", HERE},
    {"pml_catalog_table_path", REST, "step_catalog"},
    {"pml_catalog_tables", TABLES, "catalog_lists_and_drops_tables"},
    {"pml_commit_abort", HERE},
    {"pml_commit_close", HERE},
    {"pml_commit_open", TABLE, "step_commit"},
    {"pml_commit_overwrite", TABLE, "step_overwrite"},
    {"pml_commit_run", TABLE, "step_commit"},
    {"pml_commit_user", HERE},
    {"pml_env_acquire", HERE},
    {"pml_env_new", REST, "environment_is_made_or_not"},
    {"pml_env_release", HERE},
    {"pml_error_name", HERE},
    {"pml_lookup_close", HERE},
    {"pml_lookup_get", LOOKUP, "step_get"},
    {"pml_lookup_key_schema", LOOKUP, "step_get"},
    {"pml_lookup_keys", LOOKUP, "step_get"},
    {"pml_lookup_open", LOOKUP, "step_open"},
    {"pml_lookup_refresh", LOOKUP, "step"},
    {"pml_lookup_schema", LOOKUP, "step_get"},
    {"pml_lookup_snapshot_id", HERE},
    {"pml_messages_count", HERE},
    {"pml_messages_deserialize", SPLIT, "failing_allocations_of_messages_leave_nothing_behind"},
    {"pml_messages_files", HERE},
    {"pml_messages_free", HERE},
    {"pml_messages_rows", HERE},
    {"pml_messages_serialize", SPLIT, "failing_allocations_of_messages_leave_nothing_behind"},
    {"pml_names_clear", HERE},
    {"pml_plan_count", TABLE, "step_read"},
    {"pml_plan_free", HERE},
    {"pml_plan_from_splits", SPLIT, "failing_allocations_leave_nothing_behind"},
    {"pml_plan_snapshot_id", HERE},
    {"pml_plan_split_count", HERE},
    {"pml_plan_split_get", HERE},
    {"pml_plan_split_serialize", SPLIT, "failing_allocations_leave_nothing_behind"},
    {"pml_predicate_and", TABLE, "step_plan"},
    {"pml_predicate_free", HERE},
    {"pml_predicate_leaf", TABLE, "step_plan"},
    {"pml_predicate_or", REST, "step_predicate"},
    {"pml_read_open", TABLE, "step_read"},
    {"pml_routes_count", HERE},
    {"pml_routes_free", HERE},
    {"pml_routes_get", HERE},
    {"pml_rows_open", ROWS, "every_failed_allocation"},
    {"pml_rows_print", ROWS, "every_failed_allocation"},
    {"pml_rows_print_cell", REST, "step_cells"},
    {"pml_rows_printer_free", HERE},
    {"pml_rows_printer_new", ROWS, "every_failed_allocation"},
    {"pml_rt_advance", LIVE, "advance_can_be_repeated"},
    {"pml_rt_commit", LIVE, "commit_can_be_repeated"},
    {"pml_rt_context_acquire", HERE},
    {"pml_rt_context_close", HERE},
    {"pml_rt_context_metrics", REST, "step_metrics"},
    {"pml_rt_context_open", LIVE, "context_and_writer_open_without_leaks"},
    {"pml_rt_entry_get", HERE},
    {"pml_rt_histogram_percentile", HERE},
    {"pml_rt_offsets_all_lost", HERE},
    {"pml_rt_offsets_clean", "realtime/clean_test.c", "cleaner_with_any_failure_removes_orphans_only"},
    {"pml_rt_offsets_count", HERE},
    {"pml_rt_offsets_find", REST, "step_offsets"},
    {"pml_rt_offsets_free", HERE},
    {"pml_rt_offsets_get", HERE},
    {"pml_rt_offsets_load", "realtime/offsets_test.c", "offsets_without_memory_fail_cleanly"},
    {"pml_rt_plugin_load", "realtime/plugin_load_test.c", "plugin_load_survives_failing_allocations"},
    {"pml_rt_plugin_register", "realtime/rt_registry_test.c", "registry_survives_failing_allocations"},
    {"pml_rt_prepare", LIVE, "seal_and_prepare_can_be_repeated"},
    {"pml_rt_prepared_free", HERE},
    {"pml_rt_prepared_get", HERE},
    {"pml_rt_progress_abort", LIVE, "abort_can_be_repeated"},
    {"pml_rt_progress_repair", "realtime/repair_test.c", "repair_without_memory_changes_nothing"},
    {"pml_rt_seal", LIVE, "seal_and_prepare_can_be_repeated"},
    {"pml_rt_split_deserialize", TICKET, "failing_allocations_use_no_ticket_up"},
    {"pml_rt_split_release_ticket", REST, "tickets_are_let_go"},
    {"pml_rt_split_serialize", TICKET, "failing_allocations_while_serialising_leave_no_ticket"},
    {"pml_rt_status_get", REST, "step_status"},
    {"pml_rt_status_parse", HERE},
    {"pml_rt_status_print", HERE},
    {"pml_rt_write", LIVE, "writes_fail_without_effect"},
    {"pml_rt_writer_abort", LIVE, "writer_aborted_without_memory_lets_no_writer_go_on"},
    {"pml_rt_writer_close", REST, "writer_closes_or_says_why_not"},
    {"pml_rt_writer_open", LIVE, "context_and_writer_open_without_leaks"},
    {"pml_scan_free", HERE},
    {"pml_scan_new", TABLE, "step_plan"},
    {"pml_scan_plan", TABLE, "step_plan"},
    {"pml_scan_set_changes", HERE},
    {"pml_scan_set_changes_of_tags", CHANGES, "failure_anywhere_is_clean"},
    {"pml_scan_set_columns", TABLE, "step_plan"},
    {"pml_scan_set_limit", HERE},
    {"pml_scan_set_predicate", TABLE, "step_plan"},
    {"pml_scan_set_realtime", HERE},
    {"pml_scan_set_snapshot", HERE},
    {"pml_scan_set_tag", "table/travel_test.c", "failure_anywhere_is_clean"},
    {"pml_scan_set_timestamp", HERE},
    {"pml_scan_set_watermark", HERE},
    {"pml_scan_table", "table/condition_test.c", "any_allocation_of_the_table_of_then_may_fail"},
    {"pml_stream_error", HERE},
    {"pml_stream_scan_checkpoint", HERE},
    {"pml_stream_scan_ended", HERE},
    {"pml_stream_scan_free", HERE},
    {"pml_stream_scan_new", STREAM, "failure_anywhere_is_clean"},
    {"pml_stream_scan_next", STREAM, "failure_anywhere_is_clean"},
    {"pml_stream_scan_notify", STREAM, "failure_anywhere_is_clean"},
    {"pml_stream_scan_restore", HERE},
    {"pml_system_predicate_leaf", REST, "step_lists"},
    {"pml_system_table_open", REST, "step_lists"},
    {"pml_system_table_schema", REST, "step_lists"},
    {"pml_table_acquire", HERE},
    {"pml_table_arrow_schema", REST, "step_describe"},
    {"pml_table_create", TABLE, "step_create"},
    {"pml_table_drop_partitions", TABLE, "step_drop"},
    {"pml_table_env", HERE},
    {"pml_table_files", REST, "step_lists"},
    {"pml_table_latest_snapshot", REST, "step_describe"},
    {"pml_table_open", TABLE, "step_open"},
    {"pml_table_open_schema", SPLIT, "table_opened_from_its_schema_reads_and_writes"},
    {"pml_table_option", HERE},
    {"pml_table_path", HERE},
    {"pml_table_release", HERE},
    {"pml_table_route", "table/route_api_test.c", "route_without_memory_fails_clean"},
    {"pml_table_schema_id", HERE},
    {"pml_table_schema_json", REST, "step_describe"},
    {"pml_table_snapshots", REST, "step_lists"},
    {"pml_table_truncate", "realtime/reset_test.c", "truncate_without_memory_changes_nothing"},
    {"pml_text_clear", HERE},
    {"pml_version", HERE},
    {"pml_writer_close", HERE},
    {"pml_writer_open", TABLE, "step_write"},
    {"pml_writer_prepare", TABLE, "step_write"},
    {"pml_writer_write", TABLE, "step_write"},
};

/* ---- the table against the list, and against the tests that it names ---- */

static char *text_of(const char *path_below_tests)
{
    char path[4096];
    size_t len;
    (void)snprintf(path, sizeof path, "%s/%s", PML_TEST_SOURCE, path_below_tests);
    char *bytes = (char *)test_read_file(path, &len), *text = calloc(1, len + 1);
    assert_non_null(text);
    memcpy(text, bytes, len);
    free(bytes);
    return text;
}

/* The word, not followed by more of a name. */
static bool has_call(const char *text, const char *name)
{
    char call[128];
    (void)snprintf(call, sizeof call, "%s(", name);
    return strstr(text, call) != NULL;
}

static void every_public_function_is_in_the_table_once(void **state)
{
    char *map = text_of("../src/paimonlive.map"), name[128];
    const char *at = strstr(map, "global:");
    size_t n = 0;
    (void)state;
    assert_non_null(at);
    for (; (at = strstr(at, "pml_")) != NULL; n++) {
        size_t len = strcspn(at, ";\n");
        assert_true(at[len] == ';' && len < sizeof name);
        (void)snprintf(name, sizeof name, "%.*s", (int)len, at);
        if (n == sizeof calls / sizeof calls[0] || strcmp(calls[n].name, name) != 0)
            fail_msg("%s is in src/paimonlive.map: say in this table, at its place, which test fails its allocations",
                     name);
        at += len;
    }
    assert_int_equal(n, sizeof calls / sizeof calls[0]);
    free(map);
}

static void every_test_that_the_table_names_is_there(void **state)
{
    char *rt_kit_text = text_of("support/rt_kit.c"), *table_kit_text = text_of("support/table_kit.c"),
         *lookup_kit_text = text_of("support/lookup_kit.c");
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char *text = text_of(calls[i].file == NULL ? "realtime/public_calls_test.c" : calls[i].file);
        if (calls[i].file == NULL && !has_call(text, calls[i].name))
            fail_msg("%s is not called here", calls[i].name);
        if (calls[i].file != NULL && (strstr(text, "test_env_fail_at(") == NULL || !has_call(text, calls[i].function)))
            fail_msg("%s: %s has no %s, or fails no allocation", calls[i].name, calls[i].file, calls[i].function);
        if (!has_call(text, calls[i].name) && !has_call(rt_kit_text, calls[i].name) &&
            !has_call(table_kit_text, calls[i].name) && !has_call(lookup_kit_text, calls[i].name))
            fail_msg("%s is called neither in %s nor in the kits", calls[i].name, calls[i].file);
        free(text);
    }
    free(rt_kit_text);
    free(table_kit_text);
    free(lookup_kit_text);
}

/* ---- calls that allocate nothing, whatever comes ---- */

#define quiet(t, call)                                        \
    do {                                                      \
        const long long before_ = atomic_load(&(t)->count);   \
        call;                                                 \
        if (atomic_load(&(t)->count) != before_)              \
            fail_msg("%s allocates: it needs a loop", #call); \
    } while (0)

static void tables_scans_and_plans(rt_kit *k, pml_error *err)
{
    test_env *t = k->t;
    pml_scan *scan;
    pml_stream_scan *follow;
    pml_plan *plan;
    pml_predicate *predicate;
    struct ArrowArrayStream stream;
    pml_split_info info = PML_SPLIT_INFO_INIT;
    int64_t snapshot = 0;
    quiet(t, pml_table_acquire(k->table); pml_table_release(k->table));
    quiet(t, assert_ptr_equal(pml_table_env(k->table), t->env));
    quiet(t, assert_string_equal(pml_table_path(k->table), k->path));
    quiet(t, assert_non_null(pml_table_option(k->table, "realtime.enabled")));
    quiet(t, assert_int_equal(pml_table_schema_id(k->table), 0));
    must_ok(pml_scan_new(&scan, k->table, err), err);
    must_ok(pml_stream_scan_new(&follow, scan, NULL, err), err);
    quiet(t, assert_int_equal(pml_stream_scan_ended(follow), 0));
    quiet(t, must_ok(pml_stream_scan_restore(follow, 2, err), err));
    quiet(t, assert_int_equal(pml_stream_scan_checkpoint(follow), 2));
    quiet(t, pml_stream_scan_free(follow));
    quiet(t, must_ok(pml_scan_set_changes(scan, 0, 1, PML_CHANGES_DELTA, err), err));
    quiet(t, must_ok(pml_scan_set_limit(scan, 100, err), err));
    quiet(t, pml_scan_set_timestamp(scan, INT64_MAX));
    quiet(t, pml_scan_set_watermark(scan, 1));
    quiet(t, must_ok(pml_scan_set_snapshot(scan, -1, err), err));
    quiet(t, must_ok(pml_scan_set_realtime(scan, k->ctx, err), err));
    must_ok(pml_scan_plan(&plan, scan, err), err);
    quiet(t, snapshot = pml_plan_snapshot_id(plan));
    assert_int_equal(snapshot, 1);
    quiet(t, assert_int_equal(pml_plan_split_count(plan), 1));
    quiet(t, must_ok(pml_plan_split_get(&info, plan, 0, err), err));
    assert_int_equal(info.rows_in_memory, 5);
    must_ok(pml_read_open(&stream, plan, NULL, err), err);
    quiet(t, must_ok(pml_stream_error(&stream, err), err));
    stream.release(&stream);
    must_ok(pml_predicate_leaf(&predicate, k->table, "id", PML_OP_EQ, &(pml_literal){"1", 1}, 1, err), err);
    quiet(t, pml_predicate_free(predicate));
    quiet(t, pml_plan_free(plan));
    quiet(t, pml_scan_free(scan));
}

static void lookups(test_env *t, pml_error *err)
{
    static const char json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"}],\"partitionKeys\":[],\"primaryKeys\":[\"id\"],"
                               "\"options\":{\"bucket\":\"1\"},\"comment\":\"\"}";
    pml_table *table;
    pml_scan *scan;
    pml_lookup *lookup;
    must_ok(pml_table_create(&table, t->env, test_path(t, "keyed"), json, sizeof json - 1, 0, err), err);
    must_ok(pml_scan_new(&scan, table, err), err);
    must_ok(pml_lookup_open(&lookup, scan, NULL, err), err);
    pml_scan_free(scan);
    quiet(t, assert_int_equal(pml_lookup_snapshot_id(lookup), -1));
    quiet(t, pml_lookup_close(lookup));
    pml_table_release(table);
}

static void rows_routes_and_messages(rt_kit *k, pml_error *err)
{
    test_env *t = k->t;
    struct ArrowArray array = rt_kit_batch(k, 3, "a");
    struct ArrowSchema schema = rt_kit_schema(k);
    pml_routes *routes;
    pml_route_info route = PML_ROUTE_INFO_INIT;
    pml_writer *writer;
    pml_messages *messages;
    pml_rows_printer *printer;
    pml_text text = {0};
    must_ok(pml_table_route(&routes, k->table, &array, &schema, err), err);
    quiet(t, assert_int_equal(pml_routes_count(routes), 1));
    quiet(t, must_ok(pml_routes_get(&route, routes, 0, err), err));
    assert_int_equal(route.n_rows, 3);
    quiet(t, pml_routes_free(routes));
    must_ok(pml_table_schema_json(&text, k->table, err), err);
    quiet(t, pml_text_clear(&text));
    must_ok(pml_rows_printer_new(&printer, t->env, &schema, PML_ROWS_JSON, err), err);
    quiet(t, pml_rows_printer_free(printer));
    must_ok(pml_writer_open(&writer, k->table, err), err);
    must_ok(pml_writer_write(writer, &array, &schema, err), err);
    must_ok(pml_writer_prepare(&messages, writer, err), err);
    quiet(t, assert_int_equal(pml_messages_count(messages), 1));
    quiet(t, assert_int_equal(pml_messages_files(messages), 1));
    quiet(t, assert_int_equal(pml_messages_rows(messages), 3));
    quiet(t, must_ok(pml_commit_abort(k->commit, &messages, 1, err), err));
    quiet(t, pml_messages_free(messages));
    quiet(t, pml_writer_close(writer));
    schema.release(&schema);
}

static void contexts_entries_and_offsets(rt_kit *k, pml_error *err)
{
    test_env *t = k->t;
    pml_rt_entry_info entry = PML_RT_ENTRY_INFO_INIT;
    pml_rt_offset_info offset = PML_RT_OFFSET_INFO_INIT;
    pml_rt_offsets *offsets;
    const pml_rt_entry *const *entries;
    const pml_rt_histogram histogram = PML_RT_HISTOGRAM_INIT;
    size_t n;
    quiet(t, assert_int_equal(pml_rt_histogram_percentile(&histogram, 50), 0));
    pml_rt_status status = PML_RT_STATUS_INIT;
    char text[16384];
    must_ok(pml_rt_status_get(&status, k->ctx, err), err);
    quiet(t, must_ok(pml_rt_status_print(text, sizeof text, &n, &status, 1, PML_RT_STATUS_JSON, err), err));
    quiet(t, must_ok(pml_rt_status_parse(&status, text, n, err), err));
    quiet(t, pml_rt_context_acquire(k->ctx); pml_rt_context_close(k->ctx));
    pml_rt_prepared *prepared = rt_kit_prepare(k, 2);
    quiet(t, entries = pml_rt_prepared_get(&n, prepared));
    assert_int_equal(n, 1);
    quiet(t, must_ok(pml_rt_entry_get(&entry, entries[0], err), err));
    assert_int_equal(entry.rows, 5);
    (void)rt_kit_commit(k, prepared);
    quiet(t, pml_rt_prepared_free(prepared));
    must_ok(pml_rt_offsets_load(&offsets, k->table, -1, err), err);
    quiet(t, assert_int_equal(pml_rt_offsets_count(offsets), 1));
    quiet(t, assert_int_equal(pml_rt_offsets_all_lost(offsets), 0));
    quiet(t, must_ok(pml_rt_offsets_get(&offset, offsets, 0, err), err));
    quiet(t, pml_rt_offsets_free(offsets));
}

static void environments_catalogs_and_commits(rt_kit *k, pml_error *err)
{
    test_env *t = k->t;
    pml_catalog *catalog;
    pml_commit *commit;
    pml_names names = {0};
    quiet(t, pml_env_acquire(t->env); pml_env_release(t->env));
    quiet(t, assert_string_equal(pml_error_name(PML_E_IO), "PML_E_IO"));
    quiet(t, assert_non_null(pml_version()));
    must_ok(pml_catalog_open(&catalog, t->env, t->dir, err), err);
    must_ok(pml_catalog_tables(&names, catalog, err), err);
    quiet(t, pml_names_clear(&names));
    quiet(t, pml_catalog_release(catalog));
    must_ok(pml_commit_open(&commit, k->table, "somebody", err), err);
    quiet(t, assert_string_equal(pml_commit_user(commit), "somebody"));
    quiet(t, pml_commit_close(commit));
}

static void calls_without_a_loop_allocate_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 4, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    tables_scans_and_plans(&k, &err);
    lookups(k.t, &err);
    rows_routes_and_messages(&k, &err);
    environments_catalogs_and_commits(&k, &err);
    contexts_entries_and_offsets(&k, &err);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_public_function_is_in_the_table_once),
        cmocka_unit_test(every_test_that_the_table_names_is_there),
        cmocka_unit_test(calls_without_a_loop_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
