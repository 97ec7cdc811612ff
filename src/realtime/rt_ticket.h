/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tickets (realtime.md 4.5): a serialised live split carries one, and it stands for the pinned view until somebody opens the
 * split, gives it up, or the time realtime.read-view-ttl is over.
 *
 *   PINNED -> CONSUMED | RELEASED | EXPIRED
 *
 * The table holds pinned tickets only, each with one reference; an opener holds another between resolving and consuming. All
 * tickets of a context live equally long, so the list in order of drawing is in order of expiry, and each operation first drops
 * what has expired at its head. Clock, randomness and the end of a view are never called under the lock.
 *
 * With realtime.reaper=thread, the default, the first ticket starts a thread that sleeps until the oldest one expires. It alone ends
 * the views of expired tickets, which may own gigabytes: what an operation finds expired is handed to it. The last close of the
 * context stops it. Without it (inline, or no thread could be had) operations end the views themselves.
 */
#ifndef PML_REALTIME_RT_TICKET_H
#define PML_REALTIME_RT_TICKET_H

#include <paimonlive/realtime.h>

#include "util/map.h"
#include "util/thread.h"

struct rt_view;
struct rt_part;

enum {
    RT_UUID_BYTES = 16,
    RT_TICKET_TEXT = 4 + 32 + 1 + 32 + 1 /* "rt1-", context, "-", secret, NUL */
};

typedef enum rt_ticket_state { RT_TICKET_PINNED = 0, RT_TICKET_CONSUMED, RT_TICKET_RELEASED, RT_TICKET_EXPIRED } rt_ticket_state;

typedef struct rt_ticket {
    atomic_int refs;
    rt_ticket_state state; /* of the table's lock, as the rest */
    uint8_t secret[RT_UUID_BYTES];
    int64_t expires_ns; /* of the monotonic clock */
    struct rt_ticket *older, *newer; /* in the list; newer also in a chain of dropped ones */
    /* what it stands for; not changed */
    struct rt_view *view;
    int64_t committed, visible;
} rt_ticket;

typedef struct rt_tickets {
    pml_mutex mu; /* guards the rest */
    bool ended, has_uuid;
    uint8_t uuid[RT_UUID_BYTES]; /* of the context; drawn with the first ticket */
    pml_map by_secret;
    rt_ticket *oldest, *newest;
    bool reaping;      /* the thread runs */
    rt_ticket *doomed; /* expired, for it to drop; a chain */
    pml_cond wake;     /* of the thread: doomed, ended, or the first ticket of an empty table */
    pml_thread reaper;
} rt_tickets;

void pml_rt_tickets__init(rt_tickets *t, pml_env *env);
void pml_rt_tickets__clear(rt_tickets *t);
/* No more tickets: those drawn are released. */
void pml_rt_tickets__end(pml_rt_context *c);
void pml_rt_tickets__expire(pml_rt_context *c);
size_t pml_rt_tickets__count(pml_rt_context *c);

/* A ticket of the part's view; its text and the context's id. */
int pml_rt_ticket__draw(char text[RT_TICKET_TEXT], uint8_t uuid[RT_UUID_BYTES], pml_rt_context *c, const struct rt_part *part,
                        pml_error *err);
/* The pinned ticket of this text; a reference is taken. PML_E_TICKET for any other text. */
int pml_rt_ticket__resolve(rt_ticket **out, pml_rt_context *c, const char *text, pml_error *err);
/* All or none. PML_E_TICKET when somebody else consumed or released one of them meanwhile, or one stands here twice; one that
   expired meanwhile is fine. */
int pml_rt_tickets__consume(pml_rt_context *c, rt_ticket *const *v, size_t n, pml_error *err);
/* Idempotent: PML_OK whatever became of a ticket of this context. PML_E_TICKET for texts that are none. */
int pml_rt_ticket__release(pml_rt_context *c, const char *text, pml_error *err);
/* Gives a reference back; NULL allowed. */
void pml_rt_ticket__unref(pml_rt_context *c, rt_ticket *t);

#endif
