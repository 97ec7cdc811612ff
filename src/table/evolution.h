/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of another schema than the read's (format-data.md 15.1, 15.2; Java: FormatReaderMapping, SchemaEvolutionUtil). Columns are the
 * same when their field ids are: a renamed one is, one that was dropped and added again is not. Between the schema of the file and the
 * file itself names count.
 */
#ifndef PML_TABLE_EVOLUTION_H
#define PML_TABLE_EVOLUTION_H

#include "columnar/predicate.h"
#include "meta/data_file.h"
#include "meta/table_schema.h"
#include "table/assemble.h"

/* The columns that a file written with a schema holds. */
typedef struct pml_written {
    const pml_table_schema *schema;
    const pml_string_list *columns; /* the file's write columns; not present: all */
} pml_written;

/* The written column of a field id; NULL: the file has none. */
const pml_field *pml_evolution__column(const pml_written *w, int32_t field_id);
/* Whether the file has every column of the schema it was written with. */
bool pml_evolution__holds_all(const pml_table_schema *written, const pml_data_file *file);
/* Fields of `schema`, or _SEQUENCE_NUMBER and _VALUE_KIND, out of a file: stored ones are asked for as they were written, and cast.
   partition has one value per partition key. Everything is in the arena. PML_E_UNSUPPORTED "needs cast:...". */
int pml_evolution__assembly(pml_assembly *out, pml_arena *arena, const pml_table_schema *schema, const pml_written *w,
                            const pml_field *fields, size_t n, const pml_value *partition, pml_error *err);
/*
 * What is left of a predicate over `schema` when it is asked of written columns: terms on columns of the same type, and on whole numbers
 * that have become wider since. Other terms say nothing about the file. Terms on columns that the file does not have stay, under their
 * ids, when keep_missing. NULL: nothing is left. May share nodes with p.
 */
int pml_evolution__predicate(const pml_pred **out, pml_arena *arena, const pml_pred *p, const pml_table_schema *schema,
                             const pml_written *w, bool keep_missing, pml_error *err);
/* Statistics of the file for what that leaves with keep_missing: one entry per written column, and one per missing column of p, which
   is all null. *n is their number. */
int pml_evolution__statistics(pml_column_stats **out, size_t *n, pml_arena *arena, const pml_pred *p, const pml_written *w,
                              const pml_data_file *file, pml_error *err);

#endif
