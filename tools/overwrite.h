/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot that replaces rows took away. */
#ifndef PML_TOOLS_OVERWRITE_H
#define PML_TOOLS_OVERWRITE_H

#include "app.h"

typedef struct overwrite_removed {
    bool known; /* the snapshot before may have expired already */
    int64_t rows, files;
} overwrite_removed;

/* Compares the snapshot with the one before, to which added rows and files came. */
void overwrite_removed_get(overwrite_removed *out, pml_table *table, int64_t snapshot_id, int64_t added_rows,
                           int64_t added_files);

#endif
