/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of which data files were deleted, as the index manifest of a snapshot has it (format-metadata.md 5.5, 10.1). */
#ifndef PML_TABLE_DELETIONS_H
#define PML_TABLE_DELETIONS_H

#include "table/table.h"
#include "util/map.h"

/* The deletion vector of one data file. */
typedef struct pml_deletion {
    const char *path; /* of the index file */
    pml_deletion_range at;
} pml_deletion;

/* By partition, bucket and name of the data file; values lie in the arena of whoever planned. */
typedef struct pml_deletions {
    pml_map by_file;
} pml_deletions;

void pml_deletions__init(pml_deletions *d, pml_env *env);
void pml_deletions__clear(pml_deletions *d);
/* Of a snapshot. Refuses by name index files whose meaning this version does not know; those that only speed things up are left out. */
int pml_deletions__load(pml_deletions *d, pml_arena *arena, pml_table *t, const pml_table_schema *schema, const pml_snapshot *s,
                        pml_error *err);
/* NULL: no row of the file was deleted. */
int pml_deletions__find(const pml_deletion **out, const pml_deletions *d, pml_bytes partition, int32_t bucket, const char *data_file,
                        pml_error *err);

#endif
