/* SPDX-License-Identifier: Apache-2.0 */
/* Stands before the C library's sync calls and counts them: what the library was told to make durable, whoever told it. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

static atomic_llong syncs;

static int counted(long number, int fd)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(number, fd);
}

/* Exported: the shared library binds to them at its start. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int fsync(int fd)
{
    return counted(SYS_fsync, fd);
}

EXPORTED int fdatasync(int fd)
{
    return counted(SYS_fdatasync, fd);
}

EXPORTED int syncfs(int fd)
{
    return counted(SYS_syncfs, fd);
}

int64_t bench_syncs(void)
{
    return atomic_load(&syncs);
}
