/* SPDX-License-Identifier: Apache-2.0 */
#include "support/faulty_fs.h"

#include <string.h>

#include "util/error.h"

static const char *const kind_names[FS_OP_COUNT] = {
    "open_read", "size",    "read_at",     "create",           "write",          "sync",           "close_write", "publish",
    "replace",   "remove_file", "remove_directory", "make_directory", "sync_directory", "stat", "list",
    "sync_all"};

typedef struct fault {
    fault_mode mode;
    int code;
    uint32_t flags;
    int kind;
    const char *path;
} fault;

/* Counts the operation, lets the test act, and says whether it fails. */
static fault enter(faulty_fs *f, int kind, const char *path)
{
    fault t = {FAULT_NONE, 0, 0, kind, path == NULL ? "" : path};
    faulty_fs_fn fn = NULL;
    void *arg = NULL;
    pml_mutex__lock(&f->lock);
    f->counts[kind]++;
    if (f->call_at > 0 && (f->call_kinds & FS_OP(kind)) != 0 && --f->call_at == 0) {
        fn = f->call_fn;
        arg = f->call_arg;
    }
    if (f->fail_at > 0 && (f->fail_kinds & FS_OP(kind)) != 0 && --f->fail_at == 0) {
        t.mode = f->mode;
        t.code = f->fail_code;
        t.flags = f->fail_flags;
        f->failures++;
        if (f->sticky)
            f->fail_at = 1;
    }
    pml_mutex__unlock(&f->lock);
    if (fn != NULL)
        fn(arg, kind, t.path);
    return t;
}

static int fault_set(const fault *t, pml_error *err)
{
    (void)pml_error__at(err, t->code, PML_PLACE_FILE, t->path, "injected failure %s %s of %s",
                        t->mode == FAULT_BEFORE ? "before" : "after", kind_names[t->kind], t->path);
    pml_error__add_flags(err, t->flags);
    return t->code;
}

/* An operation without outputs: fails before, or does it and fails after, whatever the true answer was. */
#define SIMPLE(kind, path, call)                     \
    do {                                             \
        faulty_fs *f = ctx;                          \
        fault t = enter(f, kind, path);              \
        if (t.mode == FAULT_BEFORE)                  \
            return fault_set(&t, err);               \
        int rc = call;                               \
        return t.mode == FAULT_AFTER ? fault_set(&t, err) : rc; \
    } while (0)

static int faulty_open_read(void *ctx, void **file, const char *path, pml_error *err)
{
    faulty_fs *f = ctx;
    fault t = enter(f, FS_OP_OPEN_READ, path);
    *file = NULL;
    int rc = t.mode == FAULT_BEFORE ? fault_set(&t, err) : f->inner.open_read(f->inner.ctx, file, path, err);
    if (t.mode == FAULT_AFTER) {
        if (rc == PML_OK)
            f->inner.close_read(f->inner.ctx, *file);
        *file = NULL;
        rc = fault_set(&t, err);
    }
    return rc;
}

static int faulty_size(void *ctx, int64_t *size_bytes, void *file, pml_error *err)
{
    faulty_fs *f = ctx;
    fault t = enter(f, FS_OP_SIZE, NULL);
    *size_bytes = 0;
    return t.mode != FAULT_NONE ? fault_set(&t, err) : f->inner.size(f->inner.ctx, size_bytes, file, err);
}

static int faulty_read_at(void *ctx, size_t *got, void *file, int64_t offset, void *buf, size_t n, pml_error *err)
{
    faulty_fs *f = ctx;
    fault t = enter(f, FS_OP_READ_AT, NULL);
    *got = 0;
    return t.mode != FAULT_NONE ? fault_set(&t, err) : f->inner.read_at(f->inner.ctx, got, file, offset, buf, n, err);
}

static void faulty_close_read(void *ctx, void *file)
{
    faulty_fs *f = ctx;
    f->inner.close_read(f->inner.ctx, file);
}

static int faulty_create(void *ctx, void **file, const char *path, pml_error *err)
{
    faulty_fs *f = ctx;
    fault t = enter(f, FS_OP_CREATE, path);
    *file = NULL;
    int rc = t.mode == FAULT_BEFORE ? fault_set(&t, err) : f->inner.create(f->inner.ctx, file, path, err);
    if (t.mode == FAULT_AFTER) {
        if (rc == PML_OK)
            (void)f->inner.close_write(f->inner.ctx, *file, NULL);
        *file = NULL;
        rc = fault_set(&t, err);
    }
    return rc;
}

static int faulty_write(void *ctx, void *file, const void *buf, size_t n, pml_error *err)
{
    SIMPLE(FS_OP_WRITE, NULL, f->inner.write(f->inner.ctx, file, buf, n, err));
}

static int faulty_sync(void *ctx, void *file, pml_error *err)
{
    SIMPLE(FS_OP_SYNC, NULL, f->inner.sync(f->inner.ctx, file, err));
}

static int faulty_close_write(void *ctx, void *file, pml_error *err)
{
    faulty_fs *f = ctx;
    fault t = enter(f, FS_OP_CLOSE_WRITE, NULL);
    int rc = f->inner.close_write(f->inner.ctx, file, err);
    return t.mode != FAULT_NONE ? fault_set(&t, err) : rc;
}

static int faulty_publish(void *ctx, const char *from, const char *to, pml_error *err)
{
    SIMPLE(FS_OP_PUBLISH, to, f->inner.publish(f->inner.ctx, from, to, err));
}

static int faulty_replace(void *ctx, const char *from, const char *to, pml_error *err)
{
    SIMPLE(FS_OP_REPLACE, to, f->inner.replace(f->inner.ctx, from, to, err));
}

static int faulty_remove_file(void *ctx, const char *path, pml_error *err)
{
    SIMPLE(FS_OP_REMOVE_FILE, path, f->inner.remove_file(f->inner.ctx, path, err));
}

static int faulty_remove_directory(void *ctx, const char *path, pml_error *err)
{
    SIMPLE(FS_OP_REMOVE_DIRECTORY, path, f->inner.remove_directory(f->inner.ctx, path, err));
}

static int faulty_make_directory(void *ctx, const char *path, pml_error *err)
{
    SIMPLE(FS_OP_MAKE_DIRECTORY, path, f->inner.make_directory(f->inner.ctx, path, err));
}

static int faulty_sync_directory(void *ctx, const char *path, pml_error *err)
{
    SIMPLE(FS_OP_SYNC_DIRECTORY, path, f->inner.sync_directory(f->inner.ctx, path, err));
}

static int faulty_stat(void *ctx, pml_file_info *info, const char *path, pml_error *err)
{
    faulty_fs *f = ctx;
    fault t = enter(f, FS_OP_STAT, path);
    *info = (pml_file_info){.struct_size = sizeof *info};
    return t.mode != FAULT_NONE ? fault_set(&t, err) : f->inner.stat(f->inner.ctx, info, path, err);
}

static int faulty_list(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err)
{
    SIMPLE(FS_OP_LIST, path, f->inner.list(f->inner.ctx, path, fn, arg, err));
}

static int faulty_sync_all(void *ctx, const char *path, pml_error *err)
{
    SIMPLE(FS_OP_SYNC_ALL, path, f->inner.sync_all(f->inner.ctx, path, err));
}

void faulty_fs_init(faulty_fs *f, const pml_file_system *inner)
{
    *f = (faulty_fs){.inner = *inner, .fail_kinds = FS_OP_ALL};
    f->fs = (pml_file_system){
        .struct_size = sizeof f->fs,
        .ctx = f,
        .open_read = faulty_open_read,
        .size = faulty_size,
        .read_at = faulty_read_at,
        .close_read = faulty_close_read,
        .create = faulty_create,
        .write = faulty_write,
        .sync = faulty_sync,
        .close_write = faulty_close_write,
        .publish = faulty_publish,
        .replace = faulty_replace,
        .remove_file = faulty_remove_file,
        .remove_directory = faulty_remove_directory,
        .make_directory = faulty_make_directory,
        .sync_directory = faulty_sync_directory,
        .stat = faulty_stat,
        .list = faulty_list,
        .sync_all = inner->sync_all == NULL ? NULL : faulty_sync_all,
    };
    pml_mutex__init(&f->lock, "faulty_fs", 0);
}

void faulty_fs_destroy(faulty_fs *f)
{
    pml_mutex__destroy(&f->lock);
}

void faulty_fs_fail_at(faulty_fs *f, long long n, fault_mode mode, int code, uint32_t flags)
{
    pml_mutex__lock(&f->lock);
    f->fail_at = n;
    f->mode = mode;
    f->fail_code = code;
    f->fail_flags = flags;
    f->sticky = false;
    pml_mutex__unlock(&f->lock);
}

void faulty_fs_fail_kinds(faulty_fs *f, uint32_t kinds)
{
    pml_mutex__lock(&f->lock);
    f->fail_kinds = kinds;
    pml_mutex__unlock(&f->lock);
}

void faulty_fs_fail_sticky(faulty_fs *f)
{
    pml_mutex__lock(&f->lock);
    f->sticky = true;
    pml_mutex__unlock(&f->lock);
}

void faulty_fs_call_at(faulty_fs *f, long long n, uint32_t kinds, faulty_fs_fn fn, void *arg)
{
    pml_mutex__lock(&f->lock);
    f->call_at = n;
    f->call_kinds = kinds;
    f->call_fn = fn;
    f->call_arg = arg;
    pml_mutex__unlock(&f->lock);
}

void faulty_fs_reset(faulty_fs *f)
{
    pml_mutex__lock(&f->lock);
    memset(f->counts, 0, sizeof f->counts);
    f->fail_at = f->call_at = f->failures = 0;
    f->fail_kinds = FS_OP_ALL;
    f->sticky = false;
    pml_mutex__unlock(&f->lock);
}

long long faulty_fs_count(faulty_fs *f, uint32_t kinds)
{
    long long n = 0;
    pml_mutex__lock(&f->lock);
    for (int k = 0; k < FS_OP_COUNT; k++)
        n += (kinds & FS_OP(k)) != 0 ? f->counts[k] : 0;
    pml_mutex__unlock(&f->lock);
    return n;
}

long long faulty_fs_failures(faulty_fs *f)
{
    pml_mutex__lock(&f->lock);
    long long n = f->failures;
    pml_mutex__unlock(&f->lock);
    return n;
}
