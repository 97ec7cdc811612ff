/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table.h"

#include <string.h>

#include "storage/durable_dirs.h"
#include "storage/file_io.h"
#include "table/new_table.h"

void pml_text_clear(pml_text *text)
{
    if (text->env != NULL)
        pml_env__free(text->env, text->ptr);
    *text = (pml_text){0};
}

int pml_text__of_buf(pml_text *out, pml_buf *buf, pml_error *err)
{
    *out = (pml_text){0};
    PML_RETURN_IF(pml_buf__check(buf, err));
    pml_env *env = buf->env;
    out->ptr = (char *)pml_buf__take(buf, &out->len);
    if (out->ptr == NULL)
        return pml_error__no_memory(err);
    out->env = env;
    return PML_OK;
}

void pml_names_clear(pml_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        pml_env__free(names->env, names->v[i]);
    if (names->env != NULL)
        pml_env__free(names->env, names->v);
    *names = (pml_names){0};
}

static void schema_drop(pml_env *env, void *schema)
{
    (void)env;
    pml_table_schema__release(schema);
}

void pml_table_acquire(pml_table *t)
{
    (void)atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

void pml_table_release(pml_table *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = t->env;
    pml_table_release(t->other); /* which has none itself */
    pml_map__clear(&t->schemas, schema_drop);
    pml_mutex__destroy(&t->schemas_mu);
    pml_table_schema__release(t->schema);
    pml_arena__clear(&t->arena);
    pml_env__free(env, t->branch_root);
    pml_env__free(env, t->path);
    pml_env__free(env, t);
    pml_env_release(env);
}

int pml_table__latest_schema_id(int64_t *id, pml_env *env, const char *branch_root, pml_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    *id = -1;
    char *dir = pml_path__join(env, branch_root, "schema");
    if (dir == NULL)
        return pml_error__no_memory(err);
    int rc = pml_file__list_ids(&ids, &n, env, dir, "schema-", err);
    if (rc == PML_OK && n > 0)
        *id = ids[n - 1];
    pml_env__free(env, ids);
    pml_env__free(env, dir);
    return rc;
}

static int schema_load(pml_table_schema **out, pml_env *env, const char *branch_root, int64_t id, pml_error *err)
{
    uint8_t *data = NULL;
    size_t len = 0;
    int rc;
    *out = NULL;
    char *path = pml_path__schema(env, branch_root, id);
    if (path == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_file__read_all(&data, &len, env, path, PML_SCHEMA_FILE_MAX, err));
    PML_TRY(pml_table_schema__parse(out, env, (pml_bytes){data, len}, path, err));
    if ((*out)->id != id) {
        rc = pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SCHEMA, path, "%s says it is schema %lld", path,
                           (long long)(*out)->id);
        pml_table_schema__release(*out);
        *out = NULL;
    }
out:
    pml_env__free(env, data);
    pml_env__free(env, path);
    return rc;
}

int pml_table__schema_at(const pml_table_schema **out, pml_table *t, int64_t id, pml_error *err)
{
    int rc = PML_OK;
    pml_table_schema *s = NULL;
    if (id == t->schema->id) {
        *out = t->schema;
        return PML_OK;
    }
    *out = NULL;
    if (id < 0)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SCHEMA, t->path, "%s: no schema has the id %lld", t->path,
                             (long long)id);
    pml_mutex__lock(&t->schemas_mu);
    s = pml_map__get(&t->schemas, &id, sizeof id);
    if (s == NULL) {
        rc = schema_load(&s, t->env, t->branch_root, id, err);
        if (rc == PML_E_NOT_FOUND)
            rc = pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SCHEMA, t->path,
                               "schema %lld of %s is missing, but a snapshot or a file was written with it",
                               (long long)id, t->path);
        if (rc != PML_OK)
            goto out;
        if (pml_map__put(&t->schemas, &id, sizeof id, s, NULL) != PML_OK) {
            pml_table_schema__release(s);
            s = NULL;
            rc = pml_error__no_memory(err);
        }
    }
out:
    pml_mutex__unlock(&t->schemas_mu);
    *out = s;
    return rc;
}

int pml_table__check_pairs(const pml_option_pair *v, size_t n, const char *name, pml_error *err)
{
    PML_RETURN_IF(pml_error__need_array(v, n, name, err));
    for (size_t i = 0; i < n; i++)
        if (v[i].key == NULL || v[i].value == NULL)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ARGUMENT, name, "entry %zu of %zu of %s has no key or no value", i, n, name);
    return PML_OK;
}

/* There is room for one more. */
static int override_add(pml_table *t, const char *key, const char *value, pml_error *err)
{
    pml_option *to = &t->overrides[t->n_overrides++];
    to->key = pml_arena__strdup(&t->arena, key);
    to->value = pml_arena__strdup(&t->arena, value);
    return to->key == NULL || to->value == NULL ? pml_error__no_memory(err) : PML_OK;
}

static int overrides_copy(pml_table *t, const pml_table_open_options *o, pml_error *err)
{
    if (o == NULL || o->n_options == 0)
        return PML_OK;
    PML_RETURN_IF(pml_table__check_pairs(o->options, o->n_options, "options", err));
    t->overrides = pml_arena__array(&t->arena, o->n_options, sizeof *t->overrides);
    if (t->overrides == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < o->n_options; i++)
        PML_RETURN_IF(override_add(t, o->options[i].key, o->options[i].value, err));
    return PML_OK;
}

static int table_new(pml_table **out, pml_env *env, const char *path, const char *branch, pml_error *err)
{
    *out = NULL;
    pml_table *t = pml_env__calloc(env, 1, sizeof *t);
    if (t == NULL)
        return pml_error__no_memory(err);
    atomic_init(&t->refs, 1);
    pml_env_acquire(env);
    t->env = env;
    pml_arena__init(&t->arena, env);
    pml_map__init(&t->schemas, env);
    pml_mutex__init(&t->schemas_mu, "table.schemas", 0);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    t->path = pml_env__strndup(env, path, n);
    t->branch_root = t->path == NULL ? NULL : pml_path__branch(env, t->path, branch);
    t->branch = pml_arena__strdup(&t->arena, branch);
    if (t->branch_root == NULL || t->branch == NULL) {
        pml_table_release(t);
        return pml_error__no_memory(err);
    }
    pml_durable_dirs__table(env, t->path);
    *out = t;
    return PML_OK;
}

/* Values that only writing looks at must not stop a reader; where they are in order, writers and commits find them here. */
static int options_parse(pml_table *t, pml_error *err)
{
    if (pml_table_options__parse(&t->options, t->schema, t->overrides, t->n_overrides, true, t->path, NULL) == PML_OK)
        return PML_OK;
    return pml_table_options__parse(&t->options, t->schema, t->overrides, t->n_overrides, false, t->path, err);
}

/* Everything but the schema. */
static int table_begin(pml_table **out, pml_env *env, const char *path, const pml_table_open_options *options, pml_error *err)
{
    *out = NULL;
    if (path == NULL || path[0] == '\0')
        return pml_error__set(err, PML_E_INVAL, "the table's directory is empty");
    if (options != NULL && options->struct_size != sizeof *options)
        return pml_error__set(err, PML_E_INVAL, "pml_table_open_options.struct_size is %zu, this library knows %zu",
                              options->struct_size, sizeof *options);
    const char *branch = options != NULL && options->branch != NULL ? options->branch : "main";
    PML_RETURN_IF(table_new(out, env, path, branch, err));
    return overrides_copy(*out, options, err);
}

/* What the schema's options and content allow. */
static int table_check(pml_table *t, pml_error *err)
{
    PML_RETURN_IF(pml_table_options__check_supported(t->schema, t->overrides, t->n_overrides, false, t->path, err));
    PML_RETURN_IF(pml_table_options__check_fixed(t->schema, t->overrides, t->n_overrides, t->branch, t->path, err));
    return options_parse(t, err);
}

static int table_open(pml_table **out, pml_env *env, const char *path, const pml_table_open_options *options, pml_error *err)
{
    pml_table *t = NULL;
    int64_t id;
    int rc;
    *out = NULL;
    PML_TRY(table_begin(&t, env, path, options, err));
    PML_TRY(pml_table__latest_schema_id(&id, env, t->branch_root, err));
    if (id < 0) {
        rc = pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SCHEMA, t->branch_root,
                           "%s is no table: it holds no schema/schema-N", t->branch_root);
        goto out;
    }
    PML_TRY(schema_load(&t->schema, env, t->branch_root, id, err));
    PML_TRY(table_check(t, err));
    *out = t;
    t = NULL;
out:
    pml_table_release(t);
    return rc;
}

/* ---- another branch (Java: FileStoreTableFactory) ---- */

/* Options that say something of one branch only. Times and snapshots are brought to the other one when a plan is made. */
static bool is_of_one_branch(const char *key)
{
    return strcmp(key, "branch") == 0 || strcmp(key, "bucket") == 0 || strncmp(key, "scan.", 5) == 0;
}

static const char *branch_option(const pml_table *t, const char *key)
{
    const char *name = pml_table_option(t, key);
    return name == NULL || name[strspn(name, " \t\r\n")] == '\0' ? NULL : name;
}

static int open_branch(pml_table **out, const pml_table *t, const char *name, pml_error *err)
{
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_option_pair *pairs = pml_env__calloc(t->env, t->n_overrides, sizeof *pairs);
    *out = NULL;
    if (pairs == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < t->n_overrides; i++)
        if (!is_of_one_branch(t->overrides[i].key))
            pairs[o.n_options++] = (pml_option_pair){t->overrides[i].key, t->overrides[i].value};
    o.options = pairs;
    o.branch = name;
    int rc = table_open(out, t->env, t->path, &o, err);
    pml_env__free(t->env, pairs);
    return rc;
}

static int open_other(pml_table *t, pml_error *err)
{
    const char *fallback = branch_option(t, "scan.fallback-branch"), *primary = branch_option(t, "scan.primary-branch");
    const char *name = fallback != NULL ? fallback : primary;
    pml_error why = PML_ERROR_INIT;
    if (name == NULL)
        return PML_OK;
    if (strchr(name, '/') != NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path, "option %s of %s is '%.200s', which is no name of a branch",
                             fallback != NULL ? "scan.fallback-branch" : "scan.primary-branch", t->path, name);
    int rc = open_branch(&t->other, t, name, &why);
    t->other_first = fallback == NULL;
    if (rc == PML_E_NOT_FOUND) { /* Java goes on without it, too */
        pml_env__log(t->env, PML_LOG_WARN, "table", "branch '%.200s', of which %s shows partitions, does not exist", name, t->path);
        return PML_OK;
    }
    if (rc != PML_OK && err != NULL)
        *err = why;
    return rc;
}

static int with_other(pml_table **out, pml_error *err)
{
    int rc = open_other(*out, err);
    if (rc == PML_OK)
        return PML_OK;
    pml_table_release(*out);
    *out = NULL;
    return rc;
}

int pml_table_open(pml_table **out, pml_env *env, const char *path, const pml_table_open_options *options, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    PML_RETURN_IF(table_open(out, env, path, options, err));
    return with_other(out, err);
}

int pml_table_open_schema(pml_table **out, pml_env *env, const char *path, const char *schema_json, size_t len,
                          const pml_table_open_options *options, pml_error *err)
{
    pml_table *t = NULL;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(pml_error__need(schema_json, "schema_json", err));
    PML_TRY(table_begin(&t, env, path, options, err));
    t->schema_given = true;
    PML_TRY(pml_table_schema__parse(&t->schema, env, (pml_bytes){(const uint8_t *)schema_json, len}, "the given schema", err));
    PML_TRY(table_check(t, err));
    PML_TRY(open_other(t, err));
    *out = t;
    t = NULL;
out:
    pml_table_release(t);
    return rc;
}

int pml_table__at_schema(pml_table **out, pml_table *t, int64_t id, pml_error *err)
{
    pml_table *then = NULL;
    int rc;
    *out = NULL;
    if (id == t->schema->id) {
        pml_table_acquire(t);
        *out = t;
        return PML_OK;
    }
    PML_TRY(table_new(&then, t->env, t->path, t->branch, err));
    then->overrides = pml_arena__array(&then->arena, t->n_overrides, sizeof *then->overrides);
    if (then->overrides == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < t->n_overrides; i++)
        PML_TRY(override_add(then, t->overrides[i].key, t->overrides[i].value, err));
    PML_TRY(schema_load(&then->schema, t->env, t->branch_root, id, err));
    PML_TRY(pml_table_options__check_supported(then->schema, then->overrides, then->n_overrides, false, then->path, err));
    PML_TRY(options_parse(then, err));
    *out = then;
    then = NULL;
out:
    pml_table_release(then);
    return rc;
}

/* Publishes schema-0. PML_E_EXISTS: somebody has made the table. */
static int schema_publish(pml_env *env, const char *path, pml_table_schema *schema, pml_error *err)
{
    pml_buf text;
    int rc;
    char *file = pml_path__schema(env, path, 0);
    pml_buf__init(&text, env, PML_SCHEMA_FILE_MAX);
    if (file == NULL)
        return pml_error__no_memory(err);
    (void)pml_table_schema__write(&text, schema);
    PML_TRY(pml_buf__check(&text, err));
    PML_TRY(pml_file__publish(env, file, text.data, text.len, 0, err));
out:
    pml_buf__clear(&text);
    pml_env__free(env, file);
    return rc;
}

int pml_table_create(pml_table **out, pml_env *env, const char *path, const char *schema_json, size_t len,
                     uint32_t flags, pml_error *err)
{
    pml_table_schema *schema = NULL;
    int64_t id = -1;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (path == NULL || path[0] == '\0')
        return pml_error__set(err, PML_E_INVAL, "the table's directory is empty");
    PML_RETURN_IF(pml_error__need(schema_json, "schema_json", err));
    if ((flags & ~(uint32_t)PML_TABLE_IF_NOT_EXISTS) != 0)
        return pml_error__set(err, PML_E_INVAL, "pml_table_create does not know the flags 0x%x", flags);
    PML_TRY(pml_table__latest_schema_id(&id, env, path, err));
    if (id < 0) {
        pml_table_options parsed;
        PML_TRY(pml_table_schema__parse_request(&schema, env, (pml_bytes){(const uint8_t *)schema_json, len}, err));
        schema->time_ms = pml_env__wall_ms(env);
        PML_TRY(pml_table_options__check_supported(schema, NULL, 0, true, path, err));
        PML_TRY(pml_table_options__parse(&parsed, schema, NULL, 0, true, path, err));
        PML_TRY(pml_new_table__check_merge(env, schema, path, err));
        rc = schema_publish(env, path, schema, err);
        if (rc != PML_OK && rc != PML_E_EXISTS)
            goto out;
        id = rc == PML_E_EXISTS ? 0 : -1;
    }
    if (id >= 0 && (flags & PML_TABLE_IF_NOT_EXISTS) == 0) {
        rc = pml_error__at(err, PML_E_EXISTS, PML_PLACE_SCHEMA, path, "the table %s exists already", path);
        goto out;
    }
    PML_TRY(pml_table_open(out, env, path, NULL, err));
out:
    pml_table_schema__release(schema);
    return rc;
}

pml_env *pml_table_env(const pml_table *t)
{
    return t->env;
}

const char *pml_table_path(const pml_table *t)
{
    return t->path;
}

int64_t pml_table_schema_id(const pml_table *t)
{
    return t->schema->id;
}

const char *pml_table_option(const pml_table *t, const char *key)
{
    for (size_t i = 0; i < t->n_overrides; i++)
        if (strcmp(t->overrides[i].key, key) == 0)
            return t->overrides[i].value;
    return pml_table_schema__option(t->schema, key);
}

const pml_field *pml_table__fields(const pml_table *t, size_t *n)
{
    *n = t->schema->n_fields;
    return t->schema->fields;
}

int pml_table_arrow_schema(struct ArrowSchema *out, const pml_table *t, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    return pml_type__export(out, t->env, t->schema->fields, t->schema->n_fields, err);
}

int pml_table_schema_json(pml_text *out, const pml_table *t, pml_error *err)
{
    pml_buf text;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (pml_text){0};
    pml_buf__init(&text, t->env, PML_SCHEMA_FILE_MAX);
    (void)pml_table_schema__write(&text, t->schema);
    int rc = pml_text__of_buf(out, &text, err);
    pml_buf__clear(&text);
    return rc;
}
