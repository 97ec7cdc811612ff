/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File indexes: which rows of a data file can match a predicate (Java: FileIndexFormat, FileIndexEvaluator; format-data.md 6). An index
 * lies in the manifest entry of its file or beside it as <data file>.index. Everything is big-endian; "UTF" is Java's modified UTF-8
 * behind a length of two bytes.
 *
 *   i64 1493475289347502 | i32 version 1 | i32 bytes of this head | i32 columns x ( UTF column, i32 indexes x ( UTF type, i32 start, i32 length ))
 *   | i32 n, n bytes of later versions | the indexes, where `start` is counted from the first byte of all; -1: it was fed no row
 *
 * The indexes that are read: bloom-filter, bitmap, bsi, range-bitmap. Others say nothing.
 */
#ifndef PML_FORMAT_FILE_INDEX_H
#define PML_FORMAT_FILE_INDEX_H

#include "columnar/predicate.h"
#include "columnar/row_set.h"

typedef enum pml_index_kind {
    PML_INDEX_REMAIN, /* nothing is known: every row may match */
    PML_INDEX_SKIP,   /* no row matches */
    PML_INDEX_ROWS    /* rows that are not in the set do not match */
} pml_index_kind;

typedef struct pml_index_answer {
    pml_index_kind kind;
    pml_row_set rows; /* PML_INDEX_ROWS */
} pml_index_answer;

enum { PML_FILE_INDEX_MAX = 256 * 1024 * 1024 }; /* of one data file */

/* The predicate's columns are those of the file, found by their names. n_rows: of the file. path: of the index, for messages. PML_E_CORRUPT,
   PML_E_NOMEM. Ends with pml_index_answer__clear; nothing to clear on failure. */
int pml_file_index__ask(pml_index_answer *out, pml_env *env, pml_bytes index, const char *path, const pml_pred *predicate, int64_t n_rows,
                        pml_error *err);
void pml_index_answer__clear(pml_index_answer *a);

#endif
