/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_buckets.h"

int pml_rt_buckets__open(pml_rt_context *c, pml_error *err)
{
    if (c->assigner != NULL || !pml_table_options__is_dynamic(&c->table->options, c->table->schema))
        return PML_OK;
    return pml_bucket_assigner__new(&c->assigner, c->table, err);
}

int pml_rt_buckets__route(pml_route *route, rt_write_call *k, pml_error *err)
{
    pml_rt_context *c = k->w->ctx;
    int32_t first_column = k->has_offsets ? 1 : 0;
    if (c->assigner == NULL)
        return pml_route__batch(route, c->table, k->array, first_column, err);
    int32_t *buckets = pml_env__alloc(c->env, (size_t)k->array->length * sizeof *buckets);
    if (buckets == NULL)
        return pml_error__no_memory(err);
    int rc = pml_bucket_assigner__assign(buckets, c->assigner, k->array, first_column, err);
    if (rc == PML_OK)
        rc = pml_route__assigned(route, c->table, buckets, k->array, first_column, err);
    pml_env__free(c->env, buckets);
    return rc;
}

int pml_rt_buckets__prepare(pml_rt_context *c, rt_flight *f, pml_error *err)
{
    if (c->assigner == NULL || f->n == 0)
        return PML_OK;
    pml_new_files **v = pml_env__calloc(c->env, f->n, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < f->n; i++)
        v[i] = &f->entries[i]->files;
    int rc = pml_bucket_assigner__prepare(c->assigner, v, f->n, err);
    pml_env__free(c->env, v);
    return rc;
}

void pml_rt_buckets__revert(pml_rt_context *c, const pml_new_files *f)
{
    if (c->assigner != NULL)
        pml_bucket_assigner__revert(c->assigner, f);
}
