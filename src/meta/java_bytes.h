/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The primitives of Java's DataOutput and DataInput, of which splits and commit messages are made (docs/protocol.md): big-endian
 * integers, one-byte booleans, and texts. Binary rows inside them have a size in front:
 *
 *   row    i32 size, row                          (Java: the serialiser of a fixed row type)
 *   prow   i32 size of what follows, i32 field count, row   (Java: SerializationUtils.serializeBinaryRow)
 *   UTF    u16 length in bytes, modified UTF-8: NUL as C0 80, characters above U+FFFF as two surrogates of three bytes each
 *   text   u32 length, UTF-8                      (ours, in live splits)
 *
 * Writing goes to a pml_buf, whose error is sticky; so is the reader's: after the first failure every call gives zeros, and the
 * caller looks at rc once.
 */
#ifndef PML_META_JAVA_BYTES_H
#define PML_META_JAVA_BYTES_H

#include "util/arena.h"
#include "util/buf.h"
#include "util/bytes.h"

enum { PML_JAVA_UTF_MAX = 65535 }; /* the length has 16 bits */

int pml_java__put_u16(pml_buf *out, uint16_t v);
int pml_java__put_i32(pml_buf *out, int32_t v);
int pml_java__put_i64(pml_buf *out, int64_t v);
int pml_java__put_bool(pml_buf *out, bool v);
/* PML_E_LIMIT past 65535 bytes of modified UTF-8, PML_E_INVAL for text that is not UTF-8. */
int pml_java__put_utf(pml_buf *out, const char *utf8);
int pml_java__put_prow(pml_buf *out, pml_bytes counted);
int pml_java__put_text(pml_buf *out, const char *s);
int pml_java__put_bytes(pml_buf *out, pml_bytes bytes); /* u32 length, bytes */

typedef struct pml_java_reader {
    pml_bytes bytes;
    size_t at;
    const char *what; /* for messages: "a split" */
    pml_arena *arena; /* of texts */
    pml_error *err;
    int rc; /* first error */
} pml_java_reader;

void pml_java__read_init(pml_java_reader *r, pml_arena *arena, pml_bytes bytes, const char *what, pml_error *err);
/* Records and returns a PML_E_CORRUPT at the current position, unless there is an error already. */
int pml_java__bad(pml_java_reader *r, const char *format, ...) PML_PRINTF(2, 3);
pml_bytes pml_java__get(pml_java_reader *r, size_t n);
uint8_t pml_java__get_u8(pml_java_reader *r);
uint16_t pml_java__get_u16(pml_java_reader *r);
int32_t pml_java__get_i32(pml_java_reader *r);
int64_t pml_java__get_i64(pml_java_reader *r);
bool pml_java__get_bool(pml_java_reader *r); /* 0 or 1, nothing else */
/* A number of items of at least item_bytes each: never more than what is left has room for. */
size_t pml_java__get_count(pml_java_reader *r, size_t item_bytes);
/* NUL-terminated UTF-8 in the arena; NULL on error. A text with a NUL in it is refused. */
const char *pml_java__get_utf(pml_java_reader *r);
const char *pml_java__get_text(pml_java_reader *r);
pml_bytes pml_java__get_row(pml_java_reader *r);   /* without the size; borrowed from the bytes */
pml_bytes pml_java__get_prow(pml_java_reader *r);  /* counted row bytes; borrowed */
pml_bytes pml_java__get_bytes(pml_java_reader *r); /* u32 length, bytes; borrowed */
/* Nothing may be left. Returns rc. */
int pml_java__read_end(pml_java_reader *r);

#endif
