/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one prepare makes of the index files of a partition with dynamic buckets: shared by its messages, which may be committed one by
 * one, so that each knows which of the table's index files come from the others.
 */
#ifndef PML_TABLE_KEY_CHANGES_H
#define PML_TABLE_KEY_CHANGES_H

#include <stdatomic.h>

#include "util/env.h"

typedef struct pml_key_change {
    int32_t bucket;
    uint64_t before, after; /* pml_hash_index__print of the files; before is 0 where there was none */
} pml_key_change;

typedef struct pml_key_changes {
    pml_env *env;
    atomic_int refs;
    size_t n;
    pml_key_change v[];
} pml_key_changes;

/* With room for n changes and none in it, and one reference. NULL: no memory. */
pml_key_changes *pml_key_changes__new(pml_env *env, size_t n);
void pml_key_changes__acquire(pml_key_changes *c);
void pml_key_changes__release(pml_key_changes *c); /* NULL allowed */

#endif
