/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup from inside. */
#ifndef PML_TABLE_LOOKUP_OBJECT_H
#define PML_TABLE_LOOKUP_OBJECT_H

#include <paimonlive/lookup.h>

#include "table/lookup_base.h"

/* What it keeps now; a reference is taken. */
pml_lookup_base *pml_lookup__base(pml_lookup *l);

#endif
