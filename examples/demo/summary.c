/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <stdio.h>

#include "view.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void print_latency(const char *what, const latency *l, const char *of)
{
    char number[VIEW_NUMBER];
    (void)printf("  %-34s p50 %.2f ms, p99 %.2f ms (%s %s)\n", what, latency_percentile(l, 0.5),
                 latency_percentile(l, 0.99), view_number(number, latency_count(l)), of);
}

/* What writers tell of any table. */
static void print_writes(const life *a, const life *b)
{
    char number[2][VIEW_NUMBER];
    (void)printf("  %-34s %s in %s prepares, the longest of %.0f ms\n", "rows accepted during prepares",
                 view_number(number[0], atomic_load(&a->rows_during_prepares) + atomic_load(&b->rows_during_prepares)),
                 view_number(number[1], atomic_load(&a->prepares) + atomic_load(&b->prepares)),
                 (double)larger(atomic_load(&a->prepare_ns_max), atomic_load(&b->prepare_ns_max)) / 1e6);
    (void)printf("  %-34s %.2f ms\n", "longest write call",
                 (double)larger(atomic_load(&a->write_ns_max), atomic_load(&b->write_ns_max)) / 1e6);
}

void summary_append(status *s)
{
    life *a = &s->lives[0], *b = &s->lives[1];
    char number[VIEW_NUMBER];
    latency_merge(&b->quiet, &a->quiet);
    latency_merge(&b->busy, &a->busy);
    (void)printf("\nBoth runs together\n");
    print_writes(a, b);
    (void)printf("  %-34s %s, each with all rows written before it and none twice\n", "queries over memory and files",
                 view_number(number, atomic_load(&a->queries) + atomic_load(&b->queries)));
    print_latency("freshness with queries running", &b->busy, "rows probed");
    print_latency("freshness without queries", &b->quiet, "rows probed");
    (void)printf("  (freshness: from the start of the write call to the row in the reader's hands)\n\n");
}

static void print_story(const life *l)
{
    int n = atomic_load(&l->n_story);
    if (n == 0)
        return;
    (void)printf("\nThe life of %s, as the lookup after each write call gave it\n", l->story_flight);
    (void)printf("  %-10s %8s   %-12s %-8s %-12s %s\n", "report", "snapshot", "departure", "aircraft", "arrival",
                 "write to row");
    for (int i = 0; i < n; i++)
        (void)printf("  %s\n", l->story[i]);
    (void)printf("  (The arrival comes in before the departure. The estimate comes in last and is older: it changes "
                 "nothing.)\n");
}

void summary_upsert(status *s)
{
    life *a = &s->lives[0], *b = &s->lives[1];
    char number[2][VIEW_NUMBER];
    int64_t rows = atomic_load(&a->written) + atomic_load(&b->written);
    int64_t ns = atomic_load(&a->write_ns) + atomic_load(&b->write_ns);
    latency_merge(&b->lookup, &a->lookup);
    print_story(a);
    (void)printf("\nBoth runs together\n");
    (void)printf("  %-34s %s, at %s a second of time in write calls\n", "reports written", view_number(number[0], rows),
                 view_number(number[1], ns == 0 ? 0 : rows * 1000000 / (ns / 1000 + 1)));
    print_writes(a, b);
    (void)printf("  %-34s %s, each right after the write call; every column was as the model says\n",
                 "lookups of a flight by its key", view_number(number[0], latency_count(&b->lookup)));
    print_latency("from the write call to the row", &b->lookup, "lookups");
    (void)printf("\n");
}
