/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local file system.
 *
 * A handle is the descriptor plus one, so that opening needs no memory of ours; the name for a message is asked from the
 * kernel when something fails.
 *
 * PML_ERRF_NO_EFFECT is set from a list of errno values that the kernel (or a file server) gives before it changes
 * anything. EIO, ETIMEDOUT, ESTALE, EINTR and all unknown ones are not in the list: over a network the change may have
 * happened and only the answer was lost.
 */
#include "storage/local_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"

enum { LOCAL_IO_MAX = 1 << 30 }; /* of one read or write call; the kernel cuts at 2 GiB anyway */

static bool errno_is_certain(int e)
{
    switch (e) {
    case EEXIST:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV:
    case EMLINK:
    case EINVAL:
    case ENOSYS:
    case EOPNOTSUPP:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EBUSY: return true;
    default: return false;
    }
}

static int fail_name(pml_error *err, int e, const char *path, const char *doing)
{
    int rc = pml_error__from_errno(err, e, path, doing);
    if (errno_is_certain(e))
        pml_error__add_flags(err, PML_ERRF_NO_EFFECT);
    return rc;
}

static int handle_fd(void *file)
{
    return (int)((intptr_t)file - 1);
}

static void *fd_handle(int fd)
{
    return (void *)((intptr_t)fd + 1);
}

static int fail_fd(pml_error *err, int e, int fd, const char *doing)
{
    char link[48], path[512];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    return pml_error__from_errno(err, e, n <= 0 ? "an open file" : path, doing);
}

static int local_open_read(void *ctx, void **file, const char *path, pml_error *err)
{
    struct stat st;
    int fd;
    (void)ctx;
    *file = NULL;
    do {
        /* Without O_NONBLOCK a pipe of that name would block for ever; regular files ignore it. */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail_name(err, errno, path, "open");
    int e = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    if (e != 0) {
        (void)close(fd);
        return fail_name(err, e, path, "open as a regular file");
    }
    *file = fd_handle(fd);
    return PML_OK;
}

static int local_size(void *ctx, int64_t *size_bytes, void *file, pml_error *err)
{
    struct stat st;
    (void)ctx;
    *size_bytes = 0;
    if (fstat(handle_fd(file), &st) != 0)
        return fail_fd(err, errno, handle_fd(file), "get the size of");
    *size_bytes = st.st_size;
    return PML_OK;
}

static int local_read_at(void *ctx, size_t *got, void *file, int64_t offset, void *buf, size_t n, pml_error *err)
{
    size_t done = 0;
    (void)ctx;
    *got = 0;
    while (done < n) {
        size_t step = n - done < LOCAL_IO_MAX ? n - done : LOCAL_IO_MAX;
        int64_t at;
        if (__builtin_add_overflow(offset, (int64_t)done, &at))
            return fail_fd(err, EOVERFLOW, handle_fd(file), "read");
        ssize_t r = pread(handle_fd(file), (char *)buf + done, step, at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return fail_fd(err, errno, handle_fd(file), "read");
        if (r == 0)
            break;
        done += (size_t)r;
    }
    *got = done;
    return PML_OK;
}

static void local_close_read(void *ctx, void *file)
{
    (void)ctx;
    (void)close(handle_fd(file));
}

static int local_create(void *ctx, void **file, const char *path, pml_error *err)
{
    (void)ctx;
    *file = NULL;
    /* Not repeated on EINTR: the first call may have made the file, and the second would then find a stranger's. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return fail_name(err, errno, path, "create");
    *file = fd_handle(fd);
    return PML_OK;
}

static int local_write(void *ctx, void *file, const void *buf, size_t n, pml_error *err)
{
    size_t done = 0;
    (void)ctx;
    while (done < n) {
        size_t step = n - done < LOCAL_IO_MAX ? n - done : LOCAL_IO_MAX;
        ssize_t w = write(handle_fd(file), (const char *)buf + done, step);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return fail_fd(err, w < 0 ? errno : EIO, handle_fd(file), "write");
        done += (size_t)w;
    }
    return PML_OK;
}

static int sync_fd(int fd)
{
    int r;
    do {
        r = fsync(fd);
    } while (r != 0 && errno == EINTR);
    return r == 0 ? 0 : errno;
}

static int local_sync(void *ctx, void *file, pml_error *err)
{
    (void)ctx;
    int e = sync_fd(handle_fd(file));
    return e == 0 ? PML_OK : fail_fd(err, e, handle_fd(file), "sync");
}

static int local_close_write(void *ctx, void *file, pml_error *err)
{
    (void)ctx;
    /* Never repeated: the descriptor is gone even when close reports an error. */
    if (close(handle_fd(file)) != 0)
        return pml_error__from_errno(err, errno, "an open file", "close");
    return PML_OK;
}

int pml_local_fs__publish_by_rename(const char *from, const char *to, pml_error *err)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return PML_OK;
    int e = errno;
    if (e == EINVAL || e == ENOSYS || e == EOPNOTSUPP) {
        (void)pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_FILE, to,
                            "cannot publish %s: its file system has neither hard links nor a rename that does not replace; "
                            "use another one", to);
        pml_error__add_flags(err, PML_ERRF_NO_EFFECT);
        return PML_E_UNSUPPORTED;
    }
    return fail_name(err, e, to, "publish");
}

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return lstat(a, &sa) == 0 && lstat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static int local_publish(void *ctx, const char *from, const char *to, pml_error *err)
{
    (void)ctx;
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0)
        return PML_OK;
    int e = errno;
    /* A file server that repeats a request whose answer was lost says "exists" about the link it has just made. */
    if (e == EEXIST && same_file(from, to))
        return PML_OK;
    /* EPERM: also what the kernel says about a file system without links, or a file of another user. */
    if (e == EPERM || e == EOPNOTSUPP || e == ENOSYS || e == EMLINK)
        return pml_local_fs__publish_by_rename(from, to, err);
    return fail_name(err, e, to, "publish");
}

static int local_replace(void *ctx, const char *from, const char *to, pml_error *err)
{
    (void)ctx;
    if (rename(from, to) == 0)
        return PML_OK;
    int e = errno;
    /* ENOENT may be the second answer to a repeated request: the rename has happened then. */
    return e == ENOENT ? pml_error__from_errno(err, e, to, "replace") : fail_name(err, e, to, "replace");
}

static int local_remove_file(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    return unlink(path) == 0 ? PML_OK : fail_name(err, errno, path, "remove");
}

static int local_remove_directory(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    if (rmdir(path) == 0)
        return PML_OK;
    /* POSIX allows both numbers for a directory that is not empty; callers see one code. */
    return fail_name(err, errno == ENOTEMPTY ? EEXIST : errno, path, "remove the directory");
}

static int local_make_directory(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    return mkdir(path, 0777) == 0 ? PML_OK : fail_name(err, errno, path, "make the directory");
}

static int local_sync_directory(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return pml_error__from_errno(err, errno, path, "open the directory");
    int e = sync_fd(fd);
    (void)close(fd);
    /* Some file systems (several over FUSE or SMB) cannot sync a directory and say so. There is nothing better to do
       there, and failing would make every publication on them an unknown outcome. */
    if (e == 0 || e == EINVAL || e == EOPNOTSUPP || e == ENOSYS)
        return PML_OK;
    return pml_error__from_errno(err, e, path, "sync the directory");
}

static int local_sync_all(void *ctx, const char *path, pml_error *err)
{
    (void)ctx;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return pml_error__from_errno(err, errno, path, "open");
    int e = syncfs(fd) == 0 ? 0 : errno;
    (void)close(fd);
    return e == 0 ? PML_OK : pml_error__from_errno(err, e, path, "sync the file system of");
}

static uint32_t mode_kind(mode_t mode)
{
    return S_ISREG(mode) ? PML_FILE_REGULAR : S_ISDIR(mode) ? PML_FILE_DIRECTORY : PML_FILE_OTHER;
}

static int local_stat(void *ctx, pml_file_info *info, const char *path, pml_error *err)
{
    struct stat st;
    (void)ctx;
    *info = (pml_file_info){.struct_size = sizeof *info};
    if (stat(path, &st) != 0)
        return fail_name(err, errno, path, "stat");
    info->kind = mode_kind(st.st_mode);
    info->size_bytes = st.st_size;
    info->mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return PML_OK;
}

static uint32_t entry_kind(int dir_fd, const struct dirent *d)
{
    struct stat st;
    if (d->d_type == DT_REG)
        return PML_FILE_REGULAR;
    if (d->d_type == DT_DIR)
        return PML_FILE_DIRECTORY;
    if (d->d_type != DT_UNKNOWN && d->d_type != DT_LNK)
        return PML_FILE_OTHER;
    return fstatat(dir_fd, d->d_name, &st, 0) == 0 ? mode_kind(st.st_mode) : PML_FILE_OTHER;
}

static int local_list(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err)
{
    int rc = PML_OK;
    (void)ctx;
    DIR *dir = opendir(path); /* close-on-exec by itself */
    if (dir == NULL)
        return fail_name(err, errno, path, "list");
    while (rc == PML_OK) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (d == NULL) {
            if (errno != 0)
                rc = pml_error__from_errno(err, errno, path, "list");
            break;
        }
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            rc = fn(arg, d->d_name, entry_kind(dirfd(dir), d));
    }
    (void)closedir(dir);
    return rc;
}

const pml_file_system pml_local_file_system = {
    .struct_size = sizeof(pml_file_system),
    .open_read = local_open_read,
    .size = local_size,
    .read_at = local_read_at,
    .close_read = local_close_read,
    .create = local_create,
    .write = local_write,
    .sync = local_sync,
    .close_write = local_close_write,
    .publish = local_publish,
    .replace = local_replace,
    .remove_file = local_remove_file,
    .remove_directory = local_remove_directory,
    .make_directory = local_make_directory,
    .sync_directory = local_sync_directory,
    .stat = local_stat,
    .list = local_list,
    .sync_all = local_sync_all,
};
