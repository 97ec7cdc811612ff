/* SPDX-License-Identifier: Apache-2.0 */
/* Overwriting, truncating and dropping partitions: which rows go, what the snapshot says, races, failures of memory and files.
   A model of rows (id, partition) says what must be in the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/faulty_fs.h"
#include "support/rows_kit.h"
#include "support/rt_kit.h"
#include "support/table_kit.h"
#include "support/test_arrow.h"
#include "table/commit.h"

enum { ROWS_MAX = 4000, DAYS = 3, NAMES = 4 };

static const char *const names[NAMES] = {"a", "b/c=1", "", NULL}; /* the last two share a directory, not a partition */
static const int32_t days[DAYS] = {-1, 0, 19000};
static const char *const day_texts[DAYS] = {"1969-12-31", "1970-01-01", "2022-01-08"};

typedef struct row {
    int name, day;
    bool live;
} row;

typedef struct world {
    faulty_fs f;
    test_env *t;
    pml_table *table;
    int64_t n; /* ids given so far */
    row rows[ROWS_MAX];
    bool clashed; /* racing() has run */
} world;

static const char schema_json[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"STRING\"},"
    "{\"name\":\"d\",\"type\":\"DATE\"}],\"partitionKeys\":[%s],\"primaryKeys\":[],\"comment\":\"\","
    "\"options\":{\"manifest.merge-min-count\":\"3\"%s}}";

static void world_open(world *w, const char *keys, const char *options)
{
    char json[1024];
    pml_error err = PML_ERROR_INIT;
    const pml_file_system fast = rt_kit_fs();
    memset(w, 0, sizeof *w);
    faulty_fs_init(&w->f, &fast);
    w->t = test_env_open(&w->f.fs);
    (void)snprintf(json, sizeof json, schema_json, keys, options);
    must_ok(pml_table_create(&w->table, w->t->env, test_path(w->t, "t"), json, strlen(json), 0, &err), &err);
}

static void world_close(world *w)
{
    pml_table_release(w->table);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
}

/* ---- writing ---- */

/* n rows, each with the name and day that pick tells by its number. */
typedef int (*pick_fn)(int64_t i);

static pml_messages *prepare(world *w, int64_t n, pick_fn name, pick_fn day)
{
    int64_t ids[64];
    const char *texts[64];
    int32_t dates[64];
    struct ArrowSchema schema;
    pml_writer *writer;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    assert_true(n <= 64 && w->n + n <= ROWS_MAX);
    for (int64_t i = 0; i < n; i++) {
        row *r = &w->rows[w->n];
        *r = (row){name(i), day(i), false};
        ids[i] = w->n++;
        texts[i] = names[r->name];
        dates[i] = days[r->day];
    }
    struct ArrowArray columns[] = {test_fixed_array(8, n, ids), test_text_array(n, texts), test_fixed_array(4, n, dates)};
    struct ArrowArray batch = test_struct_array(n, 3, columns);
    must_ok(pml_table_arrow_schema(&schema, w->table, &err), &err);
    must_ok(pml_writer_open(&writer, w->table, &err), &err);
    must_ok(pml_writer_write(writer, &batch, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    pml_writer_close(writer);
    schema.release(&schema);
    return m;
}

static void add_to_model(world *w, int64_t n)
{
    for (int64_t id = w->n - n; id < w->n; id++)
        w->rows[id].live = true;
}

static int zero(int64_t i)
{
    (void)i;
    return 0;
}
static int one(int64_t i)
{
    (void)i;
    return 1;
}
static int any_name(int64_t i)
{
    return (int)(i % NAMES);
}
static int any_day(int64_t i)
{
    return (int)(i / NAMES % DAYS);
}

static void append(world *w, int64_t n, pick_fn name, pick_fn day)
{
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_messages *m = prepare(w, n, name, day);
    must_ok(pml_commit_open(&c, w->table, NULL, &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    add_to_model(w, n);
}

static int overwrite(pml_commit_result *r, world *w, const char *user, const pml_partition_spec *spec, pml_messages *m,
                     int64_t identifier, uint32_t flags, pml_error *err)
{
    pml_commit *c;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    o.flags = flags;
    *r = (pml_commit_result)PML_COMMIT_RESULT_INIT;
    int rc = pml_commit_open(&c, w->table, user, err);
    if (rc != PML_OK)
        return rc;
    rc = pml_commit_overwrite(r, c, spec, &m, m == NULL ? 0 : 1, identifier, &o, err);
    pml_commit_close(c);
    return rc;
}

/* ---- the model ---- */

/* -1: any. Returns the rows that go. */
static int64_t remove_from_model(world *w, int name, int day)
{
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++)
        if (w->rows[i].live && (name < 0 || w->rows[i].name == name) && (day < 0 || w->rows[i].day == day)) {
            w->rows[i].live = false;
            n++;
        }
    return n;
}

static void must_hold_model(world *w)
{
    struct ArrowArray batch = {0};
    static bool seen[ROWS_MAX];
    int64_t counted, rows = 0;
    pml_error err = PML_ERROR_INIT;
    memset(seen, 0, sizeof seen);
    pml_plan *plan = rows_plan(w->table, NULL, NULL);
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    struct ArrowArrayStream stream = rows_open(plan);
    while (rows_next(&stream, &batch)) {
        const int64_t *ids = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++, rows++) {
            int64_t id = ids[batch.children[0]->offset + i];
            assert_true(id < w->n && w->rows[id].live && !seen[id]);
            seen[id] = true;
        }
    }
    for (int64_t i = 0; i < w->n; i++)
        assert_int_equal(seen[i], w->rows[i].live);
    assert_int_equal(counted, rows);
}

/* The newest snapshot's counts agree with the model, and its kind is this. */
static void must_say(world *w, int64_t id, pml_commit_kind kind, int64_t delta)
{
    pml_arena arena;
    pml_snapshot s;
    int64_t total = 0, latest;
    pml_error err = PML_ERROR_INIT;
    for (int64_t i = 0; i < w->n; i++)
        total += w->rows[i].live;
    pml_arena__init(&arena, w->t->env);
    must_ok(pml_table_latest_snapshot(&latest, w->table, &err), &err);
    assert_int_equal(latest, id);
    must_ok(pml_table__load_snapshot(&s, &arena, w->table, id, &err), &err);
    assert_int_equal(s.commit_kind, kind);
    assert_int_equal(s.delta_record_count, delta);
    assert_int_equal(s.total_record_count, total);
    assert_int_equal(s.n_properties, 0); /* no live writer was ever here */
    pml_arena__clear(&arena);
}

/* ---- tests ---- */

static void truncate_removes_all_rows_and_keeps_the_older_snapshot(void **state)
{
    (void)state;
    world w;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_snapshot s;
    pml_manifest_list list = {0};
    pml_manifest_entries delta = {0};
    world_open(&w, "", "");
    append(&w, 10, any_name, any_day);
    append(&w, 7, any_name, any_day);
    (void)remove_from_model(&w, -1, -1);
    must_ok(pml_table_truncate(&r, w.table, &err), &err);
    assert_int_equal(r.snapshot_id, 3);
    must_say(&w, 3, PML_COMMIT_OVERWRITE, -17);
    must_hold_model(&w);
    pml_arena__init(&arena, w.t->env);
    must_ok(pml_table__load_snapshot(&s, &arena, w.table, 3, &err), &err);
    assert_int_equal(s.commit_identifier, INT64_MAX);
    must_ok(pml_table__load_manifest_list(&list, &arena, w.table, s.delta_manifest_list, &err), &err);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.v[0].n_added, 0);
    assert_int_equal(list.v[0].n_deleted, 2);
    must_ok(pml_table__load_manifest(&delta, &arena, w.table, list.v[0].name, NULL, NULL, &err), &err);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(delta.v[i].kind, PML_ENTRY_DELETE);
    pml_arena__clear(&arena);
    pml_scan *scan;
    pml_plan *plan;
    int64_t rows;
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, 2, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 17);
    pml_plan_free(plan);
    pml_scan_free(scan);
    append(&w, 4, any_name, any_day);
    must_say(&w, 4, PML_COMMIT_APPEND, 4);
    must_hold_model(&w);
    world_close(&w);
}

/* As Java: the snapshot says that somebody truncated, though there was nothing. */
static void truncate_of_an_empty_table_makes_a_snapshot(void **state)
{
    (void)state;
    world w;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "\"p\",\"d\"", "");
    must_ok(pml_table_truncate(&r, w.table, &err), &err);
    must_say(&w, 1, PML_COMMIT_OVERWRITE, 0);
    must_ok(pml_table_truncate(&r, w.table, &err), &err);
    must_say(&w, 2, PML_COMMIT_OVERWRITE, 0);
    must_hold_model(&w);
    world_close(&w);
}

static void static_overwrite_replaces_what_the_spec_names(void **state)
{
    (void)state;
    static const struct {
        pml_option_pair values[2];
        size_t n;
        int name, day; /* the same for the model; -1: any */
    } cases[] = {{{{"p", "a"}, {"d", "2022-01-08"}}, 2, 0, 2},
                 {{{"d", "19000"}}, 1, -1, 2}, /* as in the directory's name */
                 {{{"d", "1969-12-31"}, {"p", "b/c=1"}}, 2, 1, 0},
                 {{{"p", ""}}, 1, 2, -1},
                 {{{"p", NULL}}, 1, 3, -1},
                 {{{"p", "__DEFAULT_PARTITION__"}, {"d", "-1"}}, 2, 3, 0},
                 {{{NULL, NULL}}, 0, -1, -1}};
    world w;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "\"p\",\"d\"", "");
    int64_t snapshot = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_commit_result r;
        const pml_partition_spec spec = {cases[i].n, cases[i].values};
        append(&w, 24, any_name, any_day);
        snapshot++;
        int64_t gone = remove_from_model(&w, cases[i].name, cases[i].day);
        assert_true(gone > 0);
        must_ok(overwrite(&r, &w, NULL, &spec, NULL, 1, 0, &err), &err);
        must_say(&w, ++snapshot, PML_COMMIT_OVERWRITE, -gone);
        must_hold_model(&w);
    }
    assert_int_equal(kit_orphan_manifests(w.table), 0);
    world_close(&w);
}

static void static_overwrite_brings_new_rows_in_the_same_snapshot(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair values[] = {{"d", "1970-01-01"}};
    const pml_partition_spec spec = {1, values};
    world_open(&w, "\"p\",\"d\"", "");
    append(&w, 24, any_name, any_day);
    pml_messages *m = prepare(&w, 6, any_name, one);
    int64_t gone = remove_from_model(&w, -1, 1);
    must_ok(overwrite(&r, &w, NULL, &spec, m, 1, 0, &err), &err);
    add_to_model(&w, 6);
    must_say(&w, 2, PML_COMMIT_OVERWRITE, 6 - gone);
    must_hold_model(&w);
    /* The same files again would be in the table twice. */
    must_fail_with(PML_E_CONFLICT, overwrite(&r, &w, NULL, &spec, m, 1, 0, &err), &err);
    pml_messages_free(m);
    must_say(&w, 2, PML_COMMIT_OVERWRITE, 6 - gone);
    world_close(&w);
}

static void dynamic_overwrite_replaces_the_partitions_of_the_new_rows(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "\"p\",\"d\"", "");
    append(&w, 24, any_name, any_day);
    pml_messages *m = prepare(&w, 5, one, any_day); /* days 0 and 1 */
    int64_t gone = remove_from_model(&w, 1, 0) + remove_from_model(&w, 1, 1);
    must_ok(overwrite(&r, &w, NULL, NULL, m, 1, 0, &err), &err);
    pml_messages_free(m);
    add_to_model(&w, 5);
    must_say(&w, 2, PML_COMMIT_OVERWRITE, 5 - gone);
    must_hold_model(&w);
    /* Nothing new replaces nothing, whatever was asked for. */
    must_ok(overwrite(&r, &w, NULL, NULL, NULL, 1, PML_COMMIT_EMPTY, &err), &err);
    assert_int_equal(r.snapshot_id, -1);
    must_say(&w, 2, PML_COMMIT_OVERWRITE, 5 - gone);
    world_close(&w);
}

static void overwrite_of_a_table_that_is_not_dynamic_replaces_all_rows(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *options;
    } tables[] = {{"", ""}, {"\"p\",\"d\"", ",\"dynamic-partition-overwrite\":\"false\""}};
    for (int i = 0; i < 2; i++) {
        world w;
        pml_commit_result r;
        pml_error err = PML_ERROR_INIT;
        world_open(&w, tables[i].keys, tables[i].options);
        append(&w, 24, any_name, any_day);
        pml_messages *m = prepare(&w, 5, zero, zero);
        (void)remove_from_model(&w, -1, -1);
        must_ok(overwrite(&r, &w, NULL, NULL, m, 1, 0, &err), &err);
        pml_messages_free(m);
        add_to_model(&w, 5);
        must_say(&w, 2, PML_COMMIT_OVERWRITE, 5 - 24);
        must_hold_model(&w);
        must_ok(overwrite(&r, &w, NULL, NULL, NULL, 1, 0, &err), &err);
        (void)remove_from_model(&w, -1, -1);
        must_say(&w, 3, PML_COMMIT_OVERWRITE, -5);
        world_close(&w);
    }
}

static void drop_partitions_removes_each_that_is_named(void **state)
{
    (void)state;
    world w;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair a[] = {{"p", "a"}, {"d", "1970-01-01"}}, day[] = {{"d", "1969-12-31"}};
    const pml_partition_spec specs[] = {{2, a}, {1, day}, {1, day}}, none = {0, NULL};
    world_open(&w, "\"p\",\"d\"", "");
    append(&w, 24, any_name, any_day);
    int64_t gone = remove_from_model(&w, 0, 1) + remove_from_model(&w, -1, 0);
    must_ok(pml_table_drop_partitions(&r, w.table, specs, 3, &err), &err);
    must_say(&w, 2, PML_COMMIT_OVERWRITE, -gone);
    must_hold_model(&w);
    /* A mistake must not become a truncate. */
    must_fail_with(PML_E_INVAL, pml_table_drop_partitions(&r, w.table, NULL, 0, &err), &err);
    must_fail_with(PML_E_INVAL, pml_table_drop_partitions(&r, w.table, &none, 1, &err), &err);
    world_close(&w);
    world_open(&w, "", "");
    must_fail_with(PML_E_INVAL, pml_table_drop_partitions(&r, w.table, specs, 1, &err), &err);
    world_close(&w);
}

static void wrong_specs_are_refused_and_nothing_changes(void **state)
{
    (void)state;
    static const struct {
        pml_option_pair values[2];
        size_t n;
        int code;
        const char *says;
    } cases[] = {{{{"x", "a"}}, 1, PML_E_NOT_FOUND, "x is no partition key"},
                 {{{"id", "1"}}, 1, PML_E_NOT_FOUND, "id is no partition key"},
                 {{{NULL, "1"}}, 1, PML_E_NOT_FOUND, "is no partition key"},
                 {{{"p", "a"}, {"p", "a"}}, 2, PML_E_INVAL, "given twice"},
                 {{{"d", "yesterday"}}, 1, PML_E_INVAL, "partition key d"},
                 {{{"d", "99999999999"}}, 1, PML_E_INVAL, "partition key d"},
                 {{{"d", ""}}, 1, PML_E_INVAL, "partition key d"}};
    world w;
    pml_commit_result r;
    world_open(&w, "\"p\",\"d\"", "");
    append(&w, 24, any_name, any_day);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        const pml_partition_spec spec = {cases[i].n, cases[i].values};
        must_fail_with(cases[i].code, overwrite(&r, &w, NULL, &spec, NULL, 1, 0, &err), &err);
        assert_non_null(strstr(err.message, cases[i].says));
    }
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair values[] = {{"p", "a"}};
    const pml_partition_spec spec = {1, values}, empty = {2, NULL};
    must_fail_with(PML_E_INVAL, overwrite(&r, &w, NULL, &empty, NULL, 1, 0, &err), &err);
    pml_messages *m = prepare(&w, 8, any_name, zero);
    must_fail_with(PML_E_INVAL, overwrite(&r, &w, NULL, &spec, m, 1, 0, &err), &err);
    assert_non_null(strstr(err.message, "outside"));
    pml_messages_free(m);
    must_say(&w, 1, PML_COMMIT_APPEND, 24);
    must_hold_model(&w);
    world_close(&w);
}

static void overwrite_sent_again_with_check_happens_once(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    const pml_partition_spec all = {0, NULL};
    world_open(&w, "\"p\",\"d\"", "");
    append(&w, 24, any_name, any_day);
    must_ok(overwrite(&r, &w, "job", &all, NULL, 7, PML_COMMIT_CHECK, &err), &err);
    (void)remove_from_model(&w, -1, -1);
    append(&w, 5, any_name, any_day);
    must_ok(overwrite(&r, &w, "job", &all, NULL, 7, PML_COMMIT_CHECK, &err), &err);
    assert_int_equal(r.already_committed, 1);
    assert_int_equal(r.snapshot_id, 2);
    must_hold_model(&w); /* what came in between stays */
    world_close(&w);
}

/* ---- races ---- */

static void racing(void *arg, int kind, const char *path)
{
    world *w = arg;
    (void)kind, (void)path;
    append(w, 12, any_name, any_day);
    w->clashed = true;
}

/* The rows of a commit that came first are part of what is overwritten: each attempt reads the live files anew. */
static void overwrite_that_loses_the_race_removes_the_newer_rows_too(void **state)
{
    (void)state;
    world w;
    pml_commit_result r;
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair values[] = {{"d", "1969-12-31"}};
    const pml_partition_spec spec = {1, values};
    world_open(&w, "\"p\",\"d\"", "");
    append(&w, 24, any_name, any_day);
    pml_messages *m = prepare(&w, 3, any_name, zero);
    faulty_fs_call_at(&w.f, 1, FS_OP(FS_OP_PUBLISH), racing, &w);
    must_ok(overwrite(&r, &w, NULL, &spec, m, 1, 0, &err), &err);
    pml_messages_free(m);
    assert_true(w.clashed);
    assert_int_equal(r.attempts, 2);
    assert_int_equal(r.snapshot_id, 3);
    int64_t gone = remove_from_model(&w, -1, 0);
    for (int64_t id = 24; id < 27; id++)
        w.rows[id].live = true;
    must_say(&w, 3, PML_COMMIT_OVERWRITE, 3 - gone);
    must_hold_model(&w);
    assert_int_equal(kit_orphan_manifests(w.table), 0);
    world_close(&w);
}

/* ---- a random life ---- */

static void random_life_agrees_with_the_model(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, "\"p\",\"d\"", "");
    w.t->random_state ^= test_seed();
    for (int step = 0; step < 60; step++) {
        pml_commit_result r = PML_COMMIT_RESULT_INIT;
        int name = (int)(test_random(w.t) % (NAMES + 1)) - 1, day = (int)(test_random(w.t) % (DAYS + 1)) - 1;
        pml_option_pair values[2];
        pml_partition_spec spec = {0, values};
        if (name >= 0)
            values[spec.n++] = (pml_option_pair){"p", names[name]};
        if (day >= 0)
            values[spec.n++] = (pml_option_pair){"d", day_texts[day]};
        switch (test_random(w.t) % 4) {
        case 0:
        case 1: append(&w, 1 + (int64_t)(test_random(w.t) % 40), any_name, any_day); break;
        case 2:
            (void)remove_from_model(&w, name, day);
            must_ok(overwrite(&r, &w, NULL, &spec, NULL, 1, 0, &err), &err);
            break;
        default:
            if (spec.n > 0) {
                (void)remove_from_model(&w, name, day);
                must_ok(pml_table_drop_partitions(&r, w.table, &spec, 1, &err), &err);
            } else {
                pml_messages *m = prepare(&w, 4, any_name, one);
                for (int i = 0; i < NAMES; i++)
                    (void)remove_from_model(&w, i, 1);
                must_ok(overwrite(&r, &w, NULL, NULL, m, 1, 0, &err), &err);
                pml_messages_free(m);
                add_to_model(&w, 4);
            }
        }
        must_hold_model(&w);
    }
    assert_int_equal(kit_orphan_manifests(w.table), 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncate_removes_all_rows_and_keeps_the_older_snapshot),
        cmocka_unit_test(truncate_of_an_empty_table_makes_a_snapshot),
        cmocka_unit_test(static_overwrite_replaces_what_the_spec_names),
        cmocka_unit_test(static_overwrite_brings_new_rows_in_the_same_snapshot),
        cmocka_unit_test(dynamic_overwrite_replaces_the_partitions_of_the_new_rows),
        cmocka_unit_test(overwrite_of_a_table_that_is_not_dynamic_replaces_all_rows),
        cmocka_unit_test(drop_partitions_removes_each_that_is_named),
        cmocka_unit_test(wrong_specs_are_refused_and_nothing_changes),
        cmocka_unit_test(overwrite_sent_again_with_check_happens_once),
        cmocka_unit_test(overwrite_that_loses_the_race_removes_the_newer_rows_too),
        cmocka_unit_test(random_life_agrees_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
