/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consumers (Java: ConsumerManager): consumer/consumer-<name> of the branch says which snapshot a reader wants next, in JSON
 * {"nextSnapshot" : n}. It is written over in place; expiry keeps the snapshots from the least of these numbers on.
 */
#ifndef PML_TABLE_CONSUMER_H
#define PML_TABLE_CONSUMER_H

#include "meta/json.h"
#include "table/table.h"

/* PML_E_INVAL: the name cannot be part of a file's. */
int pml_consumer__check_name(const char *name, pml_error *err);
int pml_consumer__parse(int64_t *next, pml_bytes text, const pml_json_source *src);
/* *next -1: there is no such consumer. A file that does not parse is read again for 2 seconds. */
int pml_consumer__load(int64_t *next, pml_table *t, const char *name, pml_error *err);
int pml_consumer__store(pml_table *t, const char *name, int64_t next, pml_error *err);

#endif
