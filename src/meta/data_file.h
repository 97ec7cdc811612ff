/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the metadata says of one data file (Java: DataFileMeta) and of its appearance in a manifest (Java: ManifestEntry,
 * SimpleStats). Plain structs in an arena; row bytes keep their 4-byte count and stay undecoded until somebody needs them.
 */
#ifndef PML_META_DATA_FILE_H
#define PML_META_DATA_FILE_H

#include "columnar/binary_row.h"
#include "columnar/predicate.h"
#include "meta/deletion_vector.h"

/* min, max: counted row bytes; null_counts[i] = -1: unknown. n_null_counts 0 with has_null_counts: an empty array. */
typedef struct pml_simple_stats {
    pml_bytes min, max;
    bool has_null_counts;
    size_t n_null_counts;
    const int64_t *null_counts;
} pml_simple_stats;

typedef struct pml_string_list {
    bool present; /* false: null */
    size_t n;
    const char *const *v;
} pml_string_list;

typedef struct pml_optional_int64 {
    bool present;
    int64_t v;
} pml_optional_int64;

enum { PML_FILE_SOURCE_APPEND = 0, PML_FILE_SOURCE_COMPACT = 1, PML_FILE_SOURCE_UNKNOWN = -1 };

typedef struct pml_data_file {
    const char *name;
    int64_t size_bytes, row_count;
    pml_bytes min_key, max_key; /* counted row bytes */
    pml_simple_stats key_stats, value_stats;
    int64_t min_sequence, max_sequence, schema_id;
    int32_t level;
    pml_string_list extra_files; /* always present */
    pml_optional_int64 creation_time_ms; /* local wall clock without zone */
    pml_optional_int64 delete_row_count;
    bool has_embedded_index;
    pml_bytes embedded_index;
    int32_t file_source; /* PML_FILE_SOURCE_* */
    pml_string_list value_stats_cols;
    const char *external_path; /* NULL: none */
    pml_optional_int64 first_row_id;
    pml_string_list write_cols;
} pml_data_file;

enum { PML_ENTRY_ADD = 0, PML_ENTRY_DELETE = 1 };

typedef struct pml_manifest_entry {
    int32_t kind; /* PML_ENTRY_* */
    pml_bytes partition; /* counted row bytes */
    int32_t bucket, total_buckets;
    pml_data_file file;
} pml_manifest_entry;

/* One record of a manifest list (Java: ManifestFileMeta). */
typedef struct pml_manifest_meta {
    const char *name;
    int64_t size_bytes, n_added, n_deleted;
    pml_simple_stats partition_stats;
    int64_t schema_id;
    pml_optional_int64 min_bucket, max_bucket, min_level, max_level, min_row_id, max_row_id;
} pml_manifest_meta;

/* Where the deleted rows of a data file stand in an index file (meta/deletion_vector.h). */
typedef struct pml_index_range {
    const char *data_file;
    pml_deletion_range at;
} pml_index_range;

/* One record of an index manifest (Java: IndexManifestEntry). Of a global index only that it is one is decoded. */
typedef struct pml_index_entry {
    int32_t kind;
    pml_bytes partition;
    int32_t bucket;
    const char *type; /* HASH, DELETION_VECTORS, ... */
    const char *name;
    int64_t size_bytes, row_count;
    const char *external_path; /* NULL: where index files of the table lie */
    size_t n_ranges;           /* DELETION_VECTORS */
    const pml_index_range *ranges;
    bool has_global_index;
} pml_index_entry;

/* Appends the identity of an entry (Java: FileEntry.Identifier: partition, bucket, level, name, extra files, embedded index,
   external path) as bytes for use as a map key. */
int pml_manifest_entry__identity(pml_buf *out, const pml_manifest_entry *e);
/* "APPEND" or "COMPACT"; NULL: unknown. */
const char *pml_data_file__source(const pml_data_file *f);
int pml_data_file__copy(pml_data_file *out, pml_arena *arena, const pml_data_file *f);
int pml_manifest_entry__copy(pml_manifest_entry *out, pml_arena *arena, const pml_manifest_entry *e);

#endif
