/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PREDICATE form of `pml dump --filter`: {"and":[..]}, {"or":[..]}, {"eq":["col",value]} with eq ne lt le gt ge prefix,
 * {"in":["col",[..]]}, {"isnull":["col"]}, {"notnull":["col"]}; values in the canonical row form. Becomes the same tree as
 * --where.
 */
#ifndef PML_TOOLS_FILTER_H
#define PML_TOOLS_FILTER_H

#include "where.h"

/* NULL after it has printed what is wrong. Free with where_free. */
where_node *filter_parse(const char *json);

#endif
