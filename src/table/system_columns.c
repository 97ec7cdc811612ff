/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of system tables by name, and which of them a read wants. */
#include <string.h>

#include "table/row_tracking.h"
#include "table/system.h"
#include "util/number.h"

const pml_field pml_system_rowkind = {
    .id = PML_ID_ROWKIND, .name = "rowkind", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}};

static bool option_is_true(const pml_table *t, const char *key)
{
    const char *text = pml_table_option(t, key);
    bool is = false;
    return text != NULL && pml_number__bool(&is, text, strlen(text)) && is;
}

/* ---- tables of rows ---- */

/* The schema of the snapshot that the options scan.* choose; where they choose none, or ask for what changed, the newest. */
static int read_schema(const pml_table_schema **out, pml_arena *arena, pml_table *t, pml_error *err)
{
    pml_snapshot s;
    bool found = false;
    *out = t->schema;
    const pml_travel travel = pml_travel__of_options(&t->options);
    if (travel.by == PML_SCAN_LATEST || travel.by == PML_SCAN_COMPACTED || pml_travel__is_range(&travel))
        return PML_OK;
    PML_RETURN_IF(pml_system__find_snapshot(&s, &found, arena, t, err));
    return found ? pml_table__schema_at(out, t, s.schema_id, err) : PML_OK;
}

static int check_tracks(const pml_table *t, pml_error *err)
{
    if (option_is_true(t, "row-tracking.enabled") && t->schema->n_keys == 0)
        return PML_OK;
    return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_OPTION, t->path,
                         "%s has no row_tracking: its rows have ids where row-tracking.enabled is true and there is no primary key", t->path);
}

static int check_numbers(bool *shown, const pml_table *t, pml_error *err)
{
    static const char key[] = "table-read.sequence-number.enabled";
    *shown = option_is_true(t, key);
    if (!*shown || t->schema->n_keys > 0)
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path, "option %s of %s is true, but only rows with a primary key have numbers",
                         key, t->path);
}

static int as_array(pml_field *f, pml_arena *arena, pml_error *err)
{
    pml_field *element = pml_arena__alloc(arena, sizeof *element);
    if (element == NULL)
        return pml_error__no_memory(err);
    *element = (pml_field){.id = -1, .name = "element", .type = f->type};
    element->type.nullable = true;
    f->type = (pml_type){.kind = PML_TYPE_ARRAY, .nullable = true, .n_children = 1, .children = element};
    return PML_OK;
}

static int row_columns(pml_system_columns *out, pml_arena *arena, pml_table *t, pml_system_rows kind, pml_error *err)
{
    const pml_table_schema *s;
    bool numbers = false;
    if (kind == PML_SYSTEM_ROW_TRACKING)
        PML_RETURN_IF(check_tracks(t, err));
    if (kind == PML_SYSTEM_AUDIT_LOG || kind == PML_SYSTEM_BINLOG)
        PML_RETURN_IF(check_numbers(&numbers, t, err));
    PML_RETURN_IF(read_schema(&s, arena, t, err));
    pml_field *fields = pml_arena__array(arena, s->n_fields + PML_TRACKING_COLUMNS, sizeof *fields);
    *out = (pml_system_columns){fields, 0};
    if (fields == NULL)
        return pml_error__no_memory(err);
    if (kind == PML_SYSTEM_AUDIT_LOG || kind == PML_SYSTEM_BINLOG)
        fields[out->n++] = pml_system_rowkind;
    if (numbers)
        fields[out->n++] = pml_row_tracking_fields[1];
    for (size_t i = 0; i < s->n_fields; i++) {
        fields[out->n] = s->fields[i];
        if (kind == PML_SYSTEM_BINLOG)
            PML_RETURN_IF(as_array(&fields[out->n], arena, err));
        out->n++;
    }
    for (size_t i = 0; kind == PML_SYSTEM_ROW_TRACKING && i < PML_TRACKING_COLUMNS; i++)
        fields[out->n++] = pml_row_tracking_fields[i];
    return PML_OK;
}

int pml_system__columns(pml_system_columns *out, pml_arena *arena, pml_table *t, const char *name, pml_error *err)
{
    const pml_system_table *s = pml_system__find(name);
    pml_system_rows kind = pml_system__find_rows(name);
    if (kind != PML_SYSTEM_NO_ROWS)
        return row_columns(out, arena, t, kind, err);
    if (s == NULL)
        return pml_system__unknown(t, name, err);
    pml_field *fields = pml_arena__array(arena, s->n_fields, sizeof *fields);
    *out = (pml_system_columns){fields, s->n_fields};
    if (fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_fields; i++) {
        fields[i] = s->fields[i];
        fields[i].id = (int32_t)i;
    }
    return PML_OK;
}

static const pml_field *find_field(const pml_system_columns *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].name, name) == 0)
            return &c->v[i];
    return NULL;
}

static int no_column(const char *column, const char *name, pml_error *err)
{
    return pml_error__set(err, PML_E_NOT_FOUND, "there is no column '%.200s' in the system table %s", column, name);
}

/* ---- a read ---- */

struct used_columns {
    const pml_system_columns *all;
    pml_system_choice *choice;
    bool missing;
};

static void use_column(void *arg, int32_t id)
{
    struct used_columns *u = arg;
    size_t at = 0;
    while (at < u->all->n && u->all->v[at].id != id)
        at++;
    u->missing = u->missing || at == u->all->n;
    for (size_t i = 0; i < u->choice->n; i++)
        if ((size_t)u->choice->places[i] == at)
            return;
    if (at < u->all->n)
        u->choice->places[u->choice->n++] = (int32_t)at;
}

int pml_system__choose(pml_system_choice *out, pml_arena *arena, const pml_system_columns *all, const char *name,
                       const pml_system_options *o, pml_error *err)
{
    struct used_columns used = {all, out, false};
    *out = (pml_system_choice){.places = pml_arena__array(arena, all->n, sizeof *out->places)};
    if (out->places == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < (o->columns == NULL ? all->n : o->n_columns); i++) {
        const pml_field *f = o->columns == NULL ? &all->v[i] : find_field(all, o->columns[i]);
        if (f == NULL)
            return no_column(o->columns[i], name, err);
        for (size_t j = 0; j < i; j++)
            if (out->places[j] == (int32_t)(f - all->v))
                return pml_error__set(err, PML_E_INVAL, "column '%s' is asked for twice", f->name);
        out->places[out->n++] = (int32_t)(f - all->v);
    }
    out->n_shown = out->n;
    if (o->predicate == NULL)
        return PML_OK;
    if (pml_pred__copy(&out->predicate, arena, o->predicate->tree) != PML_OK)
        return pml_error__no_memory(err);
    pml_pred__columns(out->predicate, use_column, &used);
    return used.missing ? pml_error__set(err, PML_E_NOT_FOUND, "the predicate uses a column that the system table %s does not have", name)
                        : PML_OK;
}

/* ---- for everybody ---- */

int pml_system_table_schema(struct ArrowSchema *out, pml_table *t, const char *name, pml_error *err)
{
    pml_system_columns columns;
    pml_arena arena;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    PML_RETURN_IF(pml_error__need(name, "name", err));
    pml_arena__init(&arena, t->env);
    int rc = pml_system__columns(&columns, &arena, t, name, err);
    if (rc == PML_OK)
        rc = pml_type__export(out, t->env, columns.v, columns.n, err);
    pml_arena__clear(&arena);
    return rc;
}

int pml_system_predicate_leaf(pml_predicate **out, pml_table *t, const char *name, const char *column, pml_predicate_op op,
                              const pml_literal *literals, size_t n, pml_error *err)
{
    pml_system_columns columns;
    pml_arena arena;
    const pml_field *f = NULL;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (t == NULL || name == NULL || column == NULL || (n > 0 && literals == NULL))
        return pml_error__set(err, PML_E_INVAL, "a predicate wants a table, a system table, a column and its values");
    pml_arena__init(&arena, t->env);
    int rc = pml_system__columns(&columns, &arena, t, name, err);
    if (rc == PML_OK && (f = find_field(&columns, column)) == NULL)
        rc = no_column(column, name, err);
    if (rc == PML_OK)
        rc = pml_predicate__leaf(out, t->env, f, op, literals, n, err);
    pml_arena__clear(&arena);
    return rc;
}
