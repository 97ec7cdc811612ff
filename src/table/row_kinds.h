/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of change each row to be written is: of a column _VALUE_KIND behind the table's own, of the option rowkind.field, or +I; and
 * which rows the table's options pass over (Java: RowKindGenerator, RowKindFilter; D 8).
 */
#ifndef PML_TABLE_ROW_KINDS_H
#define PML_TABLE_ROW_KINDS_H

#include "merge/function.h"
#include "table/table.h"

typedef struct pml_row_kinds {
    pml_env *env;
    const pml_table *table; /* borrowed */
    int32_t column;         /* of rowkind.field; -1: none */
    bool drops_retracts, drops_before; /* ignore-delete: -U and -D; ignore-update-before: -U */
    const pml_merge_function *function; /* borrowed; NULL: no primary key */
} pml_row_kinds;

/* PML_E_SCHEMA: rowkind.field names no text column of the table. */
int pml_row_kinds__init(pml_row_kinds *out, const pml_table *t, const pml_merge_function *function, pml_error *err);
/* The kinds of the rows of a checked batch of the table's columns: of rowkind.field, or of `given`, one for each row (NULL: all +I).
   *kinds is owned, by pml_env__free; NULL: all +I. PML_E_INVAL naming the row: null, no kind, one that the merge engine cannot merge.
   PML_E_UNSUPPORTED: not +I in a table without primary key. */
int pml_row_kinds__of(int8_t **kinds, const pml_row_kinds *k, const struct ArrowArray *batch, const int8_t *given, pml_error *err);
/* The same without the kinds. *wrong: the row of which the error tells, without saying so. */
int pml_row_kinds__check(int64_t *wrong, const pml_row_kinds *k, const struct ArrowArray *batch, const int8_t *given, pml_error *err);
/* Whether rows of this kind are passed over. */
static inline bool pml_row_kinds__drops(const pml_row_kinds *k, int8_t kind)
{
    return (k->drops_retracts && pml_row_kind__is_retract(kind)) || (k->drops_before && kind == PML_ROW_UPDATE_BEFORE);
}
/* Whether any row of the kinds (n of them) is. */
bool pml_row_kinds__drops_any(const pml_row_kinds *k, const int8_t *kinds, int64_t n);

#endif
