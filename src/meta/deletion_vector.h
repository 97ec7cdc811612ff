/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletion vectors (Java: DeletionVector, DeletionVectorsIndexFile; format-metadata.md 10.1): which rows of a data file were deleted.
 * Rows are counted as they lie in the file. Both forms are read, the magic tells them apart:
 *
 *   at `offset`: i32 BE L | L bytes | u32 BE CRC-32 of the L bytes
 *   32 bits: i32 BE 1581511376 | a Roaring bitmap                              `length` is L
 *   64 bits: i32 LE 1681511377 | i64 LE n | n x (i32 LE high half, a Roaring bitmap)     `length` is L + 8
 */
#ifndef PML_META_DELETION_VECTOR_H
#define PML_META_DELETION_VECTOR_H

#include "columnar/row_set.h"

/* Where it lies. */
typedef struct pml_deletion_range {
    int64_t offset, length;
    int64_t cardinality; /* -1: unknown */
} pml_deletion_range;

/* A vector of a file with a million rows that are deleted one by one has about 128 KiB; this is one of 4 thousand million. */
enum { PML_DELETION_VECTOR_MAX = 1024 * 1024 * 1024 };

/* The rows of a file of n_rows that were deleted. PML_E_CORRUPT naming the index file at `path`; PML_E_NOT_FOUND. Ends with
   pml_row_set__clear; nothing to clear on failure. */
int pml_deletion_vector__read(pml_row_set *deleted, pml_env *env, const char *path, const pml_deletion_range *range, int64_t n_rows,
                              pml_error *err);
/* The same of the whole record, from its length to its checksum. */
int pml_deletion_vector__decode(pml_row_set *deleted, pml_env *env, pml_bytes record, const char *path, const pml_deletion_range *range,
                                int64_t n_rows, pml_error *err);

#endif
