/* SPDX-License-Identifier: Apache-2.0 */
/* What engine.c and the engines that decide column by column (aggregation.c, partial_update.c) share. */
#ifndef PML_MERGE_ENGINE_FUNCTION_H
#define PML_MERGE_ENGINE_FUNCTION_H

#include "merge/aggregate.h"

typedef struct pml_engine_base {
    pml_env *env;
    const pml_merge_layout *layout;
    pml_merge_options options;
    int32_t *columns;            /* by position: the column of the schema, -1 for system columns */
    pml_aggregator *aggregators; /* by position */
    pml_fold_step *steps;
    size_t cap_steps;
} pml_engine_base;

int pml_engine__init(pml_engine_base *b, pml_env *env, const pml_merge_layout *layout, const pml_merge_options *o,
                     pml_error *err);
void pml_engine__clear(pml_engine_base *b); /* zeroed is fine */
bool pml_engine__is_key(const pml_table_schema *s, const char *column);
/* Whether option sequence.field names the column. */
bool pml_engine__is_sequence(const pml_merge_options *o, const char *column);
/* Room for n steps. */
int pml_engine__reserve(pml_engine_base *b, size_t n, pml_error *err);
/* A row becomes the result as it is: a null in a NOT NULL column that is read is PML_E_INVAL, as in Java. */
int pml_engine__check_nulls(const pml_engine_base *b, const pml_merge_group *g, pml_row_ref row, pml_error *err);
/* The text of what ending a row gave. */
int pml_engine__end_row(pml_merge_output *out, int8_t kind, int64_t sequence, pml_error *err);

int pml_aggregation__new(pml_merge_function *out, pml_env *env, const pml_merge_layout *layout,
                         const pml_merge_options *o, pml_error *err);
int pml_partial_update__new(pml_merge_function *out, pml_env *env, const pml_merge_layout *layout,
                            const pml_merge_options *o, pml_error *err);

#endif
