/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table with a primary key on their way to files of level 0 (Java: MergeTreeWriter, SortBufferWriteBuffer; D 8): numbered as
 * they come, sorted into runs, and at a flush merged by the table's engine (merge/merge.h), so that a file has each key once.
 */
#ifndef PML_TABLE_WRITE_BUFFER_H
#define PML_TABLE_WRITE_BUFFER_H

#include "merge/engine.h"
#include "merge/sort_run.h"
#include "table/held.h"
#include "table/rolling.h"

/* What the rows of a table look like in memory: _VALUE_KIND, _SEQUENCE_NUMBER, the table's columns. Immutable. */
typedef struct pml_keyed_rows {
    pml_table *table; /* borrowed, as is the shape */
    const pml_file_shape *shape;
    const pml_field *fields;
    size_t n_fields;
    pml_merge_layout layout;
    pml_sorter sorter;
    const int32_t *file_columns; /* of the shape, each by its position among the fields */
} pml_keyed_rows;

enum { PML_KEYED_SYSTEM_COLUMNS = 2 };

int pml_keyed_rows__init(pml_keyed_rows *out, pml_arena *arena, pml_table *t, const pml_file_shape *shape, pml_error *err);
/* The engine over these rows. Owned; for one thread. */
int pml_keyed_rows__function(pml_merge_function *out, const pml_keyed_rows *k, pml_error *err);
/* Sorted runs, moved (also on failure), merged into files. Not more than a merge takes (merge.h). row_bytes: of a row, about. */
int pml_keyed_rows__flush(const pml_keyed_rows *k, pml_rolling *to, const pml_run *runs, size_t n, uint64_t row_bytes, pml_error *err);

/* Of one partition-bucket. */
typedef struct pml_write_buffer {
    const pml_keyed_rows *rows;
    pml_env *env;
    int64_t next_sequence;
    pml_held held; /* not sorted yet */
    struct ArrowArray *runs;
    size_t n, cap;
    uint64_t run_bytes;
} pml_write_buffer;

void pml_write_buffer__init(pml_write_buffer *b, pml_env *env, const pml_keyed_rows *rows, int64_t next_sequence);
void pml_write_buffer__clear(pml_write_buffer *b);
/* Rows in the table's columns, moved on any return; kinds: one for each, NULL: all +I. */
int pml_write_buffer__add(pml_write_buffer *b, struct ArrowArray *batch, const int8_t *kinds, pml_error *err);
static inline uint64_t pml_write_buffer__bytes(const pml_write_buffer *b)
{
    return b->held.bytes + b->run_bytes;
}
/* All rows to files; the buffer is empty then. */
int pml_write_buffer__flush(pml_write_buffer *b, pml_rolling *to, pml_error *err);

#endif
