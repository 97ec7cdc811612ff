/* SPDX-License-Identifier: Apache-2.0 */
/* The source of table flights: a CSV file that can be read again from its start. The offset of a row is its number in the file. */
#ifndef DEMO_SOURCE_H
#define DEMO_SOURCE_H

#include "replay.h"
#include "tables.h"

typedef struct source {
    struct ArrowArrayStream stream;
    struct ArrowSchema write_schema; /* of table_write_schema */
    replay replay;
    int64_t batch_rows;
    struct held *held; /* rows read and not given out yet */
    int64_t at;        /* the next of them */
    int64_t next_row;  /* number of the first row that was not read yet */
    int64_t skipped;   /* rows left out, because they are committed */
} source;

/* Opens the file at its start and loads what is committed. PML_E_PROGRESS_LOST when the table does not know it any more. */
int source_open(source *s, pml_table *table, const char *csv, int64_t batch_rows, pml_error *err);
/* Up to batch_rows consecutive rows in s->write_schema; *last_row is the number of the last one. out->release is NULL at the
   end. */
int source_next(struct ArrowArray *out, int64_t *last_row, source *s, pml_error *err);
void source_close(source *s);

#endif
