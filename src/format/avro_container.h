/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame around the records of an Avro file: header, blocks, codec. The file is in memory, or read block by block.
 *
 *   header   "Obj" 01 | map of string to bytes (avro.schema, avro.codec) | 16 bytes of sync marker
 *   block    long count | long size | size bytes, packed by the codec | the same 16 bytes
 */
#ifndef PML_FORMAT_AVRO_CONTAINER_H
#define PML_FORMAT_AVRO_CONTAINER_H

#include "format/avro.h"
#include "format/avro_codec.h"
#include "storage/stream.h"

enum { PML_AVRO_SYNC_SIZE = 16 };

typedef struct pml_avro_container {
    pml_env *env;
    const char *name; /* for messages, borrowed */
    pml_avro_codec codec;
    uint8_t sync[PML_AVRO_SYNC_SIZE];
    uint64_t size, first, next, stop; /* of the file; offsets of the first block, of the next one, and where no block begins any more */
    pml_input *in;                    /* NULL: the window is the whole file */
    const uint8_t *window;
    uint64_t window_at, window_len;
    pml_buf read, block;
    const uint8_t *p, *p_end; /* of the open block, plain; valid until the next one is opened */
    uint64_t records_left;    /* in the open block */
    uint64_t plain_total, packed_total;
} pml_avro_container;

/* Over bytes (in NULL) or a file; both are borrowed. *schema is valid until the first block is opened. The container must be closed
   whatever is returned. */
int pml_avro_container__open(pml_avro_container *c, pml_env *env, pml_bytes data, pml_input *in, const char *name, size_t header_max,
                             pml_bytes *schema, pml_error *err);
void pml_avro_container__close(pml_avro_container *c);
/* Opens the next block that has records; records_left stays 0 at the end. record_size_min: least bytes of a record, at least 1. */
int pml_avro_container__next(pml_avro_container *c, size_t record_size_min, pml_error *err);
/* n records of the open block were decoded, and c->p moved behind them. */
int pml_avro_container__end_records(pml_avro_container *c, uint64_t n, pml_error *err);

/* Looks at the head of every block. *total: records of the file; *here: those of part `part` of `parts` (0 or 1: the whole file),
   which is all that next gives from now on; *first: how many come before them. Parts are cut at blocks; all of them together are the file, in order. */
int pml_avro_container__choose(pml_avro_container *c, int64_t *total, int64_t *first, int64_t *here, size_t record_size_min, int32_t part,
                               int32_t parts, pml_error *err);
/* Whether the part has no rows in any file: it need not be opened. */
bool pml_avro_container__part_is_empty(int32_t part, int32_t parts);

#endif
