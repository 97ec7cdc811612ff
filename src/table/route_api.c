/* SPDX-License-Identifier: Apache-2.0 */
/* Routing for callers: the slices of pml_route__batch with partition texts instead of row bytes. */
#include <paimonlive/write.h>

#include <string.h>

#include "table/route.h"
#include "table/writer.h"

struct pml_routes {
    pml_table *table; /* held: the texts and rows are memory of its environment */
    pml_route route;
    pml_route_info *infos; /* of route.slices, in its arena */
};

void pml_routes_free(pml_routes *r)
{
    if (r == NULL)
        return;
    pml_table *t = r->table;
    pml_route__clear(&r->route);
    pml_env__free(t->env, r);
    pml_table_release(t);
}

static int info_texts(pml_route_info *info, pml_arena *arena, const pml_table *t, pml_bytes partition, pml_error *err)
{
    size_t n = t->schema->n_partition_keys;
    char **made = pml_arena__array(arena, n, sizeof *made);
    const char **texts = pml_arena__array(arena, n, sizeof *texts);
    if (made == NULL || texts == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_path__partition_texts(made, t->env, t->schema, &t->options, partition, err));
    int rc = PML_OK;
    for (size_t i = 0; i < n; i++) {
        texts[i] = rc == PML_OK ? pml_arena__strdup(arena, made[i]) : NULL;
        if (rc == PML_OK && texts[i] == NULL)
            rc = pml_error__no_memory(err);
        pml_env__free(t->env, made[i]);
    }
    info->n_partition = n;
    info->partition = texts;
    return rc;
}

static int info_fill(pml_route_info *info, pml_routes *r, const pml_route_slice *s, pml_error *err)
{
    *info = (pml_route_info){.struct_size = sizeof *info, .bucket = s->bucket, .n_rows = s->n, .rows = s->rows};
    if (s->rows == NULL) { /* the whole batch */
        int64_t *rows = pml_arena__array(&r->route.arena, (size_t)s->n, sizeof *rows);
        if (rows == NULL)
            return pml_error__no_memory(err);
        for (int64_t i = 0; i < s->n; i++)
            rows[i] = i;
        info->rows = rows;
    }
    return info_texts(info, &r->route.arena, r->table, s->partition, err);
}

/* In dynamic buckets keys that the table has are where they are; of new ones this is where one writer would put them. */
static int route(pml_route *out, pml_table *t, const struct ArrowArray *batch, pml_error *err)
{
    pml_bucket_assigner *a = NULL;
    int32_t *buckets = NULL;
    int rc;
    if (!pml_table_options__is_dynamic(&t->options, t->schema))
        return pml_route__batch(out, t, batch, 0, err);
    PML_TRY(pml_bucket_assigner__new(&a, t, err));
    buckets = pml_env__alloc(t->env, (size_t)batch->length * sizeof *buckets);
    if (buckets == NULL)
        PML_TRY(pml_error__no_memory(err));
    PML_TRY(pml_bucket_assigner__assign(buckets, a, batch, 0, err));
    PML_TRY(pml_route__assigned(out, t, buckets, batch, 0, err));
out:
    pml_env__free(t->env, buckets);
    pml_bucket_assigner__free(a);
    return rc;
}

int pml_table_route(pml_routes **out, pml_table *t, const struct ArrowArray *array, const struct ArrowSchema *schema,
                    pml_error *err)
{
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(pml_writer__check_table(t, err)); /* a bucket mode that no writer of ours knows is not guessed here */
    PML_RETURN_IF(pml_type__check_arrow(schema, t->schema->fields, t->schema->n_fields, err));
    PML_RETURN_IF(pml_batch__check(array, t->schema->fields, t->schema->n_fields, PML_CHECK_FULL, err));
    pml_routes *r = pml_env__calloc(t->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(t);
    r->table = t;
    PML_TRY(route(&r->route, t, array, err));
    if (r->route.n > 0) {
        r->infos = pml_arena__array(&r->route.arena, r->route.n, sizeof *r->infos);
        if (r->infos == NULL) {
            rc = pml_error__no_memory(err);
            goto out;
        }
    }
    for (size_t i = 0; i < r->route.n; i++)
        PML_TRY(info_fill(&r->infos[i], r, &r->route.slices[i], err));
    *out = r;
    r = NULL;
out:
    pml_routes_free(r);
    return rc;
}

size_t pml_routes_count(const pml_routes *r)
{
    return r->route.n;
}

int pml_routes_get(pml_route_info *out, const pml_routes *r, size_t i, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    if (out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_route_info.struct_size is %zu, this library knows %zu",
                              out->struct_size, sizeof *out);
    if (i >= r->route.n) {
        *out = (pml_route_info)PML_ROUTE_INFO_INIT;
        return pml_error__set(err, PML_E_INVAL, "there is no route %zu: the batch has rows of %zu partition-buckets", i,
                              r->route.n);
    }
    *out = r->infos[i];
    return PML_OK;
}
