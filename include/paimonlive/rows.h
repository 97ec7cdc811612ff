/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as text: the canonical row form (one JSON object a line, docs/rows.md) in and out, and files of other makers in.
 *
 *     struct ArrowArrayStream rows;
 *     pml_rows_open(&rows, table, "flights.csv", NULL, &err);   // batches in the table's columns, ready for pml_writer_write
 *
 *     pml_rows_printer *p;  pml_rows_printer_new(&p, env, &schema, PML_ROWS_JSON, &err);
 *     pml_rows_print(&text, p, &array, 0, array.length, &err);
 */
#ifndef PAIMONLIVE_ROWS_H
#define PAIMONLIVE_ROWS_H

#include <paimonlive/table.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PML_ROWS_AUTO = 0,   /* by file name: .jsonl .json .ndjson, .csv (also .csv.gz), .parquet */
    PML_ROWS_JSON = 1,   /* canonical row form */
    PML_ROWS_CSV = 2,
    PML_ROWS_PARQUET = 3 /* input only */
};

typedef struct pml_rows_options {
    size_t struct_size;
    int32_t format;     /* PML_ROWS_* */
    char csv_delimiter; /* 0: ',' */
    uint8_t csv_no_header;
    uint8_t realtime; /* 1: the rows are for a real-time writer; what it alone refuses is a wrong row of the input, too */
    uint8_t reserved;
    const char *csv_null; /* text that means null; NULL: empty */
    int64_t batch_rows;   /* 0: 8192 */
    /* Progress: called now and then with the bytes consumed and the file's size (-1: unknown), in the caller's thread; about every
       second while standard input has none. May be NULL. */
    void (*progress)(void *ctx, int64_t bytes_done, int64_t bytes_total);
    void *progress_ctx;
} pml_rows_options;
#define PML_ROWS_OPTIONS_INIT {sizeof(pml_rows_options), 0, 0, 0, 0, 0, NULL, 0, NULL, NULL}

/* Opens a file ("-": standard input, JSON and CSV) as a stream of batches in the table's columns. Columns are matched by name;
   a missing column is null (an error for a NOT NULL column); an unknown one is an error. JSON rows may have "_kind":
   with a primary key the stream has one more column behind the table's for it, _VALUE_KIND, as pml_writer_write takes it; without one kinds
   other than +I are PML_E_UNSUPPORTED. JSON of standard input: a batch also ends when no more came for 0.1 s, so that rows of a slow
   source are not held back; with the batches behind it, it makes up batch_rows. CSV of standard input is read to its end before the
   call returns. Errors name file and line. Returns owned. */
PML_API int pml_rows_open(struct ArrowArrayStream *out, pml_table *table, const char *path, const pml_rows_options *options,
                          pml_error *err);

typedef struct pml_rows_printer pml_rows_printer;
/* For arrays of this schema, whose fields carry "paimon.type" metadata (all streams of this library do). JSON: canonical rows,
   `"_kind":"+I"` first unless PML_ROWS_NO_KIND; the column that PML_READ_ROW_KIND adds is printed there, not as a column. CSV: RFC 4180, null is the empty field. Returns owned. */
enum { PML_ROWS_NO_KIND = 0x100 };
PML_API int pml_rows_printer_new(pml_rows_printer **out, pml_env *env, const struct ArrowSchema *schema, int32_t format_and_flags,
                                 pml_error *err);
/* Appends the rows [first, first + n) to text (which must be zeroed or hold text made by this call). */
PML_API int pml_rows_print(pml_text *text, pml_rows_printer *printer, const struct ArrowArray *array, int64_t first, int64_t n,
                           pml_error *err);
/* One cell as display text (strings bare, null as "null"); for tables on a terminal. */
PML_API int pml_rows_print_cell(pml_text *text, pml_rows_printer *printer, const struct ArrowArray *array, int64_t row,
                                int64_t column, pml_error *err);
PML_API void pml_rows_printer_free(pml_rows_printer *printer);

#ifdef __cplusplus
}
#endif

#endif
