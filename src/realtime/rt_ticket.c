/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_ticket.h"

#include <string.h>

#include "realtime/rt_plan.h"

enum { NS_PER_MS = 1000000 };
static const char prefix[] = "rt1-";

void pml_rt_tickets__init(rt_tickets *t, pml_env *env)
{
    *t = (rt_tickets){.ended = false};
    pml_mutex__init(&t->mu, "ctx.tickets", RT_RANK_TICKETS);
    pml_cond__init(&t->wake);
    pml_map__init(&t->by_secret, env);
}

void pml_rt_tickets__clear(rt_tickets *t)
{
    pml_map__clear(&t->by_secret, NULL);
    pml_cond__destroy(&t->wake);
    pml_mutex__destroy(&t->mu);
}

void pml_rt_ticket__unref(pml_rt_context *c, rt_ticket *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_rt_view__release(t->view);
    pml_env__free(c->env, t);
}

/* ---- the table, locked ---- */

static void unlink_locked(rt_tickets *t, rt_ticket *k, rt_ticket_state state)
{
    k->state = state;
    (void)pml_map__remove(&t->by_secret, k->secret, sizeof k->secret);
    if (k->older != NULL)
        k->older->newer = k->newer;
    else
        t->oldest = k->newer;
    if (k->newer != NULL)
        k->newer->older = k->older;
    else
        t->newest = k->older;
    k->older = k->newer = NULL;
}

static void push_locked(rt_tickets *t, rt_ticket *k)
{
    k->older = t->newest;
    if (t->newest != NULL)
        t->newest->newer = k;
    else
        t->oldest = k;
    t->newest = k;
}

/* Takes out what expires not later than now: a chain for drop_chain. */
static rt_ticket *take_expired_locked(rt_tickets *t, int64_t now, rt_ticket_state state)
{
    rt_ticket *chain = NULL;
    while (t->oldest != NULL && t->oldest->expires_ns <= now) {
        rt_ticket *k = t->oldest;
        unlink_locked(t, k, state);
        k->newer = chain;
        chain = k;
    }
    return chain;
}

/* ---- the table ---- */

/* Not under a lock: the last reference ends a view, which may own gigabytes. */
static void drop_chain(pml_rt_context *c, rt_ticket *chain)
{
    while (chain != NULL) {
        rt_ticket *next = chain->newer;
        chain->newer = NULL;
        pml_rt_ticket__unref(c, chain);
        chain = next;
    }
}

/* A chain of what has expired. */
static rt_ticket *expire_locked(pml_rt_context *c, int64_t now)
{
    rt_ticket *expired = take_expired_locked(&c->tickets, now, RT_TICKET_EXPIRED);
    for (const rt_ticket *k = expired; k != NULL; k = k->newer)
        (void)atomic_fetch_add_explicit(&c->counts.tickets_expired, 1, memory_order_relaxed);
    return expired;
}

static void doom_locked(rt_tickets *t, rt_ticket *chain)
{
    if (chain != NULL)
        pml_cond__signal(&t->wake);
    while (chain != NULL) {
        rt_ticket *next = chain->newer;
        chain->newer = t->doomed;
        t->doomed = chain;
        chain = next;
    }
}

void pml_rt_tickets__expire(pml_rt_context *c)
{
    rt_tickets *t = &c->tickets;
    int64_t now = pml_env__mono_ns(c->env);
    pml_mutex__lock(&t->mu);
    rt_ticket *expired = expire_locked(c, now);
    if (t->reaping) {
        doom_locked(t, expired);
        expired = NULL;
    }
    pml_mutex__unlock(&t->mu);
    drop_chain(c, expired);
}

/* ---- the reaper ---- */

/* Until the oldest ticket expires, or somebody has something to say. */
static void sleep_locked(rt_tickets *t, int64_t now)
{
    enum { LONGEST_MS = 60 * 1000 };
    if (t->oldest == NULL) {
        pml_cond__wait(&t->wake, &t->mu);
        return;
    }
    int64_t ms = t->oldest->expires_ns <= now ? 0 : (t->oldest->expires_ns - now) / NS_PER_MS + 1;
    pml_cond__wait_ms(&t->wake, &t->mu, ms < LONGEST_MS ? ms : LONGEST_MS);
}

static void *reap(void *arg)
{
    pml_rt_context *c = arg;
    rt_tickets *t = &c->tickets;
    for (bool ended = false; !ended;) {
        int64_t now = pml_env__mono_ns(c->env);
        pml_mutex__lock(&t->mu);
        doom_locked(t, expire_locked(c, now));
        if (t->doomed == NULL && !t->ended)
            sleep_locked(t, now);
        rt_ticket *chain = t->doomed;
        t->doomed = NULL;
        ended = t->ended;
        pml_mutex__unlock(&t->mu);
        drop_chain(c, chain);
    }
    return NULL;
}

/* With the first ticket, so that a context without tickets has no thread. */
static void start_reaper_locked(pml_rt_context *c)
{
    rt_tickets *t = &c->tickets;
    if (!t->reaping && c->options.rt_reaper == PML_RT_REAPER_THREAD)
        t->reaping = pml_thread__start(&t->reaper, reap, c) == 0; /* else as inline, and the next ticket tries again */
    else if (t->reaping && t->oldest == t->newest)
        pml_cond__signal(&t->wake);
}

/* Not called twice at once: the last handle's close comes before the context goes. */
void pml_rt_tickets__end(pml_rt_context *c)
{
    rt_tickets *t = &c->tickets;
    pml_mutex__lock(&t->mu);
    t->ended = true;
    rt_ticket *all = take_expired_locked(t, INT64_MAX, RT_TICKET_RELEASED);
    bool reaping = t->reaping && c->forks == pml_process__forks(); /* no thread survives a fork */
    t->reaping = false;
    pml_cond__signal(&t->wake);
    pml_mutex__unlock(&t->mu);
    if (reaping)
        pml_thread__join(&t->reaper);
    drop_chain(c, all);
}

size_t pml_rt_tickets__count(pml_rt_context *c)
{
    pml_mutex__lock(&c->tickets.mu);
    size_t n = c->tickets.by_secret.live;
    pml_mutex__unlock(&c->tickets.mu);
    return n;
}

/* ---- texts ---- */

static void put_hex(char *to, const uint8_t *bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < RT_UUID_BYTES; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
}

static bool get_hex(uint8_t *to, const char *text)
{
    for (size_t i = 0; i < 2 * RT_UUID_BYTES; i++) {
        char c = text[i];
        bool digit = c >= '0' && c <= '9';
        if (!digit && !(c >= 'a' && c <= 'f'))
            return false;
        uint8_t v = (uint8_t)(digit ? c - '0' : c - 'a' + 10);
        to[i / 2] = (uint8_t)(i % 2 == 0 ? v << 4 : to[i / 2] | v);
    }
    return true;
}

static int ticket_unknown(pml_error *err)
{
    return pml_error__set(err, PML_E_TICKET, "the split's ticket was used, released or has expired: plan again");
}

/* The secret of a ticket of this context. Tickets give access to rows, so no message shows one. */
static int parse(uint8_t secret[RT_UUID_BYTES], pml_rt_context *c, const char *text, pml_error *err)
{
    uint8_t uuid[RT_UUID_BYTES];
    size_t head = sizeof prefix - 1, middle = head + 2 * RT_UUID_BYTES;
    if (strlen(text) != RT_TICKET_TEXT - 1 || memcmp(text, prefix, head) != 0 || text[middle] != '-' ||
        !get_hex(uuid, text + head) || !get_hex(secret, text + middle + 1))
        return pml_error__set(err, PML_E_TICKET, "the split's ticket is none of this library");
    pml_mutex__lock(&c->tickets.mu);
    bool ours = c->tickets.has_uuid && memcmp(uuid, c->tickets.uuid, sizeof uuid) == 0;
    pml_mutex__unlock(&c->tickets.mu);
    if (!ours)
        return pml_error__set(err, PML_E_TICKET,
                              "the split belongs to real-time context %.8s, which is not this one: its rows are in the memory of "
                              "another process or context",
                              text + head);
    return PML_OK;
}

/* ---- operations ---- */

int pml_rt_ticket__draw(char text[RT_TICKET_TEXT], uint8_t uuid[RT_UUID_BYTES], pml_rt_context *c, const rt_part *part, pml_error *err)
{
    rt_tickets *t = &c->tickets;
    uint8_t fresh[RT_UUID_BYTES];
    int rc;
    text[0] = '\0';
    pml_rt_tickets__expire(c);
    rt_ticket *k = pml_env__calloc(c->env, 1, sizeof *k);
    if (k == NULL)
        return pml_error__no_memory(err);
    atomic_init(&k->refs, 1);
    PML_TRY(pml_env__random(c->env, fresh, sizeof fresh, err));
    PML_TRY(pml_env__random(c->env, k->secret, sizeof k->secret, err));
    int64_t ttl;
    if (__builtin_mul_overflow(c->options.rt_read_view_ttl_ms, NS_PER_MS, &ttl) ||
        __builtin_add_overflow(pml_env__mono_ns(c->env), ttl, &k->expires_ns))
        k->expires_ns = INT64_MAX;
    k->committed = part->committed;
    k->visible = part->visible;
    memcpy(text, prefix, sizeof prefix - 1);
    put_hex(text + sizeof prefix - 1 + 2 * RT_UUID_BYTES + 1, k->secret);
    pml_mutex__lock(&t->mu);
    if (!t->has_uuid)
        memcpy(t->uuid, fresh, sizeof fresh);
    t->has_uuid = true;
    memcpy(uuid, t->uuid, sizeof fresh);
    if (t->ended)
        rc = PML_E_STATE;
    else if (pml_map__has(&t->by_secret, k->secret, sizeof k->secret))
        rc = PML_E_INTERNAL; /* 128 random bits twice: a broken source of randomness */
    else
        rc = pml_map__put(&t->by_secret, k->secret, sizeof k->secret, k, NULL);
    if (rc == PML_OK) {
        pml_rt_view__acquire(part->held);
        k->view = part->held;
        push_locked(t, k);
        start_reaper_locked(c);
    }
    pml_mutex__unlock(&t->mu);
    put_hex(text + sizeof prefix - 1, uuid);
    text[sizeof prefix - 1 + 2 * RT_UUID_BYTES] = '-';
    text[RT_TICKET_TEXT - 1] = '\0';
    if (rc == PML_OK)
        k = NULL;
    else if (rc == PML_E_NOMEM)
        (void)pml_error__no_memory(err);
    else
        (void)pml_error__set(err, rc, rc == PML_E_STATE ? "the real-time context is closed" : "a ticket was drawn twice");
out:
    pml_rt_ticket__unref(c, k);
    return rc;
}

int pml_rt_ticket__resolve(rt_ticket **out, pml_rt_context *c, const char *text, pml_error *err)
{
    uint8_t secret[RT_UUID_BYTES];
    *out = NULL;
    pml_rt_tickets__expire(c);
    PML_RETURN_IF(parse(secret, c, text, err));
    pml_mutex__lock(&c->tickets.mu);
    rt_ticket *k = pml_map__get(&c->tickets.by_secret, secret, sizeof secret);
    if (k != NULL)
        (void)atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    pml_mutex__unlock(&c->tickets.mu);
    *out = k;
    return k == NULL ? ticket_unknown(err) : PML_OK;
}

int pml_rt_tickets__consume(pml_rt_context *c, rt_ticket *const *v, size_t n, pml_error *err)
{
    rt_tickets *t = &c->tickets;
    rt_ticket *chain = NULL;
    bool twice = false;
    size_t marked = 0;
    pml_mutex__lock(&t->mu);
    /* First only the marks, so that there is a way back. */
    for (; marked < n; marked++) {
        twice = v[marked]->state == RT_TICKET_CONSUMED || v[marked]->state == RT_TICKET_RELEASED;
        if (twice)
            break;
        if (v[marked]->state == RT_TICKET_PINNED)
            v[marked]->state = RT_TICKET_CONSUMED;
    }
    for (size_t i = 0; i < marked; i++) {
        if (v[i]->state == RT_TICKET_EXPIRED)
            continue;
        if (twice) {
            v[i]->state = RT_TICKET_PINNED;
            continue;
        }
        unlink_locked(t, v[i], RT_TICKET_CONSUMED);
        v[i]->newer = chain;
        chain = v[i];
    }
    pml_mutex__unlock(&t->mu);
    drop_chain(c, chain);
    return twice ? ticket_unknown(err) : PML_OK;
}

int pml_rt_ticket__release(pml_rt_context *c, const char *text, pml_error *err)
{
    uint8_t secret[RT_UUID_BYTES];
    pml_rt_tickets__expire(c);
    PML_RETURN_IF(parse(secret, c, text, err));
    pml_mutex__lock(&c->tickets.mu);
    rt_ticket *k = pml_map__get(&c->tickets.by_secret, secret, sizeof secret);
    if (k != NULL)
        unlink_locked(&c->tickets, k, RT_TICKET_RELEASED);
    pml_mutex__unlock(&c->tickets.mu);
    pml_rt_ticket__unref(c, k);
    return PML_OK;
}
