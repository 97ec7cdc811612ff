/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live rows over changes of the schema, and rows with nested columns (realtime.md 4.2, 10.2; realtime-bounded.md 13.3, 13.4): files of every older
 * schema beside rows in memory of the newest one, a context for each schema.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/changes_kit.h"
#include "support/lookup_kit.h"
#include "support/rt_kit.h"
#include "support/table_kit.h"

enum { TEXT_MAX = 4096 };

typedef struct world {
    test_env *t;
    char path[400];
    const char *partitions, *keys, *options, *user; /* the first three: JSON members */
    int n_schemas, n_files;
    pml_table *table;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    pml_commit *commit;
    pml_rt_prepared *prepared;
    int64_t identifier;
} world;

/* ---- schemas ---- */

#define FIELD(id, name, type) "{\"id\":" #id ",\"name\":\"" name "\",\"type\":" type "}"
#define INTEGER "\"INT\""
#define LONG "\"BIGINT\""
#define TEXT "\"STRING\""
#define ROW(fields) "{\"type\":\"ROW\",\"fields\":[" fields "]}"
#define ARRAY(of) "{\"type\":\"ARRAY\",\"element\":" of "}"
#define MAP(of) "{\"type\":\"MAP\",\"key\":\"STRING NOT NULL\",\"value\":" of "}"
#define KEY FIELD(0, "id", "\"BIGINT NOT NULL\"")

/* The next schema, with its ids written out, as an ALTER of another engine has them; w->table is then the altered one. */
static void alter(world *w, const char *fields)
{
    char path[500], text[TEXT_MAX];
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/schema/schema-%d", w->path, w->n_schemas);
    int n = snprintf(text, sizeof text,
                     "{\"version\":3,\"id\":%d,\"fields\":[%s],\"highestFieldId\":99,\"partitionKeys\":[%s],\"primaryKeys\":[%s],"
                     "\"options\":{\"realtime.enabled\":\"true\"%s%s},\"timeMillis\":0}",
                     w->n_schemas++, fields, w->partitions, w->keys, w->options[0] == '\0' ? "" : ",", w->options);
    must_ok(pml_file__publish(w->t->env, path, (const uint8_t *)text, (size_t)n, 0, &err), &err);
    pml_table_release(w->table);
    must_ok(pml_table_open(&w->table, w->t->env, w->path, NULL, &err), &err);
}

static void world_open_in(world *w, const char *partitions, const char *keys, const char *options, const char *fields)
{
    const pml_file_system fast = rt_kit_fs();
    memset(w, 0, sizeof *w);
    w->t = test_env_open(&fast);
    (void)snprintf(w->path, sizeof w->path, "%s", test_path(w->t, "t"));
    w->partitions = partitions;
    w->keys = keys;
    w->options = options;
    w->user = "live";
    alter(w, fields);
}

static void world_open(world *w, const char *keys, const char *options, const char *fields)
{
    world_open_in(w, "", keys, options, fields);
}

static void live_open(world *w)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_context_open(&w->ctx, w->t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->w, w->table, w->ctx, NULL, &err), &err);
    must_ok(pml_commit_open(&w->commit, w->table, w->user, &err), &err);
}

static void live_close(world *w)
{
    pml_rt_writer_abort(w->w);
    pml_commit_close(w->commit);
    pml_rt_context_close(w->ctx);
}

static void world_close(world *w)
{
    live_close(w);
    pml_table_release(w->table);
    test_env_close(w->t);
}

/* ---- rows as lines of JSON ---- */

static int try_put(world *w, const char *rows, pml_error *err)
{
    char path[500];
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    (void)snprintf(path, sizeof path, "%s.rows-%d.jsonl", w->path, w->n_files++);
    must_ok(pml_file__publish(w->t->env, path, (const uint8_t *)rows, strlen(rows), 0, err), err);
    must_ok(pml_rows_open(&s, w->table, path, NULL, err), err);
    assert_int_equal(s.get_schema(&s, &schema), 0);
    assert_int_equal(s.get_next(&s, &batch), 0);
    int rc = pml_rt_write(NULL, w->w, &batch, &schema, NULL, err);
    pml_array__release(&batch);
    schema.release(&schema);
    s.release(&s);
    return rc;
}

static void put(world *w, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(try_put(w, rows, &err), &err);
}

static void plan_of(pml_plan **out, const world *w, bool live, const char *const *columns, size_t n)
{
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, w->table, &err), &err);
    if (n > 0)
        must_ok(pml_scan_set_columns(scan, columns, n, &err), &err);
    if (live)
        must_ok(pml_scan_set_realtime(scan, w->ctx, &err), &err);
    must_ok(pml_scan_plan(out, scan, &err), &err);
    pml_scan_free(scan);
}

/* The rows as sorted lines. */
static void lines_of(pml_text *text, const world *w, bool live, const char *const *columns, size_t n)
{
    pml_plan *plan;
    pml_error err = PML_ERROR_INIT;
    *text = (pml_text){0};
    plan_of(&plan, w, live, columns, n);
    must_ok(rows_read(text, NULL, plan, NULL, PML_ROWS_JSON | PML_ROWS_NO_KIND, &err), &err);
    pml_plan_free(plan);
    if (text->len > 0)
        changes_sort(text);
}

static void must_show(const world *w, bool live, const char *rows)
{
    pml_text text;
    lines_of(&text, w, live, NULL, 0);
    assert_string_equal(text.ptr == NULL ? "" : text.ptr, rows);
    pml_text_clear(&text);
}

static int try_commit(world *w, int64_t *snapshot, pml_error *err)
{
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, w->prepared);
    int rc = pml_rt_commit(&r, w->commit, e, n, w->identifier, NULL, err);
    *snapshot = r.snapshot_id;
    return rc;
}

static void prepare(world *w)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_prepare(&w->prepared, w->w, ++w->identifier, NULL, &err), &err);
}

static void commit(world *w)
{
    pml_error err = PML_ERROR_INIT;
    int64_t snapshot;
    must_ok(try_commit(w, &snapshot, &err), &err);
    pml_rt_prepared_free(w->prepared);
}

/* ---- 45: changes of the schema ---- */

/* A schema, rows that are written at it and stay, and what the table then shows. */
typedef struct stage {
    const char *fields, *rows, *shown;
} stage;

static void must_pass(const char *keys, const char *options, const stage *stages, size_t n)
{
    world w;
    world_open(&w, keys, options, stages[0].fields);
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            live_close(&w);
            alter(&w, stages[i].fields);
        }
        live_open(&w);
        put(&w, stages[i].rows);
        must_show(&w, true, stages[i].shown);
        prepare(&w);
        must_show(&w, true, stages[i].shown);
        commit(&w);
        must_show(&w, true, stages[i].shown);
        must_show(&w, false, stages[i].shown);
    }
    world_close(&w);
}

/* Renamed and widened, added, dropped, nested child added, nested child renamed, widened and dropped inside a list and a map, and a name that
   comes again as another column. */
static const char s0[] = KEY "," FIELD(1, "a", INTEGER) "," FIELD(2, "b", TEXT) "," FIELD(3, "r", ROW(FIELD(4, "x", INTEGER) "," FIELD(5, "y", TEXT))) ","
    FIELD(6, "l", ARRAY(ROW(FIELD(7, "u", INTEGER) "," FIELD(8, "v", TEXT))));
static const char s1[] = KEY "," FIELD(1, "aa", LONG) "," FIELD(2, "b", TEXT) "," FIELD(3, "r", ROW(FIELD(4, "x", INTEGER) "," FIELD(5, "y", TEXT))) ","
    FIELD(6, "l", ARRAY(ROW(FIELD(7, "u", INTEGER) "," FIELD(8, "v", TEXT))));
static const char s2[] = KEY "," FIELD(9, "c", "\"DOUBLE\"") "," FIELD(1, "aa", LONG) ","
    FIELD(3, "r", ROW(FIELD(10, "z", INTEGER) "," FIELD(4, "x", INTEGER) "," FIELD(5, "y", TEXT))) ","
    FIELD(6, "l", ARRAY(ROW(FIELD(7, "u", INTEGER) "," FIELD(8, "v", TEXT))));
static const char s3[] = KEY "," FIELD(9, "c", "\"DOUBLE\"") "," FIELD(1, "aa", LONG) ","
    FIELD(3, "r", ROW(FIELD(4, "xx", LONG) "," FIELD(10, "z", INTEGER))) "," FIELD(6, "l", ARRAY(ROW(FIELD(8, "vv", TEXT) "," FIELD(11, "n", INTEGER)))) ","
    FIELD(12, "b", INTEGER);

static void columns_are_found_by_their_ids_on_disk_and_in_memory(void **state)
{
    (void)state;
    static const stage stages[] = {
        {s0, "{\"id\":1,\"a\":1,\"b\":\"b1\",\"r\":{\"x\":1,\"y\":\"y1\"},\"l\":[{\"u\":1,\"v\":\"v1\"},null]}\n",
         "{\"id\":1,\"a\":1,\"b\":\"b1\",\"r\":{\"x\":1,\"y\":\"y1\"},\"l\":[{\"u\":1,\"v\":\"v1\"},null]}\n"},
        {s1, "{\"id\":2,\"aa\":5000000000,\"b\":null,\"r\":null,\"l\":null}\n",
         "{\"id\":1,\"aa\":1,\"b\":\"b1\",\"r\":{\"x\":1,\"y\":\"y1\"},\"l\":[{\"u\":1,\"v\":\"v1\"},null]}\n"
         "{\"id\":2,\"aa\":5000000000,\"b\":null,\"r\":null,\"l\":null}\n"},
        {s2, "{\"id\":3,\"c\":0.5,\"aa\":3,\"r\":{\"z\":3,\"x\":3,\"y\":\"y3\"},\"l\":[]}\n",
         "{\"id\":1,\"c\":null,\"aa\":1,\"r\":{\"z\":null,\"x\":1,\"y\":\"y1\"},\"l\":[{\"u\":1,\"v\":\"v1\"},null]}\n"
         "{\"id\":2,\"c\":null,\"aa\":5000000000,\"r\":null,\"l\":null}\n"
         "{\"id\":3,\"c\":0.5,\"aa\":3,\"r\":{\"z\":3,\"x\":3,\"y\":\"y3\"},\"l\":[]}\n"},
        {s3, "{\"id\":4,\"c\":null,\"aa\":4,\"r\":{\"xx\":5000000000,\"z\":4},\"l\":[{\"vv\":\"v4\",\"n\":4}],\"b\":4}\n",
         "{\"id\":1,\"c\":null,\"aa\":1,\"r\":{\"xx\":1,\"z\":null},\"l\":[{\"vv\":\"v1\",\"n\":null},null],\"b\":null}\n"
         "{\"id\":2,\"c\":null,\"aa\":5000000000,\"r\":null,\"l\":null,\"b\":null}\n"
         "{\"id\":3,\"c\":0.5,\"aa\":3,\"r\":{\"xx\":3,\"z\":3},\"l\":[],\"b\":null}\n"
         "{\"id\":4,\"c\":null,\"aa\":4,\"r\":{\"xx\":5000000000,\"z\":4},\"l\":[{\"vv\":\"v4\",\"n\":4}],\"b\":4}\n"}};
    must_pass("", "\"bucket\":\"-1\"", stages, sizeof stages / sizeof stages[0]);
}

/* With a primary key rows of an older schema in files meet rows of the newest one in memory, and are merged. */
static void rows_of_two_schemas_are_merged(void **state)
{
    (void)state;
    static const char k0[] = KEY "," FIELD(1, "a", INTEGER) "," FIELD(2, "b", TEXT), k1[] = KEY "," FIELD(3, "c", INTEGER) "," FIELD(1, "aa", LONG),
                      k2[] = KEY "," FIELD(1, "aa", LONG) "," FIELD(3, "c", INTEGER) "," FIELD(4, "b", INTEGER);
    static const char first[] = "{\"id\":1,\"a\":1,\"b\":\"b1\"}\n{\"id\":2,\"a\":2,\"b\":\"b2\"}\n{\"id\":3,\"a\":3,\"b\":\"b3\"}\n";
    static const stage
        newest[] = {{k0, first, first},
                    {k1, "{\"id\":2,\"c\":2,\"aa\":null}\n",
                     "{\"id\":1,\"c\":null,\"aa\":1}\n{\"id\":2,\"c\":2,\"aa\":null}\n{\"id\":3,\"c\":null,\"aa\":3}\n"},
                    {k2, "{\"id\":3,\"aa\":5000000000,\"c\":null,\"b\":3}\n",
                     "{\"id\":1,\"aa\":1,\"c\":null,\"b\":null}\n{\"id\":2,\"aa\":null,\"c\":2,\"b\":null}\n"
                     "{\"id\":3,\"aa\":5000000000,\"c\":null,\"b\":3}\n"}},
        partial[] = {{k0, first, first},
                     {k1, "{\"id\":2,\"c\":2,\"aa\":null}\n{\"id\":3,\"c\":4,\"aa\":null}\n",
                      "{\"id\":1,\"c\":null,\"aa\":1}\n{\"id\":2,\"c\":2,\"aa\":2}\n{\"id\":3,\"c\":4,\"aa\":3}\n"},
                     {k2, "{\"id\":3,\"aa\":5000000000,\"c\":null,\"b\":3}\n",
                      "{\"id\":1,\"aa\":1,\"c\":null,\"b\":null}\n{\"id\":2,\"aa\":2,\"c\":2,\"b\":null}\n"
                      "{\"id\":3,\"aa\":5000000000,\"c\":4,\"b\":3}\n"}};
    must_pass("\"id\"", "\"bucket\":\"1\"", newest, 3);
    must_pass("\"id\"", "\"bucket\":\"1\",\"merge-engine\":\"partial-update\"", partial, 3);
}

/* The writer of the old schema has rows, and another context with the new one commits first: told: the old context hears of it. */
static void old_writer_after_a_new_schema(bool told)
{
    world old, w;
    pml_error err = PML_ERROR_INIT;
    int64_t snapshot, latest;
    static const char f0[] = KEY "," FIELD(1, "a", INTEGER), f1[] = KEY "," FIELD(1, "a", LONG) "," FIELD(2, "b", TEXT);
    world_open(&old, "", "\"bucket\":\"-1\"", f0);
    live_open(&old);
    put(&old, "{\"id\":1,\"a\":1}\n");
    prepare(&old);
    commit(&old);
    put(&old, "{\"id\":2,\"a\":2}\n{\"id\":3,\"a\":3}\n{\"id\":4,\"a\":4}\n");
    w = old;
    w.t = test_env_open(NULL); /* another process */
    w.user = "other";
    w.table = NULL;
    w.n_files = 100;
    alter(&w, f1);
    live_open(&w);
    put(&w, "{\"id\":2,\"a\":2,\"b\":\"new\"}\n");
    prepare(&w);
    commit(&w);
    must_ok(pml_table_latest_snapshot(&latest, w.table, &err), &err);
    if (told)
        (void)pml_rt_advance(old.ctx, latest, &err);
    const size_t manifests = kit_files_in(w.path, "manifest");
    int rc = pml_rt_prepare(&old.prepared, old.w, ++old.identifier, NULL, &err);
    if (rc == PML_OK) {
        rc = try_commit(&old, &snapshot, &err);
        pml_rt_prepared_free(old.prepared);
    }
    must_fail_with(PML_E_CONFLICT, rc, &err);
    must_ok(pml_table_latest_snapshot(&snapshot, w.table, &err), &err);
    assert_int_equal(snapshot, latest);
    assert_int_equal(kit_files_in(w.path, "manifest"), manifests);
    must_show(&w, false, "{\"id\":1,\"a\":1,\"b\":null}\n{\"id\":2,\"a\":2,\"b\":\"new\"}\n");
    world_close(&w);
    live_close(&old);
    w = old; /* a new context goes on from what is committed */
    w.n_schemas = 2;
    pml_table_release(old.table);
    must_ok(pml_table_open(&w.table, w.t->env, w.path, NULL, &err), &err);
    live_open(&w);
    put(&w, "{\"id\":3,\"a\":3,\"b\":null}\n{\"id\":4,\"a\":4,\"b\":null}\n");
    prepare(&w);
    commit(&w);
    must_show(&w, true, "{\"id\":1,\"a\":1,\"b\":null}\n{\"id\":2,\"a\":2,\"b\":\"new\"}\n{\"id\":3,\"a\":3,\"b\":null}\n{\"id\":4,\"a\":4,\"b\":null}\n");
    world_close(&w);
}

/* 45: the old writer's prepare after another context with a new schema committed is refused as a gap; columns renamed, added, dropped, widened,
   nested children added, across files and memory after a restart (above; without one: P3). */
static void old_writer_is_refused_when_a_newer_schema_was_first(void **state)
{
    (void)state;
    old_writer_after_a_new_schema(false);
    old_writer_after_a_new_schema(true);
}

/* ---- 46: nested columns ---- */

static const char nested[] =
    KEY "," FIELD(1, "r", ROW(FIELD(2, "x", INTEGER) "," FIELD(3, "y", ROW(FIELD(4, "u", TEXT) "," FIELD(5, "w", ARRAY(INTEGER)))))) ","
    FIELD(6, "l", ARRAY(ROW(FIELD(7, "m", MAP(LONG)) "," FIELD(8, "t", TEXT)))) ","
    FIELD(9, "m", MAP(ROW(FIELD(10, "k", "\"DECIMAL(20, 3)\"") "," FIELD(11, "l", ARRAY(TEXT))))) "," FIELD(12, "a", ARRAY(ARRAY("\"BOOLEAN\"")));

static const struct {
    const char *columns[6];
    int32_t at[6];
    size_t n;
    bool with_id;
} asked[] = {{{"id", "r", "l", "m", "a"}, {0, 1, 2, 3, 4}, 5, true}, {{"a", "id", "r"}, {4, 0, 1}, 3, true}, {{"m", "l", "id"}, {3, 2, 0}, 3, true},
             {{"r"}, {1}, 1, false}, {{"l", "a"}, {2, 4}, 2, false}, {{"m"}, {3}, 1, false}};

/* Random rows, each against what was written; without their ids as lines against those of the first look, where all are in memory. */
static void must_have(world *w, table_kit *k, pml_text *first, bool live)
{
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        pml_plan *plan;
        struct ArrowArrayStream s;
        pml_text now;
        pml_read_options o = PML_READ_OPTIONS_INIT;
        const kit_read r = {.n_columns = asked[i].n, .columns = asked[i].at, .batch_rows = 7};
        o.batch_rows = 7;
        if (asked[i].with_id) {
            plan_of(&plan, w, live, asked[i].columns, asked[i].n);
            must_ok(pml_read_open(&s, plan, &o, &err), &err);
            pml_plan_free(plan);
            table_kit_must_stream(k, &s, &r);
            continue;
        }
        lines_of(&now, w, live, asked[i].columns, asked[i].n);
        if (first[i].ptr == NULL) {
            first[i] = now;
            continue;
        }
        assert_string_equal(now.ptr, first[i].ptr);
        pml_text_clear(&now);
    }
}

static void put_random(world *w, table_kit *k, int64_t rows)
{
    struct ArrowArray batch;
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    table_kit_batch(&batch, k, rows);
    must_ok(pml_type__export(&schema, w->t->env, k->fields, k->n_fields, &err), &err);
    must_ok(pml_rt_write(NULL, w->w, &batch, &schema, NULL, &err), &err);
    schema.release(&schema);
}

static void nested_columns(const char *keys, const char *options)
{
    world w;
    table_kit k;
    pml_text first[sizeof asked / sizeof asked[0]] = {{0}};
    world_open(&w, keys, options, nested);
    w.t->random_state = test_seed();
    live_open(&w);
    table_kit_init(&k, w.t, w.table);
    put_random(&w, &k, 40);
    put_random(&w, &k, 3);
    put_random(&w, &k, 100);
    must_have(&w, &k, first, true);
    prepare(&w);
    must_have(&w, &k, first, true);
    commit(&w);
    must_have(&w, &k, first, true);
    must_have(&w, &k, first, false);
    put_random(&w, &k, 30); /* beside files */
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        pml_text_clear(&first[i]);
    must_have(&w, &k, first, true);
    prepare(&w);
    commit(&w);
    must_have(&w, &k, first, false);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        pml_text_clear(&first[i]);
    k.table = NULL;
    table_kit_close(&k);
    world_close(&w);
}

/* 46: structs, lists and maps inside each other, of memory and of files. Columns are asked for whole: there are no paths into them, and live tables
   have no VARIANT. Fewer and other children of a struct than were written: 45. */
static void nested_columns_are_the_same_in_memory_and_on_disk(void **state)
{
    (void)state;
    nested_columns("", "\"bucket\":\"-1\"");
    nested_columns("\"id\"", "\"bucket\":\"1\"");
}

/* NULL: no row. */
static void must_find(pml_lookup *l, const world *w, const char *p, const char *id, const char *wanted)
{
    char **got = lookup_kit_get(l, w->t->env, (const char *[]){p, id}, 2, 1);
    if ((got[0] == NULL) != (wanted == NULL) || (wanted != NULL && strstr(got[0], wanted) == NULL))
        fail_msg("key (%s, %s) gives %s instead of %s", p, id, got[0] == NULL ? "no row" : got[0], wanted == NULL ? "no row" : wanted);
    lookup_kit_free(got, 1);
}

/* A lookup at a snapshot before an ALTER does not know by which rule rows were placed then, and asks the memory of all partitions, whose
   runs are in the order of the key without the partition. */
static void lookups_before_an_alter_keep_partitions_apart(void **state)
{
    (void)state;
    world w;
    pml_scan *scan;
    pml_lookup *l;
    pml_error err = PML_ERROR_INIT;
    static const char f0[] = FIELD(0, "p", "\"BIGINT NOT NULL\"") "," FIELD(1, "id", "\"BIGINT NOT NULL\"") "," FIELD(2, "v", INTEGER),
                      f1[] = FIELD(0, "p", "\"BIGINT NOT NULL\"") "," FIELD(1, "id", "\"BIGINT NOT NULL\"") "," FIELD(2, "v", INTEGER) "," FIELD(
                          3, "c", TEXT);
    world_open_in(&w, "\"p\"", "\"p\",\"id\"", "\"bucket\":\"1\"", f0);
    live_open(&w);
    put(&w, "{\"p\":1,\"id\":7,\"v\":17}\n{\"p\":1,\"id\":9,\"v\":19}\n{\"p\":2,\"id\":7,\"v\":27}\n{\"p\":2,\"id\":9,\"v\":29}\n");
    prepare(&w);
    commit(&w);
    live_close(&w);
    alter(&w, f1);
    live_open(&w);
    put(&w, "{\"p\":2,\"id\":3,\"v\":23}\n{\"p\":2,\"id\":7,\"v\":25}\n{\"p\":3,\"id\":1,\"v\":31}\n{\"p\":2,\"id\":7,\"v\":26}\n");
    put(&w, "{\"_kind\":\"-D\",\"p\":2,\"id\":9,\"v\":29}\n");
    for (int at_snapshot = 0; at_snapshot < 2; at_snapshot++) {
        must_ok(pml_scan_new(&scan, w.table, &err), &err);
        must_ok(pml_scan_set_realtime(scan, w.ctx, &err), &err);
        if (at_snapshot != 0)
            must_ok(pml_scan_set_snapshot(scan, 1, &err), &err);
        must_ok(pml_lookup_open(&l, scan, NULL, &err), &err);
        pml_scan_free(scan);
        must_find(l, &w, "1", "7", "\"p\":1,\"id\":7,\"v\":17");
        must_find(l, &w, "1", "9", "\"p\":1,\"id\":9,\"v\":19");
        must_find(l, &w, "2", "7", "\"p\":2,\"id\":7,\"v\":26");
        must_find(l, &w, "2", "3", "\"p\":2,\"id\":3,\"v\":23");
        must_find(l, &w, "3", "1", "\"p\":3,\"id\":1,\"v\":31");
        must_find(l, &w, "2", "9", NULL);
        must_find(l, &w, "1", "3", NULL);
        must_find(l, &w, "1", "1", NULL);
        pml_lookup_close(l);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups_before_an_alter_keep_partitions_apart),
        cmocka_unit_test(columns_are_found_by_their_ids_on_disk_and_in_memory),
        cmocka_unit_test(rows_of_two_schemas_are_merged),
        cmocka_unit_test(old_writer_is_refused_when_a_newer_schema_was_first),
        cmocka_unit_test(nested_columns_are_the_same_in_memory_and_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
