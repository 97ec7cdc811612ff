/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a commit message: what one prepare made in one partition-bucket (Java: CommitMessageSerializer). The version is
 * not in the bytes; whoever stores them keeps it beside. The only place that knows this layout; docs/protocol.md tells it to
 * others. Primitives: java_bytes.h.
 *
 *   prow  partition
 *   i32   bucket
 *   bool  has total buckets; if so i32                      (since version 7)
 *   list  new, deleted, changelog files                     i32 count, files; generation: 3 "09", 4 and 5 "10", 6 and 7 "12",
 *                                                           8 to 11 the one of 20 fields
 *   list  new, deleted index files                          (since version 10)
 *   list  files before compaction, after it, its changelog
 *   list  new, deleted index files                          (the only index lists before version 10)
 *
 * Java reads no further. Ours of dynamic buckets go on, in version 11:
 *
 *   i32   magic "PMLK"
 *   i64   what stands for the index files of the partition, i64 number of the prepare
 *   list  the index file of the bucket that has the keys, when there is no new one
 */
#ifndef PML_META_SERDE_MESSAGE_H
#define PML_META_SERDE_MESSAGE_H

#include "meta/serde_file.h"
#include "meta/serde_index.h"

enum {
    PML_MESSAGE_VERSION_WRITTEN = 11,
    PML_MESSAGE_VERSION_OLDEST = 3,
    PML_MESSAGE_BYTES_MAX = 256 * 1024 * 1024 /* like splits */
};

/* What the dynamic bucket of a message was chosen by; a commit compares it with the table. */
typedef struct pml_message_keys {
    bool told;
    uint64_t keys, prepare;
    bool has_file;
    pml_index_entry file; /* that has the keys of the rows, where there are no new ones */
} pml_message_keys;

/* Nothing but new files, and where keys got dynamic buckets a new index file with the one that it replaces. */
typedef struct pml_commit_message {
    pml_bytes partition; /* counted row bytes */
    int32_t bucket;
    bool has_total_buckets;
    int32_t total_buckets;
    size_t n_files;
    pml_data_file *files;
    bool has_index, has_index_before;
    pml_index_entry index, index_before;
    pml_message_keys keys;
} pml_commit_message;

/* Version 11. */
int pml_serde_message__write(pml_buf *out, const pml_commit_message *m, pml_error *err);
/* Everything is copied to the arena. PML_E_CORRUPT; PML_E_UNSUPPORTED for other versions and for messages that hold more than new
   files, naming what they need. */
int pml_serde_message__read(pml_commit_message *out, pml_arena *arena, int32_t version, pml_bytes bytes, pml_error *err);

#endif
