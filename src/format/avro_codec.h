/* SPDX-License-Identifier: Apache-2.0 */
/* The block codecs of Avro files. The only place that calls snappy and zstd for them, and zlib to pack. */
#ifndef PML_FORMAT_AVRO_CODEC_H
#define PML_FORMAT_AVRO_CODEC_H

#include "util/buf.h"
#include "util/bytes.h"

typedef enum pml_avro_codec_kind {
    PML_AVRO_CODEC_NULL = 1,
    PML_AVRO_CODEC_DEFLATE,  /* raw deflate, no zlib header */
    PML_AVRO_CODEC_SNAPPY,   /* raw snappy and the CRC-32 of the plain bytes, big-endian */
    PML_AVRO_CODEC_ZSTANDARD, /* zstd frames */
    PML_AVRO_CODEC_BZIP2,     /* bzip2 and xz: read, not written */
    PML_AVRO_CODEC_XZ
} pml_avro_codec_kind;

typedef struct pml_avro_codec {
    pml_env *env;
    pml_avro_codec_kind kind;
    int level;     /* ZSTANDARD, writing */
    void *context; /* zstd's, another one for each direction; those for reading are used again by later readers */
} pml_avro_codec;

/* PML_E_UNSUPPORTED for a name we do not know. file is for messages. */
int pml_avro_codec__init(pml_avro_codec *c, pml_env *env, pml_bytes name, int level, bool writing, const char *file,
                         pml_error *err);
void pml_avro_codec__clear(pml_avro_codec *c, bool writing);
/* Replaces the content of out by the plain form of in. More than max bytes: PML_E_LIMIT. */
int pml_avro_codec__decompress(pml_avro_codec *c, pml_buf *out, pml_bytes in, size_t max, const char *file,
                               pml_error *err);
/* Appends the packed form of in to out. */
int pml_avro_codec__compress(pml_avro_codec *c, pml_buf *out, pml_bytes in, pml_error *err);

#endif
