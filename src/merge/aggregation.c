/* SPDX-License-Identifier: Apache-2.0 */
/* merge-engine aggregation: every row of a key is added to, or taken back from, each column's aggregate. */
#include "merge/engine_function.h"

typedef struct aggregation {
    pml_engine_base base;
    bool remove_on_delete;
} aggregation;

static const char *function_of(const pml_merge_options *o, const char *column)
{
    const char *name;
    if (pml_engine__is_sequence(o, column))
        return "last_value";
    if (pml_engine__is_key(o->schema, column))
        return "primary-key";
    name = pml_merge_options__field(o, column, "aggregate-function");
    if (name == NULL)
        name = pml_merge_options__get(o, "fields.default-aggregate-function");
    return name != NULL ? name : "last_non_null_value";
}

/* The steps are the same for all columns. */
static int make_steps(aggregation *s, const pml_merge_group *g, pml_fold *f, bool *removed, pml_error *err)
{
    PML_RETURN_IF(pml_engine__reserve(&s->base, g->n, err));
    f->plain = true;
    for (size_t i = 0; i < g->n; i++) {
        int8_t kind = g->rows[i].kind;
        *removed = s->remove_on_delete && kind == PML_ROW_DELETE;
        pml_fold_op op = *removed ? PML_FOLD_TAKE : pml_row_kind__is_retract(kind) ? PML_FOLD_RETRACT : PML_FOLD_ADD;
        if (*removed)
            PML_RETURN_IF(pml_engine__check_nulls(&s->base, g, g->rows[i].ref, err));
        f->plain = f->plain && op == PML_FOLD_ADD;
        s->base.steps[i] = (pml_fold_step){(uint32_t)i, (uint8_t)op};
    }
    f->steps = s->base.steps;
    f->n = g->n;
    return PML_OK;
}

static int aggregation_decide(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err)
{
    aggregation *s = self;
    bool removed = false;
    pml_fold f = {.group = g, .out = out};
    PML_RETURN_IF(make_steps(s, g, &f, &removed, err));
    for (size_t i = 0; i < s->base.layout->n_fields; i++)
        if (s->base.columns[i] >= 0 && pml_merge_output__wanted(out, (int32_t)i))
            PML_RETURN_IF(pml_aggregator__fold(&s->base.aggregators[i], &f, err));
    return pml_engine__end_row(out, removed ? PML_ROW_DELETE : PML_ROW_INSERT, g->rows[g->n - 1].sequence, err);
}

static int aggregation_check_retract(const void *self, int8_t kind, pml_error *err)
{
    const aggregation *s = self;
    if (s->remove_on_delete && kind == PML_ROW_DELETE)
        return PML_OK;
    for (size_t i = 0; i < s->base.layout->n_fields; i++)
        if (s->base.columns[i] >= 0)
            PML_RETURN_IF(pml_aggregator__check_retract(&s->base.aggregators[i], kind, err));
    return PML_OK;
}

static void aggregation_drop(void *self)
{
    aggregation *s = self;
    pml_env *env = s->base.env;
    pml_engine__clear(&s->base);
    pml_env__free(env, s);
    pml_env_release(env);
}

int pml_aggregation__new(pml_merge_function *out, pml_env *env, const pml_merge_layout *layout,
                         const pml_merge_options *o, pml_error *err)
{
    int rc;
    aggregation *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    PML_TRY(pml_engine__init(&s->base, env, layout, o, err));
    PML_TRY(pml_merge_options__bool(&s->remove_on_delete, o, "aggregation.remove-record-on-delete", err));
    for (size_t i = 0; i < layout->n_fields; i++) {
        const pml_field *field = &layout->fields[i];
        if (s->base.columns[i] >= 0)
            PML_TRY(pml_aggregator__open(&s->base.aggregators[i], env, function_of(o, field->name), field, (int32_t)i,
                                         o, err));
    }
    *out = (pml_merge_function){.kind = PML_MERGE_COLUMNS,
                                .decide = aggregation_decide,
                                .check_retract = aggregation_check_retract,
                                .drop = aggregation_drop,
                                .self = s};
    return PML_OK;
out:
    aggregation_drop(s);
    return rc;
}
