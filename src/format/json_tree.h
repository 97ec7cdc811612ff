/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts as trees in an arena, with the tolerance of Jackson: numbers stay texts, what follows the first value is not looked at,
   of members with one name the last value takes the place of the first. */
#ifndef PML_FORMAT_JSON_TREE_H
#define PML_FORMAT_JSON_TREE_H

#include "columnar/value.h"
#include "util/arena.h"

enum { PML_JSON_DEPTH_MAX = 256 };

typedef enum pml_json_kind {
    PML_JSON_NULL = 1,
    PML_JSON_FALSE,
    PML_JSON_TRUE,
    PML_JSON_INTEGER, /* text: as it stands there */
    PML_JSON_REAL,
    PML_JSON_STRING, /* text: UTF-8, unescaped; half of a surrogate pair is a question mark, as in Java's texts */
    PML_JSON_ARRAY,
    PML_JSON_OBJECT
} pml_json_kind;

typedef struct pml_json_node {
    pml_json_kind kind;
    uint32_t hash; /* of the name */
    pml_bytes name, text;
    size_t n; /* children */
    struct pml_json_node *first, *next;
    /* For who makes values of it: */
    bool null;
    pml_value value, key;
    struct pml_json_node **members;
} pml_json_node;

/* *out NULL: there is no value, only blanks. PML_E_INVAL with the place; PML_E_LIMIT. */
int pml_json_tree__parse(pml_json_node **out, pml_bytes text, pml_arena *arena, pml_error *err);
uint32_t pml_json_tree__hash(pml_bytes name);

#endif
