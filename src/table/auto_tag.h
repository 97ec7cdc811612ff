/* SPDX-License-Identifier: Apache-2.0 */
/* Tags that Java makes on its own, one for each period (Java: TagPeriodHandler): their names are times. */
#ifndef PML_TABLE_AUTO_TAG_H
#define PML_TABLE_AUTO_TAG_H

#include "table/table.h"

/* The newest auto-tag of the table that is earlier than the named one, in the arena; NULL: there is none. PML_E_INVAL: the name is none
   of an auto-tag by the table's options. */
int pml_auto_tag__before(const char **out, pml_arena *arena, pml_table *t, const char *name, pml_error *err);

#endif
