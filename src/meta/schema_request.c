/* SPDX-License-Identifier: Apache-2.0 */
/* A new table, as somebody asks for it (Java: Schema.Builder, SchemaValidation). */
#include <paimonlive/sys/realtime_store.h>
#include <string.h>

#include "meta/options_table.h"
#include "meta/schema_json.h"
#include "meta/schema_rules.h"
#include "util/number.h"

/* ---- ids ---- */

static int assign_type_ids(pml_type *t, int32_t *highest);

/*
 * Java gives a column its id before it looks at its type, but a member of a ROW only after its type (ReassignFieldId). So
 * "a INT, r ROW<x ROW<y INT>>, b INT" gets a = 0, r = 1, y = 2, x = 3, b = 4.
 */
static int assign_type_ids(pml_type *t, int32_t *highest)
{
    for (size_t i = 0; i < t->n_children; i++) {
        PML_RETURN_IF(assign_type_ids(&t->children[i].type, highest));
        if (t->kind != PML_TYPE_ROW)
            continue;
        if (*highest >= PML_ID_KEY_BASE - 1)
            return PML_E_LIMIT;
        t->children[i].id = ++*highest;
    }
    return PML_OK;
}

static int assign_ids(pml_table_schema *s)
{
    s->highest_field_id = -1;
    for (size_t i = 0; i < s->n_fields; i++) {
        s->fields[i].id = ++s->highest_field_id;
        PML_RETURN_IF(assign_type_ids(&s->fields[i].type, &s->highest_field_id));
    }
    return PML_OK;
}

/* ---- keys given as options ---- */

static const char *trimmed(pml_arena *arena, const char *from, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", from[n - 1]) != NULL)
        n--;
    while (n > 0 && strchr(" \t\r\n", from[0]) != NULL) {
        from++;
        n--;
    }
    return pml_arena__strndup(arena, from, n);
}

/* Moves an option such as partition = "a, b" into the list of keys. */
static int take_keys(pml_table_schema *s, const char *option, const char ***keys, size_t *n, const pml_json_source *src)
{
    size_t at = 0, count = 1;
    while (at < s->n_options && strcmp(s->options[at].key, option) != 0)
        at++;
    if (at == s->n_options)
        return PML_OK;
    if (*n > 0)
        return pml_json__fail(src, src->code, "option %s and a list of keys are both given; leave one out", option);
    const char *text = s->options[at].value;
    memmove(&s->options[at], &s->options[at + 1], (s->n_options - at - 1) * sizeof s->options[0]);
    s->n_options--;
    for (const char *p = text; *p != '\0'; p++)
        count += *p == ',';
    *keys = pml_arena__array(&s->arena, count, sizeof **keys);
    if (*keys == NULL)
        return pml_error__no_memory(src->err);
    for (*n = 0; *n < count; *n += 1) {
        size_t len = strcspn(text, ",");
        (*keys)[*n] = trimmed(&s->arena, text, len);
        if ((*keys)[*n] == NULL)
            return pml_error__no_memory(src->err);
        text += len + (text[len] == ',');
    }
    return PML_OK;
}

static void make_keys_not_null(pml_table_schema *s)
{
    for (size_t i = 0; i < s->n_primary_keys; i++) {
        int32_t column = pml_table_schema__find(s, s->primary_keys[i], strlen(s->primary_keys[i]));
        if (column >= 0)
            s->fields[column].type.nullable = false;
    }
}

/* ---- rules for new tables ---- */

static int check_bucket(const pml_table_schema *s, const pml_json_source *src)
{
    const char *text = pml_table_schema__option(s, "bucket");
    bool has_key = pml_table_schema__option(s, "bucket-key") != NULL;
    int64_t bucket = -1;
    if (text != NULL && !pml_number__int64(&bucket, text, strlen(text)))
        return pml_json__fail(src, src->code, "option bucket is '%.40s', expected a whole number", text);
    if (bucket == -1) {
        if (has_key && s->n_primary_keys == 0)
            return pml_json__fail(src, src->code,
                                  "option bucket-key needs a number of buckets: set bucket, or leave it out");
        return PML_OK;
    }
    if (bucket == -2 && s->n_primary_keys > 0)
        return PML_OK;
    if (bucket < 1 || bucket > INT32_MAX)
        return pml_json__fail(src, src->code, "option bucket is %lld, it must be -1 or a positive number",
                              (long long)bucket);
    if (s->n_bucket_keys == 0)
        return pml_json__fail(src, src->code, "a table of %lld buckets needs the option bucket-key", (long long)bucket);
    return PML_OK;
}

static int check_mod_function(const pml_table_schema *s, const pml_json_source *src)
{
    const char *function = pml_table_schema__option(s, "bucket-function.type");
    if (function == NULL || !pml_option__is_one_of("mod", function))
        return PML_OK;
    const pml_type *t = s->n_bucket_keys == 1 ? &s->fields[s->bucket_index[0]].type : NULL;
    if (t != NULL && (t->kind == PML_TYPE_INT || t->kind == PML_TYPE_BIGINT))
        return PML_OK;
    return pml_json__fail(src, src->code, "bucket-function.type = mod needs a bucket-key of one INT or BIGINT column");
}

/* fields.<a>,<b>.<what>: the columns must exist. */
static int check_field_option(const pml_table_schema *s, const char *key, const pml_json_source *src)
{
    const char *p = key + strlen("fields.");
    size_t len = strcspn(p, ".");
    if (strcmp(p, "default-aggregate-function") == 0)
        return PML_OK;
    for (const char *end = p + len; p < end; p++) {
        size_t n = strcspn(p, ",.");
        if (pml_table_schema__find(s, p, n) < 0)
            return pml_json__fail(src, src->code, "option %.120s names the column '%.*s', which does not exist", key,
                                  (int)n, p);
        p += n;
    }
    return PML_OK;
}

/* The other names of system columns are reserved in every table. */
static int check_realtime(const pml_table_schema *s, const pml_json_source *src)
{
    const char *enabled = pml_table_schema__option(s, "realtime.enabled");
    bool on = false;
    if (enabled == NULL || !pml_number__bool(&on, enabled, strlen(enabled)) || !on)
        return PML_OK;
    if (pml_table_schema__find(s, PML_RT_COL_OFFSET, strlen(PML_RT_COL_OFFSET)) < 0)
        return PML_OK;
    return pml_json__fail(src, src->code,
                          "column name '" PML_RT_COL_OFFSET
                          "' is reserved in a table with realtime.enabled=true; choose "
                          "another one");
}

static int check_options(const pml_table_schema *s, const pml_json_source *src)
{
    for (size_t i = 0; i < s->n_options; i++) {
        const char *key = s->options[i].key;
        const pml_option_rule *rule = pml_option_rule__find(key);
        if (strncmp(key, "fields.", 7) == 0)
            PML_RETURN_IF(check_field_option(s, key, src));
        if (rule != NULL)
            PML_RETURN_IF(pml_option__check_value(rule, key, s->options[i].value, src->file, src->err));
    }
    PML_RETURN_IF(pml_schema_rules__check(s, src));
    PML_RETURN_IF(check_bucket(s, src));
    PML_RETURN_IF(check_realtime(s, src));
    return check_mod_function(s, src);
}

/* A schema file may serve as a request: its other members are known and without effect. */
static int check_members(const json_t *root, const pml_json_source *src)
{
    static const char *const known[] = {"fields", "partitionKeys",  "primaryKeys", "options", "comment", "version",
                                        "id",     "highestFieldId", "timeMillis"};
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)root, key, v)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || strcmp(known[i], key) == 0;
        if (!found)
            return pml_json__fail(src, src->code,
                                  "member '%.80s' is not known; a request has fields, partitionKeys, primaryKeys, "
                                  "options and comment",
                                  key);
    }
    return PML_OK;
}

static int fill(pml_table_schema *s, const json_t *root, const pml_json_source *src)
{
    s->version = 3;
    PML_RETURN_IF(check_members(root, src));
    PML_RETURN_IF(pml_schema_json__get_fields(&s->fields, &s->n_fields, &s->arena, root, PML_SCHEMA_IDS_NONE, src));
    PML_RETURN_IF(pml_json__get_strings(&s->partition_keys, &s->n_partition_keys, &s->arena, root, "partitionKeys",
                                        PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(pml_json__get_strings(&s->primary_keys, &s->n_primary_keys, &s->arena, root, "primaryKeys",
                                        PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(
        pml_schema_json__get_options(&s->options, &s->n_options, &s->arena, root, "options", PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(pml_json__get_string(&s->comment, &s->arena, root, "comment", PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(take_keys(s, "partition", &s->partition_keys, &s->n_partition_keys, src));
    PML_RETURN_IF(take_keys(s, "primary-key", &s->primary_keys, &s->n_primary_keys, src));
    make_keys_not_null(s);
    if (assign_ids(s) != PML_OK)
        return pml_json__fail(src, PML_E_LIMIT, "too many columns");
    PML_RETURN_IF(pml_table_schema__derive(s, src));
    return check_options(s, src);
}

int pml_table_schema__parse_request(pml_table_schema **out, pml_env *env, pml_bytes json, pml_error *err)
{
    const pml_json_source src = {"schema request", PML_PLACE_ARGUMENT, PML_E_INVAL, err};
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
