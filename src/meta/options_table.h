/* SPDX-License-Identifier: Apache-2.0 */
/* One row per option: what it may hold and what we do with it. docs and `pml` print this table; nothing else names options. */
#ifndef PML_META_OPTIONS_TABLE_H
#define PML_META_OPTIONS_TABLE_H

#include <paimonlive/error.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum pml_option_kind {
    PML_OPTION_INT,      /* 32 bits */
    PML_OPTION_LONG,     /* 64 bits */
    PML_OPTION_SIZE,     /* "8 mb" */
    PML_OPTION_DURATION, /* "10 s" */
    PML_OPTION_BOOL,
    PML_OPTION_STRING,
    PML_OPTION_ENUM /* one of `values` */
} pml_option_kind;

typedef enum pml_option_treatment {
    PML_OPTION_HONOURED,
    PML_OPTION_WRITE_ONLY, /* honoured, but only writing looks at it */
    PML_OPTION_IGNORED,    /* safely: `reason` says why */
    PML_OPTION_REFUSED, /* any value but those in `values` changes what a reader must do: refused as "needs <needs>" */
    PML_OPTION_REFUSED_WRITE /* the same for writing only; reading is right without it */
} pml_option_treatment;

typedef struct pml_option_rule {
    const char *key; /* one '*' stands for any text */
    pml_option_kind kind;
    const char *fallback; /* the default as text; NULL: none */
    pml_option_treatment treatment;
    const char *values; /* "a|b|c", any case: ENUM: what may stand there; REFUSED: what is harmless */
    const char *needs;  /* REFUSED: name of the feature; one %s: the value */
    const char *reason;
    /* It says what the table is or where its files lie (Java: @Immutable, and more): a value given for one open or command that is not
       the table's own would write files that nobody else finds. */
    bool fixed;
} pml_option_rule;

extern const pml_option_rule pml_option_rules[];
extern const size_t pml_option_rules_count;

/* NULL: an option that we do not know; it is kept and has no effect. */
const pml_option_rule *pml_option_rule__find(const char *key);
/* Is value, whatever its case, one of "a|b|c"? */
bool pml_option__is_one_of(const char *values, const char *value);
/* Does the value have the form that the rule wants? PML_E_INVAL naming option, value and table. */
int pml_option__check_value(const pml_option_rule *rule, const char *key, const char *value, const char *where,
                            pml_error *err);

#endif
