/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file below a CSV input. The bridge wants one that can be read at any place: standard input and gzip files are copied to a
 * nameless temporary file first.
 */
#include "table/rows_csv_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/rows_source.h"

enum { COPY_BLOCK = 256 * 1024 };

struct pml_csv_file {
    pml_env *env;
    char *path;
    pml_rows_source source; /* open when it is a plain file */
    int fd;                 /* the copy, -1: none */
    int64_t size_bytes;
    int64_t seen_bytes; /* for the progress */
    pml_csv_scan *scan; /* NULL: none */
};

void pml_csv_file__close(void *ctx)
{
    pml_csv_file *f = ctx;
    pml_env *env = f->env;
    pml_rows_source__close(&f->source);
    if (f->fd >= 0)
        (void)close(f->fd);
    pml_env__free(env, f->path);
    pml_env__free(env, f);
    pml_env_release(env);
}

static int copy_read(pml_csv_file *f, int64_t offset, uint8_t *to, size_t n, pml_error *err)
{
    while (n > 0) {
        ssize_t r = pread(f->fd, to, n, (off_t)offset);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return pml_error__from_errno(err, r < 0 ? errno : EIO, f->path, "read the temporary copy of");
        to += r;
        offset += r;
        n -= (size_t)r;
    }
    return PML_OK;
}

static int scan_feed(pml_csv_file *f, int64_t offset, const uint8_t *p, int64_t n, pml_error *err)
{
    int64_t known = f->scan->at - offset; /* bytes that were read before */
    if (known < 0 || known >= n)
        return PML_OK;
    PML_RETURN_IF(pml_csv_scan__feed(f->scan, p + known, (size_t)(n - known), err));
    return f->scan->at == f->size_bytes ? pml_csv_scan__end(f->scan, err) : PML_OK;
}

int pml_csv_file__read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err)
{
    pml_csv_file *f = ctx;
    size_t got = 0;
    if (offset < 0 || n < 0 || offset > f->size_bytes - n)
        return pml_error__set(err, PML_E_INTERNAL, "a read behind the end of %s was asked for", f->path);
    if (f->source.progress != NULL && offset + n > f->seen_bytes) {
        f->seen_bytes = offset + n;
        f->source.progress(f->source.progress_ctx, f->seen_bytes, f->size_bytes);
    }
    if (f->fd >= 0) {
        PML_RETURN_IF(copy_read(f, offset, buf, (size_t)n, err));
        return f->scan == NULL ? PML_OK : scan_feed(f, offset, buf, n, err);
    }
    PML_RETURN_IF(f->env->fs.read_at(f->env->fs.ctx, &got, f->source.file, offset, buf, (size_t)n, err));
    if (got != (size_t)n)
        return pml_error__at(err, PML_E_IO, PML_PLACE_FILE, f->path, "%s became shorter while it was read", f->path);
    return f->scan == NULL ? PML_OK : scan_feed(f, offset, buf, n, err);
}

/* A file without a name, gone when it is closed. */
static int temporary_open(int *fd, pml_env *env, pml_error *err)
{
    const char *dir = getenv("TMPDIR");
    if (dir == NULL || dir[0] == '\0')
        dir = "/tmp";
    *fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return PML_OK;
    char *name = pml_env__format(env, "%s/pml-rows-XXXXXX", dir);
    if (name == NULL)
        return pml_error__no_memory(err);
    *fd = mkostemp(name, O_CLOEXEC);
    int rc = *fd < 0 ? pml_error__from_errno(err, errno, name, "create") : PML_OK;
    if (*fd >= 0)
        (void)unlink(name);
    pml_env__free(env, name);
    return rc;
}

static int copy_write(pml_csv_file *f, const uint8_t *p, size_t n, pml_error *err)
{
    while (n > 0) {
        ssize_t w = write(f->fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return pml_error__from_errno(err, errno, f->path, "write the temporary copy (in $TMPDIR) of");
        p += w;
        n -= (size_t)w;
        f->size_bytes += w;
    }
    return PML_OK;
}

static int file_copy(pml_csv_file *f, pml_error *err)
{
    int rc;
    size_t got;
    uint8_t *block = pml_env__alloc(f->env, COPY_BLOCK);
    if (block == NULL)
        return pml_error__no_memory(err);
    PML_TRY(temporary_open(&f->fd, f->env, err));
    do {
        PML_TRY(pml_rows_source__read(&f->source, &got, block, COPY_BLOCK, err));
        PML_TRY(copy_write(f, block, got, err));
    } while (got > 0);
    f->source.progress = NULL; /* it has told the way through the input once */
out:
    pml_env__free(f->env, block);
    return rc;
}

int pml_csv_file__open(pml_csv_file **out, const pml_rows_input *in, pml_error *err)
{
    int rc;
    *out = NULL;
    pml_csv_file *f = pml_env__calloc(in->env, 1, sizeof *f);
    if (f == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(in->env);
    f->env = in->env;
    f->fd = -1;
    f->source.env = in->env;
    f->path = pml_env__strdup(in->env, strcmp(in->path, "-") == 0 ? "standard input" : in->path);
    if (f->path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_rows_source__open(&f->source, in->env, in->path, in->options, err));
    f->source.path = f->path;
    if (pml_rows_source__is_plain_file(&f->source))
        f->size_bytes = f->source.size_bytes;
    else
        PML_TRY(file_copy(f, err));
    *out = f;
    return PML_OK;
out:
    pml_csv_file__close(f);
    return rc;
}

void pml_csv_file__set_scan(pml_csv_file *f, pml_csv_scan *scan)
{
    f->scan = scan;
}

int64_t pml_csv_file__size(const pml_csv_file *f)
{
    return f->size_bytes;
}

const char *pml_csv_file__name(const pml_csv_file *f)
{
    return f->path;
}
