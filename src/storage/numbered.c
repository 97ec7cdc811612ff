/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/numbered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "util/number.h"

enum {
    HINT_TRIES = 3,
    HINT_READ_PAUSE_MS = 1,      /* a writer that overwrites in place is done by then */
    HINT_WRITE_PAUSE_MS = 500,   /* plus up to a second at random, so that several writers part */
    ID_TEXT_MAX = 20             /* characters of the longest 64-bit number and one more */
};

/* Whether the text is exactly what a number >= 0 is printed as. */
static bool parse_id(int64_t *id, const char *s, size_t n)
{
    if (n == 0 || s[0] == '-' || (s[0] == '0' && n > 1))
        return false;
    return pml_number__int64(id, s, n);
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

typedef struct id_listing {
    pml_env *env;
    const char *prefix;
    size_t prefix_len;
    bool collect; /* false: only the extremes are wanted */
    int64_t *ids;
    size_t n, cap;
    int64_t first, last; /* -1: none */
    int rc;              /* of ours, apart from what list answers */
} id_listing;

static int listing_grow(id_listing *l)
{
    size_t cap = l->cap == 0 ? 64 : l->cap * 2;
    if (l->n >= PML_NUMBERED_COUNT_MAX)
        return l->rc = PML_E_LIMIT;
    size_t n = cap * sizeof *l->ids;
    int64_t *p = l->ids == NULL ? pml_env__alloc(l->env, n) : pml_env__realloc(l->env, l->ids, n);
    if (p == NULL)
        return l->rc = PML_E_NOMEM;
    l->ids = p;
    l->cap = cap;
    return PML_OK;
}

static int listing_take(void *arg, const char *name, uint32_t kind)
{
    id_listing *l = arg;
    int64_t id;
    if (kind == PML_FILE_DIRECTORY || strncmp(name, l->prefix, l->prefix_len) != 0)
        return PML_OK;
    if (!parse_id(&id, name + l->prefix_len, strlen(name + l->prefix_len)))
        return PML_OK;
    if (l->first < 0 || id < l->first)
        l->first = id;
    if (id > l->last)
        l->last = id;
    if (!l->collect)
        return PML_OK;
    if (l->n == l->cap)
        PML_RETURN_IF(listing_grow(l));
    l->ids[l->n++] = id;
    return PML_OK;
}

static int listing_run(id_listing *l, pml_env *env, const char *dir, const char *prefix, bool collect, pml_error *err)
{
    pml_error local = PML_ERROR_INIT;
    *l = (id_listing){.env = env, .prefix = prefix, .prefix_len = strlen(prefix), .collect = collect};
    l->first = l->last = -1;
    int rc = env->fs.list(env->fs.ctx, dir, listing_take, l, &local);
    if (rc == PML_E_NOT_FOUND)
        return PML_OK;
    if (rc != PML_OK) {
        if (l->rc == PML_E_LIMIT)
            (void)pml_error__at(&local, rc, PML_PLACE_FILE, dir, "%s holds more than %d files named %s<number>", dir,
                                PML_NUMBERED_COUNT_MAX, prefix);
        else if (l->rc == PML_E_NOMEM)
            (void)pml_error__no_memory(&local);
        pml_env__free(env, l->ids);
        l->ids = NULL;
        if (err != NULL)
            *err = local;
    }
    return rc;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int pml_file__list_ids(int64_t **ids, size_t *n, pml_env *env, const char *dir, const char *prefix, pml_error *err)
{
    id_listing l;
    *ids = NULL;
    *n = 0;
    PML_RETURN_IF(listing_run(&l, env, dir, prefix, true, err));
    if (l.n > 1)
        qsort(l.ids, l.n, sizeof *l.ids, compare_ids);
    *ids = l.ids;
    *n = l.n;
    return PML_OK;
}

/* ---- hints ------------------------------------------------------------------------------------------------------- */

static int hint_read_once(int64_t *id, pml_env *env, const char *path)
{
    char text[ID_TEXT_MAX + 1];
    void *file;
    size_t got;
    PML_RETURN_IF(env->fs.open_read(env->fs.ctx, &file, path, NULL));
    int rc = env->fs.read_at(env->fs.ctx, &got, file, 0, text, sizeof text, NULL);
    env->fs.close_read(env->fs.ctx, file);
    if (rc == PML_OK && !parse_id(id, text, got))
        rc = PML_E_CORRUPT;
    return rc;
}

/* The number in the hint, or -1. Every error is swallowed: the listing that follows says what is really wrong. */
static int64_t hint_read(pml_env *env, const char *dir, const char *name)
{
    char *path = pml_env__format(env, "%s/%s", dir, name);
    int64_t id = -1;
    if (path == NULL)
        return -1;
    for (int i = 0; i < HINT_TRIES; i++) {
        int rc = hint_read_once(&id, env, path);
        if (rc == PML_OK || rc == PML_E_NOT_FOUND)
            break;
        id = -1;
        if (i + 1 < HINT_TRIES)
            pml_env__sleep_ms(env, HINT_READ_PAUSE_MS);
    }
    pml_env__free(env, path);
    return id;
}

/* False also when it could not be found out: the hint is not used then. */
static bool certainly(bool wanted, pml_env *env, const char *dir, const char *prefix, int64_t id)
{
    char *path = pml_env__format(env, "%s/%s%lld", dir, prefix, (long long)id);
    bool exists = false;
    int rc = path == NULL ? PML_E_NOMEM : pml_file__exists(&exists, env, path, NULL);
    pml_env__free(env, path);
    return rc == PML_OK && exists == wanted;
}

int pml_numbered__latest(int64_t *id, pml_env *env, const char *dir, const char *prefix, uint32_t flags, pml_error *err)
{
    id_listing l;
    *id = -1;
    int64_t hint = (flags & PML_NUMBERED_NO_HINT) != 0 ? -1 : hint_read(env, dir, "LATEST");
    /* The next one must be missing, else the hint is old. The file itself must exist, too: of a hint "12" that was cut to
       "1" the next one is missing as soon as the first files have been removed. */
    if (hint > 0 && hint < INT64_MAX && certainly(true, env, dir, prefix, hint) &&
        certainly(false, env, dir, prefix, hint + 1)) {
        *id = hint;
        return PML_OK;
    }
    PML_RETURN_IF(listing_run(&l, env, dir, prefix, false, err));
    *id = l.last;
    return PML_OK;
}

int pml_numbered__earliest(int64_t *id, pml_env *env, const char *dir, const char *prefix, uint32_t flags, pml_error *err)
{
    id_listing l;
    *id = -1;
    int64_t hint = (flags & PML_NUMBERED_NO_HINT) != 0 ? -1 : hint_read(env, dir, "EARLIEST");
    if (hint >= 0 && certainly(true, env, dir, prefix, hint)) {
        *id = hint;
        return PML_OK;
    }
    PML_RETURN_IF(listing_run(&l, env, dir, prefix, false, err));
    *id = l.first;
    return PML_OK;
}

int pml_numbered__write_hint(pml_env *env, const char *dir, const char *name, int64_t id, pml_error *err)
{
    char text[ID_TEXT_MAX + 4];
    uint32_t jitter = 0;
    int rc = PML_OK;
    int n = snprintf(text, sizeof text, "%lld", (long long)id);
    char *path = pml_env__format(env, "%s/%s", dir, name);
    if (path == NULL)
        return pml_error__no_memory(err);
    for (int i = 0; i < HINT_TRIES; i++) {
        rc = pml_file__replace(env, path, text, (size_t)n, err);
        if (rc == PML_OK)
            break;
        if (i + 1 == HINT_TRIES)
            break;
        if (pml_env__random(env, &jitter, sizeof jitter, NULL) != PML_OK)
            jitter = 500;
        pml_env__sleep_ms(env, HINT_WRITE_PAUSE_MS + (int64_t)(jitter % 1001));
    }
    pml_env__free(env, path);
    return rc;
}
