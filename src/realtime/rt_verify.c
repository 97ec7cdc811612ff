/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

int pml_rt_verify__begin(rt_verify *v, rt_pb *pb, const rt_segment *segment, pml_error *err)
{
    const pml_table_options *o = &pb->ctx->options;
    *v = (rt_verify){.pb = pb, .segment = segment, .last_offset = -1};
    v->by_offset = o->rt_verify_order && pb->ctx->layout->mode == PML_RT_MODE_APPEND;
    if (o->rt_verify_commit != PML_RT_VERIFY_EXACT)
        return PML_OK;
    v->exact = pml_env__calloc(pb->ctx->env, (size_t)segment->note.rows, sizeof *v->exact);
    return v->exact == NULL ? pml_error__no_memory(err) : PML_OK;
}

void pml_rt_verify__clear(rt_verify *v)
{
    if (v->pb != NULL)
        pml_env__free(v->pb->ctx->env, v->exact);
    *v = (rt_verify){0};
}

static int broken(rt_pb *pb, pml_error *err, const char *what)
{
    return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb->name,
                         "the store of %s gave back other rows than it was given: %s. Nothing was published", pb->name, what);
}

static int check_range(rt_verify *v, const int64_t *offsets, int64_t n, pml_error *err)
{
    const pml_rt_range c = v->segment->cover;
    for (int64_t i = 0; i < n; i++)
        if (offsets[i] < c.begin || offsets[i] >= c.end)
            return broken(v->pb, err, "an offset lies outside of its segment");
    return PML_OK;
}

int pml_rt_verify__batch(rt_verify *v, const int64_t *offsets, int64_t n, pml_error *err)
{
    int mode = v->pb->ctx->options.rt_verify_commit;
    if (mode != PML_RT_VERIFY_OFF)
        PML_RETURN_IF(check_range(v, offsets, n, err));
    if (mode == PML_RT_VERIFY_HASH)
        for (int64_t i = 0; i < n; i++)
            v->hash += pml_hash__mix64((uint64_t)offsets[i]);
    if (mode == PML_RT_VERIFY_EXACT && n > 0) {
        if (v->rows + n > v->segment->note.rows)
            return broken(v->pb, err, "there are more rows than were written");
        memcpy(v->exact + v->rows, offsets, (size_t)n * sizeof *offsets);
    }
    for (int64_t i = 0; v->by_offset && i < n; i++) {
        if (offsets[i] <= v->last_offset)
            return broken(v->pb, err, "offsets do not increase");
        v->last_offset = offsets[i];
    }
    v->rows += n;
    return PML_OK;
}

static int compare_int64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

/* Every offset once: the sorted ones of a segment without explicit offsets must be its dense ranges; with explicit ones the sum
   decides and doubles are named. */
static int verify_exact(rt_verify *v, pml_error *err)
{
    char what[96];
    if (v->rows > 1)
        qsort(v->exact, (size_t)v->rows, sizeof *v->exact, compare_int64);
    for (int64_t i = 1; i < v->rows; i++)
        if (v->exact[i - 1] == v->exact[i]) {
            (void)snprintf(what, sizeof what, "offset %lld came twice", (long long)v->exact[i]);
            return broken(v->pb, err, what);
        }
    for (int64_t i = 0; i < v->rows; i++)
        v->hash += pml_hash__mix64((uint64_t)v->exact[i]);
    return PML_OK;
}

int pml_rt_verify__end(rt_verify *v, pml_error *err)
{
    int mode = v->pb->ctx->options.rt_verify_commit;
    if (mode == PML_RT_VERIFY_OFF || mode == PML_RT_VERIFY_RANGE)
        return PML_OK;
    if (mode == PML_RT_VERIFY_EXACT)
        PML_RETURN_IF(verify_exact(v, err));
    int64_t rows = v->rows + v->collapsed_rows;
    if (v->collapsed_rows < 0 || rows != v->segment->note.rows)
        return broken(v->pb, err, rows < v->segment->note.rows ? "rows are missing" : "there are more rows than were written");
    if (v->hash + v->collapsed_hash != pml_rt_note__hash(&v->segment->note))
        return broken(v->pb, err, "some offsets are missing and others came twice");
    return PML_OK;
}

