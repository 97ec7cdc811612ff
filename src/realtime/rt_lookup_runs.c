/* SPDX-License-Identifier: Apache-2.0 */
/* What a search found, as runs of a merge. A run has any order among the rows of a key, so those of a segment are one run. */
#include <stdlib.h>
#include <string.h>

#include "realtime/rt_lookup.h"

typedef struct found_run {
    pml_env *env;
    struct ArrowArray rows; /* given by the first call */
} found_run;

static int run_next(void *p, struct ArrowArray *out, pml_error *err)
{
    found_run *r = p;
    (void)err;
    *out = r->rows;
    r->rows.release = NULL;
    return PML_OK;
}

static void run_drop(void *p)
{
    found_run *r = p;
    pml_env *env = r->env;
    pml_array__release(&r->rows);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int compare_hits(const void *x, const void *y)
{
    const rt_hit *a = x, *b = y;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return pml_row_order__compare(&a->layout->sorter.keys, a->rows, a->first, b->rows, b->first);
}

/* Rows of hits [from, end) in the fields of the request. */
typedef struct gathering {
    pml_env *env;
    const rt_hit *hits;
    size_t n;
    const pml_memory_read *request;
    pml_row_ref *refs;
    const struct ArrowArray **arrays;
    struct ArrowArray *columns;
} gathering;

static void gathering_clear(gathering *g)
{
    for (size_t i = 0; g->columns != NULL && i < g->request->n_fields; i++)
        pml_array__release(&g->columns[i]);
    pml_env__free(g->env, g->columns);
    pml_env__free(g->env, g->arrays);
    pml_env__free(g->env, g->refs);
}

static int gather_columns(gathering *g, int64_t rows, pml_error *err)
{
    pml_ref_list list = {0};
    int rc;
    PML_TRY(pml_ref_list__init(&list, g->env, g->refs, rows, err));
    for (size_t i = 0; i < g->request->n_fields; i++) {
        const pml_field *f = &g->request->fields[i];
        const pml_rt_layout *l = g->hits[0].layout;
        size_t at = 0;
        while (l->fields[at].id != f->id)
            at++;
        for (size_t k = 0; k < g->n; k++)
            g->arrays[k] = g->hits[k].rows->children[at];
        PML_TRY(pml_batch__gather_refs(&g->columns[i], &f->type, g->arrays, g->n, &list, err));
    }
out:
    pml_ref_list__clear(&list);
    return rc;
}

static int gather(struct ArrowArray *out, gathering *g, pml_error *err)
{
    int64_t rows = 0;
    for (size_t i = 0; i < g->n; i++)
        rows += g->hits[i].n;
    g->refs = pml_env__calloc(g->env, (size_t)rows, sizeof *g->refs);
    g->arrays = pml_env__calloc(g->env, g->n, sizeof *g->arrays);
    g->columns = pml_env__calloc(g->env, g->request->n_fields, sizeof *g->columns);
    if (g->refs == NULL || g->arrays == NULL || g->columns == NULL)
        return pml_error__no_memory(err);
    size_t at = 0;
    for (size_t i = 0; i < g->n; i++)
        for (int64_t k = 0; k < g->hits[i].n; k++)
            g->refs[at++] = (pml_row_ref){(uint32_t)i, (uint32_t)(g->hits[i].first + k)};
    PML_RETURN_IF(gather_columns(g, rows, err));
    return pml_batch__from_columns(out, g->env, g->columns, g->request->n_fields, rows, err);
}

static int run_open(pml_memory_run *out, const rt_part *part, const rt_hit *hits, size_t n, const pml_memory_read *request, pml_error *err)
{
    pml_env *env = part->pb->ctx->env;
    gathering g = {.env = env, .hits = hits, .n = n, .request = request};
    found_run *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    int rc = gather(&r->rows, &g, err);
    gathering_clear(&g);
    if (rc != PML_OK) {
        run_drop(r);
        return rc;
    }
    *out = (pml_memory_run){.run = {.next = run_next, .drop = run_drop, .ctx = r, .name = part->pb->name, .level = -1}, .group = hits->group};
    return PML_OK;
}

int pml_rt_found__open_runs(pml_memory_run **runs, size_t *n, const rt_part *part, const pml_memory_read *request, pml_error *err)
{
    rt_found *f = part->found;
    pml_env *env = part->pb->ctx->env;
    int rc = PML_OK;
    *n = 0;
    *runs = pml_env__calloc(env, f->n + 1, sizeof **runs);
    if (*runs == NULL)
        return pml_error__no_memory(err);
    if (!f->sorted && f->n > 1)
        qsort(f->hits, f->n, sizeof *f->hits, compare_hits);
    f->sorted = true;
    for (size_t i = 0, end; rc == PML_OK && i < f->n; i = end) {
        for (end = i + 1; end < f->n && f->hits[end].group == f->hits[i].group; end++)
            continue;
        rc = run_open(&(*runs)[*n], part, f->hits + i, end - i, request, err);
        *n += rc == PML_OK;
    }
    if (rc == PML_OK)
        return rc;
    for (size_t i = 0; i < *n; i++)
        (*runs)[i].run.drop((*runs)[i].run.ctx);
    pml_env__free(env, *runs);
    *runs = NULL;
    *n = 0;
    return rc;
}
