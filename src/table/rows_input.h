/* SPDX-License-Identifier: Apache-2.0 */
/* The makers behind pml_rows_open: each gives batches in the table's columns. */
#ifndef PML_TABLE_ROWS_INPUT_H
#define PML_TABLE_ROWS_INPUT_H

#include <paimonlive/rows.h>

#include "columnar/data_type.h"
#include "table/row_kinds.h"
#include "table/write_function.h"

/* What all of them need. Everything is borrowed for the call; fields live as long as table, which the makers hold. */
typedef struct pml_rows_input {
    pml_env *env;
    pml_table *table;
    const pml_field *fields;
    size_t n_fields;
    const char *path;
    const pml_rows_options *options; /* never NULL */
    int64_t batch_rows;
} pml_rows_input;

/* Columns of a file (by name) against the table's: unknown ones, repeated ones and missing NOT NULL ones are errors. */
int pml_rows_input__check_columns(const pml_rows_input *in, const char *const *names, size_t n, pml_error *err);

struct pml_rows_kinds;
/* A batch of CSV or Parquet, which begins behind `row` rows of the file: nulls in NOT NULL columns, values outside of their
   type's range and kinds that the table does not take are wrong rows, named by file, row and column. */
int pml_rows_input__check_batch(const char *file, const pml_field *fields, size_t n, const struct pml_rows_kinds *kinds,
                                const struct ArrowArray *batch, int64_t row, pml_error *err);
/* What is wrong with the values of an input is a wrong row of it: PML_E_INVAL gets that place and the file's name. Returns rc. */
int pml_rows_input__wrong_row(int rc, const char *file, pml_error *err);

/* Whether the table takes rows of the kinds that the input says, and for a real-time writer also of their keys and sequence fields; else they
   would be found out when they are written, where nobody knows which rows of the file they are. It stays where it is; all zero: nothing is
   checked. */
typedef struct pml_rows_kinds {
    bool on;
    pml_write_function function;
    pml_row_kinds rule;
    bool realtime;
    const int32_t *sequence; /* columns of sequence.field, where realtime */
    size_t n_sequence;
} pml_rows_kinds;
/* PML_E_NOMEM only: what is wrong with the table's options is for the writer to say. */
int pml_rows_kinds__init(pml_rows_kinds *out, const pml_table *t, bool realtime, pml_error *err);
void pml_rows_kinds__clear(pml_rows_kinds *k);
/* Of a batch of the table's columns; given: the kinds (NULL: none). *wrong: which row is, counted from 0; the error has no place yet. */
int pml_rows_kinds__check(int64_t *wrong, const pml_rows_kinds *k, const struct ArrowArray *batch, const int8_t *given, pml_error *err);

int pml_rows_json__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err);
int pml_rows_csv__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err);
int pml_rows_parquet__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err);

#endif
