/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical row form (docs/rows.md), printed from arrays: JSON text of one value of any type. The text of atomic values
 * without quotes is pml_value__print's; this file adds quotes, escapes and everything nested.
 */
#ifndef PML_COLUMNAR_ROW_TEXT_H
#define PML_COLUMNAR_ROW_TEXT_H

#include "columnar/data_type.h"

/* The fields of an Arrow struct schema: types from the metadata "paimon.type" where it is, else from the Arrow format; ids
   from "paimon.id", else -1. Everything is copied into the arena. PML_E_SCHEMA for what has no row type. */
int pml_row_text__fields(pml_field **out, size_t *n, pml_arena *arena, const struct ArrowSchema *schema,
                         pml_error *err);

/* Appends one value (null allowed) as JSON. Errors are the buffer's: sticky, see pml_buf__check; PML_E_CORRUPT for a malformed VARIANT. */
int pml_row_text__append(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row);
/* The JSON of a VARIANT that is not null, not as a text of JSON. */
int pml_row_text__append_variant(pml_buf *out, const struct ArrowArray *array, int64_t row);
/* Whether the value is null; row is relative to the array's offset, as everywhere. */
bool pml_row_text__is_null(const struct ArrowArray *array, int64_t row);
/* Appends a JSON string: `"`, `\` and characters below 0x20 are escaped, everything else goes through. */
int pml_row_text__append_string(pml_buf *out, const void *text, size_t len);

#endif
