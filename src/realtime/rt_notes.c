/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was written, remembered so cheaply that a write costs nothing: dense batches as ranges (neighbours are joined, so a stream
 * of dense writes is one range), explicit offsets as a sum of mixed values. The sum over a set of offsets is the same in any
 * order, and a lost row, a doubled row, or one of each change it (9.3): count, minimum and maximum cannot see the last.
 */
#include "realtime/rt_context.h"
#include "util/hash.h"

int pml_rt_note__reserve(rt_rows_note *n, pml_env *env)
{
    if (n->n_dense < n->cap_dense)
        return PML_OK;
    size_t cap = n->cap_dense == 0 ? 4 : n->cap_dense * 2;
    if (cap > RT_RANGES_MAX)
        return PML_E_LIMIT;
    pml_rt_range *v = n->dense == NULL ? pml_env__alloc(env, cap * sizeof *v) : pml_env__realloc(env, n->dense, cap * sizeof *v);
    if (v == NULL)
        return PML_E_NOMEM;
    n->dense = v;
    n->cap_dense = cap;
    return PML_OK;
}

void pml_rt_note__add_dense(rt_rows_note *n, pml_rt_range r)
{
    n->rows += r.end - r.begin;
    if (n->n_dense > 0 && n->dense[n->n_dense - 1].end == r.begin)
        n->dense[n->n_dense - 1].end = r.end;
    else
        n->dense[n->n_dense++] = r;
}

void pml_rt_note__add_explicit(rt_rows_note *n, int64_t rows, uint64_t hash)
{
    n->rows += rows;
    n->explicit_hash += hash;
}

void pml_rt_note__clear(rt_rows_note *n, pml_env *env)
{
    pml_env__free(env, n->dense);
    *n = (rt_rows_note){0};
}

uint64_t pml_rt_note__hash(const rt_rows_note *n)
{
    uint64_t sum = n->explicit_hash;
    for (size_t i = 0; i < n->n_dense; i++)
        for (int64_t o = n->dense[i].begin; o < n->dense[i].end; o++)
            sum += pml_hash__mix64((uint64_t)o);
    return sum;
}
