/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving out what cannot match: manifests by the range of their partitions, entries by their partition (exactly) and bucket, files
 * by their statistics (Java: AbstractFileStoreScan, PartitionPredicate, BucketSelectConverter).
 *
 * The buckets that a manifest list gives for each manifest say nothing here, as in Java: which bucket a key is in depends on the
 * number of buckets, and that is known per entry only (a rescale changes it for one partition after the other).
 */
#ifndef PML_TABLE_PRUNE_H
#define PML_TABLE_PRUNE_H

#include "table/table.h"

typedef struct pml_prune {
    pml_env *env;
    const pml_table_schema *schema;
    const pml_pred *predicate;
    pml_pred *partition_pred; /* the conjuncts over partition columns only; NULL: none */
    int32_t partition_ids[64];
    pml_field *partition_fields; /* as the statistics of a manifest list have them */
    pml_pred *key_pred; /* the conjuncts over the trimmed primary key only; NULL: none, or no primary key */
    pml_field *key_fields; /* as the key statistics of a file have them */
    struct pml_bucket_choice *buckets; /* NULL: any bucket may match */
    pml_map verdicts; /* partition bytes -> whether it matches: a table has few partitions and many files */
    pml_arena arena;
    int rc; /* first error inside a callback, which cannot report it */
    pml_error err;
} pml_prune;

/* predicate NULL: everything matches. schema and predicate are borrowed. */
int pml_prune__init(pml_prune *pr, pml_env *env, const pml_table_schema *schema, const pml_table_options *options,
                    const pml_pred *predicate, pml_error *err);
void pml_prune__clear(pml_prune *pr);
int pml_prune__partition(bool *matches, pml_prune *pr, pml_bytes partition, pml_error *err);
/* False: no key that the predicate allows is in this bucket of a partition with so many buckets. Only for tables with fixed buckets. */
int pml_prune__bucket(bool *matches, pml_prune *pr, int32_t bucket, int32_t total_buckets, pml_error *err);
/* For pml_live_files_request: a manifest by its partitions; an entry by its partition and bucket. Look at pr->rc afterwards. arg is
   the pml_prune. */
bool pml_prune__keep_manifest(void *arg, const pml_manifest_meta *m);
bool pml_prune__keep_entry(void *arg, const pml_manifest_entry *e);
/* Field ids of the key columns of which all versions of a key have the same value for a predicate; room for n_keys. Not those of FLOAT and
   DOUBLE: 0.0 and -0.0 are one key, but a predicate tells them apart. */
size_t pml_prune__key_ids(int32_t *ids, const pml_table_schema *s);
/* False: no key of the file can match. Files of tables with a primary key have statistics of their keys. */
int pml_prune__keys(bool *matches, pml_prune *pr, const pml_data_file *f, pml_error *err);
/* False: no row of the file, which was written with that schema, can match. */
int pml_prune__file(bool *matches, pml_prune *pr, const pml_table_schema *written, const pml_data_file *f, pml_error *err);

#endif
