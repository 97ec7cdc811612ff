/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV input as a file that can be read at any place. */
#ifndef PML_TABLE_ROWS_CSV_FILE_H
#define PML_TABLE_ROWS_CSV_FILE_H

#include "table/rows_csv_scan.h"
#include "table/rows_input.h"

typedef struct pml_csv_file pml_csv_file;

int pml_csv_file__open(pml_csv_file **out, const pml_rows_input *in, pml_error *err);
int64_t pml_csv_file__size(const pml_csv_file *f);
const char *pml_csv_file__name(const pml_csv_file *f); /* for messages */
/* From now on what is read, in order from the beginning, is shown to scan first. Borrowed. */
void pml_csv_file__set_scan(pml_csv_file *f, pml_csv_scan *scan);
/* The two callbacks of pml_bridge_input. */
int pml_csv_file__read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err);
void pml_csv_file__close(void *ctx);

#endif
