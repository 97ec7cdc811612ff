/* SPDX-License-Identifier: Apache-2.0 */
/* Where progress files are (realtime.md 7.1), reading and writing them. */
#include <string.h>

#include "realtime/rt_offsets.h"
#include "storage/file_io.h"

/* ---- places ---- */

/* A path that stands alone: absolute, or with a scheme ("file:/t", "s3://b/t"). */
static bool is_full(const char *path)
{
    const char *colon = strchr(path, ':'), *slash = strchr(path, '/');
    return path[0] == '/' || (colon != NULL && (slash == NULL || colon < slash));
}

/* Whether a part between slashes is "..". */
static bool climbs(const char *path)
{
    const char *part = path;
    while (part != NULL) {
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0'))
            return true;
        part = strchr(part, '/');
        part = part == NULL ? NULL : part + 1;
    }
    return false;
}

/* The rest of path behind "<root>/", NULL when it is not below. */
static const char *below(const char *path, const char *root)
{
    size_t n = strlen(root);
    return strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static int refuse(const char *value, const char *why, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_PROGRESS, value,
                         "the snapshot property " PML_PROGRESS_PROPERTY " is '%.200s': %s", value, why);
}

static int check_value(const char *value, const char *branch_root, pml_error *err)
{
    const char *rest = below(value, branch_root); /* the root itself is the caller's word: it may climb */
    const char *name = strrchr(value, '/');
    size_t n = strlen(value), suffix = strlen(PML_PROGRESS_SUFFIX);
    name = name == NULL ? value : name + 1;
    if (climbs(rest == NULL ? value : rest))
        return refuse(value, "a path with '..' is refused", err);
    if (n < suffix || strcmp(value + n - suffix, PML_PROGRESS_SUFFIX) != 0 || strlen(name) == suffix)
        return refuse(value, "it does not name a file *" PML_PROGRESS_SUFFIX, err);
    return PML_OK;
}

void pml_progress__free_paths(pml_env *env, char *paths[PML_PROGRESS_PATHS])
{
    for (size_t i = 0; i < PML_PROGRESS_PATHS; i++) {
        pml_env__free(env, paths[i]);
        paths[i] = NULL;
    }
}

int pml_progress__paths(char *paths[PML_PROGRESS_PATHS], pml_env *env, const char *table_root, const char *branch_root,
                        const char *value, pml_error *err)
{
    size_t n = 0;
    memset(paths, 0, PML_PROGRESS_PATHS * sizeof *paths);
    PML_RETURN_IF(check_value(value, branch_root, err));
    const char *name = strrchr(value, '/');
    name = name == NULL ? value : name + 1;
    bool full = is_full(value) || below(value, branch_root) != NULL;
    bool branched = strcmp(table_root, branch_root) != 0;
    paths[n++] = full ? pml_env__strdup(env, value) : pml_path__join(env, branch_root, value);
    /* The table was moved, or the branch began with a snapshot of main and the table was moved. */
    paths[n++] = pml_env__format(env, "%s/metadata/%s", branch_root, name);
    if (branched)
        paths[n++] = pml_env__format(env, "%s/metadata/%s", table_root, name);
    bool complete = true;
    for (size_t i = 0; i < n; i++)
        complete = complete && paths[i] != NULL;
    if (complete)
        return PML_OK;
    pml_progress__free_paths(env, paths);
    return pml_error__no_memory(err);
}

/* ---- reading ---- */

int pml_progress__read_file(pml_progress *p, pml_env *env, const char *table_root, const char *branch_root, const char *value,
                            pml_error *err)
{
    char *paths[PML_PROGRESS_PATHS];
    uint8_t *data = NULL;
    size_t len = 0, i;
    int rc;
    PML_RETURN_IF(pml_progress__paths(paths, env, table_root, branch_root, value, err));
    rc = PML_E_NOT_FOUND;
    for (i = 0; rc == PML_E_NOT_FOUND && paths[i] != NULL; i++)
        rc = pml_file__read_all(&data, &len, env, paths[i], PML_PROGRESS_FILE_MAX, err);
    if (rc == PML_E_NOT_FOUND)
        rc = pml_error__at(err, rc, PML_PLACE_PROGRESS, value, "the progress file %.200s is missing, also in %.200s/metadata", value,
                           branch_root);
    else if (rc == PML_OK)
        rc = pml_progress__parse(p, (pml_bytes){data, len}, paths[i - 1], err);
    pml_env__free(env, data);
    pml_progress__free_paths(env, paths);
    return rc;
}

/* ---- writing ---- */

int pml_progress__write_file(char **value, pml_progress *p, pml_env *env, const char *branch_root, uint32_t flags, pml_error *err)
{
    char uuid[37];
    char *path = NULL;
    pml_buf text;
    int rc;
    *value = NULL;
    pml_buf__init(&text, env, PML_PROGRESS_FILE_MAX);
    PML_TRY(pml_progress__write(&text, p, err));
    PML_TRY(pml_env__uuid(env, uuid, err));
    path = pml_env__format(env, "%s/metadata/%s" PML_PROGRESS_SUFFIX, branch_root, uuid);
    if (path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_file__write_new(env, path, text.data, text.len, flags, err));
    /* Readers open the property as it stands: a path that only means something in our working directory would lock them out. */
    rc = pml_file__absolute(value, env, path, err);
    if (rc != PML_OK)
        (void)pml_file__remove(env, path, NULL);
out:
    pml_env__free(env, path);
    pml_buf__clear(&text);
    return rc;
}

/* ---- any file ---- */

enum { STOP = 1 }; /* a result of list that is no error code */

static int is_progress_file(void *arg, const char *name, uint32_t kind)
{
    size_t n = strlen(name), suffix = strlen(PML_PROGRESS_SUFFIX);
    (void)arg;
    return kind != PML_FILE_DIRECTORY && n > suffix && strcmp(name + n - suffix, PML_PROGRESS_SUFFIX) == 0 ? STOP : 0;
}

static int directory_has_file(bool *out, pml_env *env, const char *root, pml_error *err)
{
    char *dir = pml_path__join(env, root, "metadata");
    if (dir == NULL)
        return pml_error__no_memory(err);
    int rc = env->fs.list(env->fs.ctx, dir, is_progress_file, NULL, err);
    pml_env__free(env, dir);
    *out = *out || rc == STOP;
    return rc == STOP || rc == PML_E_NOT_FOUND ? PML_OK : rc;
}

typedef struct branch_names {
    pml_env *env;
    pml_buf names; /* each with its NUL */
} branch_names;

static int note_branch(void *arg, const char *name, uint32_t kind)
{
    branch_names *b = arg;
    if (kind == PML_FILE_DIRECTORY)
        (void)pml_buf__append(&b->names, name, strlen(name) + 1);
    return b->names.rc;
}

static int branches_have_file(bool *out, pml_env *env, const char *table_root, const branch_names *b, pml_error *err)
{
    int rc = PML_OK;
    for (size_t at = 0; rc == PML_OK && !*out && at < b->names.len;) {
        const char *name = (const char *)b->names.data + at;
        char *root = pml_env__format(env, "%s/branch/%s", table_root, name);
        rc = root == NULL ? pml_error__no_memory(err) : directory_has_file(out, env, root, err);
        pml_env__free(env, root);
        at += strlen(name) + 1;
    }
    return rc;
}

int pml_progress__any_file(bool *out, pml_env *env, const char *table_root, pml_error *err)
{
    enum { NAMES_MAX = 64 * 1024 * 1024 }; /* names of branches: a quarter of a million of 255 bytes */
    branch_names b = {.env = env};
    char *dir = NULL;
    int rc;
    *out = false;
    pml_buf__init(&b.names, env, NAMES_MAX);
    PML_TRY(directory_has_file(out, env, table_root, err));
    if (*out)
        goto out;
    dir = pml_path__join(env, table_root, "branch");
    if (dir == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    rc = env->fs.list(env->fs.ctx, dir, note_branch, &b, err);
    if (rc != PML_OK && rc != PML_E_NOT_FOUND) {
        rc = b.names.rc == PML_OK ? rc : pml_buf__check(&b.names, err);
        goto out;
    }
    rc = branches_have_file(out, env, table_root, &b, err);
out:
    pml_env__free(env, dir);
    pml_buf__clear(&b.names);
    if (rc != PML_OK)
        *out = false;
    return rc;
}
