/* SPDX-License-Identifier: Apache-2.0 */
/* Manifest files, manifest lists and index manifests: their Avro schemas and records. The only place that knows them.
   Java: ManifestEntrySerializer, ManifestFileMetaSerializer, IndexManifestEntrySerializer, DataFileMeta.SCHEMA. */
#ifndef PML_META_MANIFEST_H
#define PML_META_MANIFEST_H

#include "meta/data_file.h"

typedef struct pml_manifest_list {
    size_t n;
    pml_manifest_meta *v;
    size_t cap; /* room in v, for the decoder; 0: unknown */
} pml_manifest_list;

typedef struct pml_manifest_entries {
    size_t n;
    pml_manifest_entry *v;
    size_t cap;
} pml_manifest_entries;

typedef struct pml_index_entries {
    size_t n;
    pml_index_entry *v;
    size_t cap;
} pml_index_entries;

/* Called for each entry before it is copied into the arena, so that pruned entries cost nothing; the entry borrows from the
   reader. Return true to keep it. */
typedef bool (*pml_manifest_keep_fn)(void *arg, const pml_manifest_entry *e);

/* Decoders. file_bytes: the whole file; name for messages. Everything kept goes to the arena; results append to out. */
int pml_manifest_list__decode(pml_manifest_list *out, pml_arena *arena, pml_bytes file_bytes, const char *name, pml_error *err);
int pml_manifest__decode(pml_manifest_entries *out, pml_arena *arena, pml_bytes file_bytes, const char *name,
                         pml_manifest_keep_fn keep, void *arg, pml_error *err);
int pml_index_manifest__decode(pml_index_entries *out, pml_arena *arena, pml_bytes file_bytes, const char *name, pml_error *err);

/* Encoders: the whole file in memory. codec: "zstandard", "null", "deflate", "snappy". */
int pml_manifest_list__encode(uint8_t **file, size_t *len, pml_env *env, const pml_manifest_meta *v, size_t n, const char *codec,
                              int level, pml_error *err);
int pml_manifest__encode(uint8_t **file, size_t *len, pml_env *env, const pml_manifest_entry *v, size_t n, const char *codec,
                         int level, pml_error *err);
/* PML_E_UNSUPPORTED: a global index, of which the decoder keeps nothing. */
int pml_index_manifest__encode(uint8_t **file, size_t *len, pml_env *env, const pml_index_entry *v, size_t n, const char *codec,
                               int level, pml_error *err);

#endif
