/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamic buckets of live tables (realtime-pk.md 24): the context has one assigner, so a key stays in its bucket while its rows go from
 * memory to files and when another writer of the context goes on. Keys become durable with the first rows of their bucket that are
 * committed after them, in the same message; keys whose rows are lost may come into another bucket when they are written again.
 */
#ifndef PML_REALTIME_RT_BUCKETS_H
#define PML_REALTIME_RT_BUCKETS_H

#include "realtime/rt_write.h"

/* At the opening of a writer, before it looks for the numbers of rows. */
int pml_rt_buckets__open(pml_rt_context *c, pml_error *err);
/* Where the rows of a call go. */
int pml_rt_buckets__route(pml_route *route, rt_write_call *k, pml_error *err);
/* The entries of one prepare get the index files of their keys; none does on failure. */
int pml_rt_buckets__prepare(pml_rt_context *c, rt_flight *f, pml_error *err);
/* The files of an entry will not be committed: before they are deleted. */
void pml_rt_buckets__revert(pml_rt_context *c, const pml_new_files *f);

#endif
