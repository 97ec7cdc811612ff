/* SPDX-License-Identifier: Apache-2.0 */
#include "util/block_cache.h"

#include <stdint.h>
#include <stdlib.h>

/* Four sizes for each doubling. A block in a bin has at least the bin's size, and less than that of the next. */
enum { SMALLEST_LOG = 13, LARGEST_LOG = 22, STEPS_LOG = 2 };
#define SMALLEST ((size_t)1 << SMALLEST_LOG)
#define LARGEST  ((size_t)1 << LARGEST_LOG)
_Static_assert(PML_BLOCK_CACHE_BINS == ((LARGEST_LOG - SMALLEST_LOG) << STEPS_LOG) + 1, "a bin for each size");

/* A kept block. */
typedef struct kept {
    struct kept *next;
    size_t bytes;
} kept;

static int log_of(size_t n)
{
    return 63 - __builtin_clzll(n);
}

/* The last bin whose size is not above n. */
static size_t bin_of(size_t n)
{
    int log = log_of(n);
    size_t part = n >> (log - STEPS_LOG) & (((size_t)1 << STEPS_LOG) - 1);
    return ((size_t)(log - SMALLEST_LOG) << STEPS_LOG) + part;
}

static bool enter(pml_block_cache *c)
{
    return !atomic_flag_test_and_set_explicit(&c->busy, memory_order_acquire);
}

static void leave(pml_block_cache *c)
{
    atomic_flag_clear_explicit(&c->busy, memory_order_release);
}

static kept *bin_pop(pml_block_cache *c, size_t bin)
{
    kept *k = c->bins[bin];
    if (k != NULL) {
        c->bins[bin] = k->next;
        c->bytes -= k->bytes;
    }
    return k;
}

void *pml_block_cache__take(pml_block_cache *c, size_t *n)
{
    if (*n < SMALLEST || *n > LARGEST)
        return NULL;
    size_t step = (size_t)1 << (log_of(*n) - STEPS_LOG);
    *n = (*n + step - 1) & ~(step - 1);
    if (!enter(c))
        return NULL;
    void *block = bin_pop(c, bin_of(*n));
    leave(c);
    return block;
}

bool pml_block_cache__give(pml_block_cache *c, void *block, size_t usable)
{
    kept *out = NULL;
    if (usable < SMALLEST || usable >= LARGEST + (LARGEST >> STEPS_LOG) || !enter(c))
        return false;
    while (c->bytes + usable > PML_BLOCK_CACHE_BYTES_MAX) {
        kept *k = bin_pop(c, c->hand);
        if (k == NULL) {
            c->hand = (c->hand + 1) % PML_BLOCK_CACHE_BINS;
            continue;
        }
        k->next = out;
        out = k;
    }
    size_t bin = bin_of(usable);
    *(kept *)block = (kept){c->bins[bin], usable};
    c->bins[bin] = block;
    c->bytes += usable;
    leave(c);
    while (out != NULL) {
        kept *next = out->next;
        free(out);
        out = next;
    }
    return true;
}

void pml_block_cache__clear(pml_block_cache *c)
{
    if (!enter(c)) /* made by fork while a thread was inside: the lists may be torn, and the child ends soon */
        return;
    for (size_t bin = 0; bin < PML_BLOCK_CACHE_BINS; bin++)
        for (kept *k = bin_pop(c, bin); k != NULL; k = bin_pop(c, bin))
            free(k);
    leave(c);
}
