/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of binary rows and arrays as the binary_*.c files share it: binary_row.c (writing values), binary_row_arrow.c
 * (writing nested data), binary_row_read.c and binary_row_hash.c. Nobody else includes this.
 *
 * A writer fills one structure that starts at out->data + start. Rows have slots of 8 bytes; arrays have elements of the
 * width of their type. Long items are appended behind, in the order in which they are put, each padded to 8 bytes; their
 * offsets count from `start`. Items are put in ascending order, at most one each; items never put are zero and not null.
 */
#ifndef PML_COLUMNAR_BINARY_LAYOUT_H
#define PML_COLUMNAR_BINARY_LAYOUT_H

#include "columnar/binary_row.h"

enum {
    PML_BINARY_SLOT = 8,
    PML_BINARY_ROW_NULL_BIT = 8,    /* the first byte is the row kind */
    PML_BINARY_ARRAY_NULL_BIT = 32, /* the first four are the element count */
    PML_BINARY_INLINE_MAX = 7,      /* longer strings go to the variable part */
    PML_BINARY_INLINE_MARK = 0x80
};

typedef struct pml_binary_writer {
    pml_buf *out;
    size_t start;    /* of the structure in out */
    size_t null_bit; /* bit number of item 0, from start */
    size_t slots;    /* offset of slot 0 from start */
    size_t width;    /* of a slot */
    bool array;
} pml_binary_writer;

size_t pml_binary__row_header(size_t n);
size_t pml_binary__array_header(size_t n);
int pml_binary__begin_row(pml_binary_writer *w, pml_buf *out, size_t n);
int pml_binary__begin_array(pml_binary_writer *w, pml_buf *out, const pml_type *element, size_t n);
/* Bytes of one element of an array of this type. */
size_t pml_binary__width(const pml_type *t);
int pml_binary__put_null(pml_binary_writer *w, size_t i, const pml_type *t);
/* An atomic value, null included; of a nested type its raw bytes. */
int pml_binary__put(pml_binary_writer *w, size_t i, const pml_type *t, const pml_value *v);
/* A nested structure was appended to out from `from` on: pads it and points slot i at it. */
int pml_binary__close_nested(pml_binary_writer *w, size_t i, size_t from);
/* Pads to 8 and checks the total size: PML_E_LIMIT above PML_BINARY_ROW_MAX. */
int pml_binary__finish(pml_binary_writer *w);
/* The bits of a value that fits a slot; only the low `width` bytes may be set. */
uint64_t pml_binary__slot(const pml_type *t, const pml_value *v);
/* Types whose slot points at a structure of their own: ARRAY, MULTISET, MAP, ROW, VECTOR, VARIANT. Never inlined. */
bool pml_binary__is_structure(const pml_type *t);
/* The variable item of the types that reserve space, and the low half of its slot. v may be null. */
void pml_binary__encode_reserved(uint8_t item[16], uint32_t *low, const pml_value *v);
/* DECIMAL p > 18 and TIMESTAMP p > 3: bytes that a row reserves even for null; 0 for all other types. */
size_t pml_binary__reserved(const pml_type *t);

#endif
