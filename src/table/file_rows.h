/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a data file are read: those that were not deleted, and that no file index excludes. */
#ifndef PML_TABLE_FILE_ROWS_H
#define PML_TABLE_FILE_ROWS_H

#include "table/file_source.h"

typedef struct pml_file_rows {
    bool none;        /* the file need not be opened */
    pml_row_set rows; /* words NULL: all */
} pml_file_rows;

/* Finds them on the first call, for all parts of the file and whichever thread asks first; predicate and file are the same in each.
   predicate: over the columns of the file, NULL: none. *out is borrowed from `shared`. PML_E_NOT_FOUND with the missing file in *gone when
   an index file is not there. After a failure the next call tries again. */
int pml_shared_rows__find(const pml_file_rows **out, const char **gone, pml_arena *arena, pml_shared_rows *shared,
                          const pml_file_source *source, const pml_pred *predicate, pml_error *err);

#endif
