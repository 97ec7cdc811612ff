/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bucket the keys of one partition are in, by the hash of the key (Java: Int2ShortHashMap in PartitionIndex): open addressing in
 * two arrays, six bytes a place and at most four places for three keys. Keys of equal hash share a bucket.
 *
 * Where a hash lies depends on a random seed of the map: files say which hashes there are, and must not be able to make them collide.
 */
#ifndef PML_TABLE_KEY_BUCKETS_H
#define PML_TABLE_KEY_BUCKETS_H

#include "util/buf.h"
#include "util/bytes.h"

enum { PML_DYNAMIC_BUCKETS_MAX = 32767 }; /* numbers 0 to 32766 (Java: Short.MAX_VALUE) */

typedef struct pml_key_buckets {
    pml_env *env;
    uint32_t seed;
    size_t n, cap; /* cap: a power of two, or 0 */
    int32_t *hashes;
    int16_t *buckets; /* -1: the place is empty */
} pml_key_buckets;

int pml_key_buckets__init(pml_key_buckets *m, pml_env *env, pml_error *err);
void pml_key_buckets__clear(pml_key_buckets *m);
/* -1: the hash is not known. */
int32_t pml_key_buckets__get(const pml_key_buckets *m, int32_t hash);
/* The hash must not be known. PML_E_NOMEM; PML_E_LIMIT: too many. */
int pml_key_buckets__put(pml_key_buckets *m, int32_t hash, int32_t bucket, pml_error *err);
/* All hashes of a HASH index file (M 9.1: int32, big-endian, in no order), `rows` of them as the index manifest says. PML_E_CORRUPT:
   another length, or a hash that another bucket has. */
int pml_key_buckets__load(pml_key_buckets *m, pml_bytes file, int64_t rows, int32_t bucket, const char *name, pml_error *err);
/* Adds all hashes of another map. *elsewhere: one of them has another bucket here; then m has some of them only. PML_E_NOMEM, PML_E_LIMIT. */
int pml_key_buckets__merge(bool *elsewhere, pml_key_buckets *m, const pml_key_buckets *from, pml_error *err);
/* Appends the file of each bucket to out[bucket]; NULL: not wanted. Errors stay in the buffers. */
void pml_key_buckets__files(pml_buf *const *out, const pml_key_buckets *m);

#endif
