/* SPDX-License-Identifier: Apache-2.0 */
/* System tables that are another read of the table: ro and audit_log. */
#include <string.h>

#include "table/read_merge.h"
#include "table/system.h"
#include "util/number.h"

enum { LEVELS_MAX = 1000000 };

static int get_number(int64_t *out, const pml_table *t, const char *key, pml_error *err)
{
    const char *text = pml_table_option(t, key);
    if (text == NULL || (pml_number__int64(out, text, strlen(text)) && *out > 0 && *out <= LEVELS_MAX))
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                         "option %s of %s is '%.200s', not a number of 1 to %d", key, t->path, text, LEVELS_MAX);
}

/* Java: CoreOptions.numLevels; the highest level is the last one. */
int pml_system__top_level(int32_t *level, const pml_table *t, pml_error *err)
{
    int64_t trigger = 5, levels = 0;
    PML_RETURN_IF(get_number(&trigger, t, "num-sorted-run.compaction-trigger", err));
    PML_RETURN_IF(get_number(&levels, t, "num-levels", err));
    *level = (int32_t)(levels > 0 ? levels - 1 : trigger);
    return PML_OK;
}

/* Opens the scan with its columns (NULL: all) and condition, and ends it. *plan is owned, also on failure. */
static int open_scan(struct ArrowArrayStream *out, pml_plan **plan, pml_scan *scan, const pml_predicate *predicate,
                     const char *const *columns, size_t n, uint32_t flags, pml_error *err)
{
    pml_read_options read = PML_READ_OPTIONS_INIT;
    int rc;
    read.flags = flags;
    if (columns != NULL)
        PML_TRY(pml_scan_set_columns(scan, columns, n, err));
    if (predicate != NULL)
        PML_TRY(pml_scan_set_predicate(scan, predicate, err));
    PML_TRY(pml_scan_plan(plan, scan, err));
    PML_TRY(pml_read_open(out, *plan, &read, err));
out:
    pml_scan_free(scan);
    return rc;
}

int pml_system__open_ro(struct ArrowArrayStream *out, pml_table *t, const pml_system_options *o, pml_error *err)
{
    pml_scan *scan;
    pml_plan *plan = NULL;
    int32_t level = -1;
    if (t->schema->n_keys > 0)
        PML_RETURN_IF(pml_system__top_level(&level, t, err));
    PML_RETURN_IF(pml_scan_new(&scan, t, err));
    scan->only_level = level;
    int rc = open_scan(out, &plan, scan, o->predicate, o->columns, o->n_columns, 0, err);
    pml_plan_free(plan);
    return rc;
}

/* ---- audit_log ---- */

static const pml_field rowkind_field = {
    .id = PML_ID_ROWKIND, .name = "rowkind", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}};

typedef struct audit_reader {
    pml_env *env;
    struct ArrowArrayStream rows; /* columns of the table, then _VALUE_KIND */
    size_t n;                     /* columns of ours */
    size_t kind_at;               /* where "rowkind" stands; SIZE_MAX: nowhere */
} audit_reader;

static void audit_drop(void *owner)
{
    audit_reader *r = owner;
    pml_env *env = r->env;
    if (r->rows.release != NULL)
        r->rows.release(&r->rows);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int kinds_as_text(struct ArrowArray *out, pml_env *env, const struct ArrowArray *kinds, pml_error *err)
{
    static const char *const names[] = {"+I", "-U", "+U", "-D"};
    pml_builder *b;
    PML_RETURN_IF(pml_builder__new(&b, env, &rowkind_field.type, err));
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

static int audit_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    audit_reader *r = owner;
    struct ArrowArray batch = {0};
    if (r->rows.get_next(&r->rows, &batch) != 0)
        return pml_stream_error(&r->rows, err);
    if (batch.release == NULL)
        return PML_OK;
    struct ArrowArray *columns = pml_env__calloc(r->env, r->n, sizeof *columns);
    int rc = columns == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0, from = 0; rc == PML_OK && i < r->n; i++) {
        if (i == r->kind_at) {
            rc = kinds_as_text(&columns[i], r->env, batch.children[batch.n_children - 1], err);
            continue;
        }
        columns[i] = *batch.children[from];
        batch.children[from++]->release = NULL;
    }
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, r->env, columns, r->n, batch.length, err);
    for (size_t i = 0; rc != PML_OK && columns != NULL && i < r->n; i++)
        pml_array__release(&columns[i]);
    pml_env__free(r->env, columns);
    batch.release(&batch);
    return rc;
}

/* The wanted columns without "rowkind", whose place is noted; NULL: all of the table. In owned memory. */
static int wanted_columns(const char ***names, size_t *n, audit_reader *r, const pml_system_options *o, pml_error *err)
{
    *names = NULL;
    *n = 0;
    r->kind_at = 0;
    if (o->columns == NULL)
        return PML_OK;
    *names = pml_env__calloc(r->env, o->n_columns, sizeof **names);
    if (*names == NULL)
        return pml_error__no_memory(err);
    r->kind_at = SIZE_MAX;
    for (size_t i = 0; i < o->n_columns; i++) {
        if (r->kind_at == SIZE_MAX && strcmp(o->columns[i], rowkind_field.name) == 0)
            r->kind_at = i;
        else
            (*names)[(*n)++] = o->columns[i];
    }
    return PML_OK;
}

/* The columns of the plan with "rowkind" among them. */
static int audit_schema(struct ArrowSchema *out, audit_reader *r, const pml_plan *plan, pml_error *err)
{
    r->n = plan->n_columns + (r->kind_at != SIZE_MAX);
    pml_field *fields = pml_env__calloc(r->env, r->n, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0, from = 0; i < r->n; i++)
        fields[i] = i == r->kind_at ? rowkind_field : plan->out_fields[from++];
    int rc = pml_type__export(out, r->env, fields, r->n, err);
    pml_env__free(r->env, fields);
    return rc;
}

static int refuse_sequence_numbers(const pml_table *t, pml_error *err)
{
    const char *text = pml_table_option(t, "table-read.sequence-number.enabled");
    bool wanted = false;
    if (text == NULL || (pml_number__bool(&wanted, text, strlen(text)) && !wanted))
        return PML_OK;
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                         "needs system-table:audit_log: option table-read.sequence-number.enabled of %s is '%.200s', "
                         "and this version does "
                         "not show _SEQUENCE_NUMBER",
                         t->path, text);
}

int pml_system__open_audit_log(struct ArrowArrayStream *out, pml_table *t, const pml_system_options *o, pml_error *err)
{
    struct ArrowSchema schema = {0};
    pml_scan *scan;
    pml_plan *plan = NULL;
    const char **names = NULL;
    size_t n;
    int rc;
    PML_RETURN_IF(refuse_sequence_numbers(t, err));
    audit_reader *r = pml_env__calloc(t->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(t->env);
    r->env = t->env;
    PML_TRY(wanted_columns(&names, &n, r, o, err));
    PML_TRY(pml_scan_new(&scan, t, err));
    scan->keep_retracts = true;
    PML_TRY(open_scan(&r->rows, &plan, scan, o->predicate, names, n, PML_READ_ROW_KIND, err));
    PML_TRY(audit_schema(&schema, r, plan, err));
    PML_TRY(pml_stream__new(out, t->env, &schema, audit_next, audit_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    pml_plan_free(plan);
    pml_env__free(t->env, names);
    if (r != NULL)
        audit_drop(r);
    return rc;
}
