/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Murmur3 with 32 bits and seed 42 over whole little-endian words (Java: MurmurHashUtils.hashBytesByWords). The state takes
 * the words one by one, so that the hash of a row with one field needs no row.
 */

#include <assert.h>

#include "columnar/binary_layout.h"
#include "columnar/binary_row.h"

enum { SEED = 42 };

/* All arithmetic is modulo 2^32. */
static uint32_t rotate(uint32_t v, int by)
{
    return v << by | v >> (32 - by);
}

static uint32_t mix_word(uint32_t h, uint32_t k)
{
    k *= 0xcc9e2d51u;
    k = rotate(k, 15);
    k *= 0x1b873593u;
    h ^= k;
    h = rotate(h, 13);
    return h * 5 + 0xe6546b64u;
}

static uint32_t mix_bytes(uint32_t h, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i + 4 <= len; i += 4)
        h = mix_word(h, pml_le32(p + i));
    return h;
}

static uint32_t mix_slot(uint32_t h, uint64_t slot)
{
    return mix_word(mix_word(h, (uint32_t)slot), (uint32_t)(slot >> 32));
}

static int32_t finish(uint32_t h, size_t len)
{
    h ^= (uint32_t)len;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return (int32_t)h;
}

int32_t pml_binary_row__hash(pml_bytes row)
{
    assert(row.len % 4 == 0);
    return finish(mix_bytes(SEED, row.ptr, row.len), row.len);
}

enum {
    ONE_HEADER = 8,
    ONE_FIXED = ONE_HEADER + PML_BINARY_SLOT, /* also the offset of the first variable item */
    ONE_NULL = 1u << PML_BINARY_ROW_NULL_BIT
};

static uint64_t one_pointer(uint32_t low)
{
    return (uint64_t)ONE_FIXED << 32 | low;
}

static int32_t hash_long_bytes(pml_bytes bytes)
{
    uint8_t tail[8] = {0};
    size_t whole = bytes.len / 8 * 8;
    size_t rest = bytes.len - whole;
    uint32_t h = mix_slot(mix_slot(SEED, 0), one_pointer((uint32_t)bytes.len));
    h = mix_bytes(h, bytes.ptr, whole);
    if (rest == 0)
        return finish(h, ONE_FIXED + whole);
    memcpy(tail, bytes.ptr + whole, rest);
    return finish(mix_bytes(h, tail, sizeof tail), ONE_FIXED + whole + sizeof tail);
}

int32_t pml_binary_row__hash_one(const pml_type *t, const pml_value *v)
{
    uint64_t header = v->kind == PML_VALUE_NULL ? ONE_NULL : 0;
    size_t reserved = pml_binary__reserved(t);
    if (v->kind == PML_VALUE_BYTES && v->bytes.len > PML_BINARY_INLINE_MAX)
        return hash_long_bytes(v->bytes);
    uint32_t h = mix_slot(SEED, header);
    if (reserved != 0) {
        uint8_t item[16];
        uint32_t low;
        pml_binary__encode_reserved(item, &low, v);
        return finish(mix_bytes(mix_slot(h, one_pointer(low)), item, reserved), ONE_FIXED + reserved);
    }
    return finish(mix_slot(h, pml_binary__slot(t, v)), ONE_FIXED);
}

int32_t pml_bucket__default(int32_t hash, int32_t n_buckets)
{
    /* The remainder comes first, so that its absolute value cannot overflow. */
    int32_t rest = hash % n_buckets;
    return rest < 0 ? -rest : rest;
}
