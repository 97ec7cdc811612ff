/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BinaryRow: the byte form of rows inside metadata (Java: org.apache.paimon.data.BinaryRow, BinaryRowWriter). The only place
 * that knows this layout. Rows are compared and hashed as bytes, so the writer makes exactly Java's canonical form.
 *
 *   offset        size              meaning (little-endian)
 *   0             1                 row kind, 0 in metadata
 *   1             W-1               null bits: bit 8+i for field i; W = ((n + 71) / 64) * 8
 *   W + 8i        8                 slot of field i: the value, an inlined short string (byte 7 = 0x80|length), or
 *                                   (offset << 32) | length into the variable part
 *   W + 8n        multiple of 8     variable part
 *
 * "Row bytes" (in Avro fields) = int32 big-endian field count, then the row.
 */
#ifndef PML_COLUMNAR_BINARY_ROW_H
#define PML_COLUMNAR_BINARY_ROW_H

#include "columnar/value.h"

enum { PML_BINARY_ROW_MAX = 16 * 1024 * 1024 };

/* Appends the row of n atomic values (types decide the layout, nulls of DECIMAL p > 18 and TIMESTAMP p > 3 reserve space). */
int pml_binary_row__write(pml_buf *out, const pml_type *const *types, const pml_value *values, size_t n);
/* The same with the 4-byte count in front. */
int pml_binary_row__write_counted(pml_buf *out, const pml_type *const *types, const pml_value *values, size_t n);
/* Row of one or more columns of a batch, at `row`: for bucket keys and partitions. columns[i] is an index into batch's
   children. Nested types allowed (ARRAY, MAP, ROW, ...). */
int pml_binary_row__write_from_arrow(pml_buf *out, const pml_type *const *types, const struct ArrowArray *batch,
                                     const int32_t *columns, size_t n, int64_t row, pml_error *err);
/* Every NaN of a row without count gets the bits that Java's own has: rows of equal values have equal bytes then. */
void pml_binary_row__same_nan(uint8_t *row, const pml_type *const *types, size_t n);
/* Decodes into values (borrowing from bytes). Every offset and length is checked: PML_E_CORRUPT. Nested fields give the raw
   bytes of the nested structure as PML_VALUE_BYTES. */
int pml_binary_row__read(pml_value *values, const pml_type *const *types, size_t n, pml_bytes bytes, pml_error *err);
/* Takes the count off and checks it (n fields). */
int pml_binary_row__uncount(pml_bytes *row, pml_bytes counted, size_t n, pml_error *err);
/* The array<bigint> of null counts as in nested stats rows of serialised splits; -1 = null. */
int pml_binary_array__write_longs(pml_buf *out, const int64_t *values, size_t n);
int pml_binary_array__read_longs(int64_t *values, size_t n, pml_bytes bytes, pml_error *err);
/* An array of atomic values of one type. */
int pml_binary_array__write(pml_buf *out, const pml_type *element, const pml_value *values, size_t n);
/* Its number of elements, which the bytes have room for: safe to allocate by. */
int pml_binary_array__count(size_t *n, const pml_type *element, pml_bytes bytes, pml_error *err);
/* n is what pml_binary_array__count said. Values borrow from bytes. */
int pml_binary_array__read(pml_value *values, const pml_type *element, size_t n, pml_bytes bytes, pml_error *err);

/* Murmur3, 32 bit, seed 42, over the row without the count; len is a multiple of 4. */
int32_t pml_binary_row__hash(pml_bytes row);
/* The hash of a row of this one atomic value, without building the row. */
int32_t pml_binary_row__hash_one(const pml_type *t, const pml_value *v);
/* |hash % n| as Java's Math.abs(hash % n). */
int32_t pml_bucket__default(int32_t hash, int32_t n_buckets);

#endif
