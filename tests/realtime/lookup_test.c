/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups beside the law (keyed_law_test.c): which snapshot they are at, what costs a file, what is refused, and every failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/faulty_fs.h"
#include "support/lookup_kit.h"
#include "support/rt_kit.h"

typedef struct world {
    faulty_fs f;
    test_env *t;
    pml_table *table;
    pml_commit *commit;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    pml_lookup *lookup;
    int64_t identifier;
} world;

static void make(world *w, const char *options, bool live)
{
    char json[1024];
    const pml_file_system fast = rt_kit_fs();
    pml_error err = PML_ERROR_INIT;
    memset(w, 0, sizeof *w);
    faulty_fs_init(&w->f, &fast);
    w->t = test_env_open(&w->f.fs);
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"v\",\"type\":\"STRING\"},{\"name\":\"n\",\"type\":\"BIGINT\"}],"
                     "\"partitionKeys\":[],\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\","
                     "\"bucket\":\"2\"%s}}",
                     options);
    must_ok(pml_table_create(&w->table, w->t->env, test_path(w->t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&w->commit, w->table, "lookup", &err), &err);
    if (!live)
        return;
    must_ok(pml_rt_context_open(&w->ctx, w->t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->w, w->table, w->ctx, NULL, &err), &err);
}

static void end(world *w)
{
    pml_lookup_close(w->lookup);
    if (w->w != NULL)
        pml_rt_writer_abort(w->w);
    if (w->ctx != NULL)
        pml_rt_context_close(w->ctx);
    pml_commit_close(w->commit);
    pml_table_release(w->table);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
}

static struct ArrowArray batch_of(const int64_t *ids, size_t n, const char *v)
{
    const char *texts[64];
    int64_t numbers[64];
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++) {
        texts[i] = v;
        numbers[i] = ids[i] * 10;
    }
    struct ArrowArray c[3] = {test_fixed_array(8, (int64_t)n, ids), test_text_array((int64_t)n, texts), test_fixed_array(8, (int64_t)n, numbers)};
    return test_struct_array((int64_t)n, 3, c);
}

static struct ArrowSchema schema_of(void)
{
    struct ArrowSchema f[3] = {test_field("l", "id", -1, false, 0, NULL), test_field("u", "v", -1, true, 0, NULL), test_field("l", "n", -1, true, 0, NULL)};
    return test_struct(3, f);
}

static void put(world *w, const int64_t *ids, size_t n, const char *v, int8_t kind)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    int8_t kinds[64];
    memset(kinds, kind, sizeof kinds);
    struct ArrowArray batch = batch_of(ids, n, v);
    struct ArrowSchema schema = schema_of();
    o.row_kinds = kinds;
    must_ok(pml_rt_write(NULL, w->w, &batch, &schema, &o, &err), &err);
    schema.release(&schema);
}

static void commit(world *w)
{
    pml_rt_prepared *p;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    size_t n;
    must_ok(pml_rt_prepare(&p, w->w, ++w->identifier, NULL, &err), &err);
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_commit(&r, w->commit, entries, n, w->identifier, NULL, &err), &err);
    pml_rt_prepared_free(p);
}

/* By an ordinary writer. */
static void append(world *w, const int64_t *ids, size_t n, const char *v)
{
    pml_writer *writer;
    pml_messages *m;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray batch = batch_of(ids, n, v);
    struct ArrowSchema schema = schema_of();
    must_ok(pml_writer_open(&writer, w->table, &err), &err);
    must_ok(pml_writer_write(writer, &batch, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    must_ok(pml_commit_run(&r, w->commit, &m, 1, ++w->identifier, NULL, &err), &err);
    pml_messages_free(m);
    pml_writer_close(writer);
    schema.release(&schema);
}

/* wanted NULL: no row. */
static void must_find(world *w, const char *key, const char *wanted)
{
    char **got = lookup_kit_get(w->lookup, w->t->env, &key, 1, 1);
    char line[128];
    (void)snprintf(line, sizeof line, "{\"_kind\":\"+I\",\"id\":%s,\"v\":\"%s\",\"n\":%s0}", key, wanted == NULL ? "" : wanted, key);
    if ((got[0] == NULL) != (wanted == NULL) || (wanted != NULL && strcmp(got[0], line) != 0))
        fail_msg("key %s gives %s instead of %s", key, got[0] == NULL ? "no row" : got[0], wanted == NULL ? "no row" : line);
    lookup_kit_free(got, 1);
}

static void stays_at_its_snapshot_until_it_is_refreshed(void **state)
{
    (void)state;
    world w;
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    make(&w, "", false);
    w.lookup = lookup_kit_open(w.table, NULL, NULL, 0);
    assert_int_equal(pml_lookup_snapshot_id(w.lookup), -1);
    must_find(&w, "1", NULL);
    append(&w, (const int64_t[]){1, 2, 3}, 3, "a");
    must_find(&w, "1", NULL);
    must_ok(pml_lookup_refresh(w.lookup, &err), &err);
    assert_int_equal(pml_lookup_snapshot_id(w.lookup), 1);
    must_find(&w, "1", "a");
    append(&w, (const int64_t[]){2, 4}, 2, "b");
    must_find(&w, "2", "a");
    must_ok(pml_lookup_refresh(w.lookup, &err), &err);
    must_find(&w, "2", "b");
    must_find(&w, "3", "a");
    pml_lookup_close(w.lookup);
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, 1, &err), &err);
    must_ok(pml_lookup_open(&w.lookup, scan, NULL, &err), &err);
    pml_scan_free(scan);
    must_ok(pml_lookup_refresh(w.lookup, &err), &err);
    assert_int_equal(pml_lookup_snapshot_id(w.lookup), 1);
    must_find(&w, "2", "a");
    must_find(&w, "4", NULL);
    end(&w);
}

static void goes_with_its_context(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    make(&w, "", true);
    w.lookup = lookup_kit_open(w.table, w.ctx, NULL, 0);
    put(&w, (const int64_t[]){1, 2}, 2, "a", 0);
    must_find(&w, "1", "a");
    commit(&w);
    must_find(&w, "1", "a");
    assert_int_equal(pml_lookup_snapshot_id(w.lookup), 1);
    put(&w, (const int64_t[]){1}, 1, "b", 0);
    must_find(&w, "1", "b");
    put(&w, (const int64_t[]){2}, 1, "", 3);
    must_find(&w, "2", NULL);
    commit(&w);
    must_find(&w, "1", "b");
    must_find(&w, "2", NULL);
    append(&w, (const int64_t[]){7}, 1, "other"); /* not seen before the context moves */
    must_find(&w, "7", NULL);
    must_ok(pml_lookup_refresh(w.lookup, &err), &err);
    must_find(&w, "7", "other");
    /* Memory has let go of rows that snapshot 1 lacks. */
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, 1, &err), &err);
    must_ok(pml_scan_set_realtime(scan, w.ctx, &err), &err);
    pml_lookup *old;
    char **lines;
    must_ok(pml_lookup_open(&old, scan, NULL, &err), &err);
    must_fail_with(PML_E_PROGRESS_GAP, lookup_kit_try(&lines, old, w.t->env, (const char *const[]){"1"}, 1, 1, &err), &err);
    pml_lookup_close(old);
    pml_scan_free(scan);
    end(&w);
}

/* More keys than one plan reads, in no order, of files of several commits. */
static void many_keys_are_found(void **state)
{
    (void)state;
    enum { KEYS = 1500 };
    world w;
    static char texts[KEYS][8];
    const char *keys[KEYS];
    make(&w, "", false);
    for (int64_t first = 0; first < 1024; first += 64) {
        int64_t ids[64];
        for (int64_t i = 0; i < 64; i++)
            ids[i] = (first + i) * 7 % 1024;
        append(&w, ids, 64, first % 128 == 0 ? "even" : "odd");
    }
    w.lookup = lookup_kit_open(w.table, NULL, NULL, 0);
    for (size_t i = 0; i < KEYS; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%d", (int)(i * 611 % KEYS));
        keys[i] = texts[i];
    }
    char **got = lookup_kit_get(w.lookup, w.t->env, keys, KEYS, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        char begins[48];
        size_t key = i * 611 % KEYS;
        (void)snprintf(begins, sizeof begins, "{\"_kind\":\"+I\",\"id\":%zu,", key);
        if ((got[i] != NULL) != (key < 1024) || (got[i] != NULL && strncmp(got[i], begins, strlen(begins)) != 0))
            fail_msg("key %zu gives %s", key, got[i] == NULL ? "no row" : got[i]);
    }
    lookup_kit_free(got, KEYS);
    end(&w);
}

/* Answers out of memory read nothing, nor does a key that no file can have. */
static void row_in_memory_costs_no_file(void **state)
{
    (void)state;
    world w;
    make(&w, "", true);
    put(&w, (const int64_t[]){1, 2, 3, 4, 5, 6, 7, 8}, 8, "old", 0);
    commit(&w);
    w.lookup = lookup_kit_open(w.table, w.ctx, NULL, 0);
    put(&w, (const int64_t[]){1, 3}, 2, "new", 0);
    put(&w, (const int64_t[]){4}, 1, "", 3);
    faulty_fs_reset(&w.f);
    must_find(&w, "1", "new");
    must_find(&w, "3", "new");
    must_find(&w, "4", NULL);
    must_find(&w, "99", NULL);
    assert_int_equal(w.f.counts[FS_OP_OPEN_READ] + w.f.counts[FS_OP_READ_AT] + w.f.counts[FS_OP_STAT] + w.f.counts[FS_OP_LIST], 0);
    must_find(&w, "5", "old");
    assert_true(w.f.counts[FS_OP_OPEN_READ] > 0);
    end(&w);
}

static void mistakes_are_said(void **state)
{
    (void)state;
    world w;
    pml_scan *scan;
    pml_predicate *p;
    pml_lookup *l;
    pml_error err = PML_ERROR_INIT;
    pml_lookup_options o = PML_LOOKUP_OPTIONS_INIT;
    struct ArrowArray out, keys, other_keys = {0};
    struct ArrowSchema schema, other = schema_of();
    make(&w, "", false);
    append(&w, (const int64_t[]){1, 2, 3}, 3, "a");
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_ok(pml_scan_set_limit(scan, 1, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_open(&l, scan, NULL, &err), &err);
    assert_null(l);
    must_ok(pml_scan_set_limit(scan, -1, &err), &err);
    must_ok(pml_predicate_leaf(&p, w.table, "n", PML_OP_EQ, &(pml_literal){"1", 1}, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    pml_predicate_free(p);
    must_fail_with(PML_E_INVAL, pml_lookup_open(&l, scan, NULL, &err), &err);
    must_ok(pml_scan_set_predicate(scan, NULL, &err), &err);
    must_ok(pml_scan_set_changes(scan, 0, 1, PML_CHANGES_DELTA, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_open(&l, scan, NULL, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, -1, &err), &err);
    o.flags = 1;
    must_fail_with(PML_E_INVAL, pml_lookup_open(&l, scan, &o, &err), &err);
    must_ok(pml_lookup_open(&w.lookup, scan, NULL, &err), &err);
    pml_scan_free(scan);
    must_ok(pml_lookup_key_schema(&schema, w.lookup, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_key_schema(NULL, w.lookup, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_schema(NULL, w.lookup, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_keys(NULL, w.lookup, NULL, 0, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_keys(&keys, w.lookup, NULL, 1, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_get(NULL, w.lookup, &other_keys, &schema, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_get(&out, w.lookup, NULL, &schema, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_get(&out, w.lookup, &other_keys, NULL, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_get(&out, w.lookup, &other_keys, &schema, &err), &err); /* released */
    must_fail_with(PML_E_INVAL, pml_lookup_keys(&keys, w.lookup, &(pml_literal){"x", 1}, 1, &err), &err);
    must_fail_with(PML_E_INVAL, pml_lookup_keys(&keys, w.lookup, &(pml_literal){NULL, 0}, 1, &err), &err);
    must_ok(pml_lookup_keys(&keys, w.lookup, &(pml_literal){"2", 1}, 1, &err), &err);
    must_fail_with(PML_E_SCHEMA, pml_lookup_get(&out, w.lookup, &keys, &other, &err), &err);
    keys.release(&keys);
    must_ok(pml_lookup_keys(&keys, w.lookup, NULL, 0, &err), &err);
    must_ok(pml_lookup_get(&out, w.lookup, &keys, &schema, &err), &err);
    assert_true(out.length == 0 && out.n_children == 3);
    out.release(&out);
    keys.release(&keys);
    /* Keys that are the tail of a larger array. */
    const pml_literal four[] = {{"9", 1}, {"9", 1}, {"3", 1}, {"1", 1}};
    must_ok(pml_lookup_keys(&keys, w.lookup, four, 4, &err), &err);
    keys.offset = 2;
    keys.length = 2;
    must_ok(pml_lookup_get(&out, w.lookup, &keys, &schema, &err), &err);
    assert_true(out.length == 2 && out.null_count == 0);
    assert_int_equal(((const int64_t *)out.children[0]->buffers[1])[0], 3);
    assert_int_equal(((const int64_t *)out.children[0]->buffers[1])[1], 1);
    out.release(&out);
    keys.offset = 0;
    keys.release(&keys);
    schema.release(&schema);
    other.release(&other);
    end(&w);
}

/* ---- failures ---- */

static int step_open(world *w, pml_error *err)
{
    pml_scan *scan;
    int rc = pml_scan_new(&scan, w->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, w->ctx, err);
    if (rc == PML_OK)
        rc = pml_scan_set_columns(scan, (const char *const[]){"v", "n"}, 2, err);
    if (rc == PML_OK)
        rc = pml_lookup_open(&w->lookup, scan, NULL, err);
    assert_true((rc == PML_OK) == (w->lookup != NULL));
    pml_scan_free(scan);
    return rc;
}

/* Keys in memory, on disk, in both, in neither. */
static int step_get(world *w, pml_error *err)
{
    static const char *const keys[] = {"1", "2", "5", "20", "5", "9"};
    char **lines;
    int rc = lookup_kit_try(&lines, w->lookup, w->t->env, keys, 6, 6, err);
    if (rc == PML_OK) {
        assert_true(lines[0] != NULL && lines[1] != NULL && lines[2] != NULL && lines[3] == NULL && lines[4] != NULL && lines[5] != NULL);
        assert_string_equal(lines[2], lines[4]);
        lookup_kit_free(lines, 6);
    }
    return rc;
}

static int step(world *w, pml_error *err)
{
    int rc = step_open(w, err);
    if (rc == PML_OK)
        rc = step_get(w, err);
    if (rc == PML_OK)
        rc = pml_lookup_refresh(w->lookup, err);
    if (rc == PML_OK)
        rc = step_get(w, err);
    pml_lookup_close(w->lookup);
    w->lookup = NULL;
    return rc;
}

static void after(int rc, const pml_error *err)
{
    assert_int_equal(rc, err->code);
    assert_true(rc == PML_OK || rc == PML_E_NOMEM || rc == PML_E_IO || rc == PML_E_SNAPSHOT_GONE);
    assert_true(rc == PML_OK || err->message[0] != '\0');
}

static void every_failure_is_clean(const char *options)
{
    world w;
    make(&w, options, true);
    put(&w, (const int64_t[]){1, 5, 6, 7}, 4, "a", 0);
    commit(&w);
    put(&w, (const int64_t[]){5, 8, 9}, 3, "b", 0);
    commit(&w);
    put(&w, (const int64_t[]){2, 5}, 2, "c", 0);
    bool reached = true;
    for (long long n = 1; reached; n += n < 150 ? 1 : 1 + (long long)(test_random(w.t) % 20)) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(w.t, n);
        int rc = step(&w, &err);
        reached = test_env_fail_reached(w.t);
        test_env_fail_at(w.t, 0);
        after(rc, &err);
    }
    bool failed = true;
    for (long long n = 1; failed; n++) {
        pml_error err = PML_ERROR_INIT;
        faulty_fs_reset(&w.f);
        faulty_fs_fail_at(&w.f, n, FAULT_BEFORE, PML_E_IO, 0);
        int rc = step(&w, &err);
        failed = faulty_fs_failures(&w.f) > 0;
        faulty_fs_reset(&w.f);
        after(rc, &err);
    }
    pml_error err = PML_ERROR_INIT;
    must_ok(step(&w, &err), &err);
    end(&w);
}

static void failures_where_the_newest_row_decides_are_clean(void **state)
{
    (void)state;
    every_failure_is_clean("");
}

static void failures_where_rows_are_merged_are_clean(void **state)
{
    (void)state;
    every_failure_is_clean(",\"merge-engine\":\"aggregation\",\"fields.n.aggregate-function\":\"sum\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_at_its_snapshot_until_it_is_refreshed),
        cmocka_unit_test(goes_with_its_context),
        cmocka_unit_test(many_keys_are_found),
        cmocka_unit_test(row_in_memory_costs_no_file),
        cmocka_unit_test(mistakes_are_said),
        cmocka_unit_test(failures_where_the_newest_row_decides_are_clean),
        cmocka_unit_test(failures_where_rows_are_merged_are_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
