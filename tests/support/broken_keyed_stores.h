/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory store of tables with a primary key, broken in one way each: for tests of the kit. Handles are those of the real store;
 * only functions of its tables are replaced, so one store at a time.
 */
#ifndef PML_TESTS_BROKEN_KEYED_STORES_H
#define PML_TESTS_BROKEN_KEYED_STORES_H

#include <paimonlive/sys/realtime_store.h>

typedef enum keyed_fault {
    KEYED_INTACT,
    KEYED_LOSES,       /* every third batch */
    KEYED_DOUBLES,     /* runs come twice out of a segment */
    KEYED_CHAINS,      /* all runs end to end in one stream */
    KEYED_COLLAPSES,   /* of two versions of a key the older one is gone */
    KEYED_RENUMBERS,   /* rows get other sequence numbers */
    KEYED_KINDS,       /* a delete becomes an insert */
    KEYED_ONE_SEGMENT, /* all streams of a view say that they are of one segment */
    KEYED_BACKWARDS,   /* newer segments have lower numbers */
    KEYED_CHANGES_VIEW,
    KEYED_LIES_ON_END,   /* a view gives rows behind its end */
    KEYED_LIES_ON_FLOOR, /* and says that it is complete from 0 on */
    KEYED_EAGER,         /* lets go of more than is committed */
    KEYED_KEEPS,         /* everything stays pinned until the store is released */
    KEYED_FAULTS
} keyed_fault;

const pml_rt_plugin *broken_keyed_plugin(keyed_fault fault);

#endif
