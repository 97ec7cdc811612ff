/* SPDX-License-Identifier: Apache-2.0 */
/* One shredded column (variant_shred.h) to variants: its shape, and the rows. */
#ifndef PML_FORMAT_VARIANT_REBUILD_H
#define PML_FORMAT_VARIANT_REBUILD_H

#include "columnar/batch.h"
#include "columnar/variant_build.h"

enum { PML_VARIANT_SHAPE_DEPTH_MAX = 100 }; /* levels of typed_value; Java infers no more than 50 */

/* A group with a value, a typed_value or both. */
typedef struct pml_variant_shape {
    pml_bytes name;                 /* as a member of an object */
    int64_t value, typed, metadata; /* children; -1: not there */
    pml_variant_kind kind;          /* of typed_value: SCALAR (texts, too), OBJECT or ARRAY */
    pml_type scalar;
    size_t n_members; /* of an object, by place; of an array one, its element */
    struct pml_variant_shape *members;
    pml_bytes *names; /* of the members of an object, sorted */
} pml_variant_shape;

/* Of a group in the schema of a file. PML_E_UNSUPPORTED, PML_E_LIMIT. */
int pml_variant_shape__make(const pml_variant_shape **out, pml_arena *arena, const struct ArrowSchema *group, int depth, pml_error *err);

typedef struct pml_variant_rebuild {
    pml_env *env;
    pml_variant_builder builder;
} pml_variant_rebuild;

void pml_variant_rebuild__init(pml_variant_rebuild *r, pml_env *env);
void pml_variant_rebuild__clear(pml_variant_rebuild *r);
/* The ROWs that an array lies in. Where one is null there is no value, whatever an array that is never null itself says. */
typedef struct pml_variant_above {
    const struct ArrowArray *row;
    const struct pml_variant_above *above; /* NULL: none */
} pml_variant_above;

/* The rows of a group array as VARIANT, without its offset. above NULL: it lies in no ROW. PML_E_CORRUPT. */
int pml_variant_rebuild__array(struct ArrowArray *out, pml_variant_rebuild *r, const pml_variant_shape *shape,
                               const struct ArrowArray *group, const pml_variant_above *above, pml_error *err);

#endif
