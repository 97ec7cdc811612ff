/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "view.h"

static void block(view *v, const life *l)
{
    char number[2][VIEW_NUMBER];
    view_bar(v, l);
    view_line(v, "  %svisible%s   %10s reports of %s", view_paint(v, "\x1b[1m"), view_paint(v, "\x1b[0m"),
              view_number(number[0], life_rows(l)), view_number(number[1], atomic_load(&l->total)));
    view_committed(v, l, "reports");
    view_latency(v, "write to lookup by key", &l->lookup);
    view_line(v, "  %-26s %s, every column as the model says", "flights looked up",
              view_number(number[0], latency_count(&l->lookup)));
}

static void line(const life *l)
{
    char number[4][VIEW_NUMBER];
    (void)printf("visible %s  committed %s  in memory %s  write to lookup p50 %.2f ms p99 %.2f ms  lookups %s\n",
                 view_number(number[0], life_rows(l)), view_number(number[1], atomic_load(&l->committed)),
                 view_number(number[2], atomic_load(&l->in_memory)), latency_percentile(&l->lookup, 0.5),
                 latency_percentile(&l->lookup, 0.99), view_number(number[3], latency_count(&l->lookup)));
}

const view_form view_form_upsert = {block, line};
