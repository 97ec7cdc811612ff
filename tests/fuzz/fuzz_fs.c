/* SPDX-License-Identifier: Apache-2.0 */
/* Names are entries in one sorted array over counted contents. Only a file that was just created is written to. */
#include "fuzz_fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/thread.h"

typedef struct content {
    int refs; /* names, handles and the mark */
    uint8_t *data;
    size_t len, cap;
} content;

typedef struct entry {
    char *path;
    content *file; /* NULL: a directory */
} entry;

typedef struct entries {
    entry *v;
    size_t n, cap;
} entries;

struct fuzz_fs {
    pml_mutex mu;
    entries now, marked;
    pml_file_system fs;
};

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static void content_release(content *c)
{
    if (c == NULL || --c->refs > 0)
        return;
    free(c->data);
    free(c);
}

static content *content_new(const void *data, size_t len)
{
    content *c = must(calloc(1, sizeof *c));
    c->refs = 1;
    c->data = must(malloc(len == 0 ? 1 : len)); /* exact: a read past it is seen */
    c->len = c->cap = len;
    if (len > 0)
        memcpy(c->data, data, len);
    return c;
}

/* Where path is, or would be. */
static size_t entries_place(const entries *e, const char *path, bool *there)
{
    size_t low = 0, high = e->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(e->v[middle].path, path);
        if (order == 0) {
            *there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *there = false;
    return low;
}

static entry *entries_find(const entries *e, const char *path)
{
    bool there;
    size_t i = entries_place(e, path, &there);
    return there ? &e->v[i] : NULL;
}

/* The reference of file moves in. */
static void entries_put(entries *e, const char *path, content *file)
{
    bool there;
    size_t i = entries_place(e, path, &there);
    if (there) {
        content_release(e->v[i].file);
        e->v[i].file = file;
        return;
    }
    if (e->n == e->cap) {
        e->cap = e->cap == 0 ? 64 : 2 * e->cap;
        e->v = must(realloc(e->v, e->cap * sizeof *e->v));
    }
    memmove(e->v + i + 1, e->v + i, (e->n - i) * sizeof *e->v);
    e->v[i] = (entry){must(strdup(path)), file};
    e->n++;
}

static void entries_remove(entries *e, const entry *which)
{
    size_t i = (size_t)(which - e->v);
    free(e->v[i].path);
    content_release(e->v[i].file);
    memmove(e->v + i, e->v + i + 1, (e->n - i - 1) * sizeof *e->v);
    e->n--;
}

static void entries_clear(entries *e)
{
    for (size_t i = 0; i < e->n; i++) {
        free(e->v[i].path);
        content_release(e->v[i].file);
    }
    free(e->v);
    *e = (entries){0};
}

static void entries_copy(entries *to, const entries *from)
{
    entries_clear(to);
    for (size_t i = 0; i < from->n; i++) {
        if (from->v[i].file != NULL)
            from->v[i].file->refs++;
        entries_put(to, from->v[i].path, from->v[i].file);
    }
}

static bool is_below(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    if (n == 1 && directory[0] == '/')
        return path[1] != '\0';
    return strncmp(path, directory, n) == 0 && path[n] == '/';
}

static bool has_parent(const fuzz_fs *f, const char *path)
{
    char parent[1024];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return true;
    if ((size_t)(slash - path) >= sizeof parent)
        return false;
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    const entry *e = entries_find(&f->now, parent);
    return e != NULL && e->file == NULL;
}

static int failed(pml_error *err, int code, const char *path)
{
    int rc = pml_error__at(err, code, PML_PLACE_NONE, path, "%s: %s", path, code == PML_E_NOT_FOUND ? "no such file" : "there is one");
    pml_error__add_flags(err, PML_ERRF_NO_EFFECT);
    return rc;
}

/* ---- reading ---- */

static int open_read(void *ctx, void **file, const char *path, pml_error *err)
{
    fuzz_fs *f = ctx;
    pml_mutex__lock(&f->mu);
    const entry *e = entries_find(&f->now, path);
    content *c = e == NULL ? NULL : e->file;
    if (c != NULL)
        c->refs++;
    pml_mutex__unlock(&f->mu);
    *file = c;
    return c == NULL ? failed(err, PML_E_NOT_FOUND, path) : PML_OK;
}

static int file_size(void *ctx, int64_t *size_bytes, void *file, pml_error *err)
{
    (void)ctx, (void)err;
    *size_bytes = (int64_t)((content *)file)->len;
    return PML_OK;
}

static int read_at(void *ctx, size_t *got, void *file, int64_t offset, void *buf, size_t n, pml_error *err)
{
    const content *c = file;
    (void)ctx, (void)err;
    size_t at = offset < 0 || (uint64_t)offset > c->len ? c->len : (size_t)offset;
    *got = n < c->len - at ? n : c->len - at;
    if (*got > 0)
        memcpy(buf, c->data + at, *got);
    return PML_OK;
}

static void close_read(void *ctx, void *file)
{
    fuzz_fs *f = ctx;
    pml_mutex__lock(&f->mu);
    content_release(file);
    pml_mutex__unlock(&f->mu);
}

/* ---- writing ---- */

static int create(void *ctx, void **file, const char *path, pml_error *err)
{
    fuzz_fs *f = ctx;
    int rc = PML_OK;
    pml_mutex__lock(&f->mu);
    if (!has_parent(f, path)) {
        rc = failed(err, PML_E_NOT_FOUND, path);
    } else if (entries_find(&f->now, path) != NULL) {
        rc = failed(err, PML_E_EXISTS, path);
    } else {
        content *c = content_new(NULL, 0);
        c->refs++;
        entries_put(&f->now, path, c);
        *file = c;
    }
    pml_mutex__unlock(&f->mu);
    return rc;
}

static int write_bytes(void *ctx, void *file, const void *buf, size_t n, pml_error *err)
{
    content *c = file;
    (void)ctx, (void)err;
    if (c->len + n > c->cap) {
        c->cap = 2 * (c->len + n);
        c->data = must(realloc(c->data, c->cap));
    }
    memcpy(c->data + c->len, buf, n);
    c->len += n;
    return PML_OK;
}

static int sync_file(void *ctx, void *file, pml_error *err)
{
    (void)ctx, (void)file, (void)err;
    return PML_OK;
}

static int close_write(void *ctx, void *file, pml_error *err)
{
    (void)err;
    close_read(ctx, file);
    return PML_OK;
}

static int rename_entry(fuzz_fs *f, const char *from, const char *to, bool replace, pml_error *err)
{
    int rc = PML_OK;
    pml_mutex__lock(&f->mu);
    const entry *e = entries_find(&f->now, from);
    if (e == NULL || e->file == NULL || !has_parent(f, to)) {
        rc = failed(err, PML_E_NOT_FOUND, from);
    } else if (!replace && entries_find(&f->now, to) != NULL) {
        rc = failed(err, PML_E_EXISTS, to);
    } else {
        e->file->refs++;
        entries_put(&f->now, to, e->file);
        entries_remove(&f->now, entries_find(&f->now, from));
    }
    pml_mutex__unlock(&f->mu);
    return rc;
}

static int publish(void *ctx, const char *from, const char *to, pml_error *err)
{
    return rename_entry(ctx, from, to, false, err);
}

static int replace(void *ctx, const char *from, const char *to, pml_error *err)
{
    return rename_entry(ctx, from, to, true, err);
}

static int remove_one(fuzz_fs *f, const char *path, bool directory, pml_error *err)
{
    int rc = PML_OK;
    pml_mutex__lock(&f->mu);
    const entry *e = entries_find(&f->now, path);
    if (e == NULL || (e->file == NULL) != directory)
        rc = failed(err, PML_E_NOT_FOUND, path);
    for (size_t i = 0; rc == PML_OK && directory && i < f->now.n; i++)
        if (is_below(f->now.v[i].path, path))
            rc = failed(err, PML_E_EXISTS, path);
    if (rc == PML_OK)
        entries_remove(&f->now, e);
    pml_mutex__unlock(&f->mu);
    return rc;
}

static int remove_file(void *ctx, const char *path, pml_error *err)
{
    return remove_one(ctx, path, false, err);
}

static int remove_directory(void *ctx, const char *path, pml_error *err)
{
    return remove_one(ctx, path, true, err);
}

static int make_directory(void *ctx, const char *path, pml_error *err)
{
    fuzz_fs *f = ctx;
    int rc = PML_OK;
    pml_mutex__lock(&f->mu);
    if (entries_find(&f->now, path) != NULL)
        rc = failed(err, PML_E_EXISTS, path);
    else if (!has_parent(f, path))
        rc = failed(err, PML_E_NOT_FOUND, path);
    else
        entries_put(&f->now, path, NULL);
    pml_mutex__unlock(&f->mu);
    return rc;
}

static int sync_directory(void *ctx, const char *path, pml_error *err)
{
    (void)ctx, (void)path, (void)err;
    return PML_OK;
}

/* ---- names ---- */

static int stat_path(void *ctx, pml_file_info *info, const char *path, pml_error *err)
{
    fuzz_fs *f = ctx;
    int rc = PML_OK;
    pml_mutex__lock(&f->mu);
    const entry *e = entries_find(&f->now, path);
    if (e == NULL) {
        rc = failed(err, PML_E_NOT_FOUND, path);
    } else {
        info->kind = e->file == NULL ? PML_FILE_DIRECTORY : PML_FILE_REGULAR;
        info->size_bytes = e->file == NULL ? 0 : (int64_t)e->file->len;
        info->mtime_ms = 1767225600000;
    }
    pml_mutex__unlock(&f->mu);
    return rc;
}

static int list(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err)
{
    fuzz_fs *f = ctx;
    entries copy = {0};
    int rc = PML_OK;
    size_t n = strcmp(path, "/") == 0 ? 0 : strlen(path);
    pml_mutex__lock(&f->mu);
    const entry *e = entries_find(&f->now, path);
    if (n > 0 && (e == NULL || e->file != NULL))
        rc = failed(err, PML_E_NOT_FOUND, path);
    for (size_t i = 0; rc == PML_OK && i < f->now.n; i++)
        if (is_below(f->now.v[i].path, path) && strchr(f->now.v[i].path + n + 1, '/') == NULL) {
            if (f->now.v[i].file != NULL)
                f->now.v[i].file->refs++;
            entries_put(&copy, f->now.v[i].path, f->now.v[i].file);
        }
    pml_mutex__unlock(&f->mu);
    for (size_t i = 0; rc == PML_OK && i < copy.n; i++)
        rc = fn(arg, copy.v[i].path + n + 1, copy.v[i].file == NULL ? PML_FILE_DIRECTORY : PML_FILE_REGULAR);
    pml_mutex__lock(&f->mu);
    entries_clear(&copy);
    pml_mutex__unlock(&f->mu);
    return rc;
}

/* ---- for targets ---- */

fuzz_fs *fuzz_fs_new(void)
{
    fuzz_fs *f = must(calloc(1, sizeof *f));
    pml_mutex__init(&f->mu, "fuzz_fs", 0);
    f->fs = (pml_file_system){.struct_size = sizeof f->fs, .ctx = f, .open_read = open_read, .size = file_size, .read_at = read_at,
                              .close_read = close_read, .create = create, .write = write_bytes, .sync = sync_file,
                              .close_write = close_write, .publish = publish, .replace = replace, .remove_file = remove_file,
                              .remove_directory = remove_directory, .make_directory = make_directory,
                              .sync_directory = sync_directory, .stat = stat_path, .list = list};
    return f;
}

void fuzz_fs_free(fuzz_fs *f)
{
    entries_clear(&f->now);
    entries_clear(&f->marked);
    pml_mutex__destroy(&f->mu);
    free(f);
}

const pml_file_system *fuzz_fs_system(fuzz_fs *f)
{
    return &f->fs;
}

void fuzz_fs_put(fuzz_fs *f, const char *path, const void *data, size_t len)
{
    char part[1024];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        (void)make_directory(f, part, NULL);
    }
    entries_put(&f->now, path, content_new(data, len));
}

bool fuzz_fs_get(fuzz_fs *f, const char *path, const uint8_t **data, size_t *len)
{
    const entry *e = entries_find(&f->now, path);
    if (e == NULL || e->file == NULL)
        return false;
    *data = e->file->data;
    *len = e->file->len;
    return true;
}

const char *fuzz_fs_nth(fuzz_fs *f, const char *directory, size_t i)
{
    for (size_t at = 0; at < f->now.n; at++)
        if (f->now.v[at].file != NULL && is_below(f->now.v[at].path, directory) && i-- == 0)
            return f->now.v[at].path;
    return NULL;
}

void fuzz_fs_mark(fuzz_fs *f)
{
    entries_copy(&f->marked, &f->now);
}

void fuzz_fs_rewind(fuzz_fs *f)
{
    entries_copy(&f->now, &f->marked);
}
