/* SPDX-License-Identifier: Apache-2.0 */
/* The public reading of progress, on tables of real files (realtime-tests.md 14c, 39, 40, 51). */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meta/partition.h"
#include "realtime/rt_effective.h"
#include "storage/file_io.h"

static const char table_json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"dt\",\"type\":\"STRING\"}],"
                                 "\"partitionKeys\":[\"dt\"],\"primaryKeys\":[],"
                                 "\"options\":{\"bucket\":\"2\",\"bucket-key\":\"id\"}}";

typedef struct fixture {
    test_env *t;
    pml_table *table;
    int64_t latest;
    int n_lists;
    char lists[16][32];
} fixture;

static void fixture_open(fixture *f)
{
    pml_error err = PML_ERROR_INIT;
    *f = (fixture){.t = test_env_open(NULL)};
    must_ok(pml_table_create(&f->table, f->t->env, test_path(f->t, "t"), table_json, sizeof table_json - 1, 0, &err), &err);
}

static void fixture_close(fixture *f)
{
    pml_table_release(f->table);
    test_env_close(f->t);
}

/* ---- metadata by hand ---- */

static void put_file(fixture *f, const char *dir, const char *name, const void *bytes, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    char *path = pml_env__format(f->t->env, "%s/%s", dir, name);
    must_ok(pml_file__write_new(f->t->env, path, bytes, n, 0, &err), &err);
    pml_env__free(f->t->env, path);
}

/* "+p1": adds file 1 of partition p; "-q2": deletes file 2 of q. Returns the name of a list with one manifest. */
static const char *put_list(fixture *f, const char *const *entries, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    pml_env *env = f->t->env;
    pml_manifest_entry v[8];
    pml_buf rows;
    size_t at[8];
    uint8_t *bytes;
    size_t len;
    memset(v, 0, sizeof v);
    pml_buf__init(&rows, env, 1 << 16);
    for (size_t i = 0; i < n; i++) {
        const pml_value value = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)entries[i] + 1, 1}};
        at[i] = rows.len;
        must_ok(pml_partition__encode(&rows, f->table->schema, &value), NULL);
    }
    for (size_t i = 0; i < n; i++) {
        const pml_bytes row = {rows.data + at[i], (i + 1 < n ? at[i + 1] : rows.len) - at[i]};
        v[i].kind = entries[i][0] == '+' ? PML_ENTRY_ADD : PML_ENTRY_DELETE;
        v[i].partition = row;
        v[i].total_buckets = 2;
        v[i].file = (pml_data_file){.name = entries[i] + 1, .min_key = row, .max_key = row, .file_source = PML_FILE_SOURCE_APPEND};
        v[i].file.extra_files.present = true;
        v[i].file.key_stats = v[i].file.value_stats = (pml_simple_stats){row, row, false, 0, NULL};
    }
    char manifest[40], *list = f->lists[f->n_lists];
    (void)snprintf(list, sizeof f->lists[0], "list-%d", f->n_lists);
    (void)snprintf(manifest, sizeof manifest, "manifest-%d", f->n_lists++);
    char *dir = pml_path__join(env, f->table->path, "manifest");
    must_ok(pml_manifest__encode(&bytes, &len, env, v, n, "null", 0, &err), &err);
    put_file(f, dir, manifest, bytes, len);
    pml_env__free(env, bytes);
    pml_manifest_meta meta = {.name = manifest, .size_bytes = (int64_t)len};
    meta.partition_stats = (pml_simple_stats){v[0].partition, v[0].partition, false, 0, NULL};
    must_ok(pml_manifest_list__encode(&bytes, &len, env, &meta, n == 0 ? 0 : 1, "null", 0, &err), &err);
    put_file(f, dir, list, bytes, len);
    pml_env__free(env, bytes);
    pml_env__free(env, dir);
    pml_buf__clear(&rows);
    return list;
}

static void put_snapshot(fixture *f, pml_commit_kind kind, const char *base, const char *delta, const char *property)
{
    char name[40];
    pml_buf json;
    const pml_option o = {PML_PROGRESS_PROPERTY, property};
    const pml_snapshot s = {.version = 3,
                            .id = ++f->latest,
                            .base_manifest_list = base,
                            .delta_manifest_list = delta,
                            .commit_user = "java",
                            .commit_identifier = f->latest,
                            .commit_kind = kind,
                            .time_ms = 1767225600000 + f->latest,
                            .n_properties = property == NULL ? 0 : 1,
                            .properties = (pml_option *)&o};
    pml_buf__init(&json, f->t->env, 1 << 16);
    must_ok(pml_snapshot__write(&json, &s), NULL);
    char *dir = pml_path__join(f->t->env, f->table->branch_root, "snapshot");
    (void)snprintf(name, sizeof name, "snapshot-%lld", (long long)f->latest);
    put_file(f, dir, name, json.data, json.len);
    pml_env__free(f->t->env, dir);
    pml_buf__clear(&json);
}

/* Entries (q,1): 7, (p,0): 5 with a lineage, (p,1): 0, reset. Owned. */
static char *put_progress(fixture *f)
{
    pml_error err = PML_ERROR_INIT;
    static const char *const p[] = {"p"}, *const q[] = {"q"};
    const pml_pb_texts pbs[] = {{1, q, 1}, {1, p, 1}, {1, p, 0}};
    pml_progress map;
    pml_progress_entry *e[3];
    char *value;
    must_ok(pml_progress__init(&map, f->t->env, 1, f->table->schema->partition_keys, &err), &err);
    for (size_t i = 0; i < 3; i++)
        must_ok(pml_progress__add(&e[0], &map, &pbs[i], &err), &err);
    map.v[0].end = 7;
    map.v[1].reset = (pml_optional_int64){true, 1};
    map.v[2].end = 5;
    assert_true(pml_lineage__parse(&map.v[2].lineage, "00112233445566778899aabbccddeeff"));
    must_ok(pml_progress__write_file(&value, &map, f->t->env, f->table->branch_root, 0, &err), &err);
    pml_progress__clear(&map);
    return value;
}

static int64_t find(const pml_rt_offsets *o, const char *dt, int32_t bucket)
{
    pml_rt_pb pb = PML_RT_PB_INIT;
    pb.n_partition = 1;
    pb.partition = &dt;
    pb.bucket = bucket;
    return pml_rt_offsets_find(o, &pb);
}

static pml_rt_offsets *must_load(fixture *f, int64_t id)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o;
    must_ok(pml_rt_offsets_load(&o, f->table, id, &err), &err);
    return o;
}

static void must_find(fixture *f, int64_t id, int64_t p0, int64_t q1)
{
    pml_rt_offsets *o = must_load(f, id);
    assert_int_equal(find(o, "p", 0), p0);
    assert_int_equal(find(o, "q", 1), q1);
    pml_rt_offsets_free(o);
}

/* A commit of ours with files p1, p2, q3. */
static void put_first_commit(fixture *f)
{
    const char *base = put_list(f, NULL, 0), *delta = put_list(f, (const char *[]){"+p1", "+p2", "+q3"}, 3);
    char *value = put_progress(f);
    put_snapshot(f, PML_COMMIT_APPEND, base, delta, value);
    pml_env__free(f->t->env, value);
}

/* ---- tests ---- */

static void offsets_of_a_table_without_snapshots_are_empty(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    pml_rt_offsets *o = must_load(&f, -1);
    assert_int_equal(pml_rt_offsets_count(o), 0);
    assert_int_equal(pml_rt_offsets_all_lost(o), 0);
    assert_int_equal(find(o, "p", 0), -1);
    pml_rt_offsets_free(o);
    pml_rt_offsets_free(NULL);
    fixture_close(&f);
}

static void offsets_are_found_and_listed(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    put_first_commit(&f);
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o = must_load(&f, -1);
    pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
    pml_rt_pb pb = PML_RT_PB_INIT;
    assert_int_equal(find(o, "p", 0), 5);
    assert_int_equal(find(o, "p", 1), 0);
    assert_int_equal(find(o, "q", 1), 7);
    assert_int_equal(find(o, "q", 0), -1);
    assert_int_equal(find(o, "q", -1), -1);
    assert_int_equal(find(o, NULL, 0), -1);
    assert_int_equal(pml_rt_offsets_find(o, &pb), -1);
    assert_int_equal(pml_rt_offsets_find(o, NULL), -1);
    assert_int_equal(pml_rt_offsets_count(o), 3);
    must_ok(pml_rt_offsets_get(&info, o, 0, &err), &err);
    assert_true(info.tiered == 5 && info.pb->bucket == 0 && info.pb->n_partition == 1 && !info.lost && !info.reset);
    assert_string_equal(info.pb->partition[0], "p");
    assert_string_equal(info.lineage, "00112233445566778899aabbccddeeff");
    must_ok(pml_rt_offsets_get(&info, o, 1, &err), &err);
    assert_true(info.pb->bucket == 1 && info.reset == 1 && info.lineage[0] == '\0');
    must_ok(pml_rt_offsets_get(&info, o, 2, &err), &err);
    assert_string_equal(info.pb->partition[0], "q");
    must_fail_with(PML_E_INVAL, pml_rt_offsets_get(&info, o, 3, &err), &err);
    info.struct_size = 4;
    must_fail_with(PML_E_INVAL, pml_rt_offsets_get(&info, o, 0, &err), &err);
    pml_rt_offsets_free(o);
    fixture_close(&f);
}

static void offsets_of_bad_snapshot_ids_are_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    put_first_commit(&f);
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o;
    must_fail_with(PML_E_INVAL, pml_rt_offsets_load(&o, f.table, 0, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rt_offsets_load(&o, f.table, -2, &err), &err);
    must_fail_with(PML_E_NOT_FOUND, pml_rt_offsets_load(&o, f.table, 2, &err), &err);
    assert_null(o);
    fixture_close(&f);
}

static void offsets_survive_foreign_commits_as_far_as_the_manifests_tell(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    put_first_commit(&f);
    /* 2: an append. 3: overwrite of p. 4: all of q deleted. */
    const char *base = put_list(&f, (const char *[]){"+p1", "+p2", "+q3"}, 3), *empty = put_list(&f, NULL, 0);
    put_snapshot(&f, PML_COMMIT_APPEND, base, put_list(&f, (const char *[]){"+p4"}, 1), NULL);
    base = put_list(&f, (const char *[]){"+p1", "+p2", "+q3", "+p4"}, 4);
    put_snapshot(&f, PML_COMMIT_OVERWRITE, base, put_list(&f, (const char *[]){"-p1", "-p2", "-p4", "+p5"}, 4), NULL);
    base = put_list(&f, (const char *[]){"+q3", "+p5"}, 2);
    put_snapshot(&f, PML_COMMIT_OVERWRITE, base, put_list(&f, (const char *[]){"-q3"}, 1), NULL);
    put_snapshot(&f, PML_COMMIT_COMPACT, put_list(&f, (const char *[]){"+p5"}, 1), empty, NULL);
    must_find(&f, 1, 5, 7);
    must_find(&f, 2, 5, 7);
    must_find(&f, 3, -1, 7);
    must_find(&f, 4, -1, 0);
    must_find(&f, -1, -1, 0);
    pml_rt_offsets *o = must_load(&f, 5);
    pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_offsets_get(&info, o, 0, &err), &err);
    assert_true(info.lost == 1 && info.tiered == 5);
    must_ok(pml_rt_offsets_get(&info, o, 2, &err), &err);
    assert_true(info.lost == 0 && info.reset == 1 && strlen(info.lineage) == 32);
    pml_rt_offsets_free(o);
    fixture_close(&f);
}

static void offsets_with_expired_anchor_are_all_lost(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    put_first_commit(&f);
    const char *empty = put_list(&f, NULL, 0);
    put_snapshot(&f, PML_COMMIT_APPEND, empty, empty, NULL);
    put_snapshot(&f, PML_COMMIT_APPEND, empty, empty, NULL);
    assert_int_equal(remove(test_path(f.t, "t/snapshot/snapshot-1")), 0);
    pml_rt_offsets *o = must_load(&f, -1);
    assert_int_equal(pml_rt_offsets_all_lost(o), 1);
    assert_int_equal(find(o, "p", 0), -1);
    pml_rt_offsets_free(o);
    fixture_close(&f);
}

static void offsets_with_missing_manifest_of_an_overwrite_are_all_lost(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    put_first_commit(&f);
    const char *base = put_list(&f, (const char *[]){"+p1", "+p2", "+q3"}, 3);
    put_snapshot(&f, PML_COMMIT_OVERWRITE, base, "list-gone", NULL);
    pml_rt_offsets *o = must_load(&f, -1);
    assert_int_equal(pml_rt_offsets_all_lost(o), 1);
    pml_rt_offsets_free(o);
    fixture_close(&f);
}

static void offsets_of_a_moved_table_are_found(void **state)
{
    (void)state;
    fixture f;
    pml_error err = PML_ERROR_INIT;
    fixture_open(&f);
    put_first_commit(&f);
    pml_table_release(f.table);
    assert_int_equal(rename(test_path(f.t, "t"), test_path(f.t, "moved")), 0);
    must_ok(pml_table_open(&f.table, f.t->env, test_path(f.t, "moved"), NULL, &err), &err);
    must_find(&f, -1, 5, 7);
    fixture_close(&f);
}

static void offsets_of_a_branch_are_its_own(void **state)
{
    (void)state;
    fixture f;
    pml_error err = PML_ERROR_INIT;
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    fixture_open(&f);
    size_t len;
    uint8_t *schema = test_read_file(test_path(f.t, "t/schema/schema-0"), &len);
    put_file(&f, test_path(f.t, "t/branch/branch-b/schema"), "schema-0", schema, len);
    free(schema);
    pml_table *main_one = f.table;
    o.branch = "b";
    must_ok(pml_table_open(&f.table, f.t->env, test_path(f.t, "t"), &o, &err), &err);
    put_first_commit(&f);
    must_find(&f, -1, 5, 7);
    pml_table *branch = f.table;
    f.table = main_one;
    must_find(&f, -1, -1, -1);
    f.table = branch;
    pml_table_release(main_one);
    fixture_close(&f);
}

static void offsets_without_memory_fail_cleanly(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    put_first_commit(&f);
    const char *base = put_list(&f, (const char *[]){"+p1", "+p2", "+q3"}, 3);
    put_snapshot(&f, PML_COMMIT_OVERWRITE, base, put_list(&f, (const char *[]){"-q3"}, 1), NULL);
    const long long before = atomic_load(&f.t->count);
    must_find(&f, -1, 5, 0);
    const long long all = atomic_load(&f.t->count) - before;
    assert_true(all > 20);
    for (long long n = 1; n <= all; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_rt_offsets *o;
        test_env_fail_at(f.t, n);
        int rc = pml_rt_offsets_load(&o, f.table, -1, &err);
        test_env_fail_at(f.t, 0);
        if (rc != PML_OK) /* OK: the failure only cost a hint */
            must_fail_with(PML_E_NOMEM, rc, &err);
        else
            assert_int_equal(find(o, "q", 1), 0);
        pml_rt_offsets_free(o);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_of_a_table_without_snapshots_are_empty),
        cmocka_unit_test(offsets_are_found_and_listed),
        cmocka_unit_test(offsets_of_bad_snapshot_ids_are_refused),
        cmocka_unit_test(offsets_survive_foreign_commits_as_far_as_the_manifests_tell),
        cmocka_unit_test(offsets_with_expired_anchor_are_all_lost),
        cmocka_unit_test(offsets_with_missing_manifest_of_an_overwrite_are_all_lost),
        cmocka_unit_test(offsets_of_a_moved_table_are_found),
        cmocka_unit_test(offsets_of_a_branch_are_its_own),
        cmocka_unit_test(offsets_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
