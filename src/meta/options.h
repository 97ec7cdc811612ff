/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of options: name, default, kind, and what the library does with it (honoured, refused, safely ignored, on the
 * write path only). Everything else asks this table. Java: CoreOptions.
 */
#ifndef PML_META_OPTIONS_H
#define PML_META_OPTIONS_H

#include "format/text_options.h"
#include "meta/table_schema.h"

/* Grouped by meaning, not packed: there is one for each open table. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
typedef struct pml_table_options {
    /* Parsed values, defaults filled in. Strings borrow from the schema or the overrides. */
    int32_t bucket; /* -1 unaware or dynamic, -2 postpone, n > 0 */
    enum { PML_BUCKET_FUNCTION_DEFAULT = 0, PML_BUCKET_FUNCTION_MOD } bucket_function;
    int64_t dynamic_target_rows;
    int32_t dynamic_buckets_max; /* -1: no limit but that of the numbers */
    bool append_ordered, write_only;
    const char *file_format, *file_compression;
    int32_t zstd_level;
    int64_t target_file_size, target_file_rows, file_block_size, parquet_page_size, read_batch_rows, write_buffer_size;
    bool parquet_dictionary, parquet_delta;
    enum { PML_READ_VALIDATE_FULL = 0, PML_READ_VALIDATE_BASIC } read_validate;
    bool read_untrusted, orc_ltz_legacy;
    pml_text_options csv, json, text; /* of files of these formats */
    const char *data_file_prefix, *data_path_directory; /* directory NULL: none */
    bool suffix_include_compression;
    const char *manifest_compression; /* Avro codec name */
    int64_t manifest_target_size, manifest_full_threshold;
    int32_t manifest_merge_min_count;
    bool stats_dense;
    const char *stats_mode; /* metadata.stats-mode, unparsed */
    int32_t stats_keep_first; /* -1: all */
    const char *partition_default_name;
    bool partition_legacy_name;
    int32_t commit_max_retries;
    int64_t commit_timeout_ms, commit_min_wait_ms, commit_max_wait_ms; /* timeout -1: none */
    enum { PML_DURABILITY_FILES = 0, PML_DURABILITY_FILE_SYSTEM, PML_DURABILITY_NONE } commit_durability;
    bool commit_force_create, ignore_empty_commit, dynamic_partition_overwrite;
    int64_t split_target_size, split_open_cost;
    const char *branch; /* "main" */
    bool index_in_data_dir, file_index_read;
    bool data_evolution; /* files hold some of the columns only (table/plan_columns.c) */
    /* tables with a primary key; what names columns, and what only merging asks for, is in merge/merge_options.h */
    enum {
        PML_MERGE_ENGINE_DEDUPLICATE = 0,
        PML_MERGE_ENGINE_PARTIAL_UPDATE,
        PML_MERGE_ENGINE_AGGREGATION,
        PML_MERGE_ENGINE_FIRST_ROW
    } merge_engine;
    enum { PML_CHANGELOG_NONE = 0, PML_CHANGELOG_INPUT, PML_CHANGELOG_FULL_COMPACTION, PML_CHANGELOG_LOOKUP } changelog_producer;
    enum { PML_SEQUENCE_ASCENDING = 0, PML_SEQUENCE_DESCENDING } sequence_order;
    bool force_lookup, deletion_vectors, deletion_vectors_merge_on_read, thin_mode, ignore_update_before;
    const char *rowkind_field; /* NULL: none */
    bool pk_clustering; /* compacted files are sorted by other columns: each is read as it lies, none is merged by key */
    /* scan selection: at most one of the values counts, the one that scan_by names; from BETWEEN on it is what changed that is read */
    enum {
        PML_SCAN_LATEST = 0,
        PML_SCAN_ID,
        PML_SCAN_TAG,
        PML_SCAN_TIME,
        PML_SCAN_WATERMARK,
        PML_SCAN_BETWEEN,
        PML_SCAN_BETWEEN_TIMES,
        PML_SCAN_TO_AUTO_TAG
    } scan_by;
    int64_t scan_snapshot_id, scan_timestamp_ms, scan_watermark;
    const char *scan_tag, *scan_between, *scan_between_times, *scan_to_auto_tag;
    enum { PML_BETWEEN_AUTO = 0, PML_BETWEEN_DELTA, PML_BETWEEN_CHANGELOG, PML_BETWEEN_DIFF } between_mode;
    bool between_tag_to_snapshot;
    enum {
        PML_START_DEFAULT = 0,
        PML_START_LATEST_FULL,
        PML_START_FULL, /* older name of it */
        PML_START_LATEST,
        PML_START_COMPACTED_FULL,
        PML_START_FROM_TIMESTAMP,
        PML_START_FROM_SNAPSHOT,
        PML_START_FROM_SNAPSHOT_FULL,
        PML_START_INCREMENTAL
    } scan_mode;
    int32_t full_compaction_delta_commits; /* -1: not set */
    /* streams */
    bool stream_overwrite, stream_append_overwrite, consumer_ignore_progress;
    int64_t stream_delay_ms; /* -1: none */
    bool has_bounded_watermark;
    int64_t bounded_watermark;
    const char *consumer_id;
    int32_t snapshots_min, snapshots_max, changelogs_min, changelogs_max; /* of changelogs -1: as the snapshots */
    int64_t snapshots_ms, changelogs_ms;
    /* real-time (realtime.md section 20) */
    bool realtime_enabled;
    const char *rt_store;
    int32_t rt_stats_mode; /* PML_RT_STATS_* */
    enum { PML_RT_COLLAPSE_OFF = 0, PML_RT_COLLAPSE_AUTO } rt_collapse;
    bool rt_offset_external;
    int32_t rt_validate_input; /* as pml_check_level has them (rt_write.c) */
    bool rt_accept_update_after, rt_allow_float_key;
    enum { PML_RT_VERIFY_HASH = 0, PML_RT_VERIFY_EXACT, PML_RT_VERIFY_RANGE, PML_RT_VERIFY_OFF } rt_verify_commit;
    bool rt_verify_order, rt_auto_advance;
    enum { PML_RT_FOREIGN_ASK = 0, PML_RT_FOREIGN_INHERIT, PML_RT_FOREIGN_RESET } rt_foreign_overwrite;
    int32_t rt_progress_max_walk, rt_plan_retries, rt_read_max_fanin;
    int64_t rt_reanchor_interval_ms, rt_read_view_ttl_ms; /* reanchor 0: never */
    enum { PML_RT_REAPER_THREAD = 0, PML_RT_REAPER_INLINE } rt_reaper;
} pml_table_options;

typedef enum pml_stats_mode_kind { PML_STATS_NONE, PML_STATS_COUNTS, PML_STATS_TRUNCATE, PML_STATS_FULL } pml_stats_mode_kind;
typedef struct pml_stats_mode {
    pml_stats_mode_kind kind;
    int32_t length;
} pml_stats_mode;

/* Schema options plus overrides (which win). A value that cannot be parsed, or an option whose meaning we do not implement:
   PML_E_INVAL or PML_E_UNSUPPORTED naming option, value and table (`where`). for_write refuses more than reading does. */
int pml_table_options__parse(pml_table_options *out, const pml_table_schema *s, const pml_option *overrides, size_t n,
                             bool for_write, const char *where, pml_error *err);
/* metadata.stats-mode and fields.<c>.stats-mode of column i, keep-first rule included. */
int pml_table_options__stats_mode(pml_stats_mode *out, const pml_table_schema *s, const pml_table_options *o, size_t column,
                                  pml_error *err);

/* Whether index files say which bucket a key is in (M 9.1): a primary key, and no fixed number of buckets. */
bool pml_table_options__is_dynamic(const pml_table_options *o, const pml_table_schema *s);
/* Whether merging takes, of a key's rows that were compacted, only the one of the lowest level (D 10.2). */
bool pml_table_options__is_lookup(const pml_table_options *o);
/* Whether changelogs outlive their snapshots, in changelog/. */
bool pml_table_options__keeps_changelogs(const pml_table_options *o);
/* Whether reads of a snapshot leave out the files of level 0 (D 10.6). */
bool pml_table_options__skips_level0(const pml_table_options *o);

/* Refuses by name every table whose content this version cannot read rightly (merge engine, formats, deletion
   vectors, row tracking, ...), or not write (primary key, ...). The message begins with the words "needs <feature>". The features are those of the corpus
   index: primary-key, merge-engine:<e>, format:<f>, deletion-vectors, bucket:<b>, row-tracking, data-evolution, type:<t>.
   What the schema does not show (files of an older schema, deletion vectors or ORC files left over from earlier options) is
   for the planner to refuse. */
int pml_table_options__check_supported(const pml_table_schema *s, const pml_option *overrides, size_t n, bool for_write,
                                       const char *where, pml_error *err);
/* Refuses (PML_E_INVAL naming option, value and table) overrides of what is fixed with the table unless they say what it says anyway.
   branch: the one that was opened. */
int pml_table_options__check_fixed(const pml_table_schema *s, const pml_option *overrides, size_t n, const char *branch,
                                   const char *where, pml_error *err);

#endif
