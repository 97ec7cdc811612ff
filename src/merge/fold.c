/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/fold.h"

#include <assert.h>
#include <string.h>

enum { NODE_BATCH_ROWS_MAX = 4096 /* many nodes may hold one at once */ };

typedef struct merge_run {
    pml_env *env;
    pml_merge_function function;
    pml_merge *merge;
    int32_t *columns; /* all of the layout */
} merge_run;

static int merge_run_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    merge_run *r = ctx;
    *out = (struct ArrowArray){0};
    return pml_merge__next(r->merge, out, err);
}

static void merge_run_drop(void *ctx)
{
    merge_run *r = ctx;
    pml_env *env = r->env;
    pml_merge__free(r->merge);
    if (r->function.drop != NULL)
        r->function.drop(r->function.self);
    pml_env__free(env, r->columns);
    pml_env__free(env, r);
    pml_env_release(env);
}

int pml_merge_run__open(pml_run *out, pml_env *env, const pml_merge_layout *layout, const pml_merge_function *function, int64_t batch_rows,
                        const pml_run *runs, size_t n, pml_error *err)
{
    const char *name = runs[0].name;
    merge_run *r = pml_env__calloc(env, 1, sizeof *r);
    int32_t *columns = pml_env__calloc(env, layout->n_fields, sizeof *columns);
    if (r == NULL || columns == NULL) {
        for (size_t i = 0; i < n; i++)
            runs[i].drop(runs[i].ctx);
        if (function->drop != NULL)
            function->drop(function->self);
        pml_env__free(env, columns);
        pml_env__free(env, r);
        return pml_error__no_memory(err);
    }
    for (size_t i = 0; i < layout->n_fields; i++)
        columns[i] = (int32_t)i;
    pml_env_acquire(env);
    *r = (merge_run){.env = env, .function = *function, .columns = columns};
    const pml_merge_request request = {.layout = layout,
                                       .function = &r->function,
                                       .columns = columns,
                                       .n_columns = layout->n_fields,
                                       .keep_retracts = true,
                                       .batch_rows = batch_rows};
    int rc = pml_merge__open(&r->merge, env, &request, runs, n, err);
    if (rc != PML_OK) {
        merge_run_drop(r);
        return rc;
    }
    *out = (pml_run){.next = merge_run_next, .drop = merge_run_drop, .ctx = r, .name = name, .level = -1};
    return PML_OK;
}

/* One of `size` neighbours. On failure these are gone. */
static int fold_some(pml_run *runs, size_t *n, size_t at, size_t size, pml_env *env, const pml_fold *q, pml_error *err)
{
    static const pml_merge_function all = {.kind = PML_MERGE_ALL};
    pml_run node = {0};
    int64_t rows = q->batch_rows < NODE_BATCH_ROWS_MAX ? q->batch_rows : NODE_BATCH_ROWS_MAX;
    int rc = pml_merge_run__open(&node, env, q->layout, &all, rows, runs + at, size, err);
    size_t made = rc == PML_OK ? 1 : 0;
    if (made == 1)
        runs[at] = node;
    memmove(runs + at + made, runs + at + size, (*n - at - size) * sizeof *runs);
    *n -= size - made;
    return rc;
}

/* A pass goes by groups from the newest runs to the oldest and takes no node of its own into another, so the nodes are a tree whose depth
   is the logarithm of n to the base max: that often a row is moved. */
int pml_runs__fold(pml_run *runs, size_t *n, pml_env *env, const pml_fold *q, pml_error *err)
{
    size_t first = *n;
    assert(q->max >= 2);
    while (first > 0 && (!q->lookup || runs[first - 1].level <= 0))
        first--;
    while (*n > q->max && *n - first > 1) /* bounded: each pass leaves fewer */
        for (size_t end = *n; *n > q->max && end - first > 1;) {
            size_t size = *n - q->max + 1;
            size = size < q->max ? size : q->max;
            size = size < end - first ? size : end - first;
            PML_RETURN_IF(fold_some(runs, n, end - size, size, env, q, err));
            end -= size;
        }
    return PML_OK;
}
