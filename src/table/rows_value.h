/* SPDX-License-Identifier: Apache-2.0 */
/* One parsed JSON value into a builder: the canonical row form read back. */
#ifndef PML_TABLE_ROWS_VALUE_H
#define PML_TABLE_ROWS_VALUE_H

#include <jansson.h>

#include "columnar/batch.h"

/* Arrow's timestamps of precision 7 to 9 are nanoseconds in 64 bits. */
#define PML_ROWS_NANOS_RANGE "1677-09-21..2262-04-11 is the range that TIMESTAMP(7) to TIMESTAMP(9) can hold here"

/* Appends v (NULL or JSON null: null) as a value of type t. name is for messages. arena holds parsed bytes until the caller
   clears it. PML_E_INVAL says what the value is and what the type wants; the builder is then not usable any more. */
int pml_rows_value__append(pml_builder *b, pml_arena *arena, const pml_type *t, const char *name, json_t *v,
                           pml_error *err);

/* Appends an object as a row of fields; its key "_kind", when skip_kind, is not looked at. Unknown keys are errors. */
int pml_rows_value__append_row(pml_builder *b, pml_arena *arena, const pml_field *fields, size_t n, json_t *object,
                               bool skip_kind, pml_error *err);

#endif
