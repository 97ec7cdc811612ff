/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer must know of the table before it writes to a fixed or a dynamic bucket: the last sequence number of each partition-bucket and
   the number of buckets each partition was written with (Java: FileSystemWriteRestore). */
#ifndef PML_TABLE_RESTORE_H
#define PML_TABLE_RESTORE_H

#include "table/table.h"

typedef struct pml_restore {
    pml_env *env;
    pml_arena arena;
    pml_map last_sequence; /* partition bytes + bucket (int32 BE) -> int64_t */
    pml_map total_buckets; /* partition bytes -> int32_t */
} pml_restore;

/* Reads the latest snapshot. For append tables without fixed buckets nothing is read and everything starts at 0. */
int pml_restore__load(pml_restore *out, pml_table *t, pml_error *err);
void pml_restore__clear(pml_restore *r);
/* Number of the first row that a new writer of this partition-bucket gives: last + 1, or 0. PML_E_UNSUPPORTED when the partition
   was written with another number of buckets than the table has now. */
int pml_restore__first_sequence(int64_t *first, const pml_restore *r, const pml_table *t, pml_bytes partition, int32_t bucket,
                                pml_error *err);

#endif
