/* SPDX-License-Identifier: Apache-2.0 */
/* Making, opening, describing, listing and dropping tables; what is refused by name; metadata that lies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"

#define TABLE(fields, more) "{\"fields\":[" fields "]," more "\"comment\":\"\"}"
#define ID                  "{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}"

static const char simple[] = TABLE(ID, "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{},");

static int create(pml_table **out, test_env *t, const char *path, const char *json, uint32_t flags, pml_error *err)
{
    return pml_table_create(out, t->env, path, json, strlen(json), flags, err);
}

/* ---- create and open ---- */

static void table_is_made_once_and_opened_often(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *a, *b;
    pml_error err = PML_ERROR_INIT;
    const char *path = test_path(t, "wh/t");
    must_fail_with(PML_E_NOT_FOUND, pml_table_open(&a, t->env, path, NULL, &err), &err);
    assert_null(a);
    must_ok(create(&a, t, path, simple, 0, &err), &err);
    must_fail_with(PML_E_EXISTS, create(&b, t, path, simple, 0, &err), &err);
    assert_null(b);
    must_ok(create(&b, t, path, simple, PML_TABLE_IF_NOT_EXISTS, &err), &err);
    assert_int_equal(pml_table_schema_id(b), 0);
    assert_string_equal(pml_table_path(b), path);
    assert_ptr_equal(pml_table_env(b), t->env);
    pml_table_acquire(b);
    pml_table_release(b);
    pml_table_release(b);
    pml_table_release(a);
    must_fail_with(PML_E_INVAL, pml_table_open(&a, t->env, "", NULL, &err), &err);
    must_fail_with(PML_E_INVAL, create(&a, t, "", simple, 0, &err), &err);
    must_fail_with(PML_E_INVAL, create(&a, t, test_path(t, "u"), "{\"fields\":[", 0, &err), &err);
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    o.struct_size++;
    must_fail_with(PML_E_INVAL, pml_table_open(&a, t->env, path, &o, &err), &err);
    o.struct_size--;
    o.branch = "other";
    must_fail_with(PML_E_NOT_FOUND, pml_table_open(&a, t->env, path, &o, &err), &err);
    assert_non_null(strstr(err.message, "branch-other"));
    test_env_close(t);
}

static void somebody_makes_it_first(void *arg, int kind, const char *path)
{
    test_env *t = arg;
    pml_table *table;
    char dir[400];
    (void)kind;
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(strstr(path, "/schema/") - path), path);
    must_ok(create(&table, t, dir, simple, 0, NULL), NULL);
    pml_table_release(table);
}

static void table_that_two_make_at_once_is_made_by_one(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags < 2; flags++) {
        faulty_fs f;
        pml_table *table;
        pml_error err = PML_ERROR_INIT;
        faulty_fs_init(&f, &pml_local_file_system);
        test_env *t = test_env_open(&f.fs), *other = test_env_open(NULL);
        faulty_fs_call_at(&f, 1, FS_OP(FS_OP_PUBLISH), somebody_makes_it_first, other);
        int rc = create(&table, t, test_path(t, "t"), simple, flags, &err);
        assert_int_equal(rc, flags == 0 ? PML_E_EXISTS : PML_OK);
        pml_table_release(table);
        test_env_close(other);
        test_env_close(t);
        faulty_fs_destroy(&f);
    }
}

/* What says where the files of a table lie, or what it is: another value for one open would write files that nobody else finds. */
static void options_that_are_fixed_with_the_table_cannot_be_given_for_one_open(void **state)
{
    (void)state;
    static const char json[] = TABLE(ID ",{\"name\":\"p\",\"type\":\"STRING\"},{\"name\":\"q\",\"type\":\"INT\"}",
                                     "\"partitionKeys\":[\"p\",\"q\"],\"options\":{\"bucket\":\"2\",\"bucket-key\":\"id\","
                                     "\"data-file.path-directory\":\"d\"},");
    static const struct {
        const char *key, *other, *same;
    } cases[] = {
        {"partition.default-name", "zz", "__DEFAULT_PARTITION__"},
        {"partition.legacy-name", "false", "TRUE"},
        {"data-file.path-directory", "e", "d"},
        {"data-file.external-paths", "file:/x", ""},
        {"data-file.external-paths.strategy", "round-robin", ""},
        {"bucket", "4", "2"},
        {"bucket", "-1", "2"},
        {"bucket-key", "q", "id"},
        {"primary-key", "id", ""},
        {"partition", "p", "p,q"},
        {"partition", "p,q,id", "p,q"},
        {"merge-engine", "first-row", "deduplicate"},
        {"sequence.field", "id", ""},
        {"rowkind.field", "p", ""},
        {"branch", "x", "main"},
    };
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    must_ok(create(&table, t, test_path(t, "t"), json, 0, &err), &err);
    pml_table_release(table);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_option_pair pair = {cases[i].key, cases[i].other};
        pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
        o.n_options = 1;
        o.options = &pair;
        must_fail_with(PML_E_INVAL, pml_table_open(&table, t->env, test_path(t, "t"), &o, &err), &err);
        assert_non_null(strstr(err.message, cases[i].key));
        assert_non_null(strstr(err.message, cases[i].other));
        assert_int_equal(err.place, PML_PLACE_OPTION);
        pair.value = cases[i].same;
        must_ok(pml_table_open(&table, t->env, test_path(t, "t"), &o, &err), &err);
        pml_table_release(table);
    }
    test_env_close(t);
}

static void features_that_are_not_supported_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {TABLE(ID, "\"primaryKeys\":[\"id\"],\"options\":{\"bucket\":\"-2\"},"), "needs bucket:postpone"},
        {TABLE(ID ",{\"name\":\"p\",\"type\":\"INT NOT NULL\"}", "\"primaryKeys\":[\"id\"],\"partitionKeys\":[\"p\"],"), "needs cross-partition"},
        {TABLE(ID, "\"options\":{\"file.format\":\"orc\"},"), "needs format:orc"},
        {TABLE(ID, "\"options\":{\"file.format\":\"avro\"},"), "needs format:avro"}, /* a table is made to be written */
        {TABLE(ID, "\"options\":{\"row-tracking.enabled\":\"true\"},"), "needs row-tracking"},
        {TABLE(ID, "\"options\":{\"data-evolution.enabled\":\"true\"},"), "needs data-evolution"},
        {TABLE(ID, "\"options\":{\"deletion-vectors.enabled\":\"true\"},"), "needs deletion-vectors"},
        {TABLE(ID ",{\"name\":\"v\",\"type\":\"ARRAY<VARIANT>\"}", ""), "needs type:variant"}, /* read only */
        {TABLE(ID ",{\"name\":\"v\",\"type\":\"VECTOR<FLOAT, 3>\"}", ""), "needs type:vector"},
        {TABLE(ID ",{\"name\":\"v\",\"type\":\"BLOB\"}", ""), "needs type:blob"},
    };
    test_env *t = test_env_open(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_table *table;
        pml_error err = PML_ERROR_INIT;
        must_fail_with(PML_E_UNSUPPORTED, create(&table, t, test_path(t, "t"), cases[i][0], 0, &err), &err);
        assert_non_null(strstr(err.message, cases[i][1]));
    }
    test_env_close(t);
}

/* The table opens with the option and is planned, but not written. */
static void option_must_stop_writers(int code, const pml_option_pair *option, const char *words)
{
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_writer *w;
    pml_commit *c;
    pml_plan *plan;
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    o.n_options = 1;
    o.options = option;
    must_ok(create(&table, t, test_path(t, "t"), simple, 0, &err), &err);
    pml_table_release(table);
    must_ok(pml_table_open(&table, t->env, test_path(t, "t"), &o, &err), &err);
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_fail_with(code, pml_writer_open(&w, table, &err), &err);
    assert_non_null(strstr(err.message, words));
    must_fail_with(code, pml_commit_open(&c, table, "me", &err), &err);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
}

/* Schema files of version 2 say by their silence that new files are ORC: such a table is read, with the files that it has. */
static void table_of_orc_files_is_opened_but_not_written(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_writer *w;
    pml_commit *c;
    pml_plan *plan;
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    must_ok(create(&table, t, test_path(t, "t"), TABLE(ID, "\"options\":{\"bucket\":\"-1\"},"), 0, &err), &err);
    pml_table_release(table);
    kit_replace_in_file(test_path(t, "t/schema/schema-0"), "\"version\" : 3", "\"version\" : 2");
    must_ok(pml_table_open(&table, t->env, test_path(t, "t"), NULL, &err), &err);
    assert_string_equal(pml_table_option(table, "file.format"), "orc");
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_writer_open(&w, table, &err), &err);
    assert_int_equal(strncmp(err.message, "needs format:orc", 16), 0);
    must_fail_with(PML_E_UNSUPPORTED, pml_commit_open(&c, table, "me", &err), &err);
    assert_int_equal(strncmp(err.message, "needs format:orc", 16), 0);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    test_env_close(t);
}

static void options_for_writing_stop_the_writer_but_not_the_reader(void **state)
{
    (void)state;
    option_must_stop_writers(PML_E_INVAL, &(pml_option_pair){"target-file-size", "many"}, "target-file-size");
    option_must_stop_writers(PML_E_UNSUPPORTED, &(pml_option_pair){"file.format", "avro"}, "needs format:avro");
}

/* ---- describing ---- */

static void table_shows_its_schema_as_text_and_as_arrow(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table;
    pml_text text;
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    size_t len;
    const char *json = TABLE(ID ",{\"name\":\"v\",\"type\":\"STRING\"}", "\"options\":{\"bucket\":\"-1\"},");
    must_ok(create(&table, t, test_path(t, "t"), json, 0, &err), &err);
    must_ok(pml_table_schema_json(&text, table, &err), &err);
    uint8_t *file = test_read_file(test_path(t, "t/schema/schema-0"), &len);
    assert_int_equal(len, text.len);
    assert_memory_equal(file, text.ptr, len);
    free(file);
    pml_text_clear(&text);
    must_ok(pml_table_arrow_schema(&schema, table, &err), &err);
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[1]->name, "v");
    schema.release(&schema);
    assert_string_equal(pml_table_option(table, "bucket"), "-1");
    assert_null(pml_table_option(table, "nothing"));
    pml_table_release(table);
    test_env_close(t);
}

static int64_t stream_rows(struct ArrowArrayStream *stream, int64_t columns)
{
    struct ArrowArray batch;
    int64_t rows = 0;
    for (; stream->get_next(stream, &batch) == 0 && batch.release != NULL; batch.release(&batch)) {
        assert_int_equal(batch.n_children, columns);
        rows += batch.length;
    }
    stream->release(stream);
    return rows;
}

static void table_lists_its_snapshots_and_files(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    struct ArrowArrayStream stream;
    pml_error err = PML_ERROR_INIT;
    char *json = kit_schema_json("\"q\"", "");
    table_kit_create(&k, t, test_path(t, "t"), json);
    free(json);
    must_ok(pml_table_snapshots(&stream, k.table, &err), &err);
    assert_int_equal(stream_rows(&stream, 10), 0);
    must_ok(pml_table_files(&stream, k.table, -1, &err), &err);
    assert_int_equal(stream_rows(&stream, 12), 0);
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(&k, 30);
    must_ok(pml_table_snapshots(&stream, k.table, &err), &err);
    assert_int_equal(stream_rows(&stream, 10), 3);
    must_ok(pml_table_files(&stream, k.table, 1, &err), &err);
    assert_int_equal(stream_rows(&stream, 12), 5);
    must_ok(pml_table_files(&stream, k.table, -1, &err), &err);
    assert_int_equal(stream_rows(&stream, 12), 15);
    must_fail_with(PML_E_NOT_FOUND, pml_table_files(&stream, k.table, 9, &err), &err);
    /* A gap between snapshots is no reason to look for each number in it. */
    assert_int_equal(rename(test_path(t, "t/snapshot/snapshot-3"), test_path(t, "t/snapshot/snapshot-4000000000000")),
                     0);
    (void)unlink(test_path(t, "t/snapshot/LATEST"));
    must_fail_with(PML_E_CORRUPT, pml_table_snapshots(&stream, k.table, &err), &err);
    assert_non_null(strstr(err.message, "snapshot-4000000000000"));
    table_kit_close(&k);
    test_env_close(t);
}

/* ---- catalog ---- */

static void catalog_lists_and_drops_tables(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_catalog *c;
    pml_names names;
    pml_text path;
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    static const char *const made[] = {"b.z", "a.y", "x", "a.x"};
    must_fail_with(PML_E_INVAL, pml_catalog_open(&c, t->env, "", &err), &err);
    must_ok(pml_catalog_open(&c, t->env, test_path(t, "wh"), &err), &err);
    for (size_t i = 0; i < 4; i++) {
        must_ok(pml_catalog_table_path(&path, c, made[i], &err), &err);
        must_ok(create(&table, t, path.ptr, simple, 0, &err), &err);
        pml_table_release(table);
        pml_text_clear(&path);
    }
    assert_int_equal(mkdir(test_path(t, "wh/a.db/no_table"), 0700), 0);
    assert_int_equal(mkdir(test_path(t, "wh/no_database"), 0700), 0);
    kit_write_text(test_path(t, "wh/file.db"), "");
    must_ok(pml_catalog_tables(&names, c, &err), &err);
    assert_int_equal(names.n, 4);
    assert_string_equal(names.v[0], "a.x");
    assert_string_equal(names.v[1], "a.y");
    assert_string_equal(names.v[2], "b.z");
    assert_string_equal(names.v[3], "default.x");
    pml_names_clear(&names);
    must_ok(pml_catalog_drop_table(c, "a.y", &err), &err);
    assert_int_not_equal(access(test_path(t, "wh/a.db/y"), F_OK), 0);
    must_fail_with(PML_E_NOT_FOUND, pml_catalog_drop_table(c, "a.y", &err), &err);
    must_ok(pml_catalog_tables(&names, c, &err), &err);
    assert_int_equal(names.n, 3);
    pml_names_clear(&names);
    for (long long n = 1;; n++) {
        test_env_fail_at(t, n);
        int rc = pml_catalog_tables(&names, c, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(t));
        test_env_fail_at(t, 0);
        pml_names_clear(&names);
        if (rc == PML_OK)
            break;
        must_fail_with(PML_E_NOMEM, rc, &err);
    }
    pml_catalog_release(c);
    test_env_close(t);
}

static void names_that_would_leave_the_warehouse_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ".", "..", "a.", ".b", "a.b.c", "a/b", "../x", "a.b/../..", "a.\n"};
    test_env *t = test_env_open(NULL);
    pml_catalog *c;
    pml_text path;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_catalog_open(&c, t->env, test_path(t, "wh"), &err), &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        must_fail_with(PML_E_INVAL, pml_catalog_table_path(&path, c, bad[i], &err), &err);
        must_fail_with(PML_E_INVAL, pml_catalog_drop_table(c, bad[i], &err), &err);
    }
    pml_catalog_release(c);
    test_env_close(t);
}

/* A drop that stops half-way must leave a table that can be dropped again: data without a schema would come back to life in the
   next table of this name. */
static void drop_that_fails_half_way_can_be_repeated(void **state)
{
    (void)state;
    faulty_fs f;
    pml_error err = PML_ERROR_INIT;
    bool failed = true;
    for (long long n = 1; failed; n++) {
        pml_catalog *c;
        table_kit k;
        faulty_fs_init(&f, &pml_local_file_system);
        test_env *t = test_env_open(&f.fs);
        table_kit_create(&k, t, test_path(t, "wh/default.db/t"), simple);
        (void)table_kit_append(&k, 3);
        table_kit_close(&k);
        must_ok(pml_catalog_open(&c, t->env, test_path(t, "wh"), &err), &err);
        faulty_fs_reset(&f);
        faulty_fs_fail_kinds(&f, FS_OP(FS_OP_REMOVE_FILE) | FS_OP(FS_OP_REMOVE_DIRECTORY) | FS_OP(FS_OP_LIST));
        faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
        int rc = pml_catalog_drop_table(c, "t", &err);
        failed = faulty_fs_failures(&f) > 0;
        faulty_fs_reset(&f);
        assert_true(failed || rc == PML_OK);
        if (rc != PML_OK) /* when only empty directories are left there is no table any more */
            rc = pml_catalog_drop_table(c, "t", &err);
        assert_true(rc == PML_OK || rc == PML_E_NOT_FOUND);
        assert_int_not_equal(access(test_path(t, "wh/default.db/t/snapshot"), F_OK), 0);
        assert_int_not_equal(access(test_path(t, "wh/default.db/t/bucket-0"), F_OK), 0);
        assert_true(rc != PML_OK || access(test_path(t, "wh/default.db/t"), F_OK) != 0);
        pml_catalog_release(c);
        test_env_close(t);
        faulty_fs_destroy(&f);
    }
}

/* ---- removing trees ---- */

static void tree_is_removed_without_following_links(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    assert_int_equal(mkdir(test_path(t, "a"), 0700), 0);
    assert_int_equal(mkdir(test_path(t, "a/b"), 0700), 0);
    assert_int_equal(mkdir(test_path(t, "keep"), 0700), 0);
    kit_write_text(test_path(t, "keep/f"), "x");
    kit_write_text(test_path(t, "a/b/f"), "x");
    assert_int_equal(symlink(test_path(t, "keep"), test_path(t, "a/b/link")), 0);
    must_ok(pml_file__remove_tree(t->env, test_path(t, "a/"), &err), &err);
    assert_int_not_equal(access(test_path(t, "a"), F_OK), 0);
    assert_int_equal(access(test_path(t, "keep/f"), F_OK), 0);
    must_ok(pml_file__remove_tree(t->env, test_path(t, "a"), &err), &err); /* absent is fine */
    test_env_close(t);
}

/* ---- metadata that lies ---- */

static void snapshot_that_lies_is_an_error_and_nothing_worse(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int code;
    } lies[] = {{"manifest-list-", "../manifest/manifest-list-", PML_E_CORRUPT},
                {"\"id\" : 1", "\"id\" : 2", PML_E_CORRUPT},
                {"\"id\" : 1", "\"id\" : ", PML_E_CORRUPT},
                {"\"schemaId\" : 0", "\"schemaId\" : 7", PML_OK},
                {"manifest-list-", "manifest-lost-", PML_E_CORRUPT},
                {"\"totalRecordCount\" : 3", "\"totalRecordCount\" : 9223372036854775807", PML_OK}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        test_env *t = test_env_open(NULL);
        table_kit k;
        pml_scan *scan;
        pml_plan *plan;
        pml_commit *c;
        pml_commit_result r = PML_COMMIT_RESULT_INIT;
        pml_error err = PML_ERROR_INIT;
        table_kit_create(&k, t, test_path(t, "t"), simple);
        (void)table_kit_append(&k, 3);
        pml_messages *m = table_kit_prepare(&k, 2);
        kit_replace_in_file(test_path(t, "t/snapshot/snapshot-1"), lies[i].from, lies[i].to);
        must_ok(pml_scan_new(&scan, k.table, &err), &err);
        int rc = pml_scan_plan(&plan, scan, &err);
        if (rc != lies[i].code)
            fail_msg("case %zu: %d %s", i, rc, err.message);
        pml_plan_free(plan);
        pml_scan_free(scan);
        must_ok(pml_commit_open(&c, k.table, "me", &err), &err);
        rc = pml_commit_run(&r, c, &m, 1, 1, NULL, &err);
        assert_true(i == 3 ? rc == PML_OK : rc != PML_OK);
        pml_commit_close(c);
        pml_messages_free(m);
        table_kit_close(&k);
        test_env_close(t);
    }
}

/* What a manifest says of a file goes into the table through a commit of changed messages. */
static void lie_about_file(pml_data_file *f, size_t i)
{
    static const char *const columns[] = {"other"};
    switch (i) {
    case 0: f->name = "../../../etc/passwd.parquet"; break;
    case 1: f->name = "noformat"; break;
    case 2: f->name = "data-1.lance"; break;
    case 3: f->schema_id = 99; break;
    case 4: f->write_cols = (pml_string_list){true, 1, columns}; break;
    case 5: f->value_stats.min.len = 5; break;
    case 6: f->external_path = "/nowhere/data-1.parquet"; break;
    default: break;
    }
}

static void file_that_lies_is_refused_by_the_plan_or_the_read(void **state)
{
    (void)state;
    static const int codes[] = {PML_E_CORRUPT,     PML_E_CORRUPT, PML_E_UNSUPPORTED, PML_E_CORRUPT,
                                PML_E_UNSUPPORTED, PML_E_CORRUPT, PML_E_CORRUPT};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        test_env *t = test_env_open(NULL);
        table_kit k;
        pml_scan *scan;
        pml_plan *plan;
        pml_predicate *p;
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        pml_error err = PML_ERROR_INIT;
        table_kit_create(&k, t, test_path(t, "t"), simple);
        pml_messages *m = table_kit_prepare(&k, 3);
        lie_about_file(&m->v[0]->files[0], i);
        (void)table_kit_commit(&k, m);
        must_ok(pml_predicate_leaf(&p, k.table, "id", PML_OP_LE, &(pml_literal){"5", 1}, 1, &err), &err);
        must_ok(pml_scan_new(&scan, k.table, &err), &err);
        must_ok(pml_scan_set_predicate(scan, p, &err), &err);
        int rc = pml_scan_plan(&plan, scan, &err);
        if (rc == PML_OK) {
            must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
            assert_int_not_equal(stream.get_next(&stream, &batch), 0);
            rc = pml_stream_error(&stream, &err);
            stream.release(&stream);
        }
        if (rc != codes[i])
            fail_msg("case %zu: %d %s", i, rc, err.message);
        pml_plan_free(plan);
        pml_scan_free(scan);
        pml_predicate_free(p);
        table_kit_close(&k);
        test_env_close(t);
    }
}

static void row_counts_that_pass_all_numbers_are_an_error(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_plan *plan;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_split_info info = PML_SPLIT_INFO_INIT;
    pml_error err = PML_ERROR_INIT;
    int64_t rows;
    table_kit_create(&k, t, test_path(t, "t"), simple);
    pml_messages *m[2];
    for (int i = 0; i < 2; i++) {
        m[i] = table_kit_prepare(&k, 3);
        m[i]->v[0]->files[0].row_count = INT64_MAX - 5;
        m[i]->v[0]->files[0].size_bytes = INT64_MAX - 5;
    }
    must_ok(pml_commit_open(&c, k.table, "me", &err), &err);
    must_fail_with(PML_E_OVERFLOW, pml_commit_run(&r, c, m, 2, 1, NULL, &err), &err);
    must_ok(pml_commit_run(&r, c, m, 1, 1, NULL, &err), &err);
    must_fail_with(PML_E_OVERFLOW, pml_commit_run(&r, c, m + 1, 1, 2, NULL, &err), &err);
    /* A snapshot whose total is wrong lets the second one in. */
    kit_replace_in_file(test_path(t, "t/snapshot/snapshot-1"), "\"totalRecordCount\" : 9223372036854775802",
                        "\"totalRecordCount\" : 0");
    must_ok(pml_commit_run(&r, c, m + 1, 1, 2, NULL, &err), &err);
    kit_plan(&plan, &k, &(kit_read){0});
    must_fail_with(PML_E_CORRUPT, pml_plan_count(&rows, plan, &err), &err);
    must_ok(pml_plan_split_get(&info, plan, 0, &err), &err);
    assert_true(info.rows_on_disk > 0);
    pml_plan_free(plan);
    pml_commit_close(c);
    for (int i = 0; i < 2; i++)
        pml_messages_free(m[i]);
    table_kit_close(&k);
    test_env_close(t);
}

static void files_are_dated_by_the_clock_on_the_wall(void **state)
{
    (void)state;
    static const char *const zones[] = {"AAA-9", "BBB+3:30", "UTC"};
    static const int64_t minutes[] = {540, -210, 0};
    for (size_t i = 0; i < 3; i++) {
        test_env *t = test_env_open(NULL);
        table_kit k;
        assert_int_equal(setenv("TZ", zones[i], 1), 0);
        tzset();
        table_kit_create(&k, t, test_path(t, "t"), simple);
        pml_messages *m = table_kit_prepare(&k, 1);
        assert_int_equal(m->v[0]->files[0].creation_time_ms.v, atomic_load(&t->wall_ms) + minutes[i] * 60000);
        pml_messages_free(m);
        k.absent[0] = true;
        table_kit_close(&k);
        test_env_close(t);
    }
}

static void snapshot_with_the_last_number_has_no_successor(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    table_kit_create(&k, t, test_path(t, "t"), simple);
    (void)table_kit_append(&k, 3);
    pml_messages *m = table_kit_prepare(&k, 2);
    kit_replace_in_file(test_path(t, "t/snapshot/snapshot-1"), "\"id\" : 1", "\"id\" : 9223372036854775807");
    assert_int_equal(
        rename(test_path(t, "t/snapshot/snapshot-1"), test_path(t, "t/snapshot/snapshot-9223372036854775807")), 0);
    must_ok(pml_commit_open(&c, k.table, "me", &err), &err);
    must_fail_with(PML_E_OVERFLOW, pml_commit_run(&r, c, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    table_kit_close(&k);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_made_once_and_opened_often),
        cmocka_unit_test(table_that_two_make_at_once_is_made_by_one),
        cmocka_unit_test(options_that_are_fixed_with_the_table_cannot_be_given_for_one_open),
        cmocka_unit_test(features_that_are_not_supported_are_refused_by_name),
        cmocka_unit_test(options_for_writing_stop_the_writer_but_not_the_reader),
        cmocka_unit_test(table_of_orc_files_is_opened_but_not_written),
        cmocka_unit_test(table_shows_its_schema_as_text_and_as_arrow),
        cmocka_unit_test(table_lists_its_snapshots_and_files),
        cmocka_unit_test(catalog_lists_and_drops_tables),
        cmocka_unit_test(names_that_would_leave_the_warehouse_are_refused),
        cmocka_unit_test(drop_that_fails_half_way_can_be_repeated),
        cmocka_unit_test(tree_is_removed_without_following_links),
        cmocka_unit_test(snapshot_that_lies_is_an_error_and_nothing_worse),
        cmocka_unit_test(file_that_lies_is_refused_by_the_plan_or_the_read),
        cmocka_unit_test(row_counts_that_pass_all_numbers_are_an_error),
        cmocka_unit_test(files_are_dated_by_the_clock_on_the_wall),
        cmocka_unit_test(snapshot_with_the_last_number_has_no_successor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
