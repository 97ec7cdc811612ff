/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas as JSON: made from the short form of `pml table create`, and types back as SQL text. */
#ifndef PML_TOOLS_SCHEMA_TEXT_H
#define PML_TOOLS_SCHEMA_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* Fields from "id INT NOT NULL, name STRING": [{"name":..,"type":..},..]. NULL after it has said what is wrong. */
json_t *schema_columns_parse(const char *text);
/* The type of a schema file, text or object, as SQL ("ARRAY<INT> NOT NULL"); malloc'ed. */
char *schema_type_text(const json_t *type);

#endif
