/* SPDX-License-Identifier: Apache-2.0 */
/* System tables: their columns, rows of tables of ours and of Java, what is refused, what fails. That they are Java's, table by table, is
   for tests/tables/corpus-check to see. */
#include <paimonlive/rows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/keyed_kit.h"

static const struct {
    const char *name, *columns;
} known[] = {
    {"snapshots",
     "snapshot_id,schema_id,commit_user,commit_identifier,commit_kind,commit_time,base_manifest_list,delta_manifest_"
     "list,"
     "changelog_manifest_list,total_record_count,delta_record_count,changelog_record_count,watermark,next_row_id"},
    {"schemas", "schema_id,fields,partition_keys,primary_keys,options,comment,update_time"},
    {"options", "key,value"},
    {"files",
     "partition,bucket,file_path,file_format,schema_id,level,record_count,file_size_in_bytes,min_key,max_key,null_"
     "value_counts,"
     "min_value_stats,max_value_stats,min_sequence_number,max_sequence_number,creation_time,deleteRowCount,file_source,"
     "first_row_id,write_cols"},
    {"file_key_ranges",
     "partition,bucket,file_path,file_format,schema_id,level,record_count,file_size_in_bytes,min_key,max_key,"
     "first_row_id"},
    {"manifests", "file_name,file_size,num_added_files,num_deleted_files,schema_id,min_partition_stats,max_partition_"
                  "stats,min_row_id,"
                  "max_row_id"},
    {"partitions",
     "partition,record_count,file_size_in_bytes,file_count,last_update_time,created_at,created_by,updated_by,options"},
    {"buckets", "partition,bucket,record_count,file_size_in_bytes,file_count,last_update_time"},
    {"tags", "tag_name,snapshot_id,schema_id,commit_time,record_count,create_time,time_retained"},
    {"branches", "branch_name,create_time"},
    {"consumers", "consumer_id,next_snapshot_id"},
    {"statistics", "snapshot_id,schema_id,mergedRecordCount,mergedRecordSize,colstat"},
    {"aggregation_fields", "field_name,field_type,function,function_options,comment"},
    {"table_indexes", "partition,bucket,index_type,file_name,file_size,row_count,dv_ranges"},
    {"ro", NULL},
    {"audit_log", NULL},
    {"binlog", NULL}};
enum { KNOWN = sizeof known / sizeof known[0] };

static pml_table *java_open(test_env *t, const char *name)
{
    char path[512];
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    (void)snprintf(path, sizeof path, "%s/%s", PML_JAVA_TABLES, name);
    must_ok(pml_table_open(&table, t->env, path, NULL, &err), &err);
    return table;
}

/* Reads a system table to the end: rows as JSON lines into text, names of columns into columns; both may be NULL. */
static int read_all(int64_t *rows, pml_text *text, char columns[512], pml_table *table, const char *name,
                    const pml_system_options *o, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    pml_rows_printer *printer = NULL;
    int rc;
    *rows = 0;
    PML_TRY(pml_system_table_open(&stream, table, name, o, err));
    if (stream.get_schema(&stream, &schema) != 0) {
        rc = pml_stream_error(&stream, err);
        goto out;
    }
    for (int64_t i = 0; columns != NULL && i < schema.n_children; i++) {
        size_t at = i == 0 ? 0 : strlen(columns);
        (void)snprintf(columns + at, 512 - at, "%s%s", i == 0 ? "" : ",", schema.children[i]->name);
    }
    PML_TRY(pml_rows_printer_new(&printer, table->env, &schema, PML_ROWS_JSON, err));
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            goto out;
        }
        if (batch.release == NULL)
            break;
        *rows += batch.length;
        rc = text == NULL ? PML_OK : pml_rows_print(text, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
        PML_TRY(rc);
    }
out:
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream.release != NULL)
        stream.release(&stream);
    return rc;
}

static int64_t must_read(pml_table *table, const char *name)
{
    pml_error err = PML_ERROR_INIT;
    int64_t rows;
    must_ok(read_all(&rows, NULL, NULL, table, name, NULL, &err), &err);
    return rows;
}

static pml_system_options columns_of(const char *const *columns, size_t n)
{
    pml_system_options o = PML_SYSTEM_OPTIONS_INIT;
    o.columns = columns;
    o.n_columns = n;
    return o;
}

/* The rows of a Java table, in the order in which they come. */
static void must_show(const char *table_name, const char *name, const char *const *columns, size_t n,
                      const char *expected)
{
    test_env *t = test_env_open(NULL);
    pml_table *table = java_open(t, table_name);
    pml_system_options o = columns_of(columns, n);
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    int64_t rows;
    must_ok(read_all(&rows, &text, NULL, table, name, n == 0 ? NULL : &o, &err), &err);
    assert_string_equal(text.ptr == NULL ? "" : text.ptr, expected);
    pml_text_clear(&text);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- tables of ours ---- */

static void each_has_its_columns_also_without_a_snapshot(table_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < KNOWN; i++) {
        char columns[512] = "";
        int64_t rows;
        must_ok(read_all(&rows, NULL, columns, k->table, known[i].name, NULL, &err), &err);
        if (known[i].columns != NULL)
            assert_string_equal(columns, known[i].columns);
        bool of_schema = strcmp(known[i].name, "schemas") == 0 || strcmp(known[i].name, "options") == 0 ||
                         strcmp(known[i].name, "aggregation_fields") == 0;
        if (of_schema ? rows == 0 : rows != 0)
            fail_msg("%s: %lld rows", known[i].name, (long long)rows);
    }
    assert_int_equal(must_read(k->table, "schemas"), 1);
    assert_int_equal(must_read(k->table, "aggregation_fields"), (int)k->n_fields);
}

static void empty_tables(void **state)
{
    (void)state;
    table_kit_run("\"q\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", each_has_its_columns_also_without_a_snapshot);
    table_kit_run("", "", each_has_its_columns_also_without_a_snapshot);
}

/* The rows of buckets and partitions are sums of those of files. */
static void sums_agree(table_kit *k)
{
    struct ArrowArrayStream files;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    static const char *const wanted[] = {"bucket", "record_count"};
    const pml_system_options o = columns_of(wanted, 2);
    int64_t n_files = 0, sum = 0;
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(k, 40);
    must_ok(pml_table_files(&files, k->table, -1, &err), &err);
    while (files.get_next(&files, &batch) == 0 && batch.release != NULL) {
        n_files += batch.length;
        batch.release(&batch);
    }
    files.release(&files);
    assert_int_equal(must_read(k->table, "snapshots"), 3);
    assert_int_equal(must_read(k->table, "files"), n_files);
    assert_int_equal(must_read(k->table, "file_key_ranges"), n_files);
    assert_true(must_read(k->table, "buckets") > must_read(k->table, "partitions"));
    must_ok(pml_system_table_open(&files, k->table, "buckets", &o, &err), &err);
    assert_int_equal(files.get_next(&files, &batch), 0);
    for (int64_t i = 0; i < batch.length; i++) {
        assert_in_range(((const int32_t *)batch.children[0]->buffers[1])[i], 0, 1);
        sum += ((const int64_t *)batch.children[1]->buffers[1])[i];
    }
    assert_int_equal(sum, 120);
    batch.release(&batch);
    files.release(&files);
    assert_int_equal(must_read(k->table, "ro"), 120);
    assert_int_equal(must_read(k->table, "audit_log"), 120);
}

static void rows_of_ours(void **state)
{
    (void)state;
    table_kit_run("\"q\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", sums_agree);
}

/* ---- tables of Java: what Java 1.4.2 shows ---- */

static void rows_of_java(void **state)
{
    (void)state;
    static const char *const tag[] = {"tag_name", "create_time", "time_retained"};
    must_show("history_tags", "tags", tag, 3,
              "{\"_kind\":\"+I\",\"tag_name\":\"first\",\"create_time\":null,\"time_retained\":null}\n"
              "{\"_kind\":\"+I\",\"tag_name\":\"kept\",\"create_time\":\"2026-11-30T05:11:20.061\",\"time_retained\":"
              "\"PT876000H\"}\n"
              "{\"_kind\":\"+I\",\"tag_name\":\"third\",\"create_time\":null,\"time_retained\":null}\n");
    must_show("history_consumer", "consumers", NULL, 0,
              "{\"_kind\":\"+I\",\"consumer_id\":\"job\",\"next_snapshot_id\":2}\n");
    static const char *const branch[] = {"branch_name"};
    must_show("history_branches", "branches", branch, 1,
              "{\"_kind\":\"+I\",\"branch_name\":\"dev\"}\n{\"_kind\":\"+I\",\"branch_name\":\"empty\"}\n");
    static const char *const statistics[] = {"mergedRecordSize", "snapshot_id"};
    must_show("append_statistics", "statistics", statistics, 2,
              "{\"_kind\":\"+I\",\"mergedRecordSize\":800,\"snapshot_id\":1}\n");
    static const char *const function[] = {"field_name", "function", "function_options"};
    must_show("agg_collections", "aggregation_fields", function, 3,
              "{\"_kind\":\"+I\",\"field_name\":\"id\",\"function\":\"[]\",\"function_options\":\"[]\"}\n"
              "{\"_kind\":\"+I\",\"field_name\":\"ca\",\"function\":\"[collect]\",\"function_options\":\"[fields.ca."
              "aggregate-function]\"}\n"
              "{\"_kind\":\"+I\",\"field_name\":\"cd\",\"function\":\"[true, "
              "collect]\",\"function_options\":\"[fields.cd.distinct, "
              "fields.cd.aggregate-function]\"}\n"
              "{\"_kind\":\"+I\",\"field_name\":\"mm\",\"function\":\"[merge_map]\",\"function_options\":\"[fields.mm."
              "aggregate-function]\"}\n");
    static const char *const ranges[] = {"index_type", "dv_ranges"};
    must_show("dv_append", "table_indexes", ranges, 2,
              "{\"_kind\":\"+I\",\"index_type\":\"DELETION_VECTORS\",\"dv_ranges\":[{\"f0\":\"data-358add68-87c6-48d8-"
              "aeb2-b33348292815-0.parquet\","
              "\"f1\":1,\"f2\":28,\"_CARDINALITY\":4},{\"f0\":\"data-7041733b-77ad-45a1-ad96-ca07e5948c68-0.parquet\","
              "\"f1\":37,"
              "\"f2\":34,\"_CARDINALITY\":7}]}\n");
    static const char *const keys[] = {"max_key", "min_key", "null_value_counts", "max_value_stats", "partition"};
    must_show("history_tags", "files", keys, 5,
              "{\"_kind\":\"+I\",\"max_key\":\"[12]\",\"min_key\":\"[0]\",\"null_value_counts\":\"{amount=2, at=1, "
              "id=0, n=2, name=2}\","
              "\"max_value_stats\":\"{amount=103986.42, at=2016-07-23T19:13:09.456, id=12, n=115264363533356190, "
              "name=零-484}\","
              "\"partition\":\"{}\"}\n");
    /* Of columns that a file does not have nothing is known; which it has, not all files say of their statistics. */
    static const char *const stats[] = {"null_value_counts", "max_value_stats"};
    must_show("blob_one", "files", stats, 2,
              "{\"_kind\":\"+I\",\"null_value_counts\":\"{id=0, name=0}\",\"max_value_stats\":\"{id=3, name=c}\"}\n"
              "{\"_kind\":\"+I\",\"null_value_counts\":\"{id=null, name=null, pic=null}\",\"max_value_stats\":\"{id=null, name=null, pic=null}\"}\n"
              "{\"_kind\":\"+I\",\"null_value_counts\":\"{id=0, name=1}\",\"max_value_stats\":\"{id=9, name=gamma delta-860}\"}\n"
              "{\"_kind\":\"+I\",\"null_value_counts\":\"{id=null, name=null, pic=null}\",\"max_value_stats\":\"{id=null, name=null, pic=null}\"}\n");
}

static void audit_log_has_deletes_and_any_columns(void **state)
{
    (void)state;
    static const char *const kind_last[] = {"id", "rowkind"}, *const no_kind[] = {"id"},
                             *const only_kind[] = {"rowkind"};
    must_show("changelog_none", "audit_log", kind_last, 2,
              "{\"_kind\":\"+I\",\"id\":1,\"rowkind\":\"+U\"}\n"
              "{\"_kind\":\"+I\",\"id\":2,\"rowkind\":\"-D\"}\n"
              "{\"_kind\":\"+I\",\"id\":3,\"rowkind\":\"+I\"}\n"
              "{\"_kind\":\"+I\",\"id\":4,\"rowkind\":\"+I\"}\n");
    must_show("changelog_none", "audit_log", no_kind, 1,
              "{\"_kind\":\"+I\",\"id\":1}\n{\"_kind\":\"+I\",\"id\":2}\n{\"_kind\":\"+I\",\"id\":3}\n{\"_kind\":\"+"
              "I\",\"id\":4}\n");
    must_show("changelog_none", "audit_log", only_kind, 1,
              "{\"_kind\":\"+I\",\"rowkind\":\"+U\"}\n"
              "{\"_kind\":\"+I\",\"rowkind\":\"-D\"}\n"
              "{\"_kind\":\"+I\",\"rowkind\":\"+I\"}\n"
              "{\"_kind\":\"+I\",\"rowkind\":\"+I\"}\n");
}

/* The options of a read choose the snapshot, and a condition the rows. */
static void reads_go_where_the_options_say(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_predicate *p;
    pml_system_options o = PML_SYSTEM_OPTIONS_INIT;
    int64_t rows;
    const pml_option_pair first = {"scan.snapshot-id", "1"};
    pml_table_open_options options = PML_TABLE_OPEN_OPTIONS_INIT;
    options.options = &first;
    options.n_options = 1;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/changelog_none", PML_JAVA_TABLES);
    must_ok(pml_table_open(&table, t->env, path, &options, &err), &err);
    assert_int_equal(must_read(table, "files"), 1);
    assert_int_equal(must_read(table, "ro"), 0); /* nothing was compacted */
    const pml_literal two = {"2", 1};
    must_ok(pml_predicate_leaf(&p, table, "id", PML_OP_LE, &two, 1, &err), &err);
    o.predicate = p;
    must_ok(read_all(&rows, NULL, NULL, table, "audit_log", &o, &err), &err);
    assert_int_equal(rows, 2);
    must_fail_with(PML_E_INVAL, read_all(&rows, NULL, NULL, table, "options", &o, &err), &err); /* of another table's columns */
    pml_predicate_free(p);
    pml_table_release(table);
    test_env_close(t);
}

/* A file of the highest level that holds deletes is merged, so its rows keep their kinds, as in Java. */
static void rows_of_ro_have_their_kinds(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    pml_table *table;
    pml_system_options o = PML_SYSTEM_OPTIONS_INIT;
    int64_t rows;
    must_ok(pml_table_open(&table, t->env, PML_TEST_SOURCE "/table/data/java/ro_kinds", NULL, &err), &err);
    o.flags = PML_READ_ROW_KIND;
    must_ok(read_all(&rows, &text, NULL, table, "ro", &o, &err), &err);
    assert_string_equal(text.ptr, "{\"_kind\":\"+I\",\"k\":1,\"v\":10}\n{\"_kind\":\"+U\",\"k\":2,\"v\":21}\n"
                                  "{\"_kind\":\"+U\",\"k\":4,\"v\":40}\n");
    must_fail_with(PML_E_INVAL, read_all(&rows, NULL, NULL, table, "files", &o, &err), &err); /* rows without kinds */
    o.flags = 2;
    must_fail_with(PML_E_INVAL, read_all(&rows, NULL, NULL, table, "ro", &o, &err), &err);
    pml_text_clear(&text);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- conditions ---- */

typedef struct condition {
    const char *column;
    pml_predicate_op op;
    const char *value; /* NULL: none */
} condition;

/* The rows of a read with one condition, or with either of two. */
static int read_where(pml_text *text, pml_table *table, const char *name, const char *const *columns, size_t n, const condition *c,
                      size_t n_conditions, pml_error *err)
{
    pml_predicate *leaves[2] = {NULL}, *p = NULL;
    pml_system_options o = columns_of(columns, n);
    int64_t rows;
    int rc = PML_OK;
    size_t made = 0;
    o.columns = n == 0 ? NULL : columns;
    for (; rc == PML_OK && made < n_conditions; made += rc == PML_OK) {
        const pml_literal value = {c[made].value, c[made].value == NULL ? 0 : strlen(c[made].value)};
        rc = pml_system_predicate_leaf(&leaves[made], table, name, c[made].column, c[made].op, &value, c[made].value != NULL, err);
    }
    if (rc == PML_OK)
        rc = pml_predicate_or(&p, table->env, leaves, made, err);
    else
        for (size_t i = 0; i < made; i++)
            pml_predicate_free(leaves[i]);
    o.predicate = p;
    if (rc == PML_OK)
        rc = read_all(&rows, text, NULL, table, name, &o, err);
    pml_predicate_free(p);
    return rc;
}

static void must_show_where(pml_table *table, const char *name, const char *column, const condition *c, size_t n, const char *expected)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    must_ok(read_where(&text, table, name, &column, 1, c, n, &err), &err);
    assert_string_equal(text.ptr == NULL ? "" : text.ptr, expected);
    pml_text_clear(&text);
}

static void conditions_choose_rows(void **state)
{
    static const condition deleted[] = {{"rowkind", PML_OP_EQ, "-D"}, {"id", PML_OP_EQ, "4"}}, update = {"rowkind", PML_OP_EQ, "+U"},
                           small = {"id", PML_OP_LE, "2"}, there = {"v", PML_OP_IS_NOT_NULL, NULL}, later = {"snapshot_id", PML_OP_GE, "3"},
                           none = {"bucket", PML_OP_IS_NULL, NULL}, first = {"commit_identifier", PML_OP_EQ, "1"};
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = java_open(t, "changelog_none");
    must_show_where(table, "audit_log", "id", deleted, 2, "{\"_kind\":\"+I\",\"id\":2}\n{\"_kind\":\"+I\",\"id\":4}\n");
    must_show_where(table, "audit_log", "id", &update, 1, "{\"_kind\":\"+I\",\"id\":1}\n");
    must_show_where(table, "audit_log", "rowkind", &small, 1, "{\"_kind\":\"+I\",\"rowkind\":\"+U\"}\n{\"_kind\":\"+I\",\"rowkind\":\"-D\"}\n");
    must_show_where(table, "binlog", "id", &update, 1, "{\"_kind\":\"+I\",\"id\":[1]}\n");
    must_show_where(table, "binlog", "id", &there, 1,
                    "{\"_kind\":\"+I\",\"id\":[1]}\n{\"_kind\":\"+I\",\"id\":[2]}\n{\"_kind\":\"+I\",\"id\":[3]}\n{\"_kind\":\"+I\",\"id\":[4]}\n");
    must_show_where(table, "snapshots", "snapshot_id", &later, 1, "{\"_kind\":\"+I\",\"snapshot_id\":3}\n");
    must_show_where(table, "snapshots", "snapshot_id", &first, 1, "{\"_kind\":\"+I\",\"snapshot_id\":1}\n");
    must_show_where(table, "files", "level", &none, 1, "");
    pml_table_release(table);
    test_env_close(t);
}

static void conditions_that_do_not_fit_are_refused(void **state)
{
    static const condition wrong[] = {{"nowhere", PML_OP_IS_NULL, NULL}, {"id", PML_OP_EQ, "1"}, {"rowkind", PML_OP_EQ, NULL}};
    static const int codes[] = {PML_E_NOT_FOUND, PML_E_INVAL, PML_E_INVAL}; /* id is an array in binlog */
    pml_error err = PML_ERROR_INIT;
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = java_open(t, "changelog_none");
    for (size_t i = 0; i < 3; i++)
        must_fail_with(codes[i], read_where(NULL, table, "binlog", NULL, 0, &wrong[i], 1, &err), &err);
    must_fail_with(PML_E_NOT_FOUND, read_where(NULL, table, "nothing", NULL, 0, &wrong[0], 1, &err), &err);
    pml_table_release(table);
    test_env_close(t);
}

static void numbers_are_shown_where_the_option_says(void **state)
{
    static const char *const columns[] = {"_SEQUENCE_NUMBER", "rowkind", "id"};
    static const condition high = {"_SEQUENCE_NUMBER", PML_OP_GE, "6"};
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options options = PML_TABLE_OPEN_OPTIONS_INIT;
    const pml_option_pair on = {"table-read.sequence-number.enabled", "true"};
    struct ArrowSchema schema;
    pml_text text = {0};
    pml_table *table;
    char path[512];
    options.options = &on;
    options.n_options = 1;
    (void)snprintf(path, sizeof path, "%s/changelog_none", PML_JAVA_TABLES);
    must_ok(pml_table_open(&table, t->env, path, &options, &err), &err);
    must_ok(read_where(&text, table, "binlog", columns, 3, &high, 1, &err), &err);
    assert_string_equal(text.ptr, "{\"_kind\":\"+I\",\"_SEQUENCE_NUMBER\":8,\"rowkind\":\"+U\",\"id\":[1]}\n"
                                  "{\"_kind\":\"+I\",\"_SEQUENCE_NUMBER\":6,\"rowkind\":\"+I\",\"id\":[3]}\n");
    must_ok(pml_system_table_schema(&schema, table, "audit_log", &err), &err);
    assert_string_equal(schema.children[1]->name, "_SEQUENCE_NUMBER");
    schema.release(&schema);
    pml_text_clear(&text);
    pml_table_release(table);
    (void)snprintf(path, sizeof path, "%s/append_statistics", PML_JAVA_TABLES);
    must_ok(pml_table_open(&table, t->env, path, &options, &err), &err);
    must_fail_with(PML_E_INVAL, read_where(NULL, table, "audit_log", NULL, 0, NULL, 0, &err), &err);
    pml_table_release(table);
    test_env_close(t);
}

/* A row that was written again as it was has another number, and differs in nothing. */
static void numbers_do_not_make_rows_differ(void **state)
{
    static const char *const columns[] = {"rowkind", "_SEQUENCE_NUMBER", "id"};
    static const condition all = {"id", PML_OP_GE, "0"};
    static const pml_option_pair options[] = {{"table-read.sequence-number.enabled", "true"},
                                              {"incremental-between", "1,3"},
                                              {"incremental-between-scan-mode", "diff"}};
    static const keyed_row before[] = {{1, 1, 1, 1, 1, 0}, {2, 1, 1, 1, 1, 0}, {3, 1, 1, 1, 1, 0}},
                           after[] = {{4, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 0}, {2, 1, 2, 1, 1, 0}};
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options open = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_text text = {0};
    pml_table *table;
    table_kit k;
    keyed_create(&k, t, test_path(t, "t"), false, "\"bucket\":\"1\"");
    keyed_upsert(&k, before, 3);
    must_ok(pml_table_truncate(NULL, k.table, &err), &err); /* only files that one side has are compared */
    keyed_upsert(&k, after, 3);
    open.options = options;
    open.n_options = 3;
    must_ok(pml_table_open(&table, t->env, test_path(t, "t"), &open, &err), &err);
    must_ok(read_where(&text, table, "audit_log", columns, 3, &all, 1, &err), &err);
    assert_string_equal(text.ptr, "{\"_kind\":\"+I\",\"rowkind\":\"+I\",\"_SEQUENCE_NUMBER\":2,\"id\":2}\n"
                                  "{\"_kind\":\"+I\",\"rowkind\":\"-D\",\"_SEQUENCE_NUMBER\":2,\"id\":3}\n"
                                  "{\"_kind\":\"+I\",\"rowkind\":\"+I\",\"_SEQUENCE_NUMBER\":0,\"id\":4}\n");
    pml_text_clear(&text);
    pml_table_release(table);
    table_kit_close(&k);
    test_env_close(t);
}

static void no_failure_of_a_condition_goes_wrong(void **state)
{
    static const struct {
        const char *name;
        condition c;
    } cases[] = {{"binlog", {"rowkind", PML_OP_EQ, "+U"}}, {"audit_log", {"id", PML_OP_GE, "2"}}, {"snapshots", {"snapshot_id", PML_OP_GE, "2"}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_env *t = test_env_open(NULL);
        pml_table *table = java_open(t, "changelog_none");
        bool reached = true;
        for (long long n = 1; reached; n += 1 + n / 50) {
            pml_error err = PML_ERROR_INIT;
            test_env_fail_at(t, n);
            int rc = read_where(NULL, table, cases[i].name, NULL, 0, &cases[i].c, 1, &err);
            reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            if (rc != PML_OK)
                must_fail_with(PML_E_NOMEM, rc, &err);
        }
        pml_table_release(table);
        test_env_close(t);
    }
}

/* ---- what is refused, what fails ---- */

static void refuse_in(table_kit *k)
{
    static const char *const nowhere[] = {"nowhere"}, *const twice[] = {"key", "key"};
    pml_system_options o = columns_of(nowhere, 1);
    pml_error err = PML_ERROR_INIT;
    int64_t rows;
    must_fail_with(PML_E_NOT_FOUND, read_all(&rows, NULL, NULL, k->table, "nothing", NULL, &err), &err);
    for (size_t i = 0; i < KNOWN; i++) {
        if (strstr(err.message, known[i].name) == NULL)
            fail_msg("'%s' does not name %s", err.message, known[i].name);
        pml_error e = PML_ERROR_INIT;
        must_fail_with(PML_E_NOT_FOUND, read_all(&rows, NULL, NULL, k->table, known[i].name, &o, &e), &e);
    }
    must_fail_with(PML_E_UNSUPPORTED, read_all(&rows, NULL, NULL, k->table, "file_indexes", NULL, &err), &err);
    assert_non_null(strstr(err.message, "needs system-table:file_indexes"));
    o = columns_of(twice, 2);
    must_fail_with(PML_E_INVAL, read_all(&rows, NULL, NULL, k->table, "options", &o, &err), &err);
    o.struct_size--;
    must_fail_with(PML_E_INVAL, read_all(&rows, NULL, NULL, k->table, "options", &o, &err), &err);
}

static void refused_by_name(void **state)
{
    (void)state;
    table_kit_run("", "", refuse_in);
}

static void damaged_files_are_named(table_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    int64_t rows;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/consumer", k->table->path);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/tag", k->table->path);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/consumer/consumer-c", k->table->path);
    kit_write_text(path, "{\"nextSnapshot\":\"x\"}");
    must_fail_with(PML_E_CORRUPT, read_all(&rows, NULL, NULL, k->table, "consumers", NULL, &err), &err);
    assert_non_null(strstr(err.message, "consumer-c"));
    (void)snprintf(path, sizeof path, "%s/tag/tag-t", k->table->path);
    kit_write_text(path, "{\"version\":3}");
    must_fail_with(PML_E_CORRUPT, read_all(&rows, NULL, NULL, k->table, "tags", NULL, &err), &err);
    assert_non_null(strstr(err.message, "tag-t"));
}

static void damage(void **state)
{
    (void)state;
    table_kit_run("", "", damaged_files_are_named);
}

static bool is_known_code(int rc)
{
    return rc == PML_E_NOMEM || rc == PML_E_IO || rc == PML_E_SNAPSHOT_GONE;
}

static const struct {
    const char *table, *name;
} probes[] = {{"changelog_none", "binlog"},
              {"history_tags", "snapshots"},
              {"history_tags", "schemas"},
              {"history_tags", "tags"},
              {"history_tags", "files"},
              {"history_branches", "branches"},
              {"history_consumer", "consumers"},
              {"append_statistics", "statistics"},
              {"dv_append", "table_indexes"},
              {"part_multi", "partitions"},
              {"part_multi", "buckets"},
              {"part_multi", "manifests"},
              {"evolution_pk_avro", "files"},
              {"agg_collections", "options"},
              {"agg_collections", "aggregation_fields"},
              {"changelog_none", "audit_log"},
              {"pk_dedup_compacted_parquet", "ro"}};

static void no_failure_of_memory_goes_wrong(void **state)
{
    (void)state;
    static const char *const kind[] = {"rowkind"};
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        test_env *t = test_env_open(NULL);
        pml_table *table = java_open(t, probes[i].table);
        const pml_system_options o = columns_of(kind, 1);
        const pml_system_options *options = strcmp(probes[i].name, "audit_log") == 0 ? &o : NULL;
        bool reached = true;
        for (long long n = 1; reached; n += 1 + n / 50) {
            pml_error err = PML_ERROR_INIT;
            int64_t rows;
            test_env_fail_at(t, n);
            int rc = read_all(&rows, NULL, NULL, table, probes[i].name, options, &err);
            reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            if (rc != PML_OK && (rc != PML_E_NOMEM || err.code != rc || err.message[0] == '\0'))
                fail_msg("%s: allocation %lld: code %d: '%s'", probes[i].name, n, rc, err.message);
        }
        pml_table_release(table);
        test_env_close(t);
    }
}

static void no_failure_of_files_goes_wrong(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        test_env *t = test_env_open(&f.fs);
        faulty_fs_reset(&f);
        pml_table *table = java_open(t, probes[i].table);
        bool failed = true;
        for (long long n = 1; failed; n++) {
            pml_error err = PML_ERROR_INIT;
            int64_t rows;
            faulty_fs_reset(&f);
            faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            int rc = read_all(&rows, NULL, NULL, table, probes[i].name, NULL, &err);
            failed = faulty_fs_failures(&f) > 0;
            faulty_fs_reset(&f);
            if (rc != PML_OK && (!is_known_code(rc) || err.message[0] == '\0'))
                fail_msg("%s: operation %lld: code %d: '%s'", probes[i].name, n, rc, err.message);
        }
        pml_table_release(table);
        test_env_close(t);
    }
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty_tables),
                                       cmocka_unit_test(rows_of_ours),
                                       cmocka_unit_test(rows_of_java),
                                       cmocka_unit_test(audit_log_has_deletes_and_any_columns),
                                       cmocka_unit_test(reads_go_where_the_options_say),
                                       cmocka_unit_test(rows_of_ro_have_their_kinds),
                                       cmocka_unit_test(conditions_choose_rows),
                                       cmocka_unit_test(conditions_that_do_not_fit_are_refused),
                                       cmocka_unit_test(numbers_are_shown_where_the_option_says),
        cmocka_unit_test(numbers_do_not_make_rows_differ),
                                       cmocka_unit_test(no_failure_of_a_condition_goes_wrong),
                                       cmocka_unit_test(refused_by_name),
                                       cmocka_unit_test(damage),
                                       cmocka_unit_test(no_failure_of_memory_goes_wrong),
                                       cmocka_unit_test(no_failure_of_files_goes_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
