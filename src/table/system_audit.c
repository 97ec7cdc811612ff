/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_log and binlog: the rows of the table, keys whose last row is a delete among them, with their kind in front, and with their number
 * if table-read.sequence-number.enabled says so. binlog has an array of one value in each column (of two in changelogs of a stream, which
 * this is not).
 *
 *   rows of the plan, with _VALUE_KIND behind -> that as text -> binlog: arrays -> condition -> the wanted columns in their order
 *
 * The plan has the condition of an audit log, too, as far as it needs no kind of row.
 */
#include <string.h>

#include "columnar/array_memory.h"
#include "table/read_merge.h"
#include "table/row_tracking.h"
#include "table/system.h"

typedef struct audit_reader {
    pml_env *env;
    pml_arena arena;
    struct ArrowArrayStream rows; /* columns of the plan, then _VALUE_KIND */
    pml_field *fields;            /* what these columns become, then "rowkind" */
    size_t n;                     /* columns of the plan */
    bool packs;
    pml_system_columns all;
    pml_system_choice choice;
    int32_t *from; /* of each shown column: where it stands among fields */
} audit_reader;

static void audit_drop(void *owner)
{
    audit_reader *r = owner;
    pml_env *env = r->env;
    if (r->rows.release != NULL)
        r->rows.release(&r->rows);
    pml_arena__clear(&r->arena);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- batches ---- */

static int kinds_as_text(struct ArrowArray *out, pml_env *env, const struct ArrowArray *kinds, pml_error *err)
{
    static const char *const names[] = {"+I", "-U", "+U", "-D"};
    pml_builder *b;
    PML_RETURN_IF(pml_builder__new(&b, env, &pml_system_rowkind.type, err));
    int rc = PML_OK;
    for (int64_t i = 0; rc == PML_OK && i < kinds->length; i++) {
        pml_value v;
        pml_value__get(&v, &pml_field_value_kind.type, kinds, i); /* checked by the read: one of the four */
        const char *name = names[(size_t)v.i & 3];
        v = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)name, 2}};
        rc = pml_builder__append_value(b, &v);
    }
    if (rc == PML_E_NOMEM)
        (void)pml_error__no_memory(err);
    if (rc == PML_OK)
        rc = pml_builder__finish(b, out, err);
    pml_builder__free(b);
    return rc;
}

/* The column (moved) as arrays of one value each. */
static int pack(struct ArrowArray *out, pml_env *env, struct ArrowArray *column, pml_error *err)
{
    int64_t n = column->length;
    if (n >= INT32_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a batch of %lld rows cannot be made arrays: read fewer at once", (long long)n);
    PML_RETURN_IF(pml_array__init(out, env, NULL, 2, 1, err));
    int32_t *offsets = pml_array__alloc(out, 1, ((size_t)n + 1) * sizeof *offsets);
    if (offsets == NULL) {
        pml_array__release(out);
        return pml_error__no_memory(err);
    }
    for (int64_t i = 0; i <= n; i++)
        offsets[i] = (int32_t)i;
    out->length = n;
    *out->children[0] = *column;
    column->release = NULL;
    return PML_OK;
}

/* Column i of the plan's batch, or its last one, as what is shown of it. */
static int convert_column(struct ArrowArray *out, audit_reader *r, struct ArrowArray *column, size_t i, pml_error *err)
{
    if (i == r->n)
        return kinds_as_text(out, r->env, column, err);
    if (r->packs && r->fields[i].id != PML_ID_SEQUENCE)
        return pack(out, r->env, column, err);
    *out = *column;
    column->release = NULL;
    return PML_OK;
}

/* Replaces the batch. */
static int convert(struct ArrowArray *batch, audit_reader *r, pml_error *err)
{
    struct ArrowArray out = {0};
    int rc = PML_OK;
    struct ArrowArray *columns = pml_env__calloc(r->env, r->n + 1, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; rc == PML_OK && i <= r->n; i++)
        rc = convert_column(&columns[i], r, batch->children[i], i, err);
    if (rc == PML_OK)
        rc = pml_batch__from_columns(&out, r->env, columns, r->n + 1, batch->length, err);
    for (size_t i = 0; rc != PML_OK && i <= r->n; i++)
        pml_array__release(&columns[i]);
    pml_env__free(r->env, columns);
    if (rc == PML_OK) {
        batch->release(batch);
        *batch = out;
    }
    return rc;
}

static int project(struct ArrowArray *out, audit_reader *r, struct ArrowArray *batch, pml_error *err)
{
    size_t n = r->choice.n_shown;
    struct ArrowArray *columns = pml_env__calloc(r->env, n, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) { /* each is shown once */
        columns[i] = *batch->children[r->from[i]];
        batch->children[r->from[i]]->release = NULL;
    }
    int rc = pml_batch__from_columns(out, r->env, columns, n, batch->length, err);
    for (size_t i = 0; rc != PML_OK && i < n; i++)
        pml_array__release(&columns[i]);
    pml_env__free(r->env, columns);
    return rc;
}

static int audit_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    audit_reader *r = owner;
    int rc = PML_OK;
    while (rc == PML_OK && out->release == NULL) {
        struct ArrowArray batch = {0};
        if (r->rows.get_next(&r->rows, &batch) != 0)
            return pml_stream_error(&r->rows, err);
        if (batch.release == NULL)
            return PML_OK;
        rc = convert(&batch, r, err);
        if (rc == PML_OK && r->choice.predicate != NULL)
            rc = pml_batch__filter(&batch, r->env, r->choice.predicate, r->fields, r->n + 1, err);
        if (rc == PML_OK && batch.length > 0)
            rc = project(out, r, &batch, err);
        batch.release(&batch);
    }
    return rc;
}

/* ---- opening ---- */

/* Which columns the plan has: the wanted ones without "rowkind". */
static int plan_columns(const char ***names, audit_reader *r, pml_error *err)
{
    size_t kind = SIZE_MAX;
    *names = pml_arena__array(&r->arena, r->choice.n, sizeof **names);
    r->fields = pml_arena__array(&r->arena, r->choice.n + 1, sizeof *r->fields);
    r->from = pml_arena__array(&r->arena, r->choice.n, sizeof *r->from);
    if (*names == NULL || r->fields == NULL || r->from == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->choice.n; i++) {
        const pml_field *f = &r->all.v[r->choice.places[i]];
        if (f->id == PML_ID_ROWKIND) {
            kind = i;
            continue;
        }
        r->from[i] = (int32_t)r->n;
        r->fields[r->n] = *f;
        (*names)[r->n++] = f->name;
    }
    r->fields[r->n] = pml_system_rowkind;
    if (kind != SIZE_MAX)
        r->from[kind] = (int32_t)r->n;
    return PML_OK;
}

/* The conjuncts of the condition that rows of the table answer. */
static int push_down(pml_scan *scan, audit_reader *r, pml_error *err)
{
    pml_pred *pushed = NULL;
    size_t n = 0;
    if (r->choice.predicate == NULL || r->packs)
        return PML_OK;
    int32_t *ids = pml_arena__array(&r->arena, r->n + 1, sizeof *ids);
    if (ids == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->n; i++)
        ids[n++] = r->fields[i].id;
    if (pml_pred__project(&pushed, &r->arena, r->choice.predicate, ids, n) != PML_OK)
        return pml_error__no_memory(err);
    return pushed == NULL ? PML_OK : pml_scan_set_predicate(scan, &(pml_predicate){.tree = pushed}, err);
}

static int open_rows(audit_reader *r, pml_table *t, pml_error *err)
{
    pml_read_options read = PML_READ_OPTIONS_INIT;
    const char **names;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    int rc;
    read.flags = PML_READ_ROW_KIND;
    PML_TRY(plan_columns(&names, r, err));
    PML_TRY(pml_scan_new(&scan, t, err));
    if (r->packs && pml_travel__is_range(&scan->travel)) {
        rc = pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                           "needs system-table:binlog: the options of %s ask for what changed between snapshots, of which this version does not "
                           "put updates into one row: use audit_log",
                           t->path);
        goto out;
    }
    scan->keep_retracts = true;
    if (r->all.n > 1 && r->all.v[1].id == PML_ID_SEQUENCE) {
        scan->extra = &pml_row_tracking_fields[1];
        scan->n_extra = 1;
    }
    PML_TRY(pml_scan_set_columns(scan, names, r->n, err));
    PML_TRY(push_down(scan, r, err));
    PML_TRY(pml_scan_plan(&plan, scan, err));
    PML_TRY(pml_read_open(&r->rows, plan, &read, err));
out:
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static int shown_schema(struct ArrowSchema *out, audit_reader *r, pml_error *err)
{
    pml_field *shown = pml_arena__array(&r->arena, r->choice.n_shown, sizeof *shown);
    if (shown == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->choice.n_shown; i++)
        shown[i] = r->fields[r->from[i]];
    return pml_type__export(out, r->env, shown, r->choice.n_shown, err);
}

int pml_system__open_audit(struct ArrowArrayStream *out, pml_table *t, const char *name, const pml_system_options *o, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    audit_reader *r = pml_env__calloc(t->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(t->env);
    r->env = t->env;
    pml_arena__init(&r->arena, t->env);
    r->packs = pml_system__find_rows(name) == PML_SYSTEM_BINLOG;
    PML_TRY(pml_system__columns(&r->all, &r->arena, t, name, err));
    PML_TRY(pml_system__choose(&r->choice, &r->arena, &r->all, name, o, err));
    PML_TRY(open_rows(r, t, err));
    PML_TRY(shown_schema(&schema, r, err));
    PML_TRY(pml_stream__new(out, t->env, &schema, audit_next, audit_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        audit_drop(r);
    return rc;
}
