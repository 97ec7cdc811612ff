/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts as trees in an arena, with the tolerance of Jackson: numbers stay texts, what follows the first value is not looked at,
   of members with one name the last value takes the place of the first. */
#ifndef PML_FORMAT_JSON_TREE_H
#define PML_FORMAT_JSON_TREE_H

#include "columnar/value.h"
#include "util/arena.h"

enum {
    PML_JSON_DEPTH_MAX = 256,
    PML_JSON_LINE_VALUES_MAX = 4 * 1024 * 1024 /* of one text; a node costs 160 bytes, so they cost up to a gigabyte */
};

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
    uint32_t hash; /* of the name, by the environment's seed */
    pml_bytes name, text;
    size_t n; /* children */
    struct pml_json_node *first, *next;
    struct pml_json_node **table; /* of an object with many members: by hash; NULL: look at one after the other */
    size_t table_cap;
    /* For who makes values of it: */
    struct pml_json_node **members;
    bool null;
    pml_value value, key;
} pml_json_node;

/* *out NULL: there is no value, only blanks. PML_E_INVAL with the place; PML_E_LIMIT. */
int pml_json_tree__parse(pml_json_node **out, pml_bytes text, pml_arena *arena, pml_error *err);
/* The member of a name, most often the one behind `last` (NULL: the first). NULL: there is none. */
pml_json_node *pml_json_tree__member(const pml_json_node *object, const pml_json_node *last, pml_bytes name, const pml_env *env);

#endif
