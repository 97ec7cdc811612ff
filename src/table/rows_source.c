/* SPDX-License-Identifier: Apache-2.0 */
#include "table/rows_source.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

enum { SOURCE_BLOCK = 64 * 1024, IDLE_MS = 1000 };

typedef struct source_inflate {
    z_stream z;
    bool input_ended, member_ended;
    uint8_t block[SOURCE_BLOCK];
} source_inflate;

static void *inflate_alloc(void *env, unsigned count, unsigned size)
{
    return pml_env__calloc(env, count, size);
}

static void inflate_free(void *env, void *p)
{
    pml_env__free(env, p);
}

static int source_start_inflate(pml_rows_source *s, pml_error *err)
{
    source_inflate *in = pml_env__calloc(s->env, 1, sizeof *in);
    if (in == NULL)
        return pml_error__no_memory(err);
    in->z.zalloc = inflate_alloc;
    in->z.zfree = inflate_free;
    in->z.opaque = s->env;
    /* 15 window bits, 16: with the header of gzip. */
    if (inflateInit2(&in->z, 15 + 16) != Z_OK) {
        pml_env__free(s->env, in);
        return pml_error__no_memory(err);
    }
    s->inflate = in;
    return PML_OK;
}

int pml_rows_source__open(pml_rows_source *s, pml_env *env, const char *path, const pml_rows_options *options,
                          pml_error *err)
{
    int rc = PML_OK;
    size_t len = strlen(path);
    *s = (pml_rows_source){.env = env, .path = path, .size_bytes = -1};
    if (options != NULL) {
        s->progress = options->progress;
        s->progress_ctx = options->progress_ctx;
    }
    if (strcmp(path, "-") == 0)
        return PML_OK;
    PML_TRY(env->fs.open_read(env->fs.ctx, &s->file, path, err));
    PML_TRY(env->fs.size(env->fs.ctx, &s->size_bytes, s->file, err));
    if (len > 3 && strcasecmp(path + len - 3, ".gz") == 0)
        PML_TRY(source_start_inflate(s, err));
    return PML_OK;
out:
    pml_rows_source__close(s);
    return rc;
}

void pml_rows_source__close(pml_rows_source *s)
{
    source_inflate *in = s->inflate;
    if (in != NULL)
        (void)inflateEnd(&in->z);
    pml_env__free(s->env, in);
    if (s->file != NULL)
        s->env->fs.close_read(s->env->fs.ctx, s->file);
    s->file = NULL;
    s->inflate = NULL;
}

bool pml_rows_source__ready(const pml_rows_source *s, int ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    if (s->file != NULL)
        return true;
    int n = poll(&in, 1, ms);
    return n > 0 || (n < 0 && errno != EINTR); /* what is wrong with it the read says */
}

static int source_read_stored(pml_rows_source *s, size_t *got, void *buf, size_t n, pml_error *err)
{
    *got = 0;
    if (s->file != NULL) {
        PML_RETURN_IF(s->env->fs.read_at(s->env->fs.ctx, got, s->file, s->done_bytes, buf, n, err));
    } else {
        ssize_t r;
        while (s->progress != NULL && !pml_rows_source__ready(s, IDLE_MS))
            s->progress(s->progress_ctx, s->done_bytes, s->size_bytes);
        do
            r = read(STDIN_FILENO, buf, n);
        while (r < 0 && errno == EINTR);
        if (r < 0)
            return pml_error__from_errno(err, errno, "standard input", "read");
        *got = (size_t)r;
    }
    s->done_bytes += (int64_t)*got;
    if (s->progress != NULL)
        s->progress(s->progress_ctx, s->done_bytes, s->size_bytes);
    return PML_OK;
}

static int source_damaged(pml_rows_source *s, const char *what, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, s->path, "%s is no whole gzip file: %s near byte %lld",
                         s->path, what, (long long)s->done_bytes);
}

/* One step of inflate; a file may be several members behind each other. */
static int source_inflate_some(pml_rows_source *s, size_t *got, void *buf, size_t n, pml_error *err)
{
    source_inflate *in = s->inflate;
    *got = 0;
    while (*got == 0) {
        if (in->z.avail_in == 0 && !in->input_ended) {
            size_t block;
            PML_RETURN_IF(source_read_stored(s, &block, in->block, sizeof in->block, err));
            in->input_ended = block == 0;
            in->z.next_in = in->block;
            in->z.avail_in = (unsigned)block;
        }
        if (in->z.avail_in == 0 && in->input_ended && in->member_ended)
            return PML_OK;
        if (in->member_ended && inflateReset(&in->z) != Z_OK)
            return source_damaged(s, "its next part does not begin", err);
        in->member_ended = false;
        in->z.next_out = buf;
        in->z.avail_out = n > SOURCE_BLOCK ? SOURCE_BLOCK : (unsigned)n;
        unsigned room = in->z.avail_out;
        int r = inflate(&in->z, Z_NO_FLUSH);
        if (r == Z_MEM_ERROR)
            return pml_error__no_memory(err);
        if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
            return source_damaged(s, in->z.msg == NULL ? "bad data" : in->z.msg, err);
        in->member_ended = r == Z_STREAM_END;
        *got = room - in->z.avail_out;
        if (*got == 0 && r != Z_STREAM_END && in->input_ended)
            return source_damaged(s, "it ends early", err);
    }
    return PML_OK;
}

int pml_rows_source__read(pml_rows_source *s, size_t *got, void *buf, size_t n, pml_error *err)
{
    return s->inflate != NULL ? source_inflate_some(s, got, buf, n, err) : source_read_stored(s, got, buf, n, err);
}
