/* SPDX-License-Identifier: Apache-2.0 */
/* Which buckets a predicate leaves possible (Java: BucketSelectConverter): it names values for all bucket keys, rows with other
   values cannot match, and rows with these are in the buckets of these. */
#ifndef PML_TABLE_PRUNE_BUCKET_H
#define PML_TABLE_PRUNE_BUCKET_H

#include "table/table.h"

typedef struct pml_bucket_choice pml_bucket_choice;

/* *out = NULL: all buckets stay possible. schema and options are borrowed; literals of the predicate, too. */
int pml_bucket_choice__new(pml_bucket_choice **out, pml_env *env, const pml_table_schema *schema, const pml_table_options *options,
                           const pml_pred *predicate, pml_error *err);
void pml_bucket_choice__free(pml_bucket_choice *c);
/* Whether `bucket` of `total_buckets` may hold a matching row. */
int pml_bucket_choice__test(bool *matches, pml_bucket_choice *c, int32_t bucket, int32_t total_buckets, pml_error *err);

#endif
