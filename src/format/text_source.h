/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a text data file, unpacked as the end of its name says (Java: HadoopCompressionUtils, Hadoop's codecs):
 *
 *   .gz .bz2 .deflate (zlib) .zst   streams of these formats, one or several
 *   .snappy .lz4                    blocks: u32 BE plain bytes, then pieces of u32 BE packed bytes and these bytes, until the block is full
 */
#ifndef PML_FORMAT_TEXT_SOURCE_H
#define PML_FORMAT_TEXT_SOURCE_H

#include "storage/stream.h"

typedef struct pml_text_source pml_text_source;

/* in is borrowed, as its name is. */
int pml_text_source__open(pml_text_source **out, pml_env *env, pml_input *in, pml_error *err);
void pml_text_source__close(pml_text_source *s);
/* The next bytes, at most room of them; *got = 0 at the end. */
int pml_text_source__read(pml_text_source *s, uint8_t *to, size_t room, size_t *got, pml_error *err);

#endif
