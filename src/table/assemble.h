/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wanted columns out of the batches of a source, which holds some of them: the others are the same value in every row, of the
 * partition or null. One way for files and memory.
 */
#ifndef PML_TABLE_ASSEMBLE_H
#define PML_TABLE_ASSEMBLE_H

#include "columnar/batch.h"
#include "columnar/cast.h"
#include "meta/table_schema.h"

typedef struct pml_assembly_column {
    int32_t stored;     /* position in the fields of the source, or -1: constant */
    pml_value constant; /* bytes are borrowed */
    const pml_cast *cast; /* of what is stored; NULL: none */
} pml_assembly_column;

typedef struct pml_assembly {
    pml_env *env;
    size_t n;
    pml_field *fields; /* wanted, in order; their types are borrowed */
    pml_assembly_column *columns;
    size_t n_stored;
    pml_field *stored_fields; /* what the source is asked for, in this order */
    size_t n_tracked; /* the last of these but one, which a file may lack, in front of the position of the row (row_tracking.h); 0: no position */
} pml_assembly;

/* Position of a column among the partition keys, by its field id; -1: it is none. */
int32_t pml_assembly__partition_key(const pml_table_schema *s, int32_t field_id);
/* Fields of the table's schema from a source of that schema: all but the partition columns are stored. partition has one value per
   partition key. Everything is in the arena. */
int pml_assembly__init(pml_assembly *a, pml_arena *arena, const pml_table_schema *schema, const pml_field *fields, size_t n,
                       const pml_value *partition, pml_error *err);
/* A batch of the stored fields (moved) as a struct array of the wanted ones. Where columns are cast it was checked (pml_batch__check). */
int pml_assembly__batch(struct ArrowArray *out, const pml_assembly *a, struct ArrowArray *batch, pml_error *err);

#endif
