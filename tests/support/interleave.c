/* SPDX-License-Identifier: Apache-2.0 */
#include "support/interleave.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __real_pthread_join(pthread_t t, void **result);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_rwlock_rdlock(pthread_rwlock_t *l);
int __real_pthread_rwlock_wrlock(pthread_rwlock_t *l);
int __real_pthread_rwlock_unlock(pthread_rwlock_t *l);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int __real_pthread_cond_signal(pthread_cond_t *c);
int __real_pthread_cond_broadcast(pthread_cond_t *c);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_join(pthread_t t, void **result);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *l);
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *l);
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *l);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);

enum { HOLD = 300, VICTIM_POINTS = 150 };

typedef enum { READY, WAITS, DONE, JOINED } state;

/* A thread that one of them started. */
typedef struct helper {
    pthread_t t;
    void *(*fn)(void *);
    void *arg;
} helper;

static struct {
    pthread_mutex_t m; /* guards what follows; taken with the real calls */
    pthread_cond_t turn;
    const interleave_thread *threads;
    size_t n_own, n;   /* behind their own the helpers */
    int current;       /* -1: all of their own are done, or stuck */
    bool stuck, ended; /* ended: helpers go on as they like */
    state states[INTERLEAVE_MAX];
    const void *waits_for[INTERLEAVE_MAX];
    helper helpers[INTERLEAVE_MAX];
    uint64_t rng, one_in; /* a point is one in so many a switch */
    long long turns;      /* asked for */
    int victim; /* -1: none; else it stays at its so manieth point from now until others have had many turns */
    long long victim_points, held_until; /* held_until: of turns; 0: it has not come there */
    long long wanted_point;              /* of thread 0 in the next run, + 1; 0: as the seed says */
    long long switches, helped;          /* helped: turns of helpers */
} all = {.m = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER, .current = -1};

static _Thread_local int self = -1;

static uint64_t draw(void)
{
    uint64_t z = (all.rng += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Only the thread whose turn it is comes here, so what it reads is still. Waits until it is its turn again, unless it is done. */
static void give_way(void)
{
    int ready[INTERLEAVE_MAX], n = 0, own = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (all.states[i] == READY && ((int)i != all.victim || all.held_until <= all.turns))
            ready[n++] = (int)i;
        own += i < all.n_own && all.states[i] != DONE;
    }
    all.turns++;
    if (n == 0 && all.victim >= 0 && all.states[all.victim] == READY)
        ready[n++] = all.victim; /* the others wait for it */
    n = own == 0 ? 0 : n;
    int next = n > 0 ? ready[draw() % (uint64_t)n] : -1;
    if (next == self)
        return;
    __real_pthread_mutex_lock(&all.m);
    all.switches++;
    all.helped += next >= (int)all.n_own;
    all.current = next;
    all.stuck = next < 0 && own > 0;
    pthread_cond_t *turn = &all.turn;
    __real_pthread_cond_broadcast(turn);
    while (all.states[self] != DONE && all.current != self && !all.ended)
        __real_pthread_cond_wait(turn, &all.m);
    if (all.states[self] != DONE && all.ended && all.current != self)
        self = -1;
    __real_pthread_mutex_unlock(&all.m);
}

static void point(void)
{
    if (self < 0)
        return;
    bool hold = self == all.victim && all.held_until == 0 && all.victim_points-- == 0;
    if (hold)
        all.held_until = all.turns + HOLD;
    if (hold || draw() % all.one_in == 0)
        give_way();
}

void interleave_point(void)
{
    if (self >= 0)
        give_way();
}

void interleave_hold_first(long long point_number)
{
    all.wanted_point = point_number + 1;
}

long long interleave_switches(void)
{
    return all.switches;
}

long long interleave_helped(void)
{
    return all.helped;
}

/* Afterwards the thread may be on its own: then the real calls are right. */
static void wait_for(const void *what)
{
    all.states[self] = WAITS;
    all.waits_for[self] = what;
    give_way();
}

/* one: of several that wait for a condition only one goes on. */
static void wake(const void *what, bool one)
{
    size_t first = (size_t)(draw() % all.n);
    for (size_t i = 0; i < all.n; i++) {
        size_t at = (first + i) % all.n;
        if (all.states[at] != WAITS || all.waits_for[at] != what)
            continue;
        all.states[at] = READY;
        if (one)
            return;
    }
}

/* ---- the calls ---- */

static int take(pthread_mutex_t *m)
{
    int rc = EBUSY;
    while (self >= 0 && (rc = pthread_mutex_trylock(m)) == EBUSY)
        wait_for(m);
    return rc == EBUSY ? __real_pthread_mutex_lock(m) : rc;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    if (self < 0)
        return __real_pthread_mutex_lock(m);
    point();
    return take(m);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int rc = __real_pthread_mutex_unlock(m);
    if (self >= 0) {
        wake(m, false);
        point();
    }
    return rc;
}

int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    int rc = EBUSY;
    point();
    while (self >= 0 && (rc = pthread_rwlock_tryrdlock(l)) == EBUSY)
        wait_for(l);
    return rc == EBUSY ? __real_pthread_rwlock_rdlock(l) : rc;
}

int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    int rc = EBUSY;
    point();
    while (self >= 0 && (rc = pthread_rwlock_trywrlock(l)) == EBUSY)
        wait_for(l);
    return rc == EBUSY ? __real_pthread_rwlock_wrlock(l) : rc;
}

int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    int rc = __real_pthread_rwlock_unlock(l);
    if (self >= 0) {
        wake(l, false);
        point();
    }
    return rc;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    if (self < 0)
        return __real_pthread_cond_wait(c, m);
    __real_pthread_mutex_unlock(m);
    wake(m, false);
    wait_for(c); /* one that is on its own afterwards was woken without a reason, as may be */
    return take(m);
}

/* Of these threads a wait with a limit has reached it as soon as the turn comes back. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    if (self < 0)
        return __real_pthread_cond_timedwait(c, m, until);
    __real_pthread_mutex_unlock(m);
    wake(m, false);
    give_way();
    (void)take(m);
    return ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    if (self >= 0)
        wake(c, true);
    return __real_pthread_cond_signal(c);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    if (self >= 0)
        wake(c, false);
    return __real_pthread_cond_broadcast(c);
}

/* ---- running ---- */

static void begin(int me)
{
    pthread_cond_t *turn = &all.turn;
    __real_pthread_mutex_lock(&all.m);
    while (all.current != me && !all.ended)
        __real_pthread_cond_wait(turn, &all.m);
    self = all.current == me ? me : -1;
    __real_pthread_mutex_unlock(&all.m);
}

static void *start(void *p)
{
    const interleave_thread *t = p;
    begin((int)(t - all.threads));
    t->run(t->arg);
    all.states[self] = DONE;
    give_way();
    return NULL;
}

static void *start_helper(void *p)
{
    const helper h = *(const helper *)p;
    begin((int)((const helper *)p - all.helpers));
    void *result = h.fn(h.arg);
    if (self >= 0) {
        all.states[self] = DONE;
        wake(p, false);
        give_way();
    }
    return result;
}

/* A thread that one of these starts is one of them from now on. */
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    size_t at = all.n_own;
    if (self < 0)
        return __real_pthread_create(t, attr, fn, arg);
    while (at < all.n && all.states[at] != JOINED)
        at++;
    if (at == INTERLEAVE_MAX)
        abort();
    helper *h = &all.helpers[at];
    *h = (helper){.fn = fn, .arg = arg};
    all.states[at] = READY;
    all.waits_for[at] = NULL;
    all.n = at == all.n ? at + 1 : all.n;
    int rc = __real_pthread_create(t, attr, start_helper, h);
    if (rc != 0) {
        all.states[at] = JOINED;
        return rc;
    }
    h->t = *t;
    point();
    return 0;
}

int __wrap_pthread_join(pthread_t t, void **result)
{
    for (size_t i = all.n_own; self >= 0 && i < all.n; i++) {
        if (all.states[i] == JOINED || !pthread_equal(all.helpers[i].t, t))
            continue;
        while (self >= 0 && all.states[i] != DONE)
            wait_for(&all.helpers[i]);
        if (self >= 0)
            all.states[i] = JOINED;
        break;
    }
    return __real_pthread_join(t, result);
}

long long interleave_run(const interleave_thread *threads, size_t n, uint64_t seed, char *stuck, size_t size)
{
    static const uint64_t rates[] = {2, 5, 20, 80};
    pthread_t started[INTERLEAVE_MAX];
    size_t at = 0;
    if (n == 0 || n > INTERLEAVE_MAX)
        abort();
    all.threads = threads;
    all.n = all.n_own = n;
    all.current = -1;
    all.rng = seed;
    all.one_in = rates[draw() % 4];
    all.victim = draw() % 2 == 0 ? -1 : (int)(draw() % n);
    all.victim_points = (long long)(draw() % VICTIM_POINTS);
    if (all.wanted_point > 0) {
        all.victim = 0;
        all.victim_points = all.wanted_point - 1;
    }
    all.turns = all.held_until = all.wanted_point = 0;
    all.switches = all.helped = 0;
    all.stuck = all.ended = false;
    for (size_t i = 0; i < n; i++) {
        all.states[i] = READY;
        all.waits_for[i] = NULL;
        if (__real_pthread_create(&started[i], NULL, start, (void *)(uintptr_t)&threads[i]) != 0)
            abort();
    }
    __real_pthread_mutex_lock(&all.m);
    all.current = (int)(draw() % n);
    __real_pthread_cond_broadcast(&all.turn);
    while (all.current >= 0)
        __real_pthread_cond_wait(&all.turn, &all.m);
    bool is_stuck = all.stuck;
    all.ended = !is_stuck;
    __real_pthread_cond_broadcast(&all.turn);
    __real_pthread_mutex_unlock(&all.m);
    stuck[0] = '\0';
    for (size_t i = 0; i < n && is_stuck; i++)
        if (all.states[i] == WAITS && at < size)
            at += (size_t)snprintf(stuck + at, size - at, "%s%s", at == 0 ? "" : ", ", threads[i].name);
    for (size_t i = 0; i < n && !is_stuck; i++)
        (void)__real_pthread_join(started[i], NULL);
    return is_stuck ? -1 : all.switches;
}
