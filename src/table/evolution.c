/* SPDX-License-Identifier: Apache-2.0 */
#include "table/evolution.h"

#include <string.h>

#include "columnar/cast.h"
#include "columnar/predicate_node.h"
#include "meta/column_stats.h"
#include "table/row_tracking.h"

/* ---- columns ---- */

static bool was_written(const pml_written *w, const pml_field *f)
{
    if (!w->columns->present)
        return true;
    for (size_t i = 0; i < w->columns->n; i++)
        if (strcmp(w->columns->v[i], f->name) == 0)
            return true;
    return false;
}

const pml_field *pml_evolution__column(const pml_written *w, int32_t field_id)
{
    int32_t at = pml_table_schema__find_id(w->schema, field_id);
    return at >= 0 && was_written(w, &w->schema->fields[at]) ? &w->schema->fields[at] : NULL;
}

bool pml_evolution__holds_all(const pml_table_schema *written, const pml_data_file *f)
{
    const pml_written w = {written, &f->write_cols};
    bool all = true;
    for (size_t i = 0; i < written->n_fields && all; i++)
        all = was_written(&w, &written->fields[i]);
    return all;
}

static bool is_system(int32_t field_id)
{
    return field_id == PML_ID_SEQUENCE || field_id == PML_ID_VALUE_KIND;
}

int pml_evolution__assembly(pml_assembly *out, pml_arena *arena, const pml_table_schema *schema, const pml_written *w,
                            const pml_field *fields, size_t n, const pml_value *partition, pml_error *err)
{
    bool same = w->schema == schema && !w->columns->present;
    PML_RETURN_IF(pml_assembly__init(out, arena, schema, fields, n, partition, err));
    for (size_t i = 0; i < n && same; i++)
        same = pml_cast__keeps(&fields[i].type);
    if (same)
        return PML_OK;
    out->n_stored = 0;
    for (size_t i = 0; i < n; i++) {
        pml_assembly_column *c = &out->columns[i];
        if (c->stored < 0 || pml_row_tracking__has(schema, fields[i].id))
            continue;
        const pml_field *written = is_system(fields[i].id) ? &fields[i] : pml_evolution__column(w, fields[i].id);
        if (written == NULL || pml_cast__nothing_left(&written->type, &fields[i].type)) {
            c->stored = -1; /* and the constant is null */
            continue;
        }
        c->stored = (int32_t)out->n_stored;
        out->stored_fields[out->n_stored++] = *written;
        PML_RETURN_IF(pml_cast__new(&c->cast, arena, &written->type, &fields[i].type, fields[i].name, err));
    }
    return pml_row_tracking__is(schema) ? pml_row_tracking__store(out, arena, err) : PML_OK;
}

/* ---- predicates ---- */

typedef struct devolver {
    pml_arena *arena;
    const pml_table_schema *schema;
    const pml_written *w;
    bool keep_missing;
} devolver;

/* Bits of a whole number; 0: of another type. */
static int integer_bits(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_TINYINT: return 8;
    case PML_TYPE_SMALLINT: return 16;
    case PML_TYPE_INT: return 32;
    case PML_TYPE_BIGINT: return 64;
    default: return 0;
    }
}

static bool literals_fit(const pml_pred *p, int bits)
{
    for (size_t i = 0; i < p->n_literals; i++) {
        const pml_value *v = &p->literals[i];
        if (v->kind != PML_VALUE_NULL && (v->kind != PML_VALUE_INT || v->i >> (bits - 1) != v->i >> 63))
            return false;
    }
    return true;
}

/* *out stays NULL when the term says nothing about the file. */
static int devolve_leaf(pml_pred **out, const devolver *d, const pml_pred *p, pml_error *err)
{
    int32_t at = pml_table_schema__find_id(d->schema, p->field_id);
    const pml_field *written = pml_evolution__column(d->w, p->field_id);
    if (at < 0 || (written == NULL && !d->keep_missing))
        return PML_OK;
    const pml_type *type = &d->schema->fields[at].type;
    int bits = written == NULL ? 0 : integer_bits(&written->type);
    bool same = written == NULL || pml_type__equal(&written->type, type, true);
    if (!same && (bits == 0 || bits > integer_bits(type) || !literals_fit(p, bits)))
        return PML_OK;
    pml_pred *copy = pml_arena__copy(d->arena, p, sizeof *p);
    if (copy == NULL)
        return pml_error__no_memory(err);
    if (written != NULL) {
        copy->type = &written->type;
        copy->name = written->name;
    }
    *out = copy;
    return PML_OK;
}

/* The depth of predicates is bounded where they are copied into a scan. */
static int devolve(pml_pred **out, const devolver *d, const pml_pred *p, pml_error *err)
{
    *out = NULL;
    if (pml_pred__is_leaf(p))
        return devolve_leaf(out, d, p, err);
    pml_pred *copy = pml_arena__copy(d->arena, p, sizeof *p);
    if (copy == NULL)
        return pml_error__no_memory(err);
    copy->n_children = 0;
    copy->children = pml_arena__array(d->arena, p->n_children, sizeof(pml_pred *));
    if (copy->children == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < p->n_children; i++) {
        pml_pred *child;
        PML_RETURN_IF(devolve(&child, d, p->children[i], err));
        if (child == NULL && p->op == PML_PRED_OR)
            return PML_OK;
        if (child != NULL)
            copy->children[copy->n_children++] = child;
    }
    if (copy->n_children > 0 || p->n_children == 0)
        *out = copy;
    return PML_OK;
}

int pml_evolution__predicate(const pml_pred **out, pml_arena *arena, const pml_pred *p, const pml_table_schema *schema,
                             const pml_written *w, bool keep_missing, pml_error *err)
{
    const devolver d = {arena, schema, w, keep_missing};
    pml_pred *left;
    *out = p;
    if (p == NULL || (w->schema == schema && !w->columns->present))
        return PML_OK;
    PML_RETURN_IF(devolve(&left, &d, p, err));
    *out = left;
    return PML_OK;
}

/* ---- statistics ---- */

struct missing_walk {
    const pml_written *w;
    pml_column_stats *stats; /* NULL: only counted */
    size_t n;
    int64_t rows;
};

static void add_missing(void *arg, int32_t id)
{
    struct missing_walk *m = arg;
    if (pml_evolution__column(m->w, id) != NULL)
        return;
    if (id == PML_ID_ROW_ID || id == PML_ID_SEQUENCE) /* the file has them in one way or the other */
        return;
    if (m->stats != NULL)
        m->stats[m->n] = (pml_column_stats){.field_id = id, .null_count = m->rows};
    m->n++;
}

int pml_evolution__statistics(pml_column_stats **out, size_t *n, pml_arena *arena, const pml_pred *p, const pml_written *w,
                              const pml_data_file *file, pml_error *err)
{
    struct missing_walk missing = {.w = w, .rows = file->row_count};
    size_t written = 0;
    pml_pred__columns(p, add_missing, &missing);
    pml_field *fields = pml_arena__array(arena, w->schema->n_fields, sizeof *fields);
    missing.stats = pml_arena__array(arena, w->schema->n_fields + missing.n, sizeof *missing.stats);
    if (fields == NULL || missing.stats == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < w->schema->n_fields; i++)
        if (was_written(w, &w->schema->fields[i]))
            fields[written++] = w->schema->fields[i];
    PML_RETURN_IF(pml_column_stats__decode(missing.stats, arena->env, &file->value_stats, &file->value_stats_cols, fields, written, err));
    missing.n = written;
    pml_pred__columns(p, add_missing, &missing);
    *out = missing.stats;
    *n = missing.n;
    return PML_OK;
}
