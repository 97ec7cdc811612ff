/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index files as files: where they lie; those of type HASH, which say the keys of one dynamic bucket (format-metadata.md 9.1, 10;
 * Java: HashIndexFile, IndexPathFactory). One for each bucket, made anew whenever keys were added.
 */
#ifndef PML_TABLE_HASH_INDEX_H
#define PML_TABLE_HASH_INDEX_H

#include "table/key_buckets.h"
#include "table/table.h"

#define PML_INDEX_HASH "HASH"

/* The type of the entry is HASH. */
bool pml_hash_index__is(const pml_index_entry *e);
/* Where the file of an entry is; owned. */
int pml_index_file__path(char **out, pml_table *t, const pml_table_schema *s, const pml_index_entry *e, pml_error *err);
/* Its hashes into the map. PML_E_CORRUPT; PML_E_SNAPSHOT_GONE when the file is missing: with its name in err->file. */
int pml_hash_index__load(pml_key_buckets *m, pml_table *t, const pml_index_entry *e, pml_error *err);
/* A new file of these hashes (as they stand in it), durable as data files are. out: what an index manifest says of it; out and *path
   are in the arena. */
int pml_hash_index__write(pml_index_entry *out, const char **path, pml_arena *arena, pml_table *t, pml_bytes partition, int32_t bucket,
                          const pml_buf *hashes, const char *uuid, int64_t counter, pml_error *err);
/* Whether every hash of `older` is in `newer`, both of one bucket. */
int pml_hash_index__covers(bool *out, pml_table *t, const pml_index_entry *newer, const pml_index_entry *older, pml_error *err);
/* A number that stands for this file in this bucket; their sum stands for all files of a partition. */
uint64_t pml_hash_index__print(int32_t bucket, const char *name);

#endif
