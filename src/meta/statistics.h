/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics files of ANALYZE (Java: org.apache.paimon.stats.Statistics). */
#ifndef PML_META_STATISTICS_H
#define PML_META_STATISTICS_H

#include "util/arena.h"

/* A commit carries the statistics of the snapshot before it on while they were made with the same schema; what cannot be read is
   not carried on. name: of the snapshot before, may be NULL. *out is NULL or name. */
int pml_statistics__inherit(const char **out, pml_arena *arena, pml_env *env, const char *table_path, const char *name,
                            int64_t schema_id);

#endif
