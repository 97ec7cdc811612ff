/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV through the bridge. It wants a file that can be read at any place: standard input and gzip files are copied to a nameless
 * temporary file first. The header line is read here as well, because Arrow passes over columns that nobody asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "columnar/batch.h"
#include "format/bridge_load.h"
#include "table/rows_input.h"
#include "table/rows_source.h"

enum {
    HEADER_MAX_BYTES = 1024 * 1024, /* a line of names beyond this is no header */
    COPY_BLOCK = 256 * 1024,
    BLOCK_BYTES = 1024 * 1024 /* text of one batch, about */
};

/* What the bridge reads from. Owned by the bridge once csv_open was called. */
typedef struct csv_file {
    pml_env *env;
    char *path;
    pml_rows_source source; /* open when it is a plain file */
    int fd;                 /* the copy, -1: none */
    int64_t size_bytes;
    int64_t seen_bytes; /* for the progress */
} csv_file;

typedef struct rows_csv {
    pml_env *env;
    pml_table *table;
    const pml_bridge *bridge;
    struct ArrowArrayStream stream;
} rows_csv;

static void file_close(void *ctx)
{
    csv_file *f = ctx;
    pml_env *env = f->env;
    pml_rows_source__close(&f->source);
    if (f->fd >= 0)
        (void)close(f->fd);
    pml_env__free(env, f->path);
    pml_env__free(env, f);
    pml_env_release(env);
}

static int copy_read(csv_file *f, int64_t offset, uint8_t *to, size_t n, pml_error *err)
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

static int file_read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err)
{
    csv_file *f = ctx;
    size_t got = 0;
    if (offset < 0 || n < 0 || offset > f->size_bytes - n)
        return pml_error__set(err, PML_E_INTERNAL, "a read behind the end of %s was asked for", f->path);
    if (f->source.progress != NULL && offset + n > f->seen_bytes) {
        f->seen_bytes = offset + n;
        f->source.progress(f->source.progress_ctx, f->seen_bytes, f->size_bytes);
    }
    if (f->fd >= 0)
        return copy_read(f, offset, buf, (size_t)n, err);
    PML_RETURN_IF(f->env->fs.read_at(f->env->fs.ctx, &got, f->source.file, offset, buf, (size_t)n, err));
    if (got != (size_t)n)
        return pml_error__at(err, PML_E_IO, PML_PLACE_FILE, f->path, "%s became shorter while it was read", f->path);
    return PML_OK;
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

static int copy_write(csv_file *f, const uint8_t *p, size_t n, pml_error *err)
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

static int file_copy(csv_file *f, pml_error *err)
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

static int file_open(csv_file **out, const pml_rows_input *in, pml_error *err)
{
    int rc;
    *out = NULL;
    csv_file *f = pml_env__calloc(in->env, 1, sizeof *f);
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
    file_close(f);
    return rc;
}

/* ---- the header ---- */

/* Splits the first record of text into names, in place. Returns how many, or -1 when the record has no end in the text.
   names has room for len / 2 + 1. */
static int64_t header_split(char *text, size_t len, bool whole, char delimiter, const char **names)
{
    size_t at = 0, to = 0, n = 0, begin = 0;
    bool quoted = false;
    for (; at < len; at++) {
        char c = text[at];
        if (quoted && c == '"' && at + 1 < len && text[at + 1] == '"') {
            text[to++] = text[at++];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == delimiter || c == '\n' || c == '\r')) {
            text[to++] = '\0';
            names[n++] = text + begin;
            begin = to;
            if (c != delimiter)
                return (int64_t)n;
        } else {
            text[to++] = c;
        }
    }
    if (!whole)
        return -1;
    text[to] = '\0';
    names[n++] = text + begin;
    return (int64_t)n;
}

static int header_check(csv_file *f, const pml_rows_input *in, char delimiter, pml_error *err)
{
    size_t len = f->size_bytes > HEADER_MAX_BYTES ? HEADER_MAX_BYTES : (size_t)f->size_bytes;
    int rc;
    char *text = pml_env__alloc(in->env, len + 1);
    const char **names = pml_env__calloc(in->env, len + 1, sizeof *names);
    if (text == NULL || names == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(file_read_at(f, 0, text, (int64_t)len, err));
    size_t skip = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    int64_t n = header_split(text + skip, len - skip, (int64_t)len == f->size_bytes, delimiter, names);
    if (n < 0)
        rc = pml_error__at(err, PML_E_LIMIT, PML_PLACE_ROW, f->path, "%s: the header line is longer than %d bytes", f->path,
                           HEADER_MAX_BYTES);
    else
        rc = pml_rows_input__check_columns(in, names, (size_t)n, err);
out:
    pml_env__free(in->env, names);
    pml_env__free(in->env, text);
    return rc;
}

/* ---- the stream ---- */

static void csv_drop(void *owner)
{
    rows_csv *r = owner;
    pml_env *env = r->env;
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    pml_table_release(r->table);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int csv_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    rows_csv *r = owner;
    if (r->stream.get_next(&r->stream, out) == 0)
        return PML_OK;
    out->release = NULL;
    int rc = r->bridge->stream_error(&r->stream, err);
    /* Text that a column cannot hold is a wrong row, not damage of ours. */
    if (rc == PML_E_INVAL && err != NULL)
        err->place = PML_PLACE_ROW;
    return rc;
}

static int csv_open(rows_csv *r, const pml_rows_input *in, const struct ArrowSchema *schema, pml_error *err)
{
    const pml_rows_options *o = in->options;
    const pml_bridge_csv_options options = {.delimiter = o->csv_delimiter == 0 ? ',' : o->csv_delimiter,
                                            .quote = '"',
                                            .header = !o->csv_no_header,
                                            .null_text = o->csv_null,
                                            .block_bytes = BLOCK_BYTES};
    csv_file *f;
    PML_RETURN_IF(file_open(&f, in, err));
    int rc = options.header ? header_check(f, in, options.delimiter, err) : PML_OK;
    if (rc != PML_OK) {
        file_close(f);
        return rc;
    }
    const pml_bridge_input input = {f, f->path, f->size_bytes, file_read_at, file_close};
    rc = r->bridge->csv_open(&r->stream, &input, NULL, schema, &options, err); /* owns f on any return */
    if (rc == PML_E_INVAL && err != NULL)
        err->place = PML_PLACE_ROW;
    return rc;
}

int pml_rows_csv__open(struct ArrowArrayStream *out, const pml_rows_input *in, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    rows_csv *r = pml_env__calloc(in->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(in->env);
    pml_table_acquire(in->table);
    r->env = in->env;
    r->table = in->table;
    PML_TRY(pml_bridge__get(&r->bridge, in->env, err));
    PML_TRY(pml_type__export(&schema, in->env, in->fields, in->n_fields, err));
    PML_TRY(csv_open(r, in, &schema, err));
    PML_TRY(pml_stream__new(out, in->env, &schema, csv_next, csv_drop, r, err));
    return PML_OK;
out:
    pml_schema__release(&schema);
    csv_drop(r);
    return rc;
}
