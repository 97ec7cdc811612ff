/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving out what cannot match: partitions exactly, files by their statistics. */
#ifndef PML_TABLE_PRUNE_H
#define PML_TABLE_PRUNE_H

#include "table/table.h"

typedef struct pml_prune {
    pml_env *env;
    const pml_table_schema *schema;
    const pml_pred *predicate;
    pml_pred *partition_pred; /* the conjuncts over partition columns only; NULL: none */
    int32_t partition_ids[64];
    pml_map verdicts; /* partition bytes -> whether it matches: a table has few partitions and many files */
    pml_arena arena;
    int rc; /* first error inside a callback, which cannot report it */
    pml_error err;
} pml_prune;

/* predicate NULL: everything matches. schema and predicate are borrowed. */
int pml_prune__init(pml_prune *pr, pml_env *env, const pml_table_schema *schema, const pml_pred *predicate, pml_error *err);
void pml_prune__clear(pml_prune *pr);
int pml_prune__partition(bool *matches, pml_prune *pr, pml_bytes partition, pml_error *err);
/* A pml_manifest_keep_fn over the partition; look at pr->rc afterwards. arg is the pml_prune. */
bool pml_prune__keep_entry(void *arg, const pml_manifest_entry *e);
/* False: no row of the file can match. */
int pml_prune__file(bool *matches, pml_prune *pr, const pml_data_file *f, pml_error *err);

#endif
