/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the options of new tables. */
#ifndef PML_META_SCHEMA_RULES_H
#define PML_META_SCHEMA_RULES_H

#include "meta/json.h"
#include "meta/table_schema.h"

/* src->code naming the option: options that contradict each other or the columns. Columns and keys are derived already. */
int pml_schema_rules__check(const pml_table_schema *s, const pml_json_source *src);

#endif
