/* SPDX-License-Identifier: Apache-2.0 */
#include "util/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef NDEBUG
enum { LOCK_STACK_MAX = 32 };

static _Thread_local struct {
    int n;
    int rank[LOCK_STACK_MAX];
    const char *name[LOCK_STACK_MAX];
} held;

static void held_abort(const char *what, const char *name, int rank)
{
    (void)fprintf(stderr, "paimonlive: lock order: %s %s (rank %d) while holding", what, name, rank);
    for (int i = 0; i < held.n; i++)
        (void)fprintf(stderr, " %s(%d)", held.name[i], held.rank[i]);
    (void)fprintf(stderr, "\n");
    abort();
}

static void held_push(const char *name, int rank, bool nested)
{
    if (rank == 0)
        return;
    for (int i = 0; i < held.n; i++)
        if (held.rank[i] > rank || (held.rank[i] == rank && !nested))
            held_abort("taking", name, rank);
    if (held.n == LOCK_STACK_MAX)
        held_abort("too many locks: taking", name, rank);
    held.rank[held.n] = rank;
    held.name[held.n] = name;
    held.n++;
}

static void held_pop(const char *name, int rank)
{
    if (rank == 0)
        return;
    for (int i = held.n - 1; i >= 0; i--) {
        if (held.name[i] != name || held.rank[i] != rank)
            continue;
        for (; i + 1 < held.n; i++) {
            held.rank[i] = held.rank[i + 1];
            held.name[i] = held.name[i + 1];
        }
        held.n--;
        return;
    }
    held_abort("releasing a lock that is not held:", name, rank);
}

void pml_thread__assert_below(int rank)
{
    for (int i = 0; i < held.n; i++)
        if (held.rank[i] >= rank)
            held_abort("a forbidden call was made under", held.name[i], rank);
}
#else
static void held_push(const char *name, int rank, bool nested)
{
    (void)name, (void)rank, (void)nested;
}

static void held_pop(const char *name, int rank)
{
    (void)name, (void)rank;
}

void pml_thread__assert_below(int rank)
{
    (void)rank;
}
#endif

/* A failing lock call means memory corruption or a bug: going on would lose data. */
static void must(int rc, const char *what)
{
    if (rc == 0)
        return;
    (void)fprintf(stderr, "paimonlive: %s failed with %d\n", what, rc);
    abort();
}

void pml_mutex__init(pml_mutex *m, const char *name, int rank)
{
    must(pthread_mutex_init(&m->m, NULL), "pthread_mutex_init");
    m->rank = rank;
    m->name = name;
}

void pml_mutex__destroy(pml_mutex *m)
{
    must(pthread_mutex_destroy(&m->m), "pthread_mutex_destroy");
}

void pml_mutex__lock(pml_mutex *m)
{
    held_push(m->name, m->rank, false);
    must(pthread_mutex_lock(&m->m), "pthread_mutex_lock");
}

void pml_mutex__lock_nested(pml_mutex *m)
{
    held_push(m->name, m->rank, true);
    must(pthread_mutex_lock(&m->m), "pthread_mutex_lock");
}

void pml_mutex__unlock(pml_mutex *m)
{
    must(pthread_mutex_unlock(&m->m), "pthread_mutex_unlock");
    held_pop(m->name, m->rank);
}

void pml_rwlock__init(pml_rwlock *l, const char *name, int rank)
{
    must(pthread_rwlock_init(&l->l, NULL), "pthread_rwlock_init");
    l->rank = rank;
    l->name = name;
}

void pml_rwlock__destroy(pml_rwlock *l)
{
    must(pthread_rwlock_destroy(&l->l), "pthread_rwlock_destroy");
}

void pml_rwlock__read(pml_rwlock *l)
{
    held_push(l->name, l->rank, false);
    must(pthread_rwlock_rdlock(&l->l), "pthread_rwlock_rdlock");
}

void pml_rwlock__write(pml_rwlock *l)
{
    held_push(l->name, l->rank, false);
    must(pthread_rwlock_wrlock(&l->l), "pthread_rwlock_wrlock");
}

void pml_rwlock__unlock(pml_rwlock *l)
{
    must(pthread_rwlock_unlock(&l->l), "pthread_rwlock_unlock");
    held_pop(l->name, l->rank);
}

void pml_cond__init(pml_cond *c)
{
    pthread_condattr_t a;
    must(pthread_condattr_init(&a), "pthread_condattr_init");
    must(pthread_condattr_setclock(&a, CLOCK_MONOTONIC), "pthread_condattr_setclock");
    must(pthread_cond_init(&c->c, &a), "pthread_cond_init");
    must(pthread_condattr_destroy(&a), "pthread_condattr_destroy");
}

void pml_cond__destroy(pml_cond *c)
{
    must(pthread_cond_destroy(&c->c), "pthread_cond_destroy");
}

void pml_cond__wait(pml_cond *c, pml_mutex *m)
{
    must(pthread_cond_wait(&c->c, &m->m), "pthread_cond_wait");
}

void pml_cond__wait_ms(pml_cond *c, pml_mutex *m, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int rc = pthread_cond_timedwait(&c->c, &m->m, &until);
    must(rc == ETIMEDOUT ? 0 : rc, "pthread_cond_timedwait");
}

void pml_cond__signal(pml_cond *c)
{
    must(pthread_cond_signal(&c->c), "pthread_cond_signal");
}

void pml_cond__broadcast(pml_cond *c)
{
    must(pthread_cond_broadcast(&c->c), "pthread_cond_broadcast");
}

/* The one exception to "no global state": what the process is, is global. */
static atomic_uint forks;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

static void forks_count(void)
{
    (void)atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void forks_watch(void)
{
    must(pthread_atfork(NULL, NULL, forks_count), "pthread_atfork");
}

unsigned pml_process__forks(void)
{
    must(pthread_once(&forks_once, forks_watch), "pthread_once");
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* The program's signals are for its own threads: one that waits to be interrupted would wait on when ours took the signal. */
int pml_thread__start(pml_thread *t, void *(*fn)(void *), void *arg)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}; /* of the thread itself */
    sigset_t ours, before;
    (void)sigfillset(&ours);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        (void)sigdelset(&ours, faults[i]);
    must(pthread_sigmask(SIG_SETMASK, &ours, &before), "pthread_sigmask");
    int rc = pthread_create(&t->t, NULL, fn, arg);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL), "pthread_sigmask");
    t->started = rc == 0;
    return rc;
}

void pml_thread__join(pml_thread *t)
{
    if (t->started)
        must(pthread_join(t->t, NULL), "pthread_join");
    t->started = false;
}
