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

static const struct {
    const char *name;
    pml_system_rows rows;
} row_tables[] = {{"ro", PML_SYSTEM_RO},
                  {"row_tracking", PML_SYSTEM_ROW_TRACKING},
                  {"audit_log", PML_SYSTEM_AUDIT_LOG},
                  {"binlog", PML_SYSTEM_BINLOG}};

/* Of later releases of Java than 1.4.2. */
static const char *const later[] = {"file_indexes"};

const pml_system_table *pml_system__find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(name, tables[i]->name) == 0)
            return tables[i];
    return NULL;
}

pml_system_rows pml_system__find_rows(const char *name)
{
    for (size_t i = 0; i < sizeof row_tables / sizeof row_tables[0]; i++)
        if (strcmp(name, row_tables[i].name) == 0)
            return row_tables[i].rows;
    return PML_SYSTEM_NO_ROWS;
}

int pml_system__unknown(const pml_table *t, const char *name, pml_error *err)
{
    char list[512] = "";
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(name, later[i]) == 0)
            return pml_error__set(err, PML_E_UNSUPPORTED,
                                  "needs system-table:%s: this version shows of %s what Java 1.4.2 does, which has no such table", name, t->path);
    for (size_t i = 0; i < sizeof row_tables / sizeof row_tables[0]; i++) {
        size_t at = strlen(list);
        (void)snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : ", ", row_tables[i].name);
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        size_t at = strlen(list);
        (void)snprintf(list + at, sizeof list - at, ", %s", tables[i]->name);
    }
    return pml_error__set(err, PML_E_NOT_FOUND, "there is no system table '%.100s': there are %s", name, list);
}

static int open_metadata(struct ArrowArrayStream *out, const pml_system_table *s, pml_table *t,
                         const pml_system_options *o, pml_error *err)
{
    pml_meta_rows r = {0};
    pml_system_columns columns;
    pml_system_choice choice;
    pml_arena arena;
    int rc;
    pml_arena__init(&arena, t->env);
    PML_TRY(pml_system__columns(&columns, &arena, t, s->name, err));
    PML_TRY(pml_system__choose(&choice, &arena, &columns, s->name, o, err));
    PML_TRY(pml_meta_rows__init(&r, t->env, columns.v, columns.n, err));
    PML_TRY(s->fill(&r, t, err));
    PML_TRY(pml_meta_rows__stream(out, &r, choice.places, choice.n, choice.n_shown, choice.predicate, err));
out:
    pml_meta_rows__clear(&r);
    pml_arena__clear(&arena);
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
    pml_system_rows rows = pml_system__find_rows(name);
    bool own_rows = rows == PML_SYSTEM_RO || rows == PML_SYSTEM_ROW_TRACKING;
    if ((o->flags & ~(own_rows ? (uint32_t)PML_READ_ROW_KIND : 0)) != 0 || o->reserved != 0)
        return pml_error__set(err, PML_E_INVAL, "options of the system table %s: flags 0x%x, reserved 0x%x", name, o->flags, o->reserved);
    switch (rows) {
    case PML_SYSTEM_RO: return pml_system__open_ro(out, t, o, err);
    case PML_SYSTEM_ROW_TRACKING: return pml_system__open_row_tracking(out, t, o, err);
    case PML_SYSTEM_AUDIT_LOG:
    case PML_SYSTEM_BINLOG: return pml_system__open_audit(out, t, name, o, err);
    case PML_SYSTEM_NO_ROWS: break;
    }
    const pml_system_table *s = pml_system__find(name);
    return s == NULL ? pml_system__unknown(t, name, err) : open_metadata(out, s, t, o, err);
}
