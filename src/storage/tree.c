/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing a directory with everything in it. The directories that wait are kept in a list, not on the call stack, so that depth
 * costs memory only: first all are found, parents before children, then they are removed from the end.
 *
 * Listings follow links, and what a link points to is not ours to remove. A link can be removed like a file and a directory cannot,
 * so that is tried first with all that looks like a directory.
 */
#include <string.h>

#include "storage/durable_dirs.h"
#include "storage/file_io.h"

enum { TREE_DIRECTORIES_MAX = 16 * 1024 * 1024 };

typedef struct tree {
    pml_env *env;
    char **dirs;
    size_t n, cap;
    const char *parent; /* being listed */
    char **files;       /* of the directory being listed */
    size_t n_files, cap_files;
} tree;

static int push(tree *t, char ***v, size_t *n, size_t *cap, const char *name)
{
    char *path = pml_env__format(t->env, "%s/%s", t->parent, name);
    if (path == NULL)
        return PML_E_NOMEM;
    if (*n == *cap) {
        size_t wider = *cap == 0 ? 32 : *cap * 2;
        char **p = wider > TREE_DIRECTORIES_MAX ? NULL
                   : *v == NULL                 ? pml_env__alloc(t->env, wider * sizeof *p)
                                                : pml_env__realloc(t->env, *v, wider * sizeof *p);
        if (p == NULL) {
            pml_env__free(t->env, path);
            return PML_E_NOMEM;
        }
        *v = p;
        *cap = wider;
    }
    (*v)[(*n)++] = path;
    return PML_OK;
}

static int visit(void *arg, const char *name, uint32_t kind)
{
    tree *t = arg;
    return kind == PML_FILE_DIRECTORY ? push(t, &t->dirs, &t->n, &t->cap, name)
                                      : push(t, &t->files, &t->n_files, &t->cap_files, name);
}

static int remove_files(tree *t, pml_error *err)
{
    int rc = PML_OK;
    for (size_t i = 0; i < t->n_files; i++) {
        if (rc == PML_OK)
            rc = pml_file__remove(t->env, t->files[i], err);
        pml_env__free(t->env, t->files[i]);
    }
    t->n_files = 0;
    return rc;
}

static int walk(tree *t, pml_error *err)
{
    const pml_file_system *fs = &t->env->fs;
    for (size_t i = 0; i < t->n; i++) {
        t->parent = t->dirs[i];
        if (i > 0 && fs->remove_file(fs->ctx, t->parent, NULL) == PML_OK)
            continue;
        int rc = fs->list(fs->ctx, t->parent, visit, t, err);
        int rc_files = remove_files(t, rc == PML_OK ? err : NULL);
        if (rc == PML_E_NOMEM)
            return pml_error__no_memory(err);
        if (rc != PML_OK && rc != PML_E_NOT_FOUND)
            return rc;
        PML_RETURN_IF(rc_files);
    }
    for (size_t i = t->n; i-- > 0;) {
        int rc = fs->remove_directory(fs->ctx, t->dirs[i], err);
        if (rc != PML_OK && rc != PML_E_NOT_FOUND)
            return rc;
    }
    return PML_OK;
}

int pml_file__remove_tree(pml_env *env, const char *path, pml_error *err)
{
    tree t = {.env = env};
    pml_durable_dirs__forget(env);
    size_t slash = strlen(path);
    int rc;
    while (slash > 0 && path[slash - 1] != '/')
        slash--;
    char *parent = slash == 0 ? pml_env__strdup(env, ".") : pml_env__strndup(env, path, slash > 1 ? slash - 1 : 1);
    t.parent = parent;
    rc = parent == NULL ? pml_error__no_memory(err) : PML_OK;
    if (rc == PML_OK && push(&t, &t.dirs, &t.n, &t.cap, path + slash) != PML_OK)
        rc = pml_error__no_memory(err);
    if (rc == PML_OK)
        rc = walk(&t, err);
    (void)remove_files(&t, NULL);
    for (size_t i = 0; i < t.n; i++)
        pml_env__free(env, t.dirs[i]);
    pml_env__free(env, t.dirs);
    pml_env__free(env, t.files);
    pml_env__free(env, parent);
    return rc;
}
