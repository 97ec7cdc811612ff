/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge functions (Java: MergeFunction and its implementations): what becomes of the rows of one key.
 *
 * They decide and do not move: per output column a reference to the row that gives its value, or a value that they compute. The reducer
 * rule is the merge's: a key with one row is passed on unchanged and no function sees it (D 11.0); `always` asks for it all the same.
 */
#ifndef PML_MERGE_FUNCTION_H
#define PML_MERGE_FUNCTION_H

#include "merge/merge.h"

typedef struct pml_merge_row {
    pml_row_ref ref; /* of a batch that the merge holds; batch PML_REF_NULL where a function picks a null */
    int64_t sequence;
    int8_t kind;
    int32_t level;
} pml_merge_row;

/* The rows of one key, oldest first, n >= 1. */
typedef struct pml_merge_group {
    const pml_merge_row *rows;
    size_t n;
    const struct ArrowArray *const *batches; /* rows[i].ref.batch indexes this: a struct array of the layout's fields */
    const pml_merge_layout *layout;
} pml_merge_group;

/* The column of a layout position in the batch of a reference (its row is ref.row, beyond the array's own offset). */
static inline const struct ArrowArray *pml_merge_group__column(const pml_merge_group *g, pml_row_ref ref, int32_t position)
{
    return g->batches[ref.batch]->children[position];
}

/* Where a function puts its result: for each layout position exactly one of pick, value or built, then end_row; or nothing at all when
   the key has no result. Columns that nobody wants may be left out: ask `wanted`. Pass on what they fail with: the merge finds the
   words. */
typedef struct pml_merge_output pml_merge_output;
bool pml_merge_output__wanted(const pml_merge_output *o, int32_t position);
/* All columns of one row. */
int pml_merge_output__pick_row(pml_merge_output *o, pml_row_ref ref);
int pml_merge_output__pick(pml_merge_output *o, int32_t position, pml_row_ref ref);
/* A computed value of an atomic column, copied. */
int pml_merge_output__value(pml_merge_output *o, int32_t position, const pml_value *v);
/* A computed value of any column: append one item to the builder, then say so. NULL: no memory. */
pml_builder *pml_merge_output__builder(pml_merge_output *o, int32_t position);
int pml_merge_output__built(pml_merge_output *o, int32_t position);
/* Ends the row: what stands in _VALUE_KIND and _SEQUENCE_NUMBER. */
int pml_merge_output__end_row(pml_merge_output *o, int8_t kind, int64_t sequence);

typedef enum pml_merge_kind {
    PML_MERGE_LAST,    /* deduplicate: the newest row; with ignore_delete the newest that does not retract */
    PML_MERGE_FIRST,   /* first-row: the oldest; a retract is an error unless ignore_delete */
    PML_MERGE_COLUMNS, /* decide: partial-update, aggregation */
    PML_MERGE_ALL      /* every row of every key, in order: audit logs, deletes kept */
} pml_merge_kind;

typedef struct pml_merge_function {
    pml_merge_kind kind;
    bool ignore_delete;
    bool always; /* also for keys with one row (lookup compaction) */
    /* PML_MERGE_COLUMNS: one key. PML_E_CORRUPT or PML_E_INVAL where Java throws. */
    int (*decide)(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err);
    /* PML_E_INVAL: rows of this kind, -U or -D, cannot be merged. Asked before they are written. NULL: all can. */
    int (*check_retract)(const void *self, int8_t kind, pml_error *err);
    void (*drop)(void *self); /* NULL: nothing to drop */
    void *self;
} pml_merge_function;

#endif
