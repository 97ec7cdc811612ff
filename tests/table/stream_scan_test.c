/* SPDX-License-Identifier: Apache-2.0 */
/* Streams over tables that Java wrote, and over tables that grow and lose snapshots while they are followed. */
#include <paimonlive/write.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/local_fs.h"
#include "support/changes_kit.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void must_say(const pml_error *err, const char *words)
{
    if (strstr(err->message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err->message, words);
}

static int stream_new(pml_stream_scan **out, pml_table *table, const pml_stream_options *o, pml_error *err)
{
    pml_scan *scan = NULL;
    int rc = pml_scan_new(&scan, table, err);
    if (rc == PML_OK)
        rc = pml_stream_scan_new(out, scan, o, err);
    pml_scan_free(scan); /* the stream has what it needs */
    return rc;
}

static pml_stream_scan *must_stream(pml_table *table, int start, int64_t value)
{
    pml_stream_options o = PML_STREAM_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_stream_scan *s;
    o.start = start;
    o.value = value;
    must_ok(stream_new(&s, table, &o, &err), &err);
    return s;
}

/* "3:5 4:2 ": snapshots that came, and how many rows; up to where nothing new is. */
static const char *must_follow(pml_stream_scan *s)
{
    static char said[256];
    pml_error err = PML_ERROR_INIT;
    said[0] = '\0';
    for (;;) {
        pml_plan *plan;
        int64_t rows = 0;
        must_ok(pml_stream_scan_next(&plan, s, &err), &err);
        if (plan == NULL)
            return said;
        must_ok(changes_read(NULL, &rows, plan, 1, &err), &err);
        size_t at = strlen(said);
        (void)snprintf(said + at, sizeof said - at, "%lld:%lld ", (long long)pml_plan_snapshot_id(plan), (long long)rows);
        pml_plan_free(plan);
    }
}

static void must_come(const char *name, const char *const *options, int start, int64_t value, const char *expected, int64_t next)
{
    test_env *t = test_env_open(NULL);
    pml_table *table = changes_open(t, name, options);
    pml_stream_scan *s = must_stream(table, start, value);
    const char *said = must_follow(s);
    if (strcmp(said, expected) != 0 || pml_stream_scan_checkpoint(s) != next)
        fail_msg("%s, start %d: '%s', next %lld", name, start, said, (long long)pml_stream_scan_checkpoint(s));
    pml_stream_scan_free(s);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- where it starts ---- */

static void starts_as_it_is_told(void **state)
{
    (void)state;
    must_come("changelog_none", NULL, PML_STREAM_SNAPSHOT, 1, "1:3 2:3 3:2 ", 4);
    must_come("changelog_none", NULL, PML_STREAM_SNAPSHOT, 3, "3:2 ", 4);
    must_come("changelog_none", NULL, PML_STREAM_LATEST, 0, "", 4);
    must_come("changelog_none", NULL, PML_STREAM_SNAPSHOT_FULL, 2, "2:3 3:2 ", 4);
    must_come("changelog_none", NULL, PML_STREAM_TIMESTAMP, 0, "1:3 2:3 3:2 ", 4);
    must_come("changelog_none", NULL, PML_STREAM_TIMESTAMP, INT64_MAX, "", 4);
    must_come("pk_postpone", NULL, PML_STREAM_SNAPSHOT, 1, "1:10 2:10 ", 3); /* rows without a bucket yet */
    must_come("changelog_lookup", NULL, PML_STREAM_SNAPSHOT, 1, "2:3 4:4 6:4 ", 7);
    must_come("changelog_lookup", NULL, PML_STREAM_COMPACTED_FULL, 0, "6:3 ", 7);
    must_come("changelog_full", NULL, PML_STREAM_SNAPSHOT_FULL, 3, "3:3 4:4 6:4 ", 7); /* level 0 comes later, as changes */
}

static void starts_as_the_options_say(void **state)
{
    (void)state;
    must_come("changelog_none", OPTIONS("scan.mode", "latest"), PML_STREAM_OPTIONS, 0, "", 4);
    must_come("changelog_none", OPTIONS("scan.snapshot-id", "2"), PML_STREAM_OPTIONS, 0, "2:3 3:2 ", 4);
    must_come("changelog_none", OPTIONS("scan.mode", "from-snapshot-full", "scan.snapshot-id", "2"), PML_STREAM_OPTIONS, 0, "2:3 3:2 ", 4);
    must_come("changelog_none", OPTIONS("scan.timestamp-millis", "0"), PML_STREAM_OPTIONS, 0, "1:3 2:3 3:2 ", 4);
    must_come("changelog_lookup", OPTIONS("scan.mode", "compacted-full"), PML_STREAM_OPTIONS, 0, "6:3 ", 7);
}

static void starts_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options[3], *words;
    } cases[] = {{{"scan.tag-name", "x", NULL}, "at a tag"},
                 {{"scan.watermark", "1", NULL}, "at a watermark"},
                 {{"incremental-between", "1,2", NULL}, "between snapshots"},
                 {{"consumer-id", "a/b", NULL}, "no name of a consumer"},
                 {{"consumer-id", "", NULL}, "no name of a consumer"}};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_stream_scan *s = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_table *table = changes_open(t, "changelog_none", cases[i].options);
        must_fail_with(PML_E_INVAL, stream_new(&s, table, NULL, &err), &err);
        must_say(&err, cases[i].words);
        pml_table_release(table);
    }
    pml_table *table = changes_open(t, "changelog_lookup", OPTIONS("streaming-read-overwrite", "true"));
    must_fail_with(PML_E_INVAL, stream_new(&s, table, NULL, &err), &err);
    must_say(&err, "would come twice");
    pml_stream_options o = PML_STREAM_OPTIONS_INIT;
    o.start = 99;
    must_fail_with(PML_E_INVAL, stream_new(&s, table, &o, &err), &err);
    o.start = PML_STREAM_SNAPSHOT;
    must_fail_with(PML_E_INVAL, stream_new(&s, table, &o, &err), &err);
    o.struct_size--;
    must_fail_with(PML_E_INVAL, stream_new(&s, table, &o, &err), &err);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- what comes ---- */

static void rows_are_those_of_java_with_their_kinds(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = changes_open(t, "changelog_aggregation", NULL);
    pml_stream_scan *s = must_stream(table, PML_STREAM_SNAPSHOT, 3);
    pml_text text = {0};
    pml_plan *plan;
    int64_t rows = 0;
    must_ok(pml_stream_scan_next(&plan, s, &err), &err);
    must_ok(changes_read(&text, &rows, plan, 1, &err), &err);
    assert_string_equal(text.ptr, "{\"_kind\":\"-U\",\"id\":1,\"n\":1}\n{\"_kind\":\"+U\",\"id\":1,\"n\":6}\n");
    pml_text_clear(&text);
    pml_plan_free(plan);
    pml_stream_scan_free(s);
    pml_table_release(table);
    test_env_close(t);
}

static void changelogs_outlive_their_snapshots(void **state)
{
    (void)state;
    /* Snapshots before 7 have expired; their changelogs are there. */
    must_come("history_changelog_retained", NULL, PML_STREAM_SNAPSHOT, 1, "1:2 2:2 3:2 4:2 5:2 7:2 ", 8);
    must_come("history_changelog_retained", NULL, PML_STREAM_SNAPSHOT, 5, "5:2 7:2 ", 8);
    must_come("history_changelog_retained", NULL, PML_STREAM_TIMESTAMP, 0, "1:2 2:2 3:2 4:2 5:2 7:2 ", 8);
}

static void table_that_grows_is_followed(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    char *json = kit_schema_json("", "");
    table_kit_create(&k, t, test_path(t, "t"), json);
    pml_stream_scan *full = must_stream(k.table, PML_STREAM_LATEST_FULL, 0), *latest = must_stream(k.table, PML_STREAM_LATEST, 0);
    assert_string_equal(must_follow(full), "");
    assert_string_equal(must_follow(latest), "");
    assert_int_equal(pml_stream_scan_checkpoint(full), -1);
    (void)table_kit_append(&k, 3);
    (void)table_kit_append(&k, 2);
    assert_string_equal(must_follow(full), "2:5 ");
    assert_string_equal(must_follow(latest), "1:3 2:2 "); /* the table was empty when it began, so all are changes */
    (void)table_kit_append(&k, 4);
    assert_string_equal(must_follow(full), "3:4 ");
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_stream_scan_restore(full, 2, &err), &err);
    assert_string_equal(must_follow(full), "2:2 3:4 ");
    must_ok(pml_stream_scan_restore(full, -1, &err), &err);
    assert_string_equal(must_follow(full), "3:9 ");
    must_fail_with(PML_E_INVAL, pml_stream_scan_restore(full, 0, &err), &err);
    must_ok(pml_stream_scan_restore(full, 9, &err), &err);
    pml_plan *plan;
    must_fail_with(PML_E_NOT_FOUND, pml_stream_scan_next(&plan, full, &err), &err);
    must_say(&err, "the table was made anew");
    pml_stream_scan_free(full);
    pml_stream_scan_free(latest);
    table_kit_close(&k);
    free(json);
    test_env_close(t);
}

static void overwrite(table_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_messages *m = table_kit_prepare(k, 2);
    pml_commit *c;
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    must_ok(pml_commit_open(&c, k->table, NULL, &err), &err);
    must_ok(pml_commit_overwrite(&result, c, NULL, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
}

static void overwrites_come_when_they_are_asked_for(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        test_env *t = test_env_open(NULL);
        table_kit k;
        char *json = kit_schema_json("", asked ? "\"streaming-read-append-overwrite\":\"true\"" : "");
        table_kit_create(&k, t, test_path(t, "t"), json);
        (void)table_kit_append(&k, 3);
        overwrite(&k);
        (void)table_kit_append(&k, 1);
        pml_stream_scan *s = must_stream(k.table, PML_STREAM_SNAPSHOT, 1);
        assert_string_equal(must_follow(s), asked ? "1:3 2:2 3:1 " : "1:3 3:1 ");
        pml_stream_scan_free(s);
        table_kit_close(&k);
        free(json);
        test_env_close(t);
    }
}

static void snapshots_that_are_too_young_wait(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    char *json = kit_schema_json("", "\"streaming.read.snapshot.delay\":\"10 s\"");
    table_kit_create(&k, t, test_path(t, "t"), json);
    (void)table_kit_append(&k, 3);
    pml_stream_scan *s = must_stream(k.table, PML_STREAM_SNAPSHOT, 1);
    assert_string_equal(must_follow(s), "");
    atomic_fetch_add(&t->wall_ms, 9000);
    assert_string_equal(must_follow(s), "");
    atomic_fetch_add(&t->wall_ms, 2000);
    assert_string_equal(must_follow(s), "1:3 ");
    pml_stream_scan_free(s);
    table_kit_close(&k);
    free(json);
    test_env_close(t);
}

/* ---- consumers ---- */

static pml_stream_scan *consumer_of(pml_table *table, const char *name, uint32_t flags)
{
    pml_stream_options o = PML_STREAM_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_stream_scan *s;
    o.consumer = name;
    o.flags = flags;
    must_ok(stream_new(&s, table, &o, &err), &err);
    return s;
}

static void consumer_goes_on_where_it_was(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = changes_copy(t, "changelog_none");
    char file[400];
    size_t len;
    pml_table *table;
    must_ok(changes_try_open(&table, t, path, NULL, &err), &err);
    pml_stream_scan *s = consumer_of(table, "me", 0);
    assert_string_equal(must_follow(s), "3:3 ");
    must_ok(pml_stream_scan_notify(s, -1, &err), &err);
    must_ok(pml_stream_scan_notify(s, 2, &err), &err);
    must_fail_with(PML_E_INVAL, pml_stream_scan_notify(s, 0, &err), &err);
    pml_stream_scan_free(s);
    (void)snprintf(file, sizeof file, "%s/consumer/consumer-me", path);
    char *text = (char *)test_read_file(file, &len);
    const char java[] = "{\n  \"nextSnapshot\" : 2\n}";
    assert_int_equal(len, strlen(java));
    assert_memory_equal(text, java, len);
    free(text);
    s = consumer_of(table, "me", 0);
    assert_string_equal(must_follow(s), "2:3 3:2 ");
    pml_stream_scan_free(s);
    s = consumer_of(table, "me", PML_STREAM_IGNORE_PROGRESS);
    assert_string_equal(must_follow(s), "3:3 ");
    pml_stream_scan_free(s);
    kit_write_text(file, "{\"nextSnapshot\":");
    s = consumer_of(table, "me", 0);
    pml_plan *plan;
    must_fail_with(PML_E_CORRUPT, pml_stream_scan_next(&plan, s, &err), &err);
    must_say(&err, "consumer-me");
    pml_stream_scan_free(s);
    pml_table_release(table);
    test_env_close(t);
}

static void remove_snapshot(const char *path, int64_t id)
{
    char file[400];
    (void)snprintf(file, sizeof file, "%s/snapshot/snapshot-%lld", path, (long long)id);
    assert_int_equal(remove(file), 0);
    (void)snprintf(file, sizeof file, "%s/snapshot/EARLIEST", path);
    (void)remove(file);
}

/* What it has not seen is gone, which Java passes over. */
static void consumer_that_is_too_late_is_told(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = changes_copy(t, "changelog_none");
    char file[400];
    pml_table *table;
    pml_plan *plan;
    must_ok(changes_try_open(&table, t, path, NULL, &err), &err);
    pml_stream_scan *s = consumer_of(table, "me", 0);
    must_ok(pml_stream_scan_notify(s, 2, &err), &err);
    pml_stream_scan_free(s);
    remove_snapshot(path, 1);
    s = consumer_of(table, "me", 0); /* 2 comes next and is there */
    must_ok(pml_stream_scan_next(&plan, s, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(plan), 2);
    pml_plan_free(plan);
    pml_stream_scan_free(s);
    remove_snapshot(path, 2);
    s = consumer_of(table, "me", 0);
    must_fail_with(PML_E_SNAPSHOT_GONE, pml_stream_scan_next(&plan, s, &err), &err);
    must_say(&err, "before snapshot 2, but 3 is the first that is left");
    must_say(&err, "--anew");
    assert_int_equal(pml_stream_scan_checkpoint(s), -1);
    must_ok(pml_stream_scan_restore(s, 3, &err), &err);
    assert_string_equal(must_follow(s), "3:2 ");
    pml_stream_scan_free(s);
    s = consumer_of(table, "me", PML_STREAM_IGNORE_PROGRESS);
    must_ok(pml_stream_scan_next(&plan, s, &err), &err);
    pml_plan_free(plan);
    pml_stream_scan_free(s);
    (void)snprintf(file, sizeof file, "%s/consumer/consumer-me", path);
    assert_int_equal(remove(file), 0);
    pml_table_release(table);
    test_env_close(t);
}

static void what_expired_meanwhile_is_named_with_a_way_out(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = changes_copy(t, "changelog_none");
    pml_table *table;
    pml_plan *plan;
    must_ok(changes_try_open(&table, t, path, NULL, &err), &err);
    pml_stream_scan *s = must_stream(table, PML_STREAM_SNAPSHOT, 1);
    must_ok(pml_stream_scan_next(&plan, s, &err), &err);
    pml_plan_free(plan);
    remove_snapshot(path, 2);
    must_fail_with(PML_E_SNAPSHOT_GONE, pml_stream_scan_next(&plan, s, &err), &err);
    must_say(&err, "is missing, although there are 1 to 3");
    remove_snapshot(path, 1);
    must_fail_with(PML_E_SNAPSHOT_GONE, pml_stream_scan_next(&plan, s, &err), &err);
    must_say(&err, "has expired: 3 is the first that is left");
    must_say(&err, "consumer");
    assert_int_equal(pml_stream_scan_checkpoint(s), 2); /* it stands where it stood */
    must_ok(pml_stream_scan_restore(s, 3, &err), &err);
    assert_string_equal(must_follow(s), "3:2 ");
    pml_stream_scan_free(s);
    pml_table_release(table);
    test_env_close(t);
}

static void watermark_beyond_the_bound_ends_it(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const char *path = changes_copy(t, "changelog_none");
    char file[400];
    (void)snprintf(file, sizeof file, "%s/snapshot/snapshot-3", path);
    kit_replace_in_file(file, "\"commitKind\"", "\"watermark\" : 10, \"commitKind\"");
    pml_table *table;
    must_ok(changes_try_open(&table, t, path, OPTIONS("scan.bounded.watermark", "9"), &err), &err);
    pml_stream_scan *s = must_stream(table, PML_STREAM_SNAPSHOT, 1);
    assert_string_equal(must_follow(s), "1:3 2:3 ");
    assert_true(pml_stream_scan_ended(s));
    pml_stream_scan_free(s);
    s = must_stream(table, PML_STREAM_LATEST_FULL, 0); /* comes as a whole, and that was it */
    assert_string_equal(must_follow(s), "3:3 ");
    assert_true(pml_stream_scan_ended(s));
    pml_stream_scan_free(s);
    pml_table_release(table);
    must_ok(changes_try_open(&table, t, path, OPTIONS("scan.bounded.watermark", "10"), &err), &err);
    s = must_stream(table, PML_STREAM_SNAPSHOT, 1);
    assert_string_equal(must_follow(s), "1:3 2:3 3:2 ");
    assert_false(pml_stream_scan_ended(s));
    pml_stream_scan_free(s);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- failures ---- */

static int follow_all(pml_table *table, int64_t *rows, pml_error *err)
{
    pml_stream_options o = PML_STREAM_OPTIONS_INIT;
    pml_stream_scan *s = NULL;
    pml_plan *plan = NULL;
    int rc;
    o.start = PML_STREAM_TIMESTAMP;
    o.consumer = "c";
    o.flags = PML_STREAM_IGNORE_PROGRESS;
    *rows = 0;
    PML_TRY(stream_new(&s, table, &o, err));
    for (;;) {
        PML_TRY(pml_stream_scan_next(&plan, s, err));
        if (plan == NULL)
            break;
        PML_TRY(changes_read(NULL, rows, plan, 1, err));
        pml_plan_free(plan);
        plan = NULL;
        PML_TRY(pml_stream_scan_notify(s, pml_stream_scan_checkpoint(s), err));
    }
    pml_stream_scan_free(s);
    s = NULL;
    o.flags = 0;
    PML_TRY(stream_new(&s, table, &o, err)); /* and once more where the consumer is */
    PML_TRY(pml_stream_scan_next(&plan, s, err));
out:
    pml_plan_free(plan);
    pml_stream_scan_free(s);
    return rc;
}

static void failure_anywhere_is_clean(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    const char *path = changes_copy(t, "changelog_lookup");
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    int failures = 0;
    must_ok(changes_try_open(&table, t, path, OPTIONS("scan.bounded.watermark", "1"), &err), &err);
    for (int memory = 0; memory < 2; memory++)
        for (long long n = 1;; n += memory == 0 || n < 60 ? 1 : 1 + (long long)(test_random(t) % 7)) {
            int64_t rows;
            if (memory != 0)
                test_env_fail_at(t, n);
            else
                faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            int rc = follow_all(table, &rows, &err);
            bool reached = memory != 0 ? test_env_fail_reached(t) : faulty_fs_failures(&f) > 0;
            test_env_fail_at(t, 0);
            faulty_fs_reset(&f);
            if (rc == PML_OK)
                assert_int_equal(rows, 11);
            else if (rc != PML_E_NOMEM && rc != PML_E_IO && rc != PML_E_SNAPSHOT_GONE && rc != PML_E_UNKNOWN_OUTCOME)
                fail_msg("%lld: code %d: %s", n, rc, err.message);
            if (!reached)
                break;
            failures++;
        }
    assert_true(failures > 100);
    pml_table_release(table);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

/* "1 2 3 ": the snapshots that come, of which the failures on the way (*failed) must leave none out. */
static const char *ids_that_come(pml_table *table, faulty_fs *f, int start, bool *failed)
{
    static char said[256];
    pml_stream_scan *s = must_stream(table, start, 1);
    *failed = false;
    said[0] = '\0';
    for (bool ended = false; !ended;) {
        pml_plan *plan = NULL;
        pml_error err = PML_ERROR_INIT;
        int64_t before = pml_stream_scan_checkpoint(s);
        if (pml_stream_scan_next(&plan, s, &err) != PML_OK) {
            assert_null(plan);
            if (before >= 0)
                assert_true(pml_stream_scan_checkpoint(s) >= before);
            *failed = true;
            faulty_fs_reset(f);
            continue;
        }
        ended = plan == NULL;
        size_t at = strlen(said);
        if (!ended)
            (void)snprintf(said + at, sizeof said - at, "%lld ", (long long)pml_plan_snapshot_id(plan));
        pml_plan_free(plan);
    }
    pml_stream_scan_free(s);
    return said;
}

static void what_failed_comes_when_it_is_asked_for_again(void **state)
{
    (void)state;
    faulty_fs f;
    bool failed;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    must_ok(changes_try_open(&table, t, changes_copy(t, "changelog_lookup"), OPTIONS("read.batch-size", "7"), &err), &err);
    for (int start = PML_STREAM_LATEST_FULL; start <= PML_STREAM_COMPACTED_FULL; start++) {
        char all[256];
        faulty_fs_reset(&f);
        (void)snprintf(all, sizeof all, "%s", ids_that_come(table, &f, start, &failed));
        bool reached = true;
        for (long long n = 1; reached; n++) {
            faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            const char *said = ids_that_come(table, &f, start, &failed);
            reached = failed || faulty_fs_failures(&f) > 0; /* some are no errors: hints */
            faulty_fs_reset(&f);
            if (strcmp(said, all) != 0)
                fail_msg("start %d, operation %lld fails: '%s' came instead of '%s'", start, n, said, all);
        }
    }
    pml_table_release(table);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_as_it_is_told),
        cmocka_unit_test(starts_as_the_options_say),
        cmocka_unit_test(starts_that_are_none_are_refused),
        cmocka_unit_test(rows_are_those_of_java_with_their_kinds),
        cmocka_unit_test(changelogs_outlive_their_snapshots),
        cmocka_unit_test(table_that_grows_is_followed),
        cmocka_unit_test(overwrites_come_when_they_are_asked_for),
        cmocka_unit_test(snapshots_that_are_too_young_wait),
        cmocka_unit_test(consumer_goes_on_where_it_was),
        cmocka_unit_test(consumer_that_is_too_late_is_told),
        cmocka_unit_test(what_expired_meanwhile_is_named_with_a_way_out),
        cmocka_unit_test(watermark_beyond_the_bound_ends_it),
        cmocka_unit_test(failure_anywhere_is_clean),
        cmocka_unit_test(what_failed_comes_when_it_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
