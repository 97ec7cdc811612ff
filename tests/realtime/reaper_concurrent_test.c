/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that ends the views of expired tickets (realtime.md 4.5, realtime.reaper). Numbers: 4, 11, 12 of realtime-tests.md. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "realtime/rt_context.h"
#include "support/failing_store.h"
#include "support/rt_kit.h"

enum { THREADS = 4, ROUNDS = 60 };

static void start(rt_kit *k, const pml_rt_plugin *store, const char *reaper)
{
    char options[64];
    (void)snprintf(options, sizeof options, "\"realtime.reaper\":\"%s\"", reaper);
    rt_kit_create(k, NULL, "", options);
    rt_kit_start(k, store, NULL);
    rt_kit_write(k, 10, "a");
}

static pml_text draw(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text;
    pml_plan *plan = rt_kit_plan(k);
    must_ok(pml_rt_split_serialize(&text, plan, 0, &err), &err);
    pml_plan_free(plan);
    return text;
}

static void pass(rt_kit *k, int64_t ms)
{
    (void)atomic_fetch_add(&k->t->mono_ns, ms * 1000000);
}

/* Waits for another thread; the test runner's time limit is the bound. */
static void await_no_views(rt_kit *k)
{
    while (rt_kit_metrics(k).open_views > 0)
        (void)sched_yield();
}

/* 4: the query thread finds it, the reaper frees it */
static void abandoned_ticket_is_freed_by_the_reaper(void **state)
{
    (void)state;
    static const char *const names[] = {"inline", "thread"};
    for (int i = 0; i < 2; i++) {
        rt_kit k;
        failing_store = (failing_script){0};
        start(&k, &failing_store_plugin, names[i]);
        pml_text t = draw(&k);
        assert_int_equal(rt_kit_metrics(&k).open_views, 1);
        int before = atomic_load(&failing_store_views_released);
        pass(&k, 5 * 60 * 1000);
        pml_rt_tickets__expire(k.ctx);
        await_no_views(&k);
        while (atomic_load(&failing_store_views_released) == before)
            (void)sched_yield();
        assert_int_equal(pthread_equal((pthread_t)atomic_load(&failing_store_releaser), pthread_self()), i == 0);
        assert_int_equal(rt_kit_metrics(&k).tickets_expired, 1);
        pml_text_clear(&t);
        rt_kit_close(&k);
    }
}

/* 12: by the monotonic clock, without anybody's help */
static void reaper_wakes_by_itself(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    pml_scan *scan;
    static const char *const ttl[] = {"realtime.read-view-ttl", "5 ms"};
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, ttl);
    rt_kit_write(&k, 10, "a");
    for (int i = 0; i < 3; i++) {
        pml_text t = draw(&k);
        (void)atomic_fetch_add(&k.t->wall_ms, i == 1 ? 3600000 : -3600000);
        assert_int_equal(rt_kit_metrics(&k).open_tickets, 1);
        pass(&k, 6);
        await_no_views(&k);
        must_ok(pml_scan_new(&scan, k.table, &err), &err);
        must_ok(pml_scan_set_realtime(scan, k.ctx, &err), &err);
        must_fail_with(PML_E_TICKET, pml_rt_split_deserialize(&plan, scan, &(pml_blob){t.ptr, t.len}, 1, &err), &err);
        pml_scan_free(scan);
        pml_text_clear(&t);
    }
    assert_int_equal(rt_kit_metrics(&k).tickets_expired, 3);
    rt_kit_close(&k);
}

static void close_stops_the_reaper_and_drops_what_is_drawn(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        rt_kit k;
        start(&k, NULL, "thread");
        pml_text a = draw(&k), b = draw(&k);
        if (i % 2 == 0) {
            pass(&k, 5 * 60 * 1000);
            pml_rt_tickets__expire(k.ctx); /* the reaper may be in the middle of it */
        }
        pml_text_clear(&a);
        pml_text_clear(&b);
        rt_kit_close(&k);
    }
}

typedef struct shared {
    rt_kit k;
    pml_plan *plan;
} shared;

static void *work(void *arg)
{
    shared *s = arg;
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, s->k.table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, s->k.ctx, &err), &err);
    for (int i = 0; i < ROUNDS; i++) {
        pml_text t;
        pml_plan *plan = NULL;
        must_ok(pml_rt_split_serialize(&t, s->plan, 0, &err), &err);
        pass(&s->k, i % 5 == 0 ? 5 * 60 * 1000 : 1);
        int rc = i % 3 == 0 ? pml_rt_split_release_ticket(s->k.ctx, &(pml_blob){t.ptr, t.len}, &err)
                            : pml_rt_split_deserialize(&plan, scan, &(pml_blob){t.ptr, t.len}, 1, &err);
        assert_true(rc == PML_OK || rc == PML_E_TICKET);
        pml_plan_free(plan);
        pml_text_clear(&t);
    }
    pml_scan_free(scan);
    return NULL;
}

static void tickets_of_many_threads_leave_no_view_behind(void **state)
{
    (void)state;
    shared s;
    pml_thread threads[THREADS];
    start(&s.k, NULL, "thread");
    s.plan = rt_kit_plan(&s.k);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pml_thread__start(&threads[i], work, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pml_thread__join(&threads[i]);
    pml_plan_free(s.plan);
    pass(&s.k, 5 * 60 * 1000);
    pml_rt_tickets__expire(s.k.ctx);
    await_no_views(&s.k);
    assert_int_equal(rt_kit_metrics(&s.k).open_tickets, 0);
    rt_kit_close(&s.k);
}

static void reaper_that_is_unknown_is_refused_by_name(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context *c;
    pml_scan *scan;
    const pml_option_pair pair = {"realtime.reaper", "grim"};
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    rt_kit_create(&k, NULL, "", "");
    o.n_options = 1;
    o.options = &pair;
    must_ok(pml_rt_context_open(&c, k.t->env, &o, &err), &err);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_fail_with(PML_E_INVAL, pml_scan_set_realtime(scan, c, &err), &err);
    assert_non_null(strstr(err.message, "realtime.reaper"));
    assert_non_null(strstr(err.message, "thread|inline"));
    pml_scan_free(scan);
    pml_rt_context_close(c);
    rt_kit_close(&k);
}

/* 11: a child has no reaper, and whoever waits for one there waits for ever */
static void context_is_closed_in_a_forked_child(void **state)
{
    (void)state;
    rt_kit k;
    int status = -1;
    start(&k, NULL, "thread");
    pml_text t = draw(&k);
    (void)usleep(20000); /* the reaper sleeps; when it does not yet, the test only shows less */
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        pml_rt_writer_abort(k.w);
        pml_rt_context_close(k.ctx);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    pml_text_clear(&t);
    rt_kit_close(&k);
}

static int64_t threads_of_this_process(void)
{
    int64_t n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d != NULL)
        (void)closedir(d);
    return n;
}

/* Who reads there what the parent planned starts no thread for a store's work: nobody would end it when the context is closed. */
static void plan_is_read_in_a_forked_child(void **state)
{
    (void)state;
    rt_kit k;
    int status = -1;
    rt_kit_create_keyed(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 100, "a"); /* a run, */
    rt_kit_write(&k, 1, "a");   /* and an open chunk: a query has them merged */
    pml_plan *plan = rt_kit_plan(&k);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        const int64_t before = threads_of_this_process(); /* a sanitizer may have one */
        rt_kit_must_be(&k, plan, 0, 101);
        const bool alone = threads_of_this_process() <= before;
        pml_plan_free(plan);
        pml_rt_writer_abort(k.w);
        pml_rt_context_close(k.ctx);
        _exit(alone ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    rt_kit_must_be(&k, plan, 0, 101);
    pml_plan_free(plan);
    rt_kit_close(&k);
}

static void *note_mask(void *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

/* A program that waits for SIGTERM must be the one that gets it. */
static void threads_of_the_library_take_no_signals(void **state)
{
    (void)state;
    sigset_t before, theirs, after;
    pml_thread t;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(pml_thread__start(&t, note_mask, &theirs), 0);
    pml_thread__join(&t);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&theirs, SIGTERM) && sigismember(&theirs, SIGALRM) && sigismember(&theirs, SIGCHLD));
    assert_false(sigismember(&theirs, SIGSEGV) || sigismember(&theirs, SIGBUS));
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abandoned_ticket_is_freed_by_the_reaper),
        cmocka_unit_test(reaper_wakes_by_itself),
        cmocka_unit_test(close_stops_the_reaper_and_drops_what_is_drawn),
        cmocka_unit_test(tickets_of_many_threads_leave_no_view_behind),
        cmocka_unit_test(reaper_that_is_unknown_is_refused_by_name),
        cmocka_unit_test(context_is_closed_in_a_forked_child),
        cmocka_unit_test(plan_is_read_in_a_forked_child),
        cmocka_unit_test(threads_of_the_library_take_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
