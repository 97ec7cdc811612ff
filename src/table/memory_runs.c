/* SPDX-License-Identifier: Apache-2.0 */
#include "table/memory_runs.h"

#include <string.h>

#include "merge/engine.h"
#include "table/memory_source.h"

/* The runs of one group as one run. */
typedef struct reduced {
    pml_env *env;
    pml_merge_function function;
    pml_merge *merge;
    int32_t *columns; /* all of the layout */
} reduced;

static int reduced_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    reduced *r = ctx;
    *out = (struct ArrowArray){0};
    return pml_merge__next(r->merge, out, err);
}

static void reduced_drop(void *ctx)
{
    reduced *r = ctx;
    pml_merge__free(r->merge);
    if (r->function.drop != NULL)
        r->function.drop(r->function.self);
    pml_env__free(r->env, r->columns);
    pml_env__free(r->env, r);
}

/* Moves the runs, also on failure. */
static int reduce(pml_run *out, const pml_memory_runs *q, const pml_run *runs, size_t n, pml_error *err)
{
    const pml_table *t = q->plan->table;
    pml_env *env = q->plan->env;
    size_t n_fields = q->layout->n_fields, given = 0;
    int rc;
    reduced *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    r->env = env;
    r->columns = pml_env__calloc(env, n_fields, sizeof *r->columns);
    if (r->columns == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < n_fields; i++)
        r->columns[i] = (int32_t)i;
    PML_TRY(pml_merge_engine__new(&r->function, env, q->layout, q->schema, t->overrides, t->n_overrides, err));
    const pml_merge_request request = {.layout = q->layout,
                                       .function = &r->function,
                                       .columns = r->columns,
                                       .n_columns = n_fields,
                                       .keep_retracts = true,
                                       .batch_rows = q->batch_rows};
    given = n; /* from here on they are the merge's */
    PML_TRY(pml_merge__open(&r->merge, env, &request, runs, n, err));
    *out = (pml_run){.next = reduced_next, .drop = reduced_drop, .ctx = r, .name = runs[0].name, .level = -1};
    return PML_OK;
out:
    for (size_t i = given; i < n; i++)
        runs[i].drop(runs[i].ctx);
    if (r != NULL)
        reduced_drop(r);
    return rc;
}

/* Runs that stand in `from`, of n in all, by groups to `to`. What has not become part of `to` is dropped on failure. */
static int reduce_groups(pml_run *to, size_t *n_to, const pml_memory_runs *q, const pml_memory_run *from, const pml_run *runs, size_t n,
                         pml_error *err)
{
    size_t i = 0, end;
    int rc = PML_OK;
    for (; i < n && rc == PML_OK; i = end) {
        for (end = i + 1; end < n && from[end].group == from[i].group; end++)
            continue;
        rc = reduce(&to[*n_to], q, runs + i, end - i, err);
        *n_to += rc == PML_OK;
    }
    for (; i < n; i++)
        runs[i].drop(runs[i].ctx);
    return rc;
}

int pml_memory_runs__open(pml_run **runs, size_t *n, const pml_memory_runs *q, pml_error *err)
{
    pml_env *env = q->plan->env;
    pml_memory_run *memory;
    size_t n_memory;
    int rc = PML_OK;
    const pml_memory_read request = {q->layout->fields, q->layout->n_fields, q->predicate, q->batch_rows};
    *runs = NULL;
    *n = 0;
    PML_RETURN_IF(q->plan->memory->open_runs(&memory, &n_memory, q->plan->pins, (size_t)q->split->memory_part, &request, err));
    pml_run *plain = pml_env__calloc(env, n_memory + 1, sizeof *plain);
    *runs = pml_env__calloc(env, n_memory + 1, sizeof **runs);
    if (plain == NULL || *runs == NULL) {
        rc = pml_error__no_memory(err);
        for (size_t i = 0; i < n_memory; i++)
            memory[i].run.drop(memory[i].run.ctx);
        goto out;
    }
    for (size_t i = 0; i < n_memory; i++)
        plain[i] = memory[i].run;
    if (q->separable) {
        memcpy(*runs, plain, n_memory * sizeof *plain);
        *n = n_memory;
    } else {
        rc = reduce_groups(*runs, n, q, memory, plain, n_memory, err);
    }
out:
    for (size_t i = 0; rc != PML_OK && i < *n; i++)
        (*runs)[i].drop((*runs)[i].ctx);
    if (rc != PML_OK) {
        pml_env__free(env, *runs);
        *runs = NULL;
        *n = 0;
    }
    pml_env__free(env, plain);
    pml_env__free(env, memory);
    return rc;
}
