/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A split whose files hold several versions of a key, as a stream of the rows that count: section by section (merge/sections.h) a merge
 * of its runs (merge/merge.h), each run its files one after the other, opened when they are reached.
 */
#ifndef PML_TABLE_READ_MERGE_H
#define PML_TABLE_READ_MERGE_H

#include "table/scan.h"

/* _SEQUENCE_NUMBER and _VALUE_KIND as the files of tables with a primary key store them. */
extern const pml_field pml_field_sequence_number, pml_field_value_kind;

typedef struct pml_merge_read {
    pml_plan *plan;
    const pml_split *split; /* of the plan */
    /* Columns of the plan's schema, in the order of the stream; pml_field_value_kind is the kind of the merged row. What the fields
       point to must outlive the stream. */
    const pml_field *fields;
    size_t n_fields;
    const pml_pred *predicate; /* as that of pml_file_source: never exact. NULL: none */
    int64_t batch_rows;
    bool validate_full;
    struct pml_ahead_merge *ahead; /* whose threads read the runs ahead; outlives the stream. NULL: nobody does */
} pml_merge_read;

/* Returns owned: the stream holds the plan. Rows whose kind is -U or -D only come out where the plan keeps them. Also for splits without any need to merge. */
int pml_merge_read__open(struct ArrowArrayStream *out, const pml_merge_read *request, pml_error *err);
/* sequence.field: names of columns, separated by commas, as positions in the schema, in the arena. Its options are those of now. */
int pml_merge_read__sequence(int32_t **columns, size_t *n, pml_arena *arena, const pml_table *t, const pml_table_schema *s, pml_error *err);

#endif
