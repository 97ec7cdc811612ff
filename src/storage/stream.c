/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/stream.h"

#include <string.h>

#include "storage/file_io.h"

/* What one call writes, and at a multiple of it: large enough that calls cost nothing, small enough for many open writers. Linux takes
   memory for the page cache in pieces as long as the call. Those of a megabyte and more are seldom at hand: a row group written in one
   call took twice the time of the kernel that it takes in these. */
enum { OUTPUT_BUFFER = 256 * 1024 };

struct pml_output {
    pml_env *env;
    char *path;
    void *file;
    uint8_t *buf;
    size_t len;
    int64_t size;
    int rc; /* first error, sticky; error holds its text */
    pml_error error;
};

static void output_free(pml_output *o)
{
    pml_env *env = o->env;
    pml_env__free(env, o->path);
    pml_env__free(env, o->buf);
    pml_env__free(env, o);
    pml_env_release(env);
}

int pml_output__create(pml_output **out, pml_env *env, const char *path, pml_error *err)
{
    int rc = PML_OK;
    *out = NULL;
    pml_output *o = pml_env__calloc(env, 1, sizeof *o);
    if (o == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    o->env = env;
    o->path = pml_env__strdup(env, path);
    o->buf = pml_env__alloc(env, OUTPUT_BUFFER);
    rc = o->path == NULL || o->buf == NULL ? pml_error__no_memory(err) : pml_file__create(&o->file, env, path, err);
    if (rc != PML_OK) {
        output_free(o);
        return rc;
    }
    *out = o;
    return PML_OK;
}

static int output_write(pml_output *o, const void *p, size_t n)
{
    if (n > 0 && o->rc == PML_OK)
        o->rc = o->env->fs.write(o->env->fs.ctx, o->file, p, n, &o->error);
    return o->rc;
}

static int output_flush(pml_output *o)
{
    int rc = output_write(o, o->buf, o->len);
    o->len = 0;
    return rc;
}

int pml_output__append(pml_output *o, const void *p, size_t n)
{
    if (o->rc != PML_OK)
        return o->rc;
    if (n > (uint64_t)(INT64_MAX - o->size))
        return o->rc = pml_error__at(&o->error, PML_E_LIMIT, PML_PLACE_FILE, o->path, "%s would grow past 2^63 bytes",
                                     o->path);
    o->size += (int64_t)n;
    for (const uint8_t *from = p; n > 0 && o->rc == PML_OK;) {
        size_t room = OUTPUT_BUFFER - o->len, step = n < room ? n : room;
        if (step == OUTPUT_BUFFER) {
            (void)output_write(o, from, step);
        } else {
            memcpy(o->buf + o->len, from, step);
            o->len += step;
            if (step == room)
                (void)output_flush(o);
        }
        from += step;
        n -= step;
    }
    return o->rc;
}

int64_t pml_output__size(const pml_output *o)
{
    return o->size;
}

int pml_output__finish(pml_output *o, uint32_t flags, pml_error *err)
{
    int rc = output_flush(o);
    if (rc != PML_OK) {
        if (err != NULL)
            *err = o->error;
        pml_output__abandon(o);
        return rc;
    }
    rc = pml_file__end(o->env, o->file, o->path, flags, err);
    if (rc != PML_OK)
        pml_file__discard(o->env, NULL, o->path);
    output_free(o);
    return rc;
}

void pml_output__abandon(pml_output *o)
{
    if (o == NULL)
        return;
    pml_file__discard(o->env, o->file, o->path);
    output_free(o);
}

/* ---- input ------------------------------------------------------------------------------------------------------- */

struct pml_input {
    pml_env *env;
    char *path;
    void *file;
    const uint8_t *content; /* file NULL: what the file holds */
    int64_t size;
};

static int input_new(pml_input **out, pml_env *env, const char *path, pml_error *err)
{
    pml_input *in = pml_env__calloc(env, 1, sizeof *in);
    *out = in;
    if (in == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    in->env = env;
    in->path = pml_env__strdup(env, path);
    return in->path == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_input__open(pml_input **out, pml_env *env, const char *path, pml_error *err)
{
    int rc;
    pml_input *in;
    *out = NULL;
    PML_TRY(input_new(&in, env, path, err));
    PML_TRY(env->fs.open_read(env->fs.ctx, &in->file, path, err));
    PML_TRY(env->fs.size(env->fs.ctx, &in->size, in->file, err));
    *out = in;
out:
    if (rc != PML_OK)
        pml_input__close(in);
    return rc;
}

int pml_input__of_bytes(pml_input **out, pml_env *env, const char *path, pml_bytes content, pml_error *err)
{
    pml_input *in;
    *out = NULL;
    int rc = input_new(&in, env, path, err);
    if (rc != PML_OK) {
        pml_input__close(in);
        return rc;
    }
    in->content = content.ptr;
    in->size = (int64_t)content.len;
    *out = in;
    return PML_OK;
}

int64_t pml_input__size(const pml_input *in)
{
    return in->size;
}

const char *pml_input__path(const pml_input *in)
{
    return in->path;
}

int pml_input__read_at(pml_input *in, int64_t offset, void *buf, size_t n, pml_error *err)
{
    size_t got = 0;
    bool inside = offset >= 0 && offset <= in->size && n <= (uint64_t)(in->size - offset);
    if (inside && in->file == NULL) {
        memcpy(buf, in->content + offset, n);
        got = n;
    } else if (inside)
        PML_RETURN_IF(in->env->fs.read_at(in->env->fs.ctx, &got, in->file, offset, buf, n, err));
    if (inside && got == n)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, in->path,
                         "%s: %zu bytes at offset %lld were expected, but the file %s %lld bytes", in->path, n,
                         (long long)offset, inside ? "was cut below its" : "has only", (long long)in->size);
}

void pml_input__close(pml_input *in)
{
    if (in == NULL)
        return;
    pml_env *env = in->env;
    if (in->file != NULL)
        env->fs.close_read(env->fs.ctx, in->file);
    pml_env__free(env, in->path);
    pml_env__free(env, in);
    pml_env_release(env);
}
