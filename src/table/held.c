/* SPDX-License-Identifier: Apache-2.0 */
#include "table/held.h"

int pml_held__add(pml_held *h, struct ArrowArray *batch, pml_error *err)
{
    if (h->n == h->cap) {
        size_t cap = h->cap == 0 ? 4 : h->cap * 2;
        struct ArrowArray *v = cap > SIZE_MAX / sizeof *v ? NULL : pml_env__realloc(h->env, h->v, cap * sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        h->v = v;
        h->cap = cap;
    }
    h->rows += batch->length;
    h->bytes += pml_batch__bytes(batch, h->fields, h->n_fields);
    h->v[h->n++] = *batch;
    batch->release = NULL;
    return PML_OK;
}

/* v[from, to) as one batch in v[from]; inputs has room for them. */
static int join_run(pml_held *h, const struct ArrowArray **inputs, size_t from, size_t to, pml_error *err)
{
    struct ArrowArray joined = {0};
    for (size_t i = from; i < to; i++)
        inputs[i - from] = &h->v[i];
    PML_RETURN_IF(pml_batch__concat(&joined, h->env, h->fields, h->n_fields, inputs, to - from, err));
    for (size_t i = from; i < to; i++)
        pml_array__release(&h->v[i]);
    h->v[from] = joined;
    return PML_OK;
}

int pml_held__join(pml_held *h, int64_t rows_min, pml_error *err)
{
    const struct ArrowArray **inputs = h->n < 2 ? NULL : pml_env__calloc(h->env, h->n, sizeof *inputs);
    size_t kept = 0, end;
    int rc = PML_OK;
    if (h->n < 2)
        return PML_OK;
    if (inputs == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < h->n; i = end) {
        for (end = i; end < h->n && h->v[end].length < rows_min; end++)
            ;
        if (end - i > 1)
            PML_TRY(join_run(h, inputs, i, end, err));
        end = end == i ? i + 1 : end;
        if (kept < i) {
            h->v[kept] = h->v[i];
            h->v[i].release = NULL;
        }
        kept++;
    }
out:
    if (rc == PML_OK)
        h->n = kept;
    pml_env__free(h->env, inputs);
    return rc;
}

void pml_held__clear(pml_held *h)
{
    for (size_t i = 0; i < h->n; i++)
        pml_array__release(&h->v[i]);
    pml_env__free(h->env, h->v);
    h->v = NULL;
    h->n = h->cap = 0;
    h->rows = 0;
    h->bytes = 0;
}
