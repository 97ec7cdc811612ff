/* SPDX-License-Identifier: Apache-2.0 */
/* Host services that copy rows: joining arrays, and chunks that grow while they are read. */
#include "columnar/open_chunk.h"
#include "realtime/rt_host_services.h"

int pml_rt_host__fields_of(const pml_field **fields, size_t *n, const pml_rt_layout *l, const struct ArrowArray *array,
                           pml_error *err)
{
    bool dense = l->mode == PML_RT_MODE_APPEND && array->n_children == (int64_t)l->n_fields - 1;
    *fields = l->fields;
    *n = l->n_fields;
    if (dense)
        *fields = pml_rt_layout__dense_fields(l, n);
    if (array->n_children != (int64_t)*n)
        return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_STORE, NULL, "an array of %lld columns came for schema %lld, which has %zu",
                             (long long)array->n_children, (long long)l->schema_id, l->n_fields);
    return PML_OK;
}

int pml_rt_host__concat(void *p, struct ArrowArray *out, int64_t schema_id, size_t n, const struct ArrowArray *const *inputs,
                        pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    const pml_field *fields;
    size_t n_fields;
    *out = (struct ArrowArray){0};
    PML_RETURN_IF(pml_rt_host__find_layout(&l, ctx, schema_id, err));
    if (n == 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "no array was given to join");
    PML_RETURN_IF(pml_rt_host__fields_of(&fields, &n_fields, l, inputs[0], err));
    return pml_batch__concat(out, ctx->env, fields, n_fields, inputs, n, err);
}

/* The layout that a chunk borrows lives as long as the services. */
static void chunk_drop(void *owner)
{
    pml_rt_host__release(owner);
}

int pml_rt_host__chunk_new(void *p, void **chunk, int64_t schema_id, uint32_t dense, int64_t rows_max, int64_t bytes_max,
                           pml_error *err)
{
    pml_rt_host_ctx *ctx = p;
    const pml_rt_layout *l;
    pml_open_chunk *made = NULL;
    *chunk = NULL;
    PML_RETURN_IF(pml_rt_host__find_layout(&l, ctx, schema_id, err));
    if (dense != 0 && l->mode != PML_RT_MODE_APPEND)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_STORE, NULL, "a chunk of a table with keys cannot be dense");
    size_t skip = dense != 0 ? 1 : 0;
    pml_rt_host__acquire(ctx);
    int rc = pml_open_chunk__new(&made, ctx->env, l->fields + skip, l->n_fields - skip, rows_max, bytes_max, chunk_drop, ctx, err);
    if (rc != PML_OK)
        pml_rt_host__release(ctx);
    *chunk = made;
    return rc;
}

int pml_rt_host__chunk_append(void *p, int64_t *rows_taken, void *chunk, const struct ArrowArray *array, pml_error *err)
{
    (void)p, (void)err;
    *rows_taken = pml_open_chunk__append(chunk, array) ? array->length : 0;
    return PML_OK;
}

int pml_rt_host__chunk_view(void *p, struct ArrowArray *out, void *chunk, int64_t rows, pml_error *err)
{
    (void)p;
    return pml_open_chunk__view(out, chunk, rows, err);
}

void pml_rt_host__chunk_release(void *p, void *chunk)
{
    (void)p;
    pml_open_chunk__release(chunk);
}
