/* SPDX-License-Identifier: Apache-2.0 */
/* The file-system catalog: a warehouse directory with <database>.db/<table> in it. */
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "table/table.h"

enum { CATALOG_NAMES_MAX = 1000000, NAME_BYTES_MAX = 255 };

struct pml_catalog {
    pml_env *env;
    char *warehouse;
};

int pml_catalog_open(pml_catalog **out, pml_env *env, const char *warehouse, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (warehouse == NULL || warehouse[0] == '\0')
        return pml_error__set(err, PML_E_INVAL, "the warehouse directory is empty");
    pml_catalog *c = pml_env__calloc(env, 1, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(err);
    c->warehouse = pml_env__strdup(env, warehouse);
    if (c->warehouse == NULL) {
        pml_env__free(env, c);
        return pml_error__no_memory(err);
    }
    c->env = env;
    pml_env_acquire(env);
    *out = c;
    return PML_OK;
}

void pml_catalog_release(pml_catalog *c)
{
    if (c == NULL)
        return;
    pml_env *env = c->env;
    pml_env__free(env, c->warehouse);
    pml_env__free(env, c);
    pml_env_release(env);
}

static bool name_is_plain(const char *s, size_t n)
{
    if (n == 0 || n > NAME_BYTES_MAX || s[0] == '.')
        return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] == '/' || s[i] == '.' || s[i] == '\0' || (unsigned char)s[i] < 0x20)
            return false;
    return true;
}

int pml_catalog_table_path(pml_text *out, pml_catalog *c, const char *name, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (pml_text){0};
    PML_RETURN_IF(pml_error__need(name, "name", err));
    const char *dot = strchr(name, '.');
    const char *db = dot == NULL ? "default" : name, *table = dot == NULL ? name : dot + 1;
    size_t db_len = dot == NULL ? strlen(db) : (size_t)(dot - name);
    if (!name_is_plain(db, db_len) || !name_is_plain(table, strlen(table)))
        return pml_error__set(err, PML_E_INVAL,
                              "'%s' is no table name: use database.table or table, without '/' and further '.'", name);
    if (strchr(name, '$') != NULL)
        return pml_error__set(
            err, PML_E_UNSUPPORTED,
            "'%s' names a system table or a branch with '$', which this version lacks: leave out '$' and "
            "what is behind it",
            name);
    if (db_len == 3 && memcmp(db, "sys", 3) == 0)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "'%s': the database sys is that of the system tables, which this version lacks", name);
    out->ptr = pml_env__format(c->env, "%s/%.*s.db/%s", c->warehouse, (int)db_len, db, table);
    if (out->ptr == NULL)
        return pml_error__no_memory(err);
    out->len = strlen(out->ptr);
    out->env = c->env;
    return PML_OK;
}

struct listing {
    pml_catalog *c;
    pml_names *names;
    const char *db; /* NULL while databases are listed */
    size_t db_len;
    size_t cap;
    pml_error err; /* of a failure inside a callback */
};

/* What a callback could not do is told by l->err, what the listing could not do by itself goes there, too. */
static int list_directory(struct listing *l, const char *path, pml_list_fn fn)
{
    pml_error own = PML_ERROR_INIT;
    pml_error__clear(&l->err);
    int rc = l->c->env->fs.list(l->c->env->fs.ctx, path, fn, l, &own);
    if (rc != PML_OK && l->err.code != rc)
        l->err = own;
    return rc;
}

static int names_add(struct listing *l, char *name)
{
    if (name == NULL)
        return pml_error__no_memory(&l->err);
    if (l->names->n == l->cap) {
        size_t cap = l->cap == 0 ? 16 : l->cap * 2;
        bool fits = cap <= CATALOG_NAMES_MAX;
        char **v = fits ? pml_env__realloc(l->c->env, l->names->v, cap * sizeof *v) : NULL;
        if (v == NULL) {
            pml_env__free(l->c->env, name);
            return fits ? pml_error__no_memory(&l->err)
                        : pml_error__set(&l->err, PML_E_LIMIT, "%s holds too many names: at most %d are listed",
                                         l->c->warehouse, CATALOG_NAMES_MAX / 2);
        }
        l->names->v = v;
        l->cap = cap;
    }
    l->names->v[l->names->n++] = name;
    return PML_OK;
}

static int list_table(void *arg, const char *name, uint32_t kind)
{
    struct listing *l = arg;
    int64_t id = -1;
    if (kind != PML_FILE_DIRECTORY || !name_is_plain(name, strlen(name)))
        return PML_OK;
    char *path = pml_env__format(l->c->env, "%s/%.*s.db/%s", l->c->warehouse, (int)l->db_len, l->db, name);
    if (path == NULL)
        return pml_error__no_memory(&l->err);
    int rc = pml_table__latest_schema_id(&id, l->c->env, path, &l->err);
    pml_env__free(l->c->env, path);
    if (rc != PML_OK || id < 0)
        return rc == PML_E_NOMEM ? rc : PML_OK;
    return names_add(l, pml_env__format(l->c->env, "%.*s.%s", (int)l->db_len, l->db, name));
}

static int list_database(void *arg, const char *name, uint32_t kind)
{
    struct listing *l = arg;
    size_t n = strlen(name);
    if (kind != PML_FILE_DIRECTORY || n < 4 || strcmp(name + n - 3, ".db") != 0 || !name_is_plain(name, n - 3))
        return PML_OK;
    char *path = pml_path__join(l->c->env, l->c->warehouse, name);
    if (path == NULL)
        return pml_error__no_memory(&l->err);
    l->db = name;
    l->db_len = n - 3;
    int rc = list_directory(l, path, list_table);
    pml_env__free(l->c->env, path);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc; /* dropped meanwhile */
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int pml_catalog_tables(pml_names *out, pml_catalog *c, pml_error *err)
{
    struct listing l = {.c = c, .names = out, .err = PML_ERROR_INIT};
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (pml_names){.env = c->env};
    int rc = list_directory(&l, c->warehouse, list_database);
    if (rc != PML_OK) {
        pml_names_clear(out);
        if (err != NULL)
            *err = l.err;
        return rc;
    }
    if (out->n > 1)
        qsort(out->v, out->n, sizeof *out->v, compare_names);
    return PML_OK;
}

static int list_name(void *arg, const char *name, uint32_t kind)
{
    struct listing *l = arg;
    (void)kind;
    return names_add(l, pml_env__strdup(l->c->env, name));
}

/* The schemas go last: as long as they are there the table exists and can be dropped again. Without them what is left of it would
   come back to life in the next table of this name. */
static int drop_all_but_schemas(pml_catalog *c, const char *path, pml_error *err)
{
    pml_names names = {.env = c->env};
    struct listing l = {.c = c, .names = &names, .err = PML_ERROR_INIT};
    int rc = list_directory(&l, path, list_name);
    if (rc != PML_OK && err != NULL)
        *err = l.err;
    for (size_t i = 0; rc == PML_OK && i < names.n; i++) {
        if (strcmp(names.v[i], "schema") == 0)
            continue;
        char *child = pml_path__join(c->env, path, names.v[i]);
        if (child == NULL)
            rc = pml_error__no_memory(err);
        else if (pml_file__remove(c->env, child, NULL) != PML_OK) /* no file, no link */
            rc = pml_file__remove_tree(c->env, child, err);
        pml_env__free(c->env, child);
    }
    pml_names_clear(&names);
    return rc;
}

int pml_catalog_drop_table(pml_catalog *c, const char *name, pml_error *err)
{
    pml_text path;
    int64_t id;
    int rc;
    PML_RETURN_IF(pml_catalog_table_path(&path, c, name, err));
    PML_TRY(pml_table__latest_schema_id(&id, c->env, path.ptr, err));
    if (id < 0) {
        rc = pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SCHEMA, path.ptr, "there is no table %s in %s", name,
                           c->warehouse);
        goto out;
    }
    PML_TRY(drop_all_but_schemas(c, path.ptr, err));
    PML_TRY(pml_file__remove_tree(c->env, path.ptr, err));
out:
    pml_text_clear(&path);
    return rc;
}
