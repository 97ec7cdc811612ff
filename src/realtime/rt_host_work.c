/* SPDX-License-Identifier: Apache-2.0 */
/* Work that stores do not want to do in the call at hand: one thread of the context, started with the first of it. */
#include "realtime/rt_host_services.h"

#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 5 /* readers and the writer come first, where there are too few processors */ };

/* Of the queue. */
struct rt_work {
    void (*fn)(void *arg);
    void *arg;
    struct rt_work *next;
};

static void *work(void *arg)
{
    rt_worker *w = &((pml_rt_host_ctx *)arg)->worker;
    atomic_store(&w->tid, (int)gettid());
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, (id_t)gettid()) + NICE); /* Linux: of the thread */
    pml_mutex__lock(&w->mu);
    while (w->first != NULL || !w->ended) {
        struct rt_work *job = w->first;
        if (job == NULL) {
            pml_cond__wait(&w->wake, &w->mu);
            continue;
        }
        w->first = job->next;
        pml_mutex__unlock(&w->mu);
        job->fn(job->arg);
        pml_env__free(w->env, job);
        pml_mutex__lock(&w->mu);
    }
    pml_mutex__unlock(&w->mu);
    return NULL;
}

static int put_locked(rt_worker *w, struct rt_work *job, void *ctx)
{
    struct rt_work **last = &w->first;
    if (w->ended)
        return PML_E_STATE;
    if (!w->started && pml_thread__start(&w->thread, work, ctx) != 0)
        return PML_E_UNSUPPORTED; /* the store works in the call at hand */
    w->started = true;
    while (*last != NULL)
        last = &(*last)->next;
    *last = job;
    pml_cond__signal(&w->wake);
    return PML_OK;
}

int pml_rt_host__submit(void *p, void (*fn)(void *arg), void *arg)
{
    pml_rt_host_ctx *ctx = p;
    rt_worker *w = &ctx->worker;
    if (w->forks != pml_process__forks()) /* who reads there what the parent planned; see pml_rt_host__end */
        return PML_E_STATE;
    struct rt_work *job = pml_env__alloc(ctx->env, sizeof *job);
    if (job == NULL)
        return PML_E_NOMEM;
    *job = (struct rt_work){fn, arg, NULL};
    pml_mutex__lock(&w->mu);
    int rc = put_locked(w, job, ctx);
    pml_mutex__unlock(&w->mu);
    if (rc != PML_OK)
        pml_env__free(ctx->env, job);
    return rc;
}

void pml_rt_worker__init(rt_worker *w, pml_env *env)
{
    *w = (rt_worker){.env = env, .forks = pml_process__forks()};
    pml_mutex__init(&w->mu, "rt_worker", 0);
    pml_cond__init(&w->wake);
}

bool pml_rt_worker__is_over(rt_worker *w)
{
    return atomic_load_explicit(&w->over, memory_order_relaxed) && atomic_load(&w->tid) == (int)gettid();
}

/* No thread survives a fork: a child leaves everything as it is, since the thread may have had the lock. */
void pml_rt_host__end(pml_rt_host_ctx *ctx)
{
    rt_worker *w = &ctx->worker;
    if (w->forks != pml_process__forks() && w->started)
        return;
    pml_mutex__lock(&w->mu);
    bool started = w->started && !w->ended;
    w->ended = true;
    atomic_store(&w->over, true);
    pml_cond__signal(&w->wake);
    pml_mutex__unlock(&w->mu);
    if (started)
        pml_thread__join(&w->thread);
}

void pml_rt_worker__clear(rt_worker *w)
{
    if (w->forks != pml_process__forks() && w->started)
        return;
    pml_cond__destroy(&w->wake);
    pml_mutex__destroy(&w->mu);
}
