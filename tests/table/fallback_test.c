/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that show partitions of another branch. That Java shows the same is for tests/tables (history_fallback_branch) and tests/interop;
 * here every way to read and count, what is refused, and what fails.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/rows_kit.h"
#include "support/table_kit.h"

#include <paimonlive/realtime.h>
#include <paimonlive/split.h>

enum { SHOWN = 4000 };

typedef struct world {
    test_env *t;
    char path[400];
    char shown[SHOWN];
    int64_t counted;
} world;

#define MAIN_SCHEMA "{\"id\":2,\"name\":\"v\",\"type\":\"STRING\"}"

static void write_schema(world *w, const char *branch, int id, const char *last_column, const char *options)
{
    char path[600], text[1000];
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s%s/schema/schema-%d", w->path, branch, id);
    (void)snprintf(text, sizeof text,
                   "{\"version\":3,\"id\":%d,\"fields\":[{\"id\":0,\"name\":\"p\",\"type\":\"STRING NOT NULL\"},{\"id\":1,\"name\":\"id\",\"type\":"
                   "\"INT NOT NULL\"},%s],\"highestFieldId\":9,\"partitionKeys\":[\"p\"],\"primaryKeys\":[],\"options\":{\"bucket\":\"-1\"%s},"
                   "\"timeMillis\":0}",
                   id, last_column, options);
    must_ok(pml_file__publish(w->t->env, path, (const uint8_t *)text, strlen(text), 0, &err), &err);
}

/* A commit, a second after the last one. */
static void put(world *w, const char *branch, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_table *table;
    o.branch = branch;
    w->t->wall_ms += 1000;
    must_ok(pml_table_open(&table, w->t->env, w->path, &o, &err), &err);
    rows_commit(w->t, table, rows, NULL, NULL);
    pml_table_release(table);
}

/* main: a, then c; fb: a and b, then d. */
static void world_open(world *w, test_env *t)
{
    memset(w, 0, sizeof *w);
    w->t = t;
    (void)snprintf(w->path, sizeof w->path, "%s", test_path(t, "t"));
    write_schema(w, "", 0, MAIN_SCHEMA, "");
    write_schema(w, "/branch/branch-fb", 0, MAIN_SCHEMA, "");
    put(w, "main", "{\"p\":\"a\",\"id\":1,\"v\":\"m1\"}\n");
    put(w, "fb", "{\"p\":\"a\",\"id\":1,\"v\":\"f1\"}\n{\"p\":\"b\",\"id\":2,\"v\":\"f1\"}\n");
    put(w, "main", "{\"p\":\"c\",\"id\":3,\"v\":\"m2\"}\n{\"p\":\"c\",\"id\":4,\"v\":\"m2\"}\n");
    put(w, "fb", "{\"p\":\"d\",\"id\":5,\"v\":\"f2\"}\n");
}

static void world_close(world *w)
{
    test_env_close(w->t);
}

static int open_table(pml_table **out, world *w, const char *key, const char *value, pml_error *err)
{
    const pml_option_pair pair = {key, value};
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    o.options = &pair;
    o.n_options = key != NULL;
    return pml_table_open(out, w->t->env, w->path, &o, err);
}

typedef struct how {
    const char *option, *branch; /* NULL: none */
    const char *equals[2];
    int64_t snapshot;
    uint32_t threads;
    int64_t limit;
} how;

static int read_rows(world *w, const how *h, pml_error *err)
{
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    pml_predicate *p = NULL;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    int rc;
    o.threads = h->threads;
    w->shown[0] = '\0';
    PML_TRY(open_table(&table, w, h->option, h->branch, err));
    PML_TRY(pml_scan_new(&scan, table, err));
    if (h->snapshot > 0)
        PML_TRY(pml_scan_set_snapshot(scan, h->snapshot, err));
    if (h->limit > 0)
        PML_TRY(pml_scan_set_limit(scan, h->limit, err));
    if (h->equals[0] != NULL) {
        const pml_literal value = {h->equals[1], strlen(h->equals[1])};
        PML_TRY(pml_predicate_leaf(&p, table, h->equals[0], PML_OP_EQ, &value, 1, err));
        PML_TRY(pml_scan_set_predicate(scan, p, err));
    }
    PML_TRY(pml_scan_plan(&plan, scan, err));
    PML_TRY(pml_plan_count(&w->counted, plan, err));
    PML_TRY(pml_read_open(&stream, plan, &o, err));
    PML_TRY(rows_show_stream(w->shown, sizeof w->shown, w->t->env, &stream, PML_ROWS_CSV, err));
out:
    pml_predicate_free(p);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    return rc;
}

/* The partitions of the files that the system table shows, and what it knows of their columns. */
static int read_files(world *w, const how *h, pml_error *err)
{
    static const char *const columns[] = {"partition", "record_count", "null_value_counts"};
    const pml_option_pair pairs[] = {{h->option, h->branch}, {"scan.snapshot-id", h->snapshot == 2 ? "2" : "1"}};
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_system_options s = PML_SYSTEM_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    pml_table *table = NULL;
    int rc;
    o.options = h->option == NULL ? pairs + 1 : pairs;
    o.n_options = (h->option != NULL) + (h->snapshot > 0);
    s.columns = columns;
    s.n_columns = 3;
    w->shown[0] = '\0';
    PML_TRY(pml_table_open(&table, w->t->env, w->path, &o, err));
    PML_TRY(pml_system_table_open(&stream, table, "files", &s, err));
    PML_TRY(rows_show_stream(w->shown, sizeof w->shown, w->t->env, &stream, PML_ROWS_CSV, err));
out:
    pml_table_release(table);
    return rc;
}

static void must_list(world *w, const how *h, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(read_files(w, h, &err), &err);
    assert_string_equal(w->shown, rows);
}

static void must_read(world *w, const how *h, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    int64_t n = 0;
    must_ok(read_rows(w, h, &err), &err);
    assert_string_equal(w->shown, rows);
    for (const char *c = rows; *c != '\0'; c++)
        n += *c == '\n';
    assert_int_equal(w->counted, n);
}

#define FALLBACK .option = "scan.fallback-branch", .branch = "fb"
#define PRIMARY  .option = "scan.primary-branch", .branch = "fb"

static void partitions_come_from_both_branches(void **state)
{
    world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    for (uint32_t threads = 0; threads < 4; threads++) {
        must_read(&w, &(how){.threads = threads}, "a,1,m1\nc,3,m2\nc,4,m2\n");
        must_read(&w, &(how){FALLBACK, .threads = threads}, "a,1,m1\nc,3,m2\nc,4,m2\nb,2,f1\nd,5,f2\n");
        must_read(&w, &(how){PRIMARY, .threads = threads}, "a,1,f1\nb,2,f1\nd,5,f2\nc,3,m2\nc,4,m2\n");
    }
    must_read(&w, &(how){.option = "scan.fallback-branch", .branch = " "}, "a,1,m1\nc,3,m2\nc,4,m2\n");
    must_read(&w, &(how){.option = "scan.fallback-branch", .branch = "nowhere"}, "a,1,m1\nc,3,m2\nc,4,m2\n"); /* said in the log only, as by Java */
    world_close(&w);
}

/* A partition is there whether or not a condition leaves any of its rows. */
static void conditions_do_not_make_partitions_missing(void **state)
{
    world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    must_read(&w, &(how){FALLBACK, .equals = {"v", "f1"}}, "b,2,f1\n");
    must_read(&w, &(how){FALLBACK, .equals = {"p", "a"}}, "a,1,m1\n");
    must_read(&w, &(how){FALLBACK, .equals = {"id", "5"}}, "d,5,f2\n");
    must_read(&w, &(how){PRIMARY, .equals = {"v", "m1"}}, "");
    must_read(&w, &(how){PRIMARY, .equals = {"v", "m2"}, .threads = 2}, "c,3,m2\nc,4,m2\n");
    must_read(&w, &(how){FALLBACK, .limit = 4}, "a,1,m1\nc,3,m2\nc,4,m2\nb,2,f1\n");
    must_read(&w, &(how){FALLBACK, .limit = 2}, "a,1,m1\nc,3,m2\n");
    world_close(&w);
}

/* The other branch is read where it was at the time of the snapshot, or at its first one. */
static void both_travel_together(void **state)
{
    world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    must_read(&w, &(how){FALLBACK, .snapshot = 1}, "a,1,m1\nb,2,f1\n");
    must_read(&w, &(how){FALLBACK, .snapshot = 2}, "a,1,m1\nc,3,m2\nc,4,m2\nb,2,f1\n");
    must_read(&w, &(how){PRIMARY, .snapshot = 2}, "a,1,f1\nb,2,f1\nc,3,m2\nc,4,m2\n");
    world_close(&w);
}

/* What counts are the columns of the time that is read. */
static void columns_of_then_fit(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    world_open(&w, test_env_open(NULL));
    write_schema(&w, "", 1, MAIN_SCHEMA ",{\"id\":3,\"name\":\"w\",\"type\":\"INT\"}", "");
    put(&w, "main", "{\"p\":\"e\",\"id\":6,\"v\":\"m3\",\"w\":1}\n");
    must_read(&w, &(how){FALLBACK, .snapshot = 2}, "a,1,m1\nc,3,m2\nc,4,m2\nb,2,f1\n");
    must_read(&w, &(how){PRIMARY, .snapshot = 2}, "a,1,f1\nb,2,f1\nc,3,m2\nc,4,m2\n");
    must_fail_with(PML_E_SCHEMA, read_rows(&w, &(how){FALLBACK, .snapshot = 3}, &err), &err);
    must_fail_with(PML_E_SCHEMA, read_rows(&w, &(how){FALLBACK}, &err), &err);
    world_close(&w);
}

/* Of each partition that main has today the files that a read takes; that of partition b, which it has not, is not there, as in Java. */
static void files_are_those_of_the_first_branch_that_has_the_partition(void **state)
{
    world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    put(&w, "main", "{\"p\":\"d\",\"id\":7,\"v\":\"m3\"}\n{\"p\":\"d\",\"id\":8,\"v\":\"m3\"}\n");
    const char all[] = "{a},1,\"{id=0, p=0, v=0}\"\n{c},2,\"{id=0, p=0, v=0}\"\n{d},2,\"{id=0, p=0, v=0}\"\n";
    must_list(&w, &(how){0}, all);
    must_list(&w, &(how){FALLBACK}, all);
    must_list(&w, &(how){PRIMARY}, "{a},1,\"{id=0, p=0, v=0}\"\n{d},1,\"{id=0, p=0, v=0}\"\n{c},2,\"{id=0, p=0, v=0}\"\n");
    put(&w, "fb", "{\"p\":\"c\",\"id\":9,\"v\":null}\n");
    write_schema(&w, "", 1, MAIN_SCHEMA ",{\"id\":3,\"name\":\"w\",\"type\":\"INT\"}", "");
    put(&w, "main", "{\"p\":\"a\",\"id\":6,\"v\":\"m4\",\"w\":1}\n");
    must_list(&w, &(how){.snapshot = 1}, "{a},1,\"{id=0, p=0, v=0}\"\n"); /* with the columns of then */
    must_list(&w, &(how){FALLBACK, .snapshot = 2}, "{a},1,\"{id=0, p=0, v=0}\"\n{c},2,\"{id=0, p=0, v=0}\"\n");
    must_list(&w, &(how){PRIMARY, .snapshot = 2}, "{a},1,\"{id=0, p=0, v=0}\"\n{c},2,\"{id=0, p=0, v=0}\"\n");
    must_list(&w, &(how){PRIMARY}, "{a},1,\"{id=0, p=0, v=0, w=1}\"\n{d},1,\"{id=0, p=0, v=0, w=1}\"\n{c},1,\"{id=0, p=0, v=1, w=1}\"\n");
    world_close(&w);
}

static void branches_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *column;
        int code;
        const char *words;
    } cases[] = {{"{\"id\":2,\"name\":\"v\",\"type\":\"BIGINT\"}", PML_E_SCHEMA, "types of v and v"},
                 {MAIN_SCHEMA ",{\"id\":3,\"name\":\"w\",\"type\":\"INT\"}", PML_E_SCHEMA, "3 and 4"},
                 {"{\"id\":2,\"name\":\"u\",\"type\":\"STRING\"}", PML_E_UNSUPPORTED, "needs scan.fallback-branch"},
                 {"{\"id\":7,\"name\":\"v\",\"type\":\"STRING\"}", PML_E_UNSUPPORTED, "needs scan.fallback-branch"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        pml_error err = PML_ERROR_INIT;
        world_open(&w, test_env_open(NULL));
        write_schema(&w, "/branch/branch-fb", 1, cases[i].column, "");
        must_fail_with(cases[i].code, read_rows(&w, &(how){FALLBACK}, &err), &err);
        if (strstr(err.message, cases[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", err.message, cases[i].words);
        world_close(&w);
    }
}

static void what_is_not_defined_is_refused(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_scan *scan;
    pml_plan *plan;
    pml_rt_context *context;
    pml_text bytes;
    pml_split_info info = PML_SPLIT_INFO_INIT;
    (void)state;
    world_open(&w, test_env_open(NULL));
    must_fail_with(PML_E_INVAL, read_rows(&w, &(how){.option = "scan.fallback-branch", .branch = "../t"}, &err), &err);
    must_ok(open_table(&table, &w, "scan.fallback-branch", "fb", &err), &err);
    must_ok(pml_scan_new(&scan, table, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    assert_int_equal(pml_plan_split_count(plan), 4);
    must_ok(pml_plan_split_get(&info, plan, 3, &err), &err);
    assert_string_equal(info.partition, "p=d");
    must_fail_with(PML_E_UNSUPPORTED, pml_plan_split_serialize(&bytes, plan, 0, &err), &err);
    pml_plan_free(plan);
    pml_scan_free(scan);
    must_ok(pml_rt_context_open(&context, w.t->env, NULL, &err), &err);
    pml_rt_writer *writer;
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_writer_open(&writer, table, context, NULL, &err), &err);
    assert_non_null(strstr(err.message, "needs scan.fallback-branch"));
    pml_rt_context_close(context);
    pml_table_release(table);
    world_close(&w);
}

static void must_tell_failures(int (*read)(world *w, const how *h, pml_error *err), const char *rows)
{
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    for (int files = 0; files < 2; files++) {
        world w;
        bool reached = true;
        faulty_fs_reset(&f);
        world_open(&w, test_env_open(files ? &f.fs : NULL));
        for (long long n = 1; reached; n++) {
            pml_error err = PML_ERROR_INIT;
            if (files)
                faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            else
                test_env_fail_at(w.t, n);
            int rc = read(&w, &(how){PRIMARY, .snapshot = files ? 2 : 0, .equals = {"v", "m2"}}, &err);
            reached = files ? faulty_fs_failures(&f) > 0 : test_env_fail_reached(w.t);
            test_env_fail_at(w.t, 0);
            faulty_fs_reset(&f);
            if (rc == PML_OK)
                assert_string_equal(w.shown, rows);
            else
                must_fail_with(files ? PML_E_IO : PML_E_NOMEM, rc, &err);
        }
        world_close(&w);
    }
    faulty_fs_destroy(&f);
}

static void failures_are_told(void **state)
{
    (void)state;
    must_tell_failures(read_rows, "c,3,m2\nc,4,m2\n");
    must_tell_failures(read_files, "{a},1,\"{id=0, p=0, v=0}\"\n{c},2,\"{id=0, p=0, v=0}\"\n");
}

/* ---- a snapshot that goes while it is planned ---- */

enum { LISTS_MAX = 64 };

typedef struct expiry {
    world *w;
    bool done;
} expiry;

/* All rows of main go, and then what the older snapshots are read by: their files, and the lists of their manifests. */
static void expire(void *arg, int kind, const char *path)
{
    expiry *x = arg;
    char gone[LISTS_MAX][800], text[4000];
    size_t n = 0;
    pml_error err = PML_ERROR_INIT;
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    pml_table *table;
    (void)kind;
    (void)path;
    x->done = true;
    for (int id = 1; id <= 2; id++) {
        char *snapshot = gone[n++];
        (void)snprintf(snapshot, sizeof gone[0], "%s/snapshot/snapshot-%d", x->w->path, id);
        FILE *f = fopen(snapshot, "rb");
        assert_non_null(f);
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        (void)fclose(f);
        for (const char *list = text; (list = strstr(list, "manifest-list-")) != NULL && n < LISTS_MAX - 1; list++)
            (void)snprintf(gone[n++], sizeof gone[0], "%s/manifest/%.*s", x->w->path, (int)strcspn(list, "\""), list);
    }
    must_ok(open_table(&table, x->w, NULL, NULL, &err), &err);
    must_ok(pml_table_truncate(&result, table, &err), &err);
    pml_table_release(table);
    while (n-- > 0)
        (void)unlink(gone[n]); /* two snapshots may have a list in common */
}

/* What the first look had of the partitions of main does not count for the second. */
static void partitions_of_a_snapshot_that_expired_hide_nothing(void **state)
{
    faulty_fs f;
    bool reached = true, before = false, after = false;
    (void)state;
    faulty_fs_init(&f, &pml_local_file_system);
    for (long long n = 1; reached; n++) {
        world w;
        expiry x = {&w, false};
        pml_error err = PML_ERROR_INIT;
        world_open(&w, test_env_open(&f.fs));
        faulty_fs_reset(&f);
        faulty_fs_call_at(&f, n, FS_OP_ALL, expire, &x);
        int rc = read_rows(&w, &(how){FALLBACK}, &err);
        reached = x.done;
        faulty_fs_reset(&f);
        must_ok(rc, &err);
        bool old = strcmp(w.shown, "a,1,m1\nc,3,m2\nc,4,m2\nb,2,f1\nd,5,f2\n") == 0;
        before = before || old;
        after = after || !old;
        if (!old)
            assert_string_equal(w.shown, "a,1,f1\nb,2,f1\nd,5,f2\n");
        world_close(&w);
    }
    assert_true(before && after);
    faulty_fs_destroy(&f);
}

/* A column that is never null in one branch may be in the other. */
static void columns_are_nullable_where_one_of_them_is(void **state)
{
    (void)state;
    for (int fallback_is = 0; fallback_is < 2; fallback_is++) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        world w = {.t = t};
        struct ArrowArrayStream stream;
        struct ArrowSchema schema;
        pml_table *table;
        pml_scan *scan;
        pml_plan *plan;
        static const char never[] = "{\"id\":2,\"name\":\"v\",\"type\":\"STRING NOT NULL\"}";
        (void)snprintf(w.path, sizeof w.path, "%s", test_path(t, "t"));
        write_schema(&w, "", 0, fallback_is ? never : MAIN_SCHEMA, "");
        write_schema(&w, "/branch/branch-fb", 0, fallback_is ? MAIN_SCHEMA : never, "");
        put(&w, "main", fallback_is ? "{\"p\":\"a\",\"id\":1,\"v\":\"m\"}\n" : "{\"p\":\"a\",\"id\":1,\"v\":null}\n");
        put(&w, "fb", fallback_is ? "{\"p\":\"b\",\"id\":2,\"v\":null}\n" : "{\"p\":\"b\",\"id\":2,\"v\":\"f\"}\n");
        must_read(&w, &(how){FALLBACK}, fallback_is ? "a,1,m\nb,2,\n" : "a,1,\nb,2,f\n");
        must_ok(open_table(&table, &w, "scan.fallback-branch", "fb", &err), &err);
        must_ok(pml_scan_new(&scan, table, &err), &err);
        must_ok(pml_scan_plan(&plan, scan, &err), &err);
        must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        assert_true((schema.children[2]->flags & ARROW_FLAG_NULLABLE) != 0);
        assert_int_equal(schema.children[1]->flags & ARROW_FLAG_NULLABLE, 0);
        schema.release(&schema);
        stream.release(&stream);
        pml_plan_free(plan);
        pml_scan_free(scan);
        pml_table_release(table);
        test_env_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(partitions_come_from_both_branches),
                                       cmocka_unit_test(conditions_do_not_make_partitions_missing),
                                       cmocka_unit_test(both_travel_together),
                                       cmocka_unit_test(columns_of_then_fit),
                                       cmocka_unit_test(files_are_those_of_the_first_branch_that_has_the_partition),
                                       cmocka_unit_test(branches_that_do_not_fit_are_refused),
                                       cmocka_unit_test(what_is_not_defined_is_refused),
                                       cmocka_unit_test(failures_are_told),
                                       cmocka_unit_test(partitions_of_a_snapshot_that_expired_hide_nothing),
                                       cmocka_unit_test(columns_are_nullable_where_one_of_them_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
