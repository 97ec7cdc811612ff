/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/table_schema.h"

#include <string.h>

#include "meta/schema_json.h"

int pml_table_schema__new(pml_table_schema **out, pml_env *env, pml_error *err)
{
    pml_table_schema *s = pml_env__calloc(env, 1, sizeof *s);
    *out = s;
    if (s == NULL)
        return pml_error__no_memory(err);
    atomic_init(&s->refs, 1);
    pml_env_acquire(env);
    pml_arena__init(&s->arena, env);
    return PML_OK;
}

void pml_table_schema__acquire(pml_table_schema *s)
{
    (void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void pml_table_schema__release(pml_table_schema *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = s->arena.env;
    pml_arena__clear(&s->arena);
    pml_env__free(env, s);
    pml_env_release(env);
}

const char *pml_table_schema__option(const pml_table_schema *s, const char *key)
{
    for (size_t i = 0; i < s->n_options; i++)
        if (strcmp(s->options[i].key, key) == 0)
            return s->options[i].value;
    return NULL;
}

int32_t pml_table_schema__find(const pml_table_schema *s, const char *name, size_t len)
{
    for (size_t i = 0; i < s->n_fields; i++)
        if (strncmp(s->fields[i].name, name, len) == 0 && s->fields[i].name[len] == '\0')
            return (int32_t)i;
    return -1;
}

int32_t pml_table_schema__find_id(const pml_table_schema *s, int32_t field_id)
{
    for (size_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].id == field_id)
            return (int32_t)i;
    return -1;
}

/* ---- rules ---- */

static int check_names(const pml_table_schema *s, const pml_json_source *src)
{
    static const char *const reserved[] = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"};
    const pml_type row = {.kind = PML_TYPE_ROW, .n_children = s->n_fields, .children = s->fields};
    PML_RETURN_IF(pml_json__adopt(src, pml_type__validate(&row, s->arena.env, src->err)));
    for (size_t i = 0; i < s->n_fields; i++) {
        const char *name = s->fields[i].name;
        bool bad = strncmp(name, "_KEY_", 5) == 0;
        for (size_t r = 0; r < sizeof reserved / sizeof reserved[0]; r++)
            bad = bad || strcmp(name, reserved[r]) == 0;
        if (bad)
            return pml_json__fail(src, src->code, "column name '%.120s' is reserved; choose another one", name);
    }
    return PML_OK;
}

typedef struct id_check {
    pml_map seen;
    int32_t highest;
    const pml_json_source *src;
} id_check;

static int check_field_ids(id_check *c, const pml_field *fields, size_t n);

static int check_type_ids(id_check *c, const pml_type *t)
{
    if (t->kind == PML_TYPE_ROW)
        return check_field_ids(c, t->children, t->n_children);
    for (size_t i = 0; i < t->n_children; i++) /* children of containers have no ids of their own */
        PML_RETURN_IF(check_type_ids(c, &t->children[i].type));
    return PML_OK;
}

/* Every column and member has an id of its own, none above the highest one. */
static int check_field_ids(id_check *c, const pml_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const pml_field *f = &fields[i];
        void *old;
        if (f->id < 0 || f->id > c->highest)
            return pml_json__fail(c->src, c->src->code,
                                  "column or member '%.120s' has id %d, not between 0 and highestFieldId %d", f->name,
                                  f->id, c->highest);
        if (pml_map__put(&c->seen, &f->id, sizeof f->id, (void *)(uintptr_t)f, &old) != PML_OK)
            return pml_error__no_memory(c->src->err);
        if (old != NULL)
            return pml_json__fail(c->src, c->src->code, "field id %d occurs twice ('%.80s' and '%.80s')", f->id,
                                  ((const pml_field *)old)->name, f->name);
        PML_RETURN_IF(check_type_ids(c, &f->type));
    }
    return PML_OK;
}

static int check_ids(const pml_table_schema *s, const pml_json_source *src)
{
    id_check c = {.highest = s->highest_field_id, .src = src};
    pml_map__init(&c.seen, s->arena.env);
    int rc = check_field_ids(&c, s->fields, s->n_fields);
    pml_map__clear(&c.seen, NULL);
    return rc;
}

/* Column indexes of key names. what: how the list is called in messages. */
static int find_keys(int32_t **out, pml_table_schema *s, const char *const *names, size_t n, const char *what,
                     const pml_json_source *src)
{
    int32_t *index = pml_arena__array(&s->arena, n, sizeof *index);
    *out = NULL;
    if (index == NULL)
        return pml_error__no_memory(src->err);
    if (n > s->n_fields)
        return pml_json__fail(src, src->code, "%s has more names than the table has columns", what);
    for (size_t i = 0; i < n; i++) {
        index[i] = pml_table_schema__find(s, names[i], strlen(names[i]));
        if (index[i] < 0)
            return pml_json__fail(src, src->code, "%s names the column '%.120s', which does not exist", what, names[i]);
        const pml_type *t = &s->fields[index[i]].type;
        if (pml_type__is_nested(t) || t->kind == PML_TYPE_BLOB)
            return pml_json__fail(src, src->code, "%s has column '%.120s' of type %s; keys must be atomic", what,
                                  names[i], pml_type__word(t->kind));
        for (size_t j = 0; j < i; j++)
            if (index[j] == index[i])
                return pml_json__fail(src, src->code, "%s names the column '%.120s' twice", what, names[i]);
    }
    *out = index;
    return PML_OK;
}

static bool is_one_of(int32_t index, const int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == index)
            return true;
    return false;
}

/* Option bucket-key, split at commas as it is: Java 1.4.2 trims nothing here. */
static int split_bucket_key(const char ***out, size_t *n, pml_table_schema *s, const char *text,
                            const pml_json_source *src)
{
    size_t count = 1;
    for (const char *p = text; *p != '\0'; p++)
        count += *p == ',';
    const char **names = pml_arena__array(&s->arena, count, sizeof *names);
    if (names == NULL)
        return pml_error__no_memory(src->err);
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(text, ",");
        names[i] = pml_arena__strndup(&s->arena, text, len);
        if (names[i] == NULL)
            return pml_error__no_memory(src->err);
        text += len + (text[len] == ',');
    }
    *out = names;
    *n = count;
    return PML_OK;
}

/* The primary key without the partition columns: one record per partition makes no sense, so something must remain. */
static int trim_primary_key(pml_table_schema *s, const int32_t *key, const pml_json_source *src)
{
    s->key_index = pml_arena__array(&s->arena, s->n_primary_keys, sizeof *s->key_index);
    if (s->key_index == NULL)
        return pml_error__no_memory(src->err);
    for (size_t i = 0; i < s->n_primary_keys; i++)
        if (!is_one_of(key[i], s->partition_index, s->n_partition_keys))
            s->key_index[s->n_keys++] = key[i];
    if (s->n_primary_keys > 0 && s->n_keys == 0)
        return pml_json__fail(src, src->code, "the primary key holds only partition columns: one row in a partition");
    return PML_OK;
}

static int derive_bucket_keys(pml_table_schema *s, const int32_t *key, const pml_json_source *src)
{
    const char *text = pml_table_schema__option(s, "bucket-key");
    const char **names = NULL;
    PML_RETURN_IF(trim_primary_key(s, key, src));
    s->bucket_index = s->key_index;
    s->n_bucket_keys = s->n_keys;
    if (text == NULL || text[strspn(text, " ")] == '\0')
        return PML_OK;
    PML_RETURN_IF(split_bucket_key(&names, &s->n_bucket_keys, s, text, src));
    PML_RETURN_IF(find_keys(&s->bucket_index, s, names, s->n_bucket_keys, "option bucket-key", src));
    for (size_t i = 0; i < s->n_bucket_keys; i++) {
        if (is_one_of(s->bucket_index[i], s->partition_index, s->n_partition_keys))
            return pml_json__fail(src, src->code, "option bucket-key names the partition column '%.120s'", names[i]);
        if (s->n_primary_keys > 0 && !is_one_of(s->bucket_index[i], key, s->n_primary_keys))
            return pml_json__fail(src, src->code, "option bucket-key names '%.120s', which is not in the primary key",
                                  names[i]);
    }
    return PML_OK;
}

int pml_table_schema__derive(pml_table_schema *s, const pml_json_source *src)
{
    int32_t *key;
    PML_RETURN_IF(check_names(s, src));
    PML_RETURN_IF(check_ids(s, src));
    PML_RETURN_IF(find_keys(&s->partition_index, s, s->partition_keys, s->n_partition_keys, "partitionKeys", src));
    PML_RETURN_IF(find_keys(&key, s, s->primary_keys, s->n_primary_keys, "primaryKeys", src));
    return derive_bucket_keys(s, key, src);
}

/* ---- files ---- */

/* Old releases had other defaults: what they meant is written down before anybody looks at the options. */
static int apply_old_defaults(pml_table_schema *s, const pml_json_source *src)
{
    static const struct {
        int32_t version_last;
        const char *key, *value;
    } old[] = {{1, "bucket", "1"}, {2, "file.format", "orc"}};
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
        if (s->version > old[i].version_last || pml_table_schema__option(s, old[i].key) != NULL)
            continue;
        pml_option *more = pml_arena__array(&s->arena, s->n_options + 1, sizeof *more);
        if (more == NULL)
            return pml_error__no_memory(src->err);
        if (s->n_options > 0)
            memcpy(more, s->options, s->n_options * sizeof *more);
        more[s->n_options++] = (pml_option){old[i].key, old[i].value};
        s->options = more;
    }
    return PML_OK;
}

enum { SCHEMA_VERSION = 3 };

static int fill(pml_table_schema *s, const json_t *root, const pml_json_source *src)
{
    int64_t version, highest;
    bool present;
    PML_RETURN_IF(pml_json__find_int64(&version, &present, root, "version", 1, INT32_MAX, src));
    s->version = present ? (int32_t)version : 1;
    if (s->version > SCHEMA_VERSION)
        return pml_json__fail(src, PML_E_UNSUPPORTED, "schema version %d is newer than %d, which this version knows",
                              s->version, SCHEMA_VERSION);
    PML_RETURN_IF(pml_json__get_int64(&s->id, root, "id", 0, INT64_MAX, src));
    PML_RETURN_IF(pml_schema_json__get_fields(&s->fields, &s->n_fields, &s->arena, root, PML_SCHEMA_IDS_GIVEN, src));
    PML_RETURN_IF(pml_json__get_int64(&highest, root, "highestFieldId", -1, PML_ID_KEY_BASE - 1, src));
    s->highest_field_id = (int32_t)highest;
    PML_RETURN_IF(pml_json__get_strings(&s->partition_keys, &s->n_partition_keys, &s->arena, root, "partitionKeys",
                                        PML_JSON_REQUIRED, src));
    PML_RETURN_IF(pml_json__get_strings(&s->primary_keys, &s->n_primary_keys, &s->arena, root, "primaryKeys",
                                        PML_JSON_REQUIRED, src));
    PML_RETURN_IF(
        pml_schema_json__get_options(&s->options, &s->n_options, &s->arena, root, "options", PML_JSON_REQUIRED, src));
    PML_RETURN_IF(pml_json__get_string(&s->comment, &s->arena, root, "comment", PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(pml_json__find_int64(&s->time_ms, &present, root, "timeMillis", INT64_MIN, INT64_MAX, src));
    PML_RETURN_IF(apply_old_defaults(s, src));
    return pml_table_schema__derive(s, src);
}

int pml_table_schema__parse(pml_table_schema **out, pml_env *env, pml_bytes json, const char *name, pml_error *err)
{
    const pml_json_source src = {name, PML_PLACE_SCHEMA, PML_E_CORRUPT, err};
    pml_table_schema *s = NULL;
    json_t *root = NULL;
    int rc;
    *out = NULL;
    PML_TRY(pml_json__parse(&root, json, PML_SCHEMA_FILE_MAX, &src));
    PML_TRY(pml_table_schema__new(&s, env, err));
    PML_TRY(fill(s, root, &src));
    *out = s;
    s = NULL;
out:
    pml_table_schema__release(s);
    json_decref(root);
    return rc;
}

static void put_names(pml_json_writer *w, const char *key, const char *const *names, size_t n)
{
    pml_json_writer__key(w, key);
    pml_json_writer__begin_array(w);
    for (size_t i = 0; i < n; i++)
        pml_json_writer__string(w, names[i]);
    pml_json_writer__end_array(w);
}

int pml_table_schema__write(pml_buf *out, const pml_table_schema *s)
{
    pml_json_writer w;
    pml_json_writer__init(&w, out);
    pml_json_writer__begin_object(&w);
    pml_json_writer__put_int64(&w, "version", s->version);
    pml_json_writer__put_int64(&w, "id", s->id);
    pml_json_writer__key(&w, "fields");
    pml_schema_json__put_fields(&w, s->fields, s->n_fields);
    pml_json_writer__put_int64(&w, "highestFieldId", s->highest_field_id);
    put_names(&w, "partitionKeys", s->partition_keys, s->n_partition_keys);
    put_names(&w, "primaryKeys", s->primary_keys, s->n_primary_keys);
    pml_json_writer__key(&w, "options");
    pml_json_writer__begin_object(&w);
    for (size_t i = 0; i < s->n_options; i++)
        pml_json_writer__put_string(&w, s->options[i].key, s->options[i].value);
    pml_json_writer__end_object(&w);
    pml_json_writer__put_string(&w, "comment", s->comment);
    pml_json_writer__put_int64(&w, "timeMillis", s->time_ms);
    pml_json_writer__end_object(&w);
    return pml_json_writer__finish(&w);
}
