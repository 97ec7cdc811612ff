/* SPDX-License-Identifier: Apache-2.0 */
/* Host services for pruning: statistics of a chunk as Arrow arrays of one row, and the question whether a predicate may match. */
#include "columnar/array_memory.h"
#include "columnar/value.h"
#include "realtime/rt_host_services.h"

enum { USED_COLUMNS_MAX = 32 /* of a predicate; others are not looked at, which prunes less but never wrongly */ };

static const pml_value unknown = {.kind = PML_VALUE_NULL};

static bool wanted(const pml_rt_layout *l, const pml_field *f, uint32_t mode)
{
    return mode == PML_RT_STATS_FULL || (mode == PML_RT_STATS_KEYS && l->is_key[f - l->fields]);
}

/* The statistics of the wanted columns: of a struct array that has only these. */
static int collect(pml_stats_collector **out, pml_field *some, struct ArrowArray **children, const pml_rt_layout *l,
                   const pml_field *fields, size_t n, uint32_t mode, pml_rt_host_ctx *ctx, const struct ArrowArray *array,
                   pml_error *err)
{
    size_t kept = 0;
    struct ArrowArray part = *array;
    for (size_t i = 0; i < n; i++) {
        if (!wanted(l, &fields[i], mode))
            continue;
        some[kept] = fields[i];
        children[kept++] = array->children[i];
    }
    part.children = children;
    part.n_children = (int64_t)kept;
    PML_RETURN_IF(pml_stats__new(out, ctx->env, some, kept, err));
    int rc = pml_stats__update(*out, &part, err);
    if (rc == PML_OK)
        return PML_OK;
    pml_stats__free(*out);
    *out = NULL;
    return rc;
}

static int one_row(struct ArrowArray *child, pml_env *env, const pml_type *t, const pml_value *v, pml_error *err)
{
    return pml_batch__constant(child, env, t, v, 1, err);
}

int pml_rt_host__stats(void *p, struct ArrowArray *min, struct ArrowArray *max, int64_t *null_counts, int64_t schema_id,
                       uint32_t mode, const struct ArrowArray *array, pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    const pml_field *fields;
    pml_stats_collector *s = NULL;
    pml_field *some = NULL;
    struct ArrowArray **children = NULL;
    size_t n = 0, at = 0;
    int rc;
    *min = *max = (struct ArrowArray){0};
    PML_TRY(pml_rt_host__find_layout(&l, ctx, schema_id, err));
    PML_TRY(pml_rt_host__fields_of(&fields, &n, l, array, err));
    some = pml_env__calloc(ctx->env, n, sizeof *some);
    children = pml_env__calloc(ctx->env, n, sizeof(struct ArrowArray *));
    if (some == NULL || children == NULL)
        PML_TRY(pml_error__no_memory(err));
    PML_TRY(collect(&s, some, children, l, fields, n, mode, ctx, array, err));
    PML_TRY(pml_array__init(min, ctx->env, NULL, 1, (int64_t)n, err));
    PML_TRY(pml_array__init(max, ctx->env, NULL, 1, (int64_t)n, err));
    min->length = max->length = 1;
    for (size_t i = 0; i < n; i++) {
        bool known = wanted(l, &fields[i], mode);
        pml_column_stats c = {.min = unknown, .max = unknown, .null_count = -1};
        if (known)
            pml_stats__get(&c, s, at++);
        null_counts[i] = c.null_count;
        PML_TRY(one_row(min->children[i], ctx->env, &fields[i].type, &c.min, err));
        PML_TRY(one_row(max->children[i], ctx->env, &fields[i].type, &c.max, err));
    }
out:
    if (rc != PML_OK) {
        pml_array__release(min);
        pml_array__release(max);
        *min = *max = (struct ArrowArray){0};
    }
    pml_stats__free(s);
    pml_env__free(ctx->env, some);
    pml_env__free(ctx->env, children);
    return rc;
}

/* ---- may_match ---- */

typedef struct used_columns {
    const pml_field *fields;
    size_t n_fields, n;
    const struct ArrowArray *min, *max;
    const int64_t *null_counts;
    pml_column_stats stats[USED_COLUMNS_MAX];
} used_columns;

static void value_of(pml_value *out, const pml_type *t, const struct ArrowArray *column)
{
    *out = unknown;
    if (!pml_type__is_nested(t) && t->kind != PML_TYPE_BLOB && column->length > 0)
        pml_value__get(out, t, column, 0);
}

static void add_column(void *arg, int32_t field_id)
{
    used_columns *u = arg;
    size_t i = 0;
    while (i < u->n_fields && u->fields[i].id != field_id)
        i++;
    if (i == u->n_fields || u->n == USED_COLUMNS_MAX)
        return;
    pml_column_stats *s = &u->stats[u->n++];
    s->field_id = field_id;
    s->null_count = u->null_counts[i];
    value_of(&s->min, &u->fields[i].type, u->min->children[i]);
    value_of(&s->max, &u->fields[i].type, u->max->children[i]);
}

int pml_rt_host__may_match(void *p, const void *predicate, int64_t schema_id, int64_t rows, const struct ArrowArray *min,
                           const struct ArrowArray *max, const int64_t *null_counts)
{
    const pml_rt_layout *l = pml_rt_host__layout(p, schema_id);
    used_columns u = {.min = min, .max = max, .null_counts = null_counts};
    if (predicate == NULL)
        return 1;
    if (l == NULL || min->n_children != max->n_children ||
        pml_rt_host__fields_of(&u.fields, &u.n_fields, l, min, NULL) != PML_OK)
        return PML_E_SCHEMA;
    pml_pred__columns(predicate, add_column, &u);
    if (pml_pred__may_match(predicate, u.stats, u.n, rows))
        return 1;
    pml_rt_host_ctx *ctx = p;
    (void)atomic_fetch_add_explicit(&ctx->pruned_runs, 1, memory_order_relaxed);
    return 0;
}

int64_t pml_rt_host__pruned_runs(const pml_rt_host_ctx *ctx)
{
    return (int64_t)atomic_load_explicit(&ctx->pruned_runs, memory_order_relaxed);
}
