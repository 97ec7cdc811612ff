/* SPDX-License-Identifier: Apache-2.0 */
/* Values of Avro's binary encoding out of [*p, end), which they move over; false: cut, or not a value. Internal to format/avro_*. */
#ifndef PML_FORMAT_AVRO_DECODE_H
#define PML_FORMAT_AVRO_DECODE_H

#include "format/avro_schema.h"

static inline bool pml_avro__get_long(int64_t *out, const uint8_t **p, const uint8_t *end)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return true;
        }
    }
    return false;
}

static inline bool pml_avro__get_bytes(pml_bytes *out, const uint8_t **p, const uint8_t *end)
{
    int64_t n;
    if (!pml_avro__get_long(&n, p, end) || n < 0 || n > end - *p)
        return false;
    *out = (pml_bytes){*p, (size_t)n};
    *p += n;
    return true;
}

/* The count of a block of array or map items; a negative one is followed by the size in bytes, else *size is -1. */
static inline bool pml_avro__get_items(uint64_t *count, int64_t *size, const uint8_t **p, const uint8_t *end)
{
    int64_t n;
    *size = -1;
    if (!pml_avro__get_long(&n, p, end))
        return false;
    if (n < 0 && (!pml_avro__get_long(size, p, end) || *size < 0 || *size > end - *p))
        return false;
    *count = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    return true;
}

/* The SKIP_VARINT, SKIP_BYTES and SKIP_FIXED of a program. */
static inline bool pml_avro__skip(const pml_avro_op *op, const uint8_t **p, const uint8_t *end)
{
    int64_t n;
    pml_bytes bytes;
    if (op->code == PML_AVRO_OP_SKIP_VARINT)
        return pml_avro__get_long(&n, p, end);
    if (op->code == PML_AVRO_OP_SKIP_BYTES)
        return pml_avro__get_bytes(&bytes, p, end);
    if (end - *p < (ptrdiff_t)op->n)
        return false;
    *p += op->n;
    return true;
}

/* One turn of the loop over items that nobody wants; blocks that state their size are jumped over. *left: items left of the block. */
static inline bool pml_avro__skip_turn(bool *enter, uint64_t *left, const pml_avro_op *head, const uint8_t **p, const uint8_t *end)
{
    *enter = true;
    while (*left == 0) {
        uint64_t count;
        int64_t size;
        if (!pml_avro__get_items(&count, &size, p, end))
            return false;
        if (count == 0) {
            *enter = false;
            return true;
        }
        if (size >= 0) {
            *p += size;
            continue;
        }
        if (count > (uint64_t)(end - *p) / head->n)
            return false;
        *left = count;
    }
    (*left)--;
    return true;
}

#endif
