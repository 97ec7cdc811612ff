/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads one at a time, in an order that a seed decides (realtime-tests.md 25.5): every lock and unlock of a mutex or rwlock, every wait
 * and signal of a condition is a point at which another thread may go on. The calls are those of pthreads, replaced by the linker, so
 * a test that uses this is linked with the options that tests/CMakeLists.txt gives. Locks of shared objects are not seen: nothing there
 * may wait for another of these threads.
 */
#ifndef PML_TESTS_INTERLEAVE_H
#define PML_TESTS_INTERLEAVE_H

#include <stddef.h>
#include <stdint.h>

enum { INTERLEAVE_MAX = 16 };

typedef struct interleave_thread {
    void (*run)(void *arg);
    void *arg;
    const char *name;
} interleave_thread;

/* Runs them all to their end. Returns how often one gave way to another; -1: none could go on, and the names of those that wait in
   `stuck` (the process is of no use afterwards: they wait for ever). */
long long interleave_run(const interleave_thread *threads, size_t n, uint64_t seed, char *stuck, size_t size);

/* A point more, at which another thread goes on unless this one is drawn again. */
void interleave_point(void);

#endif
