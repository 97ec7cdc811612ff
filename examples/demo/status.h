/* SPDX-License-Identifier: Apache-2.0 */
/* What the live process tells its parent, in memory that both have mapped: it outlives a process that is killed. */
#ifndef DEMO_STATUS_H
#define DEMO_STATUS_H

#include <stdbool.h>

#include "latency.h"

enum { STATUS_LIVES = 2, STATUS_CARRIERS = 32, STATUS_STORY = 6, STATUS_LINE = 512 };

typedef struct carrier {
    char name[8];                                 /* written before the number of carriers grows */
    atomic_llong flights, delayed, delay_minutes; /* delayed: flights whose delay on arrival is known */
} carrier;

/* One run of the live process. Rows are counted in all lives alike: of the whole source. Rows of upserts are reports. */
typedef struct life {
    atomic_bool recovered;       /* streaming begins */
    atomic_llong total;          /* rows of the source; 0: not known yet */
    atomic_llong recovered_rows; /* in the table when it began */
    atomic_llong partition_buckets;
    atomic_llong skipped;            /* rows of the source that were left out as committed */
    atomic_llong submitted, written; /* rows: write call begun, returned */
    atomic_llong committed, in_memory, memory_bytes, snapshot_id, commits;
    atomic_llong prepares, prepare_ns_max, rows_during_prepares;
    atomic_llong write_ns, write_ns_max; /* in all write calls, in the longest */
    /* of table flights */
    atomic_llong visible; /* rows that the last query counted, or that were written before a row that the probe found */
    atomic_llong queries;
    latency quiet, busy; /* freshness without and with queries running */
    atomic_int n_carriers;
    carrier carriers[STATUS_CARRIERS];
    /* of table flight_status */
    latency lookup;     /* from the start of a write call to the row, looked up by its key */
    atomic_int n_story; /* grows after its line was written; and story_flight before the first */
    char story_flight[STATUS_LINE], story[STATUS_STORY][STATUS_LINE];
} life;

static inline long long life_rows(const life *l)
{
    return atomic_load(&l->recovered_rows) + atomic_load(&l->written);
}

typedef struct status {
    life lives[STATUS_LIVES];
} status;

#endif
