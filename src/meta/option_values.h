/* SPDX-License-Identifier: Apache-2.0 */
/* Where option values come from, and the refusals that follow from them. */
#ifndef PML_META_OPTION_VALUES_H
#define PML_META_OPTION_VALUES_H

#include "meta/options.h"
#include "meta/options_table.h"

typedef struct pml_option_source {
    const pml_table_schema *schema;
    const pml_option *overrides; /* win over the schema; a later one over an earlier one */
    size_t n_overrides;
    bool for_write;
    const char *where; /* the table, for messages */
    pml_error *err;
} pml_option_source;

const char *pml_option_source__get(const pml_option_source *s, const char *key); /* NULL: not set */
/* "option <key> of <table> is '<value>': <what>". */
int pml_option_source__fail(const pml_option_source *s, int code, const char *key, const char *value, const char *what);
/* Every option that the table says to refuse: PML_E_UNSUPPORTED "needs <feature>: ...". */
int pml_option_source__refuse(const pml_option_source *s);

#endif
