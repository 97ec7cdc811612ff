/* SPDX-License-Identifier: Apache-2.0 */
#include "table/memory_runs.h"

#include <string.h>

#include "merge/engine.h"
#include "merge/fold.h"
#include "table/memory_source.h"

int pml_memory_runs__fold(pml_plan *plan, const pml_merge_layout *layout, bool lookup, int64_t batch_rows, pml_run *runs, size_t *n,
                          pml_error *err)
{
    const pml_fold request = {.layout = layout, .max = plan->memory->fan_in(plan->pins, *n), .lookup = lookup, .batch_rows = batch_rows};
    return pml_runs__fold(runs, n, plan->env, &request, err);
}

/* The runs of one group as one run. Moves them, also on failure. */
static int reduce(pml_run *out, const pml_memory_runs *q, pml_run *runs, size_t n, pml_error *err)
{
    const pml_table *t = q->plan->table;
    pml_env *env = q->plan->env;
    pml_merge_function function = {0};
    int rc;
    PML_TRY(pml_memory_runs__fold(q->plan, q->layout, false, q->batch_rows, runs, &n, err));
    PML_TRY(pml_merge_engine__new(&function, env, q->layout, q->schema, t->overrides, t->n_overrides, err));
    return pml_merge_run__open(out, env, q->layout, &function, q->batch_rows, runs, n, err);
out:
    for (size_t i = 0; i < n; i++)
        runs[i].drop(runs[i].ctx);
    return rc;
}

/* Runs that stand in `from`, of n in all, by groups to `to`. What has not become part of `to` is dropped on failure. */
static int reduce_groups(pml_run *to, size_t *n_to, const pml_memory_runs *q, const pml_memory_run *from, pml_run *runs, size_t n,
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
