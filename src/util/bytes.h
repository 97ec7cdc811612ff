/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-width integers at any address, and a reader that never passes the end of its bytes. */
#ifndef PML_UTIL_BYTES_H
#define PML_UTIL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of memory that somebody else owns. */
typedef struct pml_bytes {
    const uint8_t *ptr;
    size_t len;
} pml_bytes;

static inline uint16_t pml_le16(const void *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static inline uint32_t pml_le32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t pml_le64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline uint32_t pml_be32(const void *p) { return __builtin_bswap32(pml_le32(p)); }
static inline uint64_t pml_be64(const void *p) { return __builtin_bswap64(pml_le64(p)); }
static inline void pml_put_le32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void pml_put_le64(void *p, uint64_t v) { memcpy(p, &v, 8); }
static inline void pml_put_be32(void *p, uint32_t v) { pml_put_le32(p, __builtin_bswap32(v)); }
static inline void pml_put_be64(void *p, uint64_t v) { pml_put_le64(p, __builtin_bswap64(v)); }

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the accessors above assume a little-endian machine");

static inline bool pml_bytes_equal(pml_bytes a, pml_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Unsigned byte order, the shorter one first: the order of strings and binaries in the format. */
static inline int pml_bytes_compare(pml_bytes a, pml_bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);
    if (c != 0)
        return c < 0 ? -1 : 1;
    return a.len == b.len ? 0 : (a.len < b.len ? -1 : 1);
}

static inline bool pml_bit_get(const uint8_t *bits, int64_t i) { return (bits[i >> 3] >> (i & 7)) & 1; }
static inline void pml_bit_set(uint8_t *bits, int64_t i) { bits[i >> 3] = (uint8_t)(bits[i >> 3] | (1u << (i & 7))); }
static inline void pml_bit_unset(uint8_t *bits, int64_t i) { bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7))); }

#endif
