/* SPDX-License-Identifier: Apache-2.0 */
#include "table/writer_deal.h"

#include <string.h>

/* The whole batch goes to one place. It is shared, not moved: when writing fails the caller has it back. */
static int whole_batch(pml_dealt *d, const pml_writer *w, struct ArrowArray *batch, pml_error *err)
{
    pml_shared *shared;
    int64_t rows = batch->length;
    size_t n = (size_t)batch->n_children;
    PML_RETURN_IF(pml_shared__new(&shared, d->env, batch, err));
    int rc = pml_shared__slice(&d->back, shared, 0, rows, NULL, n, NULL, err);
    if (rc == PML_OK)
        rc = pml_shared__slice(&d->rows[0], shared, 0, rows, NULL, w->table->schema->n_fields, NULL, err);
    if (rc == PML_OK) {
        pml_shared__release(shared);
        return PML_OK;
    }
    pml_array__release(&d->back);
    d->back = (struct ArrowArray){0};
    pml_shared__dissolve(batch, shared);
    return rc;
}

/* The rows of a slice that are not passed over, in the route's arena. */
static int keep_rows(pml_route_slice *s, pml_arena *arena, const pml_row_kinds *k, const int8_t *kinds)
{
    int64_t kept = 0, n = s->n;
    if (s->rows == NULL) {
        s->rows = pml_arena__alloc(arena, (size_t)n * sizeof *s->rows);
        for (int64_t i = 0; s->rows != NULL && i < n; i++)
            s->rows[i] = i;
    }
    if (s->rows == NULL)
        return PML_E_NOMEM;
    for (int64_t i = 0; i < n; i++)
        if (!pml_row_kinds__drops(k, kinds[s->rows[i]]))
            s->rows[kept++] = s->rows[i];
    s->n = kept;
    return PML_OK;
}

static int deal_rows(pml_dealt *d, const pml_writer *w, struct ArrowArray *batch, pml_error *err)
{
    const pml_route *route = &d->route;
    const pml_table_schema *s = w->table->schema;
    if (route->n == 1 && route->slices[0].rows == NULL)
        return whole_batch(d, w, batch, err);
    pml_row_list *lists = pml_env__calloc(d->env, route->n, sizeof *lists);
    if (lists == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < route->n; i++)
        lists[i] = (pml_row_list){route->slices[i].rows, route->slices[i].n};
    int rc = pml_batch__deal(d->rows, d->env, s->fields, s->n_fields, batch, lists, route->n, err);
    pml_env__free(d->env, lists);
    return rc;
}

static int deal_kinds(pml_dealt *d, const int8_t *kinds, pml_error *err)
{
    for (size_t i = 0; i < d->route.n; i++) {
        const pml_route_slice *s = &d->route.slices[i];
        d->kinds[i] = pml_env__alloc(d->env, (size_t)s->n + 1);
        if (d->kinds[i] == NULL)
            return pml_error__no_memory(err);
        for (int64_t row = 0; row < s->n; row++)
            d->kinds[i][row] = kinds[s->rows == NULL ? row : s->rows[row]];
    }
    return PML_OK;
}

/* Those of the column _VALUE_KIND, if there is one. */
static const int8_t *given_kinds(const pml_writer *w, const struct ArrowArray *batch)
{
    size_t n = w->table->schema->n_fields;
    const struct ArrowArray *a = batch->n_children > (int64_t)n ? batch->children[n] : NULL;
    return a == NULL ? NULL : (const int8_t *)a->buffers[1] + a->offset + batch->offset;
}

/* Where each row goes. */
static int route(pml_dealt *d, const pml_writer *w, const struct ArrowArray *batch, pml_error *err)
{
    if (w->assigner == NULL)
        return pml_route__batch(&d->route, w->table, batch, 0, err);
    int32_t *buckets = pml_env__alloc(d->env, (size_t)batch->length * sizeof *buckets);
    int rc = buckets == NULL ? pml_error__no_memory(err) : pml_bucket_assigner__assign(buckets, w->assigner, batch, 0, err);
    if (rc == PML_OK)
        rc = pml_route__assigned(&d->route, w->table, buckets, batch, 0, err);
    pml_env__free(d->env, buckets);
    return rc;
}

int pml_dealt__make(pml_dealt *out, const pml_writer *w, struct ArrowArray *batch, pml_error *err)
{
    int8_t *kinds = NULL;
    int rc;
    *out = (pml_dealt){.env = w->env};
    PML_TRY(pml_row_kinds__of(&kinds, &w->kinds, batch, given_kinds(w, batch), err));
    PML_TRY(route(out, w, batch, err));
    if (out->route.n == 0)
        goto out;
    bool drops = pml_row_kinds__drops_any(&w->kinds, kinds, batch->length);
    for (size_t i = 0; drops && i < out->route.n; i++)
        if (keep_rows(&out->route.slices[i], &out->route.arena, &w->kinds, kinds) != PML_OK)
            PML_TRY(pml_error__no_memory(err));
    out->rows = pml_env__calloc(w->env, out->route.n, sizeof *out->rows);
    out->kinds = pml_env__calloc(w->env, out->route.n, sizeof *out->kinds);
    if (out->rows == NULL || out->kinds == NULL)
        PML_TRY(pml_error__no_memory(err));
    if (kinds != NULL)
        PML_TRY(deal_kinds(out, kinds, err));
    PML_TRY(deal_rows(out, w, batch, err));
out:
    pml_env__free(w->env, kinds);
    return rc;
}

void pml_dealt__give_back(pml_dealt *d, struct ArrowArray *batch)
{
    if (d->back.release == NULL)
        return;
    *batch = d->back;
    d->back.release = NULL;
}

void pml_dealt__clear(pml_dealt *d)
{
    for (size_t i = 0; i < d->route.n; i++) {
        if (d->rows != NULL)
            pml_array__release(&d->rows[i]);
        if (d->kinds != NULL)
            pml_env__free(d->env, d->kinds[i]);
    }
    pml_env__free(d->env, d->rows);
    pml_env__free(d->env, d->kinds);
    pml_array__release(&d->back);
    pml_route__clear(&d->route);
}
