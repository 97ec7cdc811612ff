/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_json.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "meta/snapshot.h"

static test_env *t;
static pml_arena arena;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_arena__init(&arena, t->env);
    pml_error__clear(&err);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_fail_at(t, 0);
    pml_arena__clear(&arena);
    test_env_close(t);
    return 0;
}

static int parse(pml_snapshot *out, const char *text)
{
    return pml_snapshot__parse(out, &arena, test_text(text), "snapshot-7", &err);
}

static void load(pml_snapshot *out, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "meta/data/snapshots/%s.json", name);
    pml_bytes file = test_data(path);
    must_ok(pml_snapshot__parse(out, &arena, file, name, &err), &err);
    free((void *)(uintptr_t)file.ptr);
}

static void snapshot_of_java_is_written_back_byte_for_byte(void **state)
{
    (void)state;
    static const char *const names[] = {"append",          "watermark_properties", "statistics",
                                        "changelog_index", "deletion_vectors",     "overwrite",
                                        "compact",         "row_tracking"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        pml_snapshot s;
        pml_buf b;
        load(&s, names[i]);
        pml_buf__init(&b, t->env, 1 << 20);
        must_ok(pml_snapshot__write(&b, &s), NULL);
        (void)snprintf(path, sizeof path, "meta/data/snapshots/%s.json", names[i]);
        pml_bytes file = test_data(path);
        test_must_hold(&b, file, names[i]);
        free((void *)(uintptr_t)file.ptr);
        pml_buf__clear(&b);
    }
}

static void snapshot_members_have_the_values_of_the_file(void **state)
{
    (void)state;
    pml_snapshot s;
    load(&s, "watermark_properties");
    assert_int_equal(s.id, 2);
    assert_string_equal(s.base_manifest_list, "manifest-list-0afad99d-1fd6-4608-8792-5ee0ad529abe-0");
    assert_int_equal(s.base_manifest_list_size.v, 1110);
    assert_string_equal(s.commit_user, "user-1");
    assert_int_equal(s.commit_kind, PML_COMMIT_APPEND);
    assert_true(s.watermark.present && s.watermark.v == 1700000001000);
    assert_string_equal(pml_snapshot__property(&s, "source-offset"), "p0:10");
    assert_null(pml_snapshot__property(&s, "other"));
    assert_false(s.changelog_record_count.present);
    load(&s, "statistics");
    assert_int_equal(s.commit_kind, PML_COMMIT_ANALYZE);
    assert_true(s.commit_identifier == INT64_MAX);
    load(&s, "changelog_index");
    assert_int_equal(s.delta_record_count, -1);
    assert_non_null(s.index_manifest);
}

static void snapshot_of_older_releases_is_read(void **state)
{
    (void)state;
    static const char *const names[] = {"old_090", "old_111", "old_131"};
    for (size_t i = 0; i < 3; i++) {
        pml_snapshot s;
        load(&s, names[i]);
        assert_int_equal(s.total_record_count, 10);
        assert_null(s.changelog_manifest_list); /* written as null */
        assert_int_equal(s.base_manifest_list_size.present, i > 0);
        assert_int_equal(s.next_row_id.present, i > 1);
    }
}

#define HEAD(version) \
    "{\"version\":" version ",\"id\":7,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\","
#define TAIL                                                                                                         \
    "\"commitUser\":\"u\",\"commitIdentifier\":1,\"commitKind\":\"APPEND\",\"timeMillis\":5,\"totalRecordCount\":1," \
    "\"deltaRecordCount\":1"

static void snapshot_unknown_members_are_ignored_and_newer_ones_kept(void **state)
{
    (void)state;
    pml_snapshot s;
    pml_buf b;
    must_ok(parse(&s, HEAD("3") TAIL
                  ",\"future\":{\"x\":[1]},\"uuid\":\"U\",\"writerVersion\":\"w\",\"operation\":\"WRITE\"}"),
            &err);
    assert_string_equal(s.uuid, "U");
    assert_string_equal(s.operation, "WRITE");
    pml_buf__init(&b, t->env, 4096);
    must_ok(pml_snapshot__write(&b, &s), NULL);
    must_ok(pml_buf__append_byte(&b, 0), NULL);
    assert_non_null(strstr((char *)b.data, "\"version\" : 3,\n  \"uuid\" : \"U\",\n  \"id\" : 7"));
    pml_buf__clear(&b);
}

static void snapshot_watermark_of_no_meaning_is_absent(void **state)
{
    (void)state;
    pml_snapshot s;
    must_ok(parse(&s, HEAD("3") TAIL ",\"watermark\":-9223372036854775808}"), &err);
    assert_false(s.watermark.present);
    must_ok(parse(&s, HEAD("3") TAIL ",\"watermark\":-5}"), &err);
    assert_true(s.watermark.present);
}

static void snapshot_of_another_version_is_unsupported(void **state)
{
    (void)state;
    static const char *const texts[] = {HEAD("2") TAIL "}", HEAD("4") TAIL "}", HEAD("null") TAIL "}"};
    pml_snapshot s;
    for (size_t i = 0; i < 3; i++)
        must_fail_with(PML_E_UNSUPPORTED, parse(&s, texts[i]), &err);
    assert_non_null(strstr(err.message, "snapshot-7"));
}

static void snapshot_that_lies_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD("3") "}",
        "[]",
        HEAD("3") TAIL,
        HEAD("3") "\"commitUser\":\"u\"}",
        HEAD("3") TAIL ",\"indexManifest\":\"../../etc/passwd\"}",
        HEAD("3") TAIL ",\"indexManifest\":\"\"}",
        HEAD("3") TAIL ",\"indexManifest\":\"..\"}",
        HEAD("3") TAIL ",\"statistics\":\"a/b\"}",
        HEAD("3") TAIL ",\"properties\":[]}",
        HEAD("3") TAIL ",\"properties\":{\"a\":1}}",
        HEAD("3") TAIL ",\"baseManifestListSize\":-1}",
        HEAD("3") TAIL ",\"nextRowId\":1.5}",
        HEAD("3") TAIL ",\"id\":8}",
        HEAD("3") TAIL ",\"watermark\":9223372036854775808}",
        HEAD("\"3\"") TAIL "}",
    };
    pml_snapshot s;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        must_fail_with(PML_E_CORRUPT, parse(&s, texts[i]), &err);
        assert_int_equal(s.id, 0);
    }
}

static void snapshot_with_changed_bytes_never_crashes(void **state)
{
    (void)state;
    pml_bytes file = test_data("meta/data/snapshots/watermark_properties.json");
    uint8_t *copy = malloc(file.len);
    t->random_state = test_seed();
    for (int i = 0; i < 3000; i++) {
        pml_snapshot s;
        pml_arena fresh;
        pml_arena__init(&fresh, t->env);
        memcpy(copy, file.ptr, file.len);
        for (uint64_t n = test_random(t) % 4; n-- > 0;)
            copy[test_random(t) % file.len] = (uint8_t)test_random(t);
        size_t len = test_random(t) % 4 == 0 ? test_random(t) % file.len : file.len;
        int rc = pml_snapshot__parse(&s, &fresh, (pml_bytes){copy, len}, "x", &err);
        assert_true(rc == PML_OK || rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED);
        pml_arena__clear(&fresh);
    }
    free(copy);
    free((void *)(uintptr_t)file.ptr);
}

static void snapshot_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    pml_bytes file = test_data("meta/data/snapshots/watermark_properties.json");
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc == PML_E_NOMEM; n++) {
        pml_snapshot s;
        pml_arena fresh;
        pml_buf b;
        pml_arena__init(&fresh, t->env);
        pml_buf__init(&b, t->env, 1 << 20);
        test_env_fail_at(t, n);
        rc = pml_snapshot__parse(&s, &fresh, file, "x", &err);
        if (rc == PML_OK)
            rc = pml_snapshot__write(&b, &s);
        test_env_fail_at(t, 0);
        pml_buf__clear(&b);
        pml_arena__clear(&fresh);
    }
    must_ok(rc, &err);
    free((void *)(uintptr_t)file.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(snapshot_of_java_is_written_back_byte_for_byte, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_members_have_the_values_of_the_file, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_of_older_releases_is_read, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_unknown_members_are_ignored_and_newer_ones_kept, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_watermark_of_no_meaning_is_absent, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_of_another_version_is_unsupported, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_that_lies_is_refused, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_with_changed_bytes_never_crashes, given, closed),
        cmocka_unit_test_setup_teardown(snapshot_without_memory_leaves_nothing_behind, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
