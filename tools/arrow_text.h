/* SPDX-License-Identifier: Apache-2.0 */
/* What the command needs to know about Arrow schemas and arrays. */
#ifndef PML_TOOLS_ARROW_TEXT_H
#define PML_TOOLS_ARROW_TEXT_H

#include <paimonlive/arrow_c.h>
#include <stdbool.h>
#include <stddef.h>

/* The type text of a column from its metadata "paimon.type"; "" when absent. Static storage, good until the next call. */
const char *arrow_type_text(const struct ArrowSchema *column);
/* Whether values of the column are numbers: shown at the right, bare in JSON. */
bool arrow_is_number(const struct ArrowSchema *column);
/* Column number of a name, -1 when absent. */
int64_t arrow_find(const struct ArrowSchema *schema, const char *name);
bool arrow_is_null(const struct ArrowArray *column, int64_t row);
int64_t arrow_int64(const struct ArrowArray *column, int64_t row);
bool arrow_string_equals(const struct ArrowArray *column, int64_t row, const char *text);

#endif
