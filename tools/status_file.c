/* SPDX-License-Identifier: Apache-2.0 */
#include "status_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FOLDER_MAX = 1024, FILE_MAX = 64 * 1024, FILES_MAX = 4096, TICK_MS = 1000 };

static bool folder_path(char *out)
{
    const char *own = getenv("PML_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    int n = 0;
    if (own != NULL && own[0] != '\0')
        n = snprintf(out, FOLDER_MAX, "%s", own);
    else if (xdg != NULL && xdg[0] == '/')
        n = snprintf(out, FOLDER_MAX, "%s/paimonlive", xdg);
    else
        n = snprintf(out, FOLDER_MAX, "%s/paimonlive-%u", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp", (unsigned)getuid());
    return n > 0 && n < FOLDER_MAX;
}

/* The folder, open; -1 with errno. In a folder for everybody a name may be somebody else's. */
static int folder_open(char *path, bool make)
{
    struct stat st;
    if (!folder_path(path))
        return errno = ENAMETOOLONG, -1;
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != getuid() || (st.st_mode & 022) != 0)) {
        (void)close(fd);
        return errno = EPERM, -1;
    }
    return fd;
}

/* FNV-1a of the path without links, so that a table has one name whatever it was called. */
static uint64_t table_hash(const char *path)
{
    char *real = realpath(path, NULL);
    uint64_t h = 14695981039346656037u;
    for (const char *p = real != NULL ? real : path; *p != '\0'; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    free(real);
    return h;
}

/* ---- writing ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void give_up(status_file *f, const char *what)
{
    (void)app_say(0, "no status for `pml realtime status`: %s: %m", what);
    f->path[0] = '\0';
}

void status_file_open(status_file *f, const pml_table *table)
{
    char folder[FOLDER_MAX];
    *f = (status_file){0};
    int fd = folder_open(folder, true);
    if (fd < 0) {
        give_up(f, folder);
        return;
    }
    (void)close(fd);
    (void)snprintf(f->path, sizeof f->path, "%s/%016" PRIx64 "-%ld.json", folder, table_hash(pml_table_path(table)), (long)getpid());
}

static bool write_whole(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

void status_file_tick(status_file *f, pml_rt_context *context)
{
    pml_rt_status status = PML_RT_STATUS_INIT;
    char beside[sizeof f->path + 4];
    size_t length;
    int64_t now = now_ns();
    if (f->path[0] == '\0' || now < f->next_ns || pml_rt_status_get(&status, context, NULL) != PML_OK)
        return;
    f->next_ns = now + TICK_MS * INT64_C(1000000);
    char *text = app_alloc(FILE_MAX);
    (void)snprintf(beside, sizeof beside, "%s.new", f->path);
    if (pml_rt_status_print(text, FILE_MAX, &length, &status, 1, PML_RT_STATUS_JSON, NULL) == PML_OK) {
        int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        bool ok = fd >= 0 && write_whole(fd, text, length);
        if (fd >= 0)
            ok = close(fd) == 0 && ok;
        if (!ok || rename(beside, f->path) != 0)
            give_up(f, beside);
    }
    free(text);
}

void status_file_remove(status_file *f)
{
    if (f->path[0] != '\0')
        (void)unlink(f->path);
    f->path[0] = '\0';
}

/* ---- reading ---- */

/* <16 hex digits>-<process>.json */
static bool name_parse(uint64_t *hash, long *process, const char *name)
{
    int end = -1;
    return sscanf(name, "%16" SCNx64 "-%ld.json%n", hash, process, &end) == 2 && end > 0 && name[end] == '\0' && *process > 0 &&
           *process <= INT_MAX;
}

static bool file_read(pml_rt_status *out, int folder, const char *name)
{
    bool ok = false;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    char *text = app_alloc(FILE_MAX);
    ssize_t n = read(fd, text, FILE_MAX);
    *out = (pml_rt_status)PML_RT_STATUS_INIT;
    if (n > 0 && n < FILE_MAX)
        ok = pml_rt_status_parse(out, text, (size_t)n, NULL) == PML_OK;
    free(text);
    (void)close(fd);
    return ok;
}

static int by_table(const void *a, const void *b)
{
    const pml_rt_status *x = a, *y = b;
    int order = strcmp(x->table, y->table);
    return order != 0 ? order : (x->process > y->process) - (x->process < y->process);
}

pml_rt_status *status_files_read(size_t *n, const char *path)
{
    char folder[FOLDER_MAX];
    uint64_t wanted = path == NULL ? 0 : table_hash(path), hash;
    pml_rt_status *all = NULL;
    long process;
    *n = 0;
    int fd = folder_open(folder, false);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL && fd >= 0)
        (void)close(fd);
    for (const struct dirent *e; dir != NULL && *n < FILES_MAX && (e = readdir(dir)) != NULL;) {
        if (!name_parse(&hash, &process, e->d_name) || (path != NULL && hash != wanted))
            continue;
        if (kill((pid_t)process, 0) != 0 && errno == ESRCH) {
            (void)unlinkat(fd, e->d_name, 0);
            continue;
        }
        all = app_realloc(all, (*n + 1) * sizeof *all);
        if (file_read(&all[*n], fd, e->d_name))
            ++*n;
    }
    if (dir != NULL)
        (void)closedir(dir);
    if (*n > 0)
        qsort(all, *n, sizeof *all, by_table);
    return all;
}
