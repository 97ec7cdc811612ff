/* SPDX-License-Identifier: Apache-2.0 */
/* The merge function that a write of a table makes, of all its columns: to ask it whether a table's options, or a row's kind, make sense. */
#ifndef PML_TABLE_WRITE_FUNCTION_H
#define PML_TABLE_WRITE_FUNCTION_H

#include "merge/function.h"
#include "meta/table_schema.h"
#include "util/arena.h"

typedef struct pml_write_function {
    pml_arena arena;
    pml_merge_layout layout;
    pml_merge_function function;
} pml_write_function;

/* out stays where it is while it lives; the schema and the overrides are borrowed. Errors are those of pml_merge_engine__new. */
int pml_write_function__init(pml_write_function *out, pml_env *env, const pml_table_schema *s, const pml_option *overrides, size_t n_overrides,
                             pml_error *err);
void pml_write_function__clear(pml_write_function *f); /* also of one that is all zero, or whose init failed */

#endif
