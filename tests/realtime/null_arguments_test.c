/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule for pointers of paimonlive/error.h: a NULL out, a NULL array of more than no entries and a NULL entry are PML_E_INVAL and
 * nothing happens; where a result only reports, NULL says that it is not wanted.
 */
#include <stdio.h>
#include <string.h>

#include "support/rt_kit.h"
#include <paimonlive/paimonlive.h>

#define refused(call) must_fail_with(PML_E_INVAL, call, &err)

static const pml_option_pair no_value = {"key", NULL}, no_key = {NULL, "value"};

static void calls_that_make_or_fill_something_want_a_place_for_it(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan;
    pml_routes *routes;
    pml_catalog *catalog;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 4, "a");
    pml_env *env = k.t->env;
    struct ArrowArray array = rt_kit_batch(&k, 3, "a");
    struct ArrowSchema schema = rt_kit_schema(&k);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_table_route(&routes, k.table, &array, &schema, &err), &err);
    must_ok(pml_catalog_open(&catalog, env, k.t->dir, &err), &err);
    refused(pml_env_new(NULL, NULL, &err));
    refused(pml_catalog_open(NULL, env, k.t->dir, &err));
    refused(pml_catalog_tables(NULL, catalog, &err));
    refused(pml_catalog_table_path(NULL, catalog, "t", &err));
    refused(pml_catalog_table_path(&(pml_text){0}, catalog, NULL, &err));
    refused(pml_table_open(NULL, env, k.path, NULL, &err));
    refused(pml_table_open_schema(NULL, env, k.path, "{}", 2, NULL, &err));
    refused(pml_table_open_schema(&(pml_table *){NULL}, env, k.path, NULL, 2, NULL, &err));
    refused(pml_table_create(NULL, env, k.path, "{}", 2, 0, &err));
    refused(pml_table_create(&(pml_table *){NULL}, env, test_path(k.t, "new"), NULL, 0, 0, &err));
    refused(pml_table_arrow_schema(NULL, k.table, &err));
    refused(pml_table_schema_json(NULL, k.table, &err));
    refused(pml_table_snapshots(NULL, k.table, &err));
    refused(pml_table_files(NULL, k.table, -1, &err));
    refused(pml_system_table_open(NULL, k.table, "files", NULL, &err));
    refused(pml_system_table_open(&(struct ArrowArrayStream){0}, k.table, NULL, NULL, &err));
    refused(pml_system_table_schema(NULL, k.table, "files", &err));
    refused(pml_system_table_schema(&(struct ArrowSchema){0}, k.table, NULL, &err));
    refused(pml_system_predicate_leaf(NULL, k.table, "files", "bucket", PML_OP_IS_NULL, NULL, 0, &err));
    refused(pml_system_predicate_leaf(&(pml_predicate *){NULL}, k.table, "files", NULL, PML_OP_IS_NULL, NULL, 0, &err));
    refused(pml_system_predicate_leaf(&(pml_predicate *){NULL}, k.table, NULL, "bucket", PML_OP_IS_NULL, NULL, 0, &err));
    refused(pml_system_predicate_leaf(&(pml_predicate *){NULL}, NULL, "files", "bucket", PML_OP_IS_NULL, NULL, 0, &err));
    refused(pml_table_latest_snapshot(NULL, k.table, &err));
    refused(pml_table_route(NULL, k.table, &array, &schema, &err));
    refused(pml_routes_get(NULL, routes, 0, &err));
    refused(pml_scan_new(NULL, k.table, &err));
    refused(pml_lookup_open(NULL, scan, NULL, &err));
    refused(pml_lookup_open(&(pml_lookup *){NULL}, NULL, NULL, &err));
    refused(pml_scan_plan(NULL, scan, &err));
    refused(pml_plan_count(NULL, plan, &err));
    refused(pml_plan_split_get(NULL, plan, 0, &err));
    refused(pml_plan_split_serialize(NULL, plan, 0, &err));
    refused(pml_rt_split_serialize(NULL, plan, 0, &err));
    refused(pml_plan_from_splits(NULL, scan, NULL, 0, &err));
    refused(pml_rt_split_deserialize(NULL, scan, NULL, 0, &err));
    refused(pml_read_open(NULL, plan, NULL, &err));
    refused(pml_rows_open(NULL, k.table, "-", NULL, &err));
    refused(pml_rows_printer_new(NULL, env, &schema, PML_ROWS_JSON, &err));
    refused(pml_writer_open(NULL, k.table, &err));
    refused(pml_commit_open(NULL, k.table, NULL, &err));
    refused(pml_messages_deserialize(NULL, k.table, PML_MESSAGE_VERSION, NULL, 0, &err));
    refused(pml_rt_context_open(NULL, env, NULL, &err));
    refused(pml_rt_context_metrics(NULL, k.ctx, &err));
    refused(pml_rt_status_get(NULL, k.ctx, &err));
    refused(pml_rt_status_parse(NULL, "{}", 2, &err));
    refused(pml_rt_status_print(NULL, 0, NULL, NULL, 0, PML_RT_STATUS_TEXT, &err));
    refused(pml_rt_writer_open(NULL, k.table, k.ctx, NULL, &err));
    refused(pml_rt_prepare(NULL, k.w, 1, NULL, &err));
    refused(pml_rt_offsets_load(NULL, k.table, -1, &err));
    pml_catalog_release(catalog);
    pml_routes_free(routes);
    pml_plan_free(plan);
    pml_scan_free(scan);
    schema.release(&schema);
    array.release(&array);
    rt_kit_close(&k);
}

static void predicates_without_a_place_free_their_children(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_predicate *child;
    rt_kit_create(&k, NULL, "", "");
    for (int i = 0; i < 2; i++) {
        must_ok(pml_predicate_leaf(&child, k.table, "id", PML_OP_EQ, &(pml_literal){"1", 1}, 1, &err), &err);
        refused(i == 0 ? pml_predicate_and(NULL, k.t->env, &child, 1, &err) : pml_predicate_or(NULL, k.t->env, &child, 1, &err));
        refused(i == 0 ? pml_predicate_and(&child, k.t->env, NULL, 1, &err) : pml_predicate_or(&child, k.t->env, NULL, 1, &err));
    }
    refused(pml_predicate_leaf(NULL, k.table, "id", PML_OP_EQ, &(pml_literal){"1", 1}, 1, &err));
    refused(pml_predicate_leaf(&child, k.table, "id", PML_OP_EQ, NULL, 1, &err));
    rt_kit_close(&k);
}

static void arrays_and_entries_that_are_missing_are_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_table_open_options open = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_rt_context_options context = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_commit_options commit = PML_COMMIT_OPTIONS_INIT;
    const char *no_name = NULL;
    pml_messages *no_messages = NULL;
    const pml_rt_entry *no_entry = NULL;
    const pml_rt_statement no_pb = {NULL, 1};
    const pml_partition_spec no_values = {1, NULL}, unnamed = {1, &no_key};
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
    const pml_option_pair *const pairs[] = {NULL, &no_value, &no_key};
    for (size_t i = 0; i < 3; i++) {
        open.n_options = context.n_options = commit.n_properties = 1;
        open.options = context.options = commit.properties = pairs[i];
        refused(pml_table_open(&(pml_table *){NULL}, k.t->env, k.path, &open, &err));
        refused(pml_rt_context_open(&(pml_rt_context *){NULL}, k.t->env, &context, &err));
        refused(pml_commit_run(NULL, k.commit, NULL, 0, 1, &commit, &err));
    }
    refused(pml_scan_set_columns(scan, NULL, 1, &err));
    refused(pml_scan_set_columns(scan, &no_name, 1, &err));
    refused(pml_plan_from_splits(&(pml_plan *){NULL}, scan, NULL, 1, &err));
    refused(pml_rt_split_deserialize(&(pml_plan *){NULL}, scan, NULL, 1, &err));
    refused(pml_rt_split_release_ticket(k.ctx, NULL, &err));
    refused(pml_messages_deserialize(&no_messages, k.table, PML_MESSAGE_VERSION, NULL, 1, &err));
    for (size_t i = 0; i < 2; i++) {
        refused(pml_commit_run(NULL, k.commit, i == 0 ? NULL : &no_messages, 1, 1, NULL, &err));
        refused(pml_commit_overwrite(NULL, k.commit, NULL, i == 0 ? NULL : &no_messages, 1, 1, NULL, &err));
        refused(pml_commit_abort(k.commit, i == 0 ? NULL : &no_messages, 1, &err));
        refused(pml_rt_commit(NULL, k.commit, i == 0 ? NULL : &no_entry, 1, 1, NULL, &err));
        refused(pml_rt_progress_abort(k.commit, i == 0 ? NULL : &no_entry, 1, &err));
        refused(pml_rt_progress_repair(NULL, k.table, i == 0 ? NULL : &no_pb, 1, &err));
        must_fail_with(i == 0 ? PML_E_INVAL : PML_E_NOT_FOUND,
                       pml_table_drop_partitions(NULL, k.table, i == 0 ? &no_values : &unnamed, 1, &err), &err);
    }
    refused(pml_table_drop_partitions(NULL, k.table, NULL, 1, &err));
    pml_scan_free(scan);
    rt_kit_close(&k);
}

static void results_that_only_report_may_be_unwanted(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    int64_t id;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 4, "a");
    pml_rt_prepared *prepared = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
    must_ok(pml_rt_commit(NULL, k.commit, entries, n, 1, NULL, &err), &err);
    pml_rt_prepared_free(prepared);
    must_ok(pml_rt_progress_repair(NULL, k.table, NULL, 0, &err), &err);
    must_ok(pml_rt_offsets_clean(NULL, k.table, NULL, &err), &err);
    const pml_option_pair a = {"p", "a"};
    must_ok(pml_table_drop_partitions(NULL, k.table, &(pml_partition_spec){1, &a}, 1, &err), &err);
    must_ok(pml_table_truncate(NULL, k.table, &err), &err);
    must_ok(pml_commit_overwrite(NULL, k.commit, &(pml_partition_spec){0, NULL}, NULL, 0, 7, NULL, &err), &err);
    must_ok(pml_commit_run(NULL, k.commit, NULL, 0, 8, NULL, &err), &err);
    must_ok(pml_table_latest_snapshot(&id, k.table, &err), &err);
    assert_int_equal(id, 4);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_make_or_fill_something_want_a_place_for_it),
        cmocka_unit_test(predicates_without_a_place_free_their_children),
        cmocka_unit_test(arrays_and_entries_that_are_missing_are_refused),
        cmocka_unit_test(results_that_only_report_may_be_unwanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
