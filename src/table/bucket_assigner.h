/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamic buckets: which bucket the rows of a table with a primary key and bucket=-1 go to (format-metadata.md 9.1; Java:
 * HashBucketAssigner, PartitionIndex, DynamicBucketIndexMaintainer, with one assigner and one writer).
 *
 *   - a key that the partition has stays in its bucket: index files of the latest snapshot say which, new keys are remembered here;
 *   - a new one goes to the first bucket with fewer than dynamic-bucket.target-row-num keys,
 *   - else to a new bucket with the lowest free number,
 *   - else, at dynamic-bucket.max-buckets, to one that the hash of the key chooses (in Java a random one does).
 *
 * A partition is loaded when its first row comes, as it was when the assigner was made. Nobody else may add keys meanwhile, so each message
 * says what stands for the index files its buckets were chosen by, and a commit refuses it where the table has others by then
 * (table/commit_index.c).
 *
 * Several threads may assign at once, also during the one prepare or revert. Nobody waits for the files of another's partition.
 */
#ifndef PML_TABLE_BUCKET_ASSIGNER_H
#define PML_TABLE_BUCKET_ASSIGNER_H

#include "table/hash_index.h"
#include "table/rolling.h"

typedef struct pml_bucket_assigner pml_bucket_assigner;

/* Reads which index files the latest snapshot has. PML_E_INVAL: dynamic-bucket.max-buckets is 0. The table outlives it. */
int pml_bucket_assigner__new(pml_bucket_assigner **out, pml_table *t, pml_error *err);
void pml_bucket_assigner__free(pml_bucket_assigner *a);
/* buckets[i] for every row of a checked batch (first_column as pml_route__batch). What a failed call has assigned stays assigned. */
int pml_bucket_assigner__assign(int32_t *buckets, pml_bucket_assigner *a, const struct ArrowArray *batch, int32_t first_column,
                                pml_error *err);
/* The files of one prepare, each of another partition-bucket: where keys were added, their index file is written and named. On failure
   none is. */
int pml_bucket_assigner__prepare(pml_bucket_assigner *a, pml_new_files *const *v, size_t n, pml_error *err);
/* The files of the last prepare will never be committed: call it before they are deleted. Their keys are new again. */
void pml_bucket_assigner__revert(pml_bucket_assigner *a, const pml_new_files *f);

#endif
