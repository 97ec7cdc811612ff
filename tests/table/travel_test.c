/* SPDX-License-Identifier: Apache-2.0 */
/* Which snapshot a scan reads: by id, tag, time, watermark. What Java answers to the same questions: tests/interop/java_travel.py. */
#include "table/travel.h"

#include <paimonlive/split.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"

#define NO_WATERMARK ((int64_t)INT64_MIN)

typedef struct world {
    faulty_fs f;
    test_env *t;
    table_kit k;
} world;

static void put_snapshot(world *w, const char *place, int64_t id, int64_t time, int64_t watermark)
{
    pml_arena arena;
    pml_snapshot s;
    pml_buf text;
    char path[400];
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&arena, w->t->env);
    pml_buf__init(&text, w->t->env, PML_SNAPSHOT_FILE_MAX);
    must_ok(pml_table__load_snapshot(&s, &arena, w->k.table, 1, &err), &err);
    s.id = id;
    s.time_ms = time;
    s.watermark = (pml_optional_int64){watermark != NO_WATERMARK, watermark};
    must_ok(pml_snapshot__write(&text, &s), NULL);
    (void)snprintf(path, sizeof path, "%s/%s", w->k.table->path, place);
    char *dir = pml_file__parent(w->t->env, path);
    must_ok(pml_file__make_directories(w->t->env, dir, &err), &err);
    must_ok(pml_file__replace(w->t->env, path, text.data, text.len, &err), &err);
    pml_env__free(w->t->env, dir);
    pml_buf__clear(&text);
    pml_arena__clear(&arena);
}

/* A table with one row in snapshot 1. */
static void open_world(world *w, const char *options)
{
    char *json = kit_schema_json("", options);
    pml_file_system local = pml_local_file_system;
    faulty_fs_init(&w->f, &local);
    w->t = test_env_open(&w->f.fs);
    table_kit_create(&w->k, w->t, test_path(w->t, "t"), json);
    free(json);
    (void)table_kit_append(&w->k, 1);
}

/* And snapshots 2 to n that show the same, with these times and watermarks. */
static void add_snapshots(world *w, int64_t n, const int64_t *times, const int64_t *watermarks)
{
    char place[64];
    for (int64_t i = n; i >= 1; i--) {
        (void)snprintf(place, sizeof place, "snapshot/snapshot-%lld", (long long)i);
        put_snapshot(w, place, i, times == NULL ? i : times[i - 1], watermarks == NULL ? NO_WATERMARK : watermarks[i - 1]);
    }
}

static void close_world(world *w)
{
    table_kit_close(&w->k);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
}

static void remove_snapshot(world *w, int64_t id)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", w->k.table->path, (long long)id);
    assert_int_equal(remove(path), 0);
}

/* The id that a plan has, or the negative code. */
static int64_t planned(pml_scan *scan, pml_error *err)
{
    pml_plan *p = NULL;
    int rc = pml_scan_plan(&p, scan, err);
    int64_t id = rc == PML_OK ? pml_plan_snapshot_id(p) : rc;
    pml_plan_free(p);
    return id;
}

static pml_scan *scan_of(world *w)
{
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, w->k.table, &err), &err);
    return scan;
}

static int64_t by_time(world *w, int64_t time, pml_error *err)
{
    pml_scan *scan = scan_of(w);
    pml_scan_set_timestamp(scan, time);
    int64_t id = planned(scan, err);
    pml_scan_free(scan);
    return id;
}

static int64_t by_watermark(world *w, int64_t watermark, pml_error *err)
{
    pml_scan *scan = scan_of(w);
    pml_scan_set_watermark(scan, watermark);
    int64_t id = planned(scan, err);
    pml_scan_free(scan);
    return id;
}

static int64_t by_tag(world *w, const char *name, pml_error *err)
{
    pml_scan *scan = scan_of(w);
    int rc = pml_scan_set_tag(scan, name, err);
    int64_t id = rc == PML_OK ? planned(scan, err) : rc;
    pml_scan_free(scan);
    return id;
}

static void must_say(const pml_error *err, const char *words)
{
    if (strstr(err->message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err->message, words);
}

/* ---- tags ---- */

static void tag_is_read_also_when_its_snapshot_has_expired(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    (void)table_kit_append(&w.k, 1);
    put_snapshot(&w, "tag/tag-first", 1, 5, NO_WATERMARK);
    assert_int_equal(by_tag(&w, "first", &err), 1);
    remove_snapshot(&w, 1);
    pml_scan *scan = scan_of(&w);
    pml_plan *plan;
    int64_t rows;
    must_ok(pml_scan_set_tag(scan, "first", &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(plan), 1);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 1);
    pml_plan_free(plan);
    must_ok(pml_scan_set_snapshot(scan, -1, &err), &err); /* the last call counts */
    assert_int_equal(planned(scan, &err), 2);
    pml_scan_free(scan);
    close_world(&w);
}

/* What Java adds when a tag has a time to live. */
static void tag_with_members_of_its_own_is_read(void **state)
{
    (void)state;
    world w;
    char path[400], text[64];
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    put_snapshot(&w, "tag/tag-t 1", 1, 5, NO_WATERMARK);
    (void)snprintf(path, sizeof path, "%s/tag/tag-t 1", w.k.table->path);
    (void)snprintf(text, sizeof text, "\"timeMillis\" : 5");
    kit_replace_in_file(path, text, "\"tagCreateTime\" : [ 2026, 11, 30, 10, 5 ], \"tagTimeRetained\" : 5.000000000, \"timeMillis\" : 5");
    assert_int_equal(by_tag(&w, "t 1", &err), 1);
    close_world(&w);
}

static void tag_that_is_missing_is_answered_with_those_there_are(void **state)
{
    (void)state;
    world w;
    char place[64];
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    assert_int_equal(by_tag(&w, "x", &err), PML_E_NOT_FOUND);
    must_say(&err, "has no tag 'x': it has none at all");
    put_snapshot(&w, "tag/tag-b", 1, 5, NO_WATERMARK);
    put_snapshot(&w, "tag/other", 1, 5, NO_WATERMARK);
    assert_int_equal(by_tag(&w, "x", &err), PML_E_NOT_FOUND);
    must_say(&err, "there is b");
    for (int i = 9; i >= 0; i--) {
        (void)snprintf(place, sizeof place, "tag/tag-a%d", i);
        put_snapshot(&w, place, 1, 5, NO_WATERMARK);
    }
    assert_int_equal(by_tag(&w, "x", &err), PML_E_NOT_FOUND);
    must_say(&err, "there are a0, a1, a2, a3, a4, a5, a6, a7 and more");
    close_world(&w);
}

static void tag_name_that_leads_elsewhere_is_refused(void **state)
{
    (void)state;
    world w;
    char huge[300];
    pml_error err = PML_ERROR_INIT;
    const char *const names[] = {"", "  ", "a/b", "../snapshot/snapshot-1", "\t", NULL, huge};
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    open_world(&w, "");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(by_tag(&w, names[i], &err), PML_E_INVAL);
    must_say(&err, "is no name of a tag");
    close_world(&w);
}

static void tag_that_is_damaged_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "{\"version\":3,\"id\":1}", "[]"};
    world w;
    char path[400];
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    put_snapshot(&w, "tag/tag-bad", 1, 5, NO_WATERMARK);
    (void)snprintf(path, sizeof path, "%s/tag/tag-bad", w.k.table->path);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kit_write_text(path, texts[i]);
        assert_int_equal(by_tag(&w, "bad", &err), PML_E_CORRUPT);
        must_say(&err, "tag-bad");
    }
    put_snapshot(&w, "tag/tag-bad", 1, 5, NO_WATERMARK);
    kit_replace_in_file(path, "\"deltaManifestList\" : \"", "\"deltaManifestList\" : \"../../");
    assert_int_equal(by_tag(&w, "bad", &err), PML_E_CORRUPT);
    close_world(&w);
}

/* 97: whatever the file holds, it is read or refused. */
static void tag_cut_or_changed_never_crashes(void **state)
{
    (void)state;
    world w;
    char path[400];
    size_t len;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    put_snapshot(&w, "tag/tag-t", 1, 5, 10);
    (void)snprintf(path, sizeof path, "%s/tag/tag-t", w.k.table->path);
    uint8_t *text = test_read_file(path, &len);
    (void)test_seed();
    for (int i = 0; i < 300; i++) {
        FILE *f = fopen(path, "wb");
        uint8_t *copy = malloc(len);
        assert_true(f != NULL && copy != NULL);
        memcpy(copy, text, len);
        for (uint64_t n = test_random(w.t) % 4; n > 0 && i % 2 == 0; n--)
            copy[test_random(w.t) % len] = (uint8_t)test_random(w.t);
        size_t keep = i % 2 == 0 ? len : test_random(w.t) % len;
        assert_int_equal(fwrite(copy, 1, keep, f), keep);
        (void)fclose(f);
        free(copy);
        int64_t id = by_tag(&w, "t", &err);
        assert_true(id > 0 || id == PML_E_CORRUPT || id == PML_E_UNSUPPORTED || id == PML_E_SNAPSHOT_GONE || id == PML_E_NOT_FOUND ||
                    id == PML_E_LIMIT);
        assert_true(id > 0 || err.message[0] != '\0');
    }
    free(text);
    close_world(&w);
}

static void tag_of_a_branch_is_its_own(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    char from[400], to[400];
    size_t len;
    open_world(&w, "");
    put_snapshot(&w, "tag/tag-main", 1, 5, NO_WATERMARK);
    put_snapshot(&w, "branch/branch-b/tag/tag-own", 7, 5, NO_WATERMARK);
    (void)snprintf(from, sizeof from, "%s/schema/schema-0", w.k.table->path);
    (void)snprintf(to, sizeof to, "%s/branch/branch-b/schema/schema-0", w.k.table->path);
    uint8_t *schema = test_read_file(from, &len);
    must_ok(pml_file__write_new(w.t->env, to, schema, len, PML_WRITE_NO_SYNC, &err), &err);
    free(schema);
    o.branch = "b";
    pml_table *table, *main_table = w.k.table;
    must_ok(pml_table_open(&table, w.t->env, main_table->path, &o, &err), &err);
    w.k.table = table;
    assert_int_equal(by_tag(&w, "own", &err), 7);
    assert_int_equal(by_tag(&w, "main", &err), PML_E_NOT_FOUND);
    w.k.table = main_table;
    pml_table_release(table);
    close_world(&w);
}

/* ---- time ---- */

static void time_between_two_snapshots_is_the_older_one(void **state)
{
    (void)state;
    static const int64_t times[] = {10, 20, 30, 40, 50, 60, 70};
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 7, times, NULL);
    for (int64_t t = 10; t < 90; t++)
        assert_int_equal(by_time(&w, t, &err), t < 70 ? t / 10 : 7);
    assert_int_equal(by_time(&w, INT64_MAX, &err), 7);
    assert_int_equal(by_time(&w, 9, &err), PML_E_NOT_FOUND);
    must_say(&err, "no snapshot at or before the time 9 ms: the earliest, 1, is of 10 ms");
    assert_int_equal(by_time(&w, INT64_MIN, &err), PML_E_NOT_FOUND);
    remove_snapshot(&w, 1); /* expired */
    remove_snapshot(&w, 2);
    assert_int_equal(by_time(&w, 29, &err), PML_E_NOT_FOUND);
    must_say(&err, "the earliest, 3, is of 30 ms");
    assert_int_equal(by_time(&w, 55, &err), 5);
    close_world(&w);
}

/* Java stops its search at the first snapshot with exactly this time. */
static void time_that_several_snapshots_share_is_any_of_them_as_in_java(void **state)
{
    (void)state;
    static const int64_t times[] = {10, 20, 20, 20, 20, 30};
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 6, times, NULL);
    assert_int_equal(by_time(&w, 20, &err), 3);
    assert_int_equal(by_time(&w, 21, &err), 5);
    assert_int_equal(by_time(&w, 10, &err), 1);
    close_world(&w);
}

static void time_and_watermark_of_an_empty_table_are_not_found(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    assert_int_equal(by_watermark(&w, 0, &err), PML_E_NOT_FOUND);
    must_say(&err, "no snapshot of");
    must_say(&err, "has a watermark");
    remove_snapshot(&w, 1);
    assert_int_equal(by_time(&w, 5, &err), PML_E_NOT_FOUND);
    must_say(&err, "has no snapshot yet, so none by time 5");
    assert_int_equal(by_watermark(&w, 5, &err), PML_E_NOT_FOUND);
    must_say(&err, "has no snapshot yet, so none by watermark 5");
    close_world(&w);
}

/* ---- watermark ---- */

static void watermark_is_the_oldest_snapshot_that_reached_it(void **state)
{
    (void)state;
    static const int64_t watermarks[] = {NO_WATERMARK, NO_WATERMARK, 10, 20, 30, 40};
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 6, NULL, watermarks);
    assert_int_equal(by_watermark(&w, INT64_MIN, &err), 3);
    for (int64_t v = -5; v <= 40; v++)
        assert_int_equal(by_watermark(&w, v, &err), v <= 10 ? 3 : 2 + (v + 9) / 10);
    assert_int_equal(by_watermark(&w, 41, &err), PML_E_NOT_FOUND);
    must_say(&err, "no snapshot with a watermark of at least 41: that of the latest, 6, is 40");
    close_world(&w);
}

/* As for times; commits without a watermark repeat the last one, so this is common. */
static void watermark_that_several_snapshots_share_is_any_of_them_as_in_java(void **state)
{
    (void)state;
    static const int64_t watermarks[] = {10, 20, 20, 20, 20};
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 5, NULL, watermarks);
    assert_int_equal(by_watermark(&w, 20, &err), 3);
    assert_int_equal(by_watermark(&w, 11, &err), 2);
    assert_int_equal(by_watermark(&w, 10, &err), 1);
    close_world(&w);
}

/* Writers other than Java drop it: such a snapshot has that of the ones before. Java's search does not end there. */
static void watermark_missing_in_between_is_that_of_the_snapshots_before(void **state)
{
    (void)state;
    static const int64_t watermarks[] = {10, NO_WATERMARK, NO_WATERMARK, 20, NO_WATERMARK};
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 5, NULL, watermarks);
    assert_int_equal(by_watermark(&w, 15, &err), 4);
    assert_int_equal(by_watermark(&w, 20, &err), 4);
    assert_int_equal(by_watermark(&w, 10, &err), 1);
    assert_int_equal(by_watermark(&w, 21, &err), PML_E_NOT_FOUND);
    close_world(&w);
}

/* ---- options ---- */

static int64_t by_options(world *w, const pml_option_pair *v, size_t n, pml_error *err)
{
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_table *table, *plain = w->k.table;
    o.n_options = n;
    o.options = v;
    int rc = pml_table_open(&table, w->t->env, plain->path, &o, err);
    if (rc != PML_OK)
        return rc;
    w->k.table = table;
    pml_scan *scan = scan_of(w);
    int64_t id = planned(scan, err);
    pml_scan_free(scan);
    w->k.table = plain;
    pml_table_release(table);
    return id;
}

static void option_says_which_snapshot(void **state)
{
    (void)state;
    static const int64_t watermarks[] = {-10, 0, 10};
    static const struct {
        pml_option_pair v[2];
        size_t n;
        int64_t id;
    } cases[] = {
        {{{"scan.tag-name", "t"}}, 1, 2},
        {{{"scan.tag-name", "none"}}, 1, PML_E_NOT_FOUND},
        {{{"scan.tag-name", "a/b"}}, 1, PML_E_INVAL},
        {{{"scan.timestamp-millis", "2"}}, 1, 2},
        {{{"scan.timestamp-millis", "-2"}}, 1, PML_E_NOT_FOUND},
        {{{"scan.watermark", "-10"}}, 1, 1},
        {{{"scan.watermark", "-9"}}, 1, 2},
        {{{"scan.watermark", "-9"}, {"scan.mode", "from-snapshot"}}, 2, 2},
        {{{"scan.tag-name", "t"}, {"scan.mode", "from-snapshot"}}, 2, 2},
        {{{"scan.timestamp-millis", "1"}, {"scan.mode", "from-timestamp"}}, 2, 1},
        {{{"scan.timestamp-millis", "1"}, {"scan.mode", "default"}}, 2, 1},
        {{{"scan.timestamp-millis", "1"}, {"scan.mode", "from-snapshot"}}, 2, PML_E_INVAL},
        {{{"scan.tag-name", "t"}, {"scan.mode", "from-snapshot-full"}}, 2, PML_E_INVAL},
        {{{"scan.tag-name", "t"}, {"scan.mode", "latest"}}, 2, PML_E_INVAL},
        {{{"scan.mode", "from-timestamp"}}, 1, PML_E_INVAL},
        {{{"scan.tag-name", "t"}, {"scan.snapshot-id", "1"}}, 2, PML_E_INVAL},
        {{{"scan.watermark", "3"}, {"scan.timestamp-millis", "1"}}, 2, PML_E_INVAL},
    };
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 3, NULL, watermarks);
    put_snapshot(&w, "tag/tag-t", 2, 5, NO_WATERMARK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (by_options(&w, cases[i].v, cases[i].n, &err) != cases[i].id)
            fail_msg("case %zu: %s", i, err.message);
    close_world(&w);
}

/* ---- expiry, failures ---- */

static void expire_two(void *arg, int kind, const char *path)
{
    world *w = arg;
    (void)kind, (void)path;
    remove_snapshot(w, 1);
    remove_snapshot(w, 2);
}

static void expiry_during_a_search_is_survived(void **state)
{
    (void)state;
    for (int at = 1; at <= 6; at++) {
        world w;
        pml_error err = PML_ERROR_INIT;
        open_world(&w, "");
        add_snapshots(&w, 7, NULL, NULL);
        faulty_fs_call_at(&w.f, at, FS_OP(FS_OP_OPEN_READ) | FS_OP(FS_OP_LIST), expire_two, &w);
        assert_int_equal(by_time(&w, 4, &err), 4);
        close_world(&w);
    }
}

/* A snapshot that somebody took away from the middle. */
static void hole_among_the_snapshots_is_an_error(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, "");
    add_snapshots(&w, 7, NULL, NULL);
    remove_snapshot(&w, 4);
    assert_int_equal(by_time(&w, 3, &err), PML_E_SNAPSHOT_GONE);
    must_say(&err, "snapshot 4");
    close_world(&w);
}

static void failure_anywhere_is_clean(void **state)
{
    (void)state;
    static const int64_t watermarks[] = {NO_WATERMARK, 10, 20, 30};
    world w;
    pml_error err = PML_ERROR_INIT;
    int failures = 0;
    open_world(&w, "");
    add_snapshots(&w, 4, NULL, watermarks);
    put_snapshot(&w, "tag/tag-t", 2, 5, NO_WATERMARK);
    for (int way = 0; way < 4; way++)
        for (int memory = 0; memory < 2; memory++)
            for (int n = 1;; n++) {
                pml_scan *scan = scan_of(&w);
                if (memory != 0)
                    test_env_fail_at(w.t, n);
                else
                    faulty_fs_fail_at(&w.f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
                int rc = PML_OK;
                if (way == 0 || way == 3)
                    rc = pml_scan_set_tag(scan, way == 0 ? "t" : "missing", &err);
                else if (way == 1)
                    pml_scan_set_timestamp(scan, 3);
                else
                    pml_scan_set_watermark(scan, 15);
                int64_t id = rc == PML_OK ? planned(scan, &err) : rc;
                test_env_fail_at(w.t, 0);
                faulty_fs_reset(&w.f);
                pml_scan_free(scan);
                if (id == (way == 3 ? PML_E_NOT_FOUND : way == 0 ? 2 : 3))
                    break;
                assert_true(id == PML_E_NOMEM || id == PML_E_IO);
                assert_true(n < 3000);
                failures++;
            }
    assert_true(failures > 40);
    close_world(&w);
}

/* ---- splits ---- */

static void split_of_a_chosen_snapshot_is_opened_at_it(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan, *again;
    pml_text bytes;
    open_world(&w, "");
    (void)table_kit_append(&w.k, 1);
    put_snapshot(&w, "tag/tag-t", 1, 1, 10);
    put_snapshot(&w, "tag/tag-u", 2, 1, 10);
    pml_scan *scan = scan_of(&w);
    must_ok(pml_scan_set_tag(scan, "t", &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_plan_split_serialize(&bytes, plan, 0, &err), &err);
    const pml_blob blob = {(const uint8_t *)bytes.ptr, bytes.len};
    must_ok(pml_plan_from_splits(&again, scan, &blob, 1, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(again), 1);
    pml_plan_free(again);
    must_ok(pml_scan_set_tag(scan, "u", &err), &err);
    must_fail_with(PML_E_INVAL, pml_plan_from_splits(&again, scan, &blob, 1, &err), &err);
    must_say(&err, "the scan is of snapshot 2, the splits are of 1");
    pml_scan_set_timestamp(scan, INT64_MAX); /* the latest by now; the split was planned before */
    must_ok(pml_plan_from_splits(&again, scan, &blob, 1, &err), &err);
    pml_plan_free(again);
    pml_text_clear(&bytes);
    pml_plan_free(plan);
    pml_scan_free(scan);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tag_is_read_also_when_its_snapshot_has_expired),
        cmocka_unit_test(tag_with_members_of_its_own_is_read),
        cmocka_unit_test(tag_that_is_missing_is_answered_with_those_there_are),
        cmocka_unit_test(tag_name_that_leads_elsewhere_is_refused),
        cmocka_unit_test(tag_that_is_damaged_is_named),
        cmocka_unit_test(tag_cut_or_changed_never_crashes),
        cmocka_unit_test(tag_of_a_branch_is_its_own),
        cmocka_unit_test(time_between_two_snapshots_is_the_older_one),
        cmocka_unit_test(time_that_several_snapshots_share_is_any_of_them_as_in_java),
        cmocka_unit_test(time_and_watermark_of_an_empty_table_are_not_found),
        cmocka_unit_test(watermark_is_the_oldest_snapshot_that_reached_it),
        cmocka_unit_test(watermark_that_several_snapshots_share_is_any_of_them_as_in_java),
        cmocka_unit_test(watermark_missing_in_between_is_that_of_the_snapshots_before),
        cmocka_unit_test(option_says_which_snapshot),
        cmocka_unit_test(expiry_during_a_search_is_survived),
        cmocka_unit_test(hole_among_the_snapshots_is_an_error),
        cmocka_unit_test(failure_anywhere_is_clean),
        cmocka_unit_test(split_of_a_chosen_snapshot_is_opened_at_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
