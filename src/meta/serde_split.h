/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a split (Java: DataSplit.serialize, deserialize). The only place that knows this layout; docs/protocol.md tells it
 * to others. Primitives: java_bytes.h.
 *
 *   i64   magic -2394839472490812314
 *   i32   version                       8: what we write, Java 1.4.2's current one. 2 to 8 are read
 *   i64   snapshot id
 *   prow  partition
 *   i32   bucket
 *   UTF   bucket path (a URI; readers go by their table's own place)
 *   bool  has total buckets; if so i32  (since version 6)
 *   i32   0                             files before a change: only streams that diff have them
 *   byte  0                             their deletion files
 *   i32   n, n files                    generation: 2 "09", 3 and 4 "10", 5 and 6 "12", 7 and 8 the one of 20 fields
 *   byte  0: no deletion files | 1, i32 count, count x ( byte 0 | byte 1, UTF path, i64 offset, i64 length, i64 cardinality )
 *                                       cardinality (-1: unknown) since version 4
 *   bool  of a stream
 *   bool  raw convertible: rows may be read file by file
 */
#ifndef PML_META_SERDE_SPLIT_H
#define PML_META_SERDE_SPLIT_H

#include "meta/serde_file.h"

#define PML_SPLIT_MAGIC INT64_C(-2394839472490812314)
enum {
    PML_SPLIT_VERSION = 8,
    PML_SPLIT_VERSION_OLDEST = 2,          /* version 1 has neither magic nor version */
    PML_SPLIT_BYTES_MAX = 256 * 1024 * 1024 /* 500,000 files; a split holds target-size bytes, so some hundred */
};

/* Where the deleted rows of a file stand (Java: DeletionFile). path NULL: no row of it was deleted. */
typedef struct pml_split_deletion {
    const char *path; /* a URI, or a plain path */
    pml_deletion_range at;
} pml_split_deletion;

typedef struct pml_data_split {
    int64_t snapshot_id;
    pml_bytes partition; /* counted row bytes */
    int32_t bucket;
    const char *bucket_path;
    bool has_total_buckets;
    int32_t total_buckets;
    size_t n_files;
    const pml_data_file *files;
    bool has_before_files; /* it tells a change, which this version does not read */
    const pml_split_deletion *deletions; /* of each file; NULL: none has any */
    bool of_stream, raw_convertible;
} pml_data_split;

/* PML_E_LIMIT, PML_E_INVAL (a path that is not UTF-8). */
int pml_serde_split__write(pml_buf *out, const pml_data_split *s, pml_error *err);
/* Everything is copied to the arena. PML_E_CORRUPT, PML_E_UNSUPPORTED (a newer version, or one of no release that we know). */
int pml_serde_split__read(pml_data_split *out, pml_arena *arena, pml_bytes bytes, pml_error *err);

#endif
