/* SPDX-License-Identifier: Apache-2.0 */
/* System tables by name. */
#include "table/system.h"

#include <stdio.h>
#include <string.h>

static const pml_system_table *const tables[] = {
    &pml_system__snapshots,       &pml_system__schemas,      &pml_system__options,    &pml_system__files,
    &pml_system__manifests,       &pml_system__partitions,   &pml_system__buckets,    &pml_system__tags,
    &pml_system__branches,        &pml_system__consumers,    &pml_system__statistics, &pml_system__aggregation_fields,
    &pml_system__file_key_ranges, &pml_system__table_indexes};

/* Those of Java 1.4.2 that are not here yet. */
static const char *const missing[] = {"binlog", "file_indexes"};

static int unknown(pml_table *t, const char *name, pml_error *err)
{
    char list[256] = "ro, row_tracking, audit_log";
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (strcmp(name, missing[i]) == 0)
            return pml_error__set(err, PML_E_UNSUPPORTED, "needs system-table:%s: this version does not show it of %s",
                                  name, t->path);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        size_t at = strlen(list);
        (void)snprintf(list + at, sizeof list - at, ", %s", tables[i]->name);
    }
    return pml_error__set(err, PML_E_NOT_FOUND, "there is no system table '%.100s': there are %s", name, list);
}

/* Places of the wanted columns; in owned memory. */
static int find_columns(int32_t **out, pml_env *env, const pml_system_table *s, const pml_system_options *o,
                        pml_error *err)
{
    int32_t *places = pml_env__calloc(env, o->n_columns, sizeof *places);
    *out = places;
    if (places == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < o->n_columns; i++) {
        size_t at = 0;
        while (at < s->n_fields && strcmp(s->fields[at].name, o->columns[i]) != 0)
            at++;
        if (at == s->n_fields)
            return pml_error__set(err, PML_E_NOT_FOUND, "there is no column '%.200s' in the system table %s",
                                  o->columns[i], s->name);
        places[i] = (int32_t)at;
        for (size_t j = 0; j < i; j++)
            if (places[j] == places[i])
                return pml_error__set(err, PML_E_INVAL, "column '%s' is asked for twice", o->columns[i]);
    }
    return PML_OK;
}

static int open_metadata(struct ArrowArrayStream *out, const pml_system_table *s, pml_table *t,
                         const pml_system_options *o, pml_error *err)
{
    pml_meta_rows r = {0};
    int32_t *places = NULL;
    int rc;
    if (o->predicate != NULL)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs system-table:filter: rows of the system table %s cannot be chosen", s->name);
    if (o->columns != NULL)
        PML_TRY(find_columns(&places, t->env, s, o, err));
    PML_TRY(pml_meta_rows__init(&r, t->env, s->fields, s->n_fields, err));
    PML_TRY(s->fill(&r, t, err));
    PML_TRY(pml_meta_rows__stream(out, &r, places, o->n_columns, err));
out:
    pml_meta_rows__clear(&r);
    pml_env__free(t->env, places);
    return rc;
}

int pml_system_table_open(struct ArrowArrayStream *out, pml_table *t, const char *name,
                          const pml_system_options *options, pml_error *err)
{
    const pml_system_options defaults = PML_SYSTEM_OPTIONS_INIT;
    const pml_system_options *o = options == NULL ? &defaults : options;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    PML_RETURN_IF(pml_error__need(name, "name", err));
    if (o->struct_size != sizeof *o)
        return pml_error__set(err, PML_E_INVAL, "pml_system_options.struct_size is %zu, this library knows %zu",
                              o->struct_size, sizeof *o);
    if (o->n_columns > PML_TYPE_COLUMNS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu columns asked for, at most %d are possible", o->n_columns,
                              PML_TYPE_COLUMNS_MAX);
    PML_RETURN_IF(pml_error__need_pointers((const void *const *)o->columns, o->columns == NULL ? 0 : o->n_columns,
                                           "columns", err));
    if (strcmp(name, "ro") == 0)
        return pml_system__open_ro(out, t, o, err);
    if (strcmp(name, "row_tracking") == 0)
        return pml_system__open_row_tracking(out, t, o, err);
    if (strcmp(name, "audit_log") == 0)
        return pml_system__open_audit_log(out, t, o, err);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(name, tables[i]->name) == 0)
            return open_metadata(out, tables[i], t, o, err);
    return unknown(t, name, err);
}
