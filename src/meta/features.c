/* SPDX-License-Identifier: Apache-2.0 */
/* What this version refuses, and in which words. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "meta/option_values.h"
#include "util/number.h"

const char *pml_option_source__get(const pml_option_source *s, const char *key)
{
    for (size_t i = s->n_overrides; i-- > 0;)
        if (strcmp(s->overrides[i].key, key) == 0)
            return s->overrides[i].value;
    return pml_table_schema__option(s->schema, key);
}

int pml_option_source__fail(const pml_option_source *s, int code, const char *key, const char *value, const char *what)
{
    return pml_error__at(s->err, code, PML_PLACE_OPTION, s->where, "option %.80s of %.120s is '%.80s': %s", key,
                         s->where, value, what);
}

static int refuse_option(const pml_option_source *s, const pml_option_rule *rule, const char *key, const char *value)
{
    char feature[96], lower[64];
    const char *colon = strstr(rule->needs, "%s");
    size_t i;
    for (i = 0; value[i] != '\0' && i + 1 < sizeof lower; i++)
        lower[i] = value[i] >= 'A' && value[i] <= 'Z' ? (char)(value[i] + 32) : value[i];
    lower[i] = '\0';
    int head = colon == NULL ? (int)strlen(rule->needs) : (int)(colon - rule->needs);
    (void)snprintf(feature, sizeof feature, "%.*s%s", head, rule->needs, colon == NULL ? "" : lower);
    return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                         "needs %s: option %.60s of %.100s is '%.60s'; %s, which this version does not %s", feature,
                         key, s->where, value, rule->reason,
                         rule->treatment == PML_OPTION_REFUSED ? "support" : "write");
}

static int refuse_one(const pml_option_source *s, const char *key)
{
    const pml_option_rule *rule = pml_option_rule__find(key);
    bool refused = rule != NULL && (rule->treatment == PML_OPTION_REFUSED ||
                                    (rule->treatment == PML_OPTION_REFUSED_WRITE && s->for_write));
    const char *value = refused ? pml_option_source__get(s, key) : NULL;
    if (value == NULL || pml_option__is_one_of(rule->values, value))
        return PML_OK;
    PML_RETURN_IF(pml_option__check_value(rule, key, value, s->where, s->err));
    return refuse_option(s, rule, key, value);
}

int pml_option_source__refuse(const pml_option_source *s)
{
    for (size_t i = 0; i < s->schema->n_options; i++)
        PML_RETURN_IF(refuse_one(s, s->schema->options[i].key));
    for (size_t i = 0; i < s->n_overrides; i++)
        PML_RETURN_IF(refuse_one(s, s->overrides[i].key));
    return PML_OK;
}

/* Without the partition in the key a row may have to leave another partition, and no index file says which (Java: a local store of all
   keys, GlobalIndexAssigner). */
static int refuse_cross_partition(const pml_option_source *s)
{
    for (size_t i = 0; i < s->schema->n_partition_keys; i++) {
        bool in_key = false;
        for (size_t k = 0; k < s->schema->n_primary_keys && !in_key; k++)
            in_key = strcmp(s->schema->primary_keys[k], s->schema->partition_keys[i]) == 0;
        if (!in_key)
            return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, s->where,
                                 "needs cross-partition: the primary key of %.120s lacks the partition column '%.80s', so that keys may move "
                                 "between partitions, which this version does not write",
                                 s->where, s->schema->partition_keys[i]);
    }
    return PML_OK;
}

/* Rows of a primary key go to level 0 of fixed or dynamic buckets; what asks for more, or for another form of these files, is not written. */
static int refuse_keyed_write(const pml_option_source *s)
{
    static const struct {
        const char *option, *needs;
    } per_level[] = {{"file.format.per.level", "needs file.format.per.level"},
                     {"file.compression.per.level", "needs file.compression.per.level"},
                     {"metadata.stats-mode.per.level", "needs metadata.stats-mode.per.level"}};
    const char *bucket = pml_option_source__get(s, "bucket"), *producer = pml_option_source__get(s, "changelog-producer");
    if (bucket != NULL && strcmp(bucket, "-2") == 0)
        return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                             "needs bucket:postpone: option bucket of %.120s is '-2', and rows with a primary key are only written to fixed and "
                             "dynamic buckets",
                             s->where);
    if (bucket == NULL || strcmp(bucket, "-1") == 0)
        PML_RETURN_IF(refuse_cross_partition(s));
    if (producer != NULL && strcasecmp(producer, "input") == 0)
        return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                             "needs changelog-producer:input: %.120s wants the changelog from its writers, and this version writes none",
                             s->where);
    for (size_t i = 0; i < sizeof per_level / sizeof per_level[0]; i++)
        if (pml_option_source__get(s, per_level[i].option) != NULL)
            return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                                 "%s: %.120s has this option, and this version writes all levels alike", per_level[i].needs, s->where);
    return PML_OK;
}

static int refuse_append_write(const pml_option_source *s)
{
    const char *vectors = pml_option_source__get(s, "deletion-vectors.enabled");
    if (vectors == NULL || strcasecmp(vectors, "true") != 0)
        return PML_OK;
    return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                         "needs deletion-vectors: option deletion-vectors.enabled of %.120s is 'true', and it has no primary key; this "
                         "version does not write such tables",
                         s->where);
}

static int refuse_primary_key(const pml_option_source *s)
{
    const char *engine = pml_option_source__get(s, "merge-engine");
    if (s->schema->n_primary_keys == 0)
        return s->for_write ? refuse_append_write(s) : PML_OK;
    if (s->for_write)
        PML_RETURN_IF(refuse_keyed_write(s));
    for (size_t i = 0; i < s->schema->n_keys; i++) {
        const pml_field *f = &s->schema->fields[s->schema->key_index[i]];
        if (pml_type__is_nested(&f->type)) /* Java makes no such table */
            return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, s->where,
                                 "needs key-of-type: the %s column '%.80s' of %.120s cannot be a key", pml_type__word(f->type.kind),
                                 f->name, s->where);
    }
    if (engine == NULL || pml_option__is_one_of("deduplicate|first-row|partial-update|aggregation", engine))
        return PML_OK;
    return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, s->where,
                         "needs merge-engine:%.40s: %.120s merges its rows by it, which this version does not", engine, s->where);
}

/* Without a vector of deleted rows nothing says which of several rows of a key counts but a merge by key, for which the files would have to
   be sorted by it. Java makes no such table. */
static int refuse_clustering(const pml_option_source *s)
{
    const char *text = pml_option_source__get(s, "pk-clustering-override"), *vectors = pml_option_source__get(s, "deletion-vectors.enabled"),
               *on_read = pml_option_source__get(s, "deletion-vectors.merge-on-read");
    bool clusters = s->schema->n_primary_keys > 0 && text != NULL && strcasecmp(text, "true") == 0;
    if (!clusters || (vectors != NULL && strcasecmp(vectors, "true") == 0 && (on_read == NULL || strcasecmp(on_read, "true") != 0)))
        return PML_OK;
    return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                         "needs pk-clustering-override: the files of %.120s are not sorted by key and have no deletion vectors that say which "
                         "rows count, so they cannot be merged",
                         s->where);
}

static int refuse_bucket(const pml_option_source *s)
{
    const char *text = pml_option_source__get(s, "bucket");
    if (text == NULL || strcmp(text, "-2") != 0 || s->schema->n_primary_keys > 0)
        return PML_OK;
    return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, s->where,
                         "needs bucket:postpone: option bucket of %.120s is '-2', which this version does not support",
                         s->where);
}

/* The first of the types we do not read, or not write, anywhere in a type. Depth is bounded by the parser. */
static const char *refused_type(const pml_type *t, bool for_write)
{
    if (t->kind == PML_TYPE_VARIANT && for_write)
        return "variant";
    if (t->kind == PML_TYPE_VECTOR && for_write)
        return "vector";
    if (t->kind == PML_TYPE_BLOB && for_write)
        return "blob";
    for (size_t i = 0; i < t->n_children; i++) {
        const char *found = refused_type(&t->children[i].type, for_write);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static int refuse_types(const pml_option_source *s)
{
    for (size_t i = 0; i < s->schema->n_fields; i++) {
        const char *type = refused_type(&s->schema->fields[i].type, s->for_write);
        if (type != NULL)
            return pml_error__at(s->err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, s->where,
                                 "needs type:%s: column '%.80s' of %.120s has a type that this version does not %s", type,
                                 s->schema->fields[i].name, s->where, refused_type(&s->schema->fields[i].type, false) != NULL ? "read" : "write");
    }
    return PML_OK;
}

/* Of some formats files are read but not written. */
static int refuse_write_format(const pml_option_source *s)
{
    const char *format = pml_option_source__get(s, "file.format");
    if (format == NULL || strcasecmp(format, "parquet") == 0)
        return PML_OK;
    const pml_option_rule *rule = pml_option_rule__find("file.format");
    const pml_option_rule written = {.needs = rule->needs, .treatment = PML_OPTION_REFUSED_WRITE, .reason = "the data files are not Parquet"};
    return refuse_option(s, &written, "file.format", format);
}

/*
 * The directory of a partition is made from its value and never parsed back, so reading is right for any type. For writing the
 * text must be Java's: that of floating-point numbers follows rules of Java's own, that of a binary is the identity of a Java
 * object, that of a local-zoned timestamp depends on the zone of the process.
 */
static int refuse_partition_types(const pml_option_source *s)
{
    for (size_t i = 0; i < s->schema->n_partition_keys; i++) {
        const pml_field *f = &s->schema->fields[s->schema->partition_index[i]];
        switch (f->type.kind) {
        case PML_TYPE_FLOAT:
        case PML_TYPE_DOUBLE:
        case PML_TYPE_BINARY:
        case PML_TYPE_VARBINARY:
        case PML_TYPE_TIMESTAMP_LTZ:
            return pml_error__at(
                s->err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, s->where,
                "needs partition-type:%s: partition column '%.80s' of %.120s has a type whose directory names "
                "this version does not write",
                f->type.kind == PML_TYPE_TIMESTAMP_LTZ ? "TIMESTAMP_LTZ" : pml_type__word(f->type.kind), f->name,
                s->where);
        default: break;
        }
    }
    return PML_OK;
}

int pml_table_options__check_supported(const pml_table_schema *s, const pml_option *overrides, size_t n, bool for_write,
                                       const char *where, pml_error *err)
{
    const pml_option_source src = {s, overrides, n, for_write, where, err};
    PML_RETURN_IF(refuse_primary_key(&src));
    PML_RETURN_IF(refuse_bucket(&src));
    PML_RETURN_IF(refuse_clustering(&src));
    PML_RETURN_IF(pml_option_source__refuse(&src));
    PML_RETURN_IF(refuse_types(&src));
    if (!for_write)
        return PML_OK;
    PML_RETURN_IF(refuse_write_format(&src));
    return refuse_partition_types(&src);
}

/* ---- what one open or command cannot change ---- */

static bool is_same_value(const pml_option_rule *rule, const char *a, const char *b)
{
    int64_t v, w;
    if (rule->kind == PML_OPTION_BOOL || rule->kind == PML_OPTION_ENUM || rule->treatment == PML_OPTION_REFUSED)
        return strcasecmp(a, b) == 0;
    if (rule->kind == PML_OPTION_INT && pml_number__int64(&v, a, strlen(a)) && pml_number__int64(&w, b, strlen(b)))
        return v == w;
    return strcmp(a, b) == 0;
}

/* Is the value the names, separated by commas? */
static bool is_list_of(const char *value, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(value, names[i], len) != 0 || (i + 1 < n && value[len] != ','))
            return false;
        value += len + (i + 1 < n);
    }
    return value[0] == '\0';
}

static bool changes_nothing(const pml_table_schema *s, const pml_option_rule *rule, const pml_option *o, const char *own)
{
    if (strcmp(o->key, "partition") == 0)
        return is_list_of(o->value, s->partition_keys, s->n_partition_keys);
    if (strcmp(o->key, "primary-key") == 0)
        return is_list_of(o->value, s->primary_keys, s->n_primary_keys);
    return is_same_value(rule, o->value, own);
}

int pml_table_options__check_fixed(const pml_table_schema *s, const pml_option *overrides, size_t n, const char *branch,
                                   const char *where, pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const pml_option *o = &overrides[i];
        const pml_option_rule *rule = pml_option_rule__find(o->key);
        if (rule == NULL || !rule->fixed)
            continue;
        bool is_branch = strcmp(o->key, "branch") == 0;
        const char *own = is_branch ? branch : pml_table_schema__option(s, o->key);
        if (own == NULL)
            own = rule->fallback == NULL ? "" : rule->fallback;
        if (changes_nothing(s, rule, o, own))
            continue;
        if (is_branch)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, where,
                                 "option branch is '%.80s', but branch '%.80s' of %.120s was opened: name the branch when it is opened "
                                 "(pml --branch)",
                                 o->value, branch, where);
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, where,
                             "option %.80s is fixed with the table %.120s: '%.80s' cannot be given for one open or command, only what "
                             "the table has itself%s%.80s%s",
                             o->key, where, o->value, own[0] == '\0' ? "" : " ('", own, own[0] == '\0' ? "" : "')");
    }
    return PML_OK;
}
