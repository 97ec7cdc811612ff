/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge-engine partial-update: values that are not null replace older ones; columns of a sequence group follow the group's version
 * instead.
 *
 * 1. A pass over the rows decides what each means: for each group whether the row is newer than the version so far, older, or
 *    silent (all version columns null); where a retract fills an empty row, where it removes the row.
 * 2. A pass per wanted column turns that into steps of its aggregator (aggregate.h).
 *
 * All version columns of a group always come from one row, so a group's version is a reference.
 */
#include "merge/engine_function.h"
#include "merge/sequence_group.h"

enum { STATUS_SILENT, STATUS_OLDER, STATUS_NEWER };
enum { NOT_REMOVED = -1 };

typedef struct row_note {
    bool fills;      /* before all else the row is taken as it is */
    bool takes_part; /* false: nothing more */
    bool removes;    /* it is taken as it is, after what columns before `removed_at` do */
    int32_t removed_at;
} row_note;

typedef struct group_state {
    int32_t *positions; /* of the version columns */
    size_t n;
    bool present;        /* one of its columns is read */
    int32_t removes_at;  /* the first of its version columns, when -D removes by it; else NOT_REMOVED */
    pml_row_ref version; /* PML_REF_NULL: all null */
} group_state;

typedef struct partial_update {
    pml_engine_base base;
    bool ignore_delete, remove_on_delete;
    bool has_groups;   /* the table has */
    bool reads_groups; /* one of their columns is read */
    bool retract_seen; /* of the key at hand */
    pml_sequence_groups groups;
    group_state *states;
    int32_t *group_of; /* by position */
    uint8_t *roles;    /* by position */
    row_note *notes;   /* by row of the key */
    uint8_t *statuses; /* by row, then group */
    size_t cap_rows;
} partial_update;

enum { ROLE_FREE, ROLE_VERSION, ROLE_PROTECTED, ROLE_AGGREGATED };

/* ---- what a row means ---- */

static int reserve_rows(partial_update *s, size_t n, pml_error *err)
{
    if (n > SIZE_MAX / 8 / (sizeof(row_note) + s->groups.n + 1))
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_engine__reserve(&s->base, n * 3, err));
    if (n <= s->cap_rows)
        return PML_OK;
    row_note *notes = pml_env__realloc(s->base.env, s->notes, n * 2 * sizeof *notes);
    if (notes == NULL)
        return pml_error__no_memory(err);
    s->notes = notes;
    uint8_t *statuses = pml_env__realloc(s->base.env, s->statuses, n * 2 * (s->groups.n + 1));
    if (statuses == NULL)
        return pml_error__no_memory(err);
    s->statuses = statuses;
    s->cap_rows = n * 2;
    return PML_OK;
}

static pml_item version_item(const pml_merge_group *g, pml_row_ref ref, int32_t position)
{
    return ref.batch == PML_REF_NULL ? (pml_item){NULL, 0}
                                     : (pml_item){pml_merge_group__column(g, ref, position), ref.row};
}

static uint8_t status_of(const partial_update *s, const group_state *group, const pml_merge_group *g, pml_row_ref row)
{
    bool silent = true;
    int c = 0;
    for (size_t i = 0; i < group->n && silent; i++)
        silent = pml_item__is_null(version_item(g, row, group->positions[i]));
    if (silent)
        return STATUS_SILENT;
    for (size_t i = 0; i < group->n && c == 0; i++) {
        int32_t at = group->positions[i];
        c = pml_item__compare(&s->base.layout->fields[at].type, version_item(g, row, at),
                              version_item(g, group->version, at));
    }
    return c >= 0 ? STATUS_NEWER : STATUS_OLDER;
}

static void set_versions(partial_update *s, pml_row_ref row)
{
    for (size_t i = 0; i < s->groups.n; i++)
        s->states[i].version = row;
}

/* The statuses of a row, and versions that it sets. */
static void ask_groups(partial_update *s, const pml_merge_group *g, size_t i, row_note *note)
{
    const pml_merge_row *row = &g->rows[i];
    uint8_t *statuses = s->statuses + i * s->groups.n;
    note->removed_at = NOT_REMOVED;
    for (size_t k = 0; k < s->groups.n; k++) {
        group_state *group = &s->states[k];
        if (!group->present)
            continue;
        statuses[k] = status_of(s, group, g, row->ref);
        if (row->kind == PML_ROW_DELETE && statuses[k] == STATUS_NEWER && group->removes_at != NOT_REMOVED &&
            (note->removed_at == NOT_REMOVED || group->removes_at < note->removed_at))
            note->removed_at = group->removes_at;
    }
    note->removes = note->removed_at != NOT_REMOVED;
    for (size_t k = 0; k < s->groups.n; k++)
        if (note->removes || (s->states[k].present && statuses[k] == STATUS_NEWER))
            s->states[k].version = row->ref;
}

static int check_retract(const void *self, int8_t kind, pml_error *err)
{
    const partial_update *s = self;
    for (size_t i = 0; s->has_groups && i < s->base.layout->n_fields; i++)
        if (s->roles[i] == ROLE_AGGREGATED)
            PML_RETURN_IF(pml_aggregator__check_retract(&s->base.aggregators[i], kind, err));
    if (s->ignore_delete || s->has_groups || s->remove_on_delete)
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL,
                          "merge-engine partial-update takes no rows of kind %s unless option ignore-delete, "
                          "partial-update.remove-record-on-delete or a sequence-group says what becomes of them",
                          kind == PML_ROW_DELETE ? "-D" : "-U");
}

static int note_retract(partial_update *s, const pml_merge_group *g, size_t i, bool *filled, int64_t *sequence,
                        pml_error *err)
{
    const pml_merge_row *row = &g->rows[i];
    row_note *note = &s->notes[i];
    s->retract_seen = true;
    note->fills = !*filled;
    if (note->fills) {
        PML_RETURN_IF(pml_engine__check_nulls(&s->base, g, row->ref, err));
        set_versions(s, row->ref);
    }
    *filled = true;
    if (s->ignore_delete)
        return PML_OK;
    *sequence = row->sequence;
    if (s->has_groups) {
        note->takes_part = s->reads_groups;
        if (s->reads_groups)
            ask_groups(s, g, i, note);
        return note->removes ? pml_engine__check_nulls(&s->base, g, row->ref, err) : PML_OK;
    }
    PML_RETURN_IF(check_retract(s, row->kind, err));
    note->removes = row->kind == PML_ROW_DELETE;
    return note->removes ? pml_engine__check_nulls(&s->base, g, row->ref, err) : PML_OK;
}

static int note_rows(partial_update *s, const pml_merge_group *g, int8_t *kind, int64_t *sequence, pml_error *err)
{
    bool filled = false, added = false;
    *sequence = 0;
    set_versions(s, (pml_row_ref){PML_REF_NULL, 0});
    s->retract_seen = false;
    for (size_t i = 0; i < g->n; i++) {
        row_note *note = &s->notes[i];
        *note = (row_note){.removed_at = NOT_REMOVED};
        if (pml_row_kind__is_retract(g->rows[i].kind)) {
            PML_RETURN_IF(note_retract(s, g, i, &filled, sequence, err));
            continue;
        }
        *sequence = g->rows[i].sequence;
        note->takes_part = true;
        if (s->reads_groups)
            ask_groups(s, g, i, note);
        else
            PML_RETURN_IF(pml_engine__check_nulls(&s->base, g, g->rows[i].ref, err));
        filled = added = true;
    }
    *kind = s->notes[g->n - 1].removes || !added ? PML_ROW_DELETE : PML_ROW_INSERT;
    return PML_OK;
}

/* ---- what becomes of a column ---- */

/* The step of a column for a row that takes part; false: none. */
static bool step_of(uint8_t role, bool retract, uint8_t status, pml_fold_op *op)
{
    switch (role) {
    case ROLE_FREE: *op = PML_FOLD_ADD; return !retract;
    case ROLE_VERSION: *op = PML_FOLD_TAKE; return status == STATUS_NEWER;
    case ROLE_PROTECTED: *op = retract ? PML_FOLD_CLEAR : PML_FOLD_TAKE; return status == STATUS_NEWER;
    default:
        *op = retract ? PML_FOLD_RETRACT : status == STATUS_NEWER ? PML_FOLD_ADD : PML_FOLD_REVERSED;
        return status != STATUS_SILENT;
    }
}

static int fold_column(partial_update *s, const pml_merge_group *g, int32_t position, pml_merge_output *out,
                       pml_error *err)
{
    uint8_t role = s->roles[position];
    int32_t group = s->group_of[position];
    pml_fold_step *steps = s->base.steps;
    pml_fold f = {.group = g, .steps = steps, .out = out, .plain = role == ROLE_FREE && !s->retract_seen};
    for (size_t i = 0; i < g->n && !f.plain; i++) {
        const row_note *note = &s->notes[i];
        uint32_t row = (uint32_t)i;
        pml_fold_op op;
        uint8_t status = group >= 0 && note->takes_part ? s->statuses[i * s->groups.n + (size_t)group] : STATUS_SILENT;
        if (note->fills)
            steps[f.n++] = (pml_fold_step){row, PML_FOLD_TAKE};
        if (note->takes_part && (!note->removes || position < note->removed_at) &&
            step_of(role, pml_row_kind__is_retract(g->rows[i].kind), status, &op))
            steps[f.n++] = (pml_fold_step){row, (uint8_t)op};
        if (note->removes)
            steps[f.n++] = (pml_fold_step){row, PML_FOLD_TAKE};
    }
    return pml_aggregator__fold(&s->base.aggregators[position], &f, err);
}

static int partial_update_decide(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err)
{
    partial_update *s = self;
    int8_t kind;
    int64_t sequence;
    PML_RETURN_IF(reserve_rows(s, g->n, err));
    PML_RETURN_IF(note_rows(s, g, &kind, &sequence, err));
    for (size_t i = 0; i < s->base.layout->n_fields; i++)
        if (s->base.columns[i] >= 0 && pml_merge_output__wanted(out, (int32_t)i))
            PML_RETURN_IF(fold_column(s, g, (int32_t)i, out, err));
    return pml_engine__end_row(out, kind, sequence, err);
}

/* ---- making one ---- */

static void partial_update_drop(void *self)
{
    partial_update *s = self;
    pml_env *env = s->base.env;
    for (size_t i = 0; s->states != NULL && i < s->groups.n; i++)
        pml_env__free(env, s->states[i].positions);
    pml_env__free(env, s->states);
    pml_env__free(env, s->group_of);
    pml_env__free(env, s->roles);
    pml_env__free(env, s->notes);
    pml_env__free(env, s->statuses);
    pml_sequence_groups__clear(&s->groups);
    pml_engine__clear(&s->base);
    pml_env__free(env, s);
    pml_env_release(env);
}

/* The function of a column, NULL: none. Java: PartialUpdateMergeFunction.getAggFuncName. */
static int function_of(const char **name, const partial_update *s, int32_t column, pml_error *err)
{
    const pml_merge_options *o = &s->base.options;
    const char *field = o->schema->fields[column].name;
    *name = NULL;
    if (s->groups.is_version[column])
        return PML_OK;
    if (pml_engine__is_key(o->schema, field)) {
        *name = "primary-key";
        return PML_OK;
    }
    *name = pml_merge_options__field(o, field, "aggregate-function");
    if (*name == NULL)
        *name = pml_merge_options__get(o, "fields.default-aggregate-function");
    if (*name != NULL && strcmp(*name, "last_non_null_value") != 0 && s->groups.group_of[column] < 0)
        return pml_error__set(
            err, PML_E_SCHEMA,
            "column %s: in merge-engine partial-update the aggregate function %s wants a sequence-group "
            "around the column",
            field, *name);
    return PML_OK;
}

static int check_conflicts(const partial_update *s, pml_error *err)
{
    const pml_merge_options *o = &s->base.options;
    static const char on_delete[] = "partial-update.remove-record-on-delete",
                      on_group[] = "partial-update.remove-record-on-sequence-group";
    const char *other = s->ignore_delete && s->remove_on_delete                           ? on_delete
                        : s->ignore_delete && pml_merge_options__get(o, on_group) != NULL ? on_group
                                                                                          : NULL;
    if (other != NULL)
        return pml_error__set(err, PML_E_SCHEMA, "options ignore-delete and %s exclude each other", other);
    if (s->remove_on_delete && s->has_groups)
        return pml_error__set(err, PML_E_SCHEMA, "option %s does not go with sequence groups", on_delete);
    for (size_t i = 0; i < o->schema->n_fields; i++) {
        const char *name;
        PML_RETURN_IF(function_of(&name, s, (int32_t)i, err));
    }
    return PML_OK;
}

static int32_t position_of(const partial_update *s, int32_t column)
{
    for (size_t i = 0; i < s->base.layout->n_fields; i++)
        if (s->base.columns[i] == column)
            return (int32_t)i;
    return -1;
}

/* Finds the version columns of a group of which a column is read. */
static int place_group(partial_update *s, size_t k, pml_error *err)
{
    const pml_sequence_group *group = &s->groups.groups[k];
    group_state *state = &s->states[k];
    if (state->present)
        return PML_OK;
    state->present = s->reads_groups = true;
    state->positions = pml_env__calloc(s->base.env, group->n_versions + 1, sizeof *state->positions);
    if (state->positions == NULL)
        return pml_error__no_memory(err);
    int32_t first = INT32_MAX;
    bool removes = false;
    for (size_t i = 0; i < group->n_versions; i++) {
        int32_t at = position_of(s, group->versions[i]);
        if (at < 0)
            return pml_error__set(err, PML_E_INTERNAL, "the merge lacks a version column of option %s", group->option);
        state->positions[state->n++] = at;
        first = at < first ? at : first;
        removes = removes || s->groups.removes[group->versions[i]];
    }
    state->removes_at = removes ? first : NOT_REMOVED;
    return PML_OK;
}

static int open_column(partial_update *s, size_t i, pml_error *err)
{
    const pml_field *field = &s->base.layout->fields[i];
    int32_t column = s->base.columns[i], group = column < 0 ? -1 : s->groups.group_of[column];
    const char *name;
    s->group_of[i] = group;
    if (column < 0)
        return PML_OK;
    PML_RETURN_IF(function_of(&name, s, column, err));
    if (group >= 0)
        PML_RETURN_IF(place_group(s, (size_t)group, err));
    s->roles[i] = group < 0                      ? ROLE_FREE
                  : s->groups.is_version[column] ? ROLE_VERSION
                  : name != NULL                 ? ROLE_AGGREGATED
                                                 : ROLE_PROTECTED;
    if (group < 0 && name == NULL)
        name = "last_non_null_value";
    return pml_aggregator__open(&s->base.aggregators[i], s->base.env, name, field, (int32_t)i, &s->base.options, err);
}

int pml_partial_update__new(pml_merge_function *out, pml_env *env, const pml_merge_layout *layout,
                            const pml_merge_options *o, pml_error *err)
{
    int rc;
    partial_update *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    s->base.env = env;
    PML_TRY(pml_engine__init(&s->base, env, layout, o, err));
    PML_TRY(pml_merge_options__ignore_delete(&s->ignore_delete, o, err));
    PML_TRY(pml_merge_options__bool(&s->remove_on_delete, o, "partial-update.remove-record-on-delete", err));
    PML_TRY(pml_sequence_groups__parse(&s->groups, env, o, err));
    s->has_groups = s->groups.n > 0;
    PML_TRY(check_conflicts(s, err));
    s->states = pml_env__calloc(env, s->groups.n + 1, sizeof *s->states);
    s->group_of = pml_env__calloc(env, layout->n_fields + 1, sizeof *s->group_of);
    s->roles = pml_env__calloc(env, layout->n_fields + 1, sizeof *s->roles);
    if (s->states == NULL || s->group_of == NULL || s->roles == NULL)
        PML_TRY(pml_error__no_memory(err));
    for (size_t i = 0; i < layout->n_fields; i++)
        PML_TRY(open_column(s, i, err));
    *out = (pml_merge_function){
        .kind = PML_MERGE_COLUMNS, .decide = partial_update_decide, .check_retract = check_retract, .drop = partial_update_drop, .self = s};
    return PML_OK;
out:
    partial_update_drop(s);
    return rc;
}
