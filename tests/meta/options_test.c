/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/options.h"
#include "meta/options_table.h"
#include "util/number.h"

static test_env *t;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_error__clear(&err);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

static pml_table_schema *load(const char *path)
{
    pml_table_schema *s;
    pml_bytes file = test_data(path);
    must_ok(pml_table_schema__parse(&s, t->env, file, path, &err), &err);
    free((void *)(uintptr_t)file.ptr);
    return s;
}

/* A table of columns a INT, b STRING, c DOUBLE, d ARRAY<INT>. `more` are further members of the request. */
static pml_table_schema *table(const char *options, const char *more)
{
    pml_table_schema *s;
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"fields\":[{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\",\"type\":\"STRING\"},{\"name\":"
                   "\"c\",\"type\":\"DOUBLE\"},"
                   "{\"name\":\"d\",\"type\":\"ARRAY<INT>\"}],\"options\":{%s}%s}",
                   options, more);
    must_ok(pml_table_schema__parse_request(&s, t->env, test_text(text), &err), &err);
    return s;
}

static void must_say(const char *words)
{
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

/* ---- the table of options ---- */

static void option_table_is_complete_and_consistent(void **state)
{
    (void)state;
    for (size_t i = 0; i < pml_option_rules_count; i++) {
        const pml_option_rule *r = &pml_option_rules[i];
        char key[128];
        (void)snprintf(key, sizeof key, "%s", r->key);
        char *star = strchr(key, '*');
        if (star != NULL)
            *star = '?';
        if (pml_option_rule__find(key) != r)
            fail_msg("%s is hidden by an earlier row", r->key);
        if (r->fallback != NULL)
            must_ok(pml_option__check_value(r, r->key, r->fallback, "t", &err), &err);
        bool refused = r->treatment == PML_OPTION_REFUSED || r->treatment == PML_OPTION_REFUSED_WRITE;
        assert_true(refused == (r->needs != NULL));
        assert_true((r->treatment == PML_OPTION_IGNORED || refused) == (r->reason != NULL));
        assert_true(!refused || r->values != NULL);
        assert_true(!refused || r->fallback == NULL || pml_option__is_one_of(r->values, r->fallback));
        assert_true(r->kind != PML_OPTION_ENUM || r->values != NULL);
    }
}

static bool same_value(const pml_option_rule *r, const char *ours, const char *java)
{
    int64_t a = 0, b = 1;
    if (strcasecmp(ours, java) == 0)
        return true;
    if (r->kind == PML_OPTION_SIZE)
        return pml_number__size(&a, ours, strlen(ours)) && pml_number__size(&b, java, strlen(java)) && a == b;
    if (r->kind == PML_OPTION_DURATION && strcmp(java, "PT0.01S") == 0)
        java = "10 ms"; /* fractions are not for our parser */
    if (r->kind == PML_OPTION_DURATION)
        return pml_number__duration_ms(&a, ours, strlen(ours)) && pml_number__duration_ms(&b, java, strlen(java)) &&
               a == b;
    return false;
}

/* key|default|type of every option that Java 1.4.2 declares. */
static void option_table_knows_every_option_of_java_and_its_default(void **state)
{
    (void)state;
    pml_bytes file = test_data("meta/data/java_options_1.4.2.txt");
    char *line = (char *)(uintptr_t)file.ptr;
    int n = 0;
    for (char *next; *line != '\0'; line = next, n++) {
        next = strchr(line, '\n') + 1;
        char *bar = strchr(line, '|'), *end = strchr(bar + 1, '|');
        *bar = *end = '\0';
        const pml_option_rule *r = pml_option_rule__find(line);
        if (r == NULL)
            fail_msg("no row for %s", line);
        bool honoured = r->treatment == PML_OPTION_HONOURED || r->treatment == PML_OPTION_WRITE_ONLY;
        if (honoured && strcmp(bar + 1, "null") != 0 && r->fallback != NULL && !same_value(r, r->fallback, bar + 1))
            fail_msg("%s has default %s, in Java %s", line, r->fallback, bar + 1);
    }
    assert_int_equal(n, 283);
    free((void *)(uintptr_t)file.ptr);
}

/* ---- the corpus: what is refused when a table is opened ---- */

static bool message_names_one_of(const json_t *needs)
{
    size_t i;
    json_t *v;
    json_array_foreach((json_t *)(uintptr_t)needs, i, v)
    {
        if (strncmp(err.message, "needs ", 6) == 0 && strstr(err.message, json_string_value(v)) != NULL)
            return true;
    }
    return false;
}

static void corpus_tables_are_accepted_or_refused_by_name(void **state)
{
    (void)state;
    json_error_t e;
    json_t *all = json_load_file(PML_TEST_SOURCE "/meta/data/needs.json", 0, &e), *needs;
    const char *name;
    int accepted = 0, refused = 0;
    assert_non_null(all);
    json_object_foreach(all, name, needs)
    {
        char path[256];
        pml_table_options o;
        (void)snprintf(path, sizeof path, "meta/data/schemas/%s.json", name);
        pml_table_schema *s = load(path);
        int rc = pml_table_options__check_supported(s, NULL, 0, false, name, &err);
        if (rc == PML_OK) {
            must_ok(pml_table_options__parse(&o, s, NULL, 0, false, name, &err), &err);
            accepted++;
        } else {
            if (rc != PML_E_UNSUPPORTED || !message_names_one_of(needs))
                fail_msg("%s: %s '%s'", name, pml_error_name(rc), err.message);
            refused++;
        }
        pml_table_schema__release(s);
    }
    json_decref(all);
    /* Whether those that are accepted are also read rightly, or refused for what is in their files: tests/tables/corpus-check. */
    assert_int_equal(accepted + refused, 250);
    assert_true(accepted > 150);
}

static void must_need(const char *options, const char *more, bool for_write, const char *words)
{
    pml_table_schema *s = table(options, more);
    must_fail_with(PML_E_UNSUPPORTED, pml_table_options__check_supported(s, NULL, 0, for_write, "db.t", &err), &err);
    must_say(words);
    if (strstr(words, "needs") == words && strncmp(err.message, words, strlen(words)) != 0)
        fail_msg("'%s' does not begin with '%s'", err.message, words);
    must_say("db.t");
    pml_table_schema__release(s);
}

static void unsupported_features_are_named(void **state)
{
    (void)state;
    must_need("\"bucket\":\"-2\"", ",\"primaryKeys\":[\"a\"]", true, "needs bucket:postpone: option bucket of db.t is '-2'");
    must_need("\"bucket\":\"1\",\"changelog-producer\":\"Input\"", ",\"primaryKeys\":[\"a\"]", true, "needs changelog-producer:input");
    must_need("\"bucket\":\"1\",\"file.format.per.level\":\"0:orc\"", ",\"primaryKeys\":[\"a\"]", true, "needs file.format.per.level");
    must_need("\"bucket\":\"1\",\"file.compression.per.level\":\"0:lz4\"", ",\"primaryKeys\":[\"a\"]", true,
              "needs file.compression.per.level");
    must_need("\"bucket\":\"1\",\"metadata.stats-mode.per.level\":\"0:none\"", ",\"primaryKeys\":[\"a\"]", true,
              "needs metadata.stats-mode.per.level");
    must_need("\"bucket\":\"1\",\"file.format\":\"orc\"", ",\"primaryKeys\":[\"a\"]", true, "needs format:orc");
    must_need("\"sequence.snapshot-ordering\":\"true\"", ",\"primaryKeys\":[\"a\"]", false, "needs sequence.snapshot-ordering");
    must_need("\"postpone.merge-on-read\":\"true\"", ",\"primaryKeys\":[\"a\"]", false, "needs bucket:postpone");
    must_need("\"pk-clustering-override\":\"true\"", ",\"primaryKeys\":[\"a\"]", false, "needs pk-clustering-override");
    must_need("\"bucket\":\"-2\"", ",\"primaryKeys\":[\"a\"]", true, "needs bucket:postpone: option bucket of db.t is '-2'");
    must_need("\"file.format\":\"ORC\"", "", true, "needs format:orc: option file.format of db.t is 'ORC'");
    must_need("\"file.format\":\"Avro\"", "", true, "needs format:avro: option file.format of db.t is 'Avro'");
    must_need("\"deletion-vectors.enabled\":\"true\"", "", true, "needs deletion-vectors");
    must_need("\"row-tracking.enabled\":\"TRUE\"", "", true, "needs row-tracking");
    must_need("\"data-evolution.enabled\":\"true\"", "", true, "needs data-evolution");
    must_need("\"manifest.format\":\"orc\"", "", true, "needs manifest-format:orc");
    must_need("\"query-auth.enabled\":\"true\"", "", false, "needs query-auth");
    must_need("\"type\":\"format-table\"", "", false, "needs table-type:format-table");
    must_need("\"bucket\":\"2\",\"bucket-key\":\"a\",\"bucket-function.type\":\"hive\"", "", false,
              "needs bucket-function:hive");
    must_need("\"scan.fallback-delta-branch\":\"x\"", "", false, "needs chain-table");
    must_need("\"chain-table.enabled\":\"true\"", "", false, "needs chain-table");
    must_need("", ",\"partitionKeys\":[\"c\"]", true, "needs partition-type:DOUBLE");
    must_need("\"data-file.external-paths\":\"s3://x\"", "", true, "needs external-paths");
    must_need("\"commit.strict-mode.last-safe-snapshot\":\"3\"", "", true, "needs commit.strict-mode");
}

static void options_of_tables_with_a_primary_key_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool lookup, skips_level0;
    } cases[] = {
        {"", false, false},
        {"\"changelog-producer\":\"lookup\"", true, false},
        {"\"changelog-producer\":\"FULL-COMPACTION\"", false, false},
        {"\"force-lookup\":\"true\"", true, false},
        {"\"merge-engine\":\"first-row\",\"changelog-producer\":\"lookup\"", false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_table_options o;
        pml_table_schema *s = table(cases[i].options, ",\"primaryKeys\":[\"a\"]");
        must_ok(pml_table_options__parse(&o, s, NULL, 0, false, "t", &err), &err);
        assert_int_equal(pml_table_options__is_lookup(&o), cases[i].lookup);
        assert_int_equal(pml_table_options__skips_level0(&o), cases[i].skips_level0);
        pml_table_schema__release(s);
    }
}

static void features_that_only_writing_needs_do_not_stop_a_reader(void **state)
{
    (void)state;
    static const char *const options[] = {"\"data-file.external-paths\":\"s3://x\"",
                                          "\"commit.strict-mode.last-safe-snapshot\":\"3\"", "\"file.format\":\"AVRO\"", ""};
    for (size_t i = 0; i < 4; i++) {
        pml_table_schema *s = table(options[i], i == 3 ? ",\"partitionKeys\":[\"c\"]" : "");
        must_ok(pml_table_options__check_supported(s, NULL, 0, false, "t", &err), &err);
        pml_table_schema__release(s);
    }
}

/* ---- values ---- */

static void options_have_the_defaults_of_java(void **state)
{
    (void)state;
    pml_table_options o;
    pml_table_schema *s = table("", "");
    must_ok(pml_table_options__parse(&o, s, NULL, 0, true, "t", &err), &err);
    assert_int_equal(o.bucket, -1);
    assert_true(o.append_ordered && !o.write_only);
    assert_string_equal(o.file_format, "parquet");
    assert_string_equal(o.file_compression, "zstd");
    assert_int_equal(o.zstd_level, 1);
    assert_int_equal(o.target_file_size, 256 << 20);
    assert_true(o.target_file_rows == INT64_MAX);
    assert_int_equal(o.file_block_size, 128 << 20);
    assert_int_equal(o.parquet_page_size, 1 << 20);
    assert_int_equal(o.read_batch_rows, 1024);
    assert_true(o.parquet_dictionary);
    assert_string_equal(o.data_file_prefix, "data-");
    assert_null(o.data_path_directory);
    assert_string_equal(o.manifest_compression, "zstandard");
    assert_int_equal(o.manifest_target_size, 8 << 20);
    assert_int_equal(o.manifest_full_threshold, 16 << 20);
    assert_int_equal(o.manifest_merge_min_count, 30);
    assert_true(o.stats_dense);
    assert_int_equal(o.stats_keep_first, -1);
    assert_string_equal(o.partition_default_name, "__DEFAULT_PARTITION__");
    assert_true(o.partition_legacy_name);
    assert_int_equal(o.commit_max_retries, 10);
    assert_int_equal(o.commit_timeout_ms, -1);
    assert_int_equal(o.commit_min_wait_ms, 10);
    assert_int_equal(o.commit_max_wait_ms, 10000);
    assert_true(o.ignore_empty_commit && o.dynamic_partition_overwrite && !o.commit_force_create);
    assert_int_equal(o.split_target_size, 128 << 20);
    assert_int_equal(o.split_open_cost, 4 << 20);
    assert_string_equal(o.branch, "main");
    assert_int_equal(o.scan_snapshot_id, -1);
    assert_false(o.realtime_enabled);
    assert_string_equal(o.rt_store, "memory");
    assert_int_equal(o.rt_validate_input, 1);
    assert_int_equal(o.rt_verify_commit, PML_RT_VERIFY_HASH);
    assert_false(o.rt_verify_order);
    assert_true(o.rt_auto_advance);
    assert_int_equal(o.rt_foreign_overwrite, PML_RT_FOREIGN_ASK);
    assert_int_equal(o.rt_progress_max_walk, 1000);
    assert_int_equal(o.rt_plan_retries, 3);
    assert_int_equal(o.rt_read_view_ttl_ms, 5 * 60 * 1000);
    pml_table_schema__release(s);
}

static void options_of_the_table_and_overrides_are_taken(void **state)
{
    (void)state;
    const pml_option over[] = {{"target-file-size", "1 mb"},
                               {"scan.snapshot-id", "9223372036854775807"},
                               {"realtime.verify.commit", "RANGE"},
                               {"realtime.validate-input", "full"},
                               {"realtime.store", "fluss"},
                               {"realtime.offset-mode", "external"},
                               {"realtime.foreign-overwrite", "reset"},
                               {"target-file-size", "2 mb"}};
    pml_table_options o;
    pml_table_schema *s = table(
        "\"bucket\":\"4\",\"bucket-key\":\"a\",\"bucket-function.type\":\"mod\",\"target-file-size\":\"8 kb\","
        "\"file.compression\":\"LZ4\",\"parquet.compression.codec.zstd.level\":\"7\",\"file.block-size\":\"16 kb\","
        "\"manifest.compression\":\"snappy\",\"data-file.path-directory\":\"data\",\"parquet.page.size\":\"2048\","
        "\"commit.timeout\":\"5 s\"",
        "");
    must_ok(pml_table_options__parse(&o, s, over, 8, true, "t", &err), &err);
    assert_int_equal(o.bucket, 4);
    assert_int_equal(o.bucket_function, PML_BUCKET_FUNCTION_MOD);
    assert_int_equal(o.target_file_size, 2 << 20);
    assert_string_equal(o.file_compression, "lz4");
    assert_int_equal(o.zstd_level, 7);
    assert_int_equal(o.file_block_size, 16 << 10);
    assert_int_equal(o.parquet_page_size, 2048);
    assert_string_equal(o.manifest_compression, "snappy");
    assert_string_equal(o.data_path_directory, "data");
    assert_int_equal(o.commit_timeout_ms, 5000);
    assert_true(o.scan_snapshot_id == INT64_MAX);
    assert_int_equal(o.rt_verify_commit, PML_RT_VERIFY_RANGE);
    assert_int_equal(o.rt_validate_input, 2);
    assert_true(o.rt_verify_order); /* a store that is not ours */
    assert_true(o.rt_offset_external);
    assert_int_equal(o.rt_foreign_overwrite, PML_RT_FOREIGN_RESET);
    pml_table_schema__release(s);
}

static void must_refuse_override(const char *key, const char *value, int code, const char *words)
{
    const pml_option over = {key, value};
    pml_table_options o;
    pml_table_schema *s = table("", "");
    must_fail_with(code, pml_table_options__parse(&o, s, &over, 1, true, "db.t", &err), &err);
    must_say(words);
    must_say(key);
    must_say(value);
    assert_int_equal(err.place, PML_PLACE_OPTION);
    pml_table_schema__release(s);
}

static void option_value_that_is_wrong_is_named_with_option_and_table(void **state)
{
    (void)state;
    must_refuse_override("target-file-size", "much", PML_E_INVAL,
                         "option target-file-size of db.t is 'much', expected a size");
    must_refuse_override("target-file-size", "0", PML_E_INVAL, "at least");
    must_refuse_override("commit.timeout", "soon", PML_E_INVAL, "expected a duration");
    must_refuse_override("write-only", "yes", PML_E_INVAL, "expected true or false");
    must_refuse_override("commit.max-retries", "99999999999", PML_E_INVAL, "expected a whole number");
    must_refuse_override("bucket", "0", PML_E_INVAL, "must be -1 or a positive number");
    must_refuse_override("file.compression", "lzo", PML_E_INVAL, "expected none|");
    must_refuse_override("realtime.verify.commit", "maybe", PML_E_INVAL, "expected hash|exact|range|off");
    must_refuse_override("realtime.offset-mode", "odd", PML_E_INVAL, "expected assigned|external");
    must_refuse_override("scan.snapshot-id", "-1", PML_E_INVAL, "at least");
    must_refuse_override("data-file.prefix", "a/b", PML_E_INVAL, "must not contain");
    must_refuse_override("data-file.path-directory", "../x", PML_E_INVAL, "below the table");
    must_refuse_override("data-file.path-directory", "x/..", PML_E_INVAL, "below the table");
    must_refuse_override("data-file.path-directory", "/x", PML_E_INVAL, "below the table");
    must_refuse_override("branch", "../../y", PML_E_INVAL, "not the name of a branch");
}

static void scan_options_that_are_not_honoured_are_refused_by_name(void **state)
{
    (void)state;
    must_refuse_override("scan.mode", "from-creation-timestamp", PML_E_UNSUPPORTED, "needs scan.mode:from-creation-timestamp");
    must_refuse_override("scan.mode", "incremental", PML_E_INVAL, "needs incremental-between or incremental-between-timestamp or");
    must_refuse_override("stream-scan-mode", "file-monitor", PML_E_UNSUPPORTED, "needs stream-scan-mode:file-monitor");
    must_refuse_override("scan.timestamp", "2024-01-31", PML_E_UNSUPPORTED, "needs scan.timestamp");
    must_refuse_override("scan.version", "5", PML_E_UNSUPPORTED, "needs scan.version");
    must_refuse_override("scan.mode", "from-snapshot", PML_E_INVAL, "needs scan.snapshot-id or scan.tag-name or scan.watermark");
    must_refuse_override("scan.mode", "from-snapshot-full", PML_E_INVAL, "needs scan.snapshot-id");
    must_refuse_override("scan.mode", "from-timestamp", PML_E_INVAL, "needs scan.timestamp-millis");
}

static void changelogs_outlive_snapshots_when_more_of_them_are_kept(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool outlive;
    } cases[] = {{"\"a\":\"b\"", false},
                 {"\"changelog.num-retained.min\":\"10\"", false},
                 {"\"changelog.num-retained.min\":\"11\"", true},
                 {"\"snapshot.num-retained.max\":\"20\",\"changelog.num-retained.max\":\"21\"", true},
                 {"\"changelog.time-retained\":\"1 h\"", false},
                 {"\"changelog.time-retained\":\"61 min\"", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_table_options o;
        pml_table_schema *s = table(cases[i].options, "");
        must_ok(pml_table_options__parse(&o, s, NULL, 0, false, "t", &err), &err);
        if (pml_table_options__keeps_changelogs(&o) != cases[i].outlive)
            fail_msg("case %zu", i);
        pml_table_schema__release(s);
    }
}

static void scan_mode_agrees_with_the_snapshot_id(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int rc;
    } cases[] = {{"default", PML_OK}, {"from-snapshot", PML_OK}, {"full", PML_E_INVAL}, {"latest", PML_E_INVAL}};
    for (size_t i = 0; i < 4; i++) {
        const pml_option over[] = {{"scan.mode", cases[i].mode}, {"scan.snapshot-id", "4"}};
        pml_table_options o;
        pml_table_schema *s = table("", "");
        must_fail_with(cases[i].rc, pml_table_options__parse(&o, s, over, 2, false, "t", &err), &err);
        must_ok(pml_table_options__parse(&o, s, over, i == 1 ? 0 : 1, false, "t", &err), &err);
        pml_table_schema__release(s);
    }
}

static void value_that_only_writing_needs_does_not_stop_a_reader(void **state)
{
    (void)state;
    const pml_option over[] = {
        {"file.compression", "lzo"}, {"target-file-size", "much"}, {"metadata.stats-mode", "odd"}};
    for (size_t i = 0; i < 3; i++) {
        pml_table_options o;
        pml_table_schema *s = table("", "");
        must_ok(pml_table_options__parse(&o, s, &over[i], 1, false, "t", &err), &err);
        assert_int_equal(o.target_file_size, 256 << 20);
        must_fail_with(PML_E_INVAL, pml_table_options__parse(&o, s, &over[i], 1, true, "t", &err), &err);
        pml_table_schema__release(s);
    }
}

static void must_have_mode(const pml_table_schema *s, size_t column, pml_stats_mode_kind kind, int32_t length)
{
    pml_table_options o;
    pml_stats_mode m;
    must_ok(pml_table_options__parse(&o, s, NULL, 0, true, "t", &err), &err);
    must_ok(pml_table_options__stats_mode(&m, s, &o, column, &err), &err);
    assert_int_equal(m.kind, kind);
    assert_int_equal(m.length, length);
}

static void stats_mode_is_that_of_the_column_or_the_table(void **state)
{
    (void)state;
    pml_table_schema *s = table("\"metadata.stats-keep-first-n-columns\":\"2\",\"fields.a.stats-mode\":\"full\","
                                "\"fields.d.stats-mode\":\"COUNTS\"",
                                "");
    must_have_mode(s, 0, PML_STATS_FULL, 0);
    must_have_mode(s, 1, PML_STATS_TRUNCATE, 16);
    must_have_mode(s, 2, PML_STATS_NONE, 0);
    must_have_mode(s, 3, PML_STATS_COUNTS, 0);
    pml_table_schema__release(s);
    s = table("\"metadata.stats-mode\":\"truncate(4)\"", "");
    must_have_mode(s, 3, PML_STATS_TRUNCATE, 4);
    pml_table_schema__release(s);
}

static void stats_mode_that_is_wrong_is_refused_before_anything_is_written(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "truncate", "truncate()", "truncate(0)", "truncate(x)", "truncate(4", "truncate(99999999999)", "some"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const pml_option over = {"metadata.stats-mode", bad[i]};
        pml_table_options o;
        pml_table_schema *s = table("", "");
        must_fail_with(PML_E_INVAL, pml_table_options__parse(&o, s, &over, 1, true, "t", &err), &err);
        must_say(bad[i]);
        pml_table_schema__release(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(option_table_is_complete_and_consistent, given, closed),
        cmocka_unit_test_setup_teardown(option_table_knows_every_option_of_java_and_its_default, given, closed),
        cmocka_unit_test_setup_teardown(corpus_tables_are_accepted_or_refused_by_name, given, closed),
        cmocka_unit_test_setup_teardown(unsupported_features_are_named, given, closed),
        cmocka_unit_test_setup_teardown(options_of_tables_with_a_primary_key_are_parsed, given, closed),
        cmocka_unit_test_setup_teardown(features_that_only_writing_needs_do_not_stop_a_reader, given, closed),
        cmocka_unit_test_setup_teardown(options_have_the_defaults_of_java, given, closed),
        cmocka_unit_test_setup_teardown(options_of_the_table_and_overrides_are_taken, given, closed),
        cmocka_unit_test_setup_teardown(option_value_that_is_wrong_is_named_with_option_and_table, given, closed),
        cmocka_unit_test_setup_teardown(scan_options_that_are_not_honoured_are_refused_by_name, given, closed),
        cmocka_unit_test_setup_teardown(changelogs_outlive_snapshots_when_more_of_them_are_kept, given, closed),
        cmocka_unit_test_setup_teardown(scan_mode_agrees_with_the_snapshot_id, given, closed),
        cmocka_unit_test_setup_teardown(value_that_only_writing_needs_does_not_stop_a_reader, given, closed),
        cmocka_unit_test_setup_teardown(stats_mode_is_that_of_the_column_or_the_table, given, closed),
        cmocka_unit_test_setup_teardown(stats_mode_that_is_wrong_is_refused_before_anything_is_written, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
