/* SPDX-License-Identifier: Apache-2.0 */
/* Which partition-bucket each row of a batch belongs to. One way for the batch writer and the real-time writer. */
#ifndef PML_TABLE_ROUTE_H
#define PML_TABLE_ROUTE_H

#include "columnar/batch.h"
#include "table/table.h"

typedef struct pml_route_slice {
    pml_bytes partition; /* counted row bytes */
    int32_t bucket;
    int64_t n;
    int64_t *rows; /* ascending; NULL: all rows of the batch */
} pml_route_slice;

typedef struct pml_route {
    pml_arena arena;
    size_t n, cap;
    pml_route_slice *slices; /* ordered by partition bytes, then bucket */
} pml_route;

/* The batch has all table columns (first_column: how many other columns come before them). Its rows are checked already. */
int pml_route__batch(pml_route *out, const pml_table *t, const struct ArrowArray *batch, int32_t first_column, pml_error *err);
/* The same where the bucket of each row is known already: below PML_DYNAMIC_BUCKETS_MAX (table/bucket_assigner.h). */
int pml_route__assigned(pml_route *out, const pml_table *t, const int32_t *buckets, const struct ArrowArray *batch, int32_t first_column,
                        pml_error *err);
/* Counted partition row of one row, in the arena. */
int pml_route__partition_of(pml_bytes *out, pml_arena *arena, const pml_table *t, const struct ArrowArray *batch, int64_t row,
                            int32_t first_column, pml_error *err);
void pml_route__clear(pml_route *r);
/* Order of partition-buckets: partition bytes, then bucket. */
int pml_route__compare(pml_bytes a_partition, int32_t a_bucket, pml_bytes b_partition, int32_t b_bucket);

#endif
