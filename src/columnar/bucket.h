/* SPDX-License-Identifier: Apache-2.0 */
/* Which bucket a row belongs to (Java: BucketFunction, DefaultBucketFunction, ModBucketFunction, RowKeyExtractor). */
#ifndef PML_COLUMNAR_BUCKET_H
#define PML_COLUMNAR_BUCKET_H

#include "columnar/binary_row.h"

/* The values of PML_BUCKET_FUNCTION_* in meta/options.h, which this folder cannot see. */
typedef enum pml_bucket_function { PML_BUCKET_BY_HASH = 0, PML_BUCKET_BY_MOD = 1 } pml_bucket_function;

/* floorMod(value, n): never negative. n > 0. */
int32_t pml_bucket__mod(int64_t value, int32_t n);

/* buckets[i] = bucket of row i, for all batch->length rows. types[i] and columns[i] (index of a child of batch) describe the
   n_keys bucket keys. PML_E_INVAL: n_buckets < 1, or mod over anything but one INT or BIGINT; the rest as
   pml_binary_row__write_from_arrow. */
int pml_bucket__assign(int32_t *buckets, pml_env *env, pml_bucket_function function, int32_t n_buckets,
                       const pml_type *const *types, const struct ArrowArray *batch, const int32_t *columns,
                       size_t n_keys, pml_error *err);

/* hashes[i] = the hash of the key of row i, as buckets and the index files of dynamic buckets have it (Java: BinaryRow.hashCode). */
int pml_bucket__hashes(int32_t *hashes, pml_env *env, const pml_type *const *types, const struct ArrowArray *batch,
                       const int32_t *columns, size_t n_keys, pml_error *err);

#endif
