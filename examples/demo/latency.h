/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of durations in classes that grow by 2^(1/16): percentiles within 5 %. One thread adds, any process may look. */
#ifndef DEMO_LATENCY_H
#define DEMO_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

enum { LATENCY_CLASSES = 416 }; /* of nanoseconds: 1 us to a minute and more */

typedef struct latency {
    atomic_uint counts[LATENCY_CLASSES];
} latency;

void latency_add(latency *l, int64_t ns);
/* Adds all counts of from. */
void latency_merge(latency *into, const latency *from);
int64_t latency_count(const latency *l);
/* In milliseconds; p from 0 to 1; 0 without counts. */
double latency_percentile(const latency *l, double p);

#endif
