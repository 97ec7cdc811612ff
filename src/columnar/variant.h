/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a VARIANT (Java: GenericVariantUtil; the Variant encoding of Parquet's specification, version 1) and its JSON text.
 *
 *   metadata   bits 0-3 version 1, 6-7 width of an offset - 1 | number of keys | key ends from 0 on, one more than keys | UTF-8 keys
 *   value      bits 0-1 the kind, 2-7 its info, then by kind
 *     0        a scalar: info says which (PML_VARIANT_NULL and so on), little-endian
 *     1        a text of `info` bytes
 *     2        object: info 0_L_KK_OO; n (1 byte, 4 with L) | n key numbers of K+1 bytes | n + 1 offsets of O+1 bytes | values
 *     3        array: info 000_L_OO; the same without key numbers
 *
 * Offsets count from behind the offsets. Nothing says that values lie apart; who reads them may take every byte once, so that no value
 * is larger unpacked than it is long.
 */
#ifndef PML_COLUMNAR_VARIANT_H
#define PML_COLUMNAR_VARIANT_H

#include "columnar/value.h"

enum {
    PML_VARIANT_VERSION = 1,
    PML_VARIANT_BYTES_MAX = 128 * 1024 * 1024, /* of value and of metadata, as in Java */
    PML_VARIANT_KEYS_MAX = 512 * 1024 * 1024,  /* bytes of the keys of all members: many may have the same long one */
    PML_VARIANT_DEPTH_MAX = 1000               /* Java ends somewhere beyond that, by its stack */
};

typedef enum pml_variant_kind { PML_VARIANT_SCALAR, PML_VARIANT_TEXT, PML_VARIANT_OBJECT, PML_VARIANT_ARRAY } pml_variant_kind;

enum { /* the info of a scalar */
    PML_VARIANT_NULL,
    PML_VARIANT_TRUE,
    PML_VARIANT_FALSE,
    PML_VARIANT_INT1,
    PML_VARIANT_INT2,
    PML_VARIANT_INT4,
    PML_VARIANT_INT8,
    PML_VARIANT_DOUBLE,
    PML_VARIANT_DECIMAL4, /* a byte with the scale, then the number */
    PML_VARIANT_DECIMAL8,
    PML_VARIANT_DECIMAL16,
    PML_VARIANT_DATE,
    PML_VARIANT_TIMESTAMP, /* microseconds, UTC */
    PML_VARIANT_TIMESTAMP_NTZ,
    PML_VARIANT_FLOAT,
    PML_VARIANT_BINARY, /* 4 bytes of length first */
    PML_VARIANT_LONG_TEXT,
    PML_VARIANT_UUID = 20
};

/* A variant that is being read. */
typedef struct pml_variant {
    pml_bytes value, metadata;
    uint32_t n_keys;
    int key_width;
    size_t left; /* bytes of the value that nobody has taken yet */
    size_t keys_left; /* bytes of keys that may still be asked for */
    pml_error *err;
} pml_variant;

/* One value of it. */
typedef struct pml_variant_node {
    pml_variant_kind kind;
    int info;
    pml_bytes bytes; /* all of a scalar or text with its header; of objects and arrays what comes before the values */
    pml_bytes content; /* TEXT, and the scalars BINARY and LONG_TEXT: what they hold */
    uint32_t n;
    int id_width, offset_width;
    size_t ids, offsets, data;
} pml_variant_node;

/* Everything here fails with PML_E_CORRUPT. Bytes are borrowed. */
int pml_variant__open(pml_variant *v, pml_bytes value, pml_bytes metadata, pml_error *err);
/* The value at a position, 0 for the outermost. depth: 0 for it, one more for each level below. */
int pml_variant__node(pml_variant_node *out, pml_variant *v, size_t at, int depth);
/* Where the value of member or element i is. */
size_t pml_variant__child(const pml_variant *v, const pml_variant_node *node, uint32_t i);
/* Also PML_E_LIMIT. */
int pml_variant__key(pml_bytes *out, pml_variant *v, const pml_variant_node *object, uint32_t i);

/* What a scalar holds: INT1 to INT8, DATE and the timestamps; DECIMAL4 to DECIMAL16 (at the scale of the byte before). */
int64_t pml_variant__integer(const pml_variant_node *scalar);
pml_int128 pml_variant__decimal(const pml_variant_node *scalar);

/* All of it: whether Java could make a text of it. */
int pml_variant__check(pml_bytes value, pml_bytes metadata, pml_error *err);
/* The text that Java makes of it (toJson, UTC): members in the order in which they stand. Also PML_E_LIMIT and PML_E_NOMEM of out. */
int pml_variant__print(pml_buf *out, pml_bytes value, pml_bytes metadata, pml_error *err);

#endif
