/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/file_io.h"

#include <stdio.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "storage/durable_dirs.h"

#define FS_CALL(env, op, ...) ((env)->fs.op((env)->fs.ctx, __VA_ARGS__))

char *pml_file__parent(pml_env *env, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n == 0 ? pml_env__strdup(env, ".") : pml_env__strndup(env, path, n);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int read_exactly(pml_env *env, void *file, const char *path, uint8_t *p, size_t n, pml_error *err)
{
    size_t got;
    PML_RETURN_IF(FS_CALL(env, read_at, &got, file, 0, p, n, err));
    if (got == n)
        return PML_OK;
    (void)pml_error__at(err, PML_E_IO, PML_PLACE_FILE, path, "%s shrank from %zu to %zu bytes while it was read", path, n,
                        got);
    pml_error__add_flags(err, PML_ERRF_TRANSIENT);
    return PML_E_IO;
}

int pml_file__read_all(uint8_t **data, size_t *len, pml_env *env, const char *path, size_t max, pml_error *err)
{
    int rc;
    void *file = NULL;
    uint8_t *p = NULL;
    int64_t size;
    *data = NULL;
    *len = 0;
    PML_TRY(FS_CALL(env, open_read, &file, path, err));
    PML_TRY(FS_CALL(env, size, &size, file, err));
    if (size < 0 || (uint64_t)size > max || (uint64_t)size >= SIZE_MAX) {
        rc = pml_error__at(err, PML_E_LIMIT, PML_PLACE_FILE, path, "%s has %lld bytes; at most %zu are read", path,
                           (long long)size, max);
        goto out;
    }
    p = pml_env__alloc(env, (size_t)size + 1);
    if (p == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(read_exactly(env, file, path, p, (size_t)size, err));
    p[size] = '\0';
    *data = p;
    *len = (size_t)size;
    p = NULL;
out:
    pml_env__free(env, p);
    if (file != NULL)
        FS_CALL(env, close_read, file);
    return rc;
}

int pml_file__exists(bool *out, pml_env *env, const char *path, pml_error *err)
{
    pml_file_info info;
    pml_error local = PML_ERROR_INIT;
    *out = false;
    int rc = FS_CALL(env, stat, &info, path, &local);
    if (rc == PML_E_NOT_FOUND)
        return PML_OK;
    if (rc == PML_OK)
        *out = true;
    else if (err != NULL)
        *err = local;
    return rc;
}

/* ---- directories ------------------------------------------------------------------------------------------------- */

int pml_file__sync_directory(pml_env *env, const char *path, pml_error *err)
{
    PML_RETURN_IF(FS_CALL(env, sync_directory, path, err));
    return pml_durable_dirs__ensure(env, path, err);
}

static int sync_parent(pml_env *env, const char *path, pml_error *err)
{
    char *dir = pml_file__parent(env, path);
    if (dir == NULL)
        return pml_error__no_memory(err);
    int rc = FS_CALL(env, sync_directory, dir, err);
    pml_env__free(env, dir);
    return rc;
}

/* One directory whose parent exists. Synced also when somebody else has made it just now: we are about to rely on it, and
   its maker may not have come to his sync yet. One of ours that cannot be synced goes again: whoever finds it would rely on it. */
static int make_one(pml_env *env, const char *path, pml_error *err)
{
    pml_error local = PML_ERROR_INIT;
    int rc = FS_CALL(env, make_directory, path, &local);
    if (rc != PML_OK && rc != PML_E_EXISTS) {
        if (err != NULL)
            *err = local;
        return rc;
    }
    int synced = sync_parent(env, path, err);
    if (synced != PML_OK && rc == PML_OK)
        (void)FS_CALL(env, remove_directory, path, NULL);
    if (synced == PML_OK)
        pml_durable_dirs__made(env, path);
    return synced;
}

static int require_directory(pml_env *env, const char *path, pml_error *err)
{
    pml_file_info info;
    PML_RETURN_IF(FS_CALL(env, stat, &info, path, err));
    if (info.kind == PML_FILE_DIRECTORY)
        return PML_OK;
    return pml_error__at(err, PML_E_IO, PML_PLACE_FILE, path, "%s is needed as a directory but is a file", path);
}

/* Goes up by cutting the path until a directory can be made or exists, then down again. From above it would try to make
   "/", which some systems answer with "no permission" rather than "exists". */
int pml_file__make_directories(pml_env *env, const char *path, pml_error *err)
{
    pml_error local = PML_ERROR_INIT;
    size_t len = strlen(path), end;
    char *p = pml_env__strdup(env, path);
    int rc;
    if (p == NULL)
        return pml_error__no_memory(err);
    while (len > 1 && p[len - 1] == '/')
        p[--len] = '\0';
    end = len;
    rc = make_one(env, p, &local);
    while (rc == PML_E_NOT_FOUND) {
        size_t cut = end;
        while (cut > 0 && p[cut - 1] != '/')
            cut--;
        while (cut > 0 && p[cut - 1] == '/')
            cut--;
        if (cut == 0)
            break;
        p[end = cut] = '\0';
        rc = make_one(env, p, &local);
    }
    while (rc == PML_OK && end < len) {
        p[end] = '/';
        end += strlen(p + end);
        rc = make_one(env, p, &local);
    }
    if (rc == PML_OK)
        rc = require_directory(env, path, &local);
    if (rc != PML_OK && err != NULL)
        *err = local;
    pml_env__free(env, p);
    return rc;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

int pml_file__create(void **file, pml_env *env, const char *path, pml_error *err)
{
    pml_error local = PML_ERROR_INIT;
    *file = NULL;
    int rc = FS_CALL(env, create, file, path, &local);
    if (rc == PML_E_NOT_FOUND) {
        char *dir = pml_file__parent(env, path);
        rc = dir == NULL ? pml_error__no_memory(&local) : pml_file__make_directories(env, dir, &local);
        pml_env__free(env, dir);
        if (rc == PML_OK)
            rc = FS_CALL(env, create, file, path, &local);
        else if (rc == PML_E_EXISTS) /* would be read as "the file exists" */
            rc = local.code = PML_E_IO;
    }
    if (rc != PML_OK && err != NULL)
        *err = local;
    return rc;
}

void pml_file__discard(pml_env *env, void *file, const char *path)
{
    if (file != NULL)
        (void)FS_CALL(env, close_write, file, NULL);
    (void)FS_CALL(env, remove_file, path, NULL);
}

int pml_file__end(pml_env *env, void *file, const char *path, uint32_t flags, pml_error *err)
{
    int rc = PML_OK;
    if ((flags & PML_WRITE_NO_SYNC) == 0)
        rc = FS_CALL(env, sync, file, err);
    if (rc != PML_OK) {
        (void)FS_CALL(env, close_write, file, NULL);
        return rc;
    }
    PML_RETURN_IF(FS_CALL(env, close_write, file, err));
    if ((flags & (PML_WRITE_NO_SYNC | PML_WRITE_NO_DIRECTORY_SYNC)) != 0)
        return rc;
    char *dir = pml_file__parent(env, path);
    rc = dir == NULL ? pml_error__no_memory(err) : pml_file__sync_directory(env, dir, err);
    pml_env__free(env, dir);
    return rc;
}

int pml_file__write_new(pml_env *env, const char *path, const void *bytes, size_t n, uint32_t flags, pml_error *err)
{
    void *file;
    PML_RETURN_IF(pml_file__create(&file, env, path, err));
    int rc = n == 0 ? PML_OK : FS_CALL(env, write, file, bytes, n, err);
    if (rc != PML_OK) {
        pml_file__discard(env, file, path);
        return rc;
    }
    rc = pml_file__end(env, file, path, flags, err);
    if (rc != PML_OK)
        pml_file__discard(env, NULL, path);
    return rc;
}

/* "<dir>/.<name>.<uuid>.pml.tmp" */
static int temporary_path(char **out, pml_env *env, const char *path, pml_error *err)
{
    char uuid[37];
    const char *slash = strrchr(path, '/');
    int dir_len = slash == NULL ? 0 : (int)(slash + 1 - path);
    *out = NULL;
    PML_RETURN_IF(pml_env__uuid(env, uuid, err));
    *out = pml_env__format(env, "%.*s.%s.%s" PML_FILE_OWN_TEMPORARY, dir_len, path, path + dir_len, uuid);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

enum { TEMPORARY_TRIES = 8 }; /* names are random: a second try is already a sign of a seeded source of randomness */

/* Content under a temporary name, which is owned by the caller. A taken temporary name must not be taken for "the final
   name exists": another one is tried. */
static int write_temporary(char **temp, pml_env *env, const char *path, const void *bytes, size_t n, uint32_t flags,
                           pml_error *err)
{
    int rc = PML_E_EXISTS;
    *temp = NULL;
    for (int i = 0; rc == PML_E_EXISTS && i < TEMPORARY_TRIES; i++) {
        pml_env__free(env, *temp);
        PML_TRY(temporary_path(temp, env, path, err));
        rc = pml_file__write_new(env, *temp, bytes, n, flags | PML_WRITE_NO_DIRECTORY_SYNC, err);
    }
    if (rc == PML_E_EXISTS)
        rc = pml_error__at(err, PML_E_IO, PML_PLACE_FILE, *temp, "the temporary file %s exists already; try again", *temp);
    else if (rc != PML_OK) /* a create that failed halfway may have left it */
        (void)FS_CALL(env, remove_file, *temp, NULL);
out:
    if (rc != PML_OK) {
        pml_env__free(env, *temp);
        *temp = NULL;
    }
    return rc;
}

static int sync_all(pml_env *env, const char *path, pml_error *err)
{
    if (env->fs.sync_all == NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_FILE, path,
                             "the file system of %s has no sync of the whole: set commit.durability to files", path);
    return FS_CALL(env, sync_all, path, err);
}

static int outcome_unknown(pml_error *err, const char *path, const char *step)
{
    int sys_errno = err->sys_errno;
    char why[sizeof err->message];
    memcpy(why, err->message, sizeof why);
    (void)pml_error__at(err, PML_E_UNKNOWN_OUTCOME, PML_PLACE_FILE, path,
                        "%.200s may or may not be published, %s failed: %.200s; read it to find out", path, step, why);
    err->sys_errno = sys_errno;
    return PML_E_UNKNOWN_OUTCOME;
}

/*
 * What each failure means:
 *   temporary file (name, directory, create, write, sync, close)  the final name was never spoken of: no effect
 *   sync of the whole file system, or of the directory's own name the same
 *   publish says EXISTS                                           no effect, by contract of the file system
 *   publish fails with NO_EFFECT                                  no effect
 *   publish fails otherwise                                       unknown; the temporary file stays, since the request may
 *                                                                 still be under way at a file server
 *   sync of the directory                                         unknown: the name exists, a power cut may take it away
 *   remove of the temporary file                                  published; only rubbish is left
 * The directory is synced before the temporary name is removed: otherwise a crash may keep the removal and lose the link.
 */
static int publish_steps(pml_env *env, const char *path, const void *bytes, size_t n, uint32_t flags, pml_error *err)
{
    char *temp = NULL;
    bool keep_temp = false;
    int rc = PML_OK;
    char *dir = pml_file__parent(env, path); /* now: without memory for it later, the outcome would be unknown */
    bool all = (flags & PML_WRITE_SYNC_ALL) != 0;
    rc = dir == NULL ? pml_error__no_memory(err)
                     : write_temporary(&temp, env, path, bytes, n, all ? PML_WRITE_NO_SYNC : flags, err);
    if (rc == PML_OK && all)
        rc = sync_all(env, dir, err);
    else if (rc == PML_OK && (flags & PML_WRITE_NO_SYNC) == 0)
        rc = pml_durable_dirs__ensure(env, dir, err);
    if (rc != PML_OK) {
        err->flags |= PML_ERRF_NO_EFFECT;
        if (temp != NULL)
            (void)FS_CALL(env, remove_file, temp, NULL);
        goto out;
    }
    pml_error__clear(err); /* a file system that forgets to fill it must not leave us an old flag */
    rc = FS_CALL(env, publish, temp, path, err);
    if (rc == PML_E_EXISTS) {
        err->flags |= PML_ERRF_NO_EFFECT;
    } else if (rc != PML_OK && (err->flags & PML_ERRF_NO_EFFECT) == 0) {
        rc = outcome_unknown(err, path, "the last step");
        keep_temp = true;
    } else if (rc == PML_OK && (flags & PML_WRITE_NO_SYNC) == 0) {
        rc = FS_CALL(env, sync_directory, dir, err);
        if (rc != PML_OK)
            rc = outcome_unknown(err, path, "the sync of its directory");
    }
    if (!keep_temp)
        (void)FS_CALL(env, remove_file, temp, NULL);
out:
    pml_env__free(env, dir);
    pml_env__free(env, temp);
    return rc;
}

int pml_file__publish(pml_env *env, const char *path, const void *bytes, size_t n, uint32_t flags, pml_error *err)
{
    /* The flags of the error decide, so there must be one even when the caller wants none. */
    pml_error local = PML_ERROR_INIT;
    int rc = publish_steps(env, path, bytes, n, flags, &local);
    if (rc != PML_OK && err != NULL)
        *err = local;
    return rc;
}

int pml_file__replace(pml_env *env, const char *path, const void *bytes, size_t n, pml_error *err)
{
    char *temp = NULL;
    int rc;
    PML_TRY(write_temporary(&temp, env, path, bytes, n, PML_WRITE_NO_SYNC, err));
    rc = FS_CALL(env, replace, temp, path, err);
    if (rc != PML_OK)
        (void)FS_CALL(env, remove_file, temp, NULL);
out:
    pml_env__free(env, temp);
    return rc;
}

int pml_file__remove(pml_env *env, const char *path, pml_error *err)
{
    pml_error local = PML_ERROR_INIT;
    int rc = FS_CALL(env, remove_file, path, &local);
    if (rc == PML_E_NOT_FOUND)
        return PML_OK;
    if (rc != PML_OK && err != NULL)
        *err = local;
    return rc;
}

/* ---- names for others ---- */

static bool has_parent_parts(const char *path)
{
    for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2)
        if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == '\0'))
            return true;
    return false;
}

int pml_file__absolute(char **out, pml_env *env, const char *path, pml_error *err)
{
    char real[PATH_MAX];
    const char *use = path;
    *out = NULL;
    if (strstr(path, "://") == NULL && (path[0] != '/' || has_parent_parts(path))) {
        use = realpath(path, real);
        if (use == NULL)
            return pml_error__from_errno(err, errno, path, "find the absolute path of");
    }
    *out = pml_env__strdup(env, use);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}
