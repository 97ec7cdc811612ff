/* SPDX-License-Identifier: Apache-2.0 */
#include "table/write_function.h"

#include <string.h>

#include "merge/engine.h"
#include "merge/merge.h"
#include "table/read_merge.h"
#include "table/write_buffer.h"

static int make_layout(pml_merge_layout *out, pml_arena *arena, const pml_table_schema *s, pml_error *err)
{
    size_t n = s->n_fields + PML_KEYED_SYSTEM_COLUMNS;
    pml_field *fields = pml_arena__array(arena, n, sizeof *fields);
    int32_t *keys = pml_arena__array(arena, s->n_keys, sizeof *keys);
    if (fields == NULL || keys == NULL)
        return pml_error__no_memory(err);
    fields[0] = pml_field_value_kind;
    fields[1] = pml_field_sequence_number;
    memcpy(fields + PML_KEYED_SYSTEM_COLUMNS, s->fields, s->n_fields * sizeof *fields);
    for (size_t i = 0; i < s->n_keys; i++)
        keys[i] = s->key_index[i] + PML_KEYED_SYSTEM_COLUMNS;
    *out = (pml_merge_layout){.fields = fields, .n_fields = n, .keys = keys, .n_keys = s->n_keys, .row_kind = 0, .sequence_number = 1};
    return PML_OK;
}

int pml_write_function__init(pml_write_function *out, pml_env *env, const pml_table_schema *s, const pml_option *overrides, size_t n_overrides,
                             pml_error *err)
{
    memset(out, 0, sizeof *out);
    pml_arena__init(&out->arena, env);
    int rc = make_layout(&out->layout, &out->arena, s, err);
    if (rc == PML_OK)
        rc = pml_merge_engine__new(&out->function, env, &out->layout, s, overrides, n_overrides, err);
    if (rc != PML_OK) {
        out->function = (pml_merge_function){0};
        pml_arena__clear(&out->arena);
    }
    return rc;
}

void pml_write_function__clear(pml_write_function *f)
{
    if (f->function.drop != NULL)
        f->function.drop(f->function.self);
    f->function = (pml_merge_function){0};
    pml_arena__clear(&f->arena);
}
