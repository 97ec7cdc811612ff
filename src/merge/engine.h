/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge function of a table, made of its options (Java: PrimaryKeyTableUtils.createMergeFunctionFactory): merge-engine
 * deduplicate, partial-update, aggregation or first-row, with all that belongs to it.
 *
 * As in Java the result of a partial-update depends on the columns that are read: a column that is not there takes no part. Its
 * group's version columns do, which pml_merge_engine__needs adds; but a -D by `partial-update.remove-record-on-sequence-group`
 * removes the row only when the named version column is among them.
 */
#ifndef PML_MERGE_ENGINE_H
#define PML_MERGE_ENGINE_H

#include "merge/function.h"
#include "meta/table_schema.h"

/* Everything is borrowed while the function lives, out->drop ends it. What Java refuses when it makes the table or the function:
   PML_E_SCHEMA; values that are none: PML_E_INVAL; what is not built: PML_E_UNSUPPORTED "needs ...". Functions of columns that the
   layout does not have are not looked at. */
int pml_merge_engine__new(pml_merge_function *out, pml_env *env, const pml_merge_layout *layout,
                          const pml_table_schema *schema, const pml_option *overrides, size_t n_overrides,
                          pml_error *err);
/* columns[i]: column i of the schema is wanted; on return also those that merging needs beside it: primary key, sequence fields,
   the version columns of sequence groups. */
int pml_merge_engine__needs(bool *columns, pml_env *env, const pml_table_schema *schema, const pml_option *overrides,
                            size_t n_overrides, pml_error *err);

/* Whether rows of a kind may be written: PML_E_INVAL says why not, as a later merge would (Java: at flush, and only when the key has
   another row). */
int pml_merge_engine__check_kind(const pml_merge_function *f, int8_t kind, pml_error *err);

#endif
