/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that break their contract in one way each: wrappers of the memory store. For tests of the kit, and of a writer
 * that must notice (realtime-tests.md 18a-18c). They count nothing and allocate with malloc, so that only the planted
 * mistake shows.
 */
#ifndef PML_TESTS_BROKEN_STORES_H
#define PML_TESTS_BROKEN_STORES_H

#include <paimonlive/sys/realtime_store.h>

typedef enum broken_kind {
    /* commit streams */
    BROKEN_LOSES,    /* the last row of the first array */
    BROKEN_DOUBLES,  /* the first row comes once more at the end */
    BROKEN_BOTH,     /* one row lost, another twice: count and bounds are right */
    BROKEN_INVENTS,  /* a row more, with an offset behind the segment */
    BROKEN_OUTSIDE,  /* as many rows as there are, one with an offset outside of the segment */
    BROKEN_UNSORTED, /* the first array comes last */
    BROKEN_TIED,     /* streams fail once their segment is released */
    /* commit and query streams */
    BROKEN_SCHEMA, /* the offset column has another name */
    BROKEN_FORMAT, /* the offset column says it is int32 */
    BROKEN_NULL,   /* the offset of one row is null */
    BROKEN_LACKS,  /* no offset column at all */
    /* views */
    BROKEN_CHANGES_VIEW, /* a view shows what was written after it */
    BROKEN_HALF_BATCH,   /* a view ends in the middle of the newest batch */
    /* memory */
    BROKEN_KEEPS, /* everything stays pinned until the store is released */
    BROKEN_COUNT
} broken_kind;

/* Static; named "broken-<kind>". Append tables only; the batches written must be dense. */
const pml_rt_plugin *broken_store_plugin(broken_kind kind);
const char *broken_store_name(broken_kind kind);
/* The intact wrapper: shows that a verdict is about the mistake and not about the wrapping. */
const pml_rt_plugin *wrapped_store_plugin(void);

#endif
