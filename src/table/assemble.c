/* SPDX-License-Identifier: Apache-2.0 */
#include "table/assemble.h"

int32_t pml_assembly__partition_key(const pml_table_schema *s, int32_t field_id)
{
    for (size_t i = 0; i < s->n_partition_keys; i++)
        if (s->fields[s->partition_index[i]].id == field_id)
            return (int32_t)i;
    return -1;
}

int pml_assembly__init(pml_assembly *a, pml_arena *arena, const pml_table_schema *schema, const pml_field *fields, size_t n,
                       const pml_value *partition, pml_error *err)
{
    *a = (pml_assembly){.env = arena->env, .n = n};
    a->fields = pml_arena__array(arena, n, sizeof *a->fields);
    a->columns = pml_arena__array(arena, n, sizeof *a->columns);
    a->stored_fields = pml_arena__array(arena, n, sizeof *a->stored_fields);
    if (a->fields == NULL || a->columns == NULL || a->stored_fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        int32_t key = pml_assembly__partition_key(schema, fields[i].id);
        a->fields[i] = fields[i];
        a->columns[i].stored = key >= 0 ? -1 : (int32_t)a->n_stored;
        if (key >= 0)
            a->columns[i].constant = partition[key];
        else
            a->stored_fields[a->n_stored++] = fields[i];
    }
    return PML_OK;
}

static void release_all(struct ArrowArray *arrays, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pml_array__release(&arrays[i]);
}

/* The wanted columns of a batch into columns[n]; what is taken out of the batch is released there. */
static int take_columns(struct ArrowArray *columns, const pml_assembly *a, struct ArrowArray *batch, pml_error *err)
{
    if ((size_t)batch->n_children != a->n_stored || batch->offset != 0)
        return pml_error__set(err, PML_E_INTERNAL, "a source gave %lld columns (offset %lld), wanted are %zu",
                              (long long)batch->n_children, (long long)batch->offset, a->n_stored);
    for (size_t i = 0; i < a->n; i++) {
        const pml_assembly_column *c = &a->columns[i];
        if (c->stored < 0) {
            PML_RETURN_IF(pml_batch__constant(&columns[i], a->env, &a->fields[i].type, &c->constant, batch->length, err));
            continue;
        }
        struct ArrowArray *child = batch->children[c->stored];
        if (c->cast != NULL) {
            int rc = pml_cast__array(&columns[i], c->cast, a->env, child, err);
            if (rc != PML_OK)
                return pml_error__prefix(err, rc, "column '%s'", a->fields[i].name);
            continue;
        }
        columns[i] = *child;
        child->release = NULL;
    }
    return PML_OK;
}

int pml_assembly__batch(struct ArrowArray *out, const pml_assembly *a, struct ArrowArray *batch, pml_error *err)
{
    int64_t length = batch->length;
    struct ArrowArray *columns = pml_env__calloc(a->env, a->n, sizeof *columns);
    int rc = columns == NULL ? pml_error__no_memory(err) : take_columns(columns, a, batch, err);
    batch->release(batch);
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, a->env, columns, a->n, length, err);
    if (rc != PML_OK && columns != NULL)
        release_all(columns, a->n);
    pml_env__free(a->env, columns);
    return rc;
}
