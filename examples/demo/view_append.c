/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "view.h"

enum { TOP_CARRIERS = 5 };

static int by_flights(const void *pa, const void *pb)
{
    const carrier *const *a = pa, *const *b = pb;
    long long na = atomic_load(&(*a)->flights), nb = atomic_load(&(*b)->flights);
    return (na < nb) - (na > nb);
}

static void put_carriers(view *v, const life *l)
{
    const carrier *top[STATUS_CARRIERS];
    int n = atomic_load(&l->n_carriers);
    for (int i = 0; i < n; i++)
        top[i] = &l->carriers[i];
    qsort(top, (size_t)n, sizeof top[0], by_flights);
    view_line(v, "  carrier      flights   minutes late on arrival");
    for (int i = 0; i < TOP_CARRIERS; i++) {
        char number[VIEW_NUMBER];
        if (i >= n) {
            view_line(v, " ");
            continue;
        }
        long long delayed = atomic_load(&top[i]->delayed);
        view_line(v, "  %-7.7s %12s %10.1f", top[i]->name, view_number(number, atomic_load(&top[i]->flights)),
                  delayed == 0 ? 0.0 : (double)atomic_load(&top[i]->delay_minutes) / (double)delayed);
    }
}

static void block(view *v, const life *l)
{
    char number[2][VIEW_NUMBER];
    view_bar(v, l);
    view_line(v, "  %svisible%s   %10s rows, after %s queries", view_paint(v, "\x1b[1m"), view_paint(v, "\x1b[0m"),
              view_number(number[0], atomic_load(&l->visible)), view_number(number[1], atomic_load(&l->queries)));
    view_committed(v, l, "rows");
    view_latency(v, "freshness, queries running", &l->busy);
    view_latency(v, "freshness, no queries", &l->quiet);
    put_carriers(v, l);
}

static void line(const life *l)
{
    char number[3][VIEW_NUMBER];
    latency *all = calloc(1, sizeof *all);
    if (all == NULL)
        return;
    latency_merge(all, &l->busy);
    latency_merge(all, &l->quiet);
    (void)printf("visible %s  committed %s  in memory %s  freshness p50 %.2f ms p99 %.2f ms  queries %lld\n",
                 view_number(number[0], atomic_load(&l->visible)), view_number(number[1], atomic_load(&l->committed)),
                 view_number(number[2], atomic_load(&l->in_memory)), latency_percentile(all, 0.5),
                 latency_percentile(all, 0.99), (long long)atomic_load(&l->queries));
    free(all);
}

const view_form view_form_append = {block, line};
