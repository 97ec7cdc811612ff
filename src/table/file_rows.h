/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a data file are read: those that were not deleted, and that no file index excludes. */
#ifndef PML_TABLE_FILE_ROWS_H
#define PML_TABLE_FILE_ROWS_H

#include "table/file_source.h"

typedef struct pml_file_rows {
    bool none;        /* the file need not be opened */
    pml_row_set rows; /* words NULL: all */
} pml_file_rows;

/* predicate: over the columns of the file, NULL: none. Ends with pml_row_set__clear(&out->rows); nothing to clear on failure.
   PML_E_NOT_FOUND with the missing file in *gone when an index file is not there. */
int pml_file_rows__find(pml_file_rows *out, const char **gone, pml_arena *arena, const pml_file_source *source, const pml_pred *predicate,
                        pml_error *err);

#endif
