/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/engine.h"

#include <strings.h>

#include "merge/engine_function.h"
#include "merge/sequence_group.h"

typedef enum engine_kind {
    ENGINE_DEDUPLICATE,
    ENGINE_PARTIAL_UPDATE,
    ENGINE_AGGREGATION,
    ENGINE_FIRST_ROW
} engine_kind;

static int engine_of(engine_kind *kind, const pml_merge_options *o, pml_error *err)
{
    static const char *const names[] = {"deduplicate", "partial-update", "aggregation", "first-row"};
    const char *value = pml_merge_options__get(o, "merge-engine");
    *kind = ENGINE_DEDUPLICATE;
    for (int i = 0; value != NULL && i < 4; i++) {
        if (strcasecmp(value, names[i]) == 0) {
            *kind = (engine_kind)i;
            return PML_OK;
        }
    }
    return value == NULL
               ? PML_OK
               : pml_error__set(err, PML_E_INVAL,
                                "option merge-engine has the value \"%s\"; there are deduplicate, partial-update, "
                                "aggregation and first-row",
                                value);
}

bool pml_engine__is_key(const pml_table_schema *s, const char *column)
{
    for (size_t i = 0; i < s->n_primary_keys; i++)
        if (strcmp(s->primary_keys[i], column) == 0)
            return true;
    return false;
}

bool pml_engine__is_sequence(const pml_merge_options *o, const char *column)
{
    const char *at = pml_merge_options__get(o, "sequence.field");
    for (pml_bytes name; pml_merge_options__piece(&at, &name);)
        if (pml_bytes_equal(pml_merge_options__trim(name), (pml_bytes){(const uint8_t *)column, strlen(column)}))
            return true;
    return false;
}

/* What Java's SchemaValidation says of sequence.field. */
static int check_sequence_fields(const pml_merge_options *o, engine_kind kind, pml_error *err)
{
    const char *at = pml_merge_options__get(o, "sequence.field");
    if (at != NULL && kind == ENGINE_FIRST_ROW)
        return pml_error__set(err, PML_E_SCHEMA, "option sequence.field does not go with merge-engine first-row");
    for (pml_bytes name; pml_merge_options__piece(&at, &name);) {
        name = pml_merge_options__trim(name);
        int32_t column = pml_table_schema__find(o->schema, (const char *)name.ptr, name.len);
        if (column < 0)
            return pml_error__set(err, PML_E_SCHEMA,
                                  "option sequence.field names the column \"%.*s\", which the table does not have",
                                  (int)name.len, (const char *)name.ptr);
        if (pml_merge_options__field(o, o->schema->fields[column].name, "aggregate-function") != NULL)
            return pml_error__set(err, PML_E_SCHEMA,
                                  "option sequence.field names column %s, which has an aggregate function",
                                  o->schema->fields[column].name);
    }
    return PML_OK;
}

int pml_engine__init(pml_engine_base *b, pml_env *env, const pml_merge_layout *layout, const pml_merge_options *o,
                     pml_error *err)
{
    size_t n = layout->n_fields;
    *b = (pml_engine_base){.env = env, .layout = layout, .options = *o};
    b->columns = pml_env__calloc(env, n + 1, sizeof *b->columns);
    b->aggregators = pml_env__calloc(env, n + 1, sizeof *b->aggregators);
    b->required = pml_env__calloc(env, n + 1, sizeof *b->required);
    if (b->columns == NULL || b->aggregators == NULL || b->required == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const char *name = layout->fields[i].name;
        bool system = (int32_t)i == layout->sequence_number || (int32_t)i == layout->row_kind;
        b->columns[i] = system ? -1 : pml_table_schema__find(o->schema, name, strlen(name));
        if (!system && b->columns[i] < 0)
            return pml_error__set(err, PML_E_INTERNAL, "the merge has a column %s, which the table does not have",
                                  name);
        if (!system && !layout->fields[i].type.nullable && !pml_engine__is_key(o->schema, name))
            b->required[b->n_required++] = (int32_t)i;
    }
    return PML_OK;
}

void pml_engine__clear(pml_engine_base *b)
{
    if (b->env == NULL)
        return;
    for (size_t i = 0; b->aggregators != NULL && i < b->layout->n_fields; i++)
        pml_aggregator__close(&b->aggregators[i]);
    pml_env__free(b->env, b->aggregators);
    pml_env__free(b->env, b->columns);
    pml_env__free(b->env, b->required);
    pml_env__free(b->env, b->steps);
}

int pml_engine__reserve(pml_engine_base *b, size_t n, pml_error *err)
{
    if (n <= b->cap_steps)
        return PML_OK;
    if (n > SIZE_MAX / 2 / sizeof *b->steps)
        return pml_error__no_memory(err);
    pml_fold_step *grown = pml_env__realloc(b->env, b->steps, n * 2 * sizeof *grown);
    if (grown == NULL)
        return pml_error__no_memory(err);
    b->steps = grown;
    b->cap_steps = n * 2;
    return PML_OK;
}

int pml_engine__check_nulls(const pml_engine_base *b, const pml_merge_group *g, pml_row_ref row, pml_error *err)
{
    for (size_t i = 0; i < b->n_required; i++) {
        int32_t at = b->required[i];
        if (pml_array__is_null(pml_merge_group__column(g, row, at), row.row))
            return pml_error__set(err, PML_E_INVAL, "column %s is NOT NULL, and a row to be merged has a null there",
                                  b->layout->fields[at].name);
    }
    return PML_OK;
}

int pml_engine__end_row(pml_merge_output *out, int8_t kind, int64_t sequence, pml_error *err)
{
    int rc = pml_merge_output__end_row(out, kind, sequence);
    return rc == PML_E_NOMEM ? pml_error__no_memory(err) : rc;
}

int pml_merge_engine__new(pml_merge_function *out, pml_env *env, const pml_merge_layout *layout,
                          const pml_table_schema *schema, const pml_option *overrides, size_t n_overrides,
                          pml_error *err)
{
    engine_kind kind;
    const pml_merge_options o = {schema, overrides, n_overrides};
    *out = (pml_merge_function){.kind = PML_MERGE_LAST};
    PML_RETURN_IF(engine_of(&kind, &o, err));
    PML_RETURN_IF(check_sequence_fields(&o, kind, err));
    switch (kind) {
    case ENGINE_AGGREGATION: return pml_aggregation__new(out, env, layout, &o, err);
    case ENGINE_PARTIAL_UPDATE: return pml_partial_update__new(out, env, layout, &o, err);
    case ENGINE_FIRST_ROW: out->kind = PML_MERGE_FIRST; break;
    case ENGINE_DEDUPLICATE: break;
    }
    return pml_merge_options__ignore_delete(&out->ignore_delete, &o, err);
}

int pml_merge_engine__check_kind(const pml_merge_function *f, int8_t kind, pml_error *err)
{
    if (!pml_row_kind__is_retract(kind) || f->ignore_delete)
        return PML_OK;
    if (f->kind == PML_MERGE_FIRST)
        return pml_error__set(err, PML_E_INVAL, "merge-engine first-row takes no rows of kind %s; option ignore-delete passes over them",
                              kind == PML_ROW_DELETE ? "-D" : "-U");
    return f->check_retract == NULL ? PML_OK : f->check_retract(f->self, kind, err);
}

static int need_groups(bool *columns, pml_env *env, const pml_merge_options *o, pml_error *err)
{
    pml_sequence_groups g;
    PML_RETURN_IF(pml_sequence_groups__parse(&g, env, o, err));
    for (size_t i = 0; i < o->schema->n_fields; i++)
        if (columns[i] && g.group_of[i] >= 0)
            for (size_t k = 0; k < g.groups[g.group_of[i]].n_versions; k++)
                columns[g.groups[g.group_of[i]].versions[k]] = true;
    pml_sequence_groups__clear(&g);
    return PML_OK;
}

int pml_merge_engine__needs(bool *columns, pml_env *env, const pml_table_schema *schema, const pml_option *overrides,
                            size_t n_overrides, pml_error *err)
{
    engine_kind kind;
    const pml_merge_options o = {schema, overrides, n_overrides};
    PML_RETURN_IF(engine_of(&kind, &o, err));
    for (size_t i = 0; i < schema->n_fields; i++)
        columns[i] = columns[i] || pml_engine__is_sequence(&o, schema->fields[i].name);
    if (kind == ENGINE_PARTIAL_UPDATE)
        PML_RETURN_IF(need_groups(columns, env, &o, err));
    for (size_t i = 0; i < schema->n_fields; i++)
        columns[i] = columns[i] || pml_engine__is_key(schema, schema->fields[i].name);
    return PML_OK;
}
