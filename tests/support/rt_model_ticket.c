/* SPDX-License-Identifier: Apache-2.0 */
/* Splits of plans as bytes, with tickets: opened later, let go, or left to expire. */
#include <string.h>

#include "support/rt_model_state.h"

/* The mono clock's; realtime.read-view-ttl is the default. */
#define TICKET_NS (300ll * 1000000000)

static bool is_expired(const rt_model *m, const model_tickets *k)
{
    return atomic_load(&m->t->mono_ns) >= k->drawn_ns + TICKET_NS;
}

static void forget(model_tickets *k)
{
    for (size_t i = 0; i < k->n; i++)
        pml_text_clear(&k->texts[i]);
    ids_clear(&k->plan.expected);
    rt_lines_clear(&k->plan.lines);
    *k = (model_tickets){0};
}

void model_tickets_forget(rt_model *m)
{
    for (int i = 0; i < MODEL_TICKETS; i++)
        forget(&m->tickets[i]);
}

static void draw(rt_model *m, model_tickets *k, const model_plan *p)
{
    pml_error err = PML_ERROR_INIT;
    const size_t n = pml_plan_split_count(p->plan);
    if (n == 0 || n > MODEL_TICKET_SPLITS)
        return;
    k->drawn_ns = atomic_load(&m->t->mono_ns);
    for (; k->n < n; k->n++) {
        pml_split_info s = PML_SPLIT_INFO_INIT;
        if (!model_expect(m, PML_OK, pml_plan_split_get(&s, p->plan, k->n, &err), &err, "split_get") ||
            !model_expect(m, PML_OK, pml_rt_split_serialize(&k->texts[k->n], p->plan, k->n, &err), &err, "split_serialize"))
            return;
        k->live += s.rows_in_memory > 0;
    }
    k->plan = (model_plan){.snapshot = p->snapshot, .limit = -1};
    memcpy(k->plan.columns, p->columns, sizeof p->columns);
    ids_copy(&k->plan.expected, &p->expected);
    rt_lines_copy(&k->plan.lines, &p->lines);
    model_log(m, "draw %d tickets for %zu splits", k->live, k->n);
}

static void release(rt_model *m, model_tickets *k)
{
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < k->n && !m->failed; i++)
        (void)model_expect(m, PML_OK, pml_rt_split_release_ticket(m->ctx, &(pml_blob){k->texts[i].ptr, k->texts[i].len}, &err), &err, "release");
    model_log(m, "release %d tickets", k->live);
    forget(k);
}

void model_tickets_release(rt_model *m)
{
    for (int i = 0; i < MODEL_TICKETS && !m->failed; i++)
        if (m->tickets[i].n > 0)
            release(m, &m->tickets[i]);
}

static void open_again(rt_model *m, model_tickets *k)
{
    pml_blob blobs[MODEL_TICKET_SPLITS];
    const bool expired = k->live > 0 && is_expired(m, k);
    for (size_t i = 0; i < k->n; i++)
        blobs[i] = (pml_blob){k->texts[i].ptr, k->texts[i].len};
    model_log(m, "open %d tickets%s", k->live, expired ? ", expired" : "");
    model_open_splits(m, &k->plan, blobs, k->n, expired ? PML_E_TICKET : PML_OK);
    if (!m->failed && !expired && k->live > 0) /* they are used up */
        model_open_splits(m, &k->plan, blobs, k->n, PML_E_TICKET);
    forget(k);
}

void model_ticket(rt_model *m)
{
    model_tickets *k = &m->tickets[model_below(m, MODEL_TICKETS)];
    const model_plan *p = &m->plans[model_below(m, MODEL_PLANS)];
    if (k->n > 0 && model_chance(m, 70))
        open_again(m, k);
    else if (k->n > 0)
        release(m, k);
    else if (p->plan != NULL && p->whole)
        draw(m, k, p);
}
