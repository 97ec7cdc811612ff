/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data evolution: files with columns of the same rows. That Java reads the same is for tests/tables (evolve_data_*); here what no such
 * table has. The files are ordinary ones, with all columns in them: what a commit says of them (row ids, write columns) is made up.
 */
#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "support/rows_kit.h"
#include "support/sim_fs.h"
#include "support/table_kit.h"

#include <paimonlive/split.h>

typedef struct world {
    test_env *t;
    pml_table *table;
    char path[400];
    char shown[150000]; /* the last read */
    int64_t splits, counted;
} world;

typedef struct put_file {
    int64_t first_row_id; /* -1: none */
    int64_t sequence;
    const char *columns[3]; /* NULL: all */
    const char *rows;
    const char *rename;    /* NULL: none */
    int64_t says_rows;     /* 0: the truth; -1: none */
} put_file;

static void write_schema(world *w, int id, const char *options)
{
    char path[500], text[1000];
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/schema/schema-%d", w->path, id);
    (void)snprintf(text, sizeof text,
                   "{\"version\":3,\"id\":%d,\"fields\":[{\"id\":0,\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"id\":1,\"name\":\"a\",\"type\":"
                   "\"STRING\"},{\"id\":2,\"name\":\"b\",\"type\":\"INT\"}%s],\"highestFieldId\":9,\"partitionKeys\":[],\"primaryKeys\":[],"
                   "\"options\":{\"bucket\":\"-1\"%s},\"timeMillis\":0}",
                   id, id == 0 ? "" : ",{\"id\":3,\"name\":\"c\",\"type\":\"INT\"}", options);
    must_ok(pml_file__publish(w->t->env, path, (const uint8_t *)text, strlen(text), 0, &err), &err);
    pml_table_release(w->table);
    w->table = NULL;
    must_ok(pml_table_open(&w->table, w->t->env, w->path, NULL, &err), &err);
}

/* The file gets another name. */
static void rename_file(world *w, pml_data_file *f, const char *name)
{
    char path[700];
    uint8_t *bytes;
    size_t len;
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/bucket-0/%s", w->path, f->name);
    must_ok(pml_file__read_all(&bytes, &len, w->t->env, path, 1 << 20, &err), &err);
    must_ok(pml_file__remove(w->t->env, path, &err), &err);
    (void)snprintf(path, sizeof path, "%s/bucket-0/%s", w->path, name);
    must_ok(pml_file__publish(w->t->env, path, bytes, len, 0, &err), &err);
    pml_env__free(w->t->env, bytes);
    f->name = name;
}

typedef struct lying {
    world *w;
    const put_file *p;
} lying;

static void lie(pml_messages *m, void *arg)
{
    const lying *l = arg;
    const put_file *p = l->p;
    pml_data_file *f = &m->v[0]->files[0];
    f->first_row_id = (pml_optional_int64){p->first_row_id >= 0, p->first_row_id};
    f->min_sequence = f->max_sequence = p->sequence;
    f->write_cols.v = p->columns;
    while (f->write_cols.n < 3 && p->columns[f->write_cols.n] != NULL)
        f->write_cols.n++;
    f->write_cols.present = f->write_cols.n > 0;
    if (p->rename != NULL)
        rename_file(l->w, f, p->rename);
    if (p->says_rows != 0)
        f->row_count = p->says_rows < 0 ? 0 : p->says_rows;
}

static void put(world *w, const put_file *p)
{
    rows_commit(w->t, w->table, p->rows, lie, &(lying){w, p});
}

/* A table of these files. options go in as JSON members. */
static void world_open(world *w, test_env *t, const char *path, const put_file *files, size_t n, const char *options)
{
    char with[300];
    memset(w, 0, sizeof *w);
    w->t = t;
    (void)snprintf(w->path, sizeof w->path, "%s", path);
    write_schema(w, 0, "");
    for (size_t i = 0; i < n; i++)
        put(w, &files[i]);
    (void)snprintf(with, sizeof with, ",\"row-tracking.enabled\":\"true\",\"data-evolution.enabled\":\"true\"%s", options);
    write_schema(w, 1, with);
}

static void world_close(world *w)
{
    test_env *t = w->t;
    pml_table_release(w->table);
    test_env_close(t);
}

/* The splits of *plan go through bytes into a new plan. */
static int carry(pml_plan **plan, const pml_scan *scan, pml_error *err)
{
    pml_text bytes[8] = {{0}};
    pml_blob blobs[8];
    pml_plan *other = NULL;
    size_t n = pml_plan_split_count(*plan);
    int rc = PML_OK;
    assert_true(n <= 8);
    for (size_t i = 0; i < n; i++) {
        PML_TRY(pml_plan_split_serialize(&bytes[i], *plan, i, err));
        blobs[i] = (pml_blob){(const uint8_t *)bytes[i].ptr, bytes[i].len};
    }
    PML_TRY(n == 0 ? PML_OK : pml_plan_from_splits(&other, scan, blobs, n, err));
out:
    for (size_t i = 0; i < n; i++)
        pml_text_clear(&bytes[i]);
    if (other != NULL) {
        pml_plan_free(*plan);
        *plan = other;
    }
    return rc;
}


typedef struct how {
    const char *columns[3]; /* none: all */
    const char *equals[2];  /* a column and its value */
    int64_t batch_rows;
    uint32_t threads;
    bool by_bytes;
} how;

static int read_rows(world *w, const how *h, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    pml_predicate *p = NULL;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    size_t n = 0;
    int rc;
    w->shown[0] = '\0';
    o.batch_rows = h->batch_rows;
    o.threads = h->threads;
    while (n < 3 && h->columns[n] != NULL)
        n++;
    PML_TRY(pml_scan_new(&scan, w->table, err));
    if (n > 0)
        PML_TRY(pml_scan_set_columns(scan, h->columns, n, err));
    if (h->equals[0] != NULL) {
        const pml_literal value = {h->equals[1], strlen(h->equals[1])};
        PML_TRY(pml_predicate_leaf(&p, w->table, h->equals[0], PML_OP_EQ, &value, 1, err));
        PML_TRY(pml_scan_set_predicate(scan, p, err));
    }
    PML_TRY(pml_scan_plan(&plan, scan, err));
    if (h->by_bytes)
        PML_TRY(carry(&plan, scan, err));
    w->splits = (int64_t)pml_plan_split_count(plan);
    PML_TRY(pml_plan_count(&w->counted, plan, err));
    PML_TRY(rows_show(w->shown, sizeof w->shown, plan, &o, PML_ROWS_CSV, err));
out:
    pml_predicate_free(p);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
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

/* The newest values: a of file 2, b of file 1. Old ones are wrong ones. */
static const put_file files[] = {
    {.first_row_id = 0, .sequence = 1,
     .rows = "{\"id\":1,\"a\":\"old\",\"b\":9}\n{\"id\":2,\"a\":\"old\",\"b\":9}\n{\"id\":3,\"a\":\"old\",\"b\":9}\n"},
    {.first_row_id = 0, .sequence = 3, .columns = {"b", "_ROW_ID"},
     .rows = "{\"id\":-1,\"a\":\"no\",\"b\":10}\n{\"id\":-1,\"a\":\"no\",\"b\":20}\n{\"id\":-1,\"a\":\"no\",\"b\":30}\n"},
    {.first_row_id = 0, .sequence = 2, .columns = {"a", "b"},
     .rows = "{\"id\":-1,\"a\":\"x\",\"b\":9}\n{\"id\":-1,\"a\":\"y\",\"b\":9}\n{\"id\":-1,\"a\":\"z\",\"b\":9}\n"},
    {.first_row_id = 3, .sequence = 4, .rows = "{\"id\":4,\"a\":\"u\",\"b\":40}\n"},
};
enum { N_FILES = sizeof files / sizeof files[0] };

#define ALL "1,x,10,\n2,y,20,\n3,z,30,\n4,u,40,\n"

static void columns_come_from_the_newest_file_that_has_them(void **state)
{
    world w;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), files, N_FILES, "");
    for (int64_t rows = 0; rows < 4; rows++)
        for (uint32_t threads = 0; threads < 3; threads++)
            must_read(&w, &(how){.batch_rows = rows, .threads = threads}, ALL);
    must_read(&w, &(how){.by_bytes = true}, ALL);
    must_read(&w, &(how){.columns = {"b"}}, "10\n20\n30\n40\n");
    must_read(&w, &(how){.columns = {"c", "b"}}, ",10\n,20\n,30\n,40\n");
    must_read(&w, &(how){.columns = {"c"}}, "\n\n\n\n");
    must_read(&w, &(how){.columns = {"b", "id"}, .batch_rows = 2}, "10,1\n20,2\n30,3\n40,4\n");
    world_close(&w);
}

/* Statistics, and what a file says of its rows, are those of old values. */
static void predicate_is_asked_of_the_newest_values(void **state)
{
    world w;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), files, N_FILES, "");
    must_read(&w, &(how){.equals = {"b", "20"}}, "2,y,20,\n");
    must_read(&w, &(how){.equals = {"b", "9"}}, "");
    must_read(&w, &(how){.equals = {"a", "z"}, .columns = {"id"}}, "3\n");
    must_read(&w, &(how){.equals = {"b", "30"}, .columns = {"b"}}, "30\n");
    must_read(&w, &(how){.equals = {"c", "1"}}, "");
    must_read(&w, &(how){.equals = {"b", "40"}}, "4,u,40,\n");
    must_read(&w, &(how){.equals = {"id", "1"}, .by_bytes = true}, "1,x,10,\n");
    world_close(&w);
}

static void files_of_the_same_rows_stay_in_one_split(void **state)
{
    world w;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), files, N_FILES, ",\"source.split.target-size\":\"1 b\",\"source.split.open-file-cost\":\"1 b\"");
    must_read(&w, &(how){.by_bytes = true}, ALL);
    assert_int_equal(w.splits, 2);
    must_read(&w, &(how){.threads = 2}, ALL);
    world_close(&w);
}

/* More rows than a batch has, in batches of many sizes. */
static void files_are_read_in_step(void **state)
{
    enum { ROWS = 3000, SIZE = 150000 };
    static char rows[2][SIZE], want[SIZE];
    static world w;
    size_t n[3] = {0};
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        n[0] += (size_t)snprintf(rows[0] + n[0], SIZE - n[0], "{\"id\":%d,\"a\":\"%d\",\"b\":0}\n", i, i * 7);
        n[1] += (size_t)snprintf(rows[1] + n[1], SIZE - n[1], "{\"id\":0,\"a\":\"\",\"b\":%d}\n", i * 3);
        n[2] += (size_t)snprintf(want + n[2], SIZE - n[2], "%d,%d,%d,\n", i, i * 7, i * 3);
    }
    const put_file two[] = {{.first_row_id = 5, .sequence = 1, .rows = rows[0]},
                            {.first_row_id = 5, .sequence = 2, .columns = {"b"}, .rows = rows[1]}};
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), two, 2, "");
    for (int64_t batch = 100; batch < 4000; batch += 371)
        must_read(&w, &(how){.batch_rows = batch, .threads = (uint32_t)batch % 3}, want);
    world_close(&w);
}

/* Who is refused, and in which words. */
static void files_that_do_not_fit_together_are_refused(void **state)
{
    static const char two[] = "{\"id\":1,\"a\":\"x\",\"b\":1}\n{\"id\":2,\"a\":\"y\",\"b\":2}\n", one[] = "{\"id\":1,\"a\":\"x\",\"b\":1}\n";
    static const struct {
        put_file v[2];
        int code;
        const char *words;
    } cases[] = {
        {{{0, 1, {0}, two, NULL, 0}, {0, 2, {"b"}, one, NULL, 0}}, PML_E_CORRUPT, "some of their rows in common"},
        {{{0, 1, {0}, two, NULL, 0}, {1, 2, {"b"}, two, NULL, 0}}, PML_E_CORRUPT, "some of their rows in common"},
        {{{0, 1, {0}, two, NULL, 0}, {-1, 2, {"b"}, two, NULL, 0}}, PML_E_CORRUPT, "has no first row id"},
        {{{0, 1, {0}, two, NULL, 0}, {0, 2, {"b", "zzz"}, two, NULL, 0}}, PML_E_CORRUPT, "column 'zzz'"},
        {{{0, 1, {0}, two, NULL, 0}, {0, 2, {"c"}, two, NULL, 0}}, PML_E_CORRUPT, "column 'c'"}, /* of a later schema */
        {{{0, 1, {"a"}, two, NULL, 0}, {0, 2, {"b"}, two, NULL, 0}}, PML_E_SCHEMA, "column id is NOT NULL"},
        {{{0, 1, {"id", "a"}, two, NULL, 0}, {0, 2, {"b"}, two, "data-1.blob", 0}}, PML_E_CORRUPT, "is a blob file"},
        {{{0, 1, {"id", "a"}, two, NULL, 0}, {0, 2, {"b"}, one, "v-1.vector.parquet", 0}}, PML_E_CORRUPT, "leave out the row of id 1"},
        {{{0, 1, {"id", "a"}, two, NULL, 0}, {1, 2, {"b"}, one, "v-1.vector.parquet", 0}}, PML_E_CORRUPT, "leave out the row of id 0"},
        {{{0, 1, {"id", "a"}, two, NULL, 0}, {1, 2, {"b"}, two, "v-1.vector.parquet", 0}}, PML_E_CORRUPT, "just these rows"},
        {{{0, 1, {"id", "a"}, two, NULL, 0}, {2, 2, {"b"}, two, "v-1.vector.parquet", 0}}, PML_E_CORRUPT, "just these rows"},
        {{{0, 1, {"id"}, one, NULL, 0}, {0, 2, {"b", "a"}, two, "v-1.vector.parquet", 0}}, PML_E_CORRUPT, "just these rows"},
        {{{0, 1, {0}, two, NULL, 0}, {0, 2, {"b"}, one, NULL, 2}}, PML_E_CORRUPT, ".parquet"}, /* the file itself has fewer */
        {{{0, 1, {0}, two, NULL, 0}, {INT64_MAX - 1, 2, {"b"}, two, NULL, 0}}, PML_E_CORRUPT, "pass 2^63"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        pml_error err = PML_ERROR_INIT;
        test_env *t = test_env_open(NULL);
        world_open(&w, t, test_path(t, "t"), cases[i].v, 2, "");
        int rc = read_rows(&w, &(how){0}, &err);
        if (rc != cases[i].code || strstr(err.message, cases[i].words) == NULL)
            fail_msg("case %zu: %d %s", i, rc, err.message);
        world_close(&w);
    }
}

static void file_without_rows_stands_in_nobodys_way(void **state)
{
    world w;
    (void)state;
    test_env *t = test_env_open(NULL);
    const put_file v[] = {files[3], {.first_row_id = 3, .sequence = 9, .columns = {"b"}, .rows = files[3].rows, .says_rows = -1}};
    world_open(&w, t, test_path(t, "t"), v, 2, "");
    must_read(&w, &(how){0}, "4,u,40,\n");
    must_read(&w, &(how){.by_bytes = true}, "4,u,40,\n");
    world_close(&w);
}

#define B(row, v) "{\"id\":-1,\"a\":\"no\",\"b\":" v "}\n"
/* Rows 0 to 3: column b is in files of its own, of rows 0 and 1 in a newer and an older one, of 2 and 3 in one each; row 4 in one file. */
static const put_file chained[] = {
    {.first_row_id = 4, .sequence = 9, .rows = "{\"id\":5,\"a\":\"v\",\"b\":50}\n"},
    {.first_row_id = 3, .sequence = 2, .columns = {"b"}, .rows = B(3, "40"), .rename = "v-1.vector.parquet"},
    {.first_row_id = 0, .sequence = 1, .columns = {"b"}, .rows = B(0, "1") B(1, "1"), .rename = "v-2.vector.parquet"},
    {.first_row_id = 0, .sequence = 1, .columns = {"id", "a"},
     .rows = "{\"id\":1,\"a\":\"x\",\"b\":9}\n{\"id\":2,\"a\":\"y\",\"b\":9}\n{\"id\":3,\"a\":\"z\",\"b\":9}\n{\"id\":4,\"a\":\"u\",\"b\":9}\n"},
    {.first_row_id = 0, .sequence = 3, .columns = {"b"}, .rows = B(0, "10") B(1, "20"), .rename = "v-3.vector.parquet"},
    {.first_row_id = 2, .sequence = 2, .columns = {"b"}, .rows = B(2, "30"), .rename = "v-4.vector.parquet"},
    {.first_row_id = 1, .sequence = 1, .columns = {"b"}, .rows = B(1, "1") B(2, "1"), .rename = "v-5.vector.parquet"},
};
enum { N_CHAINED = sizeof chained / sizeof chained[0] };

#define CHAINED "1,x,10,\n2,y,20,\n3,z,30,\n4,u,40,\n5,v,50,\n"

static void files_of_a_column_follow_each_other(void **state)
{
    world w;
    (void)state;
    test_env *t = test_env_open(NULL);
    world_open(&w, t, test_path(t, "t"), chained, N_CHAINED, "");
    for (int64_t batch = 1; batch < 6; batch++)
        must_read(&w, &(how){.batch_rows = batch, .by_bytes = batch % 2 == 0, .threads = (uint32_t)batch % 3}, CHAINED);
    must_read(&w, &(how){.columns = {"b"}}, "10\n20\n30\n40\n50\n");
    must_read(&w, &(how){.columns = {"b"}, .batch_rows = 1}, "10\n20\n30\n40\n50\n");
    must_read(&w, &(how){.columns = {"a"}}, "x\ny\nz\nu\nv\n");
    must_ok(read_rows(&w, &(how){.equals = {"b", "30"}}, &(pml_error)PML_ERROR_INIT), NULL);
    assert_string_equal(w.shown, "3,z,30,\n");
    world_close(&w);
}

/* A newer file that begins within the rows of an older one. */
static void newer_file_of_a_column_inside_of_an_older_one_is_refused(void **state)
{
    world w;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    test_env *t = test_env_open(NULL);
    const put_file v[] = {chained[3], {0, 1, {"b"}, B(0, "1") B(1, "1"), "v-1.vector.parquet", 0},
                          {1, 2, {"b"}, B(1, "1") B(2, "1") B(3, "1"), "v-2.vector.parquet", 0}};
    world_open(&w, t, test_path(t, "t"), v, 3, "");
    must_fail_with(PML_E_CORRUPT, read_rows(&w, &(how){0}, &err), &err);
    assert_non_null(strstr(err.message, "different ages"));
    must_read(&w, &(how){.columns = {"a"}}, "x\ny\nz\nu\n"); /* who does not ask for it does not care */
    world_close(&w);
}

/* Each allocation of a plan and its read fails once. */
static void survive_every_failure(const put_file *v, size_t n, const char *all)
{
    world w;
    faulty_fs f;
    sim_fs *sim = sim_fs_new();
    faulty_fs_init(&f, sim_fs_system(sim));
    test_env *t = test_env_open(&f.fs);
    world_open(&w, t, "/t", v, n, "");
    for (long long i = 1;; i++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, i);
        int rc = read_rows(&w, &(how){.batch_rows = 2, .by_bytes = true}, &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        if (rc == PML_OK)
            assert_string_equal(w.shown, all);
        if (!reached)
            break;
    }
    world_close(&w);
    faulty_fs_destroy(&f);
    sim_fs_free(sim);
}

static void every_failure_of_a_read_is_survived(void **state)
{
    (void)state;
    survive_every_failure(files, N_FILES, ALL);
    survive_every_failure(chained, N_CHAINED, CHAINED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_from_the_newest_file_that_has_them),
        cmocka_unit_test(predicate_is_asked_of_the_newest_values),
        cmocka_unit_test(files_of_the_same_rows_stay_in_one_split),
        cmocka_unit_test(files_are_read_in_step),
        cmocka_unit_test(files_that_do_not_fit_together_are_refused),
        cmocka_unit_test(file_without_rows_stands_in_nobodys_way),
        cmocka_unit_test(files_of_a_column_follow_each_other),
        cmocka_unit_test(newer_file_of_a_column_inside_of_an_older_one_is_refused),
        cmocka_unit_test(every_failure_of_a_read_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
