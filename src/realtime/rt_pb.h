/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a partition-bucket (realtime.md 2, 7.2). There are two:
 *
 *   key    partition as counted row bytes, and bucket: what manifests and routing have. Only inside one process.
 *   texts  partition values as text before path escaping, in partition-key order, and bucket: what progress files and the
 *          public interface have. Several keys may share texts: null, empty and blank values have the default name.
 *
 * Keys become texts (pml_pb_texts__of_key), never the other way round.
 */
#ifndef PML_REALTIME_RT_PB_H
#define PML_REALTIME_RT_PB_H

#include <paimonlive/realtime.h>

#include "meta/path.h"

typedef struct pml_pb_key {
    pml_bytes partition; /* counted row bytes */
    int32_t bucket;
} pml_pb_key;

enum { PML_PB_KEYS_MAX = 256 }; /* partition keys of a table: paths refuse more */

typedef struct pml_pb_texts {
    size_t n;
    const char *const *partition;
    int32_t bucket;
} pml_pb_texts;

/* Partition bytes, then bucket. */
int pml_pb_key__compare(const pml_pb_key *a, const pml_pb_key *b);
/* Appends bytes for use as a map key: equal for equal keys only. */
int pml_pb_key__encode(pml_buf *out, const pml_pb_key *key);

/* Appends bytes for use as a map key; without the bucket: of the partition. */
int pml_pb_texts__encode(pml_buf *out, const pml_pb_texts *pb);
int pml_pb_texts__encode_partition(pml_buf *out, const pml_pb_texts *pb);
bool pml_pb_texts__equal(const pml_pb_texts *a, const pml_pb_texts *b);

/* Texts go to the arena. */
int pml_pb_texts__of_key(pml_pb_texts *out, pml_arena *arena, const pml_table_schema *s, const pml_table_options *o,
                         const pml_pb_key *key, pml_error *err);
/* Checks the caller's struct; NULL and blank values become the default name. Fills texts[n_keys], which borrow from pb and which
   out points to. PML_E_INVAL. */
int pml_pb_texts__of_public(pml_pb_texts *out, const char **texts, size_t n_keys, const char *default_name, const pml_rt_pb *pb,
                            pml_error *err);

/* "dt=2026-01-01/bucket-3": for messages, not escaped. */
int pml_pb_texts__print(pml_buf *out, const char *const *keys, const pml_pb_texts *pb);
/* The same into a fixed buffer, cut where it does not fit. */
enum { PML_PB_NAME_BYTES = 160 };
void pml_pb_texts__name(char out[PML_PB_NAME_BYTES], const char *const *keys, const pml_pb_texts *pb);

#endif
