/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and types in JSON (Java: DataField, DataTypeJsonParser), and the rules that every schema meets. Shared by the two
   ways in: schema files and requests. */
#ifndef PML_META_SCHEMA_JSON_H
#define PML_META_SCHEMA_JSON_H

#include "meta/json.h"
#include "meta/table_schema.h"

/* Files carry the ids of columns and members; a request does not, and those that it has are not looked at (-1 is stored). */
typedef enum pml_schema_ids { PML_SCHEMA_IDS_GIVEN, PML_SCHEMA_IDS_NONE } pml_schema_ids;

/* The array member "fields" of an object. */
int pml_schema_json__get_fields(pml_field **out, size_t *n, pml_arena *arena, const json_t *object, pml_schema_ids ids,
                                const pml_json_source *src);
/* An object of strings. */
int pml_schema_json__get_options(pml_option **out, size_t *n, pml_arena *arena, const json_t *object,
                                 const char *member, pml_json_need need, const pml_json_source *src);
void pml_schema_json__put_fields(pml_json_writer *w, const pml_field *fields, size_t n);

/* A schema without content. Returns owned. */
int pml_table_schema__new(pml_table_schema **out, pml_env *env, pml_error *err);
/* Checks names, ids and keys and fills the derived members. Comes last in making a schema. */
int pml_table_schema__derive(pml_table_schema *s, const pml_json_source *src);

#endif
