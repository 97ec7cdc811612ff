/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IndexFileMeta as a binary row, the form it has in commit messages (Java: IndexFileMetaSerializer and its older generations). Of these
 * only index files of type HASH are known here. The only place that knows this layout.
 *
 *   i32 size (big-endian), then a BinaryRow: type, name, size, row count, ranges of deletion vectors (null), external path (since 9),
 *   global index (null, since 11)
 */
#ifndef PML_META_SERDE_INDEX_H
#define PML_META_SERDE_INDEX_H

#include "meta/data_file.h"
#include "meta/java_bytes.h"

/* i32 count (0 or 1) and the file; NULL: none. As version 11 of commit messages has them. */
int pml_serde_index__write_list(pml_buf *out, const pml_index_entry *e);
/* The list of a commit message of this version: at most one file, into the reader's arena, without partition and bucket. *found: there is
   one. PML_E_UNSUPPORTED: several, or one of another type. Returns the reader's rc. */
int pml_serde_index__read_list(pml_index_entry *out, bool *found, pml_java_reader *r, int32_t version);

#endif
