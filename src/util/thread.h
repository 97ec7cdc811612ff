/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, wrapped once over pthreads (C11 <threads.h> crashes under ThreadSanitizer with the compilers we support).
 *
 * Lock order: a mutex made with a rank > 0 may only be taken while no mutex of the same or a higher rank is held by the
 * thread. Debug builds keep a per-thread stack of ranks and abort on a violation; release builds do not look. Mutexes that
 * are taken several at once by a fixed order of objects use pml_mutex__lock_nested.
 */
#ifndef PML_UTIL_THREAD_H
#define PML_UTIL_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pml_mutex {
    pthread_mutex_t m;
    int rank;
    const char *name;
} pml_mutex;

typedef struct pml_rwlock {
    pthread_rwlock_t l;
    int rank;
    const char *name;
} pml_rwlock;

typedef struct pml_cond {
    pthread_cond_t c;
} pml_cond;

typedef struct pml_thread {
    pthread_t t;
    bool started;
} pml_thread;

void pml_mutex__init(pml_mutex *m, const char *name, int rank);
void pml_mutex__destroy(pml_mutex *m);
void pml_mutex__lock(pml_mutex *m);
void pml_mutex__lock_nested(pml_mutex *m);
void pml_mutex__unlock(pml_mutex *m);

void pml_rwlock__init(pml_rwlock *l, const char *name, int rank);
void pml_rwlock__destroy(pml_rwlock *l);
void pml_rwlock__read(pml_rwlock *l);
void pml_rwlock__write(pml_rwlock *l);
void pml_rwlock__unlock(pml_rwlock *l);

void pml_cond__init(pml_cond *c);
void pml_cond__destroy(pml_cond *c);
void pml_cond__wait(pml_cond *c, pml_mutex *m);
/* The same for at most so long, by the real monotonic clock. May return early. */
void pml_cond__wait_ms(pml_cond *c, pml_mutex *m, int64_t ms);
void pml_cond__signal(pml_cond *c);
void pml_cond__broadcast(pml_cond *c);

/* How often this process came out of a fork since the first call: another number means that we are in a child. Costs no system
   call, unlike a look at the process id. */
unsigned pml_process__forks(void);

/* 0, or an errno value. */
int pml_thread__start(pml_thread *t, void *(*fn)(void *), void *arg);
void pml_thread__join(pml_thread *t);

/* In debug builds aborts when the thread holds a lock whose rank is >= rank: a call (for example into a plugin) that must
   not be made under it. */
void pml_thread__assert_below(int rank);

#endif
