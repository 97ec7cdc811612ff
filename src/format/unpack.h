/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of packed bytes, unpacked piece by piece: the only place that calls zlib, libbz2 and liblzma to unpack, and zstd's streams. */
#ifndef PML_FORMAT_UNPACK_H
#define PML_FORMAT_UNPACK_H

#include "util/bytes.h"
#include "util/env.h"

typedef enum pml_unpack_kind {
    PML_UNPACK_DEFLATE = 1, /* raw, no header */
    PML_UNPACK_ZLIB,
    PML_UNPACK_GZIP,
    PML_UNPACK_BZIP2,
    PML_UNPACK_XZ,
    PML_UNPACK_ZSTD
} pml_unpack_kind;

typedef struct pml_unpack pml_unpack;

/* Returns owned. Its memory is env's, whatever the packed bytes claim: at most 80 MiB with XZ, 4 MiB with the others; but that of ZSTD
   is the library's, at most 128 MiB. */
int pml_unpack__new(pml_unpack **out, pml_env *env, pml_unpack_kind kind, pml_error *err);
void pml_unpack__free(pml_unpack *u);
/* Ready for another stream behind one that ended. PML_E_NOMEM. */
int pml_unpack__again(pml_unpack *u);
/* Unpacks into at most `room` bytes at `to`, *n of them, and moves *in behind what it took. *ended: the stream's own end was met; what
   is left of *in is not part of it. Neither ended nor anything taken or given: the stream is cut. PML_E_CORRUPT, PML_E_LIMIT (its
   writer wants more memory than we give) or PML_E_NOMEM, with *why. */
int pml_unpack__step(pml_unpack *u, pml_bytes *in, uint8_t *to, size_t room, size_t *n, bool *ended, const char **why);

#endif
