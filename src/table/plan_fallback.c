/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that show partitions of another branch (Java: FallbackReadFileStoreTable): with scan.fallback-branch those that the table itself
 * does not have, with scan.primary-branch all that the other branch has, and then those of the table.
 *
 *   1. a plan of the branch whose partitions win, which notes all its visible partitions, whatever else the scan wants
 *   2. a plan of the other branch without these partitions, at the snapshot of about the same time
 *   3. the splits of the second behind those of the first; each is read by the plan it comes from
 */
#include <string.h>

#include "table/evolution.h"
#include "table/prune.h"
#include "table/scan.h"

/* ---- partitions ---- */

int pml_plan__note_partitions(pml_map *partitions, pml_plan *p, const pml_snapshot *s, pml_error *err)
{
    pml_manifest_entries live = {0};
    int rc = pml_table__live_files(&live, &p->arena, p->table, s, NULL, err);
    for (size_t i = 0; rc == PML_OK && i < live.n; i++) {
        const pml_bytes key = live.v[i].partition;
        bool shown = p->schema->n_keys == 0 || pml_plan__is_visible(p, &live.v[i]);
        if (shown && !pml_map__has(partitions, key.ptr, key.len) && pml_map__put(partitions, key.ptr, key.len, partitions, NULL) != PML_OK)
            rc = pml_error__no_memory(err);
    }
    return rc;
}

void pml_plan__leave_out(pml_manifest_entries *live, const pml_map *partitions)
{
    size_t kept = 0;
    for (size_t i = 0; i < live->n; i++)
        if (!pml_map__has(partitions, live->v[i].partition.ptr, live->v[i].partition.len))
            live->v[kept++] = live->v[i];
    live->n = kept;
}

/* ---- which snapshot ---- */

/* That of the other branch which goes with a snapshot of the table: the newest that is not younger. Where there is none Java takes the
   first one, though it is. */
static int snapshot_beside(pml_travel *out, pml_table *t, int64_t id, pml_error *err)
{
    pml_snapshot s;
    bool found;
    pml_arena arena;
    pml_error why = PML_ERROR_INIT;
    pml_arena__init(&arena, t->env);
    int rc = pml_travel__id(&s, &arena, t, id, err);
    if (rc == PML_OK) {
        const pml_travel by_time = {.by = PML_SCAN_TIME, .value = s.time_ms};
        rc = pml_travel__find(&s, &found, &arena, t->other, &by_time, -1, &why);
        *out = (pml_travel){.by = PML_SCAN_ID, .value = rc == PML_OK && found ? s.id : 1};
        if (rc == PML_E_NOT_FOUND)
            rc = PML_OK;
        else if (rc != PML_OK && err != NULL)
            *err = why;
    }
    pml_arena__clear(&arena);
    return rc;
}

int pml_plan__travel_beside(pml_travel *out, bool *alone, pml_table *t, const pml_travel *travel, pml_error *err)
{
    *out = *travel;
    *alone = travel->by == PML_SCAN_TAG; /* Java reads the table's own tag through both branches */
    return travel->by == PML_SCAN_ID ? snapshot_beside(out, t, travel->value, err) : PML_OK;
}

/* ---- whether both fit ---- */

static int differ(const pml_table *t, const char *what, pml_error *err)
{
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                         "needs scan.fallback-branch: branches %s and %s of %s have other %s, so their rows cannot be read as one table",
                         t->branch, t->other->branch, t->path, what);
}

/* Java wants the same types in the same order, nullable or not, and then reads by field ids; where those or names are others, who is
   right is not clear. */
static int check_columns(const pml_table *t, const pml_table_schema *a, const pml_table_schema *b, pml_error *err)
{
    if (a->n_fields != b->n_fields)
        return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_OPTION, t->path, "branches %s and %s of %s do not have the same columns: %zu and %zu",
                             t->branch, t->other->branch, t->path, a->n_fields, b->n_fields);
    for (size_t i = 0; i < a->n_fields; i++)
        if (!pml_type__equal(&a->fields[i].type, &b->fields[i].type, true))
            return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_OPTION, t->path,
                                 "branches %s and %s of %s do not have the same columns: types of %s and %s differ", t->branch,
                                 t->other->branch, t->path, a->fields[i].name, b->fields[i].name);
    for (size_t i = 0; i < a->n_fields; i++)
        if (a->fields[i].id != b->fields[i].id || strcmp(a->fields[i].name, b->fields[i].name) != 0)
            return differ(t, "ids or names of columns", err);
    bool same = a->n_partition_keys == b->n_partition_keys;
    for (size_t i = 0; same && i < a->n_partition_keys; i++)
        same = a->partition_index[i] == b->partition_index[i];
    return same ? PML_OK : differ(t, "partition keys", err);
}

static int check_scan(const pml_scan *scan, pml_error *err)
{
    const pml_table *t = scan->table;
    if (scan->memory != NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs scan.fallback-branch: %s shows partitions of branch %s; whether it lacks a partition whose rows are in "
                             "memory only is not defined: plan without them",
                             t->path, t->other->branch);
    if (pml_travel__is_range(&scan->travel))
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs scan.fallback-branch: %s shows partitions of branch %s; what changed in both is not defined: ask each branch",
                             t->path, t->other->branch);
    if (scan->n_extra > 0 && (t->schema->n_keys == 0) != (t->other->schema->n_keys == 0))
        return differ(t, "kinds of rows (with a primary key, and without)", err);
    /* Of a snapshot of then the columns of then count, which both plans know. */
    return pml_travel__has_columns_of_then(&scan->travel) ? PML_OK : check_columns(t, t->schema, t->other->schema, err);
}

/* ---- both ---- */

static int put_together(pml_plan *first, pml_plan *second, pml_error *err)
{
    size_t n = first->n_splits + second->n_splits;
    pml_split *v = pml_arena__array(&first->arena, n, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    if (first->n_splits > 0)
        memcpy(v, first->splits, first->n_splits * sizeof *v);
    for (size_t i = 0; i < second->n_splits; i++) {
        pml_split *s = &v[first->n_splits + i];
        *s = second->splits[i];
        s->plan = second;
    }
    for (size_t i = 0; i < first->n_columns; i++)
        first->out_fields[i].type.nullable |= second->out_fields[i].type.nullable;
    first->splits = v;
    first->n_splits = n;
    first->other = second;
    return PML_OK;
}

int pml_plan__both(pml_plan **out, const pml_scan *scan, int (*plan_one)(pml_plan **out, const pml_scan *scan, pml_error *err),
                   pml_error *err)
{
    pml_table *t = scan->table;
    pml_scan own = *scan, other = *scan;
    pml_scan *first = t->other_first ? &other : &own, *second = t->other_first ? &own : &other;
    pml_plan *a = NULL, *b = NULL;
    bool alone;
    pml_map partitions;
    int rc;
    PML_RETURN_IF(check_scan(scan, err));
    PML_RETURN_IF(pml_plan__travel_beside(&other.travel, &alone, t, &scan->travel, err));
    if (alone)
        return plan_one(out, scan, err);
    pml_map__init(&partitions, t->env);
    other.table = t->other;
    first->partitions = &partitions;
    second->without = &partitions;
    PML_TRY(plan_one(&a, first, err));
    PML_TRY(plan_one(&b, second, err));
    PML_TRY(check_columns(t, t->other_first ? b->schema : a->schema, t->other_first ? a->schema : b->schema, err));
    PML_TRY(put_together(a, b, err));
    *out = a;
    a = b = NULL;
out:
    pml_plan_free(a);
    pml_plan_free(b);
    pml_map__clear(&partitions, NULL);
    return rc;
}
