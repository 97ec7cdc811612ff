/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/durable_dirs.h"

#include <errno.h>
#include <string.h>

#include "util/map.h"
#include "util/thread.h"

enum { KNOWN_MAX = 65536 }; /* then it begins anew: some syncs more */

typedef struct known {
    pml_mutex mu;
    pml_map paths; /* guarded by mu; without slashes at the end */
} known;

static int known_make(pml_env *env, void **out, pml_error *err)
{
    known *k = pml_env__calloc(env, 1, sizeof *k);
    *out = k;
    if (k == NULL)
        return pml_error__no_memory(err);
    pml_mutex__init(&k->mu, "durable directories", 0);
    pml_map__init(&k->paths, env);
    return PML_OK;
}

static void known_free(pml_env *env, void *slot)
{
    known *k = slot;
    pml_map__clear(&k->paths, NULL);
    pml_mutex__destroy(&k->mu);
    pml_env__free(env, k);
}

/* NULL: no memory, nothing is known. */
static known *known_of(pml_env *env)
{
    void *k = NULL;
    return pml_env__slot(env, PML_ENV_SLOT_DIRECTORIES, &k, known_make, known_free, NULL) == PML_OK ? k : NULL;
}

static bool is_known(known *k, const char *path, size_t n)
{
    if ((n == 1 && (path[0] == '/' || path[0] == '.')) || (n == 2 && memcmp(path, "..", 2) == 0))
        return true;
    if (k == NULL)
        return false;
    pml_mutex__lock(&k->mu);
    bool is = pml_map__has(&k->paths, path, n);
    pml_mutex__unlock(&k->mu);
    return is;
}

static void note(known *k, const char *path, size_t n)
{
    if (k == NULL)
        return;
    pml_mutex__lock(&k->mu);
    if (k->paths.live >= KNOWN_MAX) {
        pml_env *env = k->paths.env;
        pml_map__clear(&k->paths, NULL);
        pml_map__init(&k->paths, env);
    }
    (void)pml_map__put(&k->paths, path, n, k, NULL);
    pml_mutex__unlock(&k->mu);
}

static size_t without_slashes(const char *path, size_t n)
{
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* How much of path[0, n) is the directory above it; 0: there is none that has a name here ("/", "a", "scheme://a"). */
static size_t above(const char *path, size_t n)
{
    size_t end = n;
    while (end > 0 && path[end - 1] != '/')
        end--;
    end = without_slashes(path, end);
    return end > 0 && path[end - 1] == ':' ? 0 : end;
}

/* "a", whose name stands in the working directory. That itself is of nobody's making, like "/". */
static bool is_relative(const char *path, size_t n)
{
    return n > 0 && memchr(path, '/', n) == NULL;
}

static bool is_not_ours(const pml_error *e)
{
    return e->sys_errno == EACCES || e->sys_errno == EPERM;
}

int pml_durable_dirs__ensure(pml_env *env, const char *dir, pml_error *err)
{
    known *k = known_of(env);
    size_t len = without_slashes(dir, strlen(dir)), n = len, up;
    int rc = PML_OK;
    if (is_known(k, dir, len))
        return PML_OK;
    char *path = pml_env__strndup(env, dir, len);
    if (path == NULL)
        return pml_error__no_memory(err);
    while (rc == PML_OK && n > 0 && !is_known(k, path, n) && ((up = above(path, n)) > 0 || is_relative(path, n))) {
        pml_error own = PML_ERROR_INIT;
        path[n = up] = '\0';
        rc = env->fs.sync_directory(env->fs.ctx, n == 0 ? "." : path, &own);
        if (rc != PML_OK && is_not_ours(&own)) {
            rc = PML_OK;
            break;
        }
        if (rc != PML_OK && err != NULL)
            *err = own;
    }
    pml_env__free(env, path);
    for (size_t i = len; rc == PML_OK && i > n; i = above(dir, i))
        note(k, dir, i);
    return rc;
}

void pml_durable_dirs__made(pml_env *env, const char *dir)
{
    known *k = known_of(env);
    size_t n = without_slashes(dir, strlen(dir)), up = above(dir, n);
    if (is_relative(dir, n) || (up > 0 && is_known(k, dir, up)))
        note(k, dir, n);
}

void pml_durable_dirs__table(pml_env *env, const char *table)
{
    size_t n = without_slashes(table, strlen(table));
    size_t database = above(table, n), warehouse = database == 0 ? 0 : above(table, database);
    if (warehouse > 0)
        note(known_of(env), table, warehouse);
}

void pml_durable_dirs__forget(pml_env *env)
{
    known *k = known_of(env);
    if (k == NULL)
        return;
    pml_mutex__lock(&k->mu);
    pml_map__clear(&k->paths, NULL);
    pml_map__init(&k->paths, env);
    pml_mutex__unlock(&k->mu);
}

size_t pml_durable_dirs__count(pml_env *env)
{
    known *k = known_of(env);
    if (k == NULL)
        return 0;
    pml_mutex__lock(&k->mu);
    size_t n = k->paths.live;
    pml_mutex__unlock(&k->mu);
    return n;
}
