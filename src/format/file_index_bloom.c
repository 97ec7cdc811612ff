/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bloom-filter (Java: BloomFilterFileIndex, FastHash, BloomFilter64): i32 k | bits, the lowest of a byte first. Answers = and IN.
 *
 * Hash: texts and binaries xxHash64; all else Thomas Wang's 64-bit mix of the key, of FLOAT its bits as a signed int.
 */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "format/file_index_read.h"

enum { HASHES_MAX = 1024 };

/* Java's >> of a long. */
static uint64_t shift_right(uint64_t k, int n)
{
    return (uint64_t)((int64_t)k >> n);
}

static uint64_t mix(int64_t key)
{
    uint64_t k = (uint64_t)key;
    k = ~k + (k << 21);
    k ^= shift_right(k, 24);
    k = k + (k << 3) + (k << 8);
    k ^= shift_right(k, 14);
    k = k + (k << 2) + (k << 4);
    k ^= shift_right(k, 28);
    return k + (k << 31);
}

static bool hash_of(uint64_t *h, const pml_type *t, const pml_value *literal)
{
    pml_value key;
    int32_t bits32;
    int64_t bits64;
    if (literal->kind == PML_VALUE_BYTES) {
        *h = XXH64(literal->bytes.ptr, literal->bytes.len, 0);
        return true;
    }
    if (t->kind == PML_TYPE_BOOLEAN || t->kind == PML_TYPE_DECIMAL || !pml_index_key__of(&key, t, literal))
        return false;
    if (key.kind == PML_VALUE_FLOAT) {
        key.f = isnan(key.f) ? nanf("") : key.f;
        memcpy(&bits32, &key.f, sizeof bits32);
        *h = mix(isnan(key.f) ? INT32_C(0x7FC00000) : bits32);
    } else if (key.kind == PML_VALUE_DOUBLE) {
        memcpy(&bits64, &key.d, sizeof bits64);
        *h = mix(isnan(key.d) ? INT64_C(0x7FF8000000000000) : bits64);
    } else {
        *h = mix(key.i);
    }
    return true;
}

static bool may_have(pml_bytes bits, int32_t k, uint64_t h)
{
    const uint32_t h1 = (uint32_t)h, h2 = (uint32_t)(h >> 32);
    for (int32_t i = 1; i <= k; i++) {
        int32_t c = (int32_t)(h1 + (uint32_t)i * h2);
        c = c < 0 ? ~c : c;
        if (!pml_bit_get(bits.ptr, (int64_t)((uint64_t)c % (bits.len * 8))))
            return false;
    }
    return true;
}

int pml_index__bloom(pml_index_answer *out, const pml_index_question *q)
{
    pml_index_cursor c = pml_index_cursor__of(q->body);
    if (q->leaf->op != PML_PRED_EQ && q->leaf->op != PML_PRED_IN)
        return PML_OK;
    int32_t k = pml_index_cursor__i32(&c);
    const pml_bytes bits = pml_index_cursor__rest(&c);
    if (c.bad || k < 1 || k > HASHES_MAX || bits.len == 0)
        return pml_index__corrupt(q, "a Bloom filter has an impossible size");
    for (size_t i = 0; i < q->leaf->n_literals; i++) {
        uint64_t h;
        if (!hash_of(&h, q->leaf->type, &q->leaf->literals[i]) || may_have(bits, k, h))
            return PML_OK;
    }
    out->kind = PML_INDEX_SKIP;
    return PML_OK;
}
