/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that knows Roaring's containers, and the portable 32-bit format around them (RoaringFormatSpec; Java:
 * RoaringBitmap.serialize), little-endian:
 *
 *   u32 12346, u32 n | u32 12347 + ((n - 1) << 16), n bits rounded up to bytes: which containers are runs
 *   n x (u16 high half of the values, u16 values - 1)            high halves ascending
 *   n x u32 place of the container                               not with 12347 and n < 4; the containers follow each other anyway
 *   n containers: runs: u16 n, n x (u16 first, u16 more)  |  at most 4096 values: u16 each, ascending  |  8192 bytes of bits
 */
#ifndef PML_COLUMNAR_ROARING_CONTAINER_H
#define PML_COLUMNAR_ROARING_CONTAINER_H

#include "util/buf.h"
#include "util/bytes.h"

enum {
    PML_ROARING_WORDS = 1024,      /* of a container as bits */
    PML_ROARING_VALUES = 65536,    /* that a container may have */
    PML_ROARING_ARRAY_MAX = 4096,  /* values of a container that are written one by one */
    PML_ROARING_BITS_BYTES = 8192
};

typedef enum pml_roaring_kind { PML_ROARING_RUNS, PML_ROARING_BITS, PML_ROARING_ARRAY } pml_roaring_kind;

typedef struct pml_roaring_container {
    uint32_t key; /* the high half of its values */
    uint32_t cardinality;
    pml_roaring_kind kind;
    pml_bytes data; /* borrowed; of runs without their number */
} pml_roaring_container;

/* What is wrong is said in words, as a clause; NULL: nothing. */

/* Takes the data of a container, whose kind and cardinality are known, from in at *at. */
const char *pml_roaring_container__take(pml_roaring_container *c, pml_bytes in, size_t *at);
/* Adds its values to the bits of PML_ROARING_WORDS words. What is wrong may be found after some were added. */
const char *pml_roaring_container__lay(uint64_t *words, const pml_roaring_container *c);

typedef struct pml_roaring_reader {
    pml_bytes in;
    uint32_t n, next;
    const uint8_t *run_flags; /* NULL: no runs */
    const uint8_t *heads;
    uint32_t last_key;
    size_t at; /* of the next container's data; after the last one the end of the bitmap */
} pml_roaring_reader;

const char *pml_roaring_reader__open(pml_roaring_reader *r, pml_bytes in);
/* *more false: that was all. */
const char *pml_roaring_reader__next(pml_roaring_container *c, bool *more, pml_roaring_reader *r);

/* ---- writing ---- */
void pml_roaring__count(const uint64_t *words, uint32_t *cardinality, uint32_t *runs);
/*
 * As what Java writes them after runOptimize(). What it keeps as runs when that costs the same as values depends on where it came from: a
 * container of runs (was_runs) stays one as long as it is no larger than its values with their count, one of values becomes runs only
 * when that is smaller than the bare values.
 */
pml_roaring_kind pml_roaring__optimized(uint32_t cardinality, uint32_t runs, bool was_runs);
/* Appends the container as that kind. */
int pml_roaring__write(pml_buf *out, const uint64_t *words, uint32_t runs, pml_roaring_kind kind);

enum { PML_ROARING_COOKIE_PLAIN = 12346, PML_ROARING_COOKIE_RUNS = 12347, PML_ROARING_PLACES_FROM = 4 };

#endif
