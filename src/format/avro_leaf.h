/* SPDX-License-Identifier: Apache-2.0 */
/* Which Avro types hold the values of an atomic column. */
#ifndef PML_FORMAT_AVRO_LEAF_H
#define PML_FORMAT_AVRO_LEAF_H

#include <jansson.h>

#include "format/avro_schema.h"

/* Sets op->code and op->n to what reads a value of the Avro type into a column. declared: the object that names the type and may have a
   logicalType; NULL: the bare name. false: the type does not belong to such a column. */
bool pml_avro__column_op(pml_avro_op *op, const pml_type *column, const char *primitive, const json_t *declared);

#endif
