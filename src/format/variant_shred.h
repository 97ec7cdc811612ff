/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variants that a Parquet file keeps in several columns ("shredded"), put together again as Java does (ShreddingUtils.rebuild,
 * VariantSchema). Where the table has a VARIANT such a file has
 *
 *   group { required binary metadata; optional binary value; optional typed_value }
 *
 * with typed_value a scalar, a group of members each { value, typed_value } and never null, or a list of such. A value that does not
 * fit typed_value stands in value; of an object the members that typed_value has no place for do. A member with neither is absent.
 */
#ifndef PML_FORMAT_VARIANT_SHRED_H
#define PML_FORMAT_VARIANT_SHRED_H

#include "columnar/batch.h"

typedef struct pml_variant_shred pml_variant_shred;

/* What becomes of the columns of a file, matched with the fields by name. *out NULL: nothing is shredded. Else *file is replaced by the
   schema that batches have behind pml_variant_shred__batch. PML_E_UNSUPPORTED: a typed_value of a type that Java shreds into nothing. */
int pml_variant_shred__new(pml_variant_shred **out, pml_env *env, struct ArrowSchema *file, const pml_field *fields, size_t n,
                           pml_error *err);
void pml_variant_shred__free(pml_variant_shred *s);
/* Replaces columns of a batch. PML_E_CORRUPT. After a failure the batch can only be released. */
int pml_variant_shred__batch(pml_variant_shred *s, struct ArrowArray *batch, pml_error *err);

#endif
