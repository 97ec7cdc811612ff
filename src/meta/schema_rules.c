/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of a new table must agree on (Java: SchemaValidation), so that nobody makes a table that no one can open. What only
   the merge engine knows is asked of it when the table is made (table/new_table.c). */
#include <string.h>

#include "meta/options_table.h"
#include "meta/schema_rules.h"
#include "util/number.h"

static bool is_on(const pml_table_schema *s, const char *key)
{
    bool on = false;
    const char *text = pml_table_schema__option(s, key);
    return text != NULL && pml_number__bool(&on, text, strlen(text)) && on;
}

static bool is_set_to(const pml_table_schema *s, const char *key, const char *values)
{
    const char *text = pml_table_schema__option(s, key);
    return text != NULL && pml_option__is_one_of(values, text);
}

static bool is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\r\n")] == '\0';
}

/* The next of the names in a text with commas, blanks around it left out. */
static bool next_name(const char **at, const char **name, size_t *n)
{
    if (*at == NULL)
        return false;
    *name = *at + strspn(*at, " \t\r\n");
    *n = strcspn(*name, ",");
    *at = (*name)[*n] == ',' ? *name + *n + 1 : NULL;
    while (*n > 0 && strchr(" \t\r\n", (*name)[*n - 1]) != NULL)
        --*n;
    return true;
}

static int find_column(const pml_field **out, const pml_table_schema *s, const char *option, const char *name, size_t n,
                       const pml_json_source *src)
{
    int32_t at = pml_table_schema__find(s, name, n);
    if (at < 0)
        return pml_json__fail(src, src->code, "option %s names the column '%.*s', which does not exist", option, (int)(n < 100 ? n : 100), name);
    *out = &s->fields[at];
    return PML_OK;
}

/* ---- keys ---- */

static bool crosses_partitions(const pml_table_schema *s)
{
    for (size_t i = 0; i < s->n_partition_keys && s->n_primary_keys > 0; i++) {
        bool in_key = false;
        for (size_t k = 0; k < s->n_primary_keys && !in_key; k++)
            in_key = strcmp(s->primary_keys[k], s->partition_keys[i]) == 0;
        if (!in_key)
            return true;
    }
    return false;
}

static int check_sequence(const pml_table_schema *s, const pml_json_source *src)
{
    const char *text = pml_table_schema__option(s, "sequence.field"), *at = text, *name;
    const pml_field *f = NULL;
    size_t n, length;
    if (text == NULL)
        return PML_OK;
    while (next_name(&at, &name, &n)) {
        const char *other = at, *same;
        if (at != NULL && *at == '\0')
            at = other = NULL; /* Java leaves out what is empty at the end */
        PML_RETURN_IF(find_column(&f, s, "sequence.field", name, n, src));
        while (next_name(&other, &same, &length))
            if (length == n && memcmp(same, name, n) == 0)
                return pml_json__fail(src, src->code, "option sequence.field names the column '%s' twice", f->name);
    }
    if (is_set_to(s, "merge-engine", "first-row"))
        return pml_json__fail(src, src->code, "option sequence.field does not go with merge-engine = first-row, of which the oldest row counts");
    if (crosses_partitions(s))
        return pml_json__fail(src, src->code, "option sequence.field needs all partition columns in the primary key");
    return PML_OK;
}

static int check_upsert_key(const pml_table_schema *s, const pml_json_source *src)
{
    const char *at = pml_table_schema__option(s, "upsert-key"), *name;
    const pml_field *f = NULL;
    size_t n;
    if (at != NULL && s->n_primary_keys > 0)
        return pml_json__fail(src, src->code, "option upsert-key does not go with a primary key");
    while (next_name(&at, &name, &n)) {
        PML_RETURN_IF(find_column(&f, s, "upsert-key", name, n, src));
        if (pml_type__is_nested(&f->type))
            return pml_json__fail(src, src->code, "option upsert-key names the %s column '%s', which cannot be a key",
                                  pml_type__word(f->type.kind), f->name);
    }
    return PML_OK;
}

/* ---- columns that options name ---- */

static int check_named_columns(const pml_table_schema *s, const pml_json_source *src)
{
    const char *kind = pml_table_schema__option(s, "rowkind.field"), *time = pml_table_schema__option(s, "record-level.time-field"),
               *at = pml_table_schema__option(s, "vector-field"), *name;
    const pml_field *f = NULL;
    size_t n;
    if (kind != NULL)
        PML_RETURN_IF(find_column(&f, s, "rowkind.field", kind, strlen(kind), src));
    if (time != NULL) {
        PML_RETURN_IF(find_column(&f, s, "record-level.time-field", time, strlen(time), src));
        if (f->type.kind != PML_TYPE_INT && f->type.kind != PML_TYPE_BIGINT && f->type.kind != PML_TYPE_TIMESTAMP &&
            f->type.kind != PML_TYPE_TIMESTAMP_LTZ)
            return pml_json__fail(src, src->code, "option record-level.time-field names the %s column '%s'; it must be INT, BIGINT or TIMESTAMP",
                                  pml_type__word(f->type.kind), f->name);
    }
    while (next_name(&at, &name, &n)) {
        PML_RETURN_IF(find_column(&f, s, "vector-field", name, n, src));
        if (f->type.kind != PML_TYPE_VECTOR)
            return pml_json__fail(src, src->code, "option vector-field names the %s column '%s', which is no VECTOR", pml_type__word(f->type.kind),
                                  f->name);
    }
    return PML_OK;
}

/* ---- snapshots and changelogs ---- */

static int get_number(int64_t *out, const pml_table_schema *s, const char *key, const char *otherwise, const pml_json_source *src)
{
    const char *text = pml_table_schema__option(s, key);
    if (text == NULL && otherwise != NULL)
        text = pml_table_schema__option(s, key = otherwise);
    if (text == NULL || pml_number__int64(out, text, strlen(text)))
        return PML_OK;
    return pml_json__fail(src, src->code, "option %s is '%.40s', expected a whole number", key, text);
}

static int check_retained(const pml_table_schema *s, const pml_json_source *src)
{
    static const char *const keys[][2] = {{"snapshot.num-retained.min", "snapshot.num-retained.max"},
                                          {"changelog.num-retained.min", "changelog.num-retained.max"}};
    for (int i = 0; i < 2; i++) {
        int64_t min = 10, max = INT32_MAX;
        PML_RETURN_IF(get_number(&min, s, keys[i][0], i == 0 ? NULL : keys[0][0], src));
        PML_RETURN_IF(get_number(&max, s, keys[i][1], i == 0 ? NULL : keys[0][1], src));
        if (min < 1 || max < min)
            return pml_json__fail(src, src->code, "options %s %lld and .max %lld: both must be positive, the first not above the second", keys[i][0],
                                  (long long)min, (long long)max);
    }
    return PML_OK;
}

static int check_changelog(const pml_table_schema *s, const pml_json_source *src)
{
    bool of_compaction = is_set_to(s, "changelog-producer", "full-compaction"), overwrites = is_on(s, "streaming-read-overwrite");
    if (s->n_primary_keys == 0 && pml_table_schema__option(s, "changelog-producer") != NULL && !is_set_to(s, "changelog-producer", "none"))
        return pml_json__fail(src, src->code, "option changelog-producer needs a primary key");
    if (overwrites && (of_compaction || is_set_to(s, "changelog-producer", "lookup")))
        return pml_json__fail(src, src->code, "option streaming-read-overwrite does not go with this changelog-producer: changes would be read twice");
    if (overwrites && s->n_primary_keys == 0)
        return pml_json__fail(src, src->code, "option streaming-read-overwrite needs a primary key; without one it is streaming-read-append-overwrite");
    if (is_set_to(s, "merge-engine", "first-row") && (of_compaction || is_set_to(s, "changelog-producer", "input")))
        return pml_json__fail(src, src->code, "merge-engine = first-row goes with changelog-producer none and lookup only");
    if (is_on(s, "deletion-vectors.enabled") && of_compaction)
        return pml_json__fail(src, src->code, "option deletion-vectors.enabled does not go with changelog-producer = full-compaction");
    return check_retained(s, src);
}

/* ---- what goes with what ---- */

static int check_branches(const pml_table_schema *s, const pml_json_source *src)
{
    static const char *const keys[] = {"scan.fallback-branch", "scan.primary-branch"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!is_blank(pml_table_schema__option(s, keys[i])))
            return pml_json__fail(src, src->code, "option %s is '%.80s', but a new table has no branch: set it when there is one", keys[i],
                                  pml_table_schema__option(s, keys[i]));
    return PML_OK;
}

static int check_clustering(const pml_table_schema *s, const pml_json_source *src)
{
    const char *ordered = pml_table_schema__option(s, "bucket-append-ordered");
    if (!is_on(s, "clustering.incremental"))
        return PML_OK;
    if (s->n_primary_keys > 0)
        return pml_json__fail(src, src->code, "option clustering.incremental does not go with a primary key");
    if (pml_table_schema__option(s, "bucket") == NULL || is_set_to(s, "bucket", "-1"))
        return PML_OK;
    if (ordered == NULL || is_on(s, "bucket-append-ordered"))
        return pml_json__fail(src, src->code, "option clustering.incremental of a table with buckets needs bucket-append-ordered = false");
    if (is_on(s, "deletion-vectors.enabled"))
        return pml_json__fail(src, src->code, "option clustering.incremental of a table with buckets does not go with deletion-vectors.enabled");
    return PML_OK;
}

int pml_schema_rules__check(const pml_table_schema *s, const pml_json_source *src)
{
    bool unaware = pml_table_schema__option(s, "bucket") == NULL || is_set_to(s, "bucket", "-1");
    PML_RETURN_IF(check_sequence(s, src));
    PML_RETURN_IF(check_upsert_key(s, src));
    PML_RETURN_IF(check_named_columns(s, src));
    PML_RETURN_IF(check_changelog(s, src));
    PML_RETURN_IF(check_branches(s, src));
    PML_RETURN_IF(check_clustering(s, src));
    if (is_on(s, "deletion-vectors.enabled") && is_set_to(s, "merge-engine", "first-row") && !is_on(s, "pk-clustering-override"))
        return pml_json__fail(src, src->code, "merge-engine = first-row needs no deletion-vectors.enabled: it deletes no old rows");
    if (pml_table_schema__option(s, "partition.expiration-time") != NULL && s->n_partition_keys == 0)
        return pml_json__fail(src, src->code, "option partition.expiration-time needs partition columns");
    if (is_on(s, "table-read.sequence-number.enabled") && s->n_primary_keys == 0)
        return pml_json__fail(src, src->code, "option table-read.sequence-number.enabled needs a primary key");
    if (pml_table_schema__option(s, "full-compaction.delta-commits") != NULL && unaware && s->n_primary_keys == 0)
        return pml_json__fail(src, src->code, "option full-compaction.delta-commits needs a primary key or a number of buckets");
    return PML_OK;
}
