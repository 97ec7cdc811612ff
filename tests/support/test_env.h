/* SPDX-License-Identifier: Apache-2.0 */
/* A test environment: an allocator that counts and can fail, a clock that only moves when told, seeded randomness, a fresh
   directory. Sentences for the bodies of tests. */
#ifndef PML_TESTS_TEST_ENV_H
#define PML_TESTS_TEST_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four headers above first. */
#ifdef PML_WITHOUT_CMOCKA
#include "support/plain_assert.h"
#else
#include <cmocka.h>
#endif

#include <stdatomic.h>
#include <stdbool.h>

#include "util/env.h"

typedef struct test_env {
    pml_env *env;
    atomic_llong live;          /* allocations not yet freed */
    atomic_llong count;         /* allocations so far */
    atomic_llong bytes;         /* in allocations not yet freed */
    long long bytes_max;        /* an allocation that would make more of them fails; 0: no limit */
    atomic_bool bytes_exceeded; /* one has failed for that reason */
    atomic_llong fail_at;       /* the n-th allocation from now on fails; 0: none. Set through test_env_fail_at */
    atomic_llong wall_ms, mono_ns;
    uint64_t random_state;
    char dir[256]; /* a fresh directory of this test, removed by test_env_close */
} test_env;

/* fs NULL: local files. SEED=n in the environment sets the seed; it is printed when a test uses randomness for its cases. */
test_env *test_env_open(const pml_file_system *fs);
/* Fails the test unless every allocation was freed. */
void test_env_close(test_env *t);
void test_env_fail_at(test_env *t, long long n);
/* Whether that allocation was asked for since: a loop ends when it was not. A call that succeeds is no end, since some calls do
   without memory that would only make them faster. Ask before the next test_env_fail_at. */
bool test_env_fail_reached(const test_env *t);
/* What another thread does is waited for by time, not by turns: a loaded machine may give it none for long. */
enum { TEST_PATIENCE_MS = 20000 };
void test_sleep_a_millisecond(void);
uint64_t test_random(test_env *t);               /* splitmix64 */
uint64_t test_seed(void);                        /* SEED or a fixed default; printed once */
/* The number in an environment variable, or another one; fails the test when it is no number from min to max. */
int64_t test_setting(const char *name, int64_t otherwise, int64_t min, int64_t max);
/* Path inside the test's directory; static buffers, eight in turn. */
const char *test_path(test_env *t, const char *name);
/* Reads a whole file; free with free(). Fails the test when it cannot. */
uint8_t *test_read_file(const char *path, size_t *len);

/* must_ok(call(..., &err), &err) */
#define must_ok(rc, err) test_must_ok((rc), (err), __FILE__, __LINE__)
#define must_fail_with(code, rc, err) test_must_fail_with((code), (rc), (err), __FILE__, __LINE__)
void test_must_ok(int rc, const pml_error *err, const char *file, int line);
void test_must_fail_with(int code, int rc, const pml_error *err, const char *file, int line);

#endif
