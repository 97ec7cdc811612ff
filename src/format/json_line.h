/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a JSON data file as a row, as Java 1.4.2 reads it (JsonFileReader, Jackson): members by name, the last one of a name counts;
 * every atomic value is the text that Jackson has of it, parsed by the column's type; of arrays and objects that text is empty. What is
 * wrong is null with json.ignore-parse-errors, and a line that is no object is no row; else the read fails.
 */
#ifndef PML_FORMAT_JSON_LINE_H
#define PML_FORMAT_JSON_LINE_H

#include "columnar/batch.h"
#include "format/json_tree.h"
#include "format/text_value.h"

typedef struct pml_json_line {
    const pml_field *fields; /* wanted */
    const pml_text_rule *rules;
    size_t n_fields;
    bool ignore_errors;
    pml_json_node **members; /* of the row that was parsed, one per field; NULL: null */
} pml_json_line;

int pml_json_line__init(pml_json_line *j, pml_arena *arena, const pml_field *fields, const pml_text_rule *rules, size_t n_fields,
                        bool ignore_errors, pml_error *err);
/* Everything of the row is in the arena, until the next call. *keep = false: the line is no row. PML_E_INVAL says what is wrong. */
int pml_json_line__parse(pml_json_line *j, bool *keep, pml_bytes line, pml_arena *arena, pml_error *err);
/* Appends field i of the row that was parsed. */
int pml_json_line__append(pml_builder *b, const pml_json_line *j, size_t i);

#endif
