/* SPDX-License-Identifier: Apache-2.0 */
/* The memory store with calls that fail when the test says so. One at a time: the script is a global. */
#ifndef PML_TESTS_FAILING_STORE_H
#define PML_TESTS_FAILING_STORE_H

#include <paimonlive/sys/realtime_store.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef enum failing_call {
    FAIL_NOTHING,
    FAIL_STORE_OPEN,
    FAIL_WRITE,
    FAIL_WRITE_TAKEN, /* the rows are kept, and the call says it failed */
    FAIL_SEAL,
    FAIL_COMMIT_STREAMS,
    FAIL_ACQUIRE_VIEW,
    FAIL_ADVANCE,
    FAIL_USAGE
} failing_call;

typedef struct failing_script {
    failing_call call;
    int code;
    uint32_t flags;
    int skip;     /* calls that succeed before */
    int times;    /* calls that fail then */
    int advances; /* calls of advance seen */
    int dirty;    /* writes whose error was not empty to its last byte */
} failing_script;

extern failing_script failing_store;
/* Views that were released, and the thread (pthread_t) that released the last one. */
extern atomic_int failing_store_views_released;
extern atomic_ulong failing_store_releaser;
extern const pml_rt_plugin failing_store_plugin;

#endif
