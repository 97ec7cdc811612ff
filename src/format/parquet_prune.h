/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of an open Parquet file have to be read: what footer and page index leave of a predicate, and of a part of the file. */
#ifndef PML_FORMAT_PARQUET_PRUNE_H
#define PML_FORMAT_PARQUET_PRUNE_H

#include "format/bridge_load.h"
#include "format/file_format.h"
#include "format/selection.h"

typedef struct pml_parquet_file {
    pml_arena *arena;
    const pml_bridge *bridge;
    pml_bridge_reader *reader;
    const char *path;
    const struct ArrowSchema *schema;
    const int32_t *columns; /* of each wanted field: its column in the file, -1: not there */
} pml_parquet_file;

typedef struct pml_parquet_rows {
    size_t n;
    pml_bridge_rows *v;
    int32_t *groups; /* the same as row groups, when every range is a whole one; else NULL */
    int64_t total;   /* rows of all ranges */
} pml_parquet_rows;

/* Everything of out is in the arena. */
int pml_parquet__choose_rows(pml_parquet_rows *out, const pml_parquet_file *f, const pml_format_read *q, pml_error *err);
/* The same ranges counted from the start of the file, in the arena. */
int pml_parquet__row_ranges(pml_row_range **out, const pml_parquet_rows *rows, const pml_parquet_file *f, pml_error *err);

#endif
