/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the bytes of a CSV input on their way to the reader, for what that reader passes over in silence or names badly: a
 * quoted field without an end, numbers that would become infinity, rows longer than its blocks.
 */
#ifndef PML_TABLE_ROWS_CSV_SCAN_H
#define PML_TABLE_ROWS_CSV_SCAN_H

#include "columnar/data_type.h"
#include "util/env.h"

enum { PML_CSV_NUMBER_MAX = 512 /* bytes of a number that is looked at */ };

typedef struct pml_csv_scan {
    /* Set by the owner; everything is borrowed. */
    const char *file;      /* for messages */
    char delimiter, quote; /* quote 0: none */
    const char *null_text;
    const pml_field *const *columns; /* of the file, in its order */
    size_t n_columns;
    int64_t row_max_bytes;
    /* Zero at the start. */
    int64_t at;        /* bytes fed */
    int64_t row_begin; /* where the row began */
    int64_t lines;     /* that have ended */
    int64_t quote_line;
    size_t column;
    int state;
    bool after_cr, value_long;
    const pml_field *wanted; /* the field's column when its value is looked at */
    size_t value_len;
    char value[PML_CSV_NUMBER_MAX];
} pml_csv_scan;

/* The next bytes. PML_E_INVAL or PML_E_LIMIT name the file, the line and the column. */
int pml_csv_scan__feed(pml_csv_scan *s, const uint8_t *p, size_t n, pml_error *err);
/* The input has ended. */
int pml_csv_scan__end(pml_csv_scan *s, pml_error *err);

#endif
