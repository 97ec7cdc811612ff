/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a value of an old column becomes when the column has another type now (format-data.md 15; Java: SchemaEvolutionUtil,
 * CastExecutors of 1.4.2): members of a ROW by field id, elements and values recursively, everything else by the rules of a pair of
 * types. A cast is resolved once and used for many arrays and values; it is immutable, and threads may share it.
 */
#ifndef PML_COLUMNAR_CAST_H
#define PML_COLUMNAR_CAST_H

#include "columnar/value.h"

typedef struct pml_cast pml_cast;

/* Everything is in the arena, except the types, which are borrowed. *out = NULL: nothing to do, the types are the same up to NOT NULL.
   PML_E_UNSUPPORTED "needs cast:<from>-><to>": Java has no rule for the two either, or we do not have it yet; name is the column's. */
int pml_cast__new(const pml_cast **out, pml_arena *arena, const pml_type *from, const pml_type *to, const char *name, pml_error *err);
/* Of a type that is read from one that was written nothing is left: no member of a ROW (also inside containers) has a field id that
   the written one knows. Such a column is null. */
bool pml_cast__nothing_left(const pml_type *from, const pml_type *to);
/* False: it is or has a ROW without members, of which nothing is left even where it was written just so. */
bool pml_cast__keeps(const pml_type *type);

/* An array of the old type as one of the new type that owns its memory. The array was checked. PML_E_INVAL: a value has no
   counterpart (a text that is no number); the message says which and in which row, counted from the start of the array. */
int pml_cast__array(struct ArrowArray *out, const pml_cast *c, pml_env *env, const struct ArrowArray *in, pml_error *err);
/* The same for one value of an atomic type, null for null; bytes go to the arena. Values without a counterpart: PML_E_INVAL. A cast
   of nested types: PML_E_INVAL. */
int pml_cast__value(pml_value *out, const pml_cast *c, pml_arena *arena, const pml_value *v, pml_error *err);

#endif
