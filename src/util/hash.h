/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes that nobody attacks: names of files, and sums over sets of numbers. Maps have theirs (map.h). */
#ifndef PML_UTIL_HASH_H
#define PML_UTIL_HASH_H

#include <stdint.h>

/* The finaliser of splitmix64. */
static inline uint64_t pml_hash__mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* FNV-1a; seed 0: the hash that goes by this name. */
static inline uint64_t pml_hash__fnv1a(uint64_t seed, const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (const char *c = text; *c != '\0'; c++)
        h = (h ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    return h;
}

#endif
