/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PML_TABLE_NEW_TABLE_H
#define PML_TABLE_NEW_TABLE_H

#include "meta/table_schema.h"

/* Whether the rows of a new table can be merged as its options say. PML_E_INVAL naming the option, PML_E_UNSUPPORTED "needs ...". */
int pml_new_table__check_merge(pml_env *env, const pml_table_schema *s, const char *where, pml_error *err);

#endif
