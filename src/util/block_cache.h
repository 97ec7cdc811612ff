/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks of the system's allocator, kept for the next that wants as much. Batches are made by one thread and released by another
 * again and again; malloc gives what lies at the end of a thread's heap back to the kernel at each release, and a fresh page costs more
 * than what is written into it.
 *
 * Nothing waits for a cache: where another thread is in it, or was when the process forked, the caller turns to the system.
 */
#ifndef PML_UTIL_BLOCK_CACHE_H
#define PML_UTIL_BLOCK_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { PML_BLOCK_CACHE_BINS = 37, PML_BLOCK_CACHE_BYTES_MAX = 8 << 20 };

typedef struct pml_block_cache {
    atomic_flag busy;
    size_t bytes;
    unsigned hand; /* the bin that makes room next */
    void *bins[PML_BLOCK_CACHE_BINS];
} pml_block_cache;

/* A block of at least *n bytes, or NULL. Then the caller asks the system for *n bytes, which are now some more, so that the block fits
   others later. */
void *pml_block_cache__take(pml_block_cache *c, size_t *n);
/* Moves a block of malloc's, of which so many bytes can be used, in. Others may go back to the system. False: it stays the caller's. */
bool pml_block_cache__give(pml_block_cache *c, void *block, size_t usable);
/* All go back; nobody uses the cache any more. */
void pml_block_cache__clear(pml_block_cache *c);

#endif
