/* SPDX-License-Identifier: Apache-2.0 */
/* The table, in the order of Java's CoreOptions where it has one. Exact keys come before patterns: the first match counts. */
#include "meta/options_table.h"

#include <string.h>
#include <strings.h>

#include "util/error.h"
#include "util/number.h"

#define HONOURED(key, kind, fallback, values) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_HONOURED, values, NULL, NULL, false}
#define WRITING(key, kind, fallback, values) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_WRITE_ONLY, values, NULL, NULL, false}
#define IGNORED(key, kind, fallback, reason) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_IGNORED, NULL, NULL, reason, false}
#define REFUSED(key, kind, fallback, harmless, needs, reason) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_REFUSED, harmless, needs, reason, false}
#define REFUSED_WRITE(key, kind, fallback, harmless, needs, reason) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_REFUSED_WRITE, harmless, needs, reason, false}
/* The same, fixed with the table. */
#define FIXED_HONOURED(key, kind, fallback) {key, PML_OPTION_##kind, fallback, PML_OPTION_HONOURED, NULL, NULL, NULL, true}
#define FIXED_IGNORED(key, kind, fallback, reason) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_IGNORED, NULL, NULL, reason, true}
#define FIXED_REFUSED(key, kind, fallback, harmless, needs, reason) \
    {key, PML_OPTION_##kind, fallback, PML_OPTION_REFUSED, harmless, needs, reason, true}

#define ONLY_KEYS "only writing to tables with a primary key looks at it, and our files of level 0 do not need it"
#define NOT_WRITTEN "only writers that are refused look at it"
#define NO_COMPACTION "we compact nothing"
#define NO_EXPIRY "our commits expire nothing; whoever maintains the table does"
#define TUNING "speed and memory of Java only"
#define ENGINE "for engines and catalogs around the table; nothing in its files"
#define NO_INDEX "our files get no file index, which readers take as: keep the file"

const pml_option_rule pml_option_rules[] = {
    /* what the table is */
    FIXED_REFUSED("type", STRING, "table", "table", "table-type:%s", "other kinds have no snapshots of this form"),
    FIXED_HONOURED("bucket", INT, "-1"),
    FIXED_HONOURED("bucket-key", STRING, NULL),
    FIXED_REFUSED("bucket-function.type", STRING, "default", "default|mod", "bucket-function:%s",
            "rows would go to other buckets"),
    HONOURED("bucket-append-ordered", BOOL, "true", NULL),
    FIXED_IGNORED("primary-key", STRING, NULL, "taken out when a table is made"),
    FIXED_IGNORED("partition", STRING, NULL, "taken out when a table is made"),
    IGNORED("primary-key.nullable", BOOL, "false", ONLY_KEYS),
    IGNORED("path", STRING, NULL, "the table is where it was opened"),
    FIXED_HONOURED("branch", STRING, "main"),
    IGNORED("auto-create", BOOL, "false", ENGINE),
    FIXED_REFUSED("chain-table.enabled", BOOL, "false", "false", "chain-table", "reads combine several branches"),
    IGNORED("chain-table.*", STRING, NULL, "has no effect without chain-table.enabled"),
    REFUSED("query-auth.enabled", BOOL, "false", "false", "query-auth", "a catalog must filter rows and columns"),
    /* data files */
    REFUSED_WRITE("file.format", STRING, "parquet", "parquet", "format:%s", "new data files would not be Parquet"),
    HONOURED("file.format.per.level", STRING, NULL, NULL), /* to write with a primary key is refused (features.c) */
    WRITING("file.compression", ENUM, "zstd", "none|uncompressed|snappy|gzip|lz4|lz4_raw|zstd|brotli"),
    HONOURED("file.compression.per.level", STRING, NULL, NULL), /* to write with a primary key is refused (features.c) */
    WRITING("file.compression.zstd-level", INT, "1", NULL),
    WRITING("file.block-size", SIZE, "128 mb", NULL),
    WRITING("file.suffix.include.compression", BOOL, "false", NULL),
    WRITING("data-file.prefix", STRING, "data-", NULL),
    FIXED_HONOURED("data-file.path-directory", STRING, NULL),
    {"data-file.external-paths", PML_OPTION_STRING, NULL, PML_OPTION_REFUSED_WRITE, "", "external-paths",
     "files would have to go elsewhere", true},
    FIXED_IGNORED("data-file.external-paths.*", STRING, NULL, "has no effect without data-file.external-paths"),
    WRITING("data-file.thin-mode", BOOL, "false", NULL),
    IGNORED("changelog-file.*", STRING, NULL, NOT_WRITTEN),
    WRITING("target-file-size", SIZE, "256 mb", NULL),
    WRITING("target-file-row-num", LONG, "9223372036854775807", NULL),
    WRITING("parquet.compression", ENUM, NULL, "none|uncompressed|snappy|gzip|lz4|lz4_raw|zstd|brotli"),
    WRITING("parquet.compression.codec.zstd.level", INT, NULL, NULL),
    WRITING("parquet.block.size", LONG, NULL, NULL),
    WRITING("parquet.page.size", LONG, "1048576", NULL),
    WRITING("parquet.enable.dictionary", BOOL, "true", NULL),
    WRITING("parquet.enable.delta", BOOL, "true", NULL), /* ours; Java does not look at it */
    IGNORED("parquet.*", STRING, NULL, "shapes what Java writes; every reader takes either"),
    HONOURED("orc.timestamp-ltz.legacy.type", BOOL, "true", NULL),
    IGNORED("orc.*", STRING, NULL, "shapes what Java writes; we write no ORC files"),
    IGNORED("avro.*", STRING, NULL, "shapes what Java writes; every reader takes either"),
    HONOURED("csv.field-delimiter", STRING, ",", NULL),
    HONOURED("field-delimiter", STRING, NULL, NULL), /* names of older releases, as those below */
    HONOURED("seq", STRING, NULL, NULL),
    HONOURED("csv.line-delimiter", STRING, "\n", NULL),
    HONOURED("lineSep", STRING, NULL, NULL),
    HONOURED("csv.quote-character", STRING, "\"", NULL),
    HONOURED("quote", STRING, NULL, NULL),
    HONOURED("csv.escape-character", STRING, "\\", NULL),
    HONOURED("escape", STRING, NULL, NULL),
    HONOURED("csv.include-header", BOOL, "false", NULL),
    HONOURED("header", STRING, NULL, NULL),
    HONOURED("csv.null-literal", STRING, "", NULL),
    HONOURED("nullvalue", STRING, NULL, NULL),
    HONOURED("csv.mode", ENUM, "permissive", "permissive|dropmalformed|failfast"),
    HONOURED("mode", STRING, NULL, NULL),
    HONOURED("json.ignore-parse-errors", BOOL, "false", NULL),
    HONOURED("json.line-delimiter", STRING, "\n", NULL),
    IGNORED("json.map-null-key-*", STRING, NULL, "JSON has no null as the name of a member"),
    HONOURED("text.line-delimiter", STRING, "\n", NULL),
    HONOURED("read.batch-size", INT, "1024", NULL),
    HONOURED("read.validate", ENUM, "full", "full|basic"), /* ours */
    HONOURED("read.untrusted", BOOL, "false", NULL), /* ours */
    IGNORED("write.batch-*", STRING, NULL, TUNING),
    HONOURED("file-index.read.enabled", BOOL, "true", NULL),
    IGNORED("file-index.*", STRING, NULL, NO_INDEX),
    IGNORED("variant.*", STRING, NULL, "shapes what Java writes; readers take either"),
    IGNORED("blob*", STRING, NULL, "shapes what Java writes; readers give the bytes of BLOBs"),
    IGNORED("vector*", STRING, NULL, "shapes what Java writes; readers take either"),
    /* metadata */
    REFUSED_WRITE("manifest.format", STRING, "avro", "avro", "manifest-format:%s", "the manifests are not Avro"),
    WRITING("manifest.compression", ENUM, "zstd", "zstd|zstandard|snappy|deflate|null|none"),
    WRITING("manifest.target-file-size", SIZE, "8 mb", NULL),
    WRITING("manifest.full-compaction-threshold-size", SIZE, "16 mb", NULL),
    WRITING("manifest.merge-min-count", INT, "30", NULL),
    IGNORED("manifest.delete-file-drop-stats", BOOL, "false",
            "our DELETE entries keep their statistics, which harms nobody"),
    IGNORED("manifest*", STRING, NULL, TUNING),
    WRITING("metadata.stats-mode", STRING, "truncate(16)", NULL),
    HONOURED("metadata.stats-mode.per.level", STRING, NULL, NULL), /* to write with a primary key is refused (features.c) */
    WRITING("metadata.stats-dense-store", BOOL, "true", NULL),
    WRITING("metadata.stats-keep-first-n-columns", INT, "-1", NULL),
    WRITING("fields.*.stats-mode", STRING, NULL, NULL),
    HONOURED("fields.*", STRING, NULL, NULL), /* of merge engines: merge/merge_options.h */
    FIXED_HONOURED("partition.default-name", STRING, "__DEFAULT_PARTITION__"),
    FIXED_HONOURED("partition.legacy-name", BOOL, "true"),
    {"row-tracking.enabled", PML_OPTION_BOOL, "false", PML_OPTION_REFUSED_WRITE, "false", "row-tracking",
     "rows have ids that commits must hand out", true},
    IGNORED("row-tracking.*", STRING, NULL, "has no effect without row-tracking.enabled"),
    {"data-evolution.enabled", PML_OPTION_BOOL, "false", PML_OPTION_REFUSED_WRITE, "false", "data-evolution",
     "columns of one row lie in several files", true},
    IGNORED("global-index.*", STRING, NULL, "makes reads with data evolution faster only"),
    FIXED_HONOURED("deletion-vectors.enabled", BOOL, "false"), /* to write: of tables with a primary key (features.c) */
    HONOURED("deletion-vectors.merge-on-read", BOOL, "false", NULL),
    IGNORED("deletion-vector*", STRING, NULL, "shapes what Java writes; readers take either"),
    HONOURED("index-file-in-data-file-dir", BOOL, "false", NULL),
    {"pk-clustering-override", PML_OPTION_BOOL, "false", PML_OPTION_REFUSED_WRITE, "false", "pk-clustering-override",
     "compacted files are sorted by other columns than the key", true},
    IGNORED("clustering.*", STRING, NULL, "our files are not clustered; a later compaction clusters them"),
    /* writing and commit */
    WRITING("write-only", BOOL, "false", NULL),
    WRITING("write-buffer-size", SIZE, "256 mb", NULL),
    IGNORED("write-buffer*", STRING, NULL, TUNING),
    IGNORED("write-max-writers-to-spill", INT, "10", TUNING),
    WRITING("commit.timeout", DURATION, NULL, NULL),
    WRITING("commit.max-retries", INT, "10", NULL),
    WRITING("commit.min-retry-wait", DURATION, "10 ms", NULL),
    WRITING("commit.max-retry-wait", DURATION, "10 s", NULL),
    WRITING("commit.durability", ENUM, "files", "files|file-system|none"), /* ours: see paimonlive/write.h */
    WRITING("commit.force-create-snapshot", BOOL, "false", NULL),
    WRITING("snapshot.ignore-empty-commit", BOOL, "true", NULL),
    REFUSED_WRITE("commit.strict-mode.last-safe-snapshot", LONG, NULL, "", "commit.strict-mode",
                  "a commit would have to check more"),
    IGNORED("commit.force-compact", BOOL, "false", NO_COMPACTION),
    IGNORED("commit.discard-duplicate-files", BOOL, "false", "our file names are never used twice"),
    IGNORED("commit.user-prefix", STRING, NULL, "the caller names the commit user"),
    IGNORED("commit.callback*", STRING, NULL, "Java classes"),
    IGNORED("tag.*", STRING, NULL, "our commits make no tags"),
    IGNORED("visibility-callback.*", STRING, NULL, "Java classes"),
    WRITING("dynamic-partition-overwrite", BOOL, "true", NULL),
    IGNORED("overwrite-upgrade", BOOL, "true", "our files stay on level 0 until a compaction takes them"),
    HONOURED("snapshot.num-retained.min", INT, "10", NULL), /* with their neighbours: whether changelogs outlive their snapshots */
    HONOURED("snapshot.num-retained.max", INT, "2147483647", NULL),
    HONOURED("snapshot.time-retained", DURATION, "1 h", NULL),
    HONOURED("changelog.num-retained.min", INT, NULL, NULL),
    HONOURED("changelog.num-retained.max", INT, NULL, NULL),
    HONOURED("changelog.time-retained", DURATION, NULL, NULL),
    IGNORED("snapshot.*", STRING, NULL, NO_EXPIRY),
    IGNORED("changelog.*", STRING, NULL, NO_EXPIRY),
    IGNORED("partition.*", STRING, NULL, NO_EXPIRY),
    IGNORED("record-level.*", STRING, NULL, "records expire in compactions only, also in Java"),
    IGNORED("compaction.*", STRING, NULL, NO_COMPACTION),
    HONOURED("full-compaction.delta-commits", INT, NULL, NULL),
    IGNORED("full-compaction.*", STRING, NULL, NO_COMPACTION),
    IGNORED("num-*", STRING, NULL, NO_COMPACTION),
    IGNORED("sort-compaction.*", STRING, NULL, NO_COMPACTION),
    /* primary keys */
    {"merge-engine", PML_OPTION_ENUM, "deduplicate", PML_OPTION_HONOURED, "deduplicate|partial-update|aggregation|first-row", NULL, NULL,
     true},
    HONOURED("changelog-producer", ENUM, "none", "none|input|full-compaction|lookup"),
    IGNORED("changelog-producer.*", STRING, NULL, NOT_WRITTEN),
    FIXED_HONOURED("sequence.field", STRING, NULL),
    HONOURED("sequence.field.sort-order", ENUM, "ascending", "ascending|descending"),
    REFUSED("sequence.snapshot-ordering", BOOL, "false", "false", "sequence.snapshot-ordering",
            "rows take their order from the snapshot that added them"),
    IGNORED("sequence.*", STRING, NULL, ONLY_KEYS),
    FIXED_HONOURED("rowkind.field", STRING, NULL),
    HONOURED("ignore-delete", BOOL, "false", NULL),
    HONOURED("deduplicate.ignore-delete", BOOL, NULL, NULL), /* older names of it */
    HONOURED("first-row.ignore-delete", BOOL, NULL, NULL),
    HONOURED("partial-update.ignore-delete", BOOL, NULL, NULL),
    WRITING("ignore-update-before", BOOL, "false", NULL),
    HONOURED("aggregation.*", STRING, NULL, NULL),
    HONOURED("partial-update.*", STRING, NULL, NULL),
    WRITING("dynamic-bucket.target-row-num", LONG, "2000000", NULL),
    WRITING("dynamic-bucket.max-buckets", INT, "-1", NULL),
    IGNORED("dynamic-bucket.initial-buckets", INT, NULL, "shares new keys out among several writers, and we are one"),
    IGNORED("dynamic-bucket.assigner-parallelism", INT, NULL, "shares keys out among several writers, and we are one"),
    IGNORED("dynamic-bucket.*", STRING, NULL, TUNING),
    IGNORED("cross-partition-upsert.*", STRING, NULL, NOT_WRITTEN),
    REFUSED("postpone.merge-on-read", BOOL, "false", "false", "bucket:postpone", "rows have no bucket before a compaction"),
    IGNORED("postpone.*", STRING, NULL, NOT_WRITTEN),
    IGNORED("lookup*", STRING, NULL, NO_COMPACTION),
    HONOURED("force-lookup", BOOL, "false", NULL),
    IGNORED("upsert-key", STRING, NULL, ENGINE),
    /* reading */
    HONOURED("source.split.target-size", SIZE, "128 mb", NULL),
    HONOURED("source.split.open-file-cost", SIZE, "4 mb", NULL),
    HONOURED("scan.snapshot-id", LONG, NULL, NULL),
    HONOURED("scan.tag-name", STRING, NULL, NULL),
    HONOURED("scan.timestamp-millis", LONG, NULL, NULL),
    HONOURED("scan.watermark", LONG, NULL, NULL),
    REFUSED("scan.mode", STRING, "default",
            "default|latest-full|full|latest|compacted-full|from-timestamp|from-snapshot|from-snapshot-full|incremental", "scan.mode:%s",
            "reads a part of the files"),
    REFUSED("batch-scan-mode", STRING, "none", "none", "batch-scan-mode:%s", "not a plain read of one snapshot"),
    REFUSED("scan.version", STRING, NULL, "", "scan.version", "a tag, a watermark or an id; use the option of that name"),
    REFUSED("scan.timestamp", STRING, NULL, "", "scan.timestamp", "depends on a time zone; use scan.timestamp-millis"),
    REFUSED("scan.file-creation-time-millis", LONG, NULL, "", "scan.file-creation-time-millis",
            "reads a part of the files"),
    REFUSED("scan.creation-time-millis", LONG, NULL, "", "scan.creation-time-millis", "reads a part of the files"),
    REFUSED("scan.bucket", INT, NULL, "", "scan.bucket", "reads a part of the buckets"),
    HONOURED("scan.fallback-branch", STRING, NULL, NULL),
    HONOURED("scan.primary-branch", STRING, NULL, NULL),
    REFUSED("scan.fallback-snapshot-branch", STRING, NULL, "", "chain-table", "reads combine several branches"),
    REFUSED("scan.fallback-delta-branch", STRING, NULL, "", "chain-table", "reads combine several branches"),
    HONOURED("incremental-between", STRING, NULL, NULL),
    HONOURED("incremental-between-timestamp", STRING, NULL, NULL),
    HONOURED("incremental-to-auto-tag", STRING, NULL, NULL),
    HONOURED("incremental-between-scan-mode", ENUM, "auto", "auto|delta|changelog|diff"),
    HONOURED("incremental-between-tag-to-snapshot", BOOL, "false", NULL),
    HONOURED("scan.bounded.watermark", LONG, NULL, NULL),
    IGNORED("scan.ignore-corrupt-files", BOOL, "false", "a corrupt file is an error, never skipped"),
    IGNORED("scan.ignore-lost-files", BOOL, "false", "a lost file is an error, never skipped"),
    IGNORED("scan.*", STRING, NULL, TUNING),
    HONOURED("streaming-read-overwrite", BOOL, "false", NULL),
    HONOURED("streaming-read-append-overwrite", BOOL, "false", NULL),
    HONOURED("streaming.read.snapshot.delay", DURATION, NULL, NULL),
    IGNORED("streaming*", STRING, NULL, ENGINE),
    REFUSED("stream-scan-mode", STRING, "none", "none", "stream-scan-mode:%s", "for Java's own compaction jobs"),
    IGNORED("continuous.*", STRING, NULL, ENGINE),
    HONOURED("consumer-id", STRING, NULL, NULL),
    HONOURED("consumer.ignore-progress", BOOL, "false", NULL),
    IGNORED("consumer.expiration-time", DURATION, NULL, NO_EXPIRY),
    IGNORED("consumer*", STRING, NULL, ENGINE),
    IGNORED("metastore.*", STRING, NULL, ENGINE),
    IGNORED("materialized-table.*", STRING, NULL, ENGINE),
    IGNORED("format-table.*", STRING, NULL, ENGINE),
    IGNORED("sink.*", STRING, NULL, ENGINE),
    IGNORED("spill-compression*", STRING, NULL, TUNING),
    IGNORED("sort-engine", STRING, "loser-tree", TUNING),
    IGNORED("sort-spill-*", STRING, NULL, TUNING),
    IGNORED("local-sort.*", STRING, NULL, TUNING),
    IGNORED("local-merge-buffer-size", SIZE, NULL, TUNING),
    IGNORED("page-size", SIZE, "64 kb", TUNING),
    IGNORED("cache-page-size", SIZE, "64 kb", TUNING),
    IGNORED("file-reader-async-threshold", SIZE, "10 mb", TUNING),
    IGNORED("file-operation.thread-num", INT, NULL, TUNING),
    IGNORED("async-file-write", BOOL, "true", TUNING),
    HONOURED("table-read.sequence-number.enabled", BOOL, "false", NULL),
    IGNORED("key-value.sequence_number.enabled", BOOL, "false", ONLY_KEYS),
    IGNORED("delete.force-produce-changelog", BOOL, "false", ENGINE),
    IGNORED("end-input.*", STRING, NULL, NO_EXPIRY),
    IGNORED("zorder.*", STRING, NULL, NO_COMPACTION),
    IGNORED("alter-column-null-to-not-null.disabled", BOOL, "true", "a rule for changing schemas, which we do not"),
    IGNORED("disable-explicit-type-casting", BOOL, "false", "a rule for changing schemas, which we do not"),
    IGNORED("add-column-before-partition", BOOL, "false", "a rule for changing schemas, which we do not"),
    IGNORED("lock.*", STRING, NULL, ENGINE),
    IGNORED("case-sensitive", BOOL, NULL, ENGINE),
    IGNORED("warehouse", STRING, NULL, ENGINE),
    /* real-time */
    HONOURED("realtime.enabled", BOOL, "false", NULL),
    HONOURED("realtime.store", STRING, "memory", NULL),
    HONOURED("realtime.store.plugin-path", STRING, NULL, NULL),
    HONOURED("realtime.store.stats-mode", ENUM, "none", "none|keys|full"),
    HONOURED("realtime.memory.chunk-bytes", SIZE, "4 mb", NULL),
    HONOURED("realtime.memory.collapse", ENUM, "off", "off|auto"),
    HONOURED("realtime.memory.inline-merge-rows", LONG, "16384", NULL),
    HONOURED("realtime.memory.max-run-bytes", SIZE, "256 mb", NULL),
    HONOURED("realtime.memory.merge-runs", INT, "8", NULL),
    HONOURED("realtime.offset-mode", ENUM, "assigned", "assigned|external"),
    HONOURED("realtime.validate-input", ENUM, "basic", "trusted|basic|full"),
    HONOURED("realtime.append.accept-update-after", BOOL, "false", NULL),
    HONOURED("realtime.allow-float-key", BOOL, "false", NULL),
    HONOURED("realtime.verify.commit", ENUM, "hash", "hash|exact|range|off"),
    HONOURED("realtime.verify.order", BOOL, NULL, NULL),
    HONOURED("realtime.auto-advance", BOOL, "true", NULL),
    HONOURED("realtime.foreign-overwrite", ENUM, "ask", "ask|inherit|reset"),
    HONOURED("realtime.reanchor-interval", DURATION, "10 min", NULL),
    HONOURED("realtime.progress.max-walk", INT, "1000", NULL),
    HONOURED("realtime.plan.retries", INT, "3", NULL),
    HONOURED("realtime.read.max-fanin", INT, "128", NULL),
    HONOURED("realtime.read-view-ttl", DURATION, "5 min", NULL),
    HONOURED("realtime.reaper", ENUM, "thread", "thread|inline"),
    IGNORED("realtime.*", STRING, NULL, "of a later phase"),
};

const size_t pml_option_rules_count = sizeof pml_option_rules / sizeof pml_option_rules[0];

/* Every table that is opened asks some hundred times for one of some hundred rules: most are told apart by their first letter. */
static bool key_matches(const char *pattern, const char *key)
{
    if (pattern[0] != key[0] && pattern[0] != '*')
        return false;
    const char *star = strchr(pattern, '*');
    if (star == NULL)
        return strcmp(pattern, key) == 0;
    size_t head = (size_t)(star - pattern), tail = strlen(star + 1), n = strlen(key);
    return n >= head + tail && memcmp(pattern, key, head) == 0 && memcmp(star + 1, key + n - tail, tail) == 0;
}

const pml_option_rule *pml_option_rule__find(const char *key)
{
    for (size_t i = 0; i < pml_option_rules_count; i++)
        if (key_matches(pml_option_rules[i].key, key))
            return &pml_option_rules[i];
    return NULL;
}

bool pml_option__is_one_of(const char *values, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = values; p != NULL; p = *p == '|' ? p + 1 : NULL) {
        size_t len = strcspn(p, "|");
        if (len == n && strncasecmp(p, value, n) == 0)
            return true;
        p += len;
    }
    return false;
}

int pml_option__check_value(const pml_option_rule *rule, const char *key, const char *value, const char *where, pml_error *err)
{
    size_t n = strlen(value);
    const char *expected = NULL;
    int64_t v;
    bool b;
    switch (rule->kind) {
    case PML_OPTION_INT:
        if (!pml_number__int64(&v, value, n) || v < INT32_MIN || v > INT32_MAX)
            expected = "a whole number of 32 bits";
        break;
    case PML_OPTION_LONG: expected = pml_number__int64(&v, value, n) ? NULL : "a whole number"; break;
    case PML_OPTION_SIZE: expected = pml_number__size(&v, value, n) ? NULL : "a size such as '8 mb'"; break;
    case PML_OPTION_DURATION: expected = pml_number__duration_ms(&v, value, n) ? NULL : "a duration such as '10 s'"; break;
    case PML_OPTION_BOOL: expected = pml_number__bool(&b, value, n) ? NULL : "true or false"; break;
    case PML_OPTION_STRING: break;
    case PML_OPTION_ENUM: expected = pml_option__is_one_of(rule->values, value) ? NULL : rule->values; break;
    }
    if (expected == NULL)
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, where, "option %.80s of %.120s is '%.80s', expected %s",
                         key, where, value, expected);
}
