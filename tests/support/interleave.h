/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads one at a time, in an order that a seed decides (realtime-tests.md 25.5): every lock and unlock of a mutex or rwlock, every wait
 * and signal of a condition, the start of a thread is a point at which another thread may go on, and with every other seed one of them
 * stays at some point until others have gone a long way; so with files in memory (sim_fs.h) is
 * every operation on them, the publication of a snapshot and the look for the latest one too. Threads that these start, as the one of a
 * context that merges runs, are among them until the run is over, and go on as they like then. The calls are those of pthreads, replaced
 * by the linker, so a test that uses this is linked with the options that tests/CMakeLists.txt gives. Locks of shared objects are not
 * seen: nothing there may wait for another of these threads.
 */
#ifndef PML_TESTS_INTERLEAVE_H
#define PML_TESTS_INTERLEAVE_H

#include <stddef.h>
#include <stdint.h>

/* OFTEN: a seed with which every other point is a switch. */
enum { INTERLEAVE_MAX = 32, INTERLEAVE_OFTEN = 9 };

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

/* In the next run the first thread stays at its so manieth point, from 0 on. */
void interleave_hold_first(long long point_number);

/* Of the run that is on, or was last: how often a thread gave way to another, and how often to one that these had started. */
long long interleave_switches(void);
long long interleave_helped(void);

#endif
