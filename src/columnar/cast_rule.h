/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement casts: one rule per pair of families, for single values. */
#ifndef PML_COLUMNAR_CAST_RULE_H
#define PML_COLUMNAR_CAST_RULE_H

#include "columnar/array_memory.h"
#include "columnar/cast.h"

/* v is not null. Bytes of the result are in v, or in `text`, which is empty at the start. *out may become null. PML_E_INVAL with what
   is wrong with the value: the caller says where it is. */
typedef int (*pml_cast_rule)(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err);

typedef enum pml_cast_kind {
    PML_CAST_SAME,  /* members of nested types only */
    PML_CAST_NULL,  /* likewise: the member was not there */
    PML_CAST_VALUE, /* rule */
    PML_CAST_TEXT,  /* of a nested type: members[] are casts of its children to STRING */
    PML_CAST_ROW,   /* members[i] of the row's member source[i] */
    PML_CAST_LIST,  /* members[0] */
    PML_CAST_MAP    /* members[0] of the values */
} pml_cast_kind;

struct pml_cast {
    pml_cast_kind kind;
    const pml_type *from, *to;
    pml_cast_rule rule;
    size_t n_members;
    struct pml_cast *members;
    int32_t *source; /* -1: PML_CAST_NULL */
};

/* The rule of a pair of atomic types, NULL: there is none. */
pml_cast_rule pml_cast_rule__number(const pml_type *from, const pml_type *to);
pml_cast_rule pml_cast_rule__time(const pml_type *from, const pml_type *to);
pml_cast_rule pml_cast_rule__text(const pml_type *from, const pml_type *to);  /* to CHAR, VARCHAR, BINARY, VARBINARY */
pml_cast_rule pml_cast_rule__parse(const pml_type *from, const pml_type *to); /* from CHAR, VARCHAR */

/* Loops without a call per value, for numbers to numbers. Values behind nulls are cast as well. False: not for this pair. */
bool pml_cast__numbers(void *dst, const pml_cast *c, const void *src, int64_t n);

/* unscaled * 10^-scale at the scale of t, rounded half up; null when it has more digits than t. */
void pml_cast__decimal(pml_value *out, const pml_type *t, pml_int128 unscaled, int32_t scale);
/* A text of BigDecimal's form, rounded likewise. False: it has another form. */
bool pml_cast__parse_decimal(pml_value *out, const pml_type *t, const char *p, size_t n);
/* Puts the value before what is wrong with it, when rc is PML_E_INVAL. Returns rc. */
int pml_cast__wrong_value(int rc, const pml_cast *c, const pml_value *v, pml_env *env, pml_error *err);
/* The value in row `row` of a nested array as text. */
int pml_cast__print(pml_buf *out, const pml_cast *c, const struct ArrowArray *a, int64_t row, pml_error *err);

static inline bool pml_cast__is_integer(const pml_type *t)
{
    return t->kind >= PML_TYPE_TINYINT && t->kind <= PML_TYPE_BIGINT;
}

static inline bool pml_cast__is_text(const pml_type *t)
{
    return t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR;
}

static inline bool pml_cast__is_timestamp(const pml_type *t)
{
    return t->kind == PML_TYPE_TIMESTAMP || t->kind == PML_TYPE_TIMESTAMP_LTZ;
}

#endif
