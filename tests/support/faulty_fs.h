/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system that wraps another one, counts its operations, fails chosen ones and lets a test act at a chosen one.
 *
 *     faulty_fs f;
 *     faulty_fs_init(&f, &pml_local_file_system);
 *     test_env *t = test_env_open(&f.fs);                  // f must outlive the environment
 *     faulty_fs_fail_at(&f, 3, FAULT_AFTER, PML_E_IO, 0);  // the third operation from now happens, and says it failed
 *
 * Any thread may call. close_read cannot fail and is not counted; close_write ends the handle in every mode.
 */
#ifndef PML_TESTS_FAULTY_FS_H
#define PML_TESTS_FAULTY_FS_H

#include <paimonlive/sys/file_system.h>

#include <stdbool.h>

#include "util/thread.h"

/* Kinds of operations; a mask of FS_OP(kind) chooses which ones count. */
enum {
    FS_OP_OPEN_READ,
    FS_OP_SIZE,
    FS_OP_READ_AT,
    FS_OP_CREATE,
    FS_OP_WRITE,
    FS_OP_SYNC,
    FS_OP_CLOSE_WRITE,
    FS_OP_PUBLISH,
    FS_OP_REPLACE,
    FS_OP_REMOVE_FILE,
    FS_OP_REMOVE_DIRECTORY,
    FS_OP_MAKE_DIRECTORY,
    FS_OP_SYNC_DIRECTORY,
    FS_OP_STAT,
    FS_OP_LIST,
    FS_OP_SYNC_ALL,
    FS_OP_COUNT
};

#define FS_OP(kind) (1u << (kind))
#define FS_OP_ALL ((1u << FS_OP_COUNT) - 1)

typedef enum fault_mode {
    FAULT_NONE = 0,
    FAULT_BEFORE, /* nothing happens */
    FAULT_AFTER   /* it happens (or fails in its own way), but the answer is lost: the injected code is returned */
} fault_mode;

typedef void (*faulty_fs_fn)(void *arg, int kind, const char *path);

typedef struct faulty_fs {
    pml_file_system fs; /* give this one to the environment */
    pml_file_system inner;
    pml_mutex lock; /* guards all below */
    long long counts[FS_OP_COUNT];
    fault_mode mode;
    bool sticky;
    long long fail_at; /* operations of fail_kinds until the failure; 0: disarmed */
    uint32_t fail_kinds, fail_flags;
    int fail_code;
    long long failures; /* injected so far */
    long long call_at;
    uint32_t call_kinds;
    faulty_fs_fn call_fn;
    void *call_arg;
} faulty_fs;

void faulty_fs_init(faulty_fs *f, const pml_file_system *inner);
void faulty_fs_destroy(faulty_fs *f);
/* The n-th operation from now (n >= 1) fails with this code. In mode BEFORE add PML_ERRF_NO_EFFECT to flags to be an honest
   file system, or not to be one that does not know. */
void faulty_fs_fail_at(faulty_fs *f, long long n, fault_mode mode, int code, uint32_t flags);
/* Only operations of these kinds count for fail_at; the default is FS_OP_ALL. */
void faulty_fs_fail_kinds(faulty_fs *f, uint32_t kinds);
/* All later operations of the kinds fail, too. */
void faulty_fs_fail_sticky(faulty_fs *f);
/* Before the n-th operation of these kinds fn is called once, without a lock: it may use any file system, or block. */
void faulty_fs_call_at(faulty_fs *f, long long n, uint32_t kinds, faulty_fs_fn fn, void *arg);
/* Disarms everything and zeroes the counts. */
void faulty_fs_reset(faulty_fs *f);
/* Operations of these kinds since init or reset. */
long long faulty_fs_count(faulty_fs *f, uint32_t kinds);
long long faulty_fs_failures(faulty_fs *f);

#endif
