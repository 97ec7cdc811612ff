/* SPDX-License-Identifier: Apache-2.0 */
#include "latency.h"

#include <math.h>

enum { PER_OCTAVE = 16 };

void latency_add(latency *l, int64_t ns)
{
    double octaves = ns <= 1000 ? 0 : log2((double)ns / 1000.0);
    int class = (int)(octaves * PER_OCTAVE);
    (void)atomic_fetch_add(&l->counts[class < LATENCY_CLASSES ? class : LATENCY_CLASSES - 1], 1u);
}

void latency_merge(latency *into, const latency *from)
{
    for (int i = 0; i < LATENCY_CLASSES; i++)
        (void)atomic_fetch_add(&into->counts[i], atomic_load(&from->counts[i]));
}

int64_t latency_count(const latency *l)
{
    int64_t n = 0;
    for (int i = 0; i < LATENCY_CLASSES; i++)
        n += atomic_load(&l->counts[i]);
    return n;
}

double latency_percentile(const latency *l, double p)
{
    double want = p * (double)latency_count(l);
    int64_t seen = 0;
    for (int i = 0; i < LATENCY_CLASSES; i++) {
        seen += atomic_load(&l->counts[i]);
        if (seen > 0 && (double)seen >= want)
            return exp2((i + 0.5) / PER_OCTAVE) / 1000.0;
    }
    return 0;
}
