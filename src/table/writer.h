/* SPDX-License-Identifier: Apache-2.0 */
/* Batch writer and its messages from inside. */
#ifndef PML_TABLE_WRITER_H
#define PML_TABLE_WRITER_H

#include <paimonlive/write.h>

#include "table/rolling.h"

struct pml_messages {
    pml_env *env;
    pml_table *table;
    size_t n;
    pml_new_files **v; /* owned, one per partition-bucket that got files */
};

/* Refuses by name what this version cannot write rightly; checks a batch's schema. Shared with the real-time writer. */
int pml_writer__check_table(pml_table *t, pml_error *err);

#endif
