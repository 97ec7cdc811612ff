/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "meta/option_values.h"
#include "util/number.h"

/* ---- which member takes which option ---- */

typedef enum bind_kind { BIND_INT32, BIND_INT64, BIND_BOOL, BIND_STRING, BIND_INDEX } bind_kind;

typedef struct binding {
    const char *key;
    bind_kind kind; /* INDEX: position of the value in the rule's list, into an int or enum */
    size_t at;
    int64_t first; /* smallest number allowed */
} binding;

#define AT(member) offsetof(pml_table_options, member)

static const binding bindings[] = {
    {"bucket", BIND_INT32, AT(bucket), INT32_MIN},
    {"bucket-append-ordered", BIND_BOOL, AT(append_ordered), 0},
    {"write-only", BIND_BOOL, AT(write_only), 0},
    {"file.compression.zstd-level", BIND_INT32, AT(zstd_level), INT32_MIN},
    {"parquet.compression.codec.zstd.level", BIND_INT32, AT(zstd_level), INT32_MIN},
    {"target-file-size", BIND_INT64, AT(target_file_size), 1},
    {"target-file-row-num", BIND_INT64, AT(target_file_rows), 1},
    {"file.block-size", BIND_INT64, AT(file_block_size), 1},
    {"parquet.block.size", BIND_INT64, AT(file_block_size), 1},
    {"parquet.page.size", BIND_INT64, AT(parquet_page_size), 1},
    {"read.batch-size", BIND_INT64, AT(read_batch_rows), 1},
    {"read.validate", BIND_INDEX, AT(read_validate), 0},
    {"read.untrusted", BIND_BOOL, AT(read_untrusted), 0},
    {"orc.timestamp-ltz.legacy.type", BIND_BOOL, AT(orc_ltz_legacy), 0},
    {"parquet.enable.dictionary", BIND_BOOL, AT(parquet_dictionary), 0},
    {"parquet.enable.delta", BIND_BOOL, AT(parquet_delta), 0},
    {"json.ignore-parse-errors", BIND_BOOL, AT(json.ignore_errors), 0},
    {"json.line-delimiter", BIND_STRING, AT(json.line_delimiter), 0},
    {"data-file.prefix", BIND_STRING, AT(data_file_prefix), 0},
    {"data-file.path-directory", BIND_STRING, AT(data_path_directory), 0},
    {"file.suffix.include.compression", BIND_BOOL, AT(suffix_include_compression), 0},
    {"manifest.target-file-size", BIND_INT64, AT(manifest_target_size), 1},
    {"manifest.full-compaction-threshold-size", BIND_INT64, AT(manifest_full_threshold), 0},
    {"manifest.merge-min-count", BIND_INT32, AT(manifest_merge_min_count), 0},
    {"metadata.stats-dense-store", BIND_BOOL, AT(stats_dense), 0},
    {"metadata.stats-mode", BIND_STRING, AT(stats_mode), 0},
    {"metadata.stats-keep-first-n-columns", BIND_INT32, AT(stats_keep_first), INT32_MIN},
    {"partition.default-name", BIND_STRING, AT(partition_default_name), 0},
    {"partition.legacy-name", BIND_BOOL, AT(partition_legacy_name), 0},
    {"commit.max-retries", BIND_INT32, AT(commit_max_retries), 0},
    {"commit.timeout", BIND_INT64, AT(commit_timeout_ms), 0},
    {"commit.min-retry-wait", BIND_INT64, AT(commit_min_wait_ms), 0},
    {"commit.max-retry-wait", BIND_INT64, AT(commit_max_wait_ms), 0},
    {"commit.durability", BIND_INDEX, AT(commit_durability), 0},
    {"commit.force-create-snapshot", BIND_BOOL, AT(commit_force_create), 0},
    {"snapshot.ignore-empty-commit", BIND_BOOL, AT(ignore_empty_commit), 0},
    {"dynamic-partition-overwrite", BIND_BOOL, AT(dynamic_partition_overwrite), 0},
    {"dynamic-bucket.target-row-num", BIND_INT64, AT(dynamic_target_rows), 1},
    {"dynamic-bucket.max-buckets", BIND_INT32, AT(dynamic_buckets_max), -1},
    {"source.split.target-size", BIND_INT64, AT(split_target_size), 1},
    {"source.split.open-file-cost", BIND_INT64, AT(split_open_cost), 1},
    {"branch", BIND_STRING, AT(branch), 0},
    {"deletion-vectors.enabled", BIND_BOOL, AT(deletion_vectors), 0},
    {"data-evolution.enabled", BIND_BOOL, AT(data_evolution), 0},
    {"file-index.read.enabled", BIND_BOOL, AT(file_index_read), 0},
    {"index-file-in-data-file-dir", BIND_BOOL, AT(index_in_data_dir), 0},
    {"merge-engine", BIND_INDEX, AT(merge_engine), 0},
    {"changelog-producer", BIND_INDEX, AT(changelog_producer), 0},
    {"sequence.field.sort-order", BIND_INDEX, AT(sequence_order), 0},
    {"force-lookup", BIND_BOOL, AT(force_lookup), 0},
    {"data-file.thin-mode", BIND_BOOL, AT(thin_mode), 0},
    {"write-buffer-size", BIND_INT64, AT(write_buffer_size), 1},
    {"ignore-update-before", BIND_BOOL, AT(ignore_update_before), 0},
    {"rowkind.field", BIND_STRING, AT(rowkind_field), 0},
    {"deletion-vectors.merge-on-read", BIND_BOOL, AT(deletion_vectors_merge_on_read), 0},
    {"pk-clustering-override", BIND_BOOL, AT(pk_clustering), 0},
    {"scan.snapshot-id", BIND_INT64, AT(scan_snapshot_id), 1},
    {"scan.timestamp-millis", BIND_INT64, AT(scan_timestamp_ms), INT64_MIN},
    {"scan.watermark", BIND_INT64, AT(scan_watermark), INT64_MIN},
    {"scan.tag-name", BIND_STRING, AT(scan_tag), 0},
    {"incremental-between", BIND_STRING, AT(scan_between), 0},
    {"incremental-between-timestamp", BIND_STRING, AT(scan_between_times), 0},
    {"incremental-to-auto-tag", BIND_STRING, AT(scan_to_auto_tag), 0},
    {"incremental-between-scan-mode", BIND_INDEX, AT(between_mode), 0},
    {"incremental-between-tag-to-snapshot", BIND_BOOL, AT(between_tag_to_snapshot), 0},
    {"full-compaction.delta-commits", BIND_INT32, AT(full_compaction_delta_commits), 1},
    {"streaming-read-overwrite", BIND_BOOL, AT(stream_overwrite), 0},
    {"streaming-read-append-overwrite", BIND_BOOL, AT(stream_append_overwrite), 0},
    {"streaming.read.snapshot.delay", BIND_INT64, AT(stream_delay_ms), 0},
    {"scan.bounded.watermark", BIND_INT64, AT(bounded_watermark), INT64_MIN},
    {"consumer-id", BIND_STRING, AT(consumer_id), 0},
    {"consumer.ignore-progress", BIND_BOOL, AT(consumer_ignore_progress), 0},
    {"snapshot.num-retained.min", BIND_INT32, AT(snapshots_min), INT32_MIN},
    {"snapshot.num-retained.max", BIND_INT32, AT(snapshots_max), INT32_MIN},
    {"snapshot.time-retained", BIND_INT64, AT(snapshots_ms), INT64_MIN},
    {"changelog.num-retained.min", BIND_INT32, AT(changelogs_min), INT32_MIN},
    {"changelog.num-retained.max", BIND_INT32, AT(changelogs_max), INT32_MIN},
    {"changelog.time-retained", BIND_INT64, AT(changelogs_ms), INT64_MIN},
    {"realtime.enabled", BIND_BOOL, AT(realtime_enabled), 0},
    {"realtime.store", BIND_STRING, AT(rt_store), 0},
    {"realtime.store.stats-mode", BIND_INDEX, AT(rt_stats_mode), 0},
    {"realtime.memory.collapse", BIND_INDEX, AT(rt_collapse), 0},
    {"realtime.validate-input", BIND_INDEX, AT(rt_validate_input), 0},
    {"realtime.append.accept-update-after", BIND_BOOL, AT(rt_accept_update_after), 0},
    {"realtime.allow-float-key", BIND_BOOL, AT(rt_allow_float_key), 0},
    {"realtime.verify.commit", BIND_INDEX, AT(rt_verify_commit), 0},
    {"realtime.verify.order", BIND_BOOL, AT(rt_verify_order), 0},
    {"realtime.auto-advance", BIND_BOOL, AT(rt_auto_advance), 0},
    {"realtime.foreign-overwrite", BIND_INDEX, AT(rt_foreign_overwrite), 0},
    {"realtime.reanchor-interval", BIND_INT64, AT(rt_reanchor_interval_ms), 0},
    {"realtime.progress.max-walk", BIND_INT32, AT(rt_progress_max_walk), 1},
    {"realtime.plan.retries", BIND_INT32, AT(rt_plan_retries), 0},
    {"realtime.read.max-fanin", BIND_INT32, AT(rt_read_max_fanin), 2},
    {"realtime.read-view-ttl", BIND_INT64, AT(rt_read_view_ttl_ms), 1},
    {"realtime.reaper", BIND_INDEX, AT(rt_reaper), 0},
};

_Static_assert(sizeof((pml_table_options *)0)->rt_verify_commit == sizeof(int32_t) &&
                   sizeof((pml_table_options *)0)->read_validate == sizeof(int32_t),
               "BIND_INDEX stores 32 bits");

static int32_t index_of(const char *values, const char *value)
{
    int32_t i = 0;
    size_t n = strlen(value);
    for (const char *p = values; *p != '\0'; i++) {
        size_t len = strcspn(p, "|");
        if (len == n && strncasecmp(p, value, n) == 0)
            return i;
        p += len + (p[len] == '|');
    }
    return 0; /* the value has been checked before */
}

/* The number a checked text stands for. */
static int64_t number_of(const pml_option_rule *rule, const char *text)
{
    int64_t v = 0;
    size_t n = strlen(text);
    if (rule->kind == PML_OPTION_SIZE)
        (void)pml_number__size(&v, text, n);
    else if (rule->kind == PML_OPTION_DURATION)
        (void)pml_number__duration_ms(&v, text, n);
    else
        (void)pml_number__int64(&v, text, n);
    return v;
}

static void store(pml_table_options *out, const binding *b, const pml_option_rule *rule, const char *text)
{
    char *to = (char *)out + b->at;
    int64_t v;
    int32_t v32;
    bool flag = false;
    switch (b->kind) {
    case BIND_INT32:
        v32 = text == NULL ? -1 : (int32_t)number_of(rule, text);
        memcpy(to, &v32, sizeof v32);
        return;
    case BIND_INT64:
        v = text == NULL ? -1 : number_of(rule, text);
        memcpy(to, &v, sizeof v);
        return;
    case BIND_BOOL:
        if (text != NULL)
            (void)pml_number__bool(&flag, text, strlen(text));
        memcpy(to, &flag, sizeof flag);
        return;
    case BIND_INDEX:
        v32 = text == NULL ? 0 : index_of(rule->values, text);
        memcpy(to, &v32, sizeof v32);
        return;
    case BIND_STRING: memcpy(to, &text, sizeof text); return;
    }
}

/* A value that only writing needs does not stop a reader. */
static bool is_looked_at(const pml_option_source *s, const pml_option_rule *rule)
{
    return rule->treatment != PML_OPTION_WRITE_ONLY || s->for_write;
}

static int bind(pml_table_options *out, const pml_option_source *s, const binding *b)
{
    const pml_option_rule *rule = pml_option_rule__find(b->key);
    const char *text = pml_option_source__get(s, b->key);
    if (text != NULL && !is_looked_at(s, rule))
        text = NULL;
    if (text == NULL) {
        bool shared =
            strncmp(b->key, "parquet.", 8) == 0 && rule->fallback == NULL; /* overrides an earlier row of the table */
        if (!shared)
            store(out, b, rule, rule->fallback);
        return PML_OK;
    }
    PML_RETURN_IF(pml_option__check_value(rule, b->key, text, s->where, s->err));
    bool is_number = b->kind == BIND_INT32 || b->kind == BIND_INT64;
    if (is_number && number_of(rule, text) < b->first) {
        char what[48];
        (void)snprintf(what, sizeof what, "expected at least %lld", (long long)b->first);
        return pml_option_source__fail(s, PML_E_INVAL, b->key, text, what);
    }
    store(out, b, rule, text);
    return PML_OK;
}

/* ---- members with a rule of their own ---- */

typedef struct name_pair {
    const char *option, *name;
} name_pair;

static const char *translate(const name_pair *pairs, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(pairs[i].option, text) == 0)
            return pairs[i].name;
    return pairs[0].name;
}

static int bind_codecs(pml_table_options *out, const pml_option_source *s)
{
    static const name_pair data[] = {{"zstd", "zstd"},       {"none", "none"},    {"uncompressed", "none"},
                                     {"snappy", "snappy"},   {"gzip", "gzip"},    {"lz4", "lz4"},
                                     {"lz4_raw", "lz4_raw"}, {"brotli", "brotli"}};
    static const name_pair manifest[] = {{"zstd", "zstandard"},  {"zstandard", "zstandard"}, {"snappy", "snappy"},
                                         {"deflate", "deflate"}, {"null", "null"},           {"none", "null"}};
    static const char *const keys[] = {"file.compression", "parquet.compression", "manifest.compression"};
    const char *texts[3];
    for (size_t i = 0; i < 3; i++) {
        texts[i] = s->for_write ? pml_option_source__get(s, keys[i]) : NULL;
        if (texts[i] != NULL)
            PML_RETURN_IF(pml_option__check_value(pml_option_rule__find(keys[i]), keys[i], texts[i], s->where, s->err));
    }
    const char *data_text = texts[1] != NULL ? texts[1] : texts[0] != NULL ? texts[0] : "zstd";
    out->file_compression = translate(data, sizeof data / sizeof data[0], data_text);
    out->manifest_compression =
        translate(manifest, sizeof manifest / sizeof manifest[0], texts[2] == NULL ? "zstd" : texts[2]);
    out->file_format = "parquet"; /* of new files; to write others has been refused */
    return PML_OK;
}

/* Which snapshot a scan reads: one option at most says so, and scan.mode must agree with it. */
static int bind_scan(pml_table_options *out, const pml_option_source *s)
{
    static const struct {
        const char *key, *modes; /* that the option goes with, besides the default one */
    } ways[] = {[PML_SCAN_LATEST] = {"", "latest-full|full|latest|compacted-full"},
                [PML_SCAN_ID] = {"scan.snapshot-id", "from-snapshot|from-snapshot-full"},
                [PML_SCAN_TAG] = {"scan.tag-name", "from-snapshot"},
                [PML_SCAN_TIME] = {"scan.timestamp-millis", "from-timestamp"},
                [PML_SCAN_WATERMARK] = {"scan.watermark", "from-snapshot"},
                [PML_SCAN_BETWEEN] = {"incremental-between", "incremental"},
                [PML_SCAN_BETWEEN_TIMES] = {"incremental-between-timestamp", "incremental"},
                [PML_SCAN_TO_AUTO_TAG] = {"incremental-to-auto-tag", "incremental"}};
    const char *mode = pml_option_source__get(s, "scan.mode");
    char needs[120] = "";
    out->scan_mode = mode == NULL ? 0 : index_of(pml_option_rule__find("scan.mode")->values, mode);
    if (out->scan_mode == PML_START_FULL)
        out->scan_mode = PML_START_LATEST_FULL;
    out->has_bounded_watermark = pml_option_source__get(s, "scan.bounded.watermark") != NULL;
    out->scan_by = PML_SCAN_LATEST;
    for (size_t i = 1; i < sizeof ways / sizeof ways[0]; i++) {
        const char *value = pml_option_source__get(s, ways[i].key);
        if (mode != NULL && pml_option__is_one_of(ways[i].modes, mode))
            (void)snprintf(needs + strlen(needs), sizeof needs - strlen(needs), "%s%s", needs[0] == '\0' ? "needs " : " or ",
                           ways[i].key);
        if (value == NULL)
            continue;
        if (out->scan_by != PML_SCAN_LATEST)
            return pml_option_source__fail(s, PML_E_INVAL, ways[i].key, value,
                                           "only one of scan.snapshot-id, scan.tag-name, scan.timestamp-millis, scan.watermark, incremental-between, "
                                           "incremental-between-timestamp and incremental-to-auto-tag may be set");
        out->scan_by = (int)i;
    }
    if (mode == NULL || strcasecmp(mode, "default") == 0 || pml_option__is_one_of(ways[out->scan_by].modes, mode))
        return PML_OK;
    if (out->scan_by == PML_SCAN_LATEST)
        return pml_option_source__fail(s, PML_E_INVAL, "scan.mode", mode, needs);
    (void)snprintf(needs, sizeof needs, "contradicts %s", ways[out->scan_by].key);
    return pml_option_source__fail(s, PML_E_INVAL, "scan.mode", mode, needs);
}

/* Options that Java also takes under other names, which count when the first one is not set. */
static int bind_text_formats(pml_table_options *out, const pml_option_source *s)
{
    static const struct {
        const char *keys[4];
        size_t at;
    } texts[] = {{{"csv.field-delimiter", "field-delimiter", "seq"}, AT(csv.field_delimiter)},
                 {{"csv.line-delimiter", "lineSep"}, AT(csv.line_delimiter)},
                 {{"csv.quote-character", "quote"}, AT(csv.quote)},
                 {{"csv.escape-character", "escape"}, AT(csv.escape)},
                 {{"csv.null-literal", "nullvalue"}, AT(csv.null_literal)},
                 {{"text.line-delimiter", "lineSep"}, AT(text.line_delimiter)}};
    static const struct {
        const char *first, *second;
    } others[] = {{"csv.include-header", "header"}, {"csv.mode", "mode"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = NULL;
        for (size_t k = 0; text == NULL && texts[i].keys[k] != NULL; k++)
            text = pml_option_source__get(s, texts[i].keys[k]);
        text = text == NULL ? pml_option_rule__find(texts[i].keys[0])->fallback : text;
        memcpy((char *)out + texts[i].at, &text, sizeof text);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const pml_option_rule *rule = pml_option_rule__find(others[i].first);
        const char *text = pml_option_source__get(s, others[i].first);
        if (text != NULL)
            PML_RETURN_IF(pml_option__check_value(rule, others[i].first, text, s->where, s->err));
        if (text == NULL) /* names so general that others may mean something else by them */
            text = pml_option_source__get(s, others[i].second);
        if (text == NULL || pml_option__check_value(rule, others[i].second, text, s->where, NULL) != PML_OK)
            text = rule->fallback;
        if (rule->kind == PML_OPTION_BOOL)
            (void)pml_number__bool(&out->csv.header, text, strlen(text));
        else
            out->csv.mode = index_of(rule->values, text);
    }
    return PML_OK;
}

enum { TARGET_KEYED_BYTES = 128 * 1024 * 1024 }; /* target-file-size of tables with a primary key, when it is not set */

static int bind_special(pml_table_options *out, const pml_option_source *s)
{
    const char *function = pml_option_source__get(s, "bucket-function.type");
    const char *mode = pml_option_source__get(s, "realtime.offset-mode");
    char text[16];
    if (function != NULL && strcasecmp(function, "mod") == 0)
        out->bucket_function = PML_BUCKET_FUNCTION_MOD;
    (void)snprintf(text, sizeof text, "%d", out->bucket);
    if (out->bucket != -1 && out->bucket < 1 && !(out->bucket == -2 && s->schema->n_primary_keys > 0))
        return pml_option_source__fail(s, PML_E_INVAL, "bucket", text, "must be -1 or a positive number");
    if (mode != NULL)
        PML_RETURN_IF(pml_option__check_value(pml_option_rule__find("realtime.offset-mode"), "realtime.offset-mode",
                                              mode, s->where, s->err));
    if (s->schema->n_primary_keys > 0 && (!s->for_write || pml_option_source__get(s, "target-file-size") == NULL))
        out->target_file_size = TARGET_KEYED_BYTES;
    out->rt_offset_external = mode != NULL && strcasecmp(mode, "external") == 0;
    if (pml_option_source__get(s, "realtime.verify.order") == NULL)
        out->rt_verify_order = strcmp(out->rt_store, "memory") != 0 && strcmp(out->rt_store, "wal") != 0;
    return bind_scan(out, s);
}

/* Parts of paths: a table that we did not make must not lead out of its own directory. */
static bool stays_inside(const char *path)
{
    if (path[0] == '/' || path[0] == '\0')
        return false;
    for (const char *p = path; p != NULL; p = strchr(p, '/') == NULL ? NULL : strchr(p, '/') + 1)
        if (p[0] == '.' && (p[1] == '/' || p[1] == '\0' || (p[1] == '.' && (p[2] == '/' || p[2] == '\0'))))
            return false;
    return true;
}

static int check_paths(const pml_table_options *o, const pml_option_source *s)
{
    if (s->for_write && strchr(o->data_file_prefix, '/') != NULL)
        return pml_option_source__fail(s, PML_E_INVAL, "data-file.prefix", o->data_file_prefix, "must not contain '/'");
    if (o->data_path_directory != NULL && !stays_inside(o->data_path_directory))
        return pml_option_source__fail(s, PML_E_INVAL, "data-file.path-directory", o->data_path_directory,
                                       "must be a relative path below the table");
    if (strchr(o->branch, '/') != NULL || !stays_inside(o->branch))
        return pml_option_source__fail(s, PML_E_INVAL, "branch", o->branch, "not the name of a branch");
    return PML_OK;
}

int pml_table_options__parse(pml_table_options *out, const pml_table_schema *s, const pml_option *overrides, size_t n,
                             bool for_write, const char *where, pml_error *err)
{
    const pml_option_source src = {s, overrides, n, for_write, where, err};
    pml_table_options o = {0};
    pml_stats_mode mode;
    *out = (pml_table_options){0};
    PML_RETURN_IF(pml_option_source__refuse(&src));
    for (size_t i = 0; i < sizeof bindings / sizeof bindings[0]; i++)
        PML_RETURN_IF(bind(&o, &src, &bindings[i]));
    PML_RETURN_IF(bind_codecs(&o, &src));
    PML_RETURN_IF(bind_text_formats(&o, &src));
    PML_RETURN_IF(bind_special(&o, &src));
    PML_RETURN_IF(check_paths(&o, &src));
    for (size_t i = 0; for_write && i < s->n_fields; i++)
        PML_RETURN_IF(pml_table_options__stats_mode(&mode, s, &o, i, err));
    *out = o;
    return PML_OK;
}

/* ---- what follows from several options ---- */

bool pml_table_options__is_dynamic(const pml_table_options *o, const pml_table_schema *s)
{
    return o->bucket == -1 && s->n_keys > 0;
}

bool pml_table_options__is_lookup(const pml_table_options *o)
{
    return o->merge_engine != PML_MERGE_ENGINE_FIRST_ROW &&
           (o->changelog_producer == PML_CHANGELOG_LOOKUP || o->deletion_vectors || o->force_lookup);
}

bool pml_table_options__keeps_changelogs(const pml_table_options *o)
{
    return (o->changelogs_max >= 0 && o->changelogs_max > o->snapshots_max) ||
           (o->changelogs_ms >= 0 && o->changelogs_ms > o->snapshots_ms) ||
           (o->changelogs_min >= 0 && o->changelogs_min > o->snapshots_min);
}

bool pml_table_options__skips_level0(const pml_table_options *o)
{
    return (o->deletion_vectors && !o->deletion_vectors_merge_on_read) || o->merge_engine == PML_MERGE_ENGINE_FIRST_ROW;
}

/* ---- statistics ---- */

static bool parse_stats_mode(pml_stats_mode *out, const char *text)
{
    static const struct {
        const char *word;
        pml_stats_mode_kind kind;
    } words[] = {{"none", PML_STATS_NONE}, {"counts", PML_STATS_COUNTS}, {"full", PML_STATS_FULL}};
    size_t n = strlen(text);
    int64_t length;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(words[i].word, text) == 0) {
            *out = (pml_stats_mode){words[i].kind, 0};
            return true;
        }
    if (n < 11 || strncasecmp(text, "truncate(", 9) != 0 || text[n - 1] != ')')
        return false;
    if (!pml_number__int64(&length, text + 9, n - 10) || length < 1 || length > INT32_MAX)
        return false;
    *out = (pml_stats_mode){PML_STATS_TRUNCATE, (int32_t)length};
    return true;
}

/* fields.<c>.stats-mode without building the key. */
static const char *column_stats_mode(const pml_table_schema *s, const char *column)
{
    static const char head[] = "fields.", tail[] = ".stats-mode";
    size_t n = strlen(column);
    for (size_t i = 0; i < s->n_options; i++) {
        const char *key = s->options[i].key;
        if (strncmp(key, head, sizeof head - 1) == 0 && strncmp(key + sizeof head - 1, column, n) == 0 &&
            strcmp(key + sizeof head - 1 + n, tail) == 0)
            return s->options[i].value;
    }
    return NULL;
}

int pml_table_options__stats_mode(pml_stats_mode *out, const pml_table_schema *s, const pml_table_options *o,
                                  size_t column, pml_error *err)
{
    const char *name = s->fields[column].name;
    const char *text = column_stats_mode(s, name);
    bool own = text != NULL;
    *out = (pml_stats_mode){PML_STATS_NONE, 0};
    if (!own && o->stats_keep_first >= 0 && column >= (size_t)o->stats_keep_first)
        return PML_OK;
    text = own ? text : o->stats_mode;
    if (parse_stats_mode(out, text))
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "option %s%.80s%s is '%.80s', expected none, counts, full or truncate(n)",
                          own ? "fields." : "metadata.stats-mode", own ? name : "", own ? ".stats-mode" : "", text);
}
