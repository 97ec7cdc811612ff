/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/sequence_group.h"

#include "columnar/item.h"

static const char prefix[] = "fields", suffix[] = "sequence-group";

static bool is_group(const char *key)
{
    size_t n = strlen(key), s = sizeof suffix - 1;
    return strncmp(key, prefix, sizeof prefix - 1) == 0 && n >= s && strcmp(key + n - s, suffix) == 0;
}

static int find_column(int32_t *column, const pml_merge_options *o, const char *option, pml_bytes name, pml_error *err)
{
    *column = pml_table_schema__find(o->schema, (const char *)name.ptr, name.len);
    if (*column >= 0)
        return PML_OK;
    return pml_error__set(err, PML_E_SCHEMA, "option %s names the column \"%.*s\", which the table does not have",
                          option, (int)name.len, (const char *)name.ptr);
}

/* The two ways to one column of two groups: which of them counts hangs on the order of a hash table in Java. */
static int check_free(const pml_sequence_groups *g, const pml_merge_options *o, int32_t column, const char *option,
                      bool version, pml_error *err)
{
    int32_t other = g->group_of[column];
    if (other < 0 || (other == (int32_t)g->n && (version || g->is_version[column])))
        return PML_OK;
    const char *name = o->schema->fields[column].name;
    if (!version && !g->is_version[column])
        return pml_error__set(err, PML_E_SCHEMA,
                              "column %s is named twice by sequence groups, the second time by option %s", name,
                              option);
    return pml_error__set(err, PML_E_UNSUPPORTED,
                          "needs sequence-group: column %s belongs to two groups, the second by option %s", name,
                          option);
}

static int add_versions(pml_sequence_groups *g, pml_sequence_group *group, const pml_merge_options *o, pml_error *err)
{
    size_t n = strlen(group->option), around = sizeof prefix + sizeof suffix;
    if (n <= around)
        return pml_error__set(err, PML_E_SCHEMA, "option %s names no column", group->option);
    const char *at = pml_arena__strndup(&g->arena, group->option + sizeof prefix, n - around);
    group->versions = pml_arena__array(&g->arena, n, sizeof *group->versions);
    if (at == NULL || group->versions == NULL)
        return pml_error__no_memory(err);
    for (pml_bytes name; pml_merge_options__piece(&at, &name);) {
        int32_t column;
        PML_RETURN_IF(find_column(&column, o, group->option, name, err));
        PML_RETURN_IF(check_free(g, o, column, group->option, true, err));
        if (!pml_item__has_order(&o->schema->fields[column].type))
            return pml_error__set(err, PML_E_UNSUPPORTED, "needs sequence-group with a version of type %s: option %s",
                                  pml_type__word(o->schema->fields[column].type.kind), group->option);
        g->group_of[column] = (int32_t)g->n;
        g->is_version[column] = true;
        group->versions[group->n_versions++] = column;
    }
    return PML_OK;
}

static int add_group(pml_sequence_groups *g, const pml_merge_options *o, const pml_option *option, pml_error *err)
{
    pml_sequence_group *group = &g->groups[g->n];
    group->option = option->key;
    PML_RETURN_IF(add_versions(g, group, o, err));
    const char *at = option->value;
    for (pml_bytes name; pml_merge_options__piece(&at, &name);) {
        int32_t column;
        PML_RETURN_IF(find_column(&column, o, option->key, name, err));
        PML_RETURN_IF(check_free(g, o, column, option->key, false, err));
        g->group_of[column] = (int32_t)g->n;
    }
    g->n++;
    return PML_OK;
}

static int read_removes(pml_sequence_groups *g, const pml_merge_options *o, pml_error *err)
{
    static const char key[] = "partial-update.remove-record-on-sequence-group";
    const char *at = pml_merge_options__get(o, key);
    for (pml_bytes name; pml_merge_options__piece(&at, &name);) {
        int32_t column = pml_table_schema__find(o->schema, (const char *)name.ptr, name.len);
        if (column < 0 || !g->is_version[column])
            return pml_error__set(err, PML_E_SCHEMA,
                                  "option %s names \"%.*s\", which is no version column of a sequence group", key,
                                  (int)name.len, (const char *)name.ptr);
        g->removes[column] = true;
    }
    return PML_OK;
}

int pml_sequence_groups__parse(pml_sequence_groups *out, pml_env *env, const pml_merge_options *o, pml_error *err)
{
    int rc = PML_OK;
    pml_option option;
    size_t n = o->schema->n_fields, groups = 0;
    *out = (pml_sequence_groups){.n = 0};
    pml_arena__init(&out->arena, env);
    for (size_t i = 0; pml_merge_options__next(o, &i, &option);)
        groups += is_group(option.key) ? 1 : 0;
    out->groups = pml_arena__array(&out->arena, groups + 1, sizeof *out->groups);
    out->group_of = pml_arena__array(&out->arena, n + 1, sizeof *out->group_of);
    out->is_version = pml_arena__array(&out->arena, n + 1, sizeof *out->is_version);
    out->removes = pml_arena__array(&out->arena, n + 1, sizeof *out->removes);
    if (out->groups == NULL || out->group_of == NULL || out->is_version == NULL || out->removes == NULL)
        PML_TRY(pml_error__no_memory(err));
    for (size_t i = 0; i < n; i++)
        out->group_of[i] = -1;
    for (size_t i = 0; pml_merge_options__next(o, &i, &option);)
        if (is_group(option.key))
            PML_TRY(add_group(out, o, &option, err));
    PML_TRY(read_removes(out, o, err));
    return PML_OK;
out:
    pml_sequence_groups__clear(out);
    return rc;
}

void pml_sequence_groups__clear(pml_sequence_groups *g)
{
    if (g->arena.env != NULL)
        pml_arena__clear(&g->arena);
    *g = (pml_sequence_groups){.n = 0};
}
