/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few rows of many. Where footer and page index leave few rows, the predicate is asked of each of them as well, for which only its own
 * columns are decoded: for a row of a key a file then decodes the one page of the key, and of the other columns nothing, or their pages
 * that hold the row.
 */
#ifndef PML_FORMAT_PARQUET_MATCH_H
#define PML_FORMAT_PARQUET_MATCH_H

#include "format/parquet_prune.h"

/* Cuts the chosen rows down, into the arena; they stay what they are when it would not pay. */
int pml_parquet__match_rows(pml_parquet_rows *rows, const pml_parquet_file *f, const pml_format_read *q,
                            pml_error *err);

#endif
