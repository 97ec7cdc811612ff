/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a CSV data file as a row, as Java 1.4.2 reads it (CsvParser): columns by position; quotes and escapes with all its habits;
 * after a value that is none the rest of the row is null, or the row is left out, or the read fails (csv.mode).
 */
#ifndef PML_FORMAT_CSV_LINE_H
#define PML_FORMAT_CSV_LINE_H

#include "columnar/batch.h"
#include "format/text_options.h"
#include "format/text_value.h"

typedef struct pml_csv_piece {
    size_t at, len; /* in the buffer */
    bool present;
} pml_csv_piece;

typedef struct pml_csv_line {
    char separator, quote, escape;
    pml_bytes null_literal;
    int mode;
    const pml_text_rule *rules; /* of the wanted fields */
    const int32_t *places;      /* their positions in the file */
    size_t n_fields, n_columns; /* columns: up to the last wanted one */
    size_t *order;              /* of the fields by their places: Java reads columns in the order of the file, whatever is asked for */
    pml_csv_piece *pieces;      /* one per column */
    pml_value *values;          /* one per field */
    pml_buf buffer;
} pml_csv_line;

/* Borrows rules and places; the rest is in the arena, but for the buffer. PML_E_UNSUPPORTED, PML_E_INVAL: the options. To be cleared
   whatever is returned. */
int pml_csv_line__init(pml_csv_line *c, pml_arena *arena, const pml_text_options *o, const pml_text_rule *rules, const int32_t *places,
                       size_t n_fields, pml_error *err);
void pml_csv_line__clear(pml_csv_line *c);
/* The row's values in c->values, valid until the next call and as long as the arena. *keep = false: the line is no row. PML_E_INVAL:
   the line is to fail; *wrong: of which field. */
int pml_csv_line__parse(pml_csv_line *c, bool *keep, size_t *wrong, pml_bytes line, pml_arena *arena, pml_error *err);

#endif
