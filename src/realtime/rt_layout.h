/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport schema: the columns in which rows travel between writer, store and reader (realtime-pk.md 11.1). The one
 * place that builds and indexes the system columns (I18).
 *
 *   append       _REALTIME_OFFSET, table columns
 *   primary key  _VALUE_KIND, _SEQUENCE_NUMBER, _REALTIME_OFFSET, table columns
 *
 * Dense append batches lack the leading offset column: the offset of row i is first offset + i.
 */
#ifndef PML_REALTIME_RT_LAYOUT_H
#define PML_REALTIME_RT_LAYOUT_H

#include <paimonlive/sys/realtime_store.h>

#include <stdbool.h>

#include "merge/sort_run.h"

/* Immutable. */
typedef struct pml_rt_layout {
    pml_arena arena;
    uint32_t mode; /* PML_RT_MODE_* */
    int64_t schema_id;
    size_t n_system; /* system columns before the table's */
    size_t n_fields; /* all */
    pml_field *fields;
    struct ArrowSchema arrow; /* of them; streams copy what they have of it */
    uint32_t offset_column; /* index of _REALTIME_OFFSET */
    bool *is_key;           /* of each field: has statistics in the mode "keys" */
    /* Tables with a primary key, once pml_rt_layout__set_order was called: run order (realtime-pk.md 11.2). */
    pml_merge_layout merge;
    pml_sorter sorter;
} pml_rt_layout;

enum { PML_RT_KEYED_SYSTEM = 3 }; /* columns before the table's */

/* Copies the columns of the table. PML_E_SCHEMA: pml_rt_layout__check_names. */
int pml_rt_layout__new(pml_rt_layout **out, pml_env *env, uint32_t mode, int64_t schema_id, const pml_field *columns, size_t n,
                       pml_error *err);
/* keys, sequence: among the table's columns. Before anybody else sees the layout. */
int pml_rt_layout__set_order(pml_rt_layout *layout, const int32_t *keys, size_t n_keys, const int32_t *sequence, size_t n_sequence,
                             bool descending, pml_error *err);
void pml_rt_layout__free(pml_rt_layout *layout);

/* The fields of dense batches: all but the leading offset column (append). */
static inline const pml_field *pml_rt_layout__dense_fields(const pml_rt_layout *layout, size_t *n)
{
    *n = layout->n_fields - 1;
    return layout->fields + 1;
}

bool pml_rt_layout__is_system_name(const char *name);
/* PML_E_SCHEMA naming the first column with a reserved name. Top level only: members of ROW columns may carry any name, as in
   Java (org.apache.paimon.schema.SchemaValidation looks at column names only), since no system column is ever nested. */
int pml_rt_layout__check_names(const pml_field *columns, size_t n, pml_error *err);

#endif
