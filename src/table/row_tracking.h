/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row tracking (format-data.md 16; Java: SpecialFields, DataFileRecordReader): each row of an append table has an id and the number of the
 * snapshot that wrote it. A file that stores them has columns of that name; where it has none, or a null, the id is the first row id of
 * the file and the place of the row in it, and the number that of the file.
 */
#ifndef PML_TABLE_ROW_TRACKING_H
#define PML_TABLE_ROW_TRACKING_H

#include "meta/data_file.h"
#include "table/assemble.h"

enum { PML_TRACKING_COLUMNS = 2 };
extern const pml_field pml_row_tracking_fields[PML_TRACKING_COLUMNS]; /* _ROW_ID, _SEQUENCE_NUMBER: BIGINT NOT NULL */

/* The schema of a table with more columns behind its own, in the arena. It is not counted, and borrows from `schema`. */
int pml_row_tracking__extend(const pml_table_schema **out, pml_arena *arena, const pml_table_schema *schema, const pml_field *extra,
                             size_t n, pml_error *err);
/* Whether it is a schema with both columns of row tracking. */
bool pml_row_tracking__is(const pml_table_schema *schema);
/* Whether a field is one of both, of such a schema. */
bool pml_row_tracking__has(const pml_table_schema *schema, int32_t field_id);

/* Puts those of the wanted fields behind what the assembly calls stored, and the positions of the rows behind them (a->n_tracked). */
int pml_row_tracking__store(pml_assembly *a, pml_arena *arena, pml_error *err);
/* Whether the ids of the file's rows pass 2^63. */
int pml_row_tracking__check(const pml_data_file *file, const char *path, pml_error *err);
/* Fills in what the file does not store, in a checked batch of the stored fields. PML_E_UNSUPPORTED where Java has no answer either: a
   compaction of Java 1.4.2 may leave a file without ids and without a first one. */
int pml_row_tracking__fill(const pml_assembly *a, const pml_data_file *file, const char *path, struct ArrowArray *batch, pml_error *err);

#endif
