/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_layout.h"

#include <string.h>

static const pml_field value_kind = {
    .id = PML_ID_VALUE_KIND, .name = PML_RT_COL_VALUE_KIND, .type = {.kind = PML_TYPE_TINYINT}};
static const pml_field sequence_number = {
    .id = PML_ID_SEQUENCE, .name = PML_RT_COL_SEQUENCE, .type = {.kind = PML_TYPE_BIGINT}};
static const pml_field realtime_offset = {
    .id = PML_ID_REALTIME_OFFSET, .name = PML_RT_COL_OFFSET, .type = {.kind = PML_TYPE_BIGINT}};

static const char key_prefix[] = "_KEY_";

bool pml_rt_layout__is_system_name(const char *name)
{
    static const char *const names[] = {PML_RT_COL_VALUE_KIND, PML_RT_COL_SEQUENCE, PML_RT_COL_OFFSET,
                                        "_LEVEL",              "rowkind",           "_ROW_ID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, key_prefix, sizeof key_prefix - 1) == 0;
}

int pml_rt_layout__check_names(const pml_field *columns, size_t n, pml_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (pml_rt_layout__is_system_name(columns[i].name))
            return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_SCHEMA, NULL,
                                 "column '%s' has a name reserved for system columns; rename it to write the table in real time",
                                 columns[i].name);
    return PML_OK;
}

static int layout_fill(pml_rt_layout *l, const pml_field *columns, size_t n, pml_error *err)
{
    pml_field *f;
    size_t total;
    bool keyed = l->mode == PML_RT_MODE_PRIMARY_KEY;
    if (n > PML_TYPE_COLUMNS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu columns, at most %d", n, PML_TYPE_COLUMNS_MAX);
    l->n_system = keyed ? 3 : 1;
    total = l->n_system + n;
    f = pml_arena__array(&l->arena, total, sizeof *f);
    l->is_key = pml_arena__array(&l->arena, total, sizeof *l->is_key);
    if (f == NULL || l->is_key == NULL)
        return pml_error__no_memory(err);
    l->fields = f;
    l->n_fields = total;
    l->offset_column = (uint32_t)l->n_system - 1;
    if (keyed) {
        *f++ = value_kind;
        *f++ = sequence_number;
    }
    *f++ = realtime_offset;
    for (size_t i = 0; i < n; i++, f++) {
        *f = (pml_field){.id = columns[i].id, .name = pml_arena__strdup(&l->arena, columns[i].name)};
        if (f->name == NULL || pml_type__copy(&f->type, &l->arena, &columns[i].type) != PML_OK)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

int pml_rt_layout__new(pml_rt_layout **out, pml_env *env, uint32_t mode, int64_t schema_id, const pml_field *columns, size_t n,
                       pml_error *err)
{
    int rc;
    pml_rt_layout *l = NULL;
    *out = NULL;
    PML_TRY(pml_rt_layout__check_names(columns, n, err));
    l = pml_env__calloc(env, 1, sizeof *l);
    if (l == NULL)
        PML_TRY(pml_error__no_memory(err));
    pml_arena__init(&l->arena, env);
    l->mode = mode;
    l->schema_id = schema_id;
    PML_TRY(layout_fill(l, columns, n, err));
    PML_TRY(pml_type__export(&l->arrow, env, l->fields, l->n_fields, err));
    *out = l;
    l = NULL;
out:
    pml_rt_layout__free(l);
    return rc;
}

static const int32_t *shifted(pml_arena *arena, const int32_t *columns, size_t n)
{
    int32_t *out = pml_arena__array(arena, n, sizeof *out);
    for (size_t i = 0; out != NULL && i < n; i++)
        out[i] = columns[i] + PML_RT_KEYED_SYSTEM;
    return out;
}

int pml_rt_layout__set_order(pml_rt_layout *l, const int32_t *keys, size_t n_keys, const int32_t *sequence, size_t n_sequence,
                             bool descending, pml_error *err)
{
    l->merge = (pml_merge_layout){.fields = l->fields,
                                  .n_fields = l->n_fields,
                                  .keys = shifted(&l->arena, keys, n_keys),
                                  .n_keys = n_keys,
                                  .sequence = shifted(&l->arena, sequence, n_sequence),
                                  .n_sequence = n_sequence,
                                  .sequence_descending = descending,
                                  .row_kind = 0,
                                  .sequence_number = 1};
    if (l->merge.keys == NULL || l->merge.sequence == NULL)
        return pml_error__no_memory(err);
    return pml_sorter__init(&l->sorter, &l->arena, &l->merge, err);
}

void pml_rt_layout__free(pml_rt_layout *layout)
{
    if (layout == NULL)
        return;
    pml_env *env = layout->arena.env;
    if (layout->arrow.release != NULL)
        layout->arrow.release(&layout->arrow);
    pml_arena__clear(&layout->arena);
    pml_env__free(env, layout);
}
