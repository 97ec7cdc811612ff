/* SPDX-License-Identifier: Apache-2.0 */
#include "table/new_table.h"

#include <strings.h>

#include "merge/aggregate.h"
#include "merge/merge_options.h"
#include "table/write_function.h"

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

int pml_new_table__check_merge(pml_env *env, const pml_table_schema *s, const char *where, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    pml_write_function function;
    if (s->n_keys == 0)
        return PML_OK;
    int rc = check_functions(s, &why);
    if (rc == PML_OK && (rc = pml_write_function__init(&function, env, s, NULL, 0, &why)) == PML_OK)
        pml_write_function__clear(&function);
    if (rc == PML_OK || rc == PML_E_NOMEM)
        return rc == PML_OK ? rc : pml_error__no_memory(err);
    if (rc == PML_E_UNSUPPORTED)
        return pml_error__at(err, rc, PML_PLACE_OPTION, where, "%s (%s)", why.message, where); /* "needs ..." comes first */
    return pml_error__at(err, rc == PML_E_SCHEMA ? PML_E_INVAL : rc, PML_PLACE_OPTION, where, "%s: %s", where, why.message);
}
