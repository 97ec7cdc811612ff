/* SPDX-License-Identifier: Apache-2.0 */
/* Values out of the texts of CSV and JSON files, as Java 1.4.2 makes them: its parsers of numbers, Base64 for binaries, its casts of
   texts for everything else. */
#ifndef PML_FORMAT_TEXT_VALUE_H
#define PML_FORMAT_TEXT_VALUE_H

#include "columnar/cast.h"
#include "columnar/value.h"

typedef struct pml_text_rule {
    const pml_type *type;
    const pml_cast *cast; /* of a STRING; NULL: the type has a parser of its own here, or is nested */
    bool base64;
    size_t n_nulls; /* that a null takes in the columns: one, and of a ROW those of its members */
    size_t n_children;
    struct pml_text_rule *children; /* ARRAY 1, MAP 2, ROW one per member */
} pml_text_rule;

/* How texts become values of a type, nested ones too (PML_TYPE_DEPTH_MAX bounds them). Everything is in the arena, types are borrowed.
   PML_E_UNSUPPORTED: Java has no such values in these files. */
int pml_text_rule__make(pml_text_rule *out, pml_arena *arena, const pml_type *type, const char *column, pml_error *err);
/* One value of an atomic type, null where a cast gives null. Bytes are in the text or in the arena. PML_E_INVAL: there is none. */
int pml_text_value__parse(pml_value *out, const pml_text_rule *rule, pml_bytes text, pml_arena *arena, pml_error *err);
/* Java's Character.isWhitespace of the character at p, which is well-formed; *n its bytes. */
bool pml_text__is_blank(const uint8_t *p, size_t *n);

#endif
