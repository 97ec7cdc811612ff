/* SPDX-License-Identifier: Apache-2.0 */
/* Partition rows of a table: decode, encode. Fields in partition-key order, types as in the schema. */
#ifndef PML_META_PARTITION_H
#define PML_META_PARTITION_H

#include "columnar/binary_row.h"
#include "meta/table_schema.h"

enum { PML_PARTITION_KEYS_MAX = 64 }; /* partition columns of one table: a path has one directory for each */

/* values[n_partition_keys] borrow from partition (counted row bytes). */
int pml_partition__decode(pml_value *values, const pml_table_schema *s, pml_bytes partition, pml_error *err);
/* Appends the counted row. */
int pml_partition__encode(pml_buf *out, const pml_table_schema *s, const pml_value *values);
/* Appends bytes for use as the map key of a partition-bucket: the counted row, then the bucket. PML_E_NOMEM, PML_E_LIMIT. */
int pml_partition__bucket_key(pml_buf *out, pml_bytes partition, int32_t bucket);

#endif
