/* SPDX-License-Identifier: Apache-2.0 */
#include "table/new_table.h"

#include <string.h>
#include <strings.h>

#include "merge/aggregate.h"
#include "merge/engine.h"
#include "merge/merge_options.h"
#include "table/read_merge.h"
#include "table/write_buffer.h"
#include "util/arena.h"

static int check_function(const char *column, const char *function, pml_error *err)
{
    if (function == NULL || pml_aggregator__is_known(function))
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "option fields.%.80s names the aggregate function '%.80s', which does not exist", column, function);
}

/* Java looks for the functions of all columns, of keys too, which need none. */
static int check_functions(const pml_table_schema *s, pml_error *err)
{
    const pml_merge_options o = {s, NULL, 0};
    const char *engine = pml_merge_options__get(&o, "merge-engine");
    if (engine == NULL || (strcasecmp(engine, "aggregation") != 0 && strcasecmp(engine, "partial-update") != 0))
        return PML_OK;
    PML_RETURN_IF(check_function("default-aggregate-function", pml_merge_options__get(&o, "fields.default-aggregate-function"), err));
    for (size_t i = 0; i < s->n_fields; i++)
        PML_RETURN_IF(check_function(s->fields[i].name, pml_merge_options__field(&o, s->fields[i].name, "aggregate-function"), err));
    return PML_OK;
}

/* Makes the merge function that a write would make, of all columns. */
static int make_function(pml_arena *arena, pml_env *env, const pml_table_schema *s, pml_error *err)
{
    pml_merge_function function = {0};
    size_t n = s->n_fields + PML_KEYED_SYSTEM_COLUMNS;
    pml_field *fields = pml_arena__array(arena, n, sizeof *fields);
    int32_t *keys = pml_arena__array(arena, s->n_keys, sizeof *keys);
    if (fields == NULL || keys == NULL)
        return pml_error__no_memory(err);
    fields[0] = pml_field_value_kind;
    fields[1] = pml_field_sequence_number;
    memcpy(fields + PML_KEYED_SYSTEM_COLUMNS, s->fields, s->n_fields * sizeof *fields);
    for (size_t i = 0; i < s->n_keys; i++)
        keys[i] = s->key_index[i] + PML_KEYED_SYSTEM_COLUMNS;
    const pml_merge_layout layout = {.fields = fields, .n_fields = n, .keys = keys, .n_keys = s->n_keys, .row_kind = 0, .sequence_number = 1};
    int rc = pml_merge_engine__new(&function, env, &layout, s, NULL, 0, err);
    if (rc == PML_OK && function.drop != NULL)
        function.drop(function.self);
    return rc;
}

int pml_new_table__check_merge(pml_env *env, const pml_table_schema *s, const char *where, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    pml_arena arena;
    if (s->n_keys == 0)
        return PML_OK;
    pml_arena__init(&arena, env);
    int rc = check_functions(s, &why);
    if (rc == PML_OK)
        rc = make_function(&arena, env, s, &why);
    pml_arena__clear(&arena);
    if (rc == PML_OK || rc == PML_E_NOMEM)
        return rc == PML_OK ? rc : pml_error__no_memory(err);
    if (rc == PML_E_UNSUPPORTED)
        return pml_error__at(err, rc, PML_PLACE_OPTION, where, "%s (%s)", why.message, where); /* "needs ..." comes first */
    return pml_error__at(err, rc == PML_E_SCHEMA ? PML_E_INVAL : rc, PML_PLACE_OPTION, where, "%s: %s", where, why.message);
}
